"""Parts of the pullbacks of singular values and singular vectors of (stacks of) matrices."""

from typing import Any

import numpy as np

from adcompiler.runtime.errors import DifferentiationError
from adcompiler.runtime.factors import lead_bar
from adcompiler.runtime.matrices import unit
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.shapes import shape
from adcompiler.runtime.spectral import (
    divide_where_not,
    eigen_bar,
    equal_values,
    exceeds,
    largest,
    repeated_part,
    require_no_turn,
    share_equal,
)


def svd_bar(y_bar: Any, a: Any, y: Any, compute_uv: bool, hermitian: bool) -> Any:
    """The cotangent of `a` in ``y = np.linalg.svd(a, compute_uv=compute_uv, hermitian=hermitian)``.

    Singular vectors have a free phase, and those of equal singular values a free rotation: raises DifferentiationError
    if the function depends on them, or if more than its cotangents would have to be known there.
    """
    if compute_uv:
        u_bar, s_bar, vh_bar = y_bar
        u, s, vh = y
    else:
        u_bar, s_bar, vh_bar = None, y_bar, None
        # Only NumPy knows of Hermitian matrices.
        whole = np.linalg.svd(a, False, True, True) if hermitian else np.linalg.svd(a, full_matrices=False)
        u, s, vh = whole
    if (u_bar is None and s_bar is None and vh_bar is None) or 0 in shape(a):
        return np.zeros_like(u, shape=shape(a))
    s_bar = None if s_bar is None else np.real(s_bar)
    v_bar = None if vh_bar is None else adjoint(vh_bar)
    if hermitian:
        return _hermitian_bar(u_bar, s_bar, v_bar, u, s, adjoint(vh))
    k = s.shape[-1]
    u_bar = lead_bar(u_bar, u, k, "the left singular vectors of the null space")
    v_bar = lead_bar(v_bar, adjoint(vh), k, "the right singular vectors of the null space")
    u, v = u[..., :k], adjoint(vh[..., :k, :])
    if u_bar is None and v_bar is None:
        return (u * value_slopes(s_bar, s, u.shape[-2] + v.shape[-2])[..., None, :]) @ adjoint(v)
    return _vectors_bar(u_bar, s_bar, v_bar, u, s, v)


def value_slopes(s_bar: Any, s: Any, size: int) -> Any:
    """The cotangents of singular values alone: shared by equal ones, and 0 at the kink of one that is 0."""
    return np.where(is_null(s, size), 0, share_equal(s_bar, equal_values(s)))


def is_null(s: Any, size: int) -> Any:
    """Which singular values are 0 up to the rounding of a matrix of this `size`."""
    return s <= np.finfo(s.dtype).eps * size * np.max(s, axis=-1, keepdims=True)


def _vectors_bar(u_bar: Any, s_bar: Any, v_bar: Any, u: Any, s: Any, v: Any) -> Any:
    """The cotangent of ``u @ diag(s) @ adjoint(v)``, one of the vectors' cotangents being given.

    Townsend (2016), "Differentiating the singular value decomposition", and for complex matrices Wan and Zhang (2019),
    "Automatic differentiation for complex valued SVD", with the two terms of the singular vectors joined, so that the
    polar factor needs distinct values no more than it does by itself.
    """
    null = is_null(s, u.shape[-2] + v.shape[-2])
    same = equal_values(s)
    both_null = null[..., None, :] & null[..., :, None]
    u_turn, v_turn = (_turn(x, bar, s) for x, bar in ((u, u_bar), (v, v_bar)))
    left, right = (turn - adjoint(turn) for turn in (u_turn, v_turn))
    size = largest(u_bar, v_bar)
    require_no_turn(left + right, same, size, "singular values")
    require_no_turn(left - right, both_null, size, "singular values that are 0")
    inner = 0.5 * divide_where_not(same, left + right, s[..., None, :] - s[..., :, None])
    inner = inner + 0.5 * divide_where_not(both_null, left - right, s[..., None, :] + s[..., :, None])
    if s_bar is not None:
        z = 0.5 * (u_turn + adjoint(u_turn) + v_turn + adjoint(v_turn))
        inner = inner + s_bar[..., None, :] * unit(inner) + repeated_part(z, s_bar, s, same)
    a_bar = u @ inner @ adjoint(v)
    if u_bar is not None and u.shape[-2] > s.shape[-1]:
        a_bar = a_bar + _outside(u_bar - u @ u_turn, s_bar, s, null, size) @ adjoint(v)
    if v_bar is not None and v.shape[-2] > s.shape[-1]:
        a_bar = a_bar + u @ adjoint(_outside(v_bar - v @ v_turn, s_bar, s, null, size))
    return a_bar


def _turn(x: Any, bar: Any, s: Any) -> Any:
    """How much the cotangents `bar` turn the vectors `x` among themselves."""
    return np.zeros_like(s, shape=(*s.shape, s.shape[-1])) if bar is None else adjoint(x) @ bar


def _outside(part: Any, s_bar: Any, s: Any, null: Any, size: Any) -> Any:
    """The `part` of the cotangents outside of the space of the vectors, divided by the singular values."""
    null = null[..., None, :]
    if np.any(null & (s_bar is not None or exceeds(part, size))):
        raise DifferentiationError(
            "a singular value 0 of a matrix that is not square: what its vectors are used for does not determine a "
            "derivative; write the function of the matrix without them"
        )
    return divide_where_not(null, part, s[..., None, :])


def require_no_null(part: Any, null: Any) -> None:
    """Raise DifferentiationError if the vectors of a singular value 0 have a tangent outside of their space."""
    if part.size and np.any(null[..., None, :] & exceeds(part, largest(part))):
        raise DifferentiationError(
            "a singular value 0 of a matrix that is not square: its vectors have no derivative\n"
            "Write the function of the matrix without them."
        )


def _hermitian_bar(u_bar: Any, s_bar: Any, v_bar: Any, u: Any, s: Any, v: Any) -> Any:
    """The cotangent of a Hermitian matrix: ``s`` are the sizes of its eigenvalues, ``v`` is ``u`` with their signs."""
    sign = np.round(np.real(np.sum(np.conj(u) * v, axis=-2)))
    if v_bar is not None:
        turned = v_bar * sign[..., None, :]
        u_bar = turned if u_bar is None else u_bar + turned
    elif u_bar is None:
        s_bar = value_slopes(s_bar, s, 2 * s.shape[-1])
    return eigen_bar(None if s_bar is None else s_bar * sign, u_bar, s * sign, u, "L")
