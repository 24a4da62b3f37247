#!/usr/bin/env python3
"""Suites that nobody here wrote: what ends and prints the same natively twice does so under carom.

The sources are those that CAROM_RR and CAROM_DYNAMORIO_SOURCE name (git repositories), or are cloned.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign
from lib.campaign import Criterion, Summary
from lib.paths import CAROM, scratch
from lib.sessions import end_group, end_session, enter_group, new_group
from lib.table import group_by, markdown
from suites import SUITES

NATIVE_LIMIT_S = 30
HANG_FACTOR, HANG_FLOOR_S = 10, 60
SIDES = {"count": ["count"], "share": ["share", "--period", "10000"]}
WANTED = 0.995


def measure(options):
    for suite in options.suite or SUITES:
        tests = [test for test in SUITES[suite]() if not options.only or re.search(options.only, test.name)]
        with ThreadPoolExecutor(options.jobs) as pool:
            for rows in pool.map(run_test, tests):
                yield from rows


def run_test(test):
    """All rows of one test: natively twice, then under each command, some more of both where it differed."""
    natives = [run_once(test, [], NATIVE_LIMIT_S) for _ in range(2)]
    first, second = natives
    if second["hung"] or first["status"] != second["status"]:
        return [row(test, "native", run, found, "unsteady") for run, found in enumerate(natives)]
    limit = max(HANG_FLOOR_S, HANG_FACTOR * max(found["wall_s"] for found in natives))
    rows = [row(test, "native", run, found, "same") for run, found in enumerate(natives)]

    def judged(found):
        # What differs natively, addresses and times for example, cannot be compared.
        steady = first["digest"] == second["digest"] and not test.talkative
        same = found["status"] == first["status"] and (not steady or found["digest"] == first["digest"])
        return "hung" if found["hung"] else "same" if same else "differs"

    for side, words in SIDES.items():
        found = under_carom(test, words, limit)
        rows.append(row(test, side, 0, found, judged(found)))
        if judged(found) != "same":
            for run in range(3):
                found = run_once(test, [], NATIVE_LIMIT_S)
                rows.append(row(test, "native again", run, found, judged(found)))
            for run in range(2):
                found = under_carom(test, words, limit)
                rows.append(row(test, f"{side} again", run, found, judged(found)))
    return rows


def under_carom(test, words, limit):
    with tempfile.TemporaryDirectory(dir=scratch("suites-profiles")) as folder:
        command, *options = words
        os.chmod(folder, 0o755)
        return run_once(test, [CAROM, command, "-q", "-o", f"{folder}/profile.carom", *options, "--"], limit)


def run_once(test, prefix, limit):
    folder = tempfile.mkdtemp(dir=scratch("suites-runs"))
    os.chmod(folder, 0o777)
    group = new_group(f"carom-{Path(folder).name}")
    begin = time.monotonic()
    with open(f"{folder}.out", "w+b") as out:
        process = subprocess.Popen([*map(str, prefix), *map(str, test.argv)], cwd=folder, stdout=out, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C.UTF-8", **test.env}, start_new_session=True,
                                   preexec_fn=lambda: enter_group(group))
        try:
            status, hung = process.wait(limit), False
        except subprocess.TimeoutExpired:
            end_session(process.pid)
            status, hung = process.wait(), True
        wall = time.monotonic() - begin
        end_session(process.pid)
        end_group(group)
        out.seek(0)
        printed = out.read(1 << 20).decode(errors="replace")
    os.unlink(f"{folder}.out")
    shutil.rmtree(folder, ignore_errors=True)
    return {"status": status, "hung": hung, "wall_s": wall, "digest": hashlib.sha256(printed.encode()).hexdigest()[:12],
            "last": printed.strip()[-120:]}


def row(test, side, run, found, result):
    found = found | {"last": "" if result == "same" else found["last"]}
    return {"suite": test.suite, "test": test.name, "side": side, "run": run, "result": result, **found}


def summarise(rows):
    table, differing, hangs, criteria = [], [], [], []
    for (suite,), of_suite in group_by(rows, "suite").items():
        tests = {name: group for (name,), group in group_by(of_suite, "test").items()}
        usable = {name: group for name, group in tests.items() if group[0]["result"] != "unsteady"}
        for side in SIDES:
            bad, flaky = {}, 0
            for name, group in usable.items():
                ours = [row for row in group if row["side"].removesuffix(" again") == side]
                if ours[0]["result"] == "same":
                    continue
                if any(row["result"] != "same" for row in group if row["side"] == "native again"):
                    flaky += 1
                else:
                    bad[name] = ours
            differing += [[suite, name, side, f"{sum(row['result'] == 'same' for row in ours)} of {len(ours)}", ours[0]["status"],
                           str(ours[0]["last"] or "").replace("\n", " ")[-80:]] for name, ours in bad.items()]
            hangs += [f"{name} ({side})" for name, ours in bad.items() if any(row["hung"] for row in ours)]
            steady = len(usable) - flaky
            share = 1 - len(bad) / max(1, steady)
            table.append([suite, side, len(tests), steady, steady - len(bad), f"{100 * share:.2f}%", flaky])
            criteria.append(Criterion(f"{suite} under {side}: at least 99.5% as natively", f"{100 * share:.2f}%", share >= WANTED))
    criteria.append(Criterion("no hang", ", ".join(hangs) or "none", not hangs))
    parts = [markdown(["suite", "command", "tests", "natively the same twice", "the same under carom", "share", "flaky natively"], table)]
    if differing:
        parts.append(markdown(["suite", "test", "command", "as natively", "status", "last words"], differing))
    return Summary(body=parts, criteria=criteria)


def arguments(parser):
    parser.add_argument("--suite", nargs="+", choices=SUITES, help="only these suites")
    parser.add_argument("--only", help="only tests whose names match this expression")
    parser.add_argument("--jobs", type=int, default=2, help="tests at a time [default: 2]")


if __name__ == "__main__":
    campaign.main(__file__, "11. Suites of others", "carom count -q -- TEST; carom share -q --period 10000 -- TEST", measure, summarise,
                  arguments=arguments)
