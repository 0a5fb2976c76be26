"""Arguments and results that are tuples, lists and dicts, and what is read from them."""

from collections import namedtuple

import numpy as np

from adcompiler.testing import booleans, integers, normal, positive
from tests.corpus.sample import sample

Point = namedtuple("Point", "x y")


@sample({"a": 1.5, "b": normal(3)})
def dict_argument(p):
    return p["a"] * np.sum(p["b"] ** 2)


@sample({"layer": {"w": normal(2, 3), "b": normal(2)}, "scale": 0.5, "name": "net"}, normal(3))
def nested_dict(p, x):
    return p["scale"] * np.sum(p["layer"]["w"] @ x + p["layer"]["b"])


@sample([{"w": normal(3, 3), "b": normal(3)}, {"w": normal(3, 3), "b": normal(3)}], normal(3))
def list_of_dicts(layers, x):
    for layer in layers:
        x = np.tanh(layer["w"] @ x + layer["b"])
    return np.sum(x)


@sample([(normal(3, 3), normal(3)), (normal(2, 3), normal(2))], normal(3))
def list_of_tuples(layers, x):
    for w, b in layers:
        x = np.tanh(w @ x + b)
    return x


@sample((1.5, [normal(2), {"k": -0.5}]))
def mixed_nesting(t):
    return t[0] * t[1][0] * t[1][1]["k"]


@sample({"used": 2.0, "unused": normal(2), "count": 3})
def partly_used_dict(p):
    return p["used"] ** p["count"]


@sample((2.0, normal(2), "text", None, 4))
def partly_used_tuple(t):
    return t[0] ** 2 * t[4]


@sample({0: 1.5, 1: 0.5, (1, 2): 2.0})
def dict_with_other_keys(p):
    return p[0] * p[1] + p[1, 2]


@sample([1.5, -0.5, 2.0], 1)
@sample([1.5, -0.5, 2.0], -1)
def list_with_variable_index(values, i):
    return values[i] * values[0] + values[i - 1]


@sample([1.5, -0.5, 2.0])
def list_in_loop(values):
    s = 0.0
    for i in range(len(values)):
        s = s * values[i] + values[-1]
    return s


@sample(1.5, normal(2))
def returns_tuple(x, y):
    return x * y, x**2


@sample(1.5, normal(2))
def returns_dict(x, y):
    return {"product": x * y, "parts": [x, np.sum(y)], "text": "no derivative", "count": 2}


@sample(1.5, normal(2))
def returns_nested(x, y):
    return x, [(x * y, 3), {"a": {"b": x}}], None


@sample(normal(3))
def returns_argument(x):
    return x


@sample(normal(3), 2.0)
def returns_arguments(x, c):
    return x, c, x * c


@sample(normal(3))
def returns_view(x):
    return x[1:], x.reshape(3, 1), x.T


@sample({"a": 1.5, "b": [normal(2), 0.5]})
def returns_structure_of_argument(p):
    return p["b"]


@sample(1.5, 0.5)
def local_tuple(x, y):
    t = (x, y, x * y)
    return t[0] + t[-1] * t[1]


@sample(1.5, 0.5)
def local_list(x, y):
    t = [x, y, [x * y]]
    return t[0] + t[2][0] * t[1]


@sample(1.5, 0.5)
def local_dict(x, y):
    t = {"a": x, "b": {"c": x * y}}
    return t["a"] * t["b"]["c"]


@sample(1.5, 0.5)
def tuple_carried_by_loop(x, y):
    state = (x, y)
    for i in range(4):
        a, b = state
        state = (b, a * b + i)
    return state[0] * state[1]


@sample(1.5, 0.5)
def dict_carried_by_loop(x, y):
    state = {"a": x, "b": y}
    for _ in range(3):
        state = {"a": state["b"], "b": state["a"] * 0.5 + state["b"]}
    return state["a"] * state["b"]


@sample(1.5, 0.5)
def tuple_chosen_by_branch(x, y):
    pair = (x, y) if x > y else (y, x * y)
    return pair[0] * pair[1]


@sample(1.5, 0.5)
def stack_of_scalars(x, y):
    v = np.array([x, y, x * y])
    m = np.array([[x, 1.0], [0.0, y]])
    return m @ v[:2] + v[2]


@sample(normal(3), normal(3))
def stacked_and_joined(x, y):
    return np.stack([x, y * 2]).sum(axis=0) * np.concatenate([x[:1], y, x[2:]])[1:4]


@sample(normal(5))
def slices(x):
    return x[1:] * x[:-1] + x[::2][0] - x[-1]


@sample(normal(3, 4))
def indices(a):
    return a[0, 1] * a[-1] + a[:, 2][0] * a[1, ::2].sum() + a[..., None, 0].sum() + a[1][2]


@sample(normal(4), integers(0, 4, 6))
def integer_index_array(x, index):
    return x[index] * np.arange(6.0)


@sample(normal(4))
def repeated_indices(x):
    return np.sum(x[[0, 0, 2, 0]] * np.array([1.0, 2.0, 3.0, 4.0]))


@sample(normal(4), booleans(4))
def given_mask(x, mask):
    return np.sum(x[mask] ** 2)


@sample(np.array([-1.0, 0.5, 2.0, -0.3]))
def computed_mask(x):
    return np.sum(x[x > 0] ** 2) + np.where(x > 0, x, 0.1 * x).sum()


@sample(positive(3, 3), integers(0, 3, 3))
def fancy_rows_and_columns(a, labels):
    return -np.mean(np.log(a[np.arange(3), labels])) + a[:, labels].sum() + a[labels][0, 0]


@sample(normal(4))
def element_reads_in_loop(x):
    s = 0.0
    for i in range(1, len(x)):
        s += (x[i] - x[i - 1]) ** 2
    return s


@sample(normal(3, 3))
def element_reads_of_matrix(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace = trace + a[i, i] * a[i][0]
    return trace


@sample(normal(3), 1)
def slice_objects(x, n):
    s = slice(n, None)
    return x[s] * x[:2]


@sample(normal(2, 3))
def shape_arithmetic(x):
    n, m = x.shape
    return x.sum() / (n * m) + x.size * x[0, 0] + len(x) * x.ndim


@sample((normal(3), normal(3)), [0.5, 2.0])
def zip_of_containers(arrays, weights):
    s = 0.0
    for a, w in zip(arrays, weights, strict=True):
        s = s + w * np.sum(a * a)
    return s


@sample({"a": 1.5, "b": 2.0})
def membership(p):
    if "a" in p and "z" not in p:
        return p["a"] * p["b"]
    return p["a"]


@sample([normal(3), normal(3)])
def length_of_list(arrays):
    return arrays[0] * arrays[len(arrays) - 1] / len(arrays)


@sample([normal(2), normal(2), normal(2)])
def sum_and_stack_of_list(arrays):
    return np.sum(np.stack(arrays) ** 2) + np.concatenate(arrays)[0]


@sample((1.5, 0.5))
def tuple_addition_avoided(t):
    a, b = t
    u = (b, a)
    for v in u:
        a = a * v
    return a


@sample(1.5, 2.0, (0.5, -1.0, 3.0))
def parameter_unpacked_inside_display(x, y, p):
    b, (*r, c) = x, p
    c += y
    b *= r[0] + r[1]
    return b * c
