#!/usr/bin/env python3
"""The translate engine's cost over native, part by part, on programs that people run."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom, stats
from lib.campaign import Criterion, Summary
from lib.programs import add_only, selected
from lib.table import group_by, markdown, number
from more import more_programs

# What is compared with native: carom's command and its options.
SIDES = {
    "translation": ("count", ["--trial", "translation"]),
    "count": ("count", []),
    "samples 100K": ("count", ["--trial", "samples", "--trial-period", "100000"]),
    "samples 10K": ("count", ["--trial", "samples", "--trial-period", "10000"]),
    "share 500K": ("share", ["--engine", "translate", "--period", "500000"]),
    "share 100K": ("share", ["--engine", "translate", "--period", "100000"]),
    "share 10K": ("share", ["--engine", "translate", "--period", "10000"]),
    "stream": ("count", ["--trial", "stream"]),
    "checksums": ("count", ["--trial", "checksums"]),
}
# In the first turn of so many: they are long.
SELDOM, SELDOM_TURNS = ["stream", "checksums"], 4
# Geometric means of compiled programs. `share` is more than the engine: it is held to the same, and said apart.
ALLOWED = {"translation": 1.12, "count": 1.20, "samples 100K": 1.30, "samples 10K": 1.50, "share 500K": 1.35,
           "share 100K": 1.30, "share 10K": 1.50, "stream": 5}
WORST_ALLOWED = 1.8
# No program may take longer with these.
EACH = ["count", "samples 100K", "share 100K"]
# They run code that the program reads, or makes: another bound holds.
INTERPRETERS = {"python3", "nodejs", "perl"}
INTERPRETERS_ALLOWED = 2.2
MEMORY_ALLOWED, MEMORY_ALWAYS_ALLOWED_MIB = 1.3, 64


def measure(options):
    for program in selected(options, more_programs):
        # Once unmeasured: the input and the program are in the page cache for everybody.
        program.run([])
        for turn in range(options.runs):
            sides = [side for side in ("native", *SIDES) if side not in SELDOM or turn % SELDOM_TURNS == 0]
            # Another side comes first each time, so that slow drifts cancel.
            sides = sides[turn % len(sides):] + sides[:turn % len(sides)]
            row = {"program": program.name, "turn": turn, "first": sides[0]}
            for side in ["native", *SIDES]:
                command, arguments = SIDES.get(side, ("", []))
                prefix = carom.prefix("overhead", arguments, command=command) if command else []
                name = column(side)
                used = program.run(prefix)[0].row(name) if side in sides else None
                row |= used or {key.replace("native", name, 1): None for key in row if key.startswith("native_")}
            yield row


def column(side):
    return side.replace(" ", "_")


def ratios(rows, side, of):
    side = column(side)
    return [row[f"{side}_{of}"] / row[f"native_{of}"] for row in rows if row[f"{side}_{of}"] is not None]


def summarise(rows):
    groups = group_by(rows, "program")
    table, time, memory_met = [], {side: {} for side in SIDES}, True
    for (name,), group in groups.items():
        cells = [name, number(stats.median(row["native_wall_s"] for row in group), 2)]
        for side in SIDES:
            wall = ratios(group, side, "wall_s")
            time[side][name] = stats.median(wall)
            cells.append(f"{time[side][name]:.2f}" + (f" ({min(wall):.2f} to {max(wall):.2f})" if len(wall) > 1 else ""))
        native, counted = (stats.median(row[f"{side}_program_mib"] for row in group) for side in ("native", "count"))
        memory_met &= counted / native <= MEMORY_ALLOWED or counted - native <= MEMORY_ALWAYS_ALLOWED_MIB
        table.append([*cells, number(native, 0), number(counted, 0)])
    means = {side: stats.geometric_mean(ratio for name, ratio in by.items() if name not in INTERPRETERS)
             for side, by in time.items()}
    table.append(["compiled programs, geometric mean", "", *(f"{mean:.3f}" for mean in means.values()), "", ""])
    criteria = [Criterion(f"{side}: geometric mean of compiled programs at most {allowed}", number(means[side]),
                          means[side] <= allowed) for side, allowed in ALLOWED.items()]
    for side in EACH:
        worst, worst_name = max((ratio, name) for name, ratio in time[side].items() if name not in INTERPRETERS)
        criteria.append(Criterion(f"{side}: no compiled program above {WORST_ALLOWED}", f"{number(worst)} ({worst_name})",
                                  worst <= WORST_ALLOWED))
    for side in EACH[1:]:
        interpreters = [(ratio, name) for name, ratio in time[side].items() if name in INTERPRETERS]
        if interpreters:
            slowest, name = max(interpreters)
            criteria.append(Criterion(f"{side}: interpreters at most {INTERPRETERS_ALLOWED}", f"{number(slowest)} ({name})",
                                      slowest <= INTERPRETERS_ALLOWED))
    criteria.append(Criterion(f"peak memory at most {MEMORY_ALLOWED} or {MEMORY_ALWAYS_ALLOWED_MIB} MiB over native",
                              "all" if memory_met else "not all", memory_met))
    failed = [row for row in rows for side in ("native", *SIDES) if row[f"{column(side)}_status"] not in (0, None)]
    criteria.append(Criterion("every run succeeded", f"{len(failed)} failed", not failed))
    columns = ["program", "native s", *SIDES, "native MiB", "with counts MiB"]
    explained = (
        f"Ratios to native are medians over {len(next(iter(groups.values())))} turns in which all ran one after another, "
        "with their spread (*stream* and *checksums*: in one turn of four); the whole command counts, carom's own start and "
        "report included. *translation*: nothing is counted. "
        "*samples*: counts, and samples of loads and of stores that nobody keeps; *share*: all that `carom share` does, with "
        "call paths, watchpoints and its report. *stream*: every access is written into a ring of its thread, "
        "which nobody reads; *checksums*: the thread itself adds the addresses up. Loads and stores have periods of their "
        "own, here the same. MiB: the peak resident set of the program's largest process.")
    return Summary(body=[markdown(columns, table), explained], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "4. Speed of the translate engine", "carom count -q -- PROGRAM", measure, summarise, runs=5,
                  arguments=add_only)
