"""Values as vectors: inner products, random directions and moves through numbers, arrays and structures of them."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from adcompiler.runtime.walk import entries, is_constant, part, replaced


def inner(y_bar: Any, y: Any) -> float:
    """The real inner product of a cotangent and a value or tangent; None is zero."""
    if y_bar is None or y is None:
        return 0.0
    if is_constant(y):
        return 0.0
    children = entries(y)
    if children is not None:
        return sum(inner(part(y_bar, key), child) for key, child in children.items())
    return float(np.sum(np.conj(y_bar) * y).real)


def widened(value: Any) -> Any:
    """A copy of `value` with every number and array in double precision."""
    if is_constant(value):
        return copy.deepcopy(value) if isinstance(value, np.ndarray) else value
    children = entries(value)
    if children is not None:
        return replaced(value, {key: widened(child) for key, child in children.items()})
    if isinstance(value, np.ndarray):
        return np.array(value, complex if value.dtype.kind == "c" else float)
    if isinstance(value, np.generic):
        return np.complex128(value) if value.dtype.kind == "c" else np.float64(value)
    return value


def random_like(y: Any, rng: np.random.Generator) -> Any:
    """A random cotangent of the structure, shapes, dtypes and types of `y`; None for what has no derivative."""
    if is_constant(y):
        return None
    children = entries(y)
    if children is not None:
        parts = {key: random_like(child, rng) for key, child in children.items()}
        return replaced(y, parts) if isinstance(y, (tuple, list)) else parts
    numbers = rng.standard_normal(np.shape(y))
    if np.iscomplexobj(y):
        numbers = numbers + 1j * rng.standard_normal(np.shape(y))
    return np.asarray(numbers, y.dtype) if isinstance(y, np.ndarray) else type(y)(numbers)


def direction(value: Any, rng: np.random.Generator, imaginary: bool) -> Any:
    """A random tangent of `value`, real or (at its complex numbers) imaginary."""
    if is_constant(value):
        return None
    children = entries(value)
    if children is not None:
        return replaced(value, {key: direction(child, rng, imaginary) for key, child in children.items()})
    v = rng.standard_normal(np.shape(value))
    return (v * 1j if np.iscomplexobj(value) else v * 0) if imaginary else v


def moved(value: Any, v: Any, step: float) -> Any:
    """``value + step * v``, entry by entry; an array has the layout of the one in `value`, which code may depend on."""
    if v is None:
        return value
    children = entries(value)
    if children is not None:
        return replaced(value, {key: moved(child, part(v, key), step) for key, child in children.items()})
    result = value + step * v
    if not isinstance(value, np.ndarray):
        return type(value)(result)
    made = np.empty_like(value, dtype=np.result_type(result))
    made[...] = result
    return made


def magnitude(value: Any) -> float:
    """The Euclidean length of everything in `value` that has a derivative."""
    return float(np.sqrt(sum(np.sum(np.abs(leaf) ** 2) for leaf in leaves(value))))


def leaves(value: Any) -> Iterator[Any]:
    """The numbers and arrays in `value` that have a derivative."""
    if is_constant(value):
        return
    children = entries(value)
    if children is None:
        yield value
    else:
        for child in children.values():
            yield from leaves(child)


def has_tangent(value: Any) -> bool:
    """Whether there is anything in `value` that has a derivative."""
    return any(True for _ in leaves(value))


def has_complex(value: Any) -> bool:
    """Whether there is anything complex in `value`."""
    return any(np.iscomplexobj(leaf) for leaf in leaves(value))


def close(a: Any, b: Any, tolerance: float) -> bool:
    """Whether two cotangents have the same shapes, and numbers that agree up to `tolerance`."""
    pairs = zip(leaves(a), leaves(b), strict=True)
    return all(np.shape(x) == np.shape(y) and np.allclose(x, y, tolerance, tolerance, True) for x, y in pairs)


def combined(u: Any, v: Any) -> Any:
    """``2 u - 3 v``, entry by entry."""
    if u is None or v is None:
        return u
    if isinstance(u, (tuple, list)):
        return type(u)(map(combined, u, v)) if not hasattr(u, "_fields") else type(u)(*map(combined, u, v))
    if isinstance(u, dict):
        return {key: combined(u[key], v[key]) for key in u}
    result = 2 * u - 3 * v
    return np.asarray(result, u.dtype) if isinstance(u, np.ndarray) else type(u)(result)
