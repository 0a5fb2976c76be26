"""The generated text of a function as a module that can be run as it stands, and the stages on the way to it.

    # loss (train.py:5), derivative with respect to params, single use.  adcompiler 0.1.0
    import numpy as np
    from adcompiler.runtime.shapes import fit

    def helper_forward(...): ...        what loss calls: pairs of functions
    def helper_backward(...): ...

    def loss_forward(params, x, y):     loss itself: returns its value and its pullback
        ...
        return value, loss_pullback

Nothing here takes part in differentiation: the functions that run are made by `module`, from the same blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

from adcompiler import show
from adcompiler.blocks import backward_block, forward_block
from adcompiler.errors import DifferentiationError, SourceNotFoundError, TangentError, refuse
from adcompiler.guess import described, guesses
from adcompiler.lattice import can_be_active, observe
from adcompiler.pipeline import Request, compile_request, specialised
from adcompiler.program import signature_of
from adcompiler.runtime.release import OFF, Release, current
from adcompiler.spec import Spec
from adcompiler.text import Text
from adcompiler.version import __version__

STAGES = ("parse", "lower", "kinds", "activity", "adjoint", "fold", "final")


def dump(
    function: Any,
    args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    wrt: Any = None,
    single_use: bool = True,
    stage: str | None = None,
) -> str:
    """The generated text of a function for example arguments; missing ones are guessed (see `guess`).

    `wrt` names the wanted parameters (a name, a position, or a tuple of these); the default is the first that can have
    a derivative.  `stage` shows what an earlier pass made, for all functions that are reached.
    """
    if stage not in (None, *STAGES):
        raise ValueError(f"stage={stage!r} is not one of {', '.join(STAGES)}")
    function = plain(function)
    if stage in ("parse", "lower", "kinds"):
        specs, assumed = tried(function, args, kwargs, wrt, _release(single_use), _specs)
        texts = [getattr(show, stage)(spec) for spec in specs]
        return _joined([header(function.__name__, specs[0], None, single_use), *assumed_notes(assumed)], texts)
    compiled, assumed = tried(function, args, kwargs, wrt, _release(single_use), compile_request)
    notes = [header(function.__name__, compiled.spec, compiled.pair, single_use), *assumed_notes(assumed)]
    if stage in (None, "final"):
        return Text(compiled).module(notes)
    pairs = [*compiled.units]
    if stage == "activity":
        return _joined(notes, [show.activity_of(pair.spec, pair.mask) for pair in pairs])
    if stage == "adjoint":
        return _joined(notes, [show.pair(pair, pair.forward, pair.backward) for pair in pairs])
    release = compiled.request.release
    blocks = [(p, forward_block(p, release), backward_block(p, release)) for p in pairs]
    return _joined(notes, [show.pair(*each, done=True) for each in blocks])


def _release(single_use: bool) -> Release:
    """The release mode of a text: what runs for small arrays only drops, what is shown is all of it."""
    return current() if single_use else OFF


def _specs(request: Request) -> list[Spec]:
    program, spec = specialised(request)
    return [spec, *(s for s in program.specs.values() if s is not spec)]


def _joined(notes: list[str], texts: list[str]) -> str:
    return "\n".join(notes) + "\n\n" + "\n\n".join(text.rstrip() for text in texts) + "\n"


# --- what is compiled -------------------------------------------------------------------------------------


def plain(function: Any) -> FunctionType:
    """The Python function behind what the user named."""
    function = getattr(function, "__adcompiler_function__", function)
    if isinstance(function, FunctionType):
        return function
    raise refuse(
        SourceNotFoundError,
        f"{getattr(function, '__name__', type(function).__name__)} is not written in Python",
        None,
        "There is nothing to compile.",
        "Name a function that calls it.",
    )


def tried(
    function: Any, args: Sequence[Any], kwargs: dict[str, Any] | None, wrt: Any, release: Release, compiler: Any
) -> tuple[Any, dict[str, Any]]:
    """What `compiler` makes of the first guess of the missing arguments that it accepts, and the guess."""
    signature = signature_of(function)
    bound = signature.bind_partial(*args, **kwargs or {})
    given = dict(bound.arguments)
    bound.apply_defaults()
    refused: DifferentiationError | None = None
    for guess in guesses(function, given):
        values = dict(bound.arguments) | guess
        arguments = {name: values[name] for name in signature.parameters}
        try:
            request = Request(function, arguments, wanted(function, arguments, wrt), release)
            return compiler(request), guess
        except DifferentiationError as error:
            refused = refused or error
            if not guess:
                break
    assert refused is not None
    raise refused


def wanted(function: Any, arguments: dict[str, Any], wrt: Any) -> frozenset[str]:
    """The wanted parameters, each of which can have a derivative."""
    able = [name for name, value in arguments.items() if can_be_active(observe(value, ()))]
    chosen = able[:1] if wrt is None else [*_chosen([*arguments], wrt)]
    lost = [name for name in chosen if name not in able]
    if not chosen or lost:
        what = f"the argument {lost[0]!r} of {function.__name__}" if lost else f"no argument of {function.__name__}"
        raise TangentError(f"{what} {'has no' if lost else 'has a'} derivative: pass a float or an array of floats")
    return frozenset(chosen)


def _chosen(names: list[str], wrt: Any) -> Iterator[str]:
    for w in wrt if isinstance(wrt, tuple | list) else (wrt,):
        if w in names:
            yield w
        elif isinstance(w, int) and -len(names) <= w < len(names):
            yield names[w]
        else:
            raise TypeError(f"wrt names {w!r}; the parameters are {', '.join(names)}")


# --- the head of the text ---------------------------------------------------------------------------------


def header(name: str, spec: Spec, pair: Any, single_use: bool = False) -> str:
    """The first line of a text: of what it is."""
    source = spec.function.source
    above = source.file.startswith("<adcompiler ")
    head = f"# {name} (of the text above)" if above else f"# {name} ({Path(source.file).name}:{source.first_line})"
    if pair is not None:
        head += f", derivative with respect to {_listed(pair.active)}"
        head += ", single use" if single_use else ""
    return f"{head}.  adcompiler {__version__}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(", ".join(part) for part in (names[:-1], names[-1:]) if part)


def assumed_notes(guess: dict[str, Any]) -> list[str]:
    """What is said of arguments that nobody gave."""
    if not guess:
        return []
    return [
        "# Assumed, because no arguments were given: "
        + ", ".join(f"{n} is {described(v)}" for n, v in guess.items())
        + "."
    ]
