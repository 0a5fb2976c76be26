"""New objects whose fields are what the call was given: named tuples, dataclasses, partials, and copies of these.

Only where the class itself was generated from its fields, so that nothing of the user's runs while the object is made:
its cotangent is then one entry for each argument.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
from dataclasses import replace
from typing import Any

from adcompiler import ir
from adcompiler.binding import BindError, bind_call
from adcompiler.callees import Build, Copied, Make
from adcompiler.lattice import DictOfKinds, Heap, Instance, Kind, ListOf, Observed, TupleOf, Unknown, class_of, numeric
from adcompiler.lookups import LookupResolver
from adcompiler.resolve import Resolved
from adcompiler.runtime.members import ABSENT, is_generated, is_named_tuple, member


class ConstructResolver(LookupResolver):
    """Adds the construction of records to what can be resolved."""

    def _constructed(self, expr: ir.Call, function: Any, kinds: list[Any]) -> Resolved | None:
        """A call that makes a record, or None."""
        if isinstance(function, type) and is_named_tuple(function) and is_generated(member(function, "__new__")):
            return self._tuple(expr, function)
        if isinstance(function, type) and _is_plain_dataclass(function):
            return self._record(expr, function)
        if function is functools.partial and expr.args and not isinstance(expr.args[0], ir.Star):
            return self._partial(expr)
        cls = class_of(kinds[0]) if kinds else None
        if function is dataclasses.replace and cls is not None and _is_plain_dataclass(cls) and len(expr.args) == 1:
            return self._replaced(expr, expr.args[0], cls)
        if function in (copy.copy, copy.deepcopy) and len(expr.args) == 1:
            return self._copied(expr, kinds[0], function is copy.deepcopy)
        return None

    def _tuple(self, expr: ir.Call, cls: Any) -> Resolved | None:
        """A named tuple."""
        bound = self._bound(expr, inspect.signature(cls))
        if bound is None:
            return None
        kinds = self.kinds(bound.values())
        kind = TupleOf(tuple(k or Unknown() for k in kinds), cls)
        return self.apply(expr, Build(), bound.values(), kinds, kind)

    def _record(self, expr: ir.Call, cls: Any) -> Resolved | None:
        """An instance of a dataclass."""
        bound = self._bound(expr, inspect.signature(cls))
        names = tuple(f.name for f in dataclasses.fields(cls))
        if bound is None or tuple(bound) != names:
            return None
        return self._made_of(expr, cls, bound)

    def _made_of(self, expr: ir.Call, cls: type, bound: dict[str, Any]) -> Resolved:
        kinds = self.kinds(bound.values())
        kind = Instance(cls, tuple(bound), tuple(k or Unknown() for k in kinds))
        return self.apply(expr, Make(tuple(bound)), bound.values(), kinds, kind)

    def _bound(self, expr: ir.Call, signature: inspect.Signature) -> dict[str, Any] | None:
        """Parameter → argument; None if the call does not fit or an argument is made by a default factory."""
        try:
            bound = bind_call(signature, expr.args, expr.kwargs, self._expand, self._expand_dict)
        except BindError:
            return None
        return None if any(isinstance(value, ir.Static) for value in bound.values()) else bound

    def _partial(self, expr: ir.Call) -> Resolved | None:
        """`functools.partial(f, ...)`; Python makes one partial of two."""
        if class_of(self.value(expr.args[0])[1]) is functools.partial:
            return None
        given = self._made(ir.Seq("tuple", expr.args[1:]))
        named = self._keywords(expr.kwargs)
        if named is None:
            return None
        spelled = ir.Call(expr.func, (expr.args[0], ir.Star(given)), ((None, named),))
        return self._made_of(spelled, functools.partial, {"func": expr.args[0], "args": given, "keywords": named})

    def _keywords(self, kwargs: Any) -> ir.Expr | None:
        """A dict that nobody writes into: its keys stay known."""
        if any(k is None for k, _ in kwargs):
            return None
        values = tuple(v for _, v in kwargs)
        kinds = self.kinds(values)
        kind = DictOfKinds(tuple(k for k, _ in kwargs), tuple(k or Unknown() for k in kinds))
        display = ir.DictOf(tuple((ir.Const(k), v) for k, v in kwargs))
        name = self.spec.names.fresh("t")
        made = ir.Apply(display, Build(), values, tuple(k or Unknown() for k in kinds), kind)
        self.extra.append(ir.Assign(name, made, self.stmt.origin, kind=kind))
        self.env = {**self.env, name: kind}
        return ir.Name(name)

    def _method_of(self, expr: ir.Call, func: ir.Attr, obj: Kind, cls: type) -> Resolved:
        """`value.name(...)` of an object whose class is known."""
        own = self._named_tuple_method(expr, func, cls) if is_named_tuple(cls) else None
        return super()._method_of(expr, func, obj, cls) if own is None else own

    # --- from others ------------------------------------------------------------------------------------

    def _replaced(self, expr: ir.Call, record: ir.Expr, cls: Any) -> Resolved | None:
        """`dataclasses.replace(record, ...)` or `record._replace(...)`: the fields not given are loaded."""
        given = dict(expr.kwargs)
        names = cls._fields if is_named_tuple(cls) else tuple(f.name for f in dataclasses.fields(cls))
        if None in given or not set(names) >= set(given):
            return None
        bound = {n: given[n] if n in given else self._made(ir.Attr(record, n)) for n in names}
        if not is_named_tuple(cls):
            return self._made_of(expr, cls, bound)
        kinds = self.kinds(bound.values())
        return self.apply(expr, Build(), bound.values(), kinds, TupleOf(tuple(k or Unknown() for k in kinds), cls))

    def _named_tuple_method(self, expr: ir.Call, func: ir.Attr, cls: Any) -> Resolved | None:
        """`_replace` and `_asdict` of a named tuple."""
        if func.name == "_replace" and not expr.args:
            return self._replaced(expr, func.value, cls)
        if func.name == "_asdict" and not expr.args and not expr.kwargs:
            items = tuple((ir.Const(n), self._made(ir.Attr(func.value, n))) for n in cls._fields)
            return self.display(ir.DictOf(items))
        return None

    def _copied(self, expr: ir.Call, kind: Any, deep: bool) -> Resolved | None:
        """`copy.copy(x)` or `copy.deepcopy(x)`: the copy's cotangent is that of the value."""
        cls = class_of(kind)
        if cls is not None and any(member(cls, name) is not ABSENT for name in ("__copy__", "__deepcopy__")):
            return None
        if numeric(kind) is None and not isinstance(kind, Heap | Observed | Instance | TupleOf | ListOf | DictOfKinds):
            return None
        new = replace(kind, holder=None) if isinstance(kind, Observed) else kind
        return self.apply(expr, Copied(deep), expr.args, (kind,), new)


def _is_plain_dataclass(cls: type) -> bool:
    """Whether making an instance of a dataclass only sets its fields."""
    return (
        dataclasses.is_dataclass(cls)
        and is_generated(member(cls, "__init__"))
        and member(cls, "__new__") is object.__new__
        and type(cls).__call__ is type.__call__
        and not hasattr(cls, "__post_init__")
        and all(f.init for f in dataclasses.fields(cls))
    )
