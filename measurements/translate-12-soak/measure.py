#!/usr/bin/env python3
"""A soak: forks, execs, threads, libraries, signals, timers, faults and made code at random, for a time under each command."""

import itertools
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom
from lib.campaign import Criterion, Summary
from lib.paths import compile_c
from lib.sessions import end_session
from lib.table import group_by, markdown, read_rows

COMMANDS = {
    "count": ["count"],
    "share": ["share", "--period", "10000"],
    "share by burst": ["share", "--engine", "burst"],
    "reuse": ["reuse"],
    "reuse, exact": ["reuse", "--exact"],
}
OPERATIONS = 300
# A run takes some seconds; what is still there then hangs.
HANG_S = 120


def measure(options):
    """Rows of the commands asked for, behind those kept of the others."""
    file = options.out / "rows.csv"
    commands = [name for name in COMMANDS if name in (options.only or COMMANDS)]
    kept = read_rows(file) if file.exists() and len(commands) < len(COMMANDS) else []
    return itertools.chain([row for row in kept if row["command"] not in commands], measured(options, commands))


def measured(options, commands):
    program = compile_c(Path(__file__).parent / "soak.c", "soak", "-pthread", "-ldl")
    minutes = options.minutes if not options.quick else 0.2
    while commands:
        beside, commands = commands[: options.jobs], commands[options.jobs :]
        yield from together([soak(program, name, minutes) for name in beside])


def soak(program, name, minutes):
    """Runs under one command until its time is over."""
    words = COMMANDS[name]
    end = time.monotonic() + 60 * minutes
    seed = 0
    while time.monotonic() < end:
        seed += 1
        argv = [program, str(seed), str(OPERATIONS)]
        native = run(argv)
        ours = run([*carom.prefix("soak-" + "-".join(words).strip("-"), words[1:], command=words[0]), *argv])
        yield {"command": name, "seed": seed, "result": judged(native, ours), "native_status": native[0], "status": ours[0],
               "native": native[1], "printed": ours[1]}


def together(sources):
    """The rows of all, each source in a thread of its own."""
    rows, ended = queue.Queue(), object()

    def feed(source):
        try:
            for row in source:
                rows.put(row)
            rows.put(ended)
        except Exception as error:
            rows.put(error)

    for source in sources:
        threading.Thread(target=feed, args=[source], daemon=True).start()
    left = len(sources)
    while left:
        row = rows.get()
        if isinstance(row, Exception):
            raise row
        if row is ended:
            left -= 1
        else:
            yield row


def run(argv):
    """Its status, `hung` where it has none, and what it printed."""
    # A session of its own, so that a hung run is ended with all its children.
    process = subprocess.Popen([str(word) for word in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True)
    try:
        printed, _ = process.communicate(timeout=HANG_S)
    except subprocess.TimeoutExpired:
        end_session(process.pid)
        process.communicate()
        return "hung", ""
    return process.returncode, printed.strip()[-100:]


def judged(native, ours):
    if native[0] != 0:
        return "fails natively"
    if ours == native:
        return "same"
    return "hung" if ours[0] == "hung" else "differs"


def summarise(rows):
    table, bad = [], 0
    for (command,), group in group_by(rows, "command").items():
        results = [row["result"] for row in group]
        table.append([command, len(group), *(results.count(result) for result in ("same", "differs", "hung", "fails natively"))])
        bad += results.count("differs") + results.count("hung")
    return Summary(body=[markdown(["command", "runs", "as natively", "differ", "hang", "fail natively"], table)],
                   criteria=[Criterion("no hang, no crash, no difference", f"{bad} of {len(rows)} runs", bad == 0)])


def arguments(parser):
    parser.add_argument("--minutes", type=float, default=30, help="minutes for each command [default: 30]")
    parser.add_argument("--only", nargs="+", choices=COMMANDS, metavar="COMMAND", help="only under these; the rows of others are kept")
    parser.add_argument("--jobs", type=int, default=1, help="commands beside each other [default: 1]")


if __name__ == "__main__":
    campaign.main(__file__, "12. A soak", "carom COMMAND -q -- soak SEED 300", measure, summarise, arguments=arguments)
