"""Rules for the gamma function and its relatives in scipy.special. Formulas are from DLMF, chapters 5, 8 and 25."""

import numpy as np
from scipy import special

from adcompiler.rules.pointwise import pointwise
from adcompiler.rules.registry import rrule
from adcompiler.runtime import specials
from adcompiler.runtime.counts import binom_slopes, comb_slope, multigammaln_slope, perm_slope
from adcompiler.runtime.densities import beta_density, gamma_density
from adcompiler.runtime.elementary import multiply_strong
from adcompiler.runtime.gammas import factorial_slope, rgamma_slope, trigamma
from adcompiler.runtime.shapes import fit, shape

SHAPE = "the incomplete functions have no closed form in their shape parameters"
WHOLE = "it is defined for whole orders"

# The gamma function

pointwise(special.gamma, lambda z, out: out * specials.psi(z))
pointwise(special.loggamma, lambda z: specials.psi(z))
pointwise(special.rgamma, lambda z, out: rgamma_slope(z, out))
pointwise(special.psi, lambda z: trigamma(z))
pointwise(special.polygamma, WHOLE, lambda n, x: specials.polygamma(n + 1, x), kind=None, real=True)


@rrule(special.gammaln, result="fresh", kind="elementwise")
def gammaln(x):
    y = special.gammaln(x)

    def pullback(y_bar):
        return (multiply_strong(y_bar, specials.psi(x)),)

    return y, pullback


@rrule(special.multigammaln, kind=None)
def multigammaln(a, d):
    y = special.multigammaln(a, d)

    def pullback(y_bar):
        return fit(y_bar * multigammaln_slope(a, d), shape(a)), None

    return y, pullback


# Beta functions and binomial coefficients

pointwise(
    special.beta,
    lambda a, b, out: out * (specials.psi(a) - specials.psi(a + b)),
    lambda a, b, out: out * (specials.psi(b) - specials.psi(a + b)),
)
pointwise(
    special.betaln,
    lambda a, b: specials.psi(a) - specials.psi(a + b),
    lambda a, b: specials.psi(b) - specials.psi(a + b),
)
pointwise(
    special.binom,
    lambda x, y, out: binom_slopes(x, y, out)[0],
    lambda x, y, out: binom_slopes(x, y, out)[1],
)
pointwise(
    special.poch,
    lambda z, m, out: out * (specials.psi(z + m) - specials.psi(z)),
    lambda z, m, out: out * specials.psi(z + m),
)
pointwise(
    special.comb,
    lambda N, k, out: comb_slope(N, k, out)[0],
    lambda N, k, out: comb_slope(N, k, out)[1],
    kind=None,
)
pointwise(
    special.perm,
    lambda N, k, out: perm_slope(N, k, out)[0],
    lambda N, k, out: perm_slope(N, k, out)[1],
    kind=None,
)
pointwise(special.factorial, lambda n: factorial_slope(n), kind=None, real=True)

# Incomplete gamma functions

pointwise(special.gammainc, SHAPE, lambda a, x: gamma_density(a, x))
pointwise(special.gammaincc, SHAPE, lambda a, x: -gamma_density(a, x))
pointwise(special.gammaincinv, SHAPE, lambda a, y, out: 1 / gamma_density(a, out))
pointwise(special.gammainccinv, SHAPE, lambda a, y, out: -1 / gamma_density(a, out))

# Incomplete beta functions

pointwise(special.betainc, SHAPE, SHAPE, lambda a, b, x: beta_density(a, b, x))
pointwise(special.betaincinv, SHAPE, SHAPE, lambda a, b, y, out: 1 / beta_density(a, b, out))
if hasattr(special, "betaincc"):
    pointwise(special.betaincc, SHAPE, SHAPE, lambda a, b, x: -beta_density(a, b, x))
    pointwise(special.betainccinv, SHAPE, SHAPE, lambda a, b, y, out: -1 / beta_density(a, b, out))

# Hurwitz's zeta function, and Wright's generalisation of the Bessel functions

pointwise(
    special.zeta,
    "its derivative in the exponent has no closed form",
    lambda x, q: -x * specials.zeta(x + 1, q),
    kind=None,
    real=True,
)
pointwise(
    special.wright_bessel,
    "its derivative in the parameters has no closed form",
    "its derivative in the parameters has no closed form",
    lambda a, b, x: specials.wright_bessel(a, a + b, x),
)
if hasattr(special, "log_wright_bessel"):
    pointwise(
        special.log_wright_bessel,
        "its derivative in the parameters has no closed form",
        "its derivative in the parameters has no closed form",
        lambda a, b, x, out: np.exp(specials.log_wright_bessel(a, a + b, x) - out),
    )
