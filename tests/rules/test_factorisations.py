"""Every rule of rules/factorisations.py against differences; singular values and QR at special points."""

import numpy as np
import pytest

from adcompiler import check_gradient, gradient
from adcompiler.runtime.errors import DifferentiationError
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
    case(np.linalg.eigh, positive_definite(4), real_only=True),
    case(np.linalg.eigh, positive_definite(4), "U", real_only=True),
    case(np.linalg.eigh, positive_matrices(2, 3, 3), real_only=True),
    case(np.linalg.eigvalsh, positive_definite(4)),
    case(np.linalg.eigvalsh, normal(3, 3), "U"),
    case(np.linalg.eigvalsh, positive_matrices(3, 3, dtype=complex)),
    *(
        case(np.linalg.svd, normal(*shape), full_matrices=False, real_only=True)
        for shape in [(3, 3), (4, 2), (2, 4), (2, 4, 3)]
    ),
    case(np.linalg.svd, normal(3, 3), real_only=True),
    *(case(np.linalg.svd, normal(*shape), compute_uv=False) for shape in [(3, 3), (4, 2), (2, 4, 3)]),
    case(np.linalg.svdvals, normal(4, 3)),
    case(np.linalg.svdvals, complex_normal(3, 4)),
    case(np.linalg.cholesky, positive_matrices(2, 3, 3, dtype=complex), upper=True),
    *(case(np.linalg.qr, normal(*shape)) for shape in [(2, 4), (2, 3, 5), (0, 3), (3, 0)]),
    *(case(np.linalg.qr, complex_normal(*shape)) for shape in [(2, 4), (2, 4, 3), (1, 3)]),
    *(case(np.linalg.qr, normal(*shape), mode="r") for shape in [(3, 3), (4, 2), (2, 4), (2, 4, 3)]),
    *(case(np.linalg.qr, complex_normal(*shape), "r") for shape in [(3, 3), (4, 2), (2, 4)]),
    *(case(np.linalg.qr, normal(*shape), "complete", real_only=True) for shape in [(3, 3), (2, 4), (4, 3), (2, 4, 3)]),
    case(np.linalg.qr, complex_normal(2, 3), "complete"),
    *(case(np.linalg.eig, real_spectrum(*shape), real_only=True) for shape in [(3, 3), (2, 3, 3), (1, 1), (0, 0)]),
    *(case(np.linalg.eigvals, normal(*shape)) for shape in [(3, 3), (2, 4, 4), (1, 1)]),
    *(case(np.linalg.eigvals, complex_normal(*shape)) for shape in [(3, 3), (2, 4, 4)]),
    case(np.linalg.eigvalsh, positive_matrices(2, 3, 3, dtype=complex), UPLO="U"),
    *(case(np.linalg.svd, normal(*shape), real_only=True) for shape in [(4, 3), (3, 4)]),
    *(case(np.linalg.svd, normal(3, 3), hermitian=True, compute_uv=uv, real_only=True) for uv in (True, False)),
    *(case(np.linalg.svd, complex_normal(*s), compute_uv=False) for s in [(4, 3), (3, 3), (2, 2, 3)]),
    case(np.linalg.svd, complex_normal(3, 3), True, False, True),
    case(np.linalg.svdvals, normal(2, 3, 4)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def numbers(seed, *shape, dtype=float):
    """Random numbers, the same for each seed."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if dtype is complex else x


def with_values(values, dtype=float, columns=None):
    """A matrix with these singular values, and random singular vectors."""
    n = len(values)
    u = np.linalg.qr(numbers(1, n, n, dtype=dtype))[0]
    v = np.linalg.qr(numbers(2, columns or n, n, dtype=dtype))[0]
    return u * np.array(values) @ v.conj().T


def with_eigenvalues(values, dtype=float):
    """A Hermitian matrix with these eigenvalues."""
    v = np.linalg.qr(numbers(3, len(values), len(values), dtype=dtype))[0]
    a = v * np.array(values) @ v.conj().T
    return (a + a.conj().T) / 2


DTYPES = pytest.mark.parametrize("dtype", [float, complex])

# Singular values and vectors


@DTYPES
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
@pytest.mark.parametrize("full", [False, True])
def test_functions_of_singular_vectors(shape, full, dtype):
    """What free phases do not change has the right derivative: products of all factors, and projections."""
    weights = numbers(4, *shape, dtype=dtype)
    k = min(shape[-2:])

    def product(a):
        u, s, vh = np.linalg.svd(a, full_matrices=full)
        return np.sum(np.real((u[..., :k] * s[..., None, :] ** 1.5) @ vh[..., :k, :] * weights))

    def polar(a):
        u, s, vh = np.linalg.svd(a, full)
        return np.sum(np.real(u[..., :, :k] @ vh[..., :k, :] * weights)) + np.sum(s**3)

    def projection(a):
        u, _, vh = np.linalg.svd(a, full_matrices=full)
        return np.sum(np.abs(u[..., 0]) ** 4) + np.sum(np.abs(vh[..., 1, :]) ** 3)

    a = numbers(5, *shape, dtype=dtype)
    for f in (product, polar, projection):
        check_gradient(f, a)


@DTYPES
@pytest.mark.parametrize("shape", [(4, 2), (2, 4)])
def test_projection_onto_the_null_space(shape, dtype):
    """The space of the other singular vectors has a derivative, their basis has none."""

    def vectors(a):
        u, _, vh = np.linalg.svd(a)
        return np.conj(u[:, 2:]) if len(u) == 4 else vh[2:].T

    def space(a):
        rest = vectors(a)
        return np.sum(np.abs(rest @ np.conj(rest).T + 0.3) ** 3)

    a = numbers(6, *shape, dtype=dtype)
    check_gradient(space, a)
    with pytest.raises(DifferentiationError, match="arbitrary basis"):
        gradient(lambda a: np.sum(np.abs(vectors(a)) ** 4))(a)


@DTYPES
@pytest.mark.parametrize("values", [(2.0, 2.0, 2.0), (3.0, 2.0, 2.0), (2.0, 2.0, 0.5, 0.5)])
def test_functions_at_equal_singular_values(values, dtype):
    """The sum of the values, the product of the factors, other functions of the values, and the polar factor."""
    weights = numbers(7, len(values), len(values), dtype=dtype)

    def product(a):
        u, s, vh = np.linalg.svd(a)
        return np.sum(np.real((u * s) @ vh * weights))

    def cubes(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.sum(np.real(u @ np.diag(s**3 + np.exp(s)) @ vh * weights))

    def polar(a):
        u, _, vh = np.linalg.svd(a)
        return np.sum(np.real(u @ vh * weights))

    def root(a):
        u, s, _ = np.linalg.svd(a)
        return np.sum(np.real((u * s) @ np.conj(u).T * weights))

    a = with_values(values, dtype)
    for f in (product, cubes, polar, root):
        check_gradient(f, a, rtol=1e-4, atol=1e-6)
    check_gradient(lambda a: np.sum(np.linalg.svd(a, compute_uv=False)) ** 2, a)
    check_gradient(lambda a: np.sum(np.linalg.svdvals(a) ** 3), a)
    assert gradient(lambda a: product(a))(a) == pytest.approx(np.conj(weights))


@pytest.mark.parametrize("n", [2, 3])
def test_product_of_the_factors_of_the_unit_matrix(n):
    """Where the singular vectors are columns of the unit matrix, weights tell what they are used for if they differ."""

    def product(a, weights):
        u, s, vh = np.linalg.svd(a)
        return np.sum(u * s @ vh * weights)

    for weights in (numbers(8, n, n), np.diag(np.arange(n) + 1.0)):
        assert gradient(product)(np.eye(n), weights) == pytest.approx(weights)
    assert gradient(product)(np.eye(n)[::-1] * 3, numbers(8, n, n)) == pytest.approx(numbers(8, n, n))
    with pytest.raises(DifferentiationError, match="determine a derivative"):
        gradient(product)(np.eye(n), np.ones((n, n)))


def test_undetermined_at_equal_singular_values():
    """Where the cotangents do not tell the derivative an error says so: no zeros, and no nan."""

    def entry(a):
        u, s, vh = np.linalg.svd(a)
        return (u * np.exp(s) @ vh)[0, 1]

    def logarithm(a):
        u, s, vh = np.linalg.svd(a)
        return np.sum(u * np.log(s) @ vh)

    def two_terms(a):
        u, s, vh = np.linalg.svd(a)
        return np.sum(u * np.exp(s) @ vh) + np.sum(s)

    for f in (entry, logarithm, two_terms):
        with pytest.raises(DifferentiationError, match="equal eigenvalues or singular values"):
            gradient(f)(np.eye(3))
    with pytest.raises(DifferentiationError, match="equal singular values"):
        gradient(lambda a: np.linalg.svd(a)[0][0, 0])(with_values((2.0, 2.0, 1.0)))


def test_rank_deficient():
    """At singular values 0: the values have a kink there, and the product of the factors is no function of them."""

    def product(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.sum(u * s @ vh * numbers(9, *a.shape))

    square = with_values((2.0, 1.0, 0.0))
    assert gradient(product)(square) == pytest.approx(numbers(9, 3, 3), abs=1e-7)
    tall = with_values((2.0, 1.0, 0.0), columns=4).T
    for a in (tall, tall.T, with_values((2.0, 0.0, 0.0)), np.zeros((2, 2))):
        with pytest.raises(DifferentiationError, match="determine a derivative"):
            gradient(product)(a)
    u, _, vh = np.linalg.svd(square)
    nuclear = gradient(lambda a: np.sum(np.linalg.svdvals(a)))(square)
    assert nuclear == pytest.approx(u[:, :2] @ vh[:2])
    assert gradient(lambda a: np.sum(np.linalg.svdvals(a)))(np.zeros((2, 3))).tolist() == [[0.0] * 3] * 2


def test_shared_singular_values():
    """The largest of equal values shares its cotangent, whatever the basis."""
    bar = gradient(lambda a: np.linalg.svdvals(a)[0])(np.eye(4))
    assert bar == pytest.approx(np.eye(4) / 4)
    bar = gradient(lambda a: np.linalg.eigvalsh(a)[-1])(np.diag([1.0, 2.0, 2.0]))
    assert bar == pytest.approx(np.diag([0.0, 0.5, 0.5]))


def test_phase_of_singular_vectors():
    """A function of the phase of complex singular vectors is refused; together the phases of a pair may cancel."""
    a = numbers(10, 3, 3, dtype=complex)
    with pytest.raises(DifferentiationError, match="phase"):
        gradient(lambda a: np.sum(np.real(np.linalg.svd(a)[0] * numbers(24, 3, 3, dtype=complex))))(a)

    def pair(a):
        u, _, vh = np.linalg.svd(a)
        return np.real(u[0, 0] * vh[0, 0])

    check_gradient(pair, a)


@DTYPES
def test_hermitian_singular_values(dtype):
    """Of eigenvalues of both signs, one of which is minus another: their vectors are distinct all the same."""
    weights = numbers(11, 4, 4, dtype=dtype)

    def product(a):
        u, s, vh = np.linalg.svd(a, hermitian=True)
        return np.sum(np.real((u * s**2) @ vh * weights)) + np.sum(np.abs(u[:, 3]) ** 4)

    check_gradient(product, with_eigenvalues((-3.0, -1.0, 0.5, 2.0), dtype))
    check_gradient(
        lambda a: np.sum(np.linalg.svd(a, hermitian=True)[1] ** 3), with_eigenvalues((-3.0, 3.0, 1.0), dtype)
    )
    check_gradient(
        lambda a: np.sum(np.linalg.svd(a, compute_uv=False, hermitian=True) ** 3),
        with_eigenvalues((-3.0, 3.0, 1.0), dtype),
    )

    def projection(a):
        u, _, vh = np.linalg.svd(a, hermitian=True)
        return np.sum(np.real(u[:, 2:] @ vh[2:] * weights[:3, :3]))

    check_gradient(projection, with_eigenvalues((-3.0, 3.0, 1.0), dtype))


# QR


@DTYPES
def test_projection_onto_the_complement(dtype):
    """The columns that the complete factorisation adds: their space has a derivative, they have none."""
    weights = numbers(20, 4, 4, dtype=dtype)

    def space(a):
        q, r = np.linalg.qr(a, mode="complete")
        return np.sum(np.real(q[:, 2:] @ np.conj(q[:, 2:]).T * weights)) + np.sum(
            np.abs(q[:, 0]) ** 4 + np.abs(r[0, 1])
        )

    a = numbers(21, 4, 2, dtype=dtype)
    check_gradient(space, a)
    with pytest.raises(DifferentiationError, match="arbitrary basis"):
        gradient(lambda a: np.real(np.linalg.qr(a, "complete")[0][0, 3]))(a)


def test_qr_has_no_derivative():
    """Of dependent columns, and of the packed reflectors."""
    for a in (np.ones((3, 2)), np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0]]), np.zeros((2, 2))):
        with pytest.raises(DifferentiationError, match="depends on those before"):
            gradient(lambda a: np.sum(np.linalg.qr(a)[1]))(a)
    with pytest.raises(DifferentiationError, match="raw"):
        gradient(lambda a: np.sum(np.linalg.qr(a, "raw")[0]))(numbers(22, 3, 2))
    assert gradient(lambda a: np.sum(a) + 0 * len(np.linalg.qr(a, mode="raw")))(np.eye(2)).tolist() == [[1.0] * 2] * 2


# As users write them


def whitened(a):
    """Cholesky factor, its inverse, and a QR factorisation of the result."""
    lower = np.linalg.cholesky(a @ a.T + np.eye(3))
    upper = np.linalg.cholesky(a.T @ a + np.eye(3), upper=True)
    q, r = np.linalg.qr(np.linalg.solve(lower, upper))
    return np.sum(q**3) + np.sum(r) + np.sum(np.linalg.qr(a, mode="r") ** 2)


def spectrum(a):
    """Eigenvalues and singular values by attribute, by position and by unpacking."""
    w, v = np.linalg.eigh(a + a.T, UPLO="U")
    s = np.linalg.svd(a, compute_uv=False)
    return np.sum(v[:, 0] ** 4) + w[1] + s[0] * np.linalg.svdvals(a)[1] + np.sum(np.linalg.svd(a).S)


def test_in_functions():
    """Compiled, with the calls as users write them."""
    a = np.array([[1.0, 0.5, -0.3], [0.2, 2.0, 0.7], [0.9, -0.4, 1.5]])
    check_gradient(whitened, a)
    check_gradient(spectrum, a)
    check_gradient(lambda a: np.sum(np.real(np.linalg.eig(a).eigenvalues ** 2)) + np.sum(np.linalg.eigvalsh(a)), a)
