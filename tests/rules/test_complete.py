"""Every built-in rule is tested by some case."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import adcompiler.rules  # noqa: F401  (registers all rules)
from adcompiler.rules.registry import all_rules, key_name, lookup
from tests.rules import test_interpolate, test_random, test_sparse

FOLDER = Path(__file__).parent


def cases():
    """The cases of all modules of this folder."""
    for path in sorted(FOLDER.glob("test_*.py")):
        if path.name in ("test_complete.py", "test_inlined.py"):  # they run all cases
            continue
        spec = importlib.util.spec_from_file_location(f"cases_of_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield from getattr(module, "CASES", ())


# `check_rule` cannot copy an iterator, nor have a generator give the same numbers twice; functions of functions need
# the compiler. test_shaping.py, test_random.py, test_indexing.py and test_joining.py have tests for them.
BY_HAND = {np.ndarray.flat, np.piecewise, np.apply_along_axis, np.fromfunction, type(np.r_).__getitem__}
BY_HAND |= {np.row_stack} if hasattr(np, "row_stack") else set()  # warns that it is deprecated
BY_HAND |= test_random.BY_HAND | test_sparse.BY_HAND | test_interpolate.BY_HAND
TESTED = {case.key for case in cases()} | BY_HAND


@pytest.mark.parametrize("rule", [rule for rule in all_rules() if rule.builtin], ids=repr)
def test_rule_has_a_case(rule):
    """One case for each function that a rule is for: `case(key, ...)` in CASES of a file here."""
    missing = [key_name(key) for key in rule.keys if key not in TESTED]
    assert not missing, f"{rule.name} is not tested for {', '.join(missing)}"


def test_cases_are_for_rules():
    """A case whose function has lost its rule would test nothing."""
    assert [] == sorted(key_name(key) for key in TESTED if not lookup(key))
