"""Every function of the corpus forwards: tangents against finite differences, and second derivatives against theirs.

The second derivatives take their time: a fifth of the functions, unless `ADCOMPILER_RANDOM_PROGRAMS` asks for more.
"""

import copy
import os

import numpy as np
import pytest

from adcompiler import jvp, pullback
from adcompiler.vectors import inner, moved, random_like
from tests.corpus import SAMPLES
from tests.differences import assert_same
from tests.test_corpus import every_sample, expected, tolerance


def called_with(sample):
    """A function of the positional arguments, these, a direction, and the expected gradient in it."""
    value, seed, (grads, _) = expected(SAMPLES.index(sample))
    args, kwargs = sample.arguments()

    def function(*args):
        return sample.function(*args, **copy.deepcopy(kwargs))

    rng = np.random.default_rng(7)
    tangents = tuple(random_like(g, rng) if g is not None else None for g in grads)
    return function, args, tangents, value, seed, sum(inner(g, t) for g, t in zip(grads, tangents, strict=True))


@every_sample
def test_tangent(sample):
    """The tangent along a direction is that of finite differences, the value is the function's, nothing is changed."""
    function, args, tangents, value, seed, along = called_with(sample)
    given = copy.deepcopy(tangents)
    y, y_dot = jvp(function, args, tangents)
    assert_same(y, value)
    np.testing.assert_allclose(inner(seed, y_dot), along, **tolerance(args, y))
    assert_same(tangents, given, "tangents")


def second_difference(function, args, tangents, seed, direction, step):
    """The derivative of the tangent in a second direction, by a central difference."""

    def at(h):
        points = [moved(copy.deepcopy(a), v, h) for a, v in zip(args, direction, strict=True)]
        return inner(seed, jvp(function, tuple(points), tangents)[1])

    return (at(step) - at(-step)) / (2 * step)


FEW = slice(None, None, None if os.environ.get("ADCOMPILER_RANDOM_PROGRAMS") else 5)


@pytest.mark.parametrize("sample", SAMPLES[FEW], ids=lambda s: s.id)
def test_second_derivative(sample):
    """The gradient of a tangent is its difference quotient, for smooth functions."""
    function, args, tangents, _, seed, _ = called_with(sample)
    rng = np.random.default_rng(11)
    direction = tuple(random_like(a, rng) if t is not None else None for a, t in zip(args, tangents, strict=True))
    _, back = pullback(lambda *a: jvp(function, a, tangents)[1], *copy.deepcopy(args))
    bars = back(seed)
    found = sum(inner(b, d) for b, d in zip(bars, direction, strict=True) if b is not None)
    coarse, fine = (second_difference(function, args, tangents, seed, direction, h) for h in (2e-5, 1e-5))
    if abs(coarse - fine) < 1e-5 * max(1.0, abs(fine)):  # else the sample has a kink between
        np.testing.assert_allclose(found, fine, rtol=1e-4, atol=1e-5 + 4 * abs(coarse - fine))
