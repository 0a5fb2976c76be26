"""Parts of the pullbacks of eigenvalues and eigenvectors of (stacks of) matrices.

What eigenvalues that are equal make of a derivative: the values alone share their cotangents, so that the result does
not depend on the arbitrary basis of the common space. With the vectors, the cotangents fix the derivative only of a
function that maps all these values alike, such as a product of the factors; else DifferentiationError is raised.
"""

from typing import Any

import numpy as np

from adcompiler.runtime.errors import DifferentiationError
from adcompiler.runtime.factors import read_triangle
from adcompiler.runtime.matrices import unit
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.shapes import conj, real

# Above this condition number of the eigenvectors a matrix counts as not diagonalisable: those of a double eigenvalue
# without two eigenvectors have, up to rounding, one of about eps ** -0.5.
_DEFECTIVE = 0.1 * float(np.finfo(float).eps) ** -0.5


def equal_values(w: Any, slack: Any = 1.0) -> Any:
    """Which of the values in the last axis are equal up to `slack` times the rounding, as a matrix of bools."""
    gaps = np.abs(w[..., None, :] - w[..., :, None])
    scale = np.max(np.abs(w), axis=-1)[..., None, None] if w.size else 0.0
    return gaps <= 4 * np.finfo(w.dtype).eps * w.shape[-1] * scale * slack


def share_equal(bar: Any, same: Any) -> Any:
    """The cotangents `bar` of values, with their mean for each of those that are equal."""
    return _total(bar, same) / np.sum(same, axis=-1, dtype=real(bar).dtype)


def divide_where_not(mask: Any, turn: Any, divisor: Any) -> Any:
    """``turn / divisor``, and 0 where the `mask` is set."""
    return np.where(mask, 0, turn / np.where(mask, 1, divisor))


def exceeds(part: Any, size: Any) -> Any:
    """Where a `part` is more than the rounding of numbers of this `size`."""
    return np.abs(part) > np.finfo(part.dtype).eps ** 0.5 * size


def require_no_turn(turn: Any, same: Any, size: Any, values: str) -> None:
    """Raise DifferentiationError if a function changes when the vectors of the `same` values are turned."""
    turned = same & exceeds(turn, size)
    if np.any(turned & ~unit(turned)):
        raise DifferentiationError(
            f"equal {values}: their vectors are any basis of a space, and the function depends on which one; "
            "use the space only, or separate the values"
        )
    if np.any(turned):
        raise DifferentiationError(no_phase(values))


def require_apart(inner: Any, same: Any) -> None:
    """Raise DifferentiationError if a tangent, `inner` in terms of the vectors, tells the `same` values apart."""
    off = same & ~unit(same)
    if inner.size and np.any(off & exceeds(inner, largest(inner))):
        raise DifferentiationError(
            "equal eigenvalues or singular values that move apart: their vectors jump, and have no derivative\n"
            "Use the values alone (eigvalsh, svdvals), or a function of the matrix without its vectors."
        )


def largest(*bars: Any) -> Any:
    """The largest absolute value in each matrix of `bars`, which may be None, for all of them together."""
    sizes = [np.max(np.abs(bar), axis=(-2, -1), keepdims=True) for bar in bars if bar is not None]
    return sizes[0] if len(sizes) == 1 else np.maximum(*sizes)


def no_phase(values: str) -> str:
    """The message for a function of the phases of complex vectors."""
    return (
        f"the vectors of {values} are fixed only up to a phase, and the function depends on it: use what does not, "
        "such as absolute values or products with the conjugate"
    )


def repeated_part(z: Any, bar: Any, w: Any, same: Any) -> Any:
    """The inner derivative between vectors of equal values, given the Hermitian part `z` of the turn of the vectors.

    A function of ``v @ diag(g(w)) @ vh`` has, between vectors of equal values w, ``z = 2 * g(w) * p`` and, on the
    diagonal, ``bar = g'(w) * p``: the ratio that the diagonals have in common holds for the rest. A constant diagonal
    would not tell this from a function of the values alone that is added. Else raises DifferentiationError.
    """
    off = same & ~unit(same)
    if not np.any(off):
        return 0.0
    small = np.finfo(w.dtype).eps ** 0.5
    t = np.real(np.diagonal(z, axis1=-2, axis2=-1))
    squares = _total(t * t, same)
    ratio = _total(t * bar, same) / np.where(squares == 0, 1, squares)
    spread = _total((t - share_equal(t, same)) ** 2, same)
    scale = np.max(np.abs(w), axis=-1)[..., None]
    z_size = np.max(_among(same, np.max(np.where(same, np.abs(z), 0), axis=-1)), axis=-1)
    bar_size = np.max(_among(same, np.abs(bar)), axis=-1)
    varied = spread > (small * z_size) ** 2
    common = np.abs(bar - ratio * t) <= small * bar_size
    accurate = np.abs(ratio) * scale * small <= 1  # else the function is rounding, as the logarithm is at 1
    if np.any(np.any(off, axis=-1) & ~(varied & common & accurate)):
        raise DifferentiationError(
            "equal eigenvalues or singular values: what their vectors and values are used for does not determine a "
            "derivative; write the function of the matrix without them, or separate the values"
        )
    return np.where(off, ratio[..., None] * z, 0)


def _total(x: Any, same: Any) -> Any:
    """Sums of `x` over the values that are equal."""
    return (same.astype(x.dtype) @ x[..., None])[..., 0]


def _among(same: Any, x: Any) -> Any:
    return np.where(same, x[..., None, :], 0)


def eigh_bar(y_bar: Any, w: Any, v: Any, uplo: str) -> Any:
    """The cotangent of `a` in ``w, v = np.linalg.eigh(a)``: Giles (2008), section 3.1.

    Eigenvectors have a free phase, and those of equal eigenvalues a free rotation: raises DifferentiationError if the
    function depends on them.
    """
    return eigen_bar(y_bar[0], y_bar[1], w, v, uplo)


def eigen_bar(w_bar: Any, v_bar: Any, w: Any, v: Any, uplo: str) -> Any:
    """The same, for the cotangents of the values and of the vectors."""
    if (w_bar is None and v_bar is None) or not v.size:
        return np.zeros_like(v)
    inner: Any = 0.0
    same = equal_values(w)
    w_bar = None if w_bar is None else np.real(w_bar)
    if v_bar is None:
        w_bar = share_equal(w_bar, same)
    else:
        turn = adjoint(v) @ v_bar
        skew = turn - adjoint(turn)
        require_no_turn(skew, same, largest(v_bar), "eigenvalues")
        inner = 0.5 * divide_where_not(same, skew, w[..., None, :] - w[..., :, None])
        if w_bar is not None:
            inner = inner + repeated_part(0.5 * (turn + adjoint(turn)), w_bar, w, same)
    if w_bar is not None:
        inner = inner + w_bar[..., None, :] * unit(v)
    return read_triangle(v @ inner @ adjoint(v), uplo.upper() == "U")


def eigvalsh_bar(y_bar: Any, a: Any, uplo: Any) -> Any:
    """The cotangent of `a` in ``np.linalg.eigvalsh(a)``."""
    w, v = np.linalg.eigh(a, uplo)
    return eigen_bar(y_bar, None, w, v, uplo)


def eig_bar(y_bar: Any, a_is_real: bool, w: Any, v: Any) -> Any:
    """The cotangent of `a` in ``w, v = np.linalg.eig(a)``, whose eigenvectors have length 1.

    Boeddeker, Hanebrink, Drude, Heymann and Haeb-Umbach (2017), "On the computation of complex-valued gradients with
    application to statistically optimum beamforming", section 4.2. Eigenvectors have a free phase, unless matrix and
    eigenvalue are real: raises DifferentiationError if the function depends on it, if a matrix cannot be diagonalised,
    or if the vectors are used where eigenvalues are equal.
    """
    return general_eigen_bar(y_bar[0], y_bar[1], a_is_real, w, v)


def general_eigen_bar(w_bar: Any, v_bar: Any, a_is_real: bool, w: Any, v: Any) -> Any:
    """The same, for the cotangents of the values and of the vectors."""
    if (w_bar is None and v_bar is None) or not v.size:
        return np.zeros_like(v)
    inverse, condition = inverse_of_eigenvectors(v)
    same = equal_values(w, condition)
    if v_bar is None:
        inner = share_equal(w_bar, same)[..., None, :] * unit(v)
        return adjoint(inverse) @ inner @ adjoint(v)
    if np.any(same & ~unit(v)):
        raise DifferentiationError(
            "equal eigenvalues: their eigenvectors have no derivative; write the function of the matrix without them"
        )
    turn = adjoint(v) @ v_bar
    lengths = np.diagonal(turn, axis1=-2, axis2=-1)
    free = (np.imag(w) != 0) | (not a_is_real)
    if np.any(free & exceeds(np.imag(lengths), largest(v_bar)[..., 0])):
        raise DifferentiationError(no_phase("eigenvalues"))
    kept = turn - adjoint(v) @ v * np.real(lengths)[..., None, :]
    inner = divide_where_not(same, kept, conj(w[..., None, :] - w[..., :, None]))
    if w_bar is not None:
        inner = inner + w_bar[..., None, :] * unit(v)
    return adjoint(inverse) @ inner @ adjoint(v)


def eigvals_bar(y_bar: Any, a: Any) -> Any:
    """The cotangent of `a` in ``np.linalg.eigvals(a)``."""
    w, v = np.linalg.eig(a)
    return general_eigen_bar(y_bar, None, False, w, v)


def inverse_of_eigenvectors(v: Any) -> tuple[Any, Any]:
    """The inverse of `v` and its condition number, if the matrices can be diagonalised."""
    condition: Any
    try:
        inverse = np.linalg.inv(v)
        with np.errstate(all="ignore"):
            condition = np.linalg.norm(v, axis=(-2, -1), keepdims=True)
            condition = condition * np.linalg.norm(inverse, axis=(-2, -1), keepdims=True)
    except np.linalg.LinAlgError:
        inverse, condition = v, np.inf
    if not np.all(condition < _DEFECTIVE):
        raise DifferentiationError(
            "a matrix that cannot be diagonalised (or only up to rounding): its eigenvalues have no derivative; use a "
            "function of the matrix that does not need them"
        )
    return inverse, condition
