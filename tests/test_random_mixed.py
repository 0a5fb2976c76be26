"""Random programs that mix containers, objects, closures and exceptions: value, effects and gradient of the plain run.

`ADCOMPILER_RANDOM_PROGRAMS=2000` asks for that many, new ones every time; the default is a few, always the same.
"""

import os
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from adcompiler import DifferentiationError, pullback
from tests.random_mixed import Mixed, loaded

MANY = int(os.environ.get("ADCOMPILER_RANDOM_PROGRAMS", "0"))
X, Y = 0.7, 0.4
LIMIT = 1e4  # larger numbers come from ill-conditioned programs


def run(program, x, y, n):
    """The value or the exception of the plain program, and what it said on its way."""
    log = []
    try:
        return program(x, y, n, log.append), log
    except Exception as error:
        return error, log


def differences(program, n, step):
    """The gradient by central differences; None where the value is not smooth on this scale."""
    moved = [
        [run(program, X + sign * step * dx, Y + sign * step * dy, n)[0] for sign in (1, -1)]
        for dx, dy in ((1, 0), (0, 1))
    ]
    if any(isinstance(v, Exception) for pair in moved for v in pair):
        return None
    return [(high - low) / (2 * step) for high, low in moved]


def check_mode(program, n, single_use, value, log):
    """One mode: the same value or exception, the same effects, and the gradient; None if it is refused."""
    said = []
    try:
        found, back = pullback(program, X, Y, n, said.append, single_use=single_use)
    except DifferentiationError:
        return None
    except Exception as error:
        assert type(error) is type(value), f"raised {error!r}, plain {value!r}"  # noqa: PT017
        assert said == log
        return []
    assert not isinstance(value, Exception), f"no exception, plain {value!r}"
    assert said == log
    np.testing.assert_allclose(found, value, rtol=1e-12)
    grads = [0.0 if g is None else g for g in back(1.0)[:2]]
    if not single_use:
        assert [0.0 if g is None else g for g in back(1.0)[:2]] == grads
    assert said == log, "the pullback has effects"
    return grads


@settings(
    max_examples=MANY or 25,
    deadline=None,
    database=None,
    derandomize=not MANY,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.integers(0, 2**32 - 1))
def test_mixed_programs(seed):
    """What is not refused has the value, the effects and the gradient of the plain program."""
    text = Mixed(Random(seed)).text()
    program = loaded(text)
    for n in (0, 1, 2):
        value, log = run(program, X, Y, n)
        assume(isinstance(value, Exception) or abs(value) < LIMIT)
        fine, coarse = differences(program, n, 1e-6), differences(program, n, 1e-5)
        for single_use in (False, True):
            grads = check_mode(program, n, single_use, value, log)
            if grads is None:
                return
            smooth = fine is not None and coarse is not None and np.allclose(fine, coarse, rtol=1e-3, atol=1e-4)
            if grads and smooth:
                np.testing.assert_allclose(grads, coarse, rtol=2e-3, atol=2e-4, err_msg=text)


@pytest.mark.parametrize("seed", range(3))
def test_the_generator_is_deterministic(seed):
    """A seed gives one program."""
    assert Mixed(Random(seed)).text() == Mixed(Random(seed)).text()
