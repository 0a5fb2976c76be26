"""Checks of derivatives against finite differences: `check_rule` for one rule, `check_gradient` for a function.

A rule is tested by a table of cases: ``case(np.multiply, normal(3, 1), normal(4))`` names a function and how to make
its arguments, and ``check_rule(case)`` checks what a rule promises. What finite differences cannot see has to be tested
by hand: values at ties and kinks, singular points, and which of two nearby branches was taken.
"""

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from adcompiler.rulecheck import check_rule as check_rule
from adcompiler.rules.registry import key_name
from adcompiler.runtime.project import materialize, project
from adcompiler.runtime.walk import entries, is_array, is_constant, part, replaced
from adcompiler.vectors import inner, leaves, random_like, widened

# Coordinates of one array that check_gradient looks at; of a larger one it takes a random choice.
_COORDINATES = 40
_ROWS = 10  # of its report


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


class _Coordinate(NamedTuple):
    """One real number inside the arguments: where it is, and how to move it."""

    argument: str
    keys: tuple[Any, ...]
    position: tuple[int, ...]
    imaginary: bool
    moved: Callable[[float], Any]

    @property
    def entry(self) -> str:
        """The place in the argument."""
        index = f"[{', '.join(map(str, self.position))}]" if self.position else ""
        return f"{index}.imag" if self.imaginary else index


class _Difference(NamedTuple):
    """A partial derivative that is not the one of the differences; `error` is in units of what is allowed."""

    at: _Coordinate
    expected: float
    actual: float
    error: float

    @property
    def row(self) -> tuple[str, ...]:
        """Its line of the report."""
        apart = abs(self.actual - self.expected) / max(abs(self.expected), abs(self.actual), 1e-300)
        numbers = f"{self.expected:.8g}", f"{self.actual:.8g}", f"{apart:.1e}"
        return self.at.argument, self.at.entry or "-", *numbers


def check_gradient(
    f: Callable[..., Any],
    *args: Any,
    order: int = 1,
    modes: tuple[str, ...] = ("reverse",),
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    **kwargs: Any,
) -> None:
    """Compare the pullback of ``f(*args, **kwargs)`` with central differences, coordinate by coordinate.

    The arguments may be numbers, arrays, and containers or objects of them; the result anything that `pullback`
    accepts, paired with a random cotangent if it is not a number. Arguments of single precision are widened for the
    differences. By default `rtol`, `atol` and `step` are those that the precision of the gradient and of the
    differences allow: 1e-5, 1e-7 and 1e-6 in double precision. Raises AssertionError naming the coordinate that differs
    most.
    """
    if order != 1 or tuple(modes) != ("reverse",):
        raise ValueError(f"check_gradient knows order 1 and the mode 'reverse', not {order} and {modes}")
    from adcompiler.api import pullback  # the compiler is not needed to check rules

    y, back = pullback(f, *copy.deepcopy(args), **kwargs)
    y_bar = type(y)(1.0) if isinstance(y, float | np.floating) else random_like(y, np.random.default_rng(7))
    bars = back(y_bar)
    assert isinstance(bars, tuple), f"the pullback returned a {type(bars).__name__}, not a tuple"
    assert len(bars) == len(args), f"the pullback returned {len(bars)} cotangents for {len(args)} arguments"
    gradient = materialize(tuple(map(project, bars, args)), args)

    def output(moved: Any) -> float:
        return inner(y_bar, f(*copy.deepcopy(moved), **kwargs))

    wide = f(*copy.deepcopy(widened(args)), **kwargs)
    fit = _tolerances(_bits((args, y)), _bits(wide))
    rtol, atol, step = (
        own if own is not None else default for own, default in zip((rtol, atol, step), fit, strict=True)
    )
    checked, wrong = 0, []
    for at in _coordinates(widened(args), "args"):
        checked += 1
        expected = (output(at.moved(step)) - output(at.moved(-step))) / (2 * step)
        actual = _entry(gradient, at)
        error = abs(actual - expected) / (atol + rtol * abs(expected))
        if not error <= 1.0:
            wrong.append(_Difference(at, expected, actual, error if error == error else np.inf))
    assert not wrong, _report(getattr(f, "__name__", str(f)), wrong, checked)


def _report(name: str, wrong: list[_Difference], checked: int) -> str:
    """What is said of the partial derivatives that differ, the worst first."""
    wrong = sorted(wrong, key=lambda difference: -difference.error)
    at, expected, actual, _ = wrong[0]
    said = f"expected {expected:.8g} by central differences, the pullback gives {actual:.8g}"
    rows = [("argument", "entry", "expected", "got", "relative difference"), *(d.row for d in wrong[:_ROWS])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    more = [f"and {len(wrong) - _ROWS} more"] if len(wrong) > _ROWS else []
    head = f"wrong gradient of {name} at {at.argument}{at.entry}: {said}"
    return "\n".join([head, f"{len(wrong)} of the {checked} numbers that were compared differ:", *table, *more])


def _bits(value: Any) -> int:
    """The least precision of a number in `value`; 64 at most."""
    return min([64, *(int(np.finfo(leaf.dtype).bits) for leaf in leaves(value) if is_array(leaf))])


def _tolerances(given: int, wide: int) -> tuple[float, float, float]:
    """`rtol`, `atol` and `step` for a gradient computed with `given` bits, and differences with `wide` bits."""
    if wide < 64:
        return 2e-2, 1e-3, 1e-2
    if given < 32:
        return 5e-2, 2e-2, 1e-6
    return (1e-3, 1e-5, 1e-6) if given < 64 else (1e-5, 1e-7, 1e-6)


def _entry(gradient: Any, at: _Coordinate) -> float:
    """The partial derivative that `gradient` holds for a coordinate."""
    entry = reduce(part, at.keys, gradient)
    entry = entry[at.position] if is_array(entry) and at.position else entry
    return float(entry.imag if at.imaginary else entry.real)


def _coordinates(value: Any, text: str, keys: tuple[Any, ...] = ()) -> Iterator[_Coordinate]:
    """The real numbers in `value`, outermost container first."""
    if is_constant(value):
        return
    children = entries(value)
    if children is None:
        yield from _leaf_coordinates(value, text, keys)
        return
    for key, child in children.items():
        for at in _coordinates(child, f"{text}[{key!r}]", (*keys, key)):
            yield at._replace(moved=_moved_inside(value, children, key, at.moved))


def _moved_inside(
    value: Any, children: Mapping[Any, Any], key: Any, moved: Callable[[float], Any]
) -> Callable[[float], Any]:
    return lambda step: replaced(value, {**children, key: moved(step)})


def _leaf_coordinates(leaf: Any, text: str, keys: tuple[Any, ...]) -> Iterator[_Coordinate]:
    indices = list(np.ndindex(np.shape(leaf)))
    if len(indices) > _COORDINATES:
        chosen = np.random.default_rng(3).choice(len(indices), _COORDINATES, replace=False)
        indices = [indices[i] for i in sorted(chosen)]
    complex_leaf = np.iscomplexobj(leaf)
    for index in indices:
        yield _Coordinate(text, keys, index, False, _moved_leaf(leaf, index, 1))
        if complex_leaf:
            yield _Coordinate(text, keys, index, True, _moved_leaf(leaf, index, 1j))


def _moved_leaf(leaf: Any, index: tuple[int, ...], direction: complex) -> Callable[[float], Any]:
    def moved(step: float) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf + direction * step
        result = leaf.copy()
        result[index] += direction * step
        return result

    return moved
