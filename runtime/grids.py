"""The pullbacks of functions of samples: interpolation, difference quotients, convolution."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.reduction import diff_bar
from adcompiler.runtime.scatter import scatter
from adcompiler.runtime.shapes import conj, dtype_of, shape, size, zeros
from adcompiler.runtime.special import bessel_i1

# Linear interpolation


class Interpolation:
    """Where each `x` lies among the sample points, once for all cotangents of ``np.interp``.

    At a sample point the slope is the mean of those on both sides, which at the ends are 0.
    """

    def __init__(self, x: Any, xp: Any, fp: Any, period: Any) -> None:
        self.order = None
        if period is not None:
            self.turns = np.floor_divide(x, abs(period)), np.floor_divide(xp, abs(period))
            x, xp = np.mod(x, abs(period)), np.mod(xp, abs(period))
            self.order = np.argsort(xp)
            xp, fp = xp[self.order], fp[self.order]
            xp = np.concatenate([xp[-1:] - abs(period), xp, xp[:1] + abs(period)])
            fp = np.concatenate([fp[-1:], fp, fp[:1]])
        self.count, last = size(xp), size(xp) - 2
        self.above, self.below = np.searchsorted(xp, x, "right") - 1, np.searchsorted(xp, x, "left") - 1
        self.interval = np.clip(self.above, 0, max(last, 0))
        self.low, self.high = x < xp[0], x > xp[-1]
        if self.count == 1:
            self.weight, self.slopes = 0.0 * x, None
            return
        widths = np.diff(xp)
        self.slopes = np.diff(fp) / widths
        weight = (x - xp[self.interval]) / widths[self.interval]
        self.weight = np.clip(weight, 0.0, 1.0)  # beyond the ends the end itself is read

    def x_bar(self, y_bar: Any) -> Any:
        """The cotangent of the points that are asked for."""
        if self.slopes is None:
            return y_bar * 0.0
        padded = np.concatenate([self.slopes[:1] * 0, self.slopes, self.slopes[:1] * 0])
        slope = 0.5 * (padded[self.above + 1] + padded[self.below + 1])
        return np.where(slope == 0, 0.0, np.real(y_bar * conj(slope)))

    def fp_bar(self, y_bar: Any, left: Any, right: Any) -> Any:
        """The cotangent of the sample values; what `left` and `right` replace has none."""
        kept = self._kept(y_bar, left, right)
        bar = scatter(kept * (1 - self.weight), self.interval, (self.count,))
        if self.slopes is not None:
            bar = bar + scatter(kept * self.weight, self.interval + 1, (self.count,))
        return self._unordered(bar)

    def xp_bar(self, y_bar: Any) -> Any:
        """The cotangent of the sample points."""
        return self._unordered(self._points_bar(y_bar))

    def period_bar(self, y_bar: Any, period: Any) -> Any:
        """Each whole turn moves a point by the period, and so do the samples repeated at the ends."""
        points_bar = self._points_bar(y_bar)
        moved = np.sum(self.x_bar(y_bar) * self.turns[0]) + np.sum(self._unordered(points_bar) * self.turns[1])
        return np.sign(period) * (points_bar[-1] - points_bar[0] - moved)

    def _points_bar(self, y_bar: Any) -> Any:
        """Each end of an interval moves the line in proportion to its weight."""
        if self.slopes is None:
            return zeros((1,), y_bar)
        inside = np.where(self.low | self.high, 0.0, np.real(y_bar * conj(self.slopes[self.interval])))
        bar = scatter(-inside * (1 - self.weight), self.interval, (self.count,))
        return bar + scatter(-inside * self.weight, self.interval + 1, (self.count,))

    def _kept(self, y_bar: Any, left: Any, right: Any) -> Any:
        replaced = (self.low if left is not None else False) | (self.high if right is not None else False)
        kept = y_bar if replaced is False or self.order is not None else np.where(replaced, 0.0, y_bar)
        return kept + 0.0 * self.weight

    def _unordered(self, bar: Any) -> Any:
        """With a period the first and last samples are repeated at the other end, and all were sorted."""
        if self.order is None:
            return bar
        inner = bar[1:-1].copy()
        inner[-1] += bar[0]
        inner[0] += bar[-1]
        return scatter(inner, self.order, shape(inner))


def outside_bar(y_bar: Any, outside: Any) -> Any:
    """The cotangent of the value taken outside of the samples."""
    return np.sum(np.where(outside, y_bar, 0.0))


# Difference quotients


def quotients(f: Any, axis: int, spacing: Any) -> tuple[Any, Any]:
    """The widths between neighbours along an axis (to be broadcast), and the slopes there."""
    number = np.real(np.zeros((), dtype_of(f))).dtype if dtype_of(f).kind in "fc" else np.float64
    widths = (
        np.diff(spacing).astype(number)
        if np.ndim(spacing)
        else np.full_like(f, spacing, number, shape=(shape(f)[axis] - 1,))
    )
    widths = widths.reshape((-1,) + (1,) * (np.ndim(f) - 1 - axis))
    return widths, np.diff(f, axis=axis) / widths


def gradient_bars(
    g: Any, y: Any, f: Any, axis: int, spacing: Any, edge_order: int, needs_spacing: bool
) -> tuple[Any, Any]:
    """The cotangents of `f` and, if it needs one, of the spacing for ``y = np.gradient(f, spacing, axis=axis)``.

    Inside, y is the mean of the slopes on both sides, each weighed with the width on the other side; at an edge it is
    the slope there, with `edge_order` 2 extrapolated from the two next to it.
    """
    widths, slopes = quotients(f, axis, spacing)
    slopes_bar = np.zeros_like(slopes, np.result_type(g, slopes))
    widths_bar = np.zeros_like(slopes_bar)

    def at(start: int | None, stop: int | None) -> tuple[slice, ...]:
        return (*(slice(None) for _ in range(axis)), slice(start, stop))

    def width(start: int | None, stop: int | None) -> Any:
        return widths[start:stop]

    inner, before, behind = g[at(1, -1)], at(None, -1), at(1, None)
    both = width(None, -1) + width(1, None)
    slopes_bar[before] += inner * (width(1, None) / both)
    slopes_bar[behind] += inner * (width(None, -1) / both)
    if needs_spacing:
        widths_bar[behind] += inner * conj(slopes[before] - y[at(1, -1)]) / both
        widths_bar[before] += inner * conj(slopes[behind] - y[at(1, -1)]) / both
    for edge, next_, end in ((at(None, 1), at(1, 2), at(None, 1)), (at(-1, None), at(-2, -1), at(-1, None))):
        slopes_bar[edge] += g[end]
        if edge_order == 2:
            w, v = widths[edge[-1]], widths[next_[-1]]
            step = slopes[edge] - slopes[next_]
            slopes_bar[edge] += g[end] * (w / (w + v))
            slopes_bar[next_] -= g[end] * (w / (w + v))
            widths_bar[edge] += g[end] * conj(step) * (v / (w + v) ** 2)
            widths_bar[next_] -= g[end] * conj(step) * (w / (w + v) ** 2)
    f_bar = diff_bar(slopes_bar / widths, shape(f), 1, axis)
    if not needs_spacing:
        return f_bar, None
    return f_bar, _spacing_bar(widths_bar - slopes_bar * conj(slopes) / widths, axis, spacing)


def _spacing_bar(widths_bar: Any, axis: int, spacing: Any) -> Any:
    others = tuple(i for i in range(np.ndim(widths_bar)) if i != axis)
    along = np.real(np.sum(widths_bar, axis=others))
    return diff_bar(along, shape(spacing), 1, 0) if np.ndim(spacing) else np.sum(along)


def gradient_axes(f: Any, axis: Any) -> tuple[int, ...]:
    """The axes of ``np.gradient``, counted from the front."""
    if axis is None:
        return tuple(range(np.ndim(f)))
    return tuple(a % np.ndim(f) for a in (axis if isinstance(axis, tuple) else (axis,)))


def gradient_spacings(spacings: Sequence[Any], count: int) -> list[Any]:
    """One spacing for each axis: 1 if there is none, the same for all if there is one."""
    if not spacings:
        return [1.0] * count
    return list(spacings) * count if len(spacings) == 1 else list(spacings)


def refuse_complex(spacings: Sequence[Any]) -> None:
    """Raise for samples at complex places, along which the slopes of NumPy are no derivatives."""
    if any(np.iscomplexobj(spacing) for spacing in spacings):
        raise NoRuleError(
            "np.gradient with complex spacings has no derivative\nUse real ones, or divide by the step yourself."
        )


# Convolution


def full_of(y_bar: Any, n: int, m: int, mode: Any, from_behind: bool = False) -> Any:
    """The cotangent of a whole convolution of lengths `n` and `m`, of which `mode` has cut out a part.

    `from_behind`: the odd one that is cut off by ``"same"`` is at the end, as in a correlation with a longer second.
    """
    short = min(n, m) - 1
    start = {"full": 0, "same": short - short // 2 if from_behind else short // 2, "valid": short}[_mode(mode)]
    full = zeros((n + m - 1,), y_bar)
    full[start : start + size(y_bar)] = y_bar
    return full


def _mode(mode: Any) -> str:
    """The mode that one of NumPy's abbreviations stands for."""
    names = ("valid", "same", "full")
    return names[mode] if isinstance(mode, int) else next(name for name in names if name.startswith(mode.lower()))


def convolution_bar(full_bar: Any, other: Any) -> Any:
    """The cotangent of one factor of a whole convolution with `other`, an array of one dimension."""
    return np.correlate(full_bar, other, "valid")


# Windows


def kaiser_slope(y: Any, m: int, beta: Any) -> Any:
    """How ``y = I0(beta * s) / I0(beta)`` moves with beta, where s runs along half a circle."""
    half = (m - 1) / 2
    s = np.sqrt(1 - ((np.arange(m) - half) / (half or 1)) ** 2) if m > 1 else np.ones(m)
    return (s * bessel_i1(beta * s) - y * bessel_i1(np.asarray(beta))) / np.i0(beta)
