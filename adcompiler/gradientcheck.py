"""`check_gradient`: derivatives of a function, of first and second order, against central differences.

order 1    ∂f/∂x_i         of the pullback or of tangents, against differences of f
order 2    ∂²f/∂x_i ∂x_j   of both, of the gradient, against differences of the gradient
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from adcompiler.runtime.calling import gradient_of, with_options
from adcompiler.runtime.project import materialize, project
from adcompiler.runtime.walk import entries, is_array, is_constant, part, replaced
from adcompiler.vectors import inner, leaves, random_like, widened

# Coordinates of one array that check_gradient looks at; of a larger one it takes a random choice.
_COORDINATES = 40
_ROWS_OF_HESSIAN = 12
_ROWS = 10  # of its report
_MODES = ("reverse", "forward")


def check_gradient(
    f: Callable[..., Any],
    *args: Any,
    order: int = 1,
    modes: str | tuple[str, ...] = ("reverse",),
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    **kwargs: Any,
) -> None:
    """Compare derivatives of ``f(*args, **kwargs)`` with central differences, coordinate by coordinate.

    The arguments may be numbers, arrays, and containers or objects of them; the result anything that `pullback`
    accepts, paired with a random cotangent if it is not a number. `modes` are "reverse" (the pullback) and "forward"
    (`jvp`). With ``order=2`` the second derivatives are compared as well, with differences of the gradient: in mode
    "reverse" the pullback of the gradient, in mode "forward" its tangents.

    Arguments of single precision are widened for the differences. By default `rtol`, `atol` and `step` are those that
    the precision of the derivatives and of the differences allow: 1e-5, 1e-7 and 1e-6 in double precision. Raises
    AssertionError with a table of the entries that differ, the worst first.
    """
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    if order not in (1, 2) or not modes or not set(modes) <= set(_MODES):
        raise ValueError(f"check_gradient knows order 1 and 2 and the modes {_MODES}, not {order!r} and {modes}")
    from adcompiler.api import pullback  # the compiler is not needed to check rules

    y, back = pullback(f, *copy.deepcopy(args), **kwargs)
    y_bar = type(y)(1.0) if isinstance(y, float | np.floating) else random_like(y, np.random.default_rng(7))
    wide = f(*copy.deepcopy(widened(args)), **kwargs)
    fit = _tolerances(_bits((args, y)), _bits(wide))
    given = (rtol, atol, step)
    tolerance = _Tolerance(*(own if own is not None else default for own, default in zip(given, fit, strict=True)))
    call = _Call(f, args, kwargs, y_bar, tolerance)
    if "reverse" in modes:
        call.check_pullback(back(y_bar))
    if "forward" in modes:
        call.check_tangents()
    if order == 2:
        for mode in modes:
            call.check_second(mode)


class _Tolerance(NamedTuple):
    """What an error is measured with, and the step of the differences."""

    rtol: float
    atol: float
    step: float

    def error(self, actual: float, expected: float) -> float:
        """In units of what is allowed."""
        found = abs(actual - expected) / (self.atol + self.rtol * abs(expected))
        return found if found == found else np.inf


@dataclass
class _Call:
    """A call whose derivatives are compared, paired with the cotangent `y_bar`."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    y_bar: Any
    tolerance: _Tolerance

    @property
    def name(self) -> str:
        return getattr(self.f, "__name__", str(self.f))

    def output(self, args: Any) -> float:
        """The number that is differentiated."""
        return inner(self.y_bar, self.f(*copy.deepcopy(args), **self.kwargs))

    def coordinates(self, most: int = _COORDINATES) -> Iterator[_Coordinate]:
        return _coordinates(widened(self.args), "args", most)

    def expected(self) -> list[tuple[_Coordinate, float]]:
        """The partial derivatives by central differences."""
        step = self.tolerance.step
        return [
            (at, (self.output(at.moved(step)) - self.output(at.moved(-step))) / (2 * step)) for at in self.coordinates()
        ]

    def check_pullback(self, bars: Any) -> None:
        """The cotangents, entry by entry."""
        assert isinstance(bars, tuple), f"the pullback returned a {type(bars).__name__}, not a tuple"
        assert len(bars) == len(self.args), (
            f"the pullback returned {len(bars)} cotangents for {len(self.args)} arguments"
        )
        gradient = _materialized(bars, self.args)
        rows = [_Row(at.place, expected, _entry(gradient, at)) for at, expected in self.expected()]
        self.check("wrong gradient", rows, "by central differences, the pullback gives")

    def check_tangents(self) -> None:
        """The derivative in the direction of each coordinate."""
        from adcompiler.forward_api import jvp

        rows = []
        for at, expected in self.expected():
            args = copy.deepcopy(self.args)
            y_dot = jvp(_called(self.f, self.kwargs), args, _unit(args, at.keys, at))[1]
            rows.append(_Row(at.place, expected, inner(self.y_bar, y_dot)))
        self.check("wrong tangent", rows, "by central differences, jvp gives")

    def check_second(self, mode: str) -> None:
        """A row of second derivatives for each of a few coordinates."""
        from adcompiler.api import pullback

        gradient = gradient_of(pullback, _called(self.f, self.kwargs), self.y_bar)
        rows, step = [], self.tolerance.step
        for at in self.coordinates(_ROWS_OF_HESSIAN):
            places = at.moved(step), at.moved(-step)
            ahead, behind = (_materialized(gradient(*copy.deepcopy(args)), args) for args in places)
            found = _materialized(_row(gradient, mode, copy.deepcopy(self.args), at), self.args)
            for other in self.coordinates():
                expected = (_entry(ahead, other) - _entry(behind, other)) / (2 * step)
                rows.append(_Row((*at.place, *other.place), expected, _entry(found, other)))
        by = "the pullback" if mode == "reverse" else "jvp"
        self.check("wrong second derivative", rows, f"by central differences of the gradient, {by} of it gives")

    def check(self, what: str, rows: list[_Row], how: str) -> None:
        """Raise AssertionError with the rows that are wrong."""
        wrong = [row for row in rows if not self.tolerance.error(row.actual, row.expected) <= 1.0]
        wrong.sort(key=lambda row: -self.tolerance.error(row.actual, row.expected))
        assert not wrong, _report(f"{what} of {self.name}", wrong, len(rows), how)


def _materialized(bars: Any, args: Any) -> Any:
    return materialize(tuple(map(project, bars, args)), args)


def _called(f: Any, kwargs: Any) -> Any:
    """The function of the positional arguments alone."""
    return with_options(f, kwargs) if kwargs else f


def _row(gradient: Any, mode: str, args: Any, at: _Coordinate) -> Any:
    """The second derivatives by one coordinate and all others."""
    from adcompiler.api import pullback
    from adcompiler.forward_api import jvp

    unit = _unit(args, at.keys, at)
    return pullback(gradient, *args)[1](unit) if mode == "reverse" else jvp(gradient, args, unit)[1]


# --- the report -------------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """A derivative: the argument and the entry in it, of one or two coordinates, and both numbers."""

    place: tuple[str, ...]
    expected: float
    actual: float

    @property
    def cells(self) -> tuple[str, ...]:
        apart = abs(self.actual - self.expected) / max(abs(self.expected), abs(self.actual), 1e-300)
        return *(p or "-" for p in self.place), f"{self.expected:.8g}", f"{self.actual:.8g}", f"{apart:.1e}"


def _report(what: str, wrong: list[_Row], checked: int, how: str) -> str:
    """What is said of the derivatives that differ, the worst first."""
    place, expected, actual = wrong[0]
    pairs = ["".join(place[i : i + 2]) for i in range(0, len(place), 2)]
    said = f"expected {expected:.8g} {how} {actual:.8g}"
    head = ("argument", "entry") * len(pairs)
    rows = [(*head, "expected", "got", "relative difference"), *(row.cells for row in wrong[:_ROWS])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    more = [f"and {len(wrong) - _ROWS} more"] if len(wrong) > _ROWS else []
    count = f"{len(wrong)} of the {checked} numbers that were compared differ:"
    return "\n".join([f"{what} at {' and '.join(pairs)}: {said}", count, *table, *more])


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


# --- coordinates ------------------------------------------------------------------------------------------


class _Coordinate(NamedTuple):
    """One real number inside the arguments: where it is, and how to move it."""

    argument: str
    keys: tuple[Any, ...]
    position: tuple[int, ...]
    imaginary: bool
    moved: Callable[[float], Any]

    @property
    def place(self) -> tuple[str, str]:
        """The argument, and the place in it."""
        index = f"[{', '.join(map(str, self.position))}]" if self.position else ""
        return self.argument, f"{index}.imag" if self.imaginary else index


def _entry(gradient: Any, at: _Coordinate) -> float:
    """The partial derivative that `gradient` holds for a coordinate."""
    entry = reduce(part, at.keys, gradient)
    entry = entry[at.position] if is_array(entry) and at.position else entry
    return float(entry.imag if at.imaginary else entry.real)


def _unit(value: Any, keys: tuple[Any, ...], at: _Coordinate) -> Any:
    """The tangent of `value` in the direction of a coordinate; None where it does not move."""
    if not keys:
        one = 1j if at.imaginary else 1.0
        if not is_array(value) or isinstance(value, np.generic):
            return type(value)(one)
        unit = np.zeros_like(value)
        unit[at.position] = one
        return unit
    children = entries(value) or {}
    parts = {key: _unit(child, keys[1:], at) if key == keys[0] else None for key, child in children.items()}
    return replaced(value, parts) if isinstance(value, tuple | list) else parts


def _coordinates(value: Any, text: str, most: int, keys: tuple[Any, ...] = ()) -> Iterator[_Coordinate]:
    """The real numbers in `value`, outermost container first; of an array at most so many."""
    if is_constant(value):
        return
    children = entries(value)
    if children is None:
        yield from _leaf_coordinates(value, text, most, keys)
        return
    for key, child in children.items():
        for at in _coordinates(child, f"{text}[{key!r}]", most, (*keys, key)):
            yield at._replace(moved=_moved_inside(value, children, key, at.moved))


def _moved_inside(
    value: Any, children: Mapping[Any, Any], key: Any, moved: Callable[[float], Any]
) -> Callable[[float], Any]:
    return lambda step: replaced(value, {**children, key: moved(step)})


def _leaf_coordinates(leaf: Any, text: str, most: int, keys: tuple[Any, ...]) -> Iterator[_Coordinate]:
    indices = list(np.ndindex(np.shape(leaf)))
    if len(indices) > most:
        chosen = np.random.default_rng(3).choice(len(indices), most, replace=False)
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
