"""Running the counters: `carom count`, and `carom-step-count`. Both give a list of {event: count}, one per thread."""

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import carom
from lib.paths import CAROM, RELEASE, scratch

STEP_COUNT = RELEASE / "carom-step-count"
TABLES = Path(__file__).resolve().parents[2] / "programs" / "targets" / "counts"
EVENTS = ["instructions", "loads", "stores", "loaded_bytes", "stored_bytes", "branches", "branches_taken", "calls", "returns",
          "atomics", "system_calls"]


# Without random addresses: how far a string lies from the end of 64 bytes decides how the C library compares it, and a
# program's stack begins at any multiple of 16.
FIXED_ADDRESSES = ["setarch", "--addr-no-randomize"]


def run(command, env, timeout_s=600):
    """Where an environment is given, it and everything else lies at the same addresses in every run."""
    words = [*(FIXED_ADDRESSES if env else []), *command]
    done = subprocess.run([str(word) for word in words], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, timeout=timeout_s, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"exit status {done.returncode}: {' '.join(map(str, command))}\n{done.stderr}")


def by_carom(argv, env=None):
    """The exact counts of each thread, by translation, in the order in which the threads were made."""
    out = scratch("profiles") / "count.json"
    run([CAROM, "count", "-q", "-o", carom.fresh_profile("count"), "--json", out, "--", *argv], env)
    report = json.loads(out.read_text(encoding="utf-8"))
    events = {event["name"].replace("-", "_"): event["values"] for event in report["count"]["events"]}
    # An event that is missing was counted in no thread, one that is null not in this thread.
    return [{name: events[name][at] if name in events else None for name in EVENTS} for at in range(len(report["threads"]))]


def by_stepping(argv, env=None):
    """The counts of each thread, by single-stepping: some 30,000 instructions a second."""
    out = scratch("profiles") / "step-count.json"
    run([STEP_COUNT, "--json", out, *argv], env)
    report = json.loads(out.read_text(encoding="utf-8"))
    return [thread["counts"] for thread in report["threads"]]


def known():
    """The programs of known counts that this processor can run: {name: {"once": {event: count}, "each": ...}}."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = next(line for line in file if line.startswith("flags")).split()
    subprocess.run([sys.executable, str(TABLES / "tally.py"), "--check"], check=True)
    tables = json.loads((TABLES / "counts.json").read_text(encoding="utf-8"))
    return {name: table for name, table in tables.items() if all(flag in flags for flag in table["needs"])}


def build(name, iterations, threaded):
    """One of those programs, as a single thread or to be told how many."""
    program = scratch("bin") / f"counts-{name}-{iterations}{'-threads' if threaded else ''}"
    threads = ["-DTHREADS", TABLES / "threads.c", "-pthread"] if threaded else []
    command = ["cc", f"-DITERATIONS={iterations}", TABLES / f"{name}.S", *threads, "-o", program]
    subprocess.run([str(word) for word in command], check=True)
    return program


def expected(table, iterations):
    return {event: table["once"][event] + iterations * table["each"][event] for event in EVENTS}


def preload(source):
    """Compiles a source of this folder to a library; returns its path."""
    library = scratch("bin") / f"{source}.so"
    here = Path(__file__).resolve().parent
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(here / f"{source}.c")], check=True)
    return library


def plain_environment(**more):
    """A small environment, the same for every counter: programs walk through it. All symbols are bound before `main`,
    because the work of binding depends on how many libraries are loaded, and counters preload theirs."""
    return {"PATH": os.defpath, "LC_ALL": "C", "LD_BIND_NOW": "1", "GLIBC_TUNABLES": SSE2_STRINGS, **more}


# Valgrind shows programs another processor than the real one, and the C library chooses its string functions and
# their thresholds by what it sees. So all counters run those that need nothing but SSE2.
HIDDEN = ["AVX512F", "AVX512BW", "AVX512CD", "AVX512DQ", "AVX512VL", "AVX2", "AVX", "FMA", "ERMS", "FSRM", "RTM", "BMI1",
          "BMI2", "LZCNT", "MOVBE", "POPCNT", "SSE3", "SSSE3", "SSE4_1", "SSE4_2"]
SIZES = {"x86_data_cache_size": 0x8000, "x86_shared_cache_size": 0x100000, "x86_non_temporal_threshold": 0xc0000,
         "x86_rep_movsb_threshold": 0x800, "x86_rep_stosb_threshold": 0x800}
SSE2_STRINGS = ":".join(["glibc.cpu.hwcaps=" + ",".join(f"-{name}" for name in HIDDEN),
                         *(f"glibc.cpu.{name}={size:#x}" for name, size in SIZES.items())])
