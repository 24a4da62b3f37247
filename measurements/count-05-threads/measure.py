#!/usr/bin/env python3
"""Which counters follow the number of threads of a parallel sort, by `carom count --param`.

The program is that of figure 4.3 of A. Sterz's thesis: 4 MiB of pseudorandom numbers, sorted by the C++ library's parallel mode. The
same program is told a number that it ignores: what follows that one is a false alarm.
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign
from lib.campaign import Criterion, Summary
from lib.carom import fresh_profile
from lib.paths import CAROM, REPOSITORY, compile_c, scratch
from lib.table import group_by, markdown, number

THREADS = "1..8"
# What the number stands for, and the program's arguments.
SIDES = {"threads": ["{n}"], "ignored": ["2", "{n}"]}
# Threads are started and waited for by system calls, and each has a stack, which is memory.
CERTAIN = ["system-calls", "minor-faults"]
R_SQUARED = 0.9


def measure(options):
    program = compile_c(REPOSITORY / "programs" / "targets" / "parallel_sort.cpp", "parallel_sort", "-fopenmp", compiler="c++")
    for side, arguments in SIDES.items():
        for law in laws([program, *arguments], options.runs):
            yield {"side": side, "event": law["name"], "basis": law["basis"], "follows": law["depends"], "model": law["model"],
                   "r_squared": law["r_squared"], "p_adjusted": law["p_adjusted"], "first": law["first"], "last": law["last"],
                   "formula": law["formula"]}


def laws(argv, runs):
    out = scratch("threads") / "laws.json"
    subprocess.run([CAROM, "count", "-q", "-r", str(runs), "--param", f"n={THREADS}", "-o", fresh_profile("threads"), "--json", out, "--",
                    *map(str, argv)], check=True, timeout=3600)
    return json.loads(out.read_text(encoding="utf-8"))["count"]["regression"]["laws"]


def summarise(rows):
    sides = {side: group for (side,), group in group_by(rows, "side").items()}
    following = [row for row in sides["threads"] if row["follows"]]
    table = [[row["event"], row["basis"], row["model"], number(row["r_squared"], 2), f"{row['p_adjusted']:.2g}", f"{row['first']:.4g}",
              f"{row['last']:.4g}", row["formula"]] for row in following]
    steady = ", ".join(row["event"] for row in sides["threads"] if not row["follows"])
    known = {row["event"]: row for row in following}
    criteria = []
    for event in CERTAIN:
        row = known.get(event)
        told = f"{row['model']}, R² {row['r_squared']:.2f}, from {row['first']:.4g} to {row['last']:.4g}" if row else "not listed"
        criteria.append(Criterion(f"{event} are listed as growing with the number of threads, R² at least {R_SQUARED}", told,
                                  bool(row) and row["r_squared"] >= R_SQUARED and row["last"] > row["first"]))
    false = [row["event"] for row in sides["ignored"] if row["follows"]]
    criteria.append(Criterion("nothing follows a number that the program ignores", ", ".join(false) or f"none of {len(sides['ignored'])}",
                              not false))
    heads = ["event", "known", "law", "R²", "p, corrected", "1 thread", "8 threads", "formula"]
    explained = (f"The others do not follow it: {steady}. With more threads than processors, they take turns. The thesis counts L1 caches "
                 "that are locked and branches that were speculated, which only hardware can count.")
    return Summary(body=[__doc__.split("\n\n")[1].strip(), markdown(heads, table), explained], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "2. A parallel sort by threads", "carom count --param n=1..8 -- parallel_sort {n}", measure, summarise,
                  quick_runs=2, runs=5)
