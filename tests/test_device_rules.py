"""The rules on the double of CuPy's arrays: the values and cotangents of NumPy, and no array left behind."""

import collections
import functools
import gc

import numpy as np
import pytest

from adcompiler import DifferentiationError, pullback
from adcompiler.rules.registry import key_name
from adcompiler.runtime import arrays
from adcompiler.runtime.project import materialize
from adcompiler.vectors import leaves, random_like
from tests.device.moved import assert_equal, check_types, device_arrays, on_device, on_host
from tests.rules.test_complete import cases
from tests.rules.test_inlined import applied_to, called, expected, write

MOST = 2  # calls of one function


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    """As in test_device.py."""
    monkeypatch.setattr(arrays, "_met", {"tests"})
    gc.collect()
    gc.freeze()  # what other tests have left is not looked at again
    gc.disable()
    yield
    gc.enable()


@functools.cache
def by_name():
    """The cases with an array among their arguments, of NumPy's functions, methods and Python's operators."""
    found = collections.defaultdict(list)
    for case in cases():
        name = key_name(case.key)
        arrays_in = any(True for _ in device_arrays(on_device(case.inputs())))
        if arrays_in and name.startswith(("numpy.", "ndarray.", "operator.")) and ".random" not in name:
            found[name].append(case)
    return found


_SEGMENTS = "the segments are laid out on the host"
_NO_SUCH = "CuPy has no such function"

# What fails on the double with an error, and never with a number.
NOT_YET = {
    **{f"numpy.{f}.reduceat": _SEGMENTS for f in "add subtract multiply divide maximum minimum fmax fmin".split()},
    **{f"numpy.{f}.reduceat": _SEGMENTS for f in ("hypot", "logaddexp", "logaddexp2")},
    **{f"numpy.{f}": _NO_SUCH for f in ("divide.reduce", "subtract.reduce", "polydiv", "polyint")},
    "numpy.polyfit": "refused with weights, which CuPy multiplies the values by in place",
}


@pytest.mark.parametrize("name", sorted(by_name()))
def test_rule(name):
    """A compiled call has the value and the cotangents that the rule has on NumPy's arrays."""
    if name in NOT_YET:
        with pytest.raises((TypeError, DifferentiationError)):
            agrees(name)
        pytest.skip(NOT_YET[name])
    why = agrees(name)
    if why is not None:
        pytest.skip(why)


def agrees(name):
    """Run the first calls that the double takes; why it takes none, if so."""
    ran, why = 0, "no call"
    for case in by_name()[name]:
        reference = applied_to(case)
        found = write(case, reference.rule, literal=False)
        if found is None:
            continue
        plain, _, written = found
        given = on_device(list(written.values.values()))
        try:
            plain(*on_device(list(written.values.values())))
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            continue
        y_bar, bars = called(reference, lambda y: random_like(y, np.random.default_rng(5)))
        y, back = pullback(plain, *given)
        loose = max([1e-9, *({"float16": 1e-2, "float32": 1e-4, "complex64": 1e-4}.get(str(getattr(x, "dtype", "")), 0)
                             for x in leaves((list(written.values.values()), reference.y)))])  # fmt: skip
        assert_equal(on_host(y), write(case, reference.rule, False)[0](*written.values.values()), loose)
        for x, bar, wanted in zip(given, back(on_device(y_bar)), expected(written, bars), strict=True):
            check_types(materialize(bar, x), x)
            assert_equal(on_host(materialize(bar, x)), wanted, loose)
        ran += 1
        if ran == MOST:
            break
    return None if ran else why
