"""What has nothing to do with derivatives: files, settings, texts, dates, bits, types; and objects that are refused."""

from typing import Any

import numpy as np

from adcompiler.rules.registry import non_differentiable, refused


def present(names: str, owner: Any = np) -> list[Any]:
    """Those of the named members that this version of NumPy has, aliases once."""
    found = {id(getattr(owner, name)): getattr(owner, name) for name in names.split() if hasattr(owner, name)}
    return list(found.values())


# Files and buffers: what is read is a constant

non_differentiable(*present("load loadtxt genfromtxt fromfile fromregex fromstring"), kind="number")
non_differentiable(*present("save savez savez_compressed savetxt"), kind="other")

# Settings and descriptions

non_differentiable(
    *present("show_config show_runtime get_include getbufsize setbufsize geterrcall seterrcall info test"),
    *present("einsum_path common_type mintypecode typename isfortran is_busday datetime_data ufunc"),
    kind="other",
)
non_differentiable(*present("test", np.linalg), *present("test", np.fft), *present("test", np.random), kind="other")

# Numbers as text, bits and dates

non_differentiable(*present("base_repr binary_repr format_float_positional format_float_scientific"), kind="text")
non_differentiable(*present("packbits unpackbits"), kind="number")
non_differentiable(*present("busday_count busday_offset busdaycalendar"), kind="other")
non_differentiable(*present("datetime_as_string str_ bytes_"), kind="text")

# Sets and positions

non_differentiable(*present("mask_indices ndindex"), kind="other")

# Types of things that are no floating-point numbers, and abstract types

non_differentiable(*present("void datetime64 timedelta64 record"), kind="other")
non_differentiable(
    *present("generic number integer signedinteger unsignedinteger inexact floating complexfloating"),
    *present("flexible character"),
    kind="other",
)

# Objects that hide their numbers

refused(
    *present("matrix asmatrix bmat recarray memmap"),
    why="Subclasses of arrays have operators of their own, which are not known.\nUse a plain array: np.asarray(x).",
)
refused(
    *present("poly1d"),
    why="It keeps its coefficients in an object of NumPy's.\nKeep them in an array, with np.polyval and its relatives.",
)
refused(
    *present("nditer nested_iters ndenumerate flatiter broadcast"),
    why="An iterator in C gives items whose place in the array is not seen.\n"
    "Loop over np.ndindex(x.shape) and read x[index], or compute with whole arrays.",
)
refused(
    *present("ndarray"),
    why="It makes an array of memory as it is.\nUse np.zeros, np.array or np.asarray.",
)
refused(
    *present("put putmask place copyto fill_diagonal put_along_axis"),
    why="It writes into its first argument, which is followed only where that is known when compiling to be an array.\n"
    "Write by an index: y[mask] = new.",
)
