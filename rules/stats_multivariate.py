"""Rules for the multivariate distributions and the kernel density estimate of scipy.stats."""

import numpy as np
from scipy import stats

from adcompiler.rules.registry import rrule
from adcompiler.runtime.multivariate import (
    dirichlet_bar,
    dirichlet_parameter_bar,
    kernel_bar,
    normal_covariance_bar,
    normal_mean_bar,
    normal_point_bar,
    refuse_singular,
)

NORMAL, DIRICHLET = type(stats.multivariate_normal), type(stats.dirichlet)


@rrule(NORMAL.logpdf, accepts=(NORMAL,))
def normal_logpdf(self, x, mean=None, cov=1, allow_singular=False):
    refuse_singular(cov, allow_singular)
    y = self.logpdf(x, mean, cov, allow_singular)

    def pullback(y_bar):
        return (
            None,
            normal_point_bar(y_bar, x, mean, cov),
            normal_mean_bar(y_bar, x, mean, cov),
            normal_covariance_bar(y_bar, x, mean, cov),
            None,
        )

    return y, pullback


@rrule(NORMAL.pdf, accepts=(NORMAL,))
def normal_pdf(self, x, mean=None, cov=1, allow_singular=False):
    refuse_singular(cov, allow_singular)
    y = self.pdf(x, mean, cov, allow_singular)

    def pullback(y_bar):
        return (
            None,
            normal_point_bar(y_bar * y, x, mean, cov),
            normal_mean_bar(y_bar * y, x, mean, cov),
            normal_covariance_bar(y_bar * y, x, mean, cov),
            None,
        )

    return y, pullback


@rrule(DIRICHLET.logpdf, accepts=(DIRICHLET,))
def dirichlet_logpdf(self, x, alpha):
    y = self.logpdf(x, alpha)

    def pullback(y_bar):
        return None, dirichlet_bar(y_bar, x, alpha), dirichlet_parameter_bar(y_bar, x, alpha)

    return y, pullback


@rrule(DIRICHLET.pdf, accepts=(DIRICHLET,))
def dirichlet_pdf(self, x, alpha):
    y = self.pdf(x, alpha)

    def pullback(y_bar):
        return None, dirichlet_bar(y_bar * y, x, alpha), dirichlet_parameter_bar(y_bar * y, x, alpha)

    return y, pullback


@rrule(
    stats.gaussian_kde.evaluate,
    stats.gaussian_kde.pdf,
    accepts=(stats.gaussian_kde,),
)
def evaluate(self, points):
    """In the points; the data set and the bandwidth are constants that the estimate was made of."""
    y = self.evaluate(points)

    def pullback(y_bar):
        return None, kernel_bar(y_bar, points, self.dataset, self.weights, np.asarray(self.inv_cov), y)

    return y, pullback
