#!/usr/bin/env python3
"""What `carom count`, `share` and `reuse` cost where the program is large: a C++ compiler, of which some hundred thousand blocks
are translated, and a database server with a dozen threads.

CPU time of the program, the agent's included. Of the server only what it takes for the transactions is told, after others that have warmed
it up; of the compiler the whole run. `--before FOLDER` measures the build in that folder in the same turns, too.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

MEASUREMENTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(MEASUREMENTS))
from lib import campaign, carom, stats, usage
from lib.campaign import Summary
from lib.paths import CAROM, scratch
from lib.programs import fresh
from lib.table import group_by, markdown, number

COMMANDS = ["count", "share", "reuse"]
PORT = 3397
THREADS, WARM, COUNTED = 8, 1000, 2000
TIMEOUT_S, START_S = 600, 60


def measure(options):
    programs = {"cc1plus": compiler(), "mariadbd": server()}
    builds = {"": CAROM, **({"before ": options.before / "carom"} if options.before else {})}
    sides = ["native", *(f"{build}{command}" for command in COMMANDS for build in builds)]
    for turn in range(options.runs):
        for name, cpu_of in programs.items():
            # Another side comes first each time, so that slow drifts cancel.
            first = turn % len(sides)
            for side in sides[first:] + sides[:first]:
                yield {"program": name, "turn": turn, "side": side, **run(cpu_of, side, builds)}


def run(cpu_of, side, builds):
    if side == "native":
        return {"cpu_s": cpu_of([]), "samples": None}
    build, command = next((build, side.removeprefix(build)) for build in sorted(builds, reverse=True) if side.startswith(build))
    out = scratch("profiles") / "large.json"
    _, *words = carom.prefix("large", ["--json", out], command=command)
    cpu = cpu_of([builds[build], *words])
    return {"cpu_s": cpu, "samples": json.loads(out.read_text(encoding="utf-8"))["quality"]["samples"]}


def compiler():
    """A source with the standard library's largest headers, preprocessed once."""
    program = subprocess.run(["g++", "-print-prog-name=cc1plus"], check=True, capture_output=True, text=True).stdout.strip()
    source = scratch("inputs") / "large.ii"
    subprocess.run(["g++", "-E", Path(__file__).with_name("source.cpp"), "-o", source], check=True)

    def cpu(prefix):
        running = usage.Running(prefix, [program, "-quiet", "-O1", source, "-o", "/dev/null"], cwd=fresh("run"), stdout=subprocess.DEVNULL)
        return running.finish(TIMEOUT_S).program_cpu_s
    return cpu


def server():
    """MariaDB with the transactions of sysbench's `oltp_read_write`, all of whose tables fit in memory."""
    def cpu(prefix):
        folder = fresh("mariadb")
        data, socket, pid = folder / "data", folder / "socket", folder / "pid"
        run_quietly("mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}")
        argv = ["mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", f"--port={PORT}", f"--socket={socket}", f"--pid-file={pid}",
                "--bind-address=127.0.0.1", "--skip-grant-tables", "--innodb-flush-log-at-trx-commit=0"]
        running = usage.Running(prefix, argv, cwd=folder, stdout=subprocess.DEVNULL, alone=True)
        try:
            deadline = time.monotonic() + START_S
            ask = ["mariadb", "-S", socket, "-e", "create database if not exists sbtest"]
            while subprocess.run(ask, capture_output=True, check=False).returncode != 0 and time.monotonic() < deadline:
                time.sleep(0.05)
            load = ["sysbench", "oltp_read_write", "--db-driver=mysql", f"--mysql-socket={socket}", "--mysql-user=root", "--tables=2",
                    "--table-size=2000", f"--threads={THREADS}", "--time=0", "--rand-seed=7"]
            run_quietly(*load, "prepare")
            run_quietly(*load, f"--events={WARM}", "run")
            begin = cpu_s(pid)
            run_quietly(*load, f"--events={COUNTED}", "run")
            took = cpu_s(pid) - begin
            os.kill(int(pid.read_text(encoding="ascii")), signal.SIGTERM)
        except (OSError, subprocess.SubprocessError):
            running.kill()
            raise
        used = running.finish(TIMEOUT_S)
        if used.status != 0:
            raise SystemExit(f"mariadbd ended with {used.status}")
        return took
    return cpu


def run_quietly(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True, timeout=TIMEOUT_S)


def cpu_s(pid):
    """User and system time of all threads (proc_pid_stat(5), fields 14 and 15)."""
    fields = Path(f"/proc/{int(pid.read_text(encoding='ascii'))}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def summarise(rows):
    sides = list(dict.fromkeys(row["side"] for row in rows if row["side"] != "native"))
    table = []
    for (name,), group in group_by(rows, "program").items():
        turns = {(row["turn"], row["side"]): row for row in group}
        native = [row["cpu_s"] for row in group if row["side"] == "native"]
        def told(side):
            ratios = [row["cpu_s"] / turns[turn, "native"]["cpu_s"] for (turn, of), row in turns.items() if of == side]
            return f"{stats.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        samples = (stats.median(row["samples"] for row in group if row["side"] == side) for side in sides)
        table.append([name, number(stats.median(native), 2), *map(told, sides), *(number(value, 0) for value in samples)])
    heads = ["program", "native CPU s", *sides, *(f"samples of {side}" for side in sides)]
    explained = (f"CPU time of the program as a multiple of the native run's: medians over {max(row['turn'] for row in rows) + 1} turns in which "
                 f"all ran one after another, and their spread. mariadbd: {COUNTED} transactions of {THREADS} clients after {WARM} others.")
    return Summary(body=[markdown(heads, table), explained])


def arguments(parser):
    parser.add_argument("--before", type=Path, help="the folder of another release build, to be measured as well")


if __name__ == "__main__":
    campaign.main(__file__, "16. What large programs cost", "carom count|share|reuse -q -- PROGRAM", measure, summarise, runs=5, arguments=arguments)
