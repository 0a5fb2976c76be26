"""Rules for orthogonal polynomials and Legendre functions in scipy.special (DLMF 18.9 and 14.10): in the argument.

The derivative of a polynomial of degree n is one of degree n - 1 of another family.
"""

from scipy import special

from adcompiler.rules.pointwise import pointwise
from adcompiler.runtime import specials
from adcompiler.runtime.legendre import lower, lpmv_slope, of_degree

DEGREE = "the derivative in the degree has no closed form"
PARAMETER = "the derivative in the parameters has no closed form"

# Polynomials

pointwise(
    special.eval_jacobi,
    DEGREE,
    PARAMETER,
    PARAMETER,
    lambda n, alpha, beta, x: of_degree(
        n, 0.5 * (n + alpha + beta + 1) * specials.eval_jacobi(lower(n), alpha + 1, beta + 1, x)
    ),
)
pointwise(
    special.eval_sh_jacobi,
    DEGREE,
    PARAMETER,
    PARAMETER,
    lambda n, p, q, x: of_degree(n, n * specials.eval_sh_jacobi(lower(n), p + 2, q + 1, x)),
)
pointwise(
    special.eval_gegenbauer,
    DEGREE,
    PARAMETER,
    lambda n, alpha, x: of_degree(n, 2 * alpha * specials.eval_gegenbauer(lower(n), alpha + 1, x)),
)
pointwise(
    special.eval_genlaguerre,
    DEGREE,
    PARAMETER,
    lambda n, alpha, x: of_degree(n, -specials.eval_genlaguerre(lower(n), alpha + 1, x)),
)
pointwise(
    special.assoc_laguerre,
    lambda x, n, k: of_degree(n, -specials.eval_genlaguerre(lower(n), k + 1, x)),
    DEGREE,
    PARAMETER,
    kind=None,
)
pointwise(special.eval_laguerre, DEGREE, lambda n, x: of_degree(n, -specials.eval_genlaguerre(lower(n), 1.0, x)))
pointwise(special.eval_hermite, DEGREE, lambda n, x: of_degree(n, 2 * n * specials.eval_hermite(lower(n), x)))
pointwise(special.eval_hermitenorm, DEGREE, lambda n, x: of_degree(n, n * specials.eval_hermitenorm(lower(n), x)))
pointwise(special.eval_chebyt, DEGREE, lambda n, x: of_degree(n, n * specials.eval_chebyu(lower(n), x)))
pointwise(special.eval_chebyc, DEGREE, lambda n, x: of_degree(n, n * specials.eval_chebyu(lower(n), x / 2)))
pointwise(special.eval_chebyu, DEGREE, lambda n, x: of_degree(n, 2 * specials.eval_gegenbauer(lower(n), 2.0, x)))
pointwise(special.eval_chebys, DEGREE, lambda n, x: of_degree(n, specials.eval_gegenbauer(lower(n), 2.0, x / 2)))
pointwise(special.eval_sh_chebyt, DEGREE, lambda n, x: of_degree(n, 2 * n * specials.eval_chebyu(lower(n), 2 * x - 1)))
pointwise(
    special.eval_sh_chebyu,
    DEGREE,
    lambda n, x: of_degree(n, 4 * specials.eval_gegenbauer(lower(n), 2.0, 2 * x - 1)),
)
pointwise(
    special.eval_legendre,
    DEGREE,
    lambda n, x: of_degree(n, 0.5 * (n + 1) * specials.eval_jacobi(lower(n), 1.0, 1.0, x)),
)
pointwise(
    special.eval_sh_legendre,
    DEGREE,
    lambda n, x: of_degree(n, (n + 1) * specials.eval_jacobi(lower(n), 1.0, 1.0, 2 * x - 1)),
)

# Legendre functions

pointwise(special.lpmv, DEGREE, DEGREE, lambda m, v, x, out: lpmv_slope(m, v, x, out))
