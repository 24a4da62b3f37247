"""Pearson's chi-square test of equal frequencies."""

import math


def statistic(counts):
    """The sum of squared deviations from equal frequencies, each over what was expected; 0 of nothing."""
    expected = sum(counts) / len(counts)
    return sum((count - expected) ** 2 / expected for count in counts) if expected else 0.0


def p_value(chi_square, freedom):
    """How often chance alone gives as much or more: the upper regularised incomplete gamma function
    Q(freedom / 2, chi_square / 2), by its series below the mean and by its continued fraction above
    (Abramowitz and Stegun 6.5.29, 6.5.31)."""
    a, x = freedom / 2, chi_square / 2
    if freedom == 0 or x <= 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        n = 0
        while term > total * 1e-15:
            n += 1
            term *= x / (a + n)
            total += term
        return 1 - scale * total
    # Evaluated from its far end: 500 levels are many more than x near a + 1 needs.
    fraction = 0.0
    for n in range(500, 0, -1):
        fraction = n * (n - a) / (x + 2 * n + 1 - a - fraction)
    return scale / (x + 1 - a - fraction)
