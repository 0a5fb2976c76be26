"""The entry's guards: what was true at compile time is checked at every call, and a new fact makes a new variant."""

import linecache
import types

import numpy as np
import pytest

from adcompiler import (
    UnsupportedSyntaxError,
    gradient,
    non_differentiable,
    pullback,
    rrule,
    value_and_grad,
)
from tests.modes import copied, variants_of

SCALE = 2.0
WEIGHTS = {"w": np.array([1.0, 2.0])}


def helper(x):
    return x * x


def doubled(x, factor=2.0, *, shift=0.0):
    return x * factor + shift


@pytest.fixture
def module():
    """A module of a user's, from text, whose globals the test may change."""
    text = (
        "import numpy as np\n"
        "SCALE = 2.0\n"
        "TABLE = np.array([1.0, 2.0])\n"
        "OPTIONS = {'double': True, 'w': 3.0}\n"
        "def helper(x):\n    return x * x\n"
        "def other(x):\n    return x * 10.0\n"
        "def f(x):\n    return helper(x) * SCALE\n"
        "def g(x):\n    return x * 2.0 if OPTIONS['double'] else x * OPTIONS['w']\n"
        "def h(x):\n    return np.sum(x * TABLE)\n"
    )
    found = types.ModuleType("user_module_of_entry")
    linecache.cache["<entry module>"] = (len(text), None, text.splitlines(keepends=True), "<entry module>")
    exec(compile(text, "<entry module>", "exec"), found.__dict__)
    yield found
    del linecache.cache["<entry module>"]


class TestKinds:
    @pytest.mark.parametrize(
        ("x", "expected"),
        [
            (3.0, 6.0),
            (np.float64(3.0), np.float64(6.0)),
            (np.float32(3.0), np.float32(6.0)),
            (np.array(3.0), np.array(6.0)),
            (np.array([3.0]), np.array([6.0])),
            (np.array([[3.0]], np.float32), np.array([[6.0]], np.float32)),
        ],
    )
    def test_each_kind_of_argument_gets_its_gradient(self, x, expected):
        """One function, many kinds, in any order."""

        def f(x):
            return (x * x).sum() if isinstance(x, np.ndarray) and x.ndim else x * x

        grad = gradient(f)
        for _ in range(2):
            result = grad(x)
            assert type(expected) is type(result)
            np.testing.assert_array_equal(expected, result)
            grad(1.0)

    def test_a_variant_is_made_once_per_kind(self):
        """Values and shapes are no part of the key, types and dimensions are."""
        calls = []

        def f(x):
            return np.sum(x * x)

        grad = gradient(f)
        variants = variants_of(f)
        for x in [np.ones(2), np.ones(3), np.zeros(0), np.ones((2, 2)), np.ones((1, 5)), 1.0, np.float64(2.0)]:
            grad(x)
            calls.append(variants.count)
        assert [1, 1, 1, 2, 2, 3, 3] == calls

    def test_containers_are_checked_by_what_is_read(self):
        """A new kind of an entry that is read makes a new variant, of one that is not read none."""

        def f(p):
            return np.sum(p["a"] * 2.0)

        grad = gradient(f)
        variants = variants_of(f)
        assert 2.0 == grad({"a": 1.0, "b": 3})["a"]
        assert 2.0 == grad({"a": 5.0, "b": "text", "c": None})["a"]
        assert 1 == variants.count
        np.testing.assert_array_equal([2.0, 2.0], grad({"a": np.ones(2)})["a"])
        assert 2 == variants.count

    def test_other_number_of_items(self):
        """A tuple of another length is another kind."""

        def f(p):
            s = 0.0
            for v in p:
                s = s + v * v
            return s

        grad = gradient(f)
        assert (2.0, 4.0) == grad((1.0, 2.0))
        assert (2.0, 4.0, 6.0) == grad((1.0, 2.0, 3.0))
        assert [2.0] == grad([1.0])

    def test_none_and_flags_choose_the_branch(self):
        """What is folded at compile time is guarded."""

        def f(x, y=None, square=False):
            if y is None:
                return x * x if square else x * 2.0
            return x * y

        grad = gradient(f)
        for _ in range(2):
            assert 2.0 == grad(3.0)
            assert 6.0 == grad(3.0, square=True)
            assert 5.0 == grad(3.0, 5.0)

    def test_strings(self):
        """Options given as text are guarded by value."""

        def f(x, how):
            return x * x if how == "square" else x * 3.0

        grad = gradient(f)
        assert [4.0, 3.0, 4.0] == [grad(2.0, how) for how in ("square", "other", "square")]

    def test_integers_are_not_part_of_the_key(self):
        """Another integer does not compile anew."""

        def f(x, n):
            return x**n

        grad = gradient(f)
        variants = variants_of(f)
        assert [1.0, 4.0, 12.0] == [grad(2.0, n) for n in (1, 2, 3)]
        assert 1 == variants.count

    def test_complex_after_real(self):
        """A complex array is another kind than a real one."""

        def f(x):
            return np.sum(np.abs(x) ** 2)

        grad = gradient(f)
        np.testing.assert_allclose([2.0, 4.0], grad(np.array([1.0, 2.0])))
        np.testing.assert_allclose([2.0 + 2.0j], grad(np.array([1.0 + 1.0j])))


class TestFunctions:
    def test_rebound_global_helper(self, module):
        """A helper that was replaced in its module is seen at the next call."""
        assert 12.0 == gradient(module.f)(3.0)
        module.helper = module.other
        assert 20.0 == gradient(module.f)(3.0)
        module.helper = np.sin
        assert 2.0 * np.cos(3.0) == pytest.approx(gradient(module.f)(3.0))

    def test_swapped_code(self, module):
        """A helper whose code was replaced, as automatic reloading does, is seen at the next call."""
        assert 12.0 == gradient(module.f)(3.0)
        module.helper.__code__ = module.other.__code__
        assert 20.0 == gradient(module.f)(3.0)

    def test_swapped_code_of_the_function_itself(self):
        """So is the function that is differentiated."""

        def f(x):
            return x * x

        def other(x, c=3.0):
            return x * c

        grad = gradient(f)
        assert 6.0 == grad(3.0)
        f.__code__ = other.__code__
        f.__defaults__ = other.__defaults__
        assert 3.0 == grad(3.0)

    def test_changed_defaults_of_a_helper(self):
        """New defaults count at the next call."""
        g = copied(doubled)

        def f(x):
            return g(x)

        grad = gradient(f)
        assert 2.0 == grad(1.0)
        g.__defaults__ = (5.0,)
        assert 5.0 == grad(1.0)
        g.__kwdefaults__ = {"shift": 1.0}
        assert 6.0 == value_and_grad(f)(1.0)[0]

    def test_changed_defaults_of_the_function_itself(self):
        """The entry has the defaults that the function has now."""
        f = copied(doubled)
        grad = gradient(f)
        assert 2.0 == grad(1.0)
        f.__defaults__ = (5.0,)
        assert 5.0 == grad(1.0)

    def test_captured_variables(self):
        """A captured variable is read live; another kind of it makes a new variant."""

        def make(c):
            def f(x):
                return np.sum(x * c)

            def rebind(value):
                nonlocal c
                c = value

            return f, rebind

        f, rebind = make(2.0)
        grad = gradient(f)
        assert 2.0 == grad(1.0)
        rebind(3.0)
        assert 3.0 == grad(1.0)
        rebind(np.array([1.0, 4.0]))
        assert 5.0 == grad(1.0)

    def test_captured_function(self):
        """A captured helper that is rebound is seen."""

        def make(g):
            def f(x):
                return g(x)

            def rebind(value):
                nonlocal g
                g = value

            return f, rebind

        f, rebind = make(lambda t: t * t)
        grad = gradient(f)
        assert 6.0 == grad(3.0)
        rebind(lambda t: t * 7.0)
        assert 7.0 == grad(3.0)

    def test_two_closures_of_one_code(self):
        """Closures made by one `def` do not see each other's variables."""

        def make(c):
            return lambda x: x * c

        f, g = make(2.0), make(np.array(3.0))
        assert [2.0, 3.0, 2.0] == [gradient(f)(1.0), gradient(g)(1.0), gradient(f)(1.0)]

    def test_function_arguments(self):
        """Another function as argument is another variant."""

        def f(g, x):
            return g(x)

        grad = gradient(f, argnums=1)
        assert [6.0, 2.0, 6.0] == [grad(helper, 3.0), grad(doubled, 3.0), grad(helper, 3.0)]
        assert np.cos(3.0) == pytest.approx(grad(np.sin, 3.0))


class TestGlobals:
    def test_numbers_are_read_live(self, module):
        """A global number is no constant."""
        assert 12.0 == gradient(module.f)(3.0)
        module.SCALE = 10.0
        assert 60.0 == gradient(module.f)(3.0)
        module.SCALE = np.array([1.0, 2.0])
        with pytest.raises(Exception, match="gradient needs one real number"):
            gradient(module.f)(3.0)

    def test_entries_of_global_containers(self, module):
        """A flag in a global dict is guarded when it is folded."""
        assert 2.0 == gradient(module.g)(1.0)
        module.OPTIONS["double"] = False
        assert 3.0 == gradient(module.g)(1.0)
        module.OPTIONS = {"double": True}
        assert 2.0 == gradient(module.g)(1.0)

    def test_global_arrays(self, module):
        """A global array is read live, also after writes in place."""
        np.testing.assert_array_equal([1.0, 2.0], gradient(module.h)(np.ones(2)))
        module.TABLE[0] = 5.0
        np.testing.assert_array_equal([5.0, 2.0], gradient(module.h)(np.ones(2)))
        module.TABLE = 3
        np.testing.assert_array_equal([3.0, 3.0], gradient(module.h)(np.ones(2)))

    def test_a_global_that_goes_away(self, module):
        """A deleted global gives Python's NameError."""
        assert 12.0 == gradient(module.f)(3.0)
        del module.SCALE
        with pytest.raises(NameError, match="SCALE"):
            gradient(module.f)(3.0)
        module.SCALE = 1.0
        assert 6.0 == gradient(module.f)(3.0)

    def test_a_builtin_that_is_hidden(self, module):
        """A global that hides a builtin is seen."""
        module.__dict__["f"] = _with_globals(lambda x: abs(x) * 2.0, module)
        assert -2.0 == gradient(module.f)(-1.0)
        module.abs = lambda x: x
        assert 2.0 == gradient(module.f)(-1.0)


def _with_globals(f, module):
    return types.FunctionType(f.__code__, module.__dict__, f.__name__)


class TestRules:
    def test_a_rule_registered_after_the_first_call(self):
        """The next call uses it, without any refresh, in every transform and pullback."""

        def special(x):
            return x * 2.0

        def f(x):
            return special(x)

        grad = gradient(f)
        assert 2.0 == grad(1.0)
        assert (2.0,) == pullback(f, 1.0)[1](1.0)

        @rrule(special)
        def rule(x):
            y = x * 2.0

            def pullback(y_bar):
                return (y_bar * 100.0,)

            return y, pullback

        assert 100.0 == grad(1.0)
        assert (100.0,) == pullback(f, 1.0)[1](1.0)

    def test_declared_without_derivative_after_the_first_call(self):
        """So does a declaration."""

        def special(x):
            return x * 2.0

        def f(x):
            return special(x) * x

        grad = gradient(f)
        assert 12.0 == grad(3.0)
        non_differentiable(special)
        assert 6.0 == grad(3.0)

    def test_a_refused_function_works_once_a_rule_is_there(self):
        """A refusal is not remembered."""

        def special(x):
            return sum({x * i for i in range(3)})

        def f(x):
            return special(x)

        with pytest.raises(UnsupportedSyntaxError):
            gradient(f)(1.0)

        @rrule(special)
        def rule(x):
            y = x * 3.0

            def pullback(y_bar):
                return (y_bar * 3.0,)

            return y, pullback

        assert 3.0 == gradient(f)(1.0)


def test_guards_do_not_run_the_users_code():
    """A property or `__getattr__` of an argument is not evaluated more often than in a plain call."""
    counted = []

    class Loud:
        def __len__(self):
            counted.append("len")
            return 2

        def __eq__(self, other):
            counted.append("eq")
            return False

        __hash__ = None

    def f(x, loud):
        return x * 2.0

    grad = gradient(f)
    assert [2.0, 2.0] == [grad(1.0, Loud()), grad(1.0, Loud())]
    assert [] == counted


def test_signature_is_the_users():
    """Positional-only, default, keyword-only and variable parameters bind as in a plain call."""

    def f(a, /, b=2.0, *rest, c, d=4.0, **options):
        s = a * b * c * d
        for r in rest:
            s = s * r
        return s * options.get("e", 1)

    assert 2.0 * 3.0 * 4.0 == gradient(f)(1.0, c=3.0)
    assert 5.0 * 3.0 * 4.0 * 7.0 == gradient(f)(1.0, 5.0, 7.0, c=3.0)
    assert 2.0 * 3.0 * 6.0 * 2 == gradient(f)(1.0, c=3.0, d=6.0, e=2)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        gradient(f)(a=1.0, c=3.0)


def test_parameter_names_that_the_entry_could_use_itself():
    """Names such as `fits` or `_forward` are free for the user."""

    def f(fits, _forward, _finish=3.0, *, _other=4.0, ndarray=1.0, np=5.0):
        return fits * _forward * _finish * _other * ndarray * np

    assert 2.0 * 60.0 == gradient(f)(1.0, 2.0)
    assert 7.0 * 60.0 == gradient(f)(1.0, 7.0)


def test_guards_evaluate_each_value_once():
    """A length or another number that is compared is read once, and has a name."""

    def f(x, ws):
        return x * ws[0] * ws[-1]

    text = source_of_entry(f, 1.5, [2.0, 3.0])
    assert text.count("len(ws)") == 1


def source_of_entry(f, *args):
    """The text of the entry that a call goes through."""
    made = gradient(f)
    made(*args)
    code = made._call.first.__code__
    return "".join(linecache.cache[code.co_filename][2])


def test_an_entry_is_written_once_per_variant():
    before = {file for file in linecache.cache if file.startswith("<adcompiler entry ")}
    made = gradient(lambda alone: alone * alone)
    assert made(1.5) == 3.0
    after = {file for file in linecache.cache if file.startswith("<adcompiler entry ")}
    assert len(after - before) == 1


def test_many_constants_are_checked_at_once():
    """A list of ints is a constant, until a float is in it."""
    numbers = list(range(1000))

    def f(x, numbers):
        return x * x + numbers[500] * x

    made = gradient(f)
    assert made(1.5, numbers) == 503.0
    numbers[500] = 2.0
    assert made(1.5, numbers) == 5.0
    numbers[3] = np.int64(3)
    numbers[500] = True
    assert made(1.5, numbers) == 4.0
