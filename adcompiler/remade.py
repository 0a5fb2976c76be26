"""Functions that are made anew again and again: what was compiled for one serves the next, with its own variables.

    for x, y in data:
        w = w - rate * gradient(lambda w: loss(w, x, y))(w)      a new function with the same body in each step

An entry and all that it calls are functions around cells. Of the first one a template is kept, around empty cells; for
the next function it is copied around that one's. The guards say whether it fits, as with every entry.
"""

from __future__ import annotations

import copy
import functools
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from adcompiler.kept import Layout, Plan, Slot, Source
from adcompiler.runtime.walk import fields as fields_of
from adcompiler.spec import Root

Make = Callable[[Any], Any]  # an entry, from what it calls when a guard does not hold

_MOST = 64  # bodies
_EACH = 4  # templates of one


class _Fixed(Exception):
    """Raised where something refers to a function's variables that cannot be copied."""


def is_remade(function: types.FunctionType) -> bool:
    """Whether a function may be one of many with this body."""
    code = function.__code__
    inner = "<locals>" in code.co_qualname or code.co_name == "<lambda>"
    return inner and function.__defaults__ is None and function.__kwdefaults__ is None


class Templates:
    """The entries that were compiled, by body and by what they compute."""

    def __init__(self) -> None:
        self.found: OrderedDict[Any, list[_Template]] = OrderedDict()

    def fitting(self, function: types.FunctionType, key: Any) -> Iterator[Make]:
        """The entries of functions with the same body, for this one; the newest last."""
        if key[0] is None or not is_remade(function):
            return
        for template in self.found.get((function.__code__, key), ()):
            if template.function.__globals__ is function.__globals__:
                yield template.of(function)

    def keep(self, function: types.FunctionType, key: Any, make: Make) -> None:
        """Keep a template of what was compiled for a function."""
        if key[0] is None or not is_remade(function):
            return
        blank = _blank(function)
        try:
            made = _Copier(make, _moves(function, blank)).of(make)
        except _Fixed:
            return
        kept = self.found.setdefault((function.__code__, key), [])
        self.found.move_to_end((function.__code__, key))
        kept.append(_Template(blank, made))
        del kept[:-_EACH]
        while len(self.found) > _MOST:
            self.found.popitem(last=False)

    def forget(self) -> None:
        self.found.clear()


class _Template:
    def __init__(self, function: types.FunctionType, make: Make) -> None:
        self.function = function
        self.make = make
        self.reached: frozenset[int] | None = None

    def of(self, function: types.FunctionType) -> Make:
        copier = _Copier(self.make, _moves(self.function, function), self.reached)
        self.reached = copier.reached
        made: Make = copier.of(self.make)
        return made


def _blank(function: types.FunctionType) -> types.FunctionType:
    """The same function without values."""
    cells = tuple(types.CellType() for _ in function.__closure__ or ())
    new = types.FunctionType(function.__code__, function.__globals__, function.__name__, None, cells)
    new.__qualname__ = function.__qualname__
    return new


def _moves(old: types.FunctionType, new: types.FunctionType) -> dict[int, Any]:
    """What stands for what: the function and its captured variables."""
    pairs = zip((old, *(old.__closure__ or ())), (new, *(new.__closure__ or ())), strict=True)
    return {id(a): b for a, b in pairs}


class _Copier:
    """Copies what refers to some objects, with others in their place; all else is shared."""

    def __init__(self, root: Any, moves: dict[int, Any], reached: frozenset[int] | None = None) -> None:
        self.moves = moves
        self.reached = _reaching(root, moves) if reached is None else reached
        self.copies: dict[int, Any] = {}

    def of(self, value: Any) -> Any:
        if id(value) in self.moves:
            return self.moves[id(value)]
        if id(value) not in self.reached:
            return value
        if id(value) not in self.copies:
            self.copies[id(value)] = self.copied(value)
        return self.copies[id(value)]

    def copied(self, value: Any) -> Any:
        match value:
            case types.FunctionType():
                return self.function(value)
            case types.CellType():
                cell = self.copies[id(value)] = types.CellType()
                cell.cell_contents = self.of(value.cell_contents)
                return cell
            case functools.partial():
                named = {name: self.of(v) for name, v in value.keywords.items()}
                return functools.partial(self.of(value.func), *map(self.of, value.args), **named)
            case tuple() | list():
                return type(value)(map(self.of, value))
            case dict():
                return {key: self.of(v) for key, v in value.items()}
            case Plan() | Layout() | Slot() | Source() | Root():
                new = self.copies[id(value)] = copy.copy(value)
                for f in fields(value):
                    object.__setattr__(new, f.name, self.of(getattr(value, f.name)))
                return new
        raise _Fixed

    def function(self, old: types.FunctionType) -> types.FunctionType:
        cells = tuple(map(self.of, old.__closure__ or ()))
        new = types.FunctionType(old.__code__, old.__globals__, old.__name__, old.__defaults__, cells)
        self.copies[id(old)] = new
        new.__qualname__, new.__kwdefaults__ = old.__qualname__, old.__kwdefaults__
        new.__dict__.update((name, self.of(v)) for name, v in old.__dict__.items())
        return new


def _reaching(root: Any, moves: dict[int, Any]) -> frozenset[int]:
    """The objects from which one of `moves` is reached."""
    known: dict[int, Any] = {}
    users: dict[int, list[int]] = {}
    todo = [root]
    while todo:
        value = todo.pop()
        if id(value) in known:
            continue
        known[id(value)] = value  # it keeps its id as long as this runs
        for part in _parts(value) if id(value) not in moves else ():
            users.setdefault(id(part), []).append(id(value))
            todo.append(part)
    reached: set[int] = set()
    found = [key for key in known if key in moves]
    while found:
        for user in users.get(found.pop(), ()):
            if user not in reached:
                reached.add(user)
                found.append(user)
    return frozenset(reached)


def _parts(value: Any) -> Iterator[Any]:  # noqa: C901  one case per class
    """What an object of the compiler's refers to; the user's objects and modules are not looked into."""
    match value:
        case types.FunctionType():
            if value.__code__.co_filename.startswith("<adcompiler") or _is_ours(value.__module__):
                yield from value.__closure__ or ()
                yield from value.__dict__.values()
        case types.CellType():
            try:
                yield value.cell_contents
            except ValueError:  # it is empty
                return
        case functools.partial():
            yield from (value.func, *value.args, *value.keywords.values())
        case tuple() | list() | set() | frozenset():
            yield from value
        case dict():
            if "__builtins__" not in value:
                yield from value.values()
        case type() | types.ModuleType():
            return
        case _ if is_dataclass(value):
            yield from (getattr(value, f.name) for f in fields(value) if hasattr(value, f.name))
        case _ if _is_ours(type(value).__module__):
            yield from fields_of(value).values()


def _is_ours(module: Any) -> bool:
    return isinstance(module, str) and module.startswith("adcompiler.")


__all__ = ["Templates", "is_remade"]
