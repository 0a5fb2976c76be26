"""The registry: which function has which derivative rule, and which functions have no derivative at all.

In go functions of the form ``f(*args) -> (y, pullback)``; out come `Rule`s, looked up by the function they belong to.
Readers take no lock: every registration replaces a dictionary as a whole, under one lock for the writers.
"""

import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from adcompiler.rules.declarations import (
    accepted_call,
    argument_names,
    check_declaration,
    check_keys,
    is_builtin,
    is_lambda,
    names_of_parameters,
    scalar_function,
)
from adcompiler.rules.declarations import key_name as key_name
from adcompiler.rules.twins import numpy_twin

Function = TypeVar("Function", bound=Callable[..., Any])
Key = Hashable

RULE_KINDS = frozenset(
    "elementwise elementwise_real elementwise_complex where scalar scalar_complex scalar_real reduction reduction_real "
    "like array array_real array_complex array1 array2 same_rank_real same_rank_complex transpose matmul getitem "
    "reshape stack concatenate broadcast_to expand_dims number int bool index tuple list cast unknown other ufunc "
    "eig eigh lstsq qr slogdet svd".split()
)
NON_DIFFERENTIABLE_KINDS = RULE_KINDS | {"filled", "filled_like", "text", "whole", "generator"}


@dataclass(frozen=True, eq=False, repr=False)
class Rule:
    """A derivative rule: `function(*args)` returns the value and its pullback, for every function in `keys`.

    `signature` is the call that is accepted, without the keyword-only `options` (``needs``, ``config``) that the
    function takes besides. `partials` are the lambdas of a `scalar_rule`, one per argument, else empty. `accepts` are
    the types that a built-in rule takes besides numbers, arrays and what Python's displays make of them.
    """

    keys: tuple[Key, ...]
    function: Callable[..., Any]
    name: str
    signature: inspect.Signature
    partials: tuple[Callable[..., Any], ...] = ()
    result: str | None = None
    kind: str | None = None
    linear: tuple[str, ...] = ()
    multilinear: tuple[str, ...] = ()
    order: int | None = None
    options: tuple[str, ...] = ()
    flat: tuple[str, ...] = ()
    accepts: tuple[type, ...] = ()
    builtin: bool = False

    def __repr__(self) -> str:
        keys = ", ".join(map(key_name, self.keys))
        return f"<Rule {self.name}{self.signature} for {keys}>"


@dataclass(frozen=True, eq=False)
class NonDiff:
    """A function without derivative: its result carries no cotangent. `kind` tells the compiler what it returns."""

    key: Key
    kind: str | None = None
    builtin: bool = False


lock = threading.RLock()
_rules: dict[Key, tuple[Rule, ...]] = {}
_non_differentiable: dict[Key, NonDiff] = {}
_refused: dict[Key, str] = {}
_waiting: dict[str, str] = {}
_opt_outs: dict[Key, tuple[type, ...]] = {}
_callbacks: tuple[Callable[[tuple[Key, ...]], None], ...] = ()


def rrule(
    *keys: Key,
    result: str | None = None,
    kind: str | None = None,
    linear: Iterable[str] = (),
    multilinear: Iterable[str] = (),
    order: int | None = None,
    flat: Iterable[str] = (),
    accepts: Iterable[type] = (),
    general: bool = False,
) -> Callable[[Function], Function]:
    """Decorator: the function below is the reverse rule of the functions `keys`.

    The rule takes the arguments of those functions and returns ``(y, pullback)``; ``pullback(y_bar)`` returns a tuple
    with one cotangent for each parameter, None where there is none. `result` says whether the value is ``"fresh"``
    memory, a ``"view"`` of an argument, or possibly the ``"same"`` object; None if unknown. `kind` names the kind of
    the value, `flat` the parameters in which it is piecewise constant (a condition, a shape: an active argument there
    has the derivative zero and is not refused), and ``order=1`` says that the rule cannot be differentiated again. A
    later rule comes before an earlier one. Raises TypeError or ValueError if the declaration makes no sense.

    Two options give the derivative forwards, where there is no `frule` of the function. `linear` names parameters in
    all of which together the function is linear over the real numbers, whatever the others are: ``y_dot`` is the
    function of their tangents, with zeros for those that have none. So ``np.add`` has ``linear=("a", "b")``, and
    ``np.where(condition, x, y)`` has ``linear=("x", "y")``. `multilinear` names parameters in each of which alone it
    is linear while all others stay as they are: ``y_dot`` is a sum of the function of one tangent each, as of a
    product. Each argument of ``*args`` counts as a parameter there. They hold for calls in which no other parameter
    has a tangent.

    Two options are for built-in rules: `accepts` names types that the rule takes besides numbers and arrays (rules of
    users take anything), and with ``general=True`` the rule comes after another one of the same function: it gets the
    calls that the first one does not take, or declines.
    """
    check_keys("rrule", keys)
    check_declaration(result, kind, RULE_KINDS)

    def register(function: Function) -> Function:
        signature, options = accepted_call(function)
        _add_rule(
            Rule(
                keys=keys,
                function=function,
                name=getattr(function, "__name__", repr(function)),
                signature=signature,
                result=result,
                kind=kind,
                linear=names_of_parameters("linear", linear, function, signature),
                multilinear=names_of_parameters("multilinear", multilinear, function, signature),
                order=order,
                options=options,
                flat=tuple(flat),
                accepts=tuple(accepts),
                builtin=is_builtin(getattr(function, "__module__", None)),
            ),
            general,
        )
        return function

    return register


def scalar_rule(
    *keys_and_partials: Any,
    result: str | None = "fresh",
    kind: str | None = "elementwise",
) -> Rule:
    """Register the rule of an elementwise function from its partial derivatives, one lambda for each argument.

    ``scalar_rule(np.tanh, lambda x, out: 1 - out * out)``: the functions come first, then the lambdas, which all take
    the arguments and, if wanted, the result as ``out``. The cotangent of an argument is ``y_bar * conj(partial)``
    brought to its shape. Raises TypeError if the number of lambdas is not the number of arguments.
    """
    partials = tuple(entry for entry in keys_and_partials if is_lambda(entry))
    keys = keys_and_partials[: len(keys_and_partials) - len(partials)]
    if keys_and_partials[len(keys) :] != partials:
        raise TypeError("scalar_rule takes first the functions, then the lambdas")
    check_keys("scalar_rule", keys)
    check_declaration(result, kind, RULE_KINDS)
    names = argument_names(keys, partials)
    rule = Rule(
        keys=keys,
        function=scalar_function(keys, partials),
        name=getattr(keys[0], "__name__", repr(keys[0])),
        signature=inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]),
        partials=partials,
        result=result,
        kind=kind,
        builtin=is_builtin(partials[0].__module__),
    )
    _add_rule(rule)
    return rule


def non_differentiable(*keys: Key, kind: str | None = None) -> None:
    """Declare that the results of the functions `keys` carry no derivative, whatever the arguments.

    `kind` names the kind of the results: ``"text"`` of functions that make text of their arguments (it is an error to
    make a number of that again), ``"whole"`` of those that make a whole number even of text. What a user declares
    replaces an earlier rule of the same function.
    """
    check_keys("non_differentiable", keys)
    check_declaration(None, kind, NON_DIFFERENTIABLE_KINDS)
    builtin = is_builtin(sys._getframe(1).f_globals.get("__name__"))
    global _rules, _non_differentiable, _refused
    with lock:
        if builtin:
            _check_not_built_in(keys)
        else:
            _rules = {key: rules for key, rules in _rules.items() if key not in keys}
            _refused = {key: why for key, why in _refused.items() if key not in keys}
        _non_differentiable = _non_differentiable | {key: NonDiff(key, kind, builtin) for key in keys}
    notify(keys)


def refused(*keys: Key, why: str) -> None:
    """Declare that the functions `keys` have a derivative that is not given: an active argument is an error.

    `why` are one or two sentences, and then what to do instead, on a line of its own.
    """
    check_keys("refused", keys)
    what_to_do = why.split("\n")[1:]
    if len(what_to_do) != 1:
        raise ValueError(f"refused needs the reason, and on a second line what to do, not {why!r}")
    global _refused
    with lock:
        _check_not_built_in(keys)
        _refused = _refused | dict.fromkeys(keys, why)
    notify(keys)


def later(module: str, rules: str) -> None:
    """Import the built-in rules in the module `rules` as soon as a user has imported `module`, and not before."""
    global _waiting
    with lock:
        _waiting = _waiting | {module: rules}


def opt_out(key: Key, *types: type) -> None:
    """Declare that no rule of `key` holds when an argument is an instance of one of `types` (or of a subclass).

    The function's own source is then differentiated instead.
    """
    check_keys("opt_out", (key,))
    if not types or not all(isinstance(t, type) for t in types):
        raise TypeError(f"opt_out needs the types it holds for: opt_out({key_name(key)}, MyArray)")
    global _opt_outs
    with lock:
        _opt_outs = _opt_outs | {key: _opt_outs.get(key, ()) + types}
    notify((key,))


def lookup(key: Any, arg_types: Sequence[type] = ()) -> tuple[Rule, ...]:
    """The rules of the function `key`, the most specific first: rules of users before built-in ones, later first.

    Empty if there is none, or if a type in `arg_types` has opted out. A CuPy function has the rules of its NumPy twin.
    """
    load_waiting()
    try:
        rules = _rules.get(key)
    except TypeError:  # unhashable, so it cannot have been registered
        return ()
    if rules is None:
        twin = numpy_twin(key)
        return () if twin is None else lookup(twin, arg_types)
    excluded = _opt_outs.get(key)
    if excluded is not None and any(issubclass(t, excluded) for t in arg_types):
        return ()
    return rules


def is_non_differentiable(key: Any) -> NonDiff | None:
    """The declaration that the function `key` has no derivative, or None if there is no such declaration."""
    load_waiting()
    try:
        found = _non_differentiable.get(key)
    except TypeError:
        return None
    if found is None:
        twin = numpy_twin(key)
        return None if twin is None else _non_differentiable.get(twin)
    return found


def refusal(key: Any) -> str | None:
    """Why the function `key` is refused, and on a second line what to do; None if it is not."""
    load_waiting()
    try:
        found = _refused.get(key)
    except TypeError:
        return None
    if found is None:
        twin = numpy_twin(key)
        return None if twin is None else _refused.get(twin)
    return found


def on_register(callback: Callable[[tuple[Key, ...]], None]) -> None:
    """Have `callback(keys)` called after every registration, with the functions that it concerned."""
    global _callbacks
    with lock:
        _callbacks = (*_callbacks, callback)


def all_rules() -> tuple[Rule, ...]:
    """Every registered rule once, in the order in which their functions were first registered."""
    return tuple(dict.fromkeys(rule for rules in _rules.values() for rule in rules))


def all_non_differentiable() -> tuple[NonDiff, ...]:
    """Every declaration of a function without derivative."""
    return tuple(_non_differentiable.values())


def all_refused() -> dict[Key, str]:
    """Every function that is refused, with the reason and what to do."""
    return dict(_refused)


def load_waiting() -> None:
    """Import the rules of packages that the user has imported by now."""
    global _waiting
    if _waiting.keys().isdisjoint(sys.modules.keys()):
        return
    with lock:
        ready = [module for module in _waiting if getattr(sys.modules.get(module), "__file__", None)]
        modules = [_waiting[module] for module in ready]
        _waiting = {module: rules for module, rules in _waiting.items() if module not in ready}
        try:
            for rules in modules:
                importlib.import_module(rules)
        except Exception:
            _waiting = {
                **dict(zip(ready, modules, strict=True)),
                **_waiting,
            }  # for the next lookup, which says why again
            raise


def _add_rule(rule: Rule, general: bool = False) -> None:
    global _rules, _non_differentiable, _refused
    with lock:
        if rule.builtin:
            _check_not_built_in(rule.keys, general)
        else:
            _non_differentiable = {k: found for k, found in _non_differentiable.items() if k not in rule.keys}
            _refused = {k: why for k, why in _refused.items() if k not in rule.keys}
        _rules = _rules | {key: _ordered(rule, _rules.get(key, ())) for key in rule.keys}
    notify(rule.keys)


def _ordered(rule: Rule, earlier: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """`earlier` with `rule` at its place: users' rules first, the latest in front; the built-in one last."""
    return (*earlier, rule) if rule.builtin else (rule, *earlier)


def notify(keys: tuple[Key, ...]) -> None:
    # Outside the lock: a callback may look up rules, or wait for a thread that registers one.
    for callback in _callbacks:
        callback(keys)


def _check_not_built_in(keys: tuple[Key, ...], general: bool = False) -> None:
    for key in keys:
        ruled = any(rule.builtin for rule in _rules.get(key, ()))
        if key in _non_differentiable or key in _refused or (ruled and not general):
            raise ValueError(f"{key_name(key)} is already registered; put all keys of one operation on one rule")
        if general and not _rules.get(key):
            raise ValueError(f"{key_name(key)} has no rule yet, which a general one would come after")
