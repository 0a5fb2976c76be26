"""Ordinary functions of the kind people write, with arguments to call them with: `SAMPLES`.

Each module registers its functions with the decorator `sample`, once for every call; the tests run all calls in every
mode. Kinks and singular points are kept out of reach of the finite differences.
"""

from tests.corpus import calls, exceptions, exits, flow, numeric, objects, structures, syntax, variables
from tests.corpus.sample import SAMPLES, Sample

__all__ = [
    "SAMPLES",
    "Sample",
    "calls",
    "exceptions",
    "exits",
    "flow",
    "numeric",
    "objects",
    "structures",
    "syntax",
    "variables",
]
