"""What the rules of scipy.sparse have in common."""

import inspect

import numpy as np
from scipy import sparse

from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.sparsity import entries_bar, has_repeated, positions

FORMATS = tuple(
    getattr(sparse, f"{form}_{kind}") for form in ("csr", "csc", "coo", "dia", "bsr") for kind in ("array", "matrix")
)


def is_sparse(value):
    """Whether a value is a sparse matrix in a format that has rules."""
    return isinstance(value, FORMATS)


def methods(name):
    """The functions behind a method of sparse matrices: formats have their own."""
    return tuple(dict.fromkeys(inspect.getattr_static(cls, name) for cls in FORMATS))


def stored(y, y_bar):
    """The cotangent of the stored elements of a sparse `y`."""
    found = y_bar.get("data")
    return np.zeros_like(y.data) if found is None else np.asarray(found)


def lifted(y, y_bar):
    """The cotangent of a sparse `y` as a sparse matrix with the same pattern."""
    if has_repeated(y):
        raise NoRuleError("an entry is stored twice in a sparse matrix\nCall sum_duplicates() of the matrices first.")
    whole = y.copy()
    whole.data = stored(y, y_bar)
    return whole


def ones_of(value):
    """An operand with ones for all its stored elements."""
    if not is_sparse(value):
        return np.ones_like(value)
    ones = value.copy()
    ones.data = np.ones_like(value.data)
    return ones


def require_complete(y, operation, *operands):
    """Raise NoRuleError if ``y = operation(*operands)`` has left out entries because their value is 0."""
    expected = operation(*map(ones_of, operands))
    if is_sparse(y) and expected.nnz != y.nnz:
        raise NoRuleError(
            "an entry of a sparse matrix is exactly 0 here, and left out of the result as if it could not change\n"
            "Compute with the stored elements themselves (A.data), or with A.toarray()."
        )


def sampled(matrix, rows, columns):
    """The entries of a sparse matrix at some places, as an array of the shape of these."""
    rows, columns = np.broadcast_arrays(rows, columns)
    if not rows.size:
        return np.zeros(rows.shape, matrix.dtype)
    return np.asarray(sparse.csr_matrix(matrix)[rows.ravel(), columns.ravel()]).reshape(rows.shape)


def sampled_bar(matrix, whole):
    """The cotangent of a sparse matrix, given one of the whole as a sparse matrix."""
    rows, columns, inside = positions(matrix)
    return entries_bar(matrix, sampled(whole, rows, columns), inside)


def moved_bar(matrix, y, y_bar, move, undo=lambda whole: whole):
    """The cotangent of a sparse matrix of which ``y = move(matrix)`` is another form; `undo` moves back.

    Moving the numbers of the stored elements tells where each of them went; if some were added, entries are compared.
    """
    count = matrix.data.size
    numbered = matrix.copy()
    numbered.data = np.arange(1.0, count + 1).reshape(matrix.data.shape)
    where = np.asarray(move(numbered).data, int)
    named = where > 0
    if where.shape != y.data.shape or not np.array_equal(np.sort(where[named]), np.arange(1, count + 1)):
        require_complete(y, move, matrix)
        return sampled_bar(matrix, undo(lifted(y, y_bar)))
    bar = stored(y, y_bar)
    data_bar = np.zeros(count, bar.dtype)
    data_bar[where[named] - 1] = bar[named]
    return entries_bar(matrix, data_bar.reshape(matrix.data.shape), True)
