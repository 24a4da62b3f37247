#!/usr/bin/env python3
"""Whether one run of `carom profile` finds what `carom share`, `reuse` and `count` find one by one, and what it costs beside them."""

import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom, stats
from lib.campaign import Criterion, Summary
from lib.paths import WORKLOADS, scratch
from lib.programs import QUICK_PART, Program, programs
from lib.table import group_by, markdown, number

ALONE = ["share", "reuse", "count"]
COMMANDS = ["profile", *ALONE]
# What was planted, as words that the first paragraph must have. The list's nodes lie on the heap, which has names with --objects.
PLANTED = {"hash-table": "false sharing, most of it between worker-0 and worker-1 on `carom_workloads::hash_table::BUCKETS`",
           "linked-list": "false sharing, most of it between worker-0 and worker-1 on `heap",
           "matmul": "multiply.rs"}
ORDINARY = ["pigz", "xz"]
EVENTS = ["instructions", "loads", "stores"]
# Threads that wait for each other execute a little more or less each time.
COUNT_TOLERANCE = 1e-3
COST_ALLOWED = 1.10


def measure(options):
    part = 10 if options.quick else 1
    chosen = [
        Program("hash-table", [WORKLOADS, "hash-table", "--threads", 2, "--iterations", 30_000_000 // part]),
        Program("linked-list", [WORKLOADS, "linked-list", "--threads", 2, "--iterations", 20_000_000 // part]),
        Program("matmul", [WORKLOADS, "matmul", "--variant", "naive", "--size", 512, "--repeat", max(1, 8 // part)]),
        *(program for program in programs(QUICK_PART if options.quick else 1) if program.name in ORDINARY),
    ]
    for program in chosen:
        # Once unmeasured: the input and the program are in the page cache for every command.
        program.run([])
        for turn in range(options.runs):
            # Another command comes first each time, so that slow drifts cancel.
            shift = turn % len(COMMANDS)
            for command in COMMANDS[shift:] + COMMANDS[:shift]:
                yield {"program": program.name, "command": command, "turn": turn, **once(program, command)}


def once(program, command):
    file = scratch("profile") / "report.json"
    file.unlink(missing_ok=True)
    used, _ = program.run(carom.prefix("profile", ["--json", file], command=command), 600)
    report = json.loads(file.read_text(encoding="utf-8"))
    shutil.rmtree(scratch("profiles") / "profile.carom", ignore_errors=True)
    row = {"status": used.status, "wall_s": used.wall_s, "verdict": report["verdict"]}
    if share := report.get("share"):
        row |= interval("contended", share["contended_share"]) | interval("false", share.get("false_fraction"))
    if reuse := report.get("reuse"):
        row |= interval("misses", next((fit["miss_ratio"] for fit in reuse["fits"] if fit["scope"] == "all"), None))
    if count := report.get("count"):
        row |= {event["name"]: event["total"] for event in count["events"] if event["name"] in EVENTS}
    return row


def interval(name, value):
    """Columns of an estimate and its interval."""
    return {f"{name}_{key}": value[key] if value else None for key in ("estimate", "low", "high")}


def overlap(one, other, name):
    """Whether two intervals have a value in common. What neither says is the same, too."""
    low, high = f"{name}_low", f"{name}_high"
    if None in (one[low], other[low]):
        return one[low] == other[low]
    return one[low] <= other[high] and other[low] <= one[high]


def disagreements(turn):
    """What the run of all questions says differently than the others of its turn."""
    whole = turn["profile"]
    found = [name for name, command in (("contended", "share"), ("false", "share"), ("misses", "reuse"))
             if not overlap(whole, turn[command], name)]
    return found + [event for event in EVENTS if abs(whole[event] / turn["count"][event] - 1) > COUNT_TOLERANCE]


def summarise(rows):
    table, differing, criteria, agreeing, costs, first, planted = [], [], [], 0, {}, 0, 0
    turns_of_all = 0
    for (name,), group in group_by(rows, "program").items():
        turns = [{row["command"]: row for row in turn} for turn in group_by(group, "turn").values()]
        turns = [turn for turn in turns if len(turn) == len(COMMANDS)]
        differ = [(turn["profile"]["turn"], what) for turn in turns for what in disagreements(turn)]
        differing += [[name, turn, what, *said(turns[turn], what)] for turn, what in differ]
        alike = len(turns) - len({turn for turn, _ in differ})
        agreeing += alike
        turns_of_all += len(turns)
        wall = {command: stats.median(turn[command]["wall_s"] for turn in turns) for command in COMMANDS}
        dearest = max(ALONE, key=wall.get)
        ratios = [turn["profile"]["wall_s"] / turn[dearest]["wall_s"] for turn in turns]
        costs[name] = stats.median(ratios)
        named = [turn["profile"]["verdict"] for turn in turns]
        if name in PLANTED:
            first += sum(PLANTED[name] in verdict for verdict in named)
            planted += len(named)
        table.append([name, *(number(wall[command], 2) for command in COMMANDS), dearest,
                      f"{costs[name]:.2f} ({min(ratios):.2f} to {max(ratios):.2f})", f"{alike} of {len(turns)}"])
    criteria.append(Criterion("findings as those of the commands alone: intervals overlap, counts within 0.1%",
                              f"{agreeing} of {turns_of_all} runs", agreeing == turns_of_all))
    criteria.append(Criterion("the planted problem comes first", f"{first} of {planted} runs", first == planted))
    worst = max(costs, key=costs.get)
    criteria.append(Criterion("time of the dearest command alone plus 10% at most, by medians",
                              f"{costs[worst]:.2f} ({worst})", costs[worst] <= COST_ALLOWED))
    failed = [row for row in rows if row["status"] != 0]
    criteria.append(Criterion("every run succeeded", f"{len(failed)} failed", not failed))
    body = [markdown(["program", *(f"{command} s" for command in COMMANDS), "dearest", "profile / dearest", "findings alike"], table)]
    if differing:
        body.append(markdown(["program", "turn", "what differs", "profile", "alone"], differing))
    return Summary(body=body, criteria=criteria)


def said(turn, what):
    """The two values that differ."""
    command = next((command for name, command in (("contended", "share"), ("false", "share"), ("misses", "reuse")) if name == what), "count")
    return [value(turn[each], what) for each in ("profile", command)]


def value(row, what):
    if what in EVENTS:
        return row[what]
    return "none" if row[f"{what}_low"] is None else f"{row[f'{what}_low']:.4g} to {row[f'{what}_high']:.4g}"


if __name__ == "__main__":
    campaign.main(__file__, "1. All questions in one run", "carom profile -- PROGRAM, beside carom share, reuse and count", measure, summarise)
