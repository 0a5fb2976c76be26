"""Functions that rules are given, in all their forms, and the rules of rules/callbacks.py."""

import functools

import numpy as np
import pytest
from scipy import integrate, optimize

from adcompiler import gradient, rrule
from adcompiler.errors import DifferentiationError, NoRuleError, UnsupportedSyntaxError
from adcompiler.testing import check_gradient

# Their arguments are functions.
BY_HAND = {
    *(np.vectorize, np.vectorize.__call__, np.apply_along_axis, np.apply_over_axes, np.piecewise, np.fromfunction),
}

X = np.array([[0.3, -1.2, 2.1], [0.1, 0.5, -0.7]])
Y = np.array([0.5, 2.0, 1.0])
W = np.array([[0.4, -0.3, 1.1], [0.9, -1.5, 0.2]])
DATA = np.array([2.0, 3.0])


# Functions as arguments


class Scaled:
    def __init__(self, w):
        self.w = w

    def at(self, x):
        return self.w**2 * x

    def __call__(self, x):
        return self.at(x)


def scaled(w, x):
    return w**2 * x


def with_default(w):
    def inner(x, power=2):
        return w**power * x

    return inner


def area(f):
    """The integral of f from 0 to 1, which calls f later again."""
    return integrate.quad(f, 0, 1)[0]


def nested(w):
    def inner(x):
        return w * x

    def outer(x):
        return w * inner(x)

    return outer


@pytest.mark.parametrize(
    "make",
    [
        lambda w: lambda x: w**2 * x,
        lambda w: lambda x, power=2.0: w**power * x,
        with_default,
        nested,
        Scaled,
        lambda w: Scaled(w).at,
        lambda w: functools.partial(scaled, w),
        lambda w: functools.partial(lambda x, k: scaled(k, x), k=w),
        lambda w: np.vectorize(lambda x: scaled(w, x)),
    ],
    ids=["lambda", "default", "def", "nested", "object", "method", "partial", "keywords", "vectorize"],
)
def test_forms_of_functions(make):
    """What a function captured gets its derivative, whatever kind of function it is: w²/2."""
    for f in (lambda w: area(make(w)), lambda w: integrate.quad(make(w), 0, 1)[0]):
        np.testing.assert_allclose(gradient(f)(3.0), 3.0, rtol=1e-9)


def test_functions_from_outside():
    """A function that is an argument has a gradient: its captured variables, or its fields."""
    g = gradient(area)
    np.testing.assert_allclose(g(with_default(3.0))["w"], 3.0)
    np.testing.assert_allclose(g(Scaled(3.0)).w, 3.0)


def test_globals_are_constants():
    """And functions without captured variables have no cotangent."""
    np.testing.assert_allclose(gradient(lambda b: integrate.quad(lambda x: np.sum(DATA) * x, 0, b)[0])(2.0), 10.0)
    np.testing.assert_allclose(gradient(lambda b: integrate.quad(np.sin, 0, b)[0])(2.0), np.sin(2.0))


def test_active_default():
    """A default with a derivative is refused where it is given."""

    def program(w):
        def f(x, k=w):
            return k * x

        return area(f)

    with pytest.raises(UnsupportedSyntaxError, match="default of a nested function"):
        gradient(program)(1.0)


def rebound(a):
    w = a
    v = area(lambda x: w**2 * x)
    w = 5.0 * a
    return v * w


def list_written(a):
    ws = [a]
    v = area(lambda x: ws[0] ** 2 * x)
    ws[0] = 5.0 * a
    return v * ws[0]


def list_grown(a):
    ws = []
    v = 0.0
    for i in range(3):
        ws.append(a * (i + 1))
        v = v + area(lambda x: ws[-1] ** 2 * x + ws[0])
    return v


def object_written(a):
    c = Scaled(a)
    v = area(c.at)
    c.w = 5.0 * a
    return v * c.w


def object_in_a_closure_written(a):
    c = Scaled(a)
    v = area(lambda x: c.at(x))
    c.w = 5.0 * a
    return v * c.w


def dict_written(a):
    c = {"w": a}
    found = optimize.root(lambda x: x - c["w"], np.zeros(1))
    c["w"] = 5.0 * a
    return found.x[0] * c["w"] + found["x"][0]


def loop_variable(a):
    v = 0.0
    for k in range(1, 4):
        v = v + integrate.quad(lambda x: (a * k) ** 2 * x, 0, 1)[0]  # noqa: B023  that is the point
    return v


def constant_written(a):
    data = [2.0]
    v = area(lambda x: a**2 * x * data[0])
    data[0] = 5.0
    return v * data[0]


def constant_array_written(a):
    data = np.ones(2)
    v = area(lambda x: a**2 * x * data[0])
    data[0] = 5.0
    return v * data[0]


@pytest.mark.parametrize(
    "program",
    [
        rebound,
        list_written,
        list_grown,
        object_written,
        object_in_a_closure_written,
        dict_written,
        loop_variable,
        constant_written,
        constant_array_written,
    ],
)
def test_what_changes_later(program):
    """The derivative is that of the function as it was when it was called, or refused."""
    try:
        check_gradient(program, 0.7, rtol=1e-6)
    except DifferentiationError:
        assert program is constant_array_written


def test_a_rule_that_returns_a_list():
    """Also where the program writes into containers, and the result is only known at run time."""

    def pair(x):
        return [x, 2 * x]

    @rrule(pair, result="fresh")
    def pair_rule(x):
        return pair(x), lambda y_bar: (sum(f * c for f, c in zip((1, 2), y_bar, strict=True) if c is not None),)

    def program(a):
        numbers = {"a": a}
        numbers["a"] = 5.0 * a
        return pair(numbers["a"])[1] * 3.0

    assert 30.0 == gradient(program)(0.7)


# np.vectorize


def kink(v):
    return v**3 if v > 0 else 2 * v


KINK = np.vectorize(kink)


@np.vectorize
def choice(v, w):
    return np.sin(v) * w if v > w else v * w


def several_calls(x, y):
    h = np.vectorize(lambda v, w: v * w + y[1])
    return np.sum(h(x, y) * W) + np.sum(h(x.T, 2.0))


@pytest.mark.parametrize(
    "program",
    [
        lambda x, y: np.sum(np.vectorize(kink)(x) * W),
        lambda x, y: np.sum(KINK(x) * W),
        lambda x, y: np.sum(KINK.__call__(x) * W),
        lambda x, y: np.sum(choice(x, y) * W),
        lambda x, y: np.sum(choice(x.T, 2.0) * W.T),
        lambda x, y: np.sum(choice(np.asfortranarray(x), w=y) * W),
        lambda x, y: np.sum(choice([y[0], 0.2], 0.3)),
        several_calls,
        lambda x, y: np.sum(np.vectorize(np.dot, signature="(n),(n)->()")(x, y) ** 2),
        lambda x, y: np.sum(np.vectorize(lambda v, w: v * np.sum(w), signature="(n),(m)->(n)")(x, y[:2]) ** 2),
        lambda x, y: np.sum(np.vectorize(lambda v, p: p[0] * v + p[1] * v * v, excluded={1})(x, y) ** 2),
        lambda x, y: np.sum(np.vectorize(lambda v, p: p[0] * v * v, excluded={"p"}, otypes=[float])(x, p=y) ** 2),
        lambda x, y: np.sum(np.vectorize(lambda v: (v * v, v**3), cache=True)(x)[1] * W),
        lambda x, y: np.sum(np.vectorize(Scaled(y[1]).at)(x) * W),
        lambda x, y: float_of(np.vectorize(kink)(y[1])),
    ],
)
def test_vectorize(program):
    """With every option, made inside or outside of the function."""
    check_gradient(program, X, Y)


def float_of(x):
    return x * 2.0


def test_vectorize_of_complex_numbers():
    """Cotangents are complex where the elements are."""
    check_gradient(lambda z: np.sum(np.abs(np.vectorize(lambda v: v * v)(z))), np.array([1.0 + 2j, 0.5 - 1j]))


def test_vectorize_of_nothing():
    """An empty array needs otypes, and has an empty gradient."""
    f = np.vectorize(kink, otypes=[float])
    assert (0,) == gradient(lambda x: np.sum(f(x)))(np.zeros(0)).shape


# Others


@pytest.mark.parametrize(
    "program",
    [
        lambda x, y: np.sum(np.apply_along_axis(lambda r: r * np.sum(r) * y[0], 1, x) * W),
        lambda x, y: np.sum(np.apply_along_axis(lambda r: np.sum(r**2) * y[0], 0, x) * W[0]),
        lambda x, y: np.sum(np.apply_along_axis(lambda r, z, k=1.0: np.outer(r, z) * k, -1, x, y, k=y[0]) ** 2),
        lambda x, y: np.sum(np.apply_along_axis(np.cumsum, 1, x) * W),
        lambda x, y: np.sum(np.apply_along_axis(lambda r: [r[0], r[1] * r[0]], 1, x) ** 2),
        lambda x, y: np.sum(np.apply_over_axes(np.sum, np.reshape(x, (1, 2, 3)) ** 2, [0, 2]) ** 2),
        lambda x, y: np.sum(np.apply_over_axes(lambda a, axis: np.mean(a, axis=axis) * y[0], x, [0, 1]) ** 2),
        lambda x, y: np.sum(np.piecewise(x, [x < 0, x > 1], [lambda v: v**2, np.sin, lambda v: 3 * v]) * W),
        lambda x, y: np.sum(np.piecewise(x, [x < 0, x > -1], [lambda v: y[0] * v**2, y[1]]) * W),
        lambda x, y: np.sum(np.piecewise(x, [x < 0, x >= 0], [lambda v, c: c * v**2, lambda v, c: v * c], y[0]) * W),
        lambda x, y: np.sum(np.piecewise(y, y > 0.7, [lambda v: v**2, 1.0])),
        lambda x, y: np.piecewise(y[0], [y[0] < 0, y[0] >= 0], [lambda v: v**2, lambda v: v**3]) * 2.0,
        lambda x, y: np.sum(np.fromfunction(lambda i, j: y[0] * i + y[1] * j**2, (2, 3)) ** 2),
        lambda x, y: np.sum(np.fromfunction(lambda i, j, k: k * i + j**2, (2, 3), k=y[0]) ** 2),
        lambda x, y: functools.reduce(lambda a, b: a * b + y[0], [y[1], 2 * y[2], y[0]]),
        lambda x, y: functools.reduce(lambda a, b: a * b + y[0], y, y[1]),
        lambda x, y: np.sum(functools.reduce(np.multiply, [x, 2 * x, y])),
    ],
)
def test_functions_of_pieces(program):
    """apply_along_axis, apply_over_axes, piecewise, fromfunction, reduce."""
    check_gradient(program, X, Y)


def test_frompyfunc_is_refused():
    """With the reason where it captures something, and where it is called."""
    with pytest.raises(NoRuleError):
        gradient(lambda x: np.sum(np.frompyfunc(lambda v: v * v, 1, 1)(x).astype(float)))(Y)
    with pytest.raises(NoRuleError):
        gradient(lambda w: float(np.frompyfunc(lambda v: w * v, 1, 1)(2.0)))(3.0)
