"""The functions of scipy.special by name, for pullbacks: the one place where they are looked up.

``specials.digamma(x)`` calls SciPy's function. The package is there: rules that name this module are loaded with it.
"""

import sys
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(sys.modules["scipy.special"], name)
