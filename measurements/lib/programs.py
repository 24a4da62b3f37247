"""The programs whose overhead and output are measured, each with fixed input and arguments.

Sized for 2 to 6 seconds on a two-core virtual machine; `part` divides that.
"""

import hashlib
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import inputs, scripts, usage
from .paths import RAYON, REPOSITORY, compile_c, scratch

TIMEOUT_S = 180
# Enough for a server to load the agent and answer; it answers within milliseconds natively.
SERVER_START_S = 30


@dataclass
class Program:
    """A command, the files that it writes (relative to its folder), and whether stdout is its output too."""

    name: str
    argv: list
    writes: list = field(default_factory=list)
    env: dict = field(default_factory=dict)
    in_development: bool = True

    def run(self, prefix, timeout_s=TIMEOUT_S, alone=False):
        """Runs it in a fresh folder; returns its Usage and a digest of all that it put out. `alone`: as of `usage.Running`."""
        folder = fresh("run")
        with open(folder / "stdout", "wb") as stdout:
            used = usage.run(prefix, self.argv, timeout_s, cwd=folder, env=self.env, stdout=stdout, alone=alone)
        return used, digest([folder / name for name in ("stdout", *self.writes)])


@dataclass
class Redis:
    """A server, profiled, under a client that is not; its time is the client's, its output the final data."""

    requests: int
    name: str = "redis-server"
    in_development: bool = True
    port: int = 16379

    @property
    def argv(self):
        return ["redis-server", "--port", self.port, "--save", "", "--appendonly", "no", "--io-threads", 2,
                "--enable-debug-command", "local"]

    def client(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True,
                              timeout=60, check=False).stdout.strip()

    def run(self, prefix, timeout_s=TIMEOUT_S, alone=False):
        folder = fresh("run")
        server = usage.Running(prefix, self.argv, cwd=folder, stdout=subprocess.DEVNULL, alone=alone)
        wall, found = float("nan"), "no answer"
        try:
            deadline = time.monotonic() + SERVER_START_S
            while self.client("ping") != "PONG" and time.monotonic() < deadline:
                time.sleep(0.02)
            begin = time.monotonic()
            done = subprocess.run(["redis-benchmark", "-p", str(self.port), "-q", "-n", str(self.requests), "-c", "50",
                                   "-P", "8", "-t", "set,get,incr,lpush,lpop,hset,zadd"],
                                  capture_output=True, timeout=timeout_s, check=False)
            wall = time.monotonic() - begin
            found = f"{done.returncode} {self.client('debug', 'digest')}"
            self.client("shutdown", "nosave")
        except subprocess.TimeoutExpired:
            server.kill()
        used = server.finish(timeout_s)
        used.wall_s = used.program_wall_s = wall
        return used, hashlib.sha256(found.encode()).hexdigest()[:16]


def fresh(name):
    folder = scratch(name)
    shutil.rmtree(folder)
    return scratch(name)


def digest(paths):
    """One checksum of several files; a missing one counts too."""
    whole = hashlib.sha256()
    for path in paths:
        whole.update(Path(path).name.encode())
        if not path.exists():
            whole.update(b"missing")
            continue
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                whole.update(block)
    return whole.hexdigest()[:16]


def programs(part=1):
    """All of them; makes their inputs where missing."""
    stencil = compile_c(REPOSITORY / "programs" / "targets" / "stencil.c", "stencil", "-fopenmp")

    def text(mib):
        return inputs.text(max(1, mib // part))

    sql = inputs.script("build.sql", scripts.SQL.replace("{rows}", str(1_200_000 // part)))
    python = inputs.script("work.py", scripts.PYTHON.replace("SIZE", str(3_000_000 // part)))
    node = inputs.script("work.js", scripts.NODE % {"size": 40_000_000 // part})
    frames = 800 // part
    # The last three were run under carom for the first time when its development had ended.
    return [
        Program("zstd", ["zstd", "-q", "-f", "-T2", "-9", text(128), "-o", "out.zst"], ["out.zst"]),
        Program("xz", ["xz", "-T2", "-2", "--block-size=4MiB", "-k", "-c", text(24)]),
        Program("pigz", ["pigz", "-p2", "-n", "-c", text(128)]),
        Program("sort", ["sort", "--parallel=2", "-S", "512M", "-o", "sorted", inputs.numbers(6_000_000 // part)],
                ["sorted"], {"LC_ALL": "C"}),
        Program("sqlite3", ["sqlite3", "-bail", "data.db", f".read {sql}"], ["data.db"]),
        Redis(100_000 // part),
        Program("ffmpeg", ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25",
                           "-frames:v", frames, "-c:v", "libx264", "-preset", "medium", "-threads", 2,
                           "-fflags", "+bitexact", "-flags:v", "+bitexact", "-f", "h264", "out.h264"], ["out.h264"]),
        Program("stencil (OpenMP)", [stencil, 1024, 6000 // part], env={"OMP_NUM_THREADS": "2"}),
        Program("carom-rayon", [RAYON, "--numbers", 4_000_000, "--rounds", max(1, 50 // part)],
                env={"RAYON_NUM_THREADS": "2"}),
        Program("python3", ["/usr/bin/python3", python], env={"PYTHONHASHSEED": "0"}),
        Program("lbzip2", ["lbzip2", "-n2", "-k", "-c", text(96)], in_development=False),
        Program("nodejs", ["node", node], in_development=False),
        Program("graphicsmagick", ["gm", "convert", "-size", f"1600x{1200 // part}", "gradient:navy-gold", "-swirl", 720,
                                   "-blur", "0x12", "-modulate", "110,150,80", "-resize", "150%", "-sharpen", "0x3",
                                   "out.ppm"], ["out.ppm"], {"OMP_NUM_THREADS": "2"}, in_development=False),
    ]


# What a short look divides sizes by.
QUICK_PART = 10


def selected(options, more=lambda part: [], part=1):
    """The programs that `--only` names, or all: these and those of `more(part)`."""
    part = QUICK_PART if options.quick else part
    everything = [*programs(part), *more(part)]
    return [program for program in everything if not options.only or program.name.split()[0] in options.only]


def add_only(parser):
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these programs")
