"""Ending what a measured program has left behind."""

import os
import signal
import time
from pathlib import Path


def end_session(session):
    """Kills what is left of a session: a server, or a hung program that carom waits for."""
    for entry in filter(str.isdecimal, os.listdir("/proc")):
        try:
            fields = Path("/proc", entry, "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == session:
                os.kill(int(entry), signal.SIGKILL)
        except (OSError, IndexError, ValueError):
            continue


def new_group(name):
    """A folder of the kernel's for processes that are to end together, daemons among them; None without cgroups (v2)."""
    for root in map(Path, ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")):
        try:
            if (root / "cgroup.procs").exists():
                (root / name).mkdir()
                return root / name
        except OSError:
            continue
    return None


def enter_group(group):
    """Puts the calling process there."""
    if group:
        (group / "cgroup.procs").write_text("0", encoding="utf-8")


def end_group(group):
    """Kills all of them at once, also those that go on making others."""
    if not group:
        return
    (group / "cgroup.kill").write_text("1", encoding="utf-8")
    for _ in range(1000):
        try:
            return group.rmdir()
        except OSError:
            time.sleep(0.01)
