"""How much memory the gradient of a network needs at most: forward and backward, above the inputs.

    make bench-release             (ON=cupy: on CuPy's own arrays, in host memory; ON=gpu: on a device)

A network of six layers `tanh(h @ W + b)` with a squared loss, in single precision. The unit is one activation, which is
1 MiB; the gradients alone are 2.51 of these. It is measured on the arrays of `tests/device`, whose pool counts every
byte, on those of NumPy by `tracemalloc`, and on those of CuPy by a hook of its pool. Of pullbacks written by hand, one
that drops what is dead needs 8.0 forward and 8.0 backward; one that drops nothing 20.0 and 21.5; one that writes into
dead buffers 8.0 and 7.25.

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

L = 6
SIZE = 1024, 256  # of the batch, and of a layer


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


def inputs(size: tuple[int, int] = SIZE) -> tuple[Any, ...]:
    """The input, the targets and the parameters, always the same numbers."""
    rng = np.random.default_rng(0)
    x, t = (rng.standard_normal(size).astype("f") for _ in range(2))
    width = size[1]
    layers = [((rng.standard_normal((width, width)) / width**0.5).astype("f"), np.zeros(width, "f")) for _ in range(L)]
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

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """Break up no reference cycles."""
        with no_collector():
            yield


class CuPy:
    """The memory of CuPy's pool, as its hook sees it."""

    def __init__(self) -> None:
        import cupy

        class Meter(cupy.cuda.MemoryHook):  # type: ignore[misc]
            """Counts what is taken and given back."""

            name = "meter"

            def start(self) -> None:
                """Count from here on: what was counted before may have been given back unseen."""
                self.sizes: dict[int, int] = {}
                self.used = self.peak = 0

            def malloc_postprocess(self, pmem_id: int, mem_size: int, **_: Any) -> None:
                self.sizes[pmem_id] = mem_size
                self.used += mem_size
                self.peak = max(self.peak, self.used)

            def free_postprocess(self, pmem_id: int, **_: Any) -> None:
                self.used -= self.sizes.pop(pmem_id, 0)

        self.cupy = cupy
        self.meter = Meter()

    def arrays(self, value: Any) -> Any:
        """`value` with arrays of CuPy."""
        if isinstance(value, (tuple, list)):
            return type(value)(map(self.arrays, value))
        return self.cupy.array(value)

    def used(self) -> int:
        """The bytes that are out now."""
        return self.meter.used

    def peak(self) -> int:
        """The highest number of bytes since the last `reset`."""
        return self.meter.peak

    def reset(self) -> None:
        """Count the peak from here on."""
        self.meter.peak = self.meter.used

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """Count what the pool gives from here on, and break up no reference cycles."""
        self.meter.start()
        with no_collector(), self.meter:
            yield


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
    def counted(self) -> Iterator[None]:
        """Count what is made from here on, and break up no reference cycles."""
        with no_collector():
            tracemalloc.start()
            try:
                yield
            finally:
                tracemalloc.stop()


@contextlib.contextmanager
def no_collector() -> Iterator[None]:
    """Break up no reference cycles."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


MEMORIES: dict[str, Callable[[], Any]] = {"device": Device, "numpy": Host, "cupy": CuPy, "gpu": CuPy}


def measured(memory: Any, program: str, mode: str, size: tuple[int, int] = SIZE) -> tuple[float, float, float, float]:
    """The peak of the forward, what it keeps, the peak of the backward, and what remains, in activations."""
    f, arguments = PROGRAMS[program]
    how, context = MODES[mode]
    make = functools.partial(pullback, differentiable(f, nondiff=("t",)), **how)
    with context():
        given = arguments(*memory.arrays(inputs(size)))
        loss, back = make(*given)
        back(np.ones_like(loss))  # compiled before anything is counted
        del back
        with memory.counted():
            del given
            given = arguments(*memory.arrays(inputs(size)))
            seed = np.ones_like(loss)
            base = memory.used()
            memory.reset()
            loss, back = make(*given)
            forward, kept = memory.peak() - base, memory.used() - base
            memory.reset()
            grads = back(seed)
            found = forward, kept, memory.peak() - base, memory.used() - base
            del grads, back, loss
    return tuple(n / (4 * size[0] * size[1]) for n in found)  # type: ignore[return-value]


def main(*names: str) -> None:
    """Measure all in the memories of these names, and print."""
    if "cupy" in names:
        from tests.hostcupy.install import install

        install()
    memories = {name: MEMORIES[name]() for name in names or ("device", "numpy")}
    print(f"{'':10} {'':12} {'':7} {'forward':>8} {'kept':>8} {'backward':>8} {'after':>8}")
    for program in PROGRAMS:
        for mode in MODES:
            for name, memory in memories.items():
                row = measured(memory, program, mode)
                print(f"{program:10} {mode:12} {name:7} " + " ".join(f"{n:8.2f}" for n in row))


if __name__ == "__main__":
    main(*sys.argv[1:])
