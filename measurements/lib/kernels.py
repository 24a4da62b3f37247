"""The OpenMP kernels of programs/targets/kernels, compiled."""

from pathlib import Path

from .paths import REPOSITORY, compile_c

FOLDER = REPOSITORY / "programs" / "targets" / "kernels"
# Those that the paper analyses, in the order of its figures, and its two controls.
ANALYSED = ["bt", "cg", "ft", "lu", "smg", "sp", "sppm", "mg"]
CONTROLS = ["is", "ep"]


def kernel(name, *flags) -> Path:
    """The program of this name."""
    return compile_c(FOLDER / f"{name}.c", f"kernel-{name}", "-fopenmp", *flags, libraries=["-lm"])
