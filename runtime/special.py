"""Derivatives that NumPy and the math module do not have: digamma, the Bessel function I1, slopes of sinc, arcsinh."""

import math
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import as_array
from adcompiler.runtime.elementary import is_finite

# B(2k) / 2k of the asymptotic series, DLMF 5.11.2.
_DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_DIGAMMA_ASYMPTOTIC = 10.0


def digamma(x: float) -> float:
    """The logarithmic derivative of the gamma function, nan at its poles."""
    x = float(x)
    if x <= 0:
        if x == math.floor(x):
            return math.nan
        return digamma(1 - x) - math.pi / math.tan(math.pi * (x - math.floor(x)))  # DLMF 5.5.4
    steps = 0.0
    while x < _DIGAMMA_ASYMPTOTIC:
        steps += 1 / x  # DLMF 5.5.2
        x += 1
    square = 1 / (x * x)
    series = 0.0
    for coefficient in reversed(_DIGAMMA_SERIES):
        series = square * (coefficient + series)
    return math.log(x) - 0.5 / x - series - steps


def arcsinh_slope(x: Any) -> Any:
    """1 / sqrt(1 + x^2); of real numbers without the square where it overflows, in half precision at 256."""
    if np.iscomplexobj(x):
        return 1 / np.sqrt(1 + x * x)
    with np.errstate(over="ignore"):
        total = 1 + np.square(x)
    return 1 / np.sqrt(total) if is_finite(total) else 1 / np.hypot(1, x)


def sinc_slope(x: Any) -> Any:
    """The derivative of sin(pi x) / (pi x), by its series near 0, where the closed form cancels."""
    square = np.square(np.pi * as_array(x))
    near = np.abs(square) < 0.25
    # Terms (-1)^k 2k / (2k + 1)! of the derivative of DLMF 4.19.1 divided by its argument.
    series = -square / 3 * (1 - square / 10 * (1 - square / 28 * (1 - square / 54 * (1 - square / 88))))
    away = np.where(near, 1.0, x)
    closed = np.cos(np.pi * away) - np.sinc(away)
    origin = np.equal(x, 0)
    return np.where(origin, 0.0, np.where(near, series, closed) / np.where(origin, 1.0, x))[()]


# Chebyshev series of I1(x) exp(-x) / x in x / 4 - 1 for 0 < x < 8, and of I1(x) exp(-x) sqrt(x) in 16 / x - 1 above.
_I1_BELOW_8 = (
    0.12629359322181682,
    -0.17641651835783406,
    0.1026436586898471,
    -0.05294598120809499,
    0.024726449030626516,
    -0.010564084894626197,
    0.004156422944312888,
    -0.0015135724506312532,
    0.0005122859561685758,
    -0.00016176081582589674,
    4.781565107550054e-05,
    -1.3273163656039436e-05,
    3.4702513081376785e-06,
    -8.568720264695455e-07,
    2.0032947535521353e-07,
    -4.445059128796328e-08,
    9.381537386495773e-09,
    -1.8872497517228294e-09,
    3.625590281552117e-10,
    -6.663489723502027e-11,
    1.1736186298890901e-11,
    -1.9839743977649436e-12,
    3.223793365945575e-13,
    -5.042185504727912e-14,
    7.600684294735408e-15,
    -1.1055969477353862e-15,
    1.5536319577362005e-16,
    -2.111421214358166e-17,
    2.7779141127610464e-18,
)
_I1_ABOVE_8 = (
    0.38928811750914005,
    -0.009761097491361469,
    -0.00011058893876262371,
    -3.882564808877691e-06,
    -2.512236237870209e-07,
    -2.6314688468895196e-08,
    -3.835380385964237e-09,
    -5.589743462196584e-10,
    -1.8974958123505413e-11,
    3.2526035830154884e-11,
    1.4125807436613782e-11,
    2.0356285441470896e-12,
    -7.198551776245908e-13,
    -4.0835511110921974e-13,
    -2.1015418427726643e-14,
    4.272440016711951e-14,
    1.0420276984128802e-14,
    -3.8144030724370075e-15,
    -1.8803547755107825e-15,
    3.3082023109209285e-16,
    2.96262899764595e-16,
    -3.209525921993424e-17,
    -4.6503053684893586e-17,
    4.414348323071708e-18,
    7.517296310842105e-18,
    -9.314178867326884e-19,
    -1.242193275194891e-18,
)


def _chebyshev(x: Any, coefficients: tuple[float, ...]) -> Any:
    """The Chebyshev series at `x`, by Clenshaw's recurrence (DLMF 3.11.15)."""
    above, current = 0.0, 0.0
    for coefficient in reversed(coefficients[1:]):
        above, current = current, 2 * x * current - above + coefficient
    return x * current - above + coefficients[0]


def bessel_i1(x: Any) -> Any:
    """The modified Bessel function of the first kind of order 1, the derivative of `np.i0`."""
    size = np.abs(x)
    below = size <= 8
    near = _chebyshev(np.where(below, size, 8.0) / 4 - 1, _I1_BELOW_8) * size
    large = np.where(below, 8.0, size)
    far = _chebyshev(16 / large - 1, _I1_ABOVE_8) / np.sqrt(large)
    dtype = np.result_type(size, np.float16)
    return as_array(np.sign(x) * np.exp(size) * np.where(below, near, far)).astype(dtype, copy=False)[()]
