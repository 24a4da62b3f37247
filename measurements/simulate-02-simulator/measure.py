#!/usr/bin/env python3
"""The simulator beside cachegrind on one thread's accesses, and how many accesses it takes per second.

Lackey prints the accesses of the same run that cachegrind simulates, so the streams are equal: misses of the data's first level
and of the last level have to agree. Callgrind, which simulates as cachegrind does and can begin at `main`, is beside carom's own
recording of the same program.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, stats
from lib.campaign import Criterion, Summary
from lib.carom import fresh_profile
from lib.kernels import ANALYSED, CONTROLS, kernel
from lib.paths import CAROM, scratch
from lib.programs import add_only
from lib.table import group_by, markdown, number

# Rounds of each kernel where every access is printed: a few million accesses.
ROUNDS = {"bt": 1, "cg": 1, "ft": 1, "lu": 1, "smg": 3, "sp": 2, "sppm": 3, "mg": 1, "is": 1, "ep": 1}
# Bytes, ways, bytes of a line. The instructions' cache is made large: what it misses goes to the last level too, and takes room there.
D1, LL, I1 = "8192,4,64", "262144,16,64", "16777216,16,64"
MACHINE = """# The geometry that cachegrind is given.
cores_per_socket = 1
l1 = {size = 8192, ways = 4}
l3 = {size = 262144, ways = 16, inclusion = "non-inclusive"}
"""
OFF_WANTED = 0.02
RATE_WANTED, GAIN_WANTED = 80e6, 1.8
TIMEOUT_S = 1800
COUNTED = re.compile(r"(D1|LLd)\s+misses:\s+[\d,]+\s+\(\s*([\d,]+) rd\s+\+\s+([\d,]+) wr\)")


def measure(options):
    machine = scratch("simulate") / "cachegrind.toml"
    machine.write_text(MACHINE, encoding="utf-8")
    names = [name for name in [*ANALYSED, *CONTROLS] if not options.only or name in options.only]
    for name in names[:2] if options.quick else names:
        program = kernel(name)
        yield beside_cachegrind(program, name, machine)
        yield beside_callgrind(program, name, machine)
    for name in names[:1] if options.quick else names:
        program = kernel(name)
        profile = fresh_profile("simulator")
        run([CAROM, "trace", "-q", "--limit", "none", "-o", profile, "--", program], threads=2)
        for turn in range(options.runs):
            for cores in (1, 2) if turn % 2 == 0 else (2, 1):
                yield rate(name, profile, turn, cores)
        shutil.rmtree(profile)


def run(words, threads=1, **more):
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    return subprocess.run([str(word) for word in words], env=environment, check=True, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S, **more)


def valgrind(tool, program, name, *flags):
    """What a tool prints of a run. Addresses are the same in every run under Valgrind."""
    log = scratch("simulate") / "valgrind.log"
    run(["setarch", "-R", "valgrind", f"--tool={tool}", f"--log-file={log}", *flags, program, ROUNDS[name]])
    return log


def caches(log):
    """(misses of the first level, misses of the last), by reads and writes of data together."""
    text = log.read_text(encoding="utf-8")
    found = {name: int(reads.replace(",", "")) + int(writes.replace(",", "")) for name, reads, writes in COUNTED.findall(text)}
    return found["D1"], found["LLd"]


def simulated(what, *flags, machine=None):
    out = scratch("simulate") / "found.json"
    begin = time.monotonic()
    run([*flags, CAROM, "simulate", "-q", "--no-symbols", "--json", out, *(["--machine", machine] if machine else []), what])
    seconds = time.monotonic() - begin
    return json.loads(out.read_text(encoding="utf-8"))["simulate"]["total"], seconds


def row(kind, name, turn=0, **values):
    columns = dict.fromkeys(["l1", "ll", "their_l1", "their_ll", "accesses", "cores", "seconds"])
    return {"kind": kind, "kernel": name, "turn": turn, **columns, **values}


def beside_cachegrind(program, name, machine):
    geometry = [f"--D1={D1}", f"--LL={LL}", f"--I1={I1}"]
    d1, ll = caches(valgrind("cachegrind", program, name, "--cache-sim=yes", "--cachegrind-out-file=/dev/null", *geometry))
    text = valgrind("lackey", program, name, "--trace-mem=yes")
    total, _ = simulated(text, machine=machine)
    text.unlink()
    return row("cachegrind", name, l1=total["l1"]["total"], ll=total["socket"]["total"], their_l1=d1, their_ll=ll,
               accesses=total["accesses"])


def beside_callgrind(program, name, machine):
    geometry = [f"--D1={D1}", f"--LL={LL}", f"--I1={I1}"]
    d1, ll = caches(valgrind("callgrind", program, name, "--cache-sim=yes", "--toggle-collect=main",
                             "--callgrind-out-file=/dev/null", *geometry))
    profile = fresh_profile("simulator")
    run([CAROM, "trace", "-q", "--limit", "none", "--no-symbols", "-o", profile, "--", program, ROUNDS[name]])
    total, _ = simulated(profile, machine=machine)
    shutil.rmtree(profile)
    return row("callgrind", name, l1=total["l1"]["total"], ll=total["socket"]["total"], their_l1=d1, their_ll=ll,
               accesses=total["accesses"])


def rate(name, profile, turn, cores):
    """Reading and start included."""
    total, seconds = simulated(profile, "taskset", "-c", ",".join(map(str, range(cores))))
    return row("rate", name, turn, accesses=total["accesses"], cores=cores, seconds=seconds)


def summarise(rows):
    body, criteria = [], []
    for kind, title in (("cachegrind", "cachegrind, on equal accesses"), ("callgrind", "callgrind from `main` on, and carom's own recording")):
        found = [row for row in rows if row["kind"] == kind]
        if not found:
            continue
        off = {level: [(row[level] / max(row[f"their_{level}"], 1) - 1, row["kernel"]) for row in found] for level in ("l1", "ll")}
        body.append(f"Beside {title}:\n\n" + markdown(
            ["kernel", "accesses", "misses of D1", "theirs", "off", "misses of LL", "theirs", "off"],
            [[row["kernel"], f"{row['accesses']:,}", *(cell for level in ("l1", "ll") for cell in (
                f"{row[level]:,}", f"{row[f'their_{level}']:,}", f"{100 * (row[level] / max(row[f'their_{level}'], 1) - 1):+.3f}%"))]
             for row in found]))
        if kind == "cachegrind":
            for level, name in (("l1", "D1"), ("ll", "LL")):
                worst = max(off[level], key=lambda each: abs(each[0]))
                criteria.append(Criterion(f"misses of {name} are within {100 * OFF_WANTED:.0f}% of cachegrind's on the same accesses",
                                          f"{100 * worst[0]:+.3f}% in {worst[1]}, which is off most", abs(worst[0]) <= OFF_WANTED))
    rates(body, criteria, [row for row in rows if row["kind"] == "rate"])
    return Summary(body, criteria)


def rates(body, criteria, rows):
    if not rows:
        return
    table, gains, slow = [], [], []
    for (name,), group in group_by(rows, "kernel").items():
        one, two = (stats.median(row["accesses"] / row["seconds"] for row in group if row["cores"] == cores) for cores in (1, 2))
        gains.append(two / one)
        slow.append(one)
        table.append([name, f"{group[0]['accesses'] / 1e6:.1f}", number(one / 1e6, 1), number(two / 1e6, 1), number(two / one)])
    body.append("Million accesses per second, with names of no symbols; start, reading and decompression included:\n\n"
                + markdown(["kernel", "million accesses", "one core", "two cores", "gain"], table))
    middle = stats.geometric_mean(slow)
    criteria.append(Criterion(f"at least {RATE_WANTED / 1e6:.0f} million accesses per second on one core (geometric mean)",
                              f"{middle / 1e6:.1f} million", middle >= RATE_WANTED))
    gain = stats.geometric_mean(gains)
    criteria.append(Criterion(f"two cores are at least {GAIN_WANTED} times as fast (geometric mean)", number(gain, 2), gain >= GAIN_WANTED))


if __name__ == "__main__":
    campaign.main(__file__, "The simulator", "carom simulate PROFILE", measure, summarise, runs=5, arguments=add_only)
