"""The public transforms: arguments, structures, zeros and None, seeds, errors, and how they behave as functions."""

import copy
import inspect
import pickle
from collections import namedtuple

import numpy as np
import pytest

import adcompiler
from adcompiler import (
    NotScalarError,
    PullbackConsumedError,
    TangentError,
    differentiable,
    grad,
    gradient,
    pullback,
    value_and_grad,
)

Point = namedtuple("Point", "x y")


def f(x, y, *, z=3.0):
    return x * x * y * z


def variadic(x, *rest, **options):
    s = x
    for r in rest:
        s = s * r
    return s * options.get("k", 1)


@differentiable
def decorated(x, n=2):
    """Doc of the user's."""
    return x**n


@differentiable(nondiff=("y",))
def constant_y(x, y):
    return x * y


@differentiable(single_use=True)
def once(x):
    return x * x


class TestArgnums:
    @pytest.mark.parametrize(
        ("argnums", "expected"),
        [
            (0, 36.0),
            (1, 12.0),
            (-1, 12.0),
            (-2, 36.0),
            ("x", 36.0),
            ("y", 12.0),
            ("z", 12.0),
            ((0,), (36.0,)),
            ((0, 1), (36.0, 12.0)),
            ((1, 0), (12.0, 36.0)),
            (("y", 0, "z"), (12.0, 36.0, 12.0)),
            ((), ()),
        ],
    )
    def test_forms(self, argnums, expected):
        """A position, a name or a tuple of these; a tuple gives a tuple, also of length 1."""
        assert expected == gradient(f, argnums)(2.0, 3.0)
        assert (36.0, expected) == value_and_grad(f, argnums)(2.0, 3.0)

    def test_default_is_the_first(self):
        """Without `argnums` the first argument is meant."""
        assert 36.0 == gradient(f)(2.0, 3.0)

    def test_keywords(self):
        """Arguments may be given by keyword whatever `argnums` says."""
        assert 36.0 == gradient(f)(y=3.0, x=2.0)
        assert 12.0 == gradient(f, "y")(2.0, y=3.0)
        assert 24.0 == gradient(f, "z")(2.0, y=3.0, z=5.0) * 2

    def test_inside_variable_arguments(self):
        """A position may be inside `*args`."""
        assert 8.0 == gradient(variadic, 1)(2.0, 3.0, 4.0)
        assert (12.0, 6.0) == gradient(variadic, (0, 2))(2.0, 3.0, 4.0)
        assert (3.0, 4.0) == gradient(variadic, "rest")(1.0, 4.0, 3.0)

    @pytest.mark.parametrize("argnums", [np.ones(2), [0], 2.5])
    def test_arguments_instead_of_argnums(self, argnums):
        """`gradient(f, x)` says that the arguments go to the result."""
        with pytest.raises(TypeError, match=r"gradient\(f\)\(x\)"):
            gradient(f, argnums)

    @pytest.mark.parametrize("argnums", [2, -3, (0, 5)])
    def test_out_of_range(self, argnums):
        """A position that is not there is a TypeError that shows the signature."""
        with pytest.raises(TypeError, match=r"out of range for \(x, y, \*, z=3\.0\)"):
            gradient(f, argnums)

    def test_unknown_name(self):
        """A name that is not there, too."""
        with pytest.raises(TypeError, match="'w', which is not a parameter"):
            gradient(f, "w")

    def test_not_enough_variable_arguments(self):
        """A position inside `*args` is checked when the function is called."""
        with pytest.raises(TypeError, match=r"argument 1 of \*rest, which has 1"):
            gradient(variadic, 2)(1.0, 2.0)

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            (3, r"pass 3\.0 instead of 3"),
            (np.int64(3), r"pass 3\.0 instead of 3"),
            (True, "of type bool"),
            (None, "is None"),
            ("text", "of type str"),
            (np.arange(3), "an array of int64.*floats"),
            (np.ones(3, bool), "an array of bool"),
        ],
    )
    def test_what_has_no_derivative(self, value, said):
        """An int asked for is a TangentError, which is also a TypeError."""
        with pytest.raises(TangentError, match=said) as caught:
            gradient(lambda x: x)(value)
        assert isinstance(caught.value, TypeError)
        with pytest.raises(TangentError):
            gradient(lambda x: x)(value)

    def test_an_int_after_a_float(self):
        """The check is made for every kind of argument, not only at the first call."""
        g = gradient(lambda x: x * 2.0)
        assert 2.0 == g(1.0)
        with pytest.raises(TangentError):
            g(1)
        assert 2.0 == g(1.0)

    def test_ints_that_are_not_asked_for(self):
        """Other arguments may be anything."""
        assert 12.0 == gradient(lambda x, n, s: x**n)(2.0, 3, "text")


class TestForms:
    def test_grad_is_gradient(self):
        """`grad` is the short name."""
        assert grad is gradient

    def test_structures(self):
        """Containers give the same containers, with None for what has no derivative or no influence."""

        def loss(p):
            return p["a"] * p["b"][0] + np.sum(p["c"][1])

        p = {"a": 2.0, "b": [3.0, "text"], "c": (1, np.ones(2)), "unused": 5.0}
        result = gradient(loss)(p)
        assert ["a", "b", "c", "unused"] == list(result)
        assert (3.0, [2.0, None], None) == (result["a"], result["b"], result["unused"])
        assert result["c"][0] is None
        np.testing.assert_array_equal([1.0, 1.0], result["c"][1])

    def test_named_tuple(self):
        """A named tuple gives the same named tuple."""

        def loss(p):
            a, b = p
            return a * b

        assert Point(3.0, 2.0) == gradient(loss)(Point(2.0, 3.0))

    @pytest.mark.parametrize(
        ("x", "zero"),
        [
            (2.0, 0.0),
            (np.float32(2), np.float32(0)),
            (1j, 0j),
            (np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)),
            (np.ones(2) * 1j, np.zeros(2) * 0j),
            (np.array(1.0), np.array(0.0)),
        ],
    )
    def test_no_influence(self, x, zero):
        """A float or array without influence has zeros of its own kind."""
        result = gradient(lambda x, y: y * 2.0)(x, 1.0)
        assert type(zero) is type(result)
        assert np.asarray(zero).dtype == np.asarray(result).dtype
        np.testing.assert_array_equal(zero, result)

    def test_no_influence_in_a_pullback(self):
        """`back` gives None where there is no dependence."""
        assert (None, 2.0) == pullback(lambda x, y: y * 2.0, 1.0, 3.0)[1](1.0)

    def test_aux(self):
        """With `has_aux` the second result is handed through."""

        def loss(x):
            y = x * x
            return np.sum(y), {"y": y, "text": "seen"}

        x = np.array([1.0, 2.0])
        (value, aux), g = value_and_grad(loss, has_aux=True)(x)
        assert 5.0 == value
        assert "seen" == aux["text"]
        np.testing.assert_array_equal([1.0, 4.0], aux["y"])
        np.testing.assert_array_equal([2.0, 4.0], g)
        assert not np.shares_memory(g, aux["y"])

    def test_aux_with_argnums(self):
        """`has_aux` and `argnums` go together."""
        assert ((6.0, None), (3.0, 2.0)) == value_and_grad(lambda x, y: (x * y, None), (0, 1), has_aux=True)(2.0, 3.0)

    @pytest.mark.parametrize("result", [3.0, (1.0, 2.0, 3.0), [1.0, 2.0]])
    def test_aux_that_is_no_pair(self, result):
        """Anything but a pair is refused by name, never half used."""
        with pytest.raises((NotScalarError, TangentError, TypeError, ValueError)):
            value_and_grad(lambda x: result, has_aux=True)(1.0)

    def test_dtypes_and_shapes(self):
        """Gradients have the dtype and shape of their arguments."""
        a, b = np.ones((2, 1), np.float32), np.ones(3)
        ga, gb = gradient(lambda a, b: np.sum(a * b), (0, 1))(a, b)
        assert (np.float32, (2, 1)) == (ga.dtype, ga.shape)
        assert (np.float64, (3,)) == (gb.dtype, gb.shape)

    def test_real_argument_of_a_complex_function(self):
        """A real argument has a real gradient."""
        g = gradient(lambda x: np.abs(x * 1j + 2.0) ** 2)(3.0)
        assert float is type(g)
        assert 6.0 == pytest.approx(g)

    def test_complex_convention(self):
        """The gradient of a complex argument is ∂/∂re + i ∂/∂im."""
        assert 2.0 + 8.0j == pytest.approx(gradient(lambda z: z.real**2 + 2 * z.imag**2)(1.0 + 2.0j))


class TestNotScalar:
    @pytest.mark.parametrize(
        ("function", "said"),
        [
            (lambda x: x * np.ones(3), r"array of shape \(3,\) and dtype float64[\s\S]*pullback\(\)"),
            (lambda x: x * 1j, "complex number"),
            (lambda x: None, r"None[\s\S]*Is a return missing"),
            (lambda x: (x, x), "of type tuple"),
            (lambda x: "text", "of type str"),
            (lambda x: x > 0, "one real number"),
            (lambda x: {"a": x}, "of type dict"),
        ],
    )
    def test_messages(self, function, said):
        """What came out is named, and what to use instead."""
        with pytest.raises(NotScalarError, match=said):
            gradient(function)(2.0)

    def test_name_of_the_function(self):
        """The function is named."""

        def forgetful(x):
            x * 2.0

        with pytest.raises(NotScalarError, match="forgetful returned"):
            gradient(forgetful)(2.0)

    @pytest.mark.parametrize("value", [2.0, np.float64(2.0), np.float32(2.0), np.array(2.0)])
    def test_what_is_scalar(self, value):
        """Numbers of Python and NumPy and arrays without dimensions are scalars."""
        assert 1.0 == gradient(lambda x: x + 0.0)(value)


class TestPullback:
    def test_one_cotangent_per_positional_argument(self):
        """Keyword-only arguments have none, positional ones that were passed by keyword neither."""
        assert (36.0, 12.0) == pullback(f, 2.0, 3.0, z=3.0)[1](1.0)
        assert (36.0,) == pullback(f, 2.0, y=3.0)[1](1.0)

    def test_structured_seed(self):
        """A cotangent has the structure of the value; None anywhere is zero."""
        y, back = pullback(lambda x: (x * 2.0, {"a": x * 3.0, "n": 1}), 1.0)
        assert (2.0, {"a": 3.0, "n": 1}) == y
        assert (8.0,) == back((1.0, {"a": 2.0, "n": None}))
        assert (6.0,) == back((None, {"a": 2.0}))
        assert (2.0,) == back((1.0, None))

    def test_zero_seed(self):
        """A cotangent of None gives None."""
        assert (None, None) == pullback(f, 2.0, 3.0)[1](None)

    @pytest.mark.parametrize("seed", [np.ones(3), "text", (1.0,), {"a": 1.0}])
    def test_wrong_seed(self, seed):
        """A cotangent that cannot belong to the value is a TangentError."""
        with pytest.raises(TangentError):
            pullback(f, 2.0, 3.0)[1](seed)

    def test_seed_is_cast(self):
        """A smaller cotangent is broadcast, another dtype cast."""
        x = np.ones(3, np.float32)
        (g,) = pullback(lambda x: x * 2, x)[1](1.0)
        assert np.float32 == g.dtype
        np.testing.assert_array_equal([2.0, 2.0, 2.0], g)

    def test_linear_in_the_seed(self):
        """Twice the seed gives twice the gradient, and calls do not disturb each other."""
        _, back = pullback(lambda x: np.sin(x) * x, np.array([0.3, 0.7]))
        first = back(np.array([1.0, 2.0]))[0]
        kept = first.copy()
        np.testing.assert_allclose(2 * kept, back(np.array([2.0, 4.0]))[0], rtol=1e-15)
        np.testing.assert_array_equal(kept, first)

    def test_single_use(self):
        """A second call raises, also after a failed first one is tried again with a right seed."""
        _, back = pullback(f, 2.0, 3.0, single_use=True)
        assert (36.0, 12.0) == back(1.0)
        with pytest.raises(PullbackConsumedError, match="single_use=True"):
            back(1.0)

    def test_of_a_builtin(self):
        """A function with a rule can be differentiated by itself."""
        assert (pytest.approx(np.cos(0.3)),) == pullback(np.sin, 0.3)[1](1.0)
        assert pytest.approx(np.cos(0.3)) == gradient(np.sin)(0.3)

    def test_identity_and_views(self):
        """What comes back is never the seed or the argument itself."""
        x, seed = np.ones(3), np.ones(3)
        y, back = pullback(lambda x: x, x)
        assert y is x
        (g,) = back(seed)
        assert not np.shares_memory(g, seed)
        assert not np.shares_memory(g, x)

    def test_two_arguments_that_are_one_array(self):
        """The same array passed twice has two gradients of its own."""
        x = np.array([1.0, 2.0])
        a, b = pullback(lambda a, b: a + b, x, x)[1](np.ones(2))
        assert not np.shares_memory(a, b)


class TestDecorator:
    def test_calls_like_the_function(self):
        """The decorated function is called as before and keeps its name, text and signature."""
        assert 9.0 == decorated(3.0)
        assert "decorated" == decorated.__name__
        assert "Doc of the user's." == decorated.__doc__
        assert "(x, n=2)" == str(inspect.signature(decorated))
        assert __name__ == decorated.__module__

    def test_gradients(self):
        """Transforms take it as they take the function."""
        assert 6.0 == gradient(decorated)(3.0)
        assert (9.0, 6.0) == value_and_grad(decorated)(3.0)
        assert (6.0, None) == pullback(decorated, 3.0, 2)[1](1.0)

    def test_called_by_another(self):
        """As a helper it is compiled like any function."""
        assert 12.0 == gradient(lambda x: decorated(x) * 2.0)(3.0)

    def test_pickle_and_copy(self):
        """It is pickled by name and copied as a function is: not at all."""
        assert pickle.loads(pickle.dumps(decorated)) is decorated
        assert copy.deepcopy(decorated) is decorated

    def test_nondiff(self):
        """Parameters named in `nondiff` are constants; to ask for them is an error."""
        assert 3.0 == gradient(constant_y)(2.0, 3.0)
        assert (3.0, None) == pullback(constant_y, 2.0, 3.0)[1](1.0)
        with pytest.raises((TangentError, TypeError)):
            gradient(constant_y, 1)(2.0, 3.0)

    def test_source(self):
        """`.source` is the generated text."""
        text = decorated.source(3.0)
        assert "def decorated_forward(x, n=2):" in text
        assert "x**n" in text or "x ** n" in text

    def test_methods(self):
        """A decorated method binds its instance."""

        class Model:
            @differentiable
            def square(self, x):
                return x * x

        assert 9.0 == Model().square(3.0)


class TestTransforms:
    def test_names(self):
        """The transform has a readable name and knows what it wraps."""
        g = gradient(f)
        assert "gradient(f)" == g.__name__
        assert g.__wrapped__ is f
        assert "value_and_grad(f)" == value_and_grad(f).__name__

    def test_arguments_are_unchanged(self):
        """Neither forward nor pullback writes to what the user holds."""
        p = {"w": np.array([1.0, 2.0]), "l": [1.0, (2.0,)]}
        kept = copy.deepcopy(p)
        gradient(lambda p: np.sum(p["w"] ** 2) * p["l"][0] * p["l"][1][0])(p)
        np.testing.assert_array_equal(kept["w"], p["w"])
        assert kept["l"] == p["l"]

    def test_read_only_and_strided_arguments(self):
        """The layout of an argument does not matter."""
        base = np.arange(12.0).reshape(3, 4)
        x = base[::2, ::-1]
        x.flags.writeable = False
        np.testing.assert_array_equal(2 * x, gradient(lambda x: np.sum(x * x))(x))
        np.testing.assert_array_equal(2 * base.T, gradient(lambda x: np.sum(x * x))(base.T))

    def test_callables_that_are_no_functions(self):
        """A class or an instance is refused by name, something that cannot be called is a TypeError."""
        with pytest.raises(TypeError, match="is not a function"):
            gradient(3.0)
        with pytest.raises(adcompiler.DifferentiationError, match="Wrap it in a def or a lambda"):
            gradient(Point)

    def test_all_public_names(self):
        """Every public name of the package exists and has a docstring."""
        public = [n for n in vars(adcompiler) if not n.startswith("_") and callable(getattr(adcompiler, n))]
        assert {"differentiable", "gradient", "grad", "value_and_grad", "pullback", "rrule"} <= set(public)
        assert [] == [n for n in public if not getattr(adcompiler, n).__doc__]
