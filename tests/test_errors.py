"""Every refusal says what, where, why, and what to do instead."""

import pickle

import pytest

from adcompiler import PullbackConsumedError, pullback
from adcompiler.errors import DifferentiationError, NoRuleError, Origin, TangentError, UnsupportedSyntaxError, refuse

ORIGIN = Origin("relax.py", 8, "x = np.tanh(x @ w)", 12, 17)


def test_message_has_its_four_parts():
    """What, the user's file and line with a caret, why, and the next step stand in this order."""
    error = refuse(NoRuleError, "no rule for `fft`", ORIGIN, "It is written in C.", "Register a rule.")
    expected = """\
no rule for `fft`
  File "relax.py", line 8
    x = np.tanh(x @ w)
                ^^^^^
It is written in C.
Register a rule."""
    assert expected == str(error)
    assert ORIGIN == error.origin


def test_message_without_place():
    """Where no place is known the other three parts remain."""
    error = refuse(UnsupportedSyntaxError, "what", None, "Why.", "Advice.")
    assert "what\nWhy.\nAdvice." == str(error)
    assert error.origin is None


def test_class_is_kept():
    """The caller chooses the class; every one is a DifferentiationError, and a TangentError is a TypeError too."""
    error = refuse(TangentError, "an int", None, "It cannot vary.", "Pass 3.0.")
    assert isinstance(error, DifferentiationError)
    assert isinstance(error, TypeError)


@pytest.mark.parametrize(("start", "stop", "carets"), [(0, 1, "^"), (4, 8, "    ^^^^"), (3, 3, "   ^")])
def test_carets_are_under_the_text(start, stop, carets):
    """An empty range still points somewhere."""
    assert str(Origin("f.py", 1, "y = f(x)", start, stop)).splitlines()[-1] == "    " + carets


def test_tabs_inside_a_line_keep_the_carets_in_place():
    """Tabs before the marked part are repeated under it."""
    assert str(Origin("f.py", 1, "y\t= f", 4, 5)).splitlines()[-1] == "     \t  ^"


def test_errors_pickle():
    """Errors cross process boundaries, as those of worker pools do."""
    error = refuse(NoRuleError, "what", ORIGIN, "Why.", "Advice.")
    copy = pickle.loads(pickle.dumps(error))
    assert str(error) == str(copy)
    assert ORIGIN == copy.origin


def squared(x):
    return x * x


def test_consumed_pullback_names_its_function():
    """A pullback that is called too often says of which function it is, and where that stands."""
    _, back = pullback(squared, 3.0, single_use=True)
    back(1.0)
    with pytest.raises(PullbackConsumedError) as caught:
        back(1.0)
    what, place, text, _, why, advice = str(caught.value).split("\n")
    assert what == "this pullback of squared has been called before"
    assert place == f'  File "{__file__}", line {squared.__code__.co_firstlineno}'
    assert text == "    def squared(x):"
    assert "single_use=True" in why
    assert "single_use=False" in advice
    assert caught.value.origin.line == squared.__code__.co_firstlineno
