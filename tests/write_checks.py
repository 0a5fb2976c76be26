"""What must hold for a program that writes: value, effects and gradient of the plain run, in every mode."""

from __future__ import annotations

import copy
import functools
import math
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler import DifferentiationError, pullback
from adcompiler.vectors import inner, leaves, moved, random_like
from tests import retained
from tests.differences import assert_form, assert_same, assert_unshared
from tests.modes import ONCE, pullback_not_inlined, pullback_poisoned, pullback_reusing
from tests.random_programs import Program
from tests.write_helpers import HISTORY, TABLE

MODES: dict[str, Callable[..., Any]] = {
    "reusable": pullback,
    "single use": pullback_reusing,
    "poisoned": pullback_poisoned,
    "not inlined": pullback_not_inlined,
}
LIMIT = 1e3  # larger numbers come from ill-conditioned programs
STEPS = (1e-4, 3e-4)


class UnsuitableError(Exception):
    """A program that cannot be compared with differences, and why."""


class Reference:
    """The plain run of a program: its value, what it changes, and its derivatives in some directions."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.args = copy.deepcopy(program.args)
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                self.value = program.function()(*self.args)
        except FloatingPointError:
            raise UnsuitableError("overflow") from None
        self.globals = global_arrays()
        if not suitable(self.value) or not suitable(self.args):
            raise UnsuitableError("large")
        args = copy.deepcopy(program.args)
        value = program.function(np=poisoned_numpy())(*args)
        pairs = zip(leaves((value, args)), leaves((self.value, self.args)), strict=True)
        if not all(np.array_equal(a, b) for a, b in pairs):
            raise UnsuitableError("memory that was never set")
        rng = np.random.default_rng(5)
        self.seed = random_like(self.value, rng)
        directions = [random_like(program.args, rng) for _ in range(3)]
        self.slopes = [(v, self.slope(v)) for v in directions]

    def slope(self, v: Any) -> float:
        """The derivative in a direction, by differences of fourth order that agree at two steps."""
        f = self.program.function()

        def output(h: float) -> float:
            return inner(self.seed, f(*copy.deepcopy(moved(self.program.args, v, h))))

        fine, coarse = ((8 * (output(h) - output(-h)) - (output(2 * h) - output(-2 * h))) / (12 * h) for h in STEPS)
        if not math.isclose(fine, coarse, rel_tol=1e-8, abs_tol=1e-8):
            raise UnsuitableError("rough")
        return fine


def suitable(value: Any) -> bool:
    """Whether all numbers are finite and not too large."""
    return all(np.all(np.abs(leaf) < LIMIT) for leaf in leaves(value))


def global_arrays() -> list[np.ndarray]:
    """What the global arrays hold."""
    return copy.deepcopy([TABLE, *HISTORY])


def poisoned_numpy() -> types.SimpleNamespace:
    """NumPy, whose `empty` is full of what makes every result NaN."""
    names = {name: getattr(np, name) for name in dir(np) if not name.startswith("_")}
    full = functools.partial(np.full, fill_value=np.nan)
    like = functools.partial(np.full_like, fill_value=np.nan)
    return types.SimpleNamespace(**{**names, "empty": full, "empty_like": like})


def check(program: Program, modes: dict[str, Callable[..., Any]] = MODES) -> str | None:
    """Compare the modes with the plain run; the first line of the refusal if one refuses the program."""
    refusals = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        reference = Reference(program)
        for mode, make in modes.items():
            try:
                check_mode(reference, make, single_use=make in ONCE)
            except DifferentiationError as error:
                refusals.append(str(error).partition("\n")[0])
            except Exception as error:
                error.add_note(f"mode: {mode}\n{program}")
                raise
    return refusals[0] if refusals else None


def check_mode(reference: Reference, make: Callable[..., Any], single_use: bool) -> None:
    """One mode."""
    entry = reference.program.args
    args = copy.deepcopy(entry)
    retained.forget()
    value, back = make(reference.program.function(), *args)

    def unchanged(when: str) -> None:
        assert_same(value, reference.value, f"value after the {when}")
        assert_same(args, reference.args, f"arguments after the {when}")
        assert_same(global_arrays(), reference.globals, f"globals after the {when}")

    unchanged("forward")
    seed = copy.deepcopy(reference.seed)
    with retained.unchanged():
        grads = back(seed)
    unchanged("pullback")
    retained.assert_unkept(grads)
    assert_same(seed, reference.seed, "seed after the pullback")
    assert_form(grads, entry)
    assert_unshared(grads, (args, value, seed, TABLE, HISTORY))
    for v, slope in reference.slopes:
        found = inner_of(grads, v)
        size = max(1.0, sum(float(np.sum(np.abs(g))) for g in leaves(grads)))
        assert abs(found - slope) <= 1e-7 * size, f"gradient in a direction: {found!r}, by differences {slope!r}"
    if not single_use:
        kept = copy.deepcopy(grads)
        assert_same(back(seed), kept, "second gradient")
        assert_same(grads, kept, "first gradient after the second")
        unchanged("second pullback")


def inner_of(grads: Any, v: Any) -> float:
    """The inner product of the gradients and a direction, argument by argument."""
    return sum(inner(grad, part) for grad, part in zip(grads, v, strict=True))
