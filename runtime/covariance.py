"""Parts of the pullbacks of `np.cov` and `np.corrcoef`.

With the centred observations X (one row for each variable), the weights w and the divisor f, the covariance is
``C = X diag(w) X* / f``. Its cotangent goes to the observations as ``(C_bar + C_bar*) X diag(w) / f``: the centring
takes nothing from it, because the weighted observations sum to 0.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import like_of
from adcompiler.runtime.elementary import divide_singular, multiply_strong
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.layout import cast_bar
from adcompiler.runtime.shapes import ndim, shape, zeros


@dataclass(frozen=True)
class Observations:
    """The centred observations, their weights, and what these sums are divided by."""

    centred: Any
    fweights: Any
    aweights: Any
    ddof: int
    weights: Any
    divisor: Any


def observations(
    m: Any, y: Any, rowvar: bool, bias: bool, ddof: int | None, fweights: Any, aweights: Any, dtype: Any
) -> Observations:
    """What `np.cov` computes from, given the same arguments; the divisor is nan if there are too few of them."""
    if like_of(m) is not None and not (fweights is None and aweights is None):
        raise NoRuleError(
            "cupy.cov takes the plain mean from the observations, whatever the weights: it is no weighted covariance\n"
            "Write it out: x - np.average(x, 1, w)[:, None], and a product of matrices."
        )
    rows = _rows(m, rowvar)
    # Where there is no first variable NumPy looks at no other.
    rows = rows if y is None or not len(rows) else np.concatenate([rows, _rows(y, _in_rows(y, rowvar))])
    rows = rows.astype(np.result_type(rows, float) if dtype is None else dtype, copy=False)
    ddof = int(not bias) if ddof is None else ddof
    fweights, aweights = (np.asarray(w, dtype=float) if isinstance(w, list) else w for w in (fweights, aweights))
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    if weights is None:
        mean, divisor = np.mean(rows, axis=1, keepdims=True), rows.shape[1] - ddof
    else:
        total = np.sum(weights)
        mean = np.sum(rows * weights, axis=1, keepdims=True) / total
        divisor = total - ddof * (1 if aweights is None else np.sum(weights * aweights) / total)
    return Observations(rows - mean, fweights, aweights, ddof, weights, np.where(divisor > 0, divisor, np.nan)[()])


def _rows(m: Any, rowvar: bool) -> Any:
    rows = np.atleast_2d(m)
    return rows if rowvar or ndim(m) < 2 else rows.T


def _in_rows(y: Any, rowvar: bool) -> bool:
    """Whether the second argument has its variables in rows: one row is one variable whatever `rowvar` says."""
    return rowvar or len(np.atleast_2d(y)) == 1


def observation_bars(c: Any, found: Observations, m: Any, y: Any, rowvar: bool) -> tuple[Any, Any]:
    """The cotangents of `m` and `y` in their covariance, of which `c` is the cotangent."""
    x = found.centred
    if not len(x):
        return zeros(shape(m), c), None if y is None else zeros(shape(y), c)
    c = np.reshape(c, (len(x), len(x)))
    weighted = x if found.weights is None else x * found.weights
    bar = (multiply_strong(c + np.conj(c.T), 1 / found.divisor)) @ weighted
    count = len(_rows(m, rowvar))
    return _as_given(bar[:count], m, rowvar), None if y is None else _as_given(bar[count:], y, _in_rows(y, rowvar))


def _as_given(bar: Any, m: Any, rowvar: bool) -> Any:
    """The cotangent of the rows that `m` was made into, in the form of `m`."""
    return np.reshape(bar if rowvar or ndim(m) < 2 else bar.T, shape(m))


def aweights_bar(c: Any, found: Observations, covariance: Any) -> Any:
    """The cotangent of the weights `aweights`, on which the divisor depends too."""
    if found.aweights is None:
        return None
    x = found.centred
    c = np.reshape(c, (len(x), len(x)))
    repeated = 1 if found.fweights is None else found.fweights
    direct = np.sum(np.real(np.conj(c.T) @ x * np.conj(x)), axis=0)
    total, squares = np.sum(found.weights), np.sum(found.weights * found.aweights)
    slope = 1 - found.ddof * (2 * found.aweights / total - squares / total**2)
    along = np.sum(np.real(np.conj(c) * np.reshape(covariance, c.shape)))
    return multiply_strong(repeated * (direct - along * slope), 1 / found.divisor)


def correlation_bar(c: Any, y: Any, found: Observations) -> Any:
    """The cotangent of the covariance in the correlation `y`; 0 for a variable that does not vary."""
    if not ndim(y):
        return np.zeros((1, 1))
    c = cast_bar(c, y.dtype)
    x = found.centred
    spread = np.sqrt(np.real(np.sum(x * np.conj(x), axis=1)) / found.divisor)
    bar = divide_singular(divide_singular(c, spread[:, None]), spread[None, :])
    pulled = np.real(multiply_strong(np.conj(c), y))
    own = np.sum(pulled, axis=0) + np.sum(pulled, axis=1)
    return bar - np.diag(divide_singular(divide_singular(own, spread), 2 * spread))
