"""Rules for covariances and correlations of observations."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.covariance import aweights_bar, correlation_bar, observation_bars, observations
from adcompiler.runtime.selection import given


@rrule(np.cov, result="fresh", kind="array")
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """`fweights` are counts: there is no derivative with respect to them."""
    c = np.cov(m, y, rowvar, bias, ddof, fweights, aweights, **given(dtype=dtype))

    def pullback(c_bar):
        found = observations(m, y, rowvar, bias, ddof, fweights, aweights, dtype)
        bars = observation_bars(c_bar, found, m, y, rowvar)
        return bars[0], bars[1], None, None, None, None, aweights_bar(c_bar, found, c), None

    return c, pullback


@rrule(np.corrcoef, result="fresh")
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    r = np.corrcoef(x, y, rowvar, **given(dtype=dtype))

    def pullback(r_bar):
        found = observations(x, y, rowvar, False, 1, None, None, dtype)
        bars = observation_bars(correlation_bar(r_bar, r, found), found, x, y, rowvar)
        return bars[0], bars[1], None, None

    return r, pullback
