#!/usr/bin/env python3
"""What carom says of programs that nobody here wrote, against what their projects say; and of versions before and after a fix."""

import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from cases import CASES
from lib import campaign, carom
from lib.campaign import Criterion, Summary
from lib.paths import CAROM, scratch
from lib.table import group_by, markdown, number

COLUMNS = ["case", "version", "run", "agrees", "wrong", "same", "native_s", "carom_s", "coverage", "share", "data", "kind", "fate", "said"]
COSTS = [("share", 2), ("coverage", 3), ("native_s", 1)]


def measure(options):
    for number, case in enumerate(CASES):
        if options.only and not re.search(options.only, case.name):
            continue
        recorded = {}
        for label, build in case.versions.items():
            load = build()
            recorded[label] = [record(f"history-{number}-{label}-{run}", load, case.options) for run in range(options.runs)]
            for run, (_, report, native, shared) in enumerate(recorded[label]):
                yield row(case, label, run, **judged(case, label, report), native_s=native.wall_s, carom_s=shared.wall_s,
                          same=(native.status, native.digest) == (shared.status, shared.digest))
        if "after" in recorded:
            pairs = list(zip(recorded["before"], recorded["after"]))
            for run, pair in enumerate(pairs):
                yield compared(case, run, [pair])
            if len(pairs) > 1:
                yield compared(case, "all", pairs)


def record(name, load, options):
    """One run natively and one under carom: the profile, its report, and how both went."""
    native = load.run([])
    file = scratch("profiles") / f"{name}.json"
    shared = load.run([*carom.prefix(name, options)[:-1], "--json", file, "--"])
    return scratch("profiles") / f"{name}.carom", json.loads(file.read_text(encoding="utf-8")), native, shared


def row(case, version, run, **cells):
    return {column: cells.get(column) for column in COLUMNS} | {"case": case.name, "version": version, "run": run}


def judged(case, label, report):
    """Whether the worst finding and its remedy are the expert's. After the fix: whether it is no longer the worst one."""
    share = report["share"]
    # What is too little to matter is nothing to find.
    little = share["not_enough"] and share["not_enough"]["negligible"]
    worst = share["findings"][0] if share["findings"] and not little else {}
    remedy = worst.get("remedy") or {}
    said = f"{report['verdict']} {remedy.get('text', '')}"
    mended = remedy.get("kind") in case.kinds and all(re.search(each, said) for each in case.says)
    if label == "after":
        agrees, wrong = not worst or bool(case.left) and not mended, mended
    else:
        agrees, wrong = mended, any(re.search(each, said) for each in case.never) or remedy.get("kind") not in [None, "none", *case.kinds]
    return {
        "agrees": agrees,
        "wrong": wrong,
        "coverage": report["count"]["coverage"]["fraction"] if report.get("count") else None,
        "share": share["contended_share"]["estimate"],
        "data": worst["object"]["name"] if worst else None,
        "kind": remedy.get("kind"),
        "said": said.strip(),
    }


def compared(case, run, pairs):
    """What `carom diff` says of the worst finding before the change."""
    file = scratch("profiles") / "history-diff.json"
    before, after = [[recording[0] for recording in side] for side in zip(*pairs)]
    command = [CAROM, "diff", "--json", file, "--before", *before, "--after", *after]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"exit status {done.returncode}: {' '.join(map(str, command))}\n{done.stderr}")
    diff = json.loads(file.read_text(encoding="utf-8"))
    worst = {called(finding) for before, _ in pairs for finding in before[1]["share"]["findings"][:1]}
    same = [finding for finding in diff["share"]["findings"] if called(finding) in worst]
    fates = {fate for finding in same for fate in (finding["fate"], finding["false_sharing_fate"])}
    # What is truly shared stays: then it is the false sharing, or a part, that goes.
    mended = {"gone", "smaller"} if case.left else {"gone"}
    wrong = not fates.isdisjoint({"new", "larger"})
    return row(case, "diff", run, agrees=not wrong and not fates.isdisjoint(mended), wrong=wrong, data="; ".join(sorted(worst)),
               fate=" ".join(sorted(filter(None, fates))), said=diff["verdict"])


def called(finding):
    """What a finding is about, without the size of a heap block, which padding changes."""
    return re.sub(r"^[\d,]+-byte ", "", finding["object"]["name"])


def summarise(rows):
    tables, criteria = [], []
    judging = [row for row in rows if row["version"] != "diff"]
    diffs = [row for row in rows if row["version"] == "diff"]
    table = []
    for (name, version), group in group_by(judging, "case", "version").items():
        case = next(case for case in CASES if case.name == name)
        expert = {"after": case.left or "nothing is left"}.get(version, case.expert)
        other = next((row for row in group if not row["agrees"] or row["wrong"]), group[0])
        table.append([name, version, expert, f"{agreeing(group)} of {len(group)}", sum(row["wrong"] for row in group), other["said"]])
    tables.append(markdown(["program", "version", "the expert", "agrees", "wrong", "carom (where one differs, that one)"], table))
    tables.append(markdown(["program", "runs of each side", "agrees", "fate", "carom diff"],
                           [[row["case"], 1 if row["run"] != "all" else "all", row["agrees"], row["fate"] or "-", row["said"]] for row in diffs]))
    costs = [[name, version, group[0]["data"] or "-", *(number(median(row[key] for row in group), digits) for key, digits in COSTS),
              number(median(row["carom_s"] / row["native_s"] for row in group), 2)]
             for (name, version), group in group_by(judging, "case", "version").items()]
    tables.append("Medians of runs; the worst finding is that of the first run.")
    tables.append(markdown(["program", "version", "worst finding", "share of accesses", "coverage", "native s", "times as long"], costs))
    tables.append("Sources of what the expert says: " + "; ".join(f"{case.name}: {case.source}" for case in CASES) + ".")
    right = [name for (name,), group in group_by(judging, "case").items() if all(row["agrees"] for row in group)]
    names = {row["case"] for row in judging}
    criteria.append(Criterion("the worst finding and its remedy are the expert's, and gone after the fix, in all runs",
                              f"{len(right)} of {len(names)} programs", len(right) == len(names)))
    criteria.append(Criterion("no wrong finding or remedy", f"{sum(row['wrong'] for row in rows)} of {len(rows)}", not any(row["wrong"] for row in rows)))
    criteria.append(Criterion("carom diff calls what was mended gone, or smaller where something is left", f"{agreeing(diffs)} of {len(diffs)}", agreeing(diffs) == len(diffs)))
    same = sum(row["same"] for row in judging)
    criteria.append(Criterion("output and exit status as natively", f"{same} of {len(judging)} runs", same == len(judging)))
    return Summary(body=tables, criteria=criteria)


def agreeing(rows):
    return sum(row["agrees"] for row in rows)


def arguments(parser):
    parser.add_argument("--only", help="only programs whose names match this expression")


if __name__ == "__main__":
    campaign.main(__file__, "11. History", "carom share -- PROGRAM; carom diff BEFORE AFTER", measure, summarise, runs=3, arguments=arguments)
