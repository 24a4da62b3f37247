#!/usr/bin/env python3
"""Reduced traces against full ones on eight OpenMP kernels and two controls: coverage fraction and false positives, as Marathe,
Mueller and de Supinski measured them (sections 6 to 8), beside their numbers."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, stats
from lib.campaign import Criterion, Summary
from lib.carom import fresh_profile
from lib.kernels import ANALYSED, CONTROLS, kernel
from lib.paths import CAROM, scratch
from lib.programs import add_only
from lib.table import group_by, markdown, number

THREADS = 2
MACHINE = ["--machine", "two-cores"]
TIMEOUT_S = 900
# `carom trace` with these. The paper's OV-1 to OV-8 (section 6) and SMPL-1 to SMPL-20 (section 7).
MODES = {
    "OV-1": ["--mode", "lossy", "--lossy-model", "itanium", "--sample", 1],
    "OV-2": ["--mode", "lossy", "--lossy-model", "itanium", "--sample", 2],
    "OV-4": ["--mode", "lossy", "--lossy-model", "itanium", "--sample", 4],
    "OV-8": ["--mode", "lossy", "--lossy-model", "itanium", "--sample", 8],
    "SMPL-1": ["--mode", "targeted", "--stores", 1],
    "SMPL-4": ["--mode", "targeted", "--stores", 0.25],
    "SMPL-10": ["--mode", "targeted", "--stores", 0.1],
    "SMPL-20": ["--mode", "targeted", "--stores", 0.05],
}
QUICK = ["OV-1", "SMPL-1"]
METRICS = ["coherence_load_misses", "invalidations", "true_sharing", "false_sharing"]
# Averages over the eight programs that the paper states: coverage of coherence misses and of invalidations, false positives.
PAPER = {"OV-1": (0.81, 0.86, 2), "OV-8": (0.71, None, 3), "SMPL-1": (0.95, 0.9954, None), "SMPL-20": (0.90, 0.86, 1.3)}
# (Coverage of coherence misses, of invalidations, false positives) wanted on average.
WANTED = {"OV-1": (0.81, 0.86, None), "SMPL-1": (0.95, 0.99, 0.25), "SMPL-20": (0.90, 0.86, None)}
SMALLER_WANTED = 100
CONTROL_WANTED = 0.001
# Table II, and what the two kernels that stand for SMG2000 and sPPM are to have.
FALSE_IN_PAPER = {"bt": 0.1486, "cg": 0.1729, "ft": 0.0203, "lu": 0.0189, "smg": 0.7604, "sp": 0.6852, "sppm": 0.7622, "mg": 0.0351}
FALSE_WANTED, FALSE_OFF = {"smg": 0.76, "sppm": 0.76}, 0.1


def measure(options):
    for name in [*ANALYSED, *CONTROLS]:
        if options.only and name not in options.only:
            continue
        program = kernel(name)
        for run in range(options.runs):
            full = traced(program, f"{name}-full", [])
            yield row(name, "full", run, full, simulated(full))
            modes = QUICK if options.quick else MODES
            for mode in modes if name in ANALYSED else []:
                reduced = traced(program, f"{name}-{mode}", MODES[mode])
                yield row(name, mode, run, reduced, simulated(reduced, ["--compare", full]))
                shutil.rmtree(reduced)
            shutil.rmtree(full)


def traced(program, name, flags):
    """`carom trace` of a kernel: its profile."""
    profile = fresh_profile(name)
    words = [str(word) for word in (CAROM, "trace", "-q", "--limit", "none", "-o", profile, *flags, "--", program)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS)}
    subprocess.run(words, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)
    return profile


def simulated(profile, flags=()):
    out = scratch("profiles") / "simulated.json"
    words = [str(word) for word in (CAROM, "simulate", "-q", "--json", out, *MACHINE, *flags, profile)]
    subprocess.run(words, check=True, timeout=TIMEOUT_S)
    return json.loads(out.read_text(encoding="utf-8"))["simulate"]


def row(name, mode, run, profile, found):
    total = found["total"]
    both = total["read_modify_writes"]
    values = {
        "kernel": name, "mode": mode, "run": run, "bytes": sum(file.stat().st_size for file in profile.rglob("*") if file.is_file()),
        "loads": total["loads"] + both, "stores": total["stores"] + both, "l1_misses": total["l1"]["total"],
        "coherence_load_misses": total["coherence_load_misses"], "true": total["caused"]["true"], "false": total["caused"]["false"],
        "full_loads": None, "full_stores": None}
    for metric in METRICS:
        values |= {f"{metric}_selected": None, f"{metric}_coverage": None, f"{metric}_false_positives": None}
    values |= {"split_reduced": None, "split_full": None, "split_similar": None}
    compared = found.get("compare")
    if compared:
        values |= {"full_loads": compared["full"]["loads"], "full_stores": compared["full"]["stores"]}
        for metric in compared["metrics"]:
            key = metric["name"]
            values |= {f"{key}_selected": len(metric["selected"]), f"{key}_coverage": metric["coverage"],
                       f"{key}_false_positives": metric["false_positives"]}
        split = compared["split"]
        values |= {"split_reduced": split["reduced"], "split_full": split["full"], "split_similar": split["similar"]}
    return values


def median(rows, key):
    values = [row[key] for row in rows if row[key] is not None]
    return stats.median(values) if values else None


def average(groups, key):
    """Over the kernels, of the medians over the runs."""
    values = [value for rows in groups if (value := median(rows, key)) is not None]
    return stats.mean(values) if values else None


def summarise(rows):
    full = [row for row in rows if row["mode"] == "full"]
    reduced = [row for row in rows if row["mode"] != "full"]
    criteria, table = [], []
    body = [sharing(full, criteria)]
    for (mode,), group in group_by(reduced, "mode").items():
        kernels = list(group_by(group, "kernel").values())
        misses, taken = (average(kernels, f"{metric}_coverage") for metric in METRICS[:2])
        wrong = [average(kernels, f"{metric}_false_positives") for metric in METRICS[:2]]
        loads, stores = (stats.geometric_mean([median(each, f"full_{kind}") / max(median(each, kind), 1) for each in kernels])
                         for kind in ("loads", "stores"))
        paper = PAPER.get(mode, (None, None, None))
        table.append([mode, number(misses, 2), number(paper[0], 2), number(taken, 2), number(paper[1], 2), number(wrong[0], 2),
                      number(wrong[1], 2), number(paper[2], 2), number(loads, 0), number(stores, 0)])
        wanted = WANTED.get(mode)
        if wanted:
            criteria.append(Criterion(
                f"{mode}: average coverage of coherence misses at least {wanted[0]:g}, of invalidations at least {wanted[1]:g}",
                f"{number(misses, 3)}, {number(taken, 3)}", (misses or 0) >= wanted[0] and (taken or 0) >= wanted[1]))
        if wanted and wanted[2] is not None:
            criteria.append(Criterion(f"{mode}: at most {wanted[2]:g} false positives on average, of coherence misses and of invalidations",
                                      f"{number(wrong[0], 2)}, {number(wrong[1], 2)}", max(wrong) <= wanted[2]))
    body.append("Averages over the eight kernels; *full / reduced* are geometric means.")
    body.append(markdown(["trace", "misses covered", "paper", "invalidations covered", "paper", "false positives: misses",
                          "invalidations", "paper: misses", "loads full / reduced", "stores full / reduced"], table))
    body += [each_kernel(reduced), split(reduced)]
    if reduced:
        least = min(median(each, "full_loads") / max(median(each, "loads"), 1) for each in group_by(reduced, "kernel", "mode").values())
        criteria.append(Criterion(f"every reduced trace has at least {SMALLER_WANTED} times fewer loads than the full one",
                                  f"the least is {least:.0f} times", least >= SMALLER_WANTED))
    return Summary(body, criteria)


def sharing(full, criteria):
    """What the full traces have: table II."""
    table = []
    for (name,), group in group_by(full, "kernel").items():
        true, false = median(group, "true"), median(group, "false")
        part = false / (true + false) if true + false else 0
        accesses = median(group, "loads") + median(group, "stores")
        in_thousand = 1000 * (true + false) / accesses
        table.append([name, f"{accesses / 1e6:.1f}", f"{median(group, 'bytes') / accesses:.2f}", f"{true:.0f}", f"{false:.0f}",
                      f"{100 * part:.1f}%", f"{100 * FALSE_IN_PAPER[name]:.1f}%" if name in FALSE_IN_PAPER else "-", number(in_thousand, 3)])
        if name in FALSE_WANTED:
            criteria.append(Criterion(f"{name}: about {100 * FALSE_WANTED[name]:.0f}% of the invalidations are by false sharing",
                                      f"{100 * part:.1f}%", abs(part - FALSE_WANTED[name]) <= FALSE_OFF))
        if name in CONTROLS:
            criteria.append(Criterion(f"{name}: almost no coherence traffic, at most {CONTROL_WANTED:g} invalidations for each access",
                                      f"{in_thousand / 1000:.1e}", in_thousand / 1000 <= CONTROL_WANTED))
    return markdown(["kernel", "million accesses", "bytes by access", "true sharing", "false sharing", "false", "paper",
                     "invalidations in 1,000 accesses"], table)


def each_kernel(reduced):
    table = [[name, mode, *(number(median(group, f"{metric}_{of}"), 2 if of == "coverage" else 0)
                            for metric in METRICS for of in ("coverage", "false_positives"))]
             for (name, mode), group in group_by(reduced, "kernel", "mode").items()]
    heads = [head for metric in ("misses", "invalidations", "true", "false") for head in (metric, "f.p.")]
    return markdown(["kernel", "trace", *heads], table)


def split(reduced):
    """Table III."""
    table = [[name, mode, number(median(group, "false_sharing_selected"), 0), f"{100 * median(group, 'split_reduced'):.1f}%",
              f"{100 * median(group, 'split_full'):.1f}%", "yes" if all(row["split_similar"] for row in group) else "no"]
             for (name, mode), group in group_by(reduced, "kernel", "mode").items() if mode in QUICK]
    return ("False sharing of the source lines that are selected for it, of all invalidations:\n\n"
            + markdown(["kernel", "trace", "selected", "reduced", "full", "similar"], table))


if __name__ == "__main__":
    campaign.main(__file__, "Reduced traces", "carom simulate --compare FULL REDUCED", measure, summarise, runs=3, arguments=add_only)
