"""The module-level names of a dump: what its functions read besides their variables, and how a file gets hold of it.

`Namespace` hands out a name for every object, and in the end writes the imports and assignments.  A name of the
compiler's is never a local name of a function in the text, and a user's name that means two objects becomes two names.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gast
import numpy as np

from adcompiler.emit import constant, load, store, to_source

_LARGEST = 64  # elements of an array that is written out
# Module, the name in it (None for the module itself), the name in the text.
Import = tuple[str, str | None, str]

_LITERALS = (type(None), bool, int, float, complex, str, bytes)


@dataclass(frozen=True)
class Origin:
    """The module and the name by which the user's code knows an object."""

    module: str
    name: str


class Namespace:
    """Names for objects; `locals_` are the local names of all functions, `read` the names of globals that they read."""

    def __init__(self, locals_: Iterable[str], read: Iterable[str]) -> None:
        self._locals = frozenset(locals_)
        self._read = frozenset(read)
        self._own: set[str] = set()
        self._objects: dict[str, Any] = {}
        self._origins: dict[str, Origin] = {}

    # --- handing out ------------------------------------------------------------------------------------

    def unique(self, name: str) -> str:
        """`name`, or the first of `name_2`, `name_3`, ... that is used for nothing else."""
        taken = self._locals | self._read | self._own | self._objects.keys() | vars(builtins).keys()
        found, number = name, 2
        while found in taken:
            found, number = f"{name}_{number}", number + 1
        self._own.add(found)
        return found

    def user(self, name: str, value: Any, module: str) -> str:
        """The name for a global or captured variable that the user's module calls `name`."""
        if not _same(self._objects.get(name, value), value) or name in self._own:
            known = [n for n, v in self._objects.items() if v is value and n.startswith(name)]
            name = known[0] if known else self.unique(name)
        self._objects[name] = value
        self._origins.setdefault(name, Origin(module, name))
        return name

    def static(self, value: Any, name: str, globals_: dict[str, Any]) -> str:
        """The name for an object that only the compiler names."""
        if name in self._objects and self._objects[name] is value and name not in self._locals:
            return name
        clash = name in self._read and globals_.get(name, getattr(builtins, name, None)) is not value
        if clash or name in self._locals or name in self._objects or name in self._own:
            known = [n for n, v in self._objects.items() if v is value and n not in self._locals]
            name = known[0] if known else self.unique(name)
        self._objects[name] = value
        return name

    # --- writing ----------------------------------------------------------------------------------------

    def lines(self, text: str) -> list[str]:
        """The imports and assignments for `text`, imports first."""
        imports: set[Import] = set()
        values: list[str] = []
        for name, value in [*self._objects.items()]:
            self._line(name, value, imports, values)
        modules = {n: v for n, v in self._objects.items() if isinstance(v, types.ModuleType)}
        imports |= _submodules(text, modules)
        blank = [""] if imports and values else []
        return [*_written(imports), *blank, *values]

    def _line(self, name: str, value: Any, imports: set[Import], values: list[str]) -> None:
        """Add the statement that makes `name` the object."""
        origin = self._origins.get(name)
        where = place_of(value)
        if getattr(builtins, name, self) is value:
            return
        if isinstance(value, types.ModuleType):
            imports.add((value.__name__, None, name))
        elif is_literal(value):
            values.append(_assignment(name, display(value)))
        elif where is not None:
            first, _, rest = where[1].partition(".")
            imports.add((where[0], first, first if rest else name))
            if rest:
                values.append(f"{name} = {where[1]}")
        elif origin is not None and _is_in_module(value, origin):
            imports.add((_module_name(origin.module), origin.name, name))
        elif is_literal(value, deep=True):
            numpy = self.static(np, "np", {})
            imports.add(("numpy", None, numpy))
            values.append(_assignment(name, display(value, numpy)))
        else:
            values.append(f"# {name} is to be assigned here: it is {_described(value)}")


def _written(imports: set[Import]) -> list[str]:
    """Import statements: whole modules first, then one line for each module that names are taken from."""
    lines = [
        f"import {m}" + ("" if m == name else f" as {name}")
        for m, part, name in sorted(imports, key=str)
        if part is None
    ]
    taken: dict[str, list[str]] = {}
    for module, part, name in sorted(imports, key=str):
        if part is not None:
            taken.setdefault(module, []).append(part if part == name else f"{part} as {name}")
    return lines + [f"from {module} import {', '.join(parts)}" for module, parts in taken.items()]


def _module_name(module: str) -> str:
    """The name by which a module can be imported: a script's is its file's."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file).stem if module == "__main__" and file else module


def _submodules(text: str, modules: dict[str, types.ModuleType]) -> set[Import]:
    """`import scipy.special` where the text reads `scipy.special`: importing `scipy` alone may not load it."""
    found: set[Import] = set()
    for node in ast.walk(ast.parse(text)):
        path = _dotted(node)
        if path is None or path[0] not in modules:
            continue
        module: Any = modules[path[0]]
        for part in path[1:]:
            inner = getattr(module, part, None)
            if not isinstance(inner, types.ModuleType) or inner.__name__ != f"{module.__name__}.{part}":
                break
            module = inner
            if path[0] == module.__name__.partition(".")[0] and module.__name__ not in ("numpy.linalg", "numpy.fft"):
                found.add((module.__name__, None, module.__name__))
    return found


def _dotted(node: ast.AST) -> list[str] | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) and parts else None


# --- objects ----------------------------------------------------------------------------------------------


def place_of(value: Any) -> tuple[str, str] | None:
    """The module and qualified name under which an object is found again, or None.

    >>> place_of(np.sin), place_of(np.ndarray.sum), place_of(np.ones(3))
    (('numpy', 'sin'), ('numpy', 'ndarray.sum'), None)
    """
    owner = getattr(value, "__objclass__", None)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if owner is not None:
        name = f"{owner.__qualname__}.{getattr(value, '__name__', '')}"
    module = getattr(owner or value, "__module__", None)
    if not isinstance(name, str) or not re.fullmatch(r"[\w.]+", name):
        return None
    homes = [module.lstrip("_"), module] if isinstance(module, str) else ["numpy", "scipy.special"]
    for home in homes:
        if home in sys.modules and _found(sys.modules[home], name) is value:
            return _module_name(home), name
    return None


def _found(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def _is_in_module(value: Any, origin: Origin) -> bool:
    module = sys.modules.get(origin.module)
    return module is not None and getattr(module, origin.name, None) is value


def is_literal(value: Any, deep: bool = False) -> bool:
    """Whether a value is written out: numbers, strings and tuples; `deep`, also small arrays and containers."""
    if type(value) in _LITERALS:
        return True
    if type(value) is tuple:
        return all(is_literal(v, deep) for v in value)
    if not deep:
        return False
    if isinstance(value, np.ndarray):
        return type(value) is np.ndarray and value.dtype.kind in "biufc" and value.size <= _LARGEST
    if type(value) is dict:
        return all(is_literal(k) and is_literal(v, True) for k, v in value.items())
    return isinstance(value, np.generic) or (type(value) is list and all(is_literal(v, True) for v in value))


def _same(a: Any, b: Any) -> bool:
    """Whether one name can stand for both objects."""
    return a is b or (is_literal(a) and type(a) is type(b) and repr(a) == repr(b))


def _assignment(name: str, value: gast.AST) -> str:
    node = gast.Assign(targets=[store(name)], value=value, type_comment=None)
    return to_source(gast.Module(body=[node], type_ignores=[])).strip()


def display(value: Any, numpy: str = "np") -> gast.AST:
    """The expression of a literal value; `numpy` is the name of NumPy, with which arrays are written."""
    match value:
        case np.ndarray() | np.generic():
            function = gast.Attribute(value=load(numpy), attr="array", ctx=gast.Load())
            dtype = gast.keyword(arg="dtype", value=gast.Constant(value=value.dtype.name, kind=None))
            array = gast.Call(func=function, args=[display(value.tolist())], keywords=[dtype])
            if isinstance(value, np.ndarray):
                return array
            # Indexing with () gives back the scalar.
            return gast.Subscript(value=array, slice=gast.Tuple(elts=[], ctx=gast.Load()), ctx=gast.Load())
        case list() | tuple():
            display_of = gast.List if type(value) is list else gast.Tuple
            return display_of(elts=[display(v, numpy) for v in value], ctx=gast.Load())
        case dict():
            items = [display(v, numpy) for v in value.values()]
            return gast.Dict(keys=[display(k) for k in value], values=items)
    return constant(value)


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    return f"an object of type {type(value).__name__}"
