"""Text that may have been made of values with a derivative, met in an operation that is only known at run time."""

from __future__ import annotations

import operator
import types
from typing import Any

from adcompiler.runtime.domain import foreign_module
from adcompiler.runtime.errors import UnsupportedSyntaxError

TEXT = (str, bytes)

# What functions without derivative do with text, by the kind they are declared with: they make no number of it.
CARRIERS = ("text", "other", "object", "int", "bool", None)


def makes_text(key: Any, args: tuple[Any, ...]) -> bool:
    """Whether a function is a method of text, or an operator that formats, joins, repeats or cuts out text."""
    if isinstance(key, types.MethodDescriptorType):
        return key.__objclass__ in TEXT
    if key is operator.getitem:
        return isinstance(args[0], str) or (isinstance(args[0], bytes) and isinstance(args[1], slice))
    return key in (operator.add, operator.mod, operator.mul) and isinstance(args[0], TEXT)


def refuse_text(key: Any, wanted: tuple[bool, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise if a function that may make a number of text is given text that is marked: its derivative would be lost."""
    if isinstance(key, types.FunctionType) and not foreign_module(key):
        return  # compiled with its text marked
    for mark, value in zip(wanted, (*args, *kwargs.values()), strict=False):
        if mark and _has_text(value):
            raise UnsupportedSyntaxError(
                f"{getattr(key, '__name__', key)} is given text that may have been made of a value with a derivative\n"
                "The derivative is lost in the text.\nUse the value itself, or stop_gradient() of it."
            )


def _has_text(value: Any) -> bool:
    """Whether a value is text, or a container of nothing else: beside numbers, text says what to do with them."""
    if isinstance(value, list | tuple):
        return len(value) > 0 and all(isinstance(item, TEXT) for item in value)
    return isinstance(value, TEXT)
