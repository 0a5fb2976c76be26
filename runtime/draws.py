"""The random numbers behind a draw: the state of a generator before it, and the same draw once more."""

from typing import Any

import numpy as np

from adcompiler.runtime.errors import NoRuleError


def state_of(generator: Any) -> Any:
    """The state of a generator, which `replayed` starts from."""
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return generator.bit_generator.state


def replayed(generator: Any, state: Any) -> Any:
    """A generator of the same kind at that state; the given one is not touched."""
    if isinstance(generator, np.random.RandomState):
        again: Any = np.random.RandomState(0)
        again.set_state(state)
    else:
        again = np.random.Generator(type(generator.bit_generator)(0))
        again.bit_generator.state = state
    return again


def log_slope(x: Any, y: Any) -> Any:
    """`x * log(y)`, and 0 where `x` is."""
    return x * np.log(np.where(x == 0, 1.0, y))


def triangular_partials(y: Any, left: Any, mode: Any, right: Any) -> tuple[Any, Any, Any]:
    """How a triangular draw moves with its corners, from the inverse of its distribution function on either side."""
    rising = y <= mode
    width = right - left
    near = np.where(rising, mode - left, right - mode)
    far = np.where(rising, y - left, right - y) / 2
    across, along = far / width, far / np.where(near == 0, 1.0, near)
    sign = np.where(rising, 1.0, -1.0)
    own = 1 - across - along
    left_bar = np.where(rising, own, across)
    return left_bar, along * np.where(near == 0, 0.0, 1.0), np.where(sign > 0, across, own)


def no_partial(name: str, parameter: str) -> NoRuleError:
    """The error for a parameter with which draws move in no closed form."""
    return NoRuleError(
        f"how the draws of {name} move with {parameter} has no closed form\n"
        "Take it as a constant with stop_gradient(), or differentiate the logarithm of the density instead."
    )
