"""What reads or writes the memory of an array: refused, or without derivative."""

import numpy as np

from adcompiler.rules.registry import non_differentiable, refused

# Writing

refused(
    np.ndarray.fill,
    np.ndarray.put,
    np.ndarray.setfield,
    why="It writes into the array, which is followed only where that is known when compiling to be one.\n"
    "Write by an index: y[...] = value.",
)
refused(
    np.ndarray.sort,
    why="It writes into the array, which is followed only where that is known when compiling to be one.\n"
    "Use np.sort(y), which makes a new one, or y[...] = np.sort(y).",
)
refused(np.ndarray.partition, why="It writes into the array.\nUse np.partition(x, kth), which makes a new one.")
refused(np.ndarray.resize, why="It writes into the array.\nUse np.resize(x, shape), or x.reshape(shape).")

# Reading

refused(
    np.ndarray.byteswap,
    np.ndarray.getfield,
    why="It reads the bytes of the numbers as other numbers.\nUse x.astype(dtype), x.real or x.imag.",
)
refused(
    np.frombuffer,
    np.object_,
    why="It hands the numbers on as bytes or objects, in which the derivative would be lost.\n"
    "Use the array itself, or stop_gradient(x) if no derivative is wanted.",
)
refused(
    np.lib.stride_tricks.as_strided,
    why="Its strides may name any memory.\nUse np.lib.stride_tricks.sliding_window_view, np.broadcast_to or an index.",
)
refused(
    np.ndarray.base,
    np.ndarray.data,
    np.ndarray.ctypes,
    why="It gives away the memory of the array.\nUse the array itself, or stop_gradient(x) if no derivative is wanted.",
)

# Files, flags and places, which hold no derivative

non_differentiable(np.ndarray.dump, np.ndarray.tofile, np.ndarray.setflags, np.ndarray.device, kind="other")

# Sets of what two arrays share

refused(
    np.intersect1d,
    why="Its result exists only where two numbers are exactly equal, so nothing near it says how it changes.\n"
    "Find the positions with np.isin, and index with them.",
)
