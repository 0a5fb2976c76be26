"""Derivatives of what objects, their methods and functions that others hold compute, in what is differentiated."""

import functools
from collections import defaultdict

import numpy as np
import pytest

from adcompiler import checkpoint, diag_hessian, gradient, hessian, hvp, jvp, pullback
from tests.orders import X, check_second, close, difference


class Spring:
    scale = 2.0
    total = 0.0

    def __init__(self, stiffness):
        self.stiffness = stiffness

    def __call__(self, y):
        return self.energy(y)

    def energy(self, y):
        return self.stiffness * y**4 * self.scale

    def force(self, y):
        return -gradient(self.energy)(y)

    def scaled(self, factor):
        self.scale = self.scale * factor
        self.total += factor


class Layer:
    def __init__(self, w):
        self.w = w

    def __call__(self, h):
        return np.tanh(self.w * h)


class Net:
    def __init__(self, layers):
        self.layers = layers

    def loss(self, h):
        for layer in self.layers:
            h = layer(h)
        return np.sum(h**2)


def gradient_of_own_method(x):
    return Spring(x[0]).force(x[1]) * x[2]


def gradient_of_methods_in_a_loop(x):
    return sum(gradient(spring.energy)(x[1]) for spring in [Spring(x[0]), Spring(x[2])])


def method_kept_while_its_object_changes(x):
    spring = Spring(x[0])
    energy = spring.energy
    g = gradient(energy)(x[1])
    spring.stiffness = x[2] * 3
    return g * gradient(energy)(x[1])


def gradient_kept_while_the_object_changes(x):
    spring = Spring(x[0])
    force = gradient(spring.energy)
    g = force(x[1])
    spring.stiffness = g * x[2]
    return g * force(x[1])


def method_in_a_dict_while_its_object_changes(x):
    spring = Spring(x[0])
    kept = {"energy": spring.energy}
    g = gradient(kept["energy"])(x[1])
    spring.stiffness = x[2]
    return g * gradient(kept["energy"])(x[1])


def checkpointed_method_while_its_object_changes(x):
    spring = Spring(x[0])
    energy = checkpoint(spring.energy)
    e = energy(x[1])
    spring.stiffness = x[2] * 3
    return e * energy(x[1])


def tangent_of_a_method_while_its_object_changes(x):
    spring = Spring(x[0])
    energy = spring.energy
    slope = jvp(energy, (x[1],), (1.0,))[1]
    spring.stiffness = x[2]
    return slope * jvp(energy, (x[1],), (1.0,))[1]


def attribute_of_the_class(x):
    spring = Spring(x[0])
    energy, back = pullback(spring.energy, x[1])
    return energy * Spring(back(x[2])[0]).energy(x[0])


def attribute_of_the_class_that_an_object_gets(x):
    spring = Spring(x[0])
    g = gradient(spring.energy)(x[1])
    spring.scaled(g)
    return gradient(spring.energy)(x[2]) * spring.total


def gradient_of_layers(x):
    net = Net([Layer(x), Layer(x * 2)])
    return np.sum(gradient(net.loss)(x) ** 2)


def gradient_with_respect_to_layers(x):
    g = gradient(Net.loss)(Net([Layer(x), Layer(x * 2)]), x)
    return np.sum(g.layers[0].w * g.layers[1].w)


def second_derivative_of_an_object(x):
    return gradient(gradient(Spring(x[0])))(x[1]) * x[2]


def second_derivative_of_a_closure(x):
    a = x[0]
    return gradient(gradient(lambda y: a * y**3))(x[1]) * x[2]


def second_derivative_of_a_partial(x):
    return gradient(gradient(functools.partial(Spring.energy, Spring(x[0]))))(x[1]) * x[2]


def second_derivative_of_a_checkpoint(x):
    a = x[0]
    return gradient(gradient(checkpoint(lambda y: a * y**3)))(x[1]) * x[2]


def pullback_of_a_gradient(x):
    _, back = pullback(gradient(Spring(x[0])), x[1])
    return back(x[2])[0] * x[2]


def tangent_of_a_tangent_of_a_closure_in_a_list(x):
    a = x[0]
    functions = [lambda y: a * y**3]

    def inner(y):
        return functions[0](y)

    return jvp(lambda t: jvp(inner, (t,), (1.0,))[1], (x[1],), (1.0,))[1] * x[2]


def tangent_of_a_checkpoint_in_a_list(x):
    a = x[0]
    functions = [checkpoint(checkpoint(lambda y: a * y**3))]
    return jvp(lambda y: gradient(functions[0])(y), (x[1],), (1.0,))[1] * x[2]


PROGRAMS = [
    gradient_of_own_method, gradient_of_methods_in_a_loop, method_kept_while_its_object_changes,
    gradient_kept_while_the_object_changes, method_in_a_dict_while_its_object_changes,
    checkpointed_method_while_its_object_changes, tangent_of_a_method_while_its_object_changes,
    attribute_of_the_class, attribute_of_the_class_that_an_object_gets, gradient_of_layers,
    gradient_with_respect_to_layers, second_derivative_of_an_object, second_derivative_of_a_closure,
    second_derivative_of_a_partial, second_derivative_of_a_checkpoint, pullback_of_a_gradient,
    tangent_of_a_tangent_of_a_closure_in_a_list, tangent_of_a_checkpoint_in_a_list,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_second_derivatives(program):
    """First and second derivatives are those of differences, also with respect to what is captured and held."""
    check_second(program)


@pytest.mark.parametrize("program", [second_derivative_of_a_closure, tangent_of_a_tangent_of_a_closure_in_a_list])
def test_gradient_of_what_moves_with_nothing(program):
    """What a function has captured has a cotangent, where no tangent goes through it."""
    along = [difference(program, X, v) for v in np.eye(3)]
    close(gradient(program)(X), along)


def test_field_of_the_class_after_one_of_the_object():
    """What was compiled for an object with a field of its own is not used where the class has it."""

    def call(y, energy):
        return energy(y)

    own, shared = Spring(1.0), Spring(1.0)
    own.scale = 5.0
    for spring in (own, shared, own):
        _, slope = jvp(call, (2.0, spring.energy), (1.0, {"__self__": {"stiffness": 1.0}}))
        assert slope == spring.scale * (4 * 2.0**3 + 2.0**4)


def matched(x):
    total = x[0]
    for item in [("number", x[1]), Layer(x[2])]:
        match item:
            case ("number", v):
                total = total * v**2
            case Layer(w=w):
                total = total + w**3 * x[0]
    return total


def test_class_patterns_of_what_is_known_at_run_time():
    """`match` asks the same of the object at every order."""
    check_second(matched)


def in_turn(x):
    sums = defaultdict(float)
    for i, v in enumerate(x):
        sums[i % 2] += v**2
    return sums[0] * sums[1] + sums[5]


def test_loop_over_what_has_no_tangent():
    """Sums in a `defaultdict` of a loop with `enumerate`."""
    check_second(in_turn)


PARAMETERS = {"w": np.array([1.0, 2.0]), "b": 3.0, "unused": (1.0, 2.0), "count": 3, "name": "a", "which": np.arange(2)}


def cubic(p):
    return np.sum(p["w"]) * p["b"] ** 2 * p["count"]


def test_second_derivatives_with_whole_numbers_and_unused_parts():
    """The Hessian of 3 (w1 + w2) b^2, of a dict with parts that have no derivative, or no influence."""
    reverse, forward = hessian(cubic)(PARAMETERS), hessian(cubic, mode="forward")(PARAMETERS)
    for found in (reverse, forward):
        assert found["b"]["b"] == 18.0
        assert found["b"]["unused"] == (0.0, 0.0)
        assert found["count"] is None
        np.testing.assert_array_equal(found["w"]["b"], [18.0, 18.0])
    diagonal = diag_hessian(cubic)(PARAMETERS)
    assert diagonal["b"] == 18.0
    assert diagonal["unused"] == (0.0, 0.0)
    np.testing.assert_array_equal(diagonal["w"], [0.0, 0.0])
    assert hvp(cubic, PARAMETERS, {"b": 1.0})["b"] == 18.0
