"""Every built-in rule is tested by some case."""

import functools
import importlib.util
import types
from pathlib import Path

import numpy as np
import pytest

import adcompiler.rules  # noqa: F401  (registers all rules)
from adcompiler.rules.registry import all_rules, key_name, lookup

FOLDER = Path(__file__).parent


@functools.cache
def files():
    """The test modules of this folder, but for those that run the cases of all others."""
    found = []
    for path in sorted(FOLDER.glob("test_*.py")):
        if path.name not in ("test_complete.py", "test_inlined.py", "test_transposed.py"):
            spec = importlib.util.spec_from_file_location(f"cases_of_{path.stem}", path)
            found.append(importlib.util.module_from_spec(spec))
            spec.loader.exec_module(found[-1])
    return found


def cases():
    """The cases of all modules of this folder."""
    for module in files():
        yield from getattr(module, "CASES", ())


# `check_rule` cannot copy an iterator, nor have a generator give the same numbers twice, nor move a function: a file
# may name in BY_HAND what it has other tests for.
BY_HAND = {np.ndarray.flat, type(np.r_).__getitem__}.union(*(getattr(file, "BY_HAND", ()) for file in files()))
BY_HAND |= {np.row_stack} if hasattr(np, "row_stack") else set()
TESTED = {case.key for case in cases()} | BY_HAND


def _called(key):
    """The ufunc whose rule that of its method `outer` asks: one piece of code for all ufuncs, of other packages too."""
    return key.__self__ if isinstance(key, types.BuiltinMethodType) and key.__name__ == "outer" else key


@pytest.mark.parametrize("rule", [rule for rule in all_rules() if rule.builtin], ids=repr)
def test_rule_has_a_case(rule):
    """One case for each function that a rule is for: `case(key, ...)` in CASES of a file here."""
    missing = [key_name(key) for key in rule.keys if key not in TESTED and _called(key) not in TESTED]
    assert not missing, f"{rule.name} is not tested for {', '.join(missing)}"


def test_cases_are_for_rules():
    """A case whose function has lost its rule would test nothing."""
    assert [] == sorted(key_name(key) for key in TESTED if not lookup(key))
