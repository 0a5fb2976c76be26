"""NumPy's functions without derivative: steps, predicates, indices, fillings of constants, descriptions."""

from typing import Any

import numpy as np

from adcompiler.rules.registry import non_differentiable

# Steps and predicates, entry by entry

non_differentiable(np.floor, np.ceil, np.trunc, np.rint, np.fix, np.spacing, np.floor_divide, kind="elementwise")
non_differentiable(np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal, kind="elementwise")
non_differentiable(np.logical_and, np.logical_or, np.logical_xor, np.logical_not, kind="elementwise")
non_differentiable(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, kind="elementwise")
non_differentiable(np.left_shift, np.right_shift, np.bitwise_count, np.gcd, np.lcm, kind="elementwise")
non_differentiable(np.isfinite, np.isinf, np.isnan, np.isnat, np.isposinf, np.isneginf, np.signbit, kind="elementwise")
non_differentiable(np.isreal, np.iscomplex, np.isclose, kind="elementwise")
non_differentiable(np.round, np.around, np.ndarray.round, kind="elementwise")

# Questions about a whole array, answered by one bool

non_differentiable(np.array_equal, np.array_equiv, np.allclose, np.isscalar, np.iterable, kind="int")
non_differentiable(np.iscomplexobj, np.isrealobj, np.shares_memory, np.may_share_memory, np.isdtype, kind="int")
non_differentiable(np.issubdtype, np.can_cast, kind="int")
non_differentiable(np.all, np.any, np.ndarray.all, np.ndarray.any, np.isin, kind="number")
non_differentiable(np.ndim, np.size, np.count_nonzero, kind="number")
non_differentiable(np.shape, kind="tuple")

# Positions

non_differentiable(np.argmax, np.argmin, np.ndarray.argmax, np.ndarray.argmin, kind="index")
non_differentiable(np.nanargmax, np.nanargmin, np.searchsorted, np.ndarray.searchsorted, np.digitize, kind="index")
non_differentiable(np.argsort, np.argpartition, np.ndarray.argsort, np.ndarray.argpartition, kind="index")
non_differentiable(np.lexsort, np.ravel_multi_index, kind="index")
non_differentiable(np.flatnonzero, kind="array1")
non_differentiable(np.argwhere, kind="array2")
non_differentiable(np.nonzero, np.ndarray.nonzero, np.unravel_index, kind="tuple")
non_differentiable(np.tril_indices, np.triu_indices, np.tril_indices_from, np.triu_indices_from, kind="tuple")
non_differentiable(np.diag_indices, np.diag_indices_from, np.ix_, np.broadcast_shapes, kind="tuple")

# Fillings

FILLINGS: tuple[Any, ...] = (np.zeros, np.ones, np.empty)
non_differentiable(*FILLINGS, kind="filled")
non_differentiable(np.zeros_like, np.ones_like, np.empty_like, kind="filled_like")
non_differentiable(np.eye, np.identity, np.tri, kind="array2")
non_differentiable(np.indices, kind="array")
non_differentiable(np.bartlett, np.blackman, np.hamming, np.hanning, kind="array1")

# Descriptions

non_differentiable(np.ndarray.shape, np.ndarray.strides, kind="tuple")
non_differentiable(np.ndarray.ndim, np.ndarray.size, np.ndarray.itemsize, np.ndarray.nbytes, kind="int")
non_differentiable(np.ndarray.dtype, np.ndarray.flags, kind="other")
non_differentiable(np.generic.dtype, np.generic.shape, np.generic.ndim, np.generic.size, kind="other")
non_differentiable(np.dtype, np.finfo, np.iinfo, np.result_type, np.promote_types, np.min_scalar_type, kind="other")
non_differentiable(np.errstate, np.seterr, np.geterr, np.printoptions, kind="other")
non_differentiable(np.set_printoptions, np.get_printoptions, kind="other")
non_differentiable(np.array2string, np.array_repr, np.array_str, np.ndarray.tobytes, np.ndarray.dumps, kind="text")

# Conversions to whole numbers

WHOLE = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_)
LONG = tuple(cls for cls in (np.longlong, np.ulonglong) if cls not in WHOLE)
non_differentiable(*WHOLE, *LONG, kind="number")
