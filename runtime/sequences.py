"""Cotangents of functions of several numbers: of a sequence, or of the arguments `*values` of one call."""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import like_of
from adcompiler.runtime.domain import is_domain
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.shapes import broadcast, conj, dtype_of, fit, shape
from adcompiler.runtime.walk import is_array


def _like(values: Any, bars: Iterable[Any]) -> Any:
    """`bars` as an array, tuple or list, as `values` is one."""
    if is_array(values):
        join = np.array if like_of(values) is None else np.stack
        return join(list(bars)).reshape(shape(values))
    return tuple(bars) if isinstance(values, tuple) else list(bars)


def entry_shapes(values: Any) -> Any:
    """The shapes of the entries of a sequence, for `spread`; refuses what can be iterated only once, and objects."""
    if is_array(values):
        return values.shape
    if not isinstance(values, (list, tuple, deque)):
        raise NoRuleError(f"no derivative through an iteration over a {type(values).__name__}: make it a list first")
    for value in values:
        if type(value) is not float and (not is_domain(value) or isinstance(value, (list, tuple, dict))):
            what = f"a sum of values of type {type(value).__qualname__} has no derivative rule"
            raise NoRuleError(f"{what}\nCombine the items in a loop.")
    return _like(values, map(shape, values))


def spread(c: Any, shapes: Any) -> Any:
    """The cotangent `c` of a sum given to each of its summands."""
    if shapes and isinstance(shapes[0], int):
        return broadcast(c, shapes)
    return _like(shapes, [fit(c, entry) for entry in shapes])


def only_numbers(values: Any) -> None:
    """Raise if the extreme of `values` is one of lists, tuples or objects, which are compared part by part."""
    for value in values:
        if isinstance(value, list | tuple | dict) or not is_domain(value):
            raise NoRuleError("max() or min() of lists, tuples or objects\nCombine the items in a loop.")


def share_equally(c: Any, values: Any, y: Any) -> Any:
    """The cotangent of each of `values`, whose extreme is `y`: equal shares at a tie."""
    if is_array(values):
        tied = values == y
        shares = np.where(tied, c / np.count_nonzero(tied), 0.0)
        return shares.astype(dtype_of(values), copy=False)  # the count is wider than single precision
    only_numbers(values)
    ties = [bool(value == y) for value in values]
    return _like(values, [c / sum(ties) if tie else 0.0 for tie in ties])


def extreme_bar(c: Any, values: tuple[Any, ...], y: Any) -> Any:
    """The cotangent of the arguments of `max(*values)` or `min(*values)`, which may be one sequence."""
    return share_equally(c, values, y) if len(values) > 1 else (share_equally(c, values[0], y),)


def scaled(c: Any, values: Any, y: Any) -> Any:
    """`c * value / y` for each of `values`, and 0 if `y` is 0: the cotangent of a Euclidean length `y`."""
    factor = c / y if y else 0.0
    return _like(values, [factor * value for value in values])


def differences(p: Any, q: Any, like: Any) -> Any:
    """`p - q` entry by entry, in a sequence as `like` is."""
    return _like(like, [a - b for a, b in zip(p, q, strict=True)])


def multiples(c: Any, partners: Any, values: Any) -> Any:
    """`c * partner` for each of `values`, in a sequence as they are."""
    return _like(values, [c * conj(partner) for partner in partners])


def others_product(c: Any, values: Sequence[Any], start: Any) -> Any:
    """For each of `values`, `c * start` times the product of the others; no division, so zeros are no exception."""
    before, product = [], c * conj(start)
    for value in values:
        before.append(product)
        product = product * conj(value)
    bars: list[Any] = []
    after: Any = 1
    for value, left in zip(list(values)[::-1], before[::-1], strict=True):
        bars.append(fit(left * after, shape(value)))
        after = after * conj(value)
    return _like(values, bars[::-1])


def start_bar(c: Any, values: Iterable[Any], start: Any) -> Any:
    """The cotangent of the factor `start` of a product with `values`."""
    return fit(c * conj(math.prod(values)), shape(start))


def deviations(c: Any, values: Any, center: Any, like: Any) -> Any:
    """`c * (value - center)` for each of `values`, in a sequence as `like` is."""
    return _like(like, [c * (value - center) for value in values])


def inverse_powers(c: Any, values: Any, power: int) -> Any:
    """`c / value ** power` for each of `values`, and 0 where a value is 0."""
    return _like(values, [c / value**power if value else 0.0 for value in values])
