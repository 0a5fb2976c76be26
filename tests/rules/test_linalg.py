"""Every rule of rules/linalg.py against differences, and at special points."""

import inspect

import numpy as np
import pytest

from adcompiler import check_gradient, gradient
from adcompiler.rules.registry import is_non_differentiable, lookup
from adcompiler.testing import Input, case, check_rule, complex_normal, normal


def well_conditioned(*shape, dtype=float):
    """Matrices far from singular."""
    make = (complex_normal if dtype is complex else normal)(*shape).make
    return Input(lambda rng: make(rng) + 3 * np.eye(shape[-1]), f"well_conditioned{shape}")


def of_rank(rank, *shape, dtype=float):
    """Matrices of a rank that is not full: only for directions that keep it."""
    make = complex_normal if dtype is complex else normal
    left, right = make(*shape[:-1], rank), make(*shape[:-2], rank, shape[-1])
    return Input(lambda rng: left.make(rng) @ right.make(rng), f"of_rank({rank}, {shape})")


def hermitian(*shape, dtype=float):
    """Hermitian matrices, indefinite."""
    make = (complex_normal if dtype is complex else normal)(*shape).make

    def matrices(rng):
        half = make(rng)
        return half + half.conj().swapaxes(-1, -2)

    return Input(matrices, f"hermitian{shape}")


SINGULAR = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])

CASES = [
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
    *(case(np.linalg.matrix_power, well_conditioned(3, 3), n) for n in (0, 1, 2, 5, -1, -3)),
    case(np.linalg.matrix_power, well_conditioned(2, 3, 3, dtype=complex), 3),
    *(case(np.linalg.pinv, normal(*shape)) for shape in [(3, 3), (4, 2), (2, 4), (2, 4, 3)]),
    case(np.linalg.pinv, complex_normal(4, 2)),
    case(np.linalg.inv, well_conditioned(2, 3, 3, dtype=complex)),
    case(np.linalg.solve, well_conditioned(2, 1, 3, 3, dtype=complex), normal(4, 3, 2)),
    case(np.linalg.solve, well_conditioned(3, 3), complex_normal(3)),
    case(np.linalg.solve, well_conditioned(3, 3), normal(3, 0)),
    case(np.linalg.det, normal(0, 0)),
    case(np.linalg.det, np.zeros((3, 3))),
    case(np.linalg.slogdet, well_conditioned(2, 3, 3, dtype=complex)),
    *(case(np.linalg.matrix_power, well_conditioned(2, 3, 3), n) for n in (3, 6, 7, -2)),
    case(np.linalg.pinv, well_conditioned(3, 3), hermitian=False),
    case(np.linalg.pinv, hermitian(3, 3), hermitian=True),
    case(np.linalg.pinv, hermitian(2, 3, 3, dtype=complex), None, True),
    *(case(np.linalg.pinv, normal(*shape), 0.3) for shape in [(4, 4), (4, 3), (3, 5), (2, 4, 3)]),
    *(case(np.linalg.pinv, complex_normal(*shape), rtol=0.4) for shape in [(4, 4), (4, 3), (3, 5)]),
    case(np.linalg.pinv, complex_normal(2, 3, 3), np.array([0.1, 0.5]), wrt=0),
    case(np.linalg.pinv, hermitian(4, 4, dtype=complex), 0.3, True),
    case(np.linalg.pinv, normal(4, 3), rtol=None),
    case(np.linalg.tensorinv, normal(4, 6, 8, 3)),
    case(np.linalg.tensorinv, complex_normal(6, 2, 3), ind=1),
    case(np.linalg.tensorsolve, normal(2, 3, 6), normal(2, 3)),
    case(np.linalg.tensorsolve, normal(2, 6, 3), complex_normal(2, 3), axes=(1,)),
    case(np.linalg.tensorsolve, complex_normal(2, 3, 3, 2), normal(3, 2), axes=[0, 1]),
    *(case(np.linalg.lstsq, normal(*a), normal(*b)) for a, b in [((5, 3), (5,)), ((5, 3), (5, 2)), ((3, 3), (3,))]),
    *(case(np.linalg.lstsq, normal(3, 5), normal(*b)) for b in [(3,), (3, 2)]),
    *(case(np.linalg.lstsq, complex_normal(*a), complex_normal(a[0], 2)) for a in [(5, 3), (3, 5)]),
    case(np.linalg.lstsq, complex_normal(5, 3), normal(5)),
    *(case(np.linalg.lstsq, normal(5, 3), normal(5, 2), rcond=c) for c in (0.5, -1, 1e-10)),
    case(np.linalg.lstsq, complex_normal(3, 5), normal(3), 0.6),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_every_function():
    """There is no callable of `numpy.linalg` without a rule or a declaration, except for its exception."""
    public = [f for name, f in vars(np.linalg).items() if not name.startswith("_") and not inspect.ismodule(f)]
    assert [f for f in public if not lookup(f) and not is_non_differentiable(f)] == [np.linalg.LinAlgError]


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
    assert pullback((1.0, None))[0].tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_pseudo_inverse_of_constant_rank(shape, dtype):
    """Along matrices of rank 2, the pseudo-inverse and the least squares solution of least length are smooth."""
    rng = np.random.default_rng(6)
    parts = [
        rng.standard_normal(n) + (1j * rng.standard_normal(n) if dtype is complex else 0)
        for n in ((shape[0], 2), (2, shape[1]), shape[::-1], (shape[0], 2), (shape[1], 2))
    ]
    left, right, weights, b, c = parts

    def f(left, right):
        return np.sum(np.real(np.linalg.pinv(left @ right, rtol=1e-10) * weights))

    def g(left, right, b):
        return np.sum(np.real(np.linalg.lstsq(left @ right, b, rcond=None)[0] * c))

    check_gradient(f, left, right)
    check_gradient(g, left, right, b)
    check_gradient(lambda left, right: np.sum(np.real(np.linalg.pinv(left @ right) * weights)), left, right)


def test_residuals_and_singular_values_of_least_squares():
    """Each part of the result by itself, and the rank has no derivative."""
    rng = np.random.default_rng(7)
    a, b = rng.standard_normal((5, 3)), rng.standard_normal((5, 2))
    check_gradient(lambda a, b: np.sum(np.linalg.lstsq(a, b)[1] ** 2), a, b)
    check_gradient(lambda a, b: np.sum(np.linalg.lstsq(a, b)[3] ** 3), a, b)
    check_gradient(lambda a, b: np.linalg.lstsq(a, b)[2] * np.sum(a), a, b)


def test_determinants_of_singular_matrices_in_a_stack():
    """A singular matrix has a cotangent of det, and none of slogdet unless its own is 0."""
    stack = np.stack([SINGULAR, np.diag([1.0, 2.0, 4.0])])
    stack[0, 2] = 0

    def guarded(a):
        sign, logarithm = np.linalg.slogdet(a)
        return np.sum(np.where(sign == 0, 0.0, logarithm))

    bar = gradient(guarded)(stack)
    assert bar[0].tolist() == np.zeros((3, 3)).tolist()
    assert bar[1] == pytest.approx(np.diag([1.0, 0.5, 0.25]))
    assert np.isnan(gradient(lambda a: np.linalg.slogdet(a)[1])(stack[0])).all()
    assert gradient(lambda a: np.linalg.slogdet(a)[0] * np.sum(a))(np.eye(2)).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    check_gradient(lambda a: np.real(np.linalg.slogdet(a).sign ** 2), stack[1] * (1 + 2j) + np.ones((3, 3)))


W = np.linspace(-1.0, 2.0, 9).reshape(3, 3)


def posterior(a, b):
    """A Gaussian log density, the most common use of these functions together."""
    gram = a @ a.T + 2 * np.eye(3)
    sign, logarithm = np.linalg.slogdet(gram)
    return sign * logarithm + b @ np.linalg.solve(gram, b) + np.linalg.det(gram) * np.trace(np.linalg.inv(gram))


def tensors(a, b):
    """Solutions of tensor equations, and powers."""
    a = a + 4 * np.eye(6).reshape(2, 3, 6)
    x = np.linalg.tensorsolve(a, b)
    inverse = np.linalg.tensorinv(a, ind=2)
    return np.sum(x**2) + np.sum(inverse[0] * b) + np.sum(np.linalg.matrix_power(W + b.T @ b, 3))


def fit_line(x, y):
    """A regression, the parts of whose result are unpacked."""
    design = np.stack([x, np.ones_like(x)], axis=1)
    solution, residuals, rank, s = np.linalg.lstsq(design, y, rcond=None)
    return solution[0] * residuals[0] + rank * s[1] + np.linalg.matrix_rank(design) * np.sum(np.linalg.pinv(design))


def test_in_functions():
    """Compiled, with the calls as users write them."""
    check_gradient(posterior, W, W[0])
    check_gradient(tensors, np.cos(np.arange(36.0)).reshape(2, 3, 6), W[:2])
    check_gradient(fit_line, np.array([0.1, 0.4, 1.0, 2.0]), np.array([1.0, 0.0, 2.0, 4.0]))
