"""Rules for random draws: with the same numbers from the generator, a draw moves with its parameters.

Each entry of `DRAWS` names the parameters of a distribution with their defaults, and the derivative of a draw `y` with
respect to each, where `e` is the standard draw made of the same random numbers; None where there is no closed form.
"""

import inspect
import random as python_random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adcompiler.rules.forward import frule
from adcompiler.rules.outside import present
from adcompiler.rules.registry import non_differentiable, refused, rrule
from adcompiler.runtime.draws import log_slope, no_partial, replayed, state_of, triangular_partials
from adcompiler.runtime.forward import match
from adcompiler.runtime.ordering import take_bar
from adcompiler.runtime.shapes import fit, shape

GENERATORS = (np.random.Generator, np.random.RandomState)
_PLACES: tuple[Any, ...] = (np.random, *GENERATORS)


@dataclass(frozen=True)
class Draw:
    """A distribution: its parameters, the derivatives of a draw, and the parameters of the standard one."""

    parameters: dict[str, float | None]
    partials: Callable[..., tuple[Any, ...]]
    standard: tuple[float, ...] | None = None
    closed: tuple[str, ...] | None = None  # the parameters with a derivative, if not all


def _moved(e: Any, y: Any, loc: Any, scale: Any) -> tuple[Any, ...]:
    return 1.0, e


DRAWS = {
    "normal": Draw({"loc": 0.0, "scale": 1.0}, _moved, (0.0, 1.0)),
    "laplace": Draw({"loc": 0.0, "scale": 1.0}, _moved, (0.0, 1.0)),
    "logistic": Draw({"loc": 0.0, "scale": 1.0}, _moved, (0.0, 1.0)),
    "gumbel": Draw({"loc": 0.0, "scale": 1.0}, _moved, (0.0, 1.0)),
    "uniform": Draw({"low": 0.0, "high": 1.0}, lambda e, y, low, high: (1.0 - e, e), (0.0, 1.0)),
    "exponential": Draw({"scale": 1.0}, lambda e, y, scale: (e,), (1.0,)),
    "rayleigh": Draw({"scale": 1.0}, lambda e, y, scale: (e,), (1.0,)),
    "lognormal": Draw({"mean": 0.0, "sigma": 1.0}, lambda e, y, mean, sigma: (y, y * np.log(e)), (0.0, 1.0)),
    "weibull": Draw({"a": None}, lambda e, y, a: (-log_slope(y, y) / a,)),
    "power": Draw({"a": None}, lambda e, y, a: (-log_slope(y, y) / a,)),
    "pareto": Draw({"a": None}, lambda e, y, a: (-log_slope(1 + y, 1 + y) / a,)),
    "gamma": Draw({"shape": None, "scale": 1.0}, lambda e, y, k, scale: (None, y / scale), closed=("scale",)),
    "vonmises": Draw({"mu": None, "kappa": None}, lambda e, y, mu, kappa: (1.0, None), closed=("mu",)),
    "triangular": Draw(
        {"left": None, "mode": None, "right": None},
        lambda e, y, left, mode, right: triangular_partials(y, left, mode, right),
    ),
}


def draw_rule(name: str, draw: Draw, function: Any) -> Callable[..., Any]:
    """The rule of one distribution; `function` draws, given a generator, the parameters and the size."""
    names = tuple(draw.parameters)

    def rule(generator: Any, *args: Any, needs: tuple[bool, ...], **named: Any) -> Any:
        given = {**draw.parameters, "size": None, **dict(zip((*names, "size"), args, strict=False)), **named}
        values, wanted = [given[parameter] for parameter in names], needs[1:-1]
        for parameter, on in zip(names, wanted, strict=True):
            if on and draw.closed is not None and parameter not in draw.closed:
                raise no_partial(name, parameter)
        before = state_of(generator) if any(wanted) and draw.standard is not None else None
        y = function(generator, *values, given["size"])

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            e = None if before is None else getattr(replayed(generator, before), name)(*(draw.standard or ()), shape(y))
            partials = draw.partials(e, y, *values)
            bars = [
                fit(y_bar * slope, shape(value)) if on else None
                for on, slope, value in zip(wanted, partials, values, strict=True)
            ]
            return None, *bars, None

        return y, pullback

    rule.__name__ = name
    rule.__signature__ = _signature(draw, "self")  # type: ignore[attr-defined]
    return rule


def draw_forward(name: str, draw: Draw, function: Any) -> Callable[..., Any]:
    """The forward rule of one distribution: a draw moves with its parameters while the random numbers stay."""
    names = tuple(draw.parameters)

    def forward(tangents: Any, generator: Any, *args: Any) -> Any:
        for parameter, dot in zip(names, tangents[1:], strict=False):
            if dot is not None and draw.closed is not None and parameter not in draw.closed:
                raise no_partial(name, parameter)
        before = None if draw.standard is None else state_of(generator)
        y = function(generator, *args)
        e = None if before is None else getattr(replayed(generator, before), name)(*(draw.standard or ()), shape(y))
        slopes = draw.partials(e, y, *args[: len(names)])
        terms = [slope * dot for slope, dot in zip(slopes, tangents[1:-1], strict=True) if dot is not None]
        return y, match(sum(terms[1:], terms[0]), y)

    forward.__name__ = name
    forward.__signature__ = _signature(draw, "tangents", "self", needs=False)  # type: ignore[attr-defined]
    return forward


def module_forward(name: str, draw: Draw) -> Callable[..., Any]:
    """The forward rule of the function of that name in np.random."""
    method = getattr(np.random, name)
    inner = draw_forward(name, draw, method.__func__)

    def forward(tangents: Any, *args: Any) -> Any:
        return inner((None, *tangents), method.__self__, *args)

    forward.__name__ = name
    forward.__signature__ = _signature(draw, "tangents", needs=False)  # type: ignore[attr-defined]
    return forward


def module_rule(name: str, draw: Draw) -> Callable[..., Any]:
    """The rule of the function of that name in np.random, a method of a generator that it shares."""
    method = getattr(np.random, name)
    inner = draw_rule(name, draw, method.__func__)

    def rule(*args: Any, needs: tuple[bool, ...], **named: Any) -> Any:
        y, back = inner(method.__self__, *args, needs=(False, *needs), **named)
        return y, lambda y_bar: back(y_bar)[1:]

    rule.__name__ = name
    rule.__signature__ = _signature(draw)  # type: ignore[attr-defined]
    return rule


def _signature(draw: Draw, *first: str, needs: bool = True) -> inspect.Signature:
    """The parameters and the size, as NumPy names them; `needs` is the compiler's."""
    both, missing = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    drawn = [(n, missing if default is None else default) for n, default in draw.parameters.items()]
    parameters = [*((n, missing) for n in first), *drawn, ("size", None)]
    return inspect.Signature(
        [
            *(inspect.Parameter(n, both, default=default) for n, default in parameters),
            *([inspect.Parameter("needs", inspect.Parameter.KEYWORD_ONLY)] if needs else []),
        ]
    )


for _name, _draw in DRAWS.items():
    rrule(getattr(np.random, _name), result="fresh", kind="number")(module_rule(_name, _draw))
    frule(getattr(np.random, _name))(module_forward(_name, _draw))
    for _owner in GENERATORS:
        _method = getattr(_owner, _name)
        rrule(_method, result="fresh", kind="number", accepts=GENERATORS)(draw_rule(_name, _draw, _method))
        frule(_method)(draw_forward(_name, _draw, _method))


# Draws of other things


@rrule(np.random.Generator.multivariate_normal, result="fresh", accepts=GENERATORS)
def multivariate_normal(self, mean, cov, size=None, check_valid="warn", tol=1e-8, *, method="svd", needs):
    if needs[2]:
        raise no_partial("multivariate_normal", "cov")
    y = self.multivariate_normal(mean, cov, size, check_valid, tol, method=method)

    def pullback(y_bar):
        return None, fit(y_bar, shape(mean)), None, None, None, None, None

    return y, pullback


@frule(np.random.Generator.multivariate_normal)
def multivariate_normal_forward(tangents, self, mean, cov, size=None, check_valid="warn", tol=1e-8, *, method="svd"):
    if tangents[2] is not None:
        raise no_partial("multivariate_normal", "cov")
    y = self.multivariate_normal(mean, cov, size, check_valid, tol, method=method)
    return y, match(tangents[1], y)


@rrule(np.random.Generator.choice, result="fresh", accepts=GENERATORS)
def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True, *, needs):
    if needs[4]:
        raise no_partial("choice", "p")
    chosen = self.choice(np.shape(a)[axis] if np.ndim(a) else a, size, replace, p, 0, shuffle)
    y = np.take(a, chosen, axis) if np.ndim(a) else chosen
    a_shape = shape(a)

    def pullback(y_bar):
        return None, take_bar(y_bar, chosen, a_shape, axis), None, None, None, None, None

    return y, pullback


@frule(np.random.Generator.choice)
def choice_forward(tangents, self, a, size=None, replace=True, p=None, axis=0, shuffle=True):
    if tangents[4] is not None:
        raise no_partial("choice", "p")
    chosen = self.choice(np.shape(a)[axis] if np.ndim(a) else a, size, replace, p, 0, shuffle)
    if np.ndim(a):
        return np.take(a, chosen, axis), np.take(tangents[1], chosen, axis)
    return chosen, None


@rrule(np.random.Generator.permutation, result="fresh", accepts=GENERATORS)
def permutation(self, x, axis=0):
    order = self.permutation(np.shape(x)[axis] if np.ndim(x) else x)
    y = np.take(x, order, axis) if np.ndim(x) else order
    x_shape = shape(x)

    def pullback(y_bar):
        return None, take_bar(y_bar, order, x_shape, axis), None

    return y, pullback


@frule(np.random.Generator.permutation)
def permutation_forward(tangents, self, x, axis=0):
    order = self.permutation(np.shape(x)[axis] if np.ndim(x) else x)
    if np.ndim(x):
        return np.take(x, order, axis), np.take(tangents[1], order, axis)
    return order, None


# Draws without parameters other than counts, and generators themselves

for _place in _PLACES:
    non_differentiable(
        *present("random rand randn random_sample standard_normal standard_cauchy standard_exponential", _place),
        *present("integers randint random_integers bytes tomaxint", _place),
        kind="number",
    )
    non_differentiable(*present("seed get_state set_state spawn", _place), kind="other")
non_differentiable(*present("ranf sample get_bit_generator set_bit_generator", np.random), kind="other")
non_differentiable(np.random.default_rng, np.random.Generator, kind="generator")
non_differentiable(
    *present("RandomState SeedSequence BitGenerator PCG64 PCG64DXSM MT19937 Philox SFC64", np.random),
    kind="unknown",
)
non_differentiable(np.random.Generator.bit_generator, kind="unknown")

non_differentiable(
    *present("random getrandbits randrange randint seed getstate setstate", python_random),
    python_random.Random.random,
    kind="number",
)

# Draws that jump, or move in no closed form

JUMPING = (
    "beta binomial chisquare dirichlet f geometric hypergeometric logseries multinomial multivariate_hypergeometric "
    "negative_binomial noncentral_chisquare noncentral_f poisson standard_gamma standard_t wald zipf"
)
for _place in _PLACES:
    refused(
        *present(JUMPING, _place),
        why="Its draws jump as the parameters move, or move in no closed form.\n"
        "Take the parameters as constants with stop_gradient(), or differentiate the logarithm of the density instead.",
    )
    refused(
        *present("shuffle permuted", _place),
        why="It writes into its argument.\nUse x[rng.permutation(len(x))].",
    )
refused(
    *present("multivariate_normal choice permutation", np.random.RandomState),
    *present("multivariate_normal choice permutation", np.random),
    why="It has a derivative for generators made by np.random.default_rng() only.\nUse one of those.",
)
