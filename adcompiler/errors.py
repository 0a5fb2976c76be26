"""What a user sees when a function cannot be differentiated: what, where, why, and what to do.

The classes live in `adcompiler.runtime.errors`, because generated code raises some of them; the compiler raises
them through `refuse`, which puts every message in the same form and never without the user's own line.
"""

import linecache
from dataclasses import dataclass
from typing import Any, TypeVar

from adcompiler.runtime.errors import DifferentiationError as DifferentiationError
from adcompiler.runtime.errors import MutationError as MutationError
from adcompiler.runtime.errors import NoRuleError as NoRuleError
from adcompiler.runtime.errors import NotScalarError as NotScalarError
from adcompiler.runtime.errors import PullbackConsumedError as PullbackConsumedError
from adcompiler.runtime.errors import SourceNotFoundError as SourceNotFoundError
from adcompiler.runtime.errors import TangentError as TangentError
from adcompiler.runtime.errors import UnsupportedSyntaxError as UnsupportedSyntaxError

Error = TypeVar("Error", bound=DifferentiationError)


@dataclass(frozen=True, slots=True)
class Origin:
    """The place in the user's file that something came from.

    `text` is the user's line without its indentation; `column` and `end_column` count characters of `text`. What
    spans several lines is shown by its first.
    """

    file: str
    line: int
    text: str
    column: int
    end_column: int

    def __str__(self) -> str:
        """The place as Python's own tracebacks show it, with carets under the part that is meant.

        >>> print(Origin("relax.py", 8, "x = np.tanh(x @ w)", 12, 17))
          File "relax.py", line 8
            x = np.tanh(x @ w)
                        ^^^^^
        """
        indent = "".join("\t" if character == "\t" else " " for character in self.text[: self.column])
        carets = "^" * max(1, self.end_column - self.column)
        return f'  File "{self.file}", line {self.line}\n    {self.text}\n    {indent}{carets}'


def definition_of(function: Any) -> Origin:
    """The line that a Python function is defined on."""
    code = function.__code__
    line = linecache.getline(code.co_filename, code.co_firstlineno).strip()
    return Origin(code.co_filename, code.co_firstlineno, line, 0, len(line))


def locate(error: DifferentiationError, origin: Origin | None) -> None:
    """Give an error that does not name a place the one where it arose, below its first line."""
    if error.origin is None and origin is not None:
        error.origin = origin
        what, _, rest = str(error).partition("\n")
        error.args = ("\n".join(part for part in (what, str(origin), rest) if part),)


def refuse(kind: type[Error], what: str, origin: Origin | None, why: str, advice: str) -> Error:
    """Build the error of class `kind`; the caller raises it.

    >>> print(refuse(UnsupportedSyntaxError, "a global is assigned", None, "It has no cotangent.", "Return it."))
    a global is assigned
    It has no cotangent.
    Return it.
    """
    error = kind("\n".join(part for part in (what, str(origin) if origin else "", why, advice) if part))
    error.origin = origin
    return error
