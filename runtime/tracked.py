"""Operations resolved at run time, in a program that keeps the cotangents of containers and objects by identity.

As `dynamic.resolve`, but `backward` gets the table of cotangents too: methods of containers are operations on their
places, functions with source work on the same table, and what a rule says of a container goes into the table.
"""

from __future__ import annotations

import functools
import operator
import types
from collections import deque
from collections.abc import Callable
from typing import Any

from adcompiler.runtime import dynamic
from adcompiler.runtime.apart import no_strict, run_apart
from adcompiler.runtime.arrays import is_library_array
from adcompiler.runtime.bars import Bars
from adcompiler.runtime.changes import CONCATENATE, METHODS
from adcompiler.runtime.errors import MutationError, UnsupportedSyntaxError
from adcompiler.runtime.held import as_it_was, entries, has_arrays, hold, hold_arrays, is_place
from adcompiler.runtime.hooks import check_by_value, is_mark
from adcompiler.runtime.members import (
    ABSENT,
    has_plain_fields,
    is_constant_of_class,
    is_field,
    is_item_as_attribute,
    member,
)
from adcompiler.runtime.moved import CONTAINERS, Operation
from adcompiler.runtime.places import LOAD_ATTRIBUTE, LOAD_ITEM
from adcompiler.runtime.pushed_calls import as_code, push, push_method
from adcompiler.runtime.resolved import Resolved
from adcompiler.runtime.stores import Writing, found_at_run_time, write_array, written_bar
from adcompiler.runtime.tangents import accumulate
from adcompiler.runtime.tracked_pushes import is_shared, of_place, of_pushed
from adcompiler.runtime.writes import WRITES

_compile: Callable[..., Any]


def connect(compile_: Any) -> None:
    """Tell the runtime how functions are compiled that share a table."""
    global _compile
    _compile = compile_


def resolve_tracked(wanted: tuple[bool, ...], f: Any, *args: Any, **kwargs: Any) -> Resolved:
    """The derivative of `f(*args, **kwargs)`; its `backward` takes the record, the value's cotangent and the table."""
    count = 1 + len(args) + len(kwargs)
    return _resolved((False,) * (1 + count), wanted, f, args, kwargs)


def resolve_hot(hot: tuple[bool, ...], wanted: tuple[bool, ...], f: Any, *args: Any, **kwargs: Any) -> Resolved:
    """The same where arrays are written into: `hot` marks the value, the callable and the operands that hold such.

    The cotangents of these arrays are in their shadows at once: none is left at the place of an array in a container.
    """
    return _resolved(hot, wanted, f, args, kwargs)


def resolve_caught(wanted: tuple[bool, ...], f: Any, *args: Any, **kwargs: Any) -> Resolved:
    """As `resolve_tracked`, where exceptions are caught: a function of the user's might write, and then raise."""
    return _caught(resolve_tracked(wanted, f, *args, **kwargs))


def resolve_hot_caught(hot: tuple[bool, ...], wanted: tuple[bool, ...], f: Any, *args: Any, **kwargs: Any) -> Resolved:
    """As `resolve_hot`, where exceptions are caught."""
    return _caught(resolve_hot(hot, wanted, f, *args, **kwargs))


def _caught(found: Resolved) -> Resolved:
    if found.source is not None:
        raise UnsupportedSyntaxError(
            f"a call of {found.source.__qualname__}(), where its exceptions are caught\n"
            "It is known at run time only, and what it wrote before an exception could not be followed.\n"
            "Do this outside of the `try` or `with`."
        )
    return found


def _resolved(hot: Any, wanted: tuple[bool, ...], f: Any, args: Any, kwargs: Any) -> Resolved:
    count = 1 + len(args) + len(kwargs)
    if f is getattr:
        return _attribute(hot[0], *args)
    operation, owner = _operation(f, args)
    if operation is not None:
        return _of_operation(operation, owner, count, hot[0])
    if is_mark(f):
        check_by_value(f, [v for on, v in zip(wanted[1:], (*args, *kwargs.values()), strict=True) if on], any(hot))
    if (f is push or f is push_method) and any(wanted) and is_shared(args, kwargs):
        found = of_place(hot[0], f, args, kwargs)
        if found is not None:
            return found
        pair, inputs, to_call = as_code(f, args, kwargs)
        return _apart_from_arrays(
            hot[1:], (f, *args, *kwargs.values()), of_pushed(_compile, f, pair, inputs, to_call, count)
        )
    inner = dynamic.resolve(wanted, f, *args, **kwargs)
    if inner.source is not None:
        function, flags, first = inner.source
        return _apart_from_arrays(hot[1:], (f, *args, *kwargs.values()), _of_source(function, flags, first, count))
    if owner is None:
        owner = f.__self__ if isinstance(f, types.MethodType) else f
    return _of_rule(inner, owner, hot[1:])


def _apart_from_arrays(hot: tuple[bool, ...], values: tuple[Any, ...], found: Resolved) -> Resolved:
    """A call of what knows of no arrays that are written into: what it is given holds none, before and after it.

    A bound method is called on its object, whose places it shares.
    """
    marked = [value for mark, value in zip(hot, values, strict=True) if mark and hold(value) is not None]
    watched = [value for value in marked if value is not values[0] or not isinstance(value, types.MethodType)]
    if not watched:
        return found
    _check_arrays(watched)

    def checked(forward: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            made = forward(*args, **kwargs)
            _check_arrays(watched)
            return made

        return None if forward is None else run

    found.forward, found.apart, found.strict = map(checked, (found.forward, found.apart, found.strict))
    return found


def _check_arrays(values: list[Any]) -> None:
    """Refuse to hand over containers of arrays that are written into."""
    if any(has_arrays(hold_arrays(value)) for value in values):
        raise MutationError(
            "a container or object that holds an array which is written into goes to a function that is only known at "
            "run time\nWhat that reads of the array could not be told from what is written later.\n"
            "Call the function by its own name, or pass the array itself."
        )


def _attribute(hot: bool, obj: Any, name: str) -> Resolved:
    """`getattr(obj, name)`: a read of a place, a property, or what has no derivative of its own."""
    cls = type(obj)
    found = member(cls, name)
    if is_item_as_attribute(obj, name, found):
        inner = dynamic.resolve((False, True, False), getattr, obj, name)
        held = hold(obj)
        return Resolved(
            inner.forward, lambda saved, y_bar, bars: (None, bars.give(held, inner.backward(saved, y_bar)[1]), None)
        )
    if is_place(obj) and is_field(obj, name):
        return _of_operation(LOAD_ATTRIBUTE, None, 3, hot)
    if is_library_array(obj):  # whose attributes are NumPy's, by whatever means
        inner = dynamic.resolve((False, True, False), getattr, obj, name)
        return Resolved(inner.forward, lambda saved, y_bar, bars: inner.backward(saved, y_bar))
    if isinstance(found, property) and found.fget is not None:
        return _of_getter(found.fget, ())
    if found is ABSENT and has_plain_fields(cls) and member(cls, "__getattr__") is not ABSENT:
        return _of_getter(member(cls, "__getattr__"), (name,))
    given = member(obj, name) if isinstance(obj, type) and found is ABSENT else found
    if given is not ABSENT and is_constant_of_class(given):
        return _of_the_class(hot)
    if is_place(obj) and isinstance(found, types.FunctionType):
        return _of_method(hot)
    if is_place(obj) and has_plain_fields(cls):
        return Resolved(lambda obj, name: (getattr(obj, name), None), lambda saved, y_bar, bars: (None,) * 3)
    inner = dynamic.resolve((False, True, False), getattr, obj, name)
    return Resolved(inner.forward, lambda saved, y_bar, bars: inner.backward(saved, y_bar))


def _of_method(hot: bool) -> Resolved:
    """A method that is bound to an object: its cotangent is the object's."""

    def forward(obj: Any, name: str) -> tuple[Any, Any]:
        return getattr(obj, name), hold_arrays(obj) if hot else hold(obj)

    def backward(held: Any, y_bar: Any, bars: Bars) -> tuple[Any, ...]:
        return None, bars.give(held, None if y_bar is None else y_bar.get("__self__")), None

    return Resolved(forward, backward)


def _of_the_class(hot: bool) -> Resolved:
    """What a class gives to all its objects, and has no place in any of them."""

    def forward(obj: Any, name: str) -> tuple[Any, Any]:
        value = getattr(obj, name)
        return value, hold_arrays(value) if hot else hold(value)

    def backward(held: Any, y_bar: Any, bars: Bars) -> tuple[Any, ...]:
        bars.give(held, y_bar)
        return (None,) * 3

    return Resolved(forward, backward)


def _of_getter(getter: Any, more: tuple[Any, ...]) -> Resolved:
    """An attribute that a function of the user's computes."""
    wanted = (True, *(False for _ in more))

    def forward(obj: Any, name: str, **how: bool) -> Any:
        return _compile(getter, wanted, (obj, *more), {}, **how)

    def backward(back: Any, y_bar: Any, bars: Bars) -> tuple[Any, ...]:
        return None, back(y_bar, bars)[0], None

    apart = functools.partial(forward, over=True)
    return Resolved(forward, backward, getter, apart=apart, strict=functools.partial(apart, strict=True))


def _operation(f: Any, args: tuple[Any, ...]) -> tuple[Operation | None, Any]:
    """The operation on places that a call is, and the object if it is a method's."""
    owner = getattr(f, "__self__", None)
    if isinstance(f, types.BuiltinMethodType) and type(owner) in CONTAINERS:
        cls = next(c for c in (list, dict, deque) if isinstance(owner, c))
        return METHODS[cls].get(f.__name__), owner
    if type(f) is Writing:
        name = f.method.__name__
        write = WRITES["ndarray", name]
        return Operation(write.name, functools.partial(write_array, write, name), written_bar), f.method.__self__
    if f is operator.getitem and type(args[0]) in CONTAINERS:
        return LOAD_ITEM, None
    if f is operator.add and isinstance(args[0], list) and isinstance(args[1], list):
        return CONCATENATE, None
    return None, None


def _of_operation(operation: Operation, owner: Any, count: int, hot: bool = False) -> Resolved:
    def forward(*args: Any, **kwargs: Any) -> Any:
        value, saved = operation.forward(*(() if owner is None else (owner,)), *args, **kwargs)
        return value, (saved, hold_arrays(value) if hot else None)

    def backward(record: Any, y_bar: Any, bars: Bars) -> tuple[Any, ...]:
        saved, held = record
        cts = operation.reverse(saved, bars.give(held, y_bar) if hot else y_bar, bars)
        padding = (None,) * (1 if owner is not None else 2)
        return (*padding, *cts, *(None,) * count)[:count]

    return Resolved(forward, backward)


def _of_source(function: Any, wanted: Any, first: tuple[Any, ...], count: int) -> Resolved:
    """A function with source, called with `first` before its other arguments."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        return found_at_run_time(lambda: _compile(function, wanted, (*first, *args), kwargs))

    def apart(*args: Any, **kwargs: Any) -> Any:
        return found_at_run_time(lambda: _compile(function, wanted, (*first, *args), kwargs, over=True))

    def strict(*args: Any, **kwargs: Any) -> Any:
        return found_at_run_time(lambda: _compile(function, wanted, (*first, *args), kwargs, over=True, strict=True))

    def backward(back: Any, y_bar: Any, bars: Bars) -> tuple[Any, ...]:
        cts = back(y_bar, bars)
        return cts if first else (None, *cts)

    return Resolved(forward, backward, function, apart=apart, strict=strict)


def _of_rule(inner: Resolved, owner: Any, hot: tuple[bool, ...]) -> Resolved:
    """A rule, or an operation on a container as a whole: these know cotangents by value only, also that of `owner`.

    A rule may keep its arguments, and is given flat containers as they are now; whatever takes apart a container gets
    itself, since what comes out of it must be the objects that are in it.
    """

    def forward(*args: Any, **kwargs: Any) -> Any:
        return run(inner.forward, args, kwargs)

    def apart(*args: Any, **kwargs: Any) -> Any:
        return run(functools.partial(run_apart, inner, (True,) * (len(args) + len(kwargs)), True), args, kwargs)

    def strict(*args: Any, **kwargs: Any) -> Any:
        return run(inner.strict or no_strict, args, kwargs)

    def run(call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        owned, *marks = (hold_arrays if mark else hold for mark in hot)
        held = [find(value) for find, value in zip(marks, (*args, *kwargs.values()), strict=True)]
        held_owner = owned(owner)
        originals: dict[int, Any] = {}

        def kept(value: Any) -> Any:
            if not inner.ruled or not (is_flat(value) or (isinstance(value, tuple) and any(map(is_flat, value)))):
                return value
            copy = as_it_was(value)
            originals[id(copy)] = value
            return copy

        given = [kept(value) for value in args]
        value, saved = call(*given, **{k: kept(v) for k, v in kwargs.items()})
        value = originals.get(id(value), value)
        return value, (saved, held, held_owner, hold(value), given)

    def backward(record: Any, y_bar: Any, bars: Bars) -> tuple[Any, ...]:
        saved, held, held_owner, value_held, _ = record
        made = bars.release(value_held) if inner.ruled else bars.release_own(value_held)
        y_bar = accumulate(y_bar, made)
        if y_bar is None:
            return (None,) * (1 + len(held))
        first, *cts = inner.backward(saved, y_bar)
        return bars.give(held_owner, first), *(bars.give(h, ct) for h, ct in zip(held, cts, strict=True))

    return Resolved(forward, backward, apart=apart, strict=apart if inner.apart is None else strict)


def is_flat(value: Any) -> bool:
    """Whether a value is a container without containers in it."""
    return isinstance(value, list | dict | deque) and not any(
        is_place(v) or isinstance(v, tuple) for _, v in entries(value)
    )
