"""One campaign: its options, its raw rows, its summary.

A script supplies two functions. `measure(options)` yields rows, kept in `rows.csv` as they come, with the
circumstances in `run.json`. `summarise(rows)` turns the rows of that file, and nothing else, into a Summary;
`--summary-only` runs it again on kept rows.
"""

import argparse
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

from . import machine
from .paths import PICTURES, REPOSITORY, require_release_build, scratch
from .table import RowWriter, read_rows

# What stands between these is what was found; the rest says how.
RESULT_BEGIN = "<!-- result -->"
RESULT_END = "<!-- end of result -->"

# The first columns say which run it is and how it went; the progress shows so many.
SHOWN_COLUMNS = 7


@dataclass
class Criterion:
    """Something wanted, what was measured, and whether that is enough."""

    wanted: str
    measured: str
    met: bool

    def __str__(self):
        return f"- **{'met' if self.met else 'NOT MET'}**: {self.wanted}: {self.measured}"


@dataclass
class Summary:
    """`body`: Markdown paragraphs and tables, in their order. `pictures`: {file name in docs/pictures: SVG}."""

    body: list
    criteria: list = field(default_factory=list)
    pictures: dict = field(default_factory=dict)


def main(script, title, command, measure, summarise, quick_runs=1, runs=10, arguments=None):
    """Runs a script of measurements/. `command` is what is measured, as a person would type it."""
    home = Path(script).resolve().parent
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--quick", action="store_true",
                        help="a few short runs, to see that the script works; written to a scratch folder")
    parser.add_argument("--runs", type=int, help=f"runs of each configuration [default: {runs}]")
    parser.add_argument("--out", type=Path, help="where rows.csv, run.json and summary.md go [default: beside the script]")
    parser.add_argument("--summary-only", action="store_true", help="write summary.md again from the rows that there are")
    if arguments:
        arguments(parser)
    options = parser.parse_args()
    options.runs = options.runs or (quick_runs if options.quick else runs)
    options.out = options.out or (scratch("quick") / home.name if options.quick else home)
    options.out.mkdir(parents=True, exist_ok=True)

    if not options.summary_only:
        record(options, measure)
    run = json.loads((options.out / "run.json").read_text(encoding="utf-8"))
    summary = summarise(read_rows(options.out / "rows.csv"))
    text = render(title, command, run, summary)
    (options.out / "summary.md").write_text(text, encoding="utf-8")
    pictures = options.out / "pictures" if options.quick else PICTURES
    for name, picture in summary.pictures.items():
        pictures.mkdir(parents=True, exist_ok=True)
        (pictures / name).write_text(picture, encoding="utf-8")
    print("\n".join(map(str, summary.criteria)))
    print(f"written: {options.out / 'summary.md'}")
    sys.exit(0 if all(criterion.met for criterion in summary.criteria) else 1)


def record(options, measure):
    require_release_build()
    run = machine.describe()
    if run["version"].endswith("-dirty") and not options.quick:
        sys.exit("the tree has changes that no commit has: commit them first, so that the rows say what they are about")
    # Relative to the root, as somebody else would type it there.
    run["command"] = " ".join([str(Path(sys.argv[0]).resolve().relative_to(REPOSITORY)), *sys.argv[1:]])
    (options.out / "run.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    # Before the file is begun anew: a script may keep rows of it.
    measured = measure(options)
    rows = RowWriter(options.out / "rows.csv")
    try:
        for count, row in enumerate(measured, 1):
            rows.write(row)
            shown = ", ".join(f"{key} {brief(value)}" for key, value in list(row.items())[:SHOWN_COLUMNS])
            print(f"{count}: {shown}", file=sys.stderr, flush=True)
    finally:
        rows.close()


def brief(value):
    """A cell as the progress shows it."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)[:40].replace("\n", " ")


def render(title, command, run, summary):
    circumstances = "\n".join(f"- {key}: {value}" for key, value in run.items() if key != "doctor")
    parts = [f"# {title}", f"`{command}`", RESULT_BEGIN, *summary.body,
             "\n".join(map(str, summary.criteria)), f"{run['date']}, carom {run['version']}.", RESULT_END,
             "## Circumstances", circumstances, "Output of `carom doctor`:", f"```\n{run['doctor']}\n```"]
    return "\n\n".join(part for part in parts if part) + "\n"
