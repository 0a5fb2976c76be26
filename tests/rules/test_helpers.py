"""What the pullbacks of rules call: it has a rule itself, or no derivative, or is plain code that is compiled."""

import numpy as np
import pytest

from adcompiler import check_gradient
from adcompiler.rules.registry import lookup
from adcompiler.runtime import (
    arrays,
    calling,
    containers,
    elementary,
    elliptic,
    fourier,
    guarded,
    layout,
    ordering,
    pointwise,
    products,
    pushing,
    quantiles,
    reduction,
    repeating,
    shapes,
    spectral,
    tangents,
    ufuncs,
)
from adcompiler.runtime.scatter import scatter
from adcompiler.testing import case, check_rule, complex_normal, integers, nonzero, normal, positive

MASK = np.array([True, False, True])
PLACES = np.array([2, 0, 2])
ORDER = np.array([[1, 0, 2], [2, 1, 0]])
PARTS = (list, [(2, 3), (1, 3)])

CASES = [
    *(case(f, normal(2, 3), s) for f in (shapes.fit,) for s in ((2, 3), (3,), (1, 3), (2, 1), (), (4, 2, 3))),
    case(shapes.broadcast, normal(3), (2, 3)),
    *(case(shapes.expand, normal(2), (2, 3), 1), case(shapes.expand, normal(2, 1), (2, 3), 1, True)),
    *(case(shapes.expand, 0.7, (2, 3)), case(reduction.keep_dims, normal(2), 1, False)),
    *(case(layout.reshape, normal(2, 3), s, o) for s, o in (((3, 2), "C"), ((6,), "F"), ((3, 2), (1, 0)))),
    *(case(layout.reshape, normal(2, 3, 4), (4, 2, 3), (2, 0, 1)), case(layout.reshape, normal(1), ())),
    *(case(f, complex_normal(2, 3)) for f in (shapes.conj, shapes.real, arrays.as_array, products.adjoint)),
    *(case(layout.cast_bar, normal(3), np.dtype(d)) for d in (float, complex)),
    case(arrays.moved_to, np.zeros(1), normal(2)),
    *(case(scatter, normal(3), PLACES, (4,)), case(scatter, normal(2), slice(1, 3), (4,))),
    *(case(scatter, normal(3), (PLACES, PLACES), (3, 3)), case(scatter, 1.5, (0, 1), (2, 2))),
    *(
        case(ordering.take_bar, normal(2, 3), PLACES, (2, 4), 1),
        case(ordering.take_bar, normal(3), PLACES, (2, 2), None),
    ),
    case(ordering.take_bar, normal(3), PLACES + 2, (2, 2), None, "wrap"),
    case(ordering.take_along_axis_bar, normal(2, 3), ORDER, (2, 3), 1),
    *(case(ordering.ordered_bar, normal(2, 3), ORDER, (2, 3), 1), case(ordering.trimmed_bar, normal(2), (4,), [1])),
    *(case(layout.diagonal_bar, normal(2), (2, 3), k, 0, 1) for k in (0, 1)),
    *(case(f, normal(3), PLACES, (2, 2)) for f in (layout.gather_bar,)),
    case(repeating.deleted_bar, normal(2), np.array([0, 3]), (2, 2)),
    *(case(layout.separate, normal(3, 3), PARTS, 0), case(layout.separate, normal(9), PARTS, None)),
    *(case(fourier.resize, normal(3, 2), n, 0) for n in (2, 3, 5)),
    *(
        case(f, normal(3), nonzero(3))
        for f in (elementary.multiply_strong, elementary.multiply_both, elementary.divide_strong)
    ),
    *(case(f, normal(3), nonzero(3)) for f in (elementary.divide_singular, guarded.sqrt_bar)),
    case(guarded.divide_root, normal(3), positive(3), real_only=True),
    *(case(guarded.one_less_square, normal(3)), case(guarded.sign, nonzero(3))),
    case(guarded.length, nonzero(3), nonzero(3), real_only=True),
    *(case(f, normal(2, 3), MASK) for f in (guarded.masked, guarded.masked_out)),
    *(
        case(guarded.take_share, normal(3), s, wrt="c", real_only=True)
        for s in (MASK, np.array([0.5, 1.0, 0.0]), True, 0.5)
    ),
    *(case(guarded.log_weight, a, normal(3), exp) for a in (0.0, normal(3)) for exp in (np.exp, np.exp2)),
    case(guarded.nan_to_num_bar, normal(3), np.array([1.0, np.nan, 2.0]), wrt="c"),
    *(case(guarded.integer_power, normal(3), n) for n in (1, 2, 5, 20)),
    *(
        case(guarded.base_bar, normal(3), positive(3), e, positive(3), wrt="c", real_only=True)
        for e in (2.0, normal(3))
    ),
    case(guarded.exponent_bar, normal(3), positive(3), normal(3), real_only=True),
    case(guarded.times_power_of_two, normal(3), integers(-2, 3, 3)),
    *(case(f, normal(2, 3), ORDER > 0, 1, False) for f in (reduction.mean_of_hits,)),
    case(reduction.degrees_of_freedom, np.ones(4), None, 1.5),
    *(case(reduction.reverse_cumsum, normal(2, 3), 1), case(reduction.diff_bar, normal(2, 2), (2, 3), 1, 1)),
    case(
        pointwise.bars, (lambda a, b: b, lambda a, b: a), (normal(3), normal(3)), np.zeros(3), normal(3), (True, True)
    ),
    case(spectral.repeated_part, normal(3, 3), normal(3), np.arange(3.0), np.eye(3, dtype=bool), wrt="z"),
    *(case(tangents.unthunk, normal(3)), case(ufuncs.as_given, normal(3), np.zeros(3))),
    *(case(pushing.spread, normal(3), np.zeros(s)) for s in (3, (2, 3))),
    case(pushing.own, normal(3)),
    case(quantiles.shared, normal(2, 3), np.array([[1.0, 1.0, 2.0], [0.0, 1.0, 2.0]])),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


# Their second argument has to fit the first, or they take functions.
BY_HAND = {
    arrays.moved_home,
    layout.joined,
    reduction.share,
    calling.applied,
    containers.cell_of,
    quantiles._ranks,
    elliptic.elliprc_slopes,
}


def test_by_hand():
    """The same for functions of which `check_rule` cannot change one argument alone."""
    check_gradient(lambda a, b: layout.joined([a, b], PARTS[1], 0, (3, 3)), np.ones((2, 3)), np.ones((1, 3)))
    check_gradient(lambda c: reduction.share(c, ORDER > 0, 1, False), np.array([0.5, 2.0]))
    check_gradient(lambda c: arrays.moved_home(c, np), np.ones(2))
    check_gradient(lambda a, b: calling.applied(np.multiply, [a, b], {}), np.ones(3), np.arange(3.0))
    check_gradient(lambda a, b: calling.applied(np.multiply, [b], {}, a), np.ones(3), np.arange(3.0))
    check_gradient(lambda a: containers.cell_of(lambda: a, "a"), np.ones(3))
    rows = np.array([[0.1, 0.5, 0.2, 0.9], [0.7, 0.3, 0.4, 0.0]])
    for quantile, level in ((np.quantile, 0.3), (np.percentile, 30.0)):
        check_gradient(lambda q: quantiles._ranks(quantile, rows, q, "linear", None, False), level)  # noqa: B023


@pytest.mark.parametrize("exponent", [2.0, 2.5, -1.0, 0.5])
def test_power_is_differentiated_again(exponent):
    """With respect to base and exponent: the helper takes its last argument to be the power of both."""

    def bar(base, exp):
        return np.sum(guarded.base_bar(1.5, base, exp, base**exp))

    check_gradient(bar, np.array([0.5, 1.5, 2.0]), np.full(3, exponent))


def test_zero_beats_infinity_at_the_second_order():
    """A cotangent of zero at a pole leaves zeros, not nan, in the derivatives of the guarded product."""
    c, pole = np.array([0.0, 2.0]), np.array([np.inf, 3.0])
    _, back = lookup(elementary.multiply_strong)[0].function(c, pole)
    c_bar, pole_bar = back(np.array([0.0, 1.0]))
    np.testing.assert_array_equal(c_bar, [0.0, 3.0])
    np.testing.assert_array_equal(pole_bar, [0.0, 2.0])
