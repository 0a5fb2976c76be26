"""How the tests of array writes look at one program: its derivative, its effects, what its pullback leaves alone."""

import copy

import numpy as np
import pytest

from adcompiler.vectors import random_like
from tests.differences import arrays, assert_same, assert_unshared
from tests.promises import MODES, WRITTEN_OUT, check, nothing


def programs(*fs):
    """The test is run with each function as `program`."""
    return pytest.mark.parametrize("program", fs, ids=lambda f: f.__name__)


def check_writes(f, *args, before=nothing):
    """`check`, and: arguments end as in a plain call, and the pullback writes to nothing that a user holds."""
    check(f, *args, before=before)
    before()
    plain = copy.deepcopy(args)
    seed = random_like(f(*plain), np.random.default_rng(7))
    for mode in WRITTEN_OUT:
        before()
        given, ct = copy.deepcopy((args, seed))
        y, back = MODES[mode](f, *given)
        assert_same(given, plain, f"arguments, {mode}")
        value = copy.deepcopy(y)
        grads = back(ct)
        assert_same((given, y, ct), (plain, value, seed), f"arguments, value and seed after the pullback, {mode}")
        assert_unshared(grads, (given, y, ct))
        if mode == "pullback":
            _check_reusable(back, ct, grads)


def _check_reusable(back, ct, grads):
    """A gradient that the user overwrites is not that of the next call."""
    first = copy.deepcopy(grads)
    for array in arrays(grads):
        array[...] = 0
    second = back(ct)
    assert_same(second, first, "second gradient")
    assert_unshared(second, (grads, ct))
