"""A call with a rule and its tangent as plain code, from what is declared of the function; `dots` are the tangents.

Each function here makes `pair(args, dots) → (y, y_dot)`, which can be differentiated as any other code.
"""

from __future__ import annotations

import functools
from typing import Any

from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.pushing import zeros_of
from adcompiler.runtime.randomness import drawn_from, rewind


def _with(f: Any, named: Any) -> Any:
    """The function with its keywords, which nobody can change any more: so which they are is known when compiling."""
    return functools.partial(f, **named) if named else f


def _marks(several: Any, count: Any) -> Any:
    """What brings tangents of arguments to the `count` parameters of a rule; `*args` is that at `several`, if any."""

    def each(dots: Any) -> Any:
        return (*dots, *((None,) * (count - len(dots))))

    def together(dots: Any) -> Any:
        return (*dots[:several], tuple(dots[several:]), *((None,) * (count - several - 1)))

    return each if several is None else together


def plainly(f: Any, named: Any) -> Any:
    """Of a function whose value moves with nothing."""
    call = _with(f, named)

    def pair(args: Any, dots: Any) -> Any:
        y = call(*args)
        return y, zeros_of(y)

    return pair


def linearly(f: Any, moved: Any, named: Any) -> Any:
    """Of a function that is linear in the arguments that are `moved`."""
    call = _with(f, named)

    def pair(args: Any, dots: Any) -> Any:
        new = tuple(d if on else a for a, d, on in zip(args, dots, moved, strict=True))
        return call(*args), call(*new)

    return pair


def multilinearly(f: Any, each: Any, named: Any) -> Any:
    """Of a function that is linear in several arguments, of which `each` marks one at a time."""
    call = _with(f, named)

    def pair(args: Any, dots: Any) -> Any:
        y_dot = None
        for moved in each:
            term = call(*tuple(d if on else a for a, d, on in zip(args, dots, moved, strict=True)))
            y_dot = term if y_dot is None else y_dot + term
        return call(*args), y_dot

    return pair


def by_partials(f: Any, partials: Any, wants_out: Any, places: Any) -> Any:
    """Of an elementwise function whose partial derivatives are known."""

    def pair(args: Any, dots: Any) -> Any:
        y = f(*args)
        y_dot = 0.0
        for i in places:
            slope = partials[i](*args, out=y) if wants_out[i] else partials[i](*args)
            y_dot = y_dot + slope * dots[i]
        return y, y_dot

    return pair


def by_forward_rule(rule: Any, named: Any, places: Any, declined: Any = None) -> Any:
    """Of a function with a forward rule; `places` as in `_marks`, `declined` is for where it declines."""
    marks = _marks(*places)
    call = _with(rule, named)

    def pair(args: Any, dots: Any) -> Any:
        return call(marks(dots), *args)

    def pair_or_declined(args: Any, dots: Any) -> Any:
        found = pair(args, dots)
        if found is NotImplemented:
            return declined(args, dots)
        return found

    return pair if declined is None else pair_or_declined


def by_pullback(rule: Any, named: Any, transposed: Any, places: Any, declined: Any = None) -> Any:
    """Of a function with a reverse rule: the transpose of its pullback; the parameters as in `by_forward_rule`."""
    marks = _marks(*places)
    call = _with(rule, named)

    def pair(args: Any, dots: Any) -> Any:
        y, pullback = call(*args)
        return y, transposed(pullback, y, marks(dots))

    def pair_or_declined(args: Any, dots: Any) -> Any:
        found = call(*args)
        if found is NotImplemented:
            return declined(args, dots)
        return found[0], transposed(found[1], found[0], marks(dots))

    return pair if declined is None else pair_or_declined


def by_custom(with_pullback: Any, f: Any, each: Any, transposed: Any, places: Any) -> Any:
    """Of a function that returns its value and its pullback; the parameters as in `by_forward_rule`."""
    marks = _marks(*places)
    count = places[1]

    def pair(args: Any, dots: Any) -> Any:
        before = drawn_from(f, args)
        y = with_pullback(f, *args)
        rewind(before)
        _, back = f(*args)
        return y, transposed(each(back, count), y, marks(dots))

    return pair


def refusing(message: Any) -> Any:
    """Of a call that no rule takes."""

    def pair(args: Any, dots: Any) -> Any:
        raise NoRuleError(message)

    return pair


def by_attribute(name: Any) -> Any:
    """Of an attribute that is linear in its object."""

    def pair(args: Any, dots: Any) -> Any:
        return getattr(args[0], name), getattr(dots[0], name)

    return pair


def by_gradient(transform: Any, options: Any, places: Any, single: Any, jvp: Any, grads: Any, with_value: Any) -> Any:
    """Of the gradient of `f` at `args`: the gradient of the tangent, which `grads` gives for all arguments."""

    def pair(f: Any, args: Any, *dots: Any) -> Any:
        before = drawn_from(f, args)
        y = transform(f, *options)(*args)
        rewind(before)
        found = grads(f, args, *dots)
        each = tuple(_entry(found, i, args[i]) for i in places)
        y_dot = each[0] if single else each
        if with_value:
            rewind(before)
            return y, (jvp(f, args, *dots)[1], y_dot)
        return y, y_dot

    return pair


def by_gradient_with_keywords(
    transform: Any, options: Any, places: Any, single: Any, jvp: Any, grads: Any, with_value: Any
) -> Any:
    """The same of a call with keywords: `places` are those of arguments, names, and the order of both."""
    positions, names, order = places

    def pair(f: Any, args: Any, named: Any, *dots: Any) -> Any:
        before = drawn_from(f, (args, named))
        y = transform(f, *options)(*args, **named)
        rewind(before)
        found, of_named = grads(f, args, named, *dots)
        own = tuple(_entry(found, i, args[i]) for i in positions)
        both = own + tuple(_entry(of_named, name, named[name]) for name in names)
        each = tuple(both[i] for i in order)
        y_dot = each[0] if single else each
        if with_value:
            rewind(before)
            return y, (jvp(f, args, named, *dots)[1], y_dot)
        return y, y_dot

    return pair


def aside(value_and_grad: Any) -> Any:
    """The gradient alone, of a function that gives more than its value."""

    def grads(*args: Any) -> Any:
        _, found = value_and_grad(*args)
        return found

    return grads


def _entry(found: Any, place: Any, x: Any) -> Any:
    """A gradient with respect to one argument, zeros where there is none."""
    return zeros_of(x) if found is None or found[place] is None else found[place]


def apart(f: Any, as_now: Any) -> Any:
    """`f` of copies that share no memory: where arrays are written into, those that do have one cotangent."""

    def call(*args: Any) -> Any:
        return f(*as_now(args))

    return call


def by_pulling(pulled: Any, push: Any, as_now: Any) -> Any:
    """Of `pullback(f, *args)`, which keeps the tangents as they are now."""

    def pair(f: Any, args: Any, f_dot: Any, dots: Any) -> Any:
        before = drawn_from(f, args)
        y, back = pulled(f, *args)
        rewind(before)
        _, y_dot = push(f, args, dots, None, f_dot)
        return (y, back), (y_dot, {"function": as_now(f_dot), "args": as_now(dots)})

    return pair


def by_pulled(pulled_at: Any, pulled_jvp: Any, jvp: Any) -> Any:
    """Of a pullback of `f` at `args`, called with `ct`; `before` are the states of generators when it was made."""

    def pair(ct: Any, ct_dot: Any, before: Any, f: Any, args: Any, *dots: Any) -> Any:
        now = rewind(before)
        bars = pulled_jvp(jvp, (ct_dot, ct), f, args, *dots)
        rewind(before)
        ct_args = pulled_at(f, ct, *args)
        rewind(now)
        return ct_args, bars[1]

    return pair


def joined(args: Any, dots: Any) -> Any:
    """Two lists or tuples, joined."""
    return args[0] + args[1], dots[0] + dots[1]


def merged(args: Any, dots: Any) -> Any:
    """Two dicts, of which the second one's values stay."""
    return {**args[0], **args[1]}, {**dots[0], **dots[1]}


def repeated(args: Any, dots: Any) -> Any:
    """A list or tuple times a number."""
    return args[0] * args[1], dots[0] * args[1]


def times(args: Any, dots: Any) -> Any:
    """A number times a list or tuple."""
    return args[0] * args[1], args[0] * dots[1]


def by_method(push: Any, method: Any, reflected: Any) -> Any:
    """Of an operator that a method of an object is called for."""

    def pair(args: Any, dots: Any) -> Any:
        if reflected:
            return push(method, (args[1], args[0]), (dots[1], dots[0]))
        return push(method, args, dots)

    return pair


def by_methods(push: Any, first: Any, second: Any) -> Any:
    """The same of two methods: where one returns NotImplemented, the other one is called with operands swapped."""

    def pair(args: Any, dots: Any) -> Any:
        y, y_dot = push(first, args, dots)
        if y is NotImplemented:
            y, y_dot = push(second, (args[1], args[0]), (dots[1], dots[0]))
        return y, y_dot

    return pair


def converted(form: Any) -> Any:
    """Of `list`, `tuple` or `dict` of a container."""

    def pair(args: Any, dots: Any) -> Any:
        return form(args[0]), form(dots[0])

    return pair


def taken(key: Any) -> Any:
    """Of an item of a container."""

    def pair(args: Any, dots: Any) -> Any:
        return args[0][key], dots[0][key]

    return pair


def of_field(name: Any, key: Any) -> Any:
    """Of a field, whose tangent is at `key` in that of the object."""

    def pair(args: Any, dots: Any) -> Any:
        return getattr(args[0], name), dots[0][key]

    return pair


def field_dot(dot: Any, obj: Any, name: Any) -> Any:
    """The tangent of a field; what only the class has moves with nothing."""
    if name in dot:
        return dot[name]
    return zeros_of(getattr(obj, name))


def of_bound(name: Any) -> Any:
    """Of a method that is read."""

    def pair(args: Any, dots: Any) -> Any:
        return getattr(args[0], name), {"__self__": dots[0]}

    return pair


def plain_attribute(name: Any) -> Any:
    """Of an attribute that moves with nothing."""

    def pair(args: Any, dots: Any) -> Any:
        value = getattr(args[0], name)
        return value, zeros_of(value)

    return pair


def plain_method(name: Any, named: Any) -> Any:
    """Of a method that moves nothing."""

    def pair(args: Any, dots: Any) -> Any:
        value = getattr(args[0], name)(*args[1:], **named)
        return value, zeros_of(value)

    return pair


def summed(items: Any, start: Any = 0) -> Any:
    """`sum(items, start)`, of objects as of numbers."""
    total = start
    for item in items:
        total = total + item
    return total


def looped(body: Any, state: Any, n: Any) -> Any:
    """A loop of `n` steps, as `checkpoint_loop` does them."""
    for i in range(n):
        state = body(i, state)
    return state


__all__ = [
    "apart",
    "aside",
    "by_attribute",
    "by_custom",
    "by_forward_rule",
    "by_gradient",
    "by_gradient_with_keywords",
    "by_method",
    "by_methods",
    "by_partials",
    "by_pullback",
    "by_pulled",
    "by_pulling",
    "converted",
    "field_dot",
    "joined",
    "linearly",
    "looped",
    "merged",
    "multilinearly",
    "of_bound",
    "of_field",
    "plain_attribute",
    "plain_method",
    "plainly",
    "refusing",
    "repeated",
    "summed",
    "taken",
    "times",
]
