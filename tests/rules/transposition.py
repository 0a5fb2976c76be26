"""Functions whose rules have no transpose, or no second derivative, yet: these lists can only become shorter."""

# Their pullbacks are not followed: of ufuncs with keywords, and of a group at a time; of calls of functions. The
# tangents of some are found in another way.
NOT_TRANSPOSED = frozenset(
    {
        "adcompiler.runtime.pointwise.bars",
        "adcompiler.runtime.revolve.checkpoint_loop",
        "beta.outer",
        "numpy.add.reduceat",
        "numpy.frexp",
        "numpy.modf",
        "numpy.multiply.reduceat",
        "numpy.subtract.reduceat",
        "scipy.ndimage._interpolation.affine_transform",
        "scipy.optimize._nnls.nnls",
        "scipy.signal._savitzky_golay.savgol_filter",
    }
)

# The first derivative is found by transposition, and cannot be differentiated again.
NOT_TWICE = frozenset(
    {
        "elliprc",
        "scipy.integrate._quadrature.simpson",
        "scipy.ndimage._filters.gaussian_gradient_magnitude",
        "scipy.special._multiufuncs.sph_harm_y",
        "scipy.special._multiufuncs.sph_harm_y_all",
    }
)
