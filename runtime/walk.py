"""Walking a value and its gradient together: what the entries of a value are, and what its gradient looks like.

The gradient of a tuple, list or dict is the same container; of an object a `Tangent` with an entry for each field; of
a function a dict of the variables it captured. Numbers and arrays are leaves; everything else (ints, strings, types,
modules) is a constant without gradient.
"""

import copy
import functools
from collections import deque
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from types import (
    BuiltinFunctionType,
    CellType,
    EllipsisType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    NotImplementedType,
)
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import is_device_class
from adcompiler.runtime.errors import TangentError
from adcompiler.runtime.tangents import Tangent, rebuild
from adcompiler.runtime.transformed import Holder

_SEQUENCES = (tuple, list, deque)
_CONSTANTS = (
    *(bool, int, str, bytes, bytearray, range, slice, type, type(None), EllipsisType, Enum),
    *(ModuleType, BuiltinFunctionType, np.ufunc, np.dtype, np.random.Generator, np.random.RandomState),
    *(type(np._NoValue), NotImplementedType),
)


def tree_map(fn: Callable[[Any, Any], Any], params: Any, grads: Any) -> Any:
    """A copy of `params` in which every number and array `p` with gradient `g` is replaced by ``fn(p, g)``.

    `grads` has the structure of a gradient of `params`; where it is None, and where `params` has a constant, the value
    stays as it is. Containers and objects are new ones of the same type: ``tree_map(lambda p, g: p - 0.1 * g, model,
    grads)`` is a step of gradient descent. Raises TangentError if the structures do not belong together.
    """
    if grads is None or is_constant(params):
        return params
    children = entries(params)
    if children is None:
        return fn(params, grads)
    check_entries(grads, params)
    return replaced(params, {key: tree_map(fn, value, part(grads, key)) for key, value in children.items()})


def is_constant(value: Any) -> bool:
    """Whether `value` has no gradient: an int, string, None, type, module, or an array of ints, bools or objects."""
    if is_array(value):
        return value.dtype.kind not in "fc"
    return isinstance(value, _CONSTANTS)


_MANY = 16


def holds_only(items: Collection[Any], types: frozenset[type]) -> bool:
    """Whether all of very many items are of these exact types: asked at once, not one by one."""
    return hasattr(items, "__len__") and len(items) > _MANY and types.issuperset(map(type, items))


def is_array(value: Any) -> bool:
    """Whether `value` is an array or a NumPy scalar, of NumPy or of a library with NumPy's dispatch protocol."""
    if isinstance(value, (np.ndarray, np.generic)):
        return True
    return is_device_class(type(value))


def entries(value: Any) -> Mapping[Any, Any] | None:
    """The parts of `value` that have a gradient of their own, by index, key or name; None if `value` is a leaf."""
    if isinstance(value, (float, complex)) or is_array(value):
        return None
    if isinstance(value, _SEQUENCES):
        return dict(enumerate(value))
    if isinstance(value, Mapping):
        return value
    if isinstance(value, FunctionType):
        return captured(value)
    return fields(value)


def captured(function: FunctionType) -> dict[str, Any]:
    """The captured variables of `function` that have a value, by name."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if not _is_empty(cell)}


def _is_empty(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 (an empty cell raises, and there is no other way to ask)
    except ValueError:
        return True
    return False


def fields(value: Any) -> dict[str, Any]:
    """The fields of an object: its slots that are set, then its instance dictionary."""
    if isinstance(value, functools.partial):
        return {"func": value.func, "args": value.args, "keywords": value.keywords}
    if isinstance(value, MethodType):
        return {"__self__": value.__self__}
    if isinstance(value, Holder):
        return value.held()
    own = getattr(value, "__dict__", None)
    if not isinstance(own, dict):  # none, or what the class's own __getattr__ takes it for
        own = {}
    slots = _slots_of(type(value))  # type: ignore[arg-type]  # classes are hashable
    return _set_slots(value, slots) | own if slots else own


def _set_slots(value: Any, slots: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    found = {}
    for name, slot in slots:
        try:
            found[name] = slot.__get__(value)
        except AttributeError:
            continue  # not set; the class's own __getattr__ is not to be asked
    return found


@functools.lru_cache(maxsize=1024)
def is_record(cls: type) -> bool:
    """Whether all that objects of a class have are fields: they are no constants, numbers, arrays, containers, ..."""
    others: Any = (
        *_SEQUENCES,
        *_CONSTANTS,
        Mapping,
        FunctionType,
        MethodType,
        functools.partial,
        Holder,
        float,
        complex,
        Tangent,
    )
    arrays = issubclass(cls, (np.ndarray, np.generic)) or is_device_class(cls)
    return not issubclass(cls, others) and not arrays


@functools.lru_cache(maxsize=1024)
def _slots_of(cls: type) -> tuple[tuple[str, Any], ...]:
    """The slots of a class and its bases: the name of the attribute, and what reads it."""
    return tuple(pair for base in cls.__mro__ for pair in _slots(base))


def _slots(cls: type) -> list[tuple[str, Any]]:
    slots = cls.__dict__.get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    # Python mangles private names; __dict__ and __weakref__ are no fields.
    mangled = [
        f"_{cls.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
        for name in names
    ]
    found = [(name, cls.__dict__.get(name)) for name in mangled]
    return [(name, slot) for name, slot in found if isinstance(slot, MemberDescriptorType)]


def part(ct: Any, key: Any) -> Any:
    """The entry of the cotangent `ct` for the entry `key` of its value; None where there is none."""
    if ct is None:
        return None
    return ct.get(key) if hasattr(ct, "items") else ct[key]


def check_structure(ct: Any, value: Any) -> None:
    """Raise TangentError unless `ct` can be the cotangent of the structured `value`."""
    if hasattr(ct, "items"):
        fits = not isinstance(value, _SEQUENCES) or hasattr(value, "_fields")
    else:
        fits = isinstance(value, _SEQUENCES) and np.ndim(ct) != 0 if is_array(ct) else isinstance(ct, _SEQUENCES)
        fits = fits and isinstance(value, _SEQUENCES) and len(ct) == len(value)
    if not fits:
        raise TangentError(
            f"a cotangent {_describe(ct)} does not belong to a value {_describe(value)}\nGive {_expected(value)}."
        )


def check_entries(ct: Any, value: Any) -> None:
    """As `check_structure`, and `ct` may have no entries that `value` has not."""
    check_structure(ct, value)
    if hasattr(ct, "items"):
        own: Any = names_of(value) or entries(value) or ()
        if type(value) is Tangent:
            own = (*own, *value)
        more = [repr(key) for key in ct if key not in own]
        if more:
            what = f"a cotangent has {', '.join(more)}, which a value {_describe(value)} has not"
            raise TangentError(f"{what}\nGive {_expected(value)}.")


def check_cotangent(ct: Any, value: Any) -> None:
    """Raise TangentError if a cotangent that the user gives has another structure than the value."""
    if ct is None or is_constant(value) or not (hasattr(ct, "items") or isinstance(ct, _SEQUENCES)):
        return
    children = entries(value)
    if children is None:
        return
    check_entries(ct, value)
    if type(value) is Tangent and "_fields" not in ct:
        ct = {"_fields": ct}
    names = names_of(value) if hasattr(ct, "items") else ()
    for key, child in children.items():
        check_cotangent(part(ct, names[key] if names else key), child)


def names_of(value: Any) -> tuple[str, ...]:
    """The names of the items of a named tuple."""
    return value._fields if isinstance(value, tuple) and hasattr(value, "_fields") else ()


def _expected(value: Any) -> str:
    """What the cotangent of a structured value has to be."""
    if isinstance(value, _SEQUENCES):
        return f"a {type(value).__name__} with {len(value)} cotangents (None for zero)"
    keys = [repr(key) for key in entries(value) or ()]
    shown = ", ".join(keys[:6]) + (", ..." if len(keys) > 6 else "")
    form = "dict" if isinstance(value, (Mapping, FunctionType)) else "Tangent or dict"
    return f"a {form} with cotangents for {shown} (None, or no entry, for zero)" if keys else "None"


def _describe(value: Any) -> str:
    length = f" with {len(value)} entries" if isinstance(value, _SEQUENCES) else ""
    return f"of type {type(value).__name__}{length}"


def gradient_like(value: Any, parts: Mapping[Any, Any]) -> Any:
    """The gradient of the structured `value`, from the gradients of its entries."""
    if isinstance(value, deque):
        return deque(parts.values(), value.maxlen)
    if isinstance(value, _SEQUENCES):
        return rebuild(value, list(parts.values()))
    if type(value) is dict or isinstance(value, FunctionType | Holder):
        return parts
    if isinstance(value, Mapping):
        return _mapping_like(value, parts)
    if type(value) is Tangent:
        return Tangent(value._cls, **(parts["_fields"] or {}))
    return Tangent(type(value), **parts)


def _mapping_like(value: Any, parts: Mapping[Any, Any]) -> Any:
    if not isinstance(value, dict):
        return parts
    result = copy.copy(value)  # keeps the type, also of a defaultdict
    result.update(parts)
    return result


def replaced(value: Any, parts: Mapping[Any, Any]) -> Any:
    """A copy of the structured `value` with other entries: `parts` has one for each of `entries(value)`."""
    if isinstance(value, list) and type(value) is not list:
        result = copy.copy(value)  # keeps what a subclass has besides its items
        result[:] = parts.values()
        return result
    if isinstance(value, (*_SEQUENCES, Mapping)):
        return gradient_like(value, parts)
    if isinstance(value, functools.partial):
        return functools.partial(parts["func"], *parts["args"], **parts["keywords"])
    if isinstance(value, MethodType):
        return MethodType(value.__func__, parts["__self__"])
    if isinstance(value, FunctionType):
        return _with_captured(value, parts)
    if isinstance(value, Holder):
        return value.with_held(dict(parts))
    result = copy.copy(value)
    for name, entry in parts.items():
        object.__setattr__(result, name, entry)  # past the guard of a frozen dataclass
    return result


def _with_captured(function: FunctionType, parts: Mapping[str, Any]) -> FunctionType:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closure = tuple(CellType(parts[name]) if name in parts else cell for name, cell in cells)
    result = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, closure)
    result.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(result, function)
    return result
