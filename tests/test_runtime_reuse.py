"""What generated code calls at the last use of an array, on NumPy: which arrays take a result, and which do not."""

import functools

import numpy as np
import pytest

from adcompiler import release_mode, release_stats
from adcompiler.runtime import accumulate
from adcompiler.runtime.release import counts
from adcompiler.runtime.reuse import add_into, free, poison, pooled, reuse, reuse_either


class Subclass(np.ndarray):
    """A class of the user's."""


def made(shape=3, dtype=float, order="C"):
    return np.ones(shape, dtype, order)


def takes(make, y=None, above=0):
    """Whether an array that `make` gives, and that only a local variable has, takes a result."""
    with release_mode("reuse", above):
        x = make()
        return (ones(x, out=reuse(x)) if y is None else ones(x, y, out=reuse(x, y))) is x


def ones(*operands, out):
    """What a ufunc does with its operands and `out`."""
    return out


def again(x):
    """The result of an operation on an array that the caller has, too."""
    return np.negative(x, out=reuse(x))


# --- an array that takes a result -------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble", "complex64", "complex128"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_floats(dtype, order):
    """Arrays of floats of every precision and layout that have memory of their own."""
    assert takes(lambda: made((2, 3), dtype, order))


@pytest.mark.parametrize(
    ("why", "make"),
    [
        ("a view", lambda: made(6)[::2]),
        ("a reshaped view", lambda: made(6).reshape(2, 3)),
        ("spread over a shape", lambda: np.broadcast_to(made(1), 3)),
        ("memory of others", lambda: np.frombuffer(bytearray(24))),
        ("whole numbers", lambda: made(3, int)),
        ("truth values", lambda: made(3, bool)),
        ("objects", lambda: made(3, object)),
        ("another byte order", lambda: made(3, np.dtype(float).newbyteorder())),
        ("a 0-d array", lambda: np.array(1.5)),
        ("a number of NumPy", lambda: np.float64(1.5)),
        ("a float", lambda: 1.5),
        ("a complex number", lambda: 1.5j),
        ("a list", lambda: [1.0]),
        ("a masked array", lambda: np.ma.masked_array(made(3))),
        ("a subclass", lambda: Subclass(3)),
    ],
)
def test_what_takes_no_result(why, make):
    """Views, foreign memory, other kinds of numbers, numbers, subclasses."""
    assert not takes(make), why
    with release_mode("reuse", 0):
        x = make()
        assert ones(x, x, out=reuse(x, x)) is None


def test_read_only_arrays():
    """An array that may not be written takes no result."""
    x = made()
    x.flags.writeable = False
    with release_mode("reuse", 0):
        assert np.negative(x, out=reuse(x)) is not x


def test_size():
    """An array below the limit in bytes takes no result."""
    assert (True, False) == (takes(made, above=24), takes(made, above=25))


@pytest.mark.parametrize(
    ("dtype", "y", "expected"),
    [
        (float, 2.0, True),
        (float, 2, True),
        (float, True, True),
        (float, 2j, False),
        (complex, 2j, True),
        (complex, 2.0, True),
        ("float32", 2.0, True),
        ("float32", 2, True),
        ("float32", np.float64(2.0), False),
        ("float32", np.float32(2.0), True),
        ("float32", made(3, float), False),
        ("float64", made(3, "float32"), True),
        ("float32", made(3, int), False),
        ("float64", made(3, int), True),
        ("float64", made(3, bool), True),
        ("float64", made(3, complex), False),
        ("complex64", made(3, "float32"), True),
        ("complex64", made(3, float), False),
        ("complex128", made(3, float), True),
        (float, np.int64(2), True),
        (float, np.complex128(2.0), False),
        (float, np.array(2.0), True),
        (float, [1.0, 2.0, 3.0], False),
        (float, "text", False),
    ],
)
def test_the_dtype_of_the_result(dtype, y, expected):
    """The result must be of the array's own dtype beside the other operand."""
    assert expected == takes(lambda: made(3, dtype), y)
    if expected:
        assert np.dtype(dtype) == np.multiply(made(3, dtype), y).dtype


@pytest.mark.parametrize(
    ("shape", "other", "expected"),
    [
        ((2, 3), (2, 3), True),
        ((2, 3), (3,), True),
        ((2, 3), (1, 3), True),
        ((2, 3), (2, 1), True),
        ((2, 3), (1, 1, 1), False),
        ((2, 3), (4, 2, 3), False),
        ((1, 3), (2, 3), False),
        ((1, 3), (2, 1), False),
        ((3,), (2, 3), False),
        ((0, 3), (1, 3), True),
        ((1, 3), (0, 3), False),
    ],
)
def test_the_shape_of_the_result(shape, other, expected):
    """The result must have the array's own shape."""
    y = made(other)
    assert expected == takes(lambda: made(shape), y)
    assert expected == (np.add(made(shape), y).shape == shape)


# --- who else has it --------------------------------------------------------------------------------------


# Reference counts are taken outside of `assert`, which pytest rewrites to one that keeps the operands.


def test_a_second_name():
    """An array that has another name, is in a list, has a view or is captured takes no result."""
    found = []
    with release_mode("reuse", 0):
        x = made()
        other = x
        found += [np.negative(x, out=reuse(x)) is x, np.add(x, 2.0, out=reuse(x, 2.0)) is x]
        del other
        found.append(np.negative(x, out=reuse(x)) is x)
        kept = [x]
        found.append(np.negative(x, out=reuse(x)) is x)
        kept.clear()
        view = x[1:]
        found.append(np.negative(x, out=reuse(x)) is x)
        del view
        captured = functools.partial(made, x)
        found.append(np.negative(x, out=reuse(x)) is x)
        del captured
        found.append(np.negative(x, out=reuse(x)) is x)
    assert [False, False, True, False, False, False, True] == found


def test_the_callers_array():
    """An argument that the caller still has takes no result; one that was handed over does."""
    with release_mode("reuse", 0):
        x = made()
        place = id(x)
        new = again(x) is not x
        same = id(again((x, x := None)[0])) == place
    assert (True, True) == (new, same)


def test_operands_that_are_one():
    """`x * x` may be written into `x`; beside a second name it may not."""
    with release_mode("reuse", 0):
        x = made() * 3
        alone = np.multiply(x, x, out=reuse(x, x)) is x
        y = x
        shared = np.multiply(x, x, out=reuse(x, x)) is y
    assert (True, False) == (alone, shared)
    np.testing.assert_array_equal(x, made() * 9)


def test_an_operand_that_is_a_view_of_the_other():
    """The array that has a view takes no result, and the view neither."""
    with release_mode("reuse", 0):
        x = made(3)
        y = x[::-1]
        results = [
            np.add(x, y, out=reuse(x, y)),
            np.add(x, y, out=reuse(y, x)),
            np.add(x, y, out=reuse_either(x, y)),
        ]
    assert not any(result is x or result is y for result in results)


def test_either():
    """The first operand that may takes the result."""
    with release_mode("reuse", 0):
        x, y, z = made(), made(), made((2, 3))
        found = [
            np.add(x, y, out=reuse_either(x, y)) is x,
            np.add(x, z, out=reuse_either(x, z)) is z,
            np.add(z, x, out=reuse_either(z, x)) is z,
        ]
        w = x
        found.append(np.add(x, y, out=reuse_either(x, y)) is y)
        v = y
        result = np.add(x, y, out=reuse_either(x, y))
    assert [True] * 4 == found
    assert all(result is not one for one in (w, v))


# --- sums -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("total", "part"),
    [
        (None, made()),
        (made(), None),
        (None, None),
        (made(), made() * 2),
        (made((2, 3)), made(3)),
        (made(3), made((2, 3))),
        (made(3, "float32"), made(3, float)),
        (made(3), made(3, complex)),
        (1.5, made()),
        (made(), 1.5),
        (np.array(1.5), np.array(2.5)),
        (np.float64(1.5), 2.0),
        ([made(), None], [made(), made()]),
        ({"a": made()}, {"a": made(), "b": 2.0}),
    ],
    ids=repr,
)
def test_sums_are_those_of_accumulate(total, part):
    """`add_into` gives what `accumulate` gives, types, shapes and dtypes included."""
    expected = accumulate(total, part)
    with release_mode("reuse", 0):
        found = add_into(total, part)
    assert (type(expected), np.shape(expected)) == (type(found), np.shape(found))
    assert getattr(expected, "dtype", None) == getattr(found, "dtype", None)
    np.testing.assert_equal(found, expected)


def test_sums_are_written_into_what_is_handed_over():
    """The sum is the first array if the caller has handed it over, else a new one; the part never changes."""
    with release_mode("reuse", 0):
        x, part = made(), made()
        place = id(x)
        x = add_into((x, x := None)[0], part)
        assert (place, 2.0, 1.0) == (id(x), x[0], part[0])
        new = add_into(x, part)
        assert (3.0, 2.0) == (new[0], x[0])


# --- free and poison --------------------------------------------------------------------------------------


def test_nothing_of_numpy_is_freed():
    """NumPy has no pool: its memory goes with the last reference."""
    x = made(10_000)
    with release_mode("free", 0):
        assert (False, None) == (free(x), pooled(x))
    np.testing.assert_array_equal(x, made(10_000))
    assert not free(1.5)
    assert not free(None)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_poison(dtype):
    """All of the array is NaN."""
    x = made((2, 3), dtype)
    poison(x)
    assert np.isnan(x).all()


def test_poison_of_views():
    """The memory is poisoned, also by a view that cannot be written."""
    for view in (lambda x: x[::2], lambda x: x.T, lambda x: np.broadcast_to(x, (2, 6))):
        x = made(6)
        poison(view(x))
        assert np.isnan(x).all()


@pytest.mark.parametrize("value", [1.5, None, np.float64(2.0), np.array(2.0), [1.0], "text", made(3, int)], ids=repr)
def test_what_cannot_be_poisoned(value):
    """Numbers, whole numbers, containers and None are left alone."""
    before = repr(value)
    poison(value)
    assert before == repr(value)


def test_counts():
    """What was reused and poisoned is counted, in bytes too."""
    before = release_stats()
    with release_mode("reuse", 0):
        x, y = made(), made()
        np.negative(x, out=reuse(x))
        np.add(x, y, out=reuse_either(x, y))
        x = add_into((x, x := None)[0], y)
        z = x
        np.negative(z, out=reuse(z))
    poison(made())
    after = release_stats()
    assert (3, 72, 1) == tuple(getattr(after, n) - getattr(before, n) for n in ("reused", "reused_bytes", "poisoned"))
    assert list(after._fields) == list(counts)
