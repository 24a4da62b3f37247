"""Threads that communicate in pairs, and how much each pair does: what the campaigns on point-to-point share."""

from . import carom, stats
from .campaign import Criterion
from .table import group_by, number

PAIRS = [(0, 1), (2, 3)]
FRACTIONS = ["1.0,0.5", "1.0,1.0", "0.9,0.3"]
# The issue's own; the others are shown beside it.
JUDGED = "1.0,0.5"
RIGHT_CELLS_WANTED, RUNS_WANTED = 0.95, 0.9
RATIO_ALLOWED = 0.15


def both_ways(cells, pair):
    a, b = pair
    return cells.get((a, b), 0) + cells.get((b, a), 0)


def ratio(part, whole):
    return part / whole if whole else None


def measure_once(fractions, run, quick, options=(), engine="burst"):
    """The profiled run, and its row."""
    shared = carom.share_workload("point-to-point", "point-to-point", [
        "--threads", 4, "--sharing-fractions", fractions, "--seconds", 2 if quick else 4, "--seed", run + 1,
        "--count-together"], options, engine)
    cells, naive = shared.cells(), shared.cells(last_writer=True)
    def counted(key):
        return {(i, j): cell for i, row in enumerate(shared.workload["measured"][key]) for j, cell in enumerate(row)}

    own, together = counted("shared_accesses"), counted("shared_accesses_together")
    # The smaller over the larger, as the workload counts them: between 0 and 1.
    small, large = sorted(PAIRS, key=lambda pair: both_ways(own, pair))
    return shared, (small, large), {
        "fractions": fractions,
        "run": run,
        "right_share": ratio(sum(both_ways(cells, pair) for pair in PAIRS), shared.volume()),
        "ratio_measured": ratio(both_ways(cells, small), both_ways(cells, large)),
        "ratio_workload": ratio(both_ways(own, small), both_ways(own, large)),
        "ratio_together": ratio(both_ways(together, small), both_ways(together, large)),
        "ratio_last_writer": ratio(both_ways(naive, small), both_ways(naive, large)),
        "volume": shared.volume(),
        "samples": shared.report["quality"]["samples"],
    }


def distance(row, column="ratio_measured"):
    """How far a ratio is from the workload's own: of what the matrix has, accesses that follow another thread's write, the
    workload knows those that were made while both threads of the pair ran. Rows from before it did have all accesses."""
    own = row["ratio_workload"] if column == "ratio_accesses" else row.get("ratio_together") or row["ratio_workload"]
    return float("inf") if row[column] is None else abs(row[column] - own)


def judged(rows):
    """The criteria, for each pair of fractions."""
    criteria = []
    for (fractions,), group in group_by(rows, "fractions").items():
        right = sum((row["right_share"] or 0) >= RIGHT_CELLS_WANTED for row in group)
        near = sum(distance(row) <= RATIO_ALLOWED for row in group)
        median = stats.median(map(distance, group))
        words = f"{near} of {len(group)} runs, median distance {median:.3f}"
        if fractions == JUDGED:
            criteria += [
                Criterion("at least 95% of the volume in the right cells in 9 of 10 runs", f"{right} of {len(group)} runs",
                          right >= RUNS_WANTED * len(group)),
                Criterion("ratio of the cells within 0.15 of the workload's own while both of a pair ran, in 9 of 10 runs", words,
                          near >= RUNS_WANTED * len(group)),
            ]
        else:
            criteria.append(Criterion(f"the same with sharing fractions {fractions}", f"{right} of {len(group)} runs; {words}",
                                      min(right, near) >= RUNS_WANTED * len(group)))
    return criteria


COLUMNS = ["fractions", "run", "volume in the right cells", "volume", "ratio measured", "ratio by the workload",
           "while both ran", "ratio by last writer"]


def cells_of(row):
    """A row of the table with these COLUMNS."""
    return [row["fractions"], row["run"], number(row["right_share"]), number(row["volume"], 0), number(row["ratio_measured"]),
            number(row["ratio_workload"]), number(row.get("ratio_together")), number(row["ratio_last_writer"])]
