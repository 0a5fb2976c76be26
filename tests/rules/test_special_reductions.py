"""scipy.special at its singular points, in compiled functions, and what it sums; the table of its coverage."""

import warnings

import numpy as np
import pytest
from scipy import special

from adcompiler import NoRuleError, gradient, pullback
from adcompiler.coverage import UNKNOWN, coverage
from adcompiler.rules.registry import lookup
from adcompiler.testing import case, check_gradient, check_rule, complex_normal, normal, positive

SIGNED = np.array([[1.0, -1.0, 3.0], [-2.0, 0.5, 0.0]])

CASES = [
    *(case(special.logsumexp, x) for x in (normal(2, 3), complex_normal(3))),
    *(case(special.logsumexp, normal(2, 3), axis) for axis in (0, -1, (0, 1), None)),
    case(special.logsumexp, normal(2, 3), axis=1, keepdims=True),
    case(special.logsumexp, normal(2, 3), 1, positive(3)),
    case(special.logsumexp, normal(3), None, normal(2, 3), True, True, id="weights that broadcast", real_only=True),
    case(special.logsumexp, normal(2, 3), axis=0, b=SIGNED, return_sign=True, real_only=True),
    case(special.logsumexp, complex_normal(2, 3), axis=0, b=complex_normal(2, 1)),
    *(case(f, x) for f in (special.softmax, special.log_softmax) for x in (normal(2, 3), complex_normal(3))),
    *(case(f, normal(2, 3), axis) for f in (special.softmax, special.log_softmax) for axis in (0, -1, (0, 1))),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def called(function, args, needs):
    """The first rule of a function, called."""
    rule = lookup(function)[0]
    return rule.function(*args, needs=needs) if rule.options else rule.function(*args)


def slope(function, *args):
    """The gradient of the sum of ``function(*args)`` in the last argument, with warnings as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, back = called(function, args, (False,) * (len(args) - 1) + (True,))
        return back(np.ones(np.shape(args[-1]))[()])[-1]


def bars(function, *args, y_bar=0.0):
    """All cotangents of one call, with warnings as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, back = called(function, args, (True,) * len(args))
        return back(y_bar)


def test_saturated_values():
    """Far out the derivative is what it should be: exactly 0 where it underflows, and never nan."""
    np.testing.assert_array_equal(slope(special.erf, np.array([-40.0, 40.0, 1e200])), 0.0)
    np.testing.assert_array_equal(slope(special.expit, np.array([-800.0, 800.0])), 0.0)
    np.testing.assert_allclose(slope(special.expit, np.array([40.0])), np.exp(-40.0), rtol=1e-12)
    np.testing.assert_array_equal(slope(special.log_expit, np.array([-800.0, 800.0])), [1.0, 0.0])
    np.testing.assert_allclose(slope(special.log_ndtr, np.array([-1e6, 40.0])), [1e6, 0.0], rtol=1e-9)
    np.testing.assert_allclose(slope(special.ndtri_exp, np.array([-5e5])), [1e-3], rtol=1e-4)
    np.testing.assert_array_equal(slope(special.bdtr, 5, 5, np.array([0.0, 0.5, 1.0])), 0.0)


@pytest.mark.parametrize(
    "call",
    [
        *((f, (0.0, 0.0)) for f in (special.xlogy, special.rel_entr, special.kl_div, special.pseudo_huber)),
        *((f, (0.0,)) for f in (special.entr, special.logit, special.k0, special.expi, special.psi, special.ndtri)),
        *((f, (1.0,)) for f in (special.erfinv, special.ellipk, special.logit)),
        *((f, (800.0,)) for f in (special.gamma, special.expm1, special.exp2, special.i0)),
        (special.boxcox, (0.0, 0.0)),
        (special.gammainc, (1, 0.0)),
        (special.betaincinv, (2, 3, 0.0)),
    ],
    ids=str,
)
def test_zero_cotangents_stay_zero(call):
    """`where(good, f(x), 0)` has gradient 0 where the derivative of f is infinite or nan."""
    function, args = call
    assert all(bar is None or bar == 0 for bar in bars(function, *args))


def test_conventions_at_zero():
    """0 log 0 is 0: the other argument has no influence there, and the own derivative is one-sided."""
    assert bars(special.xlogy, 0.0, 2.0, y_bar=1.0) == (np.log(2.0), 0.0)
    assert bars(special.xlogy, 0.0, 0.0, y_bar=1.0) == (-np.inf, 0.0)
    assert bars(special.entr, 0.0, y_bar=1.0) == (np.inf,)
    assert bars(special.kl_div, 0.0, 2.0, y_bar=1.0) == (-np.inf, 1.0)
    assert bars(special.huber, 1.0, 1.0, y_bar=1.0) == (0.0, 1.0)
    assert bars(special.boxcox, 0.0, 2.0, y_bar=1.0) == (0.0, 0.25)


def test_logsumexp_of_nothing():
    """exp(-inf) has no weight, also where the whole sum is 0."""
    x = np.array([[-np.inf, 0.0, 0.0], [-np.inf, -np.inf, -np.inf]])
    x_bar = gradient(lambda x: np.sum(np.where(np.isfinite(special.logsumexp(x, 1)), special.logsumexp(x, 1), 0.0)))(x)
    np.testing.assert_allclose(x_bar, [[0.0, 0.5, 0.5], [0.0, 0.0, 0.0]], atol=1e-15)
    np.testing.assert_array_equal(gradient(lambda x: special.logsumexp(x))(np.array([1000.0, 0.0])), [1.0, 0.0])


def test_removable_singularities():
    """Where a formula is 0/0 the derivative is its limit."""
    assert abs(slope(special.ellipk, 0.0) - np.pi / 8) < 1e-15
    assert abs(slope(special.ellipe, 0.0) + np.pi / 8) < 1e-15
    assert slope(special.exprel, 0.0) == 0.5
    assert slope(special.spence, 1.0) == -1.0
    assert slope(special.j1, 0.0) == slope(special.i1, 0.0) == 0.5
    assert slope(special.beip, 0.0) == 0.5
    assert slope(special.lambertw, 0.0, 0, 1e-8) is None  # a whole number and a tolerance
    assert bars(special.agm, 1.0, 1.0, y_bar=1.0) == pytest.approx((0.5, 0.5), rel=1e-14)


def test_inside_compiled_functions():
    """Positional calls, constants among the parameters, several results, masks."""
    x, w = np.array([0.3, 0.7, 1.9]), np.array([1.0, -2.0, 0.5])
    check_gradient(lambda x: np.sum(special.gammainc(2.5, x) * w), x)
    check_gradient(lambda x: np.sum(special.erf(x) * w) + special.erf(x[0]), x)
    check_gradient(lambda x: np.sum(special.airy(x)[0] * w) + np.sum(special.fresnel(x)[1]), x)
    check_gradient(lambda x: np.sum(special.jv(1.5, x, out=None, where=x > 0.5)[1:] * w[1:]), x)
    check_gradient(lambda x: special.logsumexp(a=x, b=x * x, axis=0), x)
    check_gradient(lambda x: np.sum(special.softmax(x, axis=-1) * w), x)
    check_gradient(lambda x, y: np.sum(special.beta.outer(x, y)), x, w[[0, 2]])


@pytest.mark.skipif(not hasattr(special, "legendre_p"), reason="new in SciPy 1.15")
def test_functions_that_are_objects():
    """By the name of the module, where the function is known, and by a name of its own, where only its class is."""
    legendre, harmonic, x = special.legendre_p, special.sph_harm_y, np.array([0.3, -0.7])
    check_gradient(lambda x: np.sum(special.legendre_p(3, x, diff_n=1) ** 2), x)
    check_gradient(lambda x: np.sum(legendre(3, x, diff_n=1) ** 2), x)
    check_gradient(lambda x: np.sum(np.abs(harmonic(2, 1, x, x) + 0.1) ** 2), x)
    with pytest.raises(NoRuleError, match="diff_n"):
        gradient(lambda x: np.real(harmonic(2, 1, x, x, diff_n=1)[0]))(0.3)


@pytest.mark.parametrize("function", [special.jv, special.gammainc, special.stdtr, special.eval_legendre])
def test_parameters_without_closed_form(function):
    """An active order or shape is refused by name; a constant one is not."""
    with pytest.raises(NoRuleError, match="has no derivative in"):
        gradient(lambda v: function(v, 0.5))(1.5)
    assert isinstance(gradient(lambda x: function(1.5, x))(0.5), float)


def test_refusals():
    """What is refused says why."""
    for call in (special.zetac, lambda x: special.nctdtr(x, 1.0, 0.5), lambda x: special.smirnov(3, x)):
        with pytest.raises(NoRuleError):
            gradient(lambda x, call=call: call(x))(0.5)
    with pytest.raises(NoRuleError, match="phase"):
        pullback(lambda z: special.logsumexp(z, return_sign=True)[0], np.array([1j, 2.0]))


def test_close_arguments_of_carlson_integrals():
    """Where the closed form has lost all digits the derivative is nan, not wrong."""
    assert np.isnan(gradient(lambda x: special.elliprd(x, 2.0, 1.0))(1.0))


def test_single_precision():
    """float32 stays float32."""
    x = np.array([0.3, 0.7], np.float32)
    for f in (special.erf, special.psi, special.gammaln, special.exprel, special.j1, special.ellipk):
        assert gradient(lambda x, f=f: np.sum(f(x)))(x).dtype == np.float32


def test_everything_is_decided():
    """Every public function has a rule, or is said to have no derivative, or is refused with a reason."""
    assert [] == [entry.name for entry in coverage(special) if entry.how == UNKNOWN]
