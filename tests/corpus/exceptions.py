"""Exceptions that are caught, context managers, and `match`: what had been done before stays done."""

import contextlib
import math

import numpy as np

from adcompiler.testing import normal
from tests.corpus.sample import sample


class Stop(Exception):
    """What the programs raise."""


@sample(1.2, [1.5, -0.5, 2.0])
@sample(1.2, [1.5, -0.5, 9.0])
@sample(1.2, [])
def retried(x, xs):
    s = x
    for v in xs:
        try:
            s = s * v
            if s > 4:
                return s * x
            s = s * math.log(v)
        except ValueError:
            s = s * x
        finally:
            s = s * s
    return s + x


@sample(4.0)
@sample(-4.0)
def safe_root(x):
    try:
        return math.sqrt(x) * x
    except ValueError:
        return x * x


@sample(1.5, 2.0)
@sample(-1.5, 2.0)
def half_way(x, y):
    z = x + y
    try:
        z = 2 * z
        if x < 0:
            raise ValueError("x is negative")
        z = y * z * z
    except (ValueError, KeyError) as error:
        print(f"caught {error}")
        z = z * x
    else:
        z = z + x
    return 3 * z


@sample(2.0)
@sample(-2.0)
def bound_on_some_paths(x):
    if x > 0:
        y = 3 * x
    try:
        return y * x
    except NameError:
        return 42 * x


@sample(normal(4), 2)
@sample(normal(4), 9)
def left_through_finally(x, stop):
    s = 1.0
    for i, v in enumerate(x):
        try:
            s = s * v
            if i == stop:
                break
            if i == 1:
                continue
            s = s + v * v
        finally:
            s = s * 0.9 + v
    else:
        s = s * s
    return s


@sample(1.3, 4)
def cancelled_return(x, n):
    s = x
    for i in range(n):
        try:
            s = s * x
            return s * s
        finally:
            s = s + 0.1 * i
            if i < n - 1:
                continue  # noqa: B012
    return s


@sample(1.3)
def return_in_finally(x):
    y = x
    try:
        y = y * x
        raise Stop
    finally:
        return y * x  # noqa: B012


@sample(1.3, 0)
@sample(1.3, 1)
@sample(1.3, 2)
def raised_again(x, kind):
    y = x
    try:
        try:
            y = y * x
            if kind:
                raise Stop
            y = y * 3.0
        except Stop:
            y = np.sin(y)
            if kind == 2:
                raise
            y = y * 2.0
        finally:
            y = y + x
    except Stop:
        y = y * y
    return y


def _logarithm(v):
    if v < 0:
        raise Stop("negative")
    return math.log(v)


@sample(normal(6), 1.1)
def failing_calls(x, y):
    s, failures = y, 0
    for v in x:
        try:
            s = s + _logarithm(v * y)
        except Stop:
            failures += 1
            s = s * y
    return s / (failures + 1)


@sample(normal(3, 3), 1.1)
def nested_loops(m, y):
    s = y
    try:
        for row in m:
            for v in row:
                s = s + v * s
                if abs(s) > 2.0:
                    raise Stop
            s = s * y
    except Stop:
        s = s * m[0, 0]
    return s


@sample(1.5)
@sample(-1.5)
def swallowed(x):
    y = x
    with contextlib.suppress(ValueError, ZeroDivisionError):
        y = y * x
        y = y * math.log(x)
    return y * x


@sample(1.5)
def targets(x):
    with contextlib.nullcontext(x * 2) as y, contextlib.nullcontext(y * x) as z:
        w = y * z
    return w + y


@sample(1.5)
def stops_inside(x):
    with np.errstate(all="ignore"), contextlib.nullcontext():
        for i in range(4):
            x = x * 1.1
            if i == 2:
                return x * x
    return x


@sample([normal(3), 2.0], 1.5)
@sample([normal(3), 2.0, 0.5], 1.5)
@sample((1.5,), 1.5)
@sample(2.5, 1.5)
@sample(3, 1.5)
@sample("text", 1.5)
def matched(subject, x):
    match subject:
        case [a, b]:
            return np.sum(a) * b * x
        case [a, *rest] if len(rest) > 1:
            return np.sum(a) * rest[1] * x
        case (a,) | float(a):
            return a * x
        case int() as n:
            return x**n
        case str() | None:
            return x
    return 0.0


@sample({"kind": "scale", "by": 2.0}, 1.5)
@sample({"kind": "power", "by": 3.0}, 1.5)
@sample({"kind": "power", "by": -3.0}, 1.5)
@sample({}, 1.5)
def matched_by_keys(options, x):
    match options:
        case {"kind": "scale", "by": k}:
            x = x * k
        case {"kind": "power", "by": k} if k > 0:
            x = x**k
        case {"by": k}:
            x = x + k * k
    return x


@sample(1.5, [0.5, 2.0, 1.0])
def match_in_a_loop(x, xs):
    total = x
    for pair in zip(xs, [*xs[1:], xs[0]], strict=True):
        match pair:
            case (a, b) if a > b:
                total = total * a
            case (_, b):
                total = total + b * b
    return total * b
