"""Products and quotients for pullbacks at points where a partial is infinite, nan or shared.

A cotangent of zero beats a partial that is infinite or nan ("strong zero"), so `np.where(x > 0, np.log(x), 0.0)` has
derivative 0 where `x` is 0. No function here warns, and each pays for its guard only where there is a singular point.
"""

import cmath
import math
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import like_of
from adcompiler.runtime.elementary import can_divide, divide_singular, divide_strong, is_finite, multiply_strong
from adcompiler.runtime.shapes import conj, zeros

_SCALARS = (float, int, complex, np.generic)
_SMALL = 1024  # entries up to which counting is cheaper than a reduction
_MAX_MULTIPLIED_POWER = 16  # np.power takes 40 to 80 times as long as a product


def _quiet() -> np.errstate:
    return np.errstate(all="ignore")


def _all_positive(s: Any) -> bool:
    """Whether every entry is real and above 0, which a nan is not; no for an array on a device, as `is_finite`."""
    if isinstance(s, float):
        return bool(s > 0)
    if isinstance(s, np.ndarray):
        return s.dtype.kind != "c" and (s.size == 0 or bool(np.minimum.reduce(s, axis=None) > 0))
    return like_of(s) is None and not np.iscomplexobj(s) and bool(np.all(np.greater(s, 0)))


# A zero cotangent first


def quietly(function: Any, x: Any) -> Any:
    """`function(x)` without a warning where `x` is not finite, or the result overflows."""
    with _quiet():
        return function(x)


def one_less_square(x: Any) -> Any:
    """`1 - x * x` without cancellation near 1, and without a warning far outside."""
    with _quiet():
        return (1 - x) * (1 + x)


def divide_root(c: Any, s: Any) -> Any:
    """`c / sqrt(s)`, and 0 where `c` is 0; `s` may be 0 or negative there."""
    if _all_positive(s):
        return c / np.sqrt(s)
    with _quiet():
        return divide_strong(c, np.sqrt(s))


def sqrt_bar(c: Any, y: Any) -> Any:
    """Cotangent of `x` in `y = sqrt(x)`: 0 where `y` is 0, and where `c` is 0 though `x` is negative and `y` nan."""
    if can_divide(y):
        return 0.5 * c / y
    flat = np.equal(y, 0) | (np.equal(c, 0) & np.not_equal(y, y))
    return np.where(flat, 0.0, 0.5 * c / np.where(flat, 1.0, y))[()]


def sign(x: Any) -> Any:
    """The unit number x / |x|, and 0 at 0 (np.sign, and faster on a Python float)."""
    if type(x) is float:
        return float((x > 0) - (x < 0))
    return np.sign(x)


def sign_bar(c: Any, x: Any, y: Any) -> Any:
    """Cotangent of `x` in `y = x / |x|`: 0 for real `x`, else the part of `c` across `y`, over |x|."""
    if not np.iscomplexobj(x):
        return zeros(np.shape(x), x)
    across = c - y * np.real(np.conj(y) * c)
    return divide_singular(across, np.abs(x))


# Choices


def _is_mask(mask: Any) -> bool:
    return getattr(getattr(mask, "dtype", None), "kind", "") == "b"


def masked(c: Any, mask: Any) -> Any:
    """`c` where `mask` holds, and 0 elsewhere even if `c` is infinite there."""
    if type(mask) is np.ndarray and type(c) is np.ndarray:
        if mask.size > _SMALL and mask.dtype.kind == "b" and is_finite(c):
            return c * mask  # np.where takes up to ten times as long
        return np.where(mask, c, 0) if mask.ndim else np.where(mask, c, 0)[()]
    if isinstance(c, _SCALARS):
        if isinstance(mask, (bool, np.bool_)):
            return c if mask else type(c)(0)
        if _is_mask(mask) and is_finite(c):
            return mask * c
    return np.where(mask, c, 0.0)[()]


def masked_out(c: Any, mask: Any) -> Any:
    """`c` where `mask` does not hold, and 0 elsewhere even if `c` is infinite there."""
    if type(mask) is np.ndarray and type(c) is np.ndarray and (mask.size <= _SMALL or mask.dtype.kind != "b"):
        return np.where(mask, 0, c) if mask.ndim else np.where(mask, 0, c)[()]
    return masked(c, np.logical_not(mask))


def share_above(a: Any, b: Any) -> Any:
    """The share of `a` in the larger of both: the mask `a > b`, or with half at each tie if there is any."""
    above = np.greater(a, b) if isinstance(a, complex) or isinstance(b, complex) else a > b
    if type(b) is float and b == 0.0 and type(a) is np.ndarray and a.size <= _SMALL and np.count_nonzero(a) == a.size:
        return above  # no ties with 0: the usual rectifier, without a second comparison
    tied = a == b
    if isinstance(tied, (bool, np.bool_)):
        return 0.5 if tied else above
    if like_of(tied) is None and not np.count_nonzero(tied):
        return above
    return np.where(tied, np.result_type(a, b, 0.5).type(0.5), above)


def take_share(c: Any, share: Any) -> Any:
    """`c * share`, where a share of 0 is exactly nothing."""
    if type(share) is np.ndarray and share.dtype.kind == "b":
        return masked(c, share)
    if isinstance(share, float) or share is True:
        return c * share if share else masked(c, False)
    if isinstance(share, (bool, np.bool_)):
        return masked(c, share)
    return masked(c, share != 0) * share


def share_inside(a: Any, low: Any, high: Any) -> Any:
    """The share of `a` in `minimum(maximum(a, low), high)`; an end may be None."""
    if low is None:
        return True if high is None else share_above(high, a)
    if high is None:
        return share_above(a, low)
    return np.multiply(share_above(a, low), share_above(high, np.maximum(a, low)))


def share_low(a: Any, low: Any, high: Any) -> Any:
    """The share of `low` in `minimum(maximum(a, low), high)`."""
    if low is None:
        return False
    share = share_above(low, a)
    return share if high is None else np.multiply(share, share_above(high, np.maximum(a, low)))


def share_high(a: Any, low: Any, high: Any) -> Any:
    """The share of `high` in `minimum(maximum(a, low), high)`."""
    if high is None:
        return False
    return share_above(a if low is None else np.maximum(a, low), high)


def nan_to_num_bar(c: Any, x: Any) -> Any:
    """Cotangent of `x` in `nan_to_num(x)`: nothing where it was not finite, for both parts of a complex number."""
    if not np.iscomplexobj(x):
        return masked(c, np.isfinite(x))
    return masked(np.real(c), np.isfinite(np.real(x))) + 1j * masked(np.imag(c), np.isfinite(np.imag(x)))


def filler_bar(c: Any, x: Any, replaced: Any) -> Any:
    """Cotangent of the number that fills in for the entries of `x`, or of its parts, that are `replaced`."""
    if not np.iscomplexobj(x):
        return masked(c, replaced(x))
    return masked(np.real(c), replaced(np.real(x))) + masked(np.imag(c), replaced(np.imag(x)))


def imag_bar(c: Any, z: Any) -> Any:
    """Cotangent of `z` in its imaginary part, which is constant if `z` is real."""
    return 1j * np.real(c) if np.iscomplexobj(z) else zeros(np.shape(z), z)


def angle_bar(c: Any, z: Any) -> Any:
    """Cotangent of `z` in its angle: i z / |z|^2 times `c`, and 0 at the origin."""
    if not np.iscomplexobj(z):
        return zeros(np.shape(z), z)
    return divide_singular(1j * np.real(c) * z, np.real(z * np.conj(z)))


def length(a: Any, b: Any) -> Any:
    """np.hypot of real `a` and `b`, by their squares where none of these can be far from right: ten times faster."""
    if not (type(a) is type(b) is np.ndarray and a.dtype == b.dtype and a.dtype.char in "fd" and a.size > _SMALL):
        return np.hypot(a, b)
    with _quiet():
        squares = a * a + b * b
    limits = np.finfo(a.dtype)
    low, high = limits.tiny / limits.eps, limits.max
    if np.minimum.reduce(squares, axis=None) > low and np.maximum.reduce(squares, axis=None) < high:
        return np.sqrt(squares)
    return np.hypot(a, b)


def turn_bar(c: Any, other: Any, length: Any) -> Any:
    """`c * other / length ** 2`, the derivative of an angle; the square would overflow in half precision at 256."""
    with _quiet():
        return multiply_strong(divide_singular(c, length), divide_singular(other, length))


def cosine_of_arcsine(z: complex) -> complex:
    """sqrt(1 - z^2) with the cuts of arcsin (DLMF 4.23.20); on them the sign of the imaginary zero decides."""
    z = complex(z)
    return cmath.sqrt(-(z - 1)) * cmath.sqrt(z + 1)  # 1 - z would lose that sign


def polar_bar(c: Any, z: Any) -> Any:
    """Cotangent of `z` in its absolute value and its angle; either part of `c` may be None."""
    r_bar, phi_bar = c
    along = None if r_bar is None else r_bar * (z / abs(z) if z else 0.0)
    if phi_bar is None:
        return along
    return angle_bar(phi_bar, z) if along is None else along + angle_bar(phi_bar, z)


# Powers


def integer_power(x: Any, n: int) -> Any:
    """`x ** n` by multiplication for small `n >= 0`: np.power takes up to 80 times as long."""
    if isinstance(x, _SCALARS) or not 0 < n <= _MAX_MULTIPLIED_POWER:
        return x**n
    if n == 1:
        return x
    half = integer_power(x, n // 2)
    return half * half * x if n % 2 else half * half


def base_bar(c: Any, base: Any, exp: Any, y: Any) -> Any:
    """Cotangent of `base` in `y = base ** exp`: 0 where `exp` or `c` is 0, and at base 0 for exponents below 1."""
    if isinstance(exp, (int, float)) and exp == exp // 1 and 1 <= exp <= _MAX_MULTIPLIED_POWER:
        return c * conj(exp * integer_power(base, int(exp) - 1))
    if can_divide(base):
        if type(y) is float:
            slope = exp * y / base  # Python's numbers overflow in silence
        else:
            with _quiet():
                slope = conj(exp * y / base)
        if is_finite(slope):
            return c * slope
    rank = np.real(exp)
    with _quiet():
        # exp - 1 is rounded where exp is large: of a negative base the sign might be lost.
        exact = np.not_equal(base, 0) & np.isfinite(y)
        quotient = exp * (y / np.where(exact, base, 1))
        slope = conj(np.where(exact, quotient, exp * np.power(base, exp - 1.0)))
        flat = np.equal(exp, 0) | (np.equal(base, 0) & (rank > 0) & (rank < 1))
        return multiply_strong(c, np.where(flat, 0, slope)[()])


def exponent_bar(c: Any, base: Any, y: Any) -> Any:
    """Cotangent of `exp` in `y = base ** exp`: y log(base), and 0 where a real base is not positive or base is 0."""
    if isinstance(base, (float, int)) and base > 0:
        return multiply_strong(c, conj(y * math.log(base)))
    if _all_positive(base):
        return multiply_strong(c, conj(y * np.log(base)))
    if isinstance(y, complex) and isinstance(base, (float, int)) and base:
        return multiply_strong(c, conj(y * cmath.log(base)))  # Python's floats turn complex
    if np.iscomplexobj(y):
        base = np.multiply(base, complex(1.0, 0.0))  # a negative base of a complex power has a logarithm
    regular = np.not_equal(base, 0) if np.iscomplexobj(base) else np.greater(base, 0)
    with _quiet():
        slope = conj(y * np.log(np.where(regular, base, 1.0)))
        return multiply_strong(c, np.where(regular, slope, 0)[()])


def complex_log(x: Any) -> Any:
    """The logarithm, of negative real numbers too, and 0 at 0."""
    zero = np.equal(x, 0)
    with _quiet():
        return np.where(zero, 0, np.emath.log(np.where(zero, 1, x)))[()]


# Remainders and logarithms of sums


def whole_quotient(a: Any, b: Any) -> Any:
    """The whole number nearest to `a / b`, and 0 where `b` is 0."""
    if isinstance(b, float) and isinstance(a, float) and b:
        return np.rint(a / b)
    with _quiet():
        return np.where(np.equal(b, 0), 0.0, np.rint(np.divide(a, b)))[()]


def log_weight(a: Any, b: Any, exp: Any) -> Any:
    """The share `1 / (1 + exp(b - a))` of `a` in `log(exp(a) + exp(b))`: 1/2 where both are infinite alike."""
    with _quiet():
        return np.where(np.equal(a, b), 0.5, 1 / (1 + exp(np.subtract(b, a))))[()]


def times_power_of_two(c: Any, exponent: Any) -> Any:
    """`c * 2 ** exponent` without overflow on the way; None stays None."""
    if c is None:
        return None
    return math.ldexp(c, exponent) if isinstance(exponent, int) else np.ldexp(c, exponent)
