"""The cases of tests/rules as calls on arrays of CuPy: of the NumPy function, and of CuPy's own of the same name."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adcompiler.testing import Case
from tests.hostcupy.arrays import cupy_twin, has_device_array, on_device
from tests.rules.test_complete import cases
from tests.rules.test_inlined import value

# Rules that fail on arrays of CuPy, with an error and never with a number: names of NumPy's functions, and why.
NOT_YET = {
    "numpy.nanmedian": "CuPy has no quantiles without nan, by which the middle elements are found",
    "numpy.interp": "the pullback converts positions to NumPy",
    "numpy.poly": "the polynomial of no root is made on the host",
    "numpy.polyfit": "its rule solves on the host; with weights CuPy's own function writes into its argument",
    "numpy.polyval": "the coefficients' cotangent at a number is joined on the host",
    "numpy.select": "CuPy's select takes arrays only, and the rule's choices are numbers",
}

# Functions whose results may stand in another order.
FREE_ORDER = {"numpy.partition": "each library leaves another order on both sides of the element"}

# What a function raises for arguments that it does not take.
NOT_TAKEN = (TypeError, ValueError, AttributeError, NotImplementedError, IndexError, DeprecationWarning)


@dataclass(frozen=True)
class Call:
    """A case of NumPy, and the same call on arrays of CuPy."""

    case: Case
    device: Case

    def __str__(self) -> str:
        return f"{type_name(self.device.key)} {self.case}"

    def not_taken(self) -> str | None:
        """Why CuPy itself does not take this call; None if it does."""
        try:
            value(self.device)
        except NOT_TAKEN as error:
            return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
        return None


def type_name(key: Any) -> str:
    """The library that a key belongs to."""
    owner = getattr(key, "__objclass__", None) or key
    return (getattr(owner, "__module__", None) or type(owner).__module__ or "?").split(".")[0]


def calls() -> Iterator[Call]:
    """Every case with an array in it, once for its own function and once for CuPy's, if that is another."""
    for case in cases():
        args, kwargs = case.inputs()
        device = Case(case.key, on_device(args), on_device(kwargs), case.id, case.wrt)
        if case.key is np.ndarray.flat or not has_device_array((device.args, device.kwargs)):
            continue
        if getattr(case.key, "__objclass__", None) is None:
            yield Call(case, device)
        twin = cupy_twin(case.key)
        if twin is not None:
            yield Call(case, replace(device, key=twin))
