#!/usr/bin/env python3
"""Sampled reuse distances of RIBench against its known histogram (thesis 6.5.2 to 6.5.4, tables 6.4 to 6.7)."""

import functools
import json
import math
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, reuse, stats
from lib.campaign import Criterion, Summary
from lib.paths import WORKLOADS
from lib.table import group_by, markdown, number

EACH_WANTED, MEAN_WANTED, SCALED_WANTED = 0.95, 0.97, 0.95
# Loads and stores each, as the thesis.
PERIOD = 100_000
# Every sample is followed, whatever that costs: this is about accuracy.
SAMPLED = ["--period", PERIOD, "--budget", "none"]
# By default three questions are asked of each sample; where registers watch, one of six.
WATCHES = ["software", "registers"]
REGISTERS_RUNS = 2
SAMPLES_WANTED = 2_000
THREADS = 2
# Thesis 6.5.4: more and more threads, here with a barrier before each pass.
# The distances of one round are those of all: of a run that follows every access this part will do.
EXACT_PART, LEAST_ROUNDS = 1 / 8, 3
SCALED_PRESETS, SCALED_THREADS = ["long-bell-2", "long-decreasing-2"], [1, 2, 4, 8, 16, 32]


def presets():
    listed = json.loads(subprocess.run([WORKLOADS, "ribench", "--list"], capture_output=True, text=True, check=True).stdout)
    return {preset["name"]: preset for preset in listed["expected"]["presets"]}


def plan(options, known):
    """(watch, preset, threads, whether they take turns, run)"""
    names = list(known)[::7] if options.quick else list(known)
    for run in range(options.runs):
        for name in names:
            # Only turns make it certain what is invalidated.
            for watch in WATCHES[: 2 if run < REGISTERS_RUNS else 1]:
                yield watch, name, THREADS, known[name]["inv"] > 0, run
        if options.free:
            for name in names:
                if known[name]["inv"] > 0:
                    yield WATCHES[0], name, THREADS, False, run
        if not options.quick and not options.few:
            for name in SCALED_PRESETS:
                for threads in SCALED_THREADS:
                    if threads != THREADS:
                        yield WATCHES[0], name, threads, True, run


def measure(options):
    known = presets()
    for watch, preset, threads, in_turns, run in plan(options, known):
        yield one(watch, known[preset], threads, in_turns, run)


def workload(name, preset, threads, in_turns, outer, options):
    return reuse.reuse_workload(
        name, "ribench",
        ["--preset", preset, "--threads", threads, "--outer", outer, "--pinning", "scatter",
         *(["--barrier"] if in_turns else [])],
        options)


@functools.cache
def exact(preset, threads, in_turns, outer):
    """The histogram of a run of its own, all accesses followed: those of the barrier as well."""
    rounds = max(LEAST_ROUNDS, math.ceil(outer * EXACT_PART))
    return threads_together(workload("exact", preset, threads, in_turns, rounds, ["--exact", "--granularity", 1]), "exact")


def one(watch, preset, threads, in_turns, run):
    outer = math.ceil(SAMPLES_WANTED * PERIOD / accesses_of_a_round(preset))
    sampled = workload("sampled", preset["name"], threads, in_turns, outer, [*SAMPLED, "--watch", watch])
    expected = sampled.workload["expected"]
    measured = threads_together(sampled, "sampled")
    accuracy = lambda truth: reuse.similarity(*(reuse.rebinned(each, **expected["bins"]) for each in (truth, measured)))
    known = None if expected["histogram"] is None else accuracy(expected["histogram"])
    # With invalidation nothing but an exact run knows all: what threads do to wait for each other are reuses, too.
    by_exact_run = known is None or preset["inv"] > 0 and threads == THREADS
    quality = sampled.report["quality"]
    row = {
        "watch": watch, "preset": preset["name"], "threads": threads, "in_turns": in_turns, "run": run, "outer": outer,
        "accuracy": accuracy(exact(preset["name"], threads, in_turns, outer)) if by_exact_run else known,
        "truth": "exact mode" if by_exact_run else "known",
        "accuracy_to_known": known,
        "samples": quality["samples"],
        "left_out": quality["budget_skipped"],
        "accesses_per_thread": min(sampled.workload["measured"]["accesses"]),
    }
    return row


def accesses_of_a_round(preset):
    """Of one thread, in one iteration of the outer loop."""
    return sum(preset[name] * (preset[f"{name}1"] + preset["inv"]) for name in "abcde")


def threads_together(reused, basis):
    """The histograms of all workers' reuses of the very bytes, weighted by what each made."""
    together = {}
    for curve in reused.curve("thread", "temporal", "time", basis):
        if not reused.named(curve["thread"]).startswith("worker-"):
            continue
        for entry in curve["histogram"]:
            key = (entry["low"], entry["high"])
            together[key] = together.get(key, 0) + entry["fraction"] * curve["accesses"] * curve["reused"]
    return [{"low": low, "high": high, "fraction": fraction} for (low, high), fraction in together.items()]


def summarise(rows):
    tables, criteria = [], []
    for (watch,), group in group_by(rows, "watch").items():
        table, wanted = summary_of(watch, group)
        tables.append(table)
        criteria += wanted
    return Summary(body=tables, criteria=criteria)


def summary_of(watch, rows):
    """The table of what was watched so, and what is wanted of it."""
    table, means, scaled, samples = [], [], [], []
    for (preset, threads, in_turns), group in group_by(rows, "preset", "threads", "in_turns").items():
        accuracy = [row["accuracy"] for row in group]
        (means if threads == THREADS else scaled).append(stats.mean(accuracy))
        if threads == THREADS and preset in SCALED_PRESETS and in_turns:
            scaled.append(stats.mean(accuracy))
        table.append([watch, preset, threads, "yes" if in_turns else "", len(group), number(stats.mean(accuracy)),
                      f"{min(accuracy):.3f} to {max(accuracy):.3f}", group[0]["truth"], to_known(group), group[0]["outer"],
                      round(stats.mean(row["samples"] / row["threads"] for row in group))])
        samples.append(min(row["samples"] / row["threads"] for row in group))
    criteria = [
        Criterion(f"{watch}: at least {SAMPLES_WANTED:,} samples for each thread, in every run",
                  f"{min(samples):,.0f} at least", min(samples) >= SAMPLES_WANTED),
        Criterion(f"{watch}: accuracy at least {EACH_WANTED} in each case (mean over runs)",
                  f"the least is {min(means):.3f}", min(means) >= EACH_WANTED),
        Criterion(f"{watch}: accuracy at least {MEAN_WANTED} in the mean", number(stats.mean(means)),
                  stats.mean(means) >= MEAN_WANTED)]
    if any(row["threads"] != THREADS for row in rows):
        criteria.append(Criterion(f"{watch}: with a barrier, 1 to 32 threads, accuracy at least {SCALED_WANTED}",
                                  f"the least is {min(scaled):.3f}", min(scaled) >= SCALED_WANTED))
    columns = ["watch", "preset", "threads", "barrier", "runs", "accuracy S", "its range", "compared with",
               "S to what is known", "outer", "samples per thread"]
    return markdown(columns, table), criteria


def to_known(rows):
    """Against the arrays' histogram alone, where there is one."""
    known = [row["accuracy_to_known"] for row in rows if row["accuracy_to_known"] is not None]
    return number(stats.mean(known)) if known else ""


def arguments(parser):
    parser.add_argument("--few", action="store_true", help="leave out other numbers of threads than two")
    parser.add_argument("--free", action="store_true",
                        help="also threads that do not take turns, against an exact run (some half a minute each)")


if __name__ == "__main__":
    campaign.main(__file__, "1. Reuse distances of RIBench",
                  f"carom reuse --engine translate --period {PERIOD} --budget none --json out.json -- "
                  "carom-workloads ribench --preset P",
                  measure, summarise, runs=5, arguments=arguments)
