#!/usr/bin/env python3
"""What `carom reuse` costs programs that people run, sampled and exact, in time and in memory."""

import itertools
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom, stats
from lib.campaign import Criterion, Summary
from lib.programs import add_only, selected
from lib.table import group_by, markdown, number, read_rows

SIDES = {"sampled": ["--period", "100000"], "registers": ["--period", "100000", "--watch", "registers"],
         "exact": ["--exact"]}
# Geometric means over the programs. The thesis has 2.9 for sampling (6.5.8), Loca 49 for all accesses.
TIME_ALLOWED = {"sampled": 1.7, "registers": 1.7, "exact": 20}
MEMORY_ALLOWED = {"sampled": 1.3, "registers": 1.3}
TIMEOUT_S = 600
# So many times as many turns with samples.
EXACT_SELDOMER = 3


def measure(options):
    """Rows of the sides asked for, behind those kept of the others."""
    file = options.out / "rows.csv"
    kept = read_rows(file) if file.exists() and len(options.sides) < len(SIDES) else []
    return itertools.chain([row for row in kept if row["side"] not in options.sides], measured(options))


def measured(options):
    for side in [side for side in options.sides if side != "exact"]:
        for program in selected(options):
            yield from turns(program, side, options.runs)
    # Exact runs are long: fewer of them, with inputs a tenth as large. Made now, as they take the others' place.
    for program in selected(options, part=10) if "exact" in options.sides else []:
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
    table, time, memory = [], {side: [] for side in SIDES}, {side: [] for side in MEMORY_ALLOWED}
    median_of = lambda group, column: stats.median(row[column] for row in group)
    for (name,), group in group_by(rows, "program").items():
        by_side = {side: [row for row in group if row["side"] == side] for side in SIDES}
        cells = [name, number(median_of(by_side["sampled"], "native_wall_s"), 2)]
        for side, of_side in by_side.items():
            wall = ratios(of_side, "wall_s")
            time[side].append(stats.median(wall))
            cells.append(f"{stats.median(wall):.2f} ({min(wall):.2f} to {max(wall):.2f})")
        for side in MEMORY_ALLOWED:
            memory[side].append(stats.median(ratios(by_side[side], "program_mib")))
        cells.append(number(median_of(by_side["sampled"], "native_program_mib"), 0))
        cells += [number(median_of(of_side, "carom_program_mib"), 0) for of_side in by_side.values()]
        table.append(cells)
    criteria = [Criterion(f"{side}: geometric mean of time at most {allowed}", number(stats.geometric_mean(time[side])),
                          stats.geometric_mean(time[side]) <= allowed) for side, allowed in TIME_ALLOWED.items()]
    for side, allowed in MEMORY_ALLOWED.items():
        mean = stats.geometric_mean(memory[side])
        criteria.append(Criterion(f"{side}: geometric mean of peak memory at most {allowed}", number(mean), mean <= allowed))
    failed = [row for row in rows for who in ("native", "carom") if row[f"{who}_status"] != 0]
    criteria.append(Criterion("every run succeeded", f"{len(failed)} failed", not failed))
    columns = ["program", "native s", *SIDES, "native MiB", *(f"{side} MiB" for side in SIDES)]
    explained = ("Ratios to native are medians over interleaved turns, with their spread; the whole command counts, carom's "
                 "own start and report included. *sampled*: by default, watched by the code; *registers*: by debug registers; "
                 "*exact*: with inputs a tenth as large, or a tenth of the rounds, beside native runs of the same. MiB: "
                 "the peak resident set of the program's largest process.\n\nThe rows of *sampled* and *registers* are of "
                 "2f99e78 (2026-11-22, AMD EPYC), when accesses were looked up all the time by default.")
    return Summary(body=[markdown(columns, table), explained], criteria=criteria)


def arguments(parser):
    add_only(parser)
    parser.add_argument("--sides", nargs="+", choices=list(SIDES), default=list(SIDES),
                        help="measure these alone, and keep the rows that there are of the others")


if __name__ == "__main__":
    campaign.main(__file__, "5. Overhead of reuse distances", "carom reuse -q -- PROGRAM", measure, summarise, runs=11,
                  arguments=arguments)
