"""Rules of functions that are computed once more: against finite differences."""

import numpy as np
import pytest

from adcompiler import checkpoint, checkpoint_loop, custom_pullback
from adcompiler.runtime.checkpoints import recomputed
from adcompiler.testing import case, check_rule, normal

# They give functions, or take one and whatever that takes: tests/test_checkpoint.py, tests/test_custom_pullback.py.
BY_HAND = {recomputed, checkpoint, custom_pullback}

CASES = [
    case(checkpoint_loop, lambda i, x: np.sin(x) * (i + 1.0), normal(3), 5, wrt=1),
    case(checkpoint_loop, lambda i, x: np.sin(x) * (i + 1.0), normal(3), 6, snapshots=1, wrt=1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """Value and pullback against finite differences."""
    check_rule(case)
