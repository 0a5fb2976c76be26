"""Functions of scipy.special that solve equations of second order: Bessel, Airy, Legendre, elliptic, hypergeometric."""

import numpy as np
import pytest
from scipy import special

from adcompiler.testing import case, check_rule, complex_normal, normal, positive, uniform, unit

# Objects that are called cannot be compared by check_rule; test_special_reductions.py has tests for them.
BY_HAND = {type(special.legendre_p).__call__} if hasattr(special, "legendre_p") else set()

BESSEL = (
    *(special.j0, special.j1, special.y0, special.y1, special.i0, special.i1, special.k0, special.k1),
    *(special.i0e, special.i1e, special.k0e, special.k1e),
)
OF_ORDER = (
    *(special.jv, special.yv, special.iv, special.kv, special.jve, special.yve, special.ive, special.kve),
    *(special.hankel1, special.hankel2, special.hankel1e, special.hankel2e),
)
DERIVATIVES = (special.jvp, special.yvp, special.ivp, special.kvp, special.h1vp, special.h2vp)
SPHERICAL = (special.spherical_jn, special.spherical_yn, special.spherical_in, special.spherical_kn)
INTEGRALS = (special.itj0y0, special.iti0k0, special.it2j0y0, special.it2i0k0, special.itairy)
INTEGRALS += (special.itstruve0, special.itmodstruve0, special.it2struve0)
KELVIN = (special.ber, special.bei, special.ker, special.kei, special.berp, special.beip, special.kerp, special.keip)
PARABOLIC = (special.pbdv, special.pbvv, special.pbwa)
MATHIEU = (special.mathieu_cem, special.mathieu_sem)
MATHIEU += (special.mathieu_modcem1, special.mathieu_modcem2, special.mathieu_modsem1, special.mathieu_modsem2)

CYLINDERS = [
    *(case(f, x) for f in BESSEL for x in (positive(2, 3), 0.7)),
    *(case(f, np.array([-1.5, 0.4]), id="negative") for f in (special.j1, special.i1, special.i0e, special.i1e)),
    *(case(f, n, x) for f in OF_ORDER for n in (0, 2) for x in (positive(2, 3), 0.7, complex_normal(2, 3))),
    *(case(f, 2, x) for f in (special.kn, special.yn) for x in (positive(2, 3), 0.7)),
    case(special.jv, np.array([[0], [3]]), positive(3), id="orders that broadcast"),
    case(special.ive, 1, normal(2, 3), id="both signs"),
    case(special.jve, 1, normal(2, 3), id="both signs"),
    *(case(f, 1, x, n) for f in DERIVATIVES for n in (0, 1, 2) for x in (positive(2, 3), complex_normal(3), 0.7)),
    *(case(f, n, x, d) for f in SPHERICAL for n in (0, 2) for d in (False, True) for x in (positive(2, 3), 0.7)),
    *(case(f, 1, complex_normal(3), derivative=True) for f in SPHERICAL),
    case(special.spherical_jn, 1, np.array([0.0, 0.5]), True, id="origin"),
    *(case(f, x) for f in INTEGRALS for x in (positive(2, 3), 0.7)),
    *(case(f, x) for f in (special.airy, special.airye) for x in (normal(2, 3), 0.7) if f is special.airy),
    *(case(special.airye, x, real_only=True) for x in (positive(2, 3), 0.7)),
    case(special.airy, complex_normal(2, 3)),
    *(case(f, 1, x) for f in (special.struve, special.modstruve) for x in (positive(2, 3), 0.7)),
    *(case(f, x) for f in KELVIN for x in (positive(2, 3), 0.7)),
    case(special.kelvin, positive(2, 3)),
    *(case(f, 1, normal(2, 3)) for f in (special.pbdv, special.pbwa)),
    *(case(f, 1, x) for f in PARABOLIC for x in (-1.5, 0.7)),
    *(case(f, 2, 1, x) for f in MATHIEU for x in (0.7, 1.5)),  # numbers: SciPy gives nan for float32
    *(case(f, 1, 3, x, id=f"{x} degrees") for f in MATHIEU[:2] for x in (10.0, 50.0, 200.0)),
]

HYPERGEOMETRIC = [
    *(case(special.hyp0f1, 2, x) for x in (normal(2, 3), complex_normal(3))),
    *(case(special.hyp1f1, 2, 3, x) for x in (normal(2, 3), complex_normal(3))),
    *(case(special.hyp2f1, 2, 3, 4, x) for x in (unit(2, 3), uniform(0.1, 0.5, 3, dtype=complex))),
    case(special.hyperu, 2, 3, positive(2, 3)),
]

OF_DEGREE = (
    *(special.eval_legendre, special.eval_sh_legendre, special.eval_chebyt, special.eval_chebyu, special.eval_chebyc),
    *(special.eval_chebys, special.eval_sh_chebyt, special.eval_sh_chebyu, special.eval_laguerre),
    *(special.eval_hermite, special.eval_hermitenorm),
)
OF_PARAMETER = (special.eval_gegenbauer, special.eval_genlaguerre)
POLYNOMIALS = [
    *(case(f, n, x) for f in OF_DEGREE for n in (0, 1, 4) for x in (unit(2, 3), 0.3)),
    case(special.eval_legendre, np.array([[0], [3]]), unit(3), id="degrees that broadcast"),
    case(special.eval_legendre, 3, uniform(0.2, 0.5, 3, dtype=complex), id="complex"),
    *(case(f, n, 2, x) for f in OF_PARAMETER for n in (0, 3) for x in (unit(2, 3), 0.3)),
    *(case(special.assoc_laguerre, x, n, 2) for n in (0, 3) for x in (unit(2, 3), 0.3)),
    case(special.assoc_laguerre, unit(3), 2),
    *(case(special.eval_jacobi, n, 1, 2, x) for n in (0, 3) for x in (unit(2, 3), 0.3)),
    *(case(special.eval_sh_jacobi, n, 3, 2, x) for n in (0, 3) for x in (unit(2, 3), 0.3)),
    *(case(special.lpmv, m, 3, x) for m in (0, 2) for x in (unit(2, 3), 0.3)),
]
if hasattr(special, "legendre_p"):
    POLYNOMIALS += [
        *(case(f, 3, unit(2, 3), diff_n=d) for f in (special.legendre_p, special.legendre_p_all) for d in (0, 1)),
        case(special.legendre_p, np.array([[1], [3]]), unit(3), id="degrees that broadcast"),
        *(
            case(f, 3, 2, unit(2, 3), diff_n=d)
            for f in (special.assoc_legendre_p, special.assoc_legendre_p_all)
            for d in (0, 1)
        ),
        case(special.assoc_legendre_p, 3, 1, unit(3), norm=True),
        *(
            case(f, 3, 2, positive(2, 3), diff_n=d, real_only=True)
            for f in (special.sph_legendre_p, special.sph_legendre_p_all)
            for d in (0, 1)
        ),
        *(
            case(f, 3, 2, positive(2, 3), positive(3), real_only=True)
            for f in (special.sph_harm_y, special.sph_harm_y_all)
        ),
    ]

ELLIPTIC = [
    *(case(f, x) for f in (special.ellipk, special.ellipe) for x in (uniform(-2, 0.9, 2, 3), 0.0, 0.5)),
    *(case(special.ellipkm1, x) for x in (uniform(0.1, 2, 2, 3), 1.0)),
    *(
        case(f, phi, m)
        for f in (special.ellipkinc, special.ellipeinc)
        for phi, m in ((normal(2, 3), uniform(0.1, 0.9, 3)), (7.3, 0.5), (-2.0, 0.5), (0.5, 0.0), (5.0, -1.0))
    ),
    *(case(special.ellipj, u, m) for u, m in ((normal(2, 3), uniform(0.1, 0.9, 3)), (5.0, 0.7), (0.5, 0.3))),
    *(case(special.agm, a, b) for a, b in ((positive(2, 3), positive(3)), (1.0, 1.0), (-2.0, -3.0))),
    *(case(special.elliprc, x, y) for x, y in ((positive(2, 3), positive(3)), (1.0, 1.0), (1.5, -0.5))),
    *(case(f, positive(2, 3), positive(3), positive(2, 1)) for f in (special.elliprf, special.elliprg)),
    *(case(f, 1.0, 1.0, 1.0) for f in (special.elliprf, special.elliprg)),
    case(special.elliprd, positive(2, 3), positive(3), uniform(3, 4, 2, 1)),
    case(special.elliprd, 0.5, 1.0, 2.0),
    case(special.elliprj, positive(2, 3), positive(3), positive(2, 1), uniform(3, 4, 3)),
    case(special.elliprj, 0.5, 1.0, 2.0, 3.0),
]

CASES = [*CYLINDERS, *HYPERGEOMETRIC, *POLYNOMIALS, *ELLIPTIC]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)
