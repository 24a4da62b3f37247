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
    "share": ("share", []),
}
# Milliseconds that a command may take more than the program natively.
ALLOWED_MS = {"count": {"true": 12, "python3": 60}, "share": {"true": 20, "python3": 80}}


def measure(options):
    for program in PROGRAMS:
        wall(program, [])
        for turn in range(options.runs):
            row = {"program": program.name, "turn": turn}
            for side in ["native", *SIDES]:
                command, arguments = SIDES.get(side, ("", []))
                row[f"{side}_wall_s"] = wall(program, carom.prefix("start", arguments, command=command) if command else [])
            yield row


def wall(program, prefix):
    """Seconds for a whole command."""
    used, _ = program.run(prefix, alone=True)
    return used.wall_s


def summarise(rows):
    table, criteria = [], []
    for (name,), group in group_by(rows, "program").items():
        cells = [name, number(1e3 * stats.median(row["native_wall_s"] for row in group), 1)]
        for side in SIDES:
            added = [1e3 * (row[f"{side}_wall_s"] - row["native_wall_s"]) for row in group]
            median = stats.median(added)
            cells.append(f"{median:.1f} ({min(added):.1f} to {max(added):.1f})")
            allowed = ALLOWED_MS.get(side, {}).get(name)
            if allowed is not None:
                criteria.append(Criterion(f"{side}: {name} at most {allowed} ms more", f"{median:.1f} ms", median <= allowed))
        table.append(cells)
    explained = "Milliseconds that whole commands take more than natively: medians and spread, carom's report included."
    return Summary(body=[markdown(["program", "native ms", *SIDES], table), explained], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "8. Short programs", "carom count -q -- python3 -c pass", measure, summarise, runs=21)
