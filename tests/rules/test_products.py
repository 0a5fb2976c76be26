"""Every rule of rules/products.py against differences, and at special points."""

import operator

import numpy as np
import pytest

from adcompiler import check_gradient, gradient
from adcompiler.rules.registry import lookup
from adcompiler.runtime.contraction import einsum_terms
from adcompiler.testing import case, check_rule, complex_normal, normal

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
    *(case(f, normal(2, 3), normal(2, 3)) for f in (np.vecdot, np.linalg.vecdot)),
    *(case(f, complex_normal(3), complex_normal(2, 3)) for f in (np.vecdot, np.linalg.vecdot)),
    *(case(f, complex_normal(3, 2), normal(4, 3, 1), axis=-2) for f in (np.vecdot, np.linalg.vecdot)),
    case(np.vecdot, normal(3), normal(3)),
    case(np.vecdot, normal(3, 2), normal(3, 2), axis=0),
    *(
        case(getattr(np, name), make(*x1), other(*x2))
        for name, shapes in [
            ("matvec", [((3, 4), (4,)), ((2, 3, 4), (4,)), ((3, 4), (5, 1, 4)), ((2, 1, 3, 4), (5, 4))]),
            ("vecmat", [((3,), (3, 4)), ((2, 3), (3, 4)), ((3,), (5, 3, 4)), ((2, 1, 3), (5, 3, 4))]),
        ]
        if hasattr(np, name)
        for x1, x2 in shapes
        for make, other in [(normal, normal), (complex_normal, complex_normal), (complex_normal, normal)]
    ),
    case(np.linalg.multi_dot, [normal(2, 3), normal(3, 4)]),
    case(np.linalg.multi_dot, [normal(2, 3), normal(3, 4), normal(4, 5)]),
    case(np.linalg.multi_dot, (normal(3), normal(3, 4), complex_normal(4, 2), normal(2, 5))),
    case(np.linalg.multi_dot, [normal(3), complex_normal(3, 4), normal(4)]),
    case(np.linalg.multi_dot, [normal(3, 4), normal(4)]),
    case(np.linalg.multi_dot, [normal(3), normal(3)]),
    case(np.cross, normal(3), normal(3)),
    case(np.cross, normal(4, 3), normal(3)),
    case(np.cross, complex_normal(2, 1, 3), complex_normal(4, 3)),
    case(np.cross, normal(3, 2), normal(3, 2), axis=0),
    case(np.cross, normal(3, 4, 2), normal(2, 3), 0, 1, 1),
    case(np.linalg.cross, normal(2, 3), normal(3)),
    case(np.linalg.cross, complex_normal(2, 3, 4), complex_normal(2, 3, 4), axis=1),
    case(np.linalg.cross, normal(3, 2), normal(5, 3, 2), axis=-2),
    case(np.trace, normal(3, 4), 1, 0, 1, float),
    case(np.trace, normal(3, 3), dtype=np.float32, wrt=()),
    case(np.trace, normal(3, 3), dtype=complex),
    case(np.linalg.trace, normal(2, 3, 4)),
    case(np.linalg.trace, complex_normal(4, 3), offset=-1),
    case(np.linalg.trace, normal(3, 3), dtype=complex),
    case(np.linalg.diagonal, normal(2, 3, 4)),
    case(np.linalg.diagonal, complex_normal(3, 4), offset=2),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_implicit_result_of_einsum():
    """Without an arrow, the axes of the ellipsis come first and then the letters that occur once, sorted."""
    assert einsum_terms("ba", (2,)) == (["ba"], "ab")
    assert einsum_terms("i...,ij", (3, 2)) == (["iab", "ij"], "abj")


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) >= "2.5.0", reason="NumPy has ended them")
@pytest.mark.parametrize("shapes", [((2,), (2,)), ((2,), (3,)), ((4, 3), (2,)), ((4, 2), (5, 1, 2))])
def test_cross_product_in_the_plane(shapes):
    """NumPy still takes vectors of two components, with a warning."""
    rng = np.random.default_rng(2)
    a, b, a_step, b_step = (rng.standard_normal(lengths) for lengths in (*shapes, *shapes))
    with pytest.warns(DeprecationWarning, match="2-dimensional"):
        y, back = lookup(np.cross)[0].function(a, b)
    with pytest.warns(DeprecationWarning, match="2-dimensional"):
        step = np.cross(a_step, b) + np.cross(a, b_step)
    c = rng.standard_normal(y.shape)
    a_bar, b_bar = back(c)[:2]
    assert a_bar.shape == a.shape
    assert b_bar.shape == b.shape
    assert np.sum(a_bar * a_step) + np.sum(b_bar * b_step) == pytest.approx(np.sum(c * step))


W = np.linspace(-1.0, 2.0, 9).reshape(3, 3)


def chain(a, b, c):
    """A product of several matrices, a list made in the function."""
    return np.sum(np.linalg.multi_dot([a, b, c, W]) * W[:2])


def fields(a, b):
    """Products of vectors, by position and by name."""
    turned = np.cross(a, b, axis=-1) + np.linalg.cross(b, W[0])
    return np.sum(np.vecdot(turned, W) ** 2) + np.linalg.vecdot(a, b, axis=0)[1]


def corners(a):
    """Traces and diagonals, as functions and as a method."""
    diagonal = np.linalg.diagonal(a, offset=1)
    return a.trace(offset=-1) * np.linalg.trace(a, dtype=float) + np.sum(diagonal**3) + np.trace(a, 0, 1, 0, None)


def test_in_functions():
    """Compiled, with the calls as users write them."""
    check_gradient(chain, W[:2], W + 1, W * W)
    check_gradient(fields, W, np.cos(W))
    check_gradient(corners, W + 0.3)
    assert gradient(lambda a: np.trace(a, dtype=int) * 2.0)(W).tolist() == np.zeros((3, 3)).tolist()
