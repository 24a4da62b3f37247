"""The samples that a profile holds."""

import csv
import subprocess

from lib.paths import RELEASE, REPOSITORY

READER = RELEASE / "examples" / "samples"


def build_reader():
    """Builds the example of the store that prints a profile's samples."""
    subprocess.run(["cargo", "build", "-q", "--release", "-p", "carom-store", "--example", "samples"], cwd=REPOSITORY,
                   check=True)


def of_profile(profile):
    """[(ip, address, width, kind)], all texts but the width."""
    done = subprocess.run([READER, profile], capture_output=True, text=True, check=True)
    return [access(row) for row in csv.DictReader(done.stdout.splitlines())]


def access(row):
    """What a row of samples, of a workload's log or of its report says."""
    return row["ip"], row["address"], int(row["width"]), row["kind"]
