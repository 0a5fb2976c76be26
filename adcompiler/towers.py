"""Gradients of gradients: of a number, the gradient of its tangent along 1, of any order and without a call inside.

gradient(gradient(f))(x)      f → f_derivative(x, x_dot), and   gradient(f_derivative)(x, 1.0)
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from adcompiler import transforms
from adcompiler.api import gradient, value_and_grad
from adcompiler.differentiable import Transformed, TransformedMethod, TransformedRule, function_of
from adcompiler.forwardmode import derivative_of, find_jvp
from adcompiler.lattice import REAL_TYPES
from adcompiler.program import signature_of
from adcompiler.transforms import Kind, computed, plain_transform


def of_gradient(f: Any, argnums: Any, kind: Kind, made: Any) -> Callable[..., Any]:
    """The gradient of a transformed function."""
    general = plain_transform(f, argnums, kind, made)
    base, inner = _base(f)
    if base is None or kind.mode == "aux":
        return general
    outer = gradient if kind.name == "gradient" else value_and_grad
    signature = signature_of(base)
    names = list(signature.parameters)

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != len(names) or not all(type(args[i]) in REAL_TYPES for i in inner):
            return general(*args, **kwargs)
        function, values = base, list(args)
        for i in inner:
            jvp, values, _ = find_jvp(function, frozenset([names[i]]), values, {})  # type: ignore[assignment]
            function, values = derivative_of(jvp), [*values, type(args[i])(1.0)]
        return outer(function, argnums)(*values)

    return computed(kind.name, call, f, made)


def _base(f: Any) -> tuple[Any, list[int]]:
    """The function behind gradients of gradients, and with respect to what each was; None if it is none such."""
    inner: list[int] = []
    while isinstance(f, Transformed):
        if f.kind != "gradient" or not isinstance(f.argnums, int) or isinstance(f, TransformedMethod | TransformedRule):
            return None, []
        inner.insert(0, f.argnums)
        f = f.__wrapped__
    function, options = function_of(f)
    plain = isinstance(function, types.FunctionType) and not options
    if not plain or any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in signature_of(function).parameters.values()):
        return None, []
    count = len(signature_of(function).parameters)
    return function, [i + count if i < 0 else i for i in inner]


transforms.connect(of_gradient)

__all__ = ["of_gradient"]
