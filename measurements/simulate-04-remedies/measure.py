#!/usr/bin/env python3
"""Whether a remedy is worth what `carom share --check-remedy` says, and leaves the invalidations that `--what-if` says.

Each program has a layout that makes cores take lines from each other, and a changed source in which just that layout is mended. The
modelled gain is a part of the program's CPU time: what the check says that the change is worth, of the time that it says for as many accesses.
The measured gain is what the changed program takes less. Both are taken in the same turns: what a transfer takes differs from minute to
minute on a virtual machine. Invalidations are of equal numbers of first accesses, threads in the order `even`.
"""

import importlib.util
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

MEASUREMENTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(MEASUREMENTS), str(MEASUREMENTS / "share-10-verdicts")]
from cases import CASES
from lib import campaign, carom, stats, usage
from lib.campaign import Criterion, Summary
from lib.carom import fresh_profile
from lib.paths import CAROM, WORKLOADS, scratch
from lib.programs import add_only
from lib.table import group_by, markdown, number

SPEC = importlib.util.spec_from_file_location("verdicts", MEASUREMENTS / "share-10-verdicts" / "measure.py")
VERDICTS = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(VERDICTS)

# Their remedy is a change of the layout, and nothing else is changed with FIX.
PLANTED = ["per_thread.c", "tallies.cpp", "settings.c", "stack_array.c", "free_lists.c", "read_mostly.c", "straddle.cpp", "heap_pair.c"]
WITHIN, OFF_WANTED = 2, 0.05
SIGNS_WANTED, NEAR_WANTED = 10, 8
ACCESSES = "20M"
# Between changes: names of objects have spaces and commas.
SEPARATOR = "; "
TIMEOUT_S = 600


@dataclass
class Program:
    name: str
    before: list
    after: list


def programs():
    planted = []
    for source in PLANTED:
        case = next(case for case in CASES if case.source == source)
        planted.append(Program(source, [VERDICTS.build(case)], [VERDICTS.build(case, True)]))
    sets = [("hash-table", 4_000_000), ("linked-list", 4_000_000)]
    for workload, iterations in sets:
        command = [WORKLOADS, workload, "--iterations", iterations]
        planted.append(Program(workload, command, [*command, "--padded"]))
    return planted


def measure(options):
    for program in programs():
        if options.only and program.name not in options.only:
            continue
        left = None
        for turn in range(options.runs):
            checked = check(program)
            left = left or invalidations(program, checked)
            order = (program.before, program.after) if turn % 2 == 0 else (program.after, program.before)
            used = {id(argv): usage.run([], argv, TIMEOUT_S, stdout=subprocess.DEVNULL) for argv in order}
            before, after = used[id(program.before)], used[id(program.after)]
            yield {"program": program.name, "turn": turn, "before_cpu_s": before.program_cpu_s, "after_cpu_s": after.program_cpu_s,
                   "before_wall_s": before.program_wall_s, "after_wall_s": after.program_wall_s, **checked, **left}


def check(program):
    """What a run says of the worst finding's remedy."""
    shared = carom.share("remedies", program.before, ["--check-remedy"], timeout_s=TIMEOUT_S, engine="translate")
    worst = shared.share["findings"][0] if shared.share["findings"] else {}
    found = (worst.get("remedy") or {}).get("check") or {}
    simulated = found.get("simulated") or {}
    return {"outcome": found.get("outcome"), "changes": SEPARATOR.join(simulated.get("changes", [])), "simulated": simulated.get("accesses"),
            "transfers_before": simulated.get("transfers_before"), "transfers_after": simulated.get("transfers_after"),
            "transfer_ns": simulated.get("transfer_ns"), "worth_s": simulated.get("worth_s"), "cpu_s": simulated.get("cpu_s")}


def invalidations(program, checked):
    """Those that `--what-if` leaves, and those of the changed program."""
    changes = [word for change in filter(None, checked["changes"].split(SEPARATOR)) for word in ("--what-if", change)]
    predicted = simulated(program.before, changes)
    real = simulated(program.after, [])
    return {"invalidations": caused(predicted), "predicted_left": caused(predicted["what_if"]) if predicted.get("what_if") else None,
            "really_left": caused(real)}


def caused(simulated):
    return sum(simulated["total"]["caused"].values())


def simulated(argv, flags):
    profile, out = fresh_profile("remedies-trace"), scratch("simulate") / "remedies.json"
    run([CAROM, "trace", "-q", "--limit", ACCESSES, "-o", profile, "--", *argv])
    run([CAROM, "simulate", "-q", "--order", "even", "--json", out, *flags, profile])
    shutil.rmtree(profile)
    return json.loads(out.read_text(encoding="utf-8"))["simulate"]


def run(words):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)


def gains(group):
    """(modelled, measured): parts of the program's CPU time, or None for the first where a turn modelled nothing."""
    before, after = (stats.median(row[f"{side}_cpu_s"] for row in group) for side in ("before", "after"))
    modelled = [row["worth_s"] / row["cpu_s"] if row["worth_s"] and row["cpu_s"] else None for row in group]
    return None if None in modelled else stats.median(modelled), 1 - after / before


def summarise(rows):
    table, signs, near, off = [], 0, 0, []
    for (name,), group in group_by(rows, "program").items():
        modelled, measured = gains(group)
        row = group[0]
        signs += modelled is not None and (modelled > 0) == (measured > 0)
        near += modelled is not None and modelled > 0 and measured > 0 and 1 / WITHIN <= modelled / measured <= WITHIN
        if row["predicted_left"] is not None:
            # Parts of what there was: of a handful that remain, one more is nothing.
            off.append(abs(row["predicted_left"] - row["really_left"]) / max(row["invalidations"], 1))
        transfers = [each["transfer_ns"] for each in group if each["transfer_ns"]]
        table.append([name, row["outcome"], row["changes"], percent(modelled), percent(measured), span(transfers), row["invalidations"],
                      row["predicted_left"], row["really_left"]])
    heads = ["program", "outcome", "changes", "modelled gain", "measured gain", "ns for a transfer", "invalidations", "left, predicted",
             "left, really"]
    count = len(table)
    worst = max(off, default=1)
    return Summary(body=[markdown(heads, table), "Gains are parts of the program's CPU time: medians over "
                         f"{max(row['turn'] for row in rows) + 1} turns. Invalidations are those of the first {ACCESSES} accesses."], criteria=[
        Criterion(f"the modelled gain has the right sign in {SIGNS_WANTED} of 10", f"{signs} of {count}", signs >= SIGNS_WANTED),
        Criterion(f"it is within a factor of {WITHIN} of the measured one in {NEAR_WANTED} of 10", f"{near} of {count}", near >= NEAR_WANTED),
        Criterion(f"invalidations that remain are within {100 * OFF_WANTED:.0f}% of what there was", f"{100 * worst:.2f}% at worst",
                  worst <= OFF_WANTED),
    ])


def span(values):
    return f"{min(values):.0f} to {max(values):.0f}" if values else "-"


def percent(part):
    return "-" if part is None else f"{number(100 * part, 1)}%"


if __name__ == "__main__":
    campaign.main(__file__, "What remedies are worth", "carom share --check-remedy -- PROGRAM", measure, summarise, runs=7, arguments=add_only)
