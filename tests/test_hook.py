"""`hook(fn, x)`: the value is x, and `fn` sees the cotangent of this use of it, which it may replace."""

import functools
import weakref
from collections import namedtuple

import numpy as np
import pytest

from adcompiler import (
    MutationError,
    TangentError,
    UnsupportedSyntaxError,
    differentiable,
    gradient,
    hook,
    pullback,
    stop_gradient,
    value_and_grad,
)
from adcompiler.runtime.hooks import Hook

Point = namedtuple("Point", "a b")


class Layer:
    def __init__(self, W, b):
        self.W = W
        self.b = b

    def total(self):
        return np.sum(self.W) * self.b


def negated(g):
    return -g


def both_modes(f, *args):
    """The gradients of all arguments, by the pullback that is called once and by the one that may be called again."""
    value, once = pullback(f, *args, single_use=True)
    _, back = pullback(f, *args)
    grads = once(np.ones_like(value)), back(np.ones_like(value)), back(np.ones_like(value))
    for other in grads[1:]:
        for g, h in zip(grads[0], other, strict=True):
            np.testing.assert_equal(h, g)
    return grads[0]


# --- what it sees -----------------------------------------------------------------------------------------


def test_outside_of_a_derivative_it_gives_the_value_itself():
    """A plain call gives x and calls nothing."""
    x = np.ones(3)
    assert x is hook(lambda g: 1 / 0, x)
    with pytest.raises(TypeError, match="'float' object is not callable"):
        hook(2.0, x)


def test_it_sees_the_cotangent_and_none_leaves_it():
    """The cotangent of h in sum(h * h) is 2 h."""
    seen = []

    def f(x):
        h = hook(seen.append, np.tanh(x))
        return np.sum(h * h)

    x = np.array([0.3, -0.7])
    np.testing.assert_allclose(gradient(f)(x), 2 * np.tanh(x) * (1 - np.tanh(x) ** 2))
    np.testing.assert_allclose(seen, [2 * np.tanh(x)])


def test_it_replaces_the_cotangent():
    """d(3 x y) with the cotangent of x negated."""
    assert (-3.0, 2.0) == gradient(lambda x, y: hook(negated, x) * y, (0, 1))(2.0, 3.0)


def test_it_is_local_to_one_use():
    """Of a * a only one factor is hooked: its cotangent is a, ten times of which and a are 11 a."""
    seen = []

    def note(g):
        seen.append(g)
        return 10 * g

    assert 22.0 == gradient(lambda a: hook(note, a) * a)(2.0)
    assert [2.0] == seen


def test_hooks_of_hooks_run_from_the_outer_to_the_inner():
    """The last hook in the forward is the first in the pullback."""
    seen = []

    def note(name):
        def fn(g):
            seen.append((name, g))
            return g + 1

        return fn

    assert 4.0 == gradient(lambda x: 2.0 * hook(note("outer"), hook(note("inner"), x)))(1.0)
    assert [("outer", 2.0), ("inner", 3.0)] == seen


@pytest.mark.parametrize(
    "x", [1.5, 1.5 + 2j, np.float32(1.5), np.array(1.5), np.ones((2, 3)), np.ones(3, np.float32), np.ones((0, 3))]
)
def test_the_cotangent_has_the_form_of_the_value(x):
    """Type, dtype and shape are those of x, also where the cotangent is a number that is to be broadcast."""
    seen = []
    pullback(lambda x: np.sum(np.real(hook(seen.append, x))), x)[1](1.0)
    (g,) = seen
    assert type(x) is type(g)
    assert np.shape(x) == np.shape(g)
    assert np.asarray(x).dtype == np.asarray(g).dtype
    np.testing.assert_array_equal(g, np.ones(np.shape(x)))


def test_of_a_real_value_it_sees_the_real_part():
    """x (1 + i) has the real part x."""
    seen = []
    gradient(lambda x: np.sum(np.real(hook(seen.append, x) * (1 + 1j))))(np.ones(2))
    assert [np.float64] == [g.dtype for g in seen]


def test_of_a_dict_it_sees_a_dict_with_every_key():
    """What has no influence is None, as in a gradient; what is returned may be used further on."""
    seen = []

    def clipped(g):
        seen.append(g)
        return {"w": g["w"] / 2, "b": [5.0]}

    def f(p):
        q = hook(clipped, p)
        return np.sum(q["w"] * 3.0) + p["b"][0]

    g = gradient(f)({"w": np.ones(2), "b": [1.0], "n": 7})
    np.testing.assert_equal(g, {"w": np.array([1.5, 1.5]), "b": [6.0], "n": None})
    np.testing.assert_equal(seen, [{"w": np.array([3.0, 3.0]), "b": None, "n": None}])


def test_of_tuples_lists_and_named_tuples():
    """The same container goes in, and its cotangent comes out."""
    seen = []

    def doubled(g):
        seen.append(g)
        return type(g)(*(2 * c for c in g)) if hasattr(g, "_fields") else type(g)(2 * c for c in g)

    def f(x):
        a, b = hook(doubled, (x, 3.0 * x))
        c = hook(doubled, [x, a])
        p = hook(doubled, Point(c[0], c[1]))
        return p.a * 5.0 + p.b * 7.0 + b

    # p_bar (5, 7) → (10, 14) → c_bar (20, 28) → x gets 20, a gets 28; (28, 1) → (56, 2) → 56 + 3 * 2.
    assert 20.0 + 56.0 + 6.0 == gradient(f)(1.0)
    assert [Point(5.0, 7.0), [10.0, 14.0], (28.0, 1.0)] == seen


def test_of_an_object_it_sees_a_tangent():
    """The methods of what is hooked are followed."""
    seen = []
    g = gradient(lambda layer: hook(seen.append, layer).total())(Layer(np.ones(2), 3.0))
    np.testing.assert_array_equal(g.W, [3.0, 3.0])
    assert 2.0 == g.b
    (t,) = seen
    np.testing.assert_array_equal(t.W, [3.0, 3.0])
    assert 2.0 == t["b"]


@pytest.mark.parametrize("fn", [lambda g: g * 3, functools.partial(np.multiply, 3.0), Layer(3.0, 0).W.__mul__])
def test_any_callable_will_do(fn):
    """Lambdas, partials, methods of builtins."""
    assert 6.0 == gradient(lambda x: hook(fn, x) * 2.0)(1.0)


def test_local_functions_see_their_variables_as_in_python():
    """`nonlocal` works, and the function sees what the variables are when the pullback runs."""

    def f(x):
        n = 0
        scale = x * 2.0

        def counted(g):
            nonlocal n
            n += 1
            return g * scale

        for _ in range(3):
            x = hook(counted, x)
        scale = 10.0
        return x * 1.0, lambda: n

    (_, count), g = value_and_grad(f, has_aux=True)(3.0)
    assert 1000.0 == g
    assert 3 == count()


def test_methods_keep_what_they_see():
    """A bound method of an object that is captured or an argument."""

    class Log(list):
        def note(self, g):
            self.append(g)

    log, other = Log(), Log()
    assert 2.0 == gradient(lambda x, log: hook(log.note, x) * 2.0)(3.0, log)
    assert 2.0 == gradient(lambda x: hook(other.note, x) * 2.0)(3.0)
    assert [[2.0], [2.0]] == [log, other]


def test_a_hook_may_print(capsys):
    """Effects happen once for each run of the pullback."""
    _, back = pullback(lambda x: hook(print, x * 2.0), 1.0)
    assert "" == capsys.readouterr().out
    back(1.0), back(5.0)
    assert "1.0\n5.0\n" == capsys.readouterr().out


def test_aux_may_hold_what_was_seen():
    """The list that is returned beside the value is filled by the pullback."""

    def f(p):
        seen = []
        q = hook(seen.append, p)
        return q["w"] * q["w"], seen

    (value, seen), g = value_and_grad(f, has_aux=True)({"w": 3.0})
    assert (9.0, {"w": 6.0}, [{"w": 6.0}]) == (value, g, seen)


# --- where it is called -----------------------------------------------------------------------------------


def test_what_no_cotangent_reaches_is_not_looked_at():
    """Neither a value without influence, nor a constant, nor the branch that was not taken, nor a cotangent None."""

    def f(x, n, up):
        hook(lambda g: 1 / 0, x)
        y = hook(lambda g: 1 / 0, x)  # noqa: F841
        k = hook(lambda g: 1 / 0, n)
        z = hook(lambda g: 1 / 0, x) if up else x
        return z * 2.0 * k

    def later(x, n):
        y = hook(lambda g: 1 / 0, x)
        pair = (hook(lambda g: 1 / 0, x), x)
        s = x * 1.0
        for i in range(n):
            s += y * i
        return s + pair[0] if n else s + pair[1]

    assert 6.0 == gradient(f)(1.0, 3, False)
    assert 2.0 == gradient(later)(1.0, 0)
    pullback(lambda x: hook(lambda g: 1 / 0, x), 2.0)[1](None)
    pullback(lambda x: hook(lambda g: 1 / 0, (x, x)), 2.0)[1]((None, None))


def test_branches_and_loops():
    """Each run of the statement is a use of its own."""

    def f(x, n):
        y = x * 2.0 if n else hook(negated, x)
        while n < 3:
            y = hook(lambda g: g * 2.0, y)
            n += 1
            if n == 2:
                continue
            try:
                y = hook(lambda g: g * 3.0, y)
            finally:
                y = y * 1.0
        return y

    assert (2.0 * 4 * 3,) == both_modes(lambda x: f(x, 1), 1.0)
    assert (-1.0 * 8 * 9,) == both_modes(lambda x: f(x, 0), 1.0)


def test_comprehensions_generators_and_helpers():
    """Three items, hooked in three ways."""

    def helper(x):
        return hook(negated, x) * 2.0

    def items(x):
        for i in range(3):
            yield hook(negated, x * i)

    assert (-3.0,) == both_modes(lambda x: sum([hook(negated, x * i) for i in range(3)]), 1.0)
    assert (-3.0,) == both_modes(lambda x: sum(items(x)), 1.0)
    assert (0.0,) == both_modes(lambda x: helper(x) * x, 3.0)


def test_calls_that_are_known_at_run_time_only():
    """Passed on, kept in a container, bound by a partial, with keywords and stars."""
    for f in (
        lambda x: {"h": hook}["h"](negated, x) * x,
        lambda x: functools.partial(hook, negated)(x) * x,
        lambda x: hook(x=x, fn=negated) * x,
        lambda x: hook(*(negated, x)) * x,
    ):
        assert (0.0,) == both_modes(f, 3.0)
    assert -3.0 == gradient(lambda h, x: h(negated, x) * 3.0, 1)(hook, 2.0)
    assert -3.0 == gradient(lambda hs, x: hs[0](negated, x=x) * 3.0, 1)([hook], 2.0)
    assert -3.0 == gradient(lambda h, x: h(x) * 3.0, 1)(functools.partial(hook, negated), 2.0)
    assert -3.0 == gradient(lambda x: sum(map(functools.partial(hook, negated), [x, 2 * x])))(3.0)
    assert -3.0 == gradient(lambda *a: hook(*a) * 3.0, 1)(negated, 2.0)


class Scale:
    """An object whose method is stopped."""

    def __init__(self, w):
        self.w = w

    def of(self, x):
        return self.w * x


def square(x):
    return x * x


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: stop_gradient(square)(x) * x, 9.0),
        (lambda x: stop_gradient(np.sin)(x) * x, np.sin(3.0)),
        (lambda x: stop_gradient(lambda t: t * x)(x) * x, 9.0),
        (lambda x: stop_gradient(lambda: x * x)() * x, 9.0),
        (lambda x: stop_gradient(Scale(x).of)(x) * x, 9.0),
        (lambda x: [square, stop_gradient(square)][-1](x) * x, 9.0),
        (lambda x: sum(map(stop_gradient(square), [x, x])) * x, 18.0),
    ],
)
def test_the_results_of_a_function_are_constants(f, slope):
    """`stop_gradient` of a function, known or found at run time, with what it has captured."""
    assert f(3.0) == pytest.approx(slope * 3.0)
    assert (slope,) == both_modes(f, 3.0)


def test_itself_differentiated():
    """The gradient of `hook` and of `stop_gradient` themselves."""
    assert -1.0 == gradient(hook, "x")(negated, 3.0)
    assert 0.0 == gradient(stop_gradient)(3.0)
    assert 3.0 == gradient(lambda fs, x: fs[0](x) * x, 1)([stop_gradient], 3.0)


def test_how_it_is_printed():
    """The forward makes the hook, and the pullback calls it with the cotangent."""

    @differentiable
    def f(x):
        y = hook(print, x * 2.0)
        return y * y

    text = f.source(1.0, wrt="x")
    assert "y_hook = Hook(print, t1)\n    y = t1\n" in text
    assert "return y_hook(2 * value_bar * y) * 2.0\n" in text


# --- memory -----------------------------------------------------------------------------------------------


def test_what_it_keeps_does_not_change():
    """Neither by what is added to the cotangent later, nor by who writes into the gradient."""
    seen = []

    def f(x):
        y = x * 1.0
        h = hook(seen.append, y)
        total = np.sum(h * 2.0)
        for i in range(3):
            total += h[i] * i + y[i] * (i + 1.0)
        return total

    g = gradient(f)(np.ones(3))
    np.testing.assert_array_equal(g, [3.0, 5.0, 7.0])
    g += 100
    np.testing.assert_array_equal(seen, [[2.0, 3.0, 4.0]])


def test_what_it_returns_and_keeps_does_not_change():
    """The returned array belongs to the function."""
    seen = []

    def kept(g):
        seen.append(g)
        return g

    g = gradient(lambda x: np.sum(hook(kept, x) * 2.0) + x[0])(np.ones(2))
    g += 100
    np.testing.assert_array_equal(seen, [[2.0, 2.0]])


def test_what_it_writes_into_its_cotangent_stays_there():
    """None means unchanged, whatever became of the copy; other cotangents that shared its memory are what they were."""

    def spoilt(g):
        g[...] = np.nan

    def f(x):
        y = x * 1.0
        return np.sum(hook(spoilt, y) + y + hook(spoilt, x))

    np.testing.assert_array_equal(gradient(f)(np.ones(2)), [3.0, 3.0])

    def spoilt_dict(g):
        g["a"][...] = np.nan
        g["b"] = None

    g = gradient(lambda p: np.sum(hook(spoilt_dict, p)["a"] * p["a"]))({"a": np.ones(2), "b": 1.0})
    np.testing.assert_equal(g, {"a": np.array([2.0, 2.0]), "b": None})


def test_a_buffer_that_is_returned_again_and_again():
    """What was returned before is not what is in the buffer now."""
    buffer = np.zeros(3)

    def doubled(g):
        buffer[:] = 2 * g
        return buffer

    def f(x):
        return np.sum(hook(doubled, x * 1.0) * np.arange(3.0)) + np.sum(hook(doubled, x * 3.0))

    np.testing.assert_array_equal(gradient(f)(np.ones(3)), 2 * np.arange(3.0) + 6.0)


# --- what it returns --------------------------------------------------------------------------------------


def test_what_it_returns_takes_the_form_of_the_value():
    """A number is broadcast, the dtype is that of x, of a complex number for a real x the real part remains."""
    x = np.ones(2, np.float32)
    for fn, expected in ((lambda g: 5, 5.0), (lambda g: g.astype(float) * 2, 2.0), (lambda g: g * (3 + 1j), 3.0)):
        g = gradient(lambda x, fn=fn: np.sum(hook(fn, x)))(x)
        assert np.float32 == g.dtype
        np.testing.assert_array_equal(g, [expected, expected])


def of_wrong_shape(x):
    return np.sum(hook(lambda g: np.ones(5), x))


def of_wrong_type(x):
    return np.sum(hook(lambda g: "text", x))


def of_wrong_entries(x):
    return np.sum(hook(lambda g: {"b": g["a"]}, {"a": x})["a"])


def of_wrong_length(x):
    return np.sum(hook(lambda g: (g[0],), (x, x))[0])


@pytest.mark.parametrize("f", [of_wrong_shape, of_wrong_type, of_wrong_entries, of_wrong_length])
def test_what_does_not_fit_is_an_error_at_the_users_line(f):
    """A cotangent of another shape, type or structure cannot be that of the value."""
    with pytest.raises(
        TangentError, match=r"(?s)a hook returned what cannot be used: .*test_hook\.py.*Give "
    ) as raised:
        gradient(f)(np.ones(3))
    assert f.__code__.co_firstlineno + 1 == raised.value.origin.line


@pytest.mark.parametrize("error", [ValueError, TypeError, KeyError])
def test_exceptions_come_through_with_the_users_line(error):
    """What the function raises is not wrapped."""
    mine = error("mine")

    def raising(g):
        raise mine

    for f in (lambda x: hook(raising, x) * 2.0, lambda x: [hook][0](raising, x) * 2.0):
        with pytest.raises(error) as raised:
            gradient(f)(1.0)
        assert mine is raised.value
        assert any("test_hook.py" in note for note in raised.value.__notes__)


def test_what_cannot_be_called_is_pythons_error():
    """The forward raises what the plain call raises, with a note of the line."""
    with pytest.raises(TypeError, match="'int' object is not callable") as raised:
        gradient(lambda x: hook(3, x) * 2.0)(1.0)
    assert any("test_hook.py" in note for note in raised.value.__notes__)


# --- what is written into ---------------------------------------------------------------------------------


def test_results_that_are_added_to():
    """`h += x` on what nobody else holds is as `h = h + x`."""

    def f(x):
        h = hook(negated, np.tanh(x))
        h += x
        return np.sum(h)

    x = np.array([0.3, -0.7])
    np.testing.assert_allclose(gradient(f)(x), 1 - (1 - np.tanh(x) ** 2))


def test_arrays_that_are_written_into_are_refused():
    """One memory has one cotangent; a copy has its own."""

    def refused(x):
        y = np.zeros(3)
        y[0] = x
        return hook(negated, y)[0] * 2.0

    def after(x):
        h = hook(negated, x)
        h[0] = 0.0
        return np.sum(h)

    def copied(x):
        y = np.zeros(3)
        y[0] = x
        return hook(negated, y.copy())[0] * 2.0

    def copied_after(x):
        h = hook(negated, x).copy()
        h[0] = 0.0
        return np.sum(h)

    for f, x in ((refused, 1.0), (after, np.ones(2))):
        with pytest.raises(MutationError, match=r"(?s)written into.*test_hook\.py.*copy"):
            gradient(f)(x)
    with pytest.raises(MutationError, match=r"(?s)written into.*test_hook\.py.*copy"):
        gradient(lambda hs, x: after_the_run(hs, x), 1)([hook], 1.0)
    assert -2.0 == gradient(copied)(1.0)
    np.testing.assert_array_equal(gradient(copied_after)(np.ones(2)), [0.0, -1.0])


def after_the_run(hs, x):
    y = np.zeros(3)
    y[0] = x
    return hs[0](negated, y)[0] * 2.0


def of_a_list(f, x):
    xs = []
    xs.append(x)
    return f(xs)[0] * x


def of_a_loaded_list(f, x):
    xs = [[]]
    xs[0].append(x)
    return f(xs[0])[0] * x


def of_an_object(f, x):
    layer = Layer(x, x)
    layer.W = 3.0 * x
    return f(layer).W * x


def of_a_tuple(f, x):
    xs = []
    xs.append(x)
    pair = f((xs, x))
    inside = pair[0]
    return inside[0] * x


def by_hook(x):
    return hook(negated, x)


@pytest.mark.parametrize("f", [of_a_list, of_a_loaded_list, of_an_object, of_a_tuple])
@pytest.mark.parametrize(
    "g",
    [
        lambda f: gradient(lambda x: f(stop_gradient, x)),
        lambda f: gradient(lambda x: f(by_hook, x)),
        lambda f: functools.partial(gradient(f, 1), stop_gradient),
        lambda f: functools.partial(gradient(f, 1), functools.partial(hook, negated)),
    ],
)
def test_containers_that_are_written_into_are_refused(f, g):
    """The object itself has one cotangent: neither is it kept where it should be dropped, nor seen for one use only."""
    with pytest.raises(UnsupportedSyntaxError, match=r"in a program that writes into such(?s:.*)test_hook\.py"):
        g(f)(3.0)


def test_numbers_and_arrays_beside_containers_that_are_written_into():
    """What the refusal says to do."""

    def f(x, p):
        xs = []
        xs.append(x)
        q = {k: stop_gradient(v) for k, v in p.items()}
        r = {k: hook(negated, v) for k, v in p.items()}
        return q["a"] * xs[0] * p["a"] + r["b"]

    assert (4.0, {"a": 6.0, "b": -1.0}) == gradient(f, (0, 1))(3.0, {"a": 2.0, "b": 1.0})


def nothing(values, g):
    pass


def grown(values, g):
    values.append(g)


def emptied(values, g):
    values.clear()


def replaced(values, g):
    values[:] = [[g]] * 5


@pytest.mark.parametrize("change", [nothing, grown, emptied, replaced])
def test_a_hook_may_change_the_lists_of_the_program(change):
    """What the pullback needs of them it has kept."""

    def f(x):
        values = [x]
        values.append(x * x)
        y = hook(lambda g: change(values, g), x)
        values.append(y * x)
        squares = 0.0
        for v in values:
            squares = squares + v * v
        z = hook(lambda g: change(values, g), squares)
        total = sum(values)
        u = hook(lambda g: change(values, g), values[-1])
        popped = values.pop()
        a, b = values
        return z * values[0] + y * values[1] + total + u * popped + a * b

    # x (x^2 + 2 x^4) + x^3 + (x + 2 x^2) + x^4 + x^3
    x = 1.3
    expected = 3 * x**2 + 10 * x**4 + 3 * x**2 + 1 + 4 * x + 4 * x**3 + 3 * x**2
    assert gradient(f)(x) == pytest.approx(expected, rel=1e-12)


def test_functions_are_refused():
    """The cotangent of a function is that of what it captured."""
    with pytest.raises(UnsupportedSyntaxError, match=r"(?s)hook\(\) of a function.*test_hook\.py"):
        gradient(lambda x: hook(negated, lambda t: t * x)(2.0))(3.0)
    with pytest.raises(UnsupportedSyntaxError, match=r"(?s)hook\(\) of a function.*test_hook\.py"):
        gradient(lambda fs, x: fs[0](negated, lambda t: t * x)(2.0), 1)([hook], 3.0)


def test_no_array_is_kept():
    """The pullback holds the shape and the dtype of what is hooked."""
    x = np.ones(5, np.float32)
    made = Hook(lambda g: {"a": (-g["a"][0], None)}, {"a": (x, 3)})
    gone = weakref.ref(x)
    del x
    assert gone() is None
    g, rest = made({"a": (np.ones(5), None)})["a"]
    assert (np.float32, None) == (g.dtype, rest)
    np.testing.assert_array_equal(g, np.full(5, -1.0))
