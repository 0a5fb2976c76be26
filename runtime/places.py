"""Reads of and writes into items and attributes, with their reverses: see `moved.Operation`."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from adcompiler.runtime.bars import Bars, Cell
from adcompiler.runtime.births import Birth, birth_of, is_born
from adcompiler.runtime.containers import snapshot
from adcompiler.runtime.errors import UnsupportedSyntaxError
from adcompiler.runtime.held import hold, is_object
from adcompiler.runtime.members import ABSENT, is_field, is_generated, member
from adcompiler.runtime.moved import (
    CONTAINERS,
    Moved,
    Operation,
    check_no_array,
    extend,
    extended,
    given_back,
    position,
    rearrange,
    spliced,
)
from adcompiler.runtime.shadows import refer
from adcompiler.runtime.stores import (
    IN_PLACE,
    Stored,
    Updated,
    UpdatedItem,
    is_written,
    partials,
    store_array,
    update_array,
    update_items,
)
from adcompiler.runtime.tangents import accumulate

_NUMBERS = (int, float, complex, np.number)


def check_container(obj: Any) -> None:
    """Raise if an assignment to an item may run code of the user's."""
    if type(obj) not in CONTAINERS and not is_written(obj):
        raise UnsupportedSyntaxError(
            f"an item of a {type(obj).__qualname__} is written\nOnly items of lists and dicts are followed.\n"
            "Keep the values in a list or a dict."
        )


# --- items ------------------------------------------------------------------------------------------------


def store_item(obj: Any, key: Any, value: Any) -> tuple[None, Any]:
    """`obj[key] = value`."""
    if is_written(obj):
        return None, store_array(obj, key, value)
    check_container(obj)
    if isinstance(key, slice):
        new = list(value)
        sources = spliced(obj, key, new)
        obj[key] = new
        return None, (Moved(obj, sources, len(new)), value, hold(value))
    obj[key] = value
    return None, (obj, position(obj, key))


def store_item_bar(saved: Any, _: Any, bars: Bars) -> tuple[Any, ...]:
    """The value was all that was in the place."""
    if type(saved) is Stored:
        return saved.reverse(bars)
    if isinstance(saved[0], Moved):
        moved, values, held = saved
        return None, given_back(values, held, moved.reverse(bars), bars)
    return None, bars.take(*saved)


def delete_item(obj: Any, key: Any) -> tuple[None, Any]:
    """`del obj[key]`."""
    check_container(obj)
    if isinstance(obj, dict):
        del obj[key]
        return None, None
    kept = list(range(len(obj)))
    del kept[key]
    return rearrange(obj, lambda: obj.__delitem__(key), kept, ())


def delete_item_bar(saved: Any, _: Any, bars: Bars) -> tuple[Any, ...]:
    """Nothing is read from what is deleted."""
    if saved is not None:
        saved.reverse(bars)
    return (None,)


def load_item(obj: Any, key: Any) -> tuple[Any, Any]:
    """`obj[key]`."""
    if type(obj) not in CONTAINERS:
        raise UnsupportedSyntaxError(
            f"an item of a {type(obj).__qualname__} is read\nOnly items of lists and dicts are followed here.\n"
            "Keep the values in a list or a dict."
        )
    born = is_born(obj, key)
    value = obj[key]
    if isinstance(key, slice):
        return value, (obj, range(*key.indices(len(obj))), value)
    return value, (obj, position(obj, key), (birth_of(obj, value) or True) if born else False)


def load_item_bar(saved: Any, value_bar: Any, bars: Bars) -> tuple[Any, ...]:
    """The entry of the place grows; a slice is a new list, whose entries go where they were read."""
    obj, key, extra = saved
    if isinstance(key, range):
        if isinstance(value_bar, list | tuple):
            for i, ct in zip(key, value_bar, strict=True):
                bars.add(obj, i, ct)
        for j, ct in bars.release_items(extra).items():
            bars.add(obj, key[j], ct)
        return (None,)
    bars.add(obj, key, value_bar)
    if extra:
        ct = bars.take(obj, key)
        if extra is not True:
            extra.reverse(ct, bars)
    return (None,)


def update_item(obj: Any, key: Any, value: Any, op: str) -> tuple[None, Any]:
    """`obj[key] op= value`, where numbers are replaced, lists grow, and arrays change in place."""
    if is_written(obj):
        return None, update_items(obj, key, value, op)
    check_container(obj)
    born = is_born(obj, key)
    old = obj[key]
    birth = birth_of(obj, old) if born else None
    place = position(obj, key)
    obj[key], saved = _updated((obj, place), old, value, op, born and birth is None)
    return None, saved if birth is None else (birth, obj, place, saved)


def _updated(entry: Any, old: Any, value: Any, op: str, born: bool = False) -> tuple[Any, Any]:
    """What `old op= value` leaves in its place, and what the reverse needs."""
    if is_written(old):
        return old, update_array(old, entry, value, op)
    if isinstance(old, list) and op == "+":
        check_no_array(value)
        _, saved = extend(old, list(value))
        return old, (None, saved, value, hold(value))
    _number_only(old, value, op)
    new = IN_PLACE[op](old, value)
    kept = value if op in "+-" else snapshot(value)
    return new, (*entry, op, old, kept, born, refer(new))


def update_bar(saved: Any, _: Any, bars: Bars) -> tuple[Any, ...]:
    """The chain rule of the operator, at the place."""
    if type(saved) is tuple and type(saved[0]) is Birth:
        birth, obj, place, inner = saved
        found = update_bar(inner, None, bars)
        birth.reverse(bars.take(obj, place), bars)
        return found
    if type(saved) is Updated or type(saved) is UpdatedItem:
        return saved.reverse(bars)
    if saved[0] is None:
        return extended(saved[1:], bars)
    obj, place, op, old, value, born, made = saved
    ct = accumulate(bars.take(obj, place), bars.take_array(made))  # of an array it is in its shadow if that is written
    if ct is None:
        return None, None
    old_bar, value_bar = partials(op, old, value, ct)
    if not born:
        bars.add(obj, place, old_bar)
    return None, value_bar


def _number_only(old: Any, value: Any, op: str) -> None:
    if op not in IN_PLACE or not isinstance(old, _NUMBERS) or not (isinstance(value, _NUMBERS) or is_written(value)):
        raise UnsupportedSyntaxError(
            f"an augmented assignment ({op}=) of a {type(old).__qualname__} in a container\n"
            "Only arithmetic of numbers, and lists that grow, are followed there.\n"
            "Assign a new value: `c[k] = c[k] + v`."
        )


# --- attributes -------------------------------------------------------------------------------------------


def refuse_foreign(obj: Any, name: str) -> None:
    """Raise if an assignment to an attribute runs code of the user's, or reaches what is no plain object."""
    cls = type(obj)
    if not is_object(obj):
        raise UnsupportedSyntaxError(
            f"the attribute .{name} of a {cls.__qualname__} is written\n"
            "Only attributes of objects of classes written in Python are followed.\nKeep the value in a dict."
        )
    setter = cls.__setattr__
    # That of a frozen dataclass, which was generated, raises by itself.
    if isinstance(setter, types.FunctionType) and not is_generated(setter):
        raise UnsupportedSyntaxError(
            f"{cls.__qualname__} has a __setattr__ of its own, and .{name} is assigned\n"
            "What it does is not differentiated.\nAssign in a plain class, or keep the value in a dict."
        )
    found = next((c.__dict__[name] for c in cls.__mro__ if name in c.__dict__), None)
    if hasattr(type(found), "__set__") and not hasattr(found, "__objclass__"):
        raise UnsupportedSyntaxError(
            f"the property .{name} of {cls.__qualname__} is assigned\n"
            "Properties that are assigned are not differentiated yet.\nAssign the attribute behind it."
        )
    if isinstance(found, types.FunctionType | staticmethod | classmethod):
        raise UnsupportedSyntaxError(
            f"the attribute .{name} hides a method of {cls.__qualname__}\n"
            "The method is what has been compiled.\nGive the attribute another name."
        )


def store_attribute(obj: Any, name: str, value: Any) -> tuple[None, Any]:
    """`obj.name = value`."""
    refuse_foreign(obj, name)
    setattr(obj, name, value)
    return None, (obj, name)


def store_attribute_bar(saved: Any, _: Any, bars: Bars) -> tuple[Any, ...]:
    """The value was all that was in the place."""
    return None, bars.take(*saved)


def init_attribute(obj: Any, name: str, value: Any) -> tuple[None, Any]:
    """A field of an object that is being made: also of one that is frozen."""
    object.__setattr__(obj, name, value)
    return None, (obj, name)


def new_object(cls: type) -> Any:
    """An object of a class, before its `__init__`."""
    return cls.__new__(cls)  # type: ignore[call-overload]


def cell(name: str, *value: Any) -> tuple[Cell, Any]:
    """A variable that nested functions rebind, as an object; of a parameter it holds the argument."""
    made = Cell(name)
    if value:
        (made.value,) = value
    return made, made


def plain_cell(name: str, *value: Any) -> Cell:
    """The same, where no derivative is involved."""
    return cell(name, *value)[0]


def cell_bar(made: Cell, _: Any, bars: Bars) -> tuple[Any, ...]:
    """The argument was all that was in it."""
    return (bars.take(made, "value"),)


def load_attribute(obj: Any, name: str) -> tuple[Any, Any]:
    """`obj.name`."""
    return getattr(obj, name), (obj, name)


def load_attribute_bar(saved: Any, value_bar: Any, bars: Bars) -> tuple[Any, ...]:
    """The entry of the place grows."""
    obj, name = saved
    bars.add(obj, name, value_bar)
    return (None,)


def load_own_attribute(obj: Any, name: str) -> tuple[Any, Any]:
    """`obj.name`, of a class whose `__getattr__` would be asked if the object had no such field."""
    own, value = is_field(obj, name), getattr(obj, name)
    if not own:
        raise UnsupportedSyntaxError(
            f"the attribute .{name} of a {type(obj).__qualname__} is read before it is set\n"
            "Here `__getattr__` computes it, elsewhere it is a field.\nSet it first, or give one of them another name."
        )
    return value, (obj, name)


def update_attribute(obj: Any, name: str, value: Any, op: str) -> tuple[None, Any]:
    """`obj.name op= value`, where numbers are replaced, lists grow, and arrays change in place."""
    refuse_foreign(obj, name)
    old = getattr(obj, name)
    if hasattr(type(obj), "__getattr__") and member(type(obj), name) is ABSENT and not is_field(obj, name):
        raise UnsupportedSyntaxError(
            f"an augmented assignment to .{name}, which {type(obj).__qualname__}.__getattr__ computes\n"
            f"What that read is not followed there.\nAssign a new value: `obj.{name} = obj.{name} {op} ...`."
        )
    new, saved = _updated((obj, name), old, value, op)
    setattr(obj, name, new)
    return None, saved


STORE_ITEM = Operation("store_item", store_item, store_item_bar, keyed=True)
DELETE_ITEM = Operation("delete_item", delete_item, delete_item_bar, keyed=True)
LOAD_ITEM = Operation("load_item", load_item, load_item_bar, stores=False, keyed=True)
UPDATE_ITEM = Operation("update_item", update_item, update_bar, keyed=True)
STORE_ATTRIBUTE = Operation("store_attribute", store_attribute, store_attribute_bar, keyed=True)
INIT_ATTRIBUTE = Operation("init_attribute", init_attribute, store_attribute_bar, keyed=True)


CELL = Operation("cell", cell, cell_bar)
LOAD_ATTRIBUTE = Operation("load_attribute", load_attribute, load_attribute_bar, stores=False, keyed=True)
LOAD_OWN_ATTRIBUTE = Operation("load_own_attribute", load_own_attribute, load_attribute_bar, stores=False, keyed=True)
UPDATE_ATTRIBUTE = Operation("update_attribute", update_attribute, update_bar, keyed=True)
