"""The pullback of every rule can be transposed, which makes a forward rule of it, and differentiated again.

A transpose is checked by the inner product that defines it, a second derivative by central differences of the first.
"""

import itertools
import linecache
import os
import types

import numpy as np
import pytest

from adcompiler import DifferentiationError, pullback
from adcompiler.rulecheck import applied
from adcompiler.rules.registry import all_rules, is_non_differentiable, key_name, lookup
from adcompiler.runtime.domain import is_rule_code
from adcompiler.runtime.dynamic import resolve_value
from adcompiler.runtime.ruling import options_of
from adcompiler.runtime.tangents import unthunk
from adcompiler.runtime.walk import is_array
from adcompiler.transpose import forward_by_transposition, transposed
from adcompiler.vectors import direction, has_complex, has_tangent, inner, leaves, magnitude, moved, random_like
from tests.rules.test_complete import cases
from tests.rules.transposition import NOT_TRANSPOSED, NOT_TWICE

STEP = 1e-5
numbers = itertools.count(1)


def chosen():
    """One case of each function; of rules that are made alike for many functions, a few."""
    seen, alike = set(), {}
    for one in cases():
        name = key_name(one.key)
        if name in seen:
            continue
        seen.add(name)
        form = name.rpartition(".")[2]
        if form in ("outer", "reduce", "accumulate", "reduceat"):
            alike[form] = alike.get(form, 0) + 1
            if alike[form] > 3:
                continue
        yield one


CASES = list(chosen())
FOLLOWED = [one for one in CASES if key_name(one.key) not in NOT_TRANSPOSED]
# Of SciPy's distributions and special functions, which are differentiated alike, every tenth; of others every fifth.
ALIKE = ("scipy.special", "scipy.stats", "rv_frozen")
EVERY = bool(os.environ.get("ADCOMPILER_RANDOM_PROGRAMS"))
TWICE = [
    one
    for i, one in enumerate(FOLLOWED)
    if EVERY or key_name(one.key) in NOT_TWICE or i % (10 if key_name(one.key).startswith(ALIKE) else 5) == 0
]


def tangent_of(value, rng):
    """A random tangent, in both directions of complex numbers; None for what has none."""
    if not has_tangent(value):
        return None
    return both(direction(value, rng, False), direction(value, rng, True) if has_complex(value) else None)


def both(a, b):
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, list | tuple):
        return type(a)(map(both, a, b))
    return {key: both(a[key], b[key]) for key in a} if isinstance(a, dict) else a + b


def is_single(call):
    values = (*call.parameters.values(), call.y)
    return any(is_array(leaf) and np.finfo(leaf.dtype).bits < 64 for value in values for leaf in leaves(value))


def called(one):
    """The rule of a case, called, and random tangents for its parameters."""
    args, kwargs = one.inputs()
    call = applied(one.key, args, kwargs, str(one))
    rng = np.random.default_rng(3)
    return call, tuple(tangent_of(value, rng) for value in call.parameters.values())


def check_transpose(one):
    """`Re<y_bar, y_dot>` is the sum of `Re<x_bar, x_dot>` over the parameters, for a random cotangent."""
    call, tangents = called(one)
    y_bar = random_like(call.y, np.random.default_rng(4))
    if y_bar is None or all(t is None for t in tangents):
        return
    bars = [unthunk(bar) for bar in call.pullback(y_bar)]
    if call.rule.partials:
        _, y_dot = forward_by_transposition(call.rule, call.args, call.kwargs, tangents)
    else:
        y_dot = transposed(call.pullback, call.y, tangents)
    expected, actual = sum(map(inner, bars, tangents)), inner(y_bar, y_dot)
    scale = 1 + abs(expected) + magnitude(y_bar) * magnitude(y_dot)
    assert abs(actual - expected) <= (1e-4 if is_single(call) else 1e-10) * scale


def forward_of(call, names, tangents):
    """The function of the parameters `names` that computes the tangent of the value, the other arguments as they are.

    Of what the call leaves out the defaults are constants.
    """
    options = options_of(
        call.rule, (True,) * (len(call.args) + len(call.kwargs)), call.args, call.kwargs, resolve_value
    )
    given = []
    for name, value in call.bound.arguments.items():
        kind = call.rule.signature.parameters[name].kind
        text = repr(value) if value is None or (type(value) in (bool, int, str, float) and name not in names) else name
        spelled = {kind.VAR_POSITIONAL: f"*{name}", kind.VAR_KEYWORD: f"**{name}", kind.KEYWORD_ONLY: f"{name}={text}"}
        given.append(spelled.get(kind, text))
    given += [f"{name}={name}" for name in options]
    text = f"def forward({', '.join(names)}):\n    _y, _back = _rule({', '.join(given)})\n"
    text += "    return transposed(_back, _y, _tangents)\n"
    file = f"<forward rule {next(numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    constants = {**call.bound.arguments, **options}
    names_of = {**constants, "_rule": call.rule.function, "transposed": transposed, "_tangents": tangents}
    names_of |= {"nan": np.nan, "inf": np.inf}
    exec(compile(text, file, "exec"), names_of)
    return names_of["forward"]


def check_second(one):
    """The derivative of the tangent of the value along another direction, by central differences."""
    call, tangents = called(one)
    rng = np.random.default_rng(9)
    w = random_like(call.y, rng)
    wrt = one.wrt
    position = list(call.parameters)
    names = [
        name
        for i, (name, value) in enumerate(call.parameters.items())
        if (i < len(call.args) or name in call.kwargs)
        and has_tangent(value)
        and (wrt is None or i in wrt or name in wrt)
    ]
    if w is None or not names or call.rule.partials or is_single(call):
        pytest.skip("no second derivative to compare")
    tangents = tuple(t if name in names else None for name, t in zip(position, tangents, strict=True))
    f = forward_of(call, names, tangents)
    values = [call.parameters[name] for name in names]
    y_dot, back = pullback(f, *values)
    along = [tangent_of(value, rng) for value in values]
    actual = sum(map(inner, back(w), along))

    def moved_by(step):
        return inner(w, f(*(moved(value, v, step) for value, v in zip(values, along, strict=True))))

    expected = (moved_by(STEP) - moved_by(-STEP)) / (2 * STEP)
    scale = 1 + abs(expected) + 1e-2 * magnitude(w) * magnitude(y_dot)
    assert abs(actual - expected) <= 1e-5 * scale, (actual, expected)


@pytest.mark.parametrize("one", [c for i, c in enumerate(CASES) if EVERY or i % 3 == 0], ids=str)
def test_transpose(one):
    """The transpose of each pullback; what has none yet is listed, and refused by name."""
    if key_name(one.key) not in NOT_TRANSPOSED:
        check_transpose(one)
        return
    with pytest.raises(DifferentiationError, match="forward rule"):
        check_transpose(one)


@pytest.mark.parametrize("one", TWICE, ids=str)
def test_second_derivative(one):
    """The tangent of each value is differentiated again; where that is not possible yet, it is refused."""
    if key_name(one.key) not in NOT_TWICE:
        check_second(one)
        return
    with pytest.raises(DifferentiationError):
        check_second(one)


def names_of(code, globals_):
    """The values of the global names in a rule's text, nested functions included."""
    for name in code.co_names:
        if name in globals_:
            yield globals_[name]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_of(constant, globals_)


# Objects that hold a function which a rule was given, or what is known of samples; and what a rule may return.
OBJECTS = set(
    "Callback Field Fit Integrand Interpolation NotImplementedTangent Pieces Recorder Steps Thunk Vectorized".split()
)


@pytest.mark.parametrize("rule", [rule for rule in all_rules() if rule.builtin], ids=repr)
def test_helpers_are_followed(rule):
    """Every helper in the text of a rule has a rule, is declared without derivative, or has source that is read."""
    for function in rule.partials or (rule.function,):
        for helper in names_of(function.__code__, function.__globals__):
            module = getattr(helper, "__module__", None) or ""
            if not callable(helper) or not f"{module}.".startswith("adcompiler."):
                continue
            if isinstance(helper, type):
                assert issubclass(helper, Exception) or helper.__name__ in OBJECTS, helper
            else:
                assert helper is lookup or lookup(helper) or is_non_differentiable(helper) or is_rule_code(helper), (
                    helper
                )
