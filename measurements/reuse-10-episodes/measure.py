#!/usr/bin/env python3
"""Whether `carom reuse` finds in episodes what it finds where all accesses are looked up: miss-ratio curves, both as by default, beside
a reference with many more uses."""

import json
import sys
from statistics import fmean
from pathlib import Path

MEASUREMENTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(MEASUREMENTS), str(MEASUREMENTS / "translate-04-speed"), str(MEASUREMENTS / "translate-15-defaults")]
from lib import campaign, carom, rodinia, stats
from lib.campaign import Criterion, Summary
from lib.paths import scratch
from lib.programs import Redis, add_only, selected
from lib.table import group_by, markdown, number
from more import more_programs
from unseen import unseen

SIZES = [2 << 10, 8 << 10, 32 << 10, 128 << 10, 512 << 10, 2 << 20, 8 << 20, 32 << 20]
REFERENCE = ["--watch", "software", "--budget", "none", "--period", 50_000, "--slots", 64]
SIDES = {"software": ["--watch", "software"], "episodes": ["--watch", "episodes"]}
# As in translate-15-defaults: 1 to 3 seconds.
PART = 2


def more(part):
    return [*more_programs(part), *rodinia.programs(part), *unseen(part)]


def measure(options):
    for program in selected(options, more, PART):
        # A server is not alone, and code that is made at run time is not translated.
        if isinstance(program, Redis) or program.name == "nodejs":
            continue
        native, _ = program.run([])
        yield row(program, "reference", 0, native, REFERENCE)
        for run in range(options.runs):
            for side in list(SIDES) if run % 2 == 0 else list(SIDES)[::-1]:
                yield row(program, side, run, native, SIDES[side])


def row(program, side, run, native, flags):
    out = scratch("profiles") / "episodes.json"
    used, _ = program.run(carom.prefix("episodes", ["--json", out, *flags], command="reuse"))
    report = json.loads(out.read_text(encoding="utf-8"))
    found = report["reuse"]["curves"]
    curve = next(each for each in found if (each["scope"], each["model"], each["distance"]) == ("all", "statstack", "stack"))
    ratios = {f"miss_{size}": at(curve["miss_ratio"], size) for size in SIZES}
    return {"program": program.name, "side": side, "run": run, "native_s": round(native.wall_s, 3), "wall_s": round(used.wall_s, 3),
            "program_wall_s": round(used.program_wall_s, 3), "program_cpu_s": round(used.program_cpu_s, 3),
            "program_mib": used.program_mib, "status": used.status, "samples": report["quality"]["samples"],
            "invalidated": curve["invalidated"]} | ratios


def at(points, size):
    """The ratio at a cache of this many bytes: that of the largest point not above."""
    return [point["ratio"] for point in points if point["bytes"] <= size][-1]


def error(row, reference):
    """The mean difference over the sizes."""
    return sum(abs(row[f"miss_{size}"] - reference[f"miss_{size}"]) for size in SIZES) / len(SIZES)


def summarise(rows):
    table, errors, times = [], {side: [] for side in SIDES}, {side: [] for side in SIDES}
    for (name,), group in group_by(rows, "program").items():
        reference = next(row for row in group if row["side"] == "reference")
        cells = [name, number(reference["samples"], 0)]
        for side in SIDES:
            runs = [row for row in group if row["side"] == side]
            found = [error(row, reference) for row in runs]
            time = stats.median(row["wall_s"] / row["native_s"] for row in runs)
            errors[side].append(fmean(found))
            times[side].append(time)
            cells += [number(stats.median(row["samples"] for row in runs), 0),
                      f"{fmean(found):.4f} ({min(found):.4f} to {max(found):.4f})", number(time, 2)]
        table.append(cells)
    failed = sum(row["status"] != 0 for row in rows)
    mean = {side: fmean(found) for side, found in errors.items()}
    worst = max(errors["episodes"])
    no_worse = sum(a <= b + 0.002 for a, b in zip(errors["episodes"], errors["software"]))
    criteria = [
        Criterion("episodes: miss ratios are off by no more than where all accesses are looked up, in the mean over programs",
                  f"{mean['episodes']:.4f} (software: {mean['software']:.4f})", mean["episodes"] <= mean["software"]),
        Criterion("episodes: no more than 0.002 beyond software in nine of ten programs", f"{no_worse} of {len(table)}",
                  no_worse >= 0.9 * len(table)),
        Criterion("episodes: at most 0.02 off in each program", f"{worst:.4f}", worst <= 0.02),
        Criterion("every run succeeded", f"{failed} failed", failed == 0),
    ]
    heads = ["program", "uses, reference"] + [f"{side}: {what}" for side in SIDES for what in ("uses", "off by (range)", "times native")]
    sizes = "2, 8, 32, 128 and 512 KiB, 2, 8 and 32 MiB"
    explained = (f"Private caches of all threads, by StatStack. *Off by*: the mean difference from the reference over caches of {sizes}; "
                 f"means over {max(row['run'] for row in rows) + 1} runs, with their range. The reference is one run of `--watch software --budget none "
                 "--period 50000 --slots 64`, and varies itself.")
    return Summary(body=[markdown(heads, table), explained], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "10. Reuse distances found in episodes", "carom reuse --watch software|episodes -q -- PROGRAM", measure, summarise,
                  runs=3, arguments=add_only)
