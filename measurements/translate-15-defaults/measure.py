#!/usr/bin/env python3
"""What `carom count`, `carom share` and `carom reuse` cost without options, and how many samples share takes, beside the fixed period
that it had before."""

import json
import sys
from pathlib import Path

MEASUREMENTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(MEASUREMENTS), str(MEASUREMENTS / "translate-04-speed")]
from lib import campaign, carom, rodinia, stats
from lib.campaign import Criterion, Summary
from lib.paths import scratch
from lib.programs import add_only, selected
from lib.table import group_by, markdown, number
from more import more_programs
from unseen import unseen

# The period that `carom share` began with, in loads and stores.
BEFORE = 500_000
SIDES = {"count": ("count", []), "share": ("share", []), "reuse": ("reuse", []),
         "before": ("share", ["--engine", "translate", "--period", BEFORE])}
# Only in one turn of so many: reuse takes as long as all others together.
EVERY = {"reuse": 2, "before": 7}
# Geometric means and the worst of compiled programs.
ALLOWED = {"count": (1.20, 1.6), "share": (1.28, 1.7), "reuse": (2.0, 3.5)}
INTERPRETERS_ALLOWED = 1.9
TIMES_WANTED = 5
# They run code that they make or read; the first is measured by time.
INTERPRETERS = {"nodejs", "python3", "perl", "mawk", "bc"}
# Half of the sizes that the other campaigns have: 1 to 3 seconds.
PART = 2


def more(part):
    return [*more_programs(part), *rodinia.programs(part), *unseen(part)]


def measure(options):
    for program in selected(options, more, PART):
        # Once unmeasured: the input and the program are in the page cache for everybody.
        program.run([])
        for turn in range(options.runs):
            sides = [side for side in ("native", *SIDES) if turn % EVERY.get(side, 1) == 0]
            # Another side comes first each time, so that slow drifts cancel.
            sides = sides[turn % len(sides):] + sides[:turn % len(sides)]
            used = {side: run(program, side) for side in sides}
            row = {"program": program.name, "turn": turn, "first": sides[0]}
            for side in ("native", *SIDES):
                row |= used.get(side) or {f"{side}_{what}": None for what in ("wall_s", "status", "engine", "samples")}
            yield row


def run(program, side):
    if side == "native":
        used, _ = program.run([], alone=True)
        return columns(used, side) | {"native_cpu_s": used.program_cpu_s}
    out = scratch("profiles") / "defaults.json"
    out.unlink(missing_ok=True)
    command, arguments = SIDES[side]
    used, _ = program.run(carom.prefix("defaults", ["--json", out, *arguments], command=command), alone=True)
    report = json.loads(out.read_text(encoding="utf-8"))
    return columns(used, side) | {f"{side}_engine": report["engine"]["name"], f"{side}_samples": report["quality"]["samples"]}


def columns(used, side):
    return {f"{side}_wall_s": used.wall_s, f"{side}_status": used.status}


def ratios(rows, side):
    return [row[f"{side}_wall_s"] / row["native_wall_s"] for row in rows if row[f"{side}_wall_s"] is not None]


def rate(rows, side):
    """Samples in a second of the program's own CPU time."""
    return stats.median(row[f"{side}_samples"] / row["native_cpu_s"] for row in rows if row[f"{side}_samples"] is not None)


def told(values):
    return f"{stats.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def summarise(rows):
    table, walls, times = [], {side: {} for side in ALLOWED}, {}
    groups = group_by(rows, "program")
    for (name,), group in groups.items():
        for side in ALLOWED:
            walls[side][name] = stats.median(ratios(group, side))
        before = rate(group, "before")
        more_samples = rate(group, "share") / before if before else None
        if group[0]["share_engine"] == "translate" and more_samples:
            times[name] = more_samples
        table.append([name, group[0]["share_engine"], number(stats.median(row["native_wall_s"] for row in group), 2),
                      *(told(ratios(group, side)) for side in ALLOWED), number(stats.median(ratios(group, "before")), 2),
                      number(rate(group, "share"), 0), number(more_samples, 1)])
    criteria = []
    for side, (mean_allowed, worst_allowed) in ALLOWED.items():
        compiled = {name: wall for name, wall in walls[side].items() if name not in INTERPRETERS}
        mean, worst = stats.geometric_mean(compiled.values()), max(compiled, key=compiled.get)
        criteria += [Criterion(f"{side}: geometric mean of compiled programs at most {mean_allowed}", number(mean), mean <= mean_allowed),
                     Criterion(f"{side}: no compiled program above {worst_allowed}", f"{compiled[worst]:.2f} ({worst})",
                               compiled[worst] <= worst_allowed)]
    slow = {name: wall for name, wall in walls["count"].items() if name in INTERPRETERS}
    if slow:
        worst = max(slow, key=slow.get)
        criteria.append(Criterion(f"count: interpreters at most {INTERPRETERS_ALLOWED}", f"{slow[worst]:.2f} ({worst})",
                                  slow[worst] <= INTERPRETERS_ALLOWED))
    many = stats.geometric_mean(times.values())
    criteria.append(Criterion(f"share: at least {TIMES_WANTED} times as many samples as with {BEFORE:,}, geometric mean", number(many, 1),
                              many >= TIMES_WANTED))
    failed = sum(row[f"{side}_status"] not in (0, None) for row in rows for side in ("native", *SIDES))
    criteria.append(Criterion("every run succeeded", f"{failed} failed", failed == 0))
    heads = ["program", "engine of share", "native s", *(f"{side} (spread)" for side in ALLOWED), f"share --period {BEFORE:,}",
             "samples of share per CPU second", "times as with that period"]
    explained = (f"Ratios to native of the whole command, carom's start and report included: medians over "
                 f"{max(row['turn'] for row in rows) + 1} turns in which all ran one after another (reuse: in one of {EVERY['reuse']}; "
                 f"the fixed period: in one of {EVERY['before']}). Inputs are half as large as in the other campaigns. Interpreters, apart: "
                 f"{', '.join(sorted(INTERPRETERS))}. 7z, mawk and bc were not used while the engine was made faster.")
    return Summary(body=[markdown(heads, table), explained], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "15. What the commands cost by default", "carom count|share|reuse -q -- PROGRAM", measure, summarise, runs=7,
                  arguments=add_only)
