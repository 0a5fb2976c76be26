"""What a random program keeps of its values and cotangents, in a list, a dict or a hook; pullbacks leave it alone."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from adcompiler import hook, non_differentiable
from tests.differences import assert_same, assert_unshared

KEPT: list[Any] = []
CACHE: dict[str, Any] = {}
_seen: list[tuple[Any, Any]] = []


def note(x: Any) -> None:
    """Keep a value."""
    KEPT.append(x)


def seen(g: Any) -> None:
    """Keep a cotangent, which goes on."""
    _seen.append((g, copy.deepcopy(g)))


def same(g: Any) -> Any:
    """Keep a cotangent, and give it back."""
    seen(g)
    return g


def renewed(g: Any) -> Any:
    """Keep what takes the place of a cotangent, and equals it."""
    new = g * 1.0
    seen(new)
    return new


def halved(g: Any) -> Any:
    """Keep half of a cotangent, which takes its place."""
    new = g * 0.5
    seen(new)
    return new


non_differentiable(note)

HOOKS = (seen, same, renewed)  # which change no cotangent
NAMES: dict[str, Any] = {"KEPT": KEPT, "CACHE": CACHE, "note": note, "hook": hook}
NAMES |= {f.__name__: f for f in (*HOOKS, halved)}


def for_complex_steps() -> dict[str, Any]:
    """The same names for a run with complex numbers, whose imaginary parts are derivatives."""

    def hook_(fn: Any, x: Any) -> Any:
        return np.real(x) + 0.5j * np.imag(x) if fn is halved else x

    return {**NAMES, "KEPT": [], "CACHE": {}, "note": lambda x: None, "hook": hook_}


def forget() -> None:
    """Keep nothing of what ran before."""
    KEPT.clear()
    CACHE.clear()
    _seen.clear()


@contextlib.contextmanager
def unchanged() -> Iterator[None]:
    """What is kept is the same after the `with`, and cotangents seen in it are the same at its end."""
    _seen.clear()
    before = copy.deepcopy((KEPT, CACHE))
    yield
    assert_same((KEPT, CACHE), before, "values that were kept")
    for given, then in _seen:
        assert_same(given, then, "a cotangent that a hook has seen")


def assert_unkept(grads: Any) -> None:
    """Gradients share memory with nothing that was kept."""
    assert_unshared(grads, (KEPT, CACHE, [given for given, _ in _seen]))
