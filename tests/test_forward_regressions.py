"""Programs that forward mode, or a derivative of a derivative, once did not follow."""

import copy
import functools

import numpy as np
import pytest

from adcompiler import MutationError, NotScalarError, TangentError, gradient, hessian, hvp, jacobian, jvp, pullback
from tests.differences import numerical_gradient

X = np.array([0.5, 1.2, -0.7])
V = np.array([1.0, 2.0, 0.5])


def along(function, args, tangents, step=1e-6):
    """The central difference of a function along a direction."""
    there = function(*[copy.deepcopy(a) + step * t for a, t in zip(args, tangents, strict=True)])
    back = function(*[copy.deepcopy(a) - step * t for a, t in zip(args, tangents, strict=True)])
    return (np.asarray(there) - np.asarray(back)) / (2 * step)


def check(function, *args, tangents=None):
    """The tangent is the central difference, and the gradient of a number that of finite differences."""
    tangents = tuple(V if np.ndim(a) else 1.0 for a in args) if tangents is None else tangents
    found = jvp(function, copy.deepcopy(args), tangents)
    np.testing.assert_allclose(found[0], function(*copy.deepcopy(args)))
    np.testing.assert_allclose(found[1], along(function, args, tangents), rtol=1e-6, atol=1e-8)
    if np.ndim(found[0]) == 0:
        grads = gradient(function, tuple(range(len(args))))(*copy.deepcopy(args))
        expected = numerical_gradient(lambda moved: function(*moved), args)
        for got, want in zip(grads, expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)


# Writes and containers


def a_number_found_at_run_time(x):
    s, b = 0, None
    for i in range(3):
        if b is None:
            b = x[i]
        s += b * x[i]
    return s


def an_array_found_at_run_time(x):
    s = None
    for _ in range(3):
        if s is None:
            s = x.copy()
        else:
            s *= x
    return s


def new_arrays(x):
    b = np.array([1.0, 2.0, 3.0])
    b += x
    c = np.array(1.0)
    c += x[1]
    d = np.arange(3.0)
    d *= x
    r = np.random.default_rng(0).normal(size=3)
    r *= x
    e = np.array([[1.0, 2.0, 3.0]]).T[:, 0]
    e -= x
    q = np.full((), 2.0)
    q[...] = x[0]
    return np.sum(b * c * d * r * e * q)


def whole_numbers_beside_others(x):
    b = [0] * 3
    b[0] += x[0]
    c = [x[1], 2]
    c[1] *= x[0]
    h = [1, 2, x[0]]
    h[0] = h[0] * x[1]
    h += [x[0]]
    s = 0.0
    for w in [1, x[0]]:
        s += w * x[1]
    k = (1, x[0])
    for i in range(2):
        s += k[i] * x[1]
    m = [3.0, *c]
    return s + b[0] * c[1] * h[0] * h[3] * m[0] * m[2] + {"a": 2.0}.get("b", 5) * x[0]


class Counter:
    def __init__(self):
        self.n = 0
        self.w = 1


def fields_that_begin_as_whole_numbers(x):
    o = Counter()
    o.n += x[0]
    o.w *= x[1]
    return o.n * o.w


def results_in_arrays_of_constants(x):
    z = np.ones(3)
    np.multiply(z, 0.9, out=z)
    above = np.zeros(3, dtype=bool)
    np.greater(x, 0.7, out=above)
    return np.sum(x * z * above)


@pytest.mark.parametrize(
    "function",
    [
        a_number_found_at_run_time, an_array_found_at_run_time, new_arrays, whole_numbers_beside_others,
        fields_that_begin_as_whole_numbers, results_in_arrays_of_constants,
    ],
)  # fmt: skip
def test_writes_and_containers(function):
    """What is written, and what is held, has its tangent beside it."""
    check(function, X)


def test_arguments_that_overlap():
    """Views of one array are refused where one of them is written into."""

    def f(a, b):
        a[0] = b[1] * 2
        return np.sum(a * b)

    z = X.copy()
    with pytest.raises(MutationError, match="share memory"):
        jvp(f, (z, z[:]), (V, V))


# Derivatives inside


class Model:
    def __init__(self, a):
        self.a = a

    def loss(self, t):
        return np.sum(t * t * self.a)


def loss(w, x):
    return np.sum((w * x - 1.0) ** 2)


def of_a_method(x):
    return np.sum(gradient(Model(x).loss)(x * 2))


def of_a_partial(x):
    return np.sum(gradient(functools.partial(loss, x=x * 2))(x))


def of_a_rule(x):
    return np.sum(gradient(np.linalg.norm)(x) * x[0])


def of_a_ufunc_method(x):
    return np.sum(gradient(np.sum)(x) * x)


def of_an_object(x):
    return np.sum(gradient(lambda m: m.loss(x))(Model(x * 2)).a)


def descent_in_place(x):
    w = np.zeros(3)
    for _ in range(3):
        w -= 0.1 * gradient(loss)(w, x)
    return np.sum(w * w)


def beside_writes(x):
    y = x.copy()
    g = gradient(lambda x: np.sum(x**3))(x)
    y *= 2
    return np.sum(g * y)


def of_a_closure(x):
    return np.sum(x * gradient(lambda t: np.sum(t * t * x))(x))


@pytest.mark.parametrize(
    "function",
    [
        of_a_method, of_a_partial, of_a_rule, of_a_ufunc_method, of_an_object, descent_in_place, beside_writes,
        of_a_closure,
    ],
)  # fmt: skip
def test_gradients_of_all_that_can_be_called(function):
    """Inside a differentiated function, backwards and forwards."""
    check(function, X)


def with_gradient(x, y):
    a = x

    def h(t):
        return t * a * t

    r = gradient(h)(y)
    a = y * 2
    return r * gradient(h)(y)


def with_pullback(x, y):
    a = x

    def h(t):
        return t * a * t

    _, back = pullback(h, y)
    r = back(1.0)[0]
    a = y * 2
    return r * gradient(h)(y)


def with_jvp(x, y):
    a = x

    def h(t):
        return t * a * t

    r = jvp(h, (y,), (x,))[1]
    a = y * 2
    return r * h(y)


@pytest.mark.parametrize("function", [with_gradient, with_pullback, with_jvp])
def test_captured_variables_that_are_rebound(function):
    """Each call sees, and gives its cotangent to, the value at its own time."""
    check(function, 0.7, 1.3)


def test_newton_steps():
    """A float that is updated by its own function's derivative."""

    def root(t):
        def f(t):
            return t**3 - 2 * t

        for _ in range(3):
            t -= f(t) / gradient(f)(t)
        return t

    check(root, 1.7)


def test_a_function_that_writes_into_its_argument():
    """Its derivative is not computed again from what is overwritten."""

    def f(x):
        x *= np.sin(x)
        return np.sum(x) * x[0]

    def outer(x):
        y = x * 2
        return np.sum(gradient(f)(y) * y)

    with pytest.raises(MutationError, match="writes into its arguments"):
        jvp(outer, (X,), (V,))
    try:
        found = gradient(outer)(X)
    except MutationError:
        return
    np.testing.assert_allclose(found, numerical_gradient(lambda m: outer(*m), (X,))[0], rtol=1e-6)


# At the top level


def test_transforms_of_transforms():
    """`gradient`, `jvp`, `jacobian` and `pullback` of what `gradient` gave: derivatives of x⁴ and x⁵."""
    quartic = gradient(lambda x: np.sum(x**4))
    np.testing.assert_allclose(jvp(quartic, (X,), (V,))[1], 12 * X**2 * V)
    np.testing.assert_allclose(jacobian(quartic)(X), np.diag(12 * X**2))
    np.testing.assert_allclose(pullback(quartic, X)[1](V)[0], 12 * X**2 * V)
    np.testing.assert_allclose(gradient(gradient(gradient(lambda x: x**5)))(2.0), 240.0)


def test_constant_functions():
    """A value that moves with nothing has Hessian zero; one that is no number is refused."""
    np.testing.assert_array_equal(hvp(lambda x: 1.0, X, V), np.zeros(3))
    for mode in ("reverse", "forward"):
        np.testing.assert_array_equal(hessian(lambda x: 1.0, mode=mode)(X), np.zeros((3, 3)))
    with pytest.raises(NotScalarError):
        hessian(lambda x: x * 2)(X)
    with pytest.raises(TangentError, match="type int"):
        jvp(lambda x: x**2, (2,), (1.0,))


MASKED = {
    "log": np.log,
    "log2": np.log2,
    "log1p": lambda x: np.log1p(x - 1),
    "quotient": lambda x: 1 / x,
    "reciprocal": np.reciprocal,
    "sinc": lambda x: np.sin(x) / x,
    "cbrt": np.cbrt,
    "arccosh": lambda x: np.arccosh(x + 1),
    "arctanh": lambda x: np.arctanh(x + 1),
    "exp": lambda x: np.exp(1 / x),
    "sqrt": np.sqrt,
    "power": lambda x: x**0.5,
}


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_second_derivatives_behind_a_mask(name):
    """A branch that is not chosen has second derivative zero, also at its poles; the chosen one has its own."""
    g = MASKED[name]
    x = np.array([0.0, 0.4, -1.0])
    found = hessian(lambda x: np.sum(np.where(x > 0, g(x), 0.0)))(x)
    inside = numerical_gradient(lambda m: gradient(g)(*m), (0.4,))[0]
    np.testing.assert_allclose(found, np.diag([0.0, inside, 0.0]), rtol=1e-5, atol=1e-12)
