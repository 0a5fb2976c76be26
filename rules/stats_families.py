"""The mathematics of the distributions of scipy.stats, for rules.stats: derivatives of log densities, distribution
functions and moments in standard form (Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions).
"""

import numpy as np
from scipy import stats

from adcompiler.runtime import specials
from adcompiler.runtime.densities import beta_density, binomial_slope, normal_density, poisson_slope
from adcompiler.runtime.distributions import Family
from adcompiler.runtime.losses import ratio_or_zero

psi = specials.psi

CONTINUOUS = {
    stats.norm: Family(lambda y: -y),
    stats.uniform: Family(lambda y: 0.0 * y),
    stats.expon: Family(lambda y: -1.0 + 0.0 * y),
    stats.laplace: Family(lambda y: -np.sign(y)),
    stats.logistic: Family(lambda y: -np.tanh(y / 2)),
    stats.hypsecant: Family(lambda y: -np.tanh(y)),
    stats.cauchy: Family(lambda y: -2 * y / (1 + y * y)),
    stats.halfcauchy: Family(lambda y: -2 * y / (1 + y * y)),
    stats.gumbel_r: Family(lambda y: np.exp(-y) - 1),
    stats.gumbel_l: Family(lambda y: 1 - np.exp(y)),
    stats.rayleigh: Family(lambda y: 1 / y - y),
    stats.maxwell: Family(lambda y: 2 / y - y),
    stats.halfnorm: Family(lambda y: -y),
    stats.lognorm: Family(
        lambda y, s: -(1 + np.log(y) / (s * s)) / y,
        density=(lambda y, s: np.log(y) ** 2 / s**3 - 1 / s,),
        cdf=(lambda y, s: -normal_density(np.log(y) / s) * np.log(y) / (s * s),),
        mean=(lambda s: s * np.exp(s * s / 2),),
        var=(lambda s: 2 * s * np.exp(s * s) * (2 * np.exp(s * s) - 1),),
    ),
    stats.t: Family(
        lambda y, df: -(df + 1) * y / (df + y * y),
        density=(
            lambda y, df: (
                0.5
                * (
                    psi((df + 1) / 2)
                    - psi(df / 2)
                    - 1 / df
                    - np.log1p(y * y / df)
                    + (df + 1) * y * y / (df * (df + y * y))
                )
            ),
        ),
        mean=(lambda df: 0.0 * df,),
        var=(lambda df: -2 / (df - 2) ** 2,),
    ),
    stats.gamma: Family(
        lambda y, a: (a - 1) / y - 1,
        density=(lambda y, a: np.log(y) - psi(a),),
        mean=(lambda a: 1.0,),
        var=(lambda a: 1.0,),
    ),
    stats.invgamma: Family(
        lambda y, a: (1 / y - a - 1) / y,
        density=(lambda y, a: -np.log(y) - psi(a),),
        mean=(lambda a: -1 / (a - 1) ** 2,),
    ),
    stats.beta: Family(
        lambda y, a, b: (a - 1) / y - (b - 1) / (1 - y),
        density=(
            lambda y, a, b: np.log(y) - psi(a) + psi(a + b),
            lambda y, a, b: np.log1p(-y) - psi(b) + psi(a + b),
        ),
        mean=(lambda a, b: b / (a + b) ** 2, lambda a, b: -a / (a + b) ** 2),
        var=(
            lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1)) * (1 / a - 2 / (a + b) - 1 / (a + b + 1)),
            lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1)) * (1 / b - 2 / (a + b) - 1 / (a + b + 1)),
        ),
    ),
    stats.chi2: Family(
        lambda y, df: (df / 2 - 1) / y - 0.5,
        density=(lambda y, df: 0.5 * (np.log(y / 2) - psi(df / 2)),),
        mean=(lambda df: 1.0,),
        var=(lambda df: 2.0,),
    ),
    stats.f: Family(
        lambda y, dfn, dfd: (dfn / 2 - 1) / y - 0.5 * (dfn + dfd) * dfn / (dfd + dfn * y),
        density=(
            lambda y, m, n: (
                0.5 * (np.log(m * y / (n + m * y)) + n * (1 - y) / (n + m * y) - psi(m / 2) + psi((m + n) / 2))
            ),
            lambda y, m, n: 0.5 * (np.log(n / (n + m * y)) + m * (y - 1) / (n + m * y) - psi(n / 2) + psi((m + n) / 2)),
        ),
    ),
    stats.pareto: Family(
        lambda y, b: -(b + 1) / y,
        density=(lambda y, b: 1 / b - np.log(y),),
        cdf=(lambda y, b: y**-b * np.log(y),),
        mean=(lambda b: -1 / (b - 1) ** 2,),
    ),
    stats.lomax: Family(
        lambda y, c: -(c + 1) / (1 + y),
        density=(lambda y, c: 1 / c - np.log1p(y),),
        cdf=(lambda y, c: (1 + y) ** -c * np.log1p(y),),
        mean=(lambda c: -1 / (c - 1) ** 2,),
    ),
    stats.powerlaw: Family(
        lambda y, a: (a - 1) / y,
        density=(lambda y, a: 1 / a + np.log(y),),
        cdf=(lambda y, a: specials.xlogy(y**a, y),),
        mean=(lambda a: 1 / (a + 1) ** 2,),
    ),
    stats.weibull_min: Family(
        lambda y, c: (c - 1) / y - c * y ** (c - 1),
        density=(lambda y, c: 1 / c + np.log(y) - specials.xlogy(y**c, y),),
        cdf=(lambda y, c: np.exp(-(y**c)) * specials.xlogy(y**c, y),),
    ),
    stats.invgauss: Family(
        lambda y, mu: (1 / (y * y) - 1 / (mu * mu)) / 2 - 1.5 / y,
        density=(lambda y, mu: (y - mu) / mu**3,),
        mean=(lambda mu: 1.0,),
        var=(lambda mu: 3 * mu * mu,),
    ),
    stats.truncnorm: Family(
        lambda y, a, b: -y,
        density=(
            lambda y, a, b: stats.truncnorm.pdf(a, a, b),
            lambda y, a, b: -stats.truncnorm.pdf(b, a, b),
        ),
        cdf=(
            lambda y, a, b: -stats.truncnorm.pdf(a, a, b) * stats.truncnorm.sf(y, a, b),
            lambda y, a, b: -stats.truncnorm.pdf(b, a, b) * stats.truncnorm.cdf(y, a, b),
        ),
    ),
}

DISCRETE = {
    stats.poisson: Family(
        density=(lambda k, mu: ratio_or_zero(k, mu) - 1,),
        cdf=(lambda k, mu: -poisson_slope(k, mu),),
        mean=(lambda mu: 1.0,),
        var=(lambda mu: 1.0,),
    ),
    stats.bernoulli: Family(
        density=(lambda k, p: ratio_or_zero(k, p) - ratio_or_zero(1 - k, 1 - p),),
        cdf=(lambda k, p: -1.0,),
        mean=(lambda p: 1.0,),
        var=(lambda p: 1 - 2 * p,),
    ),
    stats.binom: Family(
        density=(None, lambda k, n, p: ratio_or_zero(k, p) - ratio_or_zero(n - k, 1 - p)),
        cdf=(None, lambda k, n, p: -binomial_slope(k, n, p)),
        mean=(None, lambda n, p: n),
        var=(None, lambda n, p: n * (1 - 2 * p)),
    ),
    stats.geom: Family(
        density=(lambda k, p: 1 / p - ratio_or_zero(k - 1, 1 - p),),
        cdf=(lambda k, p: np.floor(k) * (1 - p) ** (np.floor(k) - 1),),
        mean=(lambda p: -1 / p**2,),
        var=(lambda p: (p - 2) / p**3,),
    ),
    stats.nbinom: Family(
        density=(lambda k, n, p: psi(k + n) - psi(n) + np.log(p), lambda k, n, p: n / p - ratio_or_zero(k, 1 - p)),
        cdf=(None, lambda k, n, p: beta_density(n, np.floor(k) + 1, p)),
        mean=(lambda n, p: (1 - p) / p, lambda n, p: -n / p**2),
        var=(lambda n, p: (1 - p) / p**2, lambda n, p: n * (p - 2) / p**3),
    ),
}
