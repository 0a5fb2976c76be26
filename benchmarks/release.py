"""How much memory the gradient of a network needs at most: forward and backward, above the inputs.

    make bench-release

A network of six layers `tanh(h @ W + b)` with a squared loss, in single precision. The unit is one activation, which is
1 MiB; the gradients alone are 2.51 of these. It is measured on the arrays of `tests/device`, whose pool counts every
byte, and on those of NumPy by `tracemalloc`. Of pullbacks written by hand, one that drops what is dead needs 8.0
forward and 8.0 backward; one that drops nothing 20.0 and 21.5; one that writes into dead buffers 8.0 and 7.25.

For each program and each of `MODES`: the peak of the forward, what is kept for the backward, the peak of the backward,
and what remains when it is done and the pullback is still there.
"""

import contextlib
import functools
import gc
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from adcompiler import differentiable, pullback, release_mode

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests import device

B, D, L = 1024, 256, 6
UNIT = B * D * 4


def unrolled(x, t, W1, b1, W2, b2, W3, b3, W4, b4, W5, b5, W6, b6):
    """Every layer in the text."""
    h = np.tanh(x @ W1 + b1)
    h = np.tanh(h @ W2 + b2)
    h = np.tanh(h @ W3 + b3)
    h = np.tanh(h @ W4 + b4)
    h = np.tanh(h @ W5 + b5)
    h = np.tanh(h @ W6 + b6)
    return np.sum((h - t) ** 2)


def looped(x, t, layers):
    """A loop over the parameters."""
    h = x
    for W, b in layers:
        h = np.tanh(h @ W + b)
    return np.sum((h - t) ** 2)


def dense(h, W, b):
    """One layer."""
    return np.tanh(h @ W + b)


def helped(x, t, layers):
    """A helper for each layer."""
    h = x
    for W, b in layers:
        h = dense(h, W, b)
    return np.sum((h - t) ** 2)


class Dense:
    """A layer as an object."""

    def __init__(self, W, b):
        self.W = W
        self.b = b

    def __call__(self, h):
        return np.tanh(h @ self.W + self.b)


class Network:
    """Layers in a row."""

    def __init__(self, layers):
        self.layers = layers

    def __call__(self, x):
        h = x
        for layer in self.layers:
            h = layer(h)
        return h


def of_objects(network, x, t):
    """The loss of a network that is called."""
    return np.sum((network(x) - t) ** 2)


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[..., tuple[Any, ...]]]] = {
    "unrolled": (unrolled, lambda x, t, layers: (x, t, *(p for layer in layers for p in layer))),
    "loop": (looped, lambda x, t, layers: (x, t, layers)),
    "helpers": (helped, lambda x, t, layers: (x, t, layers)),
    "objects": (of_objects, lambda x, t, layers: (Network([Dense(W, b) for W, b in layers]), x, t)),
}

# How the pullback is made, and what is in force while it is made and called.
MODES: dict[str, tuple[dict[str, Any], Callable[[], contextlib.AbstractContextManager[Any]]]] = {
    "reusable": ({}, contextlib.nullcontext),
    **{
        mode: ({"single_use": True}, functools.partial(release_mode, mode)) for mode in ("off", "drop", "free", "reuse")
    },
}


def inputs() -> tuple[Any, ...]:
    """The input, the targets and the parameters, always the same numbers."""
    rng = np.random.default_rng(0)
    x, t = (rng.standard_normal((B, D)).astype("f") for _ in range(2))
    layers = [((rng.standard_normal((D, D)) / 16).astype("f"), np.zeros(D, "f")) for _ in range(L)]
    return x, t, layers


class Device:
    """The memory of the double."""

    def arrays(self, value: Any) -> Any:
        """`value` with arrays of the double."""
        if isinstance(value, (tuple, list)):
            return type(value)(map(self.arrays, value))
        return device.asarray(value)

    def used(self) -> int:
        """The bytes that are out now."""
        return device.pool.used

    def peak(self) -> int:
        """The highest number of bytes since the last `reset`."""
        return device.pool.peak

    def reset(self) -> None:
        """Count the peak from here on."""
        device.pool.reset_peak()


class Host:
    """The memory of NumPy, as `tracemalloc` sees it."""

    def arrays(self, value: Any) -> Any:
        """`value` in new arrays, which are counted."""
        if isinstance(value, (tuple, list)):
            return type(value)(map(self.arrays, value))
        return value.copy()

    def used(self) -> int:
        """The bytes that are out now."""
        return tracemalloc.get_traced_memory()[0]

    def peak(self) -> int:
        """The highest number of bytes since the last `reset`."""
        return tracemalloc.get_traced_memory()[1]

    def reset(self) -> None:
        """Count the peak from here on."""
        tracemalloc.reset_peak()


@contextlib.contextmanager
def traced() -> Iterator[None]:
    """Count the memory of NumPy, and break up no reference cycles."""
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()
        gc.enable()


def measured(memory: Any, program: str, mode: str) -> tuple[float, float, float, float]:
    """The peak of the forward, what it keeps, the peak of the backward, and what remains, in activations."""
    f, arguments = PROGRAMS[program]
    how, context = MODES[mode]
    make = functools.partial(pullback, differentiable(f, nondiff=("t",)), **how)
    with context():
        given = arguments(*memory.arrays(inputs()))
        loss, back = make(*given)
        back(np.ones_like(loss))  # compiled before anything is counted
        del back
        with traced() if isinstance(memory, Host) else contextlib.nullcontext():
            del given
            given = arguments(*memory.arrays(inputs()))
            seed = np.ones_like(loss)
            base = memory.used()
            memory.reset()
            loss, back = make(*given)
            forward, kept = memory.peak() - base, memory.used() - base
            memory.reset()
            grads = back(seed)
            found = forward, kept, memory.peak() - base, memory.used() - base
            del grads, back, loss
    return tuple(n / UNIT for n in found)  # type: ignore[return-value]


def main() -> None:
    """Measure all, and print."""
    print(f"{'':10} {'':12} {'':7} {'forward':>8} {'kept':>8} {'backward':>8} {'after':>8}")
    for program in PROGRAMS:
        for mode in MODES:
            for name, memory in (("device", Device()), ("numpy", Host())):
                row = measured(memory, program, mode)
                print(f"{program:10} {mode:12} {name:7} " + " ".join(f"{n:8.2f}" for n in row))


if __name__ == "__main__":
    main()
