"""Rules for Legendre functions and spherical harmonics of scipy.special, which give their own derivatives on request.

The result is stacked along the first axis by the order of the derivative, up to `diff_n`.
"""

from scipy import special

from adcompiler.rules.registry import lookup, rrule
from adcompiler.runtime.legendre import gradient_bar, refuse_gradient, stacked_bar


@rrule(special.legendre_p)
def legendre_p(n, z, *, diff_n=0):
    y = special.legendre_p(n, z, diff_n=diff_n)

    def pullback(y_bar):
        return None, stacked_bar(y_bar, special.legendre_p(n, z, diff_n=diff_n + 1), z), None

    return y, pullback


@rrule(special.legendre_p_all)
def legendre_p_all(n, z, *, diff_n=0):
    y = special.legendre_p_all(n, z, diff_n=diff_n)

    def pullback(y_bar):
        return None, stacked_bar(y_bar, special.legendre_p_all(n, z, diff_n=diff_n + 1), z), None

    return y, pullback


@rrule(special.assoc_legendre_p)
def assoc_legendre_p(n, m, z, *, branch_cut=2, norm=False, diff_n=0):
    y = special.assoc_legendre_p(n, m, z, branch_cut=branch_cut, norm=norm, diff_n=diff_n)

    def pullback(y_bar):
        slopes = special.assoc_legendre_p(n, m, z, branch_cut=branch_cut, norm=norm, diff_n=diff_n + 1)
        return None, None, stacked_bar(y_bar, slopes, z), None, None, None

    return y, pullback


@rrule(special.assoc_legendre_p_all)
def assoc_legendre_p_all(n, m, z, *, branch_cut=2, norm=False, diff_n=0):
    y = special.assoc_legendre_p_all(n, m, z, branch_cut=branch_cut, norm=norm, diff_n=diff_n)

    def pullback(y_bar):
        slopes = special.assoc_legendre_p_all(n, m, z, branch_cut=branch_cut, norm=norm, diff_n=diff_n + 1)
        return None, None, stacked_bar(y_bar, slopes, z), None, None, None

    return y, pullback


@rrule(special.sph_legendre_p)
def sph_legendre_p(n, m, theta, *, diff_n=0):
    y = special.sph_legendre_p(n, m, theta, diff_n=diff_n)

    def pullback(y_bar):
        return None, None, stacked_bar(y_bar, special.sph_legendre_p(n, m, theta, diff_n=diff_n + 1), theta), None

    return y, pullback


@rrule(special.sph_legendre_p_all)
def sph_legendre_p_all(n, m, theta, *, diff_n=0):
    y = special.sph_legendre_p_all(n, m, theta, diff_n=diff_n)

    def pullback(y_bar):
        return None, None, stacked_bar(y_bar, special.sph_legendre_p_all(n, m, theta, diff_n=diff_n + 1), theta), None

    return y, pullback


@rrule(special.sph_harm_y, kind="unknown")
def sph_harm_y(n, m, theta, phi, *, diff_n=0):
    refuse_gradient("sph_harm_y", diff_n)
    y = special.sph_harm_y(n, m, theta, phi)

    def pullback(y_bar):
        _, gradient = special.sph_harm_y(n, m, theta, phi, diff_n=1)
        return None, None, gradient_bar(y_bar, gradient, 0, theta), gradient_bar(y_bar, gradient, 1, phi), None

    return y, pullback


@rrule(special.sph_harm_y_all, kind="unknown")
def sph_harm_y_all(n, m, theta, phi, *, diff_n=0):
    refuse_gradient("sph_harm_y_all", diff_n)
    y = special.sph_harm_y_all(n, m, theta, phi)

    def pullback(y_bar):
        _, gradient = special.sph_harm_y_all(n, m, theta, phi, diff_n=1)
        return None, None, gradient_bar(y_bar, gradient, 0, theta), gradient_bar(y_bar, gradient, 1, phi), None

    return y, pullback


MULTIPLE = type(special.legendre_p)


@rrule(MULTIPLE.__call__, accepts=(MULTIPLE,))
def call(self, *args, **kwargs):
    """Of any of these, where only its class is known."""
    y, back = lookup(self)[0].function(*args, **kwargs)

    def pullback(y_bar):
        return None, back(y_bar)[: len(args)], dict.fromkeys(kwargs) or None

    return y, pullback
