#!/usr/bin/env python3
"""What `carom reuse` costs programs that people run, sampled and exact, in time and in memory."""

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom, stats
from lib.campaign import Criterion, Summary
from lib.programs import add_only, selected
from lib.table import group_by, markdown, number

SIDES = {"sampled": ["--period", "100000"], "exact": ["--exact"]}
# Geometric means over the programs. The thesis has 2.9 for sampling (6.5.8), Loca 49 for all accesses.
TIME_ALLOWED = {"sampled": 1.7, "exact": 20}
SAMPLED_MEMORY_ALLOWED = 1.3
TIMEOUT_S = 600
# So many times as many turns with samples.
EXACT_SELDOMER = 3


def measure(options):
    for program in selected(options):
        yield from turns(program, "sampled", options.runs)
    # Exact runs are long: fewer of them, with inputs a tenth as large. Made now, as they take the others' place.
    for program in selected(options, quick=True):
        yield from turns(program, "exact", math.ceil(options.runs / EXACT_SELDOMER))


def turns(program, side, runs):
    """Natively and under carom, in turns."""
    # Once unmeasured: the input and the program are in the page cache for everybody.
    program.run([])
    for turn in range(runs):
        # Another side comes first each time, so that slow drifts cancel.
        sides = ["native", side] if turn % 2 == 0 else [side, "native"]
        used = {}
        for each in sides:
            prefix = [] if each == "native" else carom.prefix("overhead", SIDES[side], command="reuse")
            used[each] = program.run(prefix, TIMEOUT_S)[0].row("native" if each == "native" else "carom")
        yield {"program": program.name, "side": side, "turn": turn, "first": sides[0], **used["native"], **used[side]}


def ratios(rows, column):
    return [row[f"carom_{column}"] / row[f"native_{column}"] for row in rows]


def summarise(rows):
    table, time, memory = [], {side: [] for side in SIDES}, []
    median_of = lambda group, column: stats.median(row[column] for row in group)
    for (name,), group in group_by(rows, "program").items():
        by_side = {side: [row for row in group if row["side"] == side] for side in SIDES}
        cells = [name]
        for side, of_side in by_side.items():
            wall = ratios(of_side, "wall_s")
            time[side].append(stats.median(wall))
            cells += [number(median_of(of_side, "native_wall_s"), 2),
                      f"{stats.median(wall):.2f} ({min(wall):.2f} to {max(wall):.2f})"]
        memory.append(stats.median(ratios(by_side["sampled"], "program_mib")))
        for of_side in by_side.values():
            cells += [number(median_of(of_side, f"{who}_program_mib"), 0) for who in ("native", "carom")]
        table.append(cells)
    criteria = [Criterion(f"{side}: geometric mean of time at most {allowed}", number(stats.geometric_mean(time[side])),
                          stats.geometric_mean(time[side]) <= allowed) for side, allowed in TIME_ALLOWED.items()]
    mean = stats.geometric_mean(memory)
    criteria.append(Criterion(f"sampled: geometric mean of peak memory at most {SAMPLED_MEMORY_ALLOWED}", number(mean),
                              mean <= SAMPLED_MEMORY_ALLOWED))
    failed = [row for row in rows for who in ("native", "carom") if row[f"{who}_status"] != 0]
    criteria.append(Criterion("every run succeeded", f"{len(failed)} failed", not failed))
    columns = ["program", "native s", "sampled", "smaller, native s", "exact", "native MiB", "sampled MiB",
               "smaller, native MiB", "exact MiB"]
    explained = ("Ratios to native are medians over interleaved turns, with their spread; the whole command counts, carom's "
                 "own start and report included. *exact*: with inputs a tenth as large, or a tenth of the rounds, beside "
                 "native runs of the same. MiB: the peak resident set of the program's largest process.")
    return Summary(body=[markdown(columns, table), explained], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "5. Overhead of reuse distances", "carom reuse -q -- PROGRAM", measure, summarise, runs=11,
                  arguments=add_only)
