#!/usr/bin/env python3
"""Whether two seconds of a program are enough for the right verdict, with the names of heap blocks and no option."""

import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom
from lib.campaign import Criterion, Summary
from lib.paths import REPOSITORY, WORKLOADS, compile_c, scratch
from lib.table import group_by, markdown

SECONDS = 2
RIGHT = 0.9
CULPRITS = REPOSITORY / "programs" / "targets" / "culprits"


def concurrent_set(workload, sync):
    """256 elements, of which two operations in five insert one or remove one."""
    return [WORKLOADS, workload, "--sync", sync, "--updates", 40, "--range", 512, "--seconds", SECONDS]


def culprit(source, compiler="cc"):
    """A program that would run on is ended after its time."""
    return ["timeout", SECONDS, compile_c(CULPRITS / source, f"seconds-{source.replace('.', '-')}", "-pthread", compiler=compiler)]


# The command, the kinds of the worst finding's remedy, and what verdict and remedy together must match.
CASES = {
    "hash table, spinlocks": (lambda: concurrent_set("hash-table", "spinlock"), ["contend"], [r"lock in `256-byte block allocated in run_with"]),
    "hash table, mutexes": (lambda: concurrent_set("hash-table", "mutex"), ["contend"], [r"mutex(es)? in `40-byte block allocated in new", r"locks\.rs:46"]),
    "linked list, spinlock": (lambda: concurrent_set("linked-list", "spinlock"), ["contend"], [r"lock in `16-byte block allocated in run_with"]),
    "linked list, mutex": (lambda: concurrent_set("linked-list", "mutex"), ["contend"], [r"mutex in `40-byte block allocated in new", r"locks\.rs:46"]),
    "queue behind a mutex": (lambda: culprit("queue.cpp", "c++"), ["contend"], [r"the (mutex|condition variable) `queue\.(mutex_|filled_)"]),
    "heap blocks on one line": (lambda: culprit("heap_pair.c"), ["align-blocks"], [r"false sharing", r"struct progress", r"allocated in"]),
    "reference counts": (lambda: culprit("references.cpp", "c++"), ["contend"], [r"reference count", r"allocated in", r"by reference"]),
}


def measure(options):
    built = {name: make() for name, (make, _, _) in CASES.items()}
    for run in range(options.runs):
        for name, (_, kinds, says) in CASES.items():
            yield {"program": name, "run": run} | judged(recorded(built[name]), kinds, says)


def recorded(command):
    out = scratch("profiles") / "seconds.json"
    out.unlink(missing_ok=True)
    # The status is 124 where the time was over.
    subprocess.run([str(word) for word in [*carom.prefix("seconds", ["--json", out]), *command]], capture_output=True, timeout=60, check=False)
    return json.loads(out.read_text(encoding="utf-8"))


def judged(report, kinds, says):
    share = report["share"]
    worst = share["findings"][0] if share["findings"] else {"remedy": {"kind": None, "text": ""}}
    said = f"{report['verdict']} {worst['remedy']['text']}"
    right = worst["remedy"]["kind"] in kinds and all(re.search(each, said) for each in says)
    return {"right": right, "kind": worst["remedy"]["kind"], "events": report["quality"]["events"], "samples": report["quality"]["samples"],
            "run_s": report["program"]["wall_s"], "share": share["contended_share"]["estimate"], "said": said.strip()}


def summarise(rows):
    table, criteria = [], []
    for (program,), group in group_by(rows, "program").items():
        right = [row for row in group if row["right"]]
        other = next((row for row in group if not row["right"]), group[0])
        low, high = min(row["events"] for row in group), max(row["events"] for row in group)
        table.append([program, f"{len(right)} of {len(group)}", f"{low} to {high}", other["said"]])
        criteria.append(Criterion(f"{program}: right in nine of ten", f"{len(right)} of {len(group)}", len(right) >= RIGHT * len(group)))
    body = [markdown(["program", "right", "events of sharing", "carom (where one differs, that one)"], table)]
    return Summary(body=body, criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "14. Two seconds", "carom share -- PROGRAM", measure, summarise, runs=10, quick_runs=2)
