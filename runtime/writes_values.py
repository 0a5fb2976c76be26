"""What is written into an array: the cotangent that belongs to it, and what is refused."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import home_of, like_of
from adcompiler.runtime.errors import MutationError
from adcompiler.runtime.shadows import in_memory, root_of
from adcompiler.runtime.shapes import Shape, fit

# The shape and the dtype of a value, which its cotangent has; Python's float and complex leave the dtype open.
Likeness = tuple[Shape, Any]

_NO_DERIVATIVE = (bool, int, str, bytes, type(None), range)
_FLOAT: Likeness = ((), float)


def likeness(value: Any) -> Likeness | None:
    """What the cotangent of a written value looks like; None for an int, a bool and whatever else has none."""
    if type(value) is float:
        return _FLOAT
    if not hasattr(value, "dtype"):
        if isinstance(value, float | complex):
            return (), complex if isinstance(value, complex) else float
        if isinstance(value, _NO_DERIVATIVE):
            return None
        if not isinstance(value, list | tuple | np.flatiter):
            raise MutationError(
                f"a value of type {type(value).__name__} is written into an array\n"
                "Which numbers it is made of is not known.\nMake an array of it first."
            )
        value = home_of(value).asarray(value)
    if value.dtype.kind == "O":
        raise MutationError(
            "objects are written into an array\nWhich numbers they are is not known.\nMake an array of floats first."
        )
    return (value.shape, value.dtype) if value.dtype.kind in "fc" else None


def check_float(y: Any) -> None:
    """Refuse to write what has a derivative into anything but an array of floats."""
    if type(y) is not np.ndarray and like_of(y) is None:
        raise MutationError(
            f"a number with a derivative is written into a {type(y).__name__}\n"
            "Only what is written into a plain array is followed.\nUse np.asarray(...) of it, outside of the function."
        )
    if y.dtype.kind not in "fc":
        raise MutationError(
            f"a number with a derivative is written into an array of {y.dtype}\n"
            "What is cut off there has no derivative.\nAllocate the array with dtype=float."
        )


def begin(y: Any, value: Any) -> Likeness | None:
    """What the cotangent of a value looks like that is written into `y`, which has to be an array of floats then."""
    like = likeness(value)
    if like is not None or not hasattr(y, "dtype"):
        check_float(y)
    return like


def check_integers(y: Any) -> None:
    """Refuse to write integers where the memory is that of floats."""
    if in_memory(y) and y.dtype.kind not in "fc" and root_of(y).dtype.kind in "fc":
        raise MutationError(
            f"an array of {y.dtype} is written into, whose memory is one of floats\n"
            "What the floats are then has no derivative.\nWrite into the array of floats."
        )


def check_errors() -> None:
    """Refuse to write where exceptions are caught and NumPy raises them after it has written."""
    if {"raise", "call"} & {*np.geterr().values()}:
        raise MutationError(
            "an array is written into under np.errstate(...='raise'), where exceptions are caught\n"
            "NumPy raises when it has already written.\nCompute the new value first, and write it outside of the `try`."
        )


def check_out(y: Any, *operands: Any) -> None:
    """Refuse an `out=` that shares memory with operands of a function which writes part by part."""
    for operand in operands:
        if isinstance(operand, list | tuple):
            check_out(y, *operand)
        elif isinstance(operand, np.ndarray) and isinstance(y, np.ndarray) and np.shares_memory(y, operand):
            raise MutationError(
                "the array that is given as out= shares memory with what goes into it\n"
                "NumPy reads elements there that it has just overwritten.\nLet the function return a new array."
            )


def check_strides(target: Any, value: Any) -> None:
    """Refuse what overlaps a vector that it is stored into with another stride: NumPy reads what it has written."""
    if type(value) is not np.ndarray or type(target) is not np.ndarray or target.ndim != 1 or not value.ndim:
        return
    if value.size == 1 and value.dtype == target.dtype:  # it is written over with itself
        return
    step, own = value.strides[-1] if value.size > 1 else 0, target.strides[0]
    if step == own or step * own < 0:  # the opposite direction is copied by NumPy
        return
    if np.shares_memory(target, value):
        raise _overlap()


def check_apart(y: Any, value: Any) -> None:
    """Refuse a value that shares memory with the array, where NumPy reads what it has written."""
    if value is y or (in_memory(value) and in_memory(y) and np.may_share_memory(y, value)):
        raise _overlap()


def _overlap() -> MutationError:
    return MutationError(
        "what is written shares memory with the array that it is written into\n"
        "NumPy reads elements there that it has just overwritten.\nWrite a copy of the value: .copy()."
    )


def typed(c: Any, dtype: Any) -> Any:
    """A cotangent as one of a real or complex operand, in the operand's precision."""
    if dtype is float or dtype is complex:
        return c.real if dtype is float and c.dtype.kind == "c" else c
    if c.dtype == dtype:
        return c
    return (c.real if dtype.kind == "f" and c.dtype.kind == "c" else c).astype(dtype)


def fitted(c: Any, like: Likeness | None) -> Any:
    """The cotangent of a value that was broadcast to what was written."""
    if like is None:
        return None
    shape, dtype = like
    c = typed(c, dtype)
    if c.shape == shape:
        return c
    if c.size == prod(shape):
        return c.reshape(shape)
    lead = max(len(shape) - c.ndim, 0)  # leading axes of length 1, which a store drops
    return fit(c, shape[lead:]).reshape(shape) if lead else fit(c, shape)


def cycled(c: Any, like: Likeness | None) -> Any:
    """The cotangent of a value whose elements were written one after the other, again and again."""
    if like is None:
        return None
    shape, dtype = like
    c = typed(c, dtype)
    size = prod(shape)
    if size == 1:
        return c.sum().reshape(shape) if shape else c.sum()
    if size != c.size:
        rounds = -(-c.size // size) if size else 0
        whole = np.zeros_like(c, shape=(rounds * size,))
        if size:
            whole[: c.size] = c
        c = whole.reshape(rounds, size).sum(axis=0)
    return c.reshape(shape)
