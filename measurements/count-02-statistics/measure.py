#!/usr/bin/env python3
"""Our statistics on random data, against SciPy's and statsmodels', and against R's.

The data sets are drawn anew, with a seed of the day; fixtures/statistics has what the tests compare with. Neither is among what
scripts/setup installs: python3 -m venv v && v/bin/pip install scipy statsmodels, and CAROM_SCIPY=v/bin/python; apt-get install
r-base-core r-cran-jsonlite.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import campaign
from lib.campaign import Criterion, Summary
from lib.paths import REPOSITORY
from lib.table import group_by, markdown

HERE = Path(__file__).resolve().parent
SCIPY, R = "SciPy", "R"
RELATIVE = 1e-9
FAMILIES = [1, 2, 5, 11, 20, 40, 100]


def use_scipy():
    """Goes on with the Python that has SciPy."""
    if importlib.util.find_spec("scipy") and importlib.util.find_spec("statsmodels"):
        return
    python = os.environ.get("CAROM_SCIPY")
    if not python:
        print(f"left out: this Python has no SciPy and statsmodels, and CAROM_SCIPY names none; {__file__} says how to get them")
        sys.exit(0)
    os.environ.pop("CAROM_SCIPY")
    os.execv(python, [python, *sys.argv])


def measure(options):
    sys.path.insert(0, str(REPOSITORY / "fixtures" / "statistics"))
    import numpy
    import make_comparisons
    import make_fits
    seed = int(options.seed)
    make_comparisons.rng, make_fits.rng = (numpy.random.default_rng([seed, which]) for which in (1, 2))
    sets = make_comparisons.pairs(options.runs)
    all_p = [each["welch"] for each in sets]
    families = [make_comparisons.family(all_p[:size]) for size in FAMILIES if size <= len(all_p)]
    points = [make_fits.points(number) for number in range(options.runs)]
    data = ([{key: each[key] for key in ("before", "after")} for each in sets]
            + [{"p": each["p"]} for each in families]
            + [{key: each[key] for key in ("x", "y", "at")} for each in points])
    answers = ours(data)
    for each, answer in zip(sets, answers):
        for statistic in ("t", "degrees", "welch", "u", "mann_whitney", "ratio", "hedges"):
            yield row(SCIPY, statistic, each[statistic], answer[statistic])
    for each, answer in zip(families, answers[len(sets):]):
        for statistic in ("holm", "benjamini_hochberg"):
            yield row(SCIPY, statistic, each[statistic], answer[statistic])
    for each, answer in zip(points, answers[len(sets) + len(families):]):
        for known in each["fits"]:
            found = answer[known["model"]]
            polished = polish(known["model"], each, known)
            for statistic in ("coefficients", "r_squared", "p", "interval"):
                yield row(SCIPY, f"fit {statistic}", polished[statistic], found[statistic], known["model"])
    yield from against_r(data, answers)


def against_r(data, answers):
    """Rows of all that R says of the same data."""
    if not shutil.which("Rscript"):
        print("R is left out: there is no Rscript", file=sys.stderr)
        return
    for each, reference, found in zip(data, answered(["Rscript", HERE / "reference.R"], data), answers):
        for key, known in reference.items():
            if isinstance(known, dict):
                polished = polish(key, each, known)
                for statistic in known:
                    yield row(R, f"fit {statistic}", polished[statistic], found[key][statistic], key)
            else:
                yield row(R, key, known, found[key])


def polish(model, each, known):
    """SciPy's and R's searches for the least squares of a curve end some 8 digits before the minimum: Gauss and Newton's steps in extended
    precision go on from there, and what follows from the coefficients is computed anew."""
    if model not in ("power", "exponential"):
        return known
    import numpy
    from scipy import stats
    x, y = (numpy.array(each[key], dtype=numpy.longdouble) for key in ("x", "y"))
    at = numpy.longdouble(each["at"])
    a, b = (numpy.longdouble(value) for value in known["coefficients"])
    curve = (lambda x, b: x**b) if model == "power" else (lambda x, b: numpy.exp(b * x))
    slope = numpy.log if model == "power" else (lambda x: x)
    gradient = lambda x: numpy.array([curve(x, b), a * slope(x) * curve(x, b)])
    invert = lambda m: numpy.array([[m[1, 1], -m[0, 1]], [-m[1, 0], m[0, 0]]]) / (m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0])
    for _ in range(30):
        g = gradient(x)
        step = invert(g @ g.T) @ (g @ (y - a * curve(x, b)))
        a, b = a + step[0], b + step[1]
    n, g = len(x), gradient(x)
    rss, tss = ((y - a * curve(x, b)) ** 2).sum(), ((y - y.mean()) ** 2).sum()
    there = gradient(at)
    half = stats.t.ppf(0.975, n - 2) * numpy.sqrt(rss / (n - 2) * (1 + there @ invert(g @ g.T) @ there))
    value = a * curve(at, b)
    return {"coefficients": [float(a), float(b)], "r_squared": float(1 - rss / tss),
            "p": float(stats.f.sf(float((tss - rss) / (rss / (n - 2))), 1, n - 2)),
            "interval": [float(value - half), float(value + half)]}


def ours(data):
    """What the crate says of each."""
    return answered(["cargo", "run", "--release", "--quiet", "-p", "carom-study-stats", "--example", "statistics"], data)


def answered(command, data):
    """A line of JSON in, a line of JSON out."""
    lines = "".join(json.dumps(each) + "\n" for each in data)
    done = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True, input=lines)
    return [json.loads(line) for line in done.stdout.splitlines()]


def row(by, statistic, reference, found, model=""):
    reference, found = (value if isinstance(value, list) else [value] for value in (reference, found))
    if reference == [None] or found == [None]:
        off = 0.0 if reference == found else float("inf")
    else:
        # Two ends of an interval, or two coefficients, are of one size.
        size = max(abs(value) for value in reference)
        off = max(abs(a - b) for a, b in zip(found, reference)) / size if size > 0 else max(map(abs, found))
    return {"by": by, "statistic": statistic, "model": model, "off": off, "reference": " ".join(map(str, reference)),
            "found": " ".join(map(str, found))}


def summarise(rows):
    table = []
    for (by, statistic), group in group_by(rows, "by", "statistic").items():
        off = [float(row["off"]) for row in group]
        table.append([by, statistic, len(off), f"{max(off):.1e}", sum(value > RELATIVE for value in off)])
    worst = max(float(row["off"]) for row in rows)
    explained = "The largest relative difference of each statistic; of several numbers, relative to the largest. Fits of curves: \
theirs, polished in extended precision. R's exact test of ranks knows no ties; it has neither the interval of a ratio nor Hedges' measure, nor \
intervals for curves."
    return Summary(body=[markdown(["by", "statistic", "values", "largest difference", f"above {RELATIVE:g}"], table), explained],
                   criteria=[Criterion(f"all differences at most {RELATIVE:g}", f"{worst:.1e}", worst <= RELATIVE)])


def arguments(parser):
    parser.add_argument("--seed", default="20261125", help="a number from which the data are drawn")


if __name__ == "__main__":
    use_scipy()
    campaign.main(__file__, "1. Statistics against SciPy and R", "carom count --vs", measure, summarise, quick_runs=50, runs=500,
                  arguments=arguments)
