"""The programs of Show 3: the sections of `programs/*.sh`, shell scripts, so that the shell, pipes and children run
translated too.

Each runs in an empty folder; what it prints and the files that it leaves there are its output. A section begins with

    #: NAME | threaded | needs COMMAND-OR-FILE... | user NAME | VARIABLE=VALUE

where all but the name may be left out.
"""

import functools
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from lib import inputs, scripts
from lib.paths import RAYON, REPOSITORY, compile_c, scratch

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "sources"
BEGIN = "#: "
# In their order; the last were run for the first time when development had ended.
UNSEEN = "unseen"
GROUPS = ["coreutils", "compressors", "interpreters", "compilers", "servers", "libraries", "endings", UNSEEN]


@dataclass
class Case:
    """`needs`: commands and files without which it is skipped. `user`: who runs it, where that cannot be root."""

    name: str
    fresh: bool
    script: str = ""
    threaded: bool = False
    needs: list = field(default_factory=list)
    user: str = None
    env: dict = field(default_factory=dict)

    def lacks(self):
        """The first need that this machine does not meet."""
        needs = (need.replace("$RUSTC", rustc()) for need in self.needs)
        return next((need for need in needs if not (shutil.which(need, path=search_path()) or os.path.exists(need))), None)

    def environment(self):
        """Fixed but for where things are."""
        return {"PATH": search_path(), "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TZ": "UTC", **places(), **self.env}


def cases():
    """All of them."""
    for group in GROUPS:
        text = (HERE / "programs" / f"{group}.sh").read_text(encoding="utf-8")
        for section in text.split(f"\n{BEGIN}"):
            head, _, script = section.removeprefix(BEGIN).partition("\n")
            yield parsed(head, script, group == UNSEEN)


def parsed(head, script, fresh):
    name, *attributes = head.split(" | ")
    case = Case(name, fresh, script)
    for attribute in attributes:
        word, _, rest = attribute.partition(" ")
        if word == "threaded":
            case.threaded = True
        elif word == "needs":
            case.needs = rest.split()
        elif word == "user":
            case.user = rest
        else:
            variable, _, value = attribute.partition("=")
            case.env[variable] = value
    return case


def search_path():
    """With what Debian keeps out of PATH."""
    servers = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")))
    return ":".join(["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/games", *servers])


@functools.cache
def places():
    """What the scripts find their inputs by, made where missing."""
    python = inputs.script("transparency.py", scripts.PYTHON.replace("SIZE", "60000"))
    node = inputs.script("transparency.js", scripts.NODE % {"size": 1_500_000})
    sql = inputs.script("transparency.sql", scripts.SQL.replace("{rows}", "60000"))
    big = inputs.made("big.c", lambda file: file.write(big_source().encode()))
    stencil = compile_c(REPOSITORY / "programs" / "targets" / "stencil.c", "stencil", "-fopenmp")
    found = {"TEXT": inputs.text(9), "SMALL": inputs.text(2), "NUMBERS": inputs.numbers(200_000), "BIG_C": big,
             "WORK_PY": python, "WORK_JS": node, "WORK_SQL": sql, "STENCIL": stencil, "RAYON": RAYON, "RUSTC": rustc(),
             "PYTHON": "/usr/bin/python3", "SOURCES": SOURCES, "BUILT": scratch("built")}
    return {name: str(value) for name, value in found.items()}


@functools.cache
def rustc():
    """The compiler itself: what is in PATH may be rustup, which finds it for each project."""
    try:
        found = subprocess.run(["rustc", "--print", "sysroot"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "rustc"
    return f"{found.stdout.strip()}/bin/rustc"


def big_source(functions=300):
    """C with functions enough to keep a compiler busy for a second or two."""
    return "".join(f"""
static unsigned f{i}(unsigned x, unsigned *p) {{
    unsigned s = {i};
    for (unsigned j = 0; j < x % 64; j++) {{
        s = s * 31 + p[j] * {i * 7 % 101 + 1}u;
        if (s & {1 << i % 20}u) p[j & 7] ^= s; else s += p[(j + {i}) & 15];
    }}
    switch (s % 6) {{ case 0: return s; case 1: return s ^ x; case 2: return p[3]; default: return s / (x + 1); }}
}}
unsigned g{i}(unsigned x, unsigned *p) {{ return f{i}(x, p) + f{i}(x + 1, p + 1); }}
""" for i in range(functions))
