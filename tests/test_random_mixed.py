"""Random programs that mix containers, objects, closures and exceptions: value, effects and gradient of the plain run.

`ADCOMPILER_RANDOM_PROGRAMS=2000` asks for that many, new ones every time; the default is a few, always the same.
"""

import copy
import os
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from adcompiler import DifferentiationError, pullback
from tests import retained
from tests.differences import assert_same, assert_unshared
from tests.modes import ONCE, pullback_poisoned, pullback_reusing, some_modes
from tests.random_mixed import Mixed, loaded

MANY = int(os.environ.get("ADCOMPILER_RANDOM_PROGRAMS", "0"))
NUMBERS = 0.7, 0.4
ARRAYS = np.array([0.7, -0.3]), np.array([0.4, 0.9])
MODES = (pullback, pullback_reusing, pullback_poisoned)
LIMIT = 1e4  # larger numbers come from ill-conditioned programs


def run(program, at, n):
    """The value or the exception of the plain program, and what it said on its way."""
    log = []
    try:
        return program(*at, n, log.append), log
    except Exception as error:
        return error, log


def differences(program, at, n, step):
    """The gradient by central differences; None where the value is not smooth on this scale."""
    units = np.eye(2 * np.size(at[0])).reshape(-1, 2, *np.shape(at[0]))
    moved = [[run(program, [*(at + sign * step * unit)], n)[0] for sign in (1, -1)] for unit in units]
    if any(isinstance(v, Exception) for pair in moved for v in pair):
        return None
    return [(high - low) / (2 * step) for high, low in moved]


def flat(grads, at):
    """The numbers of two gradients, None being zero."""
    return np.concatenate(
        [np.broadcast_to(0.0 if g is None else g, np.shape(x)).reshape(-1) for g, x in zip(grads, at, strict=True)]
    )


def check_mode(program, at, n, make, value, log):
    """One mode: the same value or exception, the same effects, and the gradient; None if it is refused."""
    said, given = [], copy.deepcopy(at)
    retained.forget()
    try:
        found, back = make(program, *given, n, said.append)
    except DifferentiationError:
        return None
    except Exception as error:
        assert type(error) is type(value), f"raised {error!r}, plain {value!r}"  # noqa: PT017
        assert said == log
        return []
    assert not isinstance(value, Exception), f"no exception, plain {value!r}"
    assert said == log
    np.testing.assert_allclose(found, value, rtol=1e-12)
    with retained.unchanged():
        grads = back(1.0)[:2]
    assert_unshared(grads, given)
    retained.assert_unkept(grads)
    grads = flat(grads, at)
    if make not in ONCE:
        np.testing.assert_array_equal(flat(back(1.0)[:2], at), grads)
    assert said == log, "the pullback has effects"
    assert_same(given, at, "arguments")
    return grads


@settings(
    max_examples=MANY or 5,
    deadline=None,
    database=None,
    derandomize=not MANY,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.integers(0, 2**32 - 1))
def test_mixed_programs(seed):
    """What is not refused has the value, the effects and the gradient of the plain program."""
    arrays = seed % 2 == 1
    text, at = Mixed(Random(seed), arrays=arrays).text(), ARRAYS if arrays else NUMBERS
    program = loaded(text)
    for n in (0, 1, 2):
        value, log = run(program, at, n)
        assume(isinstance(value, Exception) or abs(value) < LIMIT)
        fine, coarse = differences(program, at, n, 1e-6), differences(program, at, n, 1e-5)
        for make in MODES if MANY else some_modes(text, MODES, 1):
            grads = check_mode(program, at, n, make, value, log)
            if grads is None:
                return
            smooth = fine is not None and coarse is not None and np.allclose(fine, coarse, rtol=1e-3, atol=1e-4)
            if len(grads) and smooth:
                np.testing.assert_allclose(grads, coarse, rtol=2e-3, atol=2e-4, err_msg=text)


@pytest.mark.parametrize("seed", range(3))
def test_the_generator_is_deterministic(seed):
    """A seed gives one program."""
    assert Mixed(Random(seed)).text() == Mixed(Random(seed)).text()
