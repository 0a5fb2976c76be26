"""Every rule of rules/linalg.py and rules/factorisations.py against differences, and at special points."""

import operator

import numpy as np
import pytest

from adcompiler.rules.registry import lookup
from adcompiler.runtime.contraction import einsum_terms
from adcompiler.runtime.errors import DifferentiationError
from adcompiler.testing import Input, case, check_rule, complex_normal, normal, positive_definite

SHAPES = [
    ((3, 4), (4, 2)),
    ((3, 4), (4,)),
    ((4,), (4, 2)),
    ((4,), (4,)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (4,)),
    ((3, 4), (2, 4, 5)),
    ((4,), (2, 4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
]
ANY_SHAPES = [((2, 3), ()), ((), (2, 3)), ((), ()), ((3, 4), (2, 5, 4, 2)), ((2, 3, 4), (5, 4, 2))]


def well_conditioned(*shape, dtype=float):
    """Matrices far from singular."""
    make = (complex_normal if dtype is complex else normal)(*shape).make
    return Input(lambda rng: make(rng) + 3 * np.eye(shape[-1]), f"well_conditioned{shape}")


def positive_matrices(*shape, dtype=float):
    """Positive definite matrices whose triangle that is not read holds something else."""
    make = (complex_normal if dtype is complex else normal)(*shape).make

    def matrices(rng):
        root = make(rng)
        return root @ root.conj().swapaxes(-1, -2) + np.eye(shape[-1])

    return Input(matrices, f"positive_matrices{shape}")


SINGULAR = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij,jk,k->i", (2, 3), (3, 4), (4,)),
    ("i,i->", (3,), (3,)),
    ("i,i", (3,), (3,)),
    ("i,j->ij", (3,), (2,)),
    ("ij->ji", (2, 3)),
    ("ij->", (2, 3)),
    ("ij->i", (2, 3)),
    ("ba", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iji->j", (3, 2, 3)),
    ("ii,ij->j", (3, 3), (3, 2)),
    ("iii,i->i", (3, 3, 3), (3,)),
    ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)),
    ("...ij,jk->...ik", (5, 2, 3, 4), (4, 2)),
    ("...ij,...j", (2, 3, 4), (4,)),
    ("i...,i...->...", (3, 2), (3,)),
    ("ij,ij->ij", (1, 3), (2, 3)),
    ("ij,j->", (2, 3), (1,)),
    (" i j , j -> i ", (2, 3), (3,)),
    ("nij,nj,nk->ik", (5, 2, 3), (5, 3), (5, 4)),
    (",i->i", (), (3,)),
]

CASES = [
    *(case(np.matmul, normal(*a), normal(*b)) for a, b in SHAPES),
    *(case(np.dot, normal(*a), normal(*b)) for a, b in SHAPES[:6] + ANY_SHAPES),
    *(case(key, complex_normal(*a), complex_normal(*b)) for key in (np.matmul, np.dot) for a, b in SHAPES[:5]),
    *(case(key, normal(3, 4), complex_normal(4, 2)) for key in (np.matmul, np.dot, np.outer)),
    *(case(key, normal(*a), [1.0, -2.0, 0.5, 3.0]) for key in (np.matmul, np.dot) for a in ((3, 4), (4,), (2, 3, 4))),
    *(case(key, normal(0, 4), normal(4, 2)) for key in (np.matmul, np.dot)),
    *(case(key, normal(3, 0), normal(0, 2)) for key in (np.matmul, np.dot)),
    case(operator.matmul, normal(3, 4), normal(4, 2)),
    case(np.linalg.matmul, normal(2, 3, 4), normal(4, 2)),
    case(np.linalg.outer, normal(3), normal(2)),
    case(np.linalg.tensordot, normal(2, 3), normal(3, 4), axes=1),
    case(np.ndarray.dot, normal(3, 4), normal(4, 2)),
    case(np.dot, normal(3), 2.0),
    case(np.outer, normal(3), normal(4)),
    case(np.outer, normal(2, 3), normal(4)),
    case(np.outer, 2.0, normal(4)),
    case(np.outer, complex_normal(3), complex_normal(2)),
    *(
        case(np.inner, normal(*a), normal(*b))
        for a, b in [((4,), (4,)), ((3, 4), (4,)), ((4,), (3, 4)), ((3, 4), (2, 4))]
    ),
    *(case(np.inner, normal(*a), normal(*b)) for a, b in [((2, 3, 4), (5, 4)), ((3,), ()), ((), (2, 3))]),
    case(np.inner, complex_normal(3, 4), complex_normal(2, 4)),
    case(np.vdot, normal(4), normal(4)),
    case(np.vdot, complex_normal(4), complex_normal(4)),
    case(np.vdot, complex_normal(2, 3), normal(6)),
    case(np.vdot, normal(2, 3), complex_normal(3, 2)),
    case(np.tensordot, normal(2, 3, 4), normal(3, 4, 5)),
    case(np.tensordot, normal(2, 3), normal(3, 4), axes=1),
    case(np.tensordot, normal(2, 3), normal(3, 4), axes=0),
    case(np.tensordot, normal(3), normal(3), axes=1),
    case(np.tensordot, normal(2, 3, 4), normal(4, 5, 3), axes=([1, 2], [2, 0])),
    case(np.tensordot, normal(2, 3, 4), normal(4, 5, 3), axes=((-1, 1), (0, -1))),
    case(np.tensordot, normal(2, 3, 4), normal(5, 3), axes=(1, 1)),
    case(np.tensordot, complex_normal(2, 3), complex_normal(3, 4), axes=1),
    *(case(np.einsum, text, *(normal(*shape) for shape in shapes)) for text, *shapes in EINSUMS),
    case(np.einsum, "ij,jk->ik", complex_normal(2, 3), complex_normal(3, 4)),
    case(np.einsum, "ij,jk,k->i", normal(2, 3), normal(3, 4), normal(4), optimize=True),
    case(np.einsum, "ij,jk->ik", normal(40, 40), normal(40, 40), id="large"),
    case(np.einsum, normal(2, 3), [0, 1], normal(3), [1], id="axes"),
    case(np.einsum, normal(2, 3), [27, 1], normal(3, 4), [1, 0], id="axes in no order"),
    case(np.einsum, normal(2, 3), [0, 1], normal(2, 3), [0, 1], [], id="axes and axes of the result"),
    case(np.einsum, normal(2, 3), [..., 1], normal(3), [1], [...], id="axes and an ellipsis"),
    case(np.kron, normal(2, 3), normal(3, 2)),
    case(np.kron, normal(3), normal(2)),
    case(np.kron, normal(2, 3), normal(4)),
    case(np.kron, normal(3), normal(2, 2, 2)),
    case(np.kron, complex_normal(2, 2), complex_normal(2, 2)),
    case(np.trace, normal(3, 3)),
    case(np.trace, normal(3, 4), offset=1),
    case(np.trace, normal(3, 4), offset=-1),
    case(np.trace, normal(3, 2), 5),
    case(np.trace, normal(2, 3, 4), axis1=2, axis2=0),
    case(np.ndarray.trace, normal(3, 3)),
    *(case(np.linalg.inv, well_conditioned(*shape)) for shape in [(3, 3), (2, 3, 3), (0, 0)]),
    *(case(np.linalg.solve, well_conditioned(3, 3), normal(*shape)) for shape in [(3,), (3, 2), (4, 3, 2)]),
    *(case(np.linalg.solve, well_conditioned(2, 3, 3), normal(*shape)) for shape in [(3,), (3, 2), (2, 3, 2)]),
    case(np.linalg.det, normal(3, 3)),
    case(np.linalg.det, normal(2, 3, 3)),
    case(np.linalg.det, normal(1, 1)),
    case(np.linalg.det, SINGULAR),
    case(np.linalg.det, np.stack([SINGULAR, np.eye(3)])),
    case(np.linalg.det, np.outer([1.0, 2.0, 3.0], [1.0, -1.0, 2.0])),
    case(np.linalg.slogdet, normal(3, 3)),
    case(np.linalg.slogdet, normal(2, 3, 3)),
    *(case(key, well_conditioned(3, 3, dtype=complex)) for key in (np.linalg.inv, np.linalg.det, np.linalg.slogdet)),
    case(np.linalg.solve, well_conditioned(3, 3, dtype=complex), complex_normal(3, 2)),
    case(np.linalg.solve, well_conditioned(3, 3, dtype=complex), complex_normal(3)),
    case(np.linalg.det, SINGULAR + 1j * SINGULAR.T @ SINGULAR),
    *(case(np.linalg.cholesky, positive_matrices(*shape)) for shape in [(3, 3), (2, 3, 3), (1, 1)]),
    *(case(np.linalg.matrix_power, well_conditioned(3, 3), n) for n in (0, 1, 2, 5, -1, -3)),
    case(np.linalg.matrix_power, well_conditioned(2, 3, 3, dtype=complex), 3),
    *(case(np.linalg.pinv, normal(*shape)) for shape in [(3, 3), (4, 2), (2, 4), (2, 4, 3)]),
    case(np.linalg.pinv, complex_normal(4, 2)),
    *(case(np.linalg.qr, normal(*shape)) for shape in [(3, 3), (4, 2), (2, 4, 3)]),
    *(case(np.linalg.qr, complex_normal(*shape)) for shape in [(3, 3), (4, 2)]),
    case(np.linalg.cholesky, positive_matrices(3, 3), upper=True),
    case(np.linalg.cholesky, positive_matrices(3, 3, dtype=complex)),
    case(np.linalg.eigh, positive_definite(4)),
    case(np.linalg.eigh, positive_definite(4), "U"),
    case(np.linalg.eigh, positive_matrices(2, 3, 3)),
    case(np.linalg.eigvalsh, positive_definite(4)),
    case(np.linalg.eigvalsh, normal(3, 3), "U"),
    case(np.linalg.eigvalsh, positive_matrices(3, 3, dtype=complex)),
    *(case(np.linalg.svd, normal(*shape), full_matrices=False) for shape in [(3, 3), (4, 2), (2, 4), (2, 4, 3)]),
    case(np.linalg.svd, normal(3, 3)),
    *(case(np.linalg.svd, normal(*shape), compute_uv=False) for shape in [(3, 3), (4, 2), (2, 4, 3)]),
    case(np.linalg.svdvals, normal(4, 3)),
    case(np.linalg.svdvals, complex_normal(3, 4)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_implicit_result_of_einsum():
    """Without an arrow, the axes of the ellipsis come first and then the letters that occur once, sorted."""
    assert einsum_terms("ba", (2,)) == (["ba"], "ab")
    assert einsum_terms("i...,ij", (3, 2)) == (["iab", "ij"], "abj")


def complex_gradient(f, a, step=1e-6):
    """The gradient of a real function of a complex matrix by central differences."""
    bar = np.zeros_like(a)
    for index in np.ndindex(a.shape):
        for unit in (1, 1j):
            e = np.zeros_like(a)
            e[index] = unit * step
            bar[index] += unit * (f(a + e) - f(a - e)) / (2 * step)
    return bar


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_complex_singular_vectors(shape):
    """A function of complex singular vectors that their free phases do not change has the right derivative."""
    rng = np.random.default_rng(3)
    a, m = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for _ in range(2))
    y, pullback = lookup(np.linalg.svd)[0].function(a, full_matrices=False)

    def f(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.sum((u @ vh * m).real) + np.sum(s**2)

    y_bar = (np.conj(m) @ y[2].conj().T, 2 * y[1], y[0].conj().T @ np.conj(m))
    assert pullback(y_bar)[0] == pytest.approx(complex_gradient(f, a), abs=1e-6)


def test_complex_eigenvectors():
    """The projection onto a complex eigenvector has the right derivative with respect to the triangle that is read."""
    rng = np.random.default_rng(4)
    root, m = (rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3)) for _ in range(2))
    a = root + root.conj().T
    (_, v), pullback = lookup(np.linalg.eigh)[0].function(a)

    def f(a):
        v = np.linalg.eigh(a)[1][:, 0]
        return np.sum((np.outer(v, v.conj()) * m).real)

    v_bar = np.zeros_like(v)
    v_bar[:, 0] = np.conj(m) @ v[:, 0] + (m.T @ v[:, 0])
    assert pullback((None, v_bar))[0] == pytest.approx(complex_gradient(f, a), abs=1e-6)


def test_polar_factor_at_equal_singular_values():
    """The orthogonal factor ``u @ vh`` of an orthogonal matrix is differentiable, although ``u`` and ``vh`` are not."""
    m = np.arange(9.0).reshape(3, 3)
    y, pullback = lookup(np.linalg.svd)[0].function(np.eye(3))
    bar = pullback((m @ y[2].T, None, y[0].T @ m))[0]
    assert bar == pytest.approx((m - m.T) / 2)


def test_equal_eigenvalues():
    """The eigenvalues of the unit matrix have a derivative; one of its eigenvectors has none, and that is said."""
    _, pullback = lookup(np.linalg.eigh)[0].function(np.eye(3))
    assert pullback((np.ones(3), None))[0].tolist() == np.eye(3).tolist()
    with pytest.raises(DifferentiationError, match="equal eigenvalues"):
        pullback((None, np.arange(9.0).reshape(3, 3)))


def test_singular_vectors_of_the_null_space():
    """Without cotangent for the null space the full factorisation has a derivative, with one it has none."""
    _, pullback = lookup(np.linalg.svd)[0].function(np.arange(6.0).reshape(3, 2) ** 2)
    u_bar = np.ones((3, 3))
    with pytest.raises(DifferentiationError, match="null space"):
        pullback((u_bar, None, None))
    u_bar[:, 2] = 0
    assert np.isfinite(pullback((u_bar, None, None))[0]).all()
    assert pullback((None, None, None)) == (None, None, None)


def test_determinant_of_singular_matrices():
    """The cotangent is the cofactor matrix, also where there is no inverse."""
    _, pullback = lookup(np.linalg.det)[0].function(SINGULAR)
    assert pullback(1.0)[0] == pytest.approx(np.array([[-3, 6, -3], [6, -12, 6], [-3, 6, -3.0]]))
    _, pullback = lookup(np.linalg.det)[0].function(np.diag([2.0, 3.0, 0.0]))
    assert pullback(1.0)[0] == pytest.approx(np.diag([0.0, 0.0, 6.0]))


def test_sign_of_a_complex_determinant():
    """The unused part of the result may be None."""
    _, pullback = lookup(np.linalg.slogdet)[0].function(np.eye(2) * 2)
    assert pullback((None, 1.0))[0].tolist() == [[0.5, 0.0], [0.0, 0.5]]
    assert pullback((1.0, None)) == (None,)
