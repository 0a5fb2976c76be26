"""Rules for scipy.special, in files by subject; here what has no derivative, and what has one that is not given."""

from typing import Any

from scipy import special

from adcompiler.rules import forward_special as forward_special
from adcompiler.rules import special_bessel as special_bessel
from adcompiler.rules import special_cylinders as special_cylinders
from adcompiler.rules import special_distributions as special_distributions
from adcompiler.rules import special_elliptic as special_elliptic
from adcompiler.rules import special_error as special_error
from adcompiler.rules import special_gamma as special_gamma
from adcompiler.rules import special_logarithms as special_logarithms
from adcompiler.rules import special_polynomials as special_polynomials
from adcompiler.rules import special_reductions as special_reductions
from adcompiler.rules.outside import present
from adcompiler.rules.registry import non_differentiable, refused

if hasattr(special, "legendre_p"):
    from adcompiler.rules import special_harmonics as special_harmonics


def named(*names: str) -> list[Any]:
    """Those of the named functions that this version of SciPy has."""
    return present(" ".join(names), special)


# Whole numbers, zeros of functions, nodes of rules, settings

non_differentiable(special.round, special.gammasgn, kind="elementwise")
non_differentiable(
    *named("bernoulli euler stirling2 factorial2 factorialk erf_zeros fresnel_zeros fresnelc_zeros fresnels_zeros"),
    *named("ai_zeros bi_zeros bei_zeros beip_zeros ber_zeros berp_zeros kei_zeros keip_zeros ker_zeros kerp_zeros"),
    *named("kelvin_zeros jn_zeros jnjnp_zeros jnp_zeros jnyn_zeros y0_zeros y1_zeros y1p_zeros yn_zeros ynp_zeros"),
    *named("roots_chebyc roots_chebys roots_chebyt roots_chebyu roots_hermite roots_hermitenorm roots_laguerre"),
    *named("roots_legendre roots_sh_chebyt roots_sh_chebyu roots_sh_legendre"),
    *named("chebyc chebys chebyt chebyu hermite hermitenorm laguerre legendre sh_chebyt sh_chebyu sh_legendre"),
    kind="unknown",
)
non_differentiable(*named("errstate seterr geterr test"), kind="other")

# Parameters without a closed form

refused(
    *named("roots_jacobi roots_gegenbauer roots_genlaguerre roots_sh_jacobi"),
    *named("jacobi gegenbauer genlaguerre sh_jacobi"),
    why="The nodes move with the parameters as the zeros of a polynomial do.\n"
    "Make the nodes or the polynomial outside and pass them, or use eval_jacobi and its relatives, which have rules "
    "in x.",
)
refused(
    *named("bdtrik bdtrin nbdtrik nbdtrin pdtrik btdtria btdtrib chdtriv fdtridfd gdtrib stdtridf chndtridf"),
    *named("nctdtr nctdtridf nctdtrinc nctdtrit ncfdtr ncfdtri ncfdtridfd ncfdtridfn ncfdtrinc"),
    why="The derivative of a distribution function in its shape parameters has no closed form.\n"
    "Take the result as a constant with stop_gradient(), or register a rule with @rrule.",
)
refused(
    *named("smirnov smirnovi"),
    why="It is a piecewise polynomial of degree n, whose terms cancel.\nUse kolmogorov, its limit for large n.",
)
refused(
    *named("zetac"),
    why="The derivative of Riemann's zeta function has no closed form.\n"
    "Register a rule with @rrule, or use zeta(x, q), which has a derivative in q.",
)
refused(
    *named("besselpoly lmbda mathieu_a mathieu_b mathieu_even_coef mathieu_odd_coef"),
    *named("obl_ang1 obl_ang1_cv obl_cv obl_cv_seq obl_rad1 obl_rad1_cv obl_rad2 obl_rad2_cv"),
    *named("pro_ang1 pro_ang1_cv pro_cv pro_cv_seq pro_rad1 pro_rad1_cv pro_rad2 pro_rad2_cv"),
    *named("ellip_harm ellip_harm_2 ellip_normal"),
    why="The derivatives in the parameters have no closed form: they are eigenvalues of another equation.\n"
    "Take the result as a constant with stop_gradient(), or register a rule with @rrule.",
)
for _names, _instead in (("sph_harm", "sph_harm_y"), ("btdtr btdtri", "betainc and betaincinv")):
    if named(_names):
        refused(*named(_names), why=f"SciPy has given it up.\nUse {_instead}.")
refused(
    *named("lqmn lqn lpn lpmn clpmn pbdn_seq pbdv_seq pbvv_seq riccati_jn riccati_yn"),
    why="It returns the values of all orders together with their derivatives, for one number.\n"
    "Use the function of one order, on arrays: legendre_p, eval_legendre, pbdv, spherical_jn.",
)
