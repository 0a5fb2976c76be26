"""Random programs that write into active arrays have the value, the effects and the gradient of the plain run.

`ADCOMPILER_RANDOM_PROGRAMS=3000` asks for that many, new ones every time, shrinks what fails, and limits how many may
be refused; the default is a few, always the same.
"""

import collections
import os
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from tests.modes import some_modes
from tests.random_writes import writing_program
from tests.write_checks import MODES, UnsuitableError, check

MANY = int(os.environ.get("ADCOMPILER_RANDOM_PROGRAMS", "0"))
# Seeds give programs of all sizes; the other form begins with simple ones, and can be shrunk.
RANDOMS = st.one_of(st.integers(0, 2**32 - 1).map(Random), st.randoms(use_true_random=False))


def a_few(program):
    """Three of the modes."""
    return {name: MODES[name] for name in some_modes(program.text, tuple(MODES), 2)}


def test_writes():
    """What is not refused is right, and little is refused."""
    outcomes = collections.Counter()

    @settings(
        max_examples=MANY or 12,
        deadline=None,
        database=None,
        derandomize=not MANY,
        phases=list(Phase) if MANY else [Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(RANDOMS)
    def compare(random):
        program = writing_program(random)
        try:
            outcomes[check(program, MODES if MANY else a_few(program))] += 1
        except UnsuitableError:
            assume(False)

    compare()
    if MANY:
        refused = {reason: count for reason, count in outcomes.items() if reason}
        assert sum(refused.values()) < 0.1 * outcomes.total(), refused


@pytest.mark.parametrize("seed", range(3))
def test_the_generator_is_deterministic(seed):
    """A seed gives one program."""
    assert writing_program(Random(seed)).text == writing_program(Random(seed)).text
