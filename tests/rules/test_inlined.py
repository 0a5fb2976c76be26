"""Inlined = called: a compiled call of a rule's function has the cotangents that the rule itself gives.

Each case of this folder becomes a function of one line, in two forms: with every argument a parameter, and with the
literals in the text, where the compiler may use that they are constants.
"""

import copy
import itertools
import linecache
import operator
from collections import Counter
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import pytest

from adcompiler import gradient, pullback
from adcompiler.rulecheck import applied
from adcompiler.rules.registry import lookup
from adcompiler.ruletext import rule_text
from adcompiler.runtime.project import materialize, project
from adcompiler.runtime.tangents import unthunk
from adcompiler.runtime.walk import entries, part
from adcompiler.vectors import close, has_tangent, random_like
from tests.modes import ONCE
from tests.rules.test_complete import cases

BINARY = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.mod: "%",
    operator.pow: "**",
    operator.matmul: "@",
}
UNARY = {operator.neg: "-", operator.pos: "+"}
LITERALS = (bool, int, float, str, type(None), slice, type(Ellipsis))

numbers = itertools.count(1)


@dataclass
class Written:
    """A function of one line that makes the call of a case; `values` of its parameters, and where they come from."""

    literal: bool
    values: dict = field(default_factory=dict)
    origins: dict = field(default_factory=dict)
    between: object = None  # the call between operations whose results nobody else has
    names: dict = field(default_factory=lambda: {"np": np, "inf": np.inf, "nan": np.nan, "array": np.array})

    def text(self, value, origin):
        """`value` as an expression."""
        if self.literal and isinstance(value, LITERALS) and not isinstance(value, np.generic):
            return repr(value)
        if self.literal and type(value) in (tuple, list):
            items = [self.text(item, (*origin, i)) for i, item in enumerate(value)]
            brackets = "[]" if type(value) is list else ("(", ",)" if len(items) == 1 else ")")
            return f"{brackets[0]}{', '.join(items)}{brackets[1]}"
        name = f"x{len(self.values)}"
        self.values[name], self.origins[name] = value, origin
        return name

    def call(self, key, args, kwargs):
        """The call, as a user writes it."""
        if key in BINARY:
            return f"{args[0]} {BINARY[key]} {args[1]}"
        if key in UNARY:
            return f"{UNARY[key]}{args[0]}"
        if key is operator.getitem or key is np.ndarray.__getitem__:
            return f"{args[0]}[{args[1]}]"
        owner = getattr(key, "__objclass__", None)
        if owner is not None and not callable(key):
            return f"({args[0]}).{key.__name__}"
        given = ", ".join([*args[owner is not None :], *(f"{name}={value}" for name, value in kwargs.items())])
        if owner is not None:
            return f"({args[0]}).{key.__name__}({given})"
        self.names["key"] = key
        return f"key({given})"


def origins(rule, args, kwargs):
    """For each argument the name of the rule's parameter, and the position in it if it takes several."""
    found = []
    parameters = list(rule.signature.parameters.values())
    for i in range(len(args)):
        several = next((j for j, p in enumerate(parameters) if p.kind is p.VAR_POSITIONAL), len(parameters))
        found.append((parameters[i].name,) if i < several else (parameters[several].name, i - several))
    return found, {name: (name,) for name in kwargs}


def write(case, rule, literal):
    """The function of one line, its parameters' values and their origins; None if nothing is left to differentiate."""
    args, kwargs = case.inputs()
    positions, named = origins(rule, args, kwargs)
    written = Written(literal)
    arg_texts = [written.text(value, origin) for value, origin in zip(args, positions, strict=True)]
    kwarg_texts = {name: written.text(value, named[name]) for name, value in kwargs.items()}
    call = written.call(case.key, arg_texts, kwarg_texts)
    if not any(map(has_tangent, written.values.values())):
        return None
    parameters = ", ".join(written.values)
    plain = f"def plain({parameters}):\n    return {call}\n"
    text = f"{plain}\n\ndef total({parameters}):\n    return np.sum(np.real({call}))\n"
    own = "".join(f"    {name} = 1 * {name}\n" for name, value in written.values.items() if is_array_of_floats(value))
    text += f"\n\ndef between({parameters}):\n{own}    return 1 * ({call})\n"
    file = f"<one line {next(numbers)}: {call}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = written.names
    exec(compile(text, file, "exec"), names)
    written.between = names["between"]
    return names["plain"], names["total"], written


def is_array_of_floats(value):
    return type(value) is np.ndarray and value.dtype.kind in "fc"


def called(found, y_bar):
    """The value and the cotangents by parameter, of the rule called as it stands."""
    y_bar = y_bar(found.y)
    return y_bar, dict(zip(found.parameters, map(unthunk, found.pullback(y_bar)), strict=True))


def expected(written, bars):
    """The cotangents of a written function's parameters."""
    found = []
    for x, (name, *path) in zip(written.values.values(), written.origins.values(), strict=True):
        bar = reduce(lambda bar, i: None if bar is None else part(bar, i), path, bars[name])
        found.append(materialize(project(bar, x), x))
    return found


def applied_to(case):
    """The rule that answers the call of a case, called."""
    args, kwargs = case.inputs()
    return applied(case.key, args, kwargs, str(case))


def value(case):
    args, kwargs = case.inputs()
    return case.key(*args, **kwargs) if callable(case.key) else case.key.__get__(*args)


def numeric(y):
    return entries(y) is None and np.asarray(y).dtype.kind in "fc"


def few(cases, count):
    """The first `count` cases of each function: of a rule that is called as it stands all go the same way."""
    seen = Counter()
    for case in cases:
        seen[case.key] += 1
        if seen[case.key] <= count:
            yield case


def label(value):
    """How the report names a case, or one of the forms in which it is written."""
    return {True: "literals", False: "parameters"}[value] if isinstance(value, bool) else str(value)


def has_literals(value):
    """Whether a case, or a value in it, has numbers that would be written into the text."""
    if hasattr(value, "kwargs"):
        return has_literals((*value.args, *value.kwargs.values()))
    if type(value) in (tuple, list):
        return any(map(has_literals, value))
    return isinstance(value, LITERALS) and not isinstance(value, np.generic)


def has_text(case):
    """Whether the compiler writes out a rule of the function."""
    return any(rule_text(rule) is not None for rule in lookup(case.key))


def on_arrays(case):
    """Whether a call takes an array of floats and gives one, or a number."""
    return any(map(is_array_of_floats, case.inputs()[0])) and numeric(value(case))


CASES = [case for case in cases() if case.key is not np.ndarray.flat]
INLINED = [case for case in CASES if has_text(case)]
CALLED = list(few((case for case in CASES if not has_text(case)), 3))
WRITTEN_OUT = [(case, literal) for case in INLINED for literal in (False, True) if not literal or has_literals(case)]
FORMS = WRITTEN_OUT + [(case, False) for case in CALLED]
ONE_EACH = list(few((case for case in CASES if on_arrays(case)), 1))


@pytest.mark.parametrize(("case", "literal"), FORMS, ids=label)
def test_pullback(case, literal):
    """The same cotangents, for a random one of the value."""
    call = applied_to(case)
    found = write(case, call.rule, literal)
    if found is None:
        pytest.skip("every argument is a literal")
    plain, _, written = found
    y, back = pullback(plain, *written.values.values())
    assert close(y, plain(*written.values.values()), 1e-15)
    y_bar, bars = called(call, lambda y: random_like(y, np.random.default_rng(5)))
    for x, actual, wanted in zip(written.values.values(), back(y_bar), expected(written, bars), strict=True):
        assert close(materialize(actual, x), wanted, 1e-12), (actual, wanted)


@pytest.mark.parametrize(("case", "literal"), WRITTEN_OUT, ids=label)
def test_gradient(case, literal):
    """The same in a sum, whose cotangent the compiler keeps as one number."""
    call = applied_to(case)
    found = write(case, call.rule, literal)
    if found is None:
        pytest.skip("every argument is a literal")
    _, total, written = found
    values = list(written.values.values())
    if not numeric(value(case)):
        pytest.skip("the value is not an array")
    _, bars = called(call, lambda y: np.ones_like(y)[()])
    active = tuple(i for i, x in enumerate(values) if has_tangent(x))
    grads = gradient(total, active)(*values)
    wanted = expected(written, bars)
    for i, grad in zip(active, grads, strict=True):
        assert close(materialize(grad, values[i]), wanted[i], 1e-12), (grad, wanted[i])


@pytest.mark.parametrize("case", ONE_EACH, ids=str)
def test_memory_is_given_back(case):
    """The same where operands and value are temporary, and what is not needed any more is written into."""
    call = applied_to(case)
    _, _, written = write(case, call.rule, literal=False)
    values = list(written.values.values())
    y_bar, bars = called(call, lambda y: random_like(y, np.random.default_rng(5)))
    wanted = expected(written, bars)
    for make in ONCE:
        given = copy.deepcopy(y_bar)
        _, back = make(written.between, *values)
        grads = back(given)
        assert close(given, y_bar, 0)
        for x, actual, bar in zip(values, grads, wanted, strict=True):
            assert close(materialize(actual, x), bar, 1e-12), (make, actual, bar)


@pytest.mark.parametrize("case", INLINED, ids=str)
def test_one_argument_at_a_time(case):
    """The same where one argument alone is active, and the rule's text is cut down to it."""
    call = applied_to(case)
    found = write(case, call.rule, literal=False)
    if found is None:
        pytest.skip("every argument is a literal")
    _, total, written = found
    values = list(written.values.values())
    active = [i for i, x in enumerate(values) if has_tangent(x)]
    if len(active) < 2 or not numeric(value(case)):
        pytest.skip("there is but one, or the value is not an array")
    _, bars = called(call, lambda y: np.ones_like(y)[()])
    wanted = expected(written, bars)
    for i in active:
        grad = gradient(total, i)(*values)
        assert close(materialize(grad, values[i]), wanted[i], 1e-12), (grad, wanted[i])
