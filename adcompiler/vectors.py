"""Values as vectors: inner products, random directions and moves through numbers, arrays and structures of them."""

import copy
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np

from adcompiler.runtime.walk import entries, is_array, is_constant, part, replaced


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


def same_numbers(a: Any, b: Any, roundings: int = 0) -> bool:
    """Equality in which nan equals nan, and numbers may be a few roundings apart."""
    if is_constant(a) and not is_array(a):
        return bool(a == b)
    if isinstance(a, FunctionType):
        return a is b
    children = entries(a)
    if children is not None:
        return len(children) == len(b) and all(same_numbers(x, part(b, key), roundings) for key, x in children.items())
    dtype = np.asarray(a).dtype
    if dtype.kind not in "fc" or not roundings:
        return np.array_equal(a, b, equal_nan=dtype.kind in "fc")
    tolerance = roundings * np.finfo(dtype).eps
    return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=tolerance, atol=0, equal_nan=True)


def dtypes_of(y: Any) -> Any:
    """The dtypes in `y`; a Python number has that of its NumPy scalar."""
    if isinstance(y, (tuple, list)):
        return tuple(map(dtypes_of, y))
    return np.asarray(y).dtype if isinstance(y, (float, complex)) else getattr(y, "dtype", type(y))


def all_single(values: list[Any]) -> bool:
    """Whether there is a float32 or complex64 among the arrays, and nothing wider; Python numbers do not count."""
    dtypes = {leaf.dtype.name for value in values for leaf in leaves(value) if is_array(leaf)}
    return bool(dtypes) and dtypes <= {"float32", "complex64"}
