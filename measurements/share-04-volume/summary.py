"""The tables, criteria and pictures of show 4, from its rows."""

from lib import stats, svg
from lib.campaign import Criterion, Summary
from lib.table import group_by, markdown, number

CORRELATION_WANTED = 0.95
SAMPLES_WANTED = 1000
DEFAULTS = {"period": "500us", "board": 127, "watchpoints": 4}
# What each comparison sets against each other: a name, carom's column, the workload's column.
COMPARISONS = {
    "write-volume": [("all shared accesses", "volume", "count"), ("last writer, all", "last_writer", "count")],
    "read-write": [("all shared accesses", "volume", "count"), ("reads", "raw", "count_reads"),
                   ("writes", "waw", "count_writes"), ("last writer, all", "last_writer", "count")],
}


def summarise(rows):
    studies = {study: group for (study,), group in group_by(rows, "study").items()}
    volume, criteria = volume_table(studies["volume"])
    drawn = plots(studies)
    return Summary(
        body=[volume, *(f"![{title}](../../docs/pictures/{name})" for name, (title, _) in drawn.items()),
              "False-sharing with 8 threads on 2 cores, as in thesis figure 5.8:", figure_5_8(studies["figure 5.8"]),
              "Sensitivity, as in thesis 5.4.5. Volume: events of sharing per step sample, so that it does not depend on "
              "how many samples there are; from write-volume, the fraction of false sharing from false-sharing, "
              "each at 0.5.", sensitivity(studies)],
        criteria=criteria,
        pictures={name: picture for name, (_, picture) in drawn.items()})


def rate(row, column="volume"):
    """Per step sample: the share of sampled instructions that communicate."""
    return row[column] / row["step_samples"] if row["step_samples"] else 0.0


def volume_table(rows):
    table, criteria = [], []
    least = min(row["samples_per_thread"] for row in rows)
    for workload, comparisons in COMPARISONS.items():
        group = [row for row in rows if row["workload"] == workload]
        for name, measured, counted in comparisons:
            plain = stats.spearman([row[measured] for row in group], [row[counted] for row in group])
            per_sample = stats.spearman([rate(row, measured) for row in group], [row[counted] for row in group])
            table.append([workload, name, len(group), number(plain), number(per_sample),
                          number(min(row["samples_per_thread"] for row in group), 0)])
            if not name.startswith("last writer"):
                criteria.append(Criterion(f"{workload}, {name}: rank correlation at least {CORRELATION_WANTED}",
                                          number(plain), plain is not None and plain >= CORRELATION_WANTED))
    criteria.append(Criterion(f"at least {SAMPLES_WANTED} samples per thread", f"{least:.0f}", least >= SAMPLES_WANTED))
    columns = ["workload", "compared with the workload's count of", "runs", "rank correlation", "the same per sample",
               "samples per thread, least"]
    return markdown(columns, table), criteria


def figure_5_8(rows):
    table = []
    for (fraction,), group in group_by(rows, "fraction").items():
        true, false = (stats.mean(row[kind] for row in group) for kind in ("true", "false"))
        found = [row["false_fraction"] for row in group if row["false_fraction"] is not None]
        table.append([fraction, number(true, 0), number(false, 0), number(stats.mean(found) if found else None)])
    return markdown(["fraction of false sharing", "true", "false", "measured fraction"], table)


def sensitivity(studies):
    table = []
    for parameter, default in DEFAULTS.items():
        by = group_by(studies[parameter], "value", "workload")
        values = list(dict.fromkeys(value for value, _ in by))
        base = stats.mean(map(rate, by[(default if default in values else values[-1], "write-volume")]))
        for value in values:
            volumes = list(map(rate, by[(value, "write-volume")]))
            fractions = [row["false_fraction"] for row in by[(value, "false-sharing")] if row["false_fraction"] is not None]
            samples = stats.mean(row["samples"] for row in by[(value, "write-volume")])
            table.append([parameter, value, number(stats.mean(volumes) / base if base else None, 2),
                          number(stats.mean(fractions) if fractions else None), number(samples, 0)])
    return markdown(["parameter", "value", "volume relative to the default", "fraction of false sharing", "samples"], table)


def averages(rows, column, scale):
    """[(fraction, mean)]; with `scale` so that the largest is 1."""
    points = [(fraction, stats.mean(row[column] for row in group)) for (fraction,), group in group_by(rows, "fraction").items()]
    largest = max(y for _, y in points) if scale else 1
    return [(x, y / largest if largest else 0) for x, y in points]


def plots(studies):
    """{file name: (title, SVG)}."""
    drawn = {}
    for workload, axis in (("write-volume", "sharing fraction"), ("read-write", "read fraction")):
        rows = [row for row in studies["volume"] if row["workload"] == workload]
        title = f"{workload}: volume by {axis}"
        drawn[f"share-{workload}.svg"] = title, svg.plot(title, axis, "relative to the largest", {
            name: averages(rows, column, scale=True)
            for name, column in (("carom", "volume"), ("the workload's count", "count"), ("last writer", "last_writer"))})
    title = "false-sharing, 8 threads on 2 cores"
    drawn["share-false-sharing.svg"] = title, svg.plot(title, "fraction of false sharing", "events of sharing", {
        kind: averages(studies["figure 5.8"], kind, scale=False) for kind in ("false", "true")})
    return drawn
