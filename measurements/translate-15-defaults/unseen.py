"""Programs that were not used while the engine was made faster."""

from lib import inputs
from lib.programs import Program

# pi by Machin's formula.
BC = "scale=%d\n4*(4*a(1/5)-a(1/239))\n"
MAWK = '{ for (i = 1; i <= NF; i++) { count[$i]++; length_of[length($i)] += 1 } } END { for (l in length_of) print l, length_of[l] }'


def unseen(part=1):
    text = inputs.text(max(1, 64 // part))
    return [
        Program("7z", ["7z", "a", "-mmt2", "-mx=3", "-bd", "-y", "out.7z", text]),
        Program("mawk", ["mawk", MAWK, text]),
        Program("bc", ["bc", "-l", inputs.script(f"pi-{part}.bc", BC % int(6000 / part**0.6))], env={"BC_ENV_ARGS": "-q"}),
    ]
