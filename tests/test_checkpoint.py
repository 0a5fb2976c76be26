"""`checkpoint(f)`: gradients, how often `f` runs, what is kept, random numbers, what is refused."""

import functools
import random
import tracemalloc

import numpy as np
import pytest

from adcompiler import (
    MutationError,
    Tangent,
    checkpoint,
    differentiable,
    gradient,
    hook,
    jacobian,
    pullback,
    release_mode,
    value_and_grad,
)

X = np.linspace(0.2, 1.0, 4)


def wave(x):
    return np.sin(x) * x


@checkpoint
def kept_wave(x):
    return np.sin(x) * x


@checkpoint
def power(x, n):
    return x if n == 0 else power(x * 1.5, n - 1) * x


class Layer:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return np.tanh(self.w * x)

    def plain(self, x, *, scale=1.0):
        return np.tanh(self.w * x) * scale

    @checkpoint
    def kept(self, x, *, scale=1.0):
        return np.tanh(self.w * x) * scale


def plainly(f):
    """In the place of `checkpoint`."""
    return f


def same(make, *args, argnums=0):
    """The program `make(checkpoint)` has value and gradient of `make(plainly)`."""
    value, grads = value_and_grad(make(plainly), argnums)(*args)
    actual, found = value_and_grad(make(checkpoint), argnums)(*args)
    np.testing.assert_allclose(actual, value)
    for got, want in zip(found, grads, strict=True) if isinstance(argnums, tuple) else [(found, grads)]:
        np.testing.assert_allclose(got, want, rtol=1e-12)


# --- values and gradients ---------------------------------------------------------------------------------


def test_outside_of_differentiation_it_is_the_function():
    """A plain call gives the value, and the function keeps its name."""
    assert checkpoint(wave)(2.0) == wave(2.0)
    assert kept_wave.__name__ == "kept_wave"
    assert Layer(2.0).kept(0.5, scale=3.0) == Layer(2.0).plain(0.5, scale=3.0)
    with pytest.raises(TypeError, match=r"checkpoint\(f\)\(x\)"):
        checkpoint(3.0)


def test_gradient_by_algebra():
    """d/dx sum (sin(x) x)^2 = 2 sin(x) x (cos(x) x + sin(x))."""
    expected = 2 * np.sin(X) * X * (np.cos(X) * X + np.sin(X))
    np.testing.assert_allclose(gradient(lambda x: np.sum(kept_wave(x) ** 2))(X), expected)
    np.testing.assert_allclose(gradient(lambda x: np.sum(checkpoint(wave)(x) ** 2))(X), expected)


def test_a_checkpointed_function_itself():
    """It can be differentiated at the top: with source, with a rule, as a method."""
    np.testing.assert_allclose(gradient(checkpoint(lambda x: np.sum(x * x)))(X), 2 * X)
    np.testing.assert_allclose(pullback(checkpoint(np.sin), X)[1](np.ones(4))[0], np.cos(X))
    np.testing.assert_allclose(jacobian(kept_wave)(X), np.diag(np.cos(X) * X + np.sin(X)))
    np.testing.assert_allclose(gradient(lambda x: np.sum(Layer(2.0).kept(x)))(X), 2 / np.cosh(2 * X) ** 2)
    assert gradient(differentiable(kept_wave))(0.0) == 0.0


def test_a_closure_over_active_variables():
    """Captured variables get their cotangents, with the values that they had at the call."""

    def make(c):
        def f(x, w):
            for i in range(3):
                x = c(lambda t: np.tanh(t * w + i))(x)  # noqa: B023  it is called at once
                w = w * 1.1
            return np.sum(x)

        return f

    same(make, X, 2.0, argnums=(0, 1))


def test_nested_functions_and_defaults():
    """A local `def` with defaults, keyword arguments, `*args`."""

    def make(c):
        def f(x, w):
            def inner(a, *rest, scale=2.0, **more):
                return a * rest[0] * scale * more["extra"] * w

            return np.sum(c(inner)(x, x * w, extra=w))

        return f

    same(make, X, 2.0, argnums=(0, 1))


def test_methods_and_objects():
    """A method that was decorated, a bound method, an object that can be called: with a Tangent for its fields."""

    def loss(layer, x):
        return np.sum(layer.kept(x, scale=2.0)) + np.sum(checkpoint(layer.plain)(x)) + np.sum(checkpoint(layer)(x))

    def plain(layer, x):
        return np.sum(layer.plain(x, scale=2.0)) + np.sum(layer.plain(x)) + np.sum(layer(x))

    expected, found = (gradient(f, (0, 1))(Layer(2.0), X) for f in (plain, loss))
    assert isinstance(found[0], Tangent)
    np.testing.assert_allclose(found[0].w, expected[0].w)
    np.testing.assert_allclose(found[1], expected[1])


def test_structures():
    """Dicts, lists and numbers in and out; what was not used has no influence."""

    def make(c):
        def step(p, *, k):
            return {"a": p["a"] * k, "b": [p["a"][0], 3, (k * k, "text")]}

        def f(a, k):
            out = c(step)({"a": a, "unused": k}, k=k)
            return np.sum(out["a"]) * out["b"][0] + out["b"][2][0]

        return f

    same(make, X, 3.0, argnums=(0, 1))


def test_partials_layers_and_functions_of_functions():
    """Checkpointed functions in lists, partials, as arguments."""

    def make(c):
        def apply(f, x):
            return f(x)

        def f(x, w):
            layers = [c(lambda t: t * w), c(np.sin), c(functools.partial(np.multiply, w))]
            for layer in layers:
                x = layer(x)
            x = functools.reduce(lambda a, g: c(g)(a), [np.cos, lambda t: t + w], x)
            return np.sum(apply(c(wave), x))

        return f

    same(make, X, 2.0, argnums=(0, 1))


def test_checkpointed_functions_as_arguments():
    """A function of captured parameters that is an argument has the gradient of a function."""
    layers = [checkpoint(Layer(2.0)), checkpoint(Layer(0.5))]

    def loss(layers, x):
        for layer in layers:
            x = layer(x)
        return np.sum(x)

    def plain(a, b):
        return np.sum(np.tanh(b * np.tanh(a * X)))

    a_bar, b_bar = gradient(plain, (0, 1))(2.0, 0.5)
    found = gradient(loss)(layers, X)
    np.testing.assert_allclose([found[0]["f"].w, found[1]["f"].w], [a_bar, b_bar])


def test_nested_and_recursive():
    """Checkpoints in checkpoints, and a checkpointed function that calls itself."""

    def make(c):
        def middle(t):
            for _ in range(2):
                t = c(wave)(t)
            return t

        def f(x):
            for _ in range(2):
                x = c(middle)(x)
            return np.sum(x)

        return f

    same(make, X)
    # x * 1.5 x * 2.25 x * 3.375 x
    assert gradient(lambda x: power(x, 3))(2.0) == pytest.approx(4 * 2.0**3 * 1.5 * 1.5**2 * 1.5**3)


def test_a_branch_a_loop_and_a_try():
    """It may stand in any control flow, and an exception in it is a plain one."""

    def make(c):
        def risky(t):
            if t[0] < 5:
                raise ZeroDivisionError
            return t * t

        def f(x):
            total = 0.0
            for scale in (1.0, 10.0, 100.0):
                try:
                    y = c(risky)(x * scale)
                except ZeroDivisionError:
                    y = x * 3
                total = total + np.sum(y) if scale > 1 else np.sum(c(wave)(y))
            return total

        return f

    same(make, X)


def test_exceptions_pass_unchanged():
    """What `f` raises comes through, in the forward."""

    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        gradient(lambda x: checkpoint(f)(x))(1.0)


def test_hooks_inside():
    """A hook in a checkpointed function sees its cotangent once."""
    seen = []
    gradient(lambda x: np.sum(checkpoint(lambda t: hook(seen.append, t) * 3.0)(x)))(X)
    np.testing.assert_array_equal(seen, [np.full(4, 3.0)])


# --- how often, and what is kept --------------------------------------------------------------------------


def test_once_forward_and_once_per_pullback():
    """The forward runs `f` once, and so does every call of the pullback."""
    runs = []

    def f(x):
        runs.append(1)
        return x * x

    y, back = pullback(lambda x: checkpoint(f)(x) * 3.0, 4.0)
    assert (y, len(runs)) == (48.0, 1)
    assert back(1.0) == (24.0,)
    assert len(runs) == 2
    assert back(1.0) == (24.0,)
    assert len(runs) == 3


def test_one_compilation_for_a_loop():
    """Functions of one body are compiled once, whatever they have captured."""
    compiled = []
    step = differentiable(lambda t, w, i: (compiled.append(1), np.tanh(t * w + i))[1])

    def f(x, w, n):
        for i in range(n):
            x = checkpoint(lambda t: step(t, w, i))(x)  # noqa: B023
        return np.sum(x)

    gradient(f)(X, 0.5, 2)
    tracemalloc.start()
    gradient(f)(X, 0.5, 40)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(compiled) == 2 * 42
    assert peak < 2_000_000  # a compilation for each step takes several times that


def test_only_the_inputs_of_the_segments_are_kept():
    """Of 64 segments of 8 arrays each 64 arrays are kept, and one segment's more while the pullback runs."""

    def segment(x):
        for _ in range(8):
            x = np.sin(x)
        return x

    def chain(x, c):
        for _ in range(64):
            x = c(segment)(x)
        return np.sum(x)

    x = np.linspace(0.0, 1.0, 20_000)

    def peak(f):
        gradient(f)(x)
        tracemalloc.start()
        gradient(f)(x)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most / x.nbytes

    assert peak(lambda x: chain(x, checkpoint)) < 64 + 8 + 8
    assert peak(lambda x: chain(x, plainly)) > 500


def test_what_is_captured_is_not_copied():
    """A captured array is kept itself, by every segment."""
    w = np.ones((500, 500))

    def f(x):
        for _ in range(20):
            x = checkpoint(lambda t: np.tanh(w @ t) / 500)(x)
        return np.sum(x)

    x = np.ones(500)
    gradient(f)(x)
    tracemalloc.start()
    gradient(f)(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < w.nbytes


# --- random numbers ---------------------------------------------------------------------------------------

OWN = np.random.default_rng(5)


class Noise:
    def __init__(self):
        self.rng = np.random.default_rng(7)

    def __call__(self, x):
        return x * self.rng.normal(size=4)


def helper(x):
    return x * OWN.normal(size=4)


@pytest.mark.parametrize("single_use", [False, True])
def test_random_numbers_are_drawn_again(single_use):
    """From NumPy's and Python's global generators, and from those in arguments, closures, objects and globals."""

    def run(c):
        np.random.seed(3)
        random.seed(3)
        noise, given, captured = Noise(), np.random.default_rng(1), np.random.RandomState(2)
        OWN.bit_generator.state = np.random.default_rng(5).bit_generator.state

        def drawn(t, rng):
            keep = np.random.random(4) < 0.5
            t = t * t * keep * random.random() * rng.normal(size=4)
            return helper(noise(t)) * captured.normal(size=4)

        y, back = pullback(lambda x: np.sum(c(drawn)(x, given) * c(drawn)(x, given)), X, single_use=single_use)
        next_ones = np.random.random(), random.random(), given.normal(), captured.normal(), OWN.normal()
        first = back(1.0)[0]
        second = first if single_use else back(1.0)[0]
        after = np.random.random(), random.random(), given.normal(), captured.normal(), OWN.normal()
        return y, first, second, next_ones, after

    expected, actual = run(plainly), run(checkpoint)
    np.testing.assert_allclose(actual[0], expected[0])
    np.testing.assert_allclose(actual[1], expected[1])
    np.testing.assert_allclose(actual[2], expected[2])
    assert actual[3:] == expected[3:]


# --- writes -----------------------------------------------------------------------------------------------


def test_arguments_and_captured_arrays_that_are_written_into_later():
    """Of what the program writes into later, there is a copy."""

    def make(c):
        def f(x):
            u, mask, p = x * 2, np.ones(4), {"w": x, "list": [x, 2.0]}
            for i in range(3):
                u[i] = 1.5 * u[i]
                u += c(lambda t: t * mask * u)(u)  # noqa: B023
                mask[i] = 0.5
            y = c(lambda p: p["w"] * p["list"][0] * p["list"][1])(p)
            z = c(lambda t: t * p["w"])(y)
            p["w"] = y * 2
            p["list"][1] = 5.0
            return np.sum(u * y) + np.sum(p["w"] * z)

        return f

    same(make, X)


def test_writes_into_arrays_of_its_own():
    """A checkpointed function may write into arrays that it makes."""

    def make(c):
        def filled(t):
            y = np.zeros(4)
            y[0] = t[0]
            for i in range(1, 4):
                y[i] = y[i - 1] * t[i]
            y *= 2
            return y

        return lambda x: np.sum(c(filled)(x) ** 2)

    same(make, X)


def first_doubled(t):
    t[0] = t[0] * 2
    return t * t


def grown(items, t):
    items.append(t)
    return t * 2


def test_writes_into_what_it_is_given_are_refused():
    """Arrays, lists and objects that carry derivatives must stay as they are."""
    for f in (
        lambda x: np.sum(checkpoint(first_doubled)(x * 2)),
        lambda x: np.sum(checkpoint(grown)([x], x)),
    ):
        with pytest.raises(MutationError, match="under checkpoint, writes into what it is given or has captured") as e:
            gradient(f)(X)
        assert "test_checkpoint.py" in str(e.value)


WEIGHTS = np.ones(4)


def test_global_arrays_that_are_written_into_are_refused():
    """What a checkpointed function reads of them would have no derivative."""

    def f(x):
        WEIGHTS[:] = x
        return np.sum(checkpoint(lambda t: t * WEIGHTS)(x))

    with pytest.raises(MutationError, match="<lambda>, a function under checkpoint, reads a global or captured array"):
        gradient(f)(X)


@pytest.mark.parametrize("mode", ["off", "drop", "free", "reuse", "poison"])
def test_release_modes(mode):
    """No mode changes a number."""

    def make(c):
        def f(x, w):
            for i in range(4):
                x = c(lambda t: wave(t) * w + i)(x)  # noqa: B023
            return np.sum(x)

        return f

    with release_mode(mode, above=0):
        same(make, np.linspace(0.1, 1.0, 200), 1.2, argnums=(0, 1))


def test_results_that_are_written_into():
    """The value may be written into: a new array, a view of an argument."""

    def make(c):
        def f(x):
            u = x * 1.5
            y = c(wave)(u)
            y[0] = 5.0
            y *= x
            z = c(lambda t: t[1:])(u)
            z[0] = 2.0
            return np.sum(y * y) + np.sum(u * u) + np.sum(z)

        return f

    same(make, X)


BUFFER = np.ones(4)


def scaled_by_buffer(t):
    return t * t * BUFFER


def test_another_value_the_second_time_is_refused():
    """What reads something that has changed meanwhile would have the derivative of another function."""

    def f(x):
        y = checkpoint(scaled_by_buffer)(x)
        BUFFER[:] = 5.0
        return np.sum(y)

    with pytest.raises(MutationError, match="scaled_by_buffer gave another value when checkpoint computed it again"):
        gradient(f)(X)
    calls = []

    def flips(t):
        calls.append(1)
        return t * (len(calls) % 2)

    with pytest.raises(MutationError, match="flips gave another value"):
        gradient(lambda x: np.sum(checkpoint(flips)(x)))(X)


def test_infinite_and_undefined_values_agree():
    """Values that are not finite, and of size 0, are no other ones."""
    with np.errstate(all="ignore"):
        found = gradient(lambda x: np.sum(checkpoint(lambda t: np.log(t - X))(x)[1:] * 0.0))(X)
    assert found.shape == (4,)
    assert gradient(lambda x: np.sum(checkpoint(lambda t: t * 2)(x)))(np.zeros((0, 3))).shape == (0, 3)
    assert gradient(lambda x: checkpoint(lambda t: (t * 2, 3, None, "a"))(x)[0])(2.0) == 2.0
