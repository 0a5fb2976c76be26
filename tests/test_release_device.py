"""What single-use pullbacks give back on the double of CuPy's arrays: exact peaks, and nothing used once freed."""

import contextlib
import gc

import numpy as np
import pytest

from adcompiler import pullback, release_mode, release_stats
from adcompiler.runtime import arrays
from adcompiler.runtime.reuse import _quarantine
from adcompiler.vectors import random_like
from benchmarks.release import Device
from tests import device
from tests.corpus import SAMPLES
from tests.device import array as double
from tests.device.moved import assert_equal, device_arrays, on_device, on_host
from tests.device.pool import Memory, MemoryPointer
from tests.release_checks import CHECKS, MODES, check_peak, check_program, peaks
from tests.release_programs import PROGRAMS


class Double(Device):
    """The memory of the double."""

    def arrays(self, value):
        if isinstance(value, (tuple, list)):
            return type(value)(map(self.arrays, value))
        return device.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else value

    def out(self):
        """The bytes that are out now."""
        return device.pool.used

    @contextlib.contextmanager
    def limited(self, more):
        """Not more than so many bytes above what is out now."""
        device.pool.limit = device.pool.used + more
        try:
            yield
        finally:
            device.pool.limit = None

    def lent(self, value):
        """An array in memory that has no pool."""
        return device.DeviceArray(value.shape, value.dtype, MemoryPointer(Memory(value.copy()), 0))

    @contextlib.contextmanager
    def without_pool(self):
        """New arrays have no pool."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(double, "allocated", Memory)
            yield


@pytest.fixture
def memory(monkeypatch):
    """No reference cycle is broken up; what compiles later in this process has not met the double."""
    monkeypatch.setattr(arrays, "_met", {"tests"})
    gc.collect()
    gc.freeze()  # what other tests have left is not looked at again
    gc.disable()
    yield Double()
    gc.enable()


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


def _takes_arrays(sample):
    given = on_device(sample.arguments())
    if not any(True for _ in device_arrays(given)):
        return False
    try:
        sample.function(*given[0], **given[1])
    except (TypeError, ValueError, AttributeError, IndexError):
        return False
    return True


ON_ARRAYS = [s for s in SAMPLES if _takes_arrays(s)]


@pytest.mark.parametrize("sample", ON_ARRAYS, ids=lambda s: s.id)
def test_corpus(memory, sample):
    """No program uses what was freed, in any mode, and its gradients are those of NumPy."""
    args, kwargs = sample.arguments()
    with release_mode("off"):
        value, back = pullback(sample.function, *args, **kwargs)
    seed = random_like(value, np.random.default_rng(5))
    expected = back(seed)
    single = any(x.dtype.name in ("float32", "complex64") for x in device_arrays(on_device((args, kwargs))))
    for mode in MODES[1:]:
        args, kwargs = on_device(sample.arguments())
        with release_mode(mode, above=0):
            y, back = pullback(sample.function, *args, single_use=True, **kwargs)
            found = back(on_device(seed))
        _quarantine.clear()
        assert_equal(on_host(y), value, 1e-6 if single else 1e-9)
        for grad, wanted in zip(found, expected, strict=True):
            assert_equal(on_host(grad), wanted, 1e-4 if single else 1e-9)


def test_the_corpus_gives_memory_back(memory):
    """In the corpus arrays are freed, reused and poisoned: what its tests say is not empty."""
    before = release_stats()
    for sample in ON_ARRAYS[::3]:
        for mode in ("free", "reuse", "poison"):
            args, kwargs = on_device(sample.arguments())
            with release_mode(mode, above=0):
                y, back = pullback(sample.function, *args, single_use=True, **kwargs)
                back(on_device(random_like(on_host(y), np.random.default_rng(5))))
    after = release_stats()
    for name in ("released", "reused", "poisoned"):
        assert getattr(after, name) > getattr(before, name) + 10, name
    _quarantine.clear()
