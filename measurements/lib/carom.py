"""Running `carom share`, and reading what it and the workloads print."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .paths import CAROM, WORKLOADS, scratch


@dataclass
class Shared:
    """One profiled run: carom's report, what the program printed, and where the profile lies."""

    report: dict
    stdout: str
    profile: Path

    @property
    def workload(self):
        """The JSON object that a workload printed."""
        return json.loads(self.stdout)

    @property
    def share(self):
        return self.report["share"]

    @property
    def lines(self):
        """The contended lines, the worst first."""
        return self.share["lines"]

    def thread_ids(self):
        """The id of each workload thread, by its number: workloads name them worker-0, worker-1, ..."""
        return {
            int(thread["name"].removeprefix("worker-")): thread["id"]
            for thread in self.report["threads"]
            if thread["name"].startswith("worker-")
        }

    def cells(self, matrix="all", last_writer=False):
        """The matrix between workload threads: {(earlier writer, later accessor): volume}, by their numbers."""
        source = self.share["matrix"]
        if last_writer:
            source = source["last_writer"]
        place = {label: index for index, label in enumerate(source["labels"])}
        ids = self.thread_ids()
        return {
            (row, column): source[matrix][place[ids[row]]][place[ids[column]]]
            for row in ids for column in ids
            if ids[row] in place and ids[column] in place
        }

    def volume(self, matrix="all", last_writer=False):
        """Everything in a matrix, between any two threads."""
        source = self.share["matrix"]
        if last_writer:
            source = source["last_writer"]
        return sum(map(sum, source[matrix])) + (source["unlisted"] if matrix == "all" else 0)

    def samples_per_thread(self):
        """Samples of the worker with the fewest, by its part of the CPU time: a sample stands for time."""
        times = [thread["cpu_ns"] for thread in self.report["threads"]]
        ids = set(self.thread_ids().values())
        least = min(thread["cpu_ns"] for thread in self.report["threads"] if thread["id"] in ids)
        return self.report["quality"]["samples"] * least / sum(times)


def prefix(name, options=(), quiet=True, command="share"):
    """The words before the program: `carom share`, or another command, with a fresh folder for the profile."""
    profile = fresh_profile(name)
    return [CAROM, command, *(["-q"] if quiet else []), "-o", profile, *options, "--"]


def fresh_profile(name):
    """A path for a profile that does not exist: carom overwrites none."""
    profile = scratch("profiles") / f"{name}.carom"
    shutil.rmtree(profile, ignore_errors=True)
    return profile


def share(name, argv, options=(), timeout_s=120, engine="burst"):
    """Profiles a command. Raises where it fails: a measurement has no use for half a run."""
    out = scratch("profiles") / f"{name}.json"
    command = [*prefix(name, ["--engine", engine, "--json", out, *options]), *argv]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout_s, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"exit status {done.returncode}: {' '.join(map(str, command))}\n{done.stderr}")
    profile = scratch("profiles") / f"{name}.carom"
    return Shared(json.loads(out.read_text(encoding="utf-8")), done.stdout, profile)


def share_workload(name, workload, arguments, options=(), engine="burst"):
    """Profiles one of carom-workloads."""
    return share(name, [WORKLOADS, workload, *arguments], options, engine=engine)
