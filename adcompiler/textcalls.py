"""Operations on text: methods of `str` and `bytes`, and what formats or joins text.  They have no derivative."""

from __future__ import annotations

import types
from typing import Any

from adcompiler import ir
from adcompiler.callees import InertCall
from adcompiler.lattice import Inert, Int, Kind, Known, ListOf, TupleOf, can_be_active
from adcompiler.resolve import Resolved, Resolver
from adcompiler.spec import ANY

_TEXT = (str, bytes)
_METHODS = frozenset(name for cls in _TEXT for name in dir(cls) if name[0] != "_") - {"maketrans", "fromhex", "hex"}
_LISTS = frozenset({"split", "rsplit", "splitlines"})
_ANSWERS = frozenset(
    name for name in _METHODS if name.startswith(("is", "find", "rfind", "index", "rindex", "count", "startswith"))
) | {"endswith"}


class TextResolver(Resolver):
    """Adds text to what can be resolved."""

    def made(self, form: type, items: list[tuple[Any, Kind | None]]) -> Kind:
        """The kind of a new container, with the kinds of what it holds by key."""
        raise NotImplementedError

    def formatted(self, expr: ir.Op, kinds: list[Any]) -> Resolved | None:
        """`"%.3f" % x`, and text added to text or repeated; None for all other operators."""
        text = [isinstance(k, Known) and isinstance(k.value, _TEXT) for k in kinds]
        both = all(known or isinstance(k, Inert | Int) for k, known in zip(kinds, text, strict=True))
        if len(kinds) == 2 and (
            (expr.op == "%" and text[0]) or (expr.op == "+" and any(text) and both) or (expr.op == "*" and text[0])
        ):
            return self.apply(expr, InertCall("text", "text"), expr.args, kinds, Inert())
        return None

    def text_function(self, expr: ir.Call, function: Any, kinds: list[Any]) -> Resolved | None:
        """A method of text that is known (`"{}".format`, `str.upper`), or a function of `re`; None for all others."""
        bound = isinstance(function, types.BuiltinMethodType) and isinstance(function.__self__, _TEXT)
        plain = isinstance(function, types.MethodDescriptorType) and function.__objclass__ in _TEXT
        if isinstance(function, types.FunctionType) and function.__module__ == "re":
            return None if any(map(can_be_active, kinds)) else self._text(expr, "", kinds, Inert())
        if not (bound or plain) or function.__name__ not in _METHODS:
            return None
        name = function.__name__
        kind: Kind = Inert()
        if name in _LISTS:
            listed = self.program.writes_places
            kind = self.made(list, [(ANY, Inert())]) if listed else ListOf(None, Inert())
        elif name in ("partition", "rpartition"):
            kind = TupleOf((Inert(), Inert(), Inert()))
        return self._text(expr, name, kinds, Int() if name in _ANSWERS else kind)

    def text_method(self, expr: ir.Call, func: ir.Attr, kinds: list[Any]) -> Resolved | None:
        """A method of something without derivative that has the name of a method of text; None for all others."""
        if func.name not in _METHODS or isinstance(self.stmt, ir.Do):
            return None
        return self._text(expr, func.name, kinds, Int() if func.name in _ANSWERS else Inert())

    def _text(self, expr: ir.Call, name: str, kinds: list[Any], kind: Kind) -> Resolved:
        callee = InertCall("text", "int" if name in _ANSWERS else "text")
        return self.apply(expr, callee, self._operands(expr, expr.args), kinds, kind)


__all__ = ["TextResolver"]
