#!/usr/bin/env python3
"""What carom adds to programs that are over at once: its own start, the translation of code that runs once, the report."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom, stats
from lib.campaign import Criterion, Summary
from lib.programs import Program
from lib.table import group_by, markdown, number

# Debian's, by their paths: what stands in for them in somebody's PATH may be a script that starts ten programs.
PROGRAMS = [
    Program("true", ["/usr/bin/true"]),
    Program("ls", ["/usr/bin/ls", "-l", "/usr/bin"]),
    Program("bash", ["/usr/bin/bash", "-c", "for i in 1 2 3; do echo $i; done"]),
    Program("perl", ["/usr/bin/perl", "-e", "print 1"]),
    Program("python3", ["/usr/bin/python3", "-c", "pass"]),
]
SIDES = {
    "burst": ("share", ["--engine", "burst"]),
    "count": ("count", []),
    "sample 100K": ("share", ["--engine", "translate", "--period", "100000"]),
}
# The engine's: burst is there to compare with.
JUDGED = ["count", "sample 100K"]
ADDED_ALLOWED_MS = 40


def measure(options):
    for program in PROGRAMS:
        program.run([])
        for turn in range(options.runs):
            row = {"program": program.name, "turn": turn}
            for side in ["native", *SIDES]:
                command, arguments = SIDES.get(side, ("", []))
                used, _ = program.run(carom.prefix("start", arguments, command=command) if command else [])
                row |= used.row(side.replace(" ", "_"))
            yield row


def summarise(rows):
    table, worst = [], {side: {} for side in JUDGED}
    for (name,), group in group_by(rows, "program").items():
        cells = [name, number(1e3 * stats.median(row["native_wall_s"] for row in group), 1)]
        for side in SIDES:
            added = [1e3 * (row[f"{side.replace(' ', '_')}_wall_s"] - row["native_wall_s"]) for row in group]
            cells.append(f"{stats.median(added):.1f} ({min(added):.1f} to {max(added):.1f})")
            if side in JUDGED:
                worst[side][name] = stats.median(added)
        table.append(cells)
    criteria = []
    for side, by in worst.items():
        most = max(by, key=by.get)
        criteria.append(Criterion(f"{side}: at most {ADDED_ALLOWED_MS} ms more", f"{by[most]:.0f} ms at most ({most})",
                                  by[most] <= ADDED_ALLOWED_MS))
    explained = "Milliseconds that whole commands take more than natively: medians and spread, carom's report included."
    return Summary(body=[markdown(["program", "native ms", *SIDES], table), explained], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "8. Short programs", "carom count -q -- python3 -c pass", measure, summarise, runs=21)
