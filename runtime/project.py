"""Gradients as the user sees them: with the structure, shape, dtype and realness of the value, and memory of their own.

`project` gives a cotangent the form of its value, `materialize` fills in zeros, `detach` copies what is shared.
"""

from collections.abc import Collection
from sys import getrefcount
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import home_of, moved_home
from adcompiler.runtime.errors import TangentError
from adcompiler.runtime.shapes import real
from adcompiler.runtime.tangents import NotImplementedTangent, Tangent, Thunk
from adcompiler.runtime.walk import (
    check_structure,
    entries,
    fields,
    gradient_like,
    holds_only,
    is_array,
    is_constant,
    is_record,
    part,
)


def project(ct: Any, primal: Any) -> Any:
    """The cotangent `ct` in the form of the value `primal` that it belongs to; None stays None.

    A Python float gives a Python float, a NumPy scalar one of its type, an array an array of its shape and dtype (a
    smaller cotangent is broadcast); a real value takes the real part of a complex cotangent. A container gives the same
    container, a dict with every key; an object a `Tangent`, a function a dict of captured variables. Ints, strings and
    other constants give None. The result may be `ct` itself, and arrays in it may be those of `ct`: see `detach`.
    Raises TangentError if `ct` cannot belong to `primal`.
    """
    if ct is None:
        return None
    # What nearly every gradient consists of comes first.
    kind = type(primal)
    if kind is np.ndarray:
        if type(ct) is np.ndarray and ct.dtype == primal.dtype and ct.shape == primal.shape and ct.dtype.kind in "fc":
            return ct
    elif kind is float:
        if isinstance(ct, float):
            return float(ct)
    elif kind is dict and type(ct) is dict:
        return {key: project(ct.get(key), value) for key, value in primal.items()}
    elif (type(ct) is dict or type(ct) is Tangent) and is_record(kind):  # type: ignore[arg-type]  # classes are hashable
        return Tangent(kind, **{key: project(ct.get(key), value) for key, value in fields(primal).items()})
    return _project(ct, primal)


def _project(ct: Any, primal: Any) -> Any:
    if isinstance(ct, Thunk):
        return None if is_constant(primal) else project(ct.value(), primal)
    if isinstance(ct, NotImplementedTangent):
        ct.fail()
    if is_constant(primal):
        return None
    children = entries(primal)
    if children is None:
        return _project_leaf(ct, primal)
    check_structure(ct, primal)
    if type(primal) is Tangent and "_fields" not in ct:
        ct = {"_fields": ct}
    elif hasattr(primal, "_fields") and hasattr(ct, "items"):
        ct = [ct.get(name) for name in primal._fields]
    return gradient_like(primal, {key: project(part(ct, key), value) for key, value in children.items()})


def _project_leaf(ct: Any, primal: Any) -> Any:
    if isinstance(ct, (tuple, list)) and is_array(primal):
        ct = _stacked(ct, primal)
    if not isinstance(ct, (int, float, complex)) and not is_array(ct):
        what = f"a cotangent of type {type(ct).__name__} does not belong to a {type(primal).__name__}"
        raise TangentError(f"{what}\nGive {_wanted(primal)}.")
    if not _is_complex(primal):
        ct = real(ct)
    if is_array(primal) and not isinstance(primal, np.generic):
        return _project_array(ct, primal)
    if np.ndim(ct):
        raise TangentError(f"a cotangent of shape {ct.shape} does not belong to a number\nGive {_wanted(primal)}.")
    if isinstance(primal, np.generic):
        return primal.dtype.type(ct)
    return complex(ct) if isinstance(primal, complex) else float(ct)


def _stacked(cts: Any, primal: Any) -> Any:
    """The cotangents of the rows of an array, as one array."""
    if np.ndim(primal) == 0 or len(cts) != len(primal):
        raise TangentError(f"{len(cts)} cotangents do not belong to an array of shape {primal.shape}")
    return np.array([materialize(project(ct, row), row) for ct, row in zip(cts, primal, strict=True)])


def _is_complex(primal: Any) -> bool:
    return primal.dtype.kind == "c" if is_array(primal) else isinstance(primal, complex)


def _project_array(ct: Any, primal: Any) -> Any:
    if is_array(ct):
        ct = moved_home(ct, home_of(primal))  # a number of NumPy's may meet an array on a device
    if getattr(ct, "shape", None) == primal.shape and not isinstance(ct, np.generic):
        return ct if ct.dtype == primal.dtype else ct.astype(primal.dtype)
    try:
        return np.full_like(primal, ct)  # in the array library of the value
    except ValueError:
        shapes = f"of shape {np.shape(ct)} does not belong to an array of shape {primal.shape}"
        raise TangentError(f"a cotangent {shapes}\nGive {_wanted(primal)}.") from None


def _wanted(leaf: Any) -> str:
    """What the cotangent of a number or array has to be."""
    if is_array(leaf) and np.ndim(leaf):
        return f"an array of shape {leaf.shape}, one that can be broadcast to it, or None"
    return "a number or None"


def materialize(grads: Any, params: Any) -> Any:
    """`grads` with zeros of the right shape and dtype for every None, all through the structure of `params`.

    What has no gradient (ints, strings, other constants) stays None.
    """
    return _materialize(grads, params, frozenset())


def _materialize(grads: Any, params: Any, above: frozenset[int]) -> Any:
    if is_constant(params) or id(params) in above:  # an object that refers back to itself
        return None
    children = entries(params)
    if children is None:
        return _zero(params) if grads is None else grads
    above = above | {id(params)}
    return gradient_like(params, {k: _materialize(part(grads, k), value, above) for k, value in children.items()})


def _zero(leaf: Any) -> Any:
    if is_array(leaf):
        return leaf.dtype.type(0) if isinstance(leaf, np.generic) else np.zeros_like(leaf)
    return 0j if isinstance(leaf, complex) else 0.0


def detach(grads: Any, foreign: Any = ()) -> Any:
    """`grads` in new containers, and with arrays that share memory with nothing else.

    An array is copied if it is a view, if it occurs a second time, or if it owns the memory of an array in `foreign`
    (any structure of arrays: arguments, results, saved values).
    """
    return _detach(grads, _owners(foreign))


def own(ct: Any) -> Any:
    """A cotangent that a rule gives: the array that was just made, else a copy of what somebody else may have."""
    if (type(ct) is np.ndarray and ct.base is None and getrefcount(ct) <= _MADE) or isinstance(ct, _NO_VALUES):
        return ct
    return detach(ct, ct)


_NO_VALUES = (Thunk, NotImplementedTangent)


def _references() -> int:
    """The reference count that `own` sees for an array that only its caller has made."""

    def count(x: Any) -> int:
        return getrefcount(x)

    return count(np.empty(1))


_MADE = _references()


def _detach(ct: Any, taken: set[int]) -> Any:
    kind = type(ct)
    if kind is np.ndarray:
        return _own(ct, taken)
    if kind in _UNSHARED:
        return ct
    if kind is dict:
        return {key: _detach(value, taken) for key, value in ct.items()}
    if kind is tuple or kind is list:
        return kind([_detach(value, taken) for value in ct])
    if kind is Tangent:
        return Tangent(ct._cls, **{name: _detach(value, taken) for name, value in ct.items()})
    if isinstance(ct, np.generic) or is_constant(ct):
        return ct
    if is_array(ct):
        return _own(ct, taken)
    children = entries(ct)
    return ct if children is None else gradient_like(ct, {key: _detach(v, taken) for key, v in children.items()})


def _own(array: Any, taken: set[int]) -> Any:
    """`array`, or a copy of it if it is or may be a view, or its memory is taken; its memory is taken afterwards."""
    if getattr(array, "base", array) is not None or id(array) in taken:
        array = array.copy()
    taken.add(id(array))  # no other object gets this id, because the result keeps the array alive
    return array


def _owners(value: Any) -> set[int]:
    """The identity of whatever owns the memory of each array in `value`."""
    owners: set[int] = set()
    seen: set[int] = set()
    left = [value]
    for found in left:  # grows; what is in it stays alive, so that no identity is given away again
        kind = type(found)
        if kind is np.ndarray:
            owners.add(id(found if found.base is None else _owner(found)))
        elif kind in _UNSHARED or id(found) in seen:
            continue
        elif kind not in _CONTAINERS and is_array(found):
            owners.add(id(_owner(found)))
        else:
            seen.add(id(found))
            children = _children(found)
            if not holds_only(children, _UNSHARED):
                left.extend(children)
    return owners


def _children(value: Any) -> Collection[Any]:
    if isinstance(value, (tuple, list)):
        return value
    if type(value) is dict:
        return value.values()
    if is_record(type(value)):  # type: ignore[arg-type]  # classes are hashable
        return fields(value).values()
    return () if is_constant(value) else tuple((entries(value) or {}).values())


def _owner(array: Any) -> Any:
    """The object at the end of the chain of views."""
    while True:
        base = getattr(array, "base", None)
        if isinstance(base, memoryview):  # np.frombuffer of an array
            base = base.obj
        if base is None:
            return array
        array = base


_CONTAINERS = frozenset({tuple, list, dict})
_UNSHARED = frozenset({type(None), float, int, bool, complex, str, np.float64, np.float32})
