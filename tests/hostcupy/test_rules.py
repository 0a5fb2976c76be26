"""Every rule on arrays of CuPy: the values and cotangents of NumPy, as arrays of CuPy, on the same device."""

import collections

import cupy
import numpy as np
import pytest

import adcompiler
from adcompiler.rules.registry import all_rules, key_name
from adcompiler.runtime.project import materialize
from adcompiler.vectors import close, leaves, random_like
from tests.hostcupy.arrays import on_device, on_host
from tests.hostcupy.calls import NOT_TAKEN, NOT_YET, calls, taken, type_name
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


def agrees(call, literal):
    """A compiled call has the value and the cotangents that the rule has on NumPy's arrays."""
    reference = applied_to(call.case)
    found = write(call.device, reference.rule, literal)
    if found is None:  # every argument is a literal
        return
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


@pytest.mark.parametrize("name", calls())
def test_rule(name):
    """Calls of CuPy's function; one of them with the literals in the text, and one of NumPy's on arrays of CuPy."""
    found, refused = taken(name)
    if not found:
        pytest.skip(f"CuPy does not take the call: {refused[0]}")
    errors = {}
    ours, numpys = found[0], found[0].of_numpy()
    for call, literal in [*((call, False) for call in found), (ours, True), (numpys, False)]:
        if call is numpys and call.not_taken():
            continue
        try:
            agrees(call, literal)
        except Exception as error:
            errors[f"{call}{' with literals' * literal}"] = error
    if name in NOT_YET and all(
        isinstance(error, (*NOT_TAKEN, adcompiler.DifferentiationError)) for error in errors.values()
    ):
        assert errors, f"{name} runs: take it out of the list"
        pytest.skip(NOT_YET[name])
    assert not errors, "\n".join(f"{call}: {error!r}" for call, error in errors.items())


def test_most_rules_run():
    """At least nine of ten rules of NumPy's functions of arrays have a call above; prints which have none, and why."""
    rules = [rule for rule in all_rules() if rule.builtin and any(map(takes_arrays, rule.keys))]
    found = collections.defaultdict(list)
    for rule in rules:
        found[why_not_run(rule)].append(rule.name)
    no_arrays = found.pop(NO_ARRAYS, [])
    count, run = len(rules) - len(no_arrays), len(found.pop(None))
    print(f"{run} of {count} rules of arrays run on arrays of CuPy, which is {run / count:.0%}")
    for reason, names in [*found.items(), (NO_ARRAYS, no_arrays)]:
        print(f"  {reason}: {', '.join(names)}")
    assert run >= 0.9 * count


NO_ARRAYS = "of functions, numbers, iterators or random draws"


def why_not_run(rule):
    """Why no call of a rule's functions is run above; None if one is."""
    names = [key_name(key) for key in rule.keys if key_name(key) in calls()]
    if not names:
        return NO_ARRAYS
    reasons = [NOT_YET.get(name) or (None if taken(name)[0] else taken(name)[1][0]) for name in names]
    return None if None in reasons else reasons[0]


def takes_arrays(key):
    """Whether a function is one of NumPy for arrays, or an operator, and no type of NumPy's numbers."""
    if isinstance(key, np.ufunc):  # SciPy's are of the same type
        return getattr(np, key.__name__, None) is key
    return type_name(key) in ("numpy", "operator", "_operator") and not isinstance(key, type)
