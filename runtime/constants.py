"""Parameters that a rule takes for constants, though the function varies with them."""

from adcompiler.runtime.errors import NoRuleError


def require_constant(active: bool, name: str, function: str) -> None:
    """Raise NoRuleError if the argument `name` of a function carries a derivative."""
    if active:
        raise NoRuleError(
            f"{name} of {function} has no derivative here, and carries one\n"
            "Use stop_gradient() of it if it is meant as a constant."
        )
