"""Every form of call of every ufunc that has a rule: with where= and dtype=, its method outer, and for ufuncs of two
arguments reduce, accumulate and reduceat.

One general rule stands behind the rule of the plain call, which it asks for the derivative. A ufunc of somebody else
gets these rules as soon as a rule for its plain call is registered; one without derivative has none in any form.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np

from adcompiler.rules.forward import forward_rule, forward_rules, frule
from adcompiler.rules.registry import (
    all_non_differentiable,
    all_rules,
    is_non_differentiable,
    lookup,
    non_differentiable,
    on_register,
    refusal,
    refused,
    rrule,
)
from adcompiler.runtime.dynamic import resolve_value
from adcompiler.runtime.errors import MutationError
from adcompiler.runtime.folding import accumulate_bar, reduce_bars, reduceat_bar, segments
from adcompiler.runtime.missing import no_rule
from adcompiler.runtime.pushed_calls import push
from adcompiler.runtime.ruling import options_of
from adcompiler.runtime.shapes import shape
from adcompiler.runtime.ufuncs import Plain, call_bars, outer_bars

# The keywords of a ufunc that do not change its derivative come after those that do. An option at its default is not
# passed on: CuPy's ufuncs take fewer.
DEFAULTS = {"where": True, "dtype": None, "casting": "same_kind", "order": "K", "subok": True}
NOWHERE: Any = ()  # for `out`: with None given NumPy does not warn of what stays uninitialised
ABSENT: Any = ...  # for `initial`: None says that there is none even where the ufunc has an identity


def plain_rule(ufunc: Any) -> Plain:
    """The rule of the call of `ufunc` with its operands alone: the first that does not decline."""

    def plain(*operands: Any, needs: Any = None) -> Any:
        wanted = needs or (True,) * len(operands)
        for rule in lookup(ufunc):
            if rule.function is _calls.get(ufunc):
                continue
            found = rule.function(*operands, **options_of(rule, wanted, operands, {}, resolve_value))
            if found is not NotImplemented:
                return found
        raise no_rule(ufunc, [], refusal(ufunc))

    return plain


def call_rule(ufunc: Any) -> Any:
    """The rule of ``ufunc(*operands, out=None, where=..., dtype=..., ...)``."""

    def call(*operands: Any, out: Any = NOWHERE, needs: Any = None, **keywords: Any) -> Any:
        operands, out = operands[: ufunc.nin], (*operands[ufunc.nin :], out)[0]
        wanted = functools.partial(plain, needs=None if needs is None else needs[: ufunc.nin])
        refuse_writing(ufunc.__name__, out)
        y = ufunc(*operands, **given(keywords, out))
        where, dtype, casting = options(keywords)
        y_shape = shape(y[0] if ufunc.nout > 1 else y)

        def pullback(y_bar: Any) -> Any:
            bars = call_bars(wanted, ufunc, operands, y_bar, y_shape, where, dtype, casting)
            return bars + rest

        return y, pullback

    plain, rest = plain_rule(ufunc), (None,) * (1 + len(DEFAULTS))
    out = inspect.Parameter("out", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=NOWHERE)
    return signed(call, [*positional(f"x{i + 1}" for i in range(ufunc.nin)), out])


def outer_rule(ufunc: Any) -> Any:
    """The rule of ``ufunc.outer(a, b, where=..., dtype=..., ...)``."""

    def outer(a: Any, b: Any, *, out: Any = NOWHERE, needs: Any = None, **keywords: Any) -> Any:
        refuse_writing(f"{ufunc.__name__}.outer", out)
        wanted = functools.partial(plain, needs=None if needs is None else needs[:2])
        y = ufunc.outer(a, b, **given(keywords, out))
        where, dtype, casting = options(keywords)
        y_shape = shape(y[0] if ufunc.nout > 1 else y)

        def pullback(y_bar: Any) -> Any:
            bars = outer_bars(wanted, ufunc, (a, b), y_bar, y_shape, where, dtype, casting)
            return bars + rest

        return y, pullback

    plain, rest = plain_rule(ufunc), (None,) * (1 + len(DEFAULTS))
    out = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=NOWHERE)
    return signed(outer, [*positional(("a", "b")), out])


def reduce_rule(ufunc: Any) -> Any:
    """The rule of ``ufunc.reduce(array, axis, dtype, out, keepdims, initial, where)``."""

    def reduce(array, axis=0, dtype=None, out=None, keepdims=False, initial=ABSENT, where=True, *, needs=None):
        refuse_writing(f"{ufunc.__name__}.reduce", out)
        keywords = {} if initial is ABSENT else {"initial": initial}
        if where is not True:
            keywords["where"] = where
        y = ufunc.reduce(array, axis=axis, dtype=dtype, keepdims=keepdims, **keywords)

        def pullback(y_bar: Any) -> Any:
            array_bar, initial_bar = reduce_bars(plain, ufunc, array, y, y_bar, axis, initial, where)
            return array_bar, None, None, None, None, initial_bar, None

        return y, pullback

    plain = plain_rule(ufunc)
    return reduce


def accumulate_rule(ufunc: Any) -> Any:
    """The rule of ``ufunc.accumulate(array, axis, dtype, out)``."""

    def accumulate(array, axis=0, dtype=None, out=None, *, needs=None):
        refuse_writing(f"{ufunc.__name__}.accumulate", out)
        y = ufunc.accumulate(array, axis=axis, dtype=dtype)

        def pullback(y_bar: Any) -> Any:
            return accumulate_bar(plain, ufunc, array, y, y_bar, axis), None, None, None

        return y, pullback

    plain = plain_rule(ufunc)
    return accumulate


def reduceat_rule(ufunc: Any) -> Any:
    """The rule of ``ufunc.reduceat(array, indices, axis, dtype, out)``."""

    def reduceat(array, indices, axis=0, dtype=None, out=None, *, needs=None):
        refuse_writing(f"{ufunc.__name__}.reduceat", out)
        y = ufunc.reduceat(array, indices, axis=axis, dtype=dtype)

        def pullback(y_bar: Any) -> Any:
            return reduceat_bar(plain, ufunc, array, indices, y, y_bar, axis), None, None, None, None

        return y, pullback

    plain = plain_rule(ufunc)
    return reduceat


def outer_forward(ufunc: Any, plain: Any) -> Any:
    """The forward rule of ``ufunc.outer(a, b)``, from that of the plain call."""

    def outer(tangents: Any, a: Any, b: Any, *, out: Any = NOWHERE, **keywords: Any) -> Any:
        if given(keywords, out):
            return NotImplemented
        columns = np.reshape(a, shape(a) + (1,) * len(shape(b)))
        columns_dot = None if tangents[0] is None else np.reshape(tangents[0], shape(columns))
        found = plain((columns_dot, tangents[1]), columns, b)
        return found if found is NotImplemented else (ufunc.outer(a, b), found[1])

    out = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=NOWHERE)
    signed(outer, [inspect.Parameter("tangents", inspect.Parameter.POSITIONAL_ONLY), *positional(("a", "b")), out])
    return without_needs(outer)


def accumulate_forward(ufunc: Any, plain: Any) -> Any:
    """The forward rule of ``ufunc.accumulate(array, axis)``: that of the plain call, element by element."""

    def accumulate(tangents, array, axis=0, dtype=None, out=None):
        if dtype is not None or out is not None or not shape(array)[axis]:
            return NotImplemented
        y = ufunc.accumulate(array, axis=axis)
        values, dots = np.moveaxis(array, axis, 0), np.moveaxis(tangents[0], axis, 0)
        value, dot, rows = values[0], dots[0], [dots[0]]
        for i in range(1, len(values)):
            value, dot = plain((dot, dots[i]), value, values[i])
            rows.append(dot)
        return y, np.moveaxis(np.stack(rows), 0, axis)

    return accumulate


def reduce_forward(ufunc: Any, plain: Any) -> Any:
    """The forward rule of ``ufunc.reduce(array, axis, keepdims=...)``: that of the plain call, element by element."""

    def reduce(tangents, array, axis=0, dtype=None, out=None, keepdims=False, initial=ABSENT, where=True):
        general = dtype is not None or out is not None or initial is not ABSENT or where is not True
        if general or not isinstance(axis, int) or not shape(array)[axis]:
            return NotImplemented
        y = ufunc.reduce(array, axis=axis, keepdims=keepdims)
        values, dots = np.moveaxis(array, axis, 0), np.moveaxis(tangents[0], axis, 0)
        value, dot = values[0], dots[0]
        for i in range(1, len(values)):
            value, dot = plain((dot, dots[i]), value, values[i])
        return y, np.expand_dims(dot, axis) if keepdims else dot

    return reduce


def reduceat_forward(ufunc: Any, plain: Any) -> Any:
    """The forward rule of ``ufunc.reduceat(array, indices, axis)``: the same, segment by segment."""

    def reduceat(tangents, array, indices, axis=0, dtype=None, out=None):
        if dtype is not None or out is not None or not np.size(indices):
            return NotImplemented
        y = ufunc.reduceat(array, indices, axis=axis)
        values, dots = np.moveaxis(array, axis, 0), np.moveaxis(tangents[0], axis, 0)
        rows = []
        for start, end in segments(indices, len(values)):
            value, dot = values[start], dots[start]
            for i in range(start + 1, end):
                value, dot = plain((dot, dots[i]), value, values[i])
            rows.append(dot)
        return y, np.moveaxis(np.stack(rows), 0, axis)

    return reduceat


def product(tangents: Any, a: Any, b: Any) -> Any:
    """The forward rule of a product, which is declared to be linear in each factor."""
    a_dot, b_dot = tangents
    return a * b, a_dot * b + a * b_dot


def difference(tangents: Any, a: Any, b: Any) -> Any:
    """The same of a difference."""
    a_dot, b_dot = tangents
    return a - b, a_dot - b_dot


def by_run_time(ufunc: Any) -> Any:
    """The forward rule of a ufunc whose tangent is found otherwise."""

    def plain(tangents: Any, a: Any, b: Any) -> Any:
        return push(ufunc, (a, b), tangents)

    return plain


def without_needs(function: Any) -> Any:
    """`function` with a signature that has no ``needs``: a forward rule is told by its tangents."""
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "needs"]
    function.__signature__ = inspect.Signature(parameters)
    return function


def refuse_writing(name: str, out: Any) -> None:
    """Raise MutationError if a call has a place to write to."""
    if any(place is not None and place is not ... for place in (out if isinstance(out, tuple) else (out,))):
        raise MutationError(f"{name} with out= writes into an array\nLet it return a new array.")


def given(keywords: dict[str, Any], out: Any) -> dict[str, Any]:
    """The keywords that are not at their defaults."""
    found = {name: value for name, value in keywords.items() if value is not DEFAULTS[name]}
    return found if out is NOWHERE else {**found, "out": out}


def options(keywords: dict[str, Any]) -> tuple[Any, Any, str]:
    """What the derivative depends on: where, dtype and casting."""
    found: dict[str, Any] = {**DEFAULTS, **keywords}
    return found["where"], found["dtype"], found["casting"]


def positional(names: Any) -> list[inspect.Parameter]:
    return [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]


def signed(function: Any, operands: list[inspect.Parameter]) -> Any:
    """`function` with the signature of a ufunc's call: `operands`, the keywords, and what the rule asks for."""
    keywords: dict[str, Any] = {**DEFAULTS, "needs": None}
    named = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=d) for name, d in keywords.items()]
    function.__signature__ = inspect.Signature([*operands, *named])
    return function


# Registration

# The ufuncs whose folds have a rule. NumPy computes np.power.reduce and np.arctan2.reduce of contiguous arrays wrongly.
FOLDED = (
    *(np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.fmax, np.fmin),
    *(np.logaddexp, np.logaddexp2, np.hypot),
)
NOT_ASSOCIATIVE = (
    "Its two arguments play different parts, so a fold depends on the order; for some such ufuncs NumPy's own result "
    "even depends on the layout in memory.\nWrite the fold as a loop."
)

METHODS = {"reduce": reduce_rule, "accumulate": accumulate_rule, "reduceat": reduceat_rule}
RESULTS: dict[str, tuple[str | None, str]] = {
    "reduce": (None, "number"),
    "accumulate": ("fresh", "array"),
    "reduceat": ("fresh", "array"),
}
_calls: dict[Any, Any] = {}


def add_forms(keys: tuple[Any, ...]) -> None:
    """Give the ufuncs among `keys` the rules, or the declarations, of all their forms of call."""
    for ufunc in keys:
        if not isinstance(ufunc, np.ufunc) or ufunc.signature is not None:
            continue
        if is_non_differentiable(ufunc) is not None:
            add_declarations(ufunc)
        elif lookup(ufunc):
            add_rules(ufunc)


def add_rules(ufunc: Any) -> None:
    """The general rule of a ufunc, and those of its methods."""
    if not any(rule.function is _calls.get(ufunc) for rule in lookup(ufunc)):
        _calls[ufunc] = call_rule(ufunc)
        rrule(ufunc, result="fresh", kind="tuple" if ufunc.nout > 1 else "ufunc", general=True)(_calls[ufunc])
    add_forward(ufunc)
    if ufunc.nin != 2 or lookup(ufunc.outer):
        return
    methods = [getattr(ufunc, name) for name in ("outer", *METHODS)]
    if any(is_non_differentiable(method) for method in methods):
        # The user gave a derivative to a ufunc without one: its methods need rules of the user's too.
        declined = lambda *args, **kwargs: NotImplemented  # noqa: E731  any signature
        declined.__module__ = "declined"  # not built in, so that it replaces the declaration
        rrule(*methods)(declined)
        return
    plain = next((rule for rule in lookup(ufunc) if rule.function is not _calls.get(ufunc)), None)
    rrule(
        ufunc.outer,
        result="fresh",
        kind="tuple" if ufunc.nout > 1 else "ufunc",
        linear=("a", "b") if plain is not None and len(plain.linear) == 2 else (),
        multilinear=("a", "b") if plain is not None and len(plain.multilinear) == 2 else (),
    )(outer_rule(ufunc))
    if ufunc not in FOLDED:
        for method in methods[1:]:
            if refusal(method) is None:
                refused(method, why=NOT_ASSOCIATIVE)
        return
    for key, make in zip(methods[1:], METHODS.values(), strict=True):
        result, kind = RESULTS[key.__name__]
        names = ("array", "initial") if key.__name__ == "reduce" else ("array",)
        linear = names if ufunc in (np.add, np.subtract) else ()
        rrule(key, result=result, kind=kind, general=bool(lookup(key)), linear=linear)(make(ufunc))


# Of what is declared to be linear in each operand.
DECLARED = {np.multiply: product, np.subtract: difference}


def add_forward(ufunc: Any) -> None:
    """The forward rules of the methods of a ufunc of two arguments."""
    if ufunc.nin != 2 or ufunc.nout != 1:
        return
    plain = forward_rule(ufunc) or DECLARED.get(ufunc)
    rules = lookup(ufunc)
    if ufunc not in DECLARED and not any(len(r.linear) == 2 or len(r.multilinear) == 2 for r in rules):
        add_frule(ufunc.outer, outer_forward(ufunc, plain or by_run_time(ufunc)))
    if ufunc in FOLDED and plain is not None:
        add_frule(ufunc.reduce, reduce_forward(ufunc, plain))
        add_frule(ufunc.reduceat, reduceat_forward(ufunc, plain))
        if ufunc is not np.subtract and ufunc is not np.multiply:
            add_frule(ufunc.accumulate, accumulate_forward(ufunc, plain))


def add_frule(key: Any, function: Any) -> None:
    """A forward rule, if there is none."""
    if not forward_rules(key):
        frule(key)(function)


def add_declarations(ufunc: Any) -> None:
    """The methods of a ufunc without derivative have none either."""
    for name in ("outer", *METHODS) if ufunc.nin == 2 and ufunc.nout == 1 else ():
        method = getattr(ufunc, name)
        if is_non_differentiable(method) is None and not lookup(method):
            non_differentiable(method, kind="number")


add_forms(tuple(key for rule in all_rules() for key in rule.keys))
add_forms(tuple(found.key for found in all_non_differentiable()))
on_register(add_forms)
