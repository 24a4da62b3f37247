"""Running `carom reuse`, and comparing histograms of distances."""

import json
import subprocess

from .carom import prefix
from .paths import WORKLOADS, scratch


class Reused:
    """One profiled run: carom's report, and what the program printed."""

    def __init__(self, report, stdout):
        self.report, self.stdout = report, stdout

    @property
    def workload(self):
        """The JSON object that a workload printed."""
        return json.loads(self.stdout)

    @property
    def curves(self):
        return self.report["reuse"]["curves"]

    def named(self, thread):
        """The name of a thread by its id."""
        return next(entry["name"] for entry in self.report["threads"] if entry["id"] == thread)

    def curve(self, scope, kind, distance, basis, granularity=None):
        """All curves that are so; `None` matches anything."""
        wanted = {"scope": scope, "kind": kind, "distance": distance, "basis": basis, "granularity_bytes": granularity}
        return [curve for curve in self.curves
                if all(value is None or curve.get(key) == value for key, value in wanted.items())]


def reuse(name, argv, options=(), engine="translate", timeout_s=300):
    """Profiles a command. Raises where it fails: a measurement has no use for half a run."""
    out = scratch("profiles") / f"{name}.json"
    command = [*prefix(name, ["--engine", engine, "--json", out, *options], command="reuse"), *argv]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout_s, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"exit status {done.returncode}: {' '.join(map(str, command))}\n{done.stderr}")
    return Reused(json.loads(out.read_text(encoding="utf-8")), done.stdout)


def reuse_workload(name, workload, arguments, options=(), **others):
    """Profiles one of carom-workloads."""
    return reuse(name, [WORKLOADS, workload, *arguments], options, **others)


def rebinned(histogram, start, ratio):
    """Fractions in the geometric bins [0, start), [start, start * ratio), ... by the middle of each finer bin."""
    bins = {}
    for entry in histogram:
        middle = (entry["low"] + entry["high"]) / 2
        low, high = 0, start
        while middle >= high:
            low, high = high, high * ratio
        bins[low] = bins.get(low, 0) + entry["fraction"]
    return bins


def similarity(truth, measured):
    """S of the thesis, section 6.5.1: one less half the difference of two histograms whose fractions sum to one."""
    whole = [sum(histogram.values()) or 1 for histogram in (truth, measured)]
    return 1 - sum(abs(truth.get(low, 0) / whole[0] - measured.get(low, 0) / whole[1])
                   for low in truth.keys() | measured.keys()) / 2
