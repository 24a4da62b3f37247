#!/usr/bin/env python3
"""What carom says of programs with a known culprit, against what an expert says."""

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from cases import CASES
from lib import campaign, carom
from lib.campaign import Criterion, Summary
from lib.paths import REPOSITORY, compile_c, scratch
from lib.table import group_by, markdown

SOURCES = REPOSITORY / "programs" / "targets" / "culprits"
AGREE = 0.9


def measure(options):
    programs = {case.source: build(case) for case in CASES}
    for run in range(options.runs):
        for number, case in enumerate(CASES):
            if options.only and not re.search(options.only, case.name):
                continue
            shared = carom.share("verdicts", [programs[case.source]], case.options, engine="auto")
            yield {"case": number, "program": " ".join([case.name, *case.options]), "run": run, **judged(case, shared)}


def build(case):
    source = SOURCES / case.source
    name = f"culprit-{case.source.replace('.', '-')}"
    if source.suffix != ".rs":
        return compile_c(source, name, "-pthread", *case.flags, compiler="c++" if source.suffix == ".cpp" else "cc")
    program = scratch("bin") / name
    subprocess.run(["rustc", "-g", "-O", "--edition", "2024", "-o", program, source.relative_to(REPOSITORY)], cwd=REPOSITORY, check=True)
    return program


def judged(case, shared):
    """Whether the worst finding and its remedy are the expert's."""
    worst = shared.share["findings"][0] if shared.share["findings"] else {}
    remedy = worst.get("remedy") or {}
    said = f"{shared.report['verdict']} {remedy.get('text', '')}"
    kinds = case.kind.split("|") if case.kind else [None]
    return {
        "kind": remedy.get("kind"),
        "agrees": remedy.get("kind") in kinds and all(re.search(each, said) for each in case.says),
        "wrong": bool(worst) and case.kind is None or any(re.search(each, said) for each in case.never),
        "said": said,
    }


def summarise(rows):
    table, agreeing, wrong = [], 0, 0
    for (number,), group in group_by(rows, "case").items():
        right = sum(row["agrees"] for row in group)
        agreeing += right >= AGREE * len(group)
        wrong += sum(row["wrong"] for row in group)
        other = next((row for row in group if not row["agrees"] or row["wrong"]), group[0])
        table.append([group[0]["program"], CASES[number].expert, f"{right} of {len(group)}", sum(row["wrong"] for row in group), other["said"]])
    cases = len(table)
    return Summary(
        body=[markdown(["program", "the expert", "agrees", "wrong", "carom (where one differs, that one)"], table)],
        criteria=[Criterion("verdict and remedy are the expert's in nine of ten runs", f"{agreeing} of {cases} programs", agreeing == cases),
                  Criterion("no wrong remedy", f"{wrong} of {len(rows)} runs", wrong == 0)])


def arguments(parser):
    parser.add_argument("--only", help="only programs whose names match this expression")


if __name__ == "__main__":
    campaign.main(__file__, "10. Verdicts", "carom share -- PROGRAM", measure, summarise, runs=10, arguments=arguments)
