"""Methods of containers that are found at run time, in forward mode: the same of the container of tangents.

Each function here is plain code, `(args, dots) → (value, tangent)`, with the container first among both.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from adcompiler.runtime.pushing import zeros_of


def append(args: Any, dots: Any) -> Any:
    args[0].append(args[1])
    dots[0].append(dots[1])
    return None, None


def append_left(args: Any, dots: Any) -> Any:
    args[0].appendleft(args[1])
    dots[0].appendleft(dots[1])
    return None, None


def extend(args: Any, dots: Any) -> Any:
    args[0].extend(args[1])
    dots[0].extend(dots[1])
    return None, None


def insert(args: Any, dots: Any) -> Any:
    args[0].insert(args[1], args[2])
    dots[0].insert(args[1], dots[2])
    return None, None


def reverse(args: Any, dots: Any) -> Any:
    args[0].reverse()
    dots[0].reverse()
    return None, None


def clear(args: Any, dots: Any) -> Any:
    args[0].clear()
    dots[0].clear()
    return None, None


def rotate(args: Any, dots: Any) -> Any:
    args[0].rotate(args[1])
    dots[0].rotate(args[1])
    return None, None


def pop(args: Any, dots: Any) -> Any:
    return args[0].pop(), dots[0].pop()


def pop_left(args: Any, dots: Any) -> Any:
    return args[0].popleft(), dots[0].popleft()


def pop_at(args: Any, dots: Any) -> Any:
    return args[0].pop(args[1]), dots[0].pop(args[1])


def pop_or(args: Any, dots: Any) -> Any:
    return args[0].pop(args[1], args[2]), dots[0].pop(args[1], dots[2])


def get(args: Any, dots: Any) -> Any:
    return args[0].get(args[1]), dots[0].get(args[1])


def get_or(args: Any, dots: Any) -> Any:
    return args[0].get(args[1], args[2]), dots[0].get(args[1], dots[2])


def set_default(args: Any, dots: Any) -> Any:
    return args[0].setdefault(args[1], args[2]), dots[0].setdefault(args[1], dots[2])


def update(args: Any, dots: Any) -> Any:
    args[0].update(args[1])
    dots[0].update(dots[1])
    return None, None


def copied(args: Any, dots: Any) -> Any:
    return args[0].copy(), dots[0].copy()


def values(args: Any, dots: Any) -> Any:
    return list(args[0].values()), list(dots[0].values())


def items(args: Any, dots: Any) -> Any:
    return list(args[0].items()), [(zeros_of(key), dot) for key, dot in dots[0].items()]


# By class, name and number of arguments after the container.
_OF_SEQUENCES: dict[tuple[str, int], Any] = {
    ("append", 1): append, ("extend", 1): extend, ("insert", 2): insert, ("reverse", 0): reverse, ("clear", 0): clear,
    ("pop", 0): pop, ("copy", 0): copied,
}  # fmt: skip
METHODS: dict[type, dict[tuple[str, int], Any]] = {
    list: {**_OF_SEQUENCES, ("pop", 1): pop_at},
    deque: {
        **_OF_SEQUENCES, ("appendleft", 1): append_left, ("popleft", 0): pop_left, ("rotate", 1): rotate,
    },
    dict: {
        ("clear", 0): clear, ("pop", 1): pop_at, ("pop", 2): pop_or, ("get", 1): get, ("get", 2): get_or,
        ("setdefault", 2): set_default, ("update", 1): update, ("copy", 0): copied, ("values", 0): values,
        ("items", 0): items,
    },
}  # fmt: skip

__all__ = ["METHODS"]
