"""Operations whose derivative is found at run time, from the types of their operands.

`resolve` finds it (a rule, else the function's own source) and returns a `Resolved`, whose `forward` the generated code
calls from its own frame, and whose `backward` gives a cotangent for the callable and for every argument.
"""

from __future__ import annotations

import contextvars
import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.runtime import tangible
from adcompiler.runtime.apart import run_apart
from adcompiler.runtime.arrays import is_library_array
from adcompiler.runtime.domain import (
    array_member,
    foreign_module,
    gives_way,
    is_domain,
    is_plain_container,
    unwrapped,
)
from adcompiler.runtime.errors import UnsupportedSyntaxError
from adcompiler.runtime.hooks import is_mark, resolve_mark
from adcompiler.runtime.listed import in_arrays, listed
from adcompiler.runtime.members import (
    ABSENT,
    has_plain_fields,
    is_constant_of_class,
    is_field,
    is_item_as_attribute,
    is_named_tuple,
    member,
)
from adcompiler.runtime.missing import no_rule, refused_call
from adcompiler.runtime.resolved import (
    Resolved,
    caller,
    container_method,
    from_object,
    item_of,
    load_attribute,
    moving,
    plain,
    without_owner,
)
from adcompiler.runtime.ruling import (
    Form,
    aligned,
    cotangents_of,
    first_that_takes,
    options_of,
    unheld,
    value_and_pullback,
)
from adcompiler.runtime.tangible import check_tangible, is_constant_cell, is_declared
from adcompiler.runtime.text import CARRIERS, TEXT, makes_text, refuse_text
from adcompiler.runtime.walk import is_array, is_constant

# Set by the compiler and the registry when they are imported: the runtime imports neither.
_lookup: Callable[[Any, tuple[type, ...]], tuple[Any, ...]]
_is_inert: Callable[[Any], Any]
_refusal: Callable[[Any], str | None]
_compile: Callable[..., Any]

_ARITHMETIC = (operator.add, operator.mul, operator.sub, operator.truediv, operator.mod, operator.pow, operator.matmul)
AUGMENTED = {
    operator.iadd: operator.add, operator.isub: operator.sub, operator.imul: operator.mul,
    operator.itruediv: operator.truediv, operator.ipow: operator.pow, operator.imatmul: operator.matmul,
    operator.ifloordiv: operator.floordiv, operator.imod: operator.mod,
}  # fmt: skip
_JOINING = (operator.add, operator.mul, operator.or_)


def connect(lookup: Any, is_inert: Any, refusal: Any, compile_: Any) -> None:
    """Tell the runtime how rules are looked up and functions compiled."""
    global _lookup, _is_inert, _refusal, _compile
    _lookup, _is_inert, _refusal, _compile = lookup, is_inert, refusal, compile_
    tangible.connect(lookup, is_inert, refusal)


def resolve(wanted: tuple[bool, ...], f: Any, *args: Any, **kwargs: Any) -> Resolved:  # noqa: C901  one case per callable
    """The derivative of `f(*args, **kwargs)`.

    `wanted` says what is active: the callable (or the object it is a method of), then the arguments, then the keywords.
    Raises NoRuleError if something active goes into a function that has neither a rule nor source.
    """
    count = 1 + len(args) + len(kwargs)
    if not any(wanted):
        return plain(f, count)
    f = unwrapped(f)
    if f is getattr:
        return _attribute(*args)
    if is_mark(f):
        return resolve_mark(f, args, kwargs)
    for mark, value in zip(wanted, (f, *args, *kwargs.values()), strict=True):
        if mark:
            check_tangible(value)
    owner = getattr(f, "__self__", None)
    if isinstance(f, types.BuiltinMethodType) and isinstance(owner, TEXT):
        return plain(f, count)  # text that is made of text
    builtin = isinstance(f, types.BuiltinMethodType) and is_array(owner)
    if builtin or (isinstance(f, types.MethodType) and is_library_array(owner)):
        key = array_member(f.__name__) or f
        return without_owner(_by_key(key, wanted, (owner, *args), kwargs), owner)
    if isinstance(f, types.BuiltinMethodType) and type(owner) in (list, tuple, dict):
        found = container_method(owner, f.__name__, wanted)
        if found is not None:
            return without_owner(found, owner)
    if isinstance(f, types.BuiltinMethodType) and not isinstance(owner, types.ModuleType):
        key = getattr(type(owner), f.__name__, None)  # of an object that is written in C
        if _lookup(key, ()):
            return without_owner(_by_key(key, wanted, (owner, *args), kwargs), owner)
    if isinstance(f, types.MethodType) and f.__name__ == "_replace" and is_named_tuple(type(owner)):
        return without_owner(moving(_replaced, "s" if wanted[0] else "-", len(kwargs)), owner)
    if isinstance(f, types.MethodType):
        return without_owner(_by_key(f.__func__, wanted, (owner, *args), kwargs), owner)
    if not _lookup(f, ()) and not _is_inert(f):
        called = member(type(f), "__call__")
        if _lookup(called, ()):
            return without_owner(_by_key(called, wanted, (f, *args), kwargs), f)
        if has_plain_fields(type(f)) and isinstance(called, types.FunctionType) and not foreign_module(called):
            return without_owner(_by_key(called, wanted, (f, *args), kwargs), f)
        if _refusal(called):
            raise no_rule(called, [], _refusal(called))
        captures = isinstance(f, types.FunctionType) and not all(map(is_constant_cell, f.__closure__ or ()))
        made = isinstance(f, type) and has_plain_fields(f)
        if (captures and wanted[0]) or made or isinstance(f, functools.partial):
            return without_owner(_by_source(caller(f, bool(kwargs)), wanted, (f, *args), kwargs), f)
    inner = _by_key(f, wanted[1:], args, kwargs)
    return inner.given(_same, _without_function(inner), inner.source)


def _replaced(value: Any, **fields: Any) -> Any:
    return value._replace(**fields)


def _without_function(inner: Resolved) -> Callable[[Any, Any], Any]:
    """The backward of a call, whose first operand, what is called, has no cotangent; it holds none while it runs."""

    def backward(saved: Any, y_bar: Any) -> Any:
        return (None, *inner.backward((saved, saved := None)[0], (y_bar, y_bar := None)[0]))

    return backward


_once: contextvars.ContextVar[bool] = contextvars.ContextVar("once", default=False)


def once(resolve: Callable[..., Resolved]) -> Callable[..., Resolved]:
    """A function that resolves a call whose backward runs once: the pullbacks that it compiles give memory back."""

    @functools.wraps(resolve)
    def resolved(*args: Any, **kwargs: Any) -> Resolved:
        token = _once.set(True)
        try:
            return resolve(*args, **kwargs)
        finally:
            _once.reset(token)

    return resolved


def call_again(wanted: tuple[bool, ...], f: Any, args: Any, kwargs: Any, strict: bool) -> Any:
    """The value of a call whose pullback runs once, and that pullback: of `f` itself, each argument and each keyword.

    Nobody else has the containers and objects in the arguments. What is compiled belongs to the body of `f`: the next
    function made of it finds it. `strict` says that it must not read arrays from outside.
    """
    f = unwrapped(f)
    if not is_declared(f) and not (isinstance(f, types.MethodType) and is_declared(f.__func__)):
        for mark, value in zip(wanted, (f, *args, *kwargs.values()), strict=True):
            if mark and type(value) is not np.ndarray:
                check_tangible(value)
        function, how = caller(f, bool(kwargs)), {"single_use": True, "again": True, "over": strict, "strict": strict}
        return _compile(function, wanted, (f, *args), kwargs, **how)
    found = once(resolve_value)(wanted, f, *args, **kwargs)
    y, saved = found.forward(*args, **kwargs)
    return y, functools.partial(found.backward, saved)


def _same(*args: Any) -> tuple[Any, ...]:
    return args


def resolve_spread(wanted: tuple[bool, ...], f: Any, arguments: Any) -> Resolved:
    """The derivative of `f(*arguments)` with respect to the list or tuple of arguments."""
    on = bool(wanted[1])
    inner = resolve((False, *(on for _ in arguments)), f, *arguments)
    return inner.given(lambda arguments: arguments, lambda saved, y_bar: (None, list(inner.backward(saved, y_bar)[1:])))


def resolve_value(wanted: tuple[bool, ...], f: Any, *args: Any, **kwargs: Any) -> Resolved:
    """As `resolve`, for a callable that is a value with a cotangent of its own, as bound methods may be."""
    found = resolve(wanted, f, *args, **kwargs)
    if not isinstance(f, types.MethodType):
        return found

    def backward(saved: Any, y_bar: Any) -> Any:
        owner, *others = found.backward((saved, saved := None)[0], (y_bar, y_bar := None)[0])
        return (None if owner is None else {"__self__": owner}, *others)

    return found.given(_same, backward)


def _attribute(obj: Any, name: str) -> Resolved:
    """The derivative of `getattr(obj, name)`; the field's cotangent is the object's with that one entry."""
    cls = type(obj)
    if is_named_tuple(cls) and name in cls._fields:
        inner = item_of(obj)
        position = cls._fields.index(name)
        return Resolved(
            lambda obj, name: inner.forward(obj, position), lambda saved, y_bar: (None, *inner.backward(saved, y_bar))
        )
    if isinstance(obj, float | complex) or is_array(obj):
        key = array_member(name)
        if _is_inert(key):
            return plain(getattr, 3)
        # A method that is read has the cotangent of its array.
        loaded = Resolved(load_attribute, lambda saved, y_bar: (None, y_bar, None))
        return loaded if callable(key) else from_object(_by_key(key, (True,), (obj,), {}))
    found = member(cls, name)
    if is_item_as_attribute(obj, name, found):
        return Resolved(load_attribute, lambda saved, y_bar: (None, None if y_bar is None else {name: y_bar}, None))
    if not has_plain_fields(cls):
        raise no_rule(getattr, [obj])
    if is_field(obj, name):
        return Resolved(load_attribute, lambda saved, y_bar: (None, None if y_bar is None else {name: y_bar}, None))
    if isinstance(found, property) and found.fget is not None:
        return from_object(_by_key(found.fget, (True,), (obj,), {}))
    if isinstance(found, types.FunctionType):
        return Resolved(
            load_attribute, lambda saved, y_bar: (None, None if y_bar is None else y_bar.get("__self__"), None)
        )
    if found is ABSENT or isinstance(found, staticmethod | classmethod) or is_constant_of_class(found):
        return _plain_attribute(obj, name, member(cls, "__getattr__") if found is ABSENT else ABSENT)
    raise UnsupportedSyntaxError(
        f"the attribute .{name} of {cls.__qualname__} is no plain field\n"
        "Use one that is set in __init__, or a property."
    )


def _plain_attribute(obj: Any, name: str, computed: Any) -> Resolved:
    """An attribute of the class, or what `__getattr__` computes."""
    if computed is ABSENT:
        return plain(getattr, 3)
    inner = _by_key(computed, (True, False), (obj, name), {})
    return inner.given(_same, _without_function(inner))


def is_transform(f: Any) -> bool:
    """Whether a function is written in Python and has a rule of adcompiler's own, as those that differentiate have."""
    return isinstance(f, types.FunctionType) and any(rule.builtin for rule in _lookup(f, ()))


def _by_key(  # noqa: C901  one case per operation
    key: Any, wanted: tuple[bool, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Resolved:
    """The derivative by rule, by source, or not at all; `backward` gives one cotangent per argument and keyword."""
    count = len(args) + len(kwargs)
    if key in AUGMENTED:
        if isinstance(args[0], list | dict):
            raise UnsupportedSyntaxError(
                f"a {type(args[0]).__name__} that is only known at run time grows here\nMake a new one: `a = a + b`."
            )
        # `a += b` is an operation of its own where the class of `a` says so, and else `a = a + b`.
        key = AUGMENTED[key] if member(type(args[0]), f"__{key.__name__}__") is ABSENT or is_domain(args[0]) else key
    if key in _JOINING and any(isinstance(a, list | tuple) for a in args) and any(map(is_array, args)):
        raise UnsupportedSyntaxError(
            f"the operator {key.__name__} on a list or tuple and an array\nMake an array of both: np.asarray(x)."
        )
    if (key in _JOINING and any(isinstance(a, list | tuple | dict) for a in args)) or key in (list, tuple, dict):
        roles = "p" if key is dict else "s"
        return moving(key, "".join(roles if on else "-" for on in wanted[: len(args)]), len(kwargs))
    declared = _is_inert(key)
    if declared or makes_text(key, args):
        if declared and declared.kind not in CARRIERS:
            refuse_text(key, wanted, args, kwargs)
        return plain(key, count)
    refuse_text(key, wanted, args, kwargs)
    if key is operator.getitem and is_plain_container(args[0]):
        return item_of(args[0])
    if key in _ARITHMETIC and any(isinstance(a, list | tuple | dict | str) for a in args):
        raise UnsupportedSyntaxError(
            f"the operator {key.__name__} on containers has no derivative yet\nCombine the items one by one."
        )
    foreign = [a for a in (*args, *kwargs.values()) if not is_domain(a)]
    rules = _lookup(key, tuple(map(type, args)))
    if foreign:
        rules = tuple(r for r in rules if not r.builtin or all(isinstance(a, r.accepts) for a in foreign))
    if rules:
        return _by_rule(rules, key, wanted, args, kwargs)
    if foreign:
        overloaded = _overload(key, wanted, args)
        if overloaded is not None:
            return overloaded
    if isinstance(key, types.FunctionType) and not foreign_module(key):
        return _by_source(key, wanted, args, kwargs)
    raise no_rule(key, foreign, _refusal(key))


def _overload(key: Any, wanted: tuple[bool, ...], args: tuple[Any, ...]) -> Resolved | None:
    """The methods behind an operator on objects of the user's classes, tried in Python's order; None if it has none."""
    name = getattr(key, "__name__", "").strip("_")
    straight, reflected = f"__{name}__", f"__r{name}__"
    if getattr(operator, straight, None) is not key or not any(has_plain_fields(type(a)) for a in args):
        return None
    tries = [(straight, args, False)]
    if key is not operator.getitem and len(args) == 2 and type(args[0]) is not type(args[1]):
        a, b = type(args[0]), type(args[1])
        if not has_plain_fields(a) and not gives_way(args[0], b):
            return None
        own = issubclass(b, a) and member(b, reflected) is not member(a, reflected)
        tries.insert(0 if own else 1, (reflected, args[::-1], True))
    methods = [(member(type(operands[0]), method), operands, swap) for method, operands, swap in tries]
    methods = [m for m in methods if isinstance(m[0], types.FunctionType) and has_plain_fields(type(m[1][0]))]
    return _first_of(key, methods, wanted)


def _first_of(key: Any, methods: list[tuple[Any, Any, bool]], wanted: tuple[bool, ...]) -> Resolved:
    """The first method that does not return NotImplemented."""

    def forward(*args: Any, apart: bool = False) -> Any:
        for method, operands, swap in methods:
            inner = _by_key(method, wanted[::-1] if swap else wanted, operands, {})
            y, saved = run_apart(inner, (True,) * len(args), True, *operands) if apart else inner.forward(*operands)
            if y is not NotImplemented:
                return y, (inner.backward, swap, saved)
        key(*args)  # Python's own TypeError, or what somebody else makes of it
        raise no_rule(key, list(args))

    def backward(record: Any, y_bar: Any) -> Any:
        inner, swap, saved = record
        cts = inner((saved, saved := None)[0], (y_bar, y_bar := None)[0])
        return cts[::-1] if swap else cts

    return Resolved(forward, backward, apart=functools.partial(forward, apart=True))


def _by_rule(rules: Any, key: Any, wanted: Any, args: Any, kwargs: Any) -> Resolved:
    single_use = _once.get()

    def run(apart: str | None, *args: Any, **kwargs: Any) -> Any:
        for rule in rules[rules.index(first_that_takes(rules, args, kwargs)) :]:
            given = in_arrays(rule, key, _values(args, kwargs))
            positional, named = _as_taken(key, given[: len(args)]), dict(zip(kwargs, given[len(args) :], strict=True))
            try:
                bound = rule.signature.bind(*positional, **named)
            except TypeError as error:
                raise refused_call(key, error) from None
            options = options_of(rule, wanted, positional, named, resolve_value, apart, single_use)
            found = rule.function(*bound.args, **bound.kwargs, **options)
            if found is not NotImplemented:
                y, pullback = value_and_pullback(rule, found)
                lists = tuple(v if v is not g else None for v, g in zip(_values(args, kwargs), given, strict=True))
                return y, (None if is_constant(y) else pullback, rule, Form.of(positional, named), lists)
        if isinstance(key, types.FunctionType) and not foreign_module(key):
            source = _by_source(key, wanted, args, kwargs)
            y, saved = source.forward(*args, **kwargs)
            return y, (source.backward, None, saved, None)
        raise no_rule(key, [])

    def backward(saved: Any, y_bar: Any) -> Any:
        pullback, rule, form, lists = saved
        if y_bar is None or pullback is None:  # nothing comes back, or a value of whole numbers moves with nothing
            return (None,) * len(wanted)
        if rule is None:
            return pullback(form, (y_bar, y_bar := None)[0])
        del saved
        given = None if rule.builtin else y_bar
        cts = cotangents_of(rule, (pullback, pullback := None)[0], (y_bar, y_bar := None)[0])
        cts = aligned(rule.signature, cts, wanted, form)
        if not rule.builtin:
            cts = unheld(cts, given)
        return tuple(map(listed, cts, lists))

    found = _as_declared(rules, run, backward)
    found.foreign = not all(is_domain(a) or is_plain_container(a) or a is None for a in (*args, *kwargs.values()))
    return found


def _as_declared(rules: Any, run: Callable[..., Any], backward: Callable[..., Any]) -> Resolved:
    """A call by one of some rules; `run` is told first whether arrays are written into later, if they ask for that."""
    results = {rule.result for rule in rules}
    result = results.pop() if len(results) == 1 else None
    builtin = all(rule.builtin for rule in rules)
    found = Resolved(functools.partial(run, None), backward, ruled=True, builtin=builtin, result=result)
    if all("written_later" in rule.options for rule in rules):
        found.apart, found.strict = functools.partial(run, "written"), functools.partial(run, "outside")
    return found


def _as_taken(key: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of a ufunc, which makes Python's numbers NumPy's; its rule may be that of an operator, too."""
    if isinstance(key, np.ufunc) and all(type(a) in (float, int, complex) for a in args):
        return tuple(np.asarray(a)[()] for a in args)
    return args


def _values(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    return (*args, *kwargs.values())


def _by_source(function: Any, wanted: Any, args: Any, kwargs: Any) -> Resolved:
    single_use = _once.get()

    def forward(*args: Any, **kwargs: Any) -> Any:
        return _compile(function, wanted, args, kwargs, single_use=single_use)

    def apart(*args: Any, **kwargs: Any) -> Any:
        return _compile(function, wanted, args, kwargs, over=True, single_use=single_use)

    def strict(*args: Any, **kwargs: Any) -> Any:
        return _compile(function, wanted, args, kwargs, over=True, strict=True)

    def backward(saved: Any, y_bar: Any) -> Any:
        return (None,) * len(wanted) if y_bar is None or saved is None else saved((y_bar, y_bar := None)[0])

    return Resolved(forward, backward, (function, wanted, ()), apart=apart, strict=strict)
