"""Running a program, natively or under carom: how long it took, how it ended, and a digest of what it put out."""

import hashlib
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from lib import inputs
from lib.paths import scratch
from lib.sessions import end_session

LIMIT_S = 180
SERVER_START_S = 30


@dataclass
class Ran:
    wall_s: float
    status: int
    digest: str
    stderr: str


@dataclass
class Command:
    """A command and the files that it writes. What a `talkative` one prints, times for example, is not compared."""

    argv: list
    writes: list = field(default_factory=list)
    talkative: bool = False
    unordered: bool = False

    def run(self, prefix):
        folder = fresh("history-run")
        argv = [str(inputs.text(64)) if word == "{text}" else str(word) for word in self.argv]
        with Started(prefix, argv, folder) as started:
            status = started.wait()
        printed = (folder / "stdout").read_bytes()
        if self.unordered:
            printed = b"\n".join(sorted(printed.splitlines()))
        whole = hashlib.sha256(b"" if self.talkative else printed)
        for name in self.writes:
            path = folder / name
            whole.update(path.read_bytes() if path.exists() else b"missing")
        return Ran(started.wall_s, status, whole.hexdigest()[:16], (folder / "stderr").read_text(errors="replace"))


@dataclass
class Memcached:
    """A server with four threads, under carom; its clients are not. Its output is the number of values found."""

    program: Path
    port: int = 16412

    def run(self, prefix):
        folder = fresh("history-run")
        with Started(prefix, [self.program, "-u", "root", "-l", "127.0.0.1", "-p", self.port, "-t", 4, "-m", 64], folder) as server:
            address = f"--servers=127.0.0.1:{self.port}"
            wait_for(lambda: "version" in self.statistics())
            begin = time.monotonic()
            for test in ("set", "get"):
                client("memcslap", address, f"--test={test}", "--concurrency=8", "--execute-number=10000")
            wall = time.monotonic() - begin
            found = " ".join(re.findall(r"cmd_(?:get|set):\s*\d+", self.statistics()))
            server.process.terminate()
            status = server.wait()
        return Ran(wall, status, found, (folder / "stderr").read_text(errors="replace"))

    def statistics(self):
        return client("memcstat", f"--servers=127.0.0.1:{self.port}")


class Started:
    """A started command, in a session of its own; what is left of it at the end is ended."""

    def __init__(self, prefix, argv, folder):
        self.command = [str(word) for word in (*prefix, *argv)]
        self.folder = folder

    def __enter__(self):
        self.begin = time.monotonic()
        with open(self.folder / "stdout", "wb") as out, open(self.folder / "stderr", "wb") as err:
            self.process = subprocess.Popen(self.command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            start_new_session=True, env={**os.environ, "OMP_NUM_THREADS": "2"})
        return self

    def wait(self):
        status = self.process.wait(LIMIT_S)
        self.wall_s = time.monotonic() - self.begin
        return status

    def __exit__(self, *_):
        end_session(self.process.pid)
        self.process.wait()


def client(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    return done.stdout.strip()


def wait_for(ready):
    deadline = time.monotonic() + SERVER_START_S
    while not ready() and time.monotonic() < deadline:
        time.sleep(0.02)


def fresh(name):
    folder = scratch(name)
    shutil.rmtree(folder)
    return scratch(name)
