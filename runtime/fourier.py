"""Parts of the pullbacks of Fourier transforms. A transform is linear, so its pullback is its adjoint: the transform in
the other direction, scaled the other way, and cut or filled with zeros to the length that the argument had.

Briggs and Henson (1995), "The DFT: an owner's manual for the discrete Fourier transform", chapters 2 and 4.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adcompiler.runtime.shapes import Shape, conj, real, zeros

# The scaling that makes the transform in the other direction the adjoint.
_OTHER_NORM: dict[Any, Any] = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}

# (axis, length before the transform, length that is transformed)
Step = tuple[int, int, int]


def resize(c: Any, length: int, axis: int) -> Any:
    """`c` cut, or filled with zeros, to `length` along `axis`: the adjoint of what a transform does to its argument."""
    given = c.shape[axis]
    if given == length:
        return c
    axis = axis % c.ndim
    if given > length:
        return c[(slice(None),) * axis + (slice(length),)]
    return np.pad(c, [(0, length - given if other == axis else 0) for other in range(c.ndim)])


# One axis


def fft_bar(c: Any, a_shape: Shape, axis: int, norm: str | None) -> Any:
    """The cotangent of `a` in ``np.fft.fft(a, n, axis, norm)``."""
    return resize(np.fft.ifft(c, axis=axis, norm=_OTHER_NORM[norm]), a_shape[axis], axis)


def ifft_bar(c: Any, a_shape: Shape, axis: int, norm: str | None) -> Any:
    """The cotangent of `a` in ``np.fft.ifft(a, n, axis, norm)``."""
    return resize(np.fft.fft(c, axis=axis, norm=_OTHER_NORM[norm]), a_shape[axis], axis)


def rfft_bar(c: Any, a_shape: Shape, n: int | None, axis: int, norm: str | None) -> Any:
    """The cotangent of `a` in ``np.fft.rfft(a, n, axis, norm)``.

    The inverse counts every frequency twice, except those that are their own mirror image: it is given half of them.
    """
    n = a_shape[axis] if n is None else n
    half = c * _weights(c, n, axis, 0.5)
    return resize(np.fft.irfft(half, n, axis, _OTHER_NORM[norm]), a_shape[axis], axis)


def irfft_bar(c: Any, a_shape: Shape, a_is_real: bool, axis: int, norm: str | None) -> Any:
    """The cotangent of `a` in ``np.fft.irfft(a, n, axis, norm)``."""
    both = np.fft.rfft(real(c), axis=axis, norm=_OTHER_NORM[norm])
    a_bar = resize(both * _weights(both, c.shape[axis], axis, 2.0), a_shape[axis], axis)
    return real(a_bar) if a_is_real else a_bar


def hfft_bar(c: Any, a_shape: Shape, a_is_real: bool, axis: int, norm: str | None) -> Any:
    """The cotangent of `a` in ``np.fft.hfft(a, n, axis, norm)``, `irfft` of the conjugate, scaled as `rfft`."""
    return conj(irfft_bar(c, a_shape, a_is_real, axis, _OTHER_NORM[norm]))


def ihfft_bar(c: Any, a_shape: Shape, n: int | None, axis: int, norm: str | None) -> Any:
    """The cotangent of `a` in ``np.fft.ihfft(a, n, axis, norm)``, the conjugate of `rfft`, scaled as `irfft`."""
    return rfft_bar(conj(c), a_shape, n, axis, _OTHER_NORM[norm])


def _weights(c: Any, n: int, axis: int, weight: float) -> Any:
    """`weight` for each of the frequencies ``0 .. n // 2`` along `axis`, and 1 for 0 and for ``n / 2``."""
    weights = zeros((n // 2 + 1,), real(c))
    weights[...] = weight
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    return weights.reshape([-1 if other == axis % c.ndim else 1 for other in range(c.ndim)])


# Several axes


def fftn_bar(c: Any, a_shape: Shape, s: Any, axes: Any, norm: str | None) -> Any:
    """The cotangent of `a` in ``np.fft.fftn(a, s, axes, norm)``; an axis may be named more than once."""
    for axis, before, _ in reversed(_steps(a_shape, s, axes)):
        c = resize(np.fft.ifft(c, axis=axis, norm=_OTHER_NORM[norm]), before, axis)
    return c


def ifftn_bar(c: Any, a_shape: Shape, s: Any, axes: Any, norm: str | None) -> Any:
    """The cotangent of `a` in ``np.fft.ifftn(a, s, axes, norm)``."""
    for axis, before, _ in reversed(_steps(a_shape, s, axes)):
        c = resize(np.fft.fft(c, axis=axis, norm=_OTHER_NORM[norm]), before, axis)
    return c


def rfftn_bar(c: Any, a_shape: Shape, s: Any, axes: Any, norm: str | None) -> Any:
    """The cotangent of `a` in ``np.fft.rfftn(a, s, axes, norm)``: `rfft` over the last axis, then `fft`."""
    first, *others = _steps(a_shape, s, axes)
    axis, before, n = first
    # An axis that is named again has by then the length of a spectrum.
    others = [(other, n // 2 + 1 if _same_axis(other, axis, a_shape) else m, k) for other, m, k in others]
    for other, length, _ in reversed(others):
        c = resize(np.fft.ifft(c, axis=other, norm=_OTHER_NORM[norm]), length, other)
    shape = tuple(before if place == axis % len(a_shape) else m for place, m in enumerate(c.shape))
    return rfft_bar(c, shape, n, axis, norm)


def irfftn_bar(c: Any, a_shape: Shape, a_is_real: bool, s: Any, axes: Any, norm: str | None) -> Any:
    """The cotangent of `a` in ``np.fft.irfftn(a, s, axes, norm)``: `ifft` over the first axes, then `irfft`."""
    *others, last = _given(a_shape, s, axes)
    lengths, steps = list(a_shape), []
    for axis, n in others:
        steps.append((axis, lengths[axis]))
        lengths[axis] = n
    c = irfft_bar(c, tuple(lengths), a_is_real and not others, last[0], norm)
    for axis, before in reversed(steps):
        c = resize(np.fft.fft(c, axis=axis, norm=_OTHER_NORM[norm]), before, axis)
    return real(c) if a_is_real else c


def _given(a_shape: Shape, s: Sequence[int] | None, axes: Sequence[int] | None) -> list[tuple[int, int]]:
    """The axes of a transform over several, each with the length that is transformed, in the order of the call."""
    if axes is None:
        axes = range(-len(a_shape if s is None else s), 0)
    lengths = [-1] * len(axes) if s is None else s
    return [(axis, a_shape[axis] if n in (-1, None) else n) for axis, n in zip(axes, lengths, strict=True)]


def _steps(a_shape: Shape, s: Any, axes: Any) -> list[Step]:
    """The single transforms in the order in which NumPy makes them: from the last axis to the first."""
    lengths, steps = list(a_shape), []
    for axis, n in reversed(_given(a_shape, s, axes)):
        steps.append((axis, lengths[axis], n))
        lengths[axis] = n
    return steps


def _same_axis(a: int, b: int, a_shape: Shape) -> bool:
    return a % len(a_shape) == b % len(a_shape)


def over_axes(c: Any, x_shape: Shape, s: Any, axes: Any, transposed: Callable[[Any, int], Any]) -> Any:
    """The cotangent of `x` for a transform made along one axis after another, given its transpose along one."""
    for axis, before, _ in reversed(_steps(x_shape, s, axes)):
        c = resize(transposed(c, axis), before, axis)
    return c
