#!/usr/bin/env python3
"""Show 1: the fraction of false sharing, against a workload that knows it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom, stats
from lib.campaign import Criterion, Summary
from lib.table import group_by, markdown, number

FRACTIONS = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]
BIAS_ALLOWED = 0.03
# 62 of 70 intervals: what a 95% interval reaches with probability 0.98 by chance alone.
COVERAGE_WANTED, OF_INTERVALS = 62, 70
HALF_WIDTH_ALLOWED = 0.05


def measure(options):
    fractions = [0, 0.5, 1] if options.quick else FRACTIONS
    seconds = 2 if options.quick else 4
    for run in range(options.runs):
        for fraction in fractions:
            shared = carom.share_workload("false-fraction", "false-sharing", [
                "--threads", 2, "--false-fraction", fraction, "--seconds", seconds, "--seed", run + 1])
            estimate = shared.share["false_fraction"] or {}
            yield {
                "fraction": fraction,
                "run": run,
                "expected": shared.workload["expected"]["false_fraction"],
                "realised": shared.workload["measured"]["false_fraction"],
                "estimate": estimate.get("estimate"),
                "low": estimate.get("low"),
                "high": estimate.get("high"),
                "samples": shared.report["quality"]["samples"],
                "events": shared.report["quality"].get("events"),
                "true": shared.volume("true"),
                "false": shared.volume("false"),
            }


def summarise(rows):
    table, biases = [], []
    for (fraction,), group in group_by(rows, "fraction").items():
        answers = [row for row in group if row["estimate"] is not None]
        if not answers:
            table.append([fraction, "-", "-", "-", "-", f"0 of {len(group)}", "-"])
            biases.append(float("inf"))
            continue
        estimates = [row["estimate"] for row in answers]
        biases.append(abs(stats.mean(estimates) - answers[0]["expected"]))
        table.append([
            fraction, number(stats.mean(row["realised"] for row in group)), number(stats.mean(estimates)), number(min(estimates)),
            number(max(estimates)), f"{sum(map(covers, group))} of {len(group)}",
            number(stats.median(map(half_width, answers))),
        ])
    covering = sum(map(covers, rows))
    widths = [half_width(row) for row in rows if row["estimate"] is not None]
    width = stats.median(widths) if widths else float("inf")
    return Summary(
        body=[markdown(["F", "realised", "mean estimate", "least", "greatest", "intervals that contain F",
                        "median half-width"], table)],
        criteria=[
            Criterion(f"the mean over runs within {BIAS_ALLOWED} of F", f"at most {max(biases):.3f} off",
                      max(biases) <= BIAS_ALLOWED),
            Criterion("at least 62 of 70 intervals contain F", f"{covering} of {len(rows)}",
                      covering * OF_INTERVALS >= COVERAGE_WANTED * len(rows)),
            Criterion(f"median half-width at most {HALF_WIDTH_ALLOWED}", f"{width:.3f}", width <= HALF_WIDTH_ALLOWED),
        ])


def covers(row):
    # The workload draws 32-bit numbers, so that what it expects may differ from F in the tenth digit.
    slack = 1e-6
    return row["estimate"] is not None and row["low"] - slack <= row["expected"] <= row["high"] + slack


def half_width(row):
    return (row["high"] - row["low"]) / 2


if __name__ == "__main__":
    campaign.main(__file__, "1. The fraction of false sharing",
                  "carom share --engine burst --json out.json -- carom-workloads false-sharing --threads 2 "
                  "--false-fraction F --seconds 4", measure, summarise)
