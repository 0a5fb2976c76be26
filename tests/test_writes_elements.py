"""Elements of arrays that are written into, one after the other: `.flat` as a value, and `np.ndenumerate`."""

import numpy as np
import pytest

from adcompiler import NoRuleError, pullback
from tests.promises import check, check_refused
from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2, 0.8])
A = np.array([[1.3, 0.2, -0.4], [0.1, 0.9, 0.5]])


# .flat


def flat_loop(x, a):
    x[0] = 2.0
    total = 0.0
    for v in x.flat:
        total = total + v * v
    return total


def flat_loop_and_store(x, a):
    for i, v in enumerate(x.flat):
        x.flat[3 - i] += v * v
    for i, (v, w) in enumerate(zip(a.T.flat, x.flat, strict=False)):
        a.T.flat[i] = v * w
    return a, x


def flat_kept(x, a):
    f, g = x.flat, a.T.flat
    x[1] *= 2.0
    a[1] *= x[0]
    return f[1] * f[2] + g[1] * g[2], f[1:3] * g[:2], f[[1, 1, 2]] * g[[3, 3, 0]]


def flat_in_list(x, a):
    items = [x.flat, a.T.flat]
    x[1] *= 3.0
    a *= 2.0
    return items[0][1] * items[1][3]


def flat_whole(x, a):
    x[0] = a[0, 0]
    a[:, 1] = x[:2]
    return np.array(x.flat) * x, np.array(a.T.flat), np.sum(x.flat)


def flat_operand(x, a):
    f, g = x.flat, a.T.flat
    y = np.multiply(f, g[:4]) * np.sin(g)[1:5]
    x[1] = 3.0
    a *= x[0]
    return y


def flat_complex(x, a):
    z = x.astype(complex)
    z *= 1j * x
    total = 0.0
    for v in z.flat:
        total = total + v.imag**2
    return total


def flat_on_some_paths(x, a):
    x[0] *= 2.0
    f = x.flat if a[0, 0] > 0 else x
    x[1] *= 2.0
    return f[1] * f[2]


@programs(
    flat_loop,
    flat_loop_and_store,
    flat_kept,
    flat_in_list,
    flat_whole,
    flat_operand,
    flat_complex,
    flat_on_some_paths,
)
def test_flat(program):
    """What `.flat` gives are the elements of the array itself, in whatever order they lie."""
    check_writes(program, X, A)


# np.ndenumerate


def places(x, a):
    y = np.zeros(4)
    for at, q in np.ndenumerate(x):
        y[at] += q * x[at]
        x[at] = y[0]
    return y


def written_meanwhile(x, a):
    total = 0.0
    for (i, j), q in np.ndenumerate(a):
        a[1, 2] = q * a[i, j - 1]
        total = total + q * i + a[0, 0] * j
    return total, a


def place_of_view(x, a):
    for (i, j), q in np.ndenumerate(a.T):
        a.T[i, j] *= x[i]
        x[3] += q
    return a


def left_early(x, a):
    for (i, j), q in np.ndenumerate(a):
        if j == 2:
            continue
        x[j] *= q
        if i == 1:
            break
    else:
        x *= 100.0
    return x


def of_lists_and_numbers(x, a):
    total = 0.0
    for at, q in np.ndenumerate([x[0], a[0, 1] * 2.0]):
        x[at] = q
        total = total + q * q * (at[0] + 1)
    for at, q in np.ndenumerate(x[2]):
        total = total + q * len(at) + q * q
    return total


def bound_again(x, a):
    for at, q in np.ndenumerate(x):
        x = x * q
        x[0] = x[at] * 2.0
    return x


@programs(places, written_meanwhile, place_of_view, left_early, of_lists_and_numbers, bound_again)
def test_ndenumerate(program):
    """A loop over places and elements reads an element when it gets there."""
    check_writes(program, X, A)


def consumed(x):
    table = {at: q for at, q in np.ndenumerate(x)}
    pairs = list(np.ndenumerate(x * x))
    best = max(np.ndenumerate(x), key=lambda pair: pair[1])
    place, first = next(np.ndenumerate(x))
    later = np.ndenumerate(x)
    total = sum(q * q * at[0] for at, q in later)
    return table[(1,)] * pairs[2][1] + best[1] ** 2 + first * x[place] + total


def counted(x):
    total = 0.0
    for k, (at, q) in enumerate(np.ndenumerate(x)):
        if k == 2:
            break
        total += k * q * x[at]
    return total


@programs(consumed, counted)
def test_ndenumerate_consumed(program):
    """What takes items takes those of `np.ndenumerate` too."""
    check(program, X)


def squares(pairs):
    return sum(q * q for _, q in pairs)


def handed_on(x):
    return squares(np.ndenumerate(x))  # refused


def test_ndenumerate_handed_on():
    """An iterator that a function is given is refused with NumPy's name for it, and what to write instead."""
    check_refused(NoRuleError, handed_on, X)
    with pytest.raises(NoRuleError, match=r"^numpy\.ndenumerate is not differentiated"):
        pullback(handed_on, X)
