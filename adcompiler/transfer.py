"""The kind of a result from the kinds of the operands, by the name that a rule declares as its `kind=`.

A transfer takes the operands' kinds in the order of the rule's parameters, their names, and `fresh`, a shape class that
no other value has.  NumPy's scalars and 0-d arrays are different kinds: `z + z` of a 0-d array is a scalar, but
`np.where(True, 1.0, 2.0)` is a 0-d array.  Where NumPy's answer is not sure the result is a `Number`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from adcompiler.lattice import (
    Array,
    Foreign,
    Inert,
    Int,
    IntArray,
    Kind,
    Known,
    ListOf,
    Number,
    Scalar,
    SliceOf,
    TupleOf,
    Unknown,
    is_real,
    ndim_of,
    numeric,
    shape_of,
)

Operands = dict[str, Kind]


def result_kind(name: str | None, operands: Operands, fresh: Hashable) -> Kind:
    """The kind of a rule's result; an undeclared one is "some number or array"."""
    return _TRANSFERS.get(name or "number", _number)(operands, fresh)


def broadcast_kind(kinds: list[Kind], fresh: Hashable, real: bool, float_result: bool = True) -> Kind:
    """An elementwise result of numeric operands."""
    known = [numeric(k) for k in kinds]
    if any(k is None for k in known):
        return Number(real, fresh)
    arrays = [k for k in known if shape_of(k) != ()]
    if not arrays:
        if float_result and any(isinstance(k, Number) for k in known):
            return Number(real, ())
        return Scalar(real) if float_result else IntArray(0, ())
    classes = {shape_of(k) for k in arrays}
    shape = classes.pop() if len(classes) == 1 and None not in classes else fresh
    dims = [ndim_of(k) for k in arrays]
    if None not in dims:
        ndim: int | None = max(d for d in dims if d is not None)
    elif any(d for d in dims):
        ndim = None
    else:
        return Number(real, shape)
    return Array(ndim, real, shape) if float_result else IntArray(ndim, shape)


def _elementwise(operands: Operands, fresh: Hashable) -> Kind:
    kinds = list(operands.values())
    return broadcast_kind(kinds, fresh, all(map(is_real, kinds)))


def _elementwise_real(operands: Operands, fresh: Hashable) -> Kind:
    return broadcast_kind(list(operands.values()), fresh, True)


def _where(operands: Operands, fresh: Hashable) -> Kind:
    kind = _elementwise(operands, fresh)
    return Array(0, kind.real, ()) if isinstance(kind, Scalar) else kind


def _bool(operands: Operands, fresh: Hashable) -> Kind:
    return broadcast_kind(list(operands.values()), fresh, True, float_result=False)


def _scalar(operands: Operands, fresh: Hashable) -> Kind:
    return Scalar(_all_real(operands))


def _number(operands: Operands, fresh: Hashable) -> Kind:
    return Number(_all_real(operands), fresh)


def _all_real(operands: Operands) -> bool:
    return all(_deep_real(k) for k in operands.values())


def _deep_real(kind: Kind) -> bool:
    match kind:
        case ListOf(items, item):
            return all(map(_deep_real, items)) if items is not None else _deep_real(item)
        case TupleOf(items):
            return all(map(_deep_real, items))
        case Known(value) if numeric(kind) is None:
            return not _is_complex_type(value)
        case Inert() | Foreign() | SliceOf():
            return True
    return numeric(kind) is not None and is_real(kind)


def _is_complex_type(value: Any) -> bool:
    """Whether a known value may ask for a complex result (`dtype=complex`, `"c16"`)."""
    try:
        return np.dtype(value).kind == "c" if value is not None else False
    except (TypeError, ValueError, SyntaxError):  # NumPy evaluates some texts
        return False


def _first(operands: Operands) -> Kind:
    return next(iter(operands.values()), Unknown())


def _reduction(operands: Operands, fresh: Hashable) -> Kind:
    x = _first(operands)
    axis, keepdims = operands.get("axis", Known(None)), operands.get("keepdims", Known(False))
    if _has_dtype(operands):
        return Number(_all_real(operands), fresh)
    real, n = _all_real(operands), ndim_of(x)
    if not isinstance(axis, Known) or not isinstance(keepdims, Known):
        return Number(real, fresh)
    if keepdims.value:
        return Array(n, real, fresh) if n else Number(real, fresh)
    if axis.value is None:
        return Scalar(real)
    if n is None or not isinstance(axis.value, int | tuple):
        return Number(real, fresh)
    left = n - (len(axis.value) if isinstance(axis.value, tuple) else 1)
    return Array(left, real, fresh) if left > 0 else Scalar(real)


def _has_dtype(operands: Operands) -> bool:
    """Whether a call asks for a dtype, which need not be one of floats."""
    dtype = operands.get("dtype", Known(None))
    return not isinstance(dtype, Known) or dtype.value is not None


def _reduction_real(operands: Operands, fresh: Hashable) -> Kind:
    kind = _reduction(operands, fresh)
    if _has_dtype(operands):
        return kind
    return replace(kind, real=True) if isinstance(kind, Scalar | Array | Number) else kind


def _tuple(operands: Operands, fresh: Hashable) -> Kind:
    several = operands.get("returned", Known(True))
    items = Number(_all_real(operands))
    return ListOf(None, items) if isinstance(several, Known) and several.value else Unknown()


def _parts(cls: type, *real: bool | None) -> Callable[[Operands, Hashable], Kind]:
    """A tuple of class `cls` of numbers and arrays: each real, maybe complex, or (None) as the operands are."""

    def transfer(operands: Operands, fresh: Hashable) -> Kind:
        given = _all_real(operands)
        return TupleOf(tuple(Number(given if part is None else part, (fresh, i)) for i, part in enumerate(real)), cls)

    return transfer


def _lstsq(operands: Operands, fresh: Hashable) -> Kind:
    solution, residuals, values = (Number(real, (fresh, i)) for i, real in enumerate((_all_real(operands), True, True)))
    return TupleOf((solution, residuals, Int(), values))


def _svd(operands: Operands, fresh: Hashable) -> Kind:
    whole = operands.get("compute_uv", Known(True))
    if not isinstance(whole, Known):
        return Unknown()
    return _SVD(operands, fresh) if whole.value else Array(None, True, fresh)


def _qr(operands: Operands, fresh: Hashable) -> Kind:
    mode = operands.get("mode", Known("reduced"))
    if not isinstance(mode, Known) or mode.value not in ("reduced", "complete", "r"):
        return Unknown()
    return Array(ndim_of(_first(operands)), _all_real(operands), fresh) if mode.value == "r" else _QR(operands, fresh)


_UNIT = np.eye(1)
_SVD = _parts(type(np.linalg.svd(_UNIT)), None, True, None)
_QR = _parts(type(np.linalg.qr(_UNIT)), None, None)


def _same_rank(real: bool) -> Callable[[Operands, Hashable], Kind]:
    return lambda operands, fresh: Array(ndim_of(_first(operands)), real, fresh)


def _like(operands: Operands, fresh: Hashable) -> Kind:
    x = numeric(_first(operands))
    match x:
        case Array(n, real, shape) if n:
            return Array(n, real, shape)
        case Number(real, shape):
            return Number(real, shape)
        case Int() | Scalar() | Array() | IntArray():
            return Number(is_real(x), shape_of(x))
    return Number(_all_real(operands), fresh)


def _list(operands: Operands, fresh: Hashable) -> Kind:
    """The elements of an array in nested lists; of a scalar itself."""
    x = numeric(_first(operands))
    if isinstance(x, Scalar):
        return x
    if not isinstance(x, Array) or not x.ndim:
        return Unknown()
    kind: Kind = Scalar(x.real)
    for _ in range(x.ndim):
        kind = ListOf(None, kind)
    return kind


def _cast(operands: Operands, fresh: Hashable) -> Kind:
    """A number or array in another dtype: of the same shape."""
    kind, dtype = _like(operands, fresh), operands.get("dtype")
    if not isinstance(kind, Array | Number):
        return kind
    try:
        real = isinstance(dtype, Known) and np.dtype(dtype.value).kind != "c"
    except (TypeError, ValueError, SyntaxError):
        real = False
    return replace(kind, real=real)


def _array(ndim: int | None) -> Callable[[Operands, Hashable], Kind]:
    return lambda operands, fresh: Array(ndim, _all_real(operands), fresh)


def _transpose(operands: Operands, fresh: Hashable) -> Kind:
    x = numeric(_first(operands))
    if isinstance(x, Array):
        return Array(x.ndim, x.real, x.shape if x.ndim is not None and x.ndim < 2 else fresh)
    return Number(is_real(x), fresh)


def _matmul(operands: Operands, fresh: Hashable) -> Kind:
    a, b = list(operands.values())[:2]
    real = is_real(a) and is_real(b)
    match ndim_of(a), ndim_of(b):
        case (2, 2):
            return Array(2, real, fresh)
        case (2, 1) | (1, 2):
            return Array(1, real, fresh)
        case (1, 1):
            return Scalar(real)
    return Number(real, fresh)


def _getitem(operands: Operands, fresh: Hashable) -> Kind:
    x, index = list(operands.values())[:2]
    k = numeric(x)
    real = is_real(x)
    parts = index.items if isinstance(index, TupleOf) else (index,)
    n = ndim_of(x)
    left = None if n is None else _axes_left(parts, n)
    if left is None:
        return (
            Number(real, fresh) if isinstance(k, Array | Number | Scalar) else IntArray(None, fresh) if n else Unknown()
        )
    if left == 0 and not any(isinstance(p, Known) and p.value is Ellipsis for p in parts):
        return Scalar(real) if isinstance(k, Array | Scalar) else Int()
    return Array(left, real, fresh) if isinstance(k, Array | Scalar) else IntArray(left, fresh)


def _axes_left(parts: tuple[Kind, ...], ndim: int) -> int | None:
    """Dimensions after a basic index, or after one integer array or mask; None if not sure."""
    left, used, fancy = 0, 0, 0
    for part in parts:
        match part:
            case Known(value) if value is None:
                left += 1
            case Known(value) if value is Ellipsis:
                continue
            case Known(value) if isinstance(value, bool):
                return None
            case SliceOf():
                left += 1
                used += 1
            case IntArray(m) if m:
                fancy = max(fancy, m)
                used += 1
            case _ if isinstance(numeric(part), Int):
                used += 1
            case _:
                return None
    if fancy and (used > 1 and any(isinstance(p, IntArray) for p in parts) and ndim != used):
        return None
    return None if _maybe_mask(parts) else left + fancy + (ndim - used)


def _maybe_mask(parts: tuple[Kind, ...]) -> bool:
    """Whether an integer array among the parts might be a mask of more than one dimension."""
    return any(isinstance(p, IntArray) and p.ndim != 1 for p in parts)


def _reshape(operands: Operands, fresh: Hashable) -> Kind:
    x, shape = list(operands.values())[:2]
    parts = shape.items if isinstance(shape, TupleOf) else (shape,)
    if len(parts) == 1 and isinstance(parts[0], TupleOf):
        parts = parts[0].items
    if all(isinstance(numeric(p), Int) for p in parts):
        return Array(len(parts), is_real(x), fresh)
    return Array(None, is_real(x), fresh)


def _joined(extra: int) -> Callable[[Operands, Hashable], Kind]:
    def transfer(operands: Operands, fresh: Hashable) -> Kind:
        arrays, axis = _first(operands), operands.get("axis", Known(0))
        items = arrays.items if isinstance(arrays, TupleOf | ListOf) else None
        dims = {ndim_of(k) for k in items} if items else {None}
        n = dims.pop() if len(dims) == 1 else None
        if isinstance(axis, Known) and axis.value is None:
            return Array(1, _all_real(operands), fresh)
        return Array(None if n is None else n + extra, _deep_real(arrays), fresh)

    return transfer


def _broadcast_to(operands: Operands, fresh: Hashable) -> Kind:
    return _reshape(operands, fresh)


def _expand_dims(operands: Operands, fresh: Hashable) -> Kind:
    x, axis = list(operands.values())[:2]
    n = ndim_of(x)
    one = isinstance(numeric(axis), Int)
    return Array(n + 1 if n is not None and one else None, is_real(x), fresh)


def _filled(operands: Operands, fresh: Hashable) -> Kind:
    shape = _first(operands)
    if isinstance(shape, TupleOf):
        return Number(True, fresh) if not shape.items else Array(len(shape.items), True, fresh)
    return Array(1, True, fresh) if isinstance(numeric(shape), Int) else Array(None, True, fresh)


def _filled_like(operands: Operands, fresh: Hashable) -> Kind:
    x = numeric(_first(operands))
    return Array(x.ndim, x.real, x.shape) if isinstance(x, Array) else Number(_all_real(operands), fresh)


def _index(operands: Operands, fresh: Hashable) -> Kind:
    return IntArray(None, fresh)


_TRANSFERS: dict[str, Callable[[Operands, Hashable], Kind]] = {
    "elementwise": _elementwise,
    "scalar_real": lambda operands, fresh: Scalar(True),
    "elementwise_real": _elementwise_real,
    "elementwise_complex": lambda operands, fresh: broadcast_kind(list(operands.values()), fresh, False),
    "where": _where,
    "scalar": _scalar,
    "reduction": _reduction,
    "reduction_real": _reduction_real,
    "scalar_complex": lambda operands, fresh: Scalar(False),
    "like": _like,
    "array": _array(None),
    "array_real": lambda operands, fresh: Array(None, True, fresh),
    "array_complex": lambda operands, fresh: Array(None, False, fresh),
    "same_rank_real": _same_rank(True),
    "same_rank_complex": _same_rank(False),
    "array1": _array(1),
    "array2": _array(2),
    "list": _list,
    "cast": _cast,
    "unknown": lambda operands, fresh: Unknown(),
    "transpose": _transpose,
    "matmul": _matmul,
    "getitem": _getitem,
    "reshape": _reshape,
    "stack": _joined(1),
    "concatenate": _joined(0),
    "broadcast_to": _broadcast_to,
    "expand_dims": _expand_dims,
    "number": _number,
    "ufunc": _number,
    "int": lambda operands, fresh: Int(),
    "bool": _bool,
    "index": _index,
    "filled": _filled,
    "filled_like": _filled_like,
    "tuple": _tuple,
    "eig": _parts(type(np.linalg.eig(_UNIT)), False, False),
    "eigh": _parts(type(np.linalg.eigh(_UNIT)), True, None),
    "lstsq": _lstsq,
    "qr": _qr,
    "slogdet": _parts(type(np.linalg.slogdet(_UNIT)), None, True),
    "svd": _svd,
    "whole": lambda operands, fresh: Int(),
    "generator": lambda operands, fresh: Foreign(np.random.Generator),
    "other": lambda operands, fresh: Inert(),
    "text": lambda operands, fresh: Inert(),
}


def item_kind(kind: Kind) -> Kind:
    """The kind of one element in a loop over a value (a row of an array, an item of a list)."""
    match kind:
        case Array(ndim, real):
            return Scalar(real) if ndim == 1 else Array(ndim - 1 if ndim else None, real) if ndim else Number(real)
        case IntArray(ndim):
            return Int() if ndim == 1 else IntArray(None if ndim is None else ndim - 1)
        case Number(real):
            return Number(real)
    return Unknown()


def as_dict(names: tuple[str, ...], kinds: tuple[Any, ...]) -> Operands:
    """Parameter name → kind, in order."""
    return dict(zip(names, kinds, strict=True))
