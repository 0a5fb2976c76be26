"""`hvp`, `hessian`, `jacobian` and their relatives inside what is differentiated."""

import numpy as np
import pytest

from adcompiler import (
    UnsupportedSyntaxError,
    diag_hessian,
    gradient,
    hessian,
    hvp,
    jacobian,
    jvp,
    value_and_jacobian,
)
from tests.orders import V, check_second


def energy(x):
    return np.sum(x**4) + x[0] ** 2 * x[1] - np.cos(x[1] * x[2])


def weighted(a, x, b):
    return a * np.sum(np.sin(x) * b) + np.sum(x) ** 3


def stretched(x):
    return np.array([x[0] * x[1], np.sin(x[2]), x[1] ** 2, x[0] * x[2], x[0] ** 3])


def product(x):
    return np.sum(hvp(energy, x, V) ** 2)


def product_along_itself(x):
    return hvp(energy, x, x * x) @ V


def product_with_more_arguments(x):
    return np.sum(hvp(lambda y, a: a * energy(y), x, V, x[0] ** 2))


def laplacian(x):
    return np.trace(hessian(energy)(x)) ** 2


def diagonal(x):
    return np.sum(diag_hessian(energy)(x) ** 2 * x)


def newton(x):
    for _ in range(2):
        x = x - np.linalg.solve(hessian(energy)(x) + 3.0 * np.eye(3), gradient(energy)(x))
    return np.sum(x**2)


def tall(x):
    return np.sum(jacobian(stretched)(x) ** 2)


def wide(x):
    return np.sum(jacobian(lambda y: np.stack([energy(y), y[0] ** 3]))(x) ** 2)


def slope(x):
    return jacobian(lambda t: t**3 * x[1])(x[0]) * x[2]


def of_a_number(x):
    return np.sum(jacobian(lambda t: np.sin(x * t))(x[0]) ** 2) + hessian(lambda t: t**4 * x[1])(x[2])


def with_value(x):
    value, rows = value_and_jacobian(stretched)(x)
    return np.sum(rows.T @ value)


def of_one_of_several(x):
    return np.sum(hessian(weighted, 1)(x[0], x, x**2) ** 2) + jacobian(weighted, -1)(x[1], x, x * 2) @ x


def in_a_branch_and_a_loop(x):
    s = 0.0
    for i in range(2):
        if x[i] > 0:
            a = x[i] * x[2]
            s = s + np.trace(hessian(lambda y: a * energy(y))(x))  # noqa: B023
    return s


PROGRAMS = [
    product, product_along_itself, product_with_more_arguments, laplacian, diagonal, newton, tall, wide, slope,
    of_a_number, with_value, of_one_of_several, in_a_branch_and_a_loop,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_derivatives_of_a_program_with_higher_derivatives(program):
    """First and second derivatives, in every order of modes, are those of central differences."""
    check_second(program)


@pytest.mark.parametrize(
    ("program", "what"),
    [
        (lambda x: hvp(lambda y, a: a * energy(y), x, V, a=2.0)[0], "hvp with keywords"),
        (lambda x: hessian(weighted, (0, 1))(1.0, x, x)[0][0], "hessian inside"),
        (lambda x: jacobian(lambda p: p["x"] ** 2)({"x": x})["x"][0, 0], "jacobian inside"),
    ],
)
def test_what_is_refused(program, what):
    """Several arguments, keywords and structures are refused, at the line."""
    with pytest.raises(UnsupportedSyntaxError, match=what):
        gradient(program)(V)
    with pytest.raises(UnsupportedSyntaxError, match=what):
        jvp(program, (V,), (V,))
