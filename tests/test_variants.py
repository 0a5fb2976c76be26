"""Variants: a chain of entries on the function itself, replaced as a whole, and safe when threads race for it."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

from adcompiler import UnsupportedSyntaxError, gradient, pullback, value_and_grad
from adcompiler.entry import Finish
from adcompiler.pipeline import Request
from adcompiler.variants import Variants


def square(x):
    return x * x


def variants_of(function, **options):
    """Variants that give the value and what was saved."""

    def finisher(compiled):
        return Finish(lambda value, saved, *arguments: (value, compiled.backward(saved, 1.0)))

    return Variants(function, lambda signature, arguments: frozenset({"x"}), finisher, False, **options)


def call(variants, *args):
    """A call as the transforms make it."""
    return variants.first(*args)


def test_first_call_compiles_the_next_does_not():
    """The first entry answers what it fits."""
    v = variants_of(square)
    assert (9.0, 6.0) == call(v, 3.0)
    entry = v.first
    assert (16.0, 8.0) == call(v, 4.0)
    assert entry is v.first
    assert 1 == v.count


def test_the_newest_entry_comes_first():
    """A call that does not fit the first entry goes down the chain before anything is compiled."""
    v = variants_of(square)
    call(v, 3.0)
    value, grad = call(v, np.array(3.0))
    assert (9.0, 6.0) == (value, grad)
    newest = v.first
    assert (9.0, 6.0) == call(v, 3.0)
    assert newest is v.first
    assert 2 == v.count


def test_forget():
    """After `forget` the next call compiles."""
    v = variants_of(square)
    call(v, 3.0)
    v.forget()
    assert 0 == v.count
    assert (9.0, 6.0) == call(v, 3.0)
    assert 1 == v.count


def test_inlining_off_gives_the_same():
    """Rules called at run time give the same numbers."""

    def f(x):
        return np.sum(np.sin(x) * x[0]) + x[1] ** 3

    x = np.array([0.3, 0.7, -1.1])
    value, grad = call(variants_of(f), x)
    value_, grad_ = call(variants_of(f, inline=False), x)
    assert value == value_
    np.testing.assert_allclose(grad, grad_, rtol=1e-14)


def test_compiled_is_the_compilation_of_a_call():
    """`compiled` binds the arguments as Python does and says what was asked."""
    v = variants_of(lambda x, n=2: x * n)
    request = v.compiled((3.0,), {}).request
    assert isinstance(request, Request)
    assert {"x": 3.0, "n": 2} == request.arguments
    assert frozenset({"x"}) == request.wanted
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        v.compiled((), {})


def test_many_kinds():
    """A function called with very many kinds still gives the right gradients."""

    def f(x, options):
        s = 0.0
        for key in options:
            s = s + x * len(key)
        return s

    grad = gradient(f)
    for n in range(80):
        options = {"k" * (i + 1): None for i in range(n % 40)}
        m = n % 40
        assert m * (m + 1) / 2 == grad(1.0, options)


def test_dimensions_without_end():
    """So does one whose arrays have ever more dimensions."""

    def f(x):
        return np.sum(x * 2.0)

    grad = gradient(f)
    for n in range(12):
        x = np.ones((1,) * n)
        np.testing.assert_array_equal(np.full(x.shape, 2.0), grad(x))


def test_compiled_functions_go_away_with_the_function():
    """Nothing global keeps a function alive that was differentiated."""

    def make():
        big = np.ones(1000)

        def f(x):
            return x * np.sum(big)

        return f

    f = make()
    assert 1000.0 == gradient(f)(1.0)
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None


def test_arguments_are_not_kept_alive():
    """After a gradient nothing holds the arguments."""

    def f(p, x):
        return np.sum(p["w"] * x)

    x = np.ones(3)
    gradient(f)({"w": np.ones(3)}, x)
    before = sys.getrefcount(x)
    for _ in range(3):
        gradient(f)({"w": np.ones(3)}, x)
    assert before == sys.getrefcount(x)


class TestThreads:
    def race(self, work, count=8):
        """Run `work(i)` in threads that start together; their results."""
        barrier = threading.Barrier(count)
        results = [None] * count

        def run(i):
            barrier.wait()
            try:
                results[i] = work(i)
            except BaseException as error:
                results[i] = error

        threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return results

    def test_first_calls_race(self):
        """Threads that make the first call together all get the right gradient."""

        def f(x):
            return np.sum(np.sin(x) * x)

        x = np.array([0.5, 1.5])
        expected = np.cos(x) * x + np.sin(x)
        for result in self.race(lambda i: gradient(f)(x)):
            np.testing.assert_allclose(result, expected, rtol=1e-14)

    def test_kinds_race(self):
        """Threads with different kinds do not lose each other's variants or mix their results."""

        def f(x):
            return np.sum(x * x)

        def work(i):
            x = np.full((1,) * i, 1.0 + i) if i else 1.0
            for _ in range(5):
                assert np.all(gradient(f)(x) == 2.0 * (1.0 + i))
            return i

        assert list(range(8)) == self.race(work)

    def test_pullbacks_are_independent(self):
        """Each pullback has its own records."""

        def f(x, n):
            for _ in range(n):
                x = np.sin(x)
            return x

        def work(i):
            _, back = pullback(f, 0.1 * (i + 1), 5 + i)
            return back(1.0)[0], value_and_grad(f)(0.1 * (i + 1), 5 + i)[1]

        for both in self.race(work):
            assert both[0] == pytest.approx(both[1], rel=1e-15)


def test_a_refusal_leaves_no_entry():
    """A call that is refused does not disturb later ones."""

    def f(x, n):
        if n is None:
            return sum({v for v in x})
        return np.sum(x) * n

    grad = gradient(f)
    np.testing.assert_array_equal([2.0, 2.0], grad(np.ones(2), 2))
    for _ in range(2):
        with pytest.raises(UnsupportedSyntaxError):
            grad(np.ones(2), None)
    np.testing.assert_array_equal([3.0, 3.0], grad(np.ones(2), 3))
