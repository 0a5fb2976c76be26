"""Gradients by finite differences, and how they are compared: what the tests of whole programs stand on.

A central difference of fourth order with a step of 1e-3 is right to about ten digits for functions that are smooth at
that scale.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from adcompiler.runtime import walk
from adcompiler.runtime.tangents import Tangent

STEP = 1e-3


def is_leaf(value: Any) -> bool:
    """Whether a value is a number or array that carries a derivative."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fc"
    return isinstance(value, float | complex | np.inexact)


def is_object(value: Any) -> bool:
    """Whether a value is an object or function with fields or captured variables."""
    plain = isinstance(value, tuple | list | dict | np.ndarray | np.generic)
    return not plain and not walk.is_constant(value) and walk.entries(value) is not None


def children(value: Any) -> dict[Any, Any]:
    """The entries of a tuple, list or dict, the fields of an object, the captured variables of a function."""
    if isinstance(value, tuple | list):
        return dict(enumerate(value))
    if isinstance(value, dict) or is_object(value):
        return dict(walk.entries(value) or {})
    return {}


def replaced(value: Any, key: Any, entry: Any) -> Any:
    """A copy of a structure with one entry replaced."""
    return walk.replaced(value, {**children(value), key: entry})


def leaves(value: Any) -> Iterator[Any]:
    """The numbers and arrays with a derivative in a structure."""
    if is_leaf(value):
        yield value
    for child in children(value).values():
        yield from leaves(child)


def arrays(value: Any) -> Iterator[np.ndarray]:
    """All arrays in a structure."""
    if isinstance(value, np.ndarray):
        yield value
    for child in children(value).values():
        yield from arrays(child)


def widened(value: Any) -> Any:
    """A copy in double precision."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        return np.array(value, complex if value.dtype.kind == "c" else float)
    if isinstance(value, np.inexact):
        return complex(value) if isinstance(value, np.complexfloating) else float(value)
    if children(value):
        return walk.replaced(value, {k: widened(v) for k, v in children(value).items()})
    return copy.deepcopy(value) if isinstance(value, np.ndarray) else value


def difference(output: Callable[[float], float]) -> float:
    """The derivative of `output` at 0."""
    h = STEP
    return (8 * (output(h) - output(-h)) - (output(2 * h) - output(-2 * h))) / (12 * h)


def numerical_gradient(output: Callable[[Any], float], value: Any) -> Any:
    """The gradient of the real function `output` at a structure; None for what has no derivative, ∂/∂re + i ∂/∂im."""
    return _gradient(widened(value), output)


def _gradient(value: Any, output: Callable[[Any], float]) -> Any:
    if isinstance(value, np.ndarray) and is_leaf(value):
        return _array_gradient(value, output)
    if is_leaf(value):
        grad = difference(lambda h: output(value + h))
        if isinstance(value, complex):
            return grad + 1j * difference(lambda h: output(value + 1j * h))
        return grad
    grads = {k: _gradient(v, lambda e, k=k: output(replaced(value, k, e))) for k, v in children(value).items()}
    if isinstance(value, tuple | list):
        return walk.replaced(value, grads)
    return grads if isinstance(value, dict) or is_object(value) else None


def _array_gradient(array: np.ndarray, output: Callable[[Any], float]) -> np.ndarray:
    def at(index: Any, step: complex) -> float:
        moved = array.copy(order="K")
        moved[index] += step
        return output(moved)

    grad = np.zeros_like(array)
    for index in np.ndindex(array.shape):
        grad[index] = difference(lambda h, i=index: at(i, h))
        if array.dtype.kind == "c":
            grad[index] += 1j * difference(lambda h, i=index: at(i, 1j * h))
    return grad


def assert_close(actual: Any, expected: Any, rtol: float, atol: float, where: str = "gradient") -> None:
    """Compare two gradients entry by entry; None is zero."""
    if isinstance(expected, tuple | list | dict):
        for key, entry in children(expected).items():
            assert_close(None if actual is None else actual[key], entry, rtol, atol, f"{where}[{key!r}]")
    elif expected is not None:
        np.testing.assert_allclose(0.0 if actual is None else actual, expected, rtol, atol, err_msg=where)


def assert_form(grad: Any, value: Any, where: str = "gradient") -> None:
    """A gradient has the structure, shape, dtype and Python type of its value, or is None."""
    if is_leaf(value):
        if grad is not None:
            assert type(grad) is type(value), where
            assert np.shape(grad) == np.shape(value), where
            assert getattr(grad, "dtype", None) == getattr(value, "dtype", None), where
    elif children(value):
        if grad is not None:
            found = _form_of(value)
            assert type(grad) is found, where
            given = dict(grad.items()) if found is Tangent else children(grad)
            assert list(given) == list(children(value)), where
            for key, entry in children(value).items():
                assert_form(given[key], entry, f"{where}[{key!r}]")
    else:
        assert not any(True for _ in leaves(grad)), where


def _form_of(value: Any) -> type:
    """The type of a structure's gradient."""
    if not is_object(value):
        return type(value)
    return dict if isinstance(value, types.FunctionType) else Tangent


def assert_same(actual: Any, expected: Any, where: str = "value") -> None:
    """Two values are equal to the last bit, types and dtypes included."""
    assert type(actual) is type(expected), where
    if isinstance(expected, np.ndarray):
        assert actual.dtype == expected.dtype, where
        np.testing.assert_array_equal(actual, expected, err_msg=where)
    elif isinstance(expected, tuple | list | dict) or is_object(expected):
        assert list(children(actual)) == list(children(expected)), where
        for key, entry in children(expected).items():
            assert_same(children(actual)[key], entry, f"{where}[{key!r}]")
    else:
        assert actual == expected or (actual != actual and expected != expected), where


def assert_unshared(grads: Any, others: Any) -> None:
    """The arrays in a gradient share memory with no array in `others` and not with each other."""
    own = list(arrays(grads))
    for i, array in enumerate(own):
        for other in [*own[:i], *arrays(others)]:
            assert not np.shares_memory(array, other), "a gradient shares memory"
