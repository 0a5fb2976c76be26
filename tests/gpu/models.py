"""Two networks whose batch is made as large as it fits: of dense layers, and of residual blocks of convolutions."""

import numpy as np

from benchmarks.release import looped


def convolved(x, K):
    """A convolution of images (batch, rows, columns, channels) with a 3 x 3 kernel, as nine products."""
    rows, columns = x.shape[1], x.shape[2]
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    y = padded[:, :rows, :columns] @ K[0, 0]
    for i in range(3):
        for j in range(3):
            if i + j > 0:
                y = y + padded[:, i : i + rows, j : j + columns] @ K[i, j]
    return y


def residual(x, t, blocks):
    """Blocks of two convolutions, each added to what it is given, and the squared error of the mean of each channel."""
    h = x
    for first, second, b in blocks:
        z = np.maximum(convolved(h, first) + b, 0.0)
        h = h + np.tanh(convolved(z, second))
    return np.sum((np.mean(h, axis=(1, 2)) - t) ** 2)


def dense_inputs(batch, width, depth=6):
    """The arguments of the dense network, in NumPy."""
    rng = np.random.default_rng(0)
    x, t = (rng.standard_normal((batch, width), "f") for _ in range(2))
    scale = np.float32(width**-0.5)
    return x, t, [(rng.standard_normal((width, width), "f") * scale, np.zeros(width, "f")) for _ in range(depth)]


def residual_inputs(batch, width, depth=4):
    """The arguments of the residual network, in NumPy: images of 16 x 16 with `width` channels."""
    rng = np.random.default_rng(0)
    x, t = rng.standard_normal((batch, 16, 16, width), "f"), rng.standard_normal((batch, width), "f")
    scale = np.float32(0.3 * width**-0.5)

    def kernel():
        return rng.standard_normal((3, 3, width, width), "f") * scale

    return x, t, [(kernel(), kernel(), np.full(width, 0.1, "f")) for _ in range(depth)]


MODELS = {"dense": (looped, dense_inputs), "residual": (residual, residual_inputs)}
