"""Writes by functions and methods into what only the run time knows to be an array."""

import numpy as np

from adcompiler import NoRuleError
from tests.promises import check_refused
from tests.writes import check_writes, programs

X = np.array([0.3, -0.2, 0.7, 1.1])
A = np.array([[1.3, 0.2, -0.4, 0.9], [0.1, 0.9, 0.5, 0.25]])


class Holder:
    """An object whose methods are called as those of arrays are."""

    def fill(self, value):
        self.value = value

    def sort(self):
        self.value = self.value * 2.0


def methods(x, a):
    items = [Holder(), x, a]
    items[0], items[1], items[2] = items[1], items[2], items[0]
    items[0].fill(items[1][0, 0] * x[1])
    items[1][0].sort()
    items[1].sort(axis=0)
    items[0].put([1, 2], items[1][0, 1:3] * 2.0)
    items[1].put(indices=[3], values=items[0][0])
    items[1].put(values=[x[0] * 3.0, x[2]], indices=[3, 0])
    return items[:2], x, a


def functions(x, a):
    items = [Holder(), x, a]
    items[0], items[1], items[2] = items[2], items[1], items[0]
    np.put(items[1], [1, 2], a[0, :2] * x[0])
    np.copyto(items[0], items[1])
    np.copyto(items[0], items[1] * 2.0, where=items[0] > 0.23)
    np.putmask(items[1], items[1] > 0.2, a[0])
    np.place(items[0], items[0] > 0.2, x[1:])
    np.fill_diagonal(items[0], x[2])
    np.add.at(items[1], [1, 1], a[0, 0])
    np.subtract.at(items[0], ([0, 1], 1), items[1][:2])
    np.put_along_axis(items[1], np.array([2, 0]), x[:2] * 2.0, 0)
    return x, a


def in_loops_and_branches(x, a):
    items = [Holder(), x]
    items[0], items[1] = items[1], items[0]
    for k in range(3):
        items[0].put([k], x[3] * x[k + 1])
        if a[0, 0] > 100.0:
            items[0].sort()
        else:
            items[0][1:].sort()
    return x


def without_derivative_before(x, a):
    items = [Holder(), np.zeros(3)]
    items[0], items[1] = items[1], items[0]
    b = items[0][1:]
    items[0].fill(x[0] * x[1])
    items[0].put([2], 5.0)
    return b * items[0][0]


def by_helpers(x, a):
    [q.fill(x[3]) for q in (x[1:3], a[0])]
    (lambda q: q.fill(x[3] * 2.0))(a[1])
    (q := np.linalg.solve(np.array([[2.0, 0.3], [0.1, 1.5]]), x[:2])).sort()
    x[:2] -= q
    return x, a


def chosen_by_index(x, a):
    y = [x * 2.0, (1.0, 2.0)][0 if a[0, 0] > 0 else 1]
    z = [x * 2.0, [1.0, 2.0]][0 if a[0, 0] > 0 else 1]
    np.put(y, [0], x[1])
    z.sort()
    return y * z


@programs(chosen_by_index, methods, functions, in_loops_and_branches, without_derivative_before, by_helpers)
def test_unknown_arrays(program):
    """What turns out to be an array is written into as one that is known."""
    check_writes(program, X, A)


def methods_of_objects(x, a):
    items = [x, Holder()]
    items[0], items[1] = items[1], items[0]
    items[0].fill(x[0])
    items[0].sort()
    items[1].sort()
    return items[0].value * x


def lists(x, a):
    items = [[x[0], x[1]], x]
    items[0], items[1] = items[1], items[0]
    items[1].sort()
    items[0].sort()
    return items[1][0] * x


@programs(methods_of_objects, lists)
def test_other_objects(program):
    """A method of the same name, of a list or of an object of the user's, is what it is."""
    check_writes(program, X, A)


def operands_by_name(x, a):
    a[1].put(values=x[1:3], indices=[2, 0])
    x.put(mode="wrap", values=a[1, :1], indices=[6])
    return x, a


@programs(operands_by_name)
def test_operands_by_name(program):
    """Operands are given by name in any order."""
    check_writes(program, X, A)


def method_as_value(x):
    fill = x.fill
    fill(x[1])  # refused
    return x


def method_in_list(x):
    items = [x.sort, 3.0]
    items[0], items[1] = items[1], items[0]
    items[1]()  # refused
    return x


def test_methods_as_values():
    """A method that has another name is refused: nobody sees that the array is written into."""
    check_refused(NoRuleError, method_as_value, X)
    check_refused(NoRuleError, method_in_list, X)
