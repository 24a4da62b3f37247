"""The traces: made ones of known footprints, and accesses recorded from real programs."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lib import inputs
from lib.paths import RELEASE, REPOSITORY, scratch

# A program of the crate whose analyser is measured; it makes, converts and analyses traces.
THROUGHPUT = RELEASE / "examples" / "throughput"
MIB_OF_L2 = 1
FULL = 1 << 24


@dataclass
class Trace:
    """`libcachesim`, `dynamorio`: of how many accesses, at most, that tool gets to see the beginning."""

    name: str
    footprint: str
    libcachesim: int
    dynamorio: int
    make: list = None
    program: list = None
    accesses: int = FULL

    def path(self, quick):
        """The file, made where missing."""
        accesses = shortened(self.accesses, quick)
        path = scratch("traces") / f"{self.name}-{accesses}.trace".replace(" ", "-")
        if not path.exists():
            unfinished = path.with_suffix(".unfinished")
            if self.make:
                subprocess.run([str(THROUGHPUT), "make", *map(str, self.make), str(accesses), str(unfinished)], check=True)
            else:
                record(self.program, accesses, unfinished)
            unfinished.rename(path)
        return path


def shortened(accesses, quick):
    return accesses // 32 if quick else accesses


def build():
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "carom-base-reuse", "--example", "throughput"],
                   cwd=REPOSITORY, check=True)


def record(argv, accesses, path):
    """The first accesses that a program makes under Valgrind's lackey, from its first instruction on."""
    reading, writing = os.pipe()
    command = ["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-fd={writing}", *map(str, argv)]
    program = subprocess.Popen(command, pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, "LC_ALL": "C"}, cwd=scratch("traces"))
    os.close(writing)
    subprocess.run([str(THROUGHPUT), "lackey", str(accesses), str(path)], stdin=reading, check=True)
    os.close(reading)
    # It has written to a closed pipe, or ends soon: nobody listens any more.
    program.kill()
    program.wait()


SQL = """
CREATE TABLE t(a INTEGER PRIMARY KEY, b INTEGER, c TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
INSERT INTO t SELECT i, i * 7919 % 40009, hex(i * 104729) FROM n;
CREATE INDEX t_b ON t(b);
SELECT count(*), sum(x.a) FROM t x JOIN t y ON x.b = y.a WHERE y.c LIKE '3%';
"""


def all_traces():
    million = 1_000_000
    traces = []
    # DynamoRIO's list of lines is walked in steps of 500: what one access takes grows with the footprint.
    for mib, libcachesim, dynamorio in [(MIB_OF_L2, 4 * million, million), (64, 4 * million, million // 2),
                                        (1024, 4 * million, million // 2)]:
        footprint = "L2" if mib == MIB_OF_L2 else f"{mib} MiB"
        if mib < 1024:
            traces.append(Trace(f"stream {footprint}", footprint, libcachesim, dynamorio, make=["stream", mib]))
        else:
            # 8 accesses to each line would not come around once; these pass over all lines twice.
            traces.append(Trace(f"vectors {footprint}", footprint, 2 * FULL, dynamorio, make=["vectors", mib], accesses=2 * FULL))
        for kind in ["random", "mixed"]:
            traces.append(Trace(f"{kind} {footprint}", footprint, libcachesim, dynamorio, make=[kind, mib]))
    text = inputs.text(16)
    sql = inputs.script("throughput.sql", SQL)
    for program in (["gzip", "-c", text], ["sort", "-S", "256M", inputs.numbers(1_000_000)],
                    ["sqlite3", "-bail", ":memory:", f".read {sql}"]):
        traces.append(Trace(program[0], "real", 4 * million, million, program=program))
    return traces


def converted(trace_path, tool_format, accesses):
    """The beginning of a trace in another tool's format."""
    path = Path(scratch("traces") / f"converted.{tool_format}")
    subprocess.run([str(THROUGHPUT), "convert", tool_format, str(trace_path), str(accesses), str(path)], check=True)
    return path
