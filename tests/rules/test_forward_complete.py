"""Which built-in rules have a form of their own for tangents; the others are transposed when they are needed."""

import importlib
from collections import Counter
from pathlib import Path

import numpy as np

from adcompiler.forward_call import form_of
from adcompiler.rules.registry import all_rules, key_name, lookup

COMMON = Path(__file__).parents[1] / "common_functions.txt"

# How many rules of each module of `adcompiler.rules` have none. These numbers can only shrink.
WITHOUT = {
    "callbacks": 6,
    "distance": 2,
    "integrate": 5,
    "interpolate": 20,
    "interpolate_tables": 4,
    "joining": 1,
    "ndimage_ranks": 7,
    "optimize": 6,
    "polynomials": 1,
    "roots": 10,
    "scipy_factorisations": 10,
    "scipy_linalg": 6,
    "scipy_matrices": 2,
    "signal": 5,
    "sparse": 37,
    "sparse_linalg": 7,
    "special_harmonics": 9,
    "stats": 146,
    "stats_data": 9,
    "stats_multivariate": 5,
    "ufuncs": 54,
}
PARTS = "special stats linalg fft integrate optimize sparse.linalg signal interpolate ndimage spatial.distance"
HELPERS = ("checkpoints", "forward_parts", "helpers")


for _part in PARTS.split():
    importlib.import_module(f"scipy.{_part}")
importlib.import_module("statistics")
lookup(np.sin)  # loads the rules of what is imported now


def module_of(rule):
    """The name of the module of a rule, within the package."""
    function = rule.partials[0] if rule.partials else rule.function
    return function.__module__.split(".")[-1]


def test_the_rules_without_a_form_for_tangents_are_known():
    """A new rule has one; helpers of rules need none."""
    missing = {}
    for rule in all_rules():
        if rule.builtin and any(form_of(rule, key) is None for key in rule.keys):
            missing.setdefault(module_of(rule), []).append(key_name(rule.keys[0]))
    more = {
        name: names
        for name, names in missing.items()
        if len(names) > WITHOUT.get(name, 0) and not name.startswith(HELPERS)
    }
    assert {} == more


def test_most_rules_have_a_form_for_tangents():
    """Every kind of form is in use."""
    forms = Counter(form_of(rule, key) for rule in all_rules() if rule.builtin for key in rule.keys)
    assert {"frule", "partials", "linear", "multilinear", "pointwise"} <= set(forms)
    assert sum(forms.values()) - forms[None] > 700


def test_the_common_functions_have_a_form_for_tangents():
    """All but the one that calls functions."""
    missing = []
    for name in COMMON.read_text().split("\n"):
        found = np
        for part in name.strip().split("."):
            found = getattr(found, part, None)
        if found is not None and found is not np and lookup(found) and form_of(lookup(found)[0], found) is None:
            missing.append(name)
    assert ["piecewise"] == missing
