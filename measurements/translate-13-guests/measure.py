#!/usr/bin/env python3
"""Programs that are hard for a tool inside them: their output and end are as natively, and counts are right or owned up.

CAROM_GUESTS names the folder of their sources.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from cases import CASES
from lib import campaign
from lib.campaign import Criterion, Summary
from lib.paths import CAROM, scratch
from lib.table import group_by, markdown

COMMANDS = {
    "count": ["count"],
    "share": ["share", "--engine", "translate"],
    "share by burst": ["share", "--engine", "burst"],
    "reuse": ["reuse"],
    "reuse, exact": ["reuse", "--exact"],
}
HANG_S = 60
# Counts are within this of what is known, or coverage says what is missing, to within a point.
COUNT_TOLERANCE, COVERAGE_TOLERANCE = 1e-4, 0.01


def measure(options):
    folder = build()
    for case in CASES:
        if options.only and not re.search(options.only, case.name):
            continue
        for run in range(options.runs if case.racing else 1):
            native = run_once(case, folder, [])
            yield row(case, "native", run, native, native)
            for side, words in COMMANDS.items():
                report = folder / "report.json"
                report.unlink(missing_ok=True)
                shutil.rmtree(folder / "profile.carom", ignore_errors=True)
                prefix = [CAROM, words[0], "-q", "-o", folder / "profile.carom", "--json", report, *words[1:], "--"]
                found = run_once(case, folder, prefix)
                if side == "count" and case.steps:
                    found |= counted(report)
                yield row(case, side, run, found, native)


def build():
    """A folder with the programs, and one for those that change their root."""
    sources = Path(os.environ.get("CAROM_GUESTS") or sys.exit("CAROM_GUESTS must name the folder of the programs"))
    folder = scratch("guests")
    (folder / "root").mkdir(exist_ok=True)
    for case in {case.source: case for case in CASES}.values():
        subprocess.run(["gcc", "-w", "-O2", "-g", "-pthread", *case.flags, "-o", folder / case.source,
                        sources / f"{case.source}.c", "-lm", "-ldl"], check=True)
    for name in "ab":
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / f"root/{name}.so", sources / f"lib_{name}.c"], check=True)
    return folder


def run_once(case, folder, prefix):
    command = [str(word) for word in [*prefix, f"./{case.source}", *case.arguments]]
    try:
        done = subprocess.run(command, cwd=folder, env={**os.environ, **case.env}, capture_output=True, timeout=HANG_S, check=False)
    except subprocess.TimeoutExpired:
        return {"status": "hung", "printed": ""}
    printed = (done.stdout + done.stderr).decode(errors="replace")
    return {"status": done.returncode, "printed": re.sub(case.blur, "#", printed) if case.blur else printed}


def counted(report):
    """What the report says was executed, and the share of the time that it says it saw."""
    try:
        count = json.loads(report.read_text(encoding="utf-8"))["count"]
    except (OSError, ValueError, KeyError):
        return {}
    totals = {event["name"]: event for event in count["events"]}
    instructions = totals.get("instructions", {})
    return {"instructions": instructions.get("total", sum(instructions.get("values", []))),
            "coverage": count.get("coverage", {}).get("fraction")}


def row(case, side, run, found, native):
    same = (found["status"], found["printed"]) == (native["status"], native["printed"])
    return {"program": case.name, "side": side, "run": run, "same": same, "status": found["status"],
            "printed": "" if same and side != "native" else found["printed"].strip()[-160:], "known": case.steps,
            "instructions": found.get("instructions"), "coverage": found.get("coverage")}


def summarise(rows):
    table, numbers, differing, hangs, wrong = [], [], 0, 0, 0
    for (name,), group in group_by(rows, "program").items():
        cells = []
        for side in COMMANDS:
            ours = [row for row in group if row["side"] == side]
            cells.append(f"{sum(row['same'] for row in ours)} of {len(ours)}")
            differing += sum(not row["same"] for row in ours)
            hangs += sum(row["status"] == "hung" for row in ours)
        table.append([name, *cells])
        for row in group:
            if row["side"] == "count" and row["known"]:
                seen = (row["instructions"] or 0) / row["known"]
                right = seen >= 1 - COUNT_TOLERANCE or row["coverage"] is not None and abs(row["coverage"] - seen) <= COVERAGE_TOLERANCE
                wrong += not right
                numbers.append([name, f"{row['known']:.4g}", f"{row['instructions'] or 0:.4g}", row["coverage"], "yes" if right else "NO"])
    return Summary(
        body=[markdown(["program", *COMMANDS], table),
              markdown(["program", "known", "counted", "coverage", "right, or owned up"], numbers)],
        criteria=[Criterion("output and status as natively", f"{differing} of {len(rows)} runs differ", differing == 0),
                  Criterion("no hang", str(hangs), hangs == 0),
                  Criterion("counts within 0.01%, or coverage says what is missing, within a point", f"{wrong} do not", wrong == 0)])


def arguments(parser):
    parser.add_argument("--only", help="only programs whose names match this expression")


if __name__ == "__main__":
    campaign.main(__file__, "13. Guests", "carom COMMAND -q -- PROGRAM", measure, summarise, runs=200, arguments=arguments)
