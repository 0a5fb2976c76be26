"""Generator functions: values, order of effects and derivatives as in Python, whoever takes their items."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adcompiler import MutationError, UnsupportedSyntaxError, differentiable, pullback
from tests.differences import STEP
from tests.promises import check, check_raises, check_refused
from tests.test_random_programs import MANY, examples

LOG = []
V = np.array([1.5, -0.5, 2.0])


def powers(x, n):
    for k in range(n):
        x = x * x * 0.9
        LOG.append(("before", k))
        yield x
        LOG.append(("after", k))
        x = np.sin(x)
    LOG.append("end")


def forever(x):
    while True:
        yield x
        x = x * 1.1


def branches(xs):
    for v in xs:
        if v > 1:
            yield v * v
            continue
        if v < -5:
            return
        elif v < 0:
            yield -v
            yield v * 3.0
        else:
            yield np.exp(v)
    else:
        yield xs[0] * xs[1]


def delegating(x):
    yield x
    yield from powers(x * 2, 2)
    yield from [x, x * 3]
    yield x * x


def differences(g):
    before = None
    for v in g:
        if before is not None:
            yield v - before
        before = v


def triples(x, n):
    a = x
    for i in range(n):
        a = a * x
        yield a, i, np.array([1.0, 2.0]) * a


def rows(x):
    for r in x:
        yield r * 2
        yield r


def tree(t):
    if isinstance(t, tuple):
        for child in t:
            yield from tree(child)
    else:
        yield t


def twice_as_deep(x, n):
    if n == 0:
        return
    yield x
    yield from twice_as_deep(x * 1.5, n - 1)
    yield x * n


def waiting(x):
    while (yield x) is None and x < 3:
        x = x * 1.5
    yield x * x


def in_expressions(x):
    for i in range(3):
        sent = yield x * i
        if sent is not None:
            x = sent
    both = [(yield x), (yield x * 2)]
    assert both == [None, None]
    return x * 5


def mixed(x):
    yield x
    yield x * (1 + 2j)


# --- what takes the items ------------------------------------------------------------------------------------


def loop(x):
    s = 0.0
    for v in powers(x, 3):
        s = s + v * x
    return s


def zipped(x, w):
    s = 0.0
    for i, (p, v) in enumerate(zip(powers(x, 50), w)):  # noqa: B905
        LOG.append(("took", i))
        s = s + p * v
    return s


def first_in_zip(x, w):
    s = 0.0
    for v, p in zip(w, powers(x, 50)):  # noqa: B905
        s = s + p * v
    return s


def enumerated(xs):
    s = 1.0
    for i, v in enumerate(branches(xs)):
        s = s * (v + i)
    return s


def left_by_break(x):
    s = x
    for i, v in enumerate(forever(x)):
        if i % 2:
            continue
        s = s * v
        if i > 4:
            break
    else:
        s = s * 100
    return s


def left_by_return(x, t):
    for i, v in enumerate(powers(x, 10)):
        if v < t:
            return v * i
    return x * v


def in_two_loops(x):
    g = powers(x, 6)
    s = 0.0
    for v in g:
        s = s + v
        if s > 0.5:
            break
    for v in g:
        s = s + v * v * 10
    return s


def by_next(x):
    g = powers(x, 4)
    a = next(g)
    b = next(g)
    next(g)
    return a * b + next(g)


def by_next_with_default(x, d):
    g = powers(x, 1)
    return next(g, d) * next(g, d) + next(g, 3.0)


def by_next_until_none(x):
    g = powers(x, 10)
    s = 0.0
    while (v := next(g, None)) is not None and v > 1e-3:
        s = s + v * v
    return s


def next_inside_a_loop(x):
    g = powers(x, 7)
    s = 0.0
    for v in g:
        s = s + v * next(g, 1.0)
    return s


def pairwise(x):
    g = powers(x, 6)
    s = 0.0
    for a, b in zip(g, g):  # noqa: B905
        s = s + a * b * b
    return s


def unpacked(x):
    a, b, c = powers(x, 3)
    return a * b * c


def unpacked_with_a_star(x):
    a, *rest = powers(x, 4)
    return a * rest[1] + sum(rest)


def collected(x):
    return sum(powers(x, 3)) * np.array(list(powers(x, 4))) * max(powers(x, 2)) + sum(tuple(powers(x, 1)))


def stacked(x):
    return np.stack(list(rows(x)))


def comprehended(x, w):
    return [v * u for v, u in zip(forever(x), w)], {i: v for i, v in enumerate(powers(x, 2))}  # noqa: B905


def with_tuples(x):
    s = 0.0
    for a, i, row in triples(x, 4):
        s = s + a * i * np.sum(row)
    return s


def with_complex(x):
    s = 0
    for v in mixed(x):
        s = s + v * (2 - 1j)
    return s


def delegated(x):
    return sum(v * (i + 1) for i, v in enumerate(delegating(x)))


def piped(x):
    return sum(d * d for d in differences(powers(x, 4)))


def piped_beside_itself(x):
    g = powers(x, 6)
    s = 0.0
    for a, b in zip(g, differences(g)):  # noqa: B905
        s = s + a * b * b
    return s


def nested(x):
    s = 0.0
    for a in powers(x, 3):
        for b in powers(a, 2):
            if b < 0.05:
                break
            s = s + a * b
    return s


def leaves(x):
    return sum(v * v for v in tree((x, (x * 2, (x * 3, x)), x * x)))


def recursive(x):
    return sum(v * v for v in twice_as_deep(x, 5))


def capturing(x, n):
    w = x * 2

    def gen(k):
        for i in range(k):
            yield w * x**i

    s = 0.0
    for v in gen(n):
        s = s + v * v
    return s


def capturing_in_a_loop(x, n):
    s = 0.0
    for k in range(n):
        a = x * k

        def gen():
            yield a  # noqa: B023
            yield a * x  # noqa: B023

        for v in gen():
            s = s + v * v
    return s


def lambda_(x):
    return next((lambda: (yield x * x))())


class Scaled:
    def __init__(self, w):
        self.w = w

    def items(self, x):
        for i in range(3):
            yield x * self.w**i


def method(scaled, x):
    return sum(scaled.items(x))


class Doubled:
    def __init__(self, items):
        self.kept = items

    def __iter__(self):
        for v in self.kept:
            yield v * 2


def iterated(doubled, x):
    s = 0.0
    for i, (v, u) in enumerate(zip(doubled, doubled)):  # noqa: B905
        s = s + v * u * x * i
    return s + sum(v * v for v in doubled)


def horner(g, w):
    s = 0.0
    for v in g:
        s = s * w + v
    return s


def passed_to_a_helper(x, w):
    return horner(powers(x, 3), w)


def made_by(x):
    y = x * x
    return powers(y, 3)


def made_by_a_helper(x):
    g = made_by(x)
    next(g)
    return sum(g)


def sliced(x):
    g = forever(x)
    s = 0.0
    for i, v in enumerate(itertools.islice(g, 1, 7, 2)):
        s = s + v * i * v
    return s * next(g)


def taken_while(x, t):
    g = powers(x, 10)
    s = 1.0
    for v in itertools.takewhile(lambda v: v > t, g):
        s = s * v
    return s + next(g)


def filtered(x):
    kept = sum(v * v for v in filter(lambda v: v < 0.3, powers(x, 6)))
    return kept, list(itertools.dropwhile(lambda v: v > 0.4, powers(x, 6)))


def one_or_the_other(x, c):
    g = powers(x, 3) if c else forever(x)
    s = 0.0
    for v, _ in zip(g, range(2)):  # noqa: B905
        s = s + v * x
    return s


def active_or_not(x, c):
    g = powers(x, 3) if c else powers(2.0, 3)
    s = 0.0
    for v in g:
        s = s + v * x
    return s


def never_started(x, w):
    s = x * 2
    for v, _ in zip(powers(x, 3), w):  # noqa: B905
        s = s + v
    for _, v in zip(w, powers(x, 3)):  # noqa: B905
        s = s + v
    return s


def dropped(x):
    g = powers(x, 3)
    a = next(g)
    del g
    return a * x


def closed(x):
    g = powers(x, 3)
    a = next(g)
    g.close()
    return a * x + sum(g)


def any_of_it(x):
    g = powers(x, 5)
    return (1.0 if any(v < 0.1 for v in g) else 2.0) * sum(g)


def under_errstate(x):
    def gen():
        for v in powers(x, 3):
            with np.errstate(all="ignore"):
                yield v * 2

    return sum(gen())


def without_derivative(x):
    s = x
    for v in powers(1.1, 3):
        s = s * v
    return s


# --- beside exceptions ---------------------------------------------------------------------------------------


def with_tries(x):
    for i in range(4):
        try:
            if i == 1:
                continue
            if x > 3.0:
                return
            x = x * 1.2
            if i == 2:
                break
        finally:
            x = x + 0.1
        with np.errstate(all="ignore"):
            if x > 2.0:
                yield x * 3
        yield x
    for _ in range(2):
        with np.errstate(all="ignore"):
            x = x * x * 0.5
            yield x
            x = x * 1.1
    yield x * x


def until_exhausted(x):
    g = powers(x, 3)
    while True:
        try:
            v = next(g)
        except StopIteration:
            return
        yield v * x
        yield v


def taken_from_tries(x, n):
    s = 0.0
    for i, v in enumerate(with_tries(x)):
        s = s * 0.5 + v * v
        if i == n:
            break
    return s


def taken_in_a_try(x, n):
    s = 0.0
    for _ in range(3):
        try:
            for k, v in enumerate(with_tries(x)):
                s = s + v
                if k == n:
                    raise KeyError
                s = s * 1.05
        except KeyError:
            s = s * x
        finally:
            s = s + x
    return s


def next_in_a_try(x, n):
    g = with_tries(x)
    s = 1.0
    for _ in range(n):
        try:
            s = s * next(g)
            s = s + next(g)
        except StopIteration:
            return s * 10
        else:
            s = s * 0.3
    return s


def exhausted_inside(x):
    s = 0.0
    for a, b in zip(until_exhausted(x), with_tries(x)):  # noqa: B905
        s = s + a * b
    return s, sum(v * v for v in until_exhausted(x))


BESIDE_EXCEPTIONS = [
    *(
        (f, (x, n))
        for f in (taken_from_tries, taken_in_a_try, next_in_a_try)
        for x in (1.3, 2.6, 3.5)
        for n in range(6)
    ),
    (exhausted_inside, (0.7,)),
]


@pytest.mark.parametrize(("f", "args"), BESIDE_EXCEPTIONS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_beside_exceptions(f, args):
    """Generators with `try` inside, and taken where exceptions are caught."""
    check(f, *args, before=LOG.clear)


def test_left_by_an_exception():
    """What a generator did before an exception that is caught outside of it is not known: the pullback says so."""

    def f(x):
        def gen():
            yield x
            yield x * x
            raise KeyError

        s = 0.0
        try:
            for v in gen():
                s = s + v
        except KeyError:
            s = s * x
        return s

    value, back = pullback(f, 0.7)
    assert value == f(0.7)
    with pytest.raises(UnsupportedSyntaxError, match="left by an exception"):
        back(1.0)


PROGRAMS = [
    (loop, (0.7,)),
    (zipped, (0.7, [1.0, 2.0, 3.0])),
    (zipped, (0.7, V)),
    (first_in_zip, (0.7, V)),
    (enumerated, ([1.5, -0.5, 0.3, 2.0],)),
    (enumerated, ([1.5, -0.5, -7.0, 2.0],)),
    (left_by_break, (0.7,)),
    (left_by_return, (0.9, 0.2)),
    (left_by_return, (0.9, -1.0)),
    (in_two_loops, (0.9,)),
    (by_next, (0.7,)),
    (by_next_with_default, (0.7, 0.4)),
    (by_next_until_none, (0.7,)),
    (next_inside_a_loop, (0.9,)),
    (pairwise, (0.7,)),
    (unpacked, (0.7,)),
    (unpacked_with_a_star, (0.7,)),
    (collected, (0.7,)),
    (stacked, (np.arange(6.0).reshape(3, 2),)),
    (comprehended, (0.7, [1.0, 2.0, 3.0])),
    (with_tuples, (0.7,)),
    (with_complex, (0.7,)),
    (delegated, (0.7,)),
    (piped, (0.7,)),
    (piped_beside_itself, (0.7,)),
    (nested, (0.7,)),
    (leaves, (0.7,)),
    (recursive, (0.7,)),
    (capturing, (0.7, 3)),
    (capturing_in_a_loop, (0.7, 3)),
    (lambda_, (0.7,)),
    (method, (Scaled(0.8), 0.7)),
    (iterated, (Doubled([1.0, 2.0]), 0.7)),
    (passed_to_a_helper, (0.7, 0.3)),
    (made_by_a_helper, (0.7,)),
    (sliced, (0.7,)),
    (taken_while, (0.7, 0.1)),
    (filtered, (0.7,)),
    (one_or_the_other, (0.7, True)),
    (one_or_the_other, (0.7, False)),
    (active_or_not, (0.7, True)),
    (active_or_not, (0.7, False)),
    (never_started, (0.7, [])),
    (dropped, (0.7,)),
    (closed, (0.7,)),
    (any_of_it, (0.9,)),
    (under_errstate, (0.9,)),
    (without_derivative, (0.9,)),
]


@pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_derivatives(f, args):
    """Values and derivatives are right."""
    check(f, *args, before=LOG.clear)


@pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_order_of_effects(f, args):
    """A generator and what takes its items run in turns as in Python, and the pullback has no effects."""
    LOG.clear()
    f(*args)
    plain = LOG[:]
    LOG.clear()
    value, back = pullback(f, *args)
    assert plain == LOG
    back(value)
    assert plain == LOG


@pytest.mark.parametrize("g", [waiting, in_expressions, lambda x: branches([x, 2 * x, x])], ids=["w", "e", "b"])
def test_yield_is_an_expression(g):
    """Nothing is sent, so that the value of `yield` is None."""
    check(lambda x: sum(v * v for v in g(x)), 0.9)


def test_text():
    """The generator and its reverse are functions of their own."""
    text = differentiable(zipped).source(0.7, V)
    assert "for i, ((i1, p), v) in enumerate(zip(numbered(t1), w)):" in text
    assert "except GeneratorExit:" in text


# --- what is refused -----------------------------------------------------------------------------------------


def test_out_of_sight():
    """A generator that is stored, returned or handed to a C function is refused where that happens."""

    def stored(x):
        gs = [powers(x, 2), powers(x, 3)]  # refused
        return sum(next(g) for g in gs)

    def chained(x):
        s = 0.0
        for v in itertools.chain(powers(x, 2), powers(x, 3)):  # refused
            s = s + v
        return s

    def returned(x):  # refused
        return powers(x, 2)

    def maybe(x):
        g = None
        if x > 0.5:
            g = powers(x, 3)
        return next(g)  # refused

    for f in (stored, chained, returned, maybe):
        check_refused(UnsupportedSyntaxError, f, 0.7)

    def itself(x):  # refused
        yield x

    check_refused(UnsupportedSyntaxError, itself, 0.7)


def test_sending():
    """Nothing can be sent into a generator or thrown."""

    def sends(x):
        g = powers(x, 3)
        next(g)
        return g.send(x)  # refused

    def value_of_yield_from(x):
        def gen():
            r = yield from powers(x, 2)  # refused
            yield r

        return sum(gen())

    check_refused(UnsupportedSyntaxError, sends, 0.7)
    check_refused(UnsupportedSyntaxError, value_of_yield_from, 0.7)


def test_yield_in_a_try_statement():
    """A yield in a `try` or an unknown context manager is refused."""

    def f(x):
        def gen():
            try:  # refused
                yield x
            finally:
                LOG.append("closed")

        return sum(gen())

    check_refused(UnsupportedSyntaxError, f, 0.7)


def test_asynchronous():
    """Asynchronous generators are refused."""

    async def gen(x):
        yield x

    def f(x):
        return gen(x)  # refused

    with pytest.raises(UnsupportedSyntaxError, match="coroutine"):
        pullback(f, 0.7)


def test_late_changes():
    """A generator that would see other values than it was called with is refused."""

    def captured(x):
        a = x

        def gen():
            yield a
            yield a * 2

        g = gen()  # refused
        s = next(g)
        a = x * x
        return s + next(g)

    def array(x, w):
        def gen(b):
            yield x * b[0]
            yield x * b[1]

        b = np.ones(2)
        s = 0.0
        for v in gen(b):  # refused
            s = s + v
            b[1] = 7.0
        return s

    def item(x):
        s = 0.0
        for v in rows(x):  # refused
            v += 1.0
            s = s + np.sum(v * v)
        return s

    check_refused(MutationError, captured, 0.7)
    check_refused(MutationError, array, 0.7, 1.0)
    check_refused(MutationError, item, np.ones((2, 2)))


def test_buffers():
    """A generator may reuse memory without derivative; what it yields with one it may not write."""

    def buffers(n):
        b = np.zeros(2)
        for i in range(n):
            b[:] = i
            yield b

    def reused(x):
        s = 0.0
        for b in buffers(3):
            s = s + np.sum(b * x) * x
        return s

    def scaled(x):
        def gen():
            b = np.zeros(2)
            for i in range(3):
                b[:] = i
                yield b * x

        return sum(np.sum(v * x) for v in gen())

    def grown(x):
        def gen(y):
            y = y * 1.0
            for _ in range(3):
                yield y
                y *= 2  # refused

        return sum(np.sum(v) for v in gen(x))

    check(reused, 0.7)
    check(scaled, 0.7)
    check_refused(MutationError, grown, np.ones(2))


def test_containers_beside_generators():
    """Where the consumer writes into a container, a generator of numbers stays supported, one of containers not."""

    def appended(x):
        out = []
        for v in forever(x):
            out.append(v * x)
            if len(out) > 3:
                break
        return out[1] * out[2]

    def listed(x):
        out = []
        out.append(sum(list(forever_three(x))))
        a, *rest = forever_three(x)
        out.append(rest[0] * a)
        return out[0] * out[1]

    def containers(x):
        def gen(xs):
            yield from xs

        out = [x, x * 2]
        s = 0.0
        for v in gen(out):  # refused
            out[1] = v * 3
            s = s + v
        return s

    check(appended, 0.7)
    check(listed, 0.7)
    check_refused(MutationError, containers, 0.7)


def forever_three(x):
    for _ in range(3):
        yield x
        x = x * 1.3


def test_exceptions():
    """Exceptions are Python's own."""

    def exhausted(x):
        g = powers(x, 1)
        return next(g) + next(g)

    def too_few(x):
        a, b = powers(x, 1)
        return a * b

    def too_many(x):
        a, b = forever(x)
        return a * b

    def fails(x):
        def gen():
            yield x
            raise ValueError("no more")

        return sum(gen())

    check_raises(StopIteration, exhausted, 0.7)
    check_raises(ValueError, too_few, 0.7)
    check_raises(ValueError, too_many, 0.7)
    check_raises(ValueError, fails, 0.7)


# --- random programs -----------------------------------------------------------------------------------------


@st.composite
def statements(draw, depth, names):
    """The lines of a generator's body."""
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        form = draw(st.sampled_from(["set", "yield", "yield", "if", "for", "from", "exit"]))
        target, a, b = (draw(st.sampled_from(names)) for _ in range(3))
        op = draw(st.sampled_from([f"{a} * 0.7 + {b}", f"np.sin({a}) * {b}", f"{a} - {b} * {b} * 0.1"]))
        if form == "set":
            lines.append(f"{target} = {op}")
        elif form == "yield":
            lines += [f"yield {op}", f"LOG.append({draw(st.integers(0, 99))})"]
        elif form == "from" and depth:
            lines.append(f"yield from inner({op})")
        elif form == "exit" and depth < 2:
            lines += [f"if {a} > {draw(st.sampled_from([0.5, 1.0, 3.0]))}:", "    return"]
        elif depth:
            inner = draw(statements(depth - 1, names))
            leave = draw(st.sampled_from([[], ["continue"], ["break"]])) if form == "for" else []
            if leave:
                leave = [f"if {b} > 0.4:", *("    " + line for line in leave)]
            head = f"if {a} > {b}:" if form == "if" else f"for k{depth} in range({draw(st.integers(0, 3))}):"
            lines += [head, *("    " + line for line in [*leave, *inner])]
    return lines or ["yield x"]


CONSUMERS = [
    "for v in g:\n        s = s * 0.9 + v",
    "for i, v in enumerate(g):\n        LOG.append(i)\n        s = s * 0.9 + v * i\n        if i > 2: break",
    "for v, u in zip(g, [1.0, 2.0]):\n        s = s + v * u * y",
    "for u, v in zip([1.0, 2.0, 3.0], g):\n        s = s + v * u * y\n        if v > 1: continue\n        s = s * 1.1",
    "for u, v in zip(g, g):\n        s = s + v * u * y",
    "s = sum(g) * y",
    "s = next(g, y) * next(g, 2.0) + sum(list(g))",
    "for v in g:\n        s = s + v * next(g, y)\n        if s > 4: return s * v",
    "while s < 9:\n        try:\n            s = s + next(g)\n            LOG.append('took')\n"
    "            s = s * y + next(g)\n        except StopIteration:\n            break",
]


@examples(max_examples=MANY or 40)
@given(st.data())
def test_random_programs(data):
    """Random generators, taken in all ways, have the values, effects and derivatives of the plain program."""
    body = data.draw(statements(2, ["x", "y"]))
    consumer = data.draw(st.sampled_from(CONSUMERS))
    again = data.draw(st.sampled_from(["", *CONSUMERS]))
    lines = ["def inner(x):", "    for j in range(2):", "        yield x * (j + 1)", "        x = x * 0.8"]
    lines += ["def gen(x, y):", *("    " + line for line in body), "    yield x * y"]
    lines += ["def program(x, y):", "    s = 0.5", "    g = gen(x, y)", f"    {consumer}"]
    lines += [f"    {again}", "    return s + x"]
    text = "\n".join(lines)
    program = written(text)
    args = (data.draw(st.sampled_from([0.3, 0.8, 1.3])), data.draw(st.sampled_from([0.45, 0.95, 1.6])))
    LOG.clear()
    value = program(*args)
    plain = LOG[:]
    if not np.isfinite(value) or abs(value) > 1e3:
        return
    LOG.clear()
    pullback(program, *args)
    assert plain == LOG, text
    if jumps(program, *args):
        return
    check(program, *args, before=LOG.clear, modes=("pullback", "single use"))


def jumps(program, x, y):
    """Whether a test of the program changes its answer within the steps of a difference quotient."""

    def slopes(h):
        return [
            (program(x + h, y) - program(x - h, y)) / (2 * h),
            (program(x, y + h) - program(x, y - h)) / (2 * h),
        ]

    return not np.allclose(slopes(2 * STEP), slopes(STEP / 8), rtol=1e-3, atol=1e-4)


def written(text):
    """The function `program` of a text, with a source."""
    import linecache

    name = f"<generated {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"np": np, "LOG": LOG, "__name__": "generated"}
    exec(compile(text, name, "exec"), space)
    return space["program"]
