"""Checks of derivatives against finite differences: `check_rule` for one rule, `check_gradient` for a function.

A rule is tested by a table of cases: ``case(np.multiply, normal(3, 1), normal(4))`` names a function and how to make
its arguments, and ``check_rule(case)`` checks what a rule promises. What finite differences cannot see has to be tested
by hand: values at ties and kinks, singular points, and which of two nearby branches was taken.
"""

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adcompiler.gradientcheck import check_gradient as check_gradient
from adcompiler.rulecheck import check_rule as check_rule
from adcompiler.rules.registry import key_name


@dataclass(frozen=True)
class Input:
    """An argument that is made when a case runs, always with the same numbers."""

    make: Callable[[np.random.Generator], Any]
    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Case:
    """One call of a function whose rule is to be checked; see `case`."""

    key: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    id: str | None = None
    wrt: tuple[int | str, ...] | None = None
    real_only: bool = False

    def __str__(self) -> str:
        if self.id is not None:
            return f"{key_name(self.key)}: {self.id}"
        arguments = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items())]
        text = f"{key_name(self.key)}({', '.join(arguments)})"
        return re.sub(" at 0x[0-9a-f]+", "", text)  # the name is the same in every process

    def inputs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Fresh arguments and keyword arguments, the same numbers every time."""
        rng = np.random.default_rng(20)
        return made(self.args, rng), made(self.kwargs, rng)


def case(key: Any, *args: Any, id: str | None = None, wrt: Any = None, real_only: bool = False, **kwargs: Any) -> Case:
    """A case for `check_rule`: the call ``key(*args, **kwargs)``.

    Arguments are values or makers such as ``normal(3, 4)``, also inside lists, tuples and dicts. `id` names the case in
    the test report. `wrt` gives the positions or names of the arguments whose derivative is compared with finite
    differences: by default all that have one. With `real_only` the same call is not tried on complex arrays, where the
    value has no derivative (a phase that the function chooses, a branch cut).
    """
    return Case(key, args, kwargs, id, wrt if wrt is None or isinstance(wrt, tuple) else (wrt,), real_only)


def made(value: Any, rng: np.random.Generator) -> Any:
    """`value` with every `Input` in it made; arrays are copied, so that each call has its own."""
    if isinstance(value, Input):
        return value.make(rng)
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(made(entry, rng) for entry in value)
    if type(value) is dict:
        return {key: made(entry, rng) for key, entry in value.items()}
    return copy.deepcopy(value) if isinstance(value, np.ndarray) else value


def _text(name: str, *numbers: float) -> str:
    return f"{name}({', '.join(map(str, numbers))})"


def normal(*shape: int, dtype: Any = float) -> Input:
    """Standard normal numbers."""
    return Input(lambda rng: np.asarray(rng.standard_normal(shape), dtype), _text("normal", *shape))


def uniform(low: float, high: float, *shape: int, dtype: Any = float) -> Input:
    """Numbers evenly distributed between `low` and `high`."""
    return Input(lambda rng: np.asarray(rng.uniform(low, high, shape), dtype), _text("uniform", low, high, *shape))


def positive(*shape: int, dtype: Any = float) -> Input:
    """Numbers between 0.5 and 2."""
    return Input(uniform(0.5, 2.0, *shape, dtype=dtype).make, _text("positive", *shape))


def unit(*shape: int, dtype: Any = float) -> Input:
    """Numbers between -0.9 and 0.9, for functions on the open unit interval."""
    return Input(uniform(-0.9, 0.9, *shape, dtype=dtype).make, _text("unit", *shape))


def nonzero(*shape: int, dtype: Any = float) -> Input:
    """Numbers of both signs, at least 0.5 away from 0."""

    def make(rng: np.random.Generator) -> Any:
        return np.asarray(rng.uniform(0.5, 2.0, shape) * rng.choice([-1.0, 1.0], shape), dtype)

    return Input(make, _text("nonzero", *shape))


def distinct(*shape: int, dtype: Any = float) -> Input:
    """Numbers between -1 and 1 in random order, any two of them clearly different: for maxima, sorting, rounding."""

    def make(rng: np.random.Generator) -> Any:
        count = int(np.prod(shape))
        return np.asarray(rng.permutation((np.arange(count) + 0.37) * 2 / count - 1).reshape(shape), dtype)

    return Input(make, _text("distinct", *shape))


def complex_normal(*shape: int, dtype: Any = complex) -> Input:
    """Complex numbers with standard normal real and imaginary parts."""

    def make(rng: np.random.Generator) -> Any:
        return np.asarray(rng.standard_normal(shape) + 1j * rng.standard_normal(shape), dtype)

    return Input(make, _text("complex_normal", *shape))


def positive_definite(n: int) -> Input:
    """A symmetric positive definite matrix with well separated eigenvalues."""

    def make(rng: np.random.Generator) -> Any:
        q = np.linalg.qr(rng.standard_normal((n, n)))[0]
        return q @ np.diag(np.arange(n) + 1.0) @ q.T

    return Input(make, _text("positive_definite", n))


def integers(low: int, high: int, *shape: int) -> Input:
    """Integers from `low` up to, without, `high`."""
    return Input(lambda rng: rng.integers(low, high, shape), _text("integers", low, high, *shape))


def booleans(*shape: int) -> Input:
    """A mask that is true in about half the places, and in the first."""

    def make(rng: np.random.Generator) -> Any:
        mask = rng.random(shape) < 0.5
        mask[(slice(0, 1),) * len(shape)] = True
        return mask

    return Input(make, _text("booleans", *shape))
