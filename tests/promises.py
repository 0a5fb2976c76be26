"""How a test looks at one program: its derivative in every mode by central differences, or its refusal by its line."""

import copy
import functools
import inspect

import numpy as np
import pytest

from adcompiler import pullback
from adcompiler.vectors import inner, random_like
from tests.differences import assert_close, assert_form, assert_same, numerical_gradient
from tests.modes import pullback_not_inlined

MODES = {
    "pullback": pullback,
    "single use": functools.partial(pullback, single_use=True),
    "not inlined": pullback_not_inlined,
}
WRITTEN_OUT = ("pullback", "single use")  # the modes in which rules are part of the text
MARK = "# refused"


def nothing():
    """What most programs need before each call."""


def check(f, *args, before=nothing, modes=tuple(MODES)):
    """The value and the derivatives of `f(*args)` are right, in each of `modes`.

    `before` is called before each call: it sets what the program reads and changes outside of its arguments.
    """

    def plain(*moved):
        before()
        return f(*copy.deepcopy(moved))

    value = plain(*args)
    seed = random_like(value, np.random.default_rng(7))
    expected = numerical_gradient(lambda moved: inner(seed, plain(*moved)), args)
    for mode in modes:
        before()
        y, back = MODES[mode](f, *copy.deepcopy(args))
        assert_same(y, value, f"value, {mode}")
        grads = back(copy.deepcopy(seed))
        assert_form(grads, args)
        assert_close(grads, expected, 1e-6, 1e-7, f"gradient, {mode}")
        if mode != "single use":
            assert_close(back(copy.deepcopy(seed)), expected, 1e-6, 1e-7, "second gradient")


def check_refused(kind, f, *args, at=None):
    """`f(*args)` raises a `kind` that names the line with the mark, of the function `at` or of `f` itself."""
    lines, first = inspect.getsourcelines(at or f)
    marked = next(number for number, line in enumerate(lines, first) if MARK in line)
    with pytest.raises(kind) as caught:
        pullback(f, *args)
    assert f'{inspect.getsourcefile(f)}", line {marked}' in str(caught.value)


def check_raises(kind, f, *args):
    """Differentiated or not, `f(*args)` raises the same exception of Python's own, with the same message."""
    with pytest.raises(kind) as plain:
        f(*args)
    for make in MODES.values():
        with pytest.raises(kind) as caught:
            make(f, *args)
        assert type(caught.value) is type(plain.value)
        assert str(caught.value) == str(plain.value)
