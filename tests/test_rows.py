"""The rows of a Jacobian at once: an operation on all of them is that on each, or it is not done."""

import numpy as np
import pytest

from adcompiler import hook, jacobian, rrule
from adcompiler.runtime.rows import NotTogether, Rows
from tests.differences import assert_close

RNG = np.random.default_rng(4)
X = np.array([0.3, 0.5, 0.2, 0.7, 0.9])
M = RNG.normal(size=(5, 5))


def alike(operation, *shapes):
    """The same operation on rows of these shapes, at once and one by one."""
    stacks = [RNG.normal(size=(3, *shape)) for shape in shapes]
    found = operation(*map(Rows, stacks))
    expected = np.stack([operation(*each) for each in zip(*stacks, strict=True)])
    assert found.shape == expected.shape[1:]
    np.testing.assert_allclose(found.data, expected, rtol=1e-13)


@pytest.mark.parametrize(
    "operation",
    [
        lambda c: c * X,
        lambda c: M * c,
        lambda c: c[:, None] * c,
        lambda c: c - 2.0,
        lambda c: -c / np.exp(X),
        lambda c: M @ c,
        lambda c: c @ M,
        lambda c: c @ X,
        lambda c: M @ (c[:, None] * c) @ M,
        lambda c: X @ (c[:, None] * c),
        lambda c: (c[:, None] * c) @ X,
        lambda c: (c[:, None] * X) @ (X[:, None] * c),
        lambda c: (c[:, None] * X).sum(axis=0),
        lambda c: np.sum(c[:, None] * X, axis=(0, 1)),
        lambda c: np.add.reduce(c[:, None] * X, axis=-1, keepdims=True),
        lambda c: np.broadcast_to(c, (2, 5)),
        lambda c: np.where(X > 0.4, c, 0.0),
        lambda c: (c[:, None] * X).T,
        lambda c: np.transpose(c[:, None] * X, (1, 0)),
        lambda c: (c[:, None] * X).reshape(-1),
        lambda c: np.cumsum(c[::-1]),
        lambda c: np.linalg.solve(M, c),
        lambda c: np.linalg.solve(M, c[:, None] * X),
        lambda c: np.fft.rfft(c, 8).real,
        lambda c: np.expand_dims(c, 0),
        lambda c: sum(c),
    ],
)
def test_operations(operation):
    """Elementwise functions, products, sums, shapes, choices, along an axis."""
    alike(operation, (5,))


@pytest.mark.parametrize("index", [0, slice(1, 3), (..., -1), np.array([0, 0, 2]), X > 0.4])
def test_places(index):
    """Zeros like a row, into which is written and added at an index."""
    alike(lambda c: c[index], (5,))

    def scattered(c):
        bar = np.zeros((5,), c.dtype, like=c)
        bar[index] = c[index]
        bar[index] += 2 * c[index]
        bar *= X
        return bar

    alike(scattered, (5,))


def test_smaller_values_are_aligned_at_the_end():
    """Though the axis of the rows is in front."""

    def filled(c):
        bar = np.zeros((4, 3, 2), c.dtype, like=c)
        bar[1:] = c
        return bar

    alike(filled, (2,))
    alike(lambda c, d: c * d, (2, 3), (3,))
    alike(lambda c, d: c + d, (3,), (2, 3))


@pytest.mark.parametrize(
    "operation",
    [bool, float, np.asarray, np.sort, lambda c: c[[0, 1]], lambda c: np.cumsum(c[:, None]), lambda c: np.modf(c)],
)
def test_what_is_not_known_is_not_done(operation):
    """An operation that is not written for rows does nothing."""
    with pytest.raises(NotTogether):
        operation(Rows(np.ones((3, 5))))


def network(x):
    return np.tanh(M @ np.sin(x)) * x


def statistics(x):
    return (x - x.mean()) / x.std() + np.maximum(x, x[::-1]) * np.linalg.norm(x)


def moved(x):
    return np.concatenate([x[1:] * x[:-1], np.cumsum(x**2), np.outer(x, x).T.reshape(-1)])


def looped(x):
    y = np.zeros(5)
    for i in range(5):
        y[i] = x[i] ** 2 * x[i - 1]
    return y


@pytest.mark.parametrize("f", [network, statistics, moved, looped])
def test_jacobians(f):
    """The first call goes row by row, later ones may not: the same numbers as by columns."""
    by_rows = jacobian(f, mode="reverse")
    for x in (X, X * 1.1, X**2):
        assert_close(by_rows(x), jacobian(f, mode="forward")(x), 1e-9, 1e-10)


def test_cotangents_that_the_user_sees_come_one_by_one():
    """Hooks and rules of the user's get what a pullback gives them."""
    shapes = []

    def noted(c):
        shapes.append(np.shape(c))

    f = jacobian(lambda x: hook(noted, x) * 2.0, mode="reverse")
    for _ in range(2):
        np.testing.assert_array_equal(f(X), 2 * np.eye(5))
    assert shapes == [(5,)] * 10


def doubled(x):
    """Two times x."""
    return 2 * x


@rrule(doubled)
def doubled_(x):
    def pullback(y_bar):
        assert type(y_bar) is np.ndarray
        return (2 * y_bar,)

    return 2 * x, pullback


def test_rules_of_the_user_get_arrays():
    """They may ask for the type."""
    f = jacobian(lambda x: doubled(x) * x, mode="reverse")
    for _ in range(2):
        np.testing.assert_allclose(f(X), np.diag(4 * X))
