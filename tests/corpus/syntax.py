"""Assignments, operators and expressions."""

import logging
import math

import numpy as np

from adcompiler.testing import complex_normal, nonzero, normal, positive
from tests.corpus.sample import sample

log = logging.getLogger(__name__)


@sample(1.5, normal(4))
def polynomial(a, x):
    return a * x**3 - 2 * x**2 + x / 4 - 1


@sample(2.0, 3.0)
def scalar_arithmetic(x, y):
    return x * y - x / y + x**y - -x + +y


@sample(positive(3), positive(3))
def all_operators(x, y):
    return (x + y) * (x - y) / (x * y) + x**y + x % 3.0 + (-x)


@sample(7.3, 2.1)
def floor_and_modulo(x, y):
    q = x // y
    return q + x % y


@sample(normal(2, 3), normal(3, 2))
def matrix_product(a, b):
    return a @ b + (b.T @ a.T).T


@sample(normal(3), 2.0)
def nested_expression(x, c):
    return np.sum(np.sin(x * c) * np.exp(-(x**2)) + np.cos(x) ** 2 / (1 + x**2))


@sample(normal(3))
def augmented_scalar_names(x):
    s = 0.0
    s += x[0]
    s *= x[1]
    s -= x[2]
    s /= 3.0
    s **= 2
    return s


@sample(normal(3), normal(3))
def augmented_fresh_array(x, y):
    z = x * 2.0
    z += y
    z *= x
    z -= 1.0
    return z / 2.0


@sample(1.2, 0.7)
def parallel_assignment(x, y):
    a, b = x * y, x + y
    a, b = a * b, a - b
    return a * b + a


@sample(1.2, 0.7, -0.4)
def swaps(x, y, z):
    x, y = y, x
    x, y, z = z, x * y, y
    [x, y] = [y + x, x]
    return x * y + z


@sample(normal(3))
def unpack_array(x):
    a, b, c = x
    return a * b + np.sin(c)


@sample((1.5, (2.0, -0.5), 3.0))
def nested_unpacking(t):
    a, (b, c), d = t
    return a * b + c * d


@sample([1.5, 2.0, -0.5, 3.0, 0.2])
def starred_middle(values):
    first, *middle, last = values
    return first * last + middle[0] * middle[1] * middle[2]


@sample((1.5, 2.0, -0.5))
def starred_front(values):
    *front, last = values
    return front[0] * front[1] + last**2


@sample((1.5, (2.0, -0.5, 3.0)))
def starred_nested(values):
    a, (b, *rest) = values
    return a * b + rest[0] * rest[1]


@sample(normal(4))
def starred_array(x):
    head, *tail = x
    return head * tail[0] + tail[1] * tail[2]


@sample(2.0)
def chained_targets(x):
    a = b = x * x
    b = b + a
    return a * b


@sample(0.8)
def annotated(x: float) -> float:
    y: float = x * 2.0
    z: float
    z = y * x
    return z + y


@sample(0.8)
@sample(2.5)
def walrus(x):
    if (y := x * x) > 1.0:
        return y * 3.0
    return (z := y + x) * z


@sample(1.3)
def walrus_in_expression(x):
    return (a := x + 1.0) * (a := a * x) + a


@sample(0.5)
@sample(1.7)
@sample(3.0)
def comparison_chain(x):
    if 1.0 < x < 2.0 <= x + 1.0:
        return x**2
    if x >= 2.0:
        return x**3
    return -x


@sample(0.5, 2.0)
@sample(-0.5, 2.0)
@sample(0.5, -2.0)
def boolean_tests(x, y):
    if x > 0 and y > 0:
        return x * y
    if x > 0 or not y > 0:
        return x - y
    return x + y


@sample(0, 3.0)
@sample(2.0, 3.0)
def boolean_values(x, y):
    a = x or y
    b = x and y * 2.0
    return a * 3.0 + b


@sample(2.0)
@sample(-2.0)
def ternary(x):
    return x * x if x > 0 else -x


@sample(2.0)
@sample(0.5)
@sample(-2.0)
def nested_ternary(x):
    return x**3 if x > 1 else (x**2 if x > 0 else -2.0 * x)


@sample(normal(3))
def deletion(x):
    y = x * x
    z = y + x
    del y
    y = z * 2.0
    del x, z
    return y


@sample(2.0)
def passes(x):
    """Has a docstring, and statements that do nothing."""
    pass
    if x > 100:
        pass
    ...
    return x * x


@sample(2.0)
def asserts(x):
    assert x > 0, f"{x} is not positive"
    assert isinstance(x, float)
    return math.sqrt(x)


@sample(2.0)
def raises_elsewhere(x):
    if x < 0:
        raise ValueError(f"negative: {x}")
    return np.log(x)


@sample(normal(3))
def prints(x):
    y = x * 2
    print("y =", y, f"{y[0]:.3f}", sep=" ", end="\n")
    log.debug("the sum is %s", np.sum(y))
    return np.sum(y * x)


@sample(2.0)
def formatted(x):
    text = f"{x:8.3f} and {x * 2:8.1f}{'!'!r}"
    return x * len(text) * 1.0


@sample(normal(3), "double")
@sample(normal(3), "square")
@sample(normal(3), None)
def string_options(x, how):
    if how is None:
        return x
    if how == "double":
        return 2 * x
    return x * x


@sample(3, normal(3))
def integer_arithmetic(n, x):
    m = n * 2 + 1
    k = m // 2 - n % 2
    return x[k - 1] * m + x[0] ** n


@sample(normal(3), True)
@sample(normal(3), False)
def flags(x, reverse):
    return x[::-1] * np.arange(3.0) if reverse else x * np.arange(3.0)


@sample(complex_normal(3), 1.0 - 2.0j)
def complex_arithmetic(z, w):
    return z * w + z**2 / w - np.conj(z)


@sample(complex_normal(3))
def complex_to_real(z):
    return np.sum(np.abs(z) ** 2) + z.real @ z.imag


@sample(normal(3, dtype=np.float32), 2.0)
def single_precision(x, c):
    return np.sum(x * c + x**2)


@sample(normal(3, dtype=np.float32), normal(3))
def mixed_precision(x, y):
    return x * y


@sample(np.array(1.5), np.array(-0.5))
def zero_dimensional(x, y):
    return x * y + np.sin(x)


@sample(normal(3, 1), normal(4), 2.0)
def broadcasting(x, y, c):
    return x * y + c / (1 + y**2)


@sample(normal(3), normal(2, 1, 3))
def broadcasting_both_ways(x, y):
    return x * y - y / (2 + np.cos(x))


@sample(nonzero(4))
def method_calls(x):
    return x.sum() + x.mean() * x.max() + (x * x).reshape(2, 2).T.sum(axis=0)[0] + x.dot(x)


@sample(normal(2, 3, 4))
def chained_methods(x):
    return x.transpose(2, 0, 1).reshape(4, -1).sum(axis=1, keepdims=True).ravel()


@sample(2.0, 3.0)
def python_builtins(x, y):
    return max(x, y) * min(x, y) + abs(-x) + sum((x, y)) + pow(x, 2) + float(y) + round(1.4) * x


@sample(0.5, 0.25)
def math_module(x, y):
    return math.sin(x) * math.exp(y) + math.atan2(x, y) + math.log1p(x) + math.hypot(x, y) * math.pi


sample(1.5)(lambda x: x**2 + 1)
sample(1.5, normal(3))(lambda c, x, n=2: np.sum(c * x**n))
sample(normal(3), 2.0)(lambda x, c: x * c if c > 0 else -x), sample(normal(2))(lambda x: (x, x * 2))


@sample(normal(3))
def lambda_inside(x):
    f = lambda t: t * np.sum(x)
    return f(x) + f(2.0)


@sample(normal(3))
def no_influence_on_part(x):
    y = np.zeros(3)
    return x[0] * np.sum(y + 1.0)


@sample(2.0, 1.0)
def constant_result(x, y):
    return 3.0


@sample(2.0)
def returns_nothing(x):
    y = x * x
    print(y)
