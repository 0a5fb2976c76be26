"""The cases of tests/rules as calls on arrays of CuPy: of the NumPy function, and of CuPy's own of the same name."""

import collections
import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adcompiler.rules.registry import key_name
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

# How many calls of one function are run.
MOST = 6

# What a function raises for arguments that it does not take.
NOT_TAKEN = (TypeError, ValueError, AttributeError, NotImplementedError, IndexError, DeprecationWarning)


@dataclass(frozen=True)
class Call:
    """A case of NumPy, and the same call on arrays of CuPy."""

    case: Case
    device: Case

    def __str__(self) -> str:
        return f"{type_name(self.device.key)} {self.case}"

    def of_numpy(self) -> "Call":
        """The same arrays given to NumPy's function; a method stays that of CuPy's array."""
        own = self.device.key if getattr(self.case.key, "__objclass__", None) is not None else self.case.key
        return replace(self, device=replace(self.device, key=own))

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


@functools.cache
def calls() -> dict[str, list[Call]]:
    """Every case with an array in it by its function's name: a call of CuPy's function, or NumPy's if it has none."""
    found = collections.defaultdict(list)
    for case in cases():
        args, kwargs = case.inputs()
        device = Case(case.key, on_device(args), on_device(kwargs), case.id, case.wrt)
        if case.key is np.ndarray.flat or not has_device_array((device.args, device.kwargs)):
            continue
        twin = cupy_twin(case.key)
        if twin is not None or getattr(case.key, "__objclass__", None) is None:
            found[key_name(case.key)].append(Call(case, replace(device, key=twin or case.key)))
    return dict(found)


@functools.cache
def taken(name: str) -> tuple[list[Call], list[str]]:
    """At most `MOST` calls of a function that CuPy takes, of many forms, and why it does not take others."""
    found: list[Call] = []
    refused: list[str] = []
    seen: set[Any] = set()
    left = list(calls()[name])
    while left and len(found) < MOST:
        call = left.pop(max(range(len(left)), key=lambda i: len(forms(left[i].device) - seen)))  # the first of equals
        reason = call.not_taken()
        if reason is not None:
            refused.append(reason)
        elif not found or forms(call.device) - seen:
            found.append(call)
            seen |= forms(call.device)
    return found, refused


def forms(case: Case) -> set[Any]:
    """What tells calls of a function apart: which arguments there are, their types, dtypes, axes and flags."""
    named = [*enumerate(case.args), *case.kwargs.items()]
    return {(name, _form(value)) for name, value in named} | {len(case.args)}


def _form(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value), tuple(map(_form, value[:3]))
    if not isinstance(value, type) and hasattr(value, "dtype"):
        return value.dtype.kind, value.ndim, value.size == 0
    if value is None or isinstance(value, (bool, str, type)):
        return value
    return type(value), isinstance(value, (int, float)) and value < 0
