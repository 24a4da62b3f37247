#!/usr/bin/env python3
"""What carom says of programs with a known culprit, against what an expert says; and what `carom diff` says of the expert's remedy."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from cases import CASES
from lib import campaign, carom
from lib.campaign import Criterion, Summary
from lib.paths import CAROM, REPOSITORY, scratch
from lib.table import group_by, markdown

SOURCES = REPOSITORY / "programs" / "targets" / "culprits"
AGREE = 0.9
MENDED = 12

COMPILERS = {".c": "cc", ".cpp": "c++", ".f90": "gfortran"}


def measure(options):
    chosen = [(number, case) for number, case in enumerate(CASES) if not options.only or re.search(options.only, case.name)]
    for run in range(options.runs):
        for number, case in chosen:
            shared = recorded(case, "verdicts")
            yield {"case": number, "program": " ".join([case.name, *case.options]), "run": run, "mended": False,
                   **judged(case, shared), "fate": None}
    for run in range(min(options.runs, 3)):
        for number, case in chosen:
            if not case.fixed:
                continue
            before, after = (recorded(case, f"verdicts-{name}", fixed) for name, fixed in (("before", False), ("after", True)))
            yield {"case": number, "program": " ".join([case.name, *case.options]), "run": run, "mended": True,
                   **compared(case, before.profile, after.profile)}


def recorded(case, name, fixed=False):
    return carom.share(name, [build(case, fixed)], case.options, engine="auto")


def build(case, fixed=False):
    """Compiles a program once, from the root, so that debug information names the source as a person there would."""
    source = SOURCES / case.source
    program = scratch("bin") / f"culprit-{case.source.replace('.', '-')}{'-fixed' if fixed else ''}"
    newest = max(each.stat().st_mtime for each in (source, *SOURCES.glob(f"{source.stem}*")))
    if program.exists() and program.stat().st_mtime > newest:
        return program
    relative = source.relative_to(REPOSITORY)
    if source.is_dir():
        target = scratch("cargo")
        flags = {"RUSTFLAGS": "--cfg fix" if fixed else "", "CARGO_TARGET_DIR": str(target)}
        run(["cargo", "build", "--quiet", "--release", "--manifest-path", relative / "Cargo.toml"], flags)
        built = target / "release" / f"culprit-{case.source.replace('_', '-')}"
        run(["cp", built, program])
    elif source.suffix == ".rs":
        run(["rustc", "-g", "-O", "--edition", "2024", *(["--cfg", "fix"] if fixed else []), "-o", program, relative])
    else:
        others = [each.relative_to(REPOSITORY) for each in SOURCES.glob(f"{source.stem}_other{source.suffix}")]
        flags = ["-g", "-O2", "-pthread", *case.flags, *(["-DFIX"] if fixed else [])]
        run([COMPILERS[source.suffix], *flags, "-o", program, relative, *others])
    return program


def run(command, environment=None):
    subprocess.run([str(word) for word in command], cwd=REPOSITORY, env={**os.environ, **(environment or {})}, check=True)


def judged(case, shared):
    """Whether the worst finding and its remedy are the expert's."""
    worst = shared.share["findings"][0] if shared.share["findings"] else {}
    remedy = worst.get("remedy") or {}
    said = f"{shared.report['verdict']} {remedy.get('text', '')}"
    kinds = case.kind.split("|") if case.kind else [None]
    return {
        "kind": remedy.get("kind"),
        "agrees": remedy.get("kind") in kinds and all(re.search(each, said) for each in case.says),
        "wrong": case.kind is None and remedy.get("kind", "none") != "none" or any(re.search(each, said) for each in case.never),
        "said": said,
    }


def compared(case, before, after):
    """What became of the expert's finding, by `carom diff`."""
    out = scratch("profiles") / "verdicts-diff.json"
    run([CAROM, "diff", "--quiet", "--json", out, before, after])
    diff = json.loads(out.read_text(encoding="utf-8"))
    findings = [each for each in diff["share"]["findings"] if re.search(case.fixed, each["object"]["name"])]
    fates = sorted({became(case, each) for each in findings})
    return {"kind": None, "agrees": fates == ["gone"], "wrong": not set(fates) <= {"gone", "smaller"}, "said": diff["verdict"],
            "fate": " ".join(fates)}


def became(case, finding):
    """Of data that is handed over as well, it is the false sharing that goes."""
    parted = case.kind.startswith("pad") and finding["false_sharing_fate"] == "gone"
    return "gone" if parted else finding["fate"]


def summarise(rows):
    told, mended = ([row for row in rows if row["mended"] == which] for which in (False, True))
    table, agreeing = [], 0
    for (number,), group in group_by(told, "case").items():
        right = sum(row["agrees"] for row in group)
        agreeing += right >= AGREE * len(group)
        other = next((row for row in group if not row["agrees"] or row["wrong"]), group[0])
        table.append([group[0]["program"], CASES[number].expert, f"{right} of {len(group)}", sum(row["wrong"] for row in group), other["said"]])
    remedies, gone = [], 0
    for _, group in group_by(mended, "case").items():
        right = sum(row["agrees"] for row in group)
        gone += right == len(group)
        other = next((row for row in group if not row["agrees"]), group[0])
        remedies.append([group[0]["program"], f"{right} of {len(group)}", other["said"]])
    wrong = sum(row["wrong"] for row in told)
    body = [markdown(["program", "the expert", "agrees", "wrong", "carom (where one differs, that one)"], table)]
    if remedies:
        body.append(markdown(["with the expert's remedy", "gone", "carom diff (where one differs, that one)"], remedies))
    return Summary(body=body, criteria=[
        Criterion("verdict and remedy are the expert's in nine of ten runs", f"{agreeing} of {len(table)} programs", agreeing == len(table)),
        Criterion("no wrong remedy", f"{wrong} of {len(told)} runs", wrong == 0),
        Criterion(f"with its remedy, the finding is gone from {MENDED} programs", f"{gone} of {len(remedies)}", gone >= MENDED),
    ])


def arguments(parser):
    parser.add_argument("--only", help="only programs whose names match this expression")


if __name__ == "__main__":
    campaign.main(__file__, "10. Verdicts", "carom share -- PROGRAM; carom diff BEFORE AFTER", measure, summarise, runs=10, arguments=arguments)
