"""Programs of two threads that share little, some and much, small enough for every access to be followed."""

from pathlib import Path

from lib import inputs
from lib.paths import REPOSITORY, WORKLOADS, compile_c
from lib.programs import Program

OPENMP = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}


def programs(quick):
    part = 8 if quick else 1
    stencil = compile_c(REPOSITORY / "programs" / "targets" / "stencil.c", "stencil", "-fopenmp")
    matmul = compile_c(Path(__file__).with_name("matmul.c"), "matmul", "-fopenmp")

    def hash_table(updates):
        # So many percent of the operations insert and delete; the others look keys up.
        return [WORKLOADS, "hash-table", "--threads", 2, "--sync", "mutex", "--updates", updates, "--range", 4096, "--buckets",
                1024, "--iterations", 2_400_000 // part]

    return [
        Program("stencil (OpenMP)", [stencil, 512, 240 // part], env=OPENMP),
        Program("matmul (OpenMP)", [matmul, 160 if quick else 448], env=OPENMP),
        Program("pigz", ["pigz", "-p2", "-b128", "-n", "-c", inputs.text(1 if quick else 12)]),
        Program("hash-table, 1% updates", hash_table(1)),
        Program("hash-table, 40% updates", hash_table(40)),
        Program("sort", ["sort", "--parallel=2", "-S", "64M", "-o", "sorted", inputs.numbers(600_000 // part)],
                env={"LC_ALL": "C"}),
        Program("ffmpeg", ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25",
                           "-frames:v", 72 // part, "-c:v", "libx264", "-preset", "medium", "-threads", 2, "-f", "null", "-"]),
    ]
