"""Forward rules of the means and moments of the `statistics` module, whose data are sequences of numbers."""

import statistics

from adcompiler.rules.forward import frule
from adcompiler.rules.forward_math import inner


def deviations(data):
    """The distances from the mean."""
    center = statistics.fmean(data)
    return [value - center for value in data]


@frule(statistics.geometric_mean)
def geometric_mean(tangents, data):
    y = statistics.geometric_mean(data)
    return y, y * inner(tangents[0], [1 / value if value else 0.0 for value in data]) / len(data)


@frule(statistics.harmonic_mean)
def harmonic_mean(tangents, data):
    y = statistics.harmonic_mean(data)
    return y, y * y * inner(tangents[0], [1 / value**2 if value else 0.0 for value in data]) / len(data)


@frule(statistics.variance)
def variance(tangents, data):
    y = statistics.variance(data)
    return y, 2 * inner(tangents[0], deviations(data)) / (len(data) - 1)


@frule(statistics.pvariance)
def pvariance(tangents, data):
    y = statistics.pvariance(data)
    return y, 2 * inner(tangents[0], deviations(data)) / len(data)


@frule(statistics.stdev)
def stdev(tangents, data):
    y = statistics.stdev(data)
    return y, inner(tangents[0], deviations(data)) / (y * (len(data) - 1)) if y else 0.0


@frule(statistics.pstdev)
def pstdev(tangents, data):
    y = statistics.pstdev(data)
    return y, inner(tangents[0], deviations(data)) / (y * len(data)) if y else 0.0
