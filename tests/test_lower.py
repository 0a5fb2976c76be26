"""`lower` makes A-normal form in Python's evaluation order and keeps the user's control flow and names."""

import numpy as np
import pytest

from adcompiler import UnsupportedSyntaxError, gradient
from tests.stages import lowered

FACTOR = 2.0


def test_every_operation_is_a_statement():
    """Nested expressions become one operation per statement, the innermost first."""

    def f(x):
        return np.sum(x * x) + 1

    assert ["t1 = x * x", "t2 = np.sum(t1)", "t3 = t2 + 1", "return t3"] == lowered(f, 1.0)


def test_a_name_that_is_rebound_later_in_the_expression():
    """The left operand keeps the value it has at its turn."""

    def f(x):
        return x * (x := x + 1.0)

    assert ["t1 = x", "x = x + 1.0", "t2 = t1 * x", "return t2"] == lowered(f, 1.0)


def test_arguments_are_evaluated_left_to_right():
    """Each call among the arguments is a statement before the outer call."""

    def f(x):
        return max(abs(x), min(x, 2.0))

    assert ["t1 = abs(x)", "t2 = min(x, 2.0)", "t3 = max(t1, t2)", "return t3"] == lowered(f, 1.0)


def test_a_global_before_a_call_that_may_change_it():
    """A global operand is read at its turn, not after the call that follows it."""

    def f(x):
        return FACTOR * abs(x)

    assert ["t1 = FACTOR", "t2 = abs(x)", "t3 = t1 * t2", "return t3"] == lowered(f, 1.0)


def test_dotted_paths_stay():
    """A path from a global is no operation; an attribute of a local is one."""

    def f(x):
        return np.linalg.norm(x).real

    assert ["t1 = np.linalg.norm(x)", "t2 = t1.real", "return t2"] == lowered(f, np.ones(2))


def test_chained_comparison():
    """The middle operand is evaluated once, the last one only if the first comparison holds."""

    def f(x):
        return 0 < x + 1 < x * 2

    assert [
        "t2 = x + 1",
        "t1 = 0 < t2",
        "if t1:",
        "    t3 = x * 2",
        "    t1 = t2 < t3",
        "return t1",
    ] == lowered(f, 1.0)


def test_and_or():
    """`and` and `or` give the value of an operand and evaluate no more than needed."""

    def f(x, y):
        return (x and y) or x + y

    assert [
        "t2 = x",
        "if t2:",
        "    t2 = y",
        "t1 = t2",
        "if t1:",
        "else:",
        "    t1 = x + y",
        "return t1",
    ] == lowered(f, 1.0, 2.0)


def test_ternary():
    """Only the chosen arm is evaluated."""

    def f(x):
        return x * 2 if x > 0 else -x

    assert ["t2 = x > 0", "if t2:", "    t1 = x * 2", "else:", "    t1 = -x", "return t1"] == lowered(f, 1.0)


def test_parallel_assignment_stays_one_statement():
    """A swap has no temporaries of the compiler's."""

    def f(x, y):
        x, y = y, x * y
        return x

    assert ["t1 = x * y", "x, y = y, t1", "return x"] == lowered(f, 1.0, 2.0)


def test_unpacking():
    """An unpacking takes one level at a time; a starred target stays in its place."""

    def f(p):
        a, (b, *c), d = p  # noqa: RUF059
        return a

    assert ["a, t1, d = p", "b, *c = t1", "return a"] == lowered(f, (1.0, (2.0, 3.0), 4.0))


def test_several_targets():
    """`a = b = value` evaluates the value once."""

    def f(x):
        a = b = x * x
        return a + b

    assert ["t1 = x * x", "t2 = t1", "a = t2", "b = t2", "t3 = a + b", "return t3"] == lowered(f, 1.0)


def test_augmented_assignment_stays():
    """In place or not is decided where the kind is known."""

    def f(x):
        x *= x + 1.0
        return x

    assert ["t1 = x + 1.0", "x *= t1", "return x"] == lowered(f, 1.0)


def test_annotations_bind_only_with_a_value():
    """`y: float` does nothing."""

    def f(x):
        y: float  # noqa: F842
        z: float = x
        return z

    assert ["z = x", "return z"] == lowered(f, 1.0)


def test_docstring_pass_and_constants_are_gone():
    """What has no effect makes no statement."""

    def f(x):
        """A docstring."""
        pass
        ...
        return x

    assert ["return x"] == lowered(f, 1.0)


def test_negative_literals():
    """`-2` is a literal, `-x` an operation."""

    def f(x):
        return x**-2 * -x

    assert ["t1 = x ** -2", "t2 = -x", "t3 = t1 * t2", "return t3"] == lowered(f, 1.0)


def test_loops_keep_their_form():
    """Iterables made of zip, enumerate, reversed and range stay one expression; `else` stays."""

    def f(x, y):
        for i, (a, b) in enumerate(zip(x, reversed(y))):  # noqa: B007, B905
            if i:
                continue
            break
        else:
            return a
        return b

    assert [
        "for i, (a, b) in enumerate(zip(x, reversed(y))):",
        "    if i:",
        "        continue",
        "    break",
        "else:",
        "    return a",
        "return b",
    ] == lowered(f, np.ones(2), np.ones(2))


def test_an_iterable_that_the_loop_rebinds():
    """The loop goes on over the old value, so it gets a name of its own."""

    def f(x):
        for v in x:
            x = x * v
        return x

    assert ["t1 = x", "for v in t1:", "    x = x * v", "return x"] == lowered(f, np.ones(2))


def test_while_evaluates_its_test_each_time():
    """The operations of the test stand in the loop's head."""

    def f(x):
        while np.sum(x) < 10.0:
            x = x * 2
        return x

    assert ["while:", "    t1 = np.sum(x)", "    t2 = t1 < 10.0", "test t2:", "    x = x * 2", "return x"] == lowered(
        f, np.ones(2)
    )


def test_indices_stay_nested():
    """Slices and tuples of indices are no operations, what is computed in them is."""

    def f(x, i):
        return x[i + 1 :, ..., None]

    assert ["t1 = i + 1", "t2 = x[t1:, ..., None]", "return t2"] == lowered(f, np.ones((3, 2)), 0)


def test_verbatim():
    """f-strings, imports, assertions and raises are kept as they are."""

    def f(x):
        import math as m

        assert x > 0, f"{x!r} is {x:.3f}"
        if x > m.pi:
            raise ValueError(f"{x}")
        return x

    assert [
        "import math as m",
        "assert x > 0, f'{x!r} is {x:.3f}'",
        "t1 = m.pi",
        "t2 = x > t1",
        "if t2:",
        "    raise ValueError(f'{x}')",
        "return x",
    ] == lowered(f, 1.0)


def test_lambda():
    """The body of a lambda is what it returns."""
    assert ["t1 = x * 2", "return t1"] == lowered(lambda x: x * 2, 1.0)


def test_call_arguments():
    """Keywords, stars and double stars stay in the call."""

    def f(*args, **options):
        return dict(*args, a=args, **options)

    assert ["t1 = dict(*args, a=args, **options)", "return t1"] == lowered(f, 1.0)


async def coroutine(x):
    return x


def decorated_inside(x):
    @staticmethod
    def g(t):
        return t

    return g(x)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (coroutine, "coroutine"),
        (decorated_inside, "decorated"),
    ],
)
def test_refused(f, message):
    """Forms without a place in the IR are refused by name."""
    with pytest.raises(UnsupportedSyntaxError, match=message):
        gradient(f)(1.0)
