"""Parameters that a rule takes for constants, though the function varies with them."""

from typing import Any

import numpy as np

from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.tangents import NotImplementedTangent
from adcompiler.runtime.walk import is_constant


def require_constant(active: bool, value: Any, name: str, function: str) -> None:
    """Raise NoRuleError if the argument `name` of a function, which has this `value`, carries a derivative."""
    if active and not _is_whole(value):
        raise NoRuleError(
            f"{name} of {function} has no derivative here, and carries one\n"
            "Use stop_gradient() of it if it is meant as a constant."
        )


def unknown(value: Any, why: str) -> Any:
    """The cotangent of an argument whose numbers have a derivative that is not given: an error if it is asked for."""
    if isinstance(value, tuple | list):
        return type(value)(unknown(entry, why) for entry in value)
    return NotImplementedTangent(why) if isinstance(value, float | complex | np.ndarray) else None


def _is_whole(value: Any) -> bool:
    return all(map(_is_whole, value)) if isinstance(value, tuple | list) else is_constant(value)
