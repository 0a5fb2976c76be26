"""Every rule on arrays of CuPy: the values and cotangents of NumPy, as arrays of CuPy, on the same device."""

import collections

import cupy
import numpy as np
import pytest

import adcompiler
from adcompiler.rulecheck import applied
from adcompiler.rules.registry import all_rules, key_name
from adcompiler.runtime.project import materialize
from adcompiler.vectors import close, leaves, random_like
from tests.hostcupy.arrays import on_device, on_host
from tests.hostcupy.calls import FREE_ORDER, NOT_TAKEN, NOT_YET, calls, type_name
from tests.rules.test_inlined import applied_to, called, expected, write

CALLS = list(calls())
TOLERANCE = {"float16": 1e-2, "float32": 1e-4, "complex64": 1e-4}


def tolerance(*values):
    """What the dtypes in `values` allow."""
    names = [x.dtype.name for value in values for x in leaves(value) if hasattr(x, "dtype")]
    return max([1e-9, *(TOLERANCE.get(name, 0) for name in names)])


def check_type(bar, x):
    """`bar` is a cotangent in the place where `x` is: an array for an array, of the same shape and dtype."""
    for entry, leaf in zip(leaves(bar), leaves(x), strict=True):
        if isinstance(leaf, cupy.ndarray):
            assert type(entry) is cupy.ndarray, f"a {type(entry)} for an array of CuPy"
            assert (entry.shape, entry.dtype, entry.device) == (leaf.shape, leaf.dtype, leaf.device)


def fails(call):
    """Whether the rule fails with an error, on the way there or back; it must never give another number."""
    try:
        found = applied(call.device.key, call.device.args, call.device.kwargs, "")
        found.pullback(on_device(random_like(applied_to(call.case).y, np.random.default_rng(5))))
    except NOT_TAKEN:
        return True
    return False


@pytest.mark.parametrize("literal", [False, True], ids=["parameters", "literals"])
@pytest.mark.parametrize("call", CALLS, ids=str)
def test_rule(call, literal):
    """A compiled call has the value and the cotangents that the rule has on NumPy's arrays."""
    reason = call.not_taken()
    if reason is not None:
        pytest.skip(f"CuPy does not take the call: {reason}")
    name = key_name(call.case.key)
    if name in FREE_ORDER:
        pytest.skip(FREE_ORDER[name])
    if name in NOT_YET and fails(call):
        pytest.skip(NOT_YET[name])
    reference = applied_to(call.case)
    found = write(call.device, reference.rule, literal)
    if found is None:
        pytest.skip("every argument is a literal")
    plain, _, written = found
    values = list(written.values.values())
    y, back = adcompiler.pullback(plain, *values)
    wanted_y = write(call.case, reference.rule, literal)
    wanted = wanted_y[0](*wanted_y[2].values.values())
    assert close(on_host(y), wanted, tolerance(wanted)), (y, wanted)
    y_bar, bars = called(reference, lambda y: random_like(y, np.random.default_rng(5)))
    wanted_bars = expected(wanted_y[2], bars)
    for x, bar, wanted_bar in zip(values, back(on_device(y_bar)), wanted_bars, strict=True):
        bar = materialize(bar, x)
        check_type(bar, x)
        assert close(on_host(bar), wanted_bar, tolerance(y, x)), (bar, wanted_bar)


def test_most_rules_run():
    """At least nine of ten rules of NumPy's functions have a case above that CuPy takes; prints which have none."""
    keys = {call.case.key for call in CALLS if key_name(call.case.key) not in NOT_YET}
    rules = [rule for rule in all_rules() if rule.builtin and any(map(takes_arrays, rule.keys))]
    rules = [rule for rule in rules if not rule.function.__module__.endswith(".random")]
    missing = collections.defaultdict(list)
    for rule in rules:
        if keys.isdisjoint(rule.keys):
            missing["no case with an array"].append(rule.name)
            continue
        reasons = [call.not_taken() for call in CALLS if call.case.key in rule.keys]
        if all(reasons):
            missing[reasons[0]].append(rule.name)
    print(f"{len(rules)} rules, {len(rules) - sum(map(len, missing.values()))} run on arrays of CuPy")
    for reason, names in missing.items():
        print(f"  {', '.join(names)}: {reason}")
    assert sum(map(len, missing.values())) <= len(rules) / 10


def takes_arrays(key):
    """Whether a function is one of NumPy for arrays, or an operator, and no type of NumPy's numbers."""
    return type_name(key) in ("numpy", "operator", "_operator") and not isinstance(key, type)
