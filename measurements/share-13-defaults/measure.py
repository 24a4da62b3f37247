#!/usr/bin/env python3
"""What `carom share` costs without any option, and how many samples it takes, beside the fixed period that it had before."""

import json
import sys
from pathlib import Path

MEASUREMENTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(MEASUREMENTS), str(MEASUREMENTS / "translate-04-speed")]
from lib import campaign, carom, stats
from lib.campaign import Criterion, Summary
from lib.paths import scratch
from lib.programs import add_only, selected
from lib.table import group_by, markdown, number
from more import more_programs

# The period that `carom share` began with, in loads and stores.
BEFORE = 500_000
SIDES = {"default": [], "before": ["--engine", "translate", "--period", BEFORE]}
MEAN_ALLOWED, WORST_ALLOWED = 1.28, 1.7
TIMES_WANTED = 5
# They run code that they make or read; the first is measured by time.
APART = {"nodejs", "python3", "perl"}


def measure(options):
    for program in selected(options, more_programs(options.quick)):
        # Once unmeasured: the input and the program are in the page cache for everybody.
        program.run([])
        for turn in range(options.runs):
            sides = ["native", *SIDES]
            # Another side comes first each time, so that slow drifts cancel.
            sides = sides[turn % len(sides):] + sides[:turn % len(sides)]
            row = {"program": program.name, "turn": turn, "first": sides[0]}
            used = {side: run(program, side) for side in sides}
            yield row | {key: value for side in ["native", *SIDES] for key, value in used[side].items()}


def run(program, side):
    if side == "native":
        used, _ = program.run([])
        return used.row(side)
    out = scratch("profiles") / "defaults.json"
    out.unlink(missing_ok=True)
    used, _ = program.run(carom.prefix("defaults", ["--json", out, *SIDES[side]]))
    report = json.loads(out.read_text(encoding="utf-8"))
    quality = report["quality"]
    return used.row(side) | {f"{side}_engine": report["engine"]["name"], f"{side}_samples": quality["samples"],
                             f"{side}_dropped": quality["dropped"],
                             f"{side}_longest": max((each["period"] for each in quality["periods"]), default=0)}


def ratios(rows, side):
    return [row[f"{side}_wall_s"] / row["native_wall_s"] for row in rows]


def rate(rows, side):
    """Samples in a second of the program's own CPU time."""
    return stats.median(row[f"{side}_samples"] / row["native_program_cpu_s"] for row in rows)


def summarise(rows):
    table, walls, times = [], {}, {}
    for (name,), group in group_by(rows, "program").items():
        default, before = ratios(group, "default"), ratios(group, "before")
        more = rate(group, "default") / rate(group, "before") if rate(group, "before") else None
        if name not in APART:
            walls[name] = stats.median(default)
            if group[0]["default_engine"] == "translate" and more:
                times[name] = more
        table.append([name, group[0]["default_engine"], number(stats.median(row["native_wall_s"] for row in group), 2),
                      f"{stats.median(default):.2f} ({min(default):.2f} to {max(default):.2f})", number(stats.median(before), 2),
                      number(rate(group, "default"), 0), number(rate(group, "before"), 0), number(more, 1),
                      f"{max(row['default_longest'] for row in group):,}", max(row["default_dropped"] for row in group)])
    mean, more = stats.geometric_mean(walls.values()), stats.geometric_mean(times.values())
    worst = max(walls, key=walls.get)
    failed = sum(row[f"{side}_status"] != 0 for row in rows for side in ("native", *SIDES))
    columns = ["program", "engine", "native s", "share (spread)", f"share --period {BEFORE:,}", "samples per CPU second",
               f"with --period {BEFORE:,}", "times", "longest period", "records dropped, most"]
    explained = (f"Ratios to native of the whole command, carom's start and report included, and samples for each second of CPU "
                 f"time that the program takes natively: medians over {max(row['turn'] for row in rows) + 1} turns in which all ran "
                 "one after another. By default the period follows the program.")
    return Summary(body=[markdown(columns, table), explained], criteria=[
        Criterion(f"geometric mean of compiled programs at most {MEAN_ALLOWED}", number(mean), mean <= MEAN_ALLOWED),
        Criterion(f"no compiled program above {WORST_ALLOWED}", f"{walls[worst]:.2f} ({worst})", walls[worst] <= WORST_ALLOWED),
        Criterion(f"at least {TIMES_WANTED} times as many samples as with {BEFORE:,}, geometric mean", number(more, 1),
                  more >= TIMES_WANTED),
        Criterion("every run succeeded", f"{failed} failed", failed == 0)])


if __name__ == "__main__":
    campaign.main(__file__, "13. What share costs by default", "carom share -q -- PROGRAM", measure, summarise, runs=7,
                  arguments=add_only)
