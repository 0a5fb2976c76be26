"""The checks themselves: right rules pass, and each kind of fault is found and named."""

import sys
import types
from dataclasses import dataclass

import numpy as np
import pytest

from adcompiler import testing
from adcompiler.rules import registry
from adcompiler.rules.registry import rrule
from adcompiler.runtime.shapes import conj, fit, shape
from adcompiler.testing import (
    booleans,
    case,
    check_gradient,
    check_rule,
    complex_normal,
    distinct,
    integers,
    nonzero,
    normal,
    positive,
    positive_definite,
    uniform,
    unit,
)


@pytest.fixture(autouse=True)
def _restored(monkeypatch):
    """What a test registers is forgotten afterwards."""
    monkeypatch.setattr(registry, "_rules", registry._rules)


def scaled(x, n=2):
    """The function whose rules are tested here."""
    return n * x


def scaled_rule(x, n=2):
    """A right rule for it."""
    x_shape = shape(x)
    return n * x, lambda y_bar: (fit(y_bar * n, x_shape), None)


@pytest.mark.parametrize(
    ("maker", "low", "high"),
    [
        (normal(2, 3), -10, 10),
        (uniform(1.0, 3.0, 2, 3), 1, 3),
        (positive(2, 3), 0.5, 2),
        (unit(2, 3), -0.9, 0.9),
        (nonzero(2, 3), -2, 2),
        (distinct(2, 3), -1, 1),
        (integers(0, 4, 2, 3), 0, 3),
        (booleans(2, 3), 0, 1),
    ],
    ids=repr,
)
def test_makers_make_arrays_in_their_range(maker, low, high):
    """A maker gives the shape it was asked for, within its bounds."""
    x = maker.make(np.random.default_rng(0))
    assert (2, 3) == x.shape
    assert low <= x.min()
    assert x.max() <= high


def test_makers_have_their_special_properties():
    """Distinct numbers are apart, masks have a true entry, definite matrices positive eigenvalues, dtypes are kept."""
    rng = np.random.default_rng(0)
    assert np.diff(np.sort(distinct(10).make(rng))).min() > 0.1
    assert booleans(3).make(rng)[0]
    np.testing.assert_allclose([1.0, 2.0, 3.0], np.linalg.eigvalsh(positive_definite(3).make(rng)))
    assert np.complex64 == complex_normal(2, dtype=np.complex64).make(rng).dtype
    assert np.float32 == normal(2, dtype=np.float32).make(rng).dtype


def test_cases_make_the_same_fresh_inputs_every_time():
    """Two runs see equal numbers in different arrays, and two makers in one case different numbers."""
    the_case = case(np.add, [normal(2), normal(2)], {"a": np.ones(2)}, 1.5, out=(normal(2), "text"))
    (args, kwargs), (again, _) = the_case.inputs(), the_case.inputs()
    np.testing.assert_array_equal(args[0][0], again[0][0])
    assert args[0][0] is not again[0][0]
    assert args[1]["a"] is not again[1]["a"]
    assert not np.array_equal(args[0][0], args[0][1])
    assert "text" == kwargs["out"][1]


def test_cases_name_themselves():
    """The name of a case in a test report is its call, or the given id."""
    assert "numpy.sum(normal(2, 3), axis=0)" == str(case(np.sum, normal(2, 3), axis=0))
    assert "numpy.sum: rows" == str(case(np.sum, normal(2, 3), id="rows"))


@pytest.mark.parametrize(
    "the_case",
    [
        case(scaled, normal(3)),
        case(scaled, normal(2, 2), n=3),
        case(scaled, normal(2), 3),
        case(scaled, 1.5),
        case(scaled, complex_normal(2)),
        case(scaled, normal(2, dtype=np.float32)),
    ],
    ids=str,
)
def test_a_right_rule_passes(the_case):
    """Positional or keyword, real or complex, float or array."""
    rrule(scaled, result="fresh", kind="elementwise")(scaled_rule)
    check_rule(the_case)


def test_lists_and_tuples_are_checked_entry_by_entry():
    """A rule of a function that joins a list returns a list of cotangents, and takes one for a list of results."""

    def both(xs):
        return [xs[0] * xs[1], xs[1]]

    @rrule(both)
    def both_rule(xs):
        a, b = xs
        return [a * b, b], lambda bars: ([fit(bars[0] * conj(b), shape(a)), bars[0] * conj(a) + bars[1]],)

    check_rule(case(both, [1.5, normal(2)]))
    check_rule(case(both, [normal(2), normal(2)]))


def _wrong(forward=None, pullback=None, **declared):
    """A rule of `scaled` with one thing wrong."""

    def rule(x, n=2):
        y = forward(x, n) if forward else n * x
        return y, (lambda y_bar: pullback(x, n, y_bar)) if pullback else (lambda y_bar: (y_bar * n, None))

    return rule, declared


def _writes_argument(x, n, y_bar):
    x += 1.0
    return y_bar * n, None


def _writes_cotangent(x, n, y_bar):
    y_bar *= 2.0
    return y_bar, None


def _different_each_time(x, n, y_bar, calls=[1]):  # noqa: B006 (the fault is that it remembers)
    calls[0] += 1
    return y_bar * n * calls[0], None


FAULTS = {
    "own: expected": _wrong(forward=lambda x, n: x + n),
    "own: expected array.*got 1": _wrong(forward=lambda x, n: 1.0),
    "of dtype float64, not float32": _wrong(forward=lambda x, n: np.float32(1) * (n * x).astype(np.float32)),
    "central differences give": _wrong(pullback=lambda x, n, y_bar: (y_bar, None)),
    "which says that there is no derivative": _wrong(pullback=lambda x, n, y_bar: (None, None)),
    "must return a tuple, not a ndarray": _wrong(pullback=lambda x, n, y_bar: y_bar),
    "one entry for each of x, n, not 1": _wrong(pullback=lambda x, n, y_bar: (y_bar * n,)),
    "n has no derivative, so its entry must be None": _wrong(pullback=lambda x, n, y_bar: (y_bar * n, 0.0)),
    r"must have shape \(3,\), not \(\)": _wrong(pullback=lambda x, n, y_bar: (1.0, None)),
    "of floats, not of dtype object": _wrong(pullback=lambda x, n, y_bar: (y_bar.astype(object), None)),
    "must be real": _wrong(pullback=lambda x, n, y_bar: (y_bar * (n + 0j), None)),
    "must stay single, not become float64": _wrong(pullback=lambda x, n, y_bar: (y_bar * np.float64(n), None)),
    "linear in y_bar, and the cotangent of x": _wrong(pullback=lambda x, n, y_bar: (y_bar * abs(y_bar), None)),
    "must not change its arguments": _wrong(pullback=_writes_argument),
    "must not change y_bar": _wrong(pullback=_writes_cotangent),
    "second call": _wrong(pullback=_different_each_time),
    "promises a value of shape": _wrong(kind="reduction"),
    "kind='scalar' does not fit a value of type ndarray and shape": _wrong(kind="scalar"),
    "kind='array2' does not fit": _wrong(kind="array2"),
}


@pytest.mark.parametrize("message", FAULTS)
def test_each_fault_is_found_and_named(message):
    """The message says what to change, after the call that showed it."""
    rule, declared = FAULTS[message]
    rrule(scaled, **declared)(rule)
    wrt = 0 if "linear" not in message else ()
    with pytest.raises(AssertionError, match=rf"scaled\(.*{message}"):
        check_rule(case(scaled, normal(3), wrt=wrt))


def test_a_false_claim_of_freshness_is_found():
    """A function that returns its argument must not be declared fresh."""

    def same(x):
        return x

    rrule(same, result="fresh")(lambda x: (x, lambda y_bar: (y_bar,)))
    with pytest.raises(AssertionError, match='declare result="view" or result="same"'):
        check_rule(case(same, normal(3)))


def test_a_complex_rule_without_conjugation_is_found():
    """The imaginary direction of a complex argument is checked too."""

    def rotated(z):
        return 1j * z

    rrule(rotated)(lambda z: (1j * z, lambda y_bar: (1j * y_bar,)))
    with pytest.raises(AssertionError, match="wrong cotangent of z"):
        check_rule(case(rotated, complex_normal(3)))


def test_a_zero_cotangent_at_a_singular_point_must_give_zero():
    """0 / 0 in a pullback is a nan where the derivative is zero."""

    def root(x):
        return np.sqrt(x)

    def rule(x):
        y = np.sqrt(x)
        return y, lambda y_bar: (np.divide(y_bar, 2 * y, out=np.full(3, np.nan), where=y > 0),)

    rrule(root)(rule)
    with pytest.raises(AssertionError, match="a zero cotangent must give zeros"):
        check_rule(case(root, np.array([0.0, 1.0, 4.0]), wrt=()))


def test_a_missing_or_declining_rule_is_named():
    """The message says which function needs a rule."""
    with pytest.raises(AssertionError, match=r"test_testing.scaled has no rule for these types"):
        check_rule(case(scaled, normal(3)))
    rrule(scaled)(lambda x: NotImplemented)
    with pytest.raises(AssertionError, match=r"every rule of .* returned NotImplemented"):
        check_rule(case(scaled, normal(3)))


def test_a_declining_rule_gives_way_to_the_next():
    """The next less specific rule is the one that is checked."""
    rrule(scaled)(scaled_rule)
    rrule(scaled)(lambda x, n=2: NotImplemented)
    check_rule(case(scaled, normal(3)))


def test_a_call_that_the_rule_does_not_take_is_named():
    """The signature of the rule is the accepted call."""
    rrule(scaled)(lambda x: (2 * x, lambda y_bar: (2 * y_bar,)))
    with pytest.raises(AssertionError, match=r"the rule must take this call, but it is .*\(x\): got an unexpected"):
        check_rule(case(scaled, normal(3), n=3))


@dataclass
class Model:
    """A container that check_gradient walks."""

    w: object
    name: str = "model"


@pytest.fixture
def pullbacks(monkeypatch):
    """A stand-in for the compiler: the pullback of a function is what the test puts here."""
    api = types.ModuleType("adcompiler.api")
    table = {}
    api.pullback = lambda f, *args, **kwargs: (f(*args, **kwargs), table[f](*args, **kwargs))
    monkeypatch.setitem(sys.modules, "adcompiler.api", api)
    return table


def test_check_gradient_passes_a_right_pullback(pullbacks):
    """Numbers, arrays, complex numbers, containers and objects are all moved, one coordinate at a time."""

    def f(x, params, model, n):
        return float(np.sum(x**2) * params["a"][0] + abs(params["z"]) ** 2 + model.w * n)

    def back(x, params, model, n):
        return lambda bar: (
            bar * 2 * x * params["a"][0],
            {"a": (bar * np.sum(x**2), None), "z": 2 * bar * params["z"]},
            {"w": bar * n},
            None,
        )

    pullbacks[f] = back
    check_gradient(f, np.arange(1.0, 100.0), {"a": (1.5, "text"), "z": 1 + 2j}, Model(0.5), 3)


def test_check_gradient_names_the_coordinate(pullbacks):
    """The message gives the place, the expected number and the one from the pullback."""

    def f(params):
        return params["w"] ** 2

    right = np.arange(6).reshape(2, 3) != 4
    pullbacks[f] = lambda params: lambda bar: ({"w": bar * 2 * params["w"] * right},)
    place = r"wrong gradient of f at args\[0\]\['w'\]\[1, 1\]"
    with pytest.raises(AssertionError, match=rf"{place}: expected .* by central differences, the pullback gives -?0"):
        check_gradient(f, {"w": np.full((2, 3), 2.0)})


def test_check_gradient_shows_a_table(pullbacks):
    """One line for each entry that differs, the worst first."""

    def f(params, z):
        return float(np.sum(params["w"]) * params["b"] + z.real * 2)

    def back(params, z):
        return lambda bar: ({"w": np.array([3.0, 0.0, 3.0]), "b": 6.0}, 2.0 + 1.0j)

    pullbacks[f] = back
    with pytest.raises(AssertionError) as caught:
        check_gradient(f, {"w": np.ones(3), "b": 3.0}, 1 + 1j)
    head, count, *table = str(caught.value).splitlines()
    assert head.startswith("wrong gradient of f at args[1].imag: expected ")
    assert count == "3 of the 6 numbers that were compared differ:"
    assert table[0].split() == ["argument", "entry", "expected", "got", "relative", "difference"]
    rows = [line.split() for line in table[1:]]
    assert rows[0][:2] == ["args[1]", ".imag"]
    assert rows[0][3:] == ["1", "1.0e+00"]
    assert ["args[0]['w']", "[1]", "3", "0", "1.0e+00"] in rows
    assert ["args[0]['b']", "-", "3", "6", "5.0e-01"] in rows


def test_check_gradient_shows_ten_lines(pullbacks):
    """Of many that differ the worst ten are shown, and how many more there are."""

    def f(x):
        return float(np.sum(x))

    pullbacks[f] = lambda x: lambda bar: (np.zeros(25),)
    with pytest.raises(AssertionError, match=r"25 of the 25 numbers that were compared differ:\n[^$]*\nand 15 more$"):
        check_gradient(f, np.ones(25))
    with pytest.raises(ValueError, match="order 1 and 2 and the modes"):
        check_gradient(f, 1.0, order=3)


def test_check_gradient_takes_any_output_and_arguments_that_are_written(pullbacks):
    """A structured output gets a random cotangent; every evaluation has arguments of its own."""

    def f(x, *, scale):
        x *= scale
        return {"y": x, "n": 3, "s": (x.sum(), None)}

    pullbacks[f] = lambda x, *, scale: lambda bar: (scale * (bar["y"] + bar["s"][0]),)
    check_gradient(f, np.ones(3), scale=2.0)


def test_check_gradient_finds_nan_and_missing_cotangents(pullbacks):
    """A nan is never close to anything, and a None must mean that there is no influence."""

    def f(x):
        return 2.0 * x

    pullbacks[f] = lambda x: lambda bar: (np.nan,)
    with pytest.raises(AssertionError, match="the pullback gives nan"):
        check_gradient(f, 1.0)
    pullbacks[f] = lambda x: lambda bar: (None,)
    with pytest.raises(AssertionError, match="expected 2 by central differences, the pullback gives 0"):
        check_gradient(f, 1.0)
    pullbacks[f] = lambda x: lambda bar: (2.0, None)
    with pytest.raises(AssertionError, match="2 cotangents for 1 arguments"):
        check_gradient(f, 1.0)


def test_the_module_offers_what_tests_of_rules_need():
    """Users write rules too: both checks and all makers come from one place."""
    assert {"case", "check_rule", "check_gradient", "normal", "positive"} <= set(vars(testing))


class TestSinglePrecision:
    """`check_gradient` knows what the precision of the arguments, and of the differences, allows."""

    X = np.random.default_rng(5).standard_normal((6, 7))

    @pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
    @pytest.mark.parametrize(
        "f", [lambda x: np.sum(np.abs(np.sin(x)) ** 2), lambda x: x * x, lambda x: np.exp(x * 0.1)]
    )
    def test_right_gradients_pass(self, dtype, f):
        """Arrays and single numbers of it."""
        check_gradient(f, self.X.astype(dtype))
        check_gradient(lambda x: f(x)[0, 1] if np.ndim(x) else f(x), np.dtype(dtype).type(0.3))

    def test_functions_that_compute_in_single_precision(self):
        """Even where the arguments are widened."""
        check_gradient(lambda x: np.sum(np.tanh(x.astype(np.float32)) ** 2), self.X.astype(np.float32))
        check_gradient(lambda x: np.sum(np.tanh(x.astype(np.float32)) ** 2), self.X)

    def test_wrong_gradients_are_found(self):
        """A few percent are too much."""

        @rrule(scaled)
        def wrong(x, n=2):
            return n * x, lambda y_bar: (y_bar * n * 1.05, None)

        for cast in (lambda x: x, lambda x: x.astype(np.float32)):
            with pytest.raises(AssertionError, match="wrong gradient"):
                check_gradient(lambda x, cast=cast: np.sum(scaled(cast(x))), self.X.astype(np.float32))

    def test_tolerances_of_the_caller(self):
        """They are taken as they are."""
        with pytest.raises(AssertionError, match="wrong gradient"):
            check_gradient(lambda x: np.sum(np.sin(x) ** 3), self.X.astype(np.float32), rtol=1e-12, atol=1e-15)
