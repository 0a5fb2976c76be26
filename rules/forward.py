"""Forward rules: which function has a derivative rule for tangents of its own, written as ``frule``.

A reverse rule may say instead how the tangent follows from it: its partials, ``linear=`` or ``multilinear=``.
"""

import functools
import inspect
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from adcompiler.rules import registry
from adcompiler.rules.declarations import check_keys, is_builtin, key_name
from adcompiler.rules.registry import Rule, load_waiting, lookup, notify
from adcompiler.rules.twins import numpy_twin

Function = TypeVar("Function", bound=Callable[..., Any])
Key = Hashable

_forward_rules: dict[Key, tuple[Callable[..., Any], ...]] = {}


def frule(*keys: Key) -> Callable[[Function], Function]:
    """Decorator: the function below is the forward rule of the functions `keys`.

    ``frule(np.linalg.inv)`` on ``def inv(tangents, a)``: `tangents` has one entry for each of the parameters that
    follow, None for what has no tangent (a tuple for ``*args``, a dict for ``**kwargs``), and the rule returns the pair
    of the value and its tangent. The tangent has the structure, shape and realness of the value. The parameters are
    those of the reverse rule, if there is one. The rule must be plain code that can be differentiated itself, for
    second derivatives; ``if tangents[0] is None`` is decided when compiling. A rule may return NotImplemented where it
    does not hold. What a user registers comes before a built-in rule, and a later rule before an earlier one. Raises
    TypeError or ValueError if the declaration makes no sense.
    """
    check_keys("frule", keys)

    def register(function: Function) -> Function:
        if not callable(function):
            raise TypeError(f"a forward rule is a function that returns (y, y_dot), not {function!r}")
        if next(iter(inspect.signature(function).parameters), None) != "tangents":
            raise TypeError(f"the first parameter of a forward rule is the tuple `tangents`, as of {key_name(keys[0])}")
        global _forward_rules
        with registry.lock:
            for key in keys if is_builtin_rule(function) else ():
                if any(_same_call(function, other) for other in _forward_rules.get(key, ()) if is_builtin_rule(other)):
                    raise ValueError(f"{key_name(key)} has a forward rule already")
            _forward_rules = _forward_rules | {key: _ordered(function, _forward_rules.get(key, ())) for key in keys}
        notify(keys)
        return function

    return register


def forward_rules(key: Any) -> tuple[Callable[..., Any], ...]:
    """The forward rules of the function `key`, those of users first. A CuPy function has those of its NumPy twin."""
    load_waiting()
    try:
        found = _forward_rules.get(key)
    except TypeError:  # unhashable
        return ()
    if found is None:
        twin = numpy_twin(key)
        return () if twin is None else forward_rules(twin)
    return found


def forward_rule(key: Any, rule: Rule | None = None) -> Callable[..., Any] | None:
    """The explicit forward rule of the function `key` for the calls that the reverse `rule` takes, or None.

    Without `rule`, for the calls of the first reverse rule, or of the forward rule itself if there is no other. A
    built-in forward rule does not hold for a reverse rule of the user's, which may be another derivative.
    """
    if rule is None:
        rule = next(iter(lookup(key)), None)
    for function in forward_rules(key):
        if rule is None or (takes_calls_of(function, rule) and (rule.builtin or not is_builtin_rule(function))):
            return function
    return None


def all_forward_rules() -> dict[Key, tuple[Callable[..., Any], ...]]:
    """Every function with forward rules."""
    return dict(_forward_rules)


def is_builtin_rule(function: Callable[..., Any]) -> bool:
    """Whether a forward rule is built in."""
    return is_builtin(getattr(function, "__module__", None))


@functools.lru_cache(maxsize=4096)
def forward_signature(function: Callable[..., Any]) -> inspect.Signature:
    """The calls that a forward rule is for: its signature without the tangents."""
    _, *parameters = inspect.signature(function).parameters.values()
    return inspect.Signature(parameters)


def takes_calls_of(function: Callable[..., Any], rule: Rule) -> bool:
    """Whether arguments in the order of the parameters of `rule` are those of the forward rule."""
    return _form(forward_signature(function)) == _form(rule.signature)


def _same_call(function: Callable[..., Any], other: Callable[..., Any]) -> bool:
    return _form(forward_signature(function)) == _form(forward_signature(other))


def _form(signature: inspect.Signature) -> list[tuple[Any, str]]:
    """What must agree: keyword-only parameters by name, the others by position."""
    positional = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    kinds = [(p.kind, p.name) for p in signature.parameters.values()]
    return [("positional", "") if k in positional else (k, n if k is _KEYWORD else "") for k, n in kinds]


_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def _ordered(function: Any, earlier: tuple[Any, ...]) -> tuple[Any, ...]:
    """`earlier` with `function` at its place: users' rules first, the latest in front; built-in ones last."""
    return (*earlier, function) if is_builtin_rule(function) else (function, *earlier)
