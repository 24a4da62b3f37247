"""Five OpenMP programs of the Rodinia suite (S. Che et al., IISWC 2009), with made inputs of the form and size of its own.

Its sources (github.com/yuhc/gpu-rodinia) are where CAROM_RODINIA says; the programs are left out where it says nothing. Flags are those
of its Makefiles, but pathfinder's, which has none: `-g -O2 -fopenmp`.
"""

import os
import random
import struct
import subprocess
from pathlib import Path

from . import inputs
from .paths import scratch
from .programs import Program

SOURCES = os.environ.get("CAROM_RODINIA")
THREADS = 2
EDGES, ATTRIBUTES = 6, 34


def programs(part=1):
    if not SOURCES:
        print("Rodinia is left out: CAROM_RODINIA does not name its sources")
        return []
    env = {"OMP_NUM_THREADS": str(THREADS)}
    return [
        Program("bfs", [built("bfs", "bfs/bfs.cpp"), THREADS, graph(2_000_000 // part)], ["result.txt"], env),
        Program("pathfinder", [built("pathfinder", "pathfinder/pathfinder.cpp"), 1_000_000 // part, 40], [], env),
        Program("backprop", [built("backprop", *[f"backprop/{name}.c" for name in ("backprop", "facetrain", "imagenet", "backprop_kernel")]),
                             6_000_000 // part], [], env),
        Program("kmeans", [built("kmeans", *[f"kmeans/kmeans_openmp/{name}.c" for name in
                                             ("cluster", "getopt", "kmeans", "kmeans_clustering")]),
                           "-n", THREADS, "-b", 1, "-i", objects(2_400_000 // part)], [], env),
        Program("nw", [built("nw", "nw/needle.cpp"), int(17_000 // part**0.5) // 16 * 16, 10, THREADS], ["result.txt"], env),
    ]


def built(name, *sources):
    program = scratch("bin") / f"rodinia-{name}"
    compiler = ["c++"] if sources[0].endswith(".cpp") else ["cc", "-std=gnu89", "-w"]
    subprocess.run([*compiler, "-g", "-O2", "-fopenmp", "-o", program, *(Path(SOURCES) / "openmp" / source for source in sources), "-lm"],
                   check=True, capture_output=True)
    return program


def graph(nodes):
    """Each node has six edges to random ones, as in the suite's `graph1MW_6.txt`."""

    def write(file):
        source = random.Random(inputs.SEED)
        file.write(f"{nodes}\n".encode())
        for first in range(0, nodes, 10_000):
            file.write("".join(f"{node * EDGES} {EDGES}\n" for node in range(first, min(first + 10_000, nodes))).encode())
        file.write(f"\n0\n\n{nodes * EDGES}\n".encode())
        for first in range(0, nodes, 10_000):
            file.write("".join(f"{source.randrange(nodes)} 1\n" for _ in range(EDGES * min(10_000, nodes - first))).encode())

    return inputs.made(f"graph-{nodes}.txt", write)


def objects(count):
    """As many attributes for each object as in the suite's `kdd_cup`, around five centres, in its binary form."""

    def write(file):
        source = random.Random(inputs.SEED)
        file.write(struct.pack("ii", count, ATTRIBUTES))
        centres = [[source.random() for _ in range(ATTRIBUTES)] for _ in range(5)]
        for index in range(count):
            file.write(struct.pack(f"{ATTRIBUTES}f", *(at + source.gauss(0, 0.3) for at in centres[index % 5])))

    return inputs.made(f"objects-{count}.bin", write)
