#!/usr/bin/env python3
"""Lines that processes share: in a program with known lines, for every way to share memory, and in PostgreSQL."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import postgres
from lib import campaign, carom, stats
from lib.campaign import Criterion, Summary
from lib.paths import REPOSITORY, compile_c
from lib.table import group_by, markdown, number

# How the name of the memory begins in the report, by how the program shares it.
WAYS = {"anonymous": "shared anonymous mapping", "memfd": "memfd:counters", "shm": "shared memory /dev/shm/",
        "file": "/tmp/", "sysv": "System V segment key "}
ENGINES = {"translate": ["--period", "20000"], "burst": ["--period", "1ms"]}
# The offset of the line in the memory, as in shared_memory.c.
LINE_AT = 4096 + 128
TRANSACTIONS = 20_000
# The most time that PostgreSQL may take under carom, in multiples of native.
COST_ALLOWED = 1.5


# The program's rows and the server's rows fill different columns.
COLUMNS = ["what", "engine", "run", "way", "fields", "found", "first", "segment", "named", "processes", "words", "false", "right",
           "seconds", "lines", "with_code", "worst", "verdict"]


def row(**values):
    return {**dict.fromkeys(COLUMNS), **values}


def measure(options):
    source = REPOSITORY / "programs" / "targets" / "robust" / "shared_memory.c"
    program = compile_c(source, "shared_memory", "-O1", "-pthread")
    for run in range(options.runs):
        for engine, flags in ENGINES.items():
            for way in WAYS:
                for fields in ("neighbours", "same"):
                    shared = carom.share("processes", [program, way, fields, 2, "long"], flags, engine=engine)
                    yield row(what="way", engine=engine, way=way, fields=fields, run=run, **found(shared, way, fields))
    transactions = TRANSACTIONS // 20 if options.quick else TRANSACTIONS
    for run in range(max(1, options.runs // 2)):
        sides = ["native", *ENGINES] if run % 2 == 0 else [*ENGINES, "native"]
        for side in sides:
            seconds, report = postgres.run(transactions, None if side == "native" else ["--engine", side])
            yield row(what="postgres", engine=side, run=run, seconds=seconds, **(of_server(report) if report else {}))


def found(shared, way, fields):
    """What the report says about the line, against what is known about the program."""
    lines = [line for line in shared.lines if line["shared"] and line["shared"]["offset_bytes"] == LINE_AT]
    if not lines:
        return {"found": False, "verdict": shared.report["verdict"]}
    line = lines[0]
    of = {thread["id"]: thread["process"] for thread in shared.report["threads"]}
    words = {(of[site["thread"]], site["offset_bytes"]) for site in line["sites"] if site["function"] == "count_in"}
    wanted = {(0, 0), (1, 8 if fields == "neighbours" else 0)}
    falsely = line["false"] / (line["false"] + line["true"])
    return {"found": True, "first": shared.lines[0] is line, "segment": line["shared"]["segment"],
            "named": line["shared"]["segment"].startswith(WAYS[way]),
            "processes": len(line["shared"]["processes"]), "words": words == wanted, "false": falsely,
            "right": falsely == (1 if fields == "neighbours" else 0), "verdict": shared.report["verdict"]}


def of_server(report):
    lines = [line for line in report["share"]["lines"] if line["shared"] and len(line["shared"]["processes"]) > 1]
    coded = [line for line in lines if any(site["function"] for site in line["sites"])]
    worst = [f"{line['shared']['segment']} + {line['shared']['offset_bytes']:#x}: {share_of(line)}, {code_of(line)}" for line in lines[:5]]
    return {"processes": len(report["processes"]), "lines": len(lines), "with_code": len(coded), "worst": "; ".join(worst),
            "verdict": report["verdict"]}


def share_of(line):
    return f"{100 * line['share_of_samples']:.1f}%, {100 * line['false'] / max(line['false'] + line['true'], 1):.0f}% false"


def code_of(line):
    names = dict.fromkeys(site["function"] for site in line["sites"] if site["function"])
    return " ".join(list(names)[:4])


def summarise(rows):
    ways = [each for each in rows if each["what"] == "way"]
    table, criteria = [], []
    for (engine, way, fields), group in group_by(ways, "engine", "way", "fields").items():
        good = [row for row in group if row["found"] and row["named"] and row["processes"] == 2 and row["words"] and row["right"]]
        table.append([engine, way, fields, group[0].get("segment") or "-", f"{sum(bool(row['found']) for row in group)}",
                      f"{len(good)} of {len(group)}"])
    for (engine,), group in group_by(ways, "engine").items():
        good = [row for row in group if row["found"] and row["named"] and row["processes"] == 2 and row["words"] and row["right"]]
        criteria.append(Criterion(f"`{engine}`: found and named, with the right words and kind of sharing, in every run",
                                  f"{len(good)} of {len(group)} runs", len(good) == len(group)))
    server = group_by([each for each in rows if each["what"] == "postgres"], "engine")
    native = stats.median(row["seconds"] for row in server[("native",)])
    costs, body = [], []
    for (engine,), group in server.items():
        seconds = stats.median(row["seconds"] for row in group)
        costs.append([engine, number(seconds, 2), number(seconds / native, 2), group[0].get("lines") or "-", group[0].get("processes") or "-"])
        if engine != "native":
            body += [f"Worst lines of PostgreSQL by `{engine}`: share of the samples, false part of the sharing, code that touches them:",
                     "\n".join(f"- {line}" for line in (group[0]["worst"] or "none").split("; ")), f"Verdict: {group[0]['verdict']}"]
            criteria.append(Criterion(f"PostgreSQL, `{engine}`: lines of its shared memory are reported with their code",
                                      f"{group[0]['with_code']} of {group[0]['lines']} lines",
                                      all(row["lines"] and row["with_code"] for row in group)))
            criteria.append(Criterion(f"PostgreSQL, `{engine}`: time at most {COST_ALLOWED} times native", number(seconds / native, 2),
                                      seconds / native <= COST_ALLOWED))
    return Summary(body=[
        markdown(["engine", "memory", "words", "name in the first run", "runs that found the line", "runs with all right"], table),
        f"PostgreSQL under pgbench with {postgres.CLIENTS} clients. Time is that of the transactions, without connecting:",
        markdown(["engine", "seconds", "ratio", "lines that processes share", "processes"], costs), *body], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "9. Memory shared between processes", "carom share -- postgres -D data", measure, summarise, runs=10)
