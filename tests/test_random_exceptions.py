"""Random programs with caught exceptions give the value, the log, the exception and the gradient of the plain run.

`ADCOMPILER_RANDOM_PROGRAMS=5000` asks for that many examples, as in `test_random_programs`.
"""

import copy
import warnings

import numpy as np
import pytest
from hypothesis import assume, given

from adcompiler import MutationError, NoRuleError, PullbackConsumedError, UnsupportedSyntaxError, pullback
from adcompiler.vectors import leaves
from tests import retained
from tests.differences import assert_close, assert_form, assert_same
from tests.modes import ONCE, pullback_not_inlined, pullback_poisoned, pullback_reusing, some_modes
from tests.random_exceptions import exception_program
from tests.test_random_programs import (
    MANY,
    RANDOMS,
    complex_copy,
    complex_step_gradient,
    examples,
    reasonable,
    reported,
)

# What may be a container or an array, or is unbound, may be refused; it is not what is looked at here.
REFUSED = (MutationError, NoRuleError, UnsupportedSyntaxError)
MODES = (pullback, pullback_reusing, pullback_poisoned, pullback_not_inlined)


def run(function, call):
    """What a call gives or raises, and the log of it."""
    log = function.__globals__["LOG"]
    log.clear()
    retained.forget()
    try:
        return call(), None, list(log)
    except Exception as error:
        if type(error).__module__.startswith("adcompiler"):
            raise
        return None, error, list(log)


def check(program):
    """Compare all modes with the plain run and with a complex step."""
    f, args = program.function(), program.args
    value, error, log = run(f, lambda: f(*copy.deepcopy(args)))
    reference = program.reference()
    if error is None:
        assume(isinstance(value, float | np.floating) and reasonable(value))
        grads = complex_step_gradient(lambda moved: reference(*copy.deepcopy(moved)), complex_copy(args[:3]) + args[3:])
        assume(reasonable(grads))
    for make in MODES if MANY else some_modes(program.text, MODES, 2):
        result, raised, written = run(f, lambda make=make: make(f, *copy.deepcopy(args)))
        assert written == log, (written, log)
        assert type(raised) is type(error), (raised, error)
        assert str(raised) == str(error)
        if error is None:
            check_pullback(result, make, args, value, grads)


def check_pullback(result, make, args, value, grads):
    """The value and the gradient."""
    y, back = result
    assert_same(y, value)
    with retained.unchanged():
        found = back(1.0)
    retained.assert_unkept(found)
    scale = max([1.0, *(float(np.max(np.abs(g), initial=0.0)) for g in leaves((grads, value)))])
    assert_close(found, grads, 1e-8, 1e-9 * scale)
    assert_form(found, args)
    if make in ONCE:
        with pytest.raises(PullbackConsumedError):
            back(1.0)
    else:
        assert_same(back(1.0), found, "second gradient")


@examples(max_examples=MANY or 50)
@given(RANDOMS)
def test_exceptions(random):
    """Nested `try`, `with`, `match` and loops, left and resumed in every way."""
    program = exception_program(random, arrays=random.random() < 0.5)
    with reported(program), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check(program)
        except REFUSED:
            assume(False)
