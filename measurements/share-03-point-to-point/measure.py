#!/usr/bin/env python3
"""Show 3: four threads that communicate in pairs, and how much each pair does."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, pairs
from lib.campaign import Summary
from lib.table import markdown


def measure(options):
    for run in range(options.runs):
        for fractions in pairs.FRACTIONS[:1] if options.quick else pairs.FRACTIONS:
            yield pairs.measure_once(fractions, run, options.quick)[-1]


def summarise(rows):
    return Summary(body=[markdown(pairs.COLUMNS, map(pairs.cells_of, rows))], criteria=pairs.judged(rows))


if __name__ == "__main__":
    campaign.main(__file__, "3. Point-to-point",
                  "carom share --engine burst --json out.json -- carom-workloads point-to-point --threads 4 "
                  "--sharing-fractions A,B --seconds 4", measure, summarise)
