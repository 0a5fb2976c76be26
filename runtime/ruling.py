"""A call and the rule that answers it: what the rule asks for, and whose cotangents it gives."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from sys import getrefcount
from typing import Any

import numpy as np

from adcompiler.runtime.apart import run_apart
from adcompiler.runtime.errors import DifferentiationError
from adcompiler.runtime.shapes import real
from adcompiler.runtime.tangents import NotImplementedTangent, Tangent, Thunk, unthunk
from adcompiler.runtime.walk import is_array, is_constant


@dataclass(frozen=True)
class Config:
    """What a rule may ask of the compiler that calls it, by a keyword-only parameter ``config``.

    `wanted` says which of the call's arguments and keywords want a cotangent, in this order; `single_use` that the
    pullback is called once at most; `order` is the order of the derivative.
    """

    resolve: Callable[..., Any] = field(repr=False)
    wanted: tuple[bool, ...] = ()
    single_use: bool = False
    order: int = 1

    def rrule_via_ad(self, f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> tuple[Any, Callable[[Any], Any]]:
        """`f(*args, **kwargs)` and its pullback, for a function `f` that a rule was given.

        The pullback can be called any number of times. It returns the cotangent of `f` itself (of a closure a dict of
        the captured variables, of a method or an object that can be called that of the object), then one for each
        argument and each keyword; None where there is none. Raises the compiler's errors for what has no derivative.
        """
        return self.vjp((True,) * (1 + len(args) + len(kwargs)), f, *args, **kwargs)

    def vjp(
        self, wanted: tuple[bool, ...], f: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> tuple[Any, Callable[[Any], Any]]:
        """As `rrule_via_ad`, where only some cotangents are `wanted`; the others are None."""
        return self.prepared(wanted, f, *args, **kwargs)(*args, **kwargs)

    def vjp_apart(self, outside: bool, f: Callable[..., Any], /, *args: Any) -> tuple[Any, Callable[[Any], Any]]:
        """As `rrule_via_ad`, where arguments and value may be written into before the pullback runs.

        `outside`: and arrays from outside, too, which `f` must not read.
        """
        on = tuple(not is_constant(v) for v in (f, *args))
        found = self.resolve(on, f, *args)
        if outside and found.strict is not None:
            y, saved = found.strict(*args)
        else:
            y, saved = run_apart(found, (True,) * len(args), True, *args)
        return y, lambda y_bar: tuple(map(unthunk, found.backward(saved, y_bar)))

    def prepared(
        self, wanted: tuple[bool, ...], f: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Callable[..., tuple[Any, Callable[[Any], Any]]]:
        """The function that does what `vjp` does, for many calls with arguments of the types of these."""
        on = tuple(w and not is_constant(v) for w, v in zip(wanted, (f, *args, *kwargs.values()), strict=True))
        found = self.resolve(on, f, *args, **kwargs)

        def call(*args: Any, **kwargs: Any) -> tuple[Any, Callable[[Any], Any]]:
            y, saved = found.forward(*args, **kwargs)
            return y, lambda y_bar: tuple(map(unthunk, found.backward(saved, y_bar)))

        return call


def first_that_takes(rules: tuple[Any, ...], args: Any, kwargs: Any) -> Any:
    """The first rule, or a general one behind it if that alone takes the call."""
    for rule, following in zip(rules, (*rules[1:], None), strict=True):
        # Behind the rule of a ufunc, the user's too, stands one that takes its other forms of call.
        others = following is not None and (rule.builtin or any(isinstance(key, np.ufunc) for key in rule.keys))
        if not others or _binds(rule.signature, args, kwargs):
            return rule
    return None


def _binds(signature: inspect.Signature, args: Any, kwargs: Any) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def options_of(
    rule: Any, wanted: Any, args: Any, kwargs: Any, resolve: Any, apart: str | None = None, once: bool = False
) -> dict[str, Any]:
    """What a rule asks for by keyword-only parameters; `resolve` finds the derivative of a call."""
    options: dict[str, Any] = {"written_later": apart} if "written_later" in rule.options else {}
    if "needs" in rule.options:
        options["needs"] = _needs(rule, wanted, args, kwargs)
    if "config" in rule.options:
        options["config"] = Config(resolve, tuple(wanted), once)
    return options


def _needs(rule: Any, wanted: Any, args: Any, kwargs: Any) -> tuple[bool, ...]:
    marks = rule.signature.bind(*wanted[: len(args)], **dict(zip(kwargs, wanted[len(args) :], strict=True)))
    flags = []
    for name in rule.signature.parameters:
        mark = marks.arguments.get(name, False)
        several = mark.values() if isinstance(mark, dict) else mark if isinstance(mark, tuple) else (mark,)
        flags.append(any(several))
    return tuple(flags)


def value_and_pullback(rule: Any, found: Any) -> tuple[Any, Any]:
    """What a rule has returned, if it is a pair as it has to be."""
    pair = isinstance(found, tuple | list) and len(found) == 2
    if not pair or not callable(found[1]):
        what = f"a value and {_shown(found[1])}" if pair else _shown(found)
        raise DifferentiationError(
            f"the rule {described(rule)} returned {what}, not a value and its pullback\n"
            "Let it return `y, pullback`, or NotImplemented where it does not hold."
        )
    value, pullback = found
    return value, pullback


def cotangents_of(rule: Any, pullback: Any, y_bar: Any) -> tuple[Any, ...]:
    """What the pullback of a rule gives: one cotangent for each of its parameters."""
    try:
        found = pullback((y_bar, y_bar := None)[0])
        if isinstance(found, Thunk):
            found = found.value()
    except DifferentiationError:
        raise
    except TypeError as error:
        raise DifferentiationError(
            f"the pullback of the rule {described(rule)} failed: {error}\n"
            "It is called with the cotangent of the value, which has the value's structure."
        ) from error
    except Exception as error:
        error.add_note(f"in the pullback of the rule {described(rule)}")
        raise
    names = list(rule.signature.parameters)
    if not isinstance(found, tuple | list) or len(found) != len(names):
        raise DifferentiationError(
            f"the pullback of the rule {described(rule)} returned {_shown(found)}, not a tuple of {len(names)}\n"
            f"Let it return one cotangent for each of the parameters ({', '.join(names)}), None where there is none."
        )
    return tuple(found)


def unheld(cts: Any, y_bar: Any) -> Any:
    """Cotangents in a new container, with copies of the arrays that somebody else has, too: a rule that keeps them.

    The cotangent that the rule was given, `y_bar`, stays what it is.
    """
    fields: Any = cts._fields if isinstance(cts, Tangent) else cts
    copies: dict[Any, Any] = {}
    for key in list(fields) if isinstance(fields, dict) else range(len(fields)):
        # Nothing but the container must have the entry here, no variable either.
        if is_array(fields[key]):
            if getrefcount(fields[key]) > _ALONE and fields[key] is not y_bar:
                copies[key] = fields[key].copy()
        elif type(fields[key]) in (tuple, list, dict, Tangent):
            copies[key] = unheld(fields[key], y_bar)
    if isinstance(cts, tuple):
        return tuple(copies.get(i, ct) for i, ct in enumerate(cts)) if copies else cts
    for key, copy in copies.items():
        fields[key] = copy
    return cts


_entries = [object()]
_ALONE = getrefcount(_entries[0])


def described(rule: Any) -> str:
    """The name of a rule, and where it is written."""
    code = getattr(rule.function, "__code__", None)
    place = f' ("{code.co_filename}", line {code.co_firstlineno})' if code is not None else ""
    return f"{rule.name}{rule.signature}{place}"


def _shown(found: Any) -> str:
    if isinstance(found, tuple | list):
        return f"a {type(found).__name__} of {len(found)}"
    return "None" if found is None else f"a {type(found).__name__}"


@dataclass(frozen=True)
class Form:
    """What is kept of the arguments of a call for its reverse: how many, and which are complex; not what they are."""

    complex: tuple[bool, ...]
    names: tuple[str, ...]  # of the last ones, which were given by name

    @classmethod
    def of(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Form:
        return cls(tuple(map(_may_be_complex, (*args, *kwargs.values()))), tuple(kwargs))


def aligned(signature: inspect.Signature, cotangents: Any, wanted: tuple[bool, ...], form: Form) -> tuple[Any, ...]:
    """The cotangents of a rule's parameters as those of the call's arguments and keywords; only of those wanted."""
    by_name = dict(zip(signature.parameters, cotangents, strict=True))
    count = len(form.complex)
    first = count - len(form.names)
    marks = signature.bind(*range(first), **dict(zip(form.names, range(first, count), strict=True)))
    out: list[Any] = [None] * count
    for name, position in marks.arguments.items():
        ct = by_name[name]
        if isinstance(position, tuple | dict) and isinstance(ct, Thunk) and any(wanted[p] for p in places_of(position)):
            ct = ct.value()
        for key, p in position.items() if isinstance(position, dict) else enumerate(places_of(position)):
            if wanted[p] and ct is not None:
                entry = ct[key] if isinstance(position, tuple | dict) else ct
                out[p] = unthunk(entry) if form.complex[p] else _as_real(unthunk(entry))
    return tuple(out)


def places_of(position: Any) -> Any:
    """The numbers of the arguments that a parameter is bound to."""
    if isinstance(position, dict):
        return position.values()
    return position if isinstance(position, tuple) else (position,)


def _may_be_complex(value: Any) -> bool:
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return kind == "c" or isinstance(value, complex | list | tuple)


def _as_real(ct: Any) -> Any:
    """The real part of a complex cotangent that belongs to a real number or array."""
    if isinstance(ct, NotImplementedTangent):
        return ct
    kind = getattr(getattr(ct, "dtype", None), "kind", "c" if isinstance(ct, complex) else "f")
    if kind != "c":
        return ct
    return real(ct)
