"""What makes sense in the declaration of a rule, and the names of functions in messages. Nothing is registered here."""

import inspect
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from adcompiler.runtime.shapes import conj, fit, shape

RESULTS = (None, "fresh", "view", "same")

# Parameters that the caller of a rule fills in, not the user.
RULE_OPTIONS = ("needs", "config", "apart")


def key_name(key: Any) -> str:
    """A readable name of a key: ``numpy.sin``, ``ndarray.sum``, ``operator.mul``."""
    name = getattr(key, "__name__", None)
    if name is None:
        text = repr(key)
        return f"<{type(key).__module__}.{type(key).__qualname__} object>" if " at 0x" in text else text
    owner = getattr(key, "__objclass__", None)
    if isinstance(getattr(key, "__self__", None), np.ufunc):
        return f"{key_name(key.__self__)}.{name}"
    place = owner.__name__ if owner is not None else getattr(key, "__module__", None)
    return f"{place.lstrip('_')}.{getattr(key, '__qualname__', name) if owner is None else name}" if place else name


def check_keys(decorator: str, keys: tuple[Any, ...]) -> None:
    if not keys:
        raise TypeError(f"{decorator} needs the function that it is for: {decorator}(np.sin)")
    for position, key in enumerate(keys):
        if not callable(key) and not inspect.isdatadescriptor(key):
            raise TypeError(f"{decorator} is for functions and descriptors such as np.ndarray.T, not for {key!r}")
        if not isinstance(key, Hashable):
            raise TypeError(f"{decorator} needs a hashable function, and {key!r} is not")
        if key in keys[:position]:
            raise ValueError(f"{key_name(key)} is named twice; NumPy has aliases: keep one of them")


def check_declaration(result: str | None, kind: str | None, kinds: frozenset[str]) -> None:
    if result not in RESULTS:
        raise ValueError(f"result={result!r} is not one of {', '.join(map(repr, RESULTS))}")
    if kind is not None and kind not in kinds:
        raise ValueError(f"kind={kind!r} is not one of {', '.join(sorted(kinds))}")


def accepted_call(function: Any) -> tuple[inspect.Signature, tuple[str, ...]]:
    """The signature that users' calls are bound to, and the options that the rule takes besides."""
    if not callable(function):
        raise TypeError(f"a rule is a function that returns (y, pullback), not {function!r}")
    parameters = inspect.signature(function).parameters.values()
    options = [p.name for p in parameters if p.name in RULE_OPTIONS and p.kind is p.KEYWORD_ONLY]
    return inspect.Signature([p for p in parameters if p.name not in options]), tuple(options)


def names_of_parameters(
    option: str, names: Iterable[str], function: Any, signature: inspect.Signature
) -> tuple[str, ...]:
    """The `names` that an option of a rule gives, which must be parameters of it."""
    if isinstance(names, str):
        raise TypeError(f"{option}={names!r} must be a tuple of names: {option}=({names!r},)")
    found = tuple(names)
    for name in found:
        if name not in signature.parameters:
            taken = ", ".join(signature.parameters)
            raise ValueError(f"{option} names {name!r}, which is no parameter of {function.__name__} ({taken})")
    return found


def is_lambda(entry: Any) -> bool:
    return getattr(entry, "__name__", None) == "<lambda>"


def is_builtin(module: str | None) -> bool:
    return module is not None and (module + ".").startswith("adcompiler.rules.")


def argument_names(keys: tuple[Any, ...], partials: tuple[Callable[..., Any], ...]) -> list[str]:
    """The argument names that all `partials` agree on, without ``out``."""
    if not partials:
        raise TypeError(f"the scalar_rule of {key_name(keys[0])} needs a lambda for each argument")
    signatures = [[n for n in inspect.signature(partial).parameters if n != "out"] for partial in partials]
    names = signatures[0]
    if any(other != names for other in signatures):
        raise TypeError(f"the lambdas of {key_name(keys[0])} take different arguments: {signatures}")
    if len(names) != len(partials):
        raise TypeError(f"{key_name(keys[0])} has {len(names)} arguments ({', '.join(names)}): {len(partials)} lambdas")
    nargs = getattr(keys[0], "nin", len(names))
    if nargs != len(names):
        raise TypeError(f"{key_name(keys[0])} takes {nargs} arguments, and the lambdas take {len(names)}")
    return names


def scalar_function(keys: tuple[Any, ...], partials: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    """The rule that a `scalar_rule` stands for, as a function that can be called."""
    primal = next(key for key in keys if callable(key))
    wants_out = ["out" in inspect.signature(partial).parameters for partial in partials]

    def function(*args: Any) -> Any:
        y = primal(*args)

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            slopes = [p(*args, out=y) if out else p(*args) for p, out in zip(partials, wants_out, strict=True)]
            return tuple(fit(y_bar * conj(d), shape(x)) for d, x in zip(slopes, args, strict=True))

        return y, pullback

    return function
