"""The few statistics that the summaries need."""

import math
from statistics import mean, median

__all__ = ["geometric_mean", "mean", "median", "quantile", "ranks", "spearman"]


def geometric_mean(values):
    """The n-th root of the product; all values positive."""
    return math.exp(mean(math.log(value) for value in values))


def quantile(values, fraction):
    """Linear interpolation between order statistics (Hyndman and Fan 1996, type 7)."""
    ordered = sorted(values)
    at = fraction * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])


def ranks(values):
    """Ranks from 1; ties share the mean of theirs."""
    order = sorted(range(len(values)), key=lambda index: values[index])
    result = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in range(start, end + 1):
            result[order[place]] = (start + end) / 2 + 1
        start = end + 1
    return result


def spearman(xs, ys):
    """Spearman's rank correlation: Pearson's of the ranks. None where one side does not vary."""
    rx, ry = ranks(xs), ranks(ys)
    mx, my = mean(rx), mean(ry)
    cov = sum((x - mx) * (y - my) for x, y in zip(rx, ry))
    spread = math.sqrt(sum((x - mx) ** 2 for x in rx) * sum((y - my) ** 2 for y in ry))
    return cov / spread if spread else None
