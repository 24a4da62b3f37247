#!/usr/bin/env python3
"""Show 3: programs put out the same and end the same way natively, counted and sampled, and none hangs."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import build
from cases import cases
from lib import campaign, carom
from lib.campaign import Criterion, Summary
from lib.paths import scratch
from lib.sessions import end_session
from lib.table import group_by, markdown, number

# Two native runs tell whether a program's output can be compared at all.
NATIVE_RUNS = 2
# A run that takes this many times as long as the slower native one counts as hung; never below the floor.
HANG_FACTOR, HANG_FLOOR_S = 20, 60
NATIVE_LIMIT_S = 180
ENGINES = {"counted": ["count"], "sampled": ["share", "--engine", "translate", "--period", "100000"]}


def measure(options):
    build.all_programs()
    for case in cases():
        if options.only and case.name.split()[0].rstrip(",:") not in options.only:
            continue
        if lack := case.lacks():
            yield row(case, "skipped", 0, {"reason": f"no {lack} here"})
            continue
        slowest = 0.0
        for run in range(NATIVE_RUNS):
            found = run_once(case, [], NATIVE_LIMIT_S)
            slowest = max(slowest, found["wall_s"])
            yield row(case, "native", run, found)
        for run in range(options.runs if case.threaded else 1):
            for side, words in ENGINES.items():
                ours = under_carom(case, words, max(HANG_FLOOR_S, HANG_FACTOR * slowest))
                if not same(ours, found):
                    keep(f"{case.name}-{side}")
                yield row(case, side, run, ours)


def run_once(case, prefix, limit_s):
    """Runs the case in an empty folder; what it put out, as a digest, and how it ended."""
    folder = scratch("transparency") / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if case.user:
        shutil.chown(folder, case.user)
    begin = time.monotonic()
    with open(folder.parent / "stdout", "wb") as stdout, open(folder.parent / "stderr", "wb") as stderr:
        # A session of its own, so that a hung program is ended with its children.
        process = subprocess.Popen([*map(str, prefix), "sh", "-c", "set -e\n" + case.script], cwd=folder, stdout=stdout,
                                   stderr=stderr, stdin=subprocess.DEVNULL, env=case.environment(), start_new_session=True,
                                   user=case.user, group=case.user, extra_groups=[] if case.user else None)
        try:
            status, timed_out = process.wait(limit_s), False
        except subprocess.TimeoutExpired:
            end_session(process.pid)
            status, timed_out = process.wait(), True
    wall = time.monotonic() - begin
    end_session(process.pid)
    return {"status": status, "timed_out": timed_out, "wall_s": wall,
            "digest": f"sha256:{digest(folder, folder.parent / 'stdout')}"}


def under_carom(case, words, limit_s):
    """A run under carom, and how much of it ran in the engine."""
    report = scratch("transparency-profiles") / "report.json"
    report.unlink(missing_ok=True)
    profile = report.with_name("profile.carom")
    shutil.rmtree(profile, ignore_errors=True)
    if case.user:
        shutil.chown(report.parent, case.user)
    command, *options = words
    prefix = [carom.CAROM, command, "-q", "-o", profile, "--json", report, *options, "--"]
    found = run_once(case, prefix, limit_s)
    try:
        told = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return found
    coverage = told.get("count", {}).get("coverage", {})
    return found | {"coverage": coverage.get("fraction"), "processes": len(told["processes"]), "threads": len(told["threads"])}


def keep(name):
    """Keeps what the last run put out, to be looked at."""
    place = scratch("transparency-differences") / re.sub(r"\W+", "-", name)
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(scratch("transparency"), place, symlinks=True, ignore=lambda folder, names: [
        name for name in names if not (Path(folder) / name).is_file() and not (Path(folder) / name).is_dir()])


def digest(folder, stdout):
    """One checksum of stdout, and of the names and contents of all files in the folder."""
    whole = hashlib.sha256()
    for path in [stdout, *sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())]:
        whole.update(f"{path.relative_to(folder.parent)}\0{path.stat().st_size}\0".encode())
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                whole.update(block)
    return whole.hexdigest()[:16]


COLUMNS = ["status", "timed_out", "wall_s", "digest", "coverage", "processes", "threads", "reason"]


def row(case, side, run, found):
    return {"program": case.name, "side": side, "run": run, "threaded": case.threaded, "fresh": case.fresh,
            **{column: found.get(column) for column in COLUMNS}}


def summarise(rows):
    table, skipped, differing, unsteady, programs, fresh = [], [], [], [], 0, 0
    for (name,), group in group_by(rows, "program").items():
        if group[0]["side"] == "skipped":
            skipped.append(f"- {name}: {group[0]['reason']}")
            continue
        native = [row for row in group if row["side"] == "native"]
        ours = [row for row in group if row["side"] != "native"]
        if not same(native[0], native[1]) or native[0]["timed_out"]:
            unsteady.append(name)
        right = [row for row in ours if same(row, native[0])]
        programs += 1
        fresh += group[0]["fresh"]
        if len(right) != len(ours):
            differing.append(name)
        coverage = [row["coverage"] for row in ours if row["coverage"] is not None]
        table.append([name + (" *" if group[0]["fresh"] else ""), len(ours), len(right), sum(row["timed_out"] for row in ours),
                      sum(row["status"] != native[0]["status"] and not row["timed_out"] for row in ours),
                      number(100 * min(coverage), 2) + "%" if coverage else "-"])
    return Summary(
        body=[markdown(["program", "runs", "identical", "hangs", "ended otherwise", "least coverage"], table),
              "Compared are standard output, the names and contents of all files written, and the exit status or signal. "
              "*: run for the first time when development had ended.",
              *(["Skipped:\n\n" + "\n".join(skipped)] if skipped else [])],
        criteria=[
            Criterion("identical to native, counted and sampled, no hang, no crash",
                      f"all but {', '.join(differing)}" if differing else f"all of {programs} programs", not differing),
            Criterion("at least 40 programs and five not used during development", f"{programs - fresh} and {fresh}",
                      programs - fresh >= 40 and fresh >= 5),
            Criterion("native outputs can be compared: two runs agree",
                      f"all but {', '.join(unsteady)}" if unsteady else "all", not unsteady),
        ])


def same(row, native):
    return not row["timed_out"] and (row["digest"], row["status"]) == (native["digest"], native["status"])


def add_only(parser):
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these programs, by the first word of their names")


if __name__ == "__main__":
    campaign.main(__file__, "3. Transparency",
                  "carom count -q -- PROGRAM; carom share -q --engine translate --period 100000 -- PROGRAM",
                  measure, summarise, runs=20, arguments=add_only)
