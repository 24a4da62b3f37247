#!/usr/bin/env python3
"""The translate engine's cost: exact counts, and counts with samples, over native, on programs that people run."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom, stats
from lib.campaign import Criterion, Summary
from lib.programs import add_only, selected
from lib.table import group_by, markdown, number

# What is compared with native: carom's command and its options.
SIDES = {
    "count": ("count", []),
    "sample 100K": ("share", ["--engine", "translate", "--period", "100000"]),
    "sample 10K": ("share", ["--engine", "translate", "--period", "10000"]),
}
ALLOWED = {"count": 1.20, "sample 100K": 1.30, "sample 10K": 1.50}
WORST_ALLOWED = 1.8
# They run code that the program reads, or makes: another bound holds.
INTERPRETERS = {"python3", "nodejs"}
INTERPRETERS_ALLOWED = 2.2
MEMORY_ALLOWED, MEMORY_ALWAYS_ALLOWED_MIB = 1.3, 64


def measure(options):
    for program in selected(options):
        # Once unmeasured: the input and the program are in the page cache for everybody.
        program.run([])
        for turn in range(options.runs):
            sides = ["native", *SIDES]
            # Another side comes first each time, so that slow drifts cancel.
            sides = sides[turn % len(sides):] + sides[:turn % len(sides)]
            row = {"program": program.name, "turn": turn, "first": sides[0]}
            for side in sides:
                prefix = []
                if side != "native":
                    command, arguments = SIDES[side]
                    prefix = carom.prefix("overhead", arguments, command=command)
                used, _ = program.run(prefix)
                row |= used.row(side.replace(" ", "_"))
            yield row


def ratios(rows, side, column):
    side = side.replace(" ", "_")
    return [row[f"{side}_{column}"] / row[f"native_{column}"] for row in rows]


def summarise(rows):
    groups = group_by(rows, "program")
    table, time, memory_met = [], {side: {} for side in SIDES}, True
    for (name,), group in groups.items():
        cells = [name, number(stats.median(row["native_wall_s"] for row in group), 2)]
        for side in SIDES:
            wall = ratios(group, side, "wall_s")
            time[side][name] = stats.median(wall)
            cells.append(f"{time[side][name]:.2f} ({min(wall):.2f} to {max(wall):.2f})")
        native, counted = (stats.median(row[f"{side}_program_mib"] for row in group) for side in ("native", "count"))
        memory_met &= counted / native <= MEMORY_ALLOWED or counted - native <= MEMORY_ALWAYS_ALLOWED_MIB
        table.append([*cells, number(native, 0), number(counted, 0)])
    compiled = {side: [ratio for name, ratio in by.items() if name not in INTERPRETERS] for side, by in time.items()}
    criteria = [
        Criterion(f"{side}: geometric mean of compiled programs at most {ALLOWED[side]}",
                  number(stats.geometric_mean(compiled[side])), stats.geometric_mean(compiled[side]) <= ALLOWED[side])
        for side in SIDES if compiled[side]]
    worst = max(ratio for ratio in [*compiled["count"], *compiled["sample 100K"]])
    criteria.append(Criterion(f"no compiled program above {WORST_ALLOWED}, counts and samples every 100K", number(worst),
                              worst <= WORST_ALLOWED))
    interpreters = [ratio for name, ratio in time["sample 100K"].items() if name in INTERPRETERS]
    if interpreters:
        criteria.append(Criterion(f"interpreters, samples every 100K: at most {INTERPRETERS_ALLOWED}",
                                  number(max(interpreters)), max(interpreters) <= INTERPRETERS_ALLOWED))
    criteria.append(Criterion(f"peak memory at most {MEMORY_ALLOWED} or {MEMORY_ALWAYS_ALLOWED_MIB} MiB over native",
                              "all" if memory_met else "not all", memory_met))
    failed = [row for row in rows for side in ("native", *SIDES) if row[f"{side.replace(' ', '_')}_status"] != 0]
    criteria.append(Criterion("every run succeeded", f"{len(failed)} failed", not failed))
    columns = ["program", "native s", *SIDES, "native MiB", "with counts MiB"]
    explained = (
        f"Ratios to native are medians over {len(next(iter(groups.values())))} turns in which all four ran one after another, "
        "with their spread; the whole command counts, carom's own start and report included. Loads and stores have "
        "periods of their own, here the same. MiB: the peak resident set of the program's largest process.")
    return Summary(body=[markdown(columns, table), explained], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "4. Speed of the translate engine", "carom count -q -- PROGRAM", measure, summarise, runs=5,
                  arguments=add_only)
