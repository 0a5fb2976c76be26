"""Rules for the transforms of scipy.fft, all of them linear: those of `numpy.fft`, and cosine and sine transforms."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import fft

from adcompiler.rules.forward import frule
from adcompiler.rules.registry import non_differentiable, refused, rrule
from adcompiler.runtime.fourier import (
    fft_bar,
    fftn_bar,
    hfft_bar,
    ifft_bar,
    ifftn_bar,
    ihfft_bar,
    irfft_bar,
    irfftn_bar,
    over_axes,
    rfft_bar,
    rfftn_bar,
)
from adcompiler.runtime.shapes import conj, fit, shape

COMPLEX, REAL = "same_rank_complex", "same_rank_real"

# The cotangent of x, from that of the result: one axis of length n, or several of lengths s

ONE_AXIS: dict[str, tuple[str, Callable[..., Any]]] = {
    "fft": (COMPLEX, lambda c, x, n, axis, norm: fft_bar(c, shape(x), axis, norm)),
    "ifft": (COMPLEX, lambda c, x, n, axis, norm: ifft_bar(c, shape(x), axis, norm)),
    "rfft": (COMPLEX, lambda c, x, n, axis, norm: rfft_bar(c, shape(x), n, axis, norm)),
    "irfft": (REAL, lambda c, x, n, axis, norm: irfft_bar(c, shape(x), np.isrealobj(x), axis, norm)),
    "hfft": (REAL, lambda c, x, n, axis, norm: hfft_bar(c, shape(x), np.isrealobj(x), axis, norm)),
    "ihfft": (COMPLEX, lambda c, x, n, axis, norm: ihfft_bar(c, shape(x), n, axis, norm)),
}
SEVERAL_AXES: dict[str, tuple[str, Callable[..., Any]]] = {
    "fftn": (COMPLEX, lambda c, x, s, axes, norm: fftn_bar(c, shape(x), s, axes, norm)),
    "ifftn": (COMPLEX, lambda c, x, s, axes, norm: ifftn_bar(c, shape(x), s, axes, norm)),
    "rfftn": (COMPLEX, lambda c, x, s, axes, norm: rfftn_bar(c, shape(x), s, axes, norm)),
    "irfftn": (REAL, lambda c, x, s, axes, norm: irfftn_bar(c, shape(x), np.isrealobj(x), s, axes, norm)),
}


def one_axis(name: str, bar: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a transform along one axis."""
    transform = getattr(fft, name)

    def rule(x: Any, n: Any = None, axis: Any = -1, norm: Any = None, *, workers: Any = None) -> Any:
        y = transform(x, n, axis, norm, workers=workers)

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            return bar(y_bar, x, n, axis, norm), None, None, None, None

        return y, pullback

    rule.__name__ = name
    return rule


def several_axes(name: str, bar: Callable[..., Any], default: Any) -> Callable[..., Any]:
    """The rule of a transform along several axes, `default` if none are named."""
    transform = getattr(fft, name)

    def rule(x: Any, s: Any = None, axes: Any = default, norm: Any = None, *, workers: Any = None) -> Any:
        y = transform(x, s, axes, norm, workers=workers)

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            return bar(y_bar, x, s, axes, norm), None, None, None, None

        return y, pullback

    rule.__name__ = name
    return rule


for _name, (_kind, _bar) in ONE_AXIS.items():
    rrule(getattr(fft, _name), kind=_kind, linear=("x",))(one_axis(_name, _bar))
for _name, (_kind, _bar) in SEVERAL_AXES.items():
    rrule(getattr(fft, _name), kind=_kind, linear=("x",))(several_axes(_name, _bar, None))
    rrule(getattr(fft, f"{_name[:-1]}2"), kind=_kind, linear=("x",))(several_axes(f"{_name[:-1]}2", _bar, (-2, -1)))

# Cosine and sine transforms. Types 1 and 4 are symmetric but for the weights of the ends, 2 and 3 transposes of each
# other.

SWAPPED = {None: "forward", "backward": "forward", "forward": None, "ortho": "ortho"}
OPPOSITE = {1: 1, 2: 3, 3: 2, 4: 4}


def ends(c: Any, axis: int, kind: str, factor: float) -> Any:
    """`c` with its first entries along an axis multiplied by `factor`; in a sine transform the last."""
    weights = np.ones(c.shape[axis], np.real(c).dtype)
    weights[0 if kind == "dct" else -1] = factor
    return c * np.expand_dims(weights, tuple(a for a in range(c.ndim) if a != axis % c.ndim))


def both_ends(c: Any, axis: int, factor: float) -> Any:
    """`c` with its first and last entries along an axis multiplied by `factor`."""
    return np.flip(ends(np.flip(ends(c, axis, "dct", factor), axis), axis, "dct", factor), axis)


def transposed(c: Any, kind: str, type_: int, axis: int, norm: str | None) -> Any:
    """The transpose of a cosine or sine transform along one axis (Makhoul 1980); an orthogonal one has its inverse."""
    transform = getattr(fft, kind)
    if norm == "ortho":
        return getattr(fft, f"i{kind}")(c, type_, axis=axis, norm="ortho")
    if type_ == 1 and kind == "dct":
        return both_ends(transform(both_ends(c, axis, 2.0), 1, axis=axis, norm=norm), axis, 0.5)
    if type_ == 2:
        return transform(ends(c, axis, kind, 2.0), 3, axis=axis, norm=norm)
    if type_ == 3:
        return ends(transform(c, 2, axis=axis, norm=norm), axis, kind, 0.5)
    return transform(c, type_, axis=axis, norm=norm)


def direct(kind: str, type_: int, norm: str | None) -> tuple[str, int, str | None]:
    """An inverse transform as a direct one: of the opposite type, scaled the other way."""
    return (kind[1:], OPPOSITE[type_], SWAPPED[norm]) if kind.startswith("i") else (kind, type_, norm)


def along_one(name: str) -> Callable[..., Any]:
    """The rule of a cosine or sine transform along one axis."""
    transform = getattr(fft, name)

    def rule(x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, *, workers: Any = None) -> Any:
        y = transform(x, type, n, axis, norm, workers=workers)
        kind, direct_type, direct_norm = direct(name, type, norm)
        x_shape = shape(x)

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            bar = over_axes(
                y_bar, x_shape, (n,), (axis,), lambda c, a: transposed(c, kind, direct_type, a, direct_norm)
            )
            return bar, None, None, None, None, None

        return y, pullback

    rule.__name__ = name
    return rule


def along_several(name: str) -> Callable[..., Any]:
    """The rule of a cosine or sine transform along several axes."""
    transform = getattr(fft, name)

    def rule(x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None, *, workers: Any = None) -> Any:
        y = transform(x, type, s, axes, norm, workers=workers)
        kind, direct_type, direct_norm = direct(name[:-1], type, norm)
        x_shape = shape(x)

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            bar = over_axes(y_bar, x_shape, s, axes, lambda c, a: transposed(c, kind, direct_type, a, direct_norm))
            return bar, None, None, None, None, None

        return y, pullback

    rule.__name__ = name
    return rule


for _name in ("dct", "dst", "idct", "idst"):
    rrule(getattr(fft, _name), kind="unknown", linear=("x",))(along_one(_name))
    rrule(getattr(fft, f"{_name}n"), kind="unknown", linear=("x",))(along_several(f"{_name}n"))

# Positions and frequencies


@rrule(fft.fftshift, result="fresh", kind="like", linear=("x",))
def fftshift(x, axes=None):
    y = fft.fftshift(x, axes)

    def pullback(y_bar):
        return fft.ifftshift(y_bar, axes), None

    return y, pullback


@rrule(fft.ifftshift, result="fresh", kind="like", linear=("x",))
def ifftshift(x, axes=None):
    y = fft.ifftshift(x, axes)

    def pullback(y_bar):
        return fft.fftshift(y_bar, axes), None

    return y, pullback


@rrule(fft.fftfreq, result="fresh", kind="array1")
def fftfreq(n, d=1.0):
    y = fft.fftfreq(n, d)

    def pullback(y_bar):
        return None, fit(y_bar * conj(-y / d), shape(d))

    return y, pullback


@frule(fft.fftfreq)
def fftfreq_forward(tangents, n, d=1.0):
    y = fft.fftfreq(n, d)
    return y, -y / d * tangents[1]


@frule(fft.rfftfreq)
def rfftfreq_forward(tangents, n, d=1.0):
    y = fft.rfftfreq(n, d)
    return y, -y / d * tangents[1]


@rrule(fft.rfftfreq, result="fresh", kind="array1")
def rfftfreq(n, d=1.0):
    y = fft.rfftfreq(n, d)

    def pullback(y_bar):
        return None, fit(y_bar * conj(-y / d), shape(d))

    return y, pullback


non_differentiable(fft.next_fast_len, fft.prev_fast_len, fft.get_workers, kind="int")
non_differentiable(fft.set_workers, fft.register_backend, fft.set_backend, fft.set_global_backend, kind="other")
non_differentiable(fft.skip_backend, fft.test, fft.fhtoffset, kind="other")
refused(
    *(fft.hfft2, fft.ihfft2, fft.hfftn, fft.ihfftn),
    why="The Hermitian transforms over several axes are conjugates of others.\n"
    "Use irfftn(x.conj(), s, axes, norm) with the other scaling for hfftn, and rfftn(x).conj() for ihfftn.",
)
refused(
    fft.fht,
    fft.ifht,
    why="Its output is not uniformly sampled, and no derivative is given.\nUse fft.fft of the samples.",
)
