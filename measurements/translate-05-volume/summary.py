"""The tables, criteria and pictures of show 5, from its rows."""

from lib import stats, svg
from lib.campaign import Criterion, Summary
from lib.table import group_by, markdown, number

CORRELATION_WANTED = 0.98
ERROR_WANTED = 0.2
# A swap is a read-modify-write: a load and a store.
ACCESSES_OF_A_SWAP = 2
MILLION = 1e6
# Below this part of a processor for a thread, something else ran there, and the threads often did not run at once: what
# their line does then depends on the scheduler.
UNDISTURBED = 0.95


def summarise(rows):
    pictures, table, criteria = {}, [], []
    for (workload,), group in group_by(rows, "workload").items():
        criteria += judged(workload, group)
        pictures |= plots(workload, group)
        table += [cells(workload, fraction, of) for (fraction,), of in group_by(group, "fraction").items()]
    columns = ["workload", "sharing fraction", "samples, least", "processor time of a thread, least", "shared accesses", "estimated", "of them, between threads",
               "changes of owner", "modelled transfers", "error, least to most", "accesses to a change"]
    return Summary(
        body=["Millions a second, means of the runs. *Shared accesses*: the workload's own count of swaps, each a load and a "
              "store. *Estimated*: carom's accesses to contended lines. *Between threads*: ComDetective's volume, the "
              "accesses that follow another thread's write among the samples. The criteria are judged in undisturbed runs, those in "
              f"which both threads had {100 * UNDISTURBED:.0f}% of a processor.", markdown(columns, table),
              "A swap does not move the line each time: a core keeps a contended line for several swaps, the more readily "
              "the more often it comes back to it. So changes of owner are not proportional to shared accesses (last "
              "column), and no multiple of a count of accesses estimates them.",
              *(f"![{title}](../../docs/pictures/{name})" for name, (title, _) in pictures.items())],
        criteria=criteria,
        pictures={name: picture for name, (_, picture) in pictures.items()})


def judged(workload, rows):
    rows = [row for row in rows if row["cpu_share"] >= UNDISTURBED]
    counted = [row["count_accesses"] for row in rows]
    for name, column in (("volume", "volume"), ("accesses to contended lines", "contended")):
        found = stats.spearman([row[column] for row in rows], counted) if rows else None
        yield Criterion(f"{workload}, {name}: rank correlation with shared accesses at least {CORRELATION_WANTED}",
                        f"{number(found)} in {len(rows)} undisturbed runs", found is not None and found >= CORRELATION_WANTED)
    errors = [abs(error) for error in map(transfer_error, rows) if error is not None]
    close = sum(error <= ERROR_WANTED for error in errors)
    found = (f"{close} of {len(errors)} undisturbed runs; median error {percent(stats.median(errors))}, "
             f"worst {percent(max(errors))}") if errors else "no undisturbed run"
    yield Criterion(f"{workload}, modelled transfers: within {100 * ERROR_WANTED:.0f}% of the changes of owner", found,
                    bool(errors) and close == len(errors))


def transfer_error(row):
    """Relative; None where the owner did not change."""
    return row["transfers"] / row["count_changes"] - 1 if row["count_changes"] else None


def cells(workload, fraction, rows):
    def rate(column, times=1):
        return times * stats.mean(row[column] / row["wall_s"] for row in rows) / MILLION

    errors = [error for error in map(transfer_error, rows) if error is not None]
    swaps, changes = rate("count_accesses"), rate("count_changes")
    return [workload, fraction, min(row["samples"] for row in rows), percent(min(row["cpu_share"] for row in rows)), number(ACCESSES_OF_A_SWAP * swaps, 1),
            number(rate("contended"), 1), number(rate("volume"), 1), number(changes, 2), number(rate("transfers"), 2),
            f"{signed(min(errors))} to {signed(max(errors))}" if errors else "-", number(swaps / changes if changes else None, 1)]


def percent(value):
    return f"{100 * value:.0f}%"


def signed(value):
    return f"{100 * value:+.0f}%"


def plots(workload, rows):
    """{file name: (title, SVG)}: as the thesis's figures 5.3 to 5.6, two for each workload."""
    def line(column, times=1):
        return [(fraction, times * stats.mean(row[column] / row["wall_s"] for row in group) / MILLION)
                for (fraction,), group in group_by(rows, "fraction").items()]

    drawn = {
        "accesses": {"shared accesses, counted": line("count_accesses", ACCESSES_OF_A_SWAP),
                     "estimated": line("contended"), "between threads (ComDetective)": line("volume")},
        "transfers": {"changes of owner, counted": line("count_changes"), "transfers, modelled": line("transfers")},
    }
    titles = {what: f"{workload}: {what} by sharing fraction" for what in drawn}
    return {f"translate-{workload}-{what}.svg": (titles[what], svg.plot(titles[what], "sharing fraction", "millions a second", series))
            for what, series in drawn.items()}
