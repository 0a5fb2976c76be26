"""What a pass made of a function, as lines of text: the printed stages without line numbers and notes."""

from __future__ import annotations

import re
from typing import Any

from adcompiler import ir, show
from adcompiler.activity import activity
from adcompiler.alias import alias
from adcompiler.dump import dump
from adcompiler.pipeline import Request, compile_request, specialised
from adcompiler.program import signature_of
from adcompiler.runtime.release import OFF, Release


def arguments_of(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Parameter → value of a call."""
    bound = signature_of(f).bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def specialisation(f: Any, *args: Any, **kwargs: Any) -> Any:
    """The specialisation of a function for the kinds of its arguments."""
    return specialised(Request(f, arguments_of(f, args, kwargs), frozenset()))[1]


def result_kind(f: Any, *args: Any, **kwargs: Any) -> str:
    """The kind of a function's result, in words."""
    return show.kind(specialisation(f, *args, **kwargs).result)


def compiled(f: Any, *args: Any, wrt: tuple[str, ...], single_use: bool = False) -> Any:
    """The compilation of a function for given arguments."""
    return compile_request(
        Request(f, arguments_of(f, args, {}), frozenset(wrt), Release("reuse", 0) if single_use else OFF)
    )


def stage(f: Any, name: str, *args: Any, wrt: Any = None) -> str:
    """The printed stage of a function."""
    return dump(f, args, wrt=wrt, single_use=False, stage=name)


def functions(text: str) -> dict[str, list[str]]:
    """The functions of a printed stage: name → lines of code, each with its `*` (if it has one) and its indentation."""
    found: dict[str, list[str]] = {}
    for line in text.split("\n"):
        head = re.match(r"(\w+)\(", line)
        if head:
            lines = found[head[1]] = []
        elif line.strip() and not line.startswith("#"):
            code = re.sub(r"\s+: .*", "", line[8:]) if re.search(r"\s{2}: |\s: ", line[40:]) else line[8:]
            lines.append(("* " if line[6:7] == "*" else "") + code.rstrip())
    return found


def lowered(f: Any, *args: Any) -> list[str]:
    """The lines that `lower` makes of a function."""
    return functions(stage(f, "lower", *args))[f.__name__.strip("<>").replace("lambda", "lambda_")]


def marked(f: Any, *args: Any, wrt: Any = None) -> list[str]:
    """The lines of a function that carry a derivative."""
    lines = functions(stage(f, "activity", *args, wrt=wrt))[f.__name__]
    return [line[2:].strip() for line in lines if line.startswith("* ")]


def backward(f: Any, *args: Any, wrt: Any = None, name: str = "fold") -> list[str]:
    """The lines of a function's backward, folded."""
    return functions(stage(f, name, *args, wrt=wrt))[f"{f.__name__}_backward"]


def saved(f: Any, *args: Any, wrt: tuple[str, ...]) -> tuple[str, ...]:
    """The names that the forward saves."""
    return tuple(compiled(f, *args, wrt=wrt).pair.saved)


def activities(f: Any, *args: Any, wrt: tuple[str, ...]) -> dict[str, tuple[Any, Any]]:
    """Function → its specialisation and activity, of a function and of all that it calls with something active."""
    made = compiled(f, *args, wrt=wrt)
    specs = {id(spec): spec for spec in made.program.specs.values()}
    found = {specs[key].name: (specs[key], one) for (key, mask, _), one in made.program.activities.items() if any(mask)}
    return {**found, f.__name__: (made.spec, activity(made.spec, made.pair.mask, made.pair.memory))}


def hot(f: Any, *args: Any, wrt: tuple[str, ...] = ("x",)) -> set[str]:
    """The names of a function, as the user wrote them, that refer to memory which is hot."""
    spec, found = activities(f, *args, wrt=wrt)[f.__name__]
    aliases = alias(spec)
    at = [pair for stmt in ir.statements(spec.body) for pair in (aliases.before.get(id(stmt)) or {}).items()]
    users = spec.function.locals | set(spec.params)
    return {name for name, node in at if name in users and aliases.find(node) in found.hot}
