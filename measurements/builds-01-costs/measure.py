#!/usr/bin/env python3
"""What a change of carom's code does to its costs: an earlier build and this one, in turns, on programs that people run.

CAROM_BEFORE names the folder of the earlier release build: `make release` in a worktree at its commit, and that one's target/release.
"""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom, stats
from lib.campaign import Criterion, Summary
from lib.paths import CAROM
from lib.programs import add_only, selected
from lib.table import group_by, markdown, number

COMMANDS = {"count": ["count"], "share": ["share", "--engine", "translate"], "share by burst": ["share", "--engine", "burst"], "reuse": ["reuse"]}
ALLOWED = 1.03


def measure(options):
    before = Path(os.environ.get("CAROM_BEFORE") or sys.exit("CAROM_BEFORE must name the folder of the earlier release build")) / "carom"
    builds = {"before": before, "after": CAROM}
    versions = {f"{name}_version": version(build) for name, build in builds.items()}
    if versions["before_version"].endswith("-dirty") and not options.quick:
        sys.exit("the tree of CAROM_BEFORE has changes that no commit has")
    for program in selected(options):
        # Once unmeasured: the input and the program are in the page cache for everybody.
        program.run([])
        for turn in range(options.runs):
            for command, words in COMMANDS.items():
                row = {"program": program.name, "command": command, "turn": turn}
                # The other build comes first each time, so that slow drifts cancel.
                for name in list(builds)[:: 1 if turn % 2 else -1]:
                    _, *prefix = carom.prefix("builds", words[1:], command=words[0])
                    used = program.run([builds[name], *prefix])[0]
                    row |= {f"{name}_{key}": getattr(used, key) for key in ("wall_s", "cpu_s", "program_mib", "status")}
                yield row | versions


def version(build):
    """The commit that its worktree is at."""
    return subprocess.run(["git", "-C", build.parent, "describe", "--always", "--tags", "--dirty"], capture_output=True, text=True,
                          check=True).stdout.strip()


def ratio(row, column):
    return row[f"after_{column}"] / row[f"before_{column}"]


def summarise(rows):
    table, criteria = [], []
    for (command,), of_command in group_by(rows, "command").items():
        medians = {column: [] for column in ("wall_s", "cpu_s", "program_mib")}
        for (name,), group in group_by(of_command, "program").items():
            for column, found in medians.items():
                found.append(stats.median(ratio(row, column) for row in group))
            wall = [ratio(row, "wall_s") for row in group]
            table.append([command, name, number(stats.median(row["before_wall_s"] for row in group), 2),
                          f"{medians['wall_s'][-1]:.3f} ({min(wall):.3f} to {max(wall):.3f})",
                          *(f"{medians[column][-1]:.3f}" for column in ("cpu_s", "program_mib"))])
        mean = stats.geometric_mean(medians["wall_s"])
        criteria.append(Criterion(f"{command}: geometric mean of time, after over before, at most {ALLOWED}", f"{mean:.3f}", mean <= ALLOWED))
    failed = [row for row in rows if row["before_status"] != 0 or row["after_status"] != 0]
    criteria.append(Criterion("every run succeeded", f"{len(failed)} failed", not failed))
    versions = f"Before: {rows[0]['before_version']}; after: {rows[0]['after_version']}. Ratios are medians of the turns' own ratios, with their spread."
    return Summary(body=[versions, markdown(["command", "program", "before s", "time", "CPU time", "memory"], table)], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "1. Costs before and after a change", "carom COMMAND -q -- PROGRAM, by two builds", measure, summarise, arguments=add_only)
