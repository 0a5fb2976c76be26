"""The table of functions that write into an array, with what they keep before and what they do in the reverse.

The program's own call writes. A write is linear in what is written, so that nothing but positions is kept: the reverse
finds in the array's window what the written value is worth, and leaves there what the old elements were worth.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adcompiler.runtime import writes_flat as flat
from adcompiler.runtime import writes_indexed as indexed
from adcompiler.runtime import writes_whole as whole

__all__ = ["REFUSED_WRITES", "WRITES", "Write", "refused_at"]


@dataclass(frozen=True, eq=False)
class Write:
    """A function that writes into its first argument.

    `keep(y, *operands)` is called just before it, and keeps copies only. `reverse(window, saved)` changes the window of
    the array's shadow from the cotangent after the write to the one before, and returns one cotangent per operand:
    None for positions, flags and ints.
    """

    name: str
    keep: Callable[..., Any]
    reverse: Callable[[Any, Any], tuple[Any, ...]]
    operands: tuple[str, ...]
    defaults: dict[str, Any] = field(default_factory=dict)


STORE = Write("y[index] = value", indexed.keep_store, indexed.reverse_store, ("index", "value"))
STORE_FLAT = Write("y.flat[index] = value", flat.keep_flat, flat.reverse_indexed, ("index", "value"))
SET_FLAT = Write("y.flat = value", flat.keep_set_flat, flat.reverse_first, ("value",))
SET_REAL = Write("y.real = value", whole.keep_real, whole.reverse_real, ("value",))
SET_IMAG = Write("y.imag = value", whole.keep_imag, whole.reverse_imag, ("value",))
COPYTO = Write(
    *("np.copyto", whole.keep_copyto, whole.reverse_copyto),
    operands=("src", "casting", "where"),
    defaults={"casting": "same_kind", "where": True},
)
FILL = Write("y.fill", whole.keep_fill, whole.reverse_fill, ("value",))
SORT = Write(
    *("y.sort", whole.keep_sort, whole.reverse_sort),
    operands=("axis", "kind", "order", "stable"),
    defaults={"axis": -1, "kind": None, "order": None, "stable": None},
)
PUT = Write("np.put", flat.keep_put, flat.reverse_put, ("ind", "v", "mode"), {"mode": "raise"})
PUT_METHOD = Write("y.put", flat.keep_put, flat.reverse_put, ("indices", "values", "mode"), {"mode": "raise"})
PUTMASK = Write("np.putmask", flat.keep_putmask, flat.reverse_putmask, ("mask", "values"))
PLACE = Write("np.place", flat.keep_place, flat.reverse_indexed, ("mask", "vals"))
FILL_DIAGONAL = Write("np.fill_diagonal", flat.keep_diagonal, flat.reverse_diagonal, ("val", "wrap"), {"wrap": False})
ALONG_AXIS = Write(
    "np.put_along_axis", indexed.keep_along, indexed.reverse_along, operands=("indices", "values", "axis")
)
ADD_AT = Write("np.add.at", indexed.keep_at, indexed.reverse_add_at, ("indices", "b"))
SUBTRACT_AT = Write("np.subtract.at", indexed.keep_at, indexed.reverse_subtract_at, ("indices", "b"))

# By function; by ("ndarray", name) for a method, ("flatiter", name) for one of y.flat, ("set", name) for an attribute
# that is assigned.
WRITES: dict[Any, Write] = {
    operator.setitem: STORE,
    ("ndarray", "__setitem__"): STORE,
    ("flatiter", "__setitem__"): STORE_FLAT,
    flat.store_flat: STORE_FLAT,
    ("set", "flat"): SET_FLAT,
    flat.set_flat: SET_FLAT,
    ("set", "real"): SET_REAL,
    whole.store_real: SET_REAL,
    ("set", "imag"): SET_IMAG,
    whole.store_imag: SET_IMAG,
    np.copyto: COPYTO,
    ("ndarray", "fill"): FILL,
    ("ndarray", "sort"): SORT,
    np.put: PUT,
    ("ndarray", "put"): PUT_METHOD,
    np.putmask: PUTMASK,
    np.place: PLACE,
    np.fill_diagonal: FILL_DIAGONAL,
    np.put_along_axis: ALONG_AXIS,
    np.add.at: ADD_AT,
    np.subtract.at: SUBTRACT_AT,
}

_SHUFFLE = ("The permutation that is drawn is not known.", "Draw rng.permutation(len(y)), and use y[permutation].")
_LAYOUT = ("Other arrays refer to the memory as it is laid out.", "Use reshape() or astype(), which give a new array.")

# By the same keys, and (class, name) for methods of random generators: why not, and what to do instead.
REFUSED_WRITES: dict[Any, tuple[str, str]] = {
    ("ndarray", "partition"): (
        "The order of the elements on both sides is left open.",
        "Use y.sort() or np.partition.",
    ),
    ("ndarray", "resize"): ("The memory of the array becomes another.", "Use np.resize or np.concatenate."),
    ("ndarray", "setfield"): ("It writes a part of the bytes of an element.", "Use y.real = or y.imag =."),
    ("ndarray", "byteswap"): ("The numbers that come out have no derivative.", "Use y.astype(y.dtype.newbyteorder())."),
    ("ndarray", "setflags"): ("What may be written would change while it is followed.", "Set it outside the function."),
    ("Generator", "shuffle"): _SHUFFLE,
    ("RandomState", "shuffle"): _SHUFFLE,
    ("Generator", "permuted"): ("Its out= is written in an order that is not known.", "Leave out= away."),
    ("set", "shape"): _LAYOUT,
    ("set", "dtype"): _LAYOUT,
    ("set", "strides"): _LAYOUT,
    ("set", "data"): _LAYOUT,
}


def refused_at(ufunc: Any) -> tuple[str, str]:
    """Why the `at` of any ufunc but `add` and `subtract` is refused, and what to do instead."""
    name = f"np.{ufunc.__name__}"
    return (
        f"{name}.at applies {name} again wherever an element is named again, and each time its derivative is another.",
        f"If no element is named twice, write y[index] = {name}(y[index], ...).",
    )
