"""What only a device can show of single use: run unattended, it takes less than four minutes, and prints tables.

    python tests/gpu/check.py           on a GPU with CuPy (or: pytest -m gpu tests/gpu)
    python tests/gpu/check.py --host    the same, small, on the real CuPy in host memory: does the script work?

It exits with 1 if something is wrong. The tables are for reading: peaks, times, the largest networks that fit.
"""

import argparse
import contextlib
import functools
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from adcompiler import differentiable, pullback, release_mode
from adcompiler.runtime.reuse import _quarantine
from adcompiler.vectors import random_like
from benchmarks import release as network
from tests import release_checks as checks
from tests.corpus import SAMPLES
from tests.device.moved import assert_equal, device_arrays, on_device, on_host
from tests.gpu.models import MODELS
from tests.release_programs import PROGRAMS

MODES = ("reusable", "off", "drop", "free", "reuse")


@dataclass
class Plan:
    """How large all is, and what has been found so far."""

    size: tuple[int, int] = (4096, 1024)  # of the network: an activation is 16 MiB
    limit: int = 4 << 30
    widths: tuple[int, int] = (1024, 64)  # of the networks of `MODELS`
    square: int = 4096  # rows and columns of what keeps a stream busy
    repeats: int = 10
    seconds: float = 200.0
    above: int = 1 << 16
    failures: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def left(self) -> float:
        """The seconds that remain."""
        return self.started + self.seconds - time.monotonic()

    @contextlib.contextmanager
    def expects(self, what: str) -> Iterator[None]:
        """What is wrong is told, and the next check begins."""
        try:
            yield
        except Exception:  # also those of CuPy and of CUDA
            self.failures.append(what)
            print(f"WRONG: {what}\n{traceback.format_exc(limit=-4)}", flush=True)


HOST = functools.partial(
    Plan, size=(256, 64), limit=1 << 20, widths=(32, 4), square=64, repeats=2, seconds=100.0, above=0
)


@contextlib.contextmanager
def fresh_pool() -> Iterator[Any]:
    """A pool of CuPy's that is empty, as the memory of `release_checks`; its memory is given back in the end."""
    import cupy

    from tests.hostcupy.pool import Pool

    memory, before = Pool(), cupy.cuda.get_allocator()
    cupy.cuda.set_allocator(memory.pool.malloc)
    try:
        yield memory
    finally:
        _quarantine.clear()
        cupy.cuda.set_allocator(before)
        memory.pool.free_all_blocks()


def made(f: Callable[..., Any], mode: str, above: int) -> tuple[Callable[..., Any], Callable[[], Any]]:
    """What makes the pullback in a mode, and what gives the `with` to be in when it is made and called."""
    make = functools.partial(pullback, differentiable(f, nondiff=("t",)), single_use=mode != "reusable")
    return make, functools.partial(release_mode, "off" if mode == "reusable" else mode, above)


# --- correctness ------------------------------------------------------------------------------------------


def small_programs(plan: Plan) -> None:
    """What the tests say in host memory, on the device."""
    for check in checks.CHECKS:
        with plan.expects(check.__name__), fresh_pool() as memory, network.no_collector():
            check(memory)
    for program in PROGRAMS:
        with plan.expects(program.__name__), fresh_pool() as memory, network.no_collector():
            checks.check_program(memory, program)
    print(f"{len(checks.CHECKS)} checks and {len(PROGRAMS)} programs with views, in every mode")


def corpus(plan: Plan) -> None:
    """Gradients of the corpus are those on NumPy, in every mode, as far as the time allows."""
    import cupy

    taken = run = 0
    for sample in SAMPLES:
        given = on_device(sample.arguments(), functools.partial(cupy.array, order="K"))
        if not any(True for _ in device_arrays(given)):
            continue
        try:
            sample.function(*given[0], **given[1])
        except Exception:
            continue  # CuPy itself does not run it
        taken += 1
        if plan.left() > 0:
            run += 1
            with plan.expects(f"corpus: {sample.id}"):
                _compare(sample)
    print(f"corpus: {run} of {taken} programs that CuPy runs" + ("" if run == taken else ": the time was over"))


def _compare(sample: Any) -> None:
    import cupy

    args, kwargs = sample.arguments()
    value, back = pullback(sample.function, *args, **kwargs)
    seed = random_like(value, np.random.default_rng(5))
    expected = back(seed)
    convert = functools.partial(on_device, asarray=functools.partial(cupy.array, order="K"))
    single = any(x.dtype.name in ("float32", "complex64") for x in device_arrays(convert((args, kwargs))))
    for mode in (*MODES, "poison"):
        args, kwargs = convert(sample.arguments())
        with release_mode("off" if mode == "reusable" else mode, above=0):
            y, back = pullback(sample.function, *args, single_use=mode != "reusable", **kwargs)
            found = back(convert(seed))
        _quarantine.clear()
        assert_equal(on_host(y), value, 1e-5 if single else 1e-9)
        for grad, wanted in zip(found, expected, strict=True):
            assert_equal(on_host(grad), wanted, 1e-3 if single else 1e-8)


# --- memory and time --------------------------------------------------------------------------------------


def peaks(plan: Plan) -> None:
    """The peaks of a network in activations, and what its pullback takes."""
    import cupy

    print(f"{'':12}{'':10}{'forward':>9}{'kept':>9}{'backward':>9}{'after':>9}{'ms':>9}")
    for program in network.PROGRAMS:
        for mode in MODES:
            with plan.expects(f"peak of {program}, {mode}"), fresh_pool() as memory:
                row = network.measured(memory, program, mode, plan.size)
                f, arguments = network.PROGRAMS[program]
                make, context = made(f, mode, plan.above)
                given, times = arguments(*memory.arrays(network.inputs(plan.size))), []
                with context():
                    for _ in range(plan.repeats):
                        cupy.cuda.Device().synchronize()
                        start = time.perf_counter()
                        loss, back = make(*given)
                        back(cupy.ones_like(loss))
                        cupy.cuda.Device().synchronize()
                        times.append(time.perf_counter() - start)
                print(
                    f"{program:12}{mode:10}"
                    + "".join(f"{n:9.2f}" for n in (*row, 1e3 * sorted(times)[len(times) // 2]))
                )
                forward, backward = checks.PEAKS[mode]
                assert row[0] <= forward
                assert row[2] <= backward


def largest(plan: Plan) -> None:
    """The largest batch of each model that fits, in each mode: for single use more than for a reusable pullback."""
    for name, width in zip(MODELS, plan.widths, strict=True):
        print(f"largest batch of the {name} network that fits into {plan.limit / 2**20:,.1f} MiB")
        found: dict[str, int] = {}
        for mode in MODES:
            with plan.expects(f"largest {name} network, {mode}"):
                found[mode] = _largest(functools.partial(_fits, Trial(name, width, mode, plan)))
                print(f"  {mode:10}{found[mode]:8}{found[mode] / max(found['reusable'], 1):8.2f}", flush=True)
        with plan.expects(f"largest {name} networks"):
            assert found["drop"] > 1.2 * found["reusable"]
            for mode in ("free", "reuse"):  # where blocks lie in the pool differs
                assert found[mode] > 0.85 * found["drop"]


class Trial:
    """A model in a mode; its gradient is that of NumPy."""

    def __init__(self, name: str, width: int, mode: str, plan: Plan) -> None:
        self.limit = plan.limit
        function, inputs = MODELS[name]
        self.make, self.context = made(function, mode, plan.above)
        self.inputs = inputs(2, width)
        with fresh_pool() as memory:
            given = memory.arrays(self.inputs)
            found = on_host(self.gradient(*given))
        expected = pullback(differentiable(function, nondiff=("t",)), *self.inputs)[1](1.0)[2]
        for actual, wanted in zip(found, expected, strict=True):
            assert_equal(actual, wanted, 1e-3)

    def gradient(self, *given: Any) -> Any:
        """With respect to the layers."""
        import cupy

        with self.context():
            loss, back = self.make(*given)
            return back(cupy.ones_like(loss))[2]

    def once(self, memory: Any, batch: int) -> None:
        """The gradient for a batch of zeros, which are made on the device."""
        import cupy

        x, t, layers = self.inputs
        x, t = (cupy.zeros((batch, *a.shape[1:]), "f") for a in (x, t))
        self.gradient(x, t, memory.arrays(layers))
        cupy.cuda.Device().synchronize()


def _largest(fits: Callable[[int], bool]) -> int:
    """The largest number that fits, to a part in thirty."""
    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > max(1, low // 30):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _fits(trial: Trial, batch: int) -> bool:
    import cupy

    with fresh_pool() as memory:
        memory.pool.set_limit(trial.limit)
        try:
            trial.once(memory, batch)
        except cupy.cuda.memory.OutOfMemoryError as error:
            traceback.clear_frames(error.__traceback__)
            return False
    return True


# --- streams ----------------------------------------------------------------------------------------------


def steps(x: Any) -> Any:
    """A program whose pullback reads what its forward kept."""
    h = x
    for _ in range(4):
        h = np.tanh(h * x)
    return np.sum(h)


def streams(plan: Plan) -> None:
    """A pullback on another stream is right, whatever the stream of the forward does with its memory meanwhile."""
    import cupy

    one, two = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    n = plan.square
    plain = np.linspace(-1.0, 1.0, n * n, dtype="f").reshape(n, n)
    (expected,) = pullback(steps, plain)[1](np.float32(1.0))
    for mode in ("off", "drop", "free", "reuse"):
        with plan.expects(f"streams, {mode}"), fresh_pool(), release_mode(mode, above=0):
            for backward in (one, two, two):  # the first ones compile
                with one:
                    x = cupy.array(plain)
                    loss, back = pullback(steps, x, single_use=True)
                    ct = cupy.ones_like(loss)
                one.synchronize()
                with backward:
                    _busy(n)
                    (grad,) = back(ct)
                with one:
                    junk = [cupy.full_like(x, np.nan) for _ in range(12)]
                cupy.cuda.Device().synchronize()
                assert_equal(grad.get(), expected, 1e-4)
                del junk
    with fresh_pool():
        wrong = _race(one, two, n)
    print(f"streams: right in every mode; where nobody waits, {wrong} of {n * n} elements are not what they were")


def _busy(n: int) -> None:
    """Give the current stream something to do for a while."""
    import cupy

    a, b, c = (cupy.ones((n, n), "f") for _ in range(3))
    for _ in range(30):
        cupy.matmul(a, b, out=c)


def _race(one: Any, two: Any, n: int) -> int:
    """How many elements are wrong in plain CuPy where a stream takes memory again that another one still reads."""
    import cupy

    with one:
        x = cupy.ones((n, n), "f")
    one.synchronize()
    with two:
        _busy(n)
        y = x * 1.0
    del x
    with one:
        junk = cupy.full((n, n), 7.0, "f")
    cupy.cuda.Device().synchronize()
    del junk
    return int((y != 1.0).sum())


# --- all --------------------------------------------------------------------------------------------------


SECTIONS = (small_programs, peaks, largest, streams, corpus)


def check(plan: Plan, sections: tuple[Callable[[Plan], None], ...] = SECTIONS) -> list[str]:
    """Run all; returns what is wrong."""
    for section in sections:
        start = time.monotonic()
        print(f"\n== {section.__name__}", flush=True)
        with plan.expects(section.__name__):
            section(plan)
        print(f"   {time.monotonic() - start:.0f} s", flush=True)
    return plan.failures


def main(arguments: list[str]) -> int:
    """As a command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", action="store_true", help="small, on CuPy in host memory")
    parser.add_argument("--seconds", type=float, help="after this time no more of the corpus is begun")
    options = parser.parse_args(arguments)
    if options.host:
        from tests.hostcupy.install import install

        install()
    import cupy

    plan = HOST() if options.host else Plan()
    plan.seconds = plan.seconds if options.seconds is None else options.seconds
    device = cupy.cuda.runtime.getDeviceProperties(0)
    print(
        f"CuPy {cupy.__version__}, NumPy {np.__version__}, Python {sys.version.split()[0]}, {device['name'].decode()}"
    )
    failures = check(plan)
    print(
        f"\n{time.monotonic() - plan.started:.0f} s; " + (f"WRONG: {', '.join(failures)}" if failures else "all right")
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
