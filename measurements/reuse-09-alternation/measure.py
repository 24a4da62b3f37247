#!/usr/bin/env python3
"""Invalidations of a line that two threads write in turns, against what the workload knows of its own interleaving."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, reuse, stats
from lib.campaign import Criterion, Summary
from lib.table import group_by, markdown, number

# Private accesses between visits to the line, and additions to its number in each.
RATES = {"each": (256, 1), "one in five": (256, 5), "one in twenty": (256, 20)}
# All threads have caches of their own: what one writes, the other has lost.
MODES = {"sampled": ["--period", 5_000], "exact": ["--exact"]}
ITERATIONS = {"sampled": 4_000_000, "exact": 200_000}
OFF_WANTED = 0.1


def measure(options):
    for run in range(options.runs):
        for rate, (private, writes) in RATES.items():
            for mode, flags in MODES.items():
                yield one(rate, private, writes, mode, flags, ITERATIONS[mode] // (10 if options.quick else 1), run)


def one(rate, private, writes, mode, flags, iterations, run):
    found = reuse.reuse_workload(
        "alternation", "alternation",
        ["--private", private, "--writes", writes, "--iterations", iterations, "--pinning", "scatter"], flags)
    measured = found.workload["measured"]
    together = {"uses": 0, "invalidated": 0}
    for curve in found.curve("thread", "any", "time", mode, 64):
        if not found.named(curve["thread"]).startswith("worker-"):
            continue
        together["uses"] += curve["accesses"]
        together["invalidated"] += curve["accesses"] * curve["invalidated"]
    additions, others = sum(measured["sequence_writes"]), sum(measured["other_stores"]) + sum(measured["private_accesses"])
    # An addition is one touch, and a load and a store, each of which may be sampled.
    each = 2 if mode == "sampled" else 1
    known = each * measured["invalidations"] / (each * additions + others)
    return {"rate": rate, "mode": mode, "run": run, "private": private, "writes": writes,
            "alternated": measured["alternated_fraction"], "known": known,
            "found": together["invalidated"] / together["uses"],
            "held_touches": found.report["reuse"]["quality"]["early_touches"]}


def summarise(rows):
    table, criteria = [], []
    for (mode, rate), group in group_by(rows, "mode", "rate").items():
        ratio = stats.mean(row["found"] for row in group) / stats.mean(row["known"] for row in group)
        table.append([mode, rate, number(stats.mean(row["alternated"] for row in group)),
                      f"{stats.mean(row['known'] for row in group):.6f}", f"{stats.mean(row['found'] for row in group):.6f}",
                      number(ratio)])
        criteria.append(Criterion(f"{mode}, invalidated by {rate}: within {OFF_WANTED:.0%} of what the workload knows",
                                  number(ratio), abs(ratio - 1) <= OFF_WANTED))
    return Summary(body=[markdown(["mode", "rate", "additions that found another's", "invalidated, known", "found",
                                   "found over known"], table)], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "9. Invalidations of a line written in turns",
                  "carom reuse [--exact | --period 5000] --json out.json -- carom-workloads alternation --writes N",
                  measure, summarise, runs=10)
