"""Programs beside those whose overhead every engine is measured with: one thread, exceptions, another's OpenMP code."""

import os
import subprocess
from pathlib import Path

from lib import inputs
from lib.paths import compile_c, scratch
from lib.programs import Program

HERE = Path(__file__).resolve().parent
# The sources of LLNL's LULESH 2 (github.com/LLNL/LULESH); it is left out where this names none.
LULESH = os.environ.get("CAROM_LULESH")

# Counts words by splitting, hashing and sorting.
PERL = r"""
while (<>) { $count{lc $1}++ while /(\w+)/g }
print "$_ $count{$_}\n" for (sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count)[0 .. 99];
"""


def more_programs(part=1):
    """They run in one thread, but for LULESH."""
    text = inputs.text(max(1, 96 // part))
    sort = compile_c(HERE / "throw_and_sort.cpp", "throw_and_sort", compiler="c++")
    perl = inputs.script("words.pl", PERL)
    programs = [
        Program("gzip", ["gzip", "-n", "-c", text]),
        Program("openssl", ["openssl", "dgst", "-sha3-256", *[text] * 10]),
        Program("throw and sort (C++)", [sort, 14_000_000 // part, 200_000 // part]),
        Program("perl", ["perl", perl, inputs.text(max(1, 24 // part))], env={"PERL_HASH_SEED": "0"}),
    ]
    if LULESH:
        programs.append(Program("lulesh (OpenMP)", [lulesh(), "-s", 30, "-i", 250 // part, "-q"], env={"OMP_NUM_THREADS": "2"}))
    else:
        print("lulesh is left out: CAROM_LULESH does not name its sources")
    return programs


def lulesh():
    """LULESH, built as its own Makefile would without MPI."""
    program = scratch("bin") / "lulesh"
    sources = sorted(Path(LULESH).glob("lulesh*.cc"))
    subprocess.run(["c++", "-O3", "-fopenmp", "-DUSE_MPI=0", "-o", program, *sources], check=True)
    return program
