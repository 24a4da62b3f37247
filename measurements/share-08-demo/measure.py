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
from lib import campaign
from lib.campaign import Criterion, Summary
from lib.paths import REPOSITORY, SCRATCH
from lib.table import markdown

# The bundled example's culprit, as the printed report has to name it.
CULPRIT = ["stats", "hits", "misses", "false sharing"]
WINDOW = "1280,1600"
# For scripts of the page to finish before the picture is taken.
SETTLE_MS = 3000
# What Chromium calls an error, in its log: [..:ERROR:CONSOLE(1)], and its severity 3 and up in newer ones.
CONSOLE = re.compile(r":CONSOLE[:(]\d+[)\]]")
CONSOLE_ERROR = re.compile(r"ERROR:CONSOLE|Uncaught|Refused to|Failed to load|net::ERR")


def measure(options):
    checkout = SCRATCH / "checkout"
    shutil.rmtree(checkout, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", REPOSITORY, checkout], check=True)
    # Nothing of this shell's build may help; a --quick run borrows its target folder, to save minutes.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("CARGO_TARGET", "CAROM_"))}
    if options.quick:
        environment["CARGO_TARGET_DIR"] = str(SCRATCH / "quick-target")
    begin = time.monotonic()
    made = subprocess.run(["make", "demo"], cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    printed = made.stdout + made.stderr
    page = next(Path(environment.get("CARGO_TARGET_DIR", checkout / "target")).glob("demo/demo.html"), None)
    report = printed[printed.rfind("counters\n"):]
    yield {"step": "make demo", "seconds": time.monotonic() - begin, "ok": made.returncode == 0,
           "detail": f"exit status {made.returncode}", "text": printed_report(printed) or report[-2000:]}
    missing = [word for word in CULPRIT if word not in printed]
    yield {"step": "finding printed", "seconds": None, "ok": not missing,
           "detail": f"missing: {', '.join(missing)}" if missing else "names " + ", ".join(CULPRIT), "text": None}
    for scheme in ("light", "dark"):
        yield {"step": f"Chromium, {scheme}", **screenshot(page, scheme)}


def printed_report(printed):
    """The report alone, without the build's messages: from carom's verdict on."""
    match = re.search(r"^.*cache lines? takes?.*", printed, re.MULTILINE | re.DOTALL)
    return printed[match.start():][:4000] if match else None


def screenshot(page, scheme):
    """Opens the page in headless Chromium; a picture goes to the scratch folder, to be looked at."""
    if page is None:
        return {"seconds": None, "ok": False, "detail": "no page", "text": None}
    picture = SCRATCH / f"demo-{scheme}.png"
    picture.unlink(missing_ok=True)
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
               f"--window-size={WINDOW}", f"--virtual-time-budget={SETTLE_MS}",
               f"--user-data-dir={SCRATCH / 'chromium'}", f"--screenshot={picture}"]
    if scheme == "dark":
        command.append("--blink-settings=preferredColorScheme=0")
    else:
        command.append("--blink-settings=preferredColorScheme=1")
    begin = time.monotonic()
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=False)
    console = [line for line in done.stderr.splitlines() if CONSOLE.search(line)]
    errors = [line for line in console if CONSOLE_ERROR.search(line)]
    drawn = picture.exists()
    return {"seconds": time.monotonic() - begin, "ok": drawn and not errors,
            "detail": f"{len(console)} lines on the console, {len(errors)} errors; "
                      f"{picture if drawn else 'no picture'}",
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
