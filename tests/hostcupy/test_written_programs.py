"""Programs that write into arrays of CuPy: those of tests/test_writes_*.py, in which `np` is CuPy."""

import pytest

from adcompiler import DifferentiationError
from tests.hostcupy.programs import NotTaken, runs

_ORDER = "On a device it is left open"
_WINDOWS = "holds some elements several times"

# Programs that are refused in CuPy, and what the error says.
REFUSED = {
    "augmented-operators-masks_and_indices": _ORDER,
    "augmented-complex_arrays-complex_elements": _ORDER,
    "functions-functions_that_write-put": _ORDER,
    "indexed-arrays_of_indices-repeated_last_wins": _ORDER,
    "indexed-arrays_of_indices-repeated_increment": _ORDER,
    "indexed-arrays_of_indices-pairs_of_indices": _ORDER,
    "indexed-arrays_of_indices-matrix_of_indices": _ORDER,
    "indexed-arrays_of_indices-mixed_with_slices": _ORDER,
    "indexed-arrays_of_indices-negative_and_sorted_indices": _ORDER,
    "tables-scans_and_sorts-sorted_by_halves": _ORDER,
    "functions-functions_that_write-made_finite_in_place": "nan_to_num",
    "overlaps-windows_that_touch_a_place_twice": "sliding_window_view has no derivative rule",
    "overlaps-a_broadcast_view_of_what_is_written": _WINDOWS,
}

_FLAT = "flat"
REFUSED |= {
    f"elements-flat-{name}": _FLAT
    for name in ("flat_loop", "flat_loop_and_store", "flat_in_list", "flat_complex", "flat_on_some_paths")
} | {f"live-flat_over_what_is_written-{name}": _FLAT for name in ("flat_then_written", "flat_while_written")}

# Programs that are not those of CuPy's arrays: beginnings of their names, and why.
OTHERS = {
    "augmented-a_number_in_a_place_that_an_array_is_added_to": "numbers beside arrays, whose gradients are numbers",
    "dotted-": "arrays of NumPy, which other modules have",
    "unknown-other_objects-methods_of_objects": "not right yet: an element, a view there, in an unknown object",
}

# In host memory there is no cuRAND.
RANDOM = ["algorithms-time_steps-random_walk"]


@pytest.mark.parametrize("run", list(runs()), ids=str)
def test_program(run):
    """The value, the changed arguments and the gradient, as arrays of CuPy."""
    if str(run) in RANDOM:
        pytest.skip("random numbers")
    for name, why in OTHERS.items():
        if str(run).startswith(name):
            pytest.skip(why)
    try:
        if str(run) in REFUSED:
            with pytest.raises(DifferentiationError, match=REFUSED[str(run)]):
                run()
        else:
            run()
    except NotTaken as reason:
        pytest.skip(str(reason))
