"""Rules for Airy, Struve, Kelvin, hypergeometric and other functions of scipy.special that solve an equation of second
order: where both a solution and its derivative are returned, the equation gives the rest. Formulas are from DLMF.
"""

import numpy as np
from scipy import special

from adcompiler.rules.pointwise import pointwise
from adcompiler.runtime import specials
from adcompiler.runtime.airy import scaled_airy_slopes
from adcompiler.runtime.bessel import half_difference, half_sum, over, struve_term

PARAMETER = "its derivative in the parameters has no closed form"
DEGREE = float(np.pi / 180)

# Airy functions

pointwise(special.airy, lambda z, out: (out[1], z * out[0], out[3], z * out[2]), kind="tuple")
pointwise(special.airye, lambda z, out: scaled_airy_slopes(z, out), kind="tuple", real=True)
pointwise(
    special.itairy,
    lambda x: (specials.airy(x)[0], specials.airy(x)[2], specials.airy(-x)[0], specials.airy(-x)[2]),
    kind="tuple",
)

# Struve functions

pointwise(special.struve, PARAMETER, lambda v, x: half_difference(specials.struve, v, x) + struve_term(v, x))
pointwise(special.modstruve, PARAMETER, lambda v, x: half_sum(specials.modstruve, v, x) + struve_term(v, x))
pointwise(special.itstruve0, lambda x: specials.struve(0, x))
pointwise(special.itmodstruve0, lambda x: specials.modstruve(0, x))
pointwise(special.it2struve0, lambda x: -specials.struve(0, x) / x)

# Kelvin functions

pointwise(special.ber, lambda x: specials.berp(x))
pointwise(special.bei, lambda x: specials.beip(x))
pointwise(special.ker, lambda x: specials.kerp(x))
pointwise(special.kei, lambda x: specials.keip(x))
pointwise(special.berp, lambda x, out: -specials.bei(x) - over(out, x, 0.0))
pointwise(special.beip, lambda x, out: specials.ber(x) - over(out, x, 0.5))
pointwise(special.kerp, lambda x, out: -specials.kei(x) - out / x)
pointwise(special.keip, lambda x, out: specials.ker(x) - out / x)
pointwise(
    special.kelvin,
    lambda x, out: (out[2], out[3], 1j * out[0] - over(out[2], x, 0.5j), 1j * out[1] - out[3] / x),
    kind=None,
)

# Parabolic cylinder functions, and those of Mathieu, whose angle is in degrees

pointwise(special.pbdv, PARAMETER, lambda v, x, out: (out[1], (x * x / 4 - v - 0.5) * out[0]), kind="tuple")
pointwise(special.pbvv, PARAMETER, lambda v, x, out: (out[1], (x * x / 4 - v - 0.5) * out[0]), kind="tuple")
pointwise(special.pbwa, PARAMETER, lambda a, x, out: (out[1], (a - x * x / 4) * out[0]), kind="tuple")
pointwise(
    special.mathieu_cem,
    PARAMETER,
    PARAMETER,
    lambda m, q, x, out: (
        DEGREE * out[1],
        DEGREE * (2 * q * np.cos(2 * DEGREE * x) - specials.mathieu_a(m, q)) * out[0],
    ),
    kind="tuple",
)
pointwise(
    special.mathieu_sem,
    PARAMETER,
    PARAMETER,
    lambda m, q, x, out: (
        DEGREE * out[1],
        DEGREE * (2 * q * np.cos(2 * DEGREE * x) - specials.mathieu_b(m, q)) * out[0],
    ),
    kind="tuple",
)
for _function in (special.mathieu_modcem1, special.mathieu_modcem2):
    pointwise(
        _function,
        PARAMETER,
        PARAMETER,
        lambda m, q, x, out: (out[1], (specials.mathieu_a(m, q) - 2 * q * np.cosh(2 * x)) * out[0]),
        kind="tuple",
    )
for _function in (special.mathieu_modsem1, special.mathieu_modsem2):
    pointwise(
        _function,
        PARAMETER,
        PARAMETER,
        lambda m, q, x, out: (out[1], (specials.mathieu_b(m, q) - 2 * q * np.cosh(2 * x)) * out[0]),
        kind="tuple",
    )

# Hypergeometric functions

pointwise(special.hyp0f1, PARAMETER, lambda v, z: specials.hyp0f1(v + 1, z) / v)
pointwise(special.hyp1f1, PARAMETER, PARAMETER, lambda a, b, z: a / b * specials.hyp1f1(a + 1, b + 1, z))
pointwise(
    special.hyp2f1,
    PARAMETER,
    PARAMETER,
    PARAMETER,
    lambda a, b, c, z: a * b / c * specials.hyp2f1(a + 1, b + 1, c + 1, z),
)
pointwise(special.hyperu, PARAMETER, PARAMETER, lambda a, b, x: -a * specials.hyperu(a + 1, b + 1, x))
