"""The registry: declarations, lookup, precedence, and messages for declarations that make no sense."""

import operator
import sys
import threading
import types

import numpy as np
import pytest

from adcompiler import NoRuleError, gradient, pullback
from adcompiler.rules import registry
from adcompiler.rules.registry import (
    all_non_differentiable,
    all_rules,
    is_non_differentiable,
    key_name,
    later,
    lookup,
    non_differentiable,
    on_register,
    opt_out,
    refusal,
    refused,
    rrule,
    scalar_rule,
)


@pytest.fixture(autouse=True)
def _restored(monkeypatch):
    """What a test registers is forgotten afterwards."""
    for name in ("_rules", "_non_differentiable", "_opt_outs", "_callbacks", "_refused", "_waiting"):
        monkeypatch.setattr(registry, name, getattr(registry, name))


def new_function():
    """A function that nobody has registered."""

    def f(x, y=0.0):
        return x

    return f


def identity(x, y=0.0):
    """A rule for it."""
    return x, lambda y_bar: (y_bar, None)


def as_builtin(function):
    """The same rule as if it stood in one of the package's own rule modules."""
    keywords = function.__kwdefaults__
    function = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    function.__module__ = "adcompiler.rules.made_up"
    function.__kwdefaults__ = keywords
    return function


def test_rule_is_found_under_each_of_its_keys():
    """One rule serves functions, operators, methods and attributes, and carries what was declared."""
    f, g = new_function(), new_function()
    assert identity is rrule(f, g, result="same", kind="like", linear=("x",), order=1)(identity)
    (rule,) = lookup(f)
    assert (rule,) == lookup(g)
    assert ((f, g), identity, "identity", "same", "like", ("x",), 1, False) == (
        *(rule.keys, rule.function, rule.name, rule.result, rule.kind, rule.linear, rule.order, rule.builtin),
    )
    assert "(x, y=0.0)" == str(rule.signature)
    assert rule in all_rules()


def test_methods_and_attributes_can_be_keys():
    """np.ndarray.sum and np.ndarray.T are looked up as they are found on the class."""

    class Array:
        def total(self):
            return 1.0

        @property
        def T(self):
            return self

    rrule(Array.total, Array.T)(identity)
    assert lookup(Array.total) == lookup(Array.T) != ()


def test_unknown_and_unhashable_keys_have_no_rules():
    """Asking is never an error."""
    assert () == lookup(new_function()) == lookup([]) == lookup(np.ones(2))
    assert is_non_differentiable(new_function()) is None
    assert is_non_differentiable({}) is None


def test_rules_of_users_come_first_and_the_latest_before_them():
    """The most specific rule is tried first; the built-in one is the last resort."""
    f = new_function()
    first, second, builtin = (types.FunctionType(identity.__code__, globals(), name) for name in "abc")
    rrule(f)(first)
    rrule(f)(as_builtin(builtin))
    rrule(f)(second)
    assert ["b", "a", "c"] == [rule.name for rule in lookup(f)]
    assert [False, False, True] == [rule.builtin for rule in lookup(f)]


def test_a_builtin_function_has_one_builtin_rule():
    """Two rules for one operation drift apart, so the second registration is an error."""
    f = new_function()
    rrule(f)(as_builtin(identity))
    with pytest.raises(ValueError, match=r"f is already registered; put all keys of one operation on one rule"):
        rrule(f)(as_builtin(identity))


def test_rule_shows_its_call_and_its_keys():
    """The repr is the line that a listing of the rules prints."""
    rrule(new_function())(identity)
    assert "<Rule tanh(x) for numpy.tanh, builtins.len>" == repr(
        registry.Rule((np.tanh, len), identity, "tanh", registry.inspect.signature(lambda x: x))
    )


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (np.sin, "numpy.sin"),
        (np.linalg.norm, "numpy.linalg.norm"),
        (operator.mul, "operator.mul"),
        (np.ndarray.sum, "ndarray.sum"),
        (np.ndarray.T, "ndarray.T"),
        (abs, "builtins.abs"),
        (3, "3"),
    ],
)
def test_keys_have_readable_names(key, expected):
    """Messages and listings name a function as the user writes it."""
    assert expected == key_name(key)


def test_options_of_a_rule_are_not_part_of_the_call():
    """`needs` and `config` are filled in by whoever calls the rule, not by the user's call."""
    f = new_function()

    @rrule(f)
    def rule(x, y=0.0, *, scale=1.0, needs=(True,), config=None):
        return x, lambda y_bar: (y_bar, None, None)

    (found,) = lookup(f)
    assert "(x, y=0.0, *, scale=1.0)" == str(found.signature)
    assert ("needs", "config") == found.options


def test_scalar_rule_makes_value_and_cotangents_from_partials():
    """The derivative of tanh is written with its result, and broadcast operands get sums."""
    rule = scalar_rule(np.fmod, lambda a, b: 1.0,
                       lambda a, b, out: -(a - out) / b)  # fmt: skip
    y, pullback = rule.function(np.array([[5.0], [7.5]]), np.array([2.0, 3.0, 4.0]))
    np.testing.assert_array_equal([[1.0, 2.0, 1.0], [1.5, 1.5, 3.5]], y)
    a_bar, b_bar = pullback(np.ones((2, 3)))
    np.testing.assert_array_equal([[3.0], [3.0]], a_bar)
    np.testing.assert_array_equal([-5.0, -3.0, -2.0], b_bar)
    assert ("(a, b)", "fresh", "elementwise", 2) == (str(rule.signature), rule.result, rule.kind, len(rule.partials))


def test_scalar_rule_conjugates_the_partial():
    """For y = i x the cotangent is -i y_bar, in the convention d/dRe + i d/dIm."""
    rule = scalar_rule(new_function(), lambda x: 1j)
    assert (-2j,) == rule.function(1 + 1j)[1](2.0)


def test_non_differentiable_functions_carry_their_kind():
    """The compiler learns from the declaration what such a function returns."""
    f = new_function()
    non_differentiable(f, kind="index")
    assert "index" == is_non_differentiable(f).kind
    assert is_non_differentiable(f) in all_non_differentiable()


def test_the_latest_declaration_of_a_user_holds():
    """A user may say that a function with a rule has no derivative, and the reverse."""
    f = new_function()
    rrule(f)(as_builtin(identity))
    non_differentiable(f)
    assert () == lookup(f)
    rrule(f)(identity)
    assert 1 == len(lookup(f))
    assert is_non_differentiable(f) is None


def test_opt_out_drops_the_rules_for_a_type():
    """With an argument of that type, or of a subclass, the function has no rules; with others it has."""
    f = new_function()

    class Special(float):
        pass

    rrule(f)(identity)
    opt_out(f, float)
    opt_out(f, np.ndarray)
    assert () == lookup(f, [int, Special]) == lookup(f, [np.ndarray])
    assert 1 == len(lookup(f, [int])) == len(lookup(f))


def test_callbacks_hear_of_every_registration():
    """Compiled code that concerns a function is reset when the function gets a rule."""
    heard = []
    on_register(heard.append)
    f, g, h, i = (new_function() for _ in range(4))
    rrule(f)(identity)
    scalar_rule(g, lambda x: 1.0)
    non_differentiable(h)
    opt_out(i, float)
    assert [(f,), (g,), (h,), (i,)] == heard


def test_cupy_functions_have_the_rules_of_numpy(monkeypatch):
    """The public function of CuPy is found by identity, under the name it has in NumPy, without importing CuPy."""
    cupy, cupy_linalg = types.ModuleType("cupy"), types.ModuleType("cupy.linalg")
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "cupy.linalg", cupy_linalg)
    cupy.fmod, cupy_linalg.norm = new_function(), new_function()
    cupy.fmod.__name__, cupy_linalg.norm.__name__ = "cupy_fmod", "norm"
    impostor = new_function()
    impostor.__name__ = "fmod"
    monkeypatch.setattr(registry, "_rules", {})
    monkeypatch.setattr(registry, "_non_differentiable", {})
    rrule(np.fmod)(identity)
    non_differentiable(np.linalg.norm, kind="number")
    assert lookup(np.fmod) == lookup(cupy.fmod) != ()
    assert () == lookup(impostor)
    assert is_non_differentiable(np.linalg.norm) is is_non_differentiable(cupy_linalg.norm)


def test_registration_from_many_threads_loses_nothing():
    """Readers need no lock because the dictionaries are replaced as a whole, and writers take turns."""
    functions = [new_function() for _ in range(200)]

    def register(part):
        for f in part:
            rrule(f)(identity)
            assert lookup(f)

    threads = [threading.Thread(target=register, args=(functions[i::4],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(lookup(f)) == 1 for f in functions)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: rrule(), r"rrule needs the function that it is for: rrule\(np.sin\)"),
        (lambda: rrule("numpy.sin"), "functions and descriptors such as np.ndarray.T, not for 'numpy.sin'"),
        (lambda: rrule(np.sin)(3), r"a rule is a function that returns \(y, pullback\), not 3"),
        (lambda: rrule(np.abs, np.absolute), "numpy.absolute is named twice"),
        (lambda: rrule(np.sin, result="new"), "result='new' is not one of None, 'fresh', 'view', 'same'"),
        (lambda: rrule(np.sin, kind="matrix"), "kind='matrix' is not one of array, array1"),
        (lambda: scalar_rule(np.sin), r"the scalar_rule of numpy.sin needs a lambda for each argument"),
        (lambda: scalar_rule(lambda x: x), "scalar_rule needs the function that it is for"),
        (lambda: scalar_rule(np.add, lambda a, b: 1.0), r"numpy.add has 2 arguments \(a, b\): 1 lambdas"),
        (lambda: scalar_rule(np.add, lambda a: 1.0), "numpy.add takes 2 arguments, and the lambdas take 1"),
        (lambda: scalar_rule(np.add, lambda a, b: 1.0, lambda a, c: 1.0), "the lambdas of numpy.add take different"),
        (lambda: scalar_rule(np.sin, lambda x: 1.0, np.cos), "first the functions, then the lambdas"),
        (lambda: non_differentiable(), "non_differentiable needs the function"),
        (lambda: non_differentiable(np.sin, kind="nothing"), "kind='nothing' is not one of"),
        (lambda: opt_out(np.sin), r"opt_out needs the types it holds for: opt_out\(numpy.sin, MyArray\)"),
    ],
)
def test_declarations_that_make_no_sense_say_why(declare, message):
    """The message names the function and what to write instead."""
    with pytest.raises((TypeError, ValueError), match=message):
        declare()


def scaled(x, y=0.0, *, times=1.0):
    """A function in two rules below."""
    return x * times


def general_rule(x, y=0.0, *, times=1.0):
    """The rule of all its calls."""
    return x * times, lambda y_bar: (y_bar * times, None, None)


def test_a_general_rule_takes_the_calls_that_the_first_does_not():
    """Known at compile time, known at run time only, asked directly, and through `pullback`."""
    rrule(scaled)(as_builtin(identity))
    rrule(scaled, general=True)(as_builtin(general_rule))
    functions = [scaled]
    assert 1.0 == gradient(lambda x: scaled(x))(3.0)
    assert 5.0 == gradient(lambda x: scaled(x, times=5.0))(3.0)
    assert 5.0 == gradient(lambda x: functions[0](x, times=5.0))(3.0)
    assert (1.0, 5.0) == (gradient(scaled)(3.0), gradient(scaled)(3.0, times=5.0))
    assert (5.0,) == pullback(scaled, 3.0, times=5.0)[1](1.0)
    with pytest.raises(NoRuleError, match="rate"):
        gradient(lambda x: scaled(x, rate=5.0))(3.0)


def test_a_general_rule_is_tried_when_the_first_declines():
    """The first rule returns NotImplemented."""
    rrule(scaled)(as_builtin(lambda x, y=0.0: NotImplemented))
    rrule(scaled, general=True)(as_builtin(general_rule))
    assert 1.0 == gradient(lambda x: scaled(x))(3.0)


def test_a_general_rule_comes_after_another():
    """Alone it would be the only one, and should say so."""
    with pytest.raises(ValueError, match="no rule yet"):
        rrule(scaled, general=True)(as_builtin(general_rule))


def test_what_is_refused_says_why_and_where():
    """Known at compile time and at run time only; a user's rule replaces the refusal."""
    f = operator.methodcaller("refused")
    refused(f, why="It has a derivative that nobody wants.\nUse something else.")
    functions = [f]
    for function in (lambda x: f(x), lambda x: functions[0](x)):
        with pytest.raises(NoRuleError, match="nobody wants") as caught:
            gradient(function)(3.0)
        assert "Use something else." in str(caught.value)
        assert __file__ in str(caught.value)
    rrule(f)(lambda x: (x, lambda y_bar: (y_bar,)))
    assert refusal(f) is None
    with pytest.raises(ValueError, match="what to do"):
        refused(f, why="Because.")


def test_rules_of_a_package_load_when_the_user_has_imported_it(monkeypatch):
    """Not before, and once."""
    package, rules = types.ModuleType("some_package"), "some_rules"
    package.__file__ = "some_package.py"
    package.f = new_function()
    loaded = []
    monkeypatch.setattr(registry.importlib, "import_module", loaded.append)
    later("some_package", rules)
    lookup(package.f)
    assert [] == loaded
    monkeypatch.setitem(sys.modules, "some_package", package)
    lookup(package.f), is_non_differentiable(package.f), refusal(package.f)
    assert [rules] == loaded


def test_a_rule_may_differentiate_a_function_that_it_is_given():
    """The cotangents of the function's captured variables, of arguments and of keywords; constants have none."""

    def apply(f, x, n):
        return f(x, n=n)

    @rrule(apply)
    def apply_rule(f, x, n, *, config):
        y, back = config.rrule_via_ad(f, x, n=n)
        return y, lambda y_bar: back(y_bar)

    def total(w, x):
        return apply(lambda v, n: w * v**n, x, 3)

    assert (8.0, 36.0) == gradient(total, (0, 1))(3.0, 2.0)
