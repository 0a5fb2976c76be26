"""Rules for parts of pullbacks that call functions: partial derivatives, rules of ufuncs."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.calling import applied
from adcompiler.runtime.elliptic import elliprc_slopes
from adcompiler.runtime.errors import DifferentiationError, NoRuleError
from adcompiler.runtime.matrices import unit
from adcompiler.runtime.pointwise import bars, slope_products
from adcompiler.runtime.quantiles import _ranks, level_bar, shared
from adcompiler.runtime.spectral import repeated_part
from adcompiler.runtime.tangents import unthunk
from adcompiler.runtime.ufuncs import as_given


@rrule(bars, kind="unknown", flat=("wanted",), accepts=(object,))
def bars_(partials, args, y, y_bar, wanted, *, needs, config):
    """Linear in the cotangent `y_bar`; with respect to the operands, the derivatives of the partials are needed."""
    found = bars(partials, args, y, y_bar, wanted)

    def pullback(cts):
        args_bar, out_bar, back = slope_products(config, partials, args, y, y_bar, wanted, cts, needs[1] or needs[2])
        return None, args_bar, out_bar, back, None

    return found, pullback


@rrule(applied, kind="unknown", accepts=(object,))
def applied_(function, args, options, *first, config, written_later):
    of_function, of_args, of_options, *of_first = config.wanted
    wanted = (of_function, *of_first, *(of_args for _ in args), *(of_options for _ in options))
    y, back = config.protecting(written_later).vjp(wanted, function, *first, *args, **options)
    start, stop = len(first), len(first) + len(args)

    def pullback(y_bar):
        function_bar, *bars = back(y_bar)
        return function_bar, bars[start:stop], dict(zip(options, bars[stop:], strict=True)), tuple(bars[:start])

    return y, pullback


@rrule(repeated_part, result="fresh")
def repeated_part_(z, bar, w, same):
    """Nothing where no values are equal; else it is not linear in the cotangents, and has no derivative."""
    y = repeated_part(z, bar, w, same)

    def pullback(y_bar):
        if np.any(same & ~unit(same)):
            raise DifferentiationError(
                "equal eigenvalues or singular values, of which the vectors and the values are used: no second "
                "derivative, and no forward one\nWrite the function of the matrix without them, or separate the values."
            )
        return None, None, None, None

    return y, pullback


@rrule(unthunk, kind="unknown")
def unthunk_(ct):
    y = unthunk(ct)

    def pullback(y_bar):
        return (y_bar,)

    return y, pullback


@rrule(as_given, result="same", flat=("x",))
def as_given_(bar, x):
    y = as_given(bar, x)
    like = np.zeros((), getattr(bar, "dtype", None) or np.asarray(bar).dtype)

    def pullback(y_bar):
        return as_given(y_bar, like), None

    return y, pullback


@rrule(shared, result="same", kind="array", flat=("ordered",))
def shared_(bar, ordered):
    """A mean of what belongs to equal elements: its own adjoint."""
    y = shared(bar, ordered)

    def pullback(y_bar):
        return shared(y_bar, ordered), None

    return y, pullback


@rrule(_ranks, result="fresh", kind="array", flat=("quantile", "ordered", "method", "weights", "skip_nan"))
def ranks(quantile, ordered, q, method, weights, skip_nan):
    """Where quantiles lie in the order of the elements: linear in their levels between the bends."""
    y = _ranks(quantile, ordered, q, method, weights, skip_nan)

    def pullback(y_bar):
        return None, None, level_bar(y_bar, quantile, ordered, q, method, skip_nan), None, None, None

    return y, pullback


@rrule(elliprc_slopes, kind="unknown")
def elliprc_slopes_(x, y, value):
    slopes = elliprc_slopes(x, y, value)

    def pullback(y_bar):
        raise NoRuleError("elliprc has no second derivative yet\nRegister a rule for it with @rrule.")

    return slopes, pullback
