"""The compiled variants of one function: a chain of entries, the newest first, and what is done when none fits."""

from __future__ import annotations

import inspect
import traceback
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from adcompiler.entry import Finish, entry_maker
from adcompiler.errors import (
    DifferentiationError,
    MutationError,
    Origin,
    UnsupportedSyntaxError,
    definition_of,
    locate,
    refuse,
)
from adcompiler.module import generated_lines
from adcompiler.pipeline import LOCK, Compiled, Request, compile_request
from adcompiler.program import signature_of
from adcompiler.remade import Templates
from adcompiler.rules.registry import is_non_differentiable, lookup, on_register
from adcompiler.runtime import pushing
from adcompiler.runtime.release import OFF, Release, current

_all: weakref.WeakSet[Variants] = weakref.WeakSet()
_MOST = 64
_templates = Templates()


class Variants:
    """What `gradient(f)` and its relatives call: `first` is the entry to try first.

    `plan(signature, arguments)` says which parameters are wanted; `finisher(compiled)` makes the function that turns
    the forward's result into what the user gets. `ruled` is called instead as long as a rule holds for the arguments.
    `key` says the same as `plan` and `finisher` of other functions with the same body, which may be compiled already.
    """

    def __init__(
        self,
        function: types.FunctionType,
        plan: Callable[[inspect.Signature, dict[str, Any]], frozenset[str]],
        finisher: Callable[[Compiled], Finish],
        single_use: bool,
        inline: bool = True,
        ruled: Callable[..., Any] | None = None,
        inner: bool = False,
        over: bool = False,
        compiler: Callable[[Request], Any] = compile_request,
        key: Any = None,
    ) -> None:
        self.function = function
        self.key = None if key is None else (key, single_use, inline, inner, over)
        self.asked: set[Release] = set()  # for which other functions' variants are in use
        self.plan = plan
        self.finisher = finisher
        self.single_use = single_use
        self.inline = inline
        self.ruled = ruled
        self.inner = inner
        self.over = over
        self.compiler = compiler
        self.signature = signature_of(function)
        self.code, self.defaults, self.kwdefaults = _body(function)
        self.first: Callable[..., Any] = self.miss
        self.count = 0
        self.release: Release = current()
        self.others: dict[Release, tuple[Callable[..., Any], int]] = {}
        _all.add(self)

    def renew(self) -> None:
        """Forget what was compiled if the function's body or defaults were replaced."""
        self.code, self.defaults, self.kwdefaults = _body(self.function)
        self.signature = signature_of(self.function)
        self.forget()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        f = self.function
        if f.__code__ is not self.code or f.__defaults__ is not self.defaults or f.__kwdefaults__ != self.kwdefaults:
            self.renew()
        if self.single_use and current() is not self.release:
            self.switch(current())
        return self.first(*args, **kwargs)

    def switch(self, release: Release) -> None:
        """Go on with what was compiled for another release mode."""
        with LOCK:
            self.others[self.release] = self.first, self.count
            self.first, self.count = self.others.get(release, (self.miss, 0))
            self.release = release

    def forget(self) -> None:
        """Compile anew at the next call."""
        self.first, self.count = self.miss, 0
        self.others.clear()

    def miss(self, *args: Any, **kwargs: Any) -> Any:
        """No variant fits: make one, put it in front, and run it."""
        if self.ruled is not None and self.has_rule(args, kwargs):
            return self.ruled(*args, **kwargs)
        if self.release not in self.asked:
            self.asked.add(self.release)
            for made in _templates.fitting(self.function, (self.key, self.release)):
                self.first = made(self.first)
                self.count += 1
            return self.first(*args, **kwargs)
        compiled = self.compiled(args, kwargs)
        with LOCK:
            if self.count >= _MOST:
                self.forget()
            make = entry_maker(compiled, self.finisher(compiled))
            compiled.forget()
            _templates.keep(self.function, (self.key, self.release), make)
            self.first = make(self.first)
            self.count += 1
        return make(_refused(self.function))(*args, **kwargs)

    def has_rule(self, args: Any, kwargs: Any) -> bool:
        """Whether the function has a rule, which then comes before its source, or is declared without derivative."""
        types_ = tuple(map(type, (*args, *kwargs.values())))
        return bool(lookup(self.function, types_) or is_non_differentiable(self.function))

    def compiled(self, args: Any, kwargs: Any) -> Any:
        """The compilation for the arguments of one call."""
        arguments = self.bound(args, kwargs)
        try:
            wanted = self.plan(self.signature, arguments)
        except DifferentiationError as error:
            locate(error, definition_of(self.function))
            raise
        release = current().fitting(arguments) if self.single_use else OFF
        how = release, self.inline, self.inner, self.over
        return self.compiler(Request(self.function, arguments, wanted, *how))

    def bound(self, args: Any, kwargs: Any) -> dict[str, Any]:
        """Parameter → value, as Python binds them (Python's own TypeError if they do not fit)."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError:
            self.function(*args, **kwargs)
            raise
        bound.apply_defaults()
        return dict(bound.arguments)


def _body(function: types.FunctionType) -> tuple[Any, Any, Any]:
    return function.__code__, function.__defaults__, dict(function.__kwdefaults__) if function.__kwdefaults__ else None


def _refused(function: Any) -> Callable[..., Any]:
    def other(*args: Any, **kwargs: Any) -> Any:
        raise refuse(
            UnsupportedSyntaxError,
            f"{function.__qualname__} does not fit the version that was just compiled for it",
            definition_of(function),
            "Something it reads changes while it is compiled or called.",
            "Pass what changes as an argument.",
        )

    return other


def _writes_tangent(tb: types.TracebackType | None) -> bool:
    """Whether what was raised comes from a write into a tangent, in text that was generated or in what it calls."""
    frames = traceback.extract_tb(tb)[-1:]
    return any(f.filename == pushing.__file__ or _is_tangents(f) for f in frames)


def _is_tangents(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith("<adcompiler") and "_dot" in (frame.line or "")


def shown(error: BaseException) -> BaseException:
    """An exception as it leaves a transform: with the user's line, and without the compiler's own frames.

    What neither the user's code nor a refusal raised is a fault of the compiler, and keeps its whole traceback.
    """
    if isinstance(error, ValueError) and "read-only" in str(error) and _writes_tangent(error.__traceback__):
        error = MutationError(pushing.FROZEN).with_traceback(error.__traceback__)
        error.__suppress_context__ = True
    explained(error)
    frames = list(_frames(error.__traceback__))
    if isinstance(error, DifferentiationError) or (frames and not _is_internal(frames[-1])):
        tb = None
        for frame in reversed(frames):
            if not _is_internal(frame):
                tb = types.TracebackType(tb, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
        return error.with_traceback(tb)
    return error


def _frames(tb: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while tb is not None:
        yield tb
        tb = tb.tb_next


def _is_internal(tb: types.TracebackType) -> bool:
    """Whether a frame belongs to the package (generated text does not: it is the user's function)."""
    file = tb.tb_frame.f_code.co_filename
    module = tb.tb_frame.f_globals.get("__name__", "")
    return file.startswith("<adcompiler entry ") or (
        not file.startswith("<adcompiler ") and f"{module}.".startswith("adcompiler.")
    )


def explained(error: BaseException) -> None:
    """Add the user's line to an exception that comes out of generated code."""
    places = list(generated_lines(error))
    if not places:
        return
    file, line, text = places[-1]
    if isinstance(error, DifferentiationError) and error.origin is None:
        locate(error, Origin(file, line, text, 0, len(text)))
        return
    note = f'  File "{file}", line {line}\n    {text}'
    notes = getattr(error, "__notes__", [])
    if note not in notes and not (isinstance(error, DifferentiationError) and error.origin is not None):
        error.add_note(note)


def _forget_all(keys: Any) -> None:
    _templates.forget()
    for variants in list(_all):
        variants.forget()


on_register(_forget_all)
