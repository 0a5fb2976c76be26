"""How the functions of a distribution change with their argument, and with the distribution's parameters.

A `Family` holds the mathematics of one distribution in its standard form, where location is 0 and scale 1: `y` stands
for (x - loc) / scale. The derivative in a parameter without a closed form is None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adcompiler.runtime.elementary import multiply_strong
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.forward import match
from adcompiler.runtime.pointwise import is_real_or_complex
from adcompiler.runtime.shapes import fit, shape
from adcompiler.runtime.tangents import Thunk, unthunk
from adcompiler.runtime.ufuncs import as_given

Slope = Callable[..., Any]


@dataclass(frozen=True)
class Family:
    """Derivatives in standard form: functions of `y` and the shape parameters; moments of the shape parameters alone.

    `score` is that of the log density in y, `density` those in the shape parameters, `cdf` those of the distribution
    function; `mean` and `var` those of the moments.
    """

    score: Slope | None = None
    density: tuple[Slope | None, ...] = ()
    cdf: tuple[Slope | None, ...] = ()
    mean: tuple[Slope | None, ...] = ()
    var: tuple[Slope | None, ...] = ()


@dataclass(frozen=True)
class Evaluation:
    """One evaluation of a distribution: where, and with which parameters, by name."""

    dist: Any
    family: Family
    x: Any
    parameters: dict[str, Any]
    shapes: tuple[Any, ...] = field(init=False)
    discrete: bool = field(init=False)

    def __post_init__(self) -> None:
        names = shape_names(self.dist)
        object.__setattr__(self, "shapes", tuple(np.asarray(self.parameters[name])[()] for name in names))
        object.__setattr__(self, "discrete", not hasattr(self.dist, "logpdf"))

    @property
    def loc(self) -> Any:
        return self.parameters["loc"]

    @property
    def scale(self) -> Any:
        return self.parameters.get("scale", 1.0)

    @property
    def y(self) -> Any:
        """The argument in standard form."""
        return self.standard(self.x)

    def standard(self, x: Any) -> Any:
        return np.asarray((np.asarray(x) - np.asarray(self.loc)) / np.asarray(self.scale))[()]

    def call(self, name: str, x: Any) -> Any:
        """Another function of the same distribution."""
        return getattr(self.dist, name)(x, **self.parameters)

    def shape_slope(self, table: str, name: str, y: Any) -> Any:
        """The derivative in a shape parameter that a table of the family has. Raises NoRuleError if there is none."""
        slopes, index = getattr(self.family, table), shape_names(self.dist).index(name)
        if index >= len(slopes) or slopes[index] is None:
            raise self.missing(name)
        return slopes[index](y, *self.shapes) if table in ("density", "cdf") else slopes[index](*self.shapes)

    def missing(self, name: str) -> NoRuleError:
        return NoRuleError(
            f"the derivative of the {self.dist.name} distribution in {name} has no closed form, or none is given\n"
            f"Take {name} as a constant with stop_gradient(), or write the formula with scipy.special."
        )


def shape_names(dist: Any) -> list[str]:
    """The names of a distribution's shape parameters."""
    return [name.strip() for name in (dist.shapes or "").split(",") if name.strip()]


def evaluation(dist: Any, family: Family, x: Any, args: Any, kwds: dict[str, Any]) -> Evaluation:
    """The call ``dist.f(x, *args, **kwds)``, with the parameters that were left out at their defaults."""
    names = parameter_names(dist)
    parameters = {"loc": 0.0, "scale": 1.0} if "scale" in names else {"loc": 0}
    return Evaluation(dist, family, x, {**parameters, **dict(zip(names, args, strict=False)), **kwds})


def parameter_names(dist: Any) -> list[str]:
    """The names of all parameters in the order of positional arguments."""
    return [*shape_names(dist), "loc", *(["scale"] if hasattr(dist, "logpdf") else [])]


# The derivative of each function in the parameter `name`; `out` is its value


def logpdf_slope(e: Evaluation, name: str, out: Any) -> Any:
    """Of the logarithm of the density: 0 outside the support, where it is -inf."""
    if e.family.score is None:
        raise e.missing("x" if name == "x" else name)
    y = e.y
    if name == "scale":
        slope = -(1 + y * e.family.score(y, *e.shapes)) / e.scale
    elif name in ("x", "loc"):
        slope = e.family.score(y, *e.shapes) / (e.scale if name == "x" else -np.asarray(e.scale))
    else:
        slope = e.shape_slope("density", name, y)
    low, high = e.dist.support(*e.shapes)
    return np.where(np.isnan(out), np.nan, np.where((y < low) | (y > high), 0.0, slope))


def pdf_slope(e: Evaluation, name: str, out: Any) -> Any:
    """Of the density."""
    slope = logpdf_slope(e, name, out)
    return np.where(np.isinf(e.y) | np.equal(slope, 0), 0.0, out * slope)


def cdf_slope(e: Evaluation, name: str, out: Any) -> Any:
    """Of the distribution function."""
    if name not in ("x", "loc", "scale"):
        return _cdf_shape(e, name)
    return _flow(e, name) * e.call("pdf", e.x)


def sf_slope(e: Evaluation, name: str, out: Any) -> Any:
    """Of the survival function."""
    return -cdf_slope(e, name, out)


def logcdf_slope(e: Evaluation, name: str, out: Any) -> Any:
    """Of the logarithm of the distribution function."""
    if name not in ("x", "loc", "scale"):
        return _cdf_shape(e, name) * np.exp(-out)
    return _flow(e, name) * _quotient(e, out)


def logsf_slope(e: Evaluation, name: str, out: Any) -> Any:
    """Of the logarithm of the survival function."""
    if name not in ("x", "loc", "scale"):
        return -_cdf_shape(e, name) * np.exp(-out)
    return -_flow(e, name) * _quotient(e, out)


def ppf_slope(e: Evaluation, name: str, out: Any) -> Any:
    """Of the quantile, by the inverse function theorem."""
    if name == "x":
        return 1 / e.call("pdf", out)
    if name == "loc":
        return np.ones_like(out)
    if name == "scale":
        return e.standard(out)
    return -e.shape_slope("cdf", name, e.standard(out)) / e.call("pdf", out)


def isf_slope(e: Evaluation, name: str, out: Any) -> Any:
    """Of the quantile from above."""
    return -ppf_slope(e, name, out) if name == "x" else ppf_slope(e, name, out)


def _flow(e: Evaluation, name: str) -> Any:
    """How the standard argument moves, times the scale: 1 with x, -1 with loc, and -y with the scale."""
    if name in ("x", "loc"):
        return 1.0 if name == "x" else -1.0
    y = e.y
    return np.where(np.isinf(y), 0.0, -y)


def _cdf_shape(e: Evaluation, name: str) -> Any:
    """How the distribution function changes with a shape parameter: not at all outside the support."""
    low, high = e.dist.support(*e.shapes)
    return np.where((e.y <= low) | (e.y >= high), 0.0, e.shape_slope("cdf", name, e.y))


# The logarithm of a probability beyond which its difference from another has lost all digits but a few.
_LOST = 1e9


def _quotient(e: Evaluation, out: Any) -> Any:
    """The density over the probability whose logarithm is `out`: 0 where there is no density, nan if it is lost."""
    density = e.call("logpdf", e.x)
    quotient = np.where(np.abs(out) > _LOST, np.nan, np.exp(density - out))
    return np.where(np.isneginf(density), 0.0, quotient)


def logpmf_slope(e: Evaluation, name: str, out: Any) -> Any:
    """Of the logarithm of a probability of a discrete distribution."""
    if name == "loc":
        raise e.missing(name)
    return _at_masses(e, e.shape_slope("density", name, e.y))


def pmf_slope(e: Evaluation, name: str, out: Any) -> Any:
    """Of a probability of a discrete distribution."""
    if name == "loc":
        raise e.missing(name)
    return _at_masses(e, out * e.shape_slope("density", name, e.y))


def _at_masses(e: Evaluation, slope: Any) -> Any:
    """`slope` at the whole numbers of the support, and 0 elsewhere."""
    low, high = e.dist.support(*e.shapes)
    return np.where((e.y < low) | (e.y > high) | np.not_equal(e.y, np.floor(e.y)), 0.0, slope)


def discrete_cdf_slope(e: Evaluation, name: str, out: Any) -> Any:
    """Of the distribution function of a discrete distribution: only in shape parameters."""
    if name == "loc":
        raise e.missing(name)
    low, high = e.dist.support(*e.shapes)
    return np.where((e.y < low) | (e.y >= high), 0.0, e.shape_slope("cdf", name, e.y))


def discrete_sf_slope(e: Evaluation, name: str, out: Any) -> Any:
    return -discrete_cdf_slope(e, name, out)


def discrete_logcdf_slope(e: Evaluation, name: str, out: Any) -> Any:
    return discrete_cdf_slope(e, name, out) * np.exp(-out)


def discrete_logsf_slope(e: Evaluation, name: str, out: Any) -> Any:
    return -discrete_cdf_slope(e, name, out) * np.exp(-out)


def mean_slope(e: Evaluation, name: str, out: Any) -> Any:
    """Of the mean."""
    if name == "loc":
        return np.ones_like(out)
    return (out - e.loc) / e.scale if name == "scale" else e.scale * e.shape_slope("mean", name, None)


def var_slope(e: Evaluation, name: str, out: Any) -> Any:
    """Of the variance."""
    if name == "loc":
        return np.zeros_like(out)
    square = np.square(e.scale)
    return 2 * out / e.scale if name == "scale" else square * e.shape_slope("var", name, None)


def std_slope(e: Evaluation, name: str, out: Any) -> Any:
    """Of the standard deviation."""
    return var_slope(e, name, out * out) / (2 * out)


def entropy_slope(e: Evaluation, name: str, out: Any) -> Any:
    """Of the entropy, which moves with the logarithm of the scale."""
    if name not in ("loc", "scale"):
        raise e.missing(name)
    return np.zeros_like(out) if name == "loc" else np.ones_like(out) / e.scale


# Cotangents


class Lost:
    """The cotangent of a parameter without derivative, which a frozen distribution keeps: an error if it is wanted."""

    __slots__ = ("error",)

    def __init__(self, error: NoRuleError) -> None:
        self.error = error

    def __add__(self, other: Any) -> Lost:
        return self

    __radd__ = __add__

    def wanted(self) -> Any:
        raise self.error


def kept(bar: Any) -> Any:
    """A cotangent for a frozen distribution to keep, where it is not known yet whether it is wanted."""
    try:
        return unthunk(bar)
    except NoRuleError as error:
        return Lost(error)


def released(bar: Any) -> Any:
    """A cotangent that a frozen distribution has kept, for the call that made it."""
    return Thunk(bar.wanted) if isinstance(bar, Lost) else bar


def cotangents(e: Evaluation, slope: Slope, out: Any, y_bar: Any, args: Any, kwds: dict[str, Any]) -> tuple[Any, ...]:
    """The cotangents of the argument, of positional parameters, and of those given by name."""

    def bar(name: str, x: Any) -> Any:
        if not is_real_or_complex(x):
            return None
        return Thunk(lambda: _bar(e, slope, name, x, out, y_bar))

    x_bar = None if e.discrete or e.x is None else bar("x", e.x)
    names = parameter_names(e.dist)
    return x_bar, tuple(map(bar, names, args)), {name: bar(name, x) for name, x in kwds.items()}


def _bar(e: Evaluation, slope: Slope, name: str, x: Any, out: Any, y_bar: Any) -> Any:
    with np.errstate(all="ignore"):
        found = as_given(fit(multiply_strong(y_bar, slope(e, name, np.asarray(out)[()])), shape(x)), np.asarray(x)[()])
    return found.tolist() if isinstance(x, list) else found


def tangent(e: Evaluation, slope: Slope, out: Any, x_dot: Any, args: Any, kwds: dict[str, Any]) -> Any:
    """The tangent of `out` by those of the argument, of positional parameters, and of those given by name."""
    named = [("x", x_dot), *zip(parameter_names(e.dist), args, strict=False), *kwds.items()]
    total = None
    with np.errstate(all="ignore"):
        for name, dot in named:
            if dot is not None:
                term = multiply_strong(dot, slope(e, name, np.asarray(out)[()]))
                total = term if total is None else total + term
    return None if total is None else match(total, out)
