"""Forward rules: how they are declared, which one answers a call, and the tangents that declarations give."""

import sys
import types

import numpy as np
import pytest

from adcompiler import frule, rrule, scalar_rule
from adcompiler.forward_call import forward_call
from adcompiler.rules import registry
from adcompiler.rules.forward import forward_rule
from adcompiler.rules.registry import lookup, on_register


def new_function():
    """A function of two arguments that no other test has a rule for."""
    return lambda x, y=2.0: x * y


def reverse_rule(x, y=2.0):
    """A rule of such a function."""
    return x * y, lambda bar: (bar * y, bar * x)


def forward(tangents, x, y=2.0):
    """A forward rule, with another factor so that it can be told."""
    return x * y, 7.0 * tangents[0]


def test_an_explicit_rule_gives_value_and_tangent():
    """It is found by its function, and comes before what the reverse rule declares."""
    f = new_function()
    rrule(f, linear=("x",))(reverse_rule)
    frule(f)(forward)
    assert forward is forward_rule(f)
    assert (6.0, 14.0) == forward_call(lookup(f)[0], f, (3.0, 2.0), (2.0, None))


def test_a_function_may_have_a_forward_rule_only():
    """Arguments and tangents are then in the order of the rule's own parameters."""
    f = new_function()
    frule(f)(forward)
    assert forward is forward_rule(f)
    assert (6.0, 14.0) == forward_call(None, f, (3.0, 2.0), (2.0, None))


def test_a_later_rule_replaces_an_earlier_one():
    """Of the same user, and a built-in one."""
    f = new_function()
    frule(f)(forward)
    later = lambda tangents, x, y=2.0: (x * y, 0.0)
    frule(f)(later)
    assert later is forward_rule(f)


def test_a_rule_may_have_other_names_and_fewer_parameters():
    """It answers the calls that it takes; others go to what comes next."""
    f = new_function()
    rrule(f, multilinear=("x", "y"))(reverse_rule)
    frule(f)(lambda tangents, a: (2.0 * a, 7.0 * tangents[0]))
    assert (6.0, 14.0) == forward_call(lookup(f)[0], f, (3.0, reverse_rule.__defaults__[0]), (2.0, None))
    assert (15.0, 10.0) == forward_call(lookup(f)[0], f, (3.0, 5.0), (2.0, None))


def test_a_rule_may_decline():
    """What the reverse rule declares comes next."""
    f = new_function()
    rrule(f, linear=("x",))(reverse_rule)
    frule(f)(lambda tangents, x, y=2.0: NotImplemented)
    assert (15.0, 10.0) == forward_call(lookup(f)[0], f, (3.0, 5.0), (2.0, None))
    assert NotImplemented is forward_call(lookup(f)[0], f, (3.0, 5.0), (2.0, 1.0))


def test_a_built_in_rule_does_not_hold_for_a_reverse_rule_of_the_user(monkeypatch):
    """A user who gives a function another derivative backwards has it forwards too."""
    monkeypatch.setattr(registry, "_rules", registry._rules)
    assert forward_rule(np.float32) is not None
    rrule(np.float32, linear=("x",))(lambda x: (np.float32(x), lambda bar: (bar,)))
    assert forward_rule(np.float32) is None


def test_registration_is_announced():
    """Compiled code that concerns a function is reset when the function gets a forward rule."""
    heard, f = [], new_function()
    on_register(heard.append)
    frule(f)(forward)
    assert (f,) in heard


def test_cupy_functions_have_the_rules_of_numpy(monkeypatch):
    """The public function of CuPy is found by identity, under the name it has in NumPy."""
    cupy = types.ModuleType("cupy")
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    cupy.float32 = new_function()
    cupy.float32.__name__ = "float32"
    assert forward_rule(np.float32) is forward_rule(cupy.float32) is not None


def test_partials_give_the_tangent():
    """The sum of the partials, times the tangents."""

    def f(x, y):
        return x * y

    rule = scalar_rule(f, lambda x, y: y, lambda x, y, out: out / y)
    assert (6.0, 3.0 * 5.0 + 2.0 * 7.0) == forward_call(rule, f, (2.0, 3.0), (5.0, 7.0))


def test_linear_parameters_without_tangent_count_as_zeros():
    """The tangent has the shape of the value also where the operand with a tangent is smaller."""
    (rule, *_) = lookup(np.add)
    y, y_dot = forward_call(rule, np.add, (np.ones((2, 3)), np.ones(3)), (None, np.arange(3.0)))
    np.testing.assert_array_equal([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]], y_dot)
    assert (2, 3) == y.shape


def test_tangents_of_single_precision_stay_single():
    """Also where a part has none."""
    (rule, *_) = lookup(np.concatenate)
    x = np.ones(2, "float32")
    _, y_dot = forward_call(rule, np.concatenate, ((x, x), 0, None, "same_kind"), ((None, x), None, None, None))
    np.testing.assert_array_equal(np.array([0, 0, 1, 1], "float32"), y_dot, strict=True)


def test_products_have_a_term_for_each_factor():
    """Einsum among them, whose factors are any number."""
    (rule, *_) = lookup(np.einsum)
    a, b, v = np.arange(4.0).reshape(2, 2), np.eye(2) * 3.0, np.ones((2, 2))
    _, y_dot = forward_call(rule, np.einsum, ("ij,jk->ik", (a, b), False), (None, (v, None), None))
    np.testing.assert_array_equal(v @ b, y_dot)
    _, y_dot = forward_call(rule, np.einsum, ("ij,jk->ik", (a, b), False), (None, (v, v), None))
    np.testing.assert_array_equal(v @ b + a @ v, y_dot)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: frule(), r"frule needs the function that it is for"),
        (lambda: frule("numpy.sin"), "functions and descriptors such as np.ndarray.T, not for 'numpy.sin'"),
        (lambda: frule(np.sin)(3), r"a forward rule is a function that returns \(y, y_dot\), not 3"),
        (lambda: frule(np.sin)(lambda x: x), "the first parameter of a forward rule is the tuple `tangents`"),
        (lambda: rrule(np.sin, linear=("z",))(reverse_rule), "linear names 'z', which is no parameter of reverse_rule"),
        (lambda: rrule(np.sin, multilinear="xy")(reverse_rule), r"multilinear=\('xy',\)"),
    ],
)
def test_declarations_that_make_no_sense_say_why(declare, message):
    """The message names the function and what to write instead."""
    with pytest.raises((TypeError, ValueError), match=message):
        declare()


@pytest.mark.parametrize("f", [np.log, np.log2, np.log10, np.sqrt, np.cbrt, np.reciprocal, np.arccosh, np.log1p])
def test_a_zero_tangent_stays_zero_where_the_slope_is_infinite(f):
    """At 0, at infinity and outside of the domain; another element has its tangent."""
    x = np.array([0.0, -1.0, 1.0, np.inf, -3.0, 4.0])
    with np.errstate(all="ignore"):
        _, y_dot = forward_call(lookup(f)[0], f, (x,), (np.array([0.0, 0.0, 0.0, 0.0, 0.0, 2.0]),))
    np.testing.assert_array_equal(np.zeros(5), y_dot[:5])
    assert np.isfinite(y_dot[5])
    assert 0.0 != y_dot[5]


def test_a_zero_tangent_of_a_quotient_and_of_a_power_stays_zero():
    """Where the denominator is 0, and where a root is taken of 0."""
    for f, args in ((np.divide, (np.ones(2), np.zeros(2))), (np.power, (np.zeros(2), np.full(2, 0.5)))):
        with np.errstate(all="ignore"):
            _, y_dot = forward_call(lookup(f)[0], f, args, (np.zeros(2), np.zeros(2)))
        np.testing.assert_array_equal(np.zeros(2), y_dot)


def test_ties_are_shared_as_in_the_reverse_rules():
    """Of a maximum of two arrays, of one array, and of a median; the size of 0 is flat."""
    x, v = np.array([2.0, 2.0, 1.0]), np.array([1.0, 3.0, 7.0])
    (rule, *_) = lookup(np.maximum)
    np.testing.assert_array_equal([0.5, 1.5, 0.0], forward_call(rule, np.maximum, (x, 2.0), (v, None))[1])
    assert 2.0 == forward_call(lookup(np.max)[0], np.max, (x, None, False), (v, None, None))[1]
    assert 2.0 == forward_call(lookup(np.median)[0], np.median, (x, None, False), (v, None, None))[1]
    np.testing.assert_array_equal([0.0, 3.0], forward_call(lookup(abs)[0], abs, (np.array([0.0, 1.0]),), (v[:2],))[1])
