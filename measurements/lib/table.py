"""Rows as CSV files, and tables as Markdown."""

import csv


class RowWriter:
    """Writes rows (dictionaries) as they come, so that an interrupted campaign keeps what it has.

    The first row names the columns; a later row may lack some, never add one.
    """

    def __init__(self, path):
        self.file = open(path, "w", newline="", encoding="utf-8")
        self.writer = None

    def write(self, row):
        if self.writer is None:
            self.writer = csv.DictWriter(self.file, list(row), lineterminator="\n")
            self.writer.writeheader()
        self.writer.writerow({key: encode(value) for key, value in row.items()})
        self.file.flush()

    def close(self):
        self.file.close()


def read_rows(path):
    """The rows of a CSV file; cells become int, float, bool or None where they look so."""
    with open(path, newline="", encoding="utf-8") as file:
        return [{key: decode(text) for key, text in row.items()} for row in csv.DictReader(file)]


def encode(value):
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return value


def decode(text):
    if text in ("", None):
        return None
    if text in ("True", "False"):
        return text == "True"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


def markdown(columns, rows):
    """A Markdown table. Cells are strings already, see `number`."""
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def number(value, digits=3):
    """A number with so many digits after the point; a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def group_by(rows, *keys):
    """Rows by the values of some columns, in order of first appearance."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups
