"""Binding a call's argument expressions to a signature, as Python would bind their values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import gast

from adcompiler import ir


class BindError(Exception):
    """The call does not fit the signature, or cannot be bound before it runs."""


class OpenCall(BindError):
    """How many arguments there are, or which keywords, is not known before the call runs."""


def bind_call(
    signature: inspect.Signature,
    args: Sequence[ir.Expr],
    kwargs: Sequence[tuple[str | None, ir.Expr]],
    expand: Callable[[ir.Star], list[ir.Expr] | None],
    expand_dict: Callable[[ir.Expr], list[tuple[str, ir.Expr]] | None],
) -> dict[str, Any]:
    """Parameter → expression, in the order of the signature; a tuple for `*args`, a dict for `**kwargs`.

    `expand` and `expand_dict` give the items of `*a` and `**d` (None if they are not known).  A parameter that the call
    leaves out gets its default: a `Const` for literals, else a `Static`.
    """
    positional = _positional(args, expand)
    keywords = _keywords(kwargs, expand_dict)
    try:
        bound = signature.bind(*positional, **keywords)
    except TypeError as error:
        raise BindError(_complaint(signature, kwargs, str(error))) from None
    out: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        if name in bound.arguments:
            out[name] = bound.arguments[name]
        elif parameter.kind is parameter.VAR_POSITIONAL:
            out[name] = ()
        elif parameter.kind is parameter.VAR_KEYWORD:
            out[name] = {}
        else:
            out[name] = default_expr(name, parameter.default)
    return out


def _positional(args: Sequence[ir.Expr], expand: Callable[[ir.Star], list[ir.Expr] | None]) -> list[ir.Expr]:
    out: list[ir.Expr] = []
    for arg in args:
        items = expand(arg) if isinstance(arg, ir.Star) else [arg]
        if items is None:
            raise OpenCall("unpacks a sequence of unknown length")
        out.extend(items)
    return out


def _keywords(
    kwargs: Sequence[tuple[str | None, ir.Expr]], expand_dict: Callable[[ir.Expr], list[tuple[str, ir.Expr]] | None]
) -> dict[str, ir.Expr]:
    out: dict[str, ir.Expr] = {}
    for name, value in kwargs:
        pairs = [(name, value)] if name is not None else expand_dict(value)
        if pairs is None:
            raise OpenCall("unpacks a dict whose keys are not known")
        if any(key in out for key, _ in pairs):
            raise BindError("gives a keyword twice")
        out.update(pairs)
    return out


def _complaint(signature: inspect.Signature, kwargs: Sequence[tuple[str | None, ir.Expr]], error: str) -> str:
    extra = [f"{name}=" for name, _ in kwargs if name not in signature.parameters]
    if extra:
        return f"takes no {', '.join(extra)}"
    return f"takes {signature}: {error}"


def default_expr(name: str, value: Any) -> ir.Expr:
    """The expression of a default value."""
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return ir.Const(value)
    return ir.Static(value, f"{name}_default")


def node_signature(node: gast.FunctionDef | gast.Lambda) -> inspect.Signature:
    """The signature of a nested function; its defaults must be literals."""
    a = node.args
    plain = [*a.posonlyargs, *a.args]
    missing: list[Any] = [inspect.Parameter.empty] * (len(plain) - len(a.defaults))
    defaults = [*missing, *map(_literal, a.defaults)]
    parameters = [
        inspect.Parameter(p.id, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=d)
        for p, d in zip(plain, defaults, strict=True)
    ]
    if a.vararg:
        parameters.append(inspect.Parameter(a.vararg.id, inspect.Parameter.VAR_POSITIONAL))
    for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True):
        default = inspect.Parameter.empty if d is None else _literal(d)
        parameters.append(inspect.Parameter(p.id, inspect.Parameter.KEYWORD_ONLY, default=default))
    if a.kwarg:
        parameters.append(inspect.Parameter(a.kwarg.id, inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


def _literal(node: gast.AST) -> Any:
    match node:
        case gast.Constant():
            return node.value
        case gast.UnaryOp(op=gast.USub(), operand=gast.Constant()):
            return -node.operand.value
    raise BindError("has a default that is not a literal")
