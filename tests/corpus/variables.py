"""The small things: names that collide with the generated ones, shadowed builtins, numbers of other types."""

import numpy as np

from adcompiler.testing import normal, positive
from tests.corpus.sample import sample

t1 = 3.0
saved = 2.0


@sample(1.5, 2.0)
def names_of_the_compiler(x_bar, saved):
    t1 = x_bar * saved
    value_bar = t1 * x_bar
    trace1 = 0.0
    for took1 in range(2):
        at1 = value_bar * took1
        trace1 = trace1 + at1 * t1
    return trace1 + value_bar


@sample(1.5)
def global_names_of_the_compiler(x):
    y = x * t1
    return y * saved + x


@sample(1.5, 2.0)
def builtins_as_names(list, sum):
    len = list * sum
    range = len + sum
    return range * len


@sample(normal(3))
def np_renamed(x):
    xp = np
    return xp.sum(xp.sin(x))


@sample(1.5)
def same_name_for_everything(x):
    x = x * x
    x = np.sin(x) * x
    for x in (x, x * 2.0):  # noqa: B020
        x = x + 1.0
    return x


@sample(np.float64(1.5), np.float32(0.5))
def numpy_scalars(x, y):
    return x * y + np.sin(x)


@sample(1.5, np.int64(3), 2)
def integers_of_all_types(x, n, m):
    return x**n * m + x**m * n


@sample(3, 2.0)
def integer_base(n, x):
    return n**x + n / x - n * x + n // 2 * x


@sample(True, 2.0)
def boolean_as_number(b, x):
    return x * b + x


@sample(np.arange(3), normal(3))
def integer_array(n, x):
    return n * x + x**2 * n.sum()


@sample(np.array([True, False, True]), normal(3))
def boolean_array(m, x):
    return np.sum(m * x) + np.sum(x * ~m)


@sample(normal(3))
def argument_unchanged(x):
    y = x
    y = y + 1.0
    return y * x


@sample(normal(0), 2.0)
def empty_array(x, c):
    return np.sum(x * c) + c


@sample(normal(1), normal(1, 1))
def single_elements(x, y):
    return x * y + x[0] * y[0, 0]


@sample(positive(3), positive(3))
def nan_safe(x, y):
    with np.errstate(divide="ignore", invalid="ignore"):
        z = x / y
        return np.where(y > 0, z, 0.0)


@sample(normal(3))
def deep_expression(x):
    return x + x * (x + x * (x + x * (x + x * (x + x * (x + x * (x + x * (x + x)))))))


@sample(1.5)
def numbers_of_all_forms(x):
    return x * 1_000 + x / 1e-3 + x * 0x10 + x * (2 - -3) + x * float("1.5") + x**-2


@sample(normal(3))
def used_many_times(x):
    a = x * 2
    b = a + a * a
    c = b * a + b
    return c * b * a + x


@sample(2.0, 3.0)
def dead_code(x, y):
    unused = np.exp(x) * y
    if False:
        return unused
    while False:
        x = x * unused
    return x * y
