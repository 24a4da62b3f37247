#!/usr/bin/env python3
"""Exact counts: against programs whose counts are known, against single-stepping, and against Valgrind's lackey."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import counting
import lackey
from counting import EVENTS
from lib import campaign, inputs
from lib.campaign import Criterion, Summary
from lib.table import group_by, markdown

# None: the program's only thread. Otherwise so many more, each of which counts.
THREADS = [None, 1, 2, 8, 64]
ITERATIONS = 1000
REAL_RUNS = 3
ALLOWED = 1e-4
JUDGED = ["loads", "stores"]
# Files by their sizes, in bytes and in lines.
TEXT = {"200 bytes": 200, "2 KiB": 2 << 10, "400 KiB": 400 << 10}
LINES = {"20 lines": 20, "400 lines": 400, "20,000 lines": 20_000}
# Each counter counts something beside the program: the C library walks through an environment and, at exit, through
# libraries, and has one or two more of them. That does not depend on the input. So each program is run on a small
# and on a larger file, and the difference on the small one is subtracted from that on the larger one.
ORACLES = {"stepping": (["200 bytes", "2 KiB"], ["20 lines", "400 lines"]),
           "lackey": (["2 KiB", "400 KiB"], ["400 lines", "20,000 lines"])}


def files():
    """Paths of files of fixed content, by their sizes."""
    text = inputs.text(1).read_text(encoding="utf-8")
    numbers = inputs.numbers(max(LINES.values())).read_text(encoding="utf-8").splitlines(keepends=True)
    # Names of one length: they lie on the stack, below the environment, and so decide where each variable lies. The C
    # library compares strings in another way where one begins in the last 16 bytes of 64.
    return ({size: inputs.script(f"counts-{count:06}-bytes.txt", text[:count]) for size, count in TEXT.items()}
            | {size: inputs.script(f"counts-{count:06}-lines.txt", "".join(numbers[:count])) for size, count in LINES.items()})


def programs(oracle):
    """(name, size of the input, command), each name on the small file first."""
    found, (text, lines) = files(), ORACLES[oracle]
    yield "true", "", ["/usr/bin/true"]
    for size in text:
        yield "gzip", size, ["/usr/bin/gzip", "-n", "-c", found[size]]
    for size in lines:
        yield "sort", size, ["/usr/bin/sort", "--parallel=1", found[size]]
    for size in text:
        yield "md5sum", size, ["/usr/bin/md5sum", found[size]]
    for size in text:
        yield "sed", size, ["/usr/bin/sed", "s/e/E/g", found[size]]
    # Too slow for single steps.
    for size in text if oracle == "lackey" else []:
        yield "bzip2", size, ["/usr/bin/bzip2", "-c", found[size]]


def measure(options):
    yield from against_tables(options)
    yield from against(options, "stepping", by_stepping)
    if lackey.available():
        yield from against(options, "lackey", lackey.from_main)


def against_tables(options):
    """Every thread of every run. A row shows, for each event, the thread that is furthest off."""
    for name, table in counting.known().items():
        wanted = counting.expected(table, ITERATIONS)
        for threads in THREADS[:3] if options.quick else THREADS:
            program = counting.build(name, ITERATIONS, threaded=threads is not None)
            argv = [program] if threads is None else [program, threads]
            for run in range(options.runs):
                found = counting.by_carom(argv)
                # The first one made the others, with the C library's help: nobody knows its counts.
                found = found if threads is None else found[1:]
                complete = len(found) == (threads or 1)
                yield row("tables", name, threads, run, complete, furthest(found, wanted), wanted)


def furthest(threads, wanted):
    """For each event, the count of the thread that is furthest off; one that did not count it is."""
    def distance(count, event):
        return float("inf") if count is None else abs(count - wanted[event])

    return {event: max((thread[event] for thread in threads), key=lambda count: distance(count, event), default=None)
            for event in EVENTS}


def against(options, oracle, count):
    environment = counting.plain_environment()
    for name, size, argv in list(programs(oracle))[:3 if options.quick else None]:
        wanted = count(argv, environment)
        for run in range(min(options.runs, REAL_RUNS)):
            found = total(counting.by_carom(argv, environment))
            yield row(oracle, name, None, run, True, found, wanted, size)


def by_stepping(argv, environment):
    # A library and a variable more, as under carom.
    library = counting.preload("before_main")
    return total(counting.by_stepping(argv, {**environment, "LD_PRELOAD": str(library), "CAROM_SESSION": "0"}))


def total(threads):
    """Of all threads that counted the event; None where none did."""
    counts = {event: [thread[event] for thread in threads if thread and thread[event] is not None] for event in EVENTS}
    return {event: sum(counts[event]) if counts[event] else None for event in EVENTS}


def row(oracle, program, threads, run, complete, found, wanted, size=""):
    cells = {"oracle": oracle, "program": program, "input": size, "threads": threads, "run": run, "complete": complete}
    for event in EVENTS:
        # Lackey knows some of the events.
        cells |= {event: found[event], f"{event}_expected": wanted.get(event)}
    return cells


def summarise(rows):
    oracles = group_by(rows, "oracle")
    body, criteria = [], []
    for (oracle,), group in oracles.items():
        table, criterion = (tables_summary if oracle == "tables" else real_summary)(oracle, group)
        body += table
        criteria += criterion
    return Summary(body=body, criteria=criteria)


def tables_summary(_, rows):
    # An event that carom says it does not count is not off; it is named below the table.
    counted = [event for event in EVENTS if any(row[event] is not None for row in rows)]
    exact = lambda row: row["complete"] and all(row[event] == row[f"{event}_expected"] for event in counted)
    table = []
    for (name, threads), group in group_by(rows, "program", "threads").items():
        off = sorted({event for row in group for event in counted if row[event] != row[f"{event}_expected"]})
        table.append([name, threads or "main alone", len(group), sum(map(exact, group)), ", ".join(off) or "-"])
    right = sum(map(exact, rows))
    left_out = [event for event in EVENTS if event not in counted]
    body = ["Programs of known counts:", markdown(["program", "threads", "runs", "exact in all", "events that are off"], table)]
    if left_out:
        body.append(f"Not counted by this version: {', '.join(left_out)}.")
    return (body, [Criterion("every event that is counted, of every thread, exact to the unit", f"{right} of {len(rows)} runs", right == len(rows))])


def real_summary(oracle, rows):
    table, distances = [], []
    for group in group_by(rows, "program").values():
        small = group[0]
        for row in group:
            cells = [row["program"], row["input"] or "-", row["run"]]
            for event in JUDGED:
                cells += [row[f"{event}_expected"], f"{off(row, event):+d}"]
                if row["input"] == small["input"]:
                    cells.append("-")
                    continue
                more = row[f"{event}_expected"] - small[f"{event}_expected"]
                relative = (off(row, event) - off(small, event)) / more
                distances.append(abs(relative))
                cells.append(f"{100 * relative:+.4f}%")
            table.append([*cells, row["atomics"]])
    columns = [f"{event}{of}" for event in JUDGED for of in (f" by {oracle}", ": carom's difference", ", less that of the small input")]
    worst = f"worst {100 * max(distances):.4f}%" if distances else "nothing compared"
    return ([f"Against {oracle}:", markdown(["program", "input", "run", *columns, "atomics"], table)],
            [Criterion(f"loads and stores within 0.01% of {oracle}", worst, bool(distances) and max(distances) <= ALLOWED)])


def off(row, event):
    return row[event] - row[f"{event}_expected"]


if __name__ == "__main__":
    campaign.main(__file__, "1. Exact counts", "carom count --json out.json -- PROGRAM", measure, summarise, runs=100)
