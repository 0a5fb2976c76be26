"""Rules for what scipy.special has of elementary functions: logistic ones, entropies, losses, powers and angles."""

import numpy as np
from scipy import special

from adcompiler.rules.pointwise import pointwise
from adcompiler.rules.registry import scalar_rule
from adcompiler.runtime import specials
from adcompiler.runtime.integrals import dirichlet_slope
from adcompiler.runtime.losses import (
    boxcox_slope,
    huber_scale_slope,
    huber_slope,
    inverse_boxcox_slope,
    lambertw_slope,
    pseudo_huber_scale_slope,
    pseudo_huber_slope,
    ratio_or_zero,
)

DEGREE = float(np.pi / 180)
LN_2, LN_10 = float(np.log(2)), float(np.log(10))

# Logistic functions

scalar_rule(special.expit, lambda x, out: out * specials.expit(-x))
pointwise(special.logit, lambda x: 1 / (x * (1 - x)))
scalar_rule(special.log_expit, lambda x: specials.expit(-x))
if hasattr(special, "softplus"):
    scalar_rule(special.softplus, lambda x: specials.expit(x))

# Entropies

pointwise(special.xlogy, lambda x, y: np.log(y), lambda x, y: ratio_or_zero(x, y))
pointwise(special.xlog1py, lambda x, y: np.log1p(y), lambda x, y: ratio_or_zero(x, 1 + y))
pointwise(special.entr, lambda x: -np.log(x) - 1)
pointwise(special.rel_entr, lambda x, y: np.log(x / y) + 1, lambda x, y: -ratio_or_zero(x, y))
pointwise(special.kl_div, lambda x, y: np.log(x / y), lambda x, y: 1 - ratio_or_zero(x, y))

# Losses

pointwise(special.huber, lambda delta, r: huber_scale_slope(delta, r), lambda delta, r: huber_slope(delta, r))
pointwise(
    special.pseudo_huber,
    lambda delta, r: pseudo_huber_scale_slope(delta, r),
    lambda delta, r: pseudo_huber_slope(delta, r),
)

# Powers: the transformations of Box and Cox are log(x) exprel(lmbda log(x))

pointwise(special.cbrt, lambda x, out: 1 / (3 * out * out))
pointwise(special.exp10, lambda x, out: LN_10 * out)
pointwise(special.exp2, lambda x, out: LN_2 * out)
pointwise(special.expm1, lambda x: np.exp(x))
pointwise(special.log1p, lambda x: 1 / (1 + x))
pointwise(special.powm1, lambda x, y: y * np.power(x, y - 1), lambda x, y, out: specials.xlogy(out + 1, x))
pointwise(special.boxcox, lambda x, lmbda: np.power(x, lmbda - 1.0), lambda x, lmbda: boxcox_slope(np.log(x), lmbda))
pointwise(
    special.boxcox1p,
    lambda x, lmbda: np.exp(specials.xlog1py(lmbda - 1.0, x)),
    lambda x, lmbda: boxcox_slope(np.log1p(x), lmbda),
)
pointwise(
    special.inv_boxcox,
    lambda y, lmbda, out: out / (1 + lmbda * y),
    lambda y, lmbda, out: out * inverse_boxcox_slope(y, lmbda),
)
pointwise(
    special.inv_boxcox1p,
    lambda y, lmbda, out: (out + 1) / (1 + lmbda * y),
    lambda y, lmbda, out: (out + 1) * inverse_boxcox_slope(y, lmbda),
)
pointwise(special.lambertw, lambda z, k, tol, out: lambertw_slope(z, out), None, None, kind="elementwise_complex")
pointwise(special.wrightomega, lambda z, out: out / (1 + out))

# Angles

scalar_rule(special.cosm1, lambda x: -np.sin(x))
scalar_rule(special.sindg, lambda x: DEGREE * specials.cosdg(x))
scalar_rule(special.cosdg, lambda x: -DEGREE * specials.sindg(x))
pointwise(special.tandg, lambda x, out: DEGREE * (1 + out * out))
pointwise(special.cotdg, lambda x, out: -DEGREE * (1 + out * out))
pointwise(special.radian, lambda d, m, s: DEGREE, lambda d, m, s: DEGREE / 60, lambda d, m, s: DEGREE / 3600)
pointwise(special.diric, lambda x, n: dirichlet_slope(x, n), None, kind=None)
