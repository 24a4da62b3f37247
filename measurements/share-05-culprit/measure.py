#!/usr/bin/env python3
"""Show 5: a program with a known culprit, in a global variable and on the heap, before and after the remedy."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom
from lib.campaign import Criterion, Summary
from lib.paths import REPOSITORY, compile_c
from lib.table import group_by, markdown

FIELDS = {"hits", "misses"}
PROGRAMS = {"counters": [], "counters_heap": ["--objects"]}
# Enough for some seconds.
INCREMENTS = 1_000_000_000


def source_lines(name):
    """The lines of source that increment the two counters."""
    text = (REPOSITORY / "programs" / "targets" / f"{name}.c").read_text(encoding="utf-8")
    return {number for number, line in enumerate(text.splitlines(), 1) if line.rstrip().endswith(("hits++;", "misses++;"))}


def measure(options):
    increments = INCREMENTS // 2 if options.quick else INCREMENTS
    for run in range(options.runs):
        for name, flags in PROGRAMS.items():
            for padded in (False, True):
                source = REPOSITORY / "programs" / "targets" / f"{name}.c"
                program = compile_c(source, f"{name}-{'padded' if padded else 'plain'}", "-pthread", *(["-DPADDED"] if padded else []))
                shared = carom.share("culprit", [program, increments], flags)
                yield {"program": name, "padded": padded, "run": run, **found(shared, source_lines(name))}


def found(shared, wanted_lines):
    """What the report says of the worst line, against what is known of the program."""
    ours = [line for line in shared.lines if (line["object"] or {}).get("kind") in ("global", "heap") and has_counters(line)]
    line = ours[0] if ours else {"sites": [], "object": {}, "false": 0, "true": 0, "remedy": None}
    first = bool(ours) and shared.lines[0] is line
    fields = {last_word(site["field"]) for site in line["sites"] if site["field"]} & FIELDS
    lines = {site["line"] for site in line["sites"]} & wanted_lines
    remedy = line["remedy"] or {}
    declared = [frame["function"] for frame in line["object"].get("allocation", [])]
    return {
        "ranked_first": first,
        "object": line["object"].get("name"),
        "allocated_by": " < ".join(filter(None, declared[:3])) or None,
        "fields": " ".join(sorted(fields)) or None,
        "lines": " ".join(map(str, sorted(lines))) or None,
        "all_fields": fields == FIELDS,
        "all_lines": lines == wanted_lines,
        "remedy": remedy.get("kind"),
        "remedy_text": remedy.get("text"),
        "false": line["false"],
        "true": line["true"],
        # Nothing of the structure shares a line any more.
        "finding": bool(ours) and line["false"] > 0,
        "verdict": shared.report["verdict"],
    }


def has_counters(line):
    return any(site["field"] and last_word(site["field"]) in FIELDS or site["function"] in ("count_hits", "count_misses")
               for site in line["sites"])


def last_word(field):
    return field.replace("->", ".").split(".")[-1]


def summarise(rows):
    table, criteria = [], []
    for (name,), group in group_by(rows, "program").items():
        plain = [row for row in group if not row["padded"]]
        padded = [row for row in group if row["padded"]]
        row, gone = plain[0], sum(not other["finding"] for other in padded)
        named = sum(bool(r["ranked_first"] and r["object"] and r["all_fields"] and r["all_lines"] and r["remedy"] == "pad")
                    for r in plain)
        table.append([f"`{name}.c`", row["object"] or "-", row["fields"] or "-", row["lines"] or "-", row["remedy_text"] or "-",
                      f"finding gone in {gone} of {len(padded)} runs"])
        criteria += [
            Criterion(f"{name}: variable, both fields, both lines and the padding named", f"{named} of {len(plain)} runs",
                      named == len(plain)),
            Criterion(f"{name}: with the padding the finding is gone", f"{gone} of {len(padded)} runs", gone == len(padded)),
        ]
    verdicts = "\n".join(f"- `{row['program']}.c`{' padded' if row['padded'] else ''}: {row['verdict']}"
                         for row in rows if row["run"] == 0)
    return Summary(body=[markdown(["program", "variable", "fields", "lines", "remedy", "after the remedy"], table),
                         "Verdicts of the first runs:", verdicts], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "5. A known culprit", "carom share --engine burst [--objects] --json out.json -- counters[_heap]",
                  measure, summarise, runs=5)
