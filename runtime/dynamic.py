"""Operations whose derivative is found at run time, from the types of their operands.

`resolve` finds it (a rule, else the function's own source) and returns a `Resolved`, whose `forward` the generated code
calls from its own frame, and whose `backward` gives a cotangent for the callable and for every argument.
"""

from __future__ import annotations

import inspect
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.runtime.containers import one_item
from adcompiler.runtime.errors import NoRuleError, UnsupportedSyntaxError
from adcompiler.runtime.tangents import Thunk, unthunk

# Set by the compiler and the registry when they are imported: the runtime imports neither.
_lookup: Callable[[Any, tuple[type, ...]], tuple[Any, ...]]
_is_inert: Callable[[Any], Any]
_compile: Callable[..., Any]

_ARITHMETIC = (operator.add, operator.mul, operator.sub, operator.truediv, operator.mod, operator.pow, operator.matmul)
_NUMBERS = (bool, int, float, complex, np.generic)
_PLAIN = (list, tuple, type(None), str, bytes, slice, type(Ellipsis), type, np.dtype)
_OPAQUE = (type, types.ModuleType, types.BuiltinFunctionType, np.ufunc)  # callables that hold no values


def connect(lookup: Any, is_inert: Any, compile_: Any) -> None:
    """Tell the runtime how rules are looked up and functions compiled."""
    global _lookup, _is_inert, _compile
    _lookup, _is_inert, _compile = lookup, is_inert, compile_


class Resolved:
    """A callable with its derivative, for one call."""

    __slots__ = ("backward", "forward", "source")

    def __init__(self, forward: Callable[..., Any], backward: Callable[..., Any], source: Any = None) -> None:
        self.forward = forward
        self.backward = backward
        self.source = source  # of a function with source: itself, what is wanted, and its first arguments


def resolve(wanted: tuple[bool, ...], f: Any, *args: Any, **kwargs: Any) -> Resolved:
    """The derivative of `f(*args, **kwargs)`.

    `wanted` says what is active: the callable (or the object it is a method of), then the arguments, then the keywords.
    Raises NoRuleError if something active goes into a function that has neither a rule nor source.
    """
    count = 1 + len(args) + len(kwargs)
    if not any(wanted):
        return _plain(f, count)
    f = getattr(f, "__adcompiler_function__", f)
    for mark, value in zip(wanted, (f, *args, *kwargs.values()), strict=True):
        if mark:
            _check_tangible(value)
    owner = getattr(f, "__self__", None)
    if isinstance(f, types.BuiltinMethodType) and isinstance(owner, np.ndarray | np.generic):
        key = getattr(np.ndarray, f.__name__, f)
        return _without_owner(_by_key(key, wanted, (owner, *args), kwargs), owner)
    if isinstance(f, types.MethodType):
        return _without_owner(_by_key(f.__func__, wanted, (owner, *args), kwargs), owner)
    inner = _by_key(f, wanted[1:], args, kwargs)
    return Resolved(inner.forward, lambda saved, y_bar: (None, *inner.backward(saved, y_bar)), inner.source)


def _check_tangible(value: Any) -> None:
    """Raise if an active value may carry derivatives in a place where they would be lost."""
    if isinstance(value, types.MethodType | types.BuiltinMethodType):
        value = getattr(value, "__self__", None)
    if isinstance(value, types.FunctionType):
        hidden = [c for c in value.__closure__ or () if not _is_constant(c)]
        if hidden or not all(map(_is_inert_default, value.__defaults__ or ())):
            raise UnsupportedSyntaxError(
                f"{value.__name__} captures values that may carry derivatives, and is only known at run time\n"
                "Pass what it captures as arguments."
            )
    elif isinstance(value, dict):
        for item in value.values():
            _check_tangible(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_tangible(item)
    elif not isinstance(value, _NUMBERS) and not _is_domain(value) and callable(value) and not _is_inert(value):
        if not _lookup(value, ()) and not isinstance(value, _OPAQUE):
            raise _intangible(value)


def _intangible(value: Any) -> Exception:
    """The error for an object that can be called, and may hold values."""
    if isinstance(value, np.vectorize) or hasattr(value, "__wrapped__"):
        return _no_rule(value, [])
    return UnsupportedSyntaxError(
        f"a callable of type {type(value).__qualname__} may carry derivatives, and is only known at run time\n"
        "Call a plain function instead."
    )


def _is_constant(cell: Any, seen: tuple[Any, ...] = ()) -> bool:
    try:
        return _is_inert_default(cell.cell_contents, seen)
    except ValueError:
        return True


def _is_inert_default(value: Any, seen: tuple[Any, ...] = ()) -> bool:
    if isinstance(value, types.FunctionType):
        # Functions may capture each other.
        return value in seen or all(_is_constant(cell, (*seen, value)) for cell in value.__closure__ or ())
    return value is None or isinstance(value, (int, str, bytes, np.integer, *_OPAQUE))


def _plain(f: Any, count: int) -> Resolved:
    return Resolved(lambda *args, **kwargs: (f(*args, **kwargs), None), lambda saved, y_bar: (None,) * count)


def _without_owner(inner: Resolved, owner: Any) -> Resolved:
    source = None if inner.source is None else (*inner.source[:2], (owner, *inner.source[2]))
    return Resolved(lambda *args, **kwargs: inner.forward(owner, *args, **kwargs), inner.backward, source)


def _by_key(key: Any, wanted: tuple[bool, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Resolved:
    """The derivative by rule, by source, or not at all; `backward` gives one cotangent per argument and keyword."""
    count = len(args) + len(kwargs)
    if _is_inert(key):
        return _plain(key, count)
    if key is operator.getitem and type(args[0]) in (list, tuple, dict):
        return _item(args[0])
    if key in _ARITHMETIC and any(isinstance(a, list | tuple | dict | str) for a in args):
        raise UnsupportedSyntaxError(
            f"the operator {key.__name__} on containers has no derivative yet\nCombine the items one by one."
        )
    foreign = [a for a in (*args, *kwargs.values()) if not _is_domain(a)]
    rules = _lookup(key, tuple(map(type, args)))
    if foreign:
        rules = tuple(r for r in rules if not r.builtin)
    if rules:
        return _by_rule(rules, key, wanted, args, kwargs)
    if foreign:
        method = _overload(key, args)
        if method is not None:
            return _by_key(method, wanted, args, kwargs)
    if isinstance(key, types.FunctionType) and not foreign_module(key):
        return _by_source(key, wanted, args, kwargs)
    raise _no_rule(key, foreign)


def _item(container: Any) -> Resolved:
    """An item of a container: its cotangent is the container's with that one entry."""

    def forward(container: Any, key: Any) -> Any:
        return container[key], key

    def backward(key: Any, y_bar: Any) -> Any:
        if isinstance(container, dict):
            return {key: y_bar}, None
        if isinstance(key, slice):
            entries: list[Any] = [None] * len(container)
            entries[key] = y_bar if y_bar is not None else [None] * len(entries[key])
        else:
            entries = one_item(len(container), key, y_bar)
        return entries, None

    return Resolved(forward, backward)


def foreign_module(function: Any) -> bool:
    """Whether a function belongs to a library whose source is never read."""
    root = (getattr(function, "__module__", None) or "").split(".")[0]
    return root in ("numpy", "scipy", "cupy", "cupyx", "adcompiler")


def _is_domain(value: Any) -> bool:
    """Whether built-in rules hold for a value: exact arrays of numbers, numbers, and plain Python data."""
    cls = type(value)
    if cls is np.ndarray:
        return value.dtype.kind in "biufc"
    if issubclass(cls, _NUMBERS):
        return cls.__module__ in ("builtins", "numpy")
    if cls in (list, tuple):
        return all(map(_is_domain, value))
    if cls is dict:
        return all(map(_is_domain, value.values()))
    return issubclass(cls, _PLAIN) or (cls.__name__ == "ndarray" and cls.__module__.split(".")[0] == "cupy")


def _overload(key: Any, args: tuple[Any, ...]) -> Any:
    """The Python method behind an operator on a user's class: only the left operand's own, and only if it is plain."""
    name = f"__{getattr(key, '__name__', '')}__"
    if getattr(operator, name, None) is None and name != "__getitem__":
        return None
    method = getattr(type(args[0]), name, None)
    return method if isinstance(method, types.FunctionType) else None


def _no_rule(key: Any, foreign: list[Any]) -> NoRuleError:
    name = getattr(key, "__name__", repr(key))
    if foreign:
        kinds = ", ".join(sorted({f"{type(v).__module__}.{type(v).__qualname__}" for v in foreign}))
        return NoRuleError(
            f"{name} has no derivative rule for {kinds}\nConvert it to an array, or register a rule with @rrule."
        )
    return NoRuleError("\n".join(without_rule(key, name)))


def without_rule(function: Any, name: str) -> tuple[str, str, str]:
    """What is said of something that can be called, and has neither a rule nor source: what, why, and what to do."""
    inside = getattr(function, "__wrapped__", None)
    if hasattr(type(function), "__adcompiler_transform__"):
        why = "Derivatives of derivatives are not supported yet."
        return f"{name} has no derivative", why, "Compute it outside and pass the result."
    if isinstance(function, np.vectorize):
        what, why = "a function made by np.vectorize has no derivative", "It calls Python once for each number."
        return what, why, "Write it with operations on whole arrays (np.where for a choice), or as a loop."
    if isinstance(inside, types.FunctionType) and not foreign_module(function):
        cls = f"{type(function).__module__}.{type(function).__qualname__}".replace("._lru_cache_wrapper", ".lru_cache")
        why = f"It is wrapped by {cls}, which has no source."
        return f"{name} has no derivative rule", why, "Use the function inside, which is its attribute __wrapped__."
    why = "It is not written in Python, and no rule is registered for it."
    return f"{name} has no derivative rule", why, "Register one with @rrule, or declare it with non_differentiable()."


def _by_rule(rules: Any, key: Any, wanted: Any, args: Any, kwargs: Any) -> Resolved:
    def forward(*args: Any, **kwargs: Any) -> Any:
        for rule in rules:
            try:
                bound = rule.signature.bind(*args, **kwargs)
            except TypeError as error:
                raise refused_call(key, error) from None
            found = rule.function(*bound.args, **bound.kwargs, **_options(rule, wanted, args, kwargs))
            if found is not NotImplemented:
                y, pullback = found
                return y, (pullback, rule.signature, args, kwargs)
        if isinstance(key, types.FunctionType) and not foreign_module(key):
            source = _by_source(key, wanted, args, kwargs)
            y, saved = source.forward(*args, **kwargs)
            return y, (source.backward, None, saved, None)
        raise _no_rule(key, [])

    def backward(saved: Any, y_bar: Any) -> Any:
        pullback, signature, args, kwargs = saved
        if y_bar is None:
            return (None,) * len(wanted)
        if signature is None:
            return pullback(args, y_bar)
        cotangents = pullback(y_bar)
        if isinstance(cotangents, Thunk):
            cotangents = cotangents.value()
        return _aligned(signature, cotangents, wanted, args, kwargs)

    return Resolved(forward, backward)


def refused_call(function: Any, error: TypeError) -> NoRuleError:
    """The error for a call that is right in Python, and that the function's rule does not take."""
    name = getattr(function, "__name__", repr(function))
    return NoRuleError(f"the rule of {name} does not take this call: {error}\nWrite it another way.")


def _options(rule: Any, wanted: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """What a rule asks for by keyword-only parameters."""
    options: dict[str, Any] = {}
    if "needs" in rule.options:
        options["needs"] = _needs(rule, wanted, args, kwargs)
    if "config" in rule.options:
        options["config"] = {}
    return options


def _needs(rule: Any, wanted: Any, args: Any, kwargs: Any) -> tuple[bool, ...]:
    marks = rule.signature.bind(*wanted[: len(args)], **dict(zip(kwargs, wanted[len(args) :], strict=True)))
    flags = []
    for name in rule.signature.parameters:
        mark = marks.arguments.get(name, False)
        several = mark.values() if isinstance(mark, dict) else mark if isinstance(mark, tuple) else (mark,)
        flags.append(any(several))
    return tuple(flags)


def _aligned(
    signature: inspect.Signature, cotangents: Any, wanted: tuple[bool, ...], args: Any, kwargs: Any
) -> tuple[Any, ...]:
    """The cotangents of a rule's parameters as those of the call's arguments and keywords; only of those wanted."""
    by_name = dict(zip(signature.parameters, cotangents, strict=True))
    numbers = dict(zip(kwargs, range(len(args), len(args) + len(kwargs)), strict=True))
    marks = signature.bind(*range(len(args)), **numbers)
    values = (*args, *kwargs.values())
    out: list[Any] = [None] * len(values)
    for name, position in marks.arguments.items():
        ct = by_name[name]
        if isinstance(position, tuple | dict) and isinstance(ct, Thunk) and any(wanted[p] for p in _places(position)):
            ct = ct.value()
        for key, p in position.items() if isinstance(position, dict) else enumerate(_places(position)):
            if wanted[p] and ct is not None:
                entry = ct[key] if isinstance(position, tuple | dict) else ct
                out[p] = _as_real(unthunk(entry), values[p])
    return tuple(out)


def _places(position: Any) -> Any:
    """The numbers of the arguments that a parameter is bound to."""
    if isinstance(position, dict):
        return position.values()
    return position if isinstance(position, tuple) else (position,)


def _as_real(ct: Any, value: Any) -> Any:
    """The real part of a complex cotangent that belongs to a real number or array."""
    kind = getattr(getattr(ct, "dtype", None), "kind", "c" if isinstance(ct, complex) else "f")
    if kind != "c" or np.iscomplexobj(value):
        return ct
    return ct.real if not isinstance(value, list | tuple) else ct


def _by_source(function: Any, wanted: Any, args: Any, kwargs: Any) -> Resolved:
    def forward(*args: Any, **kwargs: Any) -> Any:
        return _compile(function, wanted, args, kwargs)

    def backward(saved: Any, y_bar: Any) -> Any:
        return (None,) * len(wanted) if y_bar is None or saved is None else saved(y_bar)

    return Resolved(forward, backward, (function, wanted, ()))
