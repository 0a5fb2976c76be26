"""Rules for parts of pullbacks that call functions: partial derivatives, rules of ufuncs."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.errors import DifferentiationError
from adcompiler.runtime.pointwise import bars, slope_products
from adcompiler.runtime.spectral import repeated_part, unit


@rrule(bars, kind="unknown", flat=("wanted",), accepts=(object,))
def bars_(partials, args, y, y_bar, wanted, *, needs, config):
    """Linear in the cotangent `y_bar`; with respect to the operands, the derivatives of the partials are needed."""
    found = bars(partials, args, y, y_bar, wanted)

    def pullback(cts):
        args_bar, out_bar, back = slope_products(config, partials, args, y, y_bar, wanted, cts, needs[1] or needs[2])
        return None, args_bar, out_bar, back, None

    return found, pullback


@rrule(repeated_part, result="fresh", kind="array")
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
