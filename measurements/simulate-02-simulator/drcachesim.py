"""DynamoRIO's cache simulator: built out of its sources, and what it finds in a text of accesses."""

import os
import re
import subprocess
from pathlib import Path

from lib.paths import scratch

# A copy of DynamoRIO's repository; it is no part of carom.
SOURCE = os.environ.get("CAROM_DYNAMORIO_SOURCE")
# Below clients/drcachesim: all that the simulator needs, without tracer, scheduler and readers of traces.
PARTS = [f"simulator/{part}.cpp" for part in (
    "cache", "cache_simulator", "cache_stats", "caching_device", "caching_device_stats", "create_cache_replacement_policy",
    "policy_bit_plru", "policy_fifo", "policy_lfu", "policy_lru", "policy_rrip", "prefetcher", "simulator", "snoop_filter")]
PARTS += ["reader/config_reader.cpp", "reader/config_reader_helpers.cpp", "reader/v2p_reader.cpp", "common/trace_entry.cpp"]
DEFINED = ["LINUX", "UNIX", "X86", "X86_64", "X64"]


def build():
    """The program, or None where there are no sources."""
    if not SOURCE:
        return None
    program, home = scratch("bin") / "drcachesim", Path(SOURCE, "clients", "drcachesim")
    folders = [home, *(home / name for name in ("common", "reader", "simulator", "scheduler")),
               *(Path(SOURCE, name) for name in ("common", "core/lib", "ext/droption"))]
    command = ["g++", "-std=c++17", "-O3", *(f"-D{name}" for name in DEFINED), *(f"-I{folder}" for folder in folders),
               Path(__file__).with_suffix(".cpp"), *(home / part for part in PARTS), "-o", program]
    subprocess.run([str(word) for word in command], check=True)
    return program


def simulate(program, text, cores, l1, last):
    """What it finds: misses of the first level and of the last, invalidated copies, lines written back, accesses and seconds.
    `l1`, `last`: bytes and ways."""
    words = ["taskset", "-c", "0", program, text, cores, *l1, *last]
    done = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)
    report, (accesses, seconds) = done.stderr, re.match(r"(\d+) accesses in ([\d.]+) s", done.stdout).groups()
    counted = {name: [int(count) for count in re.findall(rf"^ +{name}: +(\d+)$", report, re.MULTILINE)]
               for name in ("Misses", "Invalidations", "Writebacks")}
    # Of each core its instructions and its data, then the last level.
    *private, shared = counted["Misses"]
    return {"l1": sum(private), "ll": shared, "invalidations": counted["Invalidations"][-1], "writebacks": counted["Writebacks"][-1],
            "accesses": int(accesses), "seconds": float(seconds)}
