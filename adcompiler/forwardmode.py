"""Forward mode at run time: what is compiled for a function and the kinds of its arguments, and what calls it.

find_jvp(f, args, wanted)        f_jvp and the arguments by parameter
push (runtime.pushed_calls)      a call inside text in forward mode whose function is known at run time only
"""

from __future__ import annotations

import functools
import inspect
import operator
import types
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adcompiler.alias import alias
from adcompiler.aliases import PLAIN
from adcompiler.differentiable import Differentiable, store_of
from adcompiler.entry import Finish
from adcompiler.errors import NoRuleError
from adcompiler.forward_call import forward_call
from adcompiler.lattice import can_be_active, is_scalar
from adcompiler.module import Unit, load, units
from adcompiler.overlap import overlap_check
from adcompiler.pipeline import LOCK, Request, compiling, until_settled
from adcompiler.program import Program
from adcompiler.pushforward import pushforward_of
from adcompiler.rules.forward import forward_rule, forward_rules, forward_signature
from adcompiler.rules.registry import is_non_differentiable, key_name, lookup, rrule
from adcompiler.runtime import pushed_calls
from adcompiler.runtime.calling import applied
from adcompiler.runtime.checkpoints import recomputed
from adcompiler.runtime.domain import array_member, unwrapped
from adcompiler.runtime.members import has_plain_fields, member
from adcompiler.runtime.pushed_calls import push, push_method, unsupported
from adcompiler.runtime.pushed_rules import (
    by_attribute,
    by_forward_rule,
    by_partials,
    by_pullback,
    linearly,
    looped,
    multilinearly,
    plainly,
)
from adcompiler.runtime.pushing import into, zeros_of
from adcompiler.runtime.release import OFF
from adcompiler.runtime.resolved import caller
from adcompiler.runtime.revolve import checkpoint_loop
from adcompiler.runtime.ruling import first_that_takes
from adcompiler.runtime.tangents import Tangent
from adcompiler.runtime.transformed import Holder
from adcompiler.runtime.walk import is_array, is_constant
from adcompiler.spec import Spec
from adcompiler.transpose import forward_by_transposition, transposed
from adcompiler.variants import Variants


@dataclass(frozen=True, eq=False)
class CompiledForward:
    """A compilation in forward mode: the function, and the program whose guards it rests on."""

    request: Request
    program: Program
    spec: Spec
    pushed: Any
    units: dict[Any, Unit]

    def forget(self) -> None:
        """Let go of the arguments of the first call."""
        self.request.arguments.clear()
        self.program.forget()

    @property
    def forward(self) -> Any:
        return self.units[self.pushed].forward

    @property
    def alone(self) -> tuple[Any, Any]:
        return self.forward, None

    @property
    def pair(self) -> Any:
        """What of a pair is asked for: the active parameters."""
        return self.pushed


def compile_forward(request: Request) -> CompiledForward:
    """All passes, for forward mode."""
    with LOCK, compiling(request.function):
        program, spec, pushed = until_settled(request, _pushed)
        all_units = units(pushed, OFF)
        load(all_units)
        return CompiledForward(request, program, spec, pushed, all_units)


def _pushed(spec: Spec, mask: tuple[bool, ...]) -> Any:
    return pushforward_of(spec, mask, PLAIN)


def _found(compiled: Any) -> Finish:
    """The entry gives the function and its arguments, for the caller to add the tangents."""
    active = compiled.pushed.active
    compiled.forward.__adcompiler_reads__ = any(
        guard.path[0].form == "global" and can_be_active(guard.kind) and not is_scalar(guard.kind)
        for guard in compiled.program.guards.values()
    )
    compiled.forward.__adcompiler_writes__ = bool(alias(compiled.spec).sure_writes)
    compiled.forward.__adcompiler_overlap__ = overlap_check(compiled)
    bound = {"jvp": compiled.forward, "active": active}
    return Finish(None, ("$found = $jvp, ({names},), $active", "return $found"), bound)


def find_jvp(
    function: Any, wanted: frozenset[str], args: Any, kwargs: Any
) -> tuple[Any, tuple[Any, ...], tuple[str, ...]]:
    """`f_jvp`, the arguments by parameter, and the parameters whose tangents it takes after these."""
    store = store_of(function)
    key = "jvp", wanted
    if key not in store:
        store[key] = Variants(function, lambda *_: wanted, _found, False, compiler=compile_forward)
    found: tuple[Any, tuple[Any, ...], tuple[str, ...]] = store[key](*args, **kwargs)
    return found


def check_apart(jvp: Any, arguments: tuple[Any, ...]) -> None:
    """Raise MutationError if arguments overlap of which some are written into."""
    if jvp.__adcompiler_overlap__ is not None:
        jvp.__adcompiler_overlap__(arguments)


# --- calls inside text in forward mode --------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """How `(f(*args), tangent)` is computed: `run(*operands)`; as plain code it is `pair(*inputs)`.

    `back` takes cotangents of the inputs to those of the arguments and of their tangents; `given` takes tangents of
    both to those of the inputs.
    """

    run: Any
    operands: tuple[Any, ...]
    pair: Any = None
    inputs: tuple[Any, ...] = ()
    back: Any = None
    given: Any = None
    leads: str | None = None  # the function comes first among the arguments; under this name in its cotangent, if any


# What is found for transforms, by function, and for what they return, by class: `(f, args, dots, named, own) → Found`.
_OF_FUNCTION: dict[Any, Any] = {}
_OF_OBJECT: dict[type, Any] = {}


def connect(of_function: dict[Any, Any], of_object: dict[type, Any]) -> None:
    """Tell what is found for the transforms, and for what they return."""
    _OF_FUNCTION.update(of_function)
    _OF_OBJECT.update(of_object)


def find(f: Any, args: Any, dots: Any, named: Any, own: Any) -> Found:  # noqa: C901  one case per kind of callable
    """How a call is done in forward mode; `f` may be the name of a method of `args[0]`."""
    if isinstance(f, str):
        f, args, dots = _method(f, args, dots)
    if own is None and all(dot is None for dot in dots):
        return Found(_plain, (f, args, named), plainly(f, named), (args, dots), _same, _both)
    if isinstance(f, types.MethodType):
        found = find(f.__func__, (f.__self__, *args), (_part(own, "__self__"), *dots), named, None)
        return replace(found, leads="__self__")
    if isinstance(f, functools.partial):
        return _of_partial(f, args, dots, named, own)
    f = unwrapped(f._function if isinstance(f, Differentiable) else f)
    if f is push or f is push_method:
        return pushed_again(f, args, dots)
    if f is applied:
        return _applied(args, dots)
    if f is recomputed:
        return _with_first(find(args[0], args[1:], dots[1:], named, dots[0]))
    if f is checkpoint_loop:
        names = ("body", "state", "n")
        given = (*args, *(named[k] for k in names[len(args) :]))
        moved = (*dots, None, None, None)[:2]
        return find(looped, given[:3], (*moved, None), {}, None)
    special = _special(f)
    if special is not None:
        return special(f, args, dots, named, own)  # type: ignore[no-any-return]
    if isinstance(f, types.FunctionType) and f.__name__ == "__call__" and args and isinstance(args[0], Holder):
        return _with_first(_special(args[0])(args[0], args[1:], dots[1:], named, dots[0]))
    if f in _IN_PLACE and not (is_array(args[0]) and not isinstance(args[0], np.generic)):
        f = _IN_PLACE[f]
    if f in _IN_PLACE:
        return Found(_updated, (f, args, dots))
    if is_non_differentiable(f):
        return Found(_plain, (f, args, named), plainly(f, named), (args, dots), _same, _both)
    rules = lookup(f, tuple(map(type, args)))
    if rules or forward_rules(f):
        if named:
            args, dots, named = _by_position(f, rules, args, dots, named)
        return Found(_by_rule, (f, rules, args, dots, named), *_as_code(f, rules, args, dots, named))
    if isinstance(f, types.FunctionType):
        return source_of(f, args, dots, named, own)
    if isinstance(f, type) and has_plain_fields(f):
        return _made(f, args, dots, named)
    called = member(type(f), "__call__")
    if isinstance(called, types.FunctionType):
        return replace(find(called, (f, *args), (own, *dots), named, None), leads="")
    if f in (list, tuple, dict) and not named and len(args) == 1:
        return Found(_converted, (f, args[0], dots[0]))
    if f is getattr:
        return _attribute(args[0], args[1], dots[0])
    if f is operator.getitem and isinstance(args[0], list | tuple | dict):
        return Found(_item, (*args, dots[0]))
    raise NoRuleError(
        f"{key_name(f) if callable(f) else repr(f)} has no derivative in forward mode\n"
        "Register a forward rule for it with @frule, or call a plain function."
    )


def _special(f: Any) -> Any:
    """What finds the call of a transform, or of what it has returned; None for all other functions."""
    if isinstance(f, Holder):
        return next((found for cls, found in _OF_OBJECT.items() if isinstance(f, cls)), None)
    return _OF_FUNCTION.get(f) if isinstance(f, types.FunctionType) else None


def pushed_again(f: Any, args: Any, dots: Any) -> Found:
    """A call in forward mode, in forward mode: of what computes the pair, the pair with its tangent."""
    if f is push_method:
        obj, name, obj_dot, rest, rest_dots, *named = args
        of_obj, _, of_dot, of_rest, of_dots, *_ = dots
        found = find(name, (obj, *rest), (obj_dot, *rest_dots), (named or [None])[0] or {}, None)
        moved = _padded(of_rest, len(rest)), _padded(of_dots, len(rest_dots))
        return find(found.pair, found.inputs, found.given((of_obj, *moved[0]), (of_dot, *moved[1])), {}, None)
    given: Any = (*args, *(None,) * (5 - len(args)))
    function, operands, own_dots, named, own = given
    given = (*dots, *(None,) * (5 - len(dots)))
    of_f, of_operands, of_dots, _, of_own = given
    if own is None and of_f is not None:
        own = zeros_of(function)
    found = find(function, operands, own_dots, named or {}, own)
    if found.pair is None or found.given is None:
        raise _no_second(function)
    moved = _padded(of_operands, len(operands)), _padded(of_dots, len(own_dots))
    if found.leads is not None:
        moved = (_inside(found.leads, of_f), *moved[0]), (_inside(found.leads, of_own), *moved[1])
    return find(found.pair, found.inputs, found.given(*moved), {}, None)


def _with_first(found: Found) -> Found:
    """A call whose first argument is what is called: a method of an object, `recomputed(f, x)`."""
    if found.pair is None or found.given is None:
        return found
    name = found.leads

    def back(inputs: Any) -> tuple[Any, Any]:
        bars, dot_bars = map(_listed, found.back(inputs))
        if name is None:
            return [None, *bars], [None, *dot_bars]
        return [under(name, bars[0]), *bars[1:]], [under(name, dot_bars[0]), *dot_bars[1:]]

    def given(of_args: Any, of_dots: Any) -> Any:
        if name is None:
            return found.given(of_args[1:], of_dots[1:])
        return found.given((_inside(name, of_args[0]), *of_args[1:]), (_inside(name, of_dots[0]), *of_dots[1:]))

    return Found(found.run, found.operands, found.pair, found.inputs, back, given)


def _applied(args: Any, dots: Any) -> Found:
    """`applied(f, args, options)`: the call of `f`, whose arguments are the entries of a tuple and of a dict."""
    function, operands, options = args
    of_f, of_operands, of_options = dots
    count, names = len(operands), tuple(options)
    moved = (*_padded(of_operands, count), *((of_options or {}).get(n) for n in names))
    inner = _with_first(find(function, tuple(operands), moved, dict(options), of_f))
    if inner.pair is None or inner.given is None:
        return inner

    def packed(bars: Any) -> tuple[Any, ...]:
        f_bar, *rest = filled(bars, 1 + count + len(names))
        return f_bar, tuple(rest[:count]), dict(zip(names, rest[count:], strict=True))

    def flat(dots: Any) -> tuple[Any, ...]:
        of_f, of_operands, of_options = dots
        return (of_f, *_padded(of_operands, count), *((of_options or {}).get(n) for n in names))

    return Found(
        inner.run,
        inner.operands,
        inner.pair,
        inner.inputs,
        lambda inputs: tuple(map(packed, inner.back(inputs))),
        lambda of_args, of_dots: inner.given(flat(of_args), flat(of_dots)),
    )


def _inside(name: str | None, dot: Any) -> Any:
    return dot.get(name) if name and dot is not None else dot


def _padded(dots: Any, count: int) -> tuple[Any, ...]:
    return (None,) * count if dots is None else tuple(dots)


def _no_second(f: Any) -> NoRuleError:
    return NoRuleError(
        f"{key_name(f) if callable(f) else 'this call'} has no second derivative yet\n"
        "Register a forward rule for it with @frule."
    )


def _by_position(f: Any, rules: Any, args: Any, dots: Any, named: Any) -> tuple[Any, Any, Any]:
    """Keywords that a rule takes by position, too, among the arguments."""
    rule = rules[rules.index(first_that_takes(rules, args, named))] if rules else None
    signature = rule.signature if rule is not None else forward_signature(forward_rules(f)[0])
    try:
        bound = signature.bind(*args, **named)
    except TypeError:
        return args, dots, named
    marks = dict(zip(named, dots[len(args) :], strict=True))
    given = set(bound.arguments)
    names = [p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    last = max((i for i, n in enumerate(names) if n in given), default=-1)
    if any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()) or last + 1 < len(args):
        return args, dots, named
    bound.apply_defaults()
    new = tuple(bound.arguments[n] for n in names[: last + 1])
    new_dots = (*dots[: len(args)], *(marks.get(n) for n in names[len(args) : last + 1]))
    left = {k: v for k, v in named.items() if k not in names[: last + 1]}
    return new, (*new_dots, *(marks[k] for k in left)), left


def _as_code(f: Any, rules: Any, args: Any, dots: Any, named: Any) -> tuple[Any, ...]:
    """A call with a rule as plain code, with what it is given."""
    rule = rules[rules.index(first_that_takes(rules, args, named))] if rules else None
    explicit = forward_rule(f, rule)
    active = [i for i, dot in enumerate(dots[: len(args)]) if dot is not None]
    names, several = _positions(rule.signature, len(args)) if rule is not None else ([], None)
    given = {names[i] for i in active}
    whole = _same, _both
    if explicit is not None and len(dots) == len(args):
        several, wanted = None, len(forward_signature(explicit).parameters)
        if any(p.kind is p.VAR_POSITIONAL for p in forward_signature(explicit).parameters.values()):
            several = _positions(forward_signature(explicit), len(args))[1]
        return by_forward_rule(explicit, named, (several, wanted)), (args, dots), *whole
    if rule is None:
        return None, ()
    if rule.partials:
        wants = tuple("out" in inspect.signature(p).parameters for p in rule.partials)
        return by_partials(f, rule.partials, wants, tuple(active)), (args, dots), *whole
    if given and given <= set(rule.linear) and callable(f):
        moved = tuple(n in rule.linear for n in names[: len(args)])
        filled = tuple(zeros_of(a) if on and d is None else d for a, d, on in zip(args, dots, moved, strict=False))
        return linearly(f, moved, named), (args, filled), *whole
    if given and given <= set(rule.multilinear) and callable(f):
        return multilinearly(f, tuple(active), named), (args, dots), *whole
    if rule.options:
        return None, ()
    places = several, len(rule.signature.parameters)
    return by_pullback(rule.function, named, transposed, places), (args, dots), *whole


def _positions(signature: inspect.Signature, count: int) -> tuple[list[str], int | None]:
    """The parameters that take the arguments of a call, and the position from which on `*args` does."""
    parameters = list(signature.parameters.values())
    names = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    for i, p in enumerate(parameters):
        if p.kind is p.VAR_POSITIONAL:
            return [*names[:i], *([p.name] * (count - i))], i
    return names[:count], None


def _made(cls: Any, args: Any, dots: Any, named: Any) -> Found:
    """A new object, of a class that is known at run time only."""
    init = member(cls, "__init__")
    if not isinstance(init, types.FunctionType) or member(cls, "__new__") is not object.__new__:
        raise unsupported(f"making an object of class {cls.__qualname__} that is only known at run time")

    def run() -> tuple[Any, Any]:
        obj, dot = cls.__new__(cls), {}  # type: ignore[var-annotated]
        found = find(init, (obj, *args), (dot, *dots), named, None)
        found.run(*found.operands)
        return obj, dot

    return Found(run, ())


def _plain(f: Any, args: Any, named: Any) -> tuple[Any, Any]:
    y = f(*args, **named)
    return y, zeros_of(y)


def _part(own: Any, name: str) -> Any:
    return None if own is None else own.get(name)


def _method(name: str, args: Any, dots: Any) -> tuple[Any, Any, Any]:
    """A method by its name: of an array its descriptor, of an object the function of its class."""
    obj = args[0]
    if isinstance(obj, float | complex) or is_array(obj):
        key = array_member(name) or getattr(type(obj), name)
        return key, args, dots
    if isinstance(obj, list | dict):
        raise unsupported(f".{name}() of a {type(obj).__name__} that is only known at run time")
    found = member(type(obj), name)
    if isinstance(found, types.FunctionType):
        return found, args, dots
    if isinstance(found, staticmethod | classmethod):
        return getattr(obj, name), args[1:], dots[1:]
    return getattr(obj, name), args[1:], dots[1:]


def _of_partial(f: Any, args: Any, dots: Any, named: Any, own: Any) -> Found:
    """A partial: its arguments come first, and keywords of the call replace its own."""
    first = len(f.args)
    kept = {k: v for k, v in f.keywords.items() if k not in named}
    first_dots = _part(own, "args") or (None,) * first
    kept_dots = _part(own, "keywords") or {}
    all_dots = (*first_dots, *dots, *(kept_dots.get(k) for k in kept))
    inner = find(f.func, (*f.args, *args), all_dots, {**named, **kept}, _part(own, "func"))
    if inner.pair is None or inner.given is None:
        return inner
    leads, count = inner.leads is not None, len(args) + len(named)

    def packed(bars: Any) -> list[Any]:
        f_bar, *rest = filled(bars if leads else [None, *_listed(bars)], 1 + first + count + len(kept))
        held = {
            "func": under(inner.leads, f_bar) if leads else None,
            "args": tuple(rest[:first]),
            "keywords": dict(zip(kept, rest[first + count :], strict=True)),
        }
        return [held, *rest[first : first + count]]

    def flat(dots: Any) -> tuple[Any, ...]:
        own, *rest = dots
        front = (_inside(inner.leads, _part(own, "func")),) if leads else ()
        last = _part(own, "keywords") or {}
        return (*front, *(_part(own, "args") or (None,) * first), *rest, *(last.get(k) for k in kept))

    return replace(
        inner,
        back=lambda inputs: tuple(map(packed, inner.back(inputs))),
        given=lambda of_args, of_dots: inner.given(flat(of_args), flat(of_dots)),
        leads="",
    )


def source_of(f: Any, args: Any, dots: Any, named: Any, own: Any) -> Found:
    """A function with source: what is compiled for it."""
    captured = own is not None
    if captured:
        f, args, dots = caller(f, bool(named)), (f, *args), (own, *dots)
    signature = inspect.signature(f, follow_wrapped=False)
    count = len(args)
    bound = signature.bind(*range(count), **{k: count + i for i, k in enumerate(named)}).arguments
    wanted = frozenset(n for n, place in bound.items() if _any(place, dots))
    jvp, arguments, active = find_jvp(f, wanted, args, named)
    values = dict(zip(signature.parameters, arguments, strict=True))
    operands = (*arguments, *(_complete(_placed(bound[n], dots), values[n]) for n in active))

    def back(bars: Any) -> tuple[Any, Any]:
        by_name = dict(zip(signature.parameters, bars, strict=False))
        dots_by_name = dict(zip(active, bars[len(arguments) :], strict=True))
        each = [_taken(bound, by_name, len(dots)), _taken(bound, dots_by_name, len(dots))]
        return each[0], each[1]

    def given(of_args: Any, of_dots: Any) -> tuple[Any, ...]:
        by_name = {n: _placed(place, of_args) if _any(place, of_args) else None for n, place in bound.items()}
        own = [None if not _any(bound[n], of_dots) else _placed(bound[n], of_dots) for n in active]
        return (*(by_name.get(n) for n in signature.parameters), *own)

    return Found(jvp, operands, jvp, operands, back, given, leads="" if captured else None)


def _same(bars: Any) -> Any:
    return bars


def _both(of_args: Any, of_dots: Any) -> tuple[Any, Any]:
    """Tangents of the arguments and of their tangents as those of the two tuples of them."""
    return tuple(of_args), tuple(of_dots)


def _taken(bound: Any, bars: Any, count: int) -> list[Any]:
    """Cotangents by parameter → those of the arguments of a call, then of its keywords."""
    out: list[Any] = [None] * count
    for name, place in bound.items():
        bar = bars.get(name)
        if bar is None:
            continue
        if isinstance(place, tuple):
            for i, p in enumerate(place):
                out[p] = bar[i]
        elif isinstance(place, dict):
            for key, p in place.items():
                out[p] = bar.get(key)
        else:
            out[place] = bar
    return out


def _placed(place: Any, dots: Any) -> Any:
    if isinstance(place, tuple):
        return tuple(dots[p] for p in place)
    if isinstance(place, dict):
        return {k: dots[p] for k, p in place.items()}
    return dots[place]


def _any(place: Any, dots: Any) -> bool:
    if isinstance(place, tuple | dict):
        return any(dots[p] is not None for p in (place.values() if isinstance(place, dict) else place))
    return dots[place] is not None


def _complete(dot: Any, value: Any) -> Any:
    """A tangent with zeros for the entries of `*args` and `**kwargs` that have none."""
    if isinstance(dot, tuple) and isinstance(value, tuple):
        return tuple(zeros_of(v) if d is None else d for d, v in zip(dot, value, strict=True))
    if isinstance(dot, dict) and isinstance(value, dict):
        return {k: zeros_of(v) if dot.get(k) is None else dot[k] for k, v in value.items()}
    return dot


def _by_rule(f: Any, rules: Any, args: Any, dots: Any, named: Any) -> tuple[Any, Any]:
    """A call with a rule, by its forward rule or by the transpose of its pullback."""
    if not rules:
        found = forward_call(None, f, args, dots)
        if found is not NotImplemented:
            return found  # type: ignore[no-any-return]
    for rule in rules[rules.index(first_that_takes(rules, args, named)) :] if rules else ():
        try:
            values = rule.signature.bind(*args, **named)
            marks = rule.signature.bind_partial(*dots[: len(args)], **dict(zip(named, dots[len(args) :], strict=True)))
        except TypeError:
            continue
        values.apply_defaults()
        tangents = tuple(
            marks.arguments.get(n, () if p.kind is p.VAR_POSITIONAL else None)
            for n, p in rule.signature.parameters.items()
        )
        found = forward_call(rule, f, tuple(values.arguments.values()), tangents)
        if found is NotImplemented:
            found = forward_by_transposition(rule, args, named, tangents)
        if found is not NotImplemented:
            y, y_dot = found
            return y, zeros_of(y) if y_dot is None else y_dot
    raise NoRuleError(
        f"{key_name(f)} has no derivative in forward mode for this call\nRegister a forward rule with @frule."
    )


_IN_PLACE = {
    getattr(operator, f"i{name}"): getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "pow", "matmul", "mod", "floordiv")
}


def _updated(f: Any, args: Any, dots: Any) -> tuple[Any, Any]:
    """`a op= b`, where an array and its tangent stay what they are."""
    found = find(_IN_PLACE[f], args, dots, {}, None)
    _, new = found.run(*found.operands)
    return f(*args), into(dots[0], new)


def _converted(f: Any, value: Any, dot: Any) -> tuple[Any, Any]:
    return f(value), f(dot)


def _attribute(obj: Any, name: str, dot: Any) -> Found:
    """An attribute of what is known at run time only."""
    if is_array(obj):
        key = array_member(name)
        return Found(
            _by_rule, (key, lookup(key), (obj,), (dot,), {}), by_attribute(name), ((obj,), (dot,)), _same, _both
        )
    found = member(type(obj), name)
    if isinstance(found, property) and not (isinstance(dot, dict) and name in dot):
        return find(found.fget, (obj,), (dot,), {}, None)
    return Found(_field, (obj, name, dot))


def _field(obj: Any, name: str, dot: Any) -> tuple[Any, Any]:
    value = getattr(obj, name)
    if isinstance(dot, dict | Tangent) and name in dot:
        return value, dot[name]
    if isinstance(dot, tuple) and name in getattr(type(obj), "_fields", ()):
        return value, dot[type(obj)._fields.index(name)]
    if isinstance(value, types.MethodType):
        return value, {"__self__": dot}
    return value, zeros_of(value)


def _item(obj: Any, key: Any, dot: Any) -> tuple[Any, Any]:
    return obj[key], dot[key]


# --- derivatives of such calls ----------------------------------------------------------------------------


@rrule(push)
def push_rule(f: Any, args: Any, dots: Any, named: Any = None, own: Any = None, *, config: Any, needs: Any) -> Any:
    """The reverse of a call in forward mode: that of what computes the pair."""
    found = find(f, args, dots, named or {}, own)
    if needs[3] and found.pair is not found.run and not all(map(is_constant, (named or {}).values())):
        raise _no_second(f)
    return _reversed(found, f, len(args), tuple(named or ()), own, config)


@rrule(push_method)
def push_method_rule(
    obj: Any, name: str, obj_dot: Any, args: Any, dots: Any, named: Any = None, *, config: Any, needs: Any
) -> Any:
    """The same of a method."""
    found = find(name, (obj, *args), (obj_dot, *dots), named or {}, None)
    if needs[5] and found.pair is not found.run and not all(map(is_constant, (named or {}).values())):
        raise _no_second(name)
    value, back = _reversed(found, None, len(args) + 1, tuple(named or ()), None, config)

    def pullback(y_bar: Any) -> tuple[Any, ...]:
        _, bars, dot_bars, named_bar, _ = back(y_bar)
        return bars[0], None, dot_bars[0], tuple(bars[1:]), tuple(dot_bars[1:]), named_bar

    return value, pullback


def _reversed(found: Found, f: Any, count: int, named: tuple[str, ...], own: Any, config: Any) -> Any:
    """The pair of value and tangent, and its pullback; there are `count` arguments and `named` keywords."""
    if found.pair is None:
        raise _no_second(f)
    value, back = config.rrule_via_ad(found.pair, *found.inputs)

    def pullback(y_bar: Any) -> tuple[Any, ...]:
        f_bar, *inputs = back(tuple(y_bar))
        first = found.leads is not None
        bars, dot_bars = (filled(each, first + count + len(named)) for each in found.back(inputs))
        own_bar = None
        if first:
            f_bar, own_bar = (under(found.leads, each.pop(0)) for each in (bars, dot_bars))
        named_bar = dict(zip(named, bars[count:], strict=False)) if named else None
        return f_bar, tuple(bars[:count]), tuple(dot_bars), named_bar, own_bar

    return value, pullback


def under(name: str | None, bar: Any) -> Any:
    return {name: bar} if name and bar is not None else bar


def _listed(bars: Any) -> list[Any]:
    return [] if bars is None else list(bars)


def filled(bars: Any, count: int) -> list[Any]:
    """Cotangents with None for those at the end that are missing."""
    found = _listed(bars)
    return found + [None] * (count - len(found))


pushed_calls.connect(find)

__all__ = [
    "Found",
    "check_apart",
    "compile_forward",
    "connect",
    "filled",
    "find",
    "find_jvp",
    "pushed_again",
    "source_of",
    "under",
]
