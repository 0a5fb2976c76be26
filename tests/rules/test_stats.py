"""Distributions of scipy.stats: every function of each in its argument and its parameters."""

import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.stats import norm

from adcompiler import NoRuleError, gradient
from adcompiler.coverage import UNKNOWN, coverage
from adcompiler.testing import case, check_gradient, normal, positive, uniform

GENERIC = stats.rv_continuous.__mro__[1]
CONTINUOUS_FROZEN, DISCRETE_FROZEN = type(stats.norm()), type(stats.poisson(1.0))
FROZEN = CONTINUOUS_FROZEN.__mro__[1]
OF_FROZEN = [
    *(getattr(FROZEN, name) for name in "cdf sf logcdf logsf ppf isf mean var std entropy".split()),
    *(CONTINUOUS_FROZEN.pdf, CONTINUOUS_FROZEN.logpdf, DISCRETE_FROZEN.pmf, DISCRETE_FROZEN.logpmf),
]

AROUND_0 = [stats.norm, stats.laplace, stats.logistic, stats.cauchy, stats.gumbel_r, stats.gumbel_l, stats.hypsecant]
ABOVE_0 = [stats.expon, stats.rayleigh, stats.halfnorm, stats.halfcauchy, stats.maxwell]
# Shape parameters with a derivative of the density and of the distribution function.
SHAPED = [
    (stats.lognorm, (0.8,), ABOVE_0),
    (stats.pareto, (1.7,), None),
    (stats.lomax, (1.7,), ABOVE_0),
    (stats.weibull_min, (1.7,), ABOVE_0),
    (stats.truncnorm, (-1.5, 3.0), AROUND_0),
]
# Shape parameters with a derivative of the density only.
DENSITIES = [(stats.t, (3.5,)), (stats.gamma, (2.5,)), (stats.invgamma, (2.5,)), (stats.chi2, (3.5,))]
DENSITIES += [(stats.f, (3.5, 4.5)), (stats.invgauss, (1.5,))]
OF_UNIT = [(stats.beta, (2.5, 1.5)), (stats.powerlaw, (2.5,)), (stats.uniform, ())]

DENSITY = (stats.rv_continuous.logpdf, stats.rv_continuous.pdf)
PROBABILITY = (stats.rv_continuous.cdf, stats.rv_continuous.sf, stats.rv_continuous.logcdf, stats.rv_continuous.logsf)
QUANTILE = (stats.rv_continuous.ppf, stats.rv_continuous.isf)
MASS = (stats.rv_discrete.logpmf, stats.rv_discrete.pmf)
COUNT = (stats.rv_discrete.cdf, stats.rv_discrete.sf, stats.rv_discrete.logcdf, stats.rv_discrete.logsf)
MOMENTS = (GENERIC.mean, GENERIC.var, GENERIC.std)
# Distributions are objects that check_rule cannot compare.
BY_HAND = {
    *(value for value in vars(stats).values() if isinstance(value, GENERIC)),
    *(*DENSITY, *PROBABILITY, *QUANTILE, *MASS, *COUNT, *MOMENTS, GENERIC.entropy),
    *(GENERIC.__call__, GENERIC.freeze, *OF_FROZEN),
}
HALF = uniform(0.2, 0.8, 3)


def functions(dist, shapes, x, whole=True):
    """The functions of one distribution, with shape, location and scale; `whole` with the shape's own derivative."""
    for f in (*DENSITY, *(PROBABILITY if whole else ())):
        yield case(f, dist, x, *shapes, 0.1, uniform(1.1, 1.3, 2, 1), id=f"{f.__name__} of {dist.name}")
    for f in QUANTILE if whole else ():
        yield case(f, dist, HALF, *shapes, 0.1, uniform(1.1, 1.3, 2, 1), id=f"{f.__name__} of {dist.name}")


COUNTS = np.array([0, 1, 3, -1])
SOME = [
    *((stats.poisson, (mu,)) for mu in (1.5, positive(2, 1))),
    *((stats.binom, (4, p)) for p in (0.3, uniform(0.2, 0.8, 2, 1))),
    *((stats.geom, (p,)) for p in (0.3, uniform(0.2, 0.8, 2, 1))),
    *((stats.nbinom, (4, p)) for p in (0.3, uniform(0.2, 0.8, 2, 1))),
    *((stats.bernoulli, (p,)) for p in (0.3, uniform(0.2, 0.8, 2, 1))),
]

CALLS = [
    *(each for dist in AROUND_0 for each in functions(dist, (), normal(3))),
    *(each for dist in ABOVE_0 for each in functions(dist, (), positive(3))),
    *(each for dist, shapes, of in SHAPED if of for each in functions(dist, shapes, positive(3))),
    *functions(stats.pareto, (1.7,), uniform(2.0, 3.0, 3)),
    *(each for dist, shapes in DENSITIES for each in functions(dist, shapes, positive(3), whole=False)),
    *(each for dist, s in OF_UNIT for each in functions(dist, s, uniform(0.3, 0.9, 3), whole=dist is not stats.beta)),
    *(case(f, dist, positive(3), 2, id=f"whole shape of {dist.name}")
      for f in PROBABILITY for dist in (stats.gamma, stats.chi2, stats.invgamma, stats.t, stats.erlang, stats.chi)),
    *(case(f, dist, HALF, 2, id=f"quantile of {dist.name}")
      for f in QUANTILE for dist in (stats.gamma, stats.chi2, stats.t)),
    *(case(f, stats.norm, 0.3, loc=0.2, scale=1.5) for f in (*DENSITY, *PROBABILITY, *QUANTILE)),
    *(case(f, dist, COUNTS, *p, id=f"{f.__name__} of {dist.name}")
      for f in (*MASS, *COUNT) for dist, p in SOME if f.__name__ not in ("logpmf", "logcdf", "logsf")),
    *(case(f, dist, 2, *p, id=f"{f.__name__} of {dist.name}")
      for f in (*MASS, *COUNT) for dist, p in SOME if dist is not stats.bernoulli),
    case(stats.rv_discrete.pmf, stats.nbinom, np.array([0, 2]), 2.5, 0.3),
    *(case(f, dist, 0.1, 1.2) for f in (*MOMENTS, GENERIC.entropy) for dist in (stats.norm, stats.expon)),
    *(case(f, dist, *s, 0.1, 1.2, id=f"{f.__name__} of {dist.name}")
      for f in MOMENTS for dist, s in ((stats.gamma, (2.5,)), (stats.beta, (2.5, 1.5)), (stats.lognorm, (0.5,)),
                                       (stats.t, (4.5,)), (stats.chi2, (2.5,)), (stats.invgauss, (1.5,)))),
    *(case(f, dist, *p, id=f"{f.__name__} of {dist.name}") for f in MOMENTS for dist, p in SOME),
    *(case(GENERIC.mean, dist, 2.5, 0.0, 1.5) for dist in (stats.pareto, stats.lomax, stats.powerlaw, stats.invgamma)),
    case(GENERIC.mean, stats.nbinom, 2.5, 0.3),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_methods(call):
    """In the argument and in every parameter, as central differences say."""
    (dist, *args), kwargs = call.inputs()
    method = getattr(dist, call.key.__name__)
    y = method(*args, **kwargs)
    weights = np.linspace(1.0, 2.0, np.size(y)).reshape(np.shape(y))
    if kwargs:
        x, loc, scale = args[0], kwargs["loc"], kwargs["scale"]
        check_gradient(lambda x, m, s: np.sum(method(x, loc=m, scale=s) * weights), x, loc, scale)
    else:
        forms = (
            lambda a: np.sum(method(a) * weights),
            lambda a, b: np.sum(method(a, b) * weights),
            lambda a, b, c: np.sum(method(a, b, c) * weights),
            lambda a, b, c, d: np.sum(method(a, b, c, d) * weights),
            lambda a, b, c, d, e: np.sum(method(a, b, c, d, e) * weights),
        )
        check_gradient(forms[len(args) - 1], *args)


def test_compiled_calls():
    """By position and by name, with the name of the distribution or of its module, and as an object."""
    x, m = np.array([0.3, -0.7, 1.9]), 0.4
    dist = stats.norm
    check_gradient(lambda x, m: np.sum(stats.norm.logpdf(x, m, 1.5)), x, m)
    check_gradient(lambda x, m: np.sum(norm.logpdf(x, loc=m, scale=np.exp(m))), x, m)
    check_gradient(lambda x, m: np.sum(dist.cdf(x, m)), x, m)
    check_gradient(lambda x, m: np.sum(stats.gamma.logpdf(x * x, 2.0 + m, scale=m)), x, m)
    check_gradient(lambda m: np.sum(stats.poisson.logpmf([0, 3, 1], m)), m)
    check_gradient(lambda m: np.sum(stats.binom.logpmf(np.arange(4), 5, m)), m)


def test_frozen_distributions():
    """A distribution with parameters is an object, which carries their cotangents."""
    x, m = np.array([0.3, -0.7, 1.9]), 0.4

    def several(x, m):
        d = stats.norm(m, scale=np.exp(m))
        return np.sum(d.logpdf(x)) + d.cdf(x[0]) * d.mean() + d.std() + d.ppf(0.3) + d.entropy()

    check_gradient(several, x, m)
    check_gradient(lambda x, m: np.sum(norm(loc=m).pdf(x)), x, m)
    check_gradient(lambda x, m: np.sum(norm.freeze(m).sf(x)), x, m)
    check_gradient(lambda m: stats.poisson(m).logpmf(3) + stats.poisson(mu=m).pmf(2), m)

    def of_location(x, m):
        d = stats.t(3.5, loc=m)  # 3.5 is constant, and has no derivative
        return np.sum(d.logcdf(x)) + np.sum(d.sf(x)) * d.pdf(0.1)

    check_gradient(of_location, x, m)
    with pytest.raises(NoRuleError, match="in df"):
        gradient(lambda df: stats.t(df).cdf(0.3))(3.5)
    fixed = stats.gamma(2.5, scale=2.0)
    check_gradient(lambda x: np.sum(fixed.logpdf(x * x)) + fixed.cdf(x[2]) + fixed.isf(0.3), x)


def test_a_model_of_several_distributions():
    """A log posterior, as it is written with frozen distributions and a loop."""
    data = np.array([1.2, 0.4, 2.2])

    def log_posterior(m, s):
        prior = stats.norm(0.0, 10.0).logpdf(m) + stats.expon.logpdf(s)
        return prior + sum(stats.norm(m, s).logpdf(d) for d in data)

    check_gradient(log_posterior, 0.7, 1.3)


def test_outside_the_support():
    """A density of 0 has the derivative 0, and its logarithm too; no warning is given."""
    x = np.array([-1.0, 0.5, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(gradient(lambda x: np.sum(stats.uniform.pdf(x)))(x), 0.0)
        np.testing.assert_array_equal(gradient(lambda x: np.sum(stats.expon.cdf(x)))(x)[0], 0.0)
        masked = gradient(lambda x: np.sum(np.where(x > 0, stats.gamma.logpdf(x, 2.0), 0.0)))(x)
    np.testing.assert_allclose(masked, [0.0, 1.0, -0.5])
    assert np.isnan(gradient(lambda s: stats.norm.logpdf(0.3, 0.0, s))(-1.0))


def test_saturated_values():
    """Far out the logarithms keep their slope, and the rest is flat."""
    assert gradient(lambda x: stats.norm.logsf(x))(40.0) == pytest.approx(-40.025, rel=1e-4)
    assert np.isnan(gradient(lambda x: stats.gumbel_l.logsf(x))(60.0))  # of 1e26 the difference is lost
    assert gradient(lambda a: stats.weibull_min.cdf(-1.0, a) + stats.truncnorm.cdf(-2.0, a - 2.0, 3.0))(1.5) == 0.0
    assert gradient(lambda x: stats.norm.pdf(x))(np.inf) == 0.0
    assert gradient(lambda x: stats.norm.cdf(x))(60.0) == 0.0
    assert gradient(lambda p: stats.binom.pmf(0, 3, p))(0.0) == -3.0
    assert gradient(lambda q: stats.norm.ppf(q))(0.5) == pytest.approx(np.sqrt(2 * np.pi))


def test_refusals():
    """What has no closed form is refused by name, and only if its derivative is wanted."""
    with pytest.raises(NoRuleError, match="in a has no closed form"):
        gradient(lambda a: stats.gamma.cdf(1.0, a))(2.5)
    assert gradient(lambda x: stats.gamma.cdf(x, 2.5, 0.1))(1.0) == pytest.approx(stats.gamma.pdf(1.0, 2.5, 0.1))
    for call in (
        lambda m: stats.norm.rvs(m),
        lambda m: stats.norm(m).rvs(),
        lambda m: stats.norm.interval(0.9, m)[0],
        lambda m: stats.poisson.pmf(2, 1.5, loc=m),
        lambda m: stats.poisson.ppf(0.3, m),
        lambda m: stats.levy.logpdf(m),
        lambda m: stats.multivariate_normal(m).logpdf(0.1),
        lambda m: stats.ttest_1samp(np.array([1.0, m]), 0.0)[0],
    ):
        with pytest.raises(NoRuleError):
            gradient(lambda m, call=call: call(m))(0.5)


class Triangle(stats.rv_continuous):
    """A distribution of the user's."""

    def _pdf(self, x):
        return 2 * x


def test_distributions_of_the_user():
    """What a subclass computes is not known."""
    triangle = Triangle(a=0.0, b=1.0)
    with pytest.raises(NoRuleError, match="Triangle"):
        gradient(lambda x: triangle.pdf(x))(0.5)


def test_everything_is_decided():
    """Every public function has a rule, or is said to have no derivative, or is refused with a reason."""
    assert [] == [entry.name for entry in coverage(stats) if entry.how == UNKNOWN]
