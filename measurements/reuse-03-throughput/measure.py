#!/usr/bin/env python3
"""How many accesses per second the exact analyser of reuse distances takes, on one core, beside DynamoRIO's and
libCacheSim's, on the same accesses; what sampling makes of that; and the memory for each line.

CAROM_DRMEMTRACE names DynamoRIO's drmemtrace_launcher, or a program that takes its -infile and -tool, and CAROM_DISTUTIL
libCacheSim's distUtil, where they are not in PATH. With CAROM_DRMEMTRACE the summary says that such a program was used.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import tools
import traces
from lib import campaign, stats
from lib.campaign import Criterion, Summary
from lib.table import group_by, markdown, number

TIMES_DYNAMORIO = 5
TIMES_LIBCACHESIM = 2
L2_MILLION_PER_S = 40
SAMPLED_RATE = 0.01
TIMES_EXACT = 10
CURVE_ERROR_ALLOWED = 0.01
BYTES_PER_LINE_ALLOWED = 48

CAROM, SAMPLED, LIBCACHESIM, DYNAMORIO, READING = "carom", "carom sampled", "libCacheSim", "DynamoRIO", "DynamoRIO reading"


def jobs(trace, quick):
    """(Tool, number of accesses, how to run it with the path of its trace). carom runs on what each tool gets to see."""
    full, own = traces.shortened(trace.accesses, quick), trace.path(quick)
    found = {(CAROM, full): (tools.carom, own),
             (SAMPLED, full): (lambda path, accesses: tools.carom(path, accesses, SAMPLED_RATE), own)}
    if tools.LIBCACHESIM:
        accesses = traces.shortened(trace.libcachesim, quick)
        found[CAROM, accesses] = (tools.carom, own)
        found[LIBCACHESIM, accesses] = (tools.libcachesim, traces.converted(own, "oracle-general", accesses))
    if tools.DYNAMORIO:
        accesses = traces.shortened(trace.dynamorio, quick)
        path = traces.converted(own, "drmemtrace", accesses)
        found[CAROM, accesses] = (tools.carom, own)
        found[DYNAMORIO, accesses] = (tools.dynamorio, path)
        found[READING, accesses] = (tools.dynamorio_reading, path)
    return [(tool, accesses, run, path) for (tool, accesses), (run, path) in found.items()]


def measure(options):
    traces.build()
    for trace in traces.all_traces():
        todo = jobs(trace, options.quick)
        for turn in range(options.runs):
            exact = None
            # Another one comes first each time; sampled runs need the curve of an exact one before.
            start = turn % len(todo)
            for tool, accesses, run, path in todo[start:] + todo[:start]:
                done = run(path, accesses)
                if tool == CAROM and accesses == traces.shortened(trace.accesses, options.quick):
                    exact = done.curve
                elif tool == SAMPLED and exact is None:
                    exact = tools.carom(path, accesses).curve
                yield {"trace": trace.name, "footprint": trace.footprint, "tool": tool, "accesses": accesses, "turn": turn,
                       "process_s": done.process_s, "analysis_s": done.analysis_s, "lines": done.lines,
                       "bytes_per_line": done.bytes_per_line,
                       "curve_error": curve_error(exact, done.curve) if tool == SAMPLED else None,
                       "launcher": tools.LAUNCHER if tool in (DYNAMORIO, READING) else None}


def curve_error(exact, sampled):
    """Mean absolute difference of two miss-ratio curves over the sizes of the exact one, which are 32 to each doubling,
    from 1 KiB to where everything fits in. None where nothing was accessed twice."""
    sampled = dict(map(tuple, sampled))
    last = min(sampled.values(), default=1)
    differences = [abs(ratio - sampled.get(size, last)) for size, ratio in exact]
    return stats.mean(differences) if differences else None


def millions_per_s(rows, column="process_s"):
    """The median over the runs."""
    return stats.median(row["accesses"] / row[column] / 1e6 for row in rows)


def seconds(rows, column="process_s"):
    return stats.median(row[column] for row in rows)


def of(rows, tool, accesses=None):
    """The runs of a tool; of several lengths, those of the longest."""
    found = [row for row in rows if row["tool"] == tool]
    wanted = accesses or max((row["accesses"] for row in found), default=0)
    return [row for row in found if row["accesses"] == wanted]


def summarise(rows):
    own_table, peer_table = [], []
    speeds, errors, memory, slower = {}, [], [], {LIBCACHESIM: [], DYNAMORIO: []}
    sampled_gain, disagreeing = [], []
    for (name,), group in group_by(rows, "trace").items():
        exact, sampled = of(group, CAROM), of(group, SAMPLED)
        fast, faster = millions_per_s(exact, "analysis_s"), millions_per_s(sampled, "analysis_s")
        error = stats.median(row["curve_error"] or 0 for row in sampled)
        size = stats.median(row["bytes_per_line"] for row in exact)
        sampled_gain.append((faster / fast, name))
        errors.append((error, name))
        memory.append((size, name))
        if exact[0]["footprint"] == "L2":
            speeds[name] = fast
        own_table.append([name, f"{exact[0]['lines']:,}", number(fast, 1), number(faster, 0), number(faster / fast, 1),
                          number(error, 4), number(size, 1)])
        for peer in (LIBCACHESIM, DYNAMORIO):
            theirs = of(group, peer)
            if not theirs:
                continue
            accesses = theirs[0]["accesses"]
            ours, reading = of(group, CAROM, accesses), of(group, READING, accesses) if peer == DYNAMORIO else []
            taken = seconds(theirs) - (seconds(reading) if reading else 0)
            ratio = taken / seconds(ours)
            slower[peer].append((ratio, name))
            if theirs[0]["lines"] not in (None, ours[0]["lines"]):
                disagreeing.append(f"{name}: {peer} {theirs[0]['lines']}, carom {ours[0]['lines']}")
            peer_table.append([name, peer, f"{accesses:,}", number(seconds(theirs), 2), number(seconds(reading), 2) if reading
                               else "-", number(seconds(ours), 3), number(accesses / taken / 1e6, 2),
                               number(millions_per_s(ours), 1), number(ratio, 1)])
    criteria = [at_least(f"{peer}: carom at least {wanted} times as fast on every trace", slower[peer], wanted)
                for peer, wanted in ((DYNAMORIO, TIMES_DYNAMORIO), (LIBCACHESIM, TIMES_LIBCACHESIM))]
    slowest = min((speed, name) for name, speed in speeds.items())
    criteria += [
        Criterion(f"at least {L2_MILLION_PER_S} million accesses/s on every L2-sized trace",
                  f"{slowest[0]:.1f} at least ({slowest[1]})", slowest[0] >= L2_MILLION_PER_S),
        at_least(f"sampled at rate {SAMPLED_RATE}: at least {TIMES_EXACT} times the exact rate", sampled_gain, TIMES_EXACT),
        at_most(f"sampled: mean absolute error of the curve at most {CURVE_ERROR_ALLOWED}", errors, CURVE_ERROR_ALLOWED, 4),
        at_most(f"peak memory at most {BYTES_PER_LINE_ALLOWED} bytes per line", memory, BYTES_PER_LINE_ALLOWED, 1),
        Criterion("the tools count the same lines", "; ".join(disagreeing) or "they do", not disagreeing),
    ]
    explained = (
        "Medians over runs, in CPU time (user and system) on one core, not wall time: other processes may have run beside. "
        "Exact and sampled rates are of the analysis alone, with accesses already decoded in batches of 8192; the comparison "
        "with other tools is of whole processes, reading and decoding included, on the same accesses, in turns. From what "
        "DynamoRIO took, what its `basic_counts` took to read the same file is taken off, so that only its reuse distances "
        "count; nothing is taken off from carom's or libCacheSim's. They see the beginning of a trace only, as its end would "
        "take them hours: DynamoRIO's time per access grows with the footprint. L2 means 1 MiB. Made traces: stream passes over "
        "all lines in words, vectors in whole lines, random goes to uniformly random lines, mixed goes to a stack frame (12 of "
        "16), near a moving position (3) and to random lines (1). Real ones are the first accesses of programs, recorded by "
        "Valgrind's lackey. Bytes per line are the growth of the resident set, for 16,777,216 accesses.")
    body = [markdown(["trace", "lines", "exact M/s", f"sampled at {SAMPLED_RATE} M/s", "times", "error of the curve",
                      "bytes per line"], own_table)]
    if peer_table:
        body.append(markdown(["trace", "tool", "accesses", "its s", "of that reading", "carom's s", "its M/s", "carom's M/s",
                              "times"], peer_table))
    if any(row.get("launcher") == tools.OWN_LAUNCHER for row in rows):
        body.append(
            "DynamoRIO's `reuse_distance` and `basic_counts`, its analyzer and its reader of trace files are its own sources, "
            "compiled with `g++ -O3`. Its launcher was not built: a small one in its place opens the file and starts the one "
            "tool, with the tool's default options.")
    missing = [peer for peer, rows_of in slower.items() if not rows_of]
    if missing:
        body.append(f"Not there when this was measured: {', '.join(missing)}.")
    return Summary(body=[*body, explained], criteria=criteria)


def at_least(wanted, found, limit):
    worst = min(found, default=None)
    measured = f"{worst[0]:.1f} at least ({worst[1]})" if worst else "not measured: the tool is not there"
    return Criterion(wanted, measured, worst is not None and worst[0] >= limit)


def at_most(wanted, found, limit, digits):
    worst = max(found)
    return Criterion(wanted, f"{worst[0]:.{digits}f} at most ({worst[1]})", worst[0] <= limit)


if __name__ == "__main__":
    campaign.main(__file__, "3. Throughput of exact reuse distances", "throughput analyse TRACE", measure, summarise, runs=5)
