"""What is covered: every public function of NumPy is in some list, and the common ones have right derivatives."""

from pathlib import Path

import numpy as np
import pytest

from adcompiler import gradient
from adcompiler.coverage import UNKNOWN, Entry, coverage, covered
from tests.common_functions import USES, X, summed

COMMON = Path(__file__).with_name("common_functions.txt").read_text().splitlines()
MODULES = {
    "numpy": np,
    "numpy.linalg": np.linalg,
    "numpy.fft": np.fft,
    "numpy.ndarray": np.ndarray,
    "numpy.random": np.random,
    "numpy.random.Generator": np.random.Generator,
    "numpy.random.RandomState": np.random.RandomState,
}


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_is_in_some_list(name):
    """A rule, no derivative, or refused with a reason: nothing in NumPy is forgotten, whatever its version."""
    forgotten = [entry.name for entry in coverage(MODULES[name]) if entry.how == UNKNOWN]
    assert [] == forgotten


def test_there_is_a_use_for_each_common_function():
    """The table of uses has the names of the list, which are 213."""
    assert 213 == len(COMMON) == len(set(COMMON))
    assert set(COMMON) == {*USES}


@pytest.mark.parametrize("name", USES)
def test_common_function_has_the_right_gradient(name):
    """Against central differences, through the compiler."""
    use = USES[name]

    def total(x):
        return summed(use(x)) + np.sum(x)

    step = 1e-6
    directions = np.eye(X.size) * step
    expected = [(total(X + d) - total(X - d)) / (2 * step) for d in directions]
    assert gradient(total)(X) == pytest.approx(expected, rel=2e-6, abs=2e-7)


def test_coverage_of_a_module(tmp_path, monkeypatch):
    """Functions in Python are compiled from their source; constants, exceptions and private names are no entries."""
    (tmp_path / "some_module_to_cover.py").write_text("import numpy\nA = 1\ndef f(x): return x\ndef _g(x): return x\n")
    monkeypatch.syspath_prepend(tmp_path)
    text = covered("some_module_to_cover")
    assert "some_module_to_cover.f  via source" in text
    assert text.endswith("some_module_to_cover: 1 in all: 1 via source\n")


def test_entries_say_where_or_why():
    """The rule's file and line, or the first sentence of the reason."""
    entries = {entry.name: entry for entry in coverage(np)}
    assert "rules/" in entries["sin"].detail
    assert entries["floor"] == Entry("floor", "no derivative")
    assert entries["intersect1d"].detail.startswith("Its result exists only")


def test_functions_that_write_are_covered():
    """They have no rule, since they give no result: they are in the table of writes."""
    assert Entry("put", "rule", "adcompiler.runtime.writes") in coverage(np)
    found = {entry.name: entry.how for entry in coverage(np.ndarray)}
    assert ("rule", "rule", "refused") == (found["sort"], found["fill"], found["partition"])
