"""What single-use pullbacks give back to the pool of the real CuPy: peaks, limits, views, streams."""

import gc
import threading

import cupy
import numpy as np
import pytest

from adcompiler import gradient, pullback, release_mode
from adcompiler.runtime.release import current_stream
from adcompiler.runtime.reuse import _quarantine
from tests.hostcupy.install import install
from tests.hostcupy.pool import Lent, Pool
from tests.release_checks import CHECKS, MODES, assert_equal, check_peak, check_program, counted, on_host, peaks, sample
from tests.release_programs import PROGRAMS


@pytest.fixture
def memory():
    """A new pool; no reference cycle is broken up."""
    found = Pool()
    before = cupy.cuda.get_allocator()
    cupy.cuda.set_allocator(found.pool.malloc)
    gc.collect()
    gc.freeze()  # what other tests have left is not looked at again
    gc.disable()
    yield found
    gc.enable()
    _quarantine.clear()
    cupy.cuda.set_allocator(before)


@pytest.mark.parametrize(("program", "mode"), peaks)
def test_peak(memory, program, mode):
    """Forward and backward of a network need no more memory than those written by hand."""
    check_peak(memory, program, mode)


@pytest.mark.parametrize("check", CHECKS, ids=lambda f: f.__name__)
def test_check(memory, check):
    """What `tests/release_checks.py` says."""
    check(memory)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_program(memory, program):
    """Views, arrays that are others, and results that are arguments are neither freed nor overwritten."""
    check_program(memory, program)


# --- functions of CuPy ------------------------------------------------------------------------------------


def converted(x):
    y = cupy.asarray(x)
    z = cupy.ascontiguousarray(cupy.tanh(y))
    u = cupy.asarray(z) * z + cupy.real(z)
    return cupy.sum(u * cupy.array(z, copy=False) * cupy.atleast_2d(y))


def hidden_bases(x):
    h = cupy.einsum("ij,jk->ik", x, x)
    c = cupy.cumsum(h, axis=0)
    t = cupy.tile(c, (1, 2)) * 2.0
    return cupy.sum(cupy.repeat(c * h, 2, axis=1) * t) + cupy.sum(cupy.kron(h, c[:1]))


@pytest.mark.parametrize("program", [converted, hidden_bases], ids=lambda f: f.__name__)
def test_functions_of_cupy(memory, program):
    """Functions that give their argument, and those whose results are views of arrays that nobody else has."""
    given = memory.arrays(sample())
    plain = on_host(program(given))
    step = 1e-5
    expected = np.zeros_like(sample())
    for index in np.ndindex(expected.shape):
        for sign in (1, -1):
            moved = sample()
            moved[index] += sign * step
            expected[index] += sign * float(program(memory.arrays(moved))) / (2 * step)
    for mode in MODES:
        with release_mode(mode, above=0):
            y, back = pullback(program, given, single_use=True)
            (grad,) = back(cupy.ones(()))
        assert_equal(on_host((y, given)), (plain, sample()), 1e-12)
        assert_equal(on_host(grad), expected, 1e-6)


def difference_from(x, lent):
    return cupy.sum(cupy.tanh(cupy.asarray(lent) - x))


def test_arrays_of_another_library(memory):
    """What a program takes from another library is not written into, though nothing reads it later."""
    lent = Lent(sample())
    for mode in MODES:
        with release_mode(mode, above=0):
            grad = gradient(difference_from)(memory.arrays(2 * sample()), lent)
        assert_equal(on_host(lent.own), sample())
        assert_equal(on_host(grad), np.tanh(sample()) ** 2 - 1, 1e-12)


# --- streams ----------------------------------------------------------------------------------------------


def steps(x):
    h = x
    for _ in range(3):
        h = cupy.tanh(h * x)
    return cupy.sum(h)


def given_back(memory, mode, forward, backward):
    """What the backward gives back on one stream after the forward on another one."""
    with release_mode(mode, above=0):
        with forward:
            x, ct = memory.arrays([sample(), np.ones(())])
            _, back = pullback(steps, x, single_use=True)
        with backward, counted() as found:
            grad = back(ct)
    with release_mode("off"):
        assert_equal(on_host(grad), on_host(pullback(steps, x)[1](ct)))
    return found["released"] + found["reused"]


@pytest.mark.parametrize("mode", ["free", "reuse"])
def test_streams(memory, mode):
    """Memory is given back only on the stream of the forward: what that takes again others may still be reading."""
    null, one, two = cupy.cuda.Stream.null, cupy.cuda.Stream(), cupy.cuda.Stream(non_blocking=True)
    for stream in (null, one, two):
        assert given_back(memory, mode, stream, stream) > 0
        for other in {null, one, two} - {stream}:
            assert given_back(memory, mode, stream, other) == 0


@pytest.mark.parametrize("mode", ["off", "drop", "reuse"])
def test_the_stream_of_the_forward_goes_on_later(memory, mode, pytestconfig):
    """It takes the memory again that it gets back: not before the other stream, which reads it, has gone on."""
    if pytestconfig.option.markexpr == "gpu":
        pytest.skip("counted in host memory; tests/gpu looks for races")
    host = install()
    one, two = cupy.cuda.Stream(), cupy.cuda.Stream()
    for other, expected in ((two, [one.ptr]), (one, [])):
        host.followed.clear()
        given_back(memory, mode, one, other)
        assert host.followed == expected


@pytest.mark.parametrize("mode", ["free", "reuse"])
def test_gradients_on_a_stream(memory, mode):
    """Forward and backward of a gradient run on one stream, whichever it is."""
    for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream()):
        with stream, release_mode(mode, above=0), counted() as found:
            gradient(steps)(memory.arrays(sample()))
        assert found["released"] + found["reused"] > 0


def test_the_stream_of_a_thread():
    """The default stream of a thread has the same number in every thread, and is another one."""
    found = []
    other = threading.Thread(target=lambda: found.append(current_stream()))
    other.start()
    other.join()
    assert found != [current_stream()]
    assert current_stream() == current_stream()
