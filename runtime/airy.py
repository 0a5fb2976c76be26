"""Slopes of the scaled Airy functions."""

from __future__ import annotations

from typing import Any

import numpy as np


def scaled_airy_slopes(x: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """How the scaled Airy functions `y` and their derivatives change with a real `x`.

    The factor is exp(2/3 x sqrt(x)) of Ai and its inverse of Bi, which is not scaled for negative `x`.
    """
    root = np.sqrt(x)
    bi_root = np.sqrt(np.maximum(x, 0))
    return y[1] + root * y[0], x * y[0] + root * y[1], y[3] - bi_root * y[2], x * y[2] - bi_root * y[3]
