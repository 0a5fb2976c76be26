"""Random programs give the gradient of their reference in every mode, and nothing in them is refused.

`ADCOMPILER_RANDOM_PROGRAMS=5000` asks for that many examples, new ones every time, and shrinks what fails; the default
is a few hundred, always the same.
"""

import copy
import functools
import os
import warnings
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from adcompiler import (
    DifferentiationError,
    MutationError,
    PullbackConsumedError,
    UnsupportedSyntaxError,
    pullback,
    value_and_grad,
)
from adcompiler.vectors import inner, leaves, random_like
from tests import retained
from tests.differences import assert_close, assert_form, assert_same, assert_unshared, children, is_leaf, replaced
from tests.modes import ONCE, pullback_not_inlined, pullback_poisoned, pullback_reusing, some_modes
from tests.random_programs import expression_program, flow_program, straight_program

MANY = int(os.environ.get("ADCOMPILER_RANDOM_PROGRAMS", "0"))
# Seeds give programs of all sizes; the other form begins with simple ones, and can be shrunk.
RANDOMS = st.one_of(st.integers(0, 2**32 - 1).map(Random), st.randoms(use_true_random=False))
MODES = (pullback, pullback_reusing, pullback_poisoned, pullback_not_inlined)
LIMIT = 1e4  # larger numbers come from ill-conditioned programs

examples = functools.partial(
    settings,
    deadline=None,
    database=None,
    derandomize=not MANY,
    phases=list(Phase) if MANY else [Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def complex_copy(value):
    """A structure of real numbers as complex ones."""
    if is_leaf(value):
        return value.astype(complex) if isinstance(value, np.ndarray) else complex(value)
    return type(value)(map(complex_copy, value)) if isinstance(value, tuple | list) else value


def complex_step_gradient(output, value):
    """The gradient of the real analytic function `output` at a structure of complex numbers without imaginary parts."""
    if isinstance(value, np.ndarray) and is_leaf(value):
        grad = np.zeros(value.shape)
        for index in np.ndindex(value.shape):
            moved = value.copy()
            moved[index] += 1e-30j
            grad[index] = output(moved).imag / 1e-30
        return grad
    if is_leaf(value):
        return output(value + 1e-30j).imag / 1e-30

    def entry(key, child):
        return complex_step_gradient(lambda e: output(replaced(value, key, e)), child)

    grads = {key: entry(key, child) for key, child in children(value).items()}
    if isinstance(value, tuple | list):
        return type(value)(grads.values())
    return grads if isinstance(value, dict) else None


def weighed(seed, value):
    """The inner product of a seed and a complex value, no conjugate taken."""
    if isinstance(value, tuple):
        return sum(weighed(s, v) for s, v in zip(seed, value, strict=True) if s is not None)
    return np.sum(seed * value)


def reasonable(value):
    """Whether all numbers are finite and not too large."""
    return all(np.all(np.abs(leaf) < LIMIT) for leaf in leaves(value))


def check(program):
    """Compare all modes with the reference."""
    f, args = program.function(), program.args
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = f(*copy.deepcopy(args))
        except NameError as error:  # a name that is bound on some paths only
            with pytest.raises((type(error), DifferentiationError)):
                pullback(f, *copy.deepcopy(args))
            return
        seed = random_like(value, np.random.default_rng(3))
        assume(reasonable(value) and seed is not None)
        reference, weight = program.reference(), weighed(seed, value)

        def output(moved):
            total = weighed(seed, reference(*copy.deepcopy(moved)))
            # Imaginary parts that overflow end in NaN also in real parts, and conditions then go another way.
            assume(abs(total.real - weight) <= 1e-9 * max(1.0, abs(weight)))
            return total

        grads = complex_step_gradient(output, complex_copy(args))
        assume(reasonable(grads))
        scale = max([1.0, *(float(np.max(np.abs(g), initial=0.0)) for g in leaves((grads, value)))])
        close = functools.partial(assert_close, expected=grads, rtol=1e-8, atol=1e-9 * scale)
        for make in MODES if MANY else some_modes(program.text, MODES, 2):
            check_pullback(make, f, args, value, seed, close)
        if isinstance(value, float):
            argnums = tuple(i for i, a in enumerate(args) if any(True for _ in leaves(a)))
            y, result = value_and_grad(f, argnums)(*copy.deepcopy(args))
            assert_same(y, value)
            assert_close(result, tuple(_scaled(grads[i], 1 / seed) for i in argnums), 1e-8, 1e-9 * scale / abs(seed))
        elif isinstance(value, tuple) and isinstance(value[0], float) and len(value) == 2:
            check_aux(f, reference, args, value)


def check_pullback(make, f, args, value, seed, close):
    """The value, the gradient, and what must be unchanged."""
    retained.forget()
    given_args, given = copy.deepcopy(args), copy.deepcopy(seed)
    y, back = make(f, *given_args)
    assert_same(y, value)
    with retained.unchanged():
        result = back(given)
    close(result)
    assert_form(result, args)
    assert_unshared(result, (given_args, y, given))
    retained.assert_unkept(result)
    assert_same(given_args, args, "arguments")
    assert_same(given, seed, "seed")
    if make in ONCE:
        with pytest.raises(PullbackConsumedError):
            back(seed)
    else:
        assert_same(back(copy.deepcopy(seed)), result, "second gradient")
    assert_same(y, value, "value after the pullback")


def check_aux(f, reference, args, value):
    """The gradient of the first of two results beside the second one, which is not touched; nor is what was kept."""
    retained.forget()
    f(*copy.deepcopy(args))
    kept = copy.deepcopy((retained.KEPT, retained.CACHE))
    retained.forget()
    argnums = tuple(i for i, a in enumerate(args) if any(True for _ in leaves(a)))
    expected = complex_step_gradient(lambda moved: reference(*copy.deepcopy(moved))[0], complex_copy(args))
    found, grads = value_and_grad(f, argnums, has_aux=True)(*copy.deepcopy(args))
    assert_same(found, value)
    assert_same((retained.KEPT, retained.CACHE), kept, "values that were kept")
    scale = max([1.0, *(float(np.max(np.abs(g), initial=0.0)) for g in leaves(expected))])
    assert_close(grads, tuple(expected[i] for i in argnums), 1e-8, 1e-9 * scale)
    assert_unshared(grads, found)
    retained.assert_unkept(grads)


def _scaled(grads, factor):
    if isinstance(grads, tuple | list):
        return type(grads)(_scaled(g, factor) for g in grads)
    return None if grads is None else grads * factor


@examples(max_examples=MANY or 80)
@given(RANDOMS)
def test_expressions(random):
    """Expressions of numbers and arrays that broadcast."""
    program = expression_program(random)
    with reported(program):
        check(program)


@examples(max_examples=MANY or 80)
@given(RANDOMS)
def test_straight_lines(random):
    """Arrays of one shape, where few names stand for many values."""
    program = straight_program(random)
    with reported(program):
        check(program)


@examples(max_examples=MANY or 45)
@given(RANDOMS)
def test_control_flow(random):
    """Nested branches and loops with every way out, helpers, unpacking, augmented assignment."""
    program = flow_program(random, arrays=random.random() < 0.5)
    with reported(program):
        try:
            check(program)
        except (MutationError, UnsupportedSyntaxError) as error:
            assume(not program.sums and "hook() of an array that is written into" not in str(error))
            raise


@examples(max_examples=MANY or 20)
@given(RANDOMS)
def test_writes_into_constants(random):
    """Constants that are changed in place: the gradient is right, or the function is refused."""
    program = flow_program(random, writes=True)
    with reported(program):
        try:
            check(program)
        except MutationError:
            assume(False)


class reported:
    """Adds the program to the exception."""

    def __init__(self, program):
        self.program = program

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if error is not None:
            error.add_note(str(self.program))


def test_inner_product_is_the_weighed_sum():
    """The references of a real value agree on what a seed means."""
    assert 11.0 == inner((1.0, np.array([1.0, 2.0])), (2.0, np.array([3.0, 3.0])))
    assert 11.0 == weighed((1.0, np.array([1.0, 2.0])), (2.0, np.array([3.0, 3.0])))
