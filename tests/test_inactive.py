"""What carries no derivative is computed as it stands, whatever it is made of: arguments declared inactive."""

import copy
import inspect

import numpy as np
import pytest

from adcompiler import Tangent, differentiable, non_differentiable, pullback, value_and_grad
from adcompiler.runtime.walk import entries
from adcompiler.vectors import random_like
from tests.corpus import SAMPLES
from tests.differences import assert_close, assert_same
from tests.syntax_programs import PROGRAMS

VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def total(value):
    """All numbers in a value, as one."""
    if isinstance(value, float | complex | np.ndarray | np.generic):
        return float(np.sum(np.real(value)))
    if isinstance(value, bool | int | str | None):
        return 0.5
    return sum(map(total, (entries(value) or {}).values()), 0.25)


non_differentiable(total)


def programs():
    """All that is not refused with active arguments: its function, and a maker of its arguments."""
    for label, program in PROGRAMS.items():
        if not program.advice:
            yield pytest.param(program.function, lambda p=program: (copy.deepcopy(p.args), {}), id=label)
    for sample in SAMPLES:
        yield pytest.param(sample.function, sample.arguments, id=sample.id)


@pytest.mark.parametrize(("function", "arguments"), [*programs()])
def test_inactive_arguments(function, arguments):
    """Only a factor of the result is active: its gradient is the plain result."""
    args, kwargs = arguments()
    plain = total(function(*args, **kwargs))
    args, kwargs = arguments()
    value, slope = value_and_grad(lambda factor, *args: factor * total(function(*args, **kwargs)))(1.5, *args)
    assert value == pytest.approx(1.5 * plain)
    assert slope == pytest.approx(plain)


def several():
    """The samples with more than one argument, each with one that stays active."""
    for sample in SAMPLES:
        parameters = [*inspect.signature(sample.function, follow_wrapped=False).parameters.values()]
        count = len(sample.args)
        if count > 1 and not any(p.kind in VARIADIC for p in parameters):
            for i in range(count):
                yield pytest.param(sample, [p.name for p in parameters[:count]], i, id=f"{sample.id}-{i}")


def in_dicts(grad):
    """A gradient with dicts for those of objects."""
    if isinstance(grad, Tangent | dict):
        return {key: in_dicts(value) for key, value in grad.items()}
    return type(grad)(map(in_dicts, grad)) if type(grad) in (tuple, list) else grad


@pytest.mark.parametrize(("sample", "names", "i"), [*several()])
def test_one_active_argument(sample, names, i):
    """The derivative by one argument is the same if the others are inactive."""
    args, kwargs = sample.arguments()
    value, back = pullback(sample.function, *args, **kwargs)
    seed = random_like(value, np.random.default_rng(1))
    expected = back(copy.deepcopy(seed))
    others = tuple(name for k, name in enumerate(names) if k != i)
    args, kwargs = sample.arguments()
    alone, back = pullback(differentiable(nondiff=others)(sample.function), *args, **kwargs)
    assert_same(alone, value)
    grads = back(copy.deepcopy(seed))
    assert_close(in_dicts(grads[i : i + 1]), in_dicts(expected[i : i + 1]), 1e-5, 1e-7)
    assert all(g is None for k, g in enumerate(grads) if k != i)
