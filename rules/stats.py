"""Rules for the distributions of scipy.stats: the methods of all are functions of their two base classes, which look
up the mathematics of each in a table by its class.

A frozen distribution carries the cotangents of its parameters under `args` and `kwds`, where it keeps them.
"""

from typing import Any

from scipy import stats

from adcompiler.rules import stats_data as stats_data
from adcompiler.rules import stats_multivariate as stats_multivariate
from adcompiler.rules.forward import frule
from adcompiler.rules.registry import non_differentiable, refused, rrule
from adcompiler.rules.stats_families import CONTINUOUS, DISCRETE
from adcompiler.runtime import distributions as slopes
from adcompiler.runtime.callbacks import taken
from adcompiler.runtime.distributions import Family, cotangents, evaluation, kept, released, tangent
from adcompiler.runtime.errors import NoRuleError

CONTINUOUS_FROZEN = type(stats.norm())
DISCRETE_FROZEN = type(stats.poisson(1.0))
FROZEN: Any = CONTINUOUS_FROZEN.__mro__[1]
GENERIC: Any = stats.rv_continuous.__mro__[1]
FAMILIES = {type(dist): family for dist, family in (*CONTINUOUS.items(), *DISCRETE.items())}


def family_of(dist: Any) -> Family:
    """The mathematics of a distribution. One of SciPy's that is in no table has its density as derivative, at least."""
    if type(dist) in FAMILIES:
        return FAMILIES[type(dist)]
    if not type(dist).__module__.startswith("scipy.stats"):
        raise NoRuleError(
            f"the distribution {type(dist).__qualname__} is not one of scipy.stats\n"
            "Register a rule with @rrule for a function that calls it."
        )
    return Family()


def with_argument(function: Any, slope: Any, accepts: tuple[type, ...]) -> None:
    """Register the rule of a method of ``(x, *parameters)``, by its derivative in each."""

    def rule(self: Any, x: Any, *args: Any, **kwds: Any) -> Any:
        y = function(self, x, *args, **kwds)
        e = evaluation(self, family_of(self), x, args, kwds)
        return y, lambda y_bar: (None, *cotangents(e, slope, y, y_bar, args, kwds))

    def forward(tangents: Any, self: Any, x: Any, *args: Any, **kwds: Any) -> Any:
        y = function(self, x, *args, **kwds)
        e = evaluation(self, family_of(self), x, args, kwds)
        return y, tangent(e, slope, y, tangents[1], tangents[2] or (), tangents[3] or {})

    rule.__name__ = forward.__name__ = function.__name__
    rrule(function, accepts=accepts)(rule)
    frule(function)(forward)


def with_moment(function: Any, slope: Any) -> None:
    """Register the rule of a method of the parameters alone."""

    def rule(self: Any, *args: Any, **kwds: Any) -> Any:
        y = function(self, *args, **kwds)
        e = evaluation(self, family_of(self), None, args, kwds)
        return y, lambda y_bar: (None, *cotangents(e, slope, y, y_bar, args, kwds)[1:])

    def forward(tangents: Any, self: Any, *args: Any, **kwds: Any) -> Any:
        y = function(self, *args, **kwds)
        e = evaluation(self, family_of(self), None, args, kwds)
        return y, tangent(e, slope, y, None, tangents[1] or (), tangents[2] or {})

    rule.__name__ = forward.__name__ = function.__name__
    rrule(function, accepts=(GENERIC,))(rule)
    frule(function)(forward)


def of_frozen(function: Any) -> None:
    """Register the rule of a method of a frozen distribution: that of the distribution, with what is kept."""
    name = function.__name__

    def rule(self: Any, *x: Any, needs: Any) -> Any:
        method = slopes_of(self.dist, name)
        y = function(self, *x)
        e = evaluation(self.dist, family_of(self.dist), x[0] if x else None, self.args, self.kwds)

        def pullback(y_bar: Any) -> Any:
            x_bar, args_bar, kwds_bar = cotangents(e, method, y, y_bar, self.args, self.kwds)
            if not needs[0]:
                return None, (x_bar,) * len(x)
            named = {name: kept(bar) for name, bar in kwds_bar.items()}
            return {"args": tuple(map(kept, args_bar)), "kwds": named}, (x_bar,) * len(x)

        return y, pullback

    rule.__name__ = name
    rrule(function, accepts=(FROZEN,))(rule)


def freezing(dist: Any) -> Any:
    """The rule of a call of `dist` with parameters."""

    def rule(*args: Any, **kwds: Any) -> Any:
        y = dist(*args, **kwds)

        def pullback(y_bar: Any) -> Any:
            args_bar, kwds_bar = taken(y_bar, ("args", "kwds"), vars(y), f"stats.{dist.name}")
            named = {name: released(bar) for name, bar in (kwds_bar or dict.fromkeys(kwds)).items()}
            return tuple(map(released, args_bar or (None,) * len(args))), named

        return y, pullback

    rule.__name__ = dist.name
    return rule


def slopes_of(dist: Any, name: str) -> Any:
    """The derivative of a method of a distribution. Raises NoRuleError if it has none."""
    found = (OF_CONTINUOUS if isinstance(dist, stats.rv_continuous) else OF_DISCRETE).get(name, MOMENTS.get(name))
    if found is None:
        raise NoRuleError(f"{name} of the {dist.name} distribution is not differentiated: {STEPS}")
    return found


STEPS = "Its values are steps.\nTake the result as a constant with stop_gradient()."
OF_CONTINUOUS = {
    "logpdf": slopes.logpdf_slope,
    "pdf": slopes.pdf_slope,
    "cdf": slopes.cdf_slope,
    "sf": slopes.sf_slope,
    "logcdf": slopes.logcdf_slope,
    "logsf": slopes.logsf_slope,
    "ppf": slopes.ppf_slope,
    "isf": slopes.isf_slope,
}
OF_DISCRETE = {
    "logpmf": slopes.logpmf_slope,
    "pmf": slopes.pmf_slope,
    "cdf": slopes.discrete_cdf_slope,
    "sf": slopes.discrete_sf_slope,
    "logcdf": slopes.discrete_logcdf_slope,
    "logsf": slopes.discrete_logsf_slope,
}
MOMENTS = {
    "mean": slopes.mean_slope,
    "var": slopes.var_slope,
    "std": slopes.std_slope,
    "entropy": slopes.entropy_slope,
}

for _name, _slope in OF_CONTINUOUS.items():
    with_argument(getattr(stats.rv_continuous, _name), _slope, (stats.rv_continuous,))
for _name, _slope in OF_DISCRETE.items():
    with_argument(getattr(stats.rv_discrete, _name), _slope, (stats.rv_discrete,))
for _name, _slope in MOMENTS.items():
    with_moment(getattr(GENERIC, _name), _slope)
for _owner, _names in (
    (FROZEN, "cdf sf logcdf logsf ppf isf mean var std entropy"),
    (CONTINUOUS_FROZEN, "pdf logpdf"),
    (DISCRETE_FROZEN, "pmf logpmf"),
):
    for _name in _names.split():
        of_frozen(getattr(_owner, _name))

# A distribution is called with its parameters: each is a function of its own, and where only its class is known it is
# the method.

for _dist in dict.fromkeys(value for value in vars(stats).values() if isinstance(value, GENERIC)):
    rrule(_dist, kind="unknown")(freezing(_dist))


@rrule(GENERIC.__call__, GENERIC.freeze, kind="unknown", accepts=(GENERIC,))
def freeze(self, *args, **kwds):
    y, pullback = freezing(self)(*args, **kwds)
    return y, lambda y_bar: (None, *pullback(y_bar))


# What has no derivative, or none that is given

refused(stats.rv_discrete.ppf, stats.rv_discrete.isf, why=STEPS)
refused(
    *(owner.rvs for owner in (GENERIC, stats.rv_discrete, FROZEN)),
    why="How the draws move with the parameters is not known.\n"
    "Use a generator: rng = np.random.default_rng(), rng.normal(loc, scale).",
)
refused(
    *(getattr(GENERIC, name) for name in ("interval", "median", "moment", "stats", "support")),
    *(getattr(FROZEN, name) for name in ("interval", "median", "moment", "stats", "support", "expect")),
    *(owner.expect for owner in (stats.rv_continuous, stats.rv_discrete)),
    why="It puts several results together, or integrates numerically.\n"
    "Use ppf, mean, var or std; for an expected value integrate with scipy.integrate.quad.",
)
refused(
    *(getattr(stats.rv_continuous, name) for name in ("fit", "fit_loc_scale", "nnlf")),
    why="It searches for parameters.\n"
    "Minimise the negative sum of logpdf with scipy.optimize.minimize, which has a rule.",
)
refused(
    stats.rv_continuous,
    stats.rv_discrete,
    *(value for value in vars(stats).values() if isinstance(value, type(stats.multivariate_normal).__mro__[1])),
    why="The object that it makes hides its parameters.\n"
    "Give them to the method: multivariate_normal.logpdf(x, mean, cov) and dirichlet.logpdf(x, alpha) have rules.",
)
non_differentiable(stats.test, kind="other")
