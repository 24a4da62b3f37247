#!/usr/bin/env python3
"""The two uses of the ReuseTracker thesis: false sharing found by reuse distances (6.5.6), and the adjacent-line prefetcher's
predictor (6.5.7)."""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, reuse, stats
from lib.campaign import Criterion, Summary
from lib.paths import REPOSITORY, WORKLOADS, compile_c
from lib.table import group_by, markdown, number

THREADS = ["--threads", 2, "--pinning", "scatter"]
# Whose false sharing padding removes, with the name that the report has to give to the data.
PLANTED = {"hash-table": "BUCKETS", "linked-list": "allocate_nodes"}
# Nothing but noise is allowed after padding: fewer events than the verdict speaks of, or a smaller part of what others reuse
# after a write.
EVENTS_ALLOWED, SHARE_ALLOWED = 30, 0.1
# Arrays of 64 MiB each: more than any last cache of a small machine. The stencil's grids take 128 MiB each.
DOUBLES, PASSES = 8 << 20, 6
GRID, ITERATIONS = 4096, 4


def measure(options):
    seconds = 1 if options.quick else 3
    for run in range(options.runs):
        for workload, wanted in PLANTED.items():
            for padded in (False, True):
                words = [*THREADS, "--seconds", seconds, *(["--padded"] if padded else [])]
                yield sharing(workload, wanted, padded, run, words)
        for name, sign, argv in prefetched(options, seconds):
            yield advice(name, sign, run, argv)


def native(workload, words):
    done = subprocess.run([str(word) for word in (WORKLOADS, workload, *words)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["measured"]["operations_per_s"]


COLUMNS = ["use", "program", "padded", "run", "native_per_s", "object", "share", "of_accesses", "raw", "waw", "seen", "named", "found", "parts",
           "wanted", "gain_s", "memory_reuses", "memory_ns", "sharing_reuses", "transfer_ns", "cut_off", "samples", "verdict"]


def sharing(workload, wanted, padded, run, words):
    found = reuse.reuse_workload("uses", workload, words, ["--objects"])
    planted = [each for each in found.report["reuse"]["false_sharing"] if wanted in each["object"]["name"]]
    first = planted[0] if planted else None
    row = dict.fromkeys(COLUMNS) | {
        "use": "false sharing", "program": workload, "padded": padded, "run": run, "native_per_s": native(workload, words),
        "named": first is not None and first is found.report["reuse"]["false_sharing"][0],
        "found": first is not None and first["seen"] >= EVENTS_ALLOWED and first["share"] >= SHARE_ALLOWED,
        "samples": found.report["quality"]["samples"], "verdict": found.report["verdict"]}
    if first:
        row |= {"object": first["object"]["name"], **{key: first[key] for key in ("share", "raw", "waw", "seen")},
                "of_accesses": first["share_of_accesses"],
                "parts": " against ".join(part(first[side]) for side in ("use_bytes", "reuse_bytes"))}
    return row


def part(bytes_):
    return bytes_["field"] or f"bytes {bytes_['offset_bytes']}-{bytes_['offset_bytes'] + bytes_['width_bytes'] - 1}"


def prefetched(options, seconds):
    """(name, the sign of G that is right, argv)"""
    streams = compile_c(Path(__file__).with_name("streams.c"), "streams", "-fopenmp")
    stencil = compile_c(REPOSITORY / "programs" / "targets" / "stencil.c", "stencil", "-fopenmp")
    part_ = 2 if options.quick else 1
    yield "streams", "+", [streams, DOUBLES, PASSES // part_]
    yield "stencil", "+", [stencil, GRID, ITERATIONS // part_]
    yield "matmul, 3 x 18 MiB", "+", [WORKLOADS, "matmul", "--variant", "tiled", "--size", 1536 // part_]
    for name, *words in (("hash-table", *THREADS), ("linked-list", *THREADS), ("false-sharing", "--threads", 2, "--false-fraction", 1)):
        yield name, "-", [WORKLOADS, name, *words, "--seconds", seconds]


def advice(name, sign, run, argv):
    found = reuse.reuse("uses", argv, ["--advise", "prefetch"])
    given = found.report["reuse"]["prefetch"] or {}
    return dict.fromkeys(COLUMNS) | {
        "use": "prefetch", "program": name, "run": run, "wanted": sign, "samples": found.report["quality"]["samples"],
        "verdict": found.report["verdict"],
        **{key: given.get(key) for key in ("gain_s", "memory_reuses", "memory_ns", "sharing_reuses", "transfer_ns", "cut_off")}}


def summarise(rows):
    shared = [row for row in rows if row["use"] == "false sharing"]
    predicted = [row for row in rows if row["use"] == "prefetch"]
    table, criteria = [], []
    for (name,), group in group_by(shared, "program").items():
        plain, padded = ([row for row in group if row["padded"] is side] for side in (False, True))
        before, after = (stats.median(row["native_per_s"] for row in side) for side in (plain, padded))
        named = sum(bool(row["named"] and row["found"]) for row in plain)
        left = sum(bool(row["found"]) for row in padded)
        shown = plain[0]
        table.append([name, shown["object"] or "-", shown["parts"] or "-",
                      f"{stats.mean(row['share'] or 0 for row in plain):.0%}", brief(shown["raw"]), brief(shown["waw"]),
                      f"{len(padded) - left} of {len(padded)}", brief(before), brief(after), f"{after / before:.2f}"])
        criteria += [Criterion(f"{name}: false sharing of the planted data found and ranked first", f"{named} of {len(plain)} runs",
                               named == len(plain)),
                     Criterion(f"{name}: gone with padding", f"{len(padded) - left} of {len(padded)} runs", left == 0),
                     Criterion(f"{name}: faster with padding", f"{after / before:.2f} times", after > before)]
    signs, advised = [], []
    for (name, sign), group in group_by(predicted, "program", "wanted").items():
        right = sum(row["gain_s"] is not None and (row["gain_s"] >= 0) == (sign == "+") for row in group)
        signs.append(right == len(group))
        row = group[0]
        advised.append([name, "G >= 0" if sign == "+" else "G < 0", ", ".join(number(each["gain_s"], 3) for each in group),
                        brief(row["memory_reuses"]), number(row["memory_ns"], 0), brief(row["sharing_reuses"]),
                        number(row["transfer_ns"], 0), row["cut_off"], f"{right} of {len(group)}"])
    criteria.append(Criterion("predictor: sign of G right in all runs, spatial streams against false sharing",
                              f"{sum(signs)} of {len(signs)} programs", all(signs)))
    return Summary(body=[
        "False sharing, found as spatial reuse after another thread's write:",
        markdown(["program", "data", "parts", "of the reuses by others after a write", "RAW", "WAW", "gone with padding", "operations/s",
                  "with padding", "times"], table),
        "The adjacent-line prefetcher, G = Tm - Tfs:",
        markdown(["program", "wanted", "G in s, each run", "spatial reuses from memory", "ns each", "falsely shared", "ns each",
                  "cut-off for Rfs, accesses", "sign right"], advised),
        "RAW, WAW and reuses: estimated accesses of the whole run. The cut-off is the number of lines of the private second-level "
        "cache. Whether the hardware's prefetcher gains or loses as predicted is not tested here: a virtual machine does not let "
        "its register (MSR 0x1A4) be written."], criteria=criteria)


def brief(value):
    """`12.3 M`"""
    if value is None:
        return "-"
    for unit, name in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


if __name__ == "__main__":
    campaign.main(__file__, "6. False sharing and the prefetcher, by reuse distances",
                  "carom reuse [--objects | --advise prefetch] --json out.json -- PROGRAM", measure, summarise, runs=5)
