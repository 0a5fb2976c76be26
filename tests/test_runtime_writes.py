"""Writes into arrays: each reverse against central differences of the function's own effect, and what is refused."""

import operator

import numpy as np
import pytest

from adcompiler import MutationError
from adcompiler.runtime.shadows import Shadows, refer
from adcompiler.runtime.writes import REFUSED_WRITES, WRITES, refused_at
from adcompiler.runtime.writes_flat import set_flat, store_flat
from adcompiler.runtime.writes_indexed import take, take_fancy
from adcompiler.runtime.writes_values import check_float
from adcompiler.runtime.writes_whole import store_imag, store_real

RNG = np.random.default_rng(7)
METHODS = {name: lambda y, *args, name=name, **kw: getattr(y, name)(*args, **kw) for name in ("fill", "sort", "put")}

# Arrays of the same elements with other memory.
LAYOUTS = {
    "C": lambda x: x.copy(),
    "F": lambda x: np.asfortranarray(x),
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x.copy(),
    "reversed": lambda x: x[::-1].copy()[::-1] if x.ndim else x.copy(),
}


def numbers(*shape, dtype=float):
    """Distinct random numbers."""
    x = RNG.standard_normal(shape)
    return np.asarray(x + 1j * RNG.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


VALUES = {"value", "values", "src", "v", "vals", "val", "b"}


def is_active(value):
    """Whether an operand has a derivative."""
    return not isinstance(value, bool | int | str | slice | tuple | type(None)) and np.asarray(value).dtype.kind in "fc"


def copied(value):
    """A copy of an operand, with its memory order."""
    if isinstance(value, np.ndarray):
        return np.lib.stride_tricks.as_strided(*_memory(value))
    return [*value] if isinstance(value, list) else value


def _memory(x):
    """A copy of the memory of an array, as arguments of `as_strided`."""
    if not x.size:
        return x.copy(), x.shape, x.copy().strides
    low, high = np.lib.array_utils.byte_bounds(x)
    first = x.__array_interface__["data"][0] - low
    buffer = np.zeros(high - low, np.uint8)
    whole = np.ndarray(x.shape, x.dtype, buffer, first, x.strides)
    whole[...] = x
    return whole, x.shape, x.strides


def differences(loss, x):
    """The gradient dx + i dy of a real function that is linear in `x`."""
    out = np.zeros(np.shape(x), complex)
    for place in np.ndindex(np.shape(x)):
        for unit in (1, 1j) if np.iscomplexobj(x) else (1,):
            high, low = np.array(x), np.array(x)
            high[place] += unit / 2
            low[place] -= unit / 2
            out[place] += unit * (loss(high) - loss(low))
    return out if np.iscomplexobj(x) else out.real


def placed_like(x, y):
    """The elements of `x` with the memory layout of `y`."""
    laid = copied(y)
    laid[...] = x
    return laid


def check(key, function, y0, *operands, tolerance=1e-9, **keywords):
    """The reverse of `function(y, *operands)` is that of central differences, and none of the operands are kept."""
    write = WRITES[key]
    y, given = copied(y0), [copied(v) for v in operands]
    at = refer(y)
    saved = write.keep(y, *given, **keywords)
    np.testing.assert_array_equal(y, y0)
    function(y, *given, **keywords)
    c = numbers(*y0.shape, dtype=y0.dtype)

    def loss(y_in, *values):
        with np.errstate(all="ignore"):
            y_out = placed_like(y_in, y0)
            function(y_out, *values, **keywords)
            return float(np.sum(np.conj(c) * y_out).real)

    for value in (y, *given):  # what has been kept is no longer in reach
        if isinstance(value, np.ndarray) and value.flags.writeable:
            value[...] = 0
        elif isinstance(value, list) and not any(isinstance(v, np.ndarray) for v in value):
            value[:] = [0 for _ in value]
    for _ in range(2):
        shadows = Shadows()
        window = shadows.window(at)
        window[...] = c
        bars = write.reverse(window, saved)
        assert len(bars) == len(write.operands)
        expected = differences(lambda y_in: loss(y_in, *operands), y0)
        np.testing.assert_allclose(window, expected, atol=tolerance)
        if y.size:  # an array without elements has no memory of its own
            np.testing.assert_array_equal(shadows.window(at), window)
        for i, bar in enumerate(bars):
            if write.operands[i] not in VALUES or not is_active(operands[i]):
                assert bar is None
                continue
            check_bar(bar, operands[i], window)

            def loss_of(v, i=i):
                return loss(y0, *operands[:i], laid(v, operands[i]), *operands[i + 1 :])

            np.testing.assert_allclose(bar, differences(loss_of, operands[i]), rtol=1e-5, atol=tolerance)


def laid(x, value):
    """The elements of `x` as an operand like `value`."""
    if isinstance(value, np.ndarray):
        return placed_like(x, value)
    return x.tolist() if isinstance(value, list) else x[()]


def check_bar(bar, operand, window):
    """A cotangent of the operand's shape and type, in memory of its own."""
    assert np.shape(bar) == np.shape(operand)
    assert np.iscomplexobj(bar) <= np.iscomplexobj(operand)
    if hasattr(operand, "dtype"):
        assert bar.dtype == operand.dtype
    assert isinstance(bar, np.generic) or (not np.shares_memory(bar, window) and bar.flags.writeable)


MASK = np.array([True, False, True, True])
STORES = [
    (1, 2.5),
    (-1, np.float64(2.5)),
    (np.int64(2), 0.5),
    ((2, 1, np.int64(0)), 1.5),
    ((2, -1, 0), 1.5),
    ((2, 1, 0), numbers()),
    (slice(None), 0.5),
    (slice(None, None, -2), numbers(2, 3, 2)),
    (slice(np.int64(1), None), numbers(3, 2)),
    (..., numbers(2)),
    (None, numbers(1, 4, 3, 2)),
    ((slice(None), 1), numbers(4, 1)),
    ((..., None, 1), numbers(1, 1, 4, 3, 1)),
    ((slice(2, 2), 0), numbers(2)),
    (0, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
    (0, [1.0, 2.0]),
    (0, np.ones((1, 1, 1, 3, 2))),
    (0, numbers(1, 2)),
    (0, 3),
    ([0, 0, 3], numbers(3, 3, 2)),
    ([0, 0, 3], 1.5),
    ([0, 0, 3], numbers(1, 2)),
    ([0, 0, 3], numbers(3, 1, 1)),
    ([0, 0, 3], 7),
    (np.array([-1, 3, 0]), numbers(3, 3, 2)),
    (np.array([-1, 3, 0], np.int8), numbers(3, 3, 2)),
    (np.array([[0, 1], [1, 1]]), numbers(2, 2, 3, 2)),
    (([0, 0, 1], [2, 2, 1]), numbers(3, 2)),
    (([0, 0, 1], (2, 2, 1)), numbers(3, 2)),
    ((np.array([0, 0, 1])[:, None], [2, -1]), numbers(3, 2, 2)),
    ((np.array([0, 0, 1])[:, None], [2, -1]), numbers(2, 1)),
    ((1, [0, 0]), numbers(2, 2)),
    ((slice(1, None), [0, 0]), numbers(3, 2, 2)),
    (([0, 0], slice(1, None), [1, 1]), numbers(2, 2)),
    ((None, [0, 0]), numbers(1, 2, 3, 2)),
    ((..., [0, 0]), numbers(4, 3, 2)),
    ((..., [0, 0]), numbers(4, 1, 1)),
    ([], numbers(0, 3, 2)),
    ([], 1.5),
    (range(2), numbers(2, 3, 2)),
    (np.array(2), numbers(3, 2)),
    (True, numbers(3, 2)),
    (False, 1.5),
    (MASK, numbers(3, 3, 2)),
    (MASK, 0.5),
    (MASK, numbers(2)),
    ([True, False, True, True], numbers(3, 3, 2)),
    ((MASK, 1), numbers(3, 2)),
    ((MASK, [1, 1, 1]), numbers(3, 2)),
    ((slice(None), np.array([True, False, True])), numbers(4, 2, 2)),
    (np.zeros((4, 3, 2), bool), 2.0),
    (np.arange(24).reshape(4, 3, 2) % 3 == 0, numbers(8)),
    (np.arange(24).reshape(4, 3, 2) % 3 == 0, numbers(1)),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("index", "value"), STORES, ids=lambda v: repr(v)[:40].replace("\n", ""))
def test_store(index, value, layout):
    """A store takes the cotangents of the elements that it writes, and of an element only for the last value."""
    check(operator.setitem, operator.setitem, LAYOUTS[layout](numbers(4, 3, 2)), index, value)


@pytest.mark.parametrize("index", [(), ..., None, True, False, np.array(True), (None, ...)], ids=repr)
def test_store_without_dimensions(index):
    """An array without dimensions has one element."""
    check(operator.setitem, operator.setitem, numbers(), index, 1.5)


def test_store_of_size_zero():
    """Nothing is written, and the cotangent of what should have been written is zero."""
    for index in (slice(None), ..., [], np.zeros(0, bool), np.zeros((0, 3), bool)):
        check(operator.setitem, operator.setitem, numbers(0, 3), index, 1.5)
        check(operator.setitem, operator.setitem, numbers(0, 3), index, numbers(1))


def laid_out(x, layout):
    """An array with the elements of `x`: the axes in memory in an order, some of them reversed, or without a stride."""
    if layout == "broadcast":
        return np.broadcast_to(x[:1].copy(), x.shape)
    axes, flips = layout
    x = np.ascontiguousarray(x.transpose(axes)[tuple(slice(None, None, f) for f in flips)])
    return x[tuple(slice(None, None, f) for f in flips)].transpose(np.argsort(axes))


@pytest.mark.parametrize("seed", range(60))
def test_last_value_of_repeated_positions(seed):
    """Which value is the last is asked of NumPy itself: it depends on the strides of the positions and of the value."""
    rng = np.random.default_rng(seed)
    layouts = [((a, 1 - a), (f, g)) for a in (0, 1) for f in (1, -1) for g in (1, -1)]
    shape = tuple(rng.integers(2, 5, 2))
    kind = rng.integers(4)
    rows, columns = (laid_out(rng.integers(-n, n, shape), layouts[rng.integers(8)]) for n in (4, 3))
    last = columns % 2
    index = [rows, (rows, columns), (slice(None), columns), (rows[:1], slice(None), last)][kind]
    y = numbers(4, 3, 2)[..., 0] if kind == 1 else LAYOUTS["F" if rng.integers(2) else "C"](numbers(4, 3, 2))
    value_shape = np.shape(y[index])
    value = numbers(*value_shape)
    if rng.integers(2):
        axes = tuple(rng.permutation(value.ndim))
        value = laid_out(value, (axes, tuple(rng.choice([1, -1], value.ndim))))
    elif rng.integers(2):
        value = value[(slice(None),) * int(rng.integers(value.ndim)) + (slice(0, 1),)]
    if rng.integers(3) == 0:
        value = value.astype(np.float32, order="K")
    check(operator.setitem, operator.setitem, y, index, value, tolerance=1e-6)


def test_reversed_positions():
    """Positions and values that both run backwards in memory: NumPy walks forwards, and the first one is the last."""
    index, value = np.array([0, 1, 1])[::-1], numbers(3)[::-1]
    check(operator.setitem, operator.setitem, numbers(2), index, value)
    check(operator.setitem, operator.setitem, numbers(2, 2), index, numbers(3, 2)[::-1])


def test_value_that_is_broadcast():
    """A value whose elements lie at one address: the sum of their cotangents is right, whoever has it."""
    index = np.array([[0, 1, 1], [1, 0, 0]])
    value = np.broadcast_to(numbers(3), (2, 3))
    write = WRITES[operator.setitem]
    y = numbers(2)
    saved = write.keep(y, index, value)
    y[index] = value
    c = numbers(2)
    bar = write.reverse(c.copy(), saved)[1].sum(axis=0)
    np.testing.assert_allclose(np.sum(bar * value[0]), np.sum(c * y))


def test_repeated_values_that_cannot_be_told():
    """Values in memory that overlaps itself, or from the array itself, are refused where positions are repeated."""
    keep = WRITES[operator.setitem].keep
    windows = np.lib.stride_tricks.sliding_window_view(numbers(4), 3)
    with pytest.raises(MutationError, match="overlaps itself"):
        keep(numbers(3), np.array([[0, 0, 1], [1, 1, 2]]), windows)
    y = numbers(4)
    with pytest.raises(MutationError, match="from the array itself"):
        keep(y, [0, 0], y[2:])


@pytest.mark.parametrize("y_type", [np.float32, np.float64, np.complex64, np.complex128, np.longdouble])
@pytest.mark.parametrize("v_type", [np.float16, np.float32, np.float64, np.complex64, np.complex128, np.longdouble])
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_dtypes(y_type, v_type):
    """Each cotangent has the type of its operand; of a complex value in a real array the real part counts."""
    y, value = numbers(5, dtype=y_type), numbers(3, dtype=v_type)
    tolerance = 2e-2 if v_type is np.float16 else 1e-5
    for index in (slice(1, 4), [0, 4, 0], [0, 4, 2], np.arange(5) > 1):
        check(operator.setitem, operator.setitem, y, index, value, tolerance=tolerance)
    check(operator.setitem, operator.setitem, y, 1, value[0], tolerance=tolerance)
    check(np.put, np.put, y, [0, 4, 2], value.astype(y_type), tolerance=tolerance)
    check(np.putmask, np.putmask, y, np.arange(5) > 1, value.astype(y_type), tolerance=tolerance)
    check(("set", "real"), store_real, y[:3], value, tolerance=tolerance)
    if np.can_cast(v_type, y_type, "same_kind"):
        check(np.copyto, np.copyto, y[:3], value, tolerance=tolerance)
        check(np.add.at, np.add.at, y, [0, 4, 0], value, tolerance=tolerance)
    if np.dtype(y_type).kind == "c":
        check(("set", "imag"), store_imag, y[:3], value, tolerance=tolerance)
        check(("set", "flat"), set_flat, y, value.astype(y_type), tolerance=tolerance)


def test_python_numbers_and_complex_arrays():
    """A float that is written into a complex array has a real cotangent; a complex one a complex cotangent."""
    y = numbers(3, dtype=complex)
    for value in (1.5, 1.5 + 2j, [1.5, 2.0, 1j], [1.5, 2.0, 1.0]):
        check(operator.setitem, operator.setitem, y, slice(None), value)
    for value in (1.5, 1.5 + 2j):
        check(("ndarray", "fill"), METHODS["fill"], y, value)
        check(operator.setitem, operator.setitem, y, 1, value)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("where", [True, False, None, [[True, False, True]], np.array([[True], [False]])], ids=repr)
def test_copyto(layout, where):
    """`copyto` is a store, and where it does not write, cotangents stay."""
    keywords = {} if where is None else {"where": where}
    for value in (1.5, numbers(2, 3), numbers(3), numbers(1, 1, 3), [1.0, 2.0, 3.0], 2):
        check(np.copyto, np.copyto, LAYOUTS[layout](numbers(2, 3)), value, casting="unsafe", **keywords)


@pytest.mark.parametrize("shape", [(2, 3), (), (0,)])
def test_fill(shape):
    """The number that an array is filled with has the sum of the cotangents."""
    for value in (1.5, np.float32(1.5), np.array(1.5), 2):
        check(("ndarray", "fill"), METHODS["fill"], numbers(*shape), value)


PUTS = [
    ([0, 4], numbers(2), {}),
    ([0, 4, 2, -1], numbers(2), {}),
    ([0, 4, 2], numbers(5), {}),
    ([0, 4, 0, -6], numbers(2, 2), {}),
    ([0, 4, 0, -6, 5, 5], numbers(4), {}),
    ([0, 4, 0, -6, 5, 5], 1.5, {}),
    (np.array([[0, 4], [3, 1]]), numbers(4), {}),
    (np.array([[0, 4], [3, 1]]).T, numbers(3), {}),
    (np.array([[0, 1], [1, 3]]).T[:, ::-1], numbers(4)[::-1], {}),
    (3, 1.5, {}),
    (3, numbers(2), {}),
    ([], 1.5, {}),
    ([1, 2], numbers(0), {}),
    ([0, 1, 10, -20], numbers(3), {"mode": "clip"}),
    ([0, 1, 10, -20], numbers(3), {"mode": "wrap"}),
    ([0, 1], 3, {}),
    ([1.0, 2.0], numbers(2), {}),
    ([True, False], numbers(2), {}),
    ([0, 5], [1.0, 2.0, 3.0], {}),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("places", "value", "keywords"), PUTS)
def test_put(places, value, keywords, layout):
    """Positions are those of the flat array, values are used in turn, and the last one wins."""
    if isinstance(places, list) and places and type(places[0]) is float:
        places = np.array(places).astype(int)
    check(np.put, np.put, LAYOUTS[layout](numbers(2, 3)), places, value, **keywords)
    check(("ndarray", "put"), METHODS["put"], LAYOUTS[layout](numbers(2, 3)), places, value, **keywords)


MASKS = [
    np.array([[True, False, True], [False, True, True]]),
    np.array([[True, False, True], [False, True, True]]).T.copy().T,
    np.array([True, False, True, False, True, True]),
    [1, 0, 1, 0, 1, 1],
    np.zeros((2, 3), bool),
    np.ones((2, 3), bool),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mask", MASKS, ids=lambda m: str(m).replace("\n", ""))
def test_putmask_and_place(mask, layout):
    """`putmask` uses the value at the element's own position, `place` the next one."""
    for value in (1.5, numbers(6), numbers(2, 3).T, numbers(4), numbers(8), [1.0, 2.0], 3, numbers(1), numbers(0)):
        check(np.putmask, np.putmask, LAYOUTS[layout](numbers(2, 3)), mask, value)
        if np.size(value) or not np.any(mask):
            check(np.place, np.place, LAYOUTS[layout](numbers(2, 3)), mask, value)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (7, 3), (2, 2, 2), (0, 2), (2, 0)])
def test_fill_diagonal(shape, layout):
    """The values are used in turn along the diagonal, which may begin again below."""
    for value in (1.5, numbers(3), numbers(2), [1.0, 2.0], 3, numbers(0), numbers(9)):
        for keywords in ({}, {"wrap": True}):
            check(np.fill_diagonal, np.fill_diagonal, LAYOUTS[layout](numbers(*shape)), value, **keywords)


ALONG = [
    (np.array([[0, 2]]), numbers(1, 2), 1),
    (np.array([[0, 0]]), numbers(1, 2), 1),
    (np.array([[0, 0], [2, 2]]), numbers(2, 2), -1),
    (np.array([[0, 0], [2, 2]]), numbers(2, 1), -1),
    (np.array([[0], [2]]), 1.5, 1),
    (np.array([[0, 1, 0], [1, 1, 0]]), numbers(2, 3), 0),
    (np.array([[0, 1, 0], [1, 1, 0]]).T.copy().T, numbers(3, 2).T, 0),
    (np.array([[0, 1, 0], [1, 1, 0]]), 3, 0),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("indices", "values", "axis"), ALONG)
def test_put_along_axis(indices, values, axis, layout):
    """The store that `take_along_axis` reads."""
    check(np.put_along_axis, np.put_along_axis, LAYOUTS[layout](numbers(2, 3)), indices, values, axis)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ufunc", [np.add, np.subtract])
def test_add_at(ufunc, layout):
    """What is added at a position has that element's cotangent, which stays."""
    for index, value in [
        ([0, 0, 1], numbers(3, 3)),
        ([0, 0, 1], 1.5),
        ([0, 0, 1], numbers(3)),
        (0, 1.5),
        (0, numbers(3)),
        (slice(None), numbers(2, 1)),
        (([0, 1, 0], [1, 1, 1]), numbers(3)),
        ((slice(None), [1, 1]), numbers(2)),
        (np.array([[True, False, True], [False, True, True]]), numbers(4)),
        ([0, 0, 1], 3),
        ([], numbers(0, 3)),
        ([0, 1], [1.0, 2.0, 3.0]),
    ]:
        check(ufunc.at, ufunc.at, LAYOUTS[layout](numbers(2, 3)), index, value)


def far_apart(*shape):
    """Numbers whose order stays under differences."""
    return RNG.permutation(9.0 * np.arange(np.prod(shape))).reshape(shape)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sort(layout):
    """Cotangents go back to where the elements came from."""
    for shape in ((2, 3), (0, 3), (5,)):
        for axis in (-1, 0):
            check(("ndarray", "sort"), METHODS["sort"], LAYOUTS[layout](far_apart(*shape)), axis=axis)
    check(("ndarray", "sort"), METHODS["sort"], np.array([3.0, 9.0, 6.0]), kind="stable")


def test_sort_of_equal_elements():
    """Equal elements keep their order."""
    write = WRITES["ndarray", "sort"]
    window = np.array([1.0, 2.0, 3.0, 4.0])
    saved = write.keep(np.array([5.0, 1.0, 5.0, 1.0]))
    assert (None,) * 4 == write.reverse(window, saved)
    np.testing.assert_array_equal(window, [3.0, 1.0, 4.0, 2.0])


FLAT = [
    (1, 1.5),
    (-1, np.float64(1.5)),
    (np.int64(2), 1.5),
    ((3,), 1.5),
    (slice(1, 5), numbers(2)),
    (slice(1, 5), numbers(6)),
    (slice(None, None, -2), numbers(2)),
    (slice(1, 1), numbers(2)),
    (slice(1, 4), numbers(0)),
    (..., numbers(4)),
    (..., 1.5),
    ([0, 2, 4], numbers(2)),
    ([0, 2, 0, -6], numbers(3)),
    ([0, 2, 0, -6], 1.5),
    ([], numbers(2)),
    (([1, 2],), numbers(2)),
    (np.array([[0, 1], [1, 3]]).T, numbers(4)),
    (np.array([True, False, True, True, False, True]), numbers(3)),
    (np.array([True, False, True, True, False, True]), numbers(2, 2)),
    (slice(1, 5), [1.0, 2.0]),
    (slice(1, 5), 3),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("index", "value"), FLAT)
def test_store_flat(index, value, layout):
    """Positions of `y.flat` are in the order of C, and values are used in turn."""
    check(("flatiter", "__setitem__"), store_flat, LAYOUTS[layout](numbers(2, 3)), index, value)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_set_flat(layout):
    """All elements are written; values that are too many have no part in it."""
    for value in (1.5, numbers(4), numbers(8), numbers(3, 2).T, numbers(0), [1.0, 2.0], 3):
        check(("set", "flat"), set_flat, LAYOUTS[layout](numbers(2, 3)), value)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_real_and_imaginary_part(layout):
    """The other part keeps its cotangent."""
    for value in (1.5, numbers(2, 3), numbers(3), [1.0, 2.0, 3.0], 3):
        check(("set", "real"), store_real, LAYOUTS[layout](numbers(2, 3, dtype=complex)), value)
        check(("set", "imag"), store_imag, LAYOUTS[layout](numbers(2, 3, dtype=complex)), value)
        check(("set", "real"), store_real, LAYOUTS[layout](numbers(2, 3)), value)


def test_nan_of_what_was_written_over():
    """What no lane has written counts nothing, even if a cotangent is not finite."""
    write = WRITES[operator.setitem]
    window = np.array([np.inf, np.nan, 1.0])
    saved = write.keep(numbers(3), [2, 2], 1.5)
    assert write.reverse(window, saved)[1] == 1.0
    window = np.array([np.inf, np.nan, 1.0])
    saved = WRITES[np.putmask].keep(numbers(3), [0, 0, 1], 1.5)
    assert WRITES[np.putmask].reverse(window, saved)[1] == 1.0


def test_take():
    """What is taken is a copy, of one element a scalar, and its place is zero."""
    window = numbers(3)
    first = window[0]
    taken = take(window, 0)
    assert type(taken) is np.float64
    assert (taken, window[0]) == (first, 0)
    rest = window[1:].copy()
    taken = take(window, slice(1, None))
    np.testing.assert_array_equal(taken, rest)
    assert not np.shares_memory(taken, window)
    assert not window.any()
    assert take(np.array(2.0), ()) == 2.0


def test_take_fancy():
    """An element that is named twice is taken once."""
    window = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(np.sort(take_fancy(window, [1, 1, -1])), [0.0, 2.0, 3.0])
    np.testing.assert_array_equal(window, [1.0, 0.0, 0.0])
    assert take_fancy(np.array([1.0, 2.0]), np.array([True, False])) == 1.0


def test_overlap_of_other_strides():
    """NumPy reads what it has written when a vector overlaps its target with another stride; it is refused."""
    y, z = numbers(6), numbers(4, dtype=complex)
    for keep, operands in [
        (WRITES[operator.setitem].keep, (y, slice(None, None, 2), y[:3])),
        (WRITES[np.copyto].keep, (y[::2], y[:3])),
        (WRITES[operator.setitem].keep, (z, slice(None), z.imag[2:3])),
        (WRITES["set", "real"].keep, (z[:2], z[::2].real)),
        (WRITES["set", "imag"].keep, (z[:2], z[::2].imag)),
        (WRITES[np.place].keep, (y, y > 0, y[:3])),
        (WRITES[np.fill_diagonal].keep, (y.reshape(2, 3), y[:3])),
        (WRITES["set", "flat"].keep, (y, y[::-1])),
        (WRITES["flatiter", "__setitem__"].keep, (y, slice(1, None), y)),
    ]:
        with pytest.raises(MutationError, match="shares memory"):
            keep(*operands)


@pytest.mark.parametrize("seed", range(40))
def test_other_overlaps_are_as_if_copied(seed):
    """What is not refused has the value, and so the derivative, of a store of a copy."""
    rng = np.random.default_rng(seed)
    write = WRITES[operator.setitem]
    for _ in range(40):
        y = rng.standard_normal(8)
        slices = [slice(*(rng.integers(0, 8, 2).tolist()), int(rng.choice([-2, -1, 1, 2, 3]))) for _ in range(2)]
        if len(y[slices[0]]) != len(y[slices[1]]):
            continue
        try:
            write.keep(y, slices[0], y[slices[1]])
        except MutationError:
            continue
        expected = y.copy()
        expected[slices[0]] = y[slices[1]].copy()
        y[slices[0]] = y[slices[1]]
        np.testing.assert_array_equal(y, expected)


def test_arrays_that_are_not_of_floats():
    """A number with a derivative is not cut off: there has to be an array of floats for it."""
    for y in (np.zeros(3, int), np.zeros(3, bool), np.zeros(3, object)):
        with pytest.raises(MutationError, match="dtype=float"):
            check_float(y)
    for key, operands in [
        (operator.setitem, (0, 1.5)),
        (operator.setitem, (0, numbers(1)[0])),
        (np.copyto, (1.5,)),
        (("ndarray", "fill"), (1.5,)),
        (np.put, ([0], 1.5)),
        (np.putmask, ([1, 0, 0], 1.5)),
        (np.place, ([1, 0, 0], 1.5)),
        (("set", "flat"), (1.5,)),
        (np.add.at, ([0], 1.5)),
    ]:
        with pytest.raises(MutationError, match="dtype=float"):
            WRITES[key].keep(np.zeros(3, int), *operands)
    with pytest.raises(MutationError, match="MaskedArray"):
        WRITES[operator.setitem].keep(np.ma.zeros(3), 0, 1.5)


def test_values_of_unknown_numbers():
    """Values of which it is not known what numbers they are made of are refused."""
    for value in ({}, object(), np.array([None, 1.0]), [None, 1.0]):
        with pytest.raises(MutationError):
            WRITES[operator.setitem].keep(numbers(2), slice(None), value)


def test_other_refusals():
    """What cannot be followed is refused before anything is written."""
    with pytest.raises(MutationError, match=r"np\.put\(y"):
        WRITES[np.put_along_axis].keep(numbers(2, 3), np.array([0, 1]), 1.5, None)
    with pytest.raises(MutationError, match="mode"):
        WRITES[np.put].keep(numbers(3), [0], 1.5, "c")
    for index in (True, None, 1.5, np.True_):
        with pytest.raises(MutationError, match=r"y\.flat"):
            WRITES["flatiter", "__setitem__"].keep(numbers(3), index, 1.5)


def test_errors_of_the_write_itself():
    """An index that is out of bounds is NumPy's own error, whether it is met before the write or in it."""
    y = numbers(3)
    for key, function, operands in [
        (operator.setitem, operator.setitem, (5, 1.5)),
        (operator.setitem, operator.setitem, ([5, 5], 1.5)),
        (np.put, np.put, ([5, 5], 1.5)),
        (np.put, np.put, ([5], 1.5)),
    ]:
        with pytest.raises(IndexError):  # noqa: PT012 - either may raise
            WRITES[key].keep(y, *operands)
            function(y, *operands)


def test_operands_are_those_of_the_function():
    """Each write names its operands in the order in which they are given, and refusals say why and what to do."""
    import inspect

    for key, write in WRITES.items():
        parameters = inspect.signature(write.keep).parameters
        assert len(write.operands) == len(parameters) - 1
        assert set(write.defaults) <= set(write.operands)
        if key in (np.copyto, np.put, np.putmask, np.place, np.fill_diagonal, np.put_along_axis):
            named = list(inspect.signature(key).parameters.values())[1:]
            assert write.operands == tuple(p.name for p in named)
            assert write.defaults == {p.name: p.default for p in named if p.default is not p.empty}
    for why, advice in [*REFUSED_WRITES.values(), refused_at(np.multiply)]:
        assert why.endswith(".")
        assert advice.endswith(".")
