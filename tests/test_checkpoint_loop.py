"""`checkpoint_loop`: gradients of the plain loop, how often the body is called, how many states are kept."""

import functools
import tracemalloc

import numpy as np
import pytest

from adcompiler import MutationError, checkpoint_loop, gradient, pullback, value_and_grad
from adcompiler.runtime.revolve import split

X = np.linspace(0.2, 1.0, 3)


def plain_loop(body, state, n, *, snapshots=None):
    for i in range(n):
        state = body(i, state)
    return state


@functools.cache
def fewest(n, kept):
    """The fewest steps that n steps are reversed with, from the recurrence that defines them."""
    if n <= 1:
        return 0
    if kept == 1:
        return n * (n - 1) // 2
    return min(m + fewest(n - m, kept - 1) + fewest(m, kept) for m in range(1, n))


@functools.cache
def by_schedule(n, kept):
    if n <= 1:
        return 0
    if kept == 1:
        return n * (n - 1) // 2
    m = split(n, kept)
    return m + by_schedule(n - m, kept - 1) + by_schedule(m, kept)


def test_the_schedule_is_the_best_one():
    """No choice of the states that are kept needs fewer steps."""
    cases = [(n, kept) for n in range(1, 70) for kept in range(1, 8)]
    assert [by_schedule(*case) for case in cases] == [fewest(*case) for case in cases]


@pytest.mark.parametrize(("n", "snapshots"), [(0, None), (1, None), (2, 1), (10, 3), (37, None), (12, 1), (9, 50)])
def test_gradients_of_the_plain_loop(n, snapshots):
    """Of the first state, of what the body has captured, for states with a structure."""

    def make(loop):
        def f(x, w, n):
            def body(i, state):
                u, more = state["u"], state["more"]
                return {"u": u + 0.1 * np.sin(more[0] * w), "more": (more[0] - 0.1 * u + i * 0.01, more[1] * w, "text")}

            end = loop(body, {"u": x, "more": (x * 2, 1.0, "text")}, n, snapshots=snapshots)
            return np.sum(end["u"]) * end["more"][1]

        return f

    value, expected = value_and_grad(make(plain_loop), (0, 1))(X, 1.1, n)
    actual, found = value_and_grad(make(checkpoint_loop), (0, 1))(X, 1.1, n)
    assert actual == value
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


@pytest.mark.parametrize(("n", "snapshots"), [(1, 1), (12, 1), (10, 3), (60, 4), (60, 6), (9, 50)])
def test_how_often_the_body_is_called(n, snapshots):
    """Once for each step in the forward, once in the reverse, and as often as the schedule says in between."""
    calls = []

    def body(i, x):
        calls.append(i)
        return np.sin(x)

    kept, last = snapshots, 0
    while n - last > 1 and kept > 1:
        last += split(n - last, kept)
        kept -= 1
    _y, back = pullback(lambda x: checkpoint_loop(body, x, n, snapshots=snapshots), X)
    assert calls == list(range(n))
    for _ in range(2):
        calls.clear()
        back(np.ones(3))
        assert len(calls) == n + fewest(n, snapshots) - last  # the forward has gone to the last state that is kept


def test_outside_of_differentiation():
    """A plain call is the loop."""
    assert checkpoint_loop(lambda i, x: x * 2 + i, 1.0, 3) == 12.0
    with pytest.raises(ValueError, match="keeps at least one state, and snapshots is 0"):
        gradient(lambda x: checkpoint_loop(lambda i, x: x, x, 3, snapshots=0))(1.0)


def test_few_states_are_kept():
    """Of 500 steps with 9 states at a time, about 9 arrays are alive; of the plain loop some 500."""
    x = np.linspace(0.0, 1.0, 10_000)

    def peak(loop):
        def f(x):
            return np.sum(loop(lambda i, u: np.sin(u + 0.1 * i), x, 500, snapshots=9))

        gradient(f)(x)
        tracemalloc.start()
        gradient(f)(x)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most / x.nbytes

    assert peak(checkpoint_loop) < 9 + 8
    assert peak(plain_loop) > 400


def test_the_number_of_states_by_default():
    """Without a number about 2 log2(n) states are kept."""
    x = np.ones(10_000)
    _, back = pullback(lambda x: checkpoint_loop(lambda i, u: np.sin(u), x, 1000), x)
    tracemalloc.start()
    back(x)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 28 * x.nbytes


@pytest.mark.parametrize("snapshots", [1, 3, 20])
def test_random_numbers_are_drawn_again(snapshots):
    """Every step draws what it has drawn in the forward, and the streams go on behind it."""

    def run(loop):
        rng = np.random.default_rng(3)
        np.random.seed(4)

        def body(i, x):
            return np.sin(x) * rng.normal(size=3) + np.random.random() * x

        found = gradient(lambda x: np.sum(loop(body, x, 11, snapshots=snapshots)))(X)
        return found, rng.normal(), np.random.random()

    expected, actual = run(plain_loop), run(checkpoint_loop)
    np.testing.assert_allclose(actual[0], expected[0])
    assert actual[1:] == expected[1:]


def test_exceptions_nesting_and_methods():
    """A body may raise, be a method, and have such a loop in itself."""

    class Model:
        def __init__(self, w):
            self.w = w

        def step(self, i, x):
            return checkpoint_loop(lambda j, t: np.tanh(t * self.w + i), x, 3)

    def make(loop):
        return lambda model, x: np.sum(loop(model.step, x, 4))

    expected = gradient(make(plain_loop), (0, 1))(Model(1.2), X)
    found = gradient(make(checkpoint_loop), (0, 1))(Model(1.2), X)
    np.testing.assert_allclose(found[0].w, expected[0].w)
    np.testing.assert_allclose(found[1], expected[1])

    def raises(i, x):
        if i == 2:
            raise KeyError("mine")
        return x

    with pytest.raises(KeyError, match="mine"):
        gradient(lambda x: checkpoint_loop(raises, x, 4))(1.0)


def doubled(i, u):
    u[0] = u[0] * 2
    return u * 1.5


def test_what_is_refused():
    """A body that writes into its state, and one that gives something else the second time."""
    with pytest.raises(MutationError, match="doubled, a function under checkpoint, writes into what it is given"):
        gradient(lambda x: np.sum(checkpoint_loop(doubled, x * 2, 4)))(X)
    calls = []

    def flips(i, x):
        calls.append(1)
        return x * len(calls)

    with pytest.raises(MutationError, match="flips gave another value"):
        gradient(lambda x: np.sum(checkpoint_loop(flips, x, 6, snapshots=2)))(X)


def test_states_and_captured_arrays_that_are_written_into_later():
    """Of what the program writes into later, there is a copy."""

    def make(loop):
        def f(x):
            u, w = x * 2, np.ones(3)
            y = loop(lambda i, t: t * w * u, u, 4)
            u[0] = 0.0
            w[1] = 5.0
            return np.sum(y * u * w)

        return f

    np.testing.assert_allclose(gradient(make(checkpoint_loop))(X), gradient(make(plain_loop))(X))
