"""`activity` finds what carries a derivative: nothing is computed or saved for the rest."""

import numpy as np

from tests.stages import compiled, functions, marked, saved, stage

vector = np.ones(3)


def test_only_what_depends_on_the_wanted_arguments():
    """An inactive argument makes no statement active by itself."""

    def f(x, y):
        a = np.sin(y)
        b = x * a
        c = a + 1.0
        return b * c

    assert ["b = x * a", "t1 = b * c", "return t1"] == marked(f, 1.0, 2.0, wrt="x")
    assert ["a = np.sin(y)", "b = x * a", "c = a + 1.0", "t1 = b * c", "return t1"] == marked(f, 1.0, 2.0, wrt="y")


def test_rebinding_ends_activity():
    """A name bound to a constant no longer carries a derivative."""

    def f(x):
        y = x * 2
        x = 3.0
        z = x * 4
        return y * z

    assert ["y = x * 2", "t1 = y * z", "return t1"] == marked(f, 1.0)


def test_integers_strings_and_tests_are_inert():
    """Shapes, lengths, comparisons and text never carry a derivative."""

    def f(x):
        n = len(x)
        m = x.shape[0] * n
        positive = x > 0
        text = f"{x}"
        return np.sum(x) * m * len(text) * positive[0]

    lines = marked(f, vector)
    assert "return" in lines[-1]
    assert [] == [line for line in lines if line.startswith(("n =", "m =", "positive =", "text ="))]


def test_branches_join():
    """After an `if`, what is active on one path is active."""

    def f(x, c):
        if c > 0:
            y = x
        else:
            y = 1.0
        z = y * 2
        return z

    assert ["y = x", "z = y * 2", "return z"] == marked(f, 1.0, 1.0, wrt="x")


def test_loops_go_round_until_nothing_changes():
    """A name that becomes active at the end of a loop's body is active at its top."""

    def f(x, n):
        a = b = 1.0
        for _ in range(n):
            c = b * 2.0
            b = a * 3.0
            a = x
        return c

    assert ["c = b * 2.0", "b = a * 3.0", "a = x", "return c"] == marked(f, 1.0, 3)


def test_loop_targets():
    """Of `zip`, only the target that runs over something active is active; a counter never is."""

    def f(x, y):
        s = 0.0
        for i, (a, b) in enumerate(zip(x, y, strict=True)):
            c = b * i
            d = a * c
            s = s + d
        return s

    lines = marked(f, vector, vector, wrt="x")
    assert ["d = a * c", "s = s + d", "return s"] == [line for line in lines if not line.startswith("for")]


def helper(a, b):
    c = np.cos(b)
    return a * c


def test_helpers_are_analysed_for_the_active_arguments_of_the_call():
    """Each pattern of active arguments is a pair of its own."""

    def f(x, y):
        return helper(x, y) + helper(y, x)

    found = compiled(f, 1.0, 2.0, wrt=("x",))
    masks = sorted(pair.mask for pair in found.units if pair.spec.name == "helper")
    assert [(False, True), (True, False)] == masks
    text = functions(stage(f, "activity", 1.0, 2.0, wrt="x"))
    assert ["* t1 = a * c", "* return t1"] == text["helper"][1:]


def ignores(a, b):
    return b * 2.0


def test_a_helper_that_ignores_an_argument():
    """The result of a call is active only if the helper's result is."""

    def f(x, y):
        z = ignores(x, y)
        return z * x

    found = compiled(f, 1.0, 2.0, wrt=("x",))
    assert ("z",) == found.pair.saved
    assert ["f"] == [pair.spec.name for pair in found.units]


def countdown(n, x, y):
    return y if n == 0 else countdown(n - 1, y, x)


def test_recursion_is_a_fixed_point():
    """Arguments that change places in a recursion are both active."""

    def f(x, y):
        z = countdown(3, x, y)
        return z

    assert ["z = countdown(3, x, y)", "return z"] == marked(f, 1.0, 2.0, wrt="x")


def test_result_without_influence():
    """A result that does not depend on the wanted argument has no backward."""

    def f(x, y):
        z = x * 2
        print(z)
        return y * 3

    found = compiled(f, 1.0, 2.0, wrt=("x",)).pair
    assert () == tuple(found.backward)
    assert () == found.saved


def test_what_the_result_does_not_need_is_not_saved():
    """A dead computation costs nothing in the reverse."""

    def f(x):
        unused = np.exp(x) * x  # noqa: F841
        return x * 3.0

    assert () == saved(f, vector, wrt=("x",))


def test_stop_gradient_is_inert():
    """The value goes on, the derivative does not."""
    from adcompiler import stop_gradient

    def f(x):
        y = stop_gradient(x)
        z = y * 2.0
        return x * z

    assert ["t1 = x * z", "return t1"] == marked(f, 1.0)
