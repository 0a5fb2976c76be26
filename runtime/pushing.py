"""What text in forward mode calls: zero tangents, and tangents in the form that their values have.

The tangent of a number or array is one of the same shape, that of a tuple, list or dict a container of tangents, that
of an object or a function a dict of those of its fields or captured variables; None of what has none.
"""

from __future__ import annotations

import collections
import functools
import itertools
import types
from typing import Any, NoReturn

import numpy as np

from adcompiler.runtime.arrays import is_library_array
from adcompiler.runtime.errors import MutationError, TangentError
from adcompiler.runtime.members import has_plain_fields, is_named_tuple
from adcompiler.runtime.tangents import Tangent
from adcompiler.runtime.transformed import Holder, Transform
from adcompiler.runtime.walk import fields, is_array

_NUMBERS = (float, complex, np.inexact)
_COUNTS = (int, np.integer, np.bool_)


# --- zeros ------------------------------------------------------------------------------------------------


def zeros_of(value: Any) -> Any:
    """The tangent of a value that moves with nothing; whoever else has the value gets zeros of its own.

    So nothing may be written into them: what is written there, others would not see.
    """
    return _zeros(value, _FROZEN, {})


def new_zeros(value: Any) -> Any:
    """The same for a value that nobody else has: its tangent may be written into."""
    return _zeros(value, _PLAIN, {})


FROZEN = (
    "a container or array that comes from outside is written into, in forward mode\n"
    "Who else has it would not see the derivative of what is put there.\n"
    "Make it here, or pass it as an argument with a tangent."
)


class FrozenList(list[Any]):
    """A list of zeros that nothing may be put into."""

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise MutationError(FROZEN)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return list, (list(self),)  # a copy is nobody else's

    append = extend = insert = pop = remove = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = _refuse


class FrozenDict(dict[Any, Any]):
    """A dict of zeros that nothing may be put into."""

    _refuse = FrozenList._refuse

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (dict(self),)

    pop = popitem = clear = update = setdefault = _refuse
    __setitem__ = __delitem__ = __ior__ = _refuse


_FROZEN = (FrozenList, FrozenDict, False)
_PLAIN = (list, dict, True)


def _zeros(value: Any, forms: Any, seen: dict[int, Any]) -> Any:  # noqa: C901  one case per kind of value
    made_list, made_dict, writable = forms
    if isinstance(value, _NUMBERS):
        return value * 0.0 if isinstance(value, np.inexact) and np.isfinite(value) else 0.0
    if isinstance(value, _COUNTS):
        return 0.0
    if is_array(value):
        return _zero_array(value, writable)
    if id(value) in seen:
        return seen[id(value)]
    if isinstance(value, tuple):
        return tuple(_zeros(v, forms, seen) for v in value)
    if isinstance(value, list | collections.deque):
        items = [_zeros(v, forms, seen) for v in value]
        return made_list(items) if isinstance(value, list) else collections.deque(items, value.maxlen)
    if isinstance(value, dict):
        factory = getattr(value, "default_factory", None)
        made = made_dict if factory is None else functools.partial(collections.defaultdict, zero_factory(factory))
        copy = seen[id(value)] = made()
        dict.update(copy, {k: _zeros(v, forms, seen) for k, v in value.items()})
        return copy
    if isinstance(value, types.FunctionType) and value.__closure__:
        copy = seen[id(value)] = made_dict()
        cells = zip(value.__code__.co_freevars, value.__closure__, strict=True)
        dict.update(copy, {n: _zeros(c.cell_contents, forms, seen) for n, c in cells if _is_full(c)})
        return copy
    if isinstance(value, Transform):
        held = _zeros(value.__wrapped__, forms, seen)
        return None if held is None else {"function": held}
    if has_plain_fields(type(value)):
        copy = seen[id(value)] = made_dict()
        dict.update(copy, {n: _zeros(v, forms, seen) for n, v in fields(value).items()})
        return copy
    return None


def zeros_over(source: Any) -> Any:
    """The tangents of the items that a loop runs over, which move with nothing; an iterator is not used up."""
    if isinstance(source, type({}.items()) | type({}.values())):
        return list(map(zeros_of, source))
    zeros = zeros_of(source)
    return itertools.repeat(0.0) if zeros is None else zeros


def nothing() -> Any:
    """The tangents of items that have none, as many as there are."""
    return itertools.repeat(None)


def zero_factory(factory: Any) -> Any:
    """What makes the tangents of the values that the factory of a `defaultdict` makes, which move with nothing."""
    if factory is None or factory in (list, dict):
        return factory
    return float if factory in (float, int, complex) else lambda: new_zeros(factory())


def zero_array(value: Any) -> Any:
    """The same of an array of floats."""
    return _zero_array(value, False)


def _zero_array(value: Any, writable: bool) -> Any:
    if value.dtype.kind not in "fciub":
        return None
    exact = value.dtype.kind in "fc"
    zeros = np.zeros_like(value) if exact else np.zeros_like(value, dtype=float)
    if not writable and not is_library_array(value):
        zeros.flags.writeable = False
    return zeros


def _is_full(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018  raises if the cell is empty
    except ValueError:
        return False
    return True


# --- tangents that are given and handed back --------------------------------------------------------------


def completed(tangent: Any, value: Any, seen: dict[int, tuple[Any, Any, Any]] | None = None) -> Any:
    """The tangent of an argument in the form that forward mode uses, with zeros where there is none.

    Nothing of it is shared with what the user gave. One object in several places gets one tangent. Raises TangentError
    if the tangent does not fit the value.
    """
    seen = {} if seen is None else seen
    if id(value) in seen and not isinstance(value, _NUMBERS + _COUNTS):
        _, given, made = seen[id(value)]
        if given is not tangent and not (is_array(value) or isinstance(value, tuple | types.NoneType)):
            raise _unfit(tangent, value)
        if given is tangent:
            return made
    made = _completed(tangent, value, seen)
    seen[id(value)] = value, tangent, made
    return made


def _completed(tangent: Any, value: Any, seen: Any) -> Any:  # noqa: C901  one case per kind of value
    if tangent is None:
        return new_zeros(value)
    if isinstance(value, _NUMBERS):
        if np.ndim(tangent) or (not isinstance(tangent, (*_NUMBERS, *_COUNTS)) and not is_array(tangent)):
            raise _unfit(tangent, value)
        return _number(tangent, value)
    if is_array(value):
        return _array(tangent, value)
    if isinstance(value, list | tuple | collections.deque):
        if isinstance(tangent, str | dict) or not hasattr(tangent, "__len__") or len(tangent) != len(value):
            raise _unfit(tangent, value)
        items = [completed(t, v, seen) for t, v in zip(tangent, value, strict=True)]
        if isinstance(value, collections.deque):
            return collections.deque(items, value.maxlen)
        return items if isinstance(value, list) else tuple(items)
    named = _named(value)
    if named is None:
        raise _unfit(tangent, value)
    if isinstance(tangent, dict) and "_fields" in tangent and "_fields" not in named:
        tangent = tangent["_fields"]  # the cotangent of a Tangent
    if dataclass_like(tangent, value):
        tangent = fields(tangent)
    if type(value) is Tangent and "_fields" not in tangent:
        tangent = {"_fields": tangent}
    if not hasattr(tangent, "items") or any(key not in named for key, _ in tangent.items()):
        raise _unfit(tangent, value)
    given = dict(tangent.items())
    return {key: completed(given.get(key), v, seen) for key, v in named.items()}


def _named(value: Any) -> dict[Any, Any] | None:
    """The entries of a dict, the fields of an object, or what a function has captured."""
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, types.FunctionType):
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        return {n: c.cell_contents for n, c in cells if _is_full(c)}
    return fields(value) if has_plain_fields(type(value)) or isinstance(value, functools.partial) else None


def dataclass_like(tangent: Any, value: Any) -> bool:
    """Whether a tangent is given as an object of the value's own class."""
    return type(tangent) is type(value) and not isinstance(value, dict)


def _number(tangent: Any, value: Any) -> Any:
    if isinstance(value, complex | np.complexfloating):
        return complex(tangent)
    if isinstance(tangent, complex | np.complexfloating):
        raise _unfit(tangent, value)
    return type(value)(tangent) if isinstance(value, np.floating) else float(tangent)


def _array(tangent: Any, value: Any) -> Any:
    if value.dtype.kind not in "fc":
        raise _unfit(tangent, value)
    complex_ = getattr(tangent, "dtype", np.dtype(float)).kind == "c" or isinstance(tangent, complex)
    if np.shape(tangent) != value.shape or (complex_ and value.dtype.kind == "f"):
        raise _unfit(tangent, value)
    made = np.empty_like(value)
    made[...] = tangent
    return made


def _unfit(tangent: Any, value: Any) -> TangentError:
    return TangentError(
        f"a tangent {_described(tangent)} does not fit an argument {_described(value)}\n"
        "It has the argument's structure, shape and kind of numbers, and None anywhere for zero."
    )


def _described(value: Any) -> str:
    if is_array(value):
        return f"of shape {value.shape} and dtype {value.dtype}"
    return f"of type {type(value).__name__}"


def returned(tangent: Any, value: Any) -> Any:
    """The tangent of a result as the user gets it: structures as the value's own, a `Tangent` for an object."""
    if isinstance(value, _NUMBERS):
        return _number(tangent, value) if tangent is not None else 0.0
    if is_array(value):
        if value.dtype.kind not in "fc":
            return None
        return np.zeros_like(value) if tangent is None else _as_value(tangent, value)
    if isinstance(value, tuple) and is_named_tuple(type(value)):
        return type(value)(*(returned(t, v) for t, v in zip(_each(tangent, value), value, strict=True)))
    if isinstance(value, list | tuple):
        return type(value)(returned(t, v) for t, v in zip(_each(tangent, value), value, strict=True))
    if isinstance(value, dict):
        return {k: returned(None if tangent is None else tangent.get(k), v) for k, v in value.items()}
    if has_plain_fields(type(value)) and not isinstance(value, Holder):
        entries = {n: returned(None if tangent is None else tangent.get(n), v) for n, v in fields(value).items()}
        return Tangent(value._cls, **entries["_fields"]) if type(value) is Tangent else Tangent(type(value), **entries)
    return None


def _each(tangent: Any, value: Any) -> Any:
    return [None] * len(value) if tangent is None else tangent


def _as_value(tangent: Any, value: Any) -> Any:
    """A tangent with the shape and dtype of its value, in memory of its own."""
    if tangent.dtype.kind == "c" and value.dtype.kind == "f":
        tangent = tangent.real
    return np.array(np.broadcast_to(tangent, value.shape), dtype=value.dtype)


# --- inside the text --------------------------------------------------------------------------------------


def spread(tangent: Any, value: Any) -> Any:
    """A tangent in the shape of its value, to which it broadcasts; it is new where it has to be written into."""
    if np.shape(tangent) == np.shape(value):
        return tangent
    return np.broadcast_to(tangent, np.shape(value))


def own(tangent: Any) -> Any:
    """A tangent in memory of its own."""
    return tangent.copy() if is_array(tangent) else tangent


def into(held: Any, new: Any) -> Any:
    """What `x += ...` leaves as the tangent of `x`: an array stays what it is, with the new numbers in it."""
    if is_array(held) and not isinstance(held, np.generic):
        held[...] = new
        return held
    return new


__all__ = [
    "FROZEN",
    "completed",
    "into",
    "new_zeros",
    "nothing",
    "own",
    "returned",
    "spread",
    "zero_array",
    "zero_factory",
    "zeros_of",
    "zeros_over",
]
