#!/usr/bin/env python3
"""What `carom phases` and `carom count` with counters of the kernel cost, both of which leave the program alone.

Natively, with the memory read each millisecond, and with the kernel counting, in turns; another side comes first each time.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom, stats
from lib.campaign import Criterion, Summary
from lib.programs import add_only, selected
from lib.table import group_by, markdown, number

# One that takes memory all the time in one thread, and one whose threads need all processors of a small machine.
PROGRAMS = ["python3", "stencil"]
# The options of the commands. Of the counters none needs the program to run under carom.
SIDES = {
    "phases": ["--interval", "1ms"],
    "count": ["-r", "1", "-e", "time,user-time,system-time,peak-memory,minor-faults,major-faults,voluntary-switches,involuntary-switches,"
              "task-clock,migrations,alignment-faults,emulation-faults,read-calls,write-calls"],
}
# `carom count` runs the program once more to begin with: what counts is how long a run takes.
ALLOWED = {"phases": ("wall_s", 1.02), "count": ("program_wall_s", 1.01)}


def measure(options):
    options.only = options.only or PROGRAMS
    for program in selected(options):
        # Once unmeasured: the input and the program are in the page cache for everybody.
        program.run([])
        for turn in range(options.runs):
            yield {"program": program.name, "turn": turn, **taken(program, turn)}


def taken(program, turn):
    """One run of each side."""
    sides = ["native", *SIDES]
    first = turn % len(sides)
    used = {}
    for side in sides[first:] + sides[:first]:
        prefix = [] if side == "native" else carom.prefix("overhead", SIDES[side], command=side)
        used[side] = program.run(prefix)[0]
    return {"first": sides[first], **{key: value for side in sides for key, value in used[side].row(side).items()}}


def ratios(rows, side, column="wall_s"):
    return [row[f"{side}_{column}"] / row[f"native_{column}"] for row in rows]


def told(values):
    return f"{stats.median(values):.3f} ({stats.quantile(values, 0.25):.3f} to {stats.quantile(values, 0.75):.3f})"


def summarise(rows):
    table, medians = [], {side: [] for side in SIDES}
    for (name,), group in group_by(rows, "program").items():
        for side in SIDES:
            wall = ratios(group, side)
            medians[side].append(stats.median(ratios(group, side, ALLOWED[side][0])))
            table.append([name, side, len(group), number(stats.median(row["native_wall_s"] for row in group), 2), told(wall),
                          told(ratios(group, side, "program_wall_s"))])
    criteria = [Criterion(f"{side}: geometric mean of the medians at most {allowed}{' for a run' if side == 'count' else ''}", number(stats.geometric_mean(medians[side])),
                          stats.geometric_mean(medians[side]) <= allowed) for side, (_, allowed) in ALLOWED.items()]
    failed = [row for row in rows for side in ("native", *SIDES) if row[f"{side}_status"] != 0]
    criteria.append(Criterion("every run succeeded", f"{len(failed)} failed", not failed))
    heads = ["program", "command", "turns", "native s", "time by native", "of the program alone"]
    explained = ("Medians of the ratios within turns, with quartiles. *Time by native*: of the whole command, carom's own start and the "
                 "profile included. *Of the program alone*: from its start to its end.")
    return Summary(body=[markdown(heads, table), explained], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "2. Overhead of looking from outside", "carom phases -q -- PROGRAM; carom count -q -r 1 -e EVENTS -- PROGRAM",
                  measure, summarise, quick_runs=2, runs=11, arguments=add_only)
