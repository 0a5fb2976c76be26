"""Calls, keywords, closures, signatures and guards: arguments that were once lost, and facts that were once kept."""

import copy
import functools
import inspect
import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from adcompiler import (
    DifferentiationError,
    NoRuleError,
    differentiable,
    gradient,
    pullback,
    stop_gradient,
)
from tests.promises import check, check_refused

X = np.array([0.3, -0.7, 1.2])


def programs(*functions):
    """A parameter for each function, with its name."""
    return pytest.mark.parametrize("program", functions, ids=lambda f: f.__name__)


def accepted_or_refused(f, *args):
    """Check the derivative, unless the program is refused with a place: a wrong number is all that must not be."""
    try:
        pullback(f, *copy.deepcopy(args))
    except DifferentiationError as error:
        assert __file__ in str(error)  # noqa: PT017
    else:
        check(f, *args)


# Keywords and constructors


@dataclass
class Layer:
    """A class whose constructor takes arrays."""

    w: object


def into_a_dataclass(x):
    p = Layer(w=x)  # refused
    return np.sum(p.w * p.w)


def into_a_dict(x):
    d = dict(a=x)  # refused
    return np.sum(d["a"] * 2)


def into_a_namespace(x):
    d = SimpleNamespace(a=x)  # refused
    return np.sum(d.a * 2)


def into_a_method_of_a_dict(x):
    d = {"w": 1.0}
    d.update(w=x)  # refused
    return np.sum(d["w"] * 2.0)


def into_a_function_without_rule(x):
    return np.sum(np.ma.median(a=x))  # refused


def into_an_output(x):
    y = np.zeros(3)
    np.copyto(dst=y, src=x)
    return np.sum(y * y)


@programs(into_a_dataclass, into_a_dict, into_a_namespace, into_a_method_of_a_dict, into_an_output)
def test_active_keywords_of_constructors(program):
    """An active value that is passed by keyword is differentiated, or refused with the line, and never lost."""
    accepted_or_refused(program, X)


@programs(into_a_function_without_rule)
def test_active_keywords_of_functions_without_a_rule(program):
    """A function without a rule is refused also if what is active is passed by keyword."""
    check_refused(DifferentiationError, program, X)


def affine(x, a, b=0.5):
    return a * x + b


def keywords_from_a_dict(x, y):
    options = {"a": y, "b": x}
    return affine(x, **options)


def keywords_passed_on(x, **options):
    return affine(x, **options)


def through_keywords(x, y):
    return keywords_passed_on(x, a=y, b=x * y)


def passes_positions_on(*args):
    return item_of_everything(*args)


def item_of_everything(t):
    return t[0] * t[1][0] * t[1][1]["k"]


def test_unpacked_keywords_and_positions():
    """`*args` and `**kwargs` of a known length are followed into the call."""
    accepted_or_refused(keywords_from_a_dict, 0.7, 0.3)
    accepted_or_refused(through_keywords, 0.7, 0.3)
    accepted_or_refused(passes_positions_on, (1.5, [np.ones(2), {"k": -0.5}]))


# Containers as arguments


def layers(parameters, x):
    for layer in parameters:
        x = np.tanh(layer["w"] @ x + layer["b"])
    return np.sum(x)


def key_that_is_a_tuple(p):
    return p[1, 2] * p[0]


def test_containers_in_containers():
    """A list of dicts, and a dict whose keys are tuples, are arguments like any other."""
    check(layers, [{"w": np.eye(2) * k, "b": np.ones(2)} for k in (0.5, 0.3)], np.array([0.2, -0.4]))
    accepted_or_refused(key_that_is_a_tuple, {(1, 2): 2.0, 0: 1.5})


def product_of_entries(q, p):
    return q["a"] * p["a"] * p["b"]


def stopped_and_not(p):
    return product_of_entries(stop_gradient(p), p)


def test_a_container_passed_twice():
    """A container that is passed twice, once under stop_gradient, has the derivative of the other."""
    assert gradient(stopped_and_not)({"a": 0.5, "b": 0.7}) == pytest.approx({"a": 0.35, "b": 0.25})


# Functions that are only known at run time


class Tripled:
    """One of two classes with a method of the same name."""

    @staticmethod
    def apply(x):
        return x * 3


class Quadrupled:
    """The other one."""

    @staticmethod
    def apply(x):
        return x * 4


def one_of_two_modules(x, c):
    lib = np if c > 0 else math
    return lib.sin(x)


def one_of_two_classes(x, c):
    cls = Tripled if c > 0 else Quadrupled
    return cls.apply(x)


def one_of_two_functions(x, c):
    f = np.sin if c > 0 else np.cos
    return f(x)


@programs(one_of_two_modules, one_of_two_classes, one_of_two_functions)
@pytest.mark.parametrize("c", [1.0, -1.0])
def test_callees_chosen_at_run_time(program, c):
    """A module, class or function that a branch chooses is called with a derivative, or refused."""
    accepted_or_refused(program, 0.7, c)


def called_with_numbers(f, x, y):
    return f(x, y)


@pytest.mark.parametrize("f", [np.add, np.subtract, np.multiply, np.divide, np.power, np.remainder], ids=repr)
def test_ufuncs_of_numbers_give_numbers_of_numpy(f):
    """A ufunc that is an argument makes Python's floats NumPy's, and divides by zero as NumPy does."""
    value, back = pullback(called_with_numbers, f, 0.7, 0.3)
    assert (type(f(0.7, 0.3)), f(0.7, 0.3)) == (type(value), value)
    assert (float, float) == tuple(map(type, back(1.0)[1:]))
    with np.errstate(divide="ignore"):
        assert np.inf == pullback(called_with_numbers, np.divide, 0.7, 0.0)[0]


def one_of_two_closures(x, c):
    k = 1.0
    if c > 0:
        g = lambda z: z * k
    else:
        g = lambda z: z + k
    k = x * x * 3
    return g(2.0)


def test_closures_chosen_at_run_time():
    """A closure that a branch chooses reads what it captured when it is called, or is refused."""
    accepted_or_refused(one_of_two_closures, 0.7, 1.0)
    accepted_or_refused(one_of_two_closures, 0.7, -1.0)


def vectorized(x):
    return np.sum(np.frompyfunc(lambda v: v * v, 1, 1)(x).astype(float))  # refused


def test_refusals_of_callees_name_the_line():
    """A callee without a derivative is refused with the line of the call, not of the generated text."""
    check_refused(DifferentiationError, vectorized, X)


# Closures


def default_is_a_value(x):
    g = lambda z, k=x: z * k
    x = x * x * 4
    return g(2.0) + x


def default_of_a_local_function(x):
    def g(z, k=x):
        return z * k

    x = x * x * 4
    return g(2.0) + x


@programs(default_is_a_value, default_of_a_local_function)
def test_active_defaults_of_local_functions(program):
    """The default of a local function carries the derivative of its definition, or is refused."""
    accepted_or_refused(program, 0.7)


def make(x):
    k = 2.0

    def g(z):
        return z * k

    g(x)
    k = x * 3
    return g


def closure_that_left_its_owner(x):
    g = make(x)
    z = x * 5
    return g(z)


def test_a_closure_that_leaves_its_owner():
    """A closure that was returned reads the last value of what it captured."""
    accepted_or_refused(closure_that_left_its_owner, 0.7)


def recursive_lambda(x, n):
    inner = lambda y, k: y * x if k == 0 else inner(y * x, k - 1)
    return inner(1.0, n)


def recursive_local_function(x, n):
    def inner(y, k):
        if k == 0:
            return y * x
        return inner(y * x, k - 1)

    return inner(1.0, n)


def mutually_recursive_functions(x, n):
    def even(y, k):
        return y if k == 0 else odd(y * x, k - 1)

    def odd(y, k):
        return y * 2 if k == 0 else even(y + x, k - 1)

    return even(1.0, n)


@programs(recursive_lambda, recursive_local_function)
@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_local_functions_that_call_themselves(program, n):
    """A recursive local function has its whole derivative, or is refused."""
    accepted_or_refused(program, 0.7, n)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_local_functions_that_call_each_other(n):
    """Two local functions that call each other have their whole derivative, or are refused."""
    accepted_or_refused(mutually_recursive_functions, 0.7, n)


def powers(x, n):
    if n == 0:
        return (x,)
    return (x,) + powers(x * x, n - 1)  # noqa: RUF005


def last_power(x):
    return powers(x, 3)[2]


def test_tuples_joined_in_a_recursion():
    """Tuples of unknown length are joined by `+` with their cotangents."""
    check(last_power, 0.7)


def van_der_pol(y, h, steps):
    def slope(s):
        return np.array([s[1], (1 - s[0] ** 2) * s[1] - s[0]])

    for _ in range(steps):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def test_a_local_function_of_what_a_loop_carries():
    """A local function may be called many times with what a loop carries, as in a Runge-Kutta method."""
    check(van_der_pol, np.array([1.0, 0.5]), 0.05, 10)


# What is compiled once and called again


def doubled(x):
    return x * 2


@functools.wraps(doubled)
def around_doubled(x):
    return doubled(x) * doubled(x) * 5


def test_a_wrapper_has_its_own_gradient():
    """functools.wraps copies nothing of what was compiled for the function inside."""
    assert gradient(doubled)(1.0) == 2.0
    assert gradient(around_doubled)(1.0) == 40.0


def with_default(x, k=2.0):
    return x * k


def test_changed_defaults():
    """A new default of the function counts from the next call on."""
    assert gradient(with_default)(0.7) == 2.0
    with_default.__defaults__ = (3.0,)
    try:
        assert gradient(with_default)(0.7) == 3.0
    finally:
        with_default.__defaults__ = (2.0,)


def one_parameter(x):
    return x * 2


def two_parameters(x, y):
    return x * y


def test_changed_code():
    """A function whose code was replaced, signature included, is compiled again."""
    own = one_parameter.__code__
    assert gradient(one_parameter)(0.7) == 2.0
    one_parameter.__code__ = two_parameters.__code__
    try:
        assert gradient(one_parameter)(0.7, 5.0) == 5.0
    finally:
        one_parameter.__code__ = own
    assert gradient(one_parameter)(0.7) == 2.0


def test_parameters_declared_without_derivative():
    """`differentiable(nondiff=...)` names parameters whose cotangent is None."""
    f = differentiable(nondiff=("y",))(two_parameters)
    assert pullback(f, 2.0, 3.0)[1](1.0) == (3.0, None)


@pytest.mark.parametrize("argnums", [[0, 1], True, 1.0, None, 5, "z"], ids=repr)
def test_argnums_of_another_kind(argnums):
    """`argnums` is a position, a name or a tuple of these, and anything else a TypeError that says so."""
    with pytest.raises(TypeError, match="argnums"):
        gradient(two_parameters, argnums)(0.7, 0.3)


# Text


def through_text(x):
    return float(f"{x}") * 2


def through_str(x):
    return float(str(x)) * 2


@programs(through_text, through_str)
def test_numbers_made_of_text(program):
    """A number that becomes text and a number again is refused, never a constant."""
    with pytest.raises(DifferentiationError):
        pullback(program, 0.7)


# Keywords of NumPy


def copied(x):
    return np.sum(np.array(x, copy=True) * x)  # refused


def test_keywords_that_no_rule_takes():
    """A keyword that the rule of a function does not take is refused with the line."""
    try:
        check_refused(NoRuleError, copied, X)
    except pytest.fail.Exception:
        check(copied, X)


# Methods of arrays that are read, and called elsewhere


def method_in_a_variable(x):
    mean = x.reshape(1, 3).mean
    return np.sum(mean(0) ** 2)


def methods_in_a_list(x):
    found = [x.max, x.min]
    return sum(f() ** 2 for f in found)


def methods_in_a_dict(x):
    found = {"mean": x.mean}
    found["var"] = x.var
    return found["mean"]() * found["var"]()


def method_of_a_result_beside_its_array(x):
    take = (2 * x).take
    return np.sum(take([0, 0, 2]) ** 2) + np.sum(x * 3)


def method_passed_on(x):
    def apply(f, v):
        return f(v)

    return apply(x.dot, np.array([1.0, 2.0, -1.0])) ** 2


@programs(
    method_in_a_variable,
    methods_in_a_list,
    methods_in_a_dict,
    method_of_a_result_beside_its_array,
    method_passed_on,
)
def test_methods_of_arrays_as_values(program):
    """Reading a method is no call of it: what it is called with later counts."""
    check(program, X)


def test_keywords_that_are_not_known():
    """`**options` and `*arrays` of ever so many entries, for functions with a rule and for others."""

    def scaled(a, b, factor=1.0):
        return factor * a * b

    def by_keywords(x, n):
        options = {}
        for i in range(n):
            options["axis"] = i
        return np.sum(np.sum(x * x, **options) ** 2)

    def by_position(x, y, n):
        arrays = []
        for i in range(n):
            arrays.append(x if i else y)
        chosen = [scaled, np.multiply][n - 2]
        return np.sum(np.einsum("ij,kj->ik", *arrays)) + np.sum(chosen(*arrays) ** 2)

    M = np.outer(X, X[:2])
    check(lambda x: by_keywords(x, 2), M)
    check(lambda x, y: by_position(x, y, 2), M, np.ones((3, 2)) + M)


def test_a_signature_that_was_set():
    """What a decorator says of the parameters does not change what they are."""

    def decorated(f):
        def inner(*args):
            return f(*args) * 2.0

        inner.__signature__ = inspect.signature(f)
        return inner

    @decorated
    def product(x, y):
        return np.sum(x * y)

    np.testing.assert_array_equal(2 * X, gradient(product)(np.ones(3), X))
    np.testing.assert_array_equal(4 * X, gradient(lambda x: product(x, x))(X))


def test_parameters_with_the_names_of_builtins():
    """The text around a call asks for types and lengths by names of its own."""

    def f(x, type, len=2.0, int=3, float=1.5):
        return np.sum(x * type["a"]) * len * int * float

    np.testing.assert_array_equal(9.0 * X, gradient(f)(np.ones(3), {"a": X}))
    np.testing.assert_array_equal(1.0 * X, gradient(f)(np.ones(3), {"a": X}, 0.5, 2, 1.0))
    np.testing.assert_array_equal(9.0 * X, gradient(f, "type")(X, {"a": np.ones(3)})["a"])
