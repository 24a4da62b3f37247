#!/usr/bin/env python3
"""Show 2: one contended access in loops of 4 to 200 instructions, at every position."""

import itertools
import json
import math
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom, machine
from lib.campaign import Criterion, Summary
from lib.paths import WORKLOADS
from lib.table import group_by, markdown, read_rows

WANTED = 0.9
# How long a run takes, by the contended instruction. A plain store or load hardly stalls, so a timer meets it one time
# in 200 even in the short loops.
SECONDS = {"lock-add": 0.8, "add": 0.8, "store": 8, "load": 8}
# The instruction at every position; the others come at fewer places.
MAIN_KIND = "lock-add"
OTHER_LENGTHS = [16, 64, 200]
# A module is loaded at a multiple of the page size, so the lowest bits of an address survive loading.
PAGE = 4096


def loops():
    """{length: positions} of all loops that there are."""
    listed = json.loads(subprocess.run([WORKLOADS, "contended-loop", "--list"], capture_output=True, text=True, check=True).stdout)
    return {loop["length"]: loop["positions"] for loop in listed["expected"]["loops"]}


def five(positions):
    """First, quarter, middle, three-quarters, last."""
    return sorted({positions[round(part / 4 * (len(positions) - 1))] for part in range(5)})


def plan(options):
    """(kind, length, position, run), so that every length has at least `options.runs` runs."""
    everything = loops()
    if options.quick:
        everything = {length: five(everything[length])[1:4:2] for length in (4, 16, 200)}
    for kind in options.kinds:
        for length in everything if kind == MAIN_KIND else OTHER_LENGTHS[: 1 if options.quick else None]:
            positions = everything[length]
            if kind != MAIN_KIND or options.positions == "five":
                positions = five(positions)
            for run in range(math.ceil(options.runs / len(positions))):
                for position in positions:
                    yield kind, length, position, run


def measure(options):
    """Rows of the kinds asked for, behind those kept of the others."""
    file = options.out / "rows.csv"
    kept = read_rows(file) if file.exists() and len(options.kinds) < len(SECONDS) else []
    return itertools.chain([row for row in kept if row["kind"] not in options.kinds], runs(options))


def runs(options):
    version = machine.describe()["version"]
    for kind, length, position, run in plan(options):
        shared = carom.share_workload("contended-loop", "contended-loop", [
            "--length", length, "--position", position, "--contended", kind, "--seconds", SECONDS[kind], "--seed", run + 1])
        expected = shared.workload["expected"]
        lines = shared.lines
        line = bool(lines) and lines[0]["address"] == expected["line"]
        site = lines[0]["sites"][0] if line and lines[0]["sites"] else None
        yield {
            "version": version,
            "kind": kind,
            "seconds": SECONDS[kind],
            "length": length,
            "position": position,
            "run": run,
            "line_first": line,
            "instruction_first": site is not None and any(is_contended(site, loop) for loop in expected["loops"]),
            "lines": len(lines),
            "samples": shared.report["quality"]["samples"],
            "top_line": lines[0]["address"] if lines else None,
            "top_function": site and site["function"],
            "top_address": site and site["call_path"][0]["address"],
            "contended_address": expected["loops"][0]["contended_address"],
        }


def is_contended(site, loop):
    """Whether a site is the loop's contended instruction: same function, same place in the page."""
    address = int(site["call_path"][0]["address"], 16)
    return site["function"] == loop["function"] and (address - int(loop["contended_address"], 16)) % PAGE == 0


def summarise(rows):
    table, shares = [], []
    for (kind, length), group in group_by(rows, "kind", "length").items():
        line = sum(row["line_first"] for row in group)
        instruction = sum(row["instruction_first"] for row in group)
        shares.append((instruction / len(group), kind, length))
        table.append([kind, group[0]["seconds"], length, len({row["position"] for row in group}), len(group), line,
                      instruction])
    worst, kind, length = min(shares)
    versions = ", ".join(sorted({row["version"] for row in rows}))
    return Summary(
        body=[f"Versions: {versions}.", markdown(["contended instruction", "seconds", "instructions", "positions", "runs", "line ranked first",
                        "instruction ranked first"], table)],
        criteria=[Criterion("line and instruction ranked first in 9 of 10 runs at every length",
                            f"the worst is {worst:.0%} ({kind}, {length} instructions)", worst >= WANTED)])


def arguments(parser):
    parser.add_argument("--positions", choices=["all", "five"], default="all")
    parser.add_argument("--kinds", nargs="+", choices=SECONDS, default=list(SECONDS),
                        help="measure these alone, and keep the rows that there are of the others")


if __name__ == "__main__":
    campaign.main(__file__, "2. One contended access in loops of 4 to 200 instructions",
                  f"carom share --engine burst --json out.json -- carom-workloads contended-loop --length N --position P "
                  "--contended KIND --seconds S", measure, summarise, arguments=arguments)
