"""`jacobian` and `value_and_jacobian`: shapes, structures, types, what is refused, cost."""

import dataclasses
import functools
import math
import pickle
import tracemalloc
from collections import namedtuple

import numpy as np
import pytest

from adcompiler import (
    DifferentiationError,
    Tangent,
    TangentError,
    differentiable,
    hook,
    jacobian,
    rrule,
    stop_gradient,
    value_and_jacobian,
)

Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass
class Line:
    slope: float
    start: np.ndarray

    def at(self, x):
        return self.slope * x + self.start

    def __call__(self, x):
        return self.at(x) * 2.0


def differences(f, x, step=1e-6):
    """The derivative of an array with respect to an array, by central differences."""
    columns = []
    for index in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[index] = step
        columns.append((f(x + moved) - f(x - moved)) / (2 * step))
    return np.stack(columns, -1).reshape(*np.shape(columns[0]), *x.shape)


# --- arrays and numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (lambda x: np.tanh(x @ np.arange(6.0).reshape(3, 2)), (3,)),
        (lambda x: x @ x, (3, 3)),
        (lambda x: np.outer(x, np.sin(x)), (3,)),
        (lambda x: np.cumsum(x)[1:] * x[0], (4,)),
        (lambda x: np.linalg.inv(x + 3 * np.eye(2)), (2, 2)),
        (lambda x: np.array([x[0] * x[1], np.exp(x[1]), 4.0]), (2,)),
        (lambda x: np.stack([x.sum(0), x.max(0)]), (3, 2)),
    ],
)
def test_an_array_of_an_array_has_both_shapes(f, shape):
    """The result has the shape of the value, then that of the argument, and is what differences give."""
    x = np.random.default_rng(3).standard_normal(shape)
    actual = jacobian(f)(x)
    expected = differences(f, x)
    assert actual.shape == f(x).shape + x.shape
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-8)


def test_a_number_leaves_its_shape_out():
    """A number of a number is a float; of an array it has its shape; an array of a number has the array's."""
    assert jacobian(lambda x: x**3)(2.0) == 12.0
    assert type(jacobian(lambda x: x**3)(2.0)) is float
    assert jacobian(math.sin)(0.0) == 1.0
    np.testing.assert_array_equal(jacobian(lambda x: x @ x)(np.array([1.0, 2.0])), [2.0, 4.0])
    np.testing.assert_array_equal(jacobian(lambda x: x * np.array([1.0, 3.0]))(5.0), [1.0, 3.0])
    np.testing.assert_array_equal(jacobian(lambda x: np.array([x, 1.0, x * x]))(3.0), [1.0, 0.0, 6.0])


def test_arrays_without_elements():
    """An argument or a value of size 0 gives an array of size 0."""
    assert jacobian(lambda x: x * 2)(np.zeros(0)).shape == (0, 0)
    assert jacobian(lambda x: np.zeros((0, 2)) * x[0])(np.ones(3)).shape == (0, 2, 3)
    assert jacobian(np.sum)(np.zeros((0, 2))).shape == (0, 2)


def test_no_influence_gives_zeros():
    """An argument that does not matter has zeros, never None."""
    a, b = jacobian(lambda x, y: x * 2, (0, 1))(np.ones(2), np.ones(3))
    np.testing.assert_array_equal(a, 2 * np.eye(2))
    np.testing.assert_array_equal(b, np.zeros((2, 3)))
    assert jacobian(lambda x: 7.0)(1.0) == 0.0
    np.testing.assert_array_equal(jacobian(lambda x: np.ones(2))(np.ones(3)), np.zeros((2, 3)))
    np.testing.assert_array_equal(jacobian(lambda x: stop_gradient(x) * 2)(np.ones(2)), np.zeros((2, 2)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_the_dtype_is_that_of_the_argument(dtype):
    """Rows are gradients: they have the argument's dtype, whatever the value's."""
    x = np.ones(2, dtype)
    assert jacobian(lambda x: np.abs(x) * np.float64(2.0))(x).dtype == dtype
    assert jacobian(lambda x: np.sum(np.abs(x)))(x).dtype == dtype


def test_numbers_keep_their_type():
    """A NumPy scalar gives one of its type, an array of shape () an array of shape ()."""
    assert type(jacobian(lambda x: x * x)(np.float32(3.0))) is np.float32
    found = jacobian(lambda x: x * x)(np.array(3.0))
    assert isinstance(found, np.ndarray)
    assert found.shape == ()
    assert found == 6.0
    assert jacobian(lambda x: x * np.ones(2))(np.array(3.0)).shape == (2,)


def test_complex_arguments_have_the_gradients_convention():
    """The rows of a complex argument are ∂/∂re + i ∂/∂im."""
    actual = jacobian(lambda z: np.array([z.real * 2, z.imag, abs(z)]))(3 + 4j)
    np.testing.assert_allclose(actual, [2.0, 1j, 0.6 + 0.8j])
    z = np.array([1 + 2j, 3 - 1j])
    np.testing.assert_allclose(jacobian(lambda z: np.abs(z) ** 2)(z), np.diag(2 * z))


# --- structures -------------------------------------------------------------------------------------------


def test_argnums_by_number_name_and_tuple():
    """A tuple gives a tuple, also of length 1; names reach keyword arguments; numbers reach into *args."""

    def f(a, *rest, scale=1.0):
        return a * rest[0] * scale

    a, b = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    np.testing.assert_array_equal(jacobian(f)(a, b), np.diag(b))
    (found,) = jacobian(f, (1,))(a, b)
    np.testing.assert_array_equal(found, np.diag(a))
    np.testing.assert_array_equal(jacobian(f, "scale")(a, b, scale=2.0), a * b)
    by_name = jacobian(f, ("scale", 0))(a, b, scale=2.0)
    np.testing.assert_array_equal(by_name[0], a * b)
    np.testing.assert_array_equal(by_name[1], np.diag(2 * b))


def test_an_argument_with_a_structure():
    """The structure of the argument, with None for its constants and a Tangent for an object."""
    p = {"w": np.array([1.0, 2.0]), "more": [2.0, (3, "name")]}
    found = jacobian(lambda p: p["w"] * p["more"][0])(p)
    assert found.keys() == p.keys()
    assert found["more"][1] == (None, None)
    np.testing.assert_array_equal(found["w"], 2.0 * np.eye(2))
    np.testing.assert_array_equal(found["more"][0], p["w"])
    line = jacobian(Line.at)(Line(2.0, np.zeros(2)), np.array([1.0, 3.0]))
    assert isinstance(line, Tangent)
    np.testing.assert_array_equal(line.slope, [1.0, 3.0])
    np.testing.assert_array_equal(line.start, np.eye(2))


def test_a_result_with_a_structure():
    """The structure of the result, and inside each of its arrays the structure of the argument."""

    def f(x, p):
        return {"a": [x * p["s"], "text"], "b": Pair(x[0], 3), "c": Line(p["s"] ** 2, x)}

    x, p = np.array([1.0, 2.0]), {"s": 3.0}
    to_x, to_p = jacobian(f, (0, 1))(x, p)
    np.testing.assert_array_equal(to_x["a"][0], 3 * np.eye(2))
    assert to_x["a"][1] is None
    assert to_x["b"].second is None
    assert isinstance(to_x["b"], Pair)
    np.testing.assert_array_equal(to_x["b"].first, [1.0, 0.0])
    np.testing.assert_array_equal(to_x["c"].slope, [0.0, 0.0])
    np.testing.assert_array_equal(to_x["c"].start, np.eye(2))
    np.testing.assert_array_equal(to_p["a"][0]["s"], x)
    assert to_p["b"].first == {"s": 0.0}
    assert to_p["c"].slope == {"s": 6.0}
    np.testing.assert_array_equal(to_p["c"].start["s"], [0.0, 0.0])


def test_one_array_at_two_places_of_the_result():
    """Each place has its own derivative, in memory of its own."""
    first, second = jacobian(lambda x: (x, x))(np.ones(2))
    np.testing.assert_array_equal(first, np.eye(2))
    np.testing.assert_array_equal(second, np.eye(2))
    assert not np.shares_memory(first, second)


def test_the_value_comes_too():
    """`value_and_jacobian` gives the value of the one forward with the derivative."""
    runs = []

    def f(x):
        runs.append(1)
        return x**2

    value, found = value_and_jacobian(f)(np.array([1.0, 3.0]))
    np.testing.assert_array_equal(value, [1.0, 9.0])
    np.testing.assert_array_equal(found, np.diag([2.0, 6.0]))
    assert len(runs) == 1
    value, (found,) = value_and_jacobian(np.exp, (0,))(0.0)
    assert (value, found) == (1.0, 1.0)


# --- what can be differentiated ---------------------------------------------------------------------------


def test_whatever_gradient_takes():
    """Methods, objects that can be called, partials, marked functions, functions with rules."""
    line, x = Line(2.0, np.zeros(2)), np.array([1.0, 3.0])
    np.testing.assert_array_equal(jacobian(line.at)(x), 2 * np.eye(2))
    np.testing.assert_array_equal(jacobian(line)(x), 4 * np.eye(2))
    np.testing.assert_array_equal(jacobian(functools.partial(np.multiply, 3.0))(x), 3 * np.eye(2))
    np.testing.assert_array_equal(jacobian(functools.partial(lambda a, b: a * b, 3.0))(x), 3 * np.eye(2))
    np.testing.assert_array_equal(jacobian(differentiable(lambda x: x * 5))(x), 5 * np.eye(2))
    np.testing.assert_array_equal(jacobian(np.cumsum)(x), [[1.0, 0.0], [1.0, 1.0]])
    np.testing.assert_array_equal(jacobian(np.multiply, 1)(x, x), np.diag(x))
    left, right = jacobian(np.matmul, (0, 1))(np.eye(2), x)
    np.testing.assert_array_equal(left, [[x, [0, 0]], [[0, 0], x]])
    np.testing.assert_array_equal(right, np.eye(2))


def test_a_rule_of_the_users():
    """A registered rule is used for every row."""

    def twice(x):
        return 2 * x

    @rrule(twice)
    def thrice(x):
        return 2 * x, lambda y_bar: (3 * y_bar,)

    np.testing.assert_array_equal(jacobian(twice)(np.ones(2)), 3 * np.eye(2))
    np.testing.assert_array_equal(jacobian(lambda x: twice(x) * 2)(np.ones(2)), 6 * np.eye(2))


def test_writes_into_arrays_and_arguments():
    """The same pullback, with its shadows of arrays that are written into, serves all rows."""

    def f(x):
        y = np.zeros(3)
        y[0] = x[0]
        for i in range(1, 3):
            y[i] = y[i - 1] * x[i]
        x[0] = 7.0
        return y * x

    x = np.array([2.0, 3.0, 5.0])
    expected = [[7.0, 0.0, 0.0], [9.0, 12.0, 0.0], [75.0, 50.0, 60.0]]
    np.testing.assert_allclose(jacobian(f)(x), expected)
    np.testing.assert_array_equal(x, [7.0, 3.0, 5.0])


def test_a_loop_and_a_branch():
    """Records of loops and branches are read again by each row."""

    def f(x):
        return np.array([v**3 if v > 0 else 0.0 * v for v in x])

    np.testing.assert_array_equal(jacobian(f)(np.array([1.0, 2.0, -3.0])), np.diag([3.0, 12.0, 0.0]))


def test_a_hook_sees_each_row():
    """A hook is called once for each entry of the result that reaches it."""
    seen = []
    jacobian(lambda x: hook(seen.append, x) * 2)(np.ones(3))
    np.testing.assert_array_equal(np.array(seen), 2 * np.eye(3))


def test_the_result_is_the_users_own():
    """The result shares memory with neither the arguments nor what a later call gives."""
    w = np.eye(2)
    transform = jacobian(lambda x: np.sum(w @ x))
    first = transform(np.ones(2))
    first[:] = 9.0
    np.testing.assert_array_equal(transform(np.ones(2)), [1.0, 1.0])
    by_identity = jacobian(lambda x: x)(w)
    by_identity[:] = 0.0
    np.testing.assert_array_equal(w, np.eye(2))


def test_the_transform_pickles():
    """What `jacobian` returns is made again in another process."""
    found = pickle.loads(pickle.dumps(jacobian(np.sin, mode="reverse")))
    np.testing.assert_array_equal(found(np.zeros(2)), np.eye(2))
    assert repr(jacobian(np.sin)) == "<jacobian(sin), made by adcompiler>"


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: x * 1j, "returned an array of complex128; jacobian does not accept complex output"),
        (lambda x: (1.0, [x[0] * 1j]), "returned a complex number at [1][0]; jacobian does not accept complex output"),
        (lambda x: np.argsort(x), "returned an array of int64, which has no derivative"),
        (lambda x: 3, "returned a value of type int, which has no derivative"),
        (lambda x: None, "returned None, which has no derivative\n"),
        (lambda x: ("a", 1), "returned a value of type tuple, which has no derivative"),
    ],
)
def test_results_without_derivative_are_refused(f, text):
    """Complex and whole numbers, and no number at all, with the line of the function."""
    with pytest.raises(TangentError) as caught:
        jacobian(f)(np.ones(2))
    assert text in str(caught.value)
    assert "test_jacobian.py" in str(caught.value)


def test_a_function_with_a_rule_is_refused_the_same_way():
    """The same where no source is read."""
    with pytest.raises(TangentError, match="fft returned an array of complex128; jacobian does not accept complex"):
        jacobian(np.fft.fft)(np.ones(4))


def test_arguments_that_are_refused():
    """An int, and what `nondiff` names, as in `gradient`; other modes and argnums."""
    with pytest.raises(TangentError, match=r"pass 3\.0 instead of 3"):
        jacobian(lambda x: x * 2.0)(3)
    with pytest.raises(DifferentiationError, match="nondiff"):
        jacobian(differentiable(lambda x: x, nondiff=("x",)))(1.0)
    with pytest.raises(ValueError, match="mode is None or 'reverse' or 'forward', not 'sideways'"):
        jacobian(np.sin, mode="sideways")
    with pytest.raises(TypeError, match=r"jacobian\(f\)\(x\)"):
        jacobian(np.sin, np.ones(2))


def test_exceptions_pass_unchanged():
    """The user's own exceptions come through."""

    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        jacobian(f)(1.0)


# --- memory -----------------------------------------------------------------------------------------------


def test_rows_go_into_one_array():
    """Besides the result there are a few rows, not a second set of them."""
    x = np.ones(600)
    transform = jacobian(lambda x: np.sin(x) * 2)
    transform(x)
    tracemalloc.start()
    found = transform(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.nbytes == 600 * 600 * 8
    assert peak < 1.2 * found.nbytes


@pytest.mark.parametrize("mode", [None, "reverse", "forward"])
def test_rows_and_columns_are_the_same_numbers(mode):
    """By rows and by columns, of a number, a vector and a matrix: the derivatives of x₀ p, sin(x), x xᵀ."""
    x = np.array([0.3, 0.5])

    def f(x, p):
        return {"a": x[0] * p["b"], "c": (np.sin(x), np.outer(x, x))}

    by_x, by_p = jacobian(f, (0, 1), mode=mode)(x, {"b": 2.0, "n": 3})
    np.testing.assert_allclose(by_x["a"], [2.0, 0.0])
    np.testing.assert_allclose(by_x["c"][0], np.diag(np.cos(x)))
    eye = np.eye(2)
    np.testing.assert_allclose(by_x["c"][1], np.einsum("ik,j->ijk", eye, x) + np.einsum("jk,i->ijk", eye, x))
    assert by_p["a"] == {"b": 0.3, "n": None}
    assert type(by_p["a"]["b"]) is float
    np.testing.assert_allclose(by_p["c"][1]["b"], np.zeros((2, 2)))


def test_many_results_of_few_arguments():
    """The mode that is chosen gives the numbers of the one that is forced, and leaves the arguments alone."""
    x = np.array([0.3, 0.5])

    def f(x):
        return np.outer(np.sin(x), np.arange(30.0))

    expected = np.einsum("ik,i,j->ijk", np.eye(2), np.cos(x), np.arange(30.0))
    np.testing.assert_allclose(jacobian(f)(x), expected)
    np.testing.assert_allclose(jacobian(f, mode="reverse")(x), expected)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_complex_arguments_by_rows_and_columns(mode):
    """∂/∂re + i ∂/∂im of |z|² is 2z."""
    z = np.array([1.0 + 2.0j])
    np.testing.assert_allclose(jacobian(lambda z: np.abs(z) ** 2, mode=mode)(z), 2 * z[None])
