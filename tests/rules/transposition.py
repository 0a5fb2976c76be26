"""Functions whose rules have no transpose, or no second derivative, yet: these lists can only become shorter."""

# Their pullbacks are not followed.
NOT_TRANSPOSED = frozenset[str]()

# The first derivative is found by transposition, and cannot be differentiated again.
NOT_TWICE = frozenset[str]()

# Their values are drawn at random: differences say nothing.
RANDOM_VALUES = frozenset[str]()
