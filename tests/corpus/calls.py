"""Calls of other functions of the user's: parameters of every form, recursion, functions as values, closures."""

import functools
import math

import numpy as np

from adcompiler.testing import normal, positive
from tests.corpus.sample import sample

SCALE = 2.5
WEIGHTS = np.array([1.0, -2.0, 0.5])


def square(x):
    return x * x


def affine(x, a=2.0, *, b=1.0):
    return a * x + b


def total(*values, scale=1.0):
    s = 0.0
    for v in values:
        s = s + v * v
    return s * scale


def branchy(x):
    if x > 1:
        return x * x
    if x > 0:
        return x
    return -2 * x


def both(x, y):
    return x * y, x + y


@sample(1.5)
def helper(x):
    return square(x) + square(square(x))


@sample(2.5)
@sample(0.5)
@sample(-1.0)
def helper_with_several_returns(x):
    return branchy(x) * branchy(x - 1.0)


@sample(1.5, 0.5)
def helper_returning_tuple(x, y):
    p, s = both(x, y)
    q, _ = both(p, s)
    return q * p


@sample(1.5, 0.5)
def item_of_call(x, y):
    return both(x, y)[0] * both(y, x)[1]


@sample(1.5, 0.5)
def keyword_calls(x, y):
    return affine(x) + affine(a=x, x=y) * affine(y, b=x) + affine(x, y, b=y)


@sample(1.5)
def global_values(x):
    return SCALE * x + WEIGHTS[0] * x**2


@sample(normal(3))
def global_array(x):
    return np.dot(WEIGHTS, x) * SCALE


@sample(1.5, -0.5, 2.0)
def star_arguments(*xs):
    return xs[0] * xs[1] + xs[2] ** 2


@sample(1.5, -0.5, 2.0)
def star_arguments_after(x, *rest):
    s = x
    for r in rest:
        s = s * r
    return s + len(rest) * x


@sample(1.5, 2.0, -0.5)
def star_call(x, y, z):
    pair = (y, z)
    return total(x, *pair, scale=x)


@sample((1.5, -0.5))
def star_call_of_parameter(pair):
    return square(total(*pair)) + both(*pair)[0]


@sample(1.5, b=0.5)
def keyword_only(x, *, b, c=3.0):
    return x * b + c * b


@sample(1.5, u=0.5, v=2.0)
def keyword_arguments(x, **options):
    return x * options["u"] + options["v"]


@sample(1.5, 0.25)
def keyword_call(x, y):
    options = {"a": y, "b": x}
    return affine(x, **options)


@sample(1.5, 0.5)
def positional_only(x, /, y):
    return x * y**2


@sample(1.5)
def default_parameter(x, n=3, c=0.5):
    return x**n * c


@sample(0.7)
def nested_function(x):
    def inner(t):
        return t * x

    return inner(x) + inner(2.0)


@sample(0.7, 1.2)
def nested_function_with_return_in_branch(x, y):
    def inner(t, k=2):
        if t > 1.0:
            return t**k + y
        return t * y

    return inner(x) + inner(y) * inner(y, k=3)


@sample(0.7)
def nested_in_nested(x):
    def outer(a):
        def inner(b):
            return a * b + x

        return inner(a) * inner(x)

    return outer(x * 2.0)


@sample(0.7)
def redefined_before_call(x):
    scale = 2.0

    def inner(t):
        return t * scale

    a = inner(x)
    scale = x
    return a + inner(x)


def make_power(n, c):
    def power(x):
        return c * x**n

    return power


sample(1.3)(make_power(3, 0.5))
sample(normal(2))(make_power(2, np.array([1.0, -1.0])))


@sample(6, 1.1)
def recursion(n, x):
    if n == 0:
        return 1.0
    return x * recursion(n - 1, x) + x


@sample(5, 0.9)
def double_recursion(n, x):
    if n < 2:
        return x
    return double_recursion(n - 1, x) * 0.5 + double_recursion(n - 2, x) * x


def even_steps(n, x):
    return x if n == 0 else odd_steps(n - 1, x * 1.1)


def odd_steps(n, x):
    return even_steps(n - 1, np.sin(x)) * x


@sample(4, 0.8)
def mutual_recursion(n, x):
    return even_steps(n, x)


@sample([1.5, [2.0, [0.5, -1.0]]])
def recursion_over_structure(tree):
    if isinstance(tree, list):
        return recursion_over_structure(tree[0]) * recursion_over_structure(tree[1])
    return tree + 1.0


@sample(0.3, 3)
def horner_recursive(x, depth):
    return 1.0 if depth == 0 else 1.0 + x * horner_recursive(x, depth - 1) / depth


def apply(f, x):
    return f(x)


@sample(0.7)
def function_as_argument(x):
    return apply(square, x) + apply(np.sin, x) + apply(math.exp, x)


@sample(0.7)
def lambda_as_argument(x):
    return apply(lambda t: t * x, x + 1.0)


@sample(0.7)
def closure_as_argument(x):
    k = x * 3.0

    def scaled(t):
        return t * k

    return apply(scaled, x) + apply(scaled, 2.0)


@sample(np.tanh, normal(3))
@sample(square, normal(3))
def function_parameter(f, x):
    return np.sum(f(x) * x)


@sample(1.1, 4)
def apply_repeatedly(x, n):
    f = branchy
    for _ in range(n):
        x = f(x) * 0.8
    return x


@sample(0.9)
@sample(-0.9)
def chosen_function(x):
    f = np.sin if x > 0 else np.cos
    return f(x) * x


@sample(0.9)
def functions_in_loop(x):
    for f in (np.sin, np.exp, square):
        x = f(x)
    return x


@sample(normal(3))
def called_in_loop(x):
    s = 0.0
    for v in x:
        s = s + branchy(v) * affine(v, s)
    return s


def normalised(x, eps=1e-3):
    return x / np.sqrt(np.sum(x**2) + eps)


@sample(normal(4), normal(4))
def cosine_similarity(a, b):
    return normalised(a) @ normalised(b, eps=0.1)


@sample(1.5, normal(3))
def one_helper_for_two_kinds(x, y):
    return square(x) * square(y)


@sample(2, 1.5)
def helper_with_integer(n, x):
    return square(n) * square(x)


@functools.wraps(square)
def wrapper(x, y):
    return square(x) * y


sample(1.5, 2.0)(wrapper)


@sample(positive(3))
def import_inside(x):
    import math as m

    return np.log(x) * m.pi


@sample(1.5)
def ignored_result(x):
    square(x)
    print(affine(x))
    return x * 3.0


@sample(1.5, None)
@sample(1.5, 2.0)
def optional_argument(x, y=None):
    if y is None:
        y = x
    return x * y


@sample(0.5)
def argument_twice(x):
    p, s = both(x, x)
    return total(p, s, x, scale=p)
