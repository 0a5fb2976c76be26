"""Rules for the distribution functions of scipy.special: the derivative in the variable is a density, and the inverse
function has one over that.
"""

from scipy import special

from adcompiler.rules.pointwise import pointwise
from adcompiler.runtime import specials
from adcompiler.runtime.densities import (
    binomial_slope,
    chi_density,
    gamma_density,
    kolmogorov_density,
    negative_binomial_slope,
    noncentral_density,
    normal_density,
    poisson_slope,
    ratio_density,
    student_density,
)

SHAPE = "the derivative of a distribution function in its shape parameters has no closed form"

# Counts: piecewise constant in the count, smooth in the probability or the mean

pointwise(special.bdtr, None, SHAPE, lambda k, n, p: -binomial_slope(k, n, p))
pointwise(special.bdtrc, None, SHAPE, lambda k, n, p: binomial_slope(k, n, p))
pointwise(special.bdtri, None, SHAPE, lambda k, n, y, out: -1 / binomial_slope(k, n, out))
pointwise(special.nbdtr, None, SHAPE, lambda k, n, p: negative_binomial_slope(k, n, p))
pointwise(special.nbdtrc, None, SHAPE, lambda k, n, p: -negative_binomial_slope(k, n, p))
pointwise(special.nbdtri, None, SHAPE, lambda k, n, y, out: 1 / negative_binomial_slope(k, n, out))
pointwise(special.pdtr, None, lambda k, m: -poisson_slope(k, m))
pointwise(special.pdtrc, None, lambda k, m: poisson_slope(k, m))
pointwise(special.pdtri, None, lambda k, y, out: -1 / poisson_slope(k, out))

# The distributions of squares of normal variables

pointwise(special.chdtr, SHAPE, lambda v, x: chi_density(v, x))
pointwise(special.chdtrc, SHAPE, lambda v, x: -chi_density(v, x))
pointwise(special.chdtri, SHAPE, lambda v, p, out: -1 / chi_density(v, out))
pointwise(special.fdtr, SHAPE, SHAPE, lambda dfn, dfd, x: ratio_density(dfn, dfd, x))
pointwise(special.fdtrc, SHAPE, SHAPE, lambda dfn, dfd, x: -ratio_density(dfn, dfd, x))
pointwise(special.fdtri, SHAPE, SHAPE, lambda dfn, dfd, p, out: 1 / ratio_density(dfn, dfd, out))
pointwise(special.stdtr, SHAPE, lambda df, t: student_density(df, t))
pointwise(special.stdtrit, SHAPE, lambda df, p, out: 1 / student_density(df, out))
pointwise(
    special.chndtr,
    lambda x, df, nc: noncentral_density(x, df, nc),
    SHAPE,
    lambda x, df, nc: -noncentral_density(x, df + 2, nc),
)
pointwise(
    special.chndtrix,
    lambda p, df, nc, out: 1 / noncentral_density(out, df, nc),
    SHAPE,
    lambda p, df, nc, out: noncentral_density(out, df + 2, nc) / noncentral_density(out, df, nc),
)
pointwise(
    special.chndtrinc,
    lambda x, df, p, out: noncentral_density(x, df, out) / noncentral_density(x, df + 2, out),
    SHAPE,
    lambda x, df, p, out: -1 / noncentral_density(x, df + 2, out),
)

# The gamma distribution with rate a and shape b

pointwise(special.gdtr, lambda a, b, x: x * gamma_density(b, a * x), SHAPE, lambda a, b, x: a * gamma_density(b, a * x))
pointwise(
    special.gdtrc, lambda a, b, x: -x * gamma_density(b, a * x), SHAPE, lambda a, b, x: -a * gamma_density(b, a * x)
)
pointwise(
    special.gdtria,
    lambda p, b, x, out: 1 / (x * gamma_density(b, out * x)),
    SHAPE,
    lambda p, b, x, out: -out / x,
)
pointwise(
    special.gdtrix,
    lambda a, b, p, out: -out / a,
    SHAPE,
    lambda a, b, p, out: 1 / (a * gamma_density(b, a * out)),
)

# The normal distribution by its mean or its deviation, and limits of tests

pointwise(
    special.nrdtrimn,
    lambda p, std, x: -std / normal_density(specials.ndtri(p)),
    lambda p, std, x: -specials.ndtri(p),
    lambda p, std, x: 1.0,
)
pointwise(
    special.nrdtrisd,
    lambda mn, p, x: -1 / specials.ndtri(p),
    lambda mn, p, x, out: -out / (specials.ndtri(p) * normal_density(specials.ndtri(p))),
    lambda mn, p, x: 1 / specials.ndtri(p),
)
pointwise(special.kolmogorov, lambda x: -kolmogorov_density(x))
pointwise(special.kolmogi, lambda p, out: -1 / kolmogorov_density(out))
pointwise(
    special.tklmbda,
    lambda x, lmbda, out: 1 / (out ** (lmbda - 1) + (1 - out) ** (lmbda - 1)),
    SHAPE,
)
