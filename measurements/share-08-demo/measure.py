#!/usr/bin/env python3
"""Show 8: `make demo` on a clean checkout, and its HTML report in headless Chromium."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom
from lib.campaign import Criterion, Summary
from lib.paths import REPOSITORY, SCRATCH, compile_c
from lib.table import markdown

# The bundled example's culprit, as the printed report has to name it.
CULPRIT = ["stats", "hits", "misses", "false sharing"]
# Blink's numbers for `prefers-color-scheme`.
SCHEMES = {"light": 1, "dark": 0}
WINDOW = "1280,1600"
# For scripts of the page to finish before the picture is taken.
SETTLE_MS = 3000
# Chromium logs what goes to the console as [...:INFO:CONSOLE:1] or CONSOLE(1), errors and uncaught exceptions
# included, so that anything at all counts as an error.
CONSOLE = re.compile(r":CONSOLE[:(]\d+[)\]]")
# A page that must fail: the check has to be able to see an error.
CONTROL = "<!doctype html><title>control</title><script>nothing.here()</script>"


def measure(options):
    begin = time.monotonic()
    status, printed, page = run_here() if options.quick else make_demo()
    yield {"step": "make demo", "seconds": time.monotonic() - begin, "ok": status == 0, "detail": f"exit status {status}",
           "text": printed_report(printed)}
    missing = [word for word in CULPRIT if word not in printed]
    yield {"step": "finding printed", "seconds": None, "ok": not missing,
           "detail": f"missing: {', '.join(missing)}" if missing else "names " + ", ".join(CULPRIT), "text": None}
    control = SCRATCH / "control.html"
    control.write_text(CONTROL, encoding="utf-8")
    seen = screenshot(control, "light")
    yield {"step": "control: a failing page is seen", **seen, "ok": not seen["ok"], "text": None}
    for scheme in SCHEMES:
        yield {"step": f"Chromium, {scheme}", **screenshot(page, scheme)}


def make_demo():
    """In a fresh clone, without anything that this shell set up for building. Returns status, output, page."""
    checkout = SCRATCH / "checkout"
    shutil.rmtree(checkout, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", REPOSITORY, checkout], check=True)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("CARGO_TARGET", "CAROM_"))}
    made = subprocess.run(["make", "demo"], cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    return made.returncode, made.stdout + made.stderr, checkout / "target" / "demo" / "demo.html"


def run_here():
    """What `make demo` does, with what is built already."""
    counters = compile_c(REPOSITORY / "programs" / "targets" / "counters.c", "counters", "-pthread")
    page = SCRATCH / "demo.html"
    done = subprocess.run([*carom.prefix("demo", ["--html", page], quiet=False), counters], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr, page


def printed_report(printed):
    """The report alone, without the build's messages: from carom's verdict on."""
    match = re.search(r"^[^\n]*cache lines? takes?.*", printed, re.MULTILINE | re.DOTALL)
    return printed[match.start():][:4000] if match else None


def screenshot(page, scheme):
    """Opens the page in headless Chromium; a picture goes to the scratch folder, to be looked at."""
    if not page.exists():
        return {"seconds": None, "ok": False, "detail": "no page", "text": None}
    picture = SCRATCH / f"demo-{scheme}.png"
    picture.unlink(missing_ok=True)
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
               f"--window-size={WINDOW}", f"--virtual-time-budget={SETTLE_MS}",
               f"--user-data-dir={SCRATCH / 'chromium'}", f"--screenshot={picture}"]
    command.append(f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}")
    begin = time.monotonic()
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=False)
    console = [line for line in done.stderr.splitlines() if CONSOLE.search(line)]
    drawn = picture.exists()
    return {"seconds": time.monotonic() - begin, "ok": drawn and not console,
            "detail": f"{len(console)} lines on the console; {picture if drawn else 'no picture'}",
            "text": "\n".join(console) or None}


def summarise(rows):
    table = [[row["step"], "yes" if row["ok"] else "no", row["detail"]] for row in rows]
    report = next((row["text"] for row in rows if row["step"] == "make demo"), None)
    console = "\n".join(str(row["text"]) for row in rows if row["step"].startswith("Chromium") and row["text"])
    body = [markdown(["step", "ok", "detail"], table)]
    if report:
        body += ["Printed:", f"```\n{report.strip()}\n```"]
    if console:
        body += ["On the console:", f"```\n{console}\n```"]
    return Summary(body=body, criteria=[
        Criterion("prints the finding, and the page opens with no console error, light and dark",
                  "all steps" if all(row["ok"] for row in rows) else "see the table", all(row["ok"] for row in rows))])


if __name__ == "__main__":
    campaign.main(__file__, "8. The demonstration", "make demo", measure, summarise, runs=1)
