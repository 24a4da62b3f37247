#!/usr/bin/env python3
"""Copies the results of the summaries into docs/benchmarks.md, between the markers that name their folders.

    <!-- begin FOLDER -->     ... replaced ...     <!-- end FOLDER -->

`--check` changes nothing and fails where the document is not up to date.
"""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from lib.campaign import RESULT_BEGIN, RESULT_END
from lib.paths import MEASUREMENTS, REPOSITORY

DOCUMENT = REPOSITORY / "docs" / "benchmarks.md"
MARKERS = re.compile(r"<!-- begin (?P<name>[\w-]+) -->\n(?P<old>.*?)<!-- end (?P=name) -->", re.DOTALL)
NOT_MEASURED = "Not measured yet."
# What tells one machine from another: not the date, the version or the load.
NOT_THE_MACHINE = {"date", "version", "command", "load average at start", "doctor"}


def result(name):
    """The part of a summary that the document shows."""
    path = MEASUREMENTS / name / "summary.md"
    if not path.exists():
        return NOT_MEASURED
    text = path.read_text(encoding="utf-8")
    shown = text[text.index(RESULT_BEGIN) + len(RESULT_BEGIN):text.index(RESULT_END)].strip()
    shown = shown.replace("../../docs/", "")
    return f"{shown}\n\nRaw rows and circumstances: [`measurements/{name}`](../measurements/{name}/summary.md)."


def machines():
    """The machines of all runs, each with the measurements that it made."""
    found = {}
    for path in sorted(MEASUREMENTS.glob("*/run.json")):
        run = json.loads(path.read_text(encoding="utf-8"))
        key = "\n".join(f"- {name}: {value}" for name, value in run.items() if name not in NOT_THE_MACHINE)
        found.setdefault(key, []).append((path.parent.name, run["date"], run["doctor"]))
    if not found:
        return NOT_MEASURED
    parts = []
    for machine, runs in found.items():
        if len(found) > 1:
            parts.append("Of " + ", ".join(name for name, *_ in runs) + ":")
        _, _, doctor = max(runs, key=lambda run: run[1])
        parts += [machine, "Output of `carom doctor`:", f"```\n{doctor}\n```"]
    return "\n\n".join(parts)


def main():
    text = DOCUMENT.read_text(encoding="utf-8")

    def replaced(match):
        name = match["name"]
        new = machines() if name == "machine" else result(name)
        return f"<!-- begin {name} -->\n\n{new}\n\n<!-- end {name} -->"

    new = MARKERS.sub(replaced, text)
    if "--check" in sys.argv[1:]:
        sys.exit(0 if new == text else f"{DOCUMENT.name} is not up to date: run measurements/collect.py")
    DOCUMENT.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
