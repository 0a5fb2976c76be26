"""Functions of scipy.special of one subject after another: error, gamma and elementary functions, distributions."""

import numpy as np
import pytest
from scipy import special

from adcompiler.testing import case, check_rule, complex_normal, normal, positive, uniform, unit

EVERYWHERE = (
    *(special.erf, special.erfc, special.erfcx, special.erfi, special.dawsn, special.wofz, special.ndtr),
    *(special.log_ndtr, special.fresnel, special.exprel, special.expit),
    *(special.log_expit, special.exp10, special.exp2, special.expm1, special.cosm1, special.sindg, special.cosdg),
    *(special.wrightomega, special.tandg),
)
OF_POSITIVE = (
    *(special.gamma, special.gammaln, special.loggamma, special.rgamma, special.psi, special.factorial),
    *(special.expi, special.exp1, special.sici, special.shichi, special.spence, special.entr, special.log1p),
    *(special.kolmogorov, special.cbrt, special.lambertw, special.modfresnelp, special.modfresnelm),
)
OF_PROBABILITY = (special.erfcinv, special.ndtri, special.logit, special.kolmogi)
OF_TWO_POSITIVE = (
    *(special.beta, special.betaln, special.poch, special.xlogy, special.xlog1py, special.rel_entr, special.kl_div),
    *(special.huber, special.pseudo_huber, special.powm1, special.boxcox, special.boxcox1p, special.inv_boxcox),
    *(special.inv_boxcox1p, special.owens_t),
)
COMPLEX = (
    *(special.erf, special.erfc, special.erfcx, special.erfi, special.dawsn, special.wofz, special.fresnel),
    *(special.gamma, special.loggamma, special.rgamma, special.psi, special.exp1, special.expi, special.sici),
    *(special.shichi, special.spence, special.expm1, special.log1p, special.wrightomega, special.lambertw),
    *(special.ndtr, special.log_ndtr),
)
PROBABILITY = uniform(0.1, 0.9, 2, 3)
INCOMPLETE = (special.gammainc, special.gammaincc, special.chdtr, special.chdtrc, special.pdtr, special.pdtrc)
INVERSE = (special.gammaincinv, special.gammainccinv, special.chdtri, special.stdtrit, special.pdtri)
OF_TWO_SHAPES = (special.betainc, special.bdtr, special.bdtrc, special.nbdtr, special.nbdtrc, special.bdtri)
MORE_OF_TWO_SHAPES = (special.nbdtri, special.betaincinv, special.fdtri)

GAMMA = [
    *(case(special.polygamma, n, x) for n in (0, 1, 2) for x in (positive(2, 3), 1.5)),
    case(special.polygamma, np.array([[0], [2]]), positive(3), id="orders that broadcast"),
    case(special.psi, np.array([-0.3, -2.6]), id="negative"),
    case(special.gamma, np.array([-0.3, -2.6]), id="negative"),
    case(special.rgamma, np.array([-3.0, -0.3, 0.0, -1.0, 2.0]), id="at poles of gamma"),
    case(special.psi, np.array([-3.3 + 0.2j, 20 + 3j, 0.3 - 40j]), id="far from the origin"),
    *(case(special.multigammaln, x, 3) for x in (uniform(1.5, 3.0, 2, 3), 2.5)),
    case(special.binom, uniform(3.0, 5.0, 2, 3), uniform(1.0, 2.5, 3)),
    *(case(special.binom, x, y) for x, y in ((2.0, 4.0), (3.0, 4.0), (2.5, -2.0), (0.5, 1.5), (1.5, 3.5))),
    *(case(f, uniform(3.0, 5.0, 2, 3), uniform(1.0, 2.5, 3)) for f in (special.comb, special.perm)),
    *(case(special.comb, 5.5, x) for x in (2.0, -1.0, 7.0)),
    case(special.zeta, 3, positive(2, 3)),
    case(special.wright_bessel, 1, 2, positive(2, 3)),
]
if hasattr(special, "log_wright_bessel"):
    GAMMA.append(case(special.log_wright_bessel, 1, 2, positive(2, 3)))
if hasattr(special, "betaincc"):
    GAMMA += [case(f, 2, 3, PROBABILITY) for f in (special.betaincc, special.betainccinv)]

ELEMENTARY = [
    *(case(special.diric, x, n) for x in (normal(2, 3), 0.3) for n in (1, 2, 5)),
    case(special.diric, np.array([1e-3, -1e-2, 6.283, 6.3, 12.57]), 4, id="near multiples of a turn"),
    case(special.radian, positive(2, 3), positive(3), positive(2, 1)),
    case(special.cotdg, uniform(20, 70, 2, 3)),
    case(special.xlogy, complex_normal(2, 3), complex_normal(3)),
    case(special.xlog1py, complex_normal(2, 3), complex_normal(3)),
    *(case(f, positive(2, 3), x) for f in (special.boxcox, special.boxcox1p) for x in (0.0, -0.5, 1e-9, 2.0)),
    *(case(f, positive(2, 3), x) for f in (special.inv_boxcox, special.inv_boxcox1p) for x in (1e-4, 0.5, 1.0)),
    case(special.huber, positive(2, 1), 3 * np.linspace(-1.0, 1.1, 4), id="both sides"),
    case(special.pseudo_huber, positive(2, 1), normal(4)),
    case(special.exprel, np.array([-30.0, -0.71, -0.69, 1e-9, 0.69, 0.71, 30.0]), id="near 0 and far"),
    case(special.lambertw, uniform(-0.3, -0.1, 2, 3), -1, id="lower branch", real_only=True),
    case(special.lambertw, 0.0, id="origin"),
    case(special.voigt_profile, normal(2, 3), positive(3), positive(2, 1)),
    case(special.erfinv, unit(2, 3)),
    case(special.ndtri_exp, uniform(-3.0, -0.1, 2, 3)),
    *(case(special.expn, n, x) for n in (0, 1, 3) for x in (positive(2, 3), 0.7)),
]
if hasattr(special, "softplus"):
    ELEMENTARY += [case(special.softplus, x) for x in (normal(2, 3), 0.3)]

DISTRIBUTIONS = [
    *(case(f, 3, positive(2, 3)) for f in INCOMPLETE),
    *(case(f, 3, 0.7, id="float") for f in (special.gammainc, special.pdtr)),
    *(case(f, 2, PROBABILITY) for f in INVERSE),
    *(case(f, 2, 5, PROBABILITY) for f in OF_TWO_SHAPES),
    *(case(f, 3, 4, PROBABILITY) for f in MORE_OF_TWO_SHAPES),
    *(case(f, 3, 4, positive(2, 3)) for f in (special.fdtr, special.fdtrc)),
    case(special.bdtr, 5, 5, PROBABILITY, id="all trials"),
    case(special.stdtr, 3, normal(2, 3)),
    case(special.chndtr, positive(2, 3), 3, positive(3)),
    case(special.chndtrix, PROBABILITY, 3, positive(3)),
    case(special.chndtrinc, uniform(2.0, 3.0, 2, 3), 3, uniform(0.1, 0.3, 3)),
    *(case(f, positive(2, 3), 3, positive(3)) for f in (special.gdtr, special.gdtrc)),
    case(special.gdtria, PROBABILITY, 3, positive(3)),
    case(special.gdtrix, positive(3), 3, PROBABILITY),
    case(special.nrdtrimn, PROBABILITY, positive(3), normal(3)),
    case(special.nrdtrisd, normal(3), uniform(0.6, 0.9, 2, 3), uniform(3, 4, 3)),
    case(special.tklmbda, uniform(-0.5, 0.5, 2, 3), 2),
    case(special.tklmbda, uniform(-0.5, 0.5, 2, 3), -1),
]

CASES = [
    *(case(f, x) for f in EVERYWHERE for x in (normal(2, 3), 0.7)),
    *(case(f, x) for f in OF_POSITIVE for x in (positive(2, 3), 0.7)),
    *(case(f, PROBABILITY) for f in OF_PROBABILITY),
    *(case(f, positive(2, 3), positive(3)) for f in OF_TWO_POSITIVE),
    *(case(f, 0.7, 1.3, id="floats") for f in OF_TWO_POSITIVE),
    *(case(f, complex_normal(2, 3)) for f in COMPLEX),
    *(case(f.outer, positive(2, 2), positive(3)) for f in (special.beta, special.xlogy)),
    case(special.gammainc.outer, 2, positive(3)),
    *GAMMA,
    *ELEMENTARY,
    *DISTRIBUTIONS,
]


@pytest.mark.filterwarnings("ignore:non-integer arg n")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)
