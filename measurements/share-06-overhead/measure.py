#!/usr/bin/env python3
"""Show 6: what carom costs programs that people run, in time and in memory, at its default budget."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign, carom, stats
from lib.campaign import Criterion, Summary
from lib.programs import add_only, selected
from lib.table import group_by, markdown, number

TIME_MEAN_ALLOWED, TIME_WORST_ALLOWED = 1.08, 1.2
MEMORY_MEAN_ALLOWED, MEMORY_WORST_ALLOWED = 1.10, 1.27
# Where a program is small, a fixed amount counts instead of a ratio.
MEMORY_ALWAYS_ALLOWED_MIB = 64


def measure(options):
    for program in selected(options):
        # Once unmeasured: the input and the program are in the page cache for everybody.
        program.run([])
        for pair in range(options.runs):
            # A B, then B A: neither side is always the second, and slow drifts cancel.
            sides = ["native", "carom"] if pair % 2 == 0 else ["carom", "native"]
            used = {}
            for side in sides:
                prefix = [] if side == "native" else carom.prefix("overhead", ["--engine", "burst"])
                used[side], _ = program.run(prefix)
            yield {"program": program.name, "in_development": program.in_development, "pair": pair, "first": sides[0],
                   **used["native"].row("native"), **used["carom"].row("carom")}


def ratios(rows, column):
    """With carom over native, pair by pair."""
    return [row[f"carom_{column}"] / row[f"native_{column}"] for row in rows]


def middle(rows, column):
    return stats.median(row[column] for row in rows)


def pairs_of(groups):
    """\"11\", or \"11 (redis-server: 42)\" where a program that varies from run to run was measured more often."""
    numbers = {name: len(group) for (name,), group in groups.items()}
    least = min(numbers.values())
    more = ", ".join(f"{name}: {number}" for name, number in numbers.items() if number > least)
    return f"{least} ({more})" if more else f"{least}"


def summarise(rows):
    groups = group_by(rows, "program")
    table, walls, programs, cpus, memories, memory_met = [], [], [], [], [], True
    for (name,), group in groups.items():
        wall, cpu = ratios(group, "wall_s"), ratios(group, "program_cpu_s")
        native, profiled = middle(group, "native_program_mib"), middle(group, "carom_program_mib")
        walls.append(stats.median(wall))
        programs.append(stats.median(ratios(group, "program_wall_s")))
        cpus.append(stats.median(cpu))
        memories.append(profiled / native)
        memory_met &= profiled / native <= MEMORY_WORST_ALLOWED or profiled - native <= MEMORY_ALWAYS_ALLOWED_MIB
        table.append([
            name + ("" if group[0]["in_development"] else " (new)"), number(middle(group, "native_wall_s"), 2),
            number(middle(group, "carom_wall_s"), 2), number(walls[-1]),
            f"{min(wall):.2f} to {max(wall):.2f} ({stats.quantile(wall, 0.25):.2f}, {stats.quantile(wall, 0.75):.2f})",
            number(programs[-1]), number(cpus[-1]), number(native, 0), number(profiled, 0), number(memories[-1], 2),
            number(middle(group, "carom_host_mib"), 0),
        ])
    failed = [row for row in rows for side in ("native", "carom") if row[f"{side}_status"] != 0]
    mean, worst, memory = stats.geometric_mean(walls), max(walls), stats.mean(memories)
    columns = ["program", "native s", "with carom s", "ratio", "its spread (quartiles)", "ratio without carom's host",
               "ratio of CPU time", "native MiB", "with carom MiB", "ratio", "carom's host MiB"]
    explained = (
        f"Ratios are medians over {pairs_of(groups)} interleaved pairs. *ratio*: the whole command, from its "
        "start to the end of carom, report included. *without carom's host*: the program's own run time. CPU time and MiB "
        "are the program's with the agent inside; MiB is the peak resident set of its largest process. carom's host is a "
        "process of its own. *(new)*: not run under carom during its development.")
    return Summary(
        body=[markdown(columns, table), explained,
              f"Geometric means: time {mean:.3f}, without carom's host {stats.geometric_mean(programs):.3f}, "
              f"CPU time {stats.geometric_mean(cpus):.3f}, memory {stats.geometric_mean(memories):.3f}."],
        criteria=[
            Criterion(f"geometric mean of time at most {TIME_MEAN_ALLOWED}", number(mean), mean <= TIME_MEAN_ALLOWED),
            Criterion(f"worst time at most {TIME_WORST_ALLOWED}", number(worst), worst <= TIME_WORST_ALLOWED),
            Criterion(f"mean of peak memory at most {MEMORY_MEAN_ALLOWED}", number(memory), memory <= MEMORY_MEAN_ALLOWED),
            Criterion(f"worst peak memory at most {MEMORY_WORST_ALLOWED} or {MEMORY_ALWAYS_ALLOWED_MIB} MiB over native",
                      f"the largest ratio is {max(memories):.2f}", memory_met),
            Criterion("every run succeeded", f"{len(failed)} failed", not failed),
        ])


if __name__ == "__main__":
    campaign.main(__file__, "6. Overhead", "carom share -q --engine burst -- PROGRAM", measure, summarise, runs=11, arguments=add_only)
