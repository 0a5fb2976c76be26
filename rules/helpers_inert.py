"""What rules ask of values, and which no derivative goes through: shapes, dtypes, facts, masks, positions and checks.

With these declarations, and with the rules in the other files `helpers_*`, the text of a rule can itself be
differentiated: what it calls has a rule, or has no derivative, or is plain code in `adcompiler.runtime`.
"""

from adcompiler.rules.registry import non_differentiable
from adcompiler.runtime import (
    arrays,
    choices,
    contraction,
    conversion,
    elementary,
    facts,
    folding,
    fourier,
    guarded,
    layout,
    matrices,
    ordering,
    padding,
    pointwise,
    reduction,
    repeating,
    samples,
    selection,
    sequences,
    shapes,
    singular,
    spectral,
    stencils,
    walk,
)
from adcompiler.runtime.scatter import is_injective

# Shapes and dtypes

non_differentiable(shapes.shape, shapes.kept_shape, shapes.dtype_of, kind="other")
non_differentiable(shapes.ndim, shapes.size, reduction.axis_count, reduction.count_of, kind="int")
non_differentiable(layout.shapes_of, layout.layout, layout.read_order, layout.inverse_axes, kind="other")
non_differentiable(padding.pad_widths, reduction.axes_of, sequences.entry_shapes, sequences.only_numbers, kind="other")

# Facts and tests

non_differentiable(facts.is_static, facts.is_basic, facts.is_mask, is_injective, kind="int")
non_differentiable(elementary.is_finite, elementary.can_divide, guarded._all_positive, kind="int")
non_differentiable(walk.is_constant, walk.is_array, conversion.varies, pointwise.is_real_or_complex, kind="int")

# The libraries of arrays, and constants in them

non_differentiable(arrays.like_of, arrays.library, arrays.home_of, kind="other")
non_differentiable(arrays.is_library_array, arrays.is_device_class, arrays.is_library_class, arrays.is_flat, kind="int")
non_differentiable(shapes.zeros, arrays.ones, arrays.eye, kind="number")

# Masks, shares and positions: constant between the points where they jump

non_differentiable(guarded.share_above, guarded.share_inside, guarded.share_low, guarded.share_high, kind="number")
non_differentiable(guarded.whole_quotient, reduction.tie_hits, reduction.middle, kind="number")
non_differentiable(selection.numbers, selection.selected_hits, selection.initial_hits, kind="number")
non_differentiable(selection.selected_count, kind="number")
non_differentiable(ordering.placed, ordering.along_axis, ordering.partition_order, ordering.first_places, kind="other")
non_differentiable(ordering.unique_places, ordering.trim_starts, ordering.difference_places, kind="other")
non_differentiable(
    padding._so_far, layout.positions_of, repeating.insert_marks, choices.chosen_positions, kind="number"
)
non_differentiable(spectral.equal_values, spectral.exceeds, spectral.require_no_turn, spectral.largest, kind="number")
non_differentiable(singular.is_null, matrices.unit, kind="number")
non_differentiable(fourier._steps, fourier._given, fourier._same_axis, kind="other")
non_differentiable(fourier._weights, kind="array")
non_differentiable(folding.segments, kind="other")
non_differentiable(contraction._subscripts, kind="int")
non_differentiable(contraction.einsum_terms, contraction._loops, contraction._named, kind="other")
non_differentiable(matrices._taken, matrices.solved_axes, padding._parts, kind="other")
non_differentiable(
    stencils._window,
    stencils.extension,
    stencils.widths_of,
    stencils.origins_along,
    samples._romberg_weights,
    kind="other",
)
