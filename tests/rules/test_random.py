"""Every rule of rules/random.py: with the same random numbers, draws against differences in their parameters."""

import numpy as np
import pytest

from adcompiler import NoRuleError, gradient
from adcompiler.rules.random import DRAWS

W = np.array([0.5, -1.0, 2.0, 0.3])
# Tested here, not by cases: a generator gives other numbers the second time.
BY_HAND = {
    *(getattr(owner, name) for name in DRAWS for owner in (np.random, np.random.Generator, np.random.RandomState)),
    *(getattr(np.random.Generator, name) for name in ("multivariate_normal", "choice", "permutation")),
}


def shared(seed):
    """The functions of the module np.random, from a seed."""
    np.random.seed(seed)
    return np.random


SOURCES = {"generator": np.random.default_rng, "state": np.random.RandomState, "module": shared}


CALLS = {
    ("normal", "loc"): lambda rng, p, size: rng.normal(p, 1.3, size),
    ("normal", "scale"): lambda rng, p, size: rng.normal(0.4, p, size=size),
    ("laplace", "loc"): lambda rng, p, size: rng.laplace(loc=p, size=size),
    ("laplace", "scale"): lambda rng, p, size: rng.laplace(scale=p, size=size),
    ("logistic", "loc"): lambda rng, p, size: rng.logistic(p, 1.3, size),
    ("logistic", "scale"): lambda rng, p, size: rng.logistic(0.4, p, size),
    ("gumbel", "loc"): lambda rng, p, size: rng.gumbel(p, 1.3, size),
    ("gumbel", "scale"): lambda rng, p, size: rng.gumbel(0.4, p, size),
    ("uniform", "low"): lambda rng, p, size: rng.uniform(p, 2.3, size),
    ("uniform", "high"): lambda rng, p, size: rng.uniform(-0.3, p, size),
    ("exponential", "scale"): lambda rng, p, size: rng.exponential(p, size),
    ("rayleigh", "scale"): lambda rng, p, size: rng.rayleigh(p, size),
    ("lognormal", "mean"): lambda rng, p, size: rng.lognormal(p, 0.4, size),
    ("lognormal", "sigma"): lambda rng, p, size: rng.lognormal(0.4, p, size),
    ("weibull", "a"): lambda rng, p, size: rng.weibull(p, size),
    ("power", "a"): lambda rng, p, size: rng.power(p, size),
    ("pareto", "a"): lambda rng, p, size: rng.pareto(p, size),
    ("gamma", "scale"): lambda rng, p, size: rng.gamma(2.0, p, size),
    ("vonmises", "mu"): lambda rng, p, size: rng.vonmises(p, 1.3, size),
    ("triangular", "left"): lambda rng, p, size: rng.triangular(p - 2.0, 0.4, 1.5, size),
    ("triangular", "mode"): lambda rng, p, size: rng.triangular(-0.5, p, 1.5, size),
    ("triangular", "right"): lambda rng, p, size: rng.triangular(-0.5, 0.4, p, size),
}


def test_there_is_a_call_for_each_parameter():
    """Those of each distribution that have a derivative."""
    assert set(CALLS) == {(name, p) for name, draw in DRAWS.items() for p in draw.closed or draw.parameters}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", CALLS, ids="-".join)
def test_draw(name, source):
    """A parameter as a number for all draws, and as an array with one for each."""
    make, call = SOURCES[source], CALLS[name]

    def total(p, size):
        return np.sum(W * call(make(5), p, size))

    step = 1e-6
    for start, size in ((1.3, 4), (np.array([1.3, 1.32, 1.28, 1.31]), None)):
        slopes = []
        for direction in np.eye(4) if np.ndim(start) else [1.0]:
            ahead, behind = (total(start + s * step * direction, size) for s in (1, -1))
            slopes.append((ahead - behind) / (2 * step))
        actual = gradient(total)(start, size)
        assert actual == pytest.approx(slopes if np.ndim(start) else slopes[0], rel=1e-6, abs=1e-8)
        assert np.shape(actual) == np.shape(start)


def test_the_value_is_the_plain_draw_and_the_generator_moves_on_as_usual():
    """The same numbers as without the derivative, now and afterwards."""

    def total(scale, rng):
        return np.sum(rng.normal(0.0, scale, 3)) + rng.normal(1.0, scale)

    plain, differentiated = np.random.default_rng(8), np.random.default_rng(8)
    numbers = np.random.default_rng(8).standard_normal(4)
    assert total(2.0, plain) == 2.0 * numbers.sum() + 1.0
    assert gradient(total)(2.0, differentiated) == pytest.approx(numbers.sum())
    assert plain.random() == differentiated.random()


def test_a_scale_of_zero():
    """The standard draw is known even where it is multiplied by 0."""
    e = np.random.default_rng(8).standard_normal(4)
    scale_bar = gradient(lambda s: np.sum(W * np.random.default_rng(8).normal(3.0, s, 4)))(0.0)
    assert scale_bar == pytest.approx(W @ e)


def test_choice_permutation_and_means_of_several_variables():
    """Chosen entries have the cotangents of what they were chosen for; a mean moves every draw."""
    x = np.array([1.0, 2.0, 4.0, 8.0])
    rng = np.random.default_rng
    chosen = rng(3).choice(4, 4)
    assert [W[chosen == i].sum() for i in range(4)] == pytest.approx(
        gradient(lambda x: W @ rng(3).choice(x, 4))(x).tolist()
    )
    order = rng(3).permutation(4)
    assert W[np.argsort(order)].tolist() == gradient(lambda x: W @ rng(3).permutation(x))(x).tolist()
    mean_bar = gradient(lambda m: np.sum(rng(3).multivariate_normal(m, np.eye(4), 5) @ W))(x)
    assert (5 * W).tolist() == pytest.approx(mean_bar.tolist())


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, a: rng.poisson(a),
        lambda rng, a: rng.gamma(a, 2.0),
        lambda rng, a: rng.vonmises(0.0, a),
        lambda rng, a: rng.multivariate_normal(np.zeros(1), a * np.eye(1))[0],
        lambda rng, a: np.random.beta(a, 1.0),
    ],
)
def test_parameters_without_derivative_are_refused(draw):
    """Not a zero, which a jumping draw seems to have."""
    rng = np.random.default_rng(2)
    with pytest.raises(NoRuleError, match="density"):
        gradient(lambda a: draw(rng, a))(1.5)
