"""Arrays under several names: views, functions that return their argument, what may be a view or a copy."""

import numpy as np

from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2])
A = np.array([[1.3, 0.2, -0.4], [0.1, 0.9, 0.5], [-0.6, 0.8, 1.1]])
Z = np.array([0.3 + 1.1j, -0.7 + 0.2j, 1.2 - 0.5j])


# Names and views


def second_name(x, a):
    y = x
    y[0] = a[1, 1] ** 2
    x[1] *= y[0]
    y += x
    return x * y


def view_then_base(x, a):
    v = x[1:]
    v[0] = a[0, 0] * x[2]
    x[2] = v[0] * x[0]
    v *= x[:2]
    return x * 1.0, np.sum(v)


def base_then_early_view(x, a):
    y = np.zeros(3)
    v = y[1:]
    y[1] = x[1] ** 2
    y[2] = v[0] * a[2, 2]
    return np.sum(v * v)


def views_of_views(x, a):
    v = a[1:]
    w = v[:, ::-1]
    u = w.T[0]
    u[1] = x[0] * x[1]
    v[0] *= w[1]
    w[:, 1] += u
    a[2] -= v[0] * u[0]
    return a * x, w * 1.0


def overlapping_views(x, a):
    left, right = x[:2], x[1:]
    left[1] = right[1] * a[0, 0]
    right += left
    left *= right
    x[1] = left[0] * right[1]
    return left * right


def rows_by_iteration(x, a):
    for i, row in enumerate(a):
        row /= np.sum(np.abs(row)) + x[i]
        row[i] = x[i] * row[0]
    for r, s in zip(a[1:], a[:-1], strict=True):
        r += s * x
    first, *_, last = a
    last[:] = first * last
    return a


def columns_by_iteration(x, a):
    for column in a.T:
        column[1:] *= column[:-1]
        column -= x
    return a


def views_in_a_comprehension(x, a):
    rows = [r[1:] for r in a]
    rows[0][0] = x[0] * x[1]
    a[2] *= x
    rows[1] += rows[2]
    return a


def unpacked_rows(x, a):
    p, q, r = a
    p *= q
    q[0], q[1:] = r[2] * x[0], p[:2]
    r += p
    return a * x


def view_made_of_a_written_size(x, a):
    n = int(x[2] > 0) + 1
    v = a[n:, :n]
    n = 0
    v[n] = x[:2] * x[1:]
    a[2, 1] *= v[0, 1]
    return a


@programs(second_name, view_then_base, base_then_early_view, views_of_views, overlapping_views, rows_by_iteration,
          columns_by_iteration, views_in_a_comprehension, unpacked_rows, view_made_of_a_written_size)  # fmt: skip
def test_names_and_views(program):
    """A write under one name is read under every other that shows the same memory."""
    check_writes(program, X, A)


# The same object returned


def as_arrays(x, a):
    y = np.asarray(x)
    y[0] = a[0, 0] * a[1, 1]
    z = np.asanyarray(y)
    z[1:] *= a[0, :2]
    w = np.array(z, copy=None)
    w += a[2]
    return x * x


def contiguous(x, a):
    b = np.ascontiguousarray(a)
    b[0] *= x
    r = np.require(b, requirements="C")
    r[1] += x * b[0]
    t = np.asfortranarray(a.T)
    t[2] = x
    return a * a


def casts_that_do_nothing(x, a):
    y = x.astype(float, copy=False)
    y[0] *= a[0, 0]
    z = np.asarray(y, dtype=float)
    z[1] = a[1, 0] * z[0]
    w = x.astype(float)
    w *= 2.0
    return x * w


def at_least(x, a):
    y = np.atleast_1d(x)
    y[0] = a[0, 0] ** 2
    b = np.atleast_2d(a)
    b[0] *= y
    c = np.atleast_3d(x)
    c[0, 1, 0] += a[1, 1]
    return a @ x


def nothing_to_squeeze(x, a):
    y = np.squeeze(x)
    y[0] = a[0, 0] ** 2
    b = a.squeeze()
    b[1:] *= y
    return a @ x


def real_of_real(x, a):
    np.real(x)[0] = a[0, 0] ** 2
    x.real[1] *= x[0]
    x.conj()[2] += a[1, 1]
    np.conj(x)[1] = 7.0
    return x * x


def no_difference(x, a):
    d = np.diff(x, n=0)
    d[0] = a[0, 0] * x[1]
    p = np.linalg.matrix_power(a, 1)
    p[0] *= d
    b, _ = np.broadcast_arrays(a, 1.0)
    return a * x + b


@programs(as_arrays, contiguous, casts_that_do_nothing, at_least, nothing_to_squeeze, real_of_real, no_difference)
def test_the_same_object_returned(program):
    """Functions that return their argument where there is nothing to do give it one more name."""
    check_writes(program, X, A)


# A view or a copy, by the layout of the data


def raveled(a, s):
    y = a.ravel()
    y[0] = s**2
    a[0, 1] *= y[2]
    y *= 2.0
    return np.sum(a * a) + np.sum(y * s)


def reshaped_in_fortran_order(a, s):
    y = a.reshape(-1, order="F")
    y[1] *= s
    a[1] += y[:2]
    z = np.reshape(a, (2, -1))
    z[0, 0] = s * y[0]
    return np.sum(a * a) + np.sum(y * z.ravel())


def made_contiguous(a, s):
    y = np.ascontiguousarray(a)
    y[0] *= s
    a[1] += y[0] * s
    z = np.asfortranarray(a)
    z[1, 0] = s**2
    return np.sum(a * y * z)


def cast(a, s):
    y = a.astype(np.float64, copy=False)
    y[0] *= s
    z = np.asarray(a, order="C")
    z[1] -= y[0]
    w = a.copy()
    w[0] = s * z[0]
    return np.sum(a * y * z * w)


@programs(raveled, reshaped_in_fortran_order, made_contiguous, cast)
def test_a_view_or_a_copy_by_layout(program):
    """The same text is right for C order, Fortran order, and parts that are not contiguous."""
    a = A[:2, :2]
    check_writes(program, a.copy(), 0.7)
    check_writes(program, np.asfortranarray(a), 0.7)
    check_writes(lambda x, s: program(x[:2, ::2], s), A[:, :], 0.7)
    check_writes(lambda x, s: program(x.T, s), a.copy(), 0.7)


def looks_like_a_view(x, a):
    f = a.flatten()
    f[0] = x[0]
    t = np.take(a, [0, 1], axis=0)
    t[0] *= x
    c = np.concatenate([x])
    c[1] = 3.0
    s = a.sum(axis=())
    s[0] += x
    w = np.where(a > 0, a, a)
    w[1] = x
    p = x**1
    p *= x
    return np.sum(f) * a + np.sum(t) * s * w + c * p


def test_what_looks_like_a_view():
    """Fresh arrays that hold the same numbers are their own."""
    check_writes(looks_like_a_view, X, A)


# Real and imaginary parts


def parts_of_complex(z):
    re, im = z.real, z.imag
    re[0] = im[1] * im[2]
    z[1] *= re[0]
    im += re
    z.conj()[0] = 5.0
    w = z[1:].imag
    w *= np.abs(z[0])
    return z * z


def complex_as_pairs(z):
    p = z.view(float).reshape(3, 2)
    p[:, 0] *= p[:, 1]
    z[0] = z[1] * z[2]
    p[1:] += p[0, 0]
    return z * z


def test_parts_of_complex_arrays():
    """Real and imaginary parts are views of half the bytes."""
    check_writes(parts_of_complex, Z)
    check_writes(complex_as_pairs, Z)
