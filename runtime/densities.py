"""Densities of the standard distributions, computed by their logarithms where a product would overflow."""

from __future__ import annotations

from typing import Any

import numpy as np

from adcompiler.runtime import specials

SQRT_2 = float(np.sqrt(2.0))
SQRT_2PI = float(np.sqrt(2 * np.pi))


def bell(z: Any) -> Any:
    """``exp(-z * z)``, also where the square overflows."""
    with np.errstate(all="ignore"):
        square = np.square(z)
        return np.exp(-square)


def normal_density(x: Any) -> Any:
    """Of the standard normal distribution."""
    return bell(x / SQRT_2) / SQRT_2PI


def mills_inverse(x: Any) -> Any:
    """The density of the standard normal distribution over its distribution function, by the scaled error function."""
    with np.errstate(all="ignore"):
        return 2 / (SQRT_2PI * specials.erfcx(-x / SQRT_2))


def gamma_density(a: Any, x: Any) -> Any:
    """Of the gamma distribution with shape `a`: the derivative of ``gammainc(a, x)``."""
    return np.exp(specials.xlogy(a - 1.0, x) - x - specials.gammaln(a))


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """Of the beta distribution: the derivative of ``betainc(a, b, x)``."""
    return np.exp(specials.xlogy(a - 1.0, x) + specials.xlog1py(b - 1.0, -x) - specials.betaln(a, b))


def chi_density(v: Any, x: Any) -> Any:
    """Of the chi-square distribution with `v` degrees of freedom."""
    return gamma_density(v / 2, x / 2) / 2


def ratio_density(m: Any, n: Any, x: Any) -> Any:
    """Of the F distribution with `m` and `n` degrees of freedom."""
    u, v = m / 2, n / 2
    odds = m * x / n
    return np.exp(specials.xlogy(u - 1.0, odds) - (u + v) * np.log1p(odds) - specials.betaln(u, v)) * m / n


def student_density(v: Any, t: Any) -> Any:
    """Of Student's distribution with `v` degrees of freedom."""
    return np.exp(-(v + 1.0) / 2 * np.log1p(t * t / v) - specials.betaln(v / 2, 0.5)) / np.sqrt(v)


def noncentral_density(x: Any, v: Any, noncentrality: Any) -> Any:
    """Of the noncentral chi-square distribution (Johnson, Kotz and Balakrishnan, chapter 29)."""
    root = np.sqrt(noncentrality * x)
    exponent = -0.5 * (np.sqrt(x) - np.sqrt(noncentrality)) ** 2
    powers = np.exp(exponent + specials.xlogy(v / 4 - 0.5, x / noncentrality))
    return 0.5 * powers * specials.ive(v / 2 - 1.0, root)


def kolmogorov_density(x: Any) -> Any:
    """Of Kolmogorov's distribution, by its series of exponentials, and for small `x` by the transformed one."""
    high, low = np.maximum(x, 0.8), np.minimum(np.maximum(x, 0.05), 0.8)
    far = sum((-1) ** (j - 1) * 8 * j * j * high * np.exp(-2 * j * j * high * high) for j in range(1, 6))
    near = 0.0
    for j in range(1, 5):
        exponent = ((2 * j - 1) * np.pi) ** 2 / 8
        near = near + np.exp(-exponent / (low * low)) * (2 * exponent / low**4 - 1 / (low * low))
    return np.where(x > 0.8, far, np.where(x > 0.05, SQRT_2PI * near, 0.0))


def binomial_slope(k: Any, n: Any, p: Any) -> Any:
    """How the probability of more than `k` successes in `n` trials grows with that of one."""
    others = n - np.floor(k)
    return np.where(others > 0, beta_density(np.floor(k) + 1.0, others, p), 0.0)


def negative_binomial_slope(k: Any, n: Any, p: Any) -> Any:
    """How the probability of at most `k` failures before the `n`-th success grows with that of a success."""
    return beta_density(n, np.floor(k) + 1.0, p)


def poisson_slope(k: Any, mean: Any) -> Any:
    """How the probability of more than `k` events grows with their mean number."""
    return gamma_density(np.floor(k) + 1.0, mean)
