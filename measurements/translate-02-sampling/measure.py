#!/usr/bin/env python3
"""Unbiased sampling: loops of known accesses at many periods, and a program that logs its own accesses."""

import csv
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import chi_square
import samples
from lib import campaign, carom
from lib.campaign import Criterion, Summary
from lib.paths import scratch
from lib.table import group_by, markdown, number

# The second is a multiple of every number of accesses, which a sampler that takes each so many-th access would alias
# with; so are the round ones of 1, 2, 4, 5 and 8.
PERIODS = [100, 840, 1000, 10_000, 100_000, 1_000_000]
ACCESSES = range(1, 9)
# Kinds of loops: what makes their accesses, and what these are.
KINDS = {"load": ("instructions", ["load"]), "store": ("instructions", ["store"]), "mixed": ("instructions", ["load", "store"]),
         "fill": ("iterations", ["store"]), "copy": ("iterations", ["load", "store"]),
         "gather": ("lanes", ["load"]), "masked": ("lanes", ["store"])}
# A repeated instruction, a gather and a masked store take much longer than as many loads or stores.
LONGEST = {"instructions": 1_000_000, "iterations": 100_000, "lanes": 100_000}
SAMPLES = 10_000
# The loops of loads and stores: one store is sampled where so many loads are, access by access.
STORES_TO_LOADS = 3
# Between two rests of the program: what a thread's ring holds while carom sleeps, with room to spare.
SAMPLES_A_REST = 300
ALLOWED = 0.005
LEAST_P = 0.001
# The program that logs: its own bookkeeping is sampled, too, some ten accesses for each logged one.
LOG_PERIODS = [(500, 500), (500, 2000), (2000, 500)]
LOG_PASSES = 96
LOG_REST = 16_384


def measure(options):
    samples.build_reader()
    for period in PERIODS[:2] if options.quick else PERIODS:
        for accesses in ACCESSES:
            for kind, (made_by, _) in KINDS.items():
                if period <= LONGEST[made_by]:
                    yield from one_loop(period, accesses, kind, SAMPLES // 10 if options.quick else SAMPLES)
    for run in range(options.runs):
        for loads, stores in LOG_PERIODS:
            yield one_log(loads, stores, run)


def one_loop(period, accesses, kind, wanted):
    """A row for each kind of access in the loop."""
    _, made = KINDS[kind]
    both = len(made) > 1
    periods = {"load": period, "store": period * (STORES_TO_LOADS if both else 1)}
    periods = {other: of_other if other in made else 0 for other, of_other in periods.items()}
    iterations = -(-wanted * period // accesses)
    shared = carom.share_workload("sampling", "access-loop",
                                  ["--accesses", accesses, "--kind", kind, "--iterations", iterations,
                                   "--rest-every", SAMPLES_A_REST * period],
                                  ["--load-period", periods["load"], "--store-period", periods["store"]], engine="translate")
    listed = shared.workload["expected"]["accesses"]
    known = {samples.access(access) for access in listed}
    places = [int(access["ip"], 16) for access in listed]
    in_loop = [found for found in samples.of_profile(shared.profile) if min(places) <= int(found[0], 16) <= max(places)]
    for sampled in ("load", "store"):
        of_kind = [access for access in known if access[3] == sampled]
        if not of_kind:
            continue
        counts = Counter(found for found in in_loop if found in known and found[3] == sampled)
        yield row("loop", kind, sampled, periods[sampled], accesses, shared) | {
            "expected": iterations * len(of_kind) / periods[sampled],
            "samples": sum(counts.values()),
            "wrong": sum(found not in known for found in in_loop),
            "chi_square": chi_square.statistic([counts[access] for access in of_kind]),
            "freedom": len(of_kind) - 1,
        }


def one_log(loads, stores, run):
    """Every sample at one of the program's instructions must be in its log."""
    log = scratch("profiles") / "accesses.csv"
    shared = carom.share_workload("sampling", "access-log",
                                  ["--log", log, "--passes", LOG_PASSES, "--rest-every", LOG_REST, "--seed", run + 1],
                                  ["--load-period", loads, "--store-period", stores], engine="translate")
    with open(log, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    known = {samples.access(entry) for entry in rows}
    places = {access[0] for access in known}
    made = [found for found in samples.of_profile(shared.profile) if found[0] in places]
    # What reads and writes is drawn as either.
    chance = {"load": 1 / loads, "store": 1 / stores, "read-modify-write": 1 / loads + 1 / stores}
    return row("log", "all", "all", loads, len(places), shared) | {
        "expected": sum(int(entry["count"]) * chance[entry["kind"]] for entry in rows),
        "samples": len(made),
        "wrong": sum(found not in known for found in made),
        "chi_square": None,
        "freedom": None,
    }


def row(program, kind, sampled, period, accesses, shared):
    return {"program": program, "kind": kind, "sampled": sampled, "period": period, "accesses": accesses,
            "dropped": shared.report["quality"]["dropped"]}


def distance(row):
    """Relative distance of the number of samples from what was expected; records that were dropped count as missing."""
    return abs(row["samples"] / row["expected"] - 1)


def summarise(rows):
    loops = [row for row in rows if row["program"] == "loop"]
    logs = [row for row in rows if row["program"] == "log"]
    table, values = [], []
    loops = [row | {"made by": KINDS[row["kind"]][0]} for row in loops]
    for (made_by, period, sampled), group in group_by(loops, "made by", "period", "sampled").items():
        total = sum(row["chi_square"] for row in group)
        freedom = sum(row["freedom"] for row in group)
        values.append(chi_square.p_value(total, freedom))
        plain = max(abs(row["samples"] / row["expected"] - 1) for row in group)
        table.append([made_by, period, sampled, len(group), number(sum(row["expected"] for row in group), 0),
                      sum(row["samples"] for row in group), max(row["dropped"] for row in group), f"{100 * plain:.3f}%",
                      number(total, 1), freedom, number(values[-1]), sum(row["wrong"] for row in group)])
    columns = ["accesses are", "period", "sampled", "loops", "samples expected", "found", "records dropped, most",
               "largest deviation of a loop", "chi-square", "degrees of freedom", "p", "wrong"]
    log_table = [[row["period"], number(row["expected"], 0), row["samples"], row["dropped"], row["accesses"], row["wrong"]]
                 for row in logs]
    worst = max(map(distance, loops))
    wrong = sum(row["wrong"] for row in rows)
    return Summary(
        body=["Loops of 1 to 8 accesses: each by an instruction of its own, or all as iterations of one repeated string "
              "instruction, or as lanes of one gather or masked store. Loops of loads and stores have a period for "
              "stores three times as long. Dropped records are those of the whole program, most of them from its start; the loop itself rests "
              "while carom empties the ring.", markdown(columns, table),
              "A program that logs its own accesses, by 18 forms of instruction at random addresses. Behind each there is a "
              "return in the same block, so that chance decides which of the two a sample of loads meets. Most dropped "
              "records are from where it writes its log:",
              markdown(["period of loads", "samples expected", "found", "records dropped", "instructions", "wrong"], log_table)],
        criteria=[
            Criterion(f"number of samples within {100 * ALLOWED:g}% of accesses / period",
                      f"worst {100 * worst:.3f}%", worst <= ALLOWED),
            Criterion(f"equal accesses equally often: p above {LEAST_P} at every period", f"least {min(values):.4f}",
                      min(values) > LEAST_P),
            Criterion("instruction, address, width and kind of every sample right",
                      f"{wrong} of {sum(row['samples'] for row in rows)} wrong", wrong == 0)])


if __name__ == "__main__":
    campaign.main(__file__, "2. Unbiased sampling",
                  "carom share --engine translate --load-period N --store-period M -- carom-workloads access-loop", measure,
                  summarise, runs=3)
