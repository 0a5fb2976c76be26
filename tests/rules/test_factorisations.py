"""Every rule of rules/factorisations.py against differences, at equal values, and where there is no derivative."""

import numpy as np
import pytest

from adcompiler.testing import Input, case, check_rule, complex_normal, normal, positive_definite


def positive_matrices(*shape, dtype=float):
    """Positive definite matrices whose triangle that is not read holds something else."""
    make = (complex_normal if dtype is complex else normal)(*shape).make

    def matrices(rng):
        root = make(rng)
        return root @ root.conj().swapaxes(-1, -2) + np.eye(shape[-1])

    return Input(matrices, f"positive_matrices{shape}")


def real_spectrum(*shape):
    """Real matrices, not symmetric, with real eigenvalues far from each other."""
    make = normal(*shape).make
    return Input(lambda rng: make(rng) * 0.3 + np.diag(np.arange(shape[-1]) * 3.0 + 1), f"real_spectrum{shape}")


CASES = [
    *(case(np.linalg.cholesky, positive_matrices(*shape)) for shape in [(3, 3), (2, 3, 3), (1, 1)]),
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
    case(np.linalg.cholesky, positive_matrices(2, 3, 3, dtype=complex), upper=True),
    *(case(np.linalg.qr, normal(*shape)) for shape in [(2, 4), (2, 3, 5), (0, 3), (3, 0)]),
    *(case(np.linalg.qr, complex_normal(*shape)) for shape in [(2, 4), (2, 4, 3), (1, 3)]),
    *(case(np.linalg.qr, normal(*shape), mode="r") for shape in [(3, 3), (4, 2), (2, 4), (2, 4, 3)]),
    *(case(np.linalg.qr, complex_normal(*shape), "r") for shape in [(3, 3), (4, 2), (2, 4)]),
    *(case(np.linalg.qr, normal(*shape), "complete") for shape in [(3, 3), (2, 4), (4, 3), (2, 4, 3)]),
    case(np.linalg.qr, complex_normal(2, 3), "complete"),
    *(case(np.linalg.eig, real_spectrum(*shape)) for shape in [(3, 3), (2, 3, 3), (1, 1), (0, 0)]),
    *(case(np.linalg.eigvals, normal(*shape)) for shape in [(3, 3), (2, 4, 4), (1, 1)]),
    *(case(np.linalg.eigvals, complex_normal(*shape)) for shape in [(3, 3), (2, 4, 4)]),
    case(np.linalg.eigvalsh, positive_matrices(2, 3, 3, dtype=complex), UPLO="U"),
    *(case(np.linalg.svd, normal(*shape)) for shape in [(4, 3), (3, 4)]),
    *(case(np.linalg.svd, normal(3, 3), hermitian=True, compute_uv=uv) for uv in (True, False)),
    *(case(np.linalg.svd, complex_normal(*s), compute_uv=False) for s in [(4, 3), (3, 3), (2, 2, 3)]),
    case(np.linalg.svd, complex_normal(3, 3), True, False, True),
    case(np.linalg.svdvals, normal(2, 3, 4)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)
