"""The cases of tests/rules as calls on arrays of CuPy: of the NumPy function, and of CuPy's own of the same name."""

import collections
import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adcompiler.rules.registry import key_name
from adcompiler.testing import Case
from adcompiler.vectors import close
from tests.hostcupy.arrays import cupy_twin, has_device_array, on_device, on_host
from tests.rules.test_complete import cases
from tests.rules.test_inlined import value

_ORDERS = "CuPy has no Bessel functions of any order"
_CARLSON = "CuPy has no elliptic integrals of Carlson's form"
_CONVERTED = "SciPy's function, which the rule calls, converts its arguments to NumPy"
_MODULE = "CuPy has a module of the name that SciPy calls the ufunc by"

# Rules that fail on arrays of CuPy, with an error and never with a number: names of functions, and why.
NOT_YET = {
    "numpy.add.reduceat": "the segments are laid out on the host, and CuPy's method takes indices as arrays only",
    **dict.fromkeys(("j1", "y1", "i1", "k1", "i1e", "k1e", "yn"), _ORDERS),
    **dict.fromkeys(("ellipk", "ellipkm1", "ellipkinc", "ellipeinc", "ellipj"), _CARLSON),
    **dict.fromkeys(("psi", "scipy.special._basic.polygamma", "scipy.special._logsumexp.logsumexp"), _CONVERTED),
    **dict.fromkeys(("scipy.special._spherical_bessel.spherical_yn",), _CONVERTED),
    **dict.fromkeys(("scipy.special._multiufuncs.sph_harm_y",), _CONVERTED),
    **dict.fromkeys(("scipy.special._lambertw.lambertw", "scipy.special._basic.zeta"), _MODULE),
    "expn": "its derivative chooses by the order on the host",
    "gammainc.outer": "an argument on the host, beside one on the device, is made an array",
}

# Arguments that the rules refuse on arrays of CuPy.
REFUSED = {
    ("numpy.polyfit", "w"): "CuPy writes the weighted values into its argument",
    ("numpy.cov", "fweights"): "CuPy takes the plain mean from the observations whatever the weights",
    ("numpy.cov", "aweights"): "CuPy takes the plain mean from the observations whatever the weights",
}

# Calls whose value in CuPy is another.
OTHER_VALUE = {
    "numpy.partition": "each library leaves another order on both sides of the element",
    "numpy.broadcast_arrays": "CuPy leaves a number as it is",
}

# How many calls of one function are run.
MOST = 6

# What a function raises for arguments that it does not take.
NOT_TAKEN = (
    *(TypeError, ValueError, AttributeError, NotImplementedError, IndexError, DeprecationWarning),
    RuntimeError,  # DLPack knows no device with the memory of the host
)


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
        """Why CuPy itself does not take this call as NumPy does; None if it does."""
        name = key_name(self.case.key)
        for argument in self.case.kwargs:
            if (name, argument) in REFUSED:
                return REFUSED[name, argument]
        try:
            found = value(self.device)
        except NOT_TAKEN as error:
            text = str(error).strip()
            if "no implementation found" in text or "all returned NotImplemented" in text:
                return "CuPy has no such function"
            return f"{type(error).__name__}: {text.splitlines()[0] if text else ''}"
        if getattr(getattr(found, "dtype", None), "kind", "") == "O":
            return "CuPy takes a class for a dtype"
        if name in OTHER_VALUE and not close(on_host(found), value(self.case), 1e-9):
            return OTHER_VALUE[name]
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
