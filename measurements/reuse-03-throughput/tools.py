"""The tools that are compared: how each is run on the beginning of a trace, and what it says."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass

from lib.paths import scratch
from traces import THROUGHPUT

# Programs built elsewhere; they are no part of carom.
DYNAMORIO = os.environ.get("CAROM_DRMEMTRACE") or shutil.which("drmemtrace_launcher")
# Which launcher that is.
OWN_LAUNCHER = "small, instead of drmemtrace_launcher"
LAUNCHER = OWN_LAUNCHER if os.environ.get("CAROM_DRMEMTRACE") else "drmemtrace_launcher"
LIBCACHESIM = os.environ.get("CAROM_DISTUTIL") or shutil.which("distUtil")
TIMEOUT_S = 600


@dataclass
class Run:
    """Seconds of CPU time, of the whole process and (carom's only) of the analysis; lines that were accessed."""

    process_s: float
    analysis_s: float = None
    lines: int = None
    bytes_per_line: float = None
    curve: list = None


def timed(command):
    """Runs a command to its end; its CPU time, user and system, and what it printed."""
    with tempfile.TemporaryFile("w+") as printed:
        process = subprocess.Popen(list(map(str, command)), stdout=printed, stderr=subprocess.STDOUT)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        text = printed.read()
    if process.returncode != 0:
        raise RuntimeError(f"status {process.returncode}: {command}\n{text[-2000:]}")
    return usage.ru_utime + usage.ru_stime, text


def one_core(command):
    """On one core each: none of them may spread its work."""
    return ["taskset", "-c", max(os.sched_getaffinity(0)), "timeout", "-k", "1", TIMEOUT_S, *command]


def carom(path, accesses, rate=1):
    process_s, text = timed(one_core([THROUGHPUT, "analyse", path, accesses, rate]))
    out = json.loads(text)
    return Run(process_s, out["cpu_s"], out["lines"], out["peak_bytes"] / max(out["lines"], 1), out["curve"])


def libcachesim(path, _accesses):
    """Its stack distances, one for each access, written in binary: the cheapest output that it has. At its end it frees a
    tree by recursion, as deep as a trace has lines that nobody comes back to."""
    out = scratch("traces") / "distances"
    process_s, _ = timed(one_core(["prlimit", "--stack=unlimited", LIBCACHESIM, path, "oracleGeneral", "stack_dist", "binary", out]))
    return Run(process_s)


def dynamorio(path, _accesses, tool="reuse_distance"):
    process_s, text = timed(one_core([DYNAMORIO, "-infile", path, "-tool", tool]))
    lines = re.search(r"Unique cache lines accessed: (\d+)", text)
    return Run(process_s, lines=int(lines[1]) if lines else None)


def dynamorio_reading(path, accesses):
    """The tool of its own that does the least with what it reads."""
    return dynamorio(path, accesses, "basic_counts")
