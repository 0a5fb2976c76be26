"""Rules for Bessel functions in scipy.special: the recurrences of DLMF, chapter 10. Their orders are parameters."""

import numpy as np
from scipy import special

from adcompiler.rules.pointwise import pointwise
from adcompiler.rules.registry import rrule, scalar_rule
from adcompiler.runtime import specials
from adcompiler.runtime.bessel import (
    enveloped_bar,
    half_difference,
    half_sum,
    spherical_slope,
)
from adcompiler.runtime.pointwise import refuse_parameters
from adcompiler.runtime.shapes import fit, shape

ORDER = "the derivative of a Bessel function in its order has no closed form"

# Orders 0 and 1

scalar_rule(special.j0, lambda x: -specials.j1(x))
scalar_rule(special.j1, lambda x: half_difference(specials.jv, 1, x))
pointwise(special.y0, lambda x: -specials.y1(x))
pointwise(special.y1, lambda x: half_difference(specials.yv, 1, x))
pointwise(special.i0, lambda x: specials.i1(x))
pointwise(special.i1, lambda x: half_sum(specials.iv, 1, x))
pointwise(special.k0, lambda x: -specials.k1(x))
pointwise(special.k1, lambda x: -half_sum(specials.kv, 1, x))
scalar_rule(special.i0e, lambda x, out: specials.i1e(x) - np.sign(x) * out)
scalar_rule(special.i1e, lambda x, out: half_sum(specials.ive, 1, x) - np.sign(x) * out)
pointwise(special.k0e, lambda x, out: out - specials.k1e(x))
pointwise(special.k1e, lambda x, out: out - half_sum(specials.kve, 1, x))

# Any order

pointwise(special.jv, ORDER, lambda v, z: half_difference(specials.jv, v, z))
pointwise(special.yn, ORDER, lambda n, x: half_difference(specials.yv, n, x))
pointwise(special.yv, ORDER, lambda v, z: half_difference(specials.yv, v, z))
pointwise(special.iv, ORDER, lambda v, z: half_sum(specials.iv, v, z))
pointwise(special.kn, ORDER, lambda n, x: -half_sum(specials.kv, n, x))
pointwise(special.kv, ORDER, lambda v, z: -half_sum(specials.kv, v, z))
pointwise(special.hankel1, ORDER, lambda v, z: half_difference(specials.hankel1, v, z), kind="elementwise_complex")
pointwise(special.hankel2, ORDER, lambda v, z: half_difference(specials.hankel2, v, z), kind="elementwise_complex")

# Scaled by an exponential

pointwise(special.kve, ORDER, lambda v, z, out: out - half_sum(specials.kve, v, z))
pointwise(
    special.hankel1e,
    ORDER,
    lambda v, z, out: half_difference(specials.hankel1e, v, z) - 1j * out,
    kind="elementwise_complex",
)
pointwise(
    special.hankel2e,
    ORDER,
    lambda v, z, out: half_difference(specials.hankel2e, v, z) + 1j * out,
    kind="elementwise_complex",
)


@rrule(special.jve, result="fresh", kind="elementwise")
def jve(v, z, *, needs):
    """Scaled by exp(-abs(z.imag)), which has no complex derivative."""
    refuse_parameters("jve", ("v", "z"), (ORDER, None), (v, z), needs)
    y = special.jve(v, z)

    def pullback(y_bar):
        return None, fit(enveloped_bar(y_bar, half_difference(specials.jve, v, z), y, z, 1j), shape(z))

    return y, pullback


@rrule(special.yve, result="fresh", kind="elementwise")
def yve(v, z, *, needs):
    """Scaled by exp(-abs(z.imag)), which has no complex derivative."""
    refuse_parameters("yve", ("v", "z"), (ORDER, None), (v, z), needs)
    y = special.yve(v, z)

    def pullback(y_bar):
        return None, fit(enveloped_bar(y_bar, half_difference(specials.yve, v, z), y, z, 1j), shape(z))

    return y, pullback


@rrule(special.ive, result="fresh", kind="elementwise")
def ive(v, z, *, needs):
    """Scaled by exp(-abs(z.real)), which has no complex derivative."""
    refuse_parameters("ive", ("v", "z"), (ORDER, None), (v, z), needs)
    y = special.ive(v, z)

    def pullback(y_bar):
        return None, fit(enveloped_bar(y_bar, half_sum(specials.ive, v, z), y, z, 1.0), shape(z))

    return y, pullback


# Their derivatives

pointwise(special.jvp, ORDER, lambda v, z, n: specials.jvp(v, z, n + 1), None, kind=None)
pointwise(special.yvp, ORDER, lambda v, z, n: specials.yvp(v, z, n + 1), None, kind=None)
pointwise(special.ivp, ORDER, lambda v, z, n: specials.ivp(v, z, n + 1), None, kind=None)
pointwise(special.kvp, ORDER, lambda v, z, n: specials.kvp(v, z, n + 1), None, kind=None)
pointwise(special.h1vp, ORDER, lambda v, z, n: specials.h1vp(v, z, n + 1), None, kind=None)
pointwise(special.h2vp, ORDER, lambda v, z, n: specials.h2vp(v, z, n + 1), None, kind=None)

# Spherical ones

pointwise(
    special.spherical_jn,
    None,
    lambda n, z, derivative: spherical_slope(specials.spherical_jn, n, z, derivative, 1, -1),
    None,
    kind=None,
)
pointwise(
    special.spherical_yn,
    None,
    lambda n, z, derivative: spherical_slope(specials.spherical_yn, n, z, derivative, 1, -1),
    None,
    kind=None,
)
pointwise(
    special.spherical_in,
    None,
    lambda n, z, derivative: spherical_slope(specials.spherical_in, n, z, derivative, 1, 1),
    None,
    kind=None,
)
pointwise(
    special.spherical_kn,
    None,
    lambda n, z, derivative: spherical_slope(specials.spherical_kn, n, z, derivative, -1, -1),
    None,
    kind=None,
)

# Integrals

pointwise(special.itj0y0, lambda x: (specials.j0(x), specials.y0(x)), kind="tuple")
pointwise(special.iti0k0, lambda x: (specials.i0(x), specials.k0(x)), kind="tuple")
pointwise(special.it2j0y0, lambda x: ((1 - specials.j0(x)) / x, -specials.y0(x) / x), kind="tuple")
pointwise(special.it2i0k0, lambda x: ((specials.i0(x) - 1) / x, -specials.k0(x) / x), kind="tuple")
