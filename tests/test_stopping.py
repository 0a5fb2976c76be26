"""`with stop_gradient():` what the block computes is constant."""

import numpy as np
import pytest

from adcompiler import MutationError, UnsupportedSyntaxError, gradient, hvp, jvp, pullback, stop_gradient


def a_variable(x):
    with stop_gradient():
        m = x * x
    return m * x


def one_that_was_there(x):
    s = x
    with stop_gradient():
        s = s * x
        t = s + x
    return s * x + t


def augmented(x):
    s = x * 2
    with stop_gradient():
        s += x * x
    return s * x


def an_element(x):
    y = np.ones(3) * x
    with stop_gradient():
        y[0] = x * 5
    return np.sum(y * x)


def branches_and_loops(x):
    m = 2.0
    with stop_gradient():
        if x > 0:
            m = x * x
        for e in [x, 2 * x]:
            m = m + e
    return m * x + e


class Statistics:
    """What a network keeps of the data that it has seen."""

    def __init__(self):
        self.mean, self.log = 1.0, []

    def __call__(self, x):
        with stop_gradient():
            self.mean = 0.9 * self.mean + 0.1 * x
            self.log.append(x * x)
        return x / self.mean


def an_object(x):
    s = Statistics()
    return s(x) + s.log[0] * x


def several_targets(x):
    with np.errstate(all="ignore"), stop_gradient():
        a, (b, c) = x, (x * 2, x * 3)
    return a * b * c * x


def a_return(x):
    with stop_gradient():
        return x * x


def comprehension(x):
    with stop_gradient():
        ys = [x * i for i in range(3)]
    return sum(ys) * x


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (a_variable, 2.25),
        (one_that_was_there, 2.25),
        (augmented, 2 * (2 * 1.5) + 2.25),
        (an_element, 4 * 1.5 + 5 * 1.5),
        (branches_and_loops, 2.25 + 3 * 1.5),
        (an_object, 1 / 1.05 + 2.25),
        (several_targets, 6 * 1.5**3),
        (a_return, 0.0),
        (comprehension, 3 * 1.5),
    ],
)
def test_what_is_computed_is_constant(f, slope):
    """In both modes, and for pullbacks that run once."""
    assert gradient(f)(1.5) == pytest.approx(slope)
    assert (pullback(f, 1.5, single_use=True)[1](1.0)[0] or 0.0) == pytest.approx(slope)
    assert jvp(f, (1.5,), (1.0,)) == (pytest.approx(f(1.5)), pytest.approx(slope))


def test_at_any_order():
    """Constants have no second derivative either."""
    assert 0.0 == hvp(a_variable, 1.5, 1.0)
    assert 2.0 == hvp(augmented, 1.5, 1.0)


def filled(y, x):
    y[:] = x


def test_calls_that_write_are_refused():
    """What they write is not known to be constant."""

    def f(x):
        y = np.zeros(2)
        with stop_gradient():
            filled(y, x)
        return np.sum(y * x)

    with pytest.raises(MutationError, match=r"inside `with stop_gradient\(\)`"):
        gradient(f)(1.5)


def test_it_takes_no_value():
    """The block, not a value, is what is stopped."""

    def f(x):
        with stop_gradient(x):
            return x

    with pytest.raises(UnsupportedSyntaxError, match="The block takes none"):
        gradient(f)(1.5)
