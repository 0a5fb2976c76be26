"""Questions that kinds decide while compiling: identity, `isinstance`, basic indices, what a display or a call gives.

Everything here is a function of kinds, and of objects known at compile time; None stands for "not decided".
"""

from __future__ import annotations

import enum
import sys
import types
from typing import Any

import gast
import numpy as np

from adcompiler.lattice import (
    COMPLEX_TYPES,
    INTEGER_TYPES,
    REAL_TYPES,
    Array,
    Closure,
    DictOfKinds,
    Inert,
    Instance,
    Int,
    IntArray,
    Kind,
    Known,
    ListOf,
    Observed,
    Scalar,
    SliceOf,
    TupleOf,
    Unknown,
    is_scalar,
    numeric,
)
from adcompiler.runtime.domain import LIBRARIES as LIBRARIES
from adcompiler.scope import loads

# Values of which there is one only, so that identity can be decided when compiling.
_ONE_OF_A_KIND = (type, types.ModuleType, types.NoneType, enum.Enum)

_TEXT = (str, bytes)

# --- tests ------------------------------------------------------------------------------------------------


def identical(a: Kind, b: Kind) -> bool | None:
    """Whether two values are surely the same object, surely not, or unknown."""
    if isinstance(a, Known) and isinstance(b, Known):
        if isinstance(a.value, _ONE_OF_A_KIND) or isinstance(b.value, _ONE_OF_A_KIND):
            return a.value is b.value
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Known) and x.value is None and not isinstance(y, Unknown | Inert | Known):
            return False
    return None


def equal(a: Kind, b: Kind) -> bool | None:
    """Whether two values are surely equal, surely not, or unknown: known text, and containers beside literals."""
    if isinstance(a, Known) and isinstance(b, Known):
        return a.value == b.value if type(a.value) in _TEXT and type(b.value) in _TEXT else None
    for x, y in ((a, b), (b, a)):
        container = isinstance(x, DictOfKinds) or (isinstance(x, Observed) and type(x.value) in (list, tuple, dict))
        if container and isinstance(y, Known) and type(y.value) in (*_TEXT, int, float, bool, type(None)):
            return False
    return None


def isinstance_kind(value: Kind, classes: Kind) -> Kind:
    """The kind of `isinstance(value, classes)`: a known bool if all values of the kind agree."""
    if not isinstance(classes, Known):
        return Int()
    cls = classes.value
    match value:
        case Observed(_, v) | Known(v):
            return Known(isinstance(v, cls))
        case Array() | IntArray():
            return Known(issubclass(np.ndarray, cls))
        case TupleOf(_, found_class) | Instance(found_class):
            return Known(issubclass(found_class, cls))
        case DictOfKinds():
            return Known(issubclass(dict, cls))
        case ListOf(tuple(), _):
            return Known(issubclass(list, cls))
        case Scalar():
            found = {issubclass(c, cls) for c in REAL_TYPES | COMPLEX_TYPES}
            return Known(found.pop()) if len(found) == 1 else Int()
        case Int():
            found = {issubclass(c, cls) for c in INTEGER_TYPES}
            return Known(found.pop()) if len(found) == 1 else Int()
    return Int()


def may_turn_complex(kinds: list[Any]) -> bool:
    """Whether `base ** exponent` of two Python floats may be complex: a negative base and a fractional exponent."""
    base, exponent = kinds[0], kinds[1]
    literal = exponent.value if isinstance(exponent, Known) else None
    whole = isinstance(numeric(exponent), Int) or (isinstance(literal, float) and literal.is_integer())
    positive = isinstance(base, Known) and not isinstance(base.value, complex) and base.value > 0
    return is_scalar(base) and is_scalar(exponent) and not whole and not positive


def is_basic_index(kind: Kind | None) -> bool | None:
    """Whether an index is surely basic, surely not, or undecided."""
    match kind:
        case TupleOf(items):
            found = [is_basic_index(i) for i in items]
            return False if False in found else None if None in found else True
        case SliceOf() | Int():
            return True
        case Known(value):
            return value is None or value is Ellipsis or (isinstance(value, int) and not isinstance(value, bool))
        case IntArray(n) if n:
            return False
    return None


# --- results ----------------------------------------------------------------------------------------------


def array_kind(value: Kind, dtype: Any, fresh: Any) -> Kind | None:
    """The kind of `np.array(value)` where the nesting of a display says it, else None."""
    if not (dtype is None or (isinstance(dtype, Known) and dtype.value in (None, float, np.float64))):
        return None
    depth, leaves = 0, [value]
    while leaves and all(isinstance(k, TupleOf) or (isinstance(k, ListOf) and k.items is not None) for k in leaves):
        depth, leaves = depth + 1, [i for k in leaves for i in k.items]  # type: ignore[attr-defined]
    numbers = [numeric(k) for k in leaves]
    if not leaves or not depth or not all(isinstance(k, Scalar | Int) for k in numbers):
        return None
    if all(isinstance(k, Int) for k in numbers) and dtype is None:
        return IntArray(depth, fresh)
    return Array(depth, all(not isinstance(k, Scalar) or k.real for k in numbers), fresh)


def constructed(key: Any, kinds: list[Any]) -> Kind:
    """What a call of a class without rule gives, for the few that matter while nothing is active."""
    if key in (list, tuple) and len(kinds) == 1 and isinstance(kinds[0], ListOf | TupleOf):
        return kinds[0]
    return Unknown()


# --- functions and modules --------------------------------------------------------------------------------


def reads_itself(closure: Closure) -> bool:
    """Whether a nested `def` calls itself by its own name."""
    return isinstance(closure.node, gast.FunctionDef) and closure.node.name in loads(closure.node)


def trusted(module: Any) -> bool:
    """Whether a module's members are taken as they are when compiling, without a guard."""
    name = getattr(module, "__name__", "")
    root = name.split(".")[0]
    return isinstance(module, types.ModuleType) and (root in LIBRARIES or root in sys.stdlib_module_names)


def root_module(function: Any) -> str:
    """The top-level package that a function is from."""
    return (getattr(function, "__module__", None) or "").split(".")[0]


def full_name(key: Any, name: str) -> str:
    """How messages call a function: with its module or class."""
    module = getattr(key, "__module__", None)
    owner = getattr(key, "__objclass__", None)
    if owner is not None:
        return f"{owner.__name__}.{key.__name__}"
    return f"{module}.{getattr(key, '__qualname__', name)}" if module and module != "builtins" else name
