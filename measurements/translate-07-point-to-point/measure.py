#!/usr/bin/env python3
"""Show 3 of `carom share` by the translate engine: four threads that communicate in pairs, with lines watched by debug
registers and in software."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, pairs, stats
from lib.campaign import Criterion, Summary
from lib.table import group_by, markdown, number

PERIOD = 100_000
WATCHES = ["registers", "software"]


def measure(options):
    for run in range(options.runs):
        for fractions in pairs.FRACTIONS[:1] if options.quick else pairs.FRACTIONS:
            for watch in WATCHES:
                shared, order, row = pairs.measure_once(
                    fractions, run, options.quick, ["--period", PERIOD, "--watch", watch], engine="translate")
                yield {"watch": watch} | row | {
                    "ratio_accesses": pairs.ratio(*(accesses_of(shared, pair) for pair in order)),
                    "traps": shared.report["quality"]["watchpoint_traps"],
                }


def accesses_of(shared, pair):
    """The pair's line's share of the sampled accesses."""
    places = {line["address"] for line in shared.workload["expected"]["lines"] if tuple(line["threads"]) == pair}
    return sum(line["share_of_samples"] for line in shared.lines if line["address"] in places)


def summarise(rows):
    criteria = []
    for (watch,), group in group_by(rows, "watch").items():
        criteria += [Criterion(f"{watch}: {criterion.wanted}", criterion.measured, criterion.met)
                     for criterion in pairs.judged(group)]
        distances = [pairs.distance(row, "ratio_accesses") for row in group]
        near = sum(distance <= pairs.RATIO_ALLOWED for distance in distances)
        criteria.append(Criterion(f"{watch}: ratio of the accesses to the pairs' lines within {pairs.RATIO_ALLOWED} of the "
                                  "workload's own, in 9 of 10 runs",
                                  f"{near} of {len(group)} runs, median distance {stats.median(distances):.3f}",
                                  near >= pairs.RUNS_WANTED * len(group)))
    table = [[row["watch"], *pairs.cells_of(row), number(row["ratio_accesses"])] for row in rows]
    words = ("The matrix has accesses that follow another thread's write among the samples. While the threads of a pair take "
             "turns on one processor, or one of them waits, all its accesses follow its own, and take a fraction of the time. So "
             "the cells are compared with the accesses that the workload made while both threads of the pair ran; the ratio of "
             "all accesses is the one by the workload, and in the last column by carom's samples.")
    return Summary(body=[words, markdown(["watched by", *pairs.COLUMNS, "ratio of accesses to the lines"], table)], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "7. Point-to-point by the translate engine",
                  f"carom share --engine translate --period {PERIOD} --watch WATCH --json out.json -- carom-workloads "
                  "point-to-point --threads 4 --sharing-fractions A,B --seconds 4", measure, summarise)
