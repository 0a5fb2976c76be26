"""Rules for sums of weights by place, and why histograms have none."""

import numpy as np

from adcompiler.rules.registry import refused, rrule


@rrule(np.bincount, result="fresh", kind="array1", linear=("weights",))
def bincount(x, /, weights, minlength=0):
    """Without weights the result are counts, which nothing active goes into."""
    y = np.bincount(x, weights, minlength)

    def pullback(y_bar):
        return None, y_bar[x], None

    return y, pullback


refused(
    np.histogram,
    np.histogram2d,
    np.histogramdd,
    why="The height of a bin jumps when a sample crosses an edge, so its derivative is 0 almost everywhere, and says "
    "nothing about how samples and edges move.\n"
    "For sums of weights, use np.bincount(np.digitize(x, edges), weights); for counts that follow the samples, a sum "
    "of smooth kernels; for logging, stop_gradient(x).",
)
refused(
    np.histogram_bin_edges,
    why="Edges that are chosen from the data move with its extremes, and their number jumps.\n"
    "Compute them: np.linspace(np.min(x), np.max(x), bins + 1); or from constants: stop_gradient(x).",
)
