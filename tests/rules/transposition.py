"""Functions whose rules have no transpose, or no second derivative, yet: these lists can only become shorter."""

# Their pullbacks are not followed.
NOT_TRANSPOSED = frozenset(
    {
        "numpy.modf",
        "scipy.optimize._nnls.nnls",
        "scipy.signal._savitzky_golay.savgol_filter",
    }
)

# The first derivative is found by transposition, and cannot be differentiated again.
NOT_TWICE = frozenset[str]()

# Their values are drawn at random: differences say nothing.
RANDOM_VALUES = frozenset[str]()
