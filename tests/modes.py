"""The ways to compile a function that no public name asks for."""

import functools
import types
import zlib
from unittest import mock

from adcompiler import api, release_mode
from adcompiler.variants import Variants


def copied(f):
    """The same function as a new object, for which nothing has been compiled yet."""
    clone = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    clone.__kwdefaults__ = f.__kwdefaults__
    clone.__qualname__ = f.__qualname__
    return clone


def pullback_not_inlined(f, *args, **kwargs):
    """`pullback` with the rules called at run time instead of being written into the text."""
    with mock.patch.object(api, "Variants", functools.partial(Variants, inline=False)):
        return api.pullback(copied(f), *args, **kwargs)


def variants_of(f):
    """The variants of the first transform that was made of a function."""
    return next(iter(api.store_of(f).values()))


def pullback_reusing(f, *args, **kwargs):
    """`pullback` for single use, with results in the place of arrays of any size that are not needed any more."""
    with release_mode("reuse", above=0):
        return api.pullback(f, *args, single_use=True, **kwargs)


def pullback_poisoned(f, *args, **kwargs):
    """`pullback` for single use, with NaN in what it would free."""
    with release_mode("poison"):
        return api.pullback(f, *args, single_use=True, **kwargs)


def some_modes(text, modes, count):
    """The first `count` of some modes, and one of the others, which depends on a program's text."""
    return (*modes[:count], modes[count + zlib.crc32(text.encode()) % (len(modes) - count)])


ONCE = (pullback_reusing, pullback_poisoned)  # what they give may be called once
