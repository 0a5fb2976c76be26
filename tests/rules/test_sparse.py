"""The rules of scipy.sparse, in functions of the stored elements and of dense arrays."""

import inspect
import operator

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import linalg

from adcompiler import check_gradient, gradient
from adcompiler.coverage import UNKNOWN, coverage
from adcompiler.errors import DifferentiationError, NoRuleError
from adcompiler.rules.sparse_parts import FORMATS, methods

RNG = np.random.default_rng(3)
DENSE = RNG.standard_normal((4, 6)) * (RNG.random((4, 6)) < 0.5)
SQUARE = DENSE[:, :4] + 4 * np.eye(4)
MATRIX = sparse.csr_matrix(2 * DENSE)
VECTOR, WIDE = RNG.standard_normal(6), RNG.standard_normal((6, 3))
TWICE = (np.array([1.0, 2.0, 3.0, 4.0]), (np.array([0, 0, 2, 1]), np.array([1, 1, 3, 0])))
LU = linalg.splu(sparse.csc_matrix(SQUARE))


def holding(cls, dense=DENSE):
    """A sparse matrix; the sparse formats leave out what is 0."""
    return cls(sparse.coo_array(dense))


BY_MATRIX = [
    (lambda a, x: np.sum((a @ x) ** 2), VECTOR),
    (lambda a, x: np.sum((a @ x) ** 2), WIDE),
    (lambda a, x: np.sum(a.dot(x) ** 2), WIDE),
    (lambda a, x: np.sum((x @ a) ** 2), VECTOR[:4]),
    (lambda a, x: np.sum((x @ a) ** 2), WIDE[:4].T.copy()),
    (lambda a, x: np.sum((a.T @ x) ** 2), VECTOR[:4]),
    (lambda a, s, x: np.sum(((a * s) @ x) ** 2), 0.7, VECTOR),
    (lambda a, s, x: np.sum(((s * a / 3.0) @ x) ** 2), 0.7, VECTOR),
    (lambda a, s, x: np.sum(((-a / s) @ x) ** 2), 0.7, VECTOR),
    (lambda a, d: np.sum(a.multiply(d).tocsr() @ VECTOR), RNG.standard_normal((4, 6))),
    (lambda a, d: np.sum(a.multiply(d).tocsc() @ VECTOR), RNG.standard_normal((4, 1))),
    (lambda a, x: np.sum(((a @ a.T) @ x) ** 2), VECTOR[:4]),
    (lambda a, x: np.sum(((a + a * 2.0) @ x) ** 2), VECTOR),
    (lambda a, x: np.sum(((a - MATRIX) @ x) ** 2), VECTOR),
    (lambda a, d: np.sum(np.asarray(a + d) ** 2), RNG.standard_normal((4, 6))),
    (lambda a: np.sum(a.toarray() ** 2 * DENSE),),
    (lambda a: np.sum(a.tocsr().data ** 3) + np.sum(a.tocsc().data ** 2) + np.sum(a.tocoo().data),),
    (lambda a: a.sum() ** 2,),
    (lambda a: np.sum(a.diagonal() ** 2) + np.sum(a.diagonal(1) ** 3) + np.sum(a.diagonal(-1) ** 3),),
    (lambda a: np.sum(a.copy().transpose().toarray() ** 2),),
    (lambda a: np.sum(a.data**2),),
]


# A diagonal holds entries that are 0, which other formats leave out.
WITHOUT_ZEROS = [BY_MATRIX[9], BY_MATRIX[10], BY_MATRIX[13], BY_MATRIX[16]]


@pytest.mark.parametrize("cls", FORMATS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("example", BY_MATRIX, ids=range(len(BY_MATRIX)))
def test_by_the_matrix(cls, example):
    function, *others = example
    matrix = holding(cls)
    try:
        function(matrix, *others)
    except (TypeError, NotImplementedError):
        pytest.skip("SciPy has no such operation")
    if issubclass(cls, sparse.dia_array | sparse.dia_matrix) and example in WITHOUT_ZEROS:
        with pytest.raises(NoRuleError, match="exactly 0"):
            gradient(function)(matrix, *others)
    elif not issubclass(cls, sparse.spmatrix) or "np.asarray" not in inspect.getsource(function):
        check_gradient(function, matrix, *others)


@pytest.mark.parametrize("cls", FORMATS, ids=lambda cls: cls.__name__)
def test_sums_of_rows_and_columns(cls):
    if issubclass(cls, sparse.sparray):
        check_gradient(lambda a: np.sum(a.sum(axis=0) ** 2) + np.sum(a.sum(axis=1) ** 3), holding(cls))


@pytest.mark.parametrize("cls", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_made_of_elements(cls):
    places = TWICE[1]

    def function(data, x):
        return np.sum((cls((data, places), shape=(3, 4)) @ x) ** 2)

    check_gradient(function, TWICE[0], np.array([0.1, 0.2, 0.3, 0.4]))


def test_made_of_rows():
    a = sparse.csr_array(DENSE)
    check_gradient(lambda d: np.sum((sparse.csr_array((d, a.indices, a.indptr), shape=a.shape) @ VECTOR) ** 2), a.data)
    check_gradient(lambda d: np.sum((sparse.csr_array((d, a.indices, a.indptr)) @ VECTOR) ** 2), a.data)


def test_an_older_class_multiplies_as_matrices():
    check_gradient(lambda x: np.sum((MATRIX * x) ** 2), VECTOR)
    check_gradient(lambda a, b: np.sum((a * b).toarray() ** 2), sparse.csr_array(DENSE), DENSE + 1)


@pytest.mark.parametrize("form", [None, "csr", "csc"])
def test_diagonals(form):
    def function(main, upper, number):
        a = sparse.diags([main, upper, number], [0, 1, -1], shape=(4, 4), format=form)
        b = sparse.diags_array([main, upper], offsets=[0, 1])
        return np.sum((a @ VECTOR[:4]) ** 2) + np.sum((b @ VECTOR[:4]) ** 3) + np.sum(sparse.diags(main) @ VECTOR[:4])

    with np.errstate(all="ignore"):
        check_gradient(function, VECTOR[:4].copy(), VECTOR[:3].copy(), np.array([0.3]))


# Linear systems


@pytest.mark.parametrize("cls", [sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("b", [VECTOR[:4], WIDE[:4], WIDE[:4, :1].copy()], ids=["vector", "columns", "column"])
def test_spsolve(cls, b):
    check_gradient(lambda a, b: np.sum(linalg.spsolve(a, b) ** 2), holding(cls, SQUARE), b)


def test_factorised():
    weights = np.arange(4.0)

    def local(b):
        lu = linalg.splu(sparse.csc_array(SQUARE))
        return np.sum(lu.solve(b) * weights)

    for trans in ("N", "T", "H"):
        check_gradient(lambda b, trans=trans: np.sum(LU.solve(b, trans) * weights), VECTOR[:4])
    check_gradient(local, VECTOR[:4])
    check_gradient(lambda b: np.sum(linalg.factorized(sparse.csc_array(SQUARE))(b) * weights), VECTOR[:4])
    with pytest.raises(DifferentiationError, match="spsolve"):
        gradient(lambda a: np.sum(linalg.splu(a).solve(weights)))(sparse.csc_array(SQUARE))


@pytest.mark.parametrize("solver", [linalg.cg, linalg.gmres, linalg.bicgstab], ids=lambda f: f.__name__)
def test_iterations(solver):
    symmetric = SQUARE @ SQUARE.T

    def function(a, b):
        x, _ = solver(a, b, rtol=1e-12)
        return np.sum(x**2)

    for cls in (sparse.csr_array, sparse.csc_matrix):
        matrix = holding(cls, symmetric)
        a_bar, b_bar = gradient(function, (0, 1))(matrix, VECTOR[:4])
        exact = gradient(lambda a, b: np.sum(np.linalg.solve(a, b) ** 2), (0, 1))(symmetric, VECTOR[:4])
        assert b_bar == pytest.approx(exact[1], rel=1e-7)
        inside = matrix.toarray() != 0
        found = cls((a_bar.data, matrix.indices, matrix.indptr)).toarray()
        assert found[inside] == pytest.approx(exact[0][inside], rel=1e-7)


# What is refused


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(sparse.csr_array(np.outer(x, x)) @ x),
        lambda x: np.sum(sparse.kron(sparse.diags(x), sparse.diags(x)).toarray()),
        lambda x: np.sum(sparse.csr_matrix((x, ([0, 1], [1, 1])), shape=(2, 2)).todense()),
        lambda x: np.sum(sparse.csr_array((x, ([0, 1], [1, 1])), shape=(2, 2)) ** 2),
    ],
)
def test_refused(function):
    with pytest.raises(DifferentiationError):
        gradient(function)(np.array([1.0, 2.0]))


def test_no_rule_for_other_formats():
    with pytest.raises(NoRuleError):
        gradient(lambda a: np.sum(a @ VECTOR))(sparse.lil_array(DENSE))


def test_every_public_function_is_in_some_list():
    """A rule, no derivative, or refused; but for base classes, and what makes matrices of integers alone."""
    others = {"eye", "eye_array", "identity", "rand", "random", "random_array", "sparray", "spmatrix", "LinearOperator"}
    found = [entry.name for module in (sparse, linalg) for entry in coverage(module) if entry.how == UNKNOWN]
    assert set(found) <= {*others, "SuperLU"}


BY_HAND = {
    operator.matmul,
    *(method for name in ("dot", "multiply", "sum", "diagonal", "toarray") for method in methods(name)),
    *(method for name in ("tocsr", "tocsc", "tocoo", "copy", "transpose") for method in methods(name)),
    *(method for name in ("matmul", "mul", "add", "sub") for r in ("", "r") for method in methods(f"__{r}{name}__")),
    *methods("__neg__"),
    *methods("__truediv__"),
    sparse.csr_array.todense,
    sparse.csr_array.T.fget,
    *FORMATS,
    sparse.diags,
    sparse.diags_array,
    linalg.spsolve,
    linalg.splu,
    linalg.factorized,
    linalg.SuperLU.solve,
    linalg.cg,
    linalg.gmres,
    linalg.bicgstab,
}
