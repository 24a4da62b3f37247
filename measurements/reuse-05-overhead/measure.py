#!/usr/bin/env python3
"""What `carom reuse` costs programs that people run, sampled and exact, in time and in memory."""

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


def measure(options):
    for program in selected(options):
        # Once unmeasured: the input and the program are in the page cache for everybody.
        program.run([])
        for turn in range(options.runs):
            # Another side comes first each time, so that slow drifts cancel. Exact runs are long: one in four turns.
            sides = ["native", "sampled", *(["exact"] if turn % 4 == 0 else [])]
            sides = sides[turn % len(sides):] + sides[:turn % len(sides)]
            row = {"program": program.name, "turn": turn, "first": sides[0]}
            for side in ["native", *SIDES]:
                prefix = [] if side == "native" else carom.prefix("overhead", SIDES[side], command="reuse")
                used = program.run(prefix, TIMEOUT_S)[0].row(side) if side in sides else None
                row |= used if used else {key.replace("native", side): None for key in row if key.startswith("native_")}
            yield row


def ratios(rows, side, column):
    return [row[f"{side}_{column}"] / row[f"native_{column}"] for row in rows if row[f"{side}_{column}"] is not None]


def summarise(rows):
    table, time, memory = [], {side: [] for side in SIDES}, []
    for (name,), group in group_by(rows, "program").items():
        cells = [name, number(stats.median(row["native_wall_s"] for row in group), 2)]
        for side in SIDES:
            wall = ratios(group, side, "wall_s")
            time[side].append(stats.median(wall))
            cells.append(f"{stats.median(wall):.2f} ({min(wall):.2f} to {max(wall):.2f})")
        memory.append(stats.median(ratios(group, "sampled", "program_mib")))
        mib = [stats.median(row[f"{side}_program_mib"] for row in group if row[f"{side}_program_mib"] is not None)
               for side in ("native", *SIDES)]
        table.append([*cells, *(number(value, 0) for value in mib)])
    criteria = [Criterion(f"{side}: geometric mean of time at most {allowed}", number(stats.geometric_mean(time[side])),
                          stats.geometric_mean(time[side]) <= allowed) for side, allowed in TIME_ALLOWED.items()]
    mean = stats.geometric_mean(memory)
    criteria.append(Criterion(f"sampled: geometric mean of peak memory at most {SAMPLED_MEMORY_ALLOWED}", number(mean),
                              mean <= SAMPLED_MEMORY_ALLOWED))
    failed = [row for row in rows for side in ("native", *SIDES) if row[f"{side}_status"] not in (0, None)]
    criteria.append(Criterion("every run succeeded", f"{len(failed)} failed", not failed))
    explained = ("Ratios to native are medians over interleaved turns, with their spread; the whole command counts, carom's "
                 "own start and report included. MiB: the peak resident set of the program's largest process.")
    return Summary(body=[markdown(["program", "native s", *SIDES, "native MiB", "sampled MiB", "exact MiB"], table), explained],
                   criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "5. Overhead of reuse distances", "carom reuse -q -- PROGRAM", measure, summarise, runs=11,
                  arguments=add_only)
