#!/usr/bin/env python3
"""Fuzzing: random instruction sequences, natively and translated, and counted beside single steps."""

import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign
from lib.campaign import Criterion, Summary
from lib.paths import REPOSITORY
from lib.table import group_by, markdown

# Tests of crates/collect-translate/tests/fuzz, and how many sequences one run of each takes: steps are slow.
PASSES = {
    "counting": ("counting_changes_nothing", 200_000),
    "sampling": ("sampling_changes_nothing", 200_000),
    "faults": ("faults_are_those_of_native_runs", 100_000),
    "faults, sampling": ("faults_among_samples_are_those_of_native_runs", 100_000),
    "single steps": ("counts_are_those_of_single_steps", 2_000),
    "steps in the cache": ("steps_in_the_cache_are_steps_of_native_runs", 2_000),
}
QUICK = {"counting": 4_000, "sampling": 4_000, "faults": 4_000, "faults, sampling": 4_000, "single steps": 100,
         "steps in the cache": 100}
WANTED = 10_000_000
# What a test prints at its end.
DONE = re.compile(r"^\.?Done \{ (.*) \}", re.MULTILINE)
NUMBER = re.compile(r"(\w+): (\d+)")
NUMBERS = ["sequences", "discarded", "codes", "instructions", "samples"]
BUILD = ["cargo", "test", "--release", "-p", "carom-collect-translate", "--test", "fuzz", "--no-run",
         "--message-format", "json"]


def build():
    """The test's executable."""
    messages = subprocess.run(BUILD, cwd=REPOSITORY, stdout=subprocess.PIPE, check=True, text=True).stdout
    executables = [json.loads(line).get("executable") for line in messages.splitlines() if line.startswith("{")]
    return next(path for path in executables if path)


def measure(options):
    program = build()
    with ThreadPoolExecutor(options.jobs) as side_by_side:
        runs = range(options.first, options.first + options.runs)
        yield from side_by_side.map(lambda job: one_run(program, *job, options.quick), plan(runs))


def plan(runs):
    """(pass, run), all passes of a run before the next."""
    return [(name, run) for run in runs for name in PASSES]


def one_run(program, name, run, quick):
    test, many = PASSES[name]
    sequences = QUICK[name] if quick else many
    # Every run draws other sequences; the seed makes them again.
    seed = run + 1
    environment = {**os.environ, "CAROM_FUZZ_SEQUENCES": str(sequences), "CAROM_FUZZ_SEED": str(seed)}
    begin = time.monotonic()
    test = subprocess.run([program, "--exact", test, "--nocapture"], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    done = DONE.search(test.stdout)
    found = dict(NUMBER.findall(done[1])) if done else {}
    return {"pass": name, "run": run, "seed": seed, "equal": test.returncode == 0, "seconds": time.monotonic() - begin,
            **{key: int(found[key]) if key in found else None for key in NUMBERS},
            "difference": None if test.returncode == 0 else test.stdout}


def arguments(parser):
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side [default: %(default)s]")
    parser.add_argument("--first", type=int, default=0, help="number of the first run, which has its own seed "
                        "[default: %(default)s]")


def summarise(rows):
    table, criteria = [], []
    for (name,), group in group_by(rows, "pass").items():
        total = lambda key: sum(row[key] or 0 for row in group)
        different = [row for row in group if not row["equal"]]
        table.append([name, len(group), f"{total('sequences'):,}", f"{total('discarded'):,}",
                      max(row["codes"] or 0 for row in group), f"{total('instructions'):,}", f"{total('samples'):,}",
                      f"{total('seconds'):.0f}", len(different)])
        criteria.append(Criterion(f"{name}: no difference", f"{len(different)} of {len(group)} runs", not different))
    sequences = sum(row["sequences"] or 0 for row in rows)
    criteria.append(Criterion(f"all passes: {WANTED:,} sequences", f"{sequences:,}", sequences >= WANTED))
    columns = ["pass", "runs", "sequences", "states left out (faults)", "kinds of instructions", "instructions translated",
               "samples", "s", "runs with a difference"]
    text = ("Each sequence begins in two random states and runs three times from each. Compared: general-purpose registers, "
            "flags, x87, SSE, AVX and AVX-512 state, and 12 KiB of memory with the stack; under *single steps* instead "
            "the counts of instructions, loads, stores, bytes, branches, calls, returns and atomics.")
    return Summary(body=[text, markdown(columns, table)], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "6. Fuzzing", "cargo test --release -p carom-collect-translate --test fuzz", measure, summarise,
                  runs=50, arguments=arguments)
