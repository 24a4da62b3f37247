#!/usr/bin/env python3
"""Whether the phases of signals with known changes are found, and how long a million points take."""

import csv
import io
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, stats
from lib.campaign import Criterion, Summary
from lib.paths import REPOSITORY
from lib.table import group_by, markdown, number

POINTS = [3_000, 100_000, 1_000_000]
F1 = 0.95
SECONDS = 2


def measure(options):
    example = ["cargo", "run", "--release", "--quiet", "-p", "carom-study-stats", "--example", "segments", "--"]
    for points in POINTS:
        done = subprocess.run([*example, str(points), str(5 * options.runs)], cwd=REPOSITORY, check=True, capture_output=True,
                              text=True)
        for row in csv.DictReader(io.StringIO(done.stdout)):
            yield {"points": points, "changes": int(row["changes"]), "found": int(row["found"]), "near": int(row["near"]),
                   "seconds": float(row["seconds"])}


def f1(rows):
    return 2 * sum(row["near"] for row in rows) / sum(row["changes"] + row["found"] for row in rows)


def summarise(rows):
    table = []
    for (points,), group in group_by(rows, "points").items():
        seconds = [row["seconds"] for row in group]
        table.append([f"{points:,}", len(group), number(f1(group), 3), f"{stats.median(seconds):.3f}", f"{max(seconds):.3f}"])
    slowest = max(row["seconds"] for row in rows)
    criteria = [Criterion(f"F1 of changes within 1% of the length at least {F1}", number(f1(rows), 3), f1(rows) >= F1),
                Criterion(f"{max(POINTS):,} points in under {SECONDS} s", f"{slowest:.2f} s at most", slowest < SECONDS)]
    explained = "Signals with 2 to 6 changes of slope and height, and noise of a tenth to a twentieth of the jumps."
    return Summary(body=[markdown(["points", "signals", "F1", "seconds, median", "most"], table), explained], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "1. Phases of known signals", "carom phases", measure, summarise, runs=5)
