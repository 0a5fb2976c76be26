"""Programs with functions of NumPy that once had a wrong gradient, or ended in an error of ours."""

import numpy as np
import pytest
from scipy import integrate, linalg, optimize, signal, special

from adcompiler import DifferentiationError, gradient
from tests.promises import check

X = np.array([0.5, -1.0, 2.0])


def order_in_an_array(t):
    return np.linalg.norm(np.array([1.0, 2.0, 3.0]), t)


def test_an_order_of_a_norm_in_an_array():
    """The derivative of (sum x^p)^(1/p) by p, from its logarithm; the array is no reason for 0."""
    x, p = np.array([1.0, 2.0, 3.0]), 1.3
    norm = np.sum(x**p) ** (1 / p)
    expected = norm * (np.sum(x**p * np.log(x)) / np.sum(x**p) / p - np.log(np.sum(x**p)) / p**2)
    assert gradient(order_in_an_array)(np.array(p)) == pytest.approx(expected)
    assert gradient(order_in_an_array)(p) == pytest.approx(expected)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.sum(np.vectorize(lambda t: t * t, otypes=[int])(a) * 1.0),
        lambda a: np.sum(np.piecewise(np.array([1, 2]), [np.array([True, False])], [lambda i: i * a[0], a[1]]) * 1.0),
        lambda a: np.sum(np.apply_along_axis(lambda r: np.array([1, 2]) if r[0] < 1 else r[:2], 0, a) * 1.0),
    ],
)
def test_values_cut_to_whole_numbers_move_with_nothing(f):
    """As an integer array that is filled with floats: the gradient is 0."""
    assert [0.0, 0.0, 0.0] == gradient(f)(X).tolist()


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.sum(np.from_dlpack(a) * a),
        lambda a: np.sum(np.split(a, 3) * np.ones((3, 1))),
        lambda a: np.sum(tuple(np.outer(a, a)) * np.ones((3, 3))),
        lambda a: np.sum(np.meshgrid(a, a) * np.ones(3)),
        lambda a: np.sum(np.fromstring("1 2 3", sep=" ") * a),
        lambda a: np.sum(np.real(np.roots([1.0, a[0] - 4, a[1]]))),
    ],
)
def test_what_numpy_makes_an_array_of(f):
    """Sequences beside arrays, memory of others, lists of coefficients."""
    check(f, X)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.sum(np.frombuffer(a) * 2),
        lambda a: np.object_(a[0]) * 2.0,
        lambda a: slice(a, None).start[0] * 2,
        lambda a: np.sum(np.real(np.gradient(a + 0j, 1j))),
        lambda a: np.sum(np.polyfit(a, a * a, 5)),
    ],
)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning", "ignore::numpy.exceptions.ComplexWarning")
def test_what_would_lose_the_derivative_is_refused(f):
    """At the user's line."""
    with pytest.raises(DifferentiationError, match=__file__):
        gradient(f)(X)


def test_wider_numbers_than_those_numpy_counts_in():
    """Copies of long doubles are summed in their own precision."""
    grad = gradient(lambda a: np.sum(np.repeat(a, [1, 0, 2]) ** 2))(X.astype(np.longdouble))
    assert ([1.0, 0.0, 8.0], np.longdouble) == (grad.tolist(), grad.dtype)


def test_a_function_that_writes_and_is_passed_to_a_rule_is_refused_at_the_users_line():
    """Not in a file of ours."""

    def root(a):
        seen = []

        def f(t):
            seen.append(t)
            return t * t - a

        return optimize.brentq(f, 0, 10)

    with pytest.raises(DifferentiationError, match=__file__):
        gradient(root)(2.0)


SAMPLES = np.array([0.1, 0.4, 0.9, 1.5])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.real(np.interp(x, [0.0, 1.0, 2.0], [1j, 2, 3]) ** 2)),
        lambda x: np.real(np.average(x, weights=[1j, 2, 3, 4]) ** 2),
        lambda x: np.sum(np.mean(x, keepdims=True) * np.ones_like(x, shape=(2, 5)) * np.arange(5.0)),
        lambda x: np.real(1j * np.var(x + 1j * x**2, dtype=complex)) + np.sum(x),
        lambda x: np.polyval(x.reshape(2, 2), 0.7) @ np.array([1.0, 2.0]),
        lambda x: np.sum(np.polyval([x[0], x[1], 1.0], [x[2], x[3]])),
        lambda x: np.sum(np.polydiv([x[0], x[1], 1.0], [x[2], 1.0])[0]),
        lambda x: np.sum(np.poly([x[0], x[1]]) ** 2),
        lambda x: np.sum(np.gradient([x[0], x[1], 1.0]) ** 2),
    ],
)
def test_results_that_are_wider_than_the_first_argument(f):
    """Complex samples, weights and dtypes, other shapes, coefficients of more axes, and lists."""
    check(f, SAMPLES)


def test_polyval_of_a_table_at_a_point():
    """The rows are the coefficients: each column is a polynomial of its own."""
    table = np.arange(12.0).reshape(3, 4)
    expected = np.sum(2 * 0.7 * table[0] + table[1])
    assert gradient(lambda s: np.sum(np.polyval(table, s)))(0.7) == pytest.approx(expected)


def drawn(x, rng):
    return np.sum(x * rng.poisson(2.0, 4)) + np.sum(x * rng.uniform(-1, 1, (3, 4)))


def drawn_by_one_of_its_own(x):
    rng = np.random.default_rng(5)
    draw = rng.normal
    return np.sum(x * draw(size=4)) + np.sum(x[rng.permutation(4)] * SAMPLES)


def test_a_generator_is_no_value_with_a_derivative():
    """Draws with constant parameters are constants, of every distribution, wherever the generator is from."""
    rng = np.random.default_rng(3)
    expected = rng.poisson(2.0, 4) + rng.uniform(-1, 1, (3, 4)).sum(axis=0)
    assert gradient(drawn)(SAMPLES, np.random.default_rng(3)).tolist() == pytest.approx(expected.tolist())
    check(drawn_by_one_of_its_own, SAMPLES)


# Tuples that a rule has made, in containers and objects that are written into

SIGNED = np.array([0.55, -1.1, 2.3])


class Grid:
    def __init__(self, x):
        self.first, self.second = np.meshgrid(x, x)


def kept_and_replaced(x):
    kept = [np.modf(x), np.divmod(x, 0.3)]
    (a, _), (_, r) = kept
    kept[0] = None
    return np.sum(a * r)


def appended(x):
    kept = []
    kept.append(np.modf(x))
    return np.sum(kept[0][0] * x)


def in_a_dict(x):
    kept = {"a": np.modf(x)}
    t = kept["a"]
    kept["a"] = None
    return np.sum(t[0] * x)


def in_attributes(x):
    grid = Grid(x)
    return np.sum(grid.first * grid.second**2)


def one_item_kept(x):
    a, _ = np.modf(x)
    kept = []
    kept.append(a)
    return np.sum(kept[0] * x)


def in_a_loop(x):
    kept = []
    for v in x:
        kept.append(np.modf(v))
    return sum(a * a for a, _ in kept)


def as_a_list(x):
    kept = list(np.meshgrid(x, x))
    kept.append(x)
    return np.sum(kept[0] * kept[1] ** 2 * kept[2])


def popped(x):
    kept = []
    kept.append(np.modf(x))
    return np.sum(kept.pop()[0] * x)


def over_and_over(x):
    kept = [np.modf(x)]
    for _ in range(3):
        kept[0] = np.modf(kept[0][0] * 1.3)
    return np.sum(kept[0][0] * x)


def helper(x):
    a, b = np.modf(x)
    return a, b


def by_a_helper(x):
    kept = []
    kept.append(helper(x))
    return np.sum(kept[0][0] * x)


@pytest.mark.parametrize(
    "f",
    [
        *(kept_and_replaced, appended, in_a_dict, in_attributes, one_item_kept, in_a_loop),
        *(as_a_list, popped, over_and_over, by_a_helper),
    ],
)
def test_tuples_of_rules_in_what_is_written_into(f):
    """Their cotangents come back by value, as those of tuples do."""
    check(f, SIGNED)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.apply_along_axis(lambda r, k: r * k * x[0], 1, np.ones((2, 3)), k=x[1])),
        lambda x: np.sum(np.apply_along_axis(lambda r, **kw: r * kw["k"] * x[0], 1, np.ones((2, 3)), k=x[1])),
        lambda x: np.sum(np.vectorize(lambda r, k: r * k * x[0])(np.ones(3), k=x[1])),
        lambda x: np.sum(np.piecewise(x, [x > 0], [lambda v, k: v * k * x[0], lambda v, k: v + k], k=x[1])),
        lambda x: np.sum(np.fromfunction(lambda i, j, k: (i + j) * k * x[0], (2, 3), k=x[1])),
    ],
)
def test_keywords_of_functions_that_capture(f):
    """What a function is given by keyword has a cotangent, beside what it has captured."""
    check(f, SIGNED)


# Lists and tuples in place of arrays


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(special.expit([x[0], x[1], 2.0]) * np.array([1.0, 2.0, 3.0])),
        lambda x: special.beta([2 + x[0], 2 + x[1]], (3 + x[2], 1.0))[0],
        lambda x: integrate.trapezoid([x[0], x[1] * x[2], 1.0], dx=0.3),
        lambda x: np.sum(signal.lfilter([x[0], 0.2], [1.0, x[1]], [x[2], 1.0, 2.0]) ** 2),
        lambda x: np.sum(np.linalg.norm([[x[0], x[1]], [1.0, x[2]]], axis=1) ** 3),
        lambda x: np.sum(linalg.expm([[x[0], x[1]], [1.0, x[2]]]) * np.array([[1.0, 2.0], [3.0, 4.0]])),
        lambda x: np.sum(np.var([x[0], x[1], x[2]], mean=[x[0]]) ** 2),
        lambda x: np.sum(np.concatenate([[x[0], 1.0], [x[1], x[2]]]) * np.arange(4.0)),
    ],
)
def test_lists_of_numbers_in_place_of_arrays(f):
    """As NumPy and SciPy take them, also where the rule is called as it stands."""
    check(f, SIGNED)


def test_the_cotangent_of_a_list_is_a_list():
    """Of a tuple a tuple, of lists in a list the same: the structure of the argument."""
    slopes = [special.expit(v) * (1 - special.expit(v)) for v in (0.1, 0.2)]
    for values in ([0.1, 0.2], (0.1, 0.2)):
        grad = gradient(lambda values: np.sum(special.expit(values)))(values)
        assert type(grad) is type(values)
        assert list(grad) == pytest.approx(slopes)
    grad = gradient(lambda rows: np.sum(np.linalg.norm(rows, axis=0)))([[3.0, 0.0], [4.0, 2.0]])
    assert grad == [pytest.approx([0.6, 0.0]), pytest.approx([0.8, 1.0])]
