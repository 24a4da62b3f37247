#!/usr/bin/env python3
"""Whether `carom share` keeps to its budget, by a profile that knows nothing of its accounts: CPU time in the agent, in the kernel and
in carom itself, with samples as by default and with none."""

import json
import subprocess
import sys
from pathlib import Path

MEASUREMENTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(MEASUREMENTS), str(MEASUREMENTS / "translate-04-speed"), str(MEASUREMENTS / "translate-15-defaults")]
from lib import campaign, carom, rodinia, stats
from lib.campaign import Criterion, Summary
from lib.paths import scratch
from lib.programs import Redis, add_only, selected
from lib.table import group_by, markdown, number
from more import more_programs
from unseen import unseen

BUDGET, CREDIT_S = 0.05, 0.050
# With a period that no program reaches.
SIDES = {"none": ["--period", 2_000_000_000], "default": []}
# Samples a second. The kernel's tick is what limits it.
RATE = 2000
PARTS = ["cache", "agent", "kernel", "other", "host"]
# As in translate-15-defaults: 1 to 3 seconds.
PART = 2


def more(part):
    return [*more_programs(part), *rodinia.programs(part), *unseen(part)]


def measure(options):
    for program in selected(options, more, PART):
        # A server has a client, which is not observed. Programs that make code are measured by time.
        if isinstance(program, Redis) or program.name == "nodejs":
            continue
        program.run([])
        for turn in range(options.runs):
            sides = list(SIDES) if turn % 2 == 0 else list(SIDES)[::-1]
            found = {side: run(program, side) for side in sides}
            row = {"program": program.name, "turn": turn}
            for side in SIDES:
                row |= {f"{side}_{name}": value for name, value in found[side].items()}
            yield row


def run(program, side):
    """Seconds of CPU time by where they were spent, and the number of samples that carom took."""
    out, data = scratch("profiles") / "budget.json", scratch("profiles") / "budget.perf"
    recorder = ["perf", "record", "-q", "-e", "cpu-clock", "-F", RATE, "-o", data, "--"]
    prefix = carom.prefix("budget", ["--engine", "translate", "--json", out, *SIDES[side]])
    used, _ = program.run([*recorder, *prefix], alone=True)
    listed = subprocess.run(["perf", "script", "-i", data, "-F", "comm,ip,dso"], capture_output=True, text=True, check=True).stdout
    times = dict.fromkeys(PARTS, 0)
    for line in listed.splitlines():
        times[where(line)] += 1 / RATE
    report = json.loads(out.read_text(encoding="utf-8"))
    return {f"{part}_s": round(times[part], 4) for part in PARTS} | {"samples": report["quality"]["samples"], "status": used.status}


def where(line):
    """`COMM ADDRESS (FILE)`, where each may contain spaces."""
    command = line.split()[0]
    if command in ("carom", "perf", "perf-exec"):
        return "host" if command == "carom" else "other"
    file = line.rsplit("(", 2 if line.endswith("(deleted))") else 1)[1]
    names = {"carom-code": "cache", "libcarom_agent": "agent", "kernel.kallsyms": "kernel"}
    return next((part for name, part in names.items() if name in file), "other")


def inside(row, side):
    """Seconds in the program's processes beside its own code."""
    return sum(row[f"{side}_{part}_s"] for part in ("agent", "kernel", "other"))


def part(row):
    """The part of the program's time, as it is without samples, that they took in its processes, and the host for it."""
    program = inside(row, "none") + row["none_cache_s"]
    taken = inside(row, "default") - inside(row, "none")
    return taken / program, (taken - CREDIT_S) / program, (row["default_host_s"] - row["none_host_s"]) / program


def summarise(rows):
    table, parts = [], {}
    for (name,), group in group_by(rows, "program").items():
        found = [part(row) for row in group]
        inside_part, beyond, host = (stats.median(each[n] for each in found) for n in range(3))
        parts[name] = beyond
        samples = stats.median(row["default_samples"] for row in group)
        each = stats.median((inside(row, "default") - inside(row, "none")) / max(row["default_samples"], 1) for row in group)
        spread = f"{min(each[0] for each in found):.1%} to {max(each[0] for each in found):.1%}"
        table.append([name, number(stats.median(inside(row, "none") + row["none_cache_s"] for row in group), 2), number(samples, 0),
                      f"{inside_part:.1%} ({spread})", number(each * 1e6, 1), f"{host:.1%}"])
    worst = max(parts, key=parts.get)
    failed = sum(row[f"{side}_status"] != 0 for row in rows for side in SIDES)
    criteria = [
        Criterion("median over the programs, without what may be spent at once (5% of a second), at most 5% of CPU time", f"{stats.median(parts.values()):.1%}",
                  stats.median(parts.values()) <= BUDGET),
        Criterion("the same for each program, at most 7%", f"{parts[worst]:.1%} ({worst})", parts[worst] <= 0.07),
        Criterion("every run succeeded", f"{failed} failed", failed == 0),
    ]
    heads = ["program", "CPU seconds without samples", "samples", "samples took, of that (spread)", "us for each", "carom itself"]
    explained = (f"`perf record -e cpu-clock -F {RATE}` of `carom share` as by default, and with a period of 2,000,000,000: seconds in the agent, the "
                 f"kernel and libraries, not in translated code. Medians of {max(row['turn'] for row in rows) + 1} pairs. What samples cost the "
                 "translated code by what they leave in caches is not seen so. Carom itself: reading what agents write, and the report, with "
                 "names of functions and lines.")
    return Summary(body=[markdown(heads, table), explained], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "15. Whether samples keep to the budget", "carom share -q -- PROGRAM", measure, summarise, runs=3,
                  arguments=add_only)
