"""No rule waits for the device, except those that are listed here with a reason.

The host waits when something is copied to it: `get`, `item`, `float`, `bool`, `int`, an index or `tolist`. In host
memory every such copy goes through one function, which counts. What the function itself waits for is not the rule's.
"""

import functools

import numpy as np
import pytest

import adcompiler
from adcompiler.vectors import random_like
from tests.hostcupy.arrays import on_device
from tests.hostcupy.calls import NOT_YET, calls, taken
from tests.hostcupy.install import install
from tests.rules.test_inlined import applied_to, value, write

_AGAIN = "the function itself waits for the number of elements that it picks, and so does its adjoint"
_LOOK = "an error for singular values cannot be raised without looking at them"
WAITS = {
    "operator.getitem": _AGAIN,
    "numpy.compress": _AGAIN,
    "ndarray.compress": _AGAIN,
    "numpy.extract": _AGAIN,
    "numpy.delete": _AGAIN,
    "numpy.repeat": _AGAIN,
    "numpy.linalg.eigh": _LOOK,
    "numpy.linalg.svd": _LOOK,
    "numpy.linalg.det": "the singular values of a well conditioned matrix would cost more than the look",
    "numpy.cumprod": "the recurrence that is right for zeros takes a kernel for each element",
    "ndarray.cumprod": "the recurrence that is right for zeros takes a kernel for each element",
}


@pytest.fixture
def host(pytestconfig):
    if pytestconfig.option.markexpr == "gpu":
        pytest.skip("copies to the host are counted in host memory")
    return install()


def count(host, function):
    """How often the host waits in a call, its value, and where."""
    host.waits.clear()
    result = function()
    ours = ("/runtime/", "/rules/")
    stacks = [[f for f in stack if any(part in f.filename for part in ours)] for stack in host.waits]
    return len(host.waits), result, [f"{s[-1].filename}:{s[-1].lineno}: {s[-1].line}" for s in stacks if s]


def pulled_back(function, values, y_bar):
    """The cotangents of `values` for `y_bar`."""
    return adcompiler.pullback(function, *values)[1](y_bar)


@pytest.mark.parametrize("name", sorted(calls().keys() - NOT_YET.keys()))
def test_waiting(host, name):
    """The forward part and the pullback of each case wait no more often than the function does."""
    more = {}
    for call in taken(name)[0]:
        own, _, _ = count(host, lambda call=call: value(call.device))
        reference = applied_to(call.case)
        plain, _, written = write(call.device, reference.rule, literal=False)
        y_bar = on_device(random_like(reference.y, np.random.default_rng(5)))
        forward_and_back = functools.partial(pulled_back, plain, written.values.values(), y_bar)
        forward_and_back()  # to compile it
        times, _, where = count(host, forward_and_back)
        if times > 2 * own:  # as often again in the pullback
            more[str(call)] = where
    if name in WAITS:
        assert more, f"{name} waits no longer: take it out of the list"
    else:
        assert not more, more


def test_a_wait_is_seen(host):
    """The counter counts."""
    import cupy

    x = cupy.ones(())
    for wait in (x.get, x.item, x.tolist, lambda: float(x), lambda: bool(x), lambda: int(x), lambda: cupy.asnumpy(x)):
        assert count(host, wait)[0] == 1, wait
    assert count(host, lambda: cupy.sum(x + 1).reshape(1))[0] == 0
