#!/usr/bin/env python3
"""The simulator beside cachegrind on one thread's accesses, and how many accesses it takes per second.

Lackey prints the accesses of the same run that cachegrind simulates, so the streams are equal: misses of the data's first level
and of the last level have to agree. Callgrind, which simulates as cachegrind does and can begin at `main`, is beside carom's own
recording of the same program. DynamoRIO's cache simulator (CAROM_DYNAMORIO_SOURCE names a copy of its repository) is fed with the
text of two threads' accesses that carom simulates too, caches coherent.
"""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import drcachesim
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
# For two coherent cores: bytes and ways of each one's cache, and of the one that they share. A small one, and one as processors have it.
COHERENT = {"small": ((8192, 4), (262144, 16)), "usual": ((32768, 8), (8388608, 16))}
# Accesses that are printed as text.
PRINTED = 5_000_000
OFF_WANTED, OFF_DRCACHESIM_WANTED = 0.02, 0.001
RATE_WANTED, GAIN_WANTED, TIMES_DRCACHESIM_WANTED = 80e6, 1.8, 30
TIMEOUT_S = 1800
COUNTED = re.compile(r"(D1|LLd)\s+misses:\s+[\d,]+\s+\(\s*([\d,]+) rd\s+\+\s+([\d,]+) wr\)")


def measure(options):
    machine = scratch("simulate") / "cachegrind.toml"
    machine.write_text(MACHINE, encoding="utf-8")
    peer = drcachesim.build()
    names = [name for name in [*ANALYSED, *CONTROLS] if not options.only or name in options.only]
    for name in names[:2] if options.quick else names:
        program = kernel(name)
        yield beside_cachegrind(program, name, machine)
        yield beside_callgrind(program, name, machine)
    for name in names[:1] if options.quick else names:
        program = kernel(name)
        profile = fresh_profile("simulator")
        run([CAROM, "trace", "-q", "--limit", "none", "-o", profile, "--", program], threads=2)
        if peer:
            yield from beside_drcachesim(peer, profile, name, options.runs)
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
    columns = dict.fromkeys(["l1", "ll", "invalidations", "writebacks", "their_l1", "their_ll", "their_invalidations",
                             "their_writebacks", "accesses", "cores", "seconds"])
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


def beside_drcachesim(peer, profile, name, runs):
    """Its seconds are those of the simulation alone: the accesses are in memory."""
    text = scratch("simulate") / "accesses.txt"
    with open(text, "w", encoding="utf-8") as file, subprocess.Popen([CAROM, "trace", "--print", profile], text=True,
                                                                     stdout=subprocess.PIPE) as printing:
        file.writelines(itertools.islice(printing.stdout, PRINTED))
        printing.kill()
    machine = scratch("simulate") / "coherent.toml"
    for geometry, (private, shared) in COHERENT.items():
        levels = [f"{level} = {{size = {size}, ways = {ways}{more}}}" for level, (size, ways), more in (
            ("l1", private, ""), ("l3", shared, ', inclusion = "non-inclusive"'))]
        machine.write_text("\n".join(["cores_per_socket = 2", *levels, ""]), encoding="utf-8")
        total, _ = simulated(text, machine=machine)
        for turn in range(runs):
            theirs = drcachesim.simulate(peer, text, 2, private, shared)
            yield row(f"drcachesim {geometry}", name, turn, l1=total["l1"]["total"], ll=total["socket"]["total"],
                      invalidations=sum(total["caused"].values()), writebacks=total["writebacks"], cores=1,
                      their_l1=theirs["l1"], their_ll=theirs["ll"], their_invalidations=theirs["invalidations"],
                      their_writebacks=theirs["writebacks"], accesses=theirs["accesses"], seconds=theirs["seconds"])
    text.unlink()


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
    coherent(body, criteria, [row for row in rows if row["kind"].startswith("drcachesim")])
    rates(body, criteria, rows)
    return Summary(body, criteria)


def coherent(body, criteria, rows):
    """Counts are the same in all turns."""
    if not rows:
        return
    counts, table = ("l1", "ll", "invalidations", "writebacks"), []
    off = dict.fromkeys(counts, (0, "all of them"))
    for row in (row for row in rows if row["turn"] == 0):
        geometry = row["kind"].split()[-1]
        cells = []
        for count in counts:
            by = row[count] / max(row[f"their_{count}"], 1) - 1
            off[count] = max(off[count], (by, f"{row['kernel']}, {geometry} caches"), key=lambda each: abs(each[0]))
            cells += [f"{row[count]:,}", f"{100 * by:+.3f}%"]
        table.append([row["kernel"], geometry, *cells])
    body.append("Beside drcachesim, on equal accesses of two threads, each with a core of its own (off by):\n\n" + markdown(
        ["kernel", "caches", "misses of L1", "off", "misses of LL", "off", "invalidations", "off", "writebacks", "off"], table))
    for count, name in zip(counts, ("misses of L1", "misses of LL", "invalidations", "writebacks")):
        by, where = off[count]
        criteria.append(Criterion(f"{name} are within {100 * OFF_DRCACHESIM_WANTED:.1f}% of drcachesim's on the same accesses",
                                  f"{100 * by:+.3f}% in {where}" + (", which is off most" if by else ""), abs(by) <= OFF_DRCACHESIM_WANTED))


def rates(body, criteria, rows):
    speed = lambda group: stats.median(row["accesses"] / row["seconds"] for row in group)
    peers = {name: speed(group) for (name,), group in group_by(
        [row for row in rows if row["kind"] == "drcachesim usual"], "kernel").items()}
    rows = [row for row in rows if row["kind"] == "rate"]
    if not rows:
        return
    table, gains, slow, times = [], [], [], []
    for (name,), group in group_by(rows, "kernel").items():
        one, two = (speed([row for row in group if row["cores"] == cores]) for cores in (1, 2))
        gains.append(two / one)
        slow.append(one)
        times += [one / peers[name]] if name in peers else []
        table.append([name, f"{group[0]['accesses'] / 1e6:.1f}", number(one / 1e6, 1), number(two / 1e6, 1), number(two / one),
                      number(peers[name] / 1e6, 1) if name in peers else ""])
    body.append("Million accesses per second, with names of no symbols; start, reading and decompression included. Of drcachesim it is "
                f"the simulation alone of at most {PRINTED:,} accesses that are in memory, on one core:\n\n"
                + markdown(["kernel", "million accesses", "one core", "two cores", "gain", "drcachesim"], table))
    middle = stats.geometric_mean(slow)
    criteria.append(Criterion(f"at least {RATE_WANTED / 1e6:.0f} million accesses per second on one core (geometric mean)",
                              f"{middle / 1e6:.1f} million", middle >= RATE_WANTED))
    gain = stats.geometric_mean(gains)
    if times:
        criteria.append(Criterion(f"at least {TIMES_DRCACHESIM_WANTED} times as fast as drcachesim (geometric mean)",
                                  number(stats.geometric_mean(times), 2), stats.geometric_mean(times) >= TIMES_DRCACHESIM_WANTED))
    criteria.append(Criterion(f"two cores are at least {GAIN_WANTED} times as fast (geometric mean)", number(gain, 2), gain >= GAIN_WANTED))


if __name__ == "__main__":
    campaign.main(__file__, "The simulator", "carom simulate PROFILE", measure, summarise, runs=5, arguments=add_only)
