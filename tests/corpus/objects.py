"""Models that are objects: layers, dataclasses of parameters, methods that call each other."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from adcompiler.testing import Input, normal
from tests.corpus.sample import sample


@dataclasses.dataclass
class Dense:
    W: Any
    b: Any

    def __call__(self, x):
        return np.tanh(self.W @ x + self.b)

    def penalty(self):
        return np.sum(self.W**2) + np.sum(self.b**2)


@dataclasses.dataclass(frozen=True, slots=True)
class Linear:
    W: Any
    gain: float = 0.5

    def __call__(self, x):
        return self.W @ x * self.gain

    @property
    def norm(self):
        return np.sqrt(np.sum(self.W**2))

    def penalty(self):
        return self.norm * self.gain


class Network:
    rate = 0.25

    def __init__(self, *layers):
        self.layers = list(layers)
        self.name = "net"

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = layer(x)
        return self.layers[-1](x)

    def loss(self, x, target):
        r = self(x) - target
        return np.sum(r * r) + self.rate * self.penalty()

    def penalty(self):
        total = 0.0
        for layer in self.layers:
            total = total + layer.penalty()
        return total


class Skip(Network):
    def __call__(self, x):
        return super().__call__(x) + x


class State(NamedTuple):
    position: Any
    velocity: Any

    def moved(self, dt):
        return self._replace(position=self.position + dt * self.velocity)


def dense(n, m):
    return Input(lambda rng: Dense(rng.normal(size=(n, m)), rng.normal(size=n)), f"dense({n}, {m})")


def linear(n, m):
    return Input(lambda rng: Linear(rng.normal(size=(n, m))), f"linear({n}, {m})")


def network(cls, *layers):
    return Input(lambda rng: cls(*(layer.make(rng) for layer in layers)), cls.__name__)


def state(n):
    return Input(lambda rng: State(rng.normal(size=n), rng.normal(size=n)), f"state({n})")


@sample(dense(2, 3), normal(3))
def one_layer(layer, x):
    return np.sum(layer(x)) + layer.penalty()


@sample([dense(3, 3), dense(2, 3)], normal(3))
@sample([dense(3, 3), linear(2, 3)], normal(3))
def layers_in_a_list(layers, x):
    for layer in layers:
        x = layer(x)
    return x


@sample({"encoder": dense(2, 3), "decoder": linear(3, 2)}, normal(3))
def layers_by_name(params, x):
    return np.sum((params["decoder"](params["encoder"](x)) - x) ** 2)


@sample(network(Network, dense(3, 3), dense(3, 3), dense(2, 3)), normal(3), normal(2))
@sample(network(Network, dense(3, 3), linear(2, 3)), normal(3), normal(2))
@sample(network(Skip, dense(3, 3), dense(3, 3)), normal(3), normal(3))
def network_loss(net, x, target):
    return net.loss(x, target)


@sample(state(2), 0.1)
def steps(s, dt):
    for _ in range(3):
        s = s.moved(dt)
        s = State(s.position, s.velocity - dt * s.position)
    return np.sum(s.position * s.velocity)


@sample(dense(2, 3), normal(3))
def methods_as_values(layer, x):
    def applied(f, *args):
        return f(*args)

    return np.sum(applied(layer, x)) * applied(layer.penalty)
