"""The ways to compile a function that no public name asks for."""

import functools

from adcompiler.api import _all_positional, _pullback_finisher
from adcompiler.variants import Variants


def pullback_not_inlined(f, *args, **kwargs):
    """`pullback` with the rules called at run time instead of being written into the text."""
    finisher = functools.partial(_pullback_finisher, False)
    value, make_back = Variants(f, _all_positional, finisher, False, inline=False).first(*args, **kwargs)
    return value, make_back(len(args))
