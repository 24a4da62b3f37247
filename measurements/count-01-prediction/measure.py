#!/usr/bin/env python3
"""Whether `carom count predict` tells how long a problem of eight times the size takes: sort, matrix product, graph traversal."""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, stats
from lib.campaign import Criterion, Summary
from lib.paths import CAROM, REPOSITORY, compile_c, scratch
from lib.programs import Program
from lib.table import group_by, markdown, number

# The sizes that run; eight times the last is the one that is predicted.
PROBLEMS = {
    "sort": [16_000 * 2**power for power in range(8)],
    "matmul": [48, 64, 80, 96, 128, 160, 192, 256],
    "graph": [8_000 * 2**power for power in range(8)],
}
FURTHER = 8
WITHIN = 0.25
CONTAINED = 0.9


def measure(options):
    program = compile_c(REPOSITORY / "programs" / "targets" / "problem_sizes.c", "problem_sizes")
    folder = scratch("prediction")
    for turn in range(options.runs):
        for problem, sizes in PROBLEMS.items():
            target = sizes[-1] * FURTHER
            report, profile = folder / "prediction.json", folder / f"{problem}-{turn}.carom"
            subprocess.run(["rm", "-rf", str(profile)], check=True)
            subprocess.run([CAROM, "count", "predict", "-q", "--json", report, "-o", profile, "--at", f"n={target}",
                            "--param", "n=" + ",".join(map(str, sizes)), "--", program, problem, "{n}"], check=True)
            found = json.loads(report.read_text(encoding="utf-8"))["count"]["prediction"]
            truth = Program(problem, [program, problem, target])
            truth.run([])
            times = [truth.run([])[0].wall_s for _ in range(3)]
            time = found["time_s"] or {"estimate": None, "low": None, "high": None}
            used = [each["name"] for each in found["indicators"] if each["cost_s"] is not None]
            yield {"problem": problem, "turn": turn, "size": target, "largest": sizes[-1], "predicted_s": time["estimate"],
                   "low_s": time["low"], "high_s": time["high"], "direct_s": found["direct_s"], "measured_1_s": times[0],
                   "measured_2_s": times[1], "measured_3_s": times[2], "indicators": " ".join(used),
                   "doubts": " ".join(doubt["code"] for doubt in found["doubts"])}


def summarise(rows):
    def truth(row):
        return stats.median([row[f"measured_{run}_s"] for run in (1, 2, 3)])

    table, criteria, contained, all_of_them = [], [], 0, 0
    for (problem,), group in group_by(rows, "problem").items():
        told = [row for row in group if row["predicted_s"] is not None]
        # One further run, which is what the interval is about.
        inside = sum(row["low_s"] <= row["measured_1_s"] <= row["high_s"] for row in told)
        all_of_them += len(group)
        if not told:
            table.append([problem, len(group), 0, "-", "-", "-", "-"])
            criteria.append(Criterion(f"{problem}: most predictions are within {WITHIN:.0%}", "no time was told", False))
            continue
        off = [row["predicted_s"] / truth(row) - 1 for row in told]
        wide = [row["high_s"] / row["low_s"] for row in told]
        direct = [row["direct_s"] / truth(row) - 1 for row in told]
        contained += inside
        table.append([problem, len(group), len(told), f"{stats.median(off):+.0%} ({min(off):+.0%} to {max(off):+.0%})",
                      f"{stats.median(direct):+.0%}", number(stats.median(wide), 2), f"{inside} of {len(told)}"])
        within = sum(abs(each) <= WITHIN for each in off)
        # A run for which no time was told is not within.
        criteria.append(Criterion(f"{problem}: most predictions are within {WITHIN:.0%}", f"{within} of {len(group)}, median of those told {stats.median(off):+.0%}",
                                  2 * within > len(group)))
    criteria.append(Criterion(f"the interval contains a further run in {CONTAINED:.0%}", f"{contained} of {all_of_them}",
                              contained >= CONTAINED * all_of_them))
    heads = ["problem", "predictions", "with a time", "off by, median (range)", "off without indicators", "interval: high / low",
             "contains a further run"]
    explained = ("A size of eight times the largest that ran, eight sizes of three runs each. Off by: against the median of "
                 "three runs.")
    return Summary(body=[markdown(heads, table), explained], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "1. Predicted run times", "carom count predict --param n=… --at n=… -- problem_sizes sort {n}", measure,
                  summarise, runs=7)
