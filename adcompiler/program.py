"""One compilation: the functions it reaches, each specialised on kinds, and what must stay true for it to be reused.

A `Program` belongs to one variant of one function that the user differentiates.  Its guards are facts about arguments,
captured and global values that were read while compiling; the generated entry checks them on every call.
"""

from __future__ import annotations

import builtins
import inspect
import types
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import gast
import numpy as np

from adcompiler import ir
from adcompiler.errors import UnsupportedSyntaxError, refuse
from adcompiler.joins import join
from adcompiler.lattice import (
    Closure,
    DictOfKinds,
    Heap,
    Inert,
    Instance,
    Int,
    Kind,
    Known,
    ListOf,
    Observed,
    TupleOf,
    Unknown,
    can_be_active,
    is_object,
    observe,
)
from adcompiler.lower import lower
from adcompiler.names import Names
from adcompiler.ondevice import Needs, OnDevice
from adcompiler.parse import Source, origin_of, parse
from adcompiler.runtime.arrays import is_library_array, library
from adcompiler.runtime.members import has_plain_fields
from adcompiler.runtime.walk import fields as fields_of
from adcompiler.scope import scope_of
from adcompiler.shapeclasses import canonical, unshaped
from adcompiler.spec import ANY, CodeGuard, Guard, Path, Root, Spec

_ROUNDS = 12
_FEW = 8
_SOME = 512  # objects in a container whose fields are looked at one by one
_MANY = 4096  # items of a container that are looked at one by one


class Program(OnDevice):
    """The functions and guards of one compilation; `infer` fills in the kinds of a new specialisation."""

    def __init__(
        self,
        infer: Callable[[Spec], None],
        inline: bool = True,
        shared: frozenset[str] = frozenset(),
        writes_places: bool = False,
        names_globals: bool = False,
        on_device: bool = False,
    ) -> None:
        self.shared = shared
        self._infer = infer
        self.inline = inline
        self.guards: dict[Path, Guard] = {}
        self.codes: dict[int, CodeGuard] = {}
        self.specs: dict[Any, Spec] = {}
        self._seen: list[Observed | Closure] = []
        self._texts: dict[tuple[Any, int], Any] = {}
        self.activities: dict[Any, Any] = {}
        self.text_sites: set[Any] = set()  # where text made of active values is put, and the key
        self._round = 0
        self._assumed = self._changed = False
        self._taken: set[str] = set()
        # What the program itself may change: globals that it rebinds, containers that it writes or hands out.
        self.rebound: set[tuple[int, str]] = set()
        self.escaped = False
        # Whether something of unknown effect runs: flags outside may change under it.
        self.volatile = False
        self.stores_attributes = False
        # Whether the program writes into containers or objects: their cotangents are then kept by identity.
        self.writes_places = writes_places
        self.places_active = False
        # Whether global arrays have names, because the program writes into some; and whether these carry derivatives.
        self.names_globals = names_globals
        self.outside_hot = False
        self.outside_active = False
        self.contents: dict[tuple[Hashable, Hashable], Kind | None] = {}
        self.loose = False
        self.library: Any = np  # where its arrays are
        self.on_device = on_device

    def forget(self) -> None:
        """Let go of the values seen at the first call, when nothing more is to be found out about them."""
        for kind in self._seen:
            if isinstance(kind, Observed):
                kind.seen.clear()
            else:
                object.__setattr__(kind, "owner", None)  # it is frozen, and done with
        self._seen.clear()

    # --- sources ----------------------------------------------------------------------------------------

    def source_kind(self, value: Any, path: Path) -> Kind:
        """The kind of a value found at `path`; it becomes a guard."""
        kind = observe(value, path)
        self.meet(value)
        if isinstance(kind, Observed | Closure):
            self._seen.append(kind)
        if is_library_array(value):
            self.library = library(value)
        if isinstance(kind, Observed) and self.writes_places:
            kind = replace(kind, inert=False)  # something active may be stored there
        if self.volatile and path[0].form in ("global", "cell") and isinstance(kind, Known | Closure):
            # Flags may change under any call; what is called only if the program stores attributes.
            settled = callable(value) and (len(path) == 1 or not self.stores_attributes)
            loose = kind if settled else _unsettled(kind)
            self.guards[path] = Guard(path, kind if loose is kind else Unknown(), type(value))
            return loose
        self.guards.setdefault(path, Guard(path, kind, type(value)))
        if isinstance(kind, Closure) and value.__defaults__:
            defaults = (*path, ("attr", "__defaults__"))
            self.guards.setdefault(defaults, Guard(defaults, Known(value.__defaults__), tuple))
        if (isinstance(kind, Observed) and kind.inert) or (isinstance(kind, Instance) and not can_be_active(kind)):
            self.guards.setdefault((*path, ("inert",)), Guard((*path, ("inert",)), Known(True), bool))
        return kind

    def note(self, path: Path, kind: Kind, cls: type) -> None:
        """Make a fact about what is found at a path a guard."""
        if isinstance(kind, Known):
            self.meet(kind.value)
        self.guards.setdefault(path, Guard(path, kind, cls))

    def global_value(self, globals_: dict[str, Any], name: str) -> tuple[bool, Any]:
        """Whether a global or builtin exists, and its value."""
        if name in globals_:
            return True, globals_[name]
        if hasattr(builtins, name):
            return True, getattr(builtins, name)
        return False, None

    def global_kind(self, globals_: dict[str, Any], name: str) -> Kind:
        """The kind of a global or builtin."""
        if (id(globals_), name) in self.rebound:
            return Unknown()
        found, value = self.global_value(globals_, name)
        return self.source_kind(value, (Root("global", name, globals_),)) if found else Unknown()

    def cell_kind(self, cell: Any, name: str) -> Kind:
        """The kind of a captured variable."""
        if (id(cell), name) in self.rebound:
            return Unknown()
        try:
            value = cell.cell_contents
        except ValueError:
            return Unknown()
        return self.source_kind(value, (Root("cell", name, cell),))

    def position(self, kind: Observed, key: Any) -> Any:
        """An index of a tuple or list counted from its start, which rests on the length."""
        count = len(kind.value)
        self.guards[(*kind.path, ("len",))] = Guard((*kind.path, ("len",)), Known(count), int)
        return key + count if isinstance(key, int) and -count <= key < 0 else key

    def deep_kind(self, kind: Kind) -> Kind:
        """A container's kind with the kinds of its items, each guarded."""
        if not isinstance(kind, Observed) or len(kind.path) > 4:
            return kind
        if is_object(kind):
            return self._fields_of(kind)
        if len(kind.value) > _MANY:
            return kind
        if len(kind.value) > _SOME and not isinstance(kind.value, dict) and has_plain_fields(type(kind.value[0])):
            return kind if isinstance(kind.value, tuple) else ListOf(None, Unknown())
        if type(kind.value) is dict:
            keys = tuple(kind.value)
            self.guards[(*kind.path, ("keys",))] = Guard((*kind.path, ("keys",)), Known(keys), tuple)
            found = [self.deep_kind(self.source_kind(v, (*kind.path, ("item", k)))) for k, v in kind.value.items()]
            return DictOfKinds(keys, tuple(found))
        items = [self.deep_kind(self.source_kind(v, (*kind.path, ("item", i)))) for i, v in enumerate(kind.value)]
        self.position(kind, 0)
        if isinstance(kind.value, tuple):
            return TupleOf(tuple(items), type(kind.value))
        merged: Kind | None = None
        for item in items:
            merged = join(merged, item, kind.path)
        # A short list is known item by item, a long one by what its items have in common.
        return ListOf(tuple(items) if len(items) <= _FEW else None, merged or Unknown())

    # --- places -----------------------------------------------------------------------------------------

    def need_places(self) -> None:
        """Note that the program writes into a container or object; if that is news, all begins anew."""
        if not self.writes_places:
            raise Needs("writes_places")

    def note_content(self, kind: Kind, key: Hashable, value: Kind | None) -> None:
        """Note that something is stored at `key` (`ANY`: at some key) of what was made at a site."""
        if not isinstance(kind, Heap) or kind.site is None:
            self.loosen()
            return
        known = self.contents.get((kind.site, key))
        merged = join(known, None if value is None else unshaped(value))
        if merged != known:
            self.contents[kind.site, key] = merged
            self.note_change()

    def content(self, kind: Heap, key: Hashable) -> Kind | None:
        """What is ever held at `key` by what was made at a site; None if nothing is stored there (yet)."""
        self.assume()
        if self.loose or kind.site is None:
            return Unknown()
        if key is not ANY:
            return join(self.contents.get((kind.site, key)), self.contents.get((kind.site, ANY)))
        merged: Kind | None = None
        for place, held in self.contents.items():
            if place[0] == kind.site:
                merged = join(merged, held)
        return merged

    def loosen(self) -> None:
        """Note that something is stored nobody knows where: nothing is known of contents."""
        if not self.loose:
            self.loose = True
            self.note_change()

    def _fields_of(self, kind: Observed) -> Kind:
        """An object's kind with the kinds of its fields, each guarded."""
        found = fields_of(kind.value)
        names = tuple(found)
        path = (*kind.path, ("fields",))
        self.guards[path] = Guard(path, Known(names), tuple)
        if isinstance(kind.value, types.MethodType):  # its function, which is no field, is what is called
            found = {"__func__": kind.value.__func__, **found}
        items = [self.deep_kind(self.source_kind(v, (*kind.path, ("attr", n)))) for n, v in found.items()]
        return Instance(type(kind.value), tuple(found), tuple(items))

    def pushed_name(self, spec: Spec, tail: str = "jvp") -> str:
        """A name for a new function in forward mode, unlike all others and the user's globals."""
        spaces = [self._taken, *(s.globals for s in self.specs.values())]
        number, name = 1, f"{spec.name}_{tail}"
        while any(name in space for space in spaces):
            number += 1
            name = f"{spec.name}_{tail}_{number}"
        self._taken.add(name)
        return name

    def pair_names(self, spec: Spec) -> tuple[str, str]:
        """Names for the forward and the backward of a new pair, unlike all others and the user's globals."""
        spaces = [self._taken, *(s.globals for s in self.specs.values())]
        number, tail = 1, ""
        while any(f"{spec.name}_{part}{tail}" in space for part in ("forward", "backward") for space in spaces):
            number += 1
            tail = f"_{number}"
        names = f"{spec.name}_forward{tail}", f"{spec.name}_backward{tail}"
        self._taken.update(names)
        return names

    # --- specialisations --------------------------------------------------------------------------------

    def specialise(self, function: Any, kinds: tuple[Kind, ...]) -> Spec:
        """The specialisation of a Python function for kinds of its parameters."""
        code = function.__code__
        kinds = canonical(kinds)
        # Functions of one text share what is compiled, if they see the same globals and capture nothing.
        first = self._texts.setdefault((code, id(function.__globals__)), function)
        key = (function if function.__closure__ else first, kinds)
        self.codes[id(function)] = CodeGuard(function, code, function.__defaults__, function.__kwdefaults__)
        if key not in self.specs:
            cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
            source = parse(function)
            self._new(key, source, kinds, function.__globals__, cells)
        return self._ready(key)

    def specialise_local(self, closure: Any, kinds: tuple[Kind, ...]) -> Spec:
        """The specialisation of a nested function; its captured variables are its first parameters."""
        kinds = canonical(kinds)
        key = (closure.node, kinds)
        if key not in self.specs:
            if scope_of(_definition(closure)).outer:
                raise refuse(
                    UnsupportedSyntaxError,
                    f"{closure.name} assigns variables of the function around it (nonlocal or global)",
                    _place(closure),
                    "Such functions are not differentiated yet.",
                    "Return the new value instead.",
                )
            if not isinstance(closure.owner, Spec):
                function = closure.owner
                self._new(key, parse(function), kinds, function.__globals__, {}, closure.captures)
                return self._ready(key)
            owner: Spec = closure.owner
            outer: Source = owner.function.source
            source = Source(closure.node, closure.name, outer.file, outer.lines, getattr(closure.node, "lineno", 1))
            self._new(key, source, kinds, owner.globals, owner.cells, closure.captures)
        return self._ready(key)

    def _new(
        self,
        key: Any,
        source: Source,
        kinds: tuple[Kind, ...],
        globals_: dict[str, Any],
        cells: dict[str, Any],
        captures: tuple[str, ...] = (),
    ) -> None:
        names = Names(_identifiers(source))
        scope = scope_of(source.node)
        self.rebound |= {(id(cells.get(name, globals_)), name) for name in scope.outer}
        assumed: set[str] = set()
        function = lower(source, frozenset(cells) | frozenset(captures), names, globals_, assumed, self.shared)
        for used in sorted(assumed):
            self.global_kind(globals_, used)
        function = ir.Function(
            function.name,
            (*captures, *function.params),
            function.body,
            function.source,
            function.locals | frozenset(captures),
            frozenset(cells) - frozenset(captures),
            function.origin,
            function.generator,
        )
        name = "lambda_" if source.name == "<lambda>" else source.name
        self.specs[key] = Spec(name, function, kinds, globals_, cells, self, names=names)

    def _ready(self, key: Any) -> Spec:
        """Infer a specialisation; the outermost request repeats until what recursion assumed no longer changes."""
        spec = self.specs[key]
        if self._round:
            self._visit(spec)
            return spec
        while True:
            self._round += 1
            self._assumed, self._changed = False, False
            facts = self._facts()
            self._visit(spec)
            if facts != self._facts():
                for other in self.specs.values():
                    other.settled = False
            elif not (self._assumed and self._changed) or self._round > _ROUNDS:
                break
        if self._round > _ROUNDS:
            raise refuse(
                UnsupportedSyntaxError,
                f"the recursion of {spec.name} returns ever new kinds of values",
                spec.function.origin,
                "The kind of its result could not be found.",
                "Let all returns give the same kind of value.",
            )
        self._round = 0
        return spec

    def _facts(self) -> tuple[Any, ...]:
        return len(self.rebound), self.loose, self.escaped, self.volatile, self.stores_attributes

    def assume(self) -> None:
        """Note that a fact was used that may still change in this round."""
        self._assumed = True

    def note_change(self) -> None:
        """Note that a fact that others may have used has changed."""
        self._changed = True

    def _visit(self, spec: Spec) -> None:
        """Infer a specialisation once per round; one in progress is used with the result known so far."""
        if spec.round == self._round:
            self._assumed |= spec.busy
            return
        if spec.round and not self._assumed and spec.settled:
            return
        spec.round, spec.busy = self._round, True
        before = spec.result
        self._infer(spec)
        spec.busy = False
        self._changed |= spec.result != before
        spec.settled = not self._assumed


def _unsettled(kind: Known | Closure) -> Kind:
    """The kind of a flag that may change while the function runs."""
    if isinstance(kind, Closure):
        return Unknown()
    value = kind.value
    if isinstance(value, bool | int):
        return Int()
    if isinstance(value, types.ModuleType | type):
        return kind
    return Inert() if isinstance(value, str | bytes) else Unknown()


def _place(closure: Any) -> Any:
    """Where a function with captured variables is defined."""
    outside = not isinstance(closure.owner, Spec)
    source = parse(closure.owner) if outside else closure.owner.function.source
    return origin_of(_definition(closure), source)


def _definition(closure: Any) -> Any:
    """The gast of a function with captured variables."""
    return closure.node if isinstance(closure.owner, Spec) else parse(closure.owner).node


def _identifiers(source: Source) -> set[str]:
    found: set[str] = set()
    for node in gast.walk(source.node):
        for name in (getattr(node, "id", None), getattr(node, "name", None), getattr(node, "attr", None)):
            if isinstance(name, str):
                found.add(name)
    return found


def signature_of(function: Any) -> inspect.Signature:
    """A Python function's own signature: never that of what it wraps, nor one that was set as an attribute."""
    if "__signature__" in getattr(function, "__dict__", ()):
        own: Any = function.__code__, {}, function.__name__, function.__defaults__, function.__closure__
        plain = types.FunctionType(*own)
        plain.__kwdefaults__ = function.__kwdefaults__
        return inspect.signature(plain)
    return inspect.signature(function, follow_wrapped=False)
