#!/usr/bin/env python3
"""What a sample costs: the slope of CPU time over the number of samples, between a long and a short period."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom, inputs, scripts, stats
from lib.campaign import Criterion, Summary
from lib.paths import REPOSITORY, compile_c, scratch
from lib.programs import Program, add_only
from lib.table import group_by, markdown, number

LONG, SHORT = 500_000, 10_000
# carom's command, the option with the period, and the nanoseconds allowed for a sample.
SIDES = {
    "no path": ("count", ["--trial", "samples"], "--trial-period", 1000),
    "with path": ("share", ["--engine", "translate"], "--period", 2000),
}


def programs(quick):
    """Four that people run, and two loops over arrays; one thread, or two that share nothing."""
    part = 10 if quick else 1
    text = inputs.text(60 // part)
    sql = inputs.script("samples.sql", scripts.SQL.replace("{rows}", str(600_000 // part)))
    python = inputs.script("samples.py", f"print(sum(n * n % 7 for n in range({10_000_000 // part})))\n")
    stencil = compile_c(REPOSITORY / "programs" / "targets" / "stencil.c", "stencil", "-fopenmp")
    return [
        Program("pigz", ["pigz", "-p2", "-n", "-c", text]),
        Program("xz", ["xz", "-T1", "-1", "-k", "-c", text]),
        Program("sqlite3", ["sqlite3", "-bail", ":memory:", f".read {sql}"]),
        Program("python3", ["/usr/bin/python3", python]),
        Program("sort", ["sort", "--parallel=1", "-S", "512M", inputs.numbers(3_000_000 // part)], env={"LC_ALL": "C"}),
        Program("stencil", [stencil, 1024, 1500 // part], env={"OMP_NUM_THREADS": "1"}),
    ]


def measure(options):
    for program in programs(options.quick):
        if options.only and program.name not in options.only:
            continue
        program.run([])
        for turn in range(options.runs):
            row = {"program": program.name, "turn": turn}
            for side in SIDES:
                for period in (LONG, SHORT) if turn % 2 == 0 else (SHORT, LONG):
                    row |= run(program, side, period)
            yield {key: row[key] for key in sorted(row, key=lambda key: (key not in ("program", "turn"), key))}


def run(program, side, period):
    """Seconds of CPU time of the program's own processes, carom's host not among them, and the number of samples."""
    command, options, option, _ = SIDES[side]
    out = scratch("profiles") / "samples.json"
    prefix = carom.prefix("samples", [*options, option, period, "--json", out], command=command)
    used, _ = program.run(prefix)
    report = json.loads(out.read_text(encoding="utf-8"))
    if command == "count":
        totals = {event["name"]: event["total"] for event in report["count"]["events"]}
        samples = (totals["loads"] + totals["stores"]) / period
    else:
        samples = report["quality"]["samples"]
    name = f"{side.replace(' ', '_')}_{period}"
    return {f"{name}_cpu_s": used.program_cpu_s, f"{name}_samples": samples, f"{name}_status": used.status}


def cost_ns(row, side):
    """Nanoseconds of CPU time for a sample."""
    [long, short] = [f"{side.replace(' ', '_')}_{period}" for period in (LONG, SHORT)]
    more = row[f"{short}_samples"] - row[f"{long}_samples"]
    return 1e9 * (row[f"{short}_cpu_s"] - row[f"{long}_cpu_s"]) / more


def summarise(rows):
    table, medians = [], {side: {} for side in SIDES}
    for (name,), group in group_by(rows, "program").items():
        cells = [name]
        for side in SIDES:
            costs = [cost_ns(row, side) for row in group]
            medians[side][name] = stats.median(costs)
            samples = stats.median(row[f"{side.replace(' ', '_')}_{SHORT}_samples"] for row in group)
            cells += [number(samples, 0), f"{medians[side][name]:.0f} ({min(costs):.0f} to {max(costs):.0f})"]
        table.append(cells)
    criteria = []
    for side, (*_, allowed) in SIDES.items():
        most = max(medians[side], key=medians[side].get)
        criteria.append(Criterion(f"{side}: at most {allowed} ns for a sample", f"{medians[side][most]:.0f} ns at most ({most})",
                                  medians[side][most] <= allowed))
    failed = sum(value != 0 for row in rows for key, value in row.items() if key.endswith("_status"))
    criteria.append(Criterion("every run succeeded", f"{failed} failed", failed == 0))
    explained = (f"Nanoseconds of CPU time for one sample: what runs with a period of {SHORT:,} take more than runs with {LONG:,}, "
                 "over the samples that they take more; medians and spread over pairs of runs one after the other. *No path*: "
                 "`carom count --trial samples`, which keeps no sample; *with path*: `carom share`, with its watches and their "
                 "budget. Samples: of the short period.")
    columns = ["program", *(column for side in SIDES for column in (f"samples, {side}", f"ns, {side}"))]
    return Summary(body=[markdown(columns, table), explained], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "14. What a sample costs", f"carom share --period {SHORT} -- PROGRAM", measure, summarise, runs=7,
                  quick_runs=3, arguments=add_only)
