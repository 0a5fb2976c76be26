"""What a rule declares, held against a call: ``result=``, ``kind=``, and the arguments on which it has to hold."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adcompiler.runtime.shapes import kept_shape

if TYPE_CHECKING:
    from adcompiler.rulecheck import Application

_ELEMENTWISE = ("elementwise", "elementwise_real", "where")


def check_result(call: "Application") -> None:
    """Check ``result="fresh"``: the value shares no memory with an argument. The other claims promise nothing."""
    if call.rule.result != "fresh":
        return
    arguments = [leaf for leaf in _arrays((call.args, call.kwargs)) if leaf.size]
    for value in (call.y, call.expected):
        shared = any(np.shares_memory(y, x) for y in _arrays(value) for x in arguments)
        call.require(not shared, 'the value shares memory with an argument: declare result="view" or result="same"')


def _arrays(value: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    return [array for entry in value for array in _arrays(entry)] if isinstance(value, (tuple, list)) else []


def check_kind(call: "Application") -> None:
    """Check that the value is of the kind that ``kind=`` declares, as far as one call can show it."""
    kind, y = call.rule.kind, call.y
    shape = _expected_shape(call)
    if shape is not None:
        call.require(np.shape(y) == shape, f"kind={kind!r} promises a value of shape {shape}, not {np.shape(y)}")
    if kind in _REAL_AS_OPERANDS and not any(map(_may_be_complex, (*call.args, *call.kwargs.values()))):
        call.require(not np.iscomplexobj(y), f"kind={kind!r} promises a real value, as everything here is")
    test = _KIND_TESTS.get(kind or "")
    if test is not None:
        call.require(test(call), f"kind={kind!r} does not fit a value {_describe(y)}")


# The kinds that say that a value is real if all operands are.
_REAL_AS_OPERANDS = (
    *(*_ELEMENTWISE, "scalar", "reduction", "like", "array", "array1", "array2", "transpose", "matmul", "getitem"),
    *("reshape", "stack", "concatenate", "broadcast_to", "expand_dims", "number", "ufunc"),
)


def _may_be_complex(value: Any) -> bool:
    """Whether there is a complex number in an argument, or something that may name a complex dtype."""
    if isinstance(value, (tuple, list)):
        return any(map(_may_be_complex, value))
    return isinstance(value, (str, type, np.dtype)) or np.iscomplexobj(value)


def _expected_shape(call: "Application") -> tuple[int, ...] | None:
    kind, values = call.rule.kind, call.parameters
    if kind in _ELEMENTWISE:
        return np.broadcast_shapes(*(np.shape(value) for value in values.values()))
    if kind == "reduction":
        axis, keepdims = values.get("axis"), values.get("keepdims", False)
        kept = kept_shape(np.shape(next(iter(values.values()))), axis)
        return kept if keepdims else _without_axes(kept, axis)
    return np.shape(next(iter(values.values()))) if kind in ("like", "cast") else None


def _without_axes(kept: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    if axis is None:
        return ()
    axes = {a % len(kept) for a in (axis if isinstance(axis, tuple) else (axis,))}
    return tuple(n for i, n in enumerate(kept) if i not in axes)


def _is_scalar(y: Any) -> bool:
    return np.ndim(y) == 0 and not isinstance(y, np.ndarray)


def _scalar_if_no_axes(call: "Application") -> bool:
    """NumPy's ufuncs and reductions give scalars, never arrays of no dimensions."""
    return np.ndim(call.y) > 0 or _is_scalar(call.y)


def _is_array(call: "Application") -> bool:
    return isinstance(call.y, np.ndarray)


def _is_of_same_rank(call: "Application") -> bool:
    return _is_array(call) and call.y.ndim == np.ndim(next(iter(call.parameters.values())))


_KIND_TESTS: dict[str, Callable[["Application"], bool]] = {
    "elementwise": _scalar_if_no_axes,
    "elementwise_real": lambda call: _scalar_if_no_axes(call) and not np.iscomplexobj(call.y),
    "scalar": lambda call: _is_scalar(call.y),
    "scalar_real": lambda call: _is_scalar(call.y) and not isinstance(call.y, complex),
    "reduction": _scalar_if_no_axes,
    "array": _is_array,
    "array_real": lambda call: _is_array(call) and not np.iscomplexobj(call.y),
    "array_complex": _is_array,
    "same_rank_real": lambda call: _is_of_same_rank(call) and not np.iscomplexobj(call.y),
    "same_rank_complex": lambda call: _is_of_same_rank(call),
    "array1": lambda call: _is_array(call) and call.y.ndim == 1,
    "array2": lambda call: _is_array(call) and call.y.ndim == 2,
    "transpose": lambda call: np.ndim(call.y) == np.ndim(next(iter(call.parameters.values()))),
    "number": lambda call: np.asarray(call.y).dtype.kind in "bifcu",
    "int": lambda call: isinstance(call.y, (int, np.integer)),
    "bool": lambda call: isinstance(call.y, (bool, np.bool_)) or np.asarray(call.y).dtype.kind == "b",
    "tuple": lambda call: isinstance(call.y, (tuple, list, np.ndarray)),
    **dict.fromkeys(("eig", "eigh", "lstsq", "slogdet"), lambda call: isinstance(call.y, tuple)),
}


def _describe(y: Any) -> str:
    return f"of type {type(y).__name__}" + (f" and shape {y.shape}" if hasattr(y, "shape") else "")


@dataclass(frozen=True)
class Variant:
    """A change of every array among the arguments, and what must hold afterwards.

    With a `tolerance` the cotangents must be those of the call without the change; with `differences` they are compared
    with finite differences.
    """

    label: str
    change: Callable[[Any], Any]
    tolerance: float | None = None
    differences: bool = False


def variants(kind: str | None, real_only: bool = False) -> list[Variant]:
    """The variants of a call that a rule of this `kind` has to stand."""
    general = [v for v in _VARIANTS if not (real_only and v.change is _complex)]
    return general + _ELEMENTWISE_VARIANTS if kind in (*_ELEMENTWISE, "ufunc") else general


def changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """`value` with `change` applied to every array in it."""
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, (tuple, list)):
        return type(value)(changed(entry, change) for entry in value)
    if isinstance(value, dict):
        return {key: changed(entry, change) for key, entry in value.items()}
    return value


def _read_only(array: Any) -> Any:
    result = np.array(array, order="F")
    result.flags.writeable = False
    return result


def _strided(array: Any) -> Any:
    """The same numbers, with gaps between them."""
    return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array


def _single(array: Any) -> Any:
    return array.astype({"f": np.float32, "c": np.complex64}.get(array.dtype.kind, array.dtype))


def _complex(array: Any) -> Any:
    """Numbers off the real axis, where the branch cuts of most functions are."""
    if array.dtype.kind != "f":
        return array
    turned = np.arange(array.size).reshape(array.shape) % 3 * 0.1 + 0.2
    return array * (1 + 1j * turned.astype(array.dtype))


def _empty(array: Any) -> Any:
    return array[..., :0] if array.ndim else array


def _first(array: Any) -> Any:
    return array.reshape(-1)[0] if array.size else array


_VARIANTS = [
    Variant("read-only arrays in Fortran order", _read_only, tolerance=1e-9),
    Variant("strided arrays", _strided, tolerance=1e-9),
    Variant("arrays of single precision", _single, tolerance=2e-3),
    Variant("complex arrays", _complex, differences=True),
    Variant("arrays of size 0", _empty),
]

_ELEMENTWISE_VARIANTS = [
    Variant("broadcast arrays", lambda array: np.broadcast_to(_first(array), array.shape) if array.size else array),
    Variant("0-d arrays", lambda array: np.array(_first(array)), differences=True),
    Variant("NumPy scalars", _first, differences=True),
    Variant("Python numbers", lambda array: _first(array).item(), differences=True),
]
