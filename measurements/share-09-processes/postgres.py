"""A PostgreSQL server for one run: in a folder of its own, on a socket in it, in the foreground, stopped as by Ctrl-C."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from lib import carom
from lib.paths import scratch

CLIENTS = 8
SCALE = 10
SECONDS_TO_START = 120


def bin_dir():
    """Debian keeps the server out of PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not found:
        raise SystemExit("missing: PostgreSQL (Debian: postgresql)")
    return found[-1].parent


def as_user(command):
    """The server refuses to run as root."""
    words = [str(word) for word in command]
    return ["runuser", "-u", "postgres", "--", *words] if os.geteuid() == 0 else words


def home():
    """Where the server's user may write."""
    folder = scratch("postgres")
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    return folder


def client(*words, check=True):
    tool, *rest = words
    # carom's own variables are not for the client.
    return subprocess.run(as_user([bin_dir() / tool, "-h", home(), *rest]), capture_output=True, text=True, check=check)


def make():
    """A database with pgbench's tables, made once."""
    data = home() / "data"
    if data.exists():
        return data
    subprocess.run(as_user([bin_dir() / "initdb", "-D", data, "-A", "trust", "-N"]), check=True, capture_output=True)
    server = start([])
    try:
        client("createdb", "bench")
        client("pgbench", "-i", "-q", "-s", str(SCALE), "bench")
    finally:
        stop(server)
    return data


def start(prefix):
    command = [*prefix, bin_dir() / "postgres", "-D", home() / "data", "-k", home(), "-c", "listen_addresses=",
               "-c", "fsync=off", "-c", "shared_buffers=256MB"]
    # A folder that its user may be in.
    server = subprocess.Popen(as_user(command), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              cwd=home(), start_new_session=True)
    until = time.monotonic() + SECONDS_TO_START
    while client("pg_isready", "-q", check=False).returncode != 0:
        if server.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"PostgreSQL did not start: {server.stderr.read() if server.poll() is not None else ''}")
        time.sleep(0.1)
    return server


def stop(server):
    """A fast shutdown, asked of the server itself: carom waits for it."""
    pid = int((home() / "data" / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0])
    os.kill(pid, signal.SIGINT)
    _, complaint = server.communicate(timeout=300)
    if server.returncode != 0:
        raise RuntimeError(f"PostgreSQL ended with {server.returncode}: {complaint}")


def run(transactions, options=None):
    """Runs pgbench on a server, under carom where there are options. The seconds it took, and the report."""
    make()
    out = home() / "report.json"
    prefix = []
    if options is not None:
        profile = home() / "profile.carom"
        shutil.rmtree(profile, ignore_errors=True)
        out.unlink(missing_ok=True)
        prefix = [carom.CAROM, "share", "-q", "-o", profile, "--json", out, *options, "--"]
    server = start(prefix)
    try:
        client("psql", "-q", "-c", "checkpoint", "bench")
        done = client("pgbench", "-n", "-c", str(CLIENTS), "-j", "2", "-t", str(transactions), "bench")
    finally:
        stop(server)
    rate = float(re.search(r"tps = ([0-9.]+) \(without", done.stdout).group(1))
    return CLIENTS * transactions / rate, json.loads(out.read_text(encoding="utf-8")) if prefix else None
