"""Rules for elliptic integrals and functions in scipy.special, by Carlson's forms, which do not cancel (DLMF 19.25)."""

import numpy as np
from scipy import special

from adcompiler.rules.pointwise import pointwise
from adcompiler.runtime import specials
from adcompiler.runtime.elliptic import (
    amplitude_slope,
    divided_difference,
    elliprc_slopes,
    elliprd_last_slope,
    elliprj_last_slope,
    incomplete_first_slope,
    incomplete_second_slope,
    jacobi_slopes,
    mean_slope,
)

# Legendre's integrals

pointwise(special.ellipk, lambda m: specials.elliprd(0.0, 1.0, 1 - m) / 6)
pointwise(special.ellipkm1, lambda p: -specials.elliprd(0.0, 1.0, p) / 6)
pointwise(special.ellipe, lambda m: -specials.elliprd(0.0, 1 - m, 1.0) / 6)
pointwise(
    special.ellipkinc,
    lambda phi, m: 1 / np.sqrt(1 - m * np.sin(phi) ** 2),
    lambda phi, m: incomplete_first_slope(phi, m),
)
pointwise(
    special.ellipeinc,
    lambda phi, m: np.sqrt(1 - m * np.sin(phi) ** 2),
    lambda phi, m: incomplete_second_slope(phi, m),
)

# Jacobi's functions, and the arithmetic-geometric mean

pointwise(
    special.ellipj,
    lambda u, m, out: jacobi_slopes(out, m, out[2]),
    lambda u, m, out: jacobi_slopes(out, m, amplitude_slope(out, m), 1.0),
    kind="tuple",
)
pointwise(special.agm, lambda a, b, out: mean_slope(a, b, out), lambda a, b, out: mean_slope(b, a, out))

# Carlson's integrals

pointwise(
    special.elliprc,
    lambda x, y, out: elliprc_slopes(x, y, out)[0],
    lambda x, y, out: elliprc_slopes(x, y, out)[1],
)
pointwise(
    special.elliprf,
    lambda x, y, z: -specials.elliprd(y, z, x) / 6,
    lambda x, y, z: -specials.elliprd(x, z, y) / 6,
    lambda x, y, z: -specials.elliprd(x, y, z) / 6,
)
pointwise(
    special.elliprg,
    lambda x, y, z: specials.elliprf(x, y, z) / 4 - x * specials.elliprd(y, z, x) / 12,
    lambda x, y, z: specials.elliprf(x, y, z) / 4 - y * specials.elliprd(x, z, y) / 12,
    lambda x, y, z: specials.elliprf(x, y, z) / 4 - z * specials.elliprd(x, y, z) / 12,
)
pointwise(
    special.elliprd,
    lambda x, y, z, out: divided_difference(specials.elliprd(y, z, x), out, x, z),
    lambda x, y, z, out: divided_difference(specials.elliprd(x, z, y), out, y, z),
    lambda x, y, z, out: elliprd_last_slope(x, y, z, out),
)
pointwise(
    special.elliprj,
    lambda x, y, z, p, out: divided_difference(specials.elliprd(y, z, x), out, x, p),
    lambda x, y, z, p, out: divided_difference(specials.elliprd(x, z, y), out, y, p),
    lambda x, y, z, p, out: divided_difference(specials.elliprd(x, y, z), out, z, p),
    lambda x, y, z, p, out: elliprj_last_slope(x, y, z, p, out),
)
