"""The double of CuPy's arrays: what it counts, what shares memory, and what it refuses."""

import linecache
import sys

import numpy as np
import pytest

import tests.device as device

A = 4096  # bytes of the arrays below


@pytest.fixture(autouse=True)
def _counted():
    """The peak is that of the test."""
    device.pool.reset_peak()
    yield
    device.pool.limit = None


def made(value=1.5):
    """An array of `A` bytes."""
    return device.asarray(np.full(A // 8, value))


def test_writes_allocate_nothing():
    """`out=` and the operators in place write into what is there."""
    a, b, c = made(2.0), made(3.0), made()
    before = device.pool.allocations
    assert np.multiply(a, b, out=c) is c
    a *= b
    a += 1.0
    a[2:] = b[2:]
    np.add.at(b, [0, 0], 1.0)
    assert device.pool.allocations == before
    assert (c.get()[0], a.get()[0], a.get()[2], b.get()[0]) == (6.0, 7.0, 3.0, 5.0)


def test_the_pool_counts():
    """Bytes in units of 512, the highest sum of them, and what is given back by `del` and by `free`."""
    pool, before = device.pool, device.pool.used
    x = made()
    s = x.sum()
    assert pool.used - before == A + 512
    y = x + x
    frees, explicit = pool.frees, pool.explicit_frees
    del y
    x.data.mem.free()
    x.data.mem.free()
    assert (pool.used - before, pool.peak - before) == (512, 2 * A + 512)
    assert (pool.frees - frees, pool.explicit_frees - explicit) == (2, 1)
    del x, s
    assert pool.used == before
    assert pool.frees - frees == 3


def test_a_limit():
    """What does not fit is a MemoryError."""
    x = made()
    device.pool.limit = device.pool.used + A
    y = x + x
    with pytest.raises(MemoryError, match="do not fit"):
        y * x


def test_views_share_memory():
    """A view that begins where the array begins has its pointer, another one the same memory; all know their base."""
    x = device.asarray(np.arange(12.0).reshape(3, 4))
    for view in (x.T, x.reshape(2, 6), x.ravel(), np.reshape(x, 12), x.view(), np.expand_dims(x, 0)):
        assert view.data is x.data
        assert view.base is x
    for view in (x[1:], x[0], x[...], x[1, 2], np.broadcast_to(x, (2, 3, 4)), x.diagonal(), x[::-1].T):
        assert view.data is not x.data
        assert view.data.mem is x.data.mem
        assert view.base is x
    assert x[1:].data.ptr == x.data.ptr + 32
    assert x.base is None
    assert x.squeeze() is x
    assert x.astype(float, copy=False) is x
    assert (x.copy().base, (x + x).base, x[[0, 1]].base) == (None, None, None)


def test_broadcast_views_are_written_into():
    """As in CuPy, where no array is read-only: the place of an element is that of all its copies."""
    x = device.asarray(np.zeros(3))
    np.broadcast_to(x, (2, 3))[1, 2] = 5.0
    np.testing.assert_array_equal([0.0, 0.0, 5.0], x.get())


def sole(x):
    """Whether the reference counts say that no other array has the memory of `x`."""
    return sys.getrefcount(x.data.mem) == 2 and sys.getrefcount(x.data) == 2 and x.base is None


def test_owners_are_counted():
    """Any other array that shares the memory shows in the reference counts, as in CuPy."""
    x = made()
    assert sole(x)
    for view in (x.T, x[1:]):
        assert not sole(x)
        assert not sole(view)
        del view
    assert sole(x)
    empty = device.asarray(np.ones(0))
    assert not hasattr(empty.data.mem, "free")


def test_use_after_free():
    """Whatever reads, writes or views what was freed is an error that names the line of the free."""
    uses = [
        lambda x: x + 1.0,
        lambda x: np.sum(x),
        lambda x: x.get(),
        lambda x: x[0],
        lambda x: x.T,
        lambda x: x.reshape(-1),
        lambda x: float(x[0]),
        lambda x: x.__setitem__(0, 1.0),
        lambda x: x.__iadd__(1.0),
        lambda x: np.copyto(x, 1.0),
        lambda x: np.concatenate([x, x]),
    ]
    for use in uses:
        x = made()
        view = x[1:]
        x.free()  # the line
        for array in (x, view):
            with pytest.raises(device.UseAfterFree, match=r"x\.free\(\)  # the line"):
                use(array)
        assert (x.shape, x.dtype) == ((A // 8,), np.dtype(float))


def test_a_free_in_generated_text():
    """The line of the free may be in a text that is in `linecache` only."""
    text = "def backward(x):\n    x.data.mem.free()\n    return x\n"
    linecache.cache["<generated>"] = (len(text), None, text.splitlines(keepends=True), "<generated>")
    names = {}
    exec(compile(text, "<generated>", "exec"), names)
    x = names["backward"](made())
    with pytest.raises(device.UseAfterFree, match='"<generated>", line 2, in backward'):
        x + x


def test_nothing_is_converted():
    """Arrays of NumPy are no operands, and no array of the double becomes one by itself."""
    x, n = made(), np.ones(A // 8)
    for use in (lambda: x + n, lambda: n * x, lambda: np.asarray(x), lambda: np.where(x > 0, x, n), lambda: x.dot(n)):
        with pytest.raises(TypeError):
            use()
    with pytest.raises(ValueError, match="NumPy"):
        x[:] = n
    assert x[np.array([0, 1])].get().tolist() == [1.5, 1.5]
    assert type(x.sum()) is type(x[0]) is device.DeviceArray
