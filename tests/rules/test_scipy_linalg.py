"""Every rule of scipy.linalg against differences, and what it refuses."""

import numpy as np
import pytest
from scipy import linalg

from adcompiler import check_gradient, gradient
from adcompiler.coverage import UNKNOWN, coverage
from adcompiler.errors import DifferentiationError, MutationError, NoRuleError
from adcompiler.testing import Input, case, check_rule, complex_normal, normal, positive, positive_definite


def near_unit(*shape, dtype=float, shift=3.0):
    """Matrices far from singular, with eigenvalues in the right half plane."""
    make = (complex_normal if dtype is complex else normal)(*shape).make
    return Input(lambda rng: make(rng) * 0.5 + shift * np.eye(shape[-1]), f"near_unit{shape}")


def hermitian(*shape, dtype=float, shift=0.0):
    """Hermitian matrices."""
    make = (complex_normal if dtype is complex else normal)(*shape).make

    def matrices(rng):
        half = make(rng)
        return half + half.conj().swapaxes(-1, -2) + shift * np.eye(shape[-1])

    return Input(matrices, f"hermitian{shape}")


def factored(a, **options):
    return lambda rng: linalg.lu_factor(a.make(rng)) if not options else linalg.cho_factor(a.make(rng), **options)


STRUCTURES = (None, "gen", "sym", "her", "pos", "diagonal", "tridiagonal", "banded", "upper triangular",
              "lower triangular")  # fmt: skip
POSITIVE = positive_definite(3)
COMPLEX = hermitian(3, 3, dtype=complex, shift=9.0)
LU = Input(factored(near_unit(3, 3)), "lu_factor")
COMPLEX_LU = Input(factored(near_unit(3, 3, dtype=complex)), "complex lu_factor")
SMALL = near_unit(3, 3, shift=0.0)


def band(*diagonals):
    """Matrices in the form of their diagonals: random numbers above the ones given."""
    lowest = np.array(diagonals)[:, None]
    return Input(lambda rng: lowest + rng.uniform(0, 1, (len(diagonals), 5)), f"band{diagonals}")


BAND, LOWER_BAND = band(0.0, 0.0, 4.0, 0.0), band(4.0, 1.0)
SYMMETRIC_BANDS = {1: band(1.0, 9.0), -1: band(9.0, 1.0)}

CASES = [
    *(
        case(linalg.solve, positive_definite(4), normal(4), assume_a=s, lower=lower, id=f"{s} {lower}")
        for s in STRUCTURES
        for lower in (False, True)
    ),
    *(
        case(linalg.solve, hermitian(4, 4, dtype=complex, shift=9.0), complex_normal(4, 2), assume_a=s)
        for s in STRUCTURES
    ),
    *(case(linalg.solve, near_unit(4, 4), normal(4), assume_a=s, transposed=True, real_only=True) for s in STRUCTURES),
    *(case(linalg.solve, near_unit(3, 3), normal(*b)) for b in [(3, 2), (3, 0), (2, 3, 2)]),
    *(case(linalg.solve, near_unit(2, 3, 3), normal(*b)) for b in [(3,), (3, 2), (2, 3, 2)]),
    *(
        case(linalg.solve_triangular, near_unit(3, 3), normal(*b), trans, lower, unit, wrt=(0, 1))
        for b in [(3,), (3, 2)]
        for trans in (0, 1, 2, "N", "T", "C")
        for lower in (False, True)
        for unit in (False, True)
    ),
    case(linalg.solve_triangular, near_unit(2, 3, 3), normal(2, 3, 2), lower=True),
    case(linalg.solve_banded, (1, 2), BAND, normal(5)),
    case(linalg.solve_banded, (1, 0), LOWER_BAND, normal(5, 2)),
    *(
        case(linalg.solveh_banded, SYMMETRIC_BANDS[n],
             normal(*b), lower=n < 0)
        for n in (1, -1) for b in [(5,), (5, 2)]
    ),
    case(linalg.solve_toeplitz, np.array([5.0, 1.0, 2.0]), normal(3)),
    case(linalg.solve_toeplitz, np.array([5.0, 1.0 + 1j, 2.0]), normal(3, 2), wrt=(1,)),
    case(linalg.solve_toeplitz, (np.array([5.0, 1.0, 2.0]), np.array([9.0, 0.5, 1.0])), normal(3, 2)),
    *(case(linalg.lstsq, normal(*a), normal(*b)) for a, b in [((5, 3), (5,)), ((5, 3), (5, 2)), ((3, 5), (3,))]),
    case(linalg.lstsq, normal(5, 3), normal(5), 0.3),
    *(case(linalg.inv, near_unit(*shape)) for shape in [(3, 3), (2, 3, 3)]),
    *(case(linalg.inv, POSITIVE, assume_a=s, lower=True) for s in ("gen", "sym", "her", "pos", "upper triangular")),
    *(case(linalg.det, normal(*shape)) for shape in [(3, 3), (2, 3, 3)]),
    case(linalg.det, complex_normal(3, 3)),
    *(case(linalg.pinv, normal(*shape)) for shape in [(3, 3), (4, 2), (2, 4)]),
    case(linalg.pinv, normal(4, 3), rtol=0.4),
    case(linalg.pinv, normal(4, 3), atol=0.8),
    *(case(linalg.pinvh, hermitian(3, 3), lower=lower) for lower in (True, False)),
    case(linalg.pinvh, hermitian(4, 4, dtype=complex), rtol=0.3),
    *(case(linalg.norm, normal(3, 4), *o) for o in [(), (2,), ("nuc",), (1,), (np.inf,), ("fro",), (2, 1), (3, 0)]),
    case(linalg.norm, normal(4)),
    case(linalg.solve_sylvester, near_unit(3, 3), near_unit(2, 2), normal(3, 2)),
    case(linalg.solve_continuous_lyapunov, near_unit(3, 3), normal(3, 3)),
    case(linalg.solve_discrete_lyapunov, near_unit(3, 3), normal(3, 3)),
    case(linalg.solve_discrete_lyapunov, near_unit(3, 3), normal(3, 3), method="bilinear"),
    # functions of matrices
    *(
        case(f, near_unit(3, 3, dtype=dtype, shift=shift))
        for f, shift in [
            (linalg.expm, 0.0), (linalg.logm, 4.0), (linalg.sqrtm, 4.0), (linalg.sinm, 0.0), (linalg.cosm, 0.0),
            (linalg.tanm, 0.0), (linalg.sinhm, 0.0), (linalg.coshm, 0.0), (linalg.tanhm, 0.0),
        ]
        for dtype in (float, complex)
    ),
    case(linalg.expm, near_unit(2, 3, 3)),
    case(linalg.sqrtm, near_unit(2, 3, 3)),
    case(linalg.fractional_matrix_power, near_unit(3, 3, shift=4.0), 0.3),
    case(linalg.fractional_matrix_power, near_unit(3, 3, shift=4.0), 2),
    # matrices of vectors and blocks
    case(linalg.toeplitz, normal(3)),
    case(linalg.toeplitz, normal(3), normal(4)),
    case(linalg.hankel, normal(3)),
    case(linalg.hankel, normal(3), normal(4)),
    case(linalg.circulant, normal(4)),
    case(linalg.companion, positive(4)),
    case(linalg.block_diag, normal(2, 3), normal(2), normal(3, 1), normal()),
    # factorisations
    *(case(linalg.cholesky, m, lower) for m in (POSITIVE, COMPLEX) for lower in (False, True)),
    *(case(linalg.cho_factor, m, lower) for m in (POSITIVE, COMPLEX) for lower in (False, True)),
    *(
        case(linalg.cho_solve, Input(factored(m, lower=lower), f"cho_factor({m}, {lower})"), normal(*b))
        for m in (POSITIVE, COMPLEX) for lower in (False, True) for b in [(3,), (3, 2)]
    ),
    *(case(linalg.lu, normal(*shape), permute_l=p) for shape in [(3, 3), (4, 3), (3, 5)] for p in (False, True)),
    case(linalg.lu, complex_normal(3, 3), p_indices=True),
    *(case(linalg.lu_factor, normal(*shape)) for shape in [(3, 3), (4, 3), (3, 5)]),
    *(
        case(linalg.lu_solve, lu, normal(*b), trans, wrt=(0, 1))
        for lu in (LU, COMPLEX_LU) for b in [(3,), (3, 2)] for trans in (0, 1, 2)
    ),
    *(
        case(linalg.qr, normal(*shape), mode=mode, real_only=True)
        for shape in [(3, 3), (4, 2), (2, 4)] for mode in ("economic", "r")
    ),
    case(linalg.qr, normal(3, 3), real_only=True),
    case(linalg.qr, normal(4, 3), mode="economic", pivoting=True, real_only=True),
    case(linalg.eigh, hermitian(3, 3, dtype=complex), eigvals_only=True),
    *(case(linalg.eigh, hermitian(3, 3), positive_definite(3), lower=lower, real_only=True) for lower in (True, False)),
    case(linalg.eigvalsh, hermitian(3, 3, dtype=complex), hermitian(3, 3, dtype=complex, shift=9.0)),
    case(linalg.eigvalsh, hermitian(3, 3)),
    case(linalg.eig, normal(3, 3), right=False),
    case(linalg.eigvals, normal(3, 3)),
    *(case(linalg.svd, normal(*shape), full_matrices=False, real_only=True) for shape in [(3, 3), (4, 2), (2, 4)]),
    case(linalg.svd, normal(4, 3), compute_uv=False),
    case(linalg.svdvals, normal(4, 3)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    check_rule(case)


# Inside functions


def log_density(mean, covariance, x):
    factor = linalg.cho_factor(covariance, lower=True)
    centred = x - mean
    return -0.5 * centred @ linalg.cho_solve(factor, centred) - np.sum(np.log(np.diag(factor[0])))


def flow(a, x):
    return np.sum(linalg.expm(0.3 * a) @ x)


def by_lu(a, b):
    factors = linalg.lu_factor(a)
    return np.sum(linalg.lu_solve(factors, b, trans=1) ** 2)


def pencil(a, b):
    w, v = linalg.eigh(a, b)
    return np.sum(np.tanh(w)) + np.sum(np.abs(v))


def by_eigenvectors(a):
    w, v = linalg.eigh(a)
    lower_w, lower_v = linalg.eigh(a, lower=False)
    return np.sum(np.triu(v * np.exp(w) @ v.T)) + np.sum(np.tril(lower_v * np.sin(lower_w) @ lower_v.T))


def by_general_eigenvectors(a):
    w, v = linalg.eig(a)
    return np.sum(np.triu(np.real(v * np.exp(w) @ np.linalg.inv(v))))


MATRIX = np.array([[0.1, 2.0, 0.3], [-1.0, 0.5, 0.2], [0.4, 0.3, 3.0]])


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (by_eigenvectors, (MATRIX,)),
        (by_general_eigenvectors, (MATRIX,)),
        (log_density, (np.array([0.1, 0.2]), np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([1.0, -1.0]))),
        (flow, (np.array([[0.1, 2.0], [-1.0, 0.5]]), np.array([1.0, 2.0]))),
        (by_lu, (np.array([[0.1, 2.0], [-1.0, 0.5]]), np.array([1.0, 2.0]))),
        (pencil, (np.array([[0.1, 2.0], [2.0, 0.5]]), np.array([[2.0, 0.3], [0.3, 1.0]]))),
        (lambda a: linalg.norm(linalg.inv(a)), (np.array([[0.1, 2.0], [-1.0, 0.5]]),)),
        (lambda a, b: np.sum(linalg.solve(a, b, assume_a="pos")), (np.diag([1.0, 2.0]), np.ones(2))),
        (lambda c, b: np.sum(linalg.toeplitz(c) @ b), (np.array([1.0, 2.0]), np.array([0.3, 0.4]))),
    ],
)
def test_in_a_function(function, args):
    check_gradient(function, *args)


def test_only_the_triangle_that_is_read_has_a_cotangent():
    a = np.array([[2.0, 0.3], [0.5, 1.0]])
    assert gradient(lambda a: np.sum(linalg.cholesky(a, lower=True)))(a)[0, 1] == 0
    assert gradient(lambda a: np.sum(linalg.solve(a, np.ones(2), assume_a="pos")))(a)[1, 0] == 0


def test_zero_of_the_norm():
    assert np.array_equal(gradient(lambda x: linalg.norm(x))(np.zeros(3)), np.zeros(3))


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.sum(linalg.schur(a)[0]),
        lambda a: np.sum(linalg.null_space(a)),
        lambda a: np.sum(linalg.polar(a)[0]),
        lambda a: np.sum(linalg.eigh(a, subset_by_index=[0, 0])[0]),
        lambda a: np.sum(linalg.signm(a)),
    ],
)
def test_refused(function):
    with pytest.raises(NoRuleError):
        gradient(function)(np.array([[2.0, 0.3], [0.3, 1.0]]))


def test_what_overwrites_its_argument_is_refused():
    with pytest.raises(MutationError, match="overwrite_"):
        gradient(lambda a: np.sum(linalg.solve(a, np.ones(2), overwrite_a=True)))(np.eye(2))


def test_factors_of_a_singular_matrix():
    with pytest.raises(DifferentiationError):
        gradient(lambda a: np.sum(linalg.lu(a)[2]))(np.zeros((2, 2)))


def test_every_public_function_is_in_some_list():
    """A rule, no derivative, or refused."""
    assert [] == [entry.name for entry in coverage(linalg) if entry.how == UNKNOWN]
