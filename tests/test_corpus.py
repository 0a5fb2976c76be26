"""Every function of the corpus in every mode: values, gradients by finite differences, and what must stay untouched."""

import copy
import functools
import inspect

import numpy as np
import pytest

from adcompiler import PullbackConsumedError, pullback, value_and_grad
from adcompiler.runtime.tangents import rebuild
from adcompiler.vectors import inner, random_like
from tests.corpus import SAMPLES
from tests.differences import (
    arrays,
    assert_close,
    assert_form,
    assert_same,
    assert_unshared,
    is_leaf,
    leaves,
    numerical_gradient,
)
from tests.modes import pullback_not_inlined

every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.id)


@functools.cache
def expected(index):
    """The plain value of a sample, a random cotangent of it, and the gradients by finite differences."""
    sample = SAMPLES[index]
    args, kwargs = sample.arguments()
    value = sample.function(*args, **kwargs)
    seed = random_like(value, np.random.default_rng(5))

    def output(moved):
        return inner(seed, sample.function(*copy.deepcopy(moved[0]), **copy.deepcopy(moved[1])))

    return value, seed, numerical_gradient(output, (args, kwargs))


def tolerance(*values):
    """Single precision is compared with double precision."""
    single = any(np.result_type(leaf) in (np.float32, np.complex64) for leaf in leaves(values))
    return {"rtol": 2e-5, "atol": 2e-5} if single else {"rtol": 1e-7, "atol": 1e-8}


def check_pullback(sample, make):
    """What holds of every pullback; returns it for more."""
    value, seed, (grads, _) = expected(SAMPLES.index(sample))
    args, kwargs = sample.arguments()
    y, back = make(sample.function, *args, **kwargs)
    assert_same(y, value)
    result = back(copy.deepcopy(seed))
    assert isinstance(result, tuple)
    assert_form(result, args)
    assert_close(result, grads, **tolerance(args, y))
    assert_unshared(result, (args, kwargs, y))
    assert_same(y, value, "value after the pullback")
    assert_same((args, kwargs), sample.arguments(), "arguments")
    return y, back, result


@every_sample
def test_reusable(sample):
    """A pullback gives the gradient, the same one when called again, and changes nothing."""
    y, back, first = check_pullback(sample, pullback)
    kept = copy.deepcopy(first)
    second = back(expected(SAMPLES.index(sample))[1])
    assert_same(second, kept, "second gradient")
    assert_unshared(second, (first, y))
    assert_same(first, kept, "first gradient after the second call")


@every_sample
def test_single_use(sample):
    """A pullback for one use gives the same gradient and refuses a second call."""
    _, back, _ = check_pullback(sample, functools.partial(pullback, single_use=True))
    with pytest.raises(PullbackConsumedError):
        back(expected(SAMPLES.index(sample))[1])


@every_sample
def test_not_inlined(sample):
    """The run-time path gives the same values and gradients."""
    check_pullback(sample, pullback_not_inlined)


def wanted(sample, args, kwargs):
    """The arguments that carry a derivative, as `argnums`."""
    names = inspect.signature(sample.function, follow_wrapped=False).parameters
    positions = [i for i, a in enumerate(args) if any(True for _ in leaves(a))]
    return (*positions, *(k for k, v in kwargs.items() if k in names and any(True for _ in leaves(v))))


@every_sample
def test_value_and_grad(sample):
    """`value_and_grad` gives the plain value and the gradients of all arguments; an array is weighed to one number."""
    value, seed, (grads, by_name) = expected(SAMPLES.index(sample))
    args, kwargs = sample.arguments()
    argnums = wanted(sample, args, kwargs)
    function = sample.function
    if not is_leaf(value) or not argnums:
        pytest.skip("no number or array comes out, or nothing that carries a derivative goes in")
    if np.ndim(value) or np.iscomplexobj(value):
        weights = np.conj(seed)

        def f(*args):
            return np.real(np.sum(function(*args) * weights))
    else:
        f, weights = function, None
        factor = 1.0 if seed is None else float(seed)
        grads, by_name = (_scaled(g, 1.0 / factor) for g in (grads, by_name))
    y, result = value_and_grad(f, argnums)(*args, **kwargs)
    assert_same(y, f(*args, **kwargs))
    assert isinstance(result, tuple)
    wanted_args = tuple(args[a] if isinstance(a, int) else kwargs[a] for a in argnums)
    assert_form(result, wanted_args)
    assert all(g is not None for g, a in zip(result, wanted_args, strict=True) if is_leaf(a))
    wanted_grads = tuple(grads[a] if isinstance(a, int) else by_name[a] for a in argnums)
    assert_close(result, wanted_grads, **tolerance(args, value))
    assert_unshared(result, (args, kwargs, y))
    assert_same((args, kwargs), sample.arguments(), "arguments")


def _scaled(grads, factor):
    if isinstance(grads, dict):
        return {k: _scaled(v, factor) for k, v in grads.items()}
    if isinstance(grads, tuple | list):
        return rebuild(grads, [_scaled(g, factor) for g in grads])
    return None if grads is None else grads * factor


def test_ids_are_unique():
    """Each call of the corpus has a name of its own."""
    ids = [s.id for s in SAMPLES]
    assert [] == [i for i in ids if ids.count(i) > 1]
    assert 120 <= len({id(s.function) for s in SAMPLES})


def test_arguments_do_not_share():
    """The arguments of a sample are fresh each time, so that the checks of memory mean something."""
    for s in SAMPLES:
        assert_unshared(s.arguments(), s.arguments())
        assert len(list(arrays(s.arguments()))) == len({id(a) for a in arrays(s.arguments())})
