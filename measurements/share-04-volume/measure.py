#!/usr/bin/env python3
"""Show 4: the volume of communication against the workloads' own counts, and how it depends on carom's
parameters (thesis 5.4.1, figure 5.8, 5.4.5)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import summary
from lib import campaign, carom

FRACTIONS = [tenth / 10 for tenth in range(11)]
# A factor of 40 from the shortest to the longest.
PERIODS = ["250us", "500us", "1ms", "2500us", "5ms", "10ms"]
BOARDS = [5, 17, 31, 61, 127]
WATCHPOINTS = [1, 2, 3, 4]
# Percent; more is refused.
LARGEST_BUDGET = 90
# Where true and false sharing can be told apart, and errors of either kind show.
SENSITIVITY_FRACTION = 0.5


def measure(options):
    fractions = [0, 0.5, 1] if options.quick else FRACTIONS
    seconds = 2 if options.quick else 4
    for run in range(options.runs):
        for fraction in fractions:
            yield from one("volume", "write-volume", "--sharing-fraction", fraction, run, seconds)
            yield from one("volume", "read-write", "--read-fraction", fraction, run, seconds)
            yield from one("figure 5.8", "false-sharing", "--false-fraction", fraction, run, seconds, threads=8)
        for parameter, values in (("period", PERIODS), ("board", BOARDS), ("watchpoints", WATCHPOINTS)):
            for value in values[::len(values) - 1] if options.quick else values:
                for workload, flag in (("write-volume", "--sharing-fraction"), ("false-sharing", "--false-fraction")):
                    yield from one(parameter, workload, flag, SENSITIVITY_FRACTION, run, seconds, value=value)


def one(study, workload, flag, fraction, run, seconds, threads=2, value=None):
    """One run. `study`: which of the tables it belongs to; `value`: of the parameter that it varies."""
    arguments = ["--threads", threads, flag, fraction, "--seconds", seconds, "--seed", run + 1, "--pinning", "compact"]
    options = [] if value is None else [f"--{study}", value]
    if study == "period" and value is not None:
        # The budget would lengthen the shorter periods.
        options += ["--budget", LARGEST_BUDGET]
    shared = carom.share_workload("volume", workload, arguments, options)
    measured = shared.workload["measured"]
    accesses = measured.get("shared_accesses")
    quality, estimate = shared.report["quality"], shared.share["false_fraction"] or {}
    yield {
        "study": study,
        "workload": workload,
        "fraction": fraction,
        "value": value,
        "run": run,
        "volume": shared.volume(),
        "true": shared.volume("true"),
        "false": shared.volume("false"),
        "last_writer": shared.volume(last_writer=True),
        "raw": shared.share["kinds"]["raw"],
        "waw": shared.share["kinds"]["waw"],
        "false_fraction": estimate.get("estimate"),
        "samples": quality["samples"],
        "step_samples": quality["step"],
        "samples_per_thread": shared.samples_per_thread(),
        "cpu_s": sum(thread["cpu_ns"] for thread in shared.report["threads"]) / 1e9,
        "count": accesses and sum(map(sum, accesses)),
        # read-write: what the threads other than 0 chose to do.
        "count_reads": sum(measured["reads"][1:]) if "reads" in measured else None,
        "count_writes": sum(measured["writes"][1:]) if "writes" in measured else None,
        "realised_false_fraction": measured.get("false_fraction"),
    }


if __name__ == "__main__":
    campaign.main(__file__, "4. Volume, and sensitivity to the parameters",
                  "carom share --engine burst --json out.json -- carom-workloads WORKLOAD --threads 2 --pinning compact "
                  "--seconds 4", measure, summary.summarise, runs=3)
