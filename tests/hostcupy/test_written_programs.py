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
    "overlaps-windows_that_touch_a_place_twice": "sliding_window_view has no derivative rule",
    "overlaps-a_broadcast_view_of_what_is_written": _WINDOWS,
}

# In host memory there is no cuRAND.
RANDOM = ["algorithms-time_steps-random_walk"]


@pytest.mark.parametrize("run", list(runs()), ids=str)
def test_program(run):
    """The value, the changed arguments and the gradient, as arrays of CuPy."""
    if str(run) in RANDOM:
        pytest.skip("random numbers")
    try:
        if str(run) in REFUSED:
            with pytest.raises(DifferentiationError, match=REFUSED[str(run)]):
                run()
        else:
            run()
    except NotTaken as reason:
        pytest.skip(str(reason))
