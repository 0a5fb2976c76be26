"""Second derivatives: `hvp`, `hessian`, `diag_hessian`, each a gradient of the tangent in some directions.

    H v = the gradient of   x ↦ jvp(f, (x,), (v,))          one forward with tangents, one backward

The tangent of a gradient is the gradient of the tangent, so this is forward-over-reverse too, at the same cost.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.api import gradient
from adcompiler.columns import Along, at
from adcompiler.errors import TangentError
from adcompiler.finish import zero_if_none
from adcompiler.forward_api import jvp
from adcompiler.forwardmode import derivative_of
from adcompiler.jacobians import by_rows
from adcompiler.leaves import Leaf, leaves
from adcompiler.runtime.walk import entries, gradient_like, is_array
from adcompiler.transforms import computed
from adcompiler.variants import shown
from adcompiler.wanted import Argnums

MODES = (None, "reverse", "forward")


def hvp(f: Callable[..., Any], x: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
    """The Hessian of `f(x, *args, **kwargs)` with respect to `x`, times `v`: the derivative of the gradient along `v`.

    `f` returns one real number, `v` has the structure and shapes of `x` (None anywhere for zero), as has the result. It
    costs a small multiple of `f`, and the memory of a gradient. Raises NotScalarError and TangentError as `gradient`
    and `jvp` do.
    """
    try:
        (found,) = _Products(f, (0,), (x, *args), kwargs).times((v,))
    except Exception as error:
        raise shown(error)  # noqa: B904  it is the same exception
    return found


def hessian(f: Callable[..., Any], argnums: Argnums = 0, mode: str | None = None) -> Callable[..., Any]:
    """The function that computes all second derivatives of `f`, which must return one real number.

    Of an array the result has shape ``x.shape + x.shape``, of a float it is a float; of a structure it has that
    structure with the structure inside, of a tuple `argnums` it is a tuple of tuples. No influence gives zeros. `mode`
    is None or "reverse" (one product with a vector for each entry of the arguments) or "forward" (two tangents for each
    entry of the result: less memory, for few arguments). Complex arguments are refused. Raises NotScalarError,
    TangentError.
    """
    if mode not in MODES:
        raise ValueError(f"mode is {' or '.join(map(repr, MODES))}, not {mode!r}")
    return computed("hessian", functools.partial(_hessian, f, argnums, mode), f, (hessian, (f, argnums, mode)))


def diag_hessian(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the second derivatives of `f` with respect to each entry alone.

    The result is shaped as the argument.

    It takes one product with a vector for each entry; where `f` is a sum of terms in one entry each,
    ``hvp(f, x, ones)`` is the same at once.
    """
    return computed("diag_hessian", functools.partial(_diagonal, f, argnums), f, (diag_hessian, (f, argnums)))


class _Products(Along):
    """Products of the Hessian of one call with vectors: `times(v)`, one entry for each of the arguments asked for."""

    def __init__(self, f: Any, argnums: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__(f, argnums, args, kwargs)
        self.derivative = derivative_of(self.jvp)
        order = list(self.values)
        self.gradient = gradient(
            self.derivative, tuple(order.index(n) for n in dict.fromkeys(n for n, _ in self.names))
        )

    def times(self, vectors: tuple[Any, ...]) -> tuple[Any, ...]:
        """The product with a vector."""
        found = self.gradient(*self.arguments, *self.dots(vectors))
        by_name = dict(zip(dict.fromkeys(n for n, _ in self.names), found, strict=True))
        each = (by_name[n] if p is None or by_name[n] is None else by_name[n][p] for n, p in self.names)
        return tuple(map(zero_if_none, each, self.primals))

    def along(self, first: tuple[Any, ...], second: tuple[Any, ...]) -> Any:
        """The second derivative in two directions, forwards only."""
        dots, moving = self.dots(first), self.given(second)
        tangents = [moving.get(n) for n in self.values]
        return jvp(self.derivative, (*self.arguments, *dots), (*tangents, *(None for _ in dots)))[1]


def _products(f: Any, argnums: Any, args: Any, kwargs: Any, name: str) -> _Products:
    products = _Products(f, argnums if isinstance(argnums, tuple) else (argnums,), args, kwargs)
    for leaf in (leaf for x in products.primals for leaf in leaves(x)):
        if np.iscomplexobj(leaf.value):
            raise TangentError(
                f"{name} of a function of complex numbers\nWrite it as a function of the real and the imaginary part."
            )
    return products


def _hessian(f: Any, argnums: Any, mode: str | None, /, *args: Any, **kwargs: Any) -> Any:
    products = _products(f, argnums, args, kwargs, "hessian")
    row = products.times if mode != "forward" else functools.partial(_row_forwards, products)
    found = by_rows("hessian", products.primals, products.primals, row)
    each = tuple(tuple(f[i] for f in found) for i in range(len(found)))
    return each if isinstance(argnums, tuple) else each[0][0]


def _row_forwards(products: _Products, vectors: tuple[Any, ...]) -> tuple[Any, ...]:
    """One row of the Hessian, entry by entry."""

    def entry(i: int, keys: tuple[Any, ...], one: Any) -> Any:
        seed = [None] * len(products.primals)
        seed[i] = at(products.primals[i], keys, one)
        found = products.along(vectors, tuple(seed))
        return 0.0 if found is None else found

    return tuple(_each(x, functools.partial(entry, i)) for i, x in enumerate(products.primals))


def _diagonal(f: Any, argnums: Any, /, *args: Any, **kwargs: Any) -> Any:
    products = _products(f, argnums, args, kwargs, "diag_hessian")

    def entry(i: int, keys: tuple[Any, ...], one: Any) -> Any:
        seed: list[Any] = [None] * len(products.primals)
        seed[i] = at(products.primals[i], keys, one)
        found = Leaf(keys, one).of(products.times(tuple(seed))[i])
        if found is None:  # of a structure, a part without influence
            return 0.0
        return np.sum(found * one) if np.ndim(one) else found

    each = tuple(_each(x, functools.partial(entry, i)) for i, x in enumerate(products.primals))
    return each if isinstance(argnums, tuple) else each[0]


def _each(value: Any, entry: Callable[[tuple[Any, ...], Any], Any], keys: tuple[Any, ...] = ()) -> Any:
    """The structure of a value with `entry(keys, one)` for each number in it."""
    children = entries(value)
    if children is not None:
        return gradient_like(value, {k: _each(child, entry, (*keys, k)) for k, child in children.items()})
    if not list(leaves(value)):
        return None
    if not is_array(value) or isinstance(value, np.generic):
        return type(value)(entry(keys, 1.0))
    out = np.zeros_like(value)
    for index in np.ndindex(value.shape):
        one = np.zeros_like(value)
        one[index] = 1.0
        out[index] = entry(keys, one)
    return out


__all__ = ["diag_hessian", "hessian", "hvp"]
