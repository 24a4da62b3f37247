#!/usr/bin/env python3
"""The phases of programs that nobody here wrote: looked at, and plotted.

A browser that starts and shows a page, a script that reads numbers and then computes with them (where CAROM_NUMPY names a Python that
has NumPy), and LULESH (where CAROM_LULESH names its sources).
"""

import json
import os
import subprocess
import sys
from pathlib import Path

MEASUREMENTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(MEASUREMENTS), str(MEASUREMENTS / "translate-04-speed")]
from lib import campaign, inputs, svg
from lib.campaign import Criterion, Summary
from lib.carom import fresh_profile
from lib.paths import CAROM, REPOSITORY, scratch
from lib.table import group_by, markdown, number
from more import LULESH, lulesh

NUMPY = os.environ.get("CAROM_NUMPY")
# It says how long it had lived when it began to compute.
SCRIPT = """
import os, sys, time, numpy
rows = numpy.loadtxt(sys.argv[1])
begun = int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
print(time.clock_gettime(time.CLOCK_BOOTTIME) - begun)
covariance = numpy.cov(rows[:3000])
numpy.linalg.eigvalsh(covariance[:1200, :1200])
"""
# A known change is found within this part of the run.
NEAR = 0.02
# Points of a picture.
POINTS = 400
MIB = 1 << 20


def programs(part):
    page = REPOSITORY / "docs" / "pictures" / "reuse-matmul.svg"
    yield "chromium", ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={scratch('chromium')}", "--dump-dom",
                       page.as_uri()], {}
    if NUMPY:
        yield "numpy", [NUMPY, inputs.script("eigen.py", SCRIPT), matrix(20_000 // part)], {}
    if LULESH:
        yield "lulesh", [lulesh(), "-s", "60", "-i", "20", "-q"], {"OMP_NUM_THREADS": "2"}


def matrix(rows):
    """Lines of 50 numbers."""

    def write(file):
        for row in range(rows):
            file.write((" ".join(f"{(row * 7919 + column * 104_729) % 10_007 / 10_007:.18e}" for column in range(50)) + "\n").encode())

    return inputs.made(f"matrix-{rows}.txt", write)


def measure(options):
    for name, argv, env in programs(10 if options.quick else 1):
        out = scratch("phases") / "report.json"
        done = subprocess.run([CAROM, "phases", "-q", "-o", fresh_profile("phases"), "--json", out, "--", *map(str, argv)], check=True,
                              timeout=300, env=os.environ | env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        report = json.loads(out.read_text(encoding="utf-8"))
        phases, trace = report["phases"]["phases"], report["phases"]["trace"]
        step = max(1, len(trace) // POINTS)
        for index, phase in enumerate(phases, 1):
            inside = [point for point in trace if phase["start_s"] <= point["at_s"] <= phase["end_s"]][::step]
            yield {"program": name, "phase": index, "phases": len(phases), **phase, "verdict": report["verdict"],
                   "readings": report["phases"]["readings"], "known_s": float(done.stdout) if name == "numpy" else None,
                   "trace": " ".join(f"{point['at_s']:.4f}:{point['resident']}" for point in inside)}


def points(row):
    pairs = (point.split(":") for point in row["trace"].split())
    return [(float(at), int(resident) / MIB) for at, resident in pairs]


def summarise(rows):
    body, pictures, criteria = [__doc__.split("\n\n")[1].strip()], {}, []
    for (name,), group in group_by(rows, "program").items():
        heads = ["phase", "from s", "to s", "MiB at first", "at last", "MiB/s", "swings by MiB"]
        body += [f"## {name}", group[0]["verdict"], markdown(heads, [
            [row["phase"], number(row["start_s"], 3), number(row["end_s"], 3), number(row["first_bytes"] / MIB, 0),
             number(row["last_bytes"] / MIB, 0), number(row["slope_bytes_per_s"] / MIB, 0), number(row["deviation_bytes"] / MIB, 0)]
            for row in group]), f"![{name}](../../docs/pictures/phases-{name}.svg)"]
        pictures[f"phases-{name}.svg"] = svg.plot(f"{name}: resident memory by phase", "seconds", "MiB",
                                                  {f"phase {row['phase']}": points(row) for row in group if row["trace"]}, dots=False)
        known, length = group[0]["known_s"], group[-1]["end_s"]
        if known is not None:
            nearest = min((row["start_s"] for row in group[1:]), key=lambda start: abs(start - known), default=0.0)
            criteria.append(Criterion(f"{name}: a phase begins where it begins to compute, {known:.2f} s, within {NEAR:.0%} of the run",
                                      f"{nearest:.2f} s of {length:.2f} s", abs(nearest - known) <= NEAR * length))
    return Summary(body=body, criteria=criteria, pictures=pictures)


if __name__ == "__main__":
    campaign.main(__file__, "3. Phases of programs", "carom phases -- PROGRAM", measure, summarise, runs=1)
