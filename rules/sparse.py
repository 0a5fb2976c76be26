"""Rules for scipy.sparse: products, sums and conversions of sparse matrices, and how they are made.

The cotangent of a sparse matrix is that of its stored elements, ``{"data": ...}``: what is not stored stays zero, and
has no derivative. Where a result stores an entry twice, nothing can be said about one of the two: it is refused.
"""

import operator

import numpy as np
from scipy import sparse

from adcompiler.rules import sparse_linalg as sparse_linalg
from adcompiler.rules.names import existing
from adcompiler.rules.registry import non_differentiable, refused, rrule
from adcompiler.rules.sparse_parts import (
    FORMATS,
    is_sparse,
    lifted,
    methods,
    moved_bar,
    require_complete,
    sampled,
    sampled_bar,
    stored,
)
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.shapes import conj, fit, ndim, shape
from adcompiler.runtime.sparsity import dense_bar, diagonal_entries_bar, entries_bar, product_bar, sum_bar
from adcompiler.runtime.tangents import Thunk

refused(
    sparse.spmatrix.todense,
    why="It gives a numpy.matrix, which has no rules.\nUse toarray().",
)
non_differentiable(
    *existing(
        sparse,
        "issparse isspmatrix isspmatrix_bsr isspmatrix_coo isspmatrix_csc isspmatrix_csr isspmatrix_dia "
        "isspmatrix_dok isspmatrix_lil",
    ),
    kind="bool",
)
non_differentiable(*existing(sparse, "get_index_dtype safely_cast_index_arrays save_npz load_npz"), kind="other")
refused(
    *existing(sparse, "spdiags swapaxes permute_dims expand_dims"),
    why="It has no rule here.\nUse diags, and A.T of a matrix.",
)
refused(
    *existing(sparse, "dok_array dok_matrix lil_array lil_matrix"),
    why="These formats keep their elements in Python's containers.\nUse csr_array or coo_array.",
)
refused(
    sparse.kron,
    sparse.kronsum,
    sparse.vstack,
    sparse.hstack,
    sparse.bmat,
    sparse.block_array,
    sparse.block_diag,
    sparse.tril,
    sparse.triu,
    sparse.find,
    why="Sparse matrices that are put together of others have no rule here.\n"
    "Make one of the elements and their places: csr_array((data, (rows, columns)), shape=...).",
)

# Products


@rrule(operator.matmul, kind="unknown", general=True, accepts=FORMATS)
def matmul(a, b):
    if not (is_sparse(a) or is_sparse(b)):
        return NotImplemented
    y = a @ b

    def left(y_bar):
        if is_sparse(b) and is_sparse(a):
            require_complete(y, operator.matmul, a, b)
            return sampled_bar(a, lifted(y, y_bar) @ adjoined(b))
        if is_sparse(a):
            return product_bar(a, y_bar, np.asarray(b))
        return y_bar @ adjoined(b)

    def right(y_bar):
        if is_sparse(b) and is_sparse(a):
            require_complete(y, operator.matmul, a, b)
            return sampled_bar(b, adjoined(a) @ lifted(y, y_bar))
        if is_sparse(a):
            return adjoined(a) @ y_bar
        conjugate = conj(np.asarray(a))
        return product_bar(b, conjugate.T, conj(y_bar).T)

    def pullback(y_bar):
        return Thunk(lambda: left(y_bar)), Thunk(lambda: right(y_bar))

    return y, pullback


def adjoined(matrix):
    """The adjoint of a sparse matrix."""
    return matrix.conj().T if np.iscomplexobj(matrix.data) else matrix.T


@rrule(*methods("dot"), *methods("__matmul__"), kind="unknown", accepts=FORMATS)
def dot(self, other):
    return elementwise(self, other) if ndim(other) == 0 and not is_sparse(other) else matmul(self, other)


@rrule(*methods("multiply"), kind="unknown", accepts=FORMATS)
def multiply(self, other):
    return elementwise(self, other)


@rrule(operator.mul, kind="unknown", general=True, accepts=FORMATS)
def mul(a, b):
    """The product of matrices for the older classes, and elementwise for the newer ones."""
    if not (is_sparse(a) or is_sparse(b)):
        return NotImplemented
    numbers = (not is_sparse(a) and ndim(a) == 0) or (not is_sparse(b) and ndim(b) == 0)
    if any(isinstance(m, sparse.spmatrix) for m in (a, b)) and not numbers:
        return matmul(a, b)
    if is_sparse(a):
        return elementwise(a, b, a * b)
    y, back = elementwise(b, a, a * b)
    return y, lambda y_bar: back(y_bar)[::-1]


def swapped(rule, self, other):
    """The rule of an operator for the method that has its operands the other way round."""
    found = rule(other, self)
    return found if found is NotImplemented else (found[0], lambda y_bar: found[1](y_bar)[::-1])


@rrule(*methods("__mul__"), kind="unknown", accepts=FORMATS)
def mul_method(self, other):
    return mul(self, other)


@rrule(*methods("__rmul__"), kind="unknown", accepts=FORMATS)
def rmul_method(self, other):
    return swapped(mul, self, other)


@rrule(*methods("__rmatmul__"), kind="unknown", accepts=FORMATS)
def rmatmul_method(self, other):
    return swapped(matmul, self, other)


def elementwise(a, b, y=None):
    """The product of the entries of a sparse `a` and of a number, array or sparse `b`."""
    y = a.multiply(b) if y is None else y
    if not is_sparse(b) and ndim(b) == 0:

        def pullback_of_number(y_bar):
            bar = stored(y, y_bar)
            return entries_bar(a, bar * np.conj(b), True), fit(np.sum(bar * conj(a.data)), shape(b))

        return y, pullback_of_number

    def pullback(y_bar):
        require_complete(y, lambda a, b: a.multiply(b), a, b)
        whole = lifted(y, y_bar) if is_sparse(y) else sparse.csr_array(y_bar)
        a_bar = Thunk(lambda: sampled_bar(a, whole.multiply(b.conj() if is_sparse(b) else np.conj(b))))
        if is_sparse(b):
            return a_bar, Thunk(lambda: sampled_bar(b, whole.multiply(a.conj())))
        return a_bar, Thunk(lambda: fit(whole.multiply(a.conj()).toarray(), shape(b)))

    return y, pullback


@rrule(operator.truediv, kind="unknown", general=True, accepts=FORMATS)
def truediv(a, b):
    if not is_sparse(a) or is_sparse(b) or ndim(b):
        return NotImplemented
    y = a / b

    def pullback(y_bar):
        y_bar = stored(y, y_bar)
        b_bar = fit(-np.sum(y_bar * conj(y.data / b)), shape(b))
        return entries_bar(a, y_bar / np.conj(b), True), b_bar

    return y, pullback


@rrule(*methods("__truediv__"), kind="unknown", accepts=FORMATS)
def truediv_method(self, other):
    return truediv(self, other)


@rrule(*methods("__neg__"), kind="unknown", accepts=FORMATS)
def neg_method(self):
    return neg(self)


@rrule(operator.neg, kind="unknown", general=True, accepts=FORMATS)
def neg(a):
    y = -a
    return y, lambda y_bar: ({"data": -stored(y, y_bar)},)


# Sums


def summed(a, b, operation, sign):
    """The sum or difference of two, of which at least one is sparse."""
    if not (is_sparse(a) or is_sparse(b)):
        return NotImplemented
    y = operation(a, b)
    if not all(is_sparse(m) or ndim(m) for m in (a, b)):
        return NotImplemented

    def part_of(m, y_bar, factor):
        if is_sparse(m):
            found = sampled_bar(m, lifted(y, y_bar)) if is_sparse(y) else dense_bar(m, y_bar)
            return {"data": factor * found["data"]}
        return fit(factor * y_bar, shape(m))

    def pullback(y_bar):
        require_complete(y, operator.add, a, b)
        return Thunk(lambda: part_of(a, y_bar, 1.0)), Thunk(lambda: part_of(b, y_bar, sign))

    return y, pullback


@rrule(operator.add, kind="unknown", general=True, accepts=FORMATS)
def add(a, b):
    return summed(a, b, operator.add, 1.0)


@rrule(*methods("__add__"), kind="unknown", accepts=FORMATS)
def add_method(self, other):
    return summed(self, other, operator.add, 1.0)


@rrule(*methods("__radd__"), kind="unknown", accepts=FORMATS)
def radd_method(self, other):
    return swapped(add, self, other)


@rrule(operator.sub, kind="unknown", general=True, accepts=FORMATS)
def sub(a, b):
    return summed(a, b, operator.sub, -1.0)


@rrule(*methods("__sub__"), kind="unknown", accepts=FORMATS)
def sub_method(self, other):
    return summed(self, other, operator.sub, -1.0)


@rrule(*methods("__rsub__"), kind="unknown", accepts=FORMATS)
def rsub_method(self, other):
    return swapped(sub, self, other)


@rrule(*methods("sum"), kind="unknown", accepts=FORMATS)
def sum(self, axis=None):
    y = self.sum(axis)
    return y, lambda y_bar: (sum_bar(self, y_bar, axis), None)


@rrule(*methods("diagonal"), kind="unknown", accepts=FORMATS)
def diagonal(self, k=0):
    y = self.diagonal(k)
    return y, lambda y_bar: (diagonal_entries_bar(self, y_bar, k), None)


# Other forms of the same matrix


@rrule(*methods("toarray"), sparse.csr_array.todense, kind="unknown", accepts=FORMATS)
def toarray(self, order=None):
    y = self.toarray(order)
    return y, lambda y_bar: (dense_bar(self, y_bar), None)


@rrule(*methods("tocsr"), kind="unknown", accepts=FORMATS)
def tocsr(self, copy=False):
    y = self.tocsr(copy)
    return y, lambda y_bar: (moved_bar(self, y, y_bar, lambda m: m.tocsr(True)), None)


@rrule(*methods("tocsc"), kind="unknown", accepts=FORMATS)
def tocsc(self, copy=False):
    y = self.tocsc(copy)
    return y, lambda y_bar: (moved_bar(self, y, y_bar, lambda m: m.tocsc(True)), None)


@rrule(*methods("tocoo"), kind="unknown", accepts=FORMATS)
def tocoo(self, copy=True):
    y = self.tocoo(copy)
    return y, lambda y_bar: (moved_bar(self, y, y_bar, lambda m: m.tocoo(True)), None)


@rrule(*methods("copy"), kind="unknown", accepts=FORMATS)
def copy(self):
    y = self.copy()
    return y, lambda y_bar: ({"data": stored(y, y_bar)},)


@rrule(*methods("transpose"), kind="unknown", accepts=FORMATS)
def transpose(self, axes=None, copy=False):
    y = self.transpose(axes, copy)
    return y, lambda y_bar: (moved_bar(self, y, y_bar, lambda m: m.transpose(axes, True), lambda m: m.T), None, None)


@rrule(sparse.csr_array.T.fget, kind="unknown", accepts=FORMATS)
def turned(self):
    y = self.T
    return y, lambda y_bar: (moved_bar(self, y, y_bar, lambda m: m.transpose(copy=True), lambda m: m.T),)


# How they are made


def made_bar(y, y_bar, arg1, made):
    """The cotangent of the first argument of the constructor of a sparse matrix `y`."""
    if is_sparse(arg1):
        return moved_bar(arg1, y, y_bar, made)
    if isinstance(arg1, tuple) and len(arg1) == 2 and isinstance(arg1[1], tuple):
        if y.format == "coo":
            return stored(y, y_bar), None
        rows, columns = map(np.asarray, arg1[1])
        return sampled(lifted(y, y_bar), rows, columns), None
    if isinstance(arg1, tuple) and ndim(arg1[0]):
        return stored(y, y_bar), *(None,) * (len(arg1) - 1)
    raise NoRuleError(
        "a sparse matrix of a dense one has no derivative: what is 0 now is left out, and would not be if it changed\n"
        "Give the elements and their places: csr_array((data, (rows, columns)), shape=...)."
    )


def of_class(cls):
    """Register the rule of the constructor `cls`."""

    @rrule(cls, kind="unknown", accepts=FORMATS)
    def construct(arg1, shape=None, dtype=None, copy=False):
        given = arg1
        if isinstance(arg1, tuple) and not all(isinstance(n, int | np.integer) for n in arg1):
            given = (np.asarray(arg1[0]), *arg1[1:])
            if not isinstance(arg1[0], np.ndarray):
                return NotImplemented
        y = cls(given, shape, dtype, copy=True)

        def pullback(y_bar):
            return made_bar(y, y_bar, arg1, lambda m: cls(m, copy=True)), None, None, None

        return y, pullback

    return construct


for class_ in FORMATS:
    of_class(class_)


@rrule(sparse.diags, kind="unknown")
def diags(diagonals, offsets=0, shape=None, format=None):
    y = sparse.diags(diagonals, offsets, shape, format)
    return y, lambda y_bar: (diagonals_bar(y, y_bar, diagonals, offsets), None, None, None)


@rrule(sparse.diags_array, kind="unknown")
def diags_array(diagonals, /, *, offsets=0, shape=None, format=None):
    y = sparse.diags_array(diagonals, offsets=offsets, shape=shape, format=format)
    return y, lambda y_bar: (diagonals_bar(y, y_bar, diagonals, offsets), None, None, None)


def diagonals_bar(y, y_bar, diagonals, offsets):
    """The cotangents of the diagonals of the sparse matrix `y`: one array, or a list or tuple of arrays and numbers."""
    whole = lifted(y, y_bar)
    single = ndim(offsets) == 0
    one = single and ((ndim(diagonals) == 1 and isinstance(diagonals, np.ndarray)) or ndim(diagonals) == 0)
    given = [diagonals] if one else diagonals
    bars = []
    for diagonal, k in zip(given, [offsets] if single else offsets, strict=True):
        length = min(y.shape[0] + min(k, 0), y.shape[1] - max(k, 0))
        along = np.arange(length)
        values = sampled(whole, along + max(-k, 0), along + max(k, 0))
        spare = np.size(diagonal) - length if np.size(diagonal) > 1 else 0  # what is behind the end is not read
        bars.append(fit(np.pad(values, (0, spare)) if spare else values, shape(diagonal)))
    if one:
        return bars[0]
    return np.stack(bars) if isinstance(diagonals, np.ndarray) else type(diagonals)(bars)
