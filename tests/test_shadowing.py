"""The forward and the reverse of programs that write into arrays: windows of shadows, and what is saved for them."""

import gc
import inspect

import numpy as np
import pytest

from adcompiler import pullback
from tests.promises import check
from tests.stages import compiled, functions, stage

X = np.array([0.3, -0.7, 1.2])
U = np.array([0.1, 0.4, -0.2, 0.9, 0.3, 0.6])


def pair(f, *args, wrt):
    """The forward and the backward, folded, of a function and of those that it calls."""
    found = functions(stage(f, "fold", *args, wrt=wrt))
    return "\n".join(line.rstrip() for name, lines in found.items() for line in (f"{name}:", *lines))


def stored_in_a_loop(x, n):
    y = np.zeros(n)
    y[0] = x
    for i in range(1, n):
        y[i] = y[i - 1] * 0.5 + x * i
    return y @ y


def view_increased(x, v):
    y = x * 2.0
    w = y[1:]
    w += v
    return y * w[0]


def view_multiplied(x, v):
    y = x * 2.0
    w = y[1:]
    w *= v
    return y


def given_as_out(x, y):
    np.multiply(x, y, out=y)
    return y


def fill(a, v):
    a[1:] = v


def filled_by_a_helper(x):
    y = x * 3.0
    fill(y, x[0])
    return y


def in_a_list(x):
    y = np.zeros(3)
    held = [y]
    held[0][1:] = x[:2]
    return y


CALLS = {
    stored_in_a_loop: ((0.7, 4), ("x",)),
    view_increased: ((X, X[:2]), ("x", "v")),
    view_multiplied: ((X, X[:2]), ("x", "v")),
    given_as_out: ((X, X + 1.0), ("x", "y")),
    filled_by_a_helper: ((X,), ("x",)),
    in_a_list: ((X,), ("x",)),
}


@pytest.mark.parametrize("f", CALLS, ids=lambda f: f.__name__)
def test_reads_as_it_is_meant_to(f, golden):
    """Whoever reads the text sees where a cotangent is taken, and where it is added."""
    args, wrt = CALLS[f]
    golden(pair(f, *args, wrt=wrt))


@pytest.mark.parametrize("f", CALLS, ids=lambda f: f.__name__)
def test_derivatives(f):
    """The same programs, against central differences."""
    check(f, *CALLS[f][0])


# What is saved


def heat(u, k, n):
    for _ in range(n):
        u[1:-1] += k * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def burgers(u, k, n):
    for _ in range(n):
        u[1:-1] -= k * u[1:-1] * (u[2:] - u[:-2])
    return u


def held_arrays(f, *args):
    """The arrays that the pullback holds after a call; those that the caller has are left out."""
    y, back = pullback(f, *args)
    todo, seen, found = [back], set(), []
    while todo:
        part = todo.pop()
        if id(part) in seen or isinstance(part, type) or inspect.ismodule(part):
            continue
        if isinstance(part, dict) and "__builtins__" in part:  # the globals of a module, which live anyway
            continue
        seen.add(id(part))
        if isinstance(part, np.ndarray):
            found.append(part)
        elif inspect.isfunction(part):
            todo.extend(cell.cell_contents for cell in part.__closure__ or ())
        elif isinstance(part, dict | list | tuple) or type(part).__module__.startswith(("adcompiler", "functools")):
            todo.extend(gc.get_referents(part))
    return [part for part in found if not any(part is a for a in (y, *args))]


def test_what_is_held_is_found():
    """The search sees what a pullback keeps: without that the tests below would say nothing."""
    assert [3] == [part.size for part in held_arrays(lambda x: np.exp(x) * 2.0, X)]


def test_a_linear_stencil_in_place_saves_no_array():
    """Its reverse needs shapes, and the number by which differences are multiplied."""
    for single_use in (False, True):
        saved = compiled(heat, U.copy(), 0.1, 5, wrt=("u",), single_use=single_use).pair.saved
        assert "u" not in saved
    assert [] == held_arrays(lambda u: heat(u, 0.1, 5), U.copy())


def test_a_stencil_with_a_product_saves_what_is_multiplied():
    """Of each step the two factors, which are the inner elements; never the array as a whole."""
    held = held_arrays(lambda u: burgers(u, 0.1, 5), U.copy())
    assert {(U.size - 2,)} == {part.shape for part in held}
    assert 2 * 5 >= len(held) > 0


def test_saved_parts_are_copies():
    """A view would change with the next step."""
    u = U.copy()
    assert not any(np.shares_memory(u, part) for part in held_arrays(lambda u: burgers(u, 0.1, 5), u))


@pytest.mark.parametrize("f", [heat, burgers])
def test_stencils(f):
    """With respect to the array and the coefficient."""
    check(f, U, 0.1, 4)


# What the value and the caller's arrays see


def test_the_argument_changes_as_in_a_plain_call():
    """The forward runs the user's own writes, on the user's own array, which it returns."""
    plain, given = U.copy(), U.copy()
    heat(plain, 0.1, 3)
    y, back = pullback(heat, given, 0.1, 3)
    assert y is given
    np.testing.assert_array_equal(plain, given)
    back(np.ones(6))
    np.testing.assert_array_equal(plain, given)


def test_the_cotangent_is_not_lent_out():
    """A shadow is filled with what is given, and is not the array that was given, nor that of the next call."""
    _, back = pullback(heat, U.copy(), 0.1, 3)
    ct = np.ones(6)
    first = back(ct)[0]
    np.testing.assert_array_equal(1.0, ct)
    kept = first.copy()
    first[...] = 0.0
    np.testing.assert_array_equal(kept, back(ct)[0])
