"""Where things are: the repository, the programs under test, and a scratch folder outside the repository."""

import os
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
MEASUREMENTS = REPOSITORY / "measurements"
PICTURES = REPOSITORY / "docs" / "pictures"

RELEASE = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "release"
CAROM = RELEASE / "carom"
WORKLOADS = RELEASE / "carom-workloads"
RAYON = RELEASE / "carom-rayon"

# Inputs, profiles and what the measured programs write: large, and made again where missing.
SCRATCH = Path(os.environ.get("CAROM_MEASURE_DIR", "/tmp/carom-measure"))


def scratch(name):
    """A folder under SCRATCH, made where missing."""
    folder = SCRATCH / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def require_release_build():
    """Stops where the release build is missing: no measurement uses another one."""
    missing = [str(path) for path in (CAROM, WORKLOADS, RAYON) if not path.exists()]
    if missing:
        raise SystemExit(f"missing: {', '.join(missing)}; run `make release` first")


def compile_c(source, name, *flags, compiler="cc", libraries=()):
    """Compiles a C or C++ source to SCRATCH/bin/NAME with `-g -O2` and further flags; returns its path. `libraries`: what
    stands behind the source."""
    program = scratch("bin") / name
    # From the root, so that debug information names the source as a person there would.
    relative = Path(source).resolve().relative_to(REPOSITORY)
    command = [compiler, "-g", "-O2", *flags, "-o", str(program), str(relative), *libraries]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    return program
