"""What an operation's result may share memory with, and what the operation writes: one case per callee.

Nodes are *definitions* (a name at the statement that binds it); see `alias`, which goes through the statements.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from typing import Any

from adcompiler import ir
from adcompiler.aliases import OUTSIDE, UNSEEN, Aliases, Env
from adcompiler.callees import (
    Build,
    Copied,
    Drain,
    Dynamic,
    Hooked,
    InertCall,
    Into,
    Load,
    Make,
    Missing,
    Move,
    PairCall,
    PathLoad,
    PlaceCall,
    Pull,
    Relay,
    RuleCall,
    Spread,
    WriteCall,
    writes_array,
)
from adcompiler.decide import is_basic_index
from adcompiler.lattice import (
    Inert,
    IntArray,
    Kind,
    Known,
    ListOf,
    SliceOf,
    Stream,
    Unknown,
    can_be_active,
    class_of,
    is_scalar,
    numeric,
)
from adcompiler.runtime.changes import WRITERS
from adcompiler.runtime.held import is_place
from adcompiler.runtime.members import member
from adcompiler.runtime.stores import is_written
from adcompiler.spec import Spec

_ARRAY_WRITERS = ("sort", "fill", "put", "partition", "itemset", "resize", "setfield", "setflags", "byteswap")


class Sharing(ABC):
    """The state of one traversal of a specialisation, in which `env` is what each name refers to."""

    def __init__(self, spec: Spec, aliases: Aliases) -> None:
        self.spec = spec
        self.a = aliases
        self.env: Env = {}
        self.stmt: Any = None
        # np.array() of a flat iterator is no copy: NumPy hands it the memory itself.
        self.flat = {s.target for s in ir.statements(spec.body) if isinstance(s, ir.Assign) and _is_flat(s.value)}

    @abstractmethod
    def classes_of(self, spec: Spec) -> Aliases:
        """The alias classes of a function that is called."""

    def links(self, value: ir.Expr, kind: Kind | None) -> list[Any]:
        """What a value may share memory with (as definitions); writes that its evaluation does are noted."""
        if not isinstance(value, ir.Apply):
            plain = is_scalar(kind) or isinstance(value, ir.Lambda | ir.Verbatim)
            return [] if plain else [self.resolve(value)]
        linked, outside = self.applied(value)
        outside |= _of_a_class(value)
        if _is_namespace(value.spelled):
            return [OUTSIDE]
        held = isinstance(value.spelled, ir.Item | ir.Attr | ir.Seq | ir.DictOf)  # what is inert may be written, too
        if is_scalar(kind) or isinstance(kind, Known) or (isinstance(kind, Inert) and not held):
            return []
        kinds = {id(arg): k for arg, k in zip(value.args, value.kinds, strict=False)}
        shared = [self.resolve(arg) for arg in linked if not is_scalar(kinds.get(id(arg)))]
        return shared + ([OUTSIDE] if outside else [])

    def applied(self, value: ir.Apply) -> tuple[tuple[Any, ...], bool]:  # noqa: C901  one case per callee
        """The operands that a result may share memory with, and whether it may with memory from outside."""
        if isinstance(value.spelled, ir.Call) and overwrites(value.spelled):
            self.written(value.args)
            return value.args, False
        match value.callee:
            case InertCall(keeps=False) if _is_writer(value.spelled, False):
                self.written(value.spelled.func.value)  # type: ignore[attr-defined]
            case InertCall() if isinstance(value.kind, SliceOf):
                return value.args, False
            case InertCall() if isinstance(value.spelled, ir.Item | ir.Attr | ir.Seq | ir.DictOf):
                return tuple(ir.children(value.spelled)), False
            case RuleCall() as call:
                linked = _of_arrays(value) if call.rule.result != "fresh" or self.flat & set(ir.reads(value)) else ()
                if getattr(call.key, "__name__", "") == "getitem":
                    return () if is_basic_index(value.kinds[1]) is False else linked[:1], False
                return linked, False
            case Into(_, out):
                self.written(out)
                return (out,), False
            case WriteCall():
                self.written(value.args[0])
                return (), False
            case PairCall(spec):
                return self.called(value, self.classes_of(spec))
            case InertCall(keeps=True):
                self.kept_outside(value)
                if isinstance(value.spelled, ir.Call) and isinstance(value.spelled.func, ir.Attr):
                    self.written(value.spelled.func.value, surely=False)  # `i.append(3)` of a list of indices
            case PlaceCall() as place:
                # A container and what it holds are one class; that the container changes is no write of an array.
                self.link_all([*value.args, *([OUTSIDE] if _of_a_class(value) else [])])
                if writes_array(place, value.kinds):
                    self.written(value.args[0], surely=False)
                return value.args, False
            case Hooked():
                return value.args[1:], False
            case Pull() | Drain() if isinstance(value.kinds[0], Stream) and is_scalar(value.kinds[0].item):
                return value.args[1:], False
            case (
                InertCall(passes=True)
                | Build()
                | Make()
                | Copied()
                | Load()
                | Move()
                | PathLoad()
                | Pull()
                | Drain()
                | Relay()
            ):
                return value.args, False
            case Dynamic(key) if key is getattr:
                return value.args, True  # it may be an attribute of the class
            case Dynamic(key, _, pure) if pure or (key is not None and not isinstance(key, str)):
                return value.args, False
            case Missing() | Dynamic() | Spread():
                return self.unseen(value)
        return (), False

    def unseen(self, value: ir.Apply) -> tuple[tuple[Any, ...], bool]:
        """The same for what is not known before the run, or refused if something active is involved."""
        missing = isinstance(value.callee, Missing)
        if missing and _is_writer(value.spelled, False):
            self.written(value.args[0])
            return value.args, True
        if missing and isinstance(value.spelled, ir.Op) and not getattr(self.stmt, "augmented", False):
            return value.args, False  # an operator on constants, containers or types
        surely = _is_writer(value.spelled, self.spec.program.writes_places)
        # With a table of cotangents containers are passed as they are, and what a function found at run time writes
        # into arrays is refused there.
        if surely or missing or not self.spec.program.writes_places:
            for arg in value.args:
                self.written(arg, surely)
        self.kept_outside(value)
        return value.args, True

    def called(self, value: ir.Apply, callee: Aliases) -> tuple[tuple[Any, ...], bool]:
        """The same for a call of a compiled function, whose writes are noted."""
        for i in callee.writes:
            self.written(value.args[i], i in callee.sure_writes)
        if callee.writes_outside:
            self.note_write(OUTSIDE, callee.surely_writes_outside)
        for i, first in enumerate(callee.groups):
            if first == -1:
                self.link(OUTSIDE, self.resolve(value.args[i]))
            elif first != i:
                self.link_all([value.args[first], value.args[i]])
        return tuple(value.args[i] for i in callee.results), callee.result_outside

    def kept_outside(self, value: ir.Apply) -> None:
        """Operands that something unknown may keep, there or in another operand."""
        for arg, kind in zip(value.args, value.kinds, strict=False):
            if not is_scalar(kind):
                self.link(OUTSIDE, self.resolve(arg))

    def resolve(self, value: Any) -> Any:
        """The definitions behind the names of a value."""
        match value:
            case str():
                return value
            case ir.Name(name):
                return self.env.get(name, name)
            case ir.Global():
                return OUTSIDE
            case ir.Static(held) if is_outside(held):
                return OUTSIDE
            case ir.Attr(inner):  # of a module or class, which may have other names
                return OUTSIDE, self.resolve(inner)
            case tuple():
                return tuple(map(self.resolve, value))
            case ir.Expr():
                return tuple(map(self.resolve, ir.children(value)))
        return ()

    def link(self, node: str, source: Any) -> None:
        """Unify a definition with those of a value."""
        if isinstance(source, str):
            self.a.unify(node, source)
        elif isinstance(source, tuple):
            for item in source:
                self.link(node, item)
        else:
            self.link(node, self.resolve(source))

    def link_all(self, sources: list[Any]) -> None:
        """Unify the definitions of several values."""
        nodes = [self.resolve(s) for s in sources]
        names = [n for n in nodes if isinstance(n, str)]
        for a, b in itertools.pairwise(names):
            self.a.unify(a, b)

    def note_write(self, node: str, surely: bool = True) -> None:
        self.a.written.setdefault(node, set()).add(id(self.stmt) if surely else UNSEEN)

    def written(self, place: Any, surely: bool = True) -> None:
        """Note that a place is written in place."""
        match place:
            case ir.Name(name):
                self.note_write(self.env.get(name, name), surely)
            case ir.Global() | ir.Static():
                self.note_write(OUTSIDE, surely)
            case tuple():
                for item in place:
                    self.written(item, surely)
            case ir.Expr():
                for child in ir.children(place):
                    self.written(child, surely)


def _of_arrays(value: ir.Apply) -> tuple[Any, ...]:
    """The operands of a rule without those that say how: shapes, axes, numbers of parts."""
    if not value.callee.rule.builtin:
        return value.args
    pairs = zip(value.args, value.kinds, strict=True)
    return tuple(a for a, k in pairs if any(map(_is_shared, k if isinstance(k, tuple) else (k,))))


def _is_shared(kind: Any) -> bool:
    return can_be_active(kind) or isinstance(numeric(kind), IntArray)


def _is_flat(value: ir.Expr) -> bool:
    return isinstance(value, ir.Apply) and isinstance(value.spelled, ir.Attr) and value.spelled.name == "flat"


def overwrites(call: ir.Call) -> bool:
    """Whether a call asks a function to write into its arguments: `overwrite_a=True`, `nan_to_num(x, copy=False)`."""
    given = [(name or "", value) for name, value in call.kwargs]
    if any(name.startswith("overwrite") and not is_literal(value, False) for name, value in given):
        return True
    if getattr(call.func, "name", getattr(call.func, "spelling", "")) != "nan_to_num":
        return False
    copy = [value for name, value in given if name == "copy"] + list(call.args[1:2])
    return not all(is_literal(value, True) for value in copy)


def is_literal(expr: ir.Expr, value: Any) -> bool:
    """Whether an expression is True, or False, or None, as it is asked for."""
    return isinstance(expr, ir.Const) and expr.value is value


def changes(value: ir.Expr) -> bool:
    """Whether an operation may change a list of constants: `i.append(3)`, or a call that is given one."""
    if not isinstance(value, ir.Apply) or isinstance(value.callee, PlaceCall):
        return False
    given = any(isinstance(k, ListOf) and not can_be_active(k) for k in value.kinds)
    return _is_writer(value.spelled, False) or (given and isinstance(value.callee, PairCall | Dynamic | Spread))


def is_outside(value: Any) -> bool:
    """Whether a constant, the default of a parameter or an attribute of a class, is or holds memory that is written."""
    if isinstance(value, tuple):
        return any(map(is_outside, value))
    return is_place(value) or is_written(value)


def _of_a_class(value: ir.Apply) -> bool:
    """Whether an operation reads an attribute that may be that of a class, which is memory from outside."""
    if isinstance(value.callee, PlaceCall) and value.callee.operation.name == "update_attribute":
        obj, key = value.kinds[:2]
        return isinstance(obj, Unknown) or _gives_memory(obj, key.value)
    if not isinstance(value.spelled, ir.Attr):
        return False
    return not value.kinds or _gives_memory(value.kinds[0], value.spelled.name)


def _is_namespace(spelled: ir.Expr) -> bool:
    """Whether a call gives the variables of a module or the attributes of a class as a dict."""
    return isinstance(spelled, ir.Call) and getattr(spelled.func, "id", "") in ("globals", "vars", "locals")


def _gives_memory(obj: Kind | None, name: str) -> bool:
    """Whether the class of an object holds memory under a name."""
    cls = class_of(obj)
    return cls is not None and is_outside(member(cls, name))


def _is_writer(spelled: ir.Expr, table: bool) -> bool:
    """Whether a call is of a method that writes into its object (`xs.append(v)`, `a.sort()`).

    With a table of cotangents only writes into arrays matter.
    """
    if not isinstance(spelled, ir.Call) or not isinstance(spelled.func, ir.Attr):
        return False
    name = spelled.func.name
    return name in _ARRAY_WRITERS or (name in WRITERS and not table)


__all__ = ["Sharing", "changes", "is_literal", "is_outside", "overwrites"]
