"""The public transforms: `differentiable`, `gradient`, `value_and_grad`, `pullback`.

Each wraps a function in `Variants`; what happens around the pair (seeding, projection, structure) is here.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.errors import (
    NotScalarError,
    PullbackConsumedError,
    SourceNotFoundError,
    TangentError,
    refuse,
)
from adcompiler.lattice import can_be_active, observe
from adcompiler.parse import parse
from adcompiler.pipeline import Compiled
from adcompiler.rules.registry import is_non_differentiable, lookup
from adcompiler.runtime import dynamic
from adcompiler.runtime.project import detach, materialize, project
from adcompiler.entry import Finish
from adcompiler.variants import Variants, explained

_FLOATS = frozenset({float, np.float64, np.float32, np.float16, np.longdouble})

Argnums = int | str | tuple[int | str, ...]


# --- which parameters -------------------------------------------------------------------------------------


def _names(signature: inspect.Signature, argnums: Argnums) -> tuple[tuple[str, int | None], ...]:
    """The wanted arguments as (parameter, position inside `*args` or None)."""
    wanted = argnums if isinstance(argnums, tuple) else (argnums,)
    if any(isinstance(a, bool) or not isinstance(a, int | str) for a in wanted):
        raise TypeError(f"argnums is an int, a parameter name, or a tuple of these, not {argnums!r}")
    positional = [p for p in signature.parameters.values() if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    out: list[tuple[str, int | None]] = []
    for a in wanted:
        if isinstance(a, str):
            if a not in signature.parameters:
                raise TypeError(f"argnums names {a!r}, which is not a parameter of {signature}")
            out.append((a, None))
            continue
        index = a + len(positional) if a < 0 else a
        if index < len(positional) and positional[index].kind is not inspect.Parameter.VAR_POSITIONAL:
            out.append((positional[index].name, None))
        elif positional and positional[-1].kind is inspect.Parameter.VAR_POSITIONAL and index >= 0:
            out.append((positional[-1].name, index - len(positional) + 1))
        else:
            raise TypeError(f"argnums={a} is out of range for {signature}")
    return tuple(out)


def _check_wanted(name: str, value: Any) -> None:
    """An argument that is asked for must be able to carry a derivative."""
    if isinstance(value, bool | int | str | bytes | np.integer | np.bool_ | None) or (
        isinstance(value, np.ndarray) and value.dtype.kind in "biu"
    ):
        hint = "pass 3.0 instead of 3" if isinstance(value, int | np.integer) else "pass an array of floats"
        raise TangentError(f"the argument {name!r} is {_described(value)}, which has no derivative: {hint}")


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return "None" if value is None else f"of type {type(value).__name__}"


# --- values -----------------------------------------------------------------------------------------------


def check_scalar(value: Any, name: str) -> None:
    """Raise NotScalarError unless `value` is one real number."""
    if isinstance(value, bool | np.bool_ | complex | np.complexfloating) or not isinstance(
        value, int | float | np.number | np.ndarray
    ):
        if isinstance(value, complex | np.complexfloating):
            raise NotScalarError(
                f"{name} returned a complex number; a gradient needs a real one\n"
                "Return its .real or abs(), or use pullback() with a complex seed."
            )
        hint = "Is a return missing?" if value is None else "Use pullback() for other outputs."
        raise NotScalarError(f"{name} returned {_described(value)}; a gradient needs one real number\n{hint}")
    if isinstance(value, np.ndarray):
        if value.ndim or value.dtype.kind not in "fiu":
            raise NotScalarError(
                f"{name} returned an array of shape {value.shape} and dtype {value.dtype}; a gradient needs one real number\n"
                "Use jacobian() for all derivatives, or pullback() with a seed of that shape."
            )


def _zero_if_none(grad: Any, value: Any) -> Any:
    """A float or array without influence has the gradient zero; structures keep their None."""
    if grad is None and isinstance(value, float | complex | np.inexact | np.ndarray):
        return materialize(grad, value)
    return grad


# --- gradient ---------------------------------------------------------------------------------------------


def gradient(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the gradient of `f`, which must return one real number.

    `argnums` says with respect to what: a position, a parameter name, or a tuple of these (the result is then a tuple, also
    of length 1).  The gradient has the argument's structure, shape, dtype and device; complex arguments get
    ∂/∂re + i ∂/∂im.  An argument without influence gets zeros.  Raises NotScalarError, TangentError (an int was asked
    for), and other DifferentiationErrors for what cannot be differentiated.
    """
    return _transform(f, argnums, "gradient")


def value_and_grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes `(f(...), gradient(f)(...))` at the cost of one forward and one backward.

    With `has_aux`, `f` returns `(value, aux)` and the result is `((value, aux), gradient)`.  See `gradient` for the rest.
    """
    return _transform(f, argnums, "aux" if has_aux else "value")


def _transform(f: Any, argnums: Argnums, mode: str) -> Callable[..., Any]:
    function, options = _function_of(f)
    if isinstance(argnums, list):
        raise TypeError(f"argnums is an int, a parameter name, or a tuple of these, not {argnums!r}")
    store = _store(f)
    key = (mode, argnums)
    variants = store.get(key)
    if variants is None:
        names = _names(inspect.signature(function, follow_wrapped=False), argnums)
        _check_nondiff(names, options)
        plan = functools.partial(_plan, names)
        single_use = options.get("single_use") is not False
        finisher = functools.partial(_grad_finisher, names, isinstance(argnums, tuple), mode)
        variants = store[key] = Variants(function, plan, finisher, single_use)
    name = {"gradient": "gradient", "value": "value_and_grad", "aux": "value_and_grad"}[mode]
    return _caller(variants, f"{name}({getattr(f, '__name__', 'f')})", f)


def _caller(variants: Variants, name: str, f: Any) -> Callable[..., Any]:
    function = variants.function

    def call(*args: Any, **kwargs: Any) -> Any:
        if function.__code__ is not variants.code or function.__defaults__ is not variants.defaults:
            variants.renew()
        try:
            return variants.first(*args, **kwargs)
        except Exception as error:
            explained(error)
            raise

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name}; made by adcompiler."
    call.__wrapped__ = f  # type: ignore[attr-defined]
    return call


def _plan(names: tuple[tuple[str, int | None], ...], signature: inspect.Signature, arguments: dict[str, Any]) -> frozenset[str]:
    for name, position in names:
        value = arguments[name]
        if position is not None:
            if position >= len(value):
                raise TypeError(f"argnums asks for argument {position} of *{name}, which has {len(value)}")
            value = value[position]
        _check_wanted(name, value)
    return frozenset(name for name, _ in names)


def _grad_finisher(
    names: tuple[tuple[str, int | None], ...], as_tuple: bool, mode: str, compiled: Compiled
) -> Finish:
    """The part of a gradient after its forward."""
    pair, backward = compiled.pair, compiled.backward
    function_name = compiled.request.function.__qualname__
    params = compiled.spec.params
    where = [params.index(name) for name, _ in names]
    inside = [position for _, position in names]
    active = pair.active
    slots = [active.index(params[i]) if params[i] in active else None for i in where]
    single = len(active) == 1
    has_aux = mode == "aux"
    seed = (1.0, None) if has_aux else 1.0

    def finish(value: Any, saved: Any, *arguments: Any) -> Any:
        loss = value[0] if has_aux and isinstance(value, tuple) and len(value) == 2 else value
        if type(loss) not in _FLOATS:
            check_scalar(loss, function_name)
        return rest(value, backward(saved, seed) if active else (), *arguments)

    def rest(value: Any, cts: Any, *arguments: Any) -> Any:
        out = []
        by_slot = (cts,) if single else cts
        for i, slot, position in zip(where, slots, inside, strict=True):
            primal = arguments[i]
            ct = None if slot is None else by_slot[slot]
            if position is not None:
                primal, ct = primal[position], None if ct is None else ct[position]
            out.append(_zero_if_none(project(ct, primal), primal))
        whole = detach(tuple(out), (arguments, value))
        grads = whole if as_tuple else whole[0]
        return grads if mode == "gradient" else (value, grads)

    if not (single and slots == [0] and inside == [None] and not has_aux):
        return Finish(finish)
    # The gradient of one float: all of it in the entry, since its calls would cost as much as the arithmetic.
    bare = "(float($bar),)" if as_tuple else "float($bar)"
    lines = (
        "$value, $saved = $forward({names})",
        "if type($value) not in $FLOATS:",
        "    $check($value, $name)",
        "$bar = $backward($saved, 1.0)",
        f"if type({params[where[0]]}) is float and isinstance($bar, float):",
        f"    return {bare if mode == 'gradient' else f'$value, {bare}'}",
        "return $rest($value, $bar, {names})",
    )
    bound = {"FLOATS": _FLOATS, "check": check_scalar, "name": function_name, "backward": backward, "rest": rest}
    return Finish(finish, lines, bound)


# --- pullback ---------------------------------------------------------------------------------------------


def pullback(f: Callable[..., Any], *args: Any, single_use: bool = False, **kwargs: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """`(f(*args, **kwargs), back)`; `back(ct)` gives one cotangent per positional argument, None where there is none.

    `ct` is a cotangent of the value: its structure and shape, None anywhere for zero.  `back` may be called any number of times,
    unless `single_use` is given: then it frees what it has read, and a second call raises PullbackConsumedError.
    """
    function, options = _function_of(f)
    if options.get("rule"):
        return _rule_pullback(f, args, kwargs)
    store = _store(f)
    key = ("pullback", single_use)
    variants = store.get(key)
    if variants is None:
        plan = functools.partial(_all_positional, frozenset(options.get("nondiff", ())))
        variants = store[key] = Variants(function, plan, functools.partial(_pullback_finisher, single_use), single_use)
    try:
        value, make_back = variants(*args, **kwargs)
    except Exception as error:
        explained(error)
        raise
    return value, make_back(len(args))


def _all_positional(
    nondiff: frozenset[str], signature: inspect.Signature, arguments: dict[str, Any]
) -> frozenset[str]:
    """The positional parameters whose values can carry a derivative."""
    positional = [p.name for p in signature.parameters.values() if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    return frozenset(n for n in positional if n not in nondiff and can_be_active(observe(arguments[n], ())))


def _check_nondiff(names: tuple[tuple[str, int | None], ...], options: dict[str, Any]) -> None:
    constant = [name for name, _ in names if name in options.get("nondiff", ())]
    if constant:
        raise TangentError(f"the parameter {constant[0]!r} was declared without derivative (nondiff=)")


def _pullback_finisher(single_use: bool, compiled: Compiled) -> Finish:
    """The part of a pullback after its forward."""
    pair, backward = compiled.pair, compiled.backward
    signature = inspect.signature(compiled.request.function, follow_wrapped=False)
    positional = [p for p in signature.parameters.values() if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    active = pair.active

    def finish(value: Any, saved: Any, *arguments: Any) -> Any:
        primals = dict(zip(signature.parameters, arguments, strict=True))
        kept: list[Any] = [saved]

        def make_back(count: int) -> Callable[[Any], tuple[Any, ...]]:
            return lambda ct: back(ct)[:count]

        def back(ct: Any) -> tuple[Any, ...]:
            if not kept:
                raise PullbackConsumedError(
                    "this pullback was made with single_use=True and has been called before\n"
                    "Make it with single_use=False to call it again."
                )
            record = kept.pop() if single_use else kept[0]
            seed = project(ct, value)
            try:
                cts = backward(record, seed) if seed is not None and active else (None,) * len(active)
            except Exception as error:
                explained(error)
                raise
            by_name = dict(zip(active, (cts,) if len(active) == 1 and seed is not None else cts, strict=True))
            foreign = (arguments, value, seed, ct, [s for s in record if not isinstance(s, list)])
            out: list[Any] = []
            for p in positional:
                grad = project(by_name.get(p.name), primals[p.name])
                if p.kind is p.VAR_POSITIONAL:
                    out.extend(grad if grad is not None else [None] * len(primals[p.name]))
                else:
                    out.append(grad)
            return tuple(detach(out, foreign))

        return value, make_back

    return Finish(finish)


def _rule_pullback(f: Any, args: Any, kwargs: Any) -> Any:
    """The pullback of a function that is not written in Python, by its rule."""
    wanted = (False, *(can_be_active(observe(a, ())) for a in args), *(False for _ in kwargs))
    found = dynamic.resolve(wanted, f, *args, **kwargs)
    value, saved = found.forward(*args, **kwargs)

    def back(ct: Any) -> tuple[Any, ...]:
        cts = found.backward(saved, project(ct, value))[1 : 1 + len(args)]
        return tuple(detach([project(c, a) for c, a in zip(cts, args, strict=True)], (args, value, ct)))

    return value, back


# --- what is wrapped --------------------------------------------------------------------------------------


class Differentiable:
    """A function that `differentiable` has wrapped: calls as the function itself, with the generated text at hand."""

    def __init__(self, function: Callable[..., Any], nondiff: tuple[str, ...], single_use: bool | None) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._options = {"nondiff": nondiff, "single_use": single_use}
        self._store: dict[Any, Any] = {}

    @property
    def __adcompiler_function__(self) -> Any:
        return self._function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        # By name, as functions pickle: the unpickled one is the module's own.
        return _by_name, (self.__module__, self.__qualname__)

    def __repr__(self) -> str:
        return f"<differentiable {self.__qualname__}>"

    def source(self, *args: Any, wrt: Any = None, single_use: bool = True, **kwargs: Any) -> str:
        """The generated forward function and pullback for these arguments, as text that can be imported."""
        from adcompiler.dump import dump

        return dump(self._function, args, kwargs, wrt=wrt, single_use=single_use)


def _by_name(module: str, qualname: str) -> Any:
    import importlib

    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def differentiable(f: Any = None, *, nondiff: tuple[str, ...] = (), single_use: bool | None = None) -> Any:
    """Mark a function as differentiated: the result calls exactly like `f` and has `.source(*args)`.

    The decorator is only needed for its options and for `.source`; helpers that `f` calls need nothing.  `nondiff` names
    parameters that are constants; `single_use` overrides the choice that each transform makes.
    """
    if f is None:
        return functools.partial(differentiable, nondiff=nondiff, single_use=single_use)
    return Differentiable(f, nondiff, single_use)


def _function_of(f: Any) -> tuple[Any, dict[str, Any]]:
    """The Python function behind what the user passed, and its options."""
    options: dict[str, Any] = {}
    if isinstance(f, Differentiable):
        options, f = f._options, f._function
    if isinstance(f, types.FunctionType):
        return f, options
    if lookup(f) or is_non_differentiable(f):
        return _wrapped_rule(f), {"rule": True}
    if not callable(f):
        raise TypeError(f"{f!r} is not a function")
    raise refuse(
        SourceNotFoundError,
        f"{getattr(f, '__name__', type(f).__name__)} cannot be differentiated",
        None,
        "It is neither a Python function nor a function with a rule.",
        "Wrap it in a def or a lambda.",
    )


def _wrapped_rule(f: Any) -> Any:
    return lambda *args: f(*args)


def _store(f: Any) -> dict[Any, Any]:
    """Where the variants of a function are kept: on the function itself."""
    if isinstance(f, Differentiable):
        return f._store
    try:
        owner, store = f.__dict__.get("__adcompiler_variants__", (None, None))
        if owner is not f:  # functools.wraps copies the attributes of what it wraps
            f.__dict__["__adcompiler_variants__"] = f, (store := {})
        return store  # type: ignore[return-value]
    except AttributeError:
        return {}


def _compile_call(function: Any, wanted: tuple[bool, ...], args: Any, kwargs: Any) -> Any:
    """For the runtime's dynamic calls: the value and a pullback with one cotangent per argument and keyword."""
    names = inspect.signature(function, follow_wrapped=False)
    bound = names.bind(*range(len(args)), **dict(zip(kwargs, range(len(args), len(args) + len(kwargs)), strict=True)))
    store = _store(function)
    key = ("call", wanted, tuple(kwargs))
    variants = store.get(key)
    if variants is None:
        flat = {n: p if isinstance(p, tuple) else (p,) for n, p in bound.arguments.items()}
        on = frozenset(n for n, ps in flat.items() if any(isinstance(p, int) and wanted[p] for p in ps))

        def finisher(compiled: Compiled) -> Finish:
            active, backward = compiled.pair.active, compiled.backward

            def finish(value: Any, saved: Any, *arguments: Any) -> Any:
                def back(y_bar: Any) -> Any:
                    cts = backward(saved, y_bar) if active else ()
                    by_name = dict(zip(active, (cts,) if len(active) == 1 else cts, strict=True))
                    out: list[Any] = [None] * len(wanted)
                    for name, position in bound.arguments.items():
                        ct = by_name.get(name)
                        if isinstance(position, tuple):
                            for i, p in enumerate(position):
                                out[p] = None if ct is None else ct[i]
                        elif isinstance(position, int):
                            out[position] = ct
                    return tuple(out)

                return value, back

            return Finish(finish)

        variants = store[key] = Variants(function, lambda *_: on, finisher, False)
    return variants(*args, **kwargs)


dynamic.connect(lookup, is_non_differentiable, _compile_call)

__all__ = ["Differentiable", "differentiable", "gradient", "parse", "pullback", "value_and_grad"]
