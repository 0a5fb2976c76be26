"""Kinds, complex numbers, dtypes, shapes and cotangents that stay a single number: what once gave wrong numbers."""

import math

import numpy as np
import pytest

from adcompiler import DifferentiationError, NoRuleError, UnsupportedSyntaxError, gradient, pullback
from tests.promises import WRITTEN_OUT, check, check_refused

X = np.array([0.3, -0.7, 1.2])
Y = np.array([0.5, 0.4, -1.1])
M = np.array([[2.0, 1.0, 0.3], [0.5, 3.0, -0.2], [0.1, 0.4, 1.5]])
Z = np.array([1 + 2j, 0.5 - 1j])


def programs(*functions):
    """A parameter for each function, with its name."""
    return pytest.mark.parametrize("program", functions, ids=lambda f: f.__name__)


# Powers


@pytest.mark.parametrize("x", [-2.3, 2.3])
def test_powers_of_floats_that_turn_complex(x):
    """A power of a negative Python float is complex, and so is what is computed with it."""
    check(lambda x: abs(x**0.5), x)
    check(lambda x: (x**0.5 * (1 + 2j)).real, x)
    check(lambda x: (x**0.5).conjugate().imag if isinstance(x**0.5, complex) else x, x)
    check(lambda x: abs((x**0.5) * x), x)
    check(lambda x: abs(x ** (x + 0.7)), x)
    check(lambda x: (x**x).real, x)


@pytest.mark.parametrize("x", [-2.3, 2.3])
def test_exponents_of_negative_floats(x):
    """The derivative by the exponent takes the complex logarithm of a negative Python float."""
    check(lambda x, y: abs(x**y), x, 0.7)
    check(lambda x, y: (x**y * 1j).real, x, 0.7)


def test_complex_exponents():
    """A real base, number or array, may have a complex exponent, and the cotangent is conjugate."""
    z = np.array([0.3 + 1j])
    check(lambda x: (x**1j).imag, 1.5)
    check(lambda x: pow(x, 1j).imag, 1.5)
    check(lambda z: np.sum((np.e**z).imag), z)
    check(lambda z: np.sum((np.float64(2) ** z).imag), z)
    check(lambda z: np.sum((2**z).imag), z)
    check(lambda a, z: np.sum((a**z).imag), 1.5, z)
    assert gradient(lambda z: np.sum((np.e**z).imag))(z) == pytest.approx(np.conj(np.exp(z) * -1j), abs=1e-12)


# Real values whose name is complex elsewhere


def real_in_one_branch(z, c):
    if c > 0:
        w = np.abs(z)
    else:
        w = z
    return np.sum((w * (1 + 2j) * np.array([1, 2j])).real)


def real_before_a_loop(x):
    u = np.abs(np.exp(1j * x) + x)
    for _ in range(2):
        u = u * (1 + 1j)
    return np.sum(u.real)


def float_before_a_loop(z):
    u = float(abs(z[0]))
    for i in range(2):
        u = u * np.exp(1j * z[i])
    return u.real


def complex_after_a_branch(x, y):
    y = np.where(y > 0, x, y)
    for i in range(1):
        x = x * 0.5 + y[i % len(y)] * i
    return np.sum(y.real * 0.3) + np.sum(np.abs(x) ** 2)


def complex_elements_first_read_as_real(x, z):
    t = x * np.ones(3)
    for i in range(1):
        z = z * 0.5 + t[i % len(t)] * 0.3
    return np.sum(np.abs(z) ** 2) + np.sum(np.real(t))


def test_real_values_under_a_complex_name():
    """A real value keeps a real cotangent where its name is complex on another path."""
    check(real_in_one_branch, Z, 1.5)
    check(real_in_one_branch, Z, -1.5)
    check(real_before_a_loop, np.array([0.7, -1.2]))
    check(float_before_a_loop, Z)


def test_complex_cotangents_of_elements():
    """The cotangent of a complex array is complex, whatever part of it is the first to arrive."""
    check(complex_after_a_branch, np.array([1 + 1j]), np.ones((3, 3)))
    check(complex_elements_first_read_as_real, np.array([1 + 1j, 2j, -0.5]), Z)


@pytest.mark.parametrize(
    "f",
    [
        lambda z: z[0] * z[1].real,
        lambda z: z[0] * abs(z[1]) * z[0].imag,
        lambda z: z[0] - 1j * np.real(z[1]),
        lambda z: np.sum(z[1:] * z[:2].real),
        lambda z: np.sum(z[[1, 2]] * z[[0, 1]].real),
        lambda z: (lambda a, b: a[0] * b[1].real)(z, z),
    ],
)
def test_elements_without_a_loop(f):
    """The same where nothing is repeated."""
    z = np.array([0.5 + 0.3j, 1.2 - 1j, -0.4 + 0.2j])
    check(lambda z: (f(z) * (1 - 2j)).real, z)


# Cotangents that are one number for a whole array


def mean_in_a_loop(a, t):
    x = a[:, None] + a
    for _ in range(3):
        t = t * np.mean(x)
    return np.sum(t)


def sum_of_a_reshaped_array_in_a_loop(a, t):
    x = (a * a).reshape(1, 3)
    for _ in range(3):
        t = t * np.sum(x)
    return np.sum(t)


def sum_of_joined_arrays_in_a_loop(a, t):
    x = np.concatenate([a, a * a])
    for _ in range(3):
        t = t * np.sum(x)
    return np.sum(t)


def sum_of_stacked_arrays_in_a_loop(a, t):
    x = np.stack([a, a * a])
    for _ in range(2):
        t = t * np.sum(x)
    return np.sum(t)


def sum_of_products_in_a_loop(a, t):
    x = np.outer(a, a)
    for _ in range(2):
        t = t * np.sum(x)
    return np.sum(t)


def sum_of_repeats_in_a_loop(a, t):
    x = np.repeat(a, 2)
    for _ in range(2):
        t = t * np.sum(x)
    return np.sum(t)


def sum_of_broadcasts_in_a_loop(a, t):
    x = np.broadcast_to(a, (4, 3))
    for _ in range(2):
        t = t * x.mean()
    return np.sum(t)


def sums_over_an_axis_in_a_loop(a, t):
    x = a[:, None] + a
    for _ in range(3):
        t = t * np.mean(x, axis=0)[0] + np.sum(np.sum(x, axis=0, keepdims=True))
    return np.sum(t)


def sum_on_one_path_in_a_loop(a, t):
    x = a[:, None] * a
    for i in range(3):
        if i == 1:
            continue
        t = t + np.sum(x) * i
    return np.sum(t)


def sum_under_two_names_in_a_loop(a, t):
    x = a[:, None] + a
    for _ in range(3):
        t, x = t * np.mean(x), x
    return np.sum(t)


@programs(
    mean_in_a_loop,
    sum_of_a_reshaped_array_in_a_loop,
    sum_of_joined_arrays_in_a_loop,
    sum_of_stacked_arrays_in_a_loop,
    sum_of_products_in_a_loop,
    sum_of_repeats_in_a_loop,
    sum_of_broadcasts_in_a_loop,
    sums_over_an_axis_in_a_loop,
    sum_on_one_path_in_a_loop,
    sum_under_two_names_in_a_loop,
)
def test_a_sum_in_a_loop_reaches_every_element(program):
    """The cotangent of a sum, one number for all elements, reaches each of them with the right weight after a loop."""
    check(program, X, np.array([[1.0, 2.0], [3.0, 4.0]]))


# Numbers and arrays without dimensions


@programs(
    lambda x: np.sum(x, axis=0) * x,
    lambda x: np.prod(x, axis=0) * x,
    lambda x: np.max(x, axis=0) * x,
    lambda x: np.sum(np.cumsum(np.square(x), axis=0)),
    lambda x: np.sum(np.cumprod(np.square(x), axis=-1)),
    lambda x: np.sum(np.take(x * x, [0, 0], axis=0)),
    lambda x: np.sum(np.repeat(x * x, 3, axis=0)),
    lambda x: np.pad(x * x, 0),
)
@pytest.mark.parametrize("x", [1.5, np.float64(1.5)], ids=["float", "np.float64"])
def test_axes_of_a_number(program, x):
    """NumPy takes an axis 0 of a number in some functions, and so does their derivative."""
    check(program, x)


@programs(
    lambda x: np.prod(np.sum(x), axis=0),
    lambda x: np.sum(np.sum(x), axis=-1) * x[0],
    lambda x: np.sum(np.cumsum(np.sum(x), axis=0)),
    lambda x: np.sum(np.take(np.sum(x), [0, 0], axis=0)),
    lambda x: np.sum(np.tensordot(x, np.sum(x), 0)),
    lambda x: np.sum(np.tensordot(np.sum(x), x, 0)),
    lambda x: np.sum(np.kron(x, np.sum(x))),
    lambda x: np.sum(np.kron(np.sum(x), x) * np.arange(3.0)),
    lambda x: np.pad(np.linalg.norm(x), 1),
)
def test_arrays_without_dimensions(program):
    """Sums, products and copies of a value without dimensions have their derivative."""
    check(program, X)


@programs(
    lambda x: np.sum(np.sum(x * x)[None] * np.ones(2)),
    lambda x: np.sum(np.sum(x * x)[...]),
    lambda x: np.sum(x * x)[()],
    lambda x: np.sum(np.sum(x * x)[np.newaxis, None]),
)
def test_indices_into_a_scalar(program):
    """A NumPy scalar may be indexed by None, an ellipsis and an empty tuple."""
    check(program, X)


def positive_part(x):
    t = x * x
    return np.sum(t[t > 0])


def test_masks_of_a_scalar():
    """A NumPy scalar and an array without dimensions may be indexed by a mask."""
    assert gradient(positive_part)(np.float64(2.0)) == 4.0
    check(lambda x: np.abs(x) ** 2 + np.sum(x[x > 0]), np.array(1.5))


# Functions of NumPy


def test_sign_and_logarithm_of_a_determinant():
    """Either part of slogdet may be used alone; the sign of a real matrix is a constant."""
    c = M + 1j * np.eye(3)
    check(lambda m: np.linalg.slogdet(m)[0] * m, M)
    check(lambda m: np.linalg.slogdet(m)[1], M)
    check(lambda m: np.linalg.slogdet(m)[0] * np.linalg.slogdet(m)[1], M)
    check(lambda m: np.linalg.slogdet(m)[1], c)
    check(lambda m: (np.linalg.slogdet(m)[0] * (1 + 2j)).real, c)
    check(lambda m: np.linalg.slogdet(m)[0] * np.linalg.slogdet(m)[1], c)


def ravelled(x):
    return x.ravel("K") * np.arange(x.size)


def flattened(x):
    return x.flatten("K") * np.arange(x.size)


LAYOUTS = {
    "rows": lambda: np.arange(6.0).reshape(2, 3),
    "columns": lambda: np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "permuted": lambda: np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2),
    "reversed": lambda: np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)[::-1, :, ::2],
}


@programs(ravelled, flattened)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_elements_in_the_order_of_memory(program, layout):
    """order="K" gives each element the cotangent of the place where it went, in every layout."""
    x = LAYOUTS[layout]()
    y, back = pullback(program, x)
    np.testing.assert_array_equal(y, program(x))
    (grad,) = back(np.ones(x.size))
    for index in np.ndindex(x.shape):
        x[...] = 0.0  # in place, which keeps the layout
        x[index] = 1.0
        assert grad[index] == np.sum(program(x))


@programs(
    lambda y: math.dist(y, [0.0, 0.5, 0.0]),
    lambda y: math.dist([0.0, 0.5, 0.0], y),
    lambda y: math.dist(y, y * y),
    lambda y: math.dist((y[0], y[1]), [0.0, 0.5]),
)
def test_distance_of_arrays_and_lists(program):
    """math.dist takes arrays, lists and tuples in any combination."""
    check(program, X)


@programs(
    lambda x: np.sum(np.choose([0, 1, 0], [x[0], x[1] * 2])),
    lambda x: np.sum(np.choose(np.array([0, 1, 0]), x[:2])),
    lambda x: np.sum(np.choose([[1], [0]], (x[0], 2.0))),
)
def test_choices_among_rows(program):
    """np.choose takes its choices from a list, a tuple or the rows of an array."""
    check(program, M)


def test_einsum_with_lists_of_axes():
    """einsum in the form that lists the axes after each operand is differentiated like the form with letters."""
    check(lambda x, y: np.einsum(x, [0, 1], y, [1]), M, Y)
    check(lambda x: np.einsum(x, [0, 1], x, [0, 1], []), M)
    check(lambda x: np.einsum([1.0, 2.0, 3.0], [0], x, [0]), X)


def test_einsum_of_lists():
    """An operand of einsum may be a list of numbers."""
    check(lambda x: np.einsum("i,i", [1.0, 2.0, 3.0], x), X)
    check(lambda x: np.einsum("i,i", [x[0], 2.0], [1.0, 3.0]), X)


def test_the_larger_of_complex_numbers():
    """maximum, minimum and clip order complex numbers as NumPy does, and pass the cotangent on whole."""
    assert gradient(lambda z: np.maximum(z, 1j).real)(1 + 2j) == 1
    assert gradient(lambda z: np.minimum(z, np.complex128(1j)).real)(np.complex128(1 + 2j)) == 0
    assert gradient(lambda z: np.clip(z, 0j, 5j).real)(1 + 2j) == 0
    assert gradient(lambda z: np.sum(np.maximum(z, 1j).real))(np.array([1 + 2j, -1j])).tolist() == [1, 0]


def entries_of_rows(x, columns):
    return np.sum(np.log(x)[np.arange(3), columns])


def test_one_entry_of_each_row():
    """An entry of each row, picked by arange and an array, has the cotangent; equal columns are no exception."""
    check(entries_of_rows, np.abs(M), np.array([2, 0, 2]))


def test_pad_widths_in_a_dict():
    """A rule that is called takes a dict as one of its options."""
    check(lambda x: np.sum(np.pad(x, {0: 2}) ** 2), M)


@programs(
    lambda x: np.full_like(x, 2) * x,
    lambda x: np.finfo(float).eps * x / np.finfo(float).eps,
    lambda x: x.dtype.itemsize * x,
    lambda x: x.size * x,
    lambda x: np.zeros_like(x, dtype=int) + x,
)
def test_properties_of_an_array_are_constants(program):
    """What depends on the shape or dtype of an array only is a constant factor."""
    check(program, X)


def test_array_by_the_type_of_its_dtype():
    """`astype` to a type that is read from the array keeps the derivative."""
    check(lambda x: x.astype(x.dtype) * 2, X)


def test_array_by_the_type_of_its_dtypes_type():
    """`astype(x.dtype.type)` keeps the derivative."""
    check(lambda x: x.astype(x.dtype.type) * 2, X)


def product(x, y):
    return np.multiply(x, y)


def test_the_type_of_a_value_is_numpys():
    """A function of NumPy gives a NumPy scalar for Python floats, as it does without a derivative."""
    check(product, 2.0, 3.0, modes=WRITTEN_OUT)


def test_the_type_of_a_value_of_a_called_rule():
    """A rule that is called gives the value, and the type, of the user's own call."""
    check(product, 2.0, 3.0)


def in_rows(x):
    return np.sum(np.r_[x, 2 * x] ** 2)


def in_columns(x):
    return np.sum(np.c_[x, 2 * x] ** 2)


def in_a_grid(x):
    return np.sum(np.mgrid[0 : x[0] : 5j])


@programs(in_rows, in_columns, in_a_grid)
def test_objects_that_are_indexed_by_values(program):
    """Active values in the index of np.r_, np.c_ and np.mgrid are differentiated or refused, never lost."""
    try:
        pullback(program, X)
    except DifferentiationError as error:
        assert __file__ in str(error)  # noqa: PT017
    else:
        check(program, X)


# Values without a rule


def flattened_by_sum(x):
    return sum([[x[0]], [x[1]]], [])[0]  # noqa: RUF017  # refused


def joined_by_sum(x):
    return sum([(x[0],), (x[1],)], ())[1]  # refused


def largest_pair(x):
    return max((x[0], 1.0), (x[1], 2.0))[0]  # refused


def smallest_list(x):
    return min([[x[0]], [x[1]]])[0]  # refused


@programs(flattened_by_sum, joined_by_sum, largest_pair, smallest_list)
def test_builtins_of_containers(program):
    """sum, max and min of lists or tuples are refused with the line."""
    check_refused(UnsupportedSyntaxError, program, X)


def by_the_type_of_a_dtype(x):
    return x.dtype.type(x[0]) * 2  # refused


def shuffled(x):
    return np.sum(np.random.default_rng(0).permuted(x) ** 2)  # refused


def by_its_class(x):
    return type(x).sum(x)  # refused


@programs(by_the_type_of_a_dtype, shuffled, by_its_class)
def test_methods_of_objects_without_derivative(program):
    """A method of an object without derivative that is given an active value is refused, never a constant."""
    check_refused(NoRuleError, program, X)


# Casts that drop the imaginary part, powers of negative numbers, differences of order zero

W = np.array([1 + 2j, 3 - 1j])


def cast_by_method(x):
    return np.sum(np.real(x.astype(float) * W)) + 2 * np.sum(np.imag(x.astype(np.float64) * W))


def cast_by_type(x):
    y = np.float64(x) * W
    return np.sum(np.real(y)) + 2 * np.sum(np.imag(y))


def cast_by_array(x):
    y = np.array(x, dtype=float) * W + np.full(2, x, dtype=float)
    return np.sum(np.real(y)) + 2 * np.sum(np.imag(y))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("program", [cast_by_method, cast_by_type, cast_by_array])
def test_a_cast_to_real(program):
    """A cast that drops the imaginary part gives it no derivative."""
    check(program, np.array([0.5 + 0.3j, 0.2 - 0.4j]))


def complex_power(x, y):
    return np.sum(np.real(x**y)) + np.sum(np.imag(np.power(x, y)))


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.array([-1.1, 0.7]), np.array([0.8 - 0.7j, 0.3 + 0.1j])),
        (np.array([-1.1]), 0.8 - 0.7j),
        (-1.1, np.array([0.8 - 0.7j])),
        (np.array(-1.1), 0.8 - 0.7j),
    ],
)
def test_a_negative_base_of_a_complex_power(x, y):
    """The exponent's derivative is y log(base), with the complex logarithm."""
    check(complex_power, x, y)


def no_difference(x):
    return np.sum(np.diff(x, n=0) ** 2)


def test_differences_of_order_zero():
    """np.diff(x, n=0) is x, also of shape ()."""
    check(no_difference, np.array(0.3))
    check(no_difference, np.array([0.3, 0.5]))


def norm_of_any_order(x, p):
    return np.linalg.norm(x, p)


@pytest.mark.parametrize("p", [np.inf, 3.0])
def test_the_order_of_a_norm(p):
    """An order that is a parameter has a derivative, which is zero at infinity."""
    x = np.array([0.3 + 0.2j, -0.7, 1.2])
    y, back = pullback(norm_of_any_order, x, p)
    np.testing.assert_allclose(y, np.linalg.norm(x, p))
    h = 1e-6
    expected = 0.0 if p == np.inf else (np.linalg.norm(x, p + h) - np.linalg.norm(x, p - h)) / (2 * h)
    np.testing.assert_allclose(back(1.0)[1], expected, atol=1e-8)
