"""Every ufunc in every form of call: with keywords, and by its methods outer, reduce, accumulate and reduceat."""

import warnings

import numpy as np
import pytest

from adcompiler import check_gradient, gradient, non_differentiable, pullback, rrule, scalar_rule
from adcompiler.errors import MutationError, NoRuleError
from adcompiler.rules import registry
from adcompiler.rules.registry import all_rules, is_non_differentiable, lookup, refusal
from adcompiler.testing import Input, case, check_rule, complex_normal, distinct, normal, positive, unit

try:
    from scipy import special
except ImportError:
    special = None


@pytest.fixture(autouse=True)
def _restored(monkeypatch):
    """What a test registers is forgotten afterwards; not the rules of packages, which load once."""
    lookup(np.add)
    for name in ("_rules", "_non_differentiable", "_refused"):
        monkeypatch.setattr(registry, name, getattr(registry, name))


UFUNCS = list(dict.fromkeys(f for f in vars(np).values() if isinstance(f, np.ufunc)))
ELEMENTWISE = [f for f in UFUNCS if f.signature is None and lookup(f)]
UNARY = [f for f in ELEMENTWISE if f.nin == 1]
BINARY = [f for f in ELEMENTWISE if f.nin == 2]
FOLDED = (
    *(np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.fmax, np.fmin),
    *(np.logaddexp, np.logaddexp2, np.hypot),
)


def operands(ufunc, *shapes):
    """Makers of operands on which a ufunc is smooth."""
    special = {np.arccosh: lambda *n: Input(lambda rng: positive(*n).make(rng) + 1, f"above_one{n}")}
    bounded = (np.arcsin, np.arccos, np.arctanh)
    make = special.get(ufunc, unit if ufunc in bounded else positive)
    if ufunc is np.ldexp:
        return [make(*shapes[0]), np.array([1, 2, -1, 0, 2, 3])[: shapes[1][0] if shapes[1] else 1].reshape(shapes[1])]
    if ufunc.nin == 2:
        return [make(*shapes[0]), distinct(*shapes[1])]
    return [make(*shapes[0])]


def wrt(ufunc):
    """The arguments that are compared with differences; a step function has none that would show anything."""
    return {np.heaviside: (), np.nextafter: (), np.ldexp: (0,)}.get(ufunc, () if ufunc.nout > 1 else None)


WAYS = [
    {"axis": 1},
    {"axis": -1, "keepdims": True},
    {"axis": 0, "initial": 1.5},
    {"axis": 1, "initial": 0.7, "where": np.array([True, False, True, True])},
    {"axis": 0, "where": np.array([[[True]], [[False]]]), "initial": 2.25, "keepdims": True},
]
REORDERED = [{"axis": None}, {"axis": (0, 2), "keepdims": True}, {"axis": (2, 1), "initial": 1.5}]

CASES = [
    *(
        case(f, *operands(f, (2, 3), (3,)), dtype=float, wrt=wrt(f), id="dtype")
        for f in ELEMENTWISE
        if f is not np.frexp
    ),
    case(np.frexp, positive(2, 3), casting="safe", wrt=()),
    *(case(f.outer, *operands(f, (2, 3), (2,)), wrt=wrt(f), id="outer") for f in BINARY),
    *(case(f.outer, *operands(f, (), (2,)), wrt=wrt(f), id="outer of a number") for f in BINARY),
    *(case(f.reduce, distinct(2, 3, 4), **way) for f in FOLDED for way in WAYS),
    *(case(f.reduce, distinct(2, 3, 4), **way) for f in FOLDED[:1] + FOLDED[2:3] + FOLDED[4:] for way in REORDERED),
    *(case(f.accumulate, distinct(2, 3, 4), **way) for f in FOLDED for way in ({}, {"axis": 1}, {"axis": -1})),
    *(case(f.reduceat, distinct(2, 6), [0, 2, 3], axis=1, id="reduceat") for f in FOLDED),
    *(case(f.reduceat, distinct(6), [4, 0, 3, 1, 5], id="reduceat in any order") for f in FOLDED),
    *(case(f.reduce, complex_normal(2, 3), axis=1, initial=1.5) for f in (np.add, np.multiply, np.subtract)),
    *(case(f.accumulate, complex_normal(2, 3), axis=1) for f in (np.add, np.multiply, np.divide)),
    *(case(f.outer, complex_normal(2), normal(3)) for f in (np.multiply, np.divide, np.power)),
    case(np.multiply.reduce, np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0]]), axis=1, initial=2.0),
    case(np.multiply.reduceat, np.array([2.0, 0.0, 3.0, 0.0, 0.0, 1.0]), [0, 3]),
    case(np.add.reduce, normal(2, 3), dtype=float),
    case(np.add.reduce, complex_normal(2, 3), dtype=complex, initial=1.5),
    case(np.add.reduce, normal(), initial=2.5, id="of a number"),
    case(np.add.accumulate, normal(3), dtype=complex),
    case(np.add.reduceat, normal(3), [0, 1], dtype=complex),
    case(np.logaddexp.reduce, normal(0, 3), axis=0, initial=0.5, id="of nothing"),
    case(np.add, normal(3), normal(3), dtype=complex, id="complex dtype"),
    case(np.exp, normal(3), dtype=np.complex128, casting="safe", order="C", subok=False),
    case(np.absolute, complex_normal(3), dtype=float, id="absolute with a dtype"),
    case(np.power, positive(3), 2, dtype=float),
    case(np.multiply, 1.5, 2.5, dtype=float, id="numbers"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


# where=


@pytest.mark.filterwarnings("ignore:'where' used without 'out'")
@pytest.mark.parametrize("ufunc", [f for f in ELEMENTWISE if wrt(f) is None], ids=lambda f: f.__name__)
@pytest.mark.parametrize("mask", [np.array([True, False, True]), np.array([[True], [False]]), True, False])
def test_where(ufunc, mask):
    """Inside a compiled function, against differences of the entries that are computed."""
    args = [x.make(np.random.default_rng(n)) for n, x in enumerate(operands(ufunc, (2, 3), (3,)))]
    weights = np.random.default_rng(3).standard_normal((2, 3))

    def f(*args):
        return np.sum(np.where(mask, ufunc(*args, where=mask), 0) * weights)

    check_gradient(f, *args)


def quiet(f, *args, y_bar=None):
    """The cotangents of `f(*args)`, with warnings of its pullback as errors."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y, back = pullback(f, *args)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return back(np.ones_like(y) if y_bar is None else y_bar)


@pytest.mark.parametrize(("ufunc", "bad"), [(np.log, 0.0), (np.log, -1.0), (np.arcsin, 2.0), (np.tanh, np.nan)])
def test_entries_under_a_false_mask(ufunc, bad):
    """They are exactly 0 whatever is there, and whatever their cotangent is."""
    x = np.array([0.5, bad])
    for y_bar in (np.ones(2), np.array([1.0, np.inf]), np.array([1.0, np.nan])):
        (x_bar,) = quiet(lambda x: ufunc(x, where=np.array([True, False])), x, y_bar=y_bar)
        expected = gradient(lambda x: ufunc(x))(0.5)
        np.testing.assert_array_equal(x_bar, [expected, 0.0])


def test_masks_broadcast():
    """A mask may be larger than the operands, and an operand larger than the mask."""
    mask = np.array([[True, False], [True, True]])
    x_bar, y_bar = quiet(lambda x, y: np.multiply(x, y, where=mask), np.array([2.0, 3.0]), 5.0)
    np.testing.assert_array_equal(x_bar, [10.0, 5.0])
    assert y_bar == 7.0
    (x_bar,) = quiet(lambda x: np.multiply(x, 2.0, where=[True, False]), np.ones((3, 2)))
    np.testing.assert_array_equal(x_bar, [[2.0, 0.0]] * 3)


def test_results_of_two_arrays_under_a_mask():
    """The quotient of divmod has no cotangent, the parts of modf and frexp have."""
    mask = np.array([True, False])
    bars = quiet(
        lambda x, y: np.divmod(x, y, where=mask)[1], np.array([7.5, 7.5]), np.array([2.0, 0.0]), y_bar=np.ones(2)
    )
    np.testing.assert_array_equal(bars[0], [1.0, 0.0])
    np.testing.assert_array_equal(bars[1], [-3.0, 0.0])


def test_parts_of_numbers():
    """The fraction of modf moves with the number, and the mantissa of frexp."""
    x = np.array([1.3, -2.7, 11.2])
    weights = np.array([1.0, 2.0, 3.0])

    def parts(x):
        fraction, whole = np.modf(x)
        mantissa, exponent = np.frexp(x)
        return np.sum((fraction * 2 + whole + mantissa * 3 + exponent) * weights)

    check_gradient(parts, x)
    mask = np.array([True, False, True])
    x_bar = quiet(lambda x: np.modf(x, where=mask)[0] + np.frexp(x, where=mask, out=(None, None))[0], x)[0]
    np.testing.assert_allclose(x_bar, [1.5, 0.0, 1 + 1 / 16])


# Dtypes


@pytest.mark.parametrize("ufunc", [f for f in ELEMENTWISE if wrt(f) is None], ids=lambda f: f.__name__)
@pytest.mark.parametrize("given", [np.float16, np.float32, np.longdouble])
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_cotangents_have_the_dtype_of_the_argument(ufunc, given, dtype):
    """Whatever the loop computes with, and close to the cotangents of the plain call."""
    args = [x.make(np.random.default_rng(n)) for n, x in enumerate(operands(ufunc, (3,), (3,)))]
    plain = quiet(lambda *args: ufunc(*args), *args)
    narrow = [x.astype(given) for x in args]
    try:
        ufunc(*narrow, dtype=dtype)
    except TypeError:
        pytest.skip("there is no such loop")
    for f in (lambda *args: ufunc(*args, dtype=dtype), lambda *args: ufunc(*args)):
        for bar, expected in zip(quiet(f, *narrow), plain, strict=True):
            assert bar.dtype == given
            np.testing.assert_allclose(np.asarray(bar, float), expected, rtol=3e-2, atol=2e-2)


def test_complex_dtype_of_real_arguments():
    """The cotangent of a real argument is real: that of sqrt(-4) is Re((1 - i) conj(1 / 4i))."""
    x_bar, z_bar = quiet(
        lambda x, z: np.multiply(np.sqrt(x, dtype=complex), z), np.array([4.0, -4.0]), np.array([1 + 1j, 1 + 1j])
    )
    assert x_bar.dtype == float
    np.testing.assert_allclose(x_bar, [0.25, 0.25])
    np.testing.assert_allclose(z_bar, [2.0, -2j])


def test_integers_have_no_cotangent():
    """They are promoted as NumPy does, with a dtype too."""
    bars = quiet(lambda n, x: np.multiply(n, x, dtype=float), np.array([2, 3]), np.array([1.0, 2.0]))
    assert bars[0] is None
    np.testing.assert_array_equal(bars[1], [2.0, 3.0])


def test_numbers():
    """A division by zero is NumPy's, not Python's, whatever the numbers are."""
    for zero in (0.0, np.float64(0.0), np.array(0.0)):
        with np.errstate(all="ignore"):
            y, back = pullback(lambda x, y: np.divide(x, y, dtype=float), 1.0, zero)
        assert y == np.inf
        assert back(0.0) == (0.0, 0.0)
        assert back(1.0) == (np.inf, -np.inf)


# out=


def test_no_out():
    """None is nowhere."""
    x = np.ones(3)
    for f in (
        lambda x: np.add(x, x, None),
        lambda x: np.add(x, x, out=None),
        lambda x: np.add(x, x, out=(None,)),
        lambda x: np.add.outer(x, x, out=None)[0],
        lambda x: x + np.floor(x, out=None) + x,
        lambda x: np.add.reduce(x, out=None) * np.full(3, 2.0),
    ):
        assert gradient(lambda x: f(x)[0])(x)[0] >= 2.0  # noqa: B023


@pytest.mark.parametrize(
    "write",
    [
        lambda x, y: np.multiply(x, 2.0, y),
        lambda x, y: np.multiply(x, x, out=(y,)),
        lambda x, y: np.multiply(*(x, 2.0, y)),
        lambda x, y: np.multiply.outer(x, 2.0, out=y),
        lambda x, y: np.add.reduce(x, 0, None, y[:1].reshape(())),
        lambda x, y: np.add.accumulate(x, 0, None, y),
        lambda x, y: np.add.reduceat(x, [0, 1, 2], 0, None, y),
        lambda x, y: np.logical_or.accumulate(x, 0, None, y),
        lambda x, y: np.floor(x, y),
    ],
)
def test_out(write):
    """The buffer and the result of the call are one array, whichever of them is read."""

    def buffer(x):
        y = x * 3.0
        write(x, y)
        return np.sum(y * y)

    def result(x):
        y = x * 3.0
        return np.sum(write(x, y) * y)

    x = np.array([0.3, -0.7, 1.2])
    check_gradient(buffer, x)
    check_gradient(result, x)


# Methods


def test_operations_without_derivative_have_none_in_any_form():
    """Their results are constants."""
    x = np.array([1.5, 2.0])
    methods = [
        lambda x: np.logical_and.reduce(x),
        lambda x: np.logical_or.accumulate(x),
        lambda x: np.floor_divide.outer(x, x),
        lambda x: np.greater.outer(x, x),
        lambda x: np.logical_xor.reduceat(x, [0, 1]),
        lambda x: np.bitwise_or.reduce(np.int64(x)),
        lambda x: np.floor(x, where=[True, True], dtype=float, out=None),
        lambda x: np.isfinite(x, where=True),
    ]
    for method in methods:
        value = np.sum(method(x))
        np.testing.assert_array_equal(gradient(lambda x: np.sum(x) * np.sum(method(x)))(x), [value, value])  # noqa: B023


def test_every_ufunc_is_dealt_with():
    """By a rule, or the declaration that there is no derivative; string functions and generalised ufuncs apart."""
    left = [f for f in UFUNCS if f.signature is None and not lookup(f) and is_non_differentiable(f) is None]
    assert left == []
    for ufunc in UFUNCS:
        if ufunc.signature is None and ufunc.nin == 2 and ufunc.nout == 1:
            for method in (ufunc.outer, ufunc.reduce, ufunc.accumulate, ufunc.reduceat):
                assert lookup(method) or is_non_differentiable(method) or refusal(method)


def test_folds_that_are_refused():
    """NumPy itself computes some of them wrongly."""
    for f in (
        lambda x: np.power.reduce(x),
        lambda x: np.sum(np.arctan2.accumulate(x)),
        lambda x: np.sum(np.fmod.reduceat(x, [0])),
    ):
        with pytest.raises(NoRuleError, match="as a loop"):
            gradient(f)(np.array([1.5, 2.0]))


def test_at():
    """Of sums it is linear; of all others it is refused."""

    def added(x):
        y = np.zeros(3)
        np.add.at(y, [0, 0], x)
        return np.sum(y * y)

    def multiplied(x):
        y = np.ones(3)
        np.multiply.at(y, [0, 0], x)
        return np.sum(y)

    check_gradient(added, np.array([0.5, 2.0]))
    with pytest.raises(MutationError, match="again wherever an element is named again"):
        gradient(multiplied)(np.ones(2))


def test_ties_of_a_reduction():
    """Equal extremes have equal shares, the initial value too; entries under a mask have none."""
    for reduce in (np.maximum.reduce, np.minimum.reduce, np.fmax.reduce, np.fmin.reduce):
        x = np.full(4, 2.0)
        mask = np.array([True, True, True, False])
        x_bar, initial_bar = quiet(lambda x, a: reduce(x, initial=a, where=mask), x, 2.0, y_bar=4.0)  # noqa: B023
        np.testing.assert_array_equal(x_bar, [1.0, 1.0, 1.0, 0.0])
        assert initial_bar == 1.0


@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_ties_of_a_running_extremum(ufunc):
    """Each value is shared by the entries so far that attain it."""
    sign = 1.0 if ufunc in (np.maximum, np.fmax) else -1.0
    x = sign * np.array([[1.0, 1.0, 0.0, 3.0, 3.0, 3.0], [0.0, 1.0, 2.0, 3.0, 4.0, 4.0]])
    y_bar = np.array([[1.0, 2.0, 4.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
    (x_bar,) = quiet(lambda x: ufunc.accumulate(x, axis=1), x, y_bar=y_bar)
    expected = [[1 + 1 + 2, 1 + 2, 0.0, 1 + 1 + 1, 1 + 1, 1.0], [1.0, 2.0, 3.0, 4.0, 5 + 3, 3.0]]
    np.testing.assert_allclose(x_bar, expected)
    (x_bar,) = quiet(lambda x: ufunc.reduceat(x, [0, 3, 1], axis=1), x, y_bar=np.array([[2.0, 3.0, 6.0]] * 2))
    expected = [[1.0, 1.0, 0.0, 3.0 + 2.0, 2.0, 2.0], [0.0, 0.0, 2.0, 3.0, 3.0, 3.0]]
    np.testing.assert_allclose(x_bar, expected)


def test_missing_values_in_a_running_extremum():
    """maximum stays with the first nan, fmax passes over it."""
    x = np.array([np.nan, 1.0, 2.0])
    np.testing.assert_array_equal(quiet(lambda x: np.maximum.accumulate(x), x)[0], [3.0, 0.0, 0.0])
    np.testing.assert_array_equal(quiet(lambda x: np.fmax.accumulate(x), x)[0], [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(quiet(lambda x: np.fmax.reduce(x), x, y_bar=1.0)[0], [0.0, 0.0, 1.0])


def test_infinite_sums_of_exponentials():
    """The shares add up to 1."""
    for x, expected in (
        ([-np.inf, -np.inf], [0.5, 0.5]),
        ([np.inf, 1.0, np.inf], [0.5, 0.0, 0.5]),
        ([-np.inf, 1.0], [0.0, 1.0]),
        ([1000.0, -1000.0], [1.0, 0.0]),
    ):
        np.testing.assert_array_equal(quiet(lambda x: np.logaddexp.reduce(x), np.array(x), y_bar=1.0)[0], expected)


def test_reductions_of_nothing():
    """The value is the initial one, which gets the whole cotangent."""
    for ufunc in (np.add, np.subtract, np.multiply, np.maximum, np.hypot, np.logaddexp):
        x_bar, initial_bar = quiet(lambda x, a: ufunc.reduce(x, initial=a), np.zeros((0, 2)), 2.0)  # noqa: B023
        assert x_bar.shape == (0, 2)
        assert initial_bar == 2.0


def test_zeros_in_a_product():
    """The derivative at a zero is the product of the others."""
    x = np.array([2.0, 0.0, 3.0, 0.0, 0.0])
    np.testing.assert_array_equal(quiet(lambda x: np.multiply.reduceat(x, [0, 3]), x)[0], [0.0, 6.0, 0.0, 0.0, 0.0])
    mask = np.array([True, True, True, False, False])
    (x_bar,) = quiet(lambda x: np.multiply.reduce(x, where=mask, initial=2.0), x, y_bar=1.0)
    np.testing.assert_array_equal(x_bar, [0.0, 12.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(quiet(lambda x: np.multiply.accumulate(x), x)[0], [1.0, 8.0, 0.0, 0.0, 0.0])


def test_lists():
    """NumPy takes them for arrays."""
    mask = [True, False]
    np.testing.assert_allclose(gradient(lambda x: np.sum(np.exp([x[0], x[1]], dtype=float)))(np.zeros(2)), [1.0, 1.0])
    assert gradient(lambda x: np.add.reduce([x, 2.0], initial=1.0))(1.5) == 1.0
    assert gradient(lambda x: np.sum(np.add.outer([x, 2.0], [x, x])))(1.5) == 6.0
    assert gradient(lambda x: np.sum(np.maximum.accumulate([x, 1.0])))(1.5) == 2.0
    (x_bar,) = quiet(lambda x: np.add.reduce(x, where=mask), np.ones(2), y_bar=1.0)
    np.testing.assert_array_equal(x_bar, [1.0, 0.0])


def test_a_ufunc_that_is_known_at_run_time_only():
    """The same rules."""

    def f(x, ufunc):
        return np.sum(ufunc(x, x, dtype=float)) + np.sum(ufunc.outer(x, x)) + ufunc.reduce(x, initial=1.0)

    for ufunc in (np.add, np.multiply, np.maximum):
        check_gradient(lambda x: f(x, ufunc), np.array([0.5, 1.5]))  # noqa: B023


# Ufuncs of others


def new_ufunc(name):
    """A ufunc without built-in rule, and without the rules of an earlier test."""
    if special is None:
        pytest.skip("there is no SciPy")
    ufunc = getattr(special, name)
    if lookup(ufunc):
        pytest.skip("it has a built-in rule")
    return ufunc


def test_a_ufunc_of_somebody_else():
    """Three lines for all forms of call."""
    cosm1 = new_ufunc("cosm1")
    with pytest.raises(NoRuleError, match=r"scalar_rule\(.*, lambda x: \.\.\.\)"):
        gradient(lambda x: cosm1(x))(0.5)
    scalar_rule(cosm1, lambda x: -np.sin(x))
    x = np.array([0.5, -0.7])
    check_gradient(lambda x: np.sum(cosm1(x)), x)
    check_gradient(lambda x: np.sum(cosm1(x, dtype=float, out=None)), x)
    check_gradient(lambda x: np.sum(np.where(x > 0, cosm1(x, where=x > 0, out=None), 0)), x)
    assert gradient(lambda x: np.sum(cosm1(x, dtype=float)))(x.astype(np.float32)).dtype == np.float32


def test_a_ufunc_of_two_arguments_of_somebody_else():
    """outer goes by the rule of the call."""
    boxcox = new_ufunc("boxcox1p")
    with pytest.raises(NoRuleError, match=r"lambda x1, x2: \.\.\., lambda x1, x2"):
        gradient(lambda x: boxcox(x, 1.0))(0.5)
    with pytest.raises(NoRuleError, match="scalar_rule"):
        gradient(lambda x: np.sum(boxcox.outer(x, x)))(np.ones(2))
    scalar_rule(
        boxcox,
        lambda x, lam: (1 + x) ** (lam - 1),
        lambda x, lam: ((1 + x) ** lam * (lam * np.log1p(x) - 1) + 1) / lam**2,
    )
    x, lam = np.array([0.5, 1.5]), np.array([1.5, 2.0, 0.5])
    check_gradient(lambda x, lam: np.sum(boxcox.outer(x, lam, dtype=float)), x, lam)
    check_gradient(lambda x, lam: np.sum(boxcox(x, lam[:2], where=True)), x, lam)
    with pytest.raises(NoRuleError, match="as a loop"):
        gradient(lambda x: boxcox.reduce(x))(x)


def test_a_ufunc_of_three_arguments_of_somebody_else():
    """It has no methods, and the same keywords."""
    voigt = new_ufunc("voigt_profile")

    def slope(i):
        """The partial by central differences: it is the call that is tested."""
        step = 1e-6 * np.eye(3)[i]
        return lambda *x: (voigt(*(x + step)) - voigt(*(x - step))) / 2e-6

    x_slope, sigma_slope, gamma_slope = map(slope, range(3))
    scalar_rule(
        voigt,
        lambda x, sigma, gamma: x_slope(x, sigma, gamma),
        lambda x, sigma, gamma: sigma_slope(x, sigma, gamma),
        lambda x, sigma, gamma: gamma_slope(x, sigma, gamma),
    )
    check_gradient(lambda x, s, g: voigt(x, s, g, where=True, dtype=float), 0.3, 1.2, 0.7, rtol=1e-4)


def test_a_derivative_for_a_ufunc_without_one():
    """Straight through in every form of call; what there is no rule for is not taken as constant."""
    rrule(np.floor_divide)(lambda a, b: (np.floor_divide(a, b), lambda y_bar: (y_bar / b, np.zeros(np.shape(b)))))
    x = np.array([1.5, 2.5])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(np.floor_divide(x, 2.0)))(x), [0.5, 0.5])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(np.floor_divide(x, 2.0, dtype=float)))(x), [0.5, 0.5])
    with pytest.raises(NoRuleError):
        gradient(lambda x: np.sum(np.floor_divide.outer(x, x)))(x)


def test_a_rule_of_the_user_serves_all_forms():
    """It comes before the built-in one with keywords too."""
    rrule(np.rint)(lambda x: (np.rint(x), lambda y_bar: (3 * y_bar,)))
    assert gradient(lambda x: np.rint(x, dtype=float))(0.3) == 3.0
    rrule(np.tanh)(lambda x: (np.tanh(x), lambda y_bar: (5 * y_bar,)))
    assert gradient(lambda x: np.tanh(x, dtype=float))(0.3) == 5.0
    non_differentiable(np.tanh)
    assert gradient(lambda x: np.tanh(x, dtype=float) * x)(0.3) == np.tanh(0.3)


def test_a_ufunc_made_of_python_functions():
    """It gives arrays of objects, and calls Python for each."""
    f = np.frompyfunc(lambda x: x * x, 1, 1)
    with pytest.raises(NoRuleError, match=r"np\.frompyfunc calls Python once for each number"):
        gradient(lambda x: np.sum(f(x)))(np.ones(2))


def test_built_in_general_rules_come_last():
    """The plain call is inlined as it was."""
    for ufunc in ELEMENTWISE:
        first, *_, last = lookup(ufunc)
        assert "dtype" in last.signature.parameters
        assert "dtype" not in first.signature.parameters
    assert all(rule.builtin for rule in all_rules() if rule.kind == "ufunc")
