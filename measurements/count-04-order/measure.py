#!/usr/bin/env python3
"""What `carom count --vs` finds between two orders of a walk over a matrix, by rows and by columns.

Both execute the same instructions (section 4.1.3 of A. Sterz's thesis, which names the two orders the other way round). There the
misses of L1, L2 and L3 rose by over 1000%, 300% and 50%, and instructions and mispredicted branches by 2% and 3%.
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign
from lib.campaign import Criterion, Summary
from lib.carom import fresh_profile
from lib.paths import CAROM, WORKLOADS, scratch
from lib.stats import mean
from lib.table import group_by, markdown

# Rows and columns of 64-bit words: 8 MiB, which a last level holds, and 128 MiB, which none here does.
SIZES = {"held": 1024, "larger": 4096}
QUICK_SIZES = {"held": 256, "larger": 1024}
LEVELS = ["l1-load-misses", "l2-load-misses", "llc-load-misses"]
SAME = ["instructions", "branches"]
EVENTS = [*SAME, "loads", *LEVELS, "dtlb-load-misses", "page-walks", "bus-transactions", "time"]
ALPHA = 0.05
# What the thesis calls very small.
SMALL = 0.032


def measure(options):
    for matrix, size in (QUICK_SIZES if options.quick else SIZES).items():
        for event in compared(size, options.runs):
            yield {"matrix": matrix, "size": size, "event": event["name"], "basis": event["basis"], "outcome": event["outcome"],
                   "before": mean(event["before"]) if event["before"] else None,
                   "after": mean(event["after"]) if event["after"] else None,
                   **{key: event[key] for key in ("relative_change", "low", "high", "p", "p_adjusted", "p_exploratory")}}


def compared(size, runs):
    """Every event by rows, and by columns: interleaved runs."""
    out = scratch("order") / "diff.json"
    command = {order: [WORKLOADS, "traverse", "--order", order, "--size", size] for order in ("rows", "columns")}
    subprocess.run([CAROM, "count", "-q", "-r", str(runs), "--simulate-caches", "-e", ",".join(EVENTS), "-o", fresh_profile("order"),
                    "--json", out, "--vs", " ".join(map(str, command["rows"])), "--", *map(str, command["columns"])],
                   check=True, timeout=3600)
    return json.loads(out.read_text(encoding="utf-8"))["count"]["events"]


def change(row):
    if row["relative_change"] is None:
        return row["outcome"]
    return f"{row['relative_change'] + 1:.3g} times" if row["relative_change"] > 1 else f"{row['relative_change']:+.2%}"


def summarise(rows):
    table, criteria, further = [], [], {}
    for (matrix, size), group in group_by(rows, "matrix", "size").items():
        events = {row["event"]: row for row in group}
        table += [[f"{size} by {size}", row["event"], row["basis"], f"{row['before']:.4g}", f"{row['after']:.4g}", change(row),
                   "-" if row["p_adjusted"] is None else f"{row['p_adjusted']:.2g}"]
                  for name in EVENTS if (row := events.get(name)) and None not in (row["before"], row["after"])]
        further[matrix] = [events[name]["after"] - events[name]["before"] for name in LEVELS]
        # What a level holds misses no more often.
        for name in LEVELS if matrix == "larger" else LEVELS[:2]:
            row = events[name]
            more = row["outcome"] == "more" and row["p_adjusted"] < ALPHA
            criteria.append(Criterion(f"{size} by {size}: more {name}, corrected p below {ALPHA}",
                                      f"{change(row)}, p {row['p_adjusted'] or 1:.2g}", more))
        for name in SAME:
            row = events[name]
            criteria.append(Criterion(f"{size} by {size}: {name} change by at most {SMALL:.1%}", change(row),
                                      abs(row["relative_change"]) <= SMALL))
    for matrix, misses in further.items():
        ordered = misses[0] >= misses[1] >= misses[2] and misses[0] > 0
        criteria.append(Criterion(f"{matrix}: L1 misses rise the most, then L2's, then the last level's",
                                  ", ".join(f"{each:,.0f}" for each in misses), ordered))
    heads = ["matrix", "event", "known", "by rows", "by columns", "change", "p, corrected"]
    explained = ("Misses are simulated, with this machine's caches, LRU and without prefetching. By columns each load comes to another "
                 "line. How much more often a level misses depends on whether it holds the lines of a column until the next column "
                 "needs them; where all levels miss each time, their misses rise as much, relative to those by rows. So what is "
                 "ordered is the number of further misses.")
    return Summary(body=[__doc__.split("\n\n")[1].strip(), markdown(heads, table), explained], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "1. Two orders of one walk", "carom count --simulate-caches --vs ROWS -- COLUMNS", measure, summarise,
                  quick_runs=3, runs=7)
