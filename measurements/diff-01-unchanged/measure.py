#!/usr/bin/env python3
"""Two recordings of a program that did not change: how often `carom diff` reports a change."""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom
from lib.campaign import Criterion, Summary
from lib.paths import CAROM, REPOSITORY, WORKLOADS, compile_c, scratch
from lib.table import group_by, markdown

CULPRITS = REPOSITORY / "programs" / "targets" / "culprits"
# Reports of nothing, too: a pair of clean runs must not differ either.
SHARE = ["ring.c", "per_thread.c", "mutex.c", "counter.c", "references.cpp", "rwlock.cpp", "stack.cpp", "spinlock.c"]
REUSE = {
    "matmul": ["matmul", "--size", "384"],
    "linked-list": ["linked-list"],
    "hash-table": ["hash-table"],
    "one distance": None,
}
WANTED = 0.05
CHANGES = {"gone", "new", "smaller", "larger"}


def measure(options):
    programs = list(recorded())
    for run in range(options.runs):
        for name, command, argv in programs:
            sides = [record(command, f"unchanged-{side}", argv) for side in ("before", "after")]
            yield {"program": name, "command": command, "run": run, **compared(sides)}


def recorded():
    """Each program: its name, the question, its command line."""
    for file in SHARE:
        compiler = "c++" if file.endswith(".cpp") else "cc"
        program = compile_c(CULPRITS / file, f"culprit-{file.replace('.', '-')}", "-pthread", compiler=compiler)
        yield file, "share", [program]
    one_distance = compile_c(REPOSITORY / "programs" / "targets" / "one_distance.c", "one-distance", "-pthread")
    for name, arguments in REUSE.items():
        yield name, "reuse", [WORKLOADS, *arguments] if arguments else [one_distance, "40000", "2048"]


def record(command, name, argv):
    words = [*carom.prefix(name, command=command), *argv]
    subprocess.run([str(word) for word in words], capture_output=True, timeout=120, check=True)
    return scratch("profiles") / f"{name}.carom"


def compared(sides):
    out = scratch("profiles") / "unchanged.json"
    subprocess.run([CAROM, "diff", *sides, "--json", out], capture_output=True, timeout=120, check=True)
    diff = json.loads(out.read_text(encoding="utf-8"))
    changes = []
    for part in ("share", "reuse"):
        of_part = diff.get(part) or {}
        totals = ("contended_share", "false_fraction", "miss_ratio")
        changes += [total for total in totals if (of_part.get(total) or {}).get("significant")]
        for finding in of_part.get("findings", []):
            changes += [fate for fate in (finding["fate"], finding.get("false_sharing_fate")) if fate in CHANGES]
    findings = sum(len((diff.get(part) or {}).get("findings", [])) for part in ("share", "reuse"))
    return {"changes": " ".join(changes), "findings": findings, "verdict": diff["verdict"]}


def summarise(rows):
    changed = [row for row in rows if row["changes"]]
    table = [[name, command, len(group), sum(row["findings"] for row in group), sum(bool(row["changes"]) for row in group)]
             for (name, command), group in group_by(rows, "program", "command").items()]
    said = [[row["program"], row["changes"], row["verdict"]] for row in changed]
    body = [markdown(["program", "command", "pairs", "findings compared", "pairs with a change"], table)]
    if said:
        body.append(markdown(["program", "called a change", "verdict"], said))
    part = len(changed) / len(rows)
    return Summary(body=body, criteria=[Criterion("a change is reported in at most 5% of the pairs",
                                                  f"{len(changed)} of {len(rows)}", part <= WANTED)])


if __name__ == "__main__":
    campaign.main(__file__, "1. Pairs of runs of an unchanged program", "carom diff BEFORE AFTER", measure, summarise, runs=9)
