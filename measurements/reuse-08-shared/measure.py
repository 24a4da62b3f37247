#!/usr/bin/env python3
"""Miss ratios of the cache that two threads share: sampled against every access, at 8 sizes."""

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from programs import programs

from lib import campaign, miss_curve, reuse, stats
from lib.campaign import Criterion, Summary
from lib.carom import prefix
from lib.paths import scratch
from lib.programs import add_only, fresh
from lib.table import group_by, markdown

LINE = 64
SIZES = [2 << 10, 8 << 10, 32 << 10, 128 << 10, 512 << 10, 2 << 20, 8 << 20, 32 << 20]
PERIOD = 20_000
# All threads in one domain, whatever processors the machine has.
DOMAINS = ["--cache-domains", "0-1023"]
OFF_WANTED, BANDS_WANTED = 0.03, 0.9
TIMEOUT_S = 1800


def measure(options):
    for program in programs(options.quick):
        if options.only and program.name.split()[0].rstrip(",") not in options.only:
            continue
        followed = recorded(program, ["--exact", "--no-pairs"])
        exact, times = shared_curve(followed, "exact"), time_curve(followed)
        for run in range(options.runs):
            found = recorded(program, ["--period", PERIOD])
            curve = shared_curve(found, "modelled")
            for bytes_ in SIZES:
                truth, point = ratio_at(exact, bytes_), ratio_at(curve, bytes_)
                yield {"program": program.name, "run": run, "bytes": bytes_, "truth": truth["ratio"],
                       "model": stat_stack(times, bytes_ // LINE), "estimate": point["ratio"],
                       "low": point["low"], "high": point["high"], "uses": curve["observations"],
                       "samples": found.report["quality"]["samples"],
                       "held_touches": found.report["reuse"]["quality"]["early_touches"]}


def recorded(program, flags):
    """`carom reuse` on a program in a fresh folder: its report."""
    out = scratch("profiles") / "shared.json"
    command = [*prefix("shared", ["--json", out, *DOMAINS, *flags], command="reuse"), *program.argv]
    subprocess.run([str(word) for word in command], cwd=fresh("run"), check=True, stdout=subprocess.DEVNULL,
                   timeout=TIMEOUT_S, env={**os.environ, **program.env})
    return reuse.Reused(json.loads(out.read_text(encoding="utf-8")), "")


def shared_curve(found, basis):
    """Of the one domain, reused by any of its threads; StatStack's where it is modelled."""
    curves = [curve for curve in found.curve("shared", "any", "stack", basis, LINE)
              if curve["reused_by"] == "any-thread" and curve.get("model") in (None, "statstack")]
    if len(curves) != 1:
        raise RuntimeError(f"{len(curves)} curves of the shared cache, {basis}; wanted one")
    return curves[0]


def time_curve(found):
    """The exact distribution of what StatStack works from."""
    return next(curve for curve in found.curve("shared", "any", "time", "exact", LINE) if curve["reused_by"] == "any-thread")


def stat_stack(times, lines):
    """The miss ratio that StatStack makes of exact time distances: it is off by what the model is, and not by samples."""
    missed = times["invalidated"] + times["once"]
    survival, places, upto = 1.0, 0.0, 0
    for entry in sorted(times["histogram"], key=lambda entry: entry["low"]):
        middle = (entry["low"] + entry["high"]) // 2
        places, upto = places + survival * (middle - upto), middle
        survival -= entry["fraction"]
        missed += entry["fraction"] if places >= lines else 0.0
    return missed


def ratio_at(curve, bytes_):
    """The last point at or below a size; behind the end of the curve nothing changes."""
    return [point for point in curve["miss_ratio"] if point["bytes"] <= bytes_][-1]


def summarise(rows):
    table, worst, worst_model, inside = [], 0, 0, 0
    for (name, bytes_), group in group_by(rows, "program", "bytes").items():
        estimate = stats.mean(row["estimate"] for row in group)
        worst = max(worst, abs(estimate - group[0]["truth"]))
        worst_model = max(worst_model, abs(group[0]["model"] - group[0]["truth"]))
        within = sum(row["low"] <= row["truth"] <= row["high"] for row in group)
        inside += within
        table.append([name, miss_curve.size(bytes_), f"{group[0]['truth']:.4f}", f"{group[0]['model']:.4f}",
                      f"{estimate:.4f} ({stats.mean(row['low'] for row in group):.4f} to "
                      f"{stats.mean(row['high'] for row in group):.4f})", f"{within} of {len(group)}"])
    criteria = [
        Criterion(f"sampled within {OFF_WANTED} of exact (mean over runs, each program and size)", f"at most {worst:.3f} off",
                  worst <= OFF_WANTED),
        Criterion(f"truth inside the printed band in {BANDS_WANTED:.0%}", f"{inside} of {len(rows)}",
                  inside >= BANDS_WANTED * len(rows))]
    return Summary(body=["Fully associative, shared by all threads. *StatStack* is what that model makes of the exact time "
                         f"distances, without any sampling: at most {worst_model:.3f} off.",
                         markdown(["program", "cache", "exact", "StatStack", "sampled (mean, mean band)", "inside"], table)],
                   criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "8. Miss ratios of shared caches",
                  f"carom reuse [--exact | --period {PERIOD}] --cache-domains 0-1023 --json out.json -- PROGRAM",
                  measure, summarise, runs=10, arguments=add_only)
