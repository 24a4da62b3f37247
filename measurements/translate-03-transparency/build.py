"""Builds, natively and once, those programs under test that are ours."""

import shutil
import subprocess

from cases import SOURCES
from lib.paths import scratch


def all_programs():
    """Where a compiler is missing, so is the program; its case is skipped then."""
    home = scratch("built")
    (home / "java").mkdir(exist_ok=True)
    build("mpicc", home / "ring", ["-g", "-O2", "-o", home / "ring", SOURCES / "ring.c"])
    build("javac", home / "java" / "Threads.class", ["-d", home / "java", SOURCES / "Threads.java"])
    build("go", home / "workers", ["build", "-o", home / "workers", SOURCES / "workers.go"])


def build(tool, result, words):
    if shutil.which(tool) and not result.exists():
        subprocess.run([tool, *map(str, words)], check=True)
