#!/usr/bin/env python3
"""carom's counts beside other tools that run unmodified binaries, in time, on the same programs.

Peers: Valgrind without a tool, and with the one that counts (lackey --basic-counts); QEMU's user mode, which counts
nothing; DynamoRIO without a client, and with its sample that counts instructions (CAROM_DYNAMORIO names its folder).
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom, inputs, stats
from lib.campaign import Criterion, Summary
from lib.paths import REPOSITORY, compile_c
from lib.programs import Program, digest, fresh
from lib.table import group_by, markdown, number

SPEED = REPOSITORY / "measurements" / "translate-04-speed"
DYNAMORIO = os.environ.get("CAROM_DYNAMORIO")
TIMEOUT_S = 120
VALGRIND = ["valgrind", "-q", "--fair-sched=yes", "--log-file=/dev/null"]
# carom's options of `carom count`.
OWN = {"carom: translation": ["--trial", "translation"], "carom: counts": [], "carom: every access": ["--trial", "stream"]}


def peers():
    """The words in front of the program."""
    found = {}
    if shutil.which("valgrind"):
        found |= {"Valgrind: none": [*VALGRIND, "--tool=none"],
                  "Valgrind: lackey counts": [*VALGRIND, "--tool=lackey", "--basic-counts=yes"]}
    if shutil.which("qemu-x86_64"):
        found["QEMU"] = ["qemu-x86_64"]
    if DYNAMORIO:
        drrun = Path(DYNAMORIO, "bin64", "drrun")
        found |= {"DynamoRIO: bare": [drrun, "--"],
                  "DynamoRIO: inscount": [drrun, "-c", Path(DYNAMORIO, "samples", "bin64", "libinscount.so"), "--"]}
    return found


def run(program, prefix):
    """Seconds, and whether it ended well, with a digest of what it put out. Nothing stands between the tool and the program:
    not every tool follows children."""
    folder = fresh("run")
    environment = {**os.environ, **program.env}
    begin = time.monotonic()
    with open(folder / "stdout", "wb") as stdout:
        try:
            done = subprocess.run([str(word) for word in [*prefix, *program.argv]], cwd=folder, env=environment, stdout=stdout,
                                  stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False)
            status = done.returncode
        except subprocess.TimeoutExpired:
            status = None
    wall = time.monotonic() - begin
    return wall, (status, digest([folder / name for name in ("stdout", *program.writes)]))


def programs(quick):
    """A tenth of the size that other measurements have: peers are slow."""
    part = 10 if quick else 1
    stencil = compile_c(REPOSITORY / "programs" / "targets" / "stencil.c", "stencil", "-fopenmp")
    sort = compile_c(SPEED / "throw_and_sort.cpp", "throw_and_sort", compiler="c++")
    text = inputs.text(max(1, 12 // part))
    return [
        Program("zstd", ["/usr/bin/zstd", "-q", "-f", "-T2", "-9", text, "-o", "out.zst"], ["out.zst"]),
        Program("pigz", ["/usr/bin/pigz", "-p2", "-n", "-c", text]),
        Program("throw and sort (C++)", [sort, 2_000_000 // part, 20_000 // part]),
        # Waiting threads that spin make tools starve that run one thread at a time.
        Program("stencil (OpenMP)", [stencil, 1024, 400 // part], env={"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}),
    ]


def measure(options):
    for program in programs(options.quick):
        _, native = run(program, [])
        for turn in range(options.runs):
            row = {"program": program.name, "turn": turn}
            for side in ["native", *OWN, *peers()]:
                prefix = carom.prefix("peers", OWN[side], command="count") if side in OWN else peers().get(side, [])
                wall, found = run(program, prefix)
                row |= {f"{side}_wall_s": wall, f"{side}_same": found == native}
            yield row


def summarise(rows):
    columns = [key.removesuffix("_wall_s") for key in rows[0] if key.endswith("_wall_s")]
    table = []
    for (name,), group in group_by(rows, "program").items():
        cells = [name]
        for side in columns:
            wall = [row[f"{side}_wall_s"] / row["native_wall_s"] for row in group]
            same = all(row[f"{side}_same"] for row in group)
            cells.append(number(stats.median(row["native_wall_s"] for row in group), 2) + " s" if side == "native" else
                         f"{stats.median(wall):.2f}" if same else "failed")
        table.append(cells)
    faster = all(row["carom: counts_wall_s"] < row[f"{side}_wall_s"]
                 for row in rows for side in columns if side.startswith("Valgrind: lackey") and row[f"{side}_same"])
    explained = ("Ratios of wall time to native, medians. *failed*: another output or exit status than natively, or more than two minutes. What a peer is "
                 "asked for is not the same: Valgrind's lackey counts instructions, loads and stores; QEMU counts nothing.")
    return Summary(body=[markdown(["program", *columns], table), explained],
                   criteria=[Criterion("carom counts faster than Valgrind does, in every run", "yes" if faster else "no", faster)])


if __name__ == "__main__":
    campaign.main(__file__, "9. Other tools", "carom count -q -- PROGRAM", measure, summarise, runs=5)
