#!/usr/bin/env python3
"""Sums what the comments of the assembly say, and writes counts.json.

Every line with an instruction is one instruction, and its comment says what else it counts as:

    load 8          a load of 8 bytes; `load 4 x3`: three of them
    store 8         likewise
    branch          a jump of any kind, conditional or not, taken or not
    taken           ... and it is taken; `taken but last`: each time but the last before its section is left
    call, return    these are branches too, and taken
    atomic          a lock prefix, or an exchange with memory
    system call
    faults          it is not executed, but raises a signal: no instruction

Lines `//@ once`, `//@ once x3`, `//@ each`, `//@ each x10` and `//@ never` say how often what follows them runs: once,
three times, in each iteration, ten times in each iteration, not at all. `//@ needs FLAG` names a flag of /proc/cpuinfo.

The counts of a thread are once + iterations * each. `tally.py --check` changes nothing and fails where the file is
not up to date.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
EVENTS = ["instructions", "loads", "stores", "loaded_bytes", "stored_bytes", "branches", "branches_taken", "calls", "returns",
          "atomics", "system_calls"]
WORDS = {"branch": ["branches"], "taken": ["branches_taken"], "call": ["calls", "branches", "branches_taken"],
         "return": ["returns", "branches", "branches_taken"], "atomic": ["atomics"], "system call": ["system_calls"]}
ACCESS = re.compile(r"(load|store) (\d+)(?: x(\d+))?")
SECTION = re.compile(r"//@ (once|each|never)(?: x(\d+))?")
LABEL = re.compile(r"^\w+:\s*")


def tally(text):
    needs, sums = [], {"once": Counter(), "each": Counter()}
    section, times = None, 1
    for line in text.splitlines():
        if line.startswith("//@ needs "):
            needs.append(line.split()[2])
        elif found := SECTION.fullmatch(line):
            section, times = found[1], int(found[2] or 1)
        elif section in sums and is_instruction(line):
            count(sums, section, times, line.partition("//")[2])
    return {"needs": needs, **{name: {event: sums[name][event] for event in EVENTS} for name in sums}}


def is_instruction(line):
    code = LABEL.sub("", line.partition("//")[0].strip())
    return bool(code) and not code.startswith((".", "#")) and not LABEL.match(code + " ")


def count(sums, section, times, comment):
    words = [word.strip() for word in comment.split(",") if word.strip()]
    if words == ["faults"]:
        return
    sums[section]["instructions"] += times
    for word in words:
        if access := ACCESS.fullmatch(word):
            number = times * int(access[3] or 1)
            sums[section][f"{access[1]}s"] += number
            sums[section]["loaded_bytes" if access[1] == "load" else "stored_bytes"] += number * int(access[2])
        elif word == "taken but last":
            sums[section]["branches_taken"] += times
            # Left once in each iteration, or once in all.
            sums["each" if times > 1 else "once"]["branches_taken"] -= 1
        else:
            for event in WORDS[word]:
                sums[section][event] += times


def main():
    table = {path.stem: tally(path.read_text(encoding="utf-8")) for path in sorted(HERE.glob("*.S"))}
    lines = [f' "{name}": {{\n' + ",\n".join(f'  "{key}": {json.dumps(value)}' for key, value in entry.items()) + "}"
             for name, entry in table.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    path = HERE / "counts.json"
    if "--check" in sys.argv[1:]:
        sys.exit(0 if path.exists() and path.read_text(encoding="utf-8") == text else f"run {Path(__file__).name}")
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
