#!/usr/bin/env python3
"""Show 5 of the translate engine: volume in accesses and in transfers, against what the workloads count themselves
(thesis 5.4.1, figures 5.3 to 5.6)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import summary
from lib import campaign, carom

FRACTIONS = [tenth / 10 for tenth in range(11)]
PERIOD = 500_000
# The fewest samples in the shared line are those of the smallest fraction; see the summary.
SECONDS = 4
QUICK_SECONDS = 2
FLAGS = {"write-volume": "--sharing-fraction", "point-to-point": "--sharing-fractions"}


def measure(options):
    for run in range(options.runs):
        for fraction in [0, 0.1, 0.5, 1] if options.quick else FRACTIONS:
            for workload in FLAGS:
                yield one(workload, fraction, run, QUICK_SECONDS if options.quick else SECONDS)


def one(workload, fraction, run, seconds):
    shared = carom.share_workload(
        "volume", workload,
        ["--threads", 2, FLAGS[workload], fraction, "--operation", "swap", "--seconds", seconds, "--seed", run + 1,
         "--pinning", "compact"],
        ["--period", PERIOD], engine="translate")
    measured, quality = shared.workload["measured"], shared.report["quality"]
    row = {
        "workload": workload,
        "fraction": fraction,
        "run": run,
        "wall_s": measured["wall_s"],
        "cpu_share": cpu_share(shared, measured["wall_s"]),
        "samples": quality["samples"],
        "events": quality["events"],
        "dropped": quality["dropped"],
        "count_accesses": sum(measured["shared_accesses_by_thread"]),
        "count_changes": sum(map(sum, measured["ownership_changes"])),
        "volume": shared.volume(),
    }
    return row | estimates(shared.share["communication"] or {})


def cpu_share(shared, wall_s):
    """CPU time over wall time, of the thread that had less. Below 1, something else ran on its processor."""
    workers = set(shared.thread_ids().values())
    return min(thread["cpu_ns"] for thread in shared.report["threads"] if thread["id"] in workers) / (wall_s * 1e9)


def estimates(communication):
    """What carom estimates, with its intervals; 0 where it saw nothing."""
    found = {
        "contended": communication.get("contended_accesses"),
        "transfers": (communication.get("transfers") or {}).get("transfers"),
    }
    nothing = {"estimate": 0, "low": None, "high": None}
    return {
        f"{name}{suffix}": (value or nothing)[key]
        for name, value in found.items()
        for suffix, key in (("", "estimate"), ("_low", "low"), ("_high", "high"))
    }


if __name__ == "__main__":
    campaign.main(__file__, "5. Volume in accesses and in transfers",
                  f"carom share --engine translate --period {PERIOD} --json out.json -- carom-workloads WORKLOAD --threads 2 "
                  f"--operation swap --pinning compact --seconds {SECONDS}", measure, summary.summarise, runs=3)
