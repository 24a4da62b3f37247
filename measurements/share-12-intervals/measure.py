#!/usr/bin/env python3
"""Shares of accesses that are known by construction, while the period follows the program: how often the 95% intervals have them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom, stats
from lib.campaign import Criterion, Summary
from lib.paths import REPOSITORY, compile_c
from lib.table import group_by, markdown, number

MODES = ["even", "later", "cold"]
# A budget that lets the period begin at its shortest and makes it grow: programs of half a second have few samples otherwise.
SIDES = {"default": [], "budget 1%": ["--budget", "1"], "fixed": ["--period", "20000"]}
BIAS_ALLOWED = 0.01


def measure(options):
    program = compile_c(REPOSITORY / "programs" / "targets" / "shares.c", "shares", "-pthread")
    iterations = 10_000_000 if options.quick else 30_000_000
    for run in range(options.runs):
        for mode in MODES:
            for side, arguments in SIDES.items():
                shared = carom.share("intervals", [program, mode, iterations], arguments, engine="translate")
                quality, estimate = shared.report["quality"], shared.share["contended_share"]
                yield {"mode": mode, "side": side, "run": run, "expected": shared.workload["shared"] / shared.workload["accesses"],
                       "estimate": estimate["estimate"], "low": estimate["low"], "high": estimate["high"],
                       "seen": bool(shared.lines), "samples": quality["samples"], "dropped": quality["dropped"],
                       "shortest": min(each["period"] for each in quality["periods"]),
                       "longest": max(each["period"] for each in quality["periods"])}


def covers(row):
    return row["low"] <= row["expected"] <= row["high"]


def wanted(runs):
    """What 95% intervals reach in this many runs with probability 0.98 or more: two and a quarter standard deviations below 95%."""
    return int(0.95 * runs - 2.25 * (0.95 * 0.05 * runs) ** 0.5)


def summarise(rows):
    table, criteria = [], []
    for (mode, side), group in group_by(rows, "mode", "side").items():
        expected, runs = group[0]["expected"], len(group)
        # Where the threads did not run at one time, no line was shared.
        group = [row for row in group if row["seen"]]
        if not group:
            criteria.append(Criterion(f"{mode}, {side}: the line is seen", f"in none of {runs} runs", False))
            continue
        estimates = [row["estimate"] for row in group]
        spread = (sum((each - stats.mean(estimates)) ** 2 for each in estimates) / max(1, len(estimates) - 1)) ** 0.5
        covering = sum(map(covers, group))
        width = stats.median((row["high"] - row["low"]) / 2 for row in group)
        table.append([mode, side, number(expected, 4), number(stats.mean(estimates), 4), number(spread, 4), number(width, 4),
                      f"{covering} of {len(group)}", runs, number(stats.median(row["samples"] for row in group), 0),
                      f"{min(row['shortest'] for row in group):,} to {max(row['longest'] for row in group):,}",
                      max(row["dropped"] for row in group)])
        criteria.append(Criterion(f"{mode}, {side}: at least {wanted(len(group))} of {len(group)} intervals have the share",
                                  f"{covering}", covering >= wanted(len(group))))
        off = abs(stats.mean(estimates) / expected - 1)
        # Four standard errors of the mean, by the intervals' own width.
        chance = 4 * width / 1.96 / expected / len(group) ** 0.5
        criteria.append(Criterion(f"{mode}, {side}: the mean is within {100 * BIAS_ALLOWED:g}% of the share, or chance",
                                  f"{100 * off:.2f}%", off <= max(BIAS_ALLOWED, chance)))
    columns = ["program", "period", "share", "mean of estimates", "their standard deviation", "half of an interval, median",
               "intervals with the share, of those that saw the line", "runs", "samples, median", "periods in force", "records dropped, most"]
    return Summary(
        body=["Two threads whose accesses to one shared line are a known part of all. *even*: one of five, all the time; *later*: only in "
              "the second half, by the same instructions; *cold*: most accesses are of blocks that are executed seldom, and have samples "
              "of the shortest period. *default*: the period follows the program; *budget 1%*: so that it must grow; *fixed*: "
              "it does not change.", markdown(columns, table)], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "12. Intervals of shares while the period follows the program", "carom share --engine translate -- shares MODE",
                  measure, summarise, runs=60, quick_runs=5)
