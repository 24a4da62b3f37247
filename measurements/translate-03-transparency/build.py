"""Builds, natively and once, those programs under test that are ours."""

import shutil
import subprocess

from cases import SOURCES
from lib.paths import scratch


def all_programs():
    """Where a compiler is missing, so is the program; its case is skipped then."""
    home = scratch("settled")
    (home / "java").mkdir(exist_ok=True)
    for compiler, result, words in [
        ("mpicc", home / "ring", ["-g", "-O2", "-o", home / "ring", SOURCES / "ring.c"]),
        ("javac", home / "java" / "Threads.class", ["-d", home / "java", SOURCES / "Threads.java"]),
        ("go", home / "workers", ["build", "-o", home / "workers", SOURCES / "workers.go"]),
    ]:
        if shutil.which(compiler) and not result.exists():
            subprocess.run([compiler, *map(str, words)], check=True)
