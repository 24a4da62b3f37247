#!/usr/bin/env python3
"""Invalidations of a line that two threads write in turns, against what the workload knows of its own interleaving."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, reuse, stats
from lib.campaign import Criterion, Summary
from lib.table import group_by, markdown, number

# Additions to the line's number in each visit.
RATES = {"each": 1, "one in five": 5, "one in twenty": 20}
# Private accesses between visits, and multiplications, which take about a nanosecond each: whether threads come to the line
# now and then, or fight over it all the time.
VISITS = {"apart": (16, 20_000), "fought over": (256, 0)}
# All threads have caches of their own: what one writes, the other has lost.
MODES = {"sampled": {"apart": ["--period", 100], "fought over": ["--period", 5_000]},
         "exact": {"apart": ["--exact"], "fought over": ["--exact"]}}
ITERATIONS = {("sampled", "apart"): 200_000, ("sampled", "fought over"): 4_000_000,
              ("exact", "apart"): 50_000, ("exact", "fought over"): 200_000}
OFF_WANTED = 0.1


def measure(options):
    for run in range(options.runs):
        for visits in VISITS:
            for rate in RATES:
                for mode in MODES:
                    yield one(visits, rate, mode, ITERATIONS[mode, visits] // (10 if options.quick else 1), run)


def one(visits, rate, mode, iterations, run):
    (private, apart), writes = VISITS[visits], RATES[rate]
    found = reuse.reuse_workload(
        "alternation", "alternation",
        ["--private", private, "--apart", apart, "--writes", writes, "--iterations", iterations, "--pinning", "scatter"],
        MODES[mode][visits])
    measured = found.workload["measured"]
    together = {"uses": 0, "invalidated": 0}
    for curve in found.curve("thread", "any", "time", mode, 64):
        if not found.named(curve["thread"]).startswith("worker-"):
            continue
        together["uses"] += curve["accesses"]
        together["invalidated"] += curve["accesses"] * curve["invalidated"]
    # Of how many uses they are is left out: the workload does not know what its own loops access besides.
    known = measured["invalidations"]
    return {"visits": visits, "rate": rate, "mode": mode, "run": run, "private": private, "apart": apart, "writes": writes,
            "alternated": measured["alternated_fraction"], "known": known,
            "found": together["invalidated"], "uses": together["uses"],
            "held_touches": found.report["reuse"]["quality"]["early_touches"]}


def summarise(rows):
    table, criteria = [], []
    for (mode, visits, rate), group in group_by(rows, "mode", "visits", "rate").items():
        ratio = stats.mean(row["found"] for row in group) / stats.mean(row["known"] for row in group)
        table.append([mode, visits, rate, number(stats.mean(row["alternated"] for row in group)),
                      f"{stats.mean(row['known'] for row in group):.0f}", f"{stats.mean(row['found'] for row in group):.0f}",
                      number(ratio)])
        criteria.append(Criterion(f"{mode}, {visits}, invalidated by {rate}: within {OFF_WANTED:.0%} of what the workload knows",
                                  number(ratio), abs(ratio - 1) <= OFF_WANTED))
    return Summary(body=[markdown(["mode", "visits", "rate", "additions that found another's", "invalidated, known", "found",
                                   "found over known"], table)], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "9. Invalidations of a line written in turns",
                  "carom reuse [--exact | --period N] --json out.json -- carom-workloads alternation --writes N",
                  measure, summarise, runs=10)
