#!/usr/bin/env python3
"""A matrix multiplication, naive and tiled: whether the report names the loop and the reuse that does not fit."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, miss_curve, reuse, stats
from lib.campaign import Criterion, Summary
from lib.paths import PICTURES, REPOSITORY, WORKLOADS, scratch
from lib.table import group_by, markdown, number

# Rows: each matrix takes 2 MiB, twice this machine's private second-level cache, and three tiles take 24 KiB.
SIZE, TILE = 512, 32
VARIANTS = ["naive", "tiled"]
MODES = {"sampled": ["--objects"], "exact": ["--exact", "--objects"]}
# The loops, where the report has to point.
SOURCE = REPOSITORY / "programs" / "src" / "matmul" / "multiply.rs"
# How far the printed distance of the reuse may be from the workload's own, which leaves out a row and the other matrix.
DISTANCE_ALLOWED = 0.15
GONE = 0.1
TIMEOUT_S = 1200
WINDOW = "1180,2050"
SETTLE_MS = 3000


def inner_loop():
    """The lines of the loop over k, and of the one around it, in `multiply_naive`."""
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    begin = next(number for number, line in enumerate(lines, 1) if "fn multiply_naive" in line)
    first = next(number for number, line in enumerate(lines, 1) if number > begin and "for j in" in line)
    return range(first, next(number for number, line in enumerate(lines, 1) if number > first and "c[i * size" in line) + 1)


def arguments(options, variant):
    return ["--variant", variant, "--size", SIZE // 2 if options.quick else SIZE, "--tile", TILE]


def measure(options):
    for run in range(options.runs):
        for variant in VARIANTS:
            words = [str(word) for word in (WORKLOADS, "matmul", *arguments(options, variant))]
            native = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
            for mode, flags in MODES.items():
                if mode == "exact" and run > 0:
                    continue
                page = scratch("profiles") / f"matmul-{variant}-{mode}.html"
                found = reuse.reuse_workload("matmul", "matmul", arguments(options, variant), [*flags, "--html", page],
                                             timeout_s=TIMEOUT_S)
                yield row(found, variant, mode, run, native)
    if not options.quick:
        screenshot(scratch("profiles") / "matmul-naive-exact.html", PICTURES / "reuse-matmul.png")


def row(found, variant, mode, run, native):
    answer = found.report["reuse"]
    fit = next(fit for fit in answer["fits"] if fit["scope"] in ("thread", "all"))
    pair = answer["pairs"][fit["worst_pair"]] if fit["worst_pair"] is not None else None
    curve = min((curve for curve in answer["curves"] if curve["scope"] == "all" and curve["miss_ratio"]
                 and curve["granularity_bytes"] == 64), key=lambda curve: (curve["basis"] != "exact", curve["model"] != "statstack"))
    # What the workload itself knows: the largest reuse, that of b from one row of c to the next.
    farthest = max(native["expected"]["reuses"], key=lambda each: each["bytes"])
    return {
        "variant": variant, "mode": mode, "run": run, "native_s": native["measured"]["wall_s"],
        "cache_bytes": answer["cache_bytes"], "miss_ratio": fit["miss_ratio"]["estimate"], "compulsory": fit["compulsory"],
        "enough_bytes": fit["enough_bytes"],
        "function": last(pair, "use", "function"), "use_line": last(pair, "use", "line"),
        "reuse_function": last(pair, "reuse", "function"), "reuse_line": last(pair, "reuse", "line"),
        "object": (pair["object"] or {}).get("name") if pair else None,
        "share_of_misses": pair["share_of_misses"] if pair else None,
        "missing_bytes": pair["missing_bytes"] if pair else None, "expected_bytes": farthest["bytes"],
        "verdict": found.report["verdict"],
        "caches": " ".join(f"L{cache['level']}={cache['bytes']}" for cache in answer["caches"]),
        "curve": " ".join(f"{point['bytes']}:{point['ratio']:.5f}" for point in curve["miss_ratio"]),
    }


def last(pair, side, what):
    """Of the innermost function."""
    return pair[side][what] if pair else None


def screenshot(page, picture):
    """The report as a browser shows it; without one, there is no picture."""
    if not shutil.which("chromium"):
        return
    picture.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={WINDOW}",
                    f"--virtual-time-budget={SETTLE_MS}", f"--user-data-dir={scratch('chromium')}",
                    f"--screenshot={picture}", page.as_uri()], capture_output=True, timeout=120, check=False)


def summarise(rows):
    loop = inner_loop()
    naive, tiled = ([row for row in rows if row["variant"] == variant] for variant in VARIANTS)
    named = [row for row in naive if short(row["function"]) == short(row["reuse_function"]) == "multiply_naive"
             and {row["use_line"], row["reuse_line"]} <= set(loop)]
    near = [abs(row["missing_bytes"] / row["expected_bytes"] - 1) for row in naive]
    by_mode = {mode: [stats.mean(row["miss_ratio"] for row in side if row["mode"] == mode) for side in (naive, tiled)]
               for mode in MODES}
    objects = [row for row in naive if row["object"] and short(row["object"]).endswith("run")]
    table = [[variant, mode, number(stats.median(row["native_s"] for row in group), 2),
              f"{stats.mean(row['miss_ratio'] for row in group):.2%}", f"{stats.mean(row['compulsory'] for row in group):.2%}",
              f"`{short(group[0]['function'])}`:{group[0]['use_line']}" if group[0]["function"] else "-",
              miss_curve.size(group[0]["missing_bytes"] // 1024 * 1024) if group[0]["missing_bytes"] else "-",
              miss_curve.size(group[0]["enough_bytes"]) if group[0]["enough_bytes"] else "-"]
             for (variant, mode), group in group_by(rows, "variant", "mode").items()]
    verdicts = "\n".join(f"- {row['variant']}, {row['mode']}: {row['verdict']}" for row in rows if row["run"] == 0)
    return Summary(
        body=[markdown(["order", "mode", "native s", "misses at L2", "unavoidable", "worst reuse at", "its distance", "enough"], table),
              "Verdicts of the first runs:", verdicts,
              "![misses by cache size, naive and tiled](../../docs/pictures/reuse-matmul.svg)"],
        criteria=[
            Criterion("naive: the worst pair is in the loops of multiply_naive", f"{len(named)} of {len(naive)} runs",
                      len(named) == len(naive)),
            Criterion("naive: what is reused is named by the function that allocated it", f"{len(objects)} of {len(naive)} runs",
                      len(objects) == len(naive)),
            Criterion(f"naive: its distance within {DISTANCE_ALLOWED:.0%} of the matrix b and two rows", f"at most {max(near):.1%} off",
                      max(near) <= DISTANCE_ALLOWED),
            *(Criterion(f"tiled, {mode}: at most {GONE:.0%} of the naive order's misses", f"{after / before:.1%}", after <= GONE * before)
              for mode, (before, after) in by_mode.items())],
        pictures={"reuse-matmul.svg": picture(rows)})


def short(function):
    return function.split("::")[-1]


def picture(rows):
    first = {(row["variant"], row["mode"]): row for row in reversed(rows)}
    curves = {f"{variant}, {mode}": [(int(size), float(ratio)) for size, ratio in
                                     (point.split(":") for point in first[variant, mode]["curve"].split())
                                     if int(size) <= 64 << 20]
              for variant, mode in first}
    caches = [cache.split("=") for cache in rows[0]["caches"].split()]
    return miss_curve.plot("matmul, 512 rows: misses by cache size", dict(sorted(curves.items())),
                           [(name, int(bytes_)) for name, bytes_ in caches])


if __name__ == "__main__":
    campaign.main(__file__, "7. A matrix multiplication, naive and tiled",
                  "carom reuse [--exact] --objects --json out.json -- carom-workloads matmul --variant naive|tiled",
                  measure, summarise, runs=5)
