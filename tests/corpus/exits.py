"""Ways out of nested loops: return, break and continue, and what runs or stays bound after them."""

import numpy as np

from adcompiler.testing import normal
from tests.corpus.sample import sample


@sample(normal(5), 3)
@sample(normal(5), 9)
def return_from_loop(x, stop):
    s = 0.0
    for i, v in enumerate(x):
        s = s + v**3
        if i == stop:
            return s * v
    return s


@sample(normal(4), 2.0)
@sample(normal(4), -2.0)
def return_from_nested_loop(x, c):
    s = c
    for i in range(4):
        for j in range(4):
            s = s + x[i] * x[j]
            if c > 0 and i == 1 and j == 2:
                return s * s
        s = s * 0.9
    return s


@sample(3.0)
def return_from_while_true(x):
    y = x
    while True:
        y = y * 0.7 + 0.1 * x
        if y < 1.25:
            return y * x


@sample(normal(4), 3)
def else_of_loop_in_loop(x, n):
    s = 0.0
    for i in range(n):
        for j in range(4):
            if j > i:
                s += x[j]
                break
            s += x[i] * x[j]
        else:
            s = s * 2.0
        if i == n - 2:
            continue
        s = s * s
    return s


@sample(normal(3))
def break_in_else(x):
    s = x[0]
    for i in range(3):
        k = 0
        while s * 0 + k < 2:
            k += 1
            s = s * x[1] + x[2]
        else:
            if i == 1:
                break
            s = s + 1.0
        s = s * x[i]
    return s


@sample(normal(3), 2.0)
@sample(normal(3), -2.0)
def array_or_scalar(x, c):
    y = x if c > 0 else c
    return np.sum(y * c)


@sample(0.7)
def returns_in_every_branch(x):
    for i in range(5):
        if x > i:
            x = x + 0.9 * x
        else:
            return x * i
    else:
        return x


@sample(normal(2))
def return_from_inner_while(v):
    for a in v:
        while True:
            return a * a


@sample(normal(2, 2), normal(2), 1.5)
def return_of_name_bound_in_outer_loop(m, v, c):
    w = v
    for row in m:
        w = row * c
        for b in v:
            if b > -100.0:
                return w * b
    return w


@sample(2.0, 3.0, 0)
@sample(2.0, 3.0, 1)
def return_from_while_in_loop_over_list(a, b, i):
    d = a
    for c in [b, a]:
        k = 0
        while k < 4:
            if i == 0:
                return b * c
            d = a
            a = c * 0.5
            k += 1
        b = d * b
    return b


@sample(2.0, 3.0, 2)
@sample(2.0, 3.0, 7)
def unpacked_but_used_on_some_paths(x, y, n):
    p = x, y
    b = 1.0
    for _ in range(n):
        a, *r = p
        if n == 7:
            b = r[0] * 0.8 * b + a
    return b


@sample(normal(3), 1.5, (0.5, 2.0))
def loop_in_else_of_loop(w, x, p):
    for a in w:
        e = x * a
    else:
        for c in p:
            w = w * e
            e = w[1] * c
    return w


@sample(normal(3), normal(3), 1.5)
def changed_array_among_results(u, v, x):
    w = u * 1.0
    w += v * x
    return x, w


@sample(normal(3))
def return_before_element_is_read(u):
    w = u * 1.0
    for _ in u:
        k = 0
        while k < 4:
            return w
        w = u[0]
    return w


@sample(normal(2), normal(2), 3.0)
def return_from_third_loop(u, v, w):
    for a in u:
        for b in v * a:
            for c in [b, a]:
                if w > 0:
                    return w * c
            a, b, c = c, a, b
    return a


@sample(normal(3), 1.5)
def changed_array_beside_an_alias(u, x):
    a = x
    w = u * 1.0
    w += 0.7 * x
    return a, w
