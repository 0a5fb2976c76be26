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
_COUNTED = "elements that are equal are counted"
_CALLED = "the function itself waits, and the pullback calls it, or one that it is made of"
_PRODUCTS = (
    "numpy.cumprod",
    "ndarray.cumprod",
    "numpy.cumulative_prod",
    "numpy.nancumprod",
    "numpy.multiply.accumulate",
)
WAITS = {
    "operator.getitem": _AGAIN,
    "numpy.compress": _AGAIN,
    "ndarray.compress": _AGAIN,
    "numpy.extract": _AGAIN,
    "numpy.delete": _AGAIN,
    "numpy.repeat": _AGAIN,
    "numpy.setxor1d": _AGAIN,
    "numpy.trim_zeros": _AGAIN,
    "numpy.union1d": _AGAIN,
    "numpy.setdiff1d": _AGAIN,
    "numpy.unique": _AGAIN,
    "numpy.unique_all": _AGAIN,
    "numpy.unique_counts": _AGAIN,
    "numpy.unique_inverse": _AGAIN,
    "numpy.unique_values": _AGAIN,
    "numpy.logspace": _CALLED,
    "numpy.poly": _CALLED,
    "statistics.geometric_mean": "the elements are taken one by one, as numbers",
    "numpy.linalg.eig": _LOOK,
    "numpy.linalg.eigvals": _LOOK,
    "numpy.linalg.qr": _LOOK,
    "numpy.linalg.eigh": _LOOK,
    "numpy.linalg.svd": _LOOK,
    "numpy.linalg.det": "the singular values of a well conditioned matrix would cost more than the look",
    **dict.fromkeys(_PRODUCTS, "the recurrence that is right for zeros takes a kernel for each element"),
    **dict.fromkeys(("numpy.quantile", "numpy.percentile", "numpy.nanmedian"), _COUNTED),
    # what second derivatives call
    **dict.fromkeys(
        ("adcompiler.runtime.quantiles.shared", "adcompiler.runtime.quantiles_forward.median_dot"), _COUNTED
    ),
    "adcompiler.runtime.spectral.repeated_part": _LOOK,
    "adcompiler.runtime.revolve.checkpoint_loop": "a step is compared with what it gave before",
}


@pytest.fixture
def host(pytestconfig):
    if pytestconfig.option.markexpr == "gpu":
        pytest.skip("copies to the host are counted in host memory")
    return install()


def count(host, function):
    """How often the host waits in a call, its value, and where; the cotangent of a number has to be a number."""
    host.waits.clear()
    result = function()
    ours = ("/runtime/", "/rules/")
    waits = [stack for stack in host.waits if not any("project.py" in frame.filename for frame in stack)]
    stacks = [[f for f in stack if any(part in f.filename for part in ours)] for stack in waits]
    return len(waits), result, [f"{s[-1].filename}:{s[-1].lineno}: {s[-1].line}" for s in stacks if s]


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
        if times > own:
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
