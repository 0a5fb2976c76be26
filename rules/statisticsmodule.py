"""Rules for the `statistics` module, whose own source computes with exact fractions; loaded when that module is."""

import statistics

from adcompiler.rules import forward_statistics as forward_statistics
from adcompiler.rules.registry import refused, rrule
from adcompiler.runtime.facts import is_static
from adcompiler.runtime.sequences import deviations, entry_shapes, inverse_powers, multiples, spread

# Means


@rrule(statistics.mean, kind="scalar_real", linear=("data",))
def mean(data):
    shapes = entry_shapes(data)
    y = statistics.mean(data)

    def pullback(y_bar):
        return (spread(y_bar / len(data), shapes),)

    return y, pullback


@rrule(statistics.fmean, kind="scalar_real", linear=("data",))
def fmean(data, weights=None):
    shapes = entry_shapes(data)
    y = statistics.fmean(data) if weights is None else statistics.fmean(data, weights)

    def pullback(y_bar):
        if weights is None:
            data_bar = spread(y_bar / len(data), shapes)
            weights_bar = None
        elif is_static(weights):
            data_bar = multiples(y_bar / sum(weights), weights, data)
            weights_bar = None
        else:
            data_bar = multiples(y_bar / sum(weights), weights, data)
            weights_bar = deviations(y_bar / sum(weights), data, y, weights)
        return data_bar, weights_bar

    return y, pullback


@rrule(statistics.geometric_mean, kind="scalar_real")
def geometric_mean(data):
    y = statistics.geometric_mean(data)

    def pullback(y_bar):
        return (inverse_powers(y_bar * y / len(data), data, 1),)

    return y, pullback


@rrule(statistics.harmonic_mean, kind="scalar_real")
def harmonic_mean(data):
    y = statistics.harmonic_mean(data)

    def pullback(y_bar):
        return (inverse_powers(y_bar * y * y / len(data), data, 2),)

    return y, pullback


# Moments about the mean


@rrule(statistics.variance, kind="scalar_real")
def variance(data):
    y = statistics.variance(data)

    def pullback(y_bar):
        return (deviations(2 * y_bar / (len(data) - 1), data, statistics.fmean(data), data),)

    return y, pullback


@rrule(statistics.pvariance, kind="scalar_real")
def pvariance(data):
    y = statistics.pvariance(data)

    def pullback(y_bar):
        return (deviations(2 * y_bar / len(data), data, statistics.fmean(data), data),)

    return y, pullback


@rrule(statistics.stdev, kind="scalar_real")
def stdev(data):
    y = statistics.stdev(data)

    def pullback(y_bar):
        factor = y_bar / (y * (len(data) - 1)) if y else 0.0
        return (deviations(factor, data, statistics.fmean(data), data),)

    return y, pullback


@rrule(statistics.pstdev, kind="scalar_real")
def pstdev(data):
    y = statistics.pstdev(data)

    def pullback(y_bar):
        factor = y_bar / (y * len(data)) if y else 0.0
        return (deviations(factor, data, statistics.fmean(data), data),)

    return y, pullback


# Functions of two sequences

refused(
    statistics.covariance,
    statistics.correlation,
    statistics.linear_regression,
    why="It takes its data by iterators, which are not followed.\nUse arrays: np.cov, np.corrcoef, np.linalg.lstsq.",
)
