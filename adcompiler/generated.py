"""Generated text as code: in `linecache`, so that tracebacks and debuggers show it, and each text compiled once.

A function that is made anew in every step of a loop is compiled for itself, mostly to the same text.
"""

from __future__ import annotations

import itertools
import linecache
import types

_numbers = itertools.count(1)
_codes: dict[tuple[str, str], types.CodeType] = {}
_texts: dict[str, str] = {}


def code_of(name: str, text: str, form: str = "") -> types.CodeType:
    """The code of a text, whose file is called `<adcompiler form number: name>`. Raises SyntaxError."""
    key = name, text
    if key not in _codes:
        file = f"<adcompiler {form}{next(_numbers)}: {name}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        _codes[key] = compile(text, file, "exec", dont_inherit=True)
        _texts[file] = text
    return _codes[key]


def lines_of(file: str) -> list[str]:
    """The lines of a generated file."""
    return _texts[file].splitlines()


def inner_code(code: types.CodeType, name: str) -> types.CodeType:
    """The code of the function `name` that another one defines."""
    return next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
