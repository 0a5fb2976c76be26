"""`kinds` knows of every value what the arguments' kinds and the text say, and nothing that is not checked."""

import math

import numpy as np
import pytest

from tests.stages import functions, result_kind, stage

GLOBAL = 2.0
ARRAY = np.ones((2, 3))
NAMES = ["a", "b"]

scalar, vector, matrix = 1.5, np.ones(3), np.ones((2, 3))
zero_d, integers, mask = np.array(1.0), np.arange(3), np.ones(3, bool)


def branch(x, c):
    return x if c > 0 else np.sum(x)


def early(x):
    if x.sum() > 0:
        return x
    return x[0]


def loop(x, n):
    for _ in range(n):
        x = x * 2 + 1
    return x


def growing(x, n):
    y = x
    for _ in range(n):
        y = y * np.ones(3)
    return y


def unpacked(p):
    a, (b, *c) = p
    return a, b, c


def helper(x):
    return x * x


def twice(x):
    return helper(helper(x)), helper(2)


def factorial(n, x):
    return 1.0 if n == 0 else x * factorial(n - 1, x)


def falls_off(x):
    if x > 0:
        return x


@pytest.mark.parametrize(
    ("f", "args", "expected"),
    [
        (lambda x: x, (scalar,), "float"),
        (lambda x: x, (np.float32(1),), "float"),
        (lambda x: x, (1j,), "complex"),
        (lambda x: x, (3,), "int"),
        (lambda x: x, (np.int64(3),), "int"),
        (lambda x: x, (True,), "True"),
        (lambda x: x, (None,), "None"),
        (lambda x: x, ("text",), "'text'"),
        (lambda x: x, (vector,), "array[1]"),
        (lambda x: x, (zero_d,), "array[0]"),
        (lambda x: x, (vector * 1j,), "complex array[1]"),
        (lambda x: x, (integers,), "int array[1]"),
        (lambda x: x, (mask,), "int array[1]"),
        (lambda x: x * 2, (scalar,), "float"),
        (lambda x: x * 2, (vector,), "array[1]"),
        (lambda x: x * 2j, (vector,), "complex array[1]"),
        (lambda x: abs(x * 2j), (vector,), "array[1]"),
        (lambda x: x + np.ones((2, 3)), (vector,), "array[2]"),
        (lambda x: x * 2, (3,), "int"),
        (lambda x: x / 2, (3,), "float"),
        (lambda x: x // 2, (3,), "int"),
        (lambda x: x > 0, (vector,), "int array[1]"),
        (lambda x: x.sum(), (vector,), "float"),
        (lambda x: x.sum(axis=0), (matrix,), "array[1]"),
        (lambda x: x.sum(axis=0, keepdims=True), (matrix,), "array[2]"),
        (lambda x: np.sum(x), (matrix,), "float"),
        (lambda x: x @ x, (vector,), "float"),
        (lambda x: x @ np.ones(3), (matrix,), "array[1]"),
        (lambda x: x.T @ x, (matrix,), "array[2]"),
        (lambda x: x[0], (vector,), "float"),
        (lambda x: x[0], (matrix,), "array[1]"),
        (lambda x: x[0, 1], (matrix,), "float"),
        (lambda x: x[:, None], (vector,), "array[2]"),
        (lambda x: x[..., 0], (matrix,), "array[1]"),
        (lambda x: x[1:], (vector,), "array[1]"),
        (lambda x: x[x > 0], (matrix,), "number or array"),
        (lambda x, i: x[i], (matrix, integers), "array[2]"),
        (lambda x: x.shape, (matrix,), "(int, int)"),
        (lambda x: x.ndim, (matrix,), "int"),
        (lambda x: len(x), (matrix,), "int"),
        (lambda x: x.reshape(-1), (matrix,), "array[1]"),
        (lambda x: x.reshape(3, 2, 1), (matrix,), "array[3]"),
        (lambda x: np.array([x, x]), (scalar,), "array[1]"),
        (lambda x: np.stack([x, x]), (vector,), "array[2]"),
        (lambda x: np.concatenate([x, x]), (vector,), "array[1]"),
        (lambda x: math.sin(x), (scalar,), "float"),
        (lambda x: np.sin(x), (scalar,), "float"),
        (lambda x: float(x), (zero_d,), "float"),
        (lambda x: (x, 2.0, "a"), (scalar,), "(float, 2.0, 'a')"),
        (lambda x: [x, vector], (scalar,), "[float, array[1]]"),
        (lambda x: {"a": x, "b": 1}, (vector,), "{'a': array[1], 'b': 1}"),
        (lambda x: (x, 2.0)[0], (vector,), "array[1]"),
        (lambda x: {"a": x, "b": 1}["a"], (vector,), "array[1]"),
        (lambda p: p["w"], ({"w": matrix},), "array[2]"),
        (lambda p: p["l"][0], ({"l": (matrix, 1)},), "array[2]"),
        (lambda x: x * GLOBAL, (scalar,), "float"),
        (lambda x: x * ARRAY, (scalar,), "array[2]"),
        (lambda x: f"{x}", (scalar,), "inert"),
        (branch, (vector, 1.0), "number or array"),
        (early, (vector,), "number or array"),
        (loop, (vector, 3), "array[1]"),
        (loop, (scalar, 3), "float"),
        (growing, (scalar, 3), "number or array"),
        (unpacked, ((scalar, (vector, matrix, 3)),), "(float, array[1], [array[2], int])"),
        (twice, (vector,), "(array[1], int)"),
        (factorial, (3, scalar), "float"),
        (falls_off, (scalar,), "unknown"),
        (lambda *xs: xs, (scalar, vector), "tuple"),
    ],
)
def test_result(f, args, expected):
    """The kind of a function's result."""
    assert expected == result_kind(f, *args)


def test_a_test_that_kinds_decide_is_folded():
    """Of `if y is None` only the branch that runs is compiled."""

    def f(x, y=None):
        if y is None:
            return x * 2
        return no_such_function(x, y)  # noqa: F821

    assert ["t2 = x * 2", "return t2"] == functions(stage(f, "kinds", 1.0))["f"][-2:]
    assert 2 == len([line for line in functions(stage(f, "kinds", 1.0))["f"] if "t" in line and "return" not in line])


def test_flags_and_isinstance_are_folded():
    """A literal flag and the type of an argument choose the branch."""

    def f(x, flag):
        if not flag:
            return x * 2
        if isinstance(x, np.ndarray):
            return x * 3
        return x * 4

    lines = functions(stage(f, "kinds", vector, True))["f"]
    assert ["x * 3"] == [line.split(" = ")[1] for line in lines if " * " in line]
    lines = functions(stage(f, "kinds", scalar, True))["f"]
    assert ["x * 4"] == [line.split(" = ")[1] for line in lines if " * " in line]


def test_callees_are_named():
    """Each operation says how it is differentiated."""

    def f(x, names):
        y = helper(x)
        n = len(names)
        s = "a" + names[0]
        print(s)
        return np.tanh(y) * n

    text = stage(f, "kinds", 1.0, NAMES)
    found = [line.split(", ")[-1].split(": ")[-1] for line in text.split("\n") if "  : " in line]
    assert "by the pair of helper" in found
    assert "by the rule tanh" in found
    assert "by the rule multiply" in found


def test_an_unknown_kind_is_resolved_at_run_time():
    """A value of a class of the user's goes through the dynamic path, and what comes out is unknown too."""

    class Wrapped(float):
        def __mul__(self, other):
            return other

    assert "unknown" == result_kind(lambda w, x: w * x, Wrapped(1.0), scalar)


def test_kinds_of_helpers_are_separate():
    """A helper called with two kinds has two specialisations, each with its own kinds."""
    text = stage(lambda x, y: helper(x) * helper(y), "kinds", scalar, vector)
    heads = [line for line in text.split("\n") if "→" in line]
    assert ["helper(x: float) → float", "helper(x: array[1]) → array[1]"] == heads[1:]
