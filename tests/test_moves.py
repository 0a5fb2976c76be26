"""Operations on whole containers: slices, joins, copies, displays with stars, dict views, `get`."""

# ruff: noqa: RUF005, RUF015  the operators are what is tested

import numpy as np
import pytest

from adcompiler import UnsupportedSyntaxError
from tests.promises import check, check_raises, check_refused

V = np.array([1.0, 2.0, 3.0])
D = {"a": 3.0, "b": 4.0, "c": 5.0}


def iteration(d):
    s = 0.0
    for k, v in d.items():
        s += v
        if k == "b":
            s += v
    for v in d.values():
        s += v * v
    for k in d:
        s = s + d[k] * len(k)
    for i, (k, v) in enumerate(d.items()):
        s = s + i * v * d[k]
    return s


def rebuilt(d):
    e = {k: v**2 for k, v in d.items() if k != "c"}
    return sum(e.values()) + len(e) + ("c" in e)


def merged(d):
    e = {**d, "b": d["a"] * 2.0}
    e = e | {"z": d["c"] * 2}
    f = dict(e, q=d["c"])
    return f["a"] * f["b"] + f["z"] * f.copy()["q"] + d["b"]


def fetched(d):
    return d.get("a", 0.0) * 2 + d.get("zz", d["b"]) * 3 + (d.get("none") is None)


def pairs(d):
    return sum([v * v for v in d.values()]) + dict([("u", d["a"]), ("v", d["b"])])["v"]


@pytest.mark.parametrize("f", [iteration, rebuilt, merged, fetched, pairs])
def test_dicts(f):
    """Dicts that are arguments."""
    check(f, D)


@pytest.mark.parametrize("f", [iteration, rebuilt, merged, fetched, pairs])
def test_dicts_made_inside(f):
    """Dicts made by a display and by a comprehension."""

    def displayed(x):
        return f({"a": x[0], "b": x[1], "c": x[2]})

    def comprehended(x):
        return f({"abc"[i]: v * v for i, v in enumerate(x)})

    check(displayed, V)
    check(comprehended, V)


def test_slices_and_joins():
    """`+`, `*` and slices of lists and tuples, copies and conversions."""

    def lists(xs, ys):
        z = (xs + ys) * 2
        u = z[1:] + [3.0 * z[0]]
        return z[0] * z[-1] + z[3] * u[1] + u[::-1][0] * sum(u.copy()[:2]) + sum(tuple(u)) * list(reversed(u))[0]

    def tuples(t):
        a, b = t[:2], t[2:]
        c = b + a * 2
        return sum(t[:2]) * t[-1] + c[0] * c[1] * c[-1] + list(c)[2]

    check(lists, [1.0, 2.0], [3.0, 4.0])
    check(tuples, (2.0, 3.0, 5.0, 7.0))


def test_displays_with_stars():
    """`[*xs, y]`, `(*xs,)`, and `f(*xs, *ys)`."""

    def f(w, xs):
        a = [*w, *w[:1], xs[0] * 2, *xs]
        b = (*a, *xs)
        return sum(a) * b[-1] + max(*xs, w[0]) + np.hypot(*xs)

    check(f, V, [4.0, 5.0])


def test_kinds_known_at_run_time():
    """What may be a dict, a list or an array is looked at when the program runs."""

    def f(x, flag):
        c = {"u": x, "v": 2 * x} if flag else [x, x * x]
        s = 0.0
        if flag:
            for v in c.values():
                s = s + v * v
            s = s + c.get("u") * 3 + c.get("zz", x) + sum(c.copy().values())
            for k in c:
                s = s + c[k]
        else:
            for v in c:
                s = s + v
            s = s + sum(c + c) + sum((c * 2)[1:]) + sum(list(c)) * tuple(c)[0]
        return s

    check(f, 2.0, True)
    check(f, 2.0, False)


def test_nested_containers():
    """What is moved may hold containers itself."""

    def f(p):
        rows = p["rows"] + [p["last"]]
        layers = [{"w": r[0], "b": r[1:]} for r in rows]
        return sum([layer["w"] * sum(layer["b"]) for layer in layers[::-1]]) * layers[0]["w"]

    check(f, {"rows": [[1.0, 2.0], [3.0, 4.0]], "last": [5.0, 6.0]})


def test_together_with_writes():
    """Where containers are written into too, the same operations follow their entries by identity."""

    def f(x):
        ys = [v * v for v in x]
        ys.append(x[0] * 3)
        zs = [*ys, ys[0]] + ys[1:]
        zs[0] = zs[1] * zs[2]
        d = {**{"a": zs[0]}, "b": zs[1]}
        d["c"] = d["a"] * 2
        out = list(zs)
        out.append(sum(d.values()))
        return sum([v * v for v in out])

    def rows(x):
        r = [[v * w for w in x] for v in x]
        r[0].append(x[1])
        s = r[1:] + [r[0]]
        s[0].append(x[2])
        return sum([sum([u * u for u in row]) for row in r])

    check(f, V)
    check(rows, V)


def test_identity_of_what_is_moved():
    """Entries are moved, not copied."""

    def f(x, labels):
        pairs = list(zip([x, x * 2], labels, strict=True))
        same = pairs[0][1] is labels[0] and [*labels][1] is labels[1]
        return np.sum(pairs[0][0] * pairs[1][0]) * (2.0 if same else 1.0)

    check(f, V, [["u"], ["v"]])


def test_refused():
    """Keys that carry a derivative."""

    def keys(d):
        e = {d["a"]: 1.0, **d}  # refused
        return sum(e)

    check_refused(UnsupportedSyntaxError, keys, D)


def test_exceptions():
    """Exceptions are Python's own."""
    check_raises(KeyError, lambda d: {k: v for k, v in d.items()}["zz"], D)
    check_raises(TypeError, lambda xs: [*xs, *3], [1.0])


def test_names_of_builtins():
    """`sum` of the text and `np.sum` of a rule are two functions in one text."""

    def f(x):
        return sum([x * i for i in range(3)], np.zeros(3)).sum() * max(D, key=D.get).count("c")

    check(f, V)


def test_methods_as_keys():
    """`max(d, key=d.get)`."""

    def f(d):
        return d[max(d, key=d.get)] * 2 + d[sorted(d)[0]]

    check(f, D)


def a_dict_of_a_mapping(x):
    inner = [x]
    z = [{"k": inner}, inner][int(x < 0)]
    dict(**z)["k"].append(x * x)
    return sum(inner)


def test_a_dict_of_a_mapping_known_at_run_time():
    """`dict(**other)` is `{**other}`, and holds the same objects."""
    check(a_dict_of_a_mapping, 0.7)
