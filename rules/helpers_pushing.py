"""Rules of what text in forward mode calls, for derivatives of it."""

from adcompiler.rules.registry import non_differentiable, rrule
from adcompiler.runtime.containers import cell_of
from adcompiler.runtime.iterated import check_iterated
from adcompiler.runtime.places import check_container, refuse_foreign
from adcompiler.runtime.pushing import new_zeros, nothing, own, spread, zero_array, zero_factory, zeros_of, zeros_over
from adcompiler.runtime.shapes import fit, shape

non_differentiable(check_container, check_iterated, refuse_foreign, kind="other")
non_differentiable(zeros_of, zeros_over, new_zeros, zero_factory, kind="unknown")
non_differentiable(nothing, kind="other")
non_differentiable(zero_array, kind="filled_like")


@rrule(cell_of, kind="unknown", accepts=(object,))
def cell_of_rule(function, name):
    def pullback(y_bar):
        return {name: y_bar}, None

    return cell_of(function, name), pullback


@rrule(spread, kind="array", flat=("value",), linear=("tangent",))
def spread_rule(tangent, value):
    y = spread(tangent, value)
    tangent_shape = shape(tangent)

    def pullback(y_bar):
        return fit(y_bar, tangent_shape), None

    return y, pullback


@rrule(own, result="fresh", kind="like", linear=("tangent",))
def own_rule(tangent):
    y = own(tangent)

    def pullback(y_bar):
        return (y_bar,)

    return y, pullback
