#!/usr/bin/env python3
"""What it costs to keep every access of a program on disk, to simulate caches while it runs, and to look at every access for nothing."""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom, stats
from lib.campaign import Criterion, Summary
from lib.kernels import ANALYSED, CONTROLS, kernel
from lib.paths import CAROM, scratch
from lib.programs import Program, add_only, selected
from lib.table import group_by, markdown, number

# The command and its options. *null*: what figure 15 of Marathe, Mueller and de Supinski calls so.
SIDES = {
    "null": ("count", ["--trial", "stream"]),
    "trace": ("trace", ["--limit", "none", "--no-symbols"]),
    "online": ("trace", ["--simulate"]),
}
ALLOWED = {"trace": 9, "online": 20}
# Rounds of each kernel: some hundredths of a second natively, and a hundred million accesses or more.
ROUNDS = {"bt": 20, "cg": 20, "ft": 40, "lu": 10, "smg": 120, "sp": 30, "sppm": 55, "mg": 50, "is": 12, "ep": 10}
REAL = ["zstd", "pigz", "lbzip2", "carom-rayon"]
PART = 40
TIMEOUT_S = 600


def kernels(options):
    names = [name for name in [*ANALYSED, *CONTROLS] if not options.only or name in options.only]
    return [Program(name, [kernel(name), 1 if options.quick else ROUNDS[name]], env={"OMP_NUM_THREADS": "2"}) for name in names]


def measure(options):
    for program in [*kernels(options), *(each for each in selected(options, part=PART) if each.name in REAL)]:
        # Once unmeasured: the input and the program are in the page cache for everybody.
        program.run([])
        for turn in range(options.runs):
            sides = ["native", *SIDES]
            # Another side comes first each time, so that slow drifts cancel.
            sides = sides[turn % len(sides):] + sides[:turn % len(sides)]
            row = {"program": program.name, "turn": turn}
            found = {}
            for side in sides:
                command, arguments = SIDES.get(side, ("", []))
                prefix = carom_prefix(command, arguments) if command else []
                found[side] = program.run(prefix, TIMEOUT_S)[0].row(side)
            for side in ["native", *SIDES]:
                row |= found[side]
            yield row | kept()


def carom_prefix(command, arguments):
    """As `carom.prefix`, but that what is simulated at once leaves no profile."""
    if "--simulate" in arguments:
        return [CAROM, command, "-q", "--json", scratch("simulate") / "online.json", *arguments, "--"]
    return carom.prefix(f"cost-{command}", arguments, command=command)


def kept():
    """Accesses and bytes of the last trace."""
    profile = scratch("profiles") / "cost-trace.carom"
    said = subprocess.run([str(CAROM), "trace", "--check", profile], env=os.environ, check=True, capture_output=True, text=True).stdout
    accesses = said.split("can be read. ")[1].split(" ")[0].replace(",", "")
    return {"accesses": int(accesses), "bytes": (profile / "accesses.chunks").stat().st_size}


def summarise(rows):
    table, slow = [], {side: [] for side in SIDES}
    for (name,), group in group_by(rows, "program").items():
        cells = [name, number(stats.median(row["native_wall_s"] for row in group), 2)]
        for side, all_slow in slow.items():
            ratios = [row[f"{side}_wall_s"] / row["native_wall_s"] for row in group]
            all_slow.append(stats.median(ratios))
            cells.append(f"{stats.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})")
        accesses, size = (stats.median(row[key] for row in group) for key in ("accesses", "bytes"))
        table.append([*cells, f"{accesses / 1e6:.0f}", number(size / accesses, 2)])
    criteria = [Criterion(f"{side}: median of the programs at most {allowed}", number(stats.median(slow[side]), 1),
                          stats.median(slow[side]) <= allowed) for side, allowed in ALLOWED.items()]
    each = [row["bytes"] / row["accesses"] for row in rows]
    criteria.append(Criterion("at most 3 bytes for each access on average", number(stats.mean(each), 2), stats.mean(each) <= 3))
    failed = [row for row in rows for side in ["native", *SIDES] if row[f"{side}_status"] != 0]
    criteria.append(Criterion("every run succeeded", f"{len(failed)} failed", not failed))
    explained = ("Ratios to native are medians over turns in which all ran one after another, with their spread; the whole command "
                 "counts, carom's own start and end included. *null*: every access is told to a function that does nothing. *trace*: kept on "
                 "disk, without names. *online*: simulated while the program runs, with a report and nothing kept.")
    return Summary(body=[markdown(["program", "native s", *SIDES, "million accesses", "bytes by access"], table), explained],
                   criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "Cost of traces", "carom trace -- PROGRAM", measure, summarise, runs=3, arguments=add_only)
