"""Fit a curve with scipy.optimize.minimize, which gets the gradient from adcompiler.

    python examples/fit_curve.py

Wider petals are longer, but not in proportion: in many plants and animals one size is a power of another. The law
`length = a * width ** b` is fitted to the 150 irises that Anderson measured and scikit-learn ships. The distance from a
flower to the curve counts linearly where it is large, so that odd flowers do not pull the curve to themselves.
"""

import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_iris

from adcompiler import value_and_grad


def curve(law, width):
    """The length that the law gives for a width."""
    a, b = law
    return a * width**b


def loss(law, width, length):
    """Mean pseudo-Huber distance: quadratic near the curve, linear far from it."""
    error = curve(law, width) - length
    return np.mean(np.sqrt(1.0 + error**2) - 1.0)


def main():
    iris = load_iris()
    length, width = iris.data[:, 2], iris.data[:, 3]
    fit = minimize(value_and_grad(loss), np.array([1.0, 1.0]), args=(width, length), jac=True, method="BFGS")
    a, b = fit.x
    error = curve(fit.x, width) - length
    print(f"petal length = {a:.3f} cm * (petal width / 1 cm) ** {b:.3f}")
    print(f"typical error {np.sqrt(np.mean(error**2)):.2f} cm; {fit.nit} iterations, {fit.nfev} gradients")
    print(f"largest component of the gradient at the end: {np.max(np.abs(fit.jac)):.1e}")


if __name__ == "__main__":
    main()
