"""Running a program, natively or under carom, and what that took.

Three numbers are kept apart: what the program itself took (seen by `usage.c` right beside it, so with the
agent inside but without carom's host process), what the whole command took for whoever waits for it, and the
peak memory of carom's host process.
"""

import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from .paths import MEASUREMENTS, compile_c, scratch

# The host's peak is read while it lives, since its parent would see the largest of it and the program. Linux
# keeps the high-water mark itself, so only growth in the last moment before its end can be missed.
HOST_POLL_S = 0.05


@dataclass
class Usage:
    """Seconds and MiB. `program_*`: the program and its children; `wall_s`, `cpu_s`: with carom's host."""

    wall_s: float
    cpu_s: float
    program_wall_s: float
    program_cpu_s: float
    program_mib: float
    host_mib: float
    status: int
    timed_out: bool = False

    def row(self, prefix):
        """As columns whose names begin with `prefix`."""
        return {f"{prefix}_{key}": value for key, value in vars(self).items()}


def helper():
    """The compiled usage.c."""
    program = scratch("bin") / "usage"
    source = MEASUREMENTS / "lib" / "usage.c"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        compile_c(source, "usage")
    return program


class Running:
    """A started command: `prefix` (empty, or carom with its options), then `argv`. `alone`: without the helper, which carom would
    profile, too, so that a person's time is told; `program_*` are then of the whole command, and `program_mib` is not known: Linux would count
    what this process held before exec."""

    def __init__(self, prefix, argv, cwd=None, env=None, stdout=None, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, alone=False):
        self.report = scratch("usage") / f"{os.getpid()}-{time.monotonic_ns()}"
        beside = [] if alone else [str(helper()), str(self.report)]
        command = [*map(str, prefix), *beside, *map(str, argv)]
        self.alone = alone
        self.begin = time.monotonic()
        # A session of its own, so that a hung command can be ended with all its children.
        self.process = subprocess.Popen(command, cwd=cwd, env={**os.environ, **(env or {})}, stdin=stdin,
                                        stdout=stdout, stderr=stderr, start_new_session=True)
        self.host_kib = 0
        self.done = threading.Event()
        self.poll = threading.Thread(target=self.watch_host, daemon=True)
        self.poll.start()

    def watch_host(self):
        status = Path(f"/proc/{self.process.pid}/status")
        while not self.done.is_set():
            try:
                for line in status.read_text(encoding="utf-8").splitlines():
                    if line.startswith("VmHWM:"):
                        self.host_kib = max(self.host_kib, int(line.split()[1]))
            except (OSError, UnicodeDecodeError):
                break
            self.done.wait(HOST_POLL_S)

    def finish(self, timeout_s=None):
        """Waits for the command's end; after `timeout_s` it is killed. Returns its Usage."""
        killer = threading.Timer(timeout_s, self.kill) if timeout_s else None
        if killer:
            killer.start()
        _, status, total = os.wait4(self.process.pid, 0)
        wall = time.monotonic() - self.begin
        timed_out = bool(killer and not killer.is_alive())
        if killer:
            killer.cancel()
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.done.set()
        self.poll.join()
        cpu = total.ru_utime + total.ru_stime
        if self.alone:
            return Usage(wall, cpu, wall, cpu, float("nan"), self.host_kib / 1024, self.process.returncode, timed_out)
        try:
            fields = self.report.read_text(encoding="utf-8").split()
            self.report.unlink()
        except OSError:
            fields = ["nan", "nan", "nan", "nan", str(status)]
        program_wall, user, system, peak_kib = map(float, fields[:4])
        return Usage(
            wall_s=wall,
            cpu_s=cpu,
            program_wall_s=program_wall,
            program_cpu_s=user + system,
            program_mib=peak_kib / 1024,
            host_mib=self.host_kib / 1024,
            status=int(fields[4]) or self.process.returncode,
            timed_out=timed_out,
        )

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(prefix, argv, timeout_s=None, **options):
    """Runs a command to its end and returns its Usage."""
    return Running(prefix, argv, **options).finish(timeout_s)
