#!/usr/bin/env python3
"""Comparisons of a program with itself: how often `carom diff` calls anything a change.

A pool of runs is recorded once, in random order; each comparison draws two sides of RUNS from it without replacement, as if they
had been recorded then. Comparisons share runs, so they are less independent than 200 new pairs would be; with POOL runs there are
many more ways to draw than comparisons.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign
from lib.campaign import Criterion, Summary
from lib.paths import CAROM, WORKLOADS, scratch
from lib.table import markdown

# Threads that share a lock and a hash table: counts, misses and times that differ from run to run.
PROGRAM = [WORKLOADS, "hash-table", "--threads", "4", "--iterations", "5000", "--sync", "mutex"]
RUNS = 7
POOL = 56
WANTED = 0.05
EVENTS = 40
ALPHA = 0.05


def measure(options):
    pool = record(POOL if options.runs >= 100 else 2 * RUNS)
    kinds = by_kind(pool)
    draw = random.Random(20261125)
    for number in range(options.runs):
        sides = [[], []]
        for runs in kinds.values():
            chosen = draw.sample(runs, 2 * RUNS)
            for side, part in zip(sides, (chosen[:RUNS], chosen[RUNS:])):
                side += part
        yield {"comparison": number, **compared(sides)}


def record(runs):
    """The runs of one series, each in the ways that its events need."""
    place = scratch("unchanged") / "pool"
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([CAROM, "count", "-q", "--simulate-caches", "-r", str(runs), "-o", place, "--", *map(str, PROGRAM)], check=True,
                   timeout=3600)
    return sorted(place.glob("run-*"))


def by_kind(pool):
    """Runs under carom, and runs without it."""
    kinds = {}
    for run in pool:
        manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
        kinds.setdefault(manifest["engine"]["name"], []).append(run)
    return kinds


def compared(sides):
    """Two series of links to the runs that were drawn, compared."""
    place = scratch("unchanged")
    for name, runs in zip(("before", "after"), sides):
        side = place / name
        shutil.rmtree(side, ignore_errors=True)
        side.mkdir()
        for number, run in enumerate(runs, 1):
            os.symlink(run, side / f"run-{number}")
    out = place / "diff.json"
    subprocess.run([CAROM, "diff", "-q", place / "before", place / "after", "--json", out], check=True, capture_output=True,
                   timeout=120)
    diff = json.loads(out.read_text(encoding="utf-8"))
    events = diff["count"]["events"]
    tested = [event for event in events if event["p"] is not None]
    return {"events": len(events), "tested": len(tested), "changes": sum(event["outcome"] in ("more", "less") for event in events),
            "uncorrected": sum(event["p"] < ALPHA for event in tested), "exploratory": sum(event["p_exploratory"] < ALPHA for event in
                                                                                           tested),
            "called": " ".join(event["name"] for event in events if event["outcome"] in ("more", "less"))}


def summarise(rows):
    def part(column):
        return f"{sum(row[column] > 0 for row in rows)} of {len(rows)}"

    table = [["Holm's correction: what carom calls a change", part("changes")],
             ["Benjamini and Hochberg's, for exploring", part("exploratory")], ["without any correction", part("uncorrected")]]
    tested = [row["tested"] for row in rows]
    alarms = sum(row["changes"] > 0 for row in rows) / len(rows)
    explained = f"Of {rows[0]['events']} events, {min(tested)} to {max(tested)} varied between the runs of a comparison and were tested."
    return Summary(body=[markdown(["comparisons with at least one change", ""], table), explained, __doc__.split("\n\n")[1]],
                   criteria=[Criterion(f"a change of anything is reported in at most {WANTED:.0%} of the comparisons",
                                       part("changes"), alarms <= WANTED),
                             Criterion(f"at least {EVENTS} events", str(rows[0]["events"]), rows[0]["events"] >= EVENTS)])


if __name__ == "__main__":
    campaign.main(__file__, "1. Counts of an unchanged program", "carom diff", measure, summarise, quick_runs=5, runs=200)
