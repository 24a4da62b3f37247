#!/usr/bin/env python3
"""Whether translated programs gain from a second thread what they gain natively."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom, inputs, stats
from lib.campaign import Criterion, Summary
from lib.paths import REPOSITORY, WORKLOADS, compile_c
from lib.programs import Program
from lib.table import group_by, markdown, number

SIDES = {
    "count": ("count", []),
    "share": ("share", []),
}
WITHIN = 0.10


def programs(quick):
    """Each with one thread and with two."""
    part = 10 if quick else 1
    stencil = compile_c(REPOSITORY / "programs" / "targets" / "stencil.c", "stencil", "-fopenmp")
    text = inputs.text(max(1, 48 // part))

    def stencil_with(threads):
        return Program("stencil (OpenMP)", [stencil, 1024, 2400 // part], env={"OMP_NUM_THREADS": str(threads)})

    def table_with(threads, *options):
        name = " ".join(["hash-table", *(option.removeprefix("--") for option in options)])
        return Program(name, [WORKLOADS, "hash-table", "--threads", threads, "--iterations", 24_000_000 // part // threads, *options])

    return [[Program("pigz", ["/usr/bin/pigz", f"-p{threads}", "-n", "-c", text]) for threads in (1, 2)],
            [Program("zstd", ["/usr/bin/zstd", "-q", "-f", f"-T{threads}", "-9", text, "-o", "out.zst"]) for threads in (1, 2)],
            [Program("lbzip2", ["/usr/bin/lbzip2", f"-n{threads}", "-k", "-c", text]) for threads in (1, 2)],
            [stencil_with(threads) for threads in (1, 2)],
            [table_with(threads, "--padded") for threads in (1, 2)],
            [table_with(threads) for threads in (1, 2)]]


def measure(options):
    for pair in programs(options.quick):
        pair[0].run([])
        for turn in range(options.runs):
            row = {"program": pair[0].name, "turn": turn}
            for threads, program in enumerate(pair, 1):
                for side in ["native", *SIDES]:
                    command, arguments = SIDES.get(side, ("", []))
                    used, _ = program.run(carom.prefix("scaling", arguments, command=command) if command else [])
                    row |= {f"{side}_{threads}_wall_s": used.wall_s, f"{side}_{threads}_status": used.status}
            yield row


def summarise(rows):
    table, off = [], {side: {} for side in SIDES}
    for (name,), group in group_by(rows, "program").items():
        gains = {side: stats.median(row[f"{side}_1_wall_s"] / row[f"{side}_2_wall_s"] for row in group)
                 for side in ("native", *SIDES)}
        for side in SIDES:
            off[side][name] = abs(gains[side] / gains["native"] - 1)
        table.append([name, *(number(gain, 2) for gain in gains.values())])
    criteria = [Criterion(f"{side}: the gain is within {WITHIN:.0%} of the native one", f"{max(by.values()):.0%} off at most",
                          max(by.values()) <= WITHIN) for side, by in off.items()]
    return Summary(body=["How many times faster two threads are than one, medians:",
                         markdown(["program", "native", *SIDES], table)], criteria=criteria)


if __name__ == "__main__":
    campaign.main(__file__, "10. Two threads", "carom count -q -- pigz -p2", measure, summarise, runs=7)
