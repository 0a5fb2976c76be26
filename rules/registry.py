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

import numpy as np

from adcompiler.rules.twins import numpy_twin
from adcompiler.runtime.shapes import conj, fit, shape

Function = TypeVar("Function", bound=Callable[..., Any])
Key = Hashable

RESULTS = (None, "fresh", "view", "same")
RULE_KINDS = frozenset(
    "elementwise elementwise_real elementwise_complex where scalar scalar_complex scalar_real reduction reduction_real "
    "like array array_real array_complex array1 array2 same_rank_real same_rank_complex transpose matmul getitem "
    "reshape stack concatenate broadcast_to expand_dims number int bool index tuple list cast unknown other ufunc "
    "eig eigh lstsq qr slogdet svd".split()
)
NON_DIFFERENTIABLE_KINDS = RULE_KINDS | {"filled", "filled_like", "text", "whole", "generator"}

# Parameters that the caller of a rule fills in, not the user.
RULE_OPTIONS = ("needs", "config", "written_later")


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
    linear: tuple[int | str, ...] = ()
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


_lock = threading.RLock()
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
    linear: Iterable[int | str] = (),
    order: int | None = None,
    flat: Iterable[str] = (),
    accepts: Iterable[type] = (),
    general: bool = False,
) -> Callable[[Function], Function]:
    """Decorator: the function below is the reverse rule of the functions `keys`.

    The rule takes the arguments of those functions and returns ``(y, pullback)``; ``pullback(y_bar)`` returns a tuple
    with one cotangent for each parameter, None where there is none. `result` says whether the value is ``"fresh"``
    memory, a ``"view"`` of an argument, or possibly the ``"same"`` object; None if unknown. `kind` names the kind of
    the value, `linear` the parameters it is linear in, `flat` those in which it is piecewise constant (a condition, a
    shape: an active argument there has the derivative zero and is not refused), and ``order=1`` says that the rule
    cannot be differentiated again. A later rule comes before an earlier one. Raises TypeError or ValueError if the
    declaration makes no sense.

    Two options are for built-in rules: `accepts` names types that the rule takes besides numbers and arrays (rules of
    users take anything), and with ``general=True`` the rule comes after another one of the same function: it gets the
    calls that the first one does not take, or declines.
    """
    _check_keys("rrule", keys)
    _check_declaration(result, kind, RULE_KINDS)

    def register(function: Function) -> Function:
        signature, options = _accepted_call(function)
        _add_rule(
            Rule(
                keys=keys,
                function=function,
                name=getattr(function, "__name__", repr(function)),
                signature=signature,
                result=result,
                kind=kind,
                linear=tuple(linear),
                order=order,
                options=options,
                flat=tuple(flat),
                accepts=tuple(accepts),
                builtin=_is_builtin(getattr(function, "__module__", None)),
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
    partials = tuple(entry for entry in keys_and_partials if _is_lambda(entry))
    keys = keys_and_partials[: len(keys_and_partials) - len(partials)]
    if keys_and_partials[len(keys) :] != partials:
        raise TypeError("scalar_rule takes first the functions, then the lambdas")
    _check_keys("scalar_rule", keys)
    _check_declaration(result, kind, RULE_KINDS)
    names = _argument_names(keys, partials)
    rule = Rule(
        keys=keys,
        function=_scalar_function(keys, partials),
        name=getattr(keys[0], "__name__", repr(keys[0])),
        signature=inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]),
        partials=partials,
        result=result,
        kind=kind,
        builtin=_is_builtin(partials[0].__module__),
    )
    _add_rule(rule)
    return rule


def non_differentiable(*keys: Key, kind: str | None = None) -> None:
    """Declare that the results of the functions `keys` carry no derivative, whatever the arguments.

    `kind` names the kind of the results: ``"text"`` of functions that make text of their arguments (it is an error to
    make a number of that again), ``"whole"`` of those that make a whole number even of text. What a user declares
    replaces an earlier rule of the same function.
    """
    _check_keys("non_differentiable", keys)
    _check_declaration(None, kind, NON_DIFFERENTIABLE_KINDS)
    builtin = _is_builtin(sys._getframe(1).f_globals.get("__name__"))
    global _rules, _non_differentiable, _refused
    with _lock:
        if builtin:
            _check_not_built_in(keys)
        else:
            _rules = {key: rules for key, rules in _rules.items() if key not in keys}
            _refused = {key: why for key, why in _refused.items() if key not in keys}
        _non_differentiable = _non_differentiable | {key: NonDiff(key, kind, builtin) for key in keys}
    _notify(keys)


def refused(*keys: Key, why: str) -> None:
    """Declare that the functions `keys` have a derivative that is not given: an active argument is an error.

    `why` are one or two sentences, and then what to do instead, on a line of its own.
    """
    _check_keys("refused", keys)
    what_to_do = why.split("\n")[1:]
    if len(what_to_do) != 1:
        raise ValueError(f"refused needs the reason, and on a second line what to do, not {why!r}")
    global _refused
    with _lock:
        _check_not_built_in(keys)
        _refused = _refused | dict.fromkeys(keys, why)
    _notify(keys)


def later(module: str, rules: str) -> None:
    """Import the built-in rules in the module `rules` as soon as a user has imported `module`, and not before."""
    global _waiting
    with _lock:
        _waiting = _waiting | {module: rules}


def opt_out(key: Key, *types: type) -> None:
    """Declare that no rule of `key` holds when an argument is an instance of one of `types` (or of a subclass).

    The function's own source is then differentiated instead.
    """
    _check_keys("opt_out", (key,))
    if not types or not all(isinstance(t, type) for t in types):
        raise TypeError(f"opt_out needs the types it holds for: opt_out({key_name(key)}, MyArray)")
    global _opt_outs
    with _lock:
        _opt_outs = _opt_outs | {key: _opt_outs.get(key, ()) + types}
    _notify((key,))


def lookup(key: Any, arg_types: Sequence[type] = ()) -> tuple[Rule, ...]:
    """The rules of the function `key`, the most specific first: rules of users before built-in ones, later first.

    Empty if there is none, or if a type in `arg_types` has opted out. A CuPy function has the rules of its NumPy twin.
    """
    _load_waiting()
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
    _load_waiting()
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
    _load_waiting()
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
    with _lock:
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


def _load_waiting() -> None:
    """Import the rules of packages that the user has imported by now."""
    global _waiting
    if _waiting.keys().isdisjoint(sys.modules.keys()):
        return
    with _lock:
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
    with _lock:
        if rule.builtin:
            _check_not_built_in(rule.keys, general)
        else:
            _non_differentiable = {k: found for k, found in _non_differentiable.items() if k not in rule.keys}
            _refused = {k: why for k, why in _refused.items() if k not in rule.keys}
        _rules = _rules | {key: _ordered(rule, _rules.get(key, ())) for key in rule.keys}
    _notify(rule.keys)


def _ordered(rule: Rule, earlier: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """`earlier` with `rule` at its place: users' rules first, the latest in front; the built-in one last."""
    return (*earlier, rule) if rule.builtin else (rule, *earlier)


def _notify(keys: tuple[Key, ...]) -> None:
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


def _check_keys(decorator: str, keys: tuple[Any, ...]) -> None:
    if not keys:
        raise TypeError(f"{decorator} needs the function that it is for: {decorator}(np.sin)")
    for position, key in enumerate(keys):
        if not callable(key) and not inspect.isdatadescriptor(key):
            raise TypeError(f"{decorator} is for functions and descriptors such as np.ndarray.T, not for {key!r}")
        if not isinstance(key, Hashable):
            raise TypeError(f"{decorator} needs a hashable function, and {key!r} is not")
        if key in keys[:position]:
            raise ValueError(f"{key_name(key)} is named twice; NumPy has aliases: keep one of them")


def _check_declaration(result: str | None, kind: str | None, kinds: frozenset[str]) -> None:
    if result not in RESULTS:
        raise ValueError(f"result={result!r} is not one of {', '.join(map(repr, RESULTS))}")
    if kind is not None and kind not in kinds:
        raise ValueError(f"kind={kind!r} is not one of {', '.join(sorted(kinds))}")


def _accepted_call(function: Any) -> tuple[inspect.Signature, tuple[str, ...]]:
    """The signature that users' calls are bound to, and the options that the rule takes besides."""
    if not callable(function):
        raise TypeError(f"a rule is a function that returns (y, pullback), not {function!r}")
    parameters = inspect.signature(function).parameters.values()
    options = [p.name for p in parameters if p.name in RULE_OPTIONS and p.kind is p.KEYWORD_ONLY]
    return inspect.Signature([p for p in parameters if p.name not in options]), tuple(options)


def _is_lambda(entry: Any) -> bool:
    return getattr(entry, "__name__", None) == "<lambda>"


def _is_builtin(module: str | None) -> bool:
    return module is not None and (module + ".").startswith("adcompiler.rules.")


def _argument_names(keys: tuple[Any, ...], partials: tuple[Callable[..., Any], ...]) -> list[str]:
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


def _scalar_function(keys: tuple[Any, ...], partials: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
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
