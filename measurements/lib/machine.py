"""Which machine, which versions: what every summary has to say."""

import os
import platform
import subprocess
from datetime import datetime, timezone
from pathlib import Path

from .paths import CAROM, REPOSITORY


def first_line(*command):
    """The first line that a command prints, or None where it cannot run."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=REPOSITORY, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = (run.stdout or run.stderr).strip().splitlines()
    return lines[0] if run.returncode == 0 and lines else None


def output(*command):
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=REPOSITORY, check=False)
    return run.stdout.strip()


def proc_field(path, key):
    """The value of the first `key : value` line of a file in /proc."""
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None


def describe():
    """The machine and the versions, as plain data for `run.json`."""
    memory_kib = int(proc_field("/proc/meminfo", "MemTotal").split()[0])
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "version": first_line("git", "describe", "--always", "--tags", "--dirty"),
        "carom": first_line(str(CAROM), "--version"),
        "processor": proc_field("/proc/cpuinfo", "model name"),
        "logical processors": len(cpus()),
        "virtualisation": first_line("systemd-detect-virt") or hypervisor(),
        "memory": f"{memory_kib / 2**20:.1f} GiB",
        "kernel": platform.release(),
        "C library": " ".join(platform.libc_ver()),
        "C compiler": first_line("cc", "--version"),
        "Rust": first_line("rustc", "--version"),
        "Python": platform.python_version(),
        "load average at start": Path("/proc/loadavg").read_text(encoding="utf-8").split()[0],
        "doctor": output(str(CAROM), "doctor"),
    }


def cpus():
    """The processors that this process may use."""
    return os.sched_getaffinity(0)


def hypervisor():
    flags = proc_field("/proc/cpuinfo", "flags") or ""
    return "a virtual machine" if "hypervisor" in flags.split() else "none seen"
