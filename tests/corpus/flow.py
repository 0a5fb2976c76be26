"""Loops, branches and the ways out of them."""

import numpy as np

from adcompiler.testing import normal, positive
from tests.corpus.sample import sample


@sample(2.0, 5)
@sample(2.0, 0)
def power_by_loop(x, n):
    r = 1.0
    for _ in range(n):
        r = r * x
    return r


@sample(normal(5))
def loop_over_array(x):
    s = 0.0
    for v in x:
        s = s * 0.5 + v**2
    return s


@sample(normal(3, 2))
def loop_over_rows(a):
    total = np.zeros(2)
    for row in a:
        total = total * row + np.sin(row)
    return total


@sample([normal(2), normal(2), normal(2)])
def loop_over_list(arrays):
    out = 1.0
    for a in arrays:
        out = out * np.sum(a)
    return out


@sample((1.5, -0.5, 2.0))
def loop_over_tuple(values):
    out = 1.0
    for v in values:
        out = out * v + v
    return out


@sample(normal(4), normal(4))
def loop_zip(x, y):
    s = 0.0
    for a, b in zip(x, y):  # noqa: B905
        s += a * b**2
    return s


@sample(normal(4), normal(4, 2))
def loop_zip_strict(x, y):
    s = 0.0
    for a, (b, c) in zip(x, y, strict=True):
        s += a * b**2 - c
    return s


@sample(normal(4))
def loop_enumerate(x):
    s = 0.0
    for i, v in enumerate(x):
        s = s + v ** (i + 1)
    return s


@sample(normal(4))
def loop_enumerate_start(x):
    s = 0.0
    for i, v in enumerate(x, start=2):
        s = s * v + i * v
    return s


@sample(normal(4))
def loop_reversed(x):
    s = 0.0
    for v in reversed(x):
        s = s * 0.5 + v * v
    return s


@sample(normal(4))
def loop_reversed_range(x):
    s = 1.0
    for i in reversed(range(len(x))):
        s = s * x[i] + i
    return s


@sample(normal(3), normal(3, 2))
def loop_enumerate_zip(x, a):
    s = 0.0
    for i, (v, row) in enumerate(zip(x, a, strict=True)):
        s += i * v * np.sum(row) + row[0]
    return s


@sample(positive(4), 0.4)
def loop_with_step(x, c):
    y = x
    for i in range(0, 4, 2):
        y = y * c + x[i]
    return y


@sample(normal(4))
def nested_loops(x):
    s = 0.0
    for i in range(len(x)):
        for j in range(i):
            s += x[i] * x[j] ** 2
    return s


@sample(2.0)
def while_loop(x):
    n = 0
    while x < 100.0:
        x = x * x
        n += 1
    return x * n


@sample(7.0)
@sample(0.5)
def while_with_else(x):
    y = x
    while y > 1.0:
        y = y / 2.0
    else:
        y = y * x
    return y


@sample(7.0, 2)
@sample(7.0, 9)
def while_with_break_and_else(x, stop):
    y, i = x, 0
    while y > 1.0:
        if i == stop:
            break
        y = y / 2.0
        i += 1
    else:
        y = y * x
    return y + x


@sample(normal(5), 2)
@sample(normal(5), 9)
def for_with_break_and_else(x, stop):
    s = 0.0
    for i, v in enumerate(x):
        if i == stop:
            s = s * 3.0
            break
        s += v * v
    else:
        s = s * x[0]
    return s


@sample(normal(6))
def loop_with_continue(x):
    s = 1.0
    for i, v in enumerate(x):
        if i % 2:
            continue
        s = s * v
        s = s + v
    return s


@sample(normal(6))
def break_and_continue(x):
    s = 0.0
    for i in range(100):
        if i == 1:
            continue
        if i == 4:
            break
        s = s * x[i] + x[i + 1]
    return s


@sample(2.0)
@sample(0.5)
@sample(-1.0)
def if_elif_else(x):
    if x > 1:
        y = x**2
    elif x > 0:
        y = 3 * x
    else:
        y = -x
    return y * x


@sample(2.0)
@sample(-2.0)
def early_return(x):
    if x < 0:
        return -x
    y = x * x
    return y


@sample(2.0, True)
@sample(2.0, False)
def conditional_definition(x, define):
    if define:
        y = x * x
    z = x + 1.0
    if define:
        z = z * y
    return z


@sample(normal(4))
def definition_in_loop(x):
    s = 0.0
    for i in range(4):
        if i == 0:
            last = x[0]
        s = s + last * x[i]
        last = x[i] ** 2
    return s + last


@sample(normal(5))
def loop_variable_after_loop(x):
    for v in x:
        y = v * v
    return v * y


@sample(normal(5))
def branches_in_loop(x):
    s = 0.0
    for i, v in enumerate(x):
        if i % 3 == 0:
            s = s + v
        elif i % 3 == 1:
            s = s * v
        else:
            s = s - v * v
    return s


@sample(1.0, 2.0, 7)
def fibonacci(a, b, n):
    for _ in range(n):
        a, b = b, a + b * 0.5
    return a * b


@sample(normal(4), 4)
def rebound_array(x, n):
    for i in range(n):
        x = np.tanh(x) + i * x
    return x


@sample(normal(3, 3), normal(3))
def power_iteration(a, v):
    for _ in range(4):
        w = a @ v
        v = w / np.sqrt(np.sum(w * w))
    return v @ a @ v


@sample(1.3)
def walrus_in_while(x):
    y = x
    while (y := y * x) < 10.0:
        pass
    return y


@sample(normal(4))
def augmented_in_loop(x):
    total = np.zeros(4)
    for k in range(1, 4):
        total += np.sin(k * x) / k
    return total


@sample(np.arange(3), normal(4))
def loop_over_integers(order, x):
    s = 1.0
    for i in order:
        s = s * x[i] + x[i + 1]
    return s


@sample(["sin", "cos", "other"], 0.7)
def loop_over_strings(names, x):
    for name in names:
        if name == "sin":
            x = np.sin(x)
        elif name == "cos":
            x = np.cos(x)
        else:
            x = x * 2.0
    return x
