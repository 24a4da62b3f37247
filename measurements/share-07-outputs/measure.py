#!/usr/bin/env python3
"""Show 7: programs put out the same under carom as natively, and neither hang nor crash."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom
from lib.campaign import Criterion, Summary
from lib.programs import add_only, selected
from lib.table import group_by, markdown

# Two native runs tell whether a program's output can be compared at all.
NATIVE_RUNS = 2
# A run that takes this many times as long as the slower native one counts as hung; never below the floor.
HANG_FACTOR, HANG_FLOOR_S = 10, 60


def measure(options):
    for program in selected(options):
        slowest = 0.0
        for run in range(NATIVE_RUNS):
            used, digest = program.run([])
            slowest = max(slowest, used.wall_s)
            yield row(program, "native", run, used, digest)
        for run in range(options.runs):
            used, digest = program.run(carom.prefix("outputs", ["--engine", "burst"]), max(HANG_FLOOR_S, HANG_FACTOR * slowest))
            yield row(program, "carom", run, used, digest)


def row(program, side, run, used, digest):
    return {"program": program.name, "side": side, "run": run, "digest": f"sha256:{digest}", "status": used.status,
            "timed_out": used.timed_out, "wall_s": used.wall_s}


def summarise(rows):
    table, all_right, comparable = [], True, True
    for (name,), group in group_by(rows, "program").items():
        native = [row for row in group if row["side"] == "native"]
        profiled = [row for row in group if row["side"] == "carom"]
        comparable &= len({(row["digest"], row["status"]) for row in native}) == 1
        same = sum(row["digest"] == native[0]["digest"] and row["status"] == native[0]["status"] for row in profiled)
        hangs = sum(row["timed_out"] for row in profiled)
        crashes = sum(row["status"] != native[0]["status"] and not row["timed_out"] for row in profiled)
        all_right &= same == len(profiled) and not hangs and not crashes
        table.append([name, len(profiled), same, hangs, crashes])
    return Summary(
        body=[markdown(["program", "runs", "identical", "hangs", "crashes"], table),
              "Compared are checksums of standard output and of every file that the program writes, and the exit status; "
              "for redis-server the digest of all its data (`DEBUG DIGEST`) when the client is done."],
        criteria=[
            Criterion("outputs identical to native, no hang, no crash", "all" if all_right else "see the table", all_right),
            Criterion("native outputs can be compared: two runs agree", "all" if comparable else "not all", comparable),
        ])


if __name__ == "__main__":
    campaign.main(__file__, "7. Outputs", "carom share -q --engine burst -- PROGRAM", measure, summarise, runs=20, arguments=add_only)
