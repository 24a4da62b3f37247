#!/usr/bin/env python3
"""Miss-ratio curves of six programs against simulated caches: exact mode on the same accesses, sampled mode by its bands."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from programs import programs

from lib import campaign, miss_curve, reuse, stats
from lib.campaign import Criterion, Summary
from lib.carom import fresh_profile
from lib.paths import CAROM, RELEASE, REPOSITORY, compile_c, scratch
from lib.programs import add_only, fresh
from lib.table import group_by, markdown, number

READER = RELEASE / "examples" / "accesses"
LINE = 64
SIZES = [2 << 10, 8 << 10, 32 << 10, 128 << 10, 512 << 10, 2 << 20, 8 << 20, 32 << 20]
# Loads and stores each: short, since every access of the same inputs has to be followed too.
PERIOD = 10_000
MODEL_WANTED = 0.03
BANDS_WANTED = 0.9
# With several threads a private cache also loses lines to writes of others. Then what lies behind them in the stack of
# distances moves up, while a cache that has replaced it does not get it back: curves are below the simulation by this at most.
INVALIDATED_ALLOWED = 0.001
COLUMNS = ["program", "kind", "scope", "run", "bytes", "sets", "ways", "touches", "simulated_misses", "exact_misses",
           "estimate", "low", "high", "truth", "threads", "samples"]


def measure(options):
    simulator = compile_c(Path(__file__).with_name("simulate.c"), "simulate")
    subprocess.run(["cargo", "build", "-q", "--release", "-p", "carom-store", "--example", "accesses"], cwd=REPOSITORY,
                   check=True)
    for program in programs(options.quick):
        if options.only and program.name not in options.only:
            continue
        truth = {}
        for row in exact(program, simulator):
            if row["kind"] == "exact" and row["scope"] == "private":
                truth[row["bytes"]] = row["exact_misses"] / row["touches"]
            yield row
        for run in range(options.runs):
            yield from sampled(program, run, truth)


def recorded(program, name, flags):
    """`carom reuse` on a program in a fresh folder: its report, its profile."""
    out, profile = scratch("profiles") / f"{name}.json", fresh_profile(name)
    folder = fresh("run")
    command = [CAROM, "reuse", "-q", "-o", profile, "--json", out, *flags, "--", *program.argv]
    subprocess.run([str(word) for word in command], cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=900,
                   env={**os.environ, **program.env})
    return reuse.Reused(json.loads(out.read_text(encoding="utf-8")), ""), profile


def exact(program, simulator):
    """Every access, once: what the report says, and what simulated caches miss of what it was made from."""
    found, profile = recorded(program, "curves", ["--exact", "--keep-accesses"])
    processes = len(json.loads((profile / "manifest.json").read_text(encoding="utf-8"))["processes"])
    if processes != 1:
        raise RuntimeError(f"{program.name}: {processes} processes kept their accesses; wanted one")
    kept = profile / "words"
    with kept.open("wb") as words:
        subprocess.run([READER, profile], check=True, stdout=words, timeout=1800)
    private, = found.curve("all", "any", "stack", "exact", LINE)
    shared = [curve for curve in found.curve("shared", "any", "stack", "exact", LINE) if curve["reused_by"] == "any-thread"]
    threads = len(found.report["threads"])
    wanted = [("exact", scope, 1, bytes_ // LINE) for scope in ("private", "shared") for bytes_ in SIZES]
    for cache in found.report["reuse"]["caches"]:
        if cache["ways"]:
            lines, scope = cache["bytes"] // LINE, "shared" if cache["shared"] else "private"
            wanted += [("geometry", scope, lines // cache["ways"], cache["ways"]), ("geometry", scope, 1, lines)]
    simulated = simulate(simulator, kept, sorted({cache[1:] for cache in wanted}))
    for kind, scope, sets, ways in wanted:
        bytes_ = sets * ways * LINE
        curve = private if scope == "private" else shared[0] if len(shared) == 1 else None
        touches, misses = simulated[scope, sets, ways]
        row = dict.fromkeys(COLUMNS) | {
            "program": program.name, "kind": kind, "scope": scope, "bytes": bytes_, "sets": sets, "ways": ways,
            "touches": touches, "simulated_misses": misses, "threads": threads}
        if curve and sets == 1:
            row["exact_misses"] = round(ratio_at(curve, bytes_)["ratio"] * touches)
        if sets > 1:
            row["estimate"] = associative(found, scope, bytes_)
        yield row
    shutil.rmtree(profile)


def simulate(simulator, kept, caches):
    """{(scope, sets, ways): (touches, misses)}"""
    names = [":".join(map(str, cache)) for cache in caches]
    done = subprocess.run([simulator, kept, *names], capture_output=True, text=True, check=True, timeout=1800)
    found = {}
    for line in done.stdout.splitlines():
        name, touches, misses = line.split()
        scope, sets, ways = name.split(":")
        found[scope, int(sets), int(ways)] = (int(touches), int(misses))
    return found


def associative(found, scope, bytes_):
    """The report's model of a cache of the machine with its sets: Smith's."""
    wanted = "all" if scope == "private" else "shared"
    fits = [fit for fit in found.report["reuse"]["fits"] if fit["scope"] == wanted]
    if len(fits) != 1:
        return None
    return next((each["ratio"] for each in fits[0].get("by_geometry", []) if each["bytes"] == bytes_), None)


def ratio_at(curve, bytes_):
    """The last point at or below a size; behind the end of the curve nothing changes."""
    return [point for point in curve["miss_ratio"] if point["bytes"] <= bytes_][-1]


def sampled(program, run, truth):
    found, profile = recorded(program, "curves", ["--period", PERIOD])
    shutil.rmtree(profile)
    for curve in found.curve("all", "any", "stack", "modelled", LINE):
        for bytes_ in SIZES:
            point = ratio_at(curve, bytes_)
            yield dict.fromkeys(COLUMNS) | {
                "program": program.name, "kind": curve["model"], "scope": "private", "run": run, "bytes": bytes_,
                "estimate": point["ratio"], "low": point["low"], "high": point["high"], "truth": truth[bytes_],
                "threads": len(found.report["threads"]), "samples": found.report["quality"]["samples"]}


def summarise(rows):
    # An interrupted campaign has programs without sampled runs.
    exact_rows = [row for row in rows if row["kind"] == "exact"]
    equal = [row for row in exact_rows if row["threads"] == 1 or row["scope"] == "shared"]
    several = [row for row in exact_rows if row["threads"] > 1 and row["scope"] == "private"]
    same = [row for row in equal if row["exact_misses"] == row["simulated_misses"]]
    below = max((abs(row["exact_misses"] - row["simulated_misses"]) / row["touches"] for row in several), default=0)
    by_model = {model: [row for row in rows if row["kind"] == model] for model in ("statstack", "footprint")}
    off = {model: off_by(of_model) for model, of_model in by_model.items()}
    inside = {model: sum(row["low"] <= row["truth"] <= row["high"] for row in of_model)
              for model, of_model in by_model.items()}
    worst = max(off["statstack"].values(), default=0)
    criteria = [
        Criterion("exact mode counts the simulation's misses, to the last one, at 8 sizes (shared caches; private ones of "
                  "programs with one thread)", f"{len(same)} of {len(equal)} equal", len(same) == len(equal)),
        Criterion(f"private caches with invalidation within {INVALIDATED_ALLOWED} of the simulation", f"at most {below:.6f} off",
                  below <= INVALIDATED_ALLOWED),
        Criterion(f"sampled, StatStack: within {MODEL_WANTED} of exact (mean over runs, each program and size)",
                  f"at most {worst:.3f} off", worst <= MODEL_WANTED)]
    for model, of_model in by_model.items():
        if model == "statstack":
            criteria.append(Criterion(f"{model}: truth inside the printed band in {BANDS_WANTED:.0%}",
                                      f"{inside[model]} of {len(of_model)}", inside[model] >= BANDS_WANTED * len(of_model)))
    return Summary(body=["Fully associative caches, private to each thread, of all threads together:",
                         accuracy_table(rows, by_model),
                         f"Average footprint: at most {max(off['footprint'].values(), default=0):.3f} off, truth inside the band in "
                         f"{inside['footprint']} of {len(by_model['footprint'])}.",
                         "The machine's own caches, set-associative:", geometry_table(rows),
                         "*modelled*: Smith's model of sets, from exact stack distances.",
                         *(f"![{name}](../../docs/pictures/reuse-curve-{name}.svg)" for (name,) in group_by(rows, "program"))],
                   criteria=criteria, pictures=pictures(rows))


def off_by(rows):
    """{(program, bytes): distance of the mean over runs from the truth}"""
    return {key: abs(stats.mean(row["estimate"] for row in group) - group[0]["truth"])
            for key, group in group_by(rows, "program", "bytes").items()}


def accuracy_table(rows, by_model):
    table = []
    for (name,), group in group_by(rows, "program").items():
        simulated = {row["bytes"]: row for row in group if row["kind"] == "exact" and row["scope"] == "private"}
        for bytes_, row in simulated.items():
            cells = [name, miss_curve.size(bytes_), number(row["simulated_misses"] / row["touches"], 4),
                     number(row["exact_misses"] / row["touches"], 4)]
            for of_model in by_model.values():
                here = [each for each in of_model if (each["program"], each["bytes"]) == (name, bytes_)]
                cells.append(f"{stats.mean(each['estimate'] for each in here):.4f} "
                             f"({stats.mean(each['low'] for each in here):.4f} to {stats.mean(each['high'] for each in here):.4f})"
                             if here else "-")
            table.append(cells)
    return markdown(["program", "cache", "simulated", "exact mode", "StatStack (mean, mean band)", "footprint (mean, mean band)"],
                    table)


def geometry_table(rows):
    table = []
    for (name, bytes_), group in group_by([row for row in rows if row["kind"] == "geometry"], "program", "bytes").items():
        full = next(row for row in group if row["sets"] == 1)
        sets = next((row for row in group if row["sets"] > 1), full)
        table.append([name, f"{miss_curve.size(bytes_)} {sets['scope']}, {sets['ways']} ways",
                      number(full["simulated_misses"] / full["touches"], 4),
                      number(sets["simulated_misses"] / sets["touches"], 4), number(sets["estimate"], 4)])
    return markdown(["program", "cache", "fully associative", "with its sets", "modelled"], table)


def pictures(rows):
    drawn = {}
    caches = sorted({row["bytes"] for row in rows if row["kind"] == "geometry"})
    marks = [(f"L{level}", bytes_) for level, bytes_ in enumerate(caches, 1)]
    for (name,), group in group_by(rows, "program").items():
        exact_rows = [row for row in group if row["kind"] == "exact" and row["scope"] == "private"]
        model = [row for row in group if row["kind"] == "statstack" and row["run"] == 0]
        curves = {"simulated": [(row["bytes"], row["simulated_misses"] / row["touches"]) for row in exact_rows],
                  "StatStack, one run": [(row["bytes"], row["estimate"]) for row in model]}
        bands = {"StatStack, one run": [(row["bytes"], row["low"], row["high"]) for row in model]}
        curves = {key: curve for key, curve in curves.items() if curve}
        drawn[f"reuse-curve-{name}.svg"] = miss_curve.plot(f"{name}: misses by cache size", curves, marks,
                                                            {key: band for key, band in bands.items() if band})
    return drawn


if __name__ == "__main__":
    campaign.main(__file__, "4. Miss-ratio curves against simulated caches",
                  f"carom reuse [--exact --keep-accesses | --period {PERIOD}] --json out.json -- PROGRAM",
                  measure, summarise, runs=10, arguments=add_only)
