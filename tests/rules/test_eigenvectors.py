"""Eigenvalues and eigenvectors: functions of them, at equal eigenvalues, and where there is no derivative."""

import numpy as np
import pytest

from adcompiler import check_gradient, gradient
from adcompiler.rules.registry import lookup
from adcompiler.runtime.errors import DifferentiationError
from tests.rules.test_factorisations import DTYPES, numbers, with_eigenvalues


@DTYPES
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_functions_of_eigenvectors(uplo, dtype):
    """Functions of a Hermitian matrix, of one triangle of which NumPy reads."""
    weights = numbers(12, 3, 3, dtype=dtype)

    def power(a):
        w, v = np.linalg.eigh(a, UPLO=uplo)
        return np.sum(np.real((v * w**3) @ np.conj(v).T * weights)) + np.sum(np.abs(v[:, 1]) ** 4)

    check_gradient(power, numbers(13, 3, 3, dtype=dtype))


@DTYPES
@pytest.mark.parametrize("values", [(2.0, 2.0, 2.0), (1.0, 2.0, 2.0), (0.5, 0.5, 2.0, 2.0), (0.0, 0.0, 3.0)])
def test_functions_at_equal_eigenvalues(values, dtype):
    """Functions of a matrix that are differentiable there, through its eigenvalues and eigenvectors."""
    weights = numbers(14, len(values), len(values), dtype=dtype)

    def exponential(a):
        w, v = np.linalg.eigh(a)
        return np.sum(np.real((v * np.exp(w)) @ np.conj(v).T * weights))

    def spaces(a):
        _, v = np.linalg.eigh(a)
        return np.sum(np.real(v[:, -2:] @ np.conj(v[:, -2:]).T * weights))

    a = with_eigenvalues(values, dtype)
    check_gradient(exponential, a, rtol=1e-4, atol=1e-6)
    check_gradient(lambda a: np.sum(np.linalg.eigvalsh(a) ** 3), a)
    check_gradient(lambda a: np.sum(np.exp(np.linalg.eigh(a)[0])), a)
    if values[-3] < values[-2]:
        check_gradient(spaces, a)


def test_undetermined_at_equal_eigenvalues():
    """Where the cotangents do not tell the derivative an error says so."""

    def function(g):
        def f(a):
            w, v = np.linalg.eigh(a)
            return np.sum((v * g(w)) @ v.T * np.triu(np.ones((3, 3)), 1))

        return f

    for g in (np.log, np.exp, np.sqrt, lambda w: w):
        with pytest.raises(DifferentiationError, match="equal eigenvalues"):
            gradient(function(g))(np.eye(3))


def test_equal_eigenvalues():
    """The eigenvalues of the unit matrix have a derivative; one of its eigenvectors has none, and that is said."""
    _, pullback = lookup(np.linalg.eigh)[0].function(np.eye(3))
    assert pullback((np.ones(3), None))[0].tolist() == np.eye(3).tolist()
    with pytest.raises(DifferentiationError, match="equal eigenvalues"):
        pullback((None, np.arange(9.0).reshape(3, 3)))


def test_phase_of_eigenvectors():
    """A function of the phase of complex eigenvectors is refused, for Hermitian matrices and others."""
    a = numbers(15, 3, 3, dtype=complex)
    for f in (np.linalg.eigh, np.linalg.eig):
        with pytest.raises(DifferentiationError, match="phase"):
            gradient(lambda a, f=f: np.sum(np.real(f(a)[1] * numbers(23, 3, 3, dtype=complex))))(a)


@DTYPES
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4)])
def test_functions_of_general_eigenvectors(shape, dtype):
    """Functions of a matrix by its eigenvalues, and of directions; real matrices with complex eigenvalues too."""
    weights = numbers(16, *shape, dtype=dtype)

    def exponential(a):
        w, v = np.linalg.eig(a)
        return np.sum(np.real((v * np.exp(w)[..., None, :]) @ np.linalg.inv(v) * weights))

    def directions(a):
        w, v = np.linalg.eig(a)
        return np.sum(np.abs(v) ** 4 * np.real(w)[..., None, :])

    def values(a):
        return np.sum(np.abs(np.linalg.eigvals(a) - 0.3) ** 3)

    for f in (exponential, directions, values):
        check_gradient(f, numbers(17, *shape, dtype=dtype))


def test_eigenvectors_of_real_eigenvalues():
    """A real matrix with real and complex eigenvalues: the vectors of the real ones have no free phase."""
    a = np.array([[2.0, 0.3, 0.1], [0.2, 0.0, 1.0], [0.4, -1.5, 0.1]])
    w, _ = np.linalg.eig(a)
    real = int(np.argmin(np.abs(w.imag)))
    assert w.imag[real] == 0
    assert np.any(w.imag != 0)
    check_gradient(lambda a: np.sum(np.real(np.linalg.eig(a)[1][:, real] * np.array([1.0, 2.0, 3.0]))), a)


def test_equal_general_eigenvalues():
    """A sum over equal eigenvalues is differentiable; their vectors, even in products, are refused."""
    s = numbers(18, 3, 3)
    a = s @ np.diag([2.0, 2.0, 1.0]) @ np.linalg.inv(s)
    check_gradient(lambda a: np.sum(np.real(np.linalg.eigvals(a)) ** 3), a, rtol=1e-4, atol=1e-5)
    check_gradient(lambda a: np.sum(np.real(np.linalg.eigvals(a) ** 2)), np.eye(3))

    def exponential(a):
        w, v = np.linalg.eig(a)
        return np.real((v * np.exp(w) @ np.linalg.inv(v))[0, 1])

    with pytest.raises(DifferentiationError, match="equal eigenvalues"):
        gradient(exponential)(np.eye(3))


@pytest.mark.parametrize("n", [2, 3])
def test_defective_matrices(n):
    """A matrix without enough eigenvectors is refused, in Jordan form and transformed."""
    s = numbers(19, n, n)
    jordan = np.eye(n) * 2 + np.eye(n, k=1)
    for a in (jordan, s @ jordan @ np.linalg.inv(s), np.eye(n, k=1)):
        with pytest.raises(DifferentiationError, match="diagonalised"):
            gradient(lambda a: np.sum(np.abs(np.linalg.eigvals(a)) ** 2))(a)
