"""The pipeline: a Python function and the arguments of one call → loaded functions and the facts they rest on.

    pass         from → to                                            file
    parse        function → gast, with every node's place             parse
    lower        gast → IR in A-normal form                           lower, assignments, normalise, scope; ir,
                                                                      expression
                   comprehensions, iterators                          comprehend, iterators, consumers
                   match; variables shared and rebound                matching; cells
    kinds        IR → IR with kinds and callees                       kinds, handling, loopplans, unroll, environment,
                                                                      lattice, joins, shapeclasses, transfer, decide
      resolve    operation → callee and kind                          resolve, rulecalls, operations, functions, calls
                   containers as wholes; what is written into; text   moves; places, arraystores; textcalls
                   objects                                            objects, overloads, lookups, construct, newobjects
                   hook, stop_gradient; their reverse                 marks
    alias        IR → alias classes                                   alias, aliases, sharing
    activity     IR → which names carry derivatives                   activity, active, unfollowed, escape,
                                                                      handled, texts
                   which memory is written into meanwhile             hot
    adjoint      IR → forward IR, backward IR, saved values           adjoint, protected, passing, writing, whiles,
                                                                      reverse, dynamics, structures, elements,
                                                                      tracking, cotangents, bars, definite, saving,
                                                                      records, gathers
                   arrays that are written into                       shadowing, arraywrites, overwritten
      inline     rule + kinds → one expression per cotangent          ruletext, instantiate, link
    pushforward  IR → IR with tangents (forward mode)                 pushforward, pushstate, pushvalues, pushrules,
                                                                      pushwrites, pushed
      inline     forward rule + kinds → the expression of a tangent   forwardtext, instantiate
    blocks       forward IR, backward IR → what is printed of these   blocks
    simplify     backward IR → the same without idle copies           simplify
    fold         IR → IR with nested expressions                      fold
    liveness     forward IR → IR that drops its temporaries           liveness
    release      backward IR → IR that gives memory back              release, recycle, lastuse, ownership, lifetimes,
                                                                      holdings (single use only)
    emit         IR → gast → text                                     emit
    load         text → functions on the user's globals and cells     module
    entry        guards → the function that a call goes through       entry, overlap

`parse`, `lower` and `kinds` run for every function that is reached, before `alias` and what follows.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from adcompiler.adjoint import pair_of
from adcompiler.errors import UnsupportedSyntaxError, definition_of, refuse
from adcompiler.escape import ReboundLate
from adcompiler.kinds import infer
from adcompiler.lattice import Array, Kind, Known, Stream, can_be_active
from adcompiler.module import Unit, load, units
from adcompiler.ondevice import Needs
from adcompiler.overlap import overlap_check
from adcompiler.pair import Pair
from adcompiler.program import Program, signature_of
from adcompiler.runtime.bars import checked, with_table
from adcompiler.runtime.release import OFF, Release
from adcompiler.spec import Root, Spec

# Compilation is rare and touches shared tables: one at a time.
LOCK = threading.RLock()
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Request:
    """What to compile: a function, the values bound to its parameters, and which parameters are wanted."""

    function: Any
    arguments: dict[str, Any]
    wanted: frozenset[str]
    release: Release = OFF  # of a pullback that may be called once
    inline: bool = True
    inner: bool = False  # called by compiled code, where wanted text has been made of what carries a derivative
    over: bool = False  # what it is given and gives may be written into before its pullback runs


@dataclass(frozen=True, eq=False)
class Compiled:
    """A compilation: the root's pair, its loaded functions, and the program whose guards it rests on."""

    request: Request
    program: Program
    spec: Spec
    pair: Pair
    units: dict[Pair, Unit]

    def forget(self) -> None:
        """Let go of the arguments of the first call: what was compiled outlives them."""
        self.request.arguments.clear()
        self.program.forget()

    @property
    def forward(self) -> Any:
        return self.units[self.pair].forward

    @property
    def backward(self) -> Any:
        return self.units[self.pair].backward

    @property
    def alone(self) -> tuple[Any, Any]:
        """Forward and backward as they are called from outside: with a table of their own, if they need one."""
        check = overlap_check(self)
        if not self.pair.table and check is None:
            return self.forward, self.backward
        if not self.pair.table:
            return checked(self.forward, check), self.backward
        pair, keep = self.pair, self.program.escaped
        return with_table(self.forward, self.backward, pair.collected, len(pair.active), keep, pair.seed, check)


def specialised(
    request: Request, shared: frozenset[str] = frozenset(), flags: frozenset[str] = frozenset()
) -> tuple[Program, Spec]:
    """The passes up to `kinds`, for the function and all that it calls.

    `shared` are variables that functions capture, and that are rebound after these were made; `flags` say what else is
    known that the program needs.
    """
    while True:
        program = Program(infer, request.inline, shared, **dict.fromkeys(flags, True))
        try:
            return _specialised(request, program)
        except Needs as needs:
            program.forget()
            flags |= {needs.flag}


def _specialised(request: Request, program: Program) -> tuple[Program, Spec]:
    kinds: dict[str, Kind] = {}
    alike = getattr(request.function, "__adcompiler_alike__", {})  # of tangents: what they have the shape of
    for name in signature_of(request.function).parameters:
        kind = program.source_kind(request.arguments[name], (Root("arg", name),))
        like = kinds.get(alike.get(name, ""))
        if isinstance(kind, Array) and isinstance(like, Array):
            kind = replace(kind, shape=like.shape)
        kinds[name] = kind
    spec = program.specialise(request.function, tuple(kinds.values()))
    if isinstance(spec.result, Stream) or spec.function.generator:
        raise refuse(
            UnsupportedSyntaxError,
            f"{spec.name} gives a generator, which has no cotangent",
            spec.function.origin,
            "Its items would be taken where nothing is differentiated.",
            "Return a list of the items, or differentiate the function that takes them.",
        )
    return program, spec


def _is_function(kind: Kind) -> bool:
    """Whether a value is a known function, and so no text."""
    return isinstance(kind, Known) and callable(kind.value)


def compile_request(request: Request) -> Compiled:
    """All passes."""
    with LOCK, compiling(request.function):
        program, spec, pair = _paired(request)
        all_units = units(pair, request.release)
        load(all_units)
        return Compiled(request, program, spec, pair, all_units)


def _paired(request: Request) -> tuple[Program, Spec, Pair]:
    """The passes up to `adjoint`."""
    return until_settled(request, lambda spec, mask: pair_of(spec, mask, over=request.over))


def until_settled(request: Request, made: Callable[[Spec, tuple[bool, ...]], Made]) -> tuple[Program, Spec, Made]:
    """The passes up to what is `made`; again, if a function is found to see a variable that is rebound later."""
    shared: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    while True:
        program, spec = specialised(request, shared, flags)
        mask = tuple(p in request.wanted and can_be_active(k) for p, k in zip(spec.params, spec.kinds, strict=True))
        if request.inner:
            pairs = zip(spec.params, spec.kinds, mask, strict=True)
            spec.texts |= {p for p, k, on in pairs if p in request.wanted and not on and not _is_function(k)}
        try:
            return program, spec, made(spec, mask)
        except ReboundLate as late:
            program.forget()
            if late.names <= shared:
                raise late.refusal from None
            shared |= late.names
        except Needs as needs:
            program.forget()
            flags |= {needs.flag}


@contextlib.contextmanager
def compiling(function: Any) -> Iterator[None]:
    """The circumstances in which the passes run."""
    with _deep_recursion(function), _no_collection():
        yield


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """The passes make many small objects and few cycles: looking through all that is alive for these takes longer."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@contextlib.contextmanager
def _deep_recursion(function: Any) -> Iterator[None]:
    """The passes recurse over nested expressions and branches: deeper than Python allows by default."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20_000))
    try:
        yield
    except RecursionError:
        raise refuse(
            UnsupportedSyntaxError,
            f"{function.__qualname__} is nested too deeply",
            definition_of(function),
            "An expression or a chain of branches in it, or in what it calls, is too deep to be compiled.",
            "Split it into smaller pieces.",
        ) from None
    finally:
        sys.setrecursionlimit(limit)


__all__ = ["LOCK", "Compiled", "Request", "compile_request", "compiling", "specialised", "until_settled"]
