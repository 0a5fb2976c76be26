"""Slopes of the numbers of combinations and permutations, which are 0 outside 0 <= k <= N."""

from __future__ import annotations

from typing import Any

import numpy as np

from adcompiler.runtime import specials


def binom_slopes(x: Any, y: Any, out: Any) -> tuple[Any, Any]:
    """How the binomial coefficient changes with both arguments, also where it is 0 at a pole of the gamma function.

    There the slope is a beta function, by the residues of gamma (DLMF 5.2.1).
    """
    whole = np.equal(y, np.floor(y))
    left = whole & np.less(y, 0)
    right = np.equal(x - y, np.floor(x - y)) & np.less(x - y, 0) & np.greater(x, -1) & ~left
    above, beside, below = (specials.psi(t + 1.0) for t in (x, x - y, y))
    past = np.cos(np.pi * (y - x - 1)) * specials.beta(x + 1.0, np.where(right, y - x, 1.0))
    before = np.cos(np.pi * (y + 1)) * specials.beta(x + 1.0, np.where(left, -y, 1.0))
    x_slope = np.where(left, 0.0, np.where(right, past, out * (above - beside)))
    return x_slope, np.where(left, before, np.where(right, -past, out * (beside - below)))


def comb_slope(N: Any, k: Any, y: Any) -> tuple[Any, Any]:
    """How ``comb(N, k)`` changes with N and with k."""
    inside = np.less_equal(k, N) & np.greater_equal(N, 0) & np.greater_equal(k, 0)
    below, beside, above = (specials.psi(x + 1.0) for x in (k, N - k, N))
    return np.where(inside, y * (above - beside), 0.0), np.where(inside, y * (beside - below), 0.0)


def perm_slope(N: Any, k: Any, y: Any) -> tuple[Any, Any]:
    """How ``perm(N, k)`` changes with N and with k."""
    inside = np.less_equal(k, N) & np.greater_equal(N, 0) & np.greater_equal(k, 0)
    beside, above = specials.psi(N - k + 1.0), specials.psi(N + 1.0)
    return np.where(inside, y * (above - beside), 0.0), np.where(inside, y * beside, 0.0)


def multigammaln_slope(a: Any, d: int) -> Any:
    """The derivative of the logarithm of the multivariate gamma function of dimension `d`."""
    return sum(specials.psi(a - j / 2) for j in range(int(d)))
