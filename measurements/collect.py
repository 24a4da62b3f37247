#!/usr/bin/env python3
"""Writes the tables of docs/benchmarks.md from the summaries, between the markers that name them.

    <!-- begin TABLE -->     ... replaced ...     <!-- end TABLE -->

`--check` changes nothing and fails where the document is not up to date.
"""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from headlines import ACCURACY, COST
from lib.paths import MEASUREMENTS, REPOSITORY
from lib.table import markdown

DOCUMENT = REPOSITORY / "docs" / "benchmarks.md"
MARKERS = re.compile(r"<!-- begin (?P<name>[\w-]+) -->\n(?P<old>.*?)<!-- end (?P=name) -->", re.DOTALL)
CRITERION = re.compile(r"^- \*\*(?P<met>met|NOT MET)\*\*: (?P<text>.*)$", re.MULTILINE)
MEASURED = re.compile(r"^(?P<date>\d{4}-\d\d-\d\d) .*, carom (?P<version>[\w-]+)", re.MULTILINE)
QUESTION = re.compile(r"^\| `(?P<name>[\w-]+)` \| (?P<question>.*?) \|", re.MULTILINE)
# What tells one machine from another: not the date, the version or the load.
NOT_THE_MACHINE = {"date", "version", "command", "load average at start", "doctor", "carom"}


def summaries():
    """The text of each campaign's summary, by its folder."""
    return {path.parent.name: path.read_text(encoding="utf-8") for path in sorted(MEASUREMENTS.glob("*/summary.md"))}


def criteria(text):
    """(met, what was wanted, what was measured) of a summary."""
    for match in CRITERION.finditer(text):
        wanted, _, measured = match["text"].rpartition(": ")
        yield match["met"] == "met", wanted, measured


def link(name):
    return f"[{name}](../measurements/{name}/summary.md)"


def headline(rows):
    """A table of chosen criteria, as they were measured last."""
    texts, table = summaries(), []
    for question, name, begins, beside in rows:
        found = [(met, measured) for met, wanted, measured in criteria(texts[name]) if wanted.startswith(begins)]
        if not found:
            sys.exit(f"measurements/headlines.py: {name} has no criterion that begins with: {begins}")
        met, measured = found[0]
        table.append([question, measured if met else f"{measured} (not met)", beside, link(name)])
    return markdown(["question", "measured", "beside", "campaign"], table)


def missed():
    """Every criterion that is not met."""
    return markdown(["campaign", "wanted", "measured"],
                    [[link(name), wanted, measured] for name, text in summaries().items()
                     for met, wanted, measured in criteria(text) if not met])


def campaigns():
    """What was measured when, at which commit, and how much of what was wanted was met."""
    readme = (MEASUREMENTS / "README.md").read_text(encoding="utf-8")
    questions = {match["name"]: match["question"] for match in QUESTION.finditer(readme)}
    table = []
    for name, text in summaries().items():
        measured, results = MEASURED.search(text), [met for met, *_ in criteria(text)]
        table.append([link(name), questions.get(name, ""), f"{sum(results)} of {len(results)}", measured["date"], measured["version"]])
    return markdown(["campaign", "what it asks", "met", "measured on", "at"], table)


def machines():
    """The machines of all campaigns."""
    found = {}
    for path in sorted(MEASUREMENTS.glob("*/run.json")):
        run = json.loads(path.read_text(encoding="utf-8"))
        key = "; ".join(f"{name} {value}" for name, value in run.items() if name not in NOT_THE_MACHINE)
        found.setdefault(key, []).append(path.parent.name)
    return "\n".join(f"- {key} ({len(names)} campaigns)" for key, names in found.items())


TABLES = {"accuracy": lambda: headline(ACCURACY), "cost": lambda: headline(COST), "missed": missed, "campaigns": campaigns,
          "machines": machines}


def main():
    text = DOCUMENT.read_text(encoding="utf-8")

    def replaced(match):
        name = match["name"]
        return f"<!-- begin {name} -->\n\n{TABLES[name]()}\n\n<!-- end {name} -->"

    new = MARKERS.sub(replaced, text)
    if "--check" in sys.argv[1:]:
        sys.exit(0 if new == text else f"{DOCUMENT.name} is not up to date: run measurements/collect.py")
    DOCUMENT.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
