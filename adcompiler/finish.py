"""What a transform does around a pair: the seed before the backward, projection and structure after it.

Each finisher takes a `Compiled` and returns the `Finish` that its entry calls after the forward.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.activity import activity
from adcompiler.alias import alias
from adcompiler.entry import Finish
from adcompiler.errors import (
    MutationError,
    NotScalarError,
    PullbackConsumedError,
    definition_of,
    locate,
    refuse,
)
from adcompiler.kept import Kept, plan_of, remembered
from adcompiler.lattice import Closure, Inert, Observed, Unknown, can_be_active, is_scalar
from adcompiler.pipeline import Compiled
from adcompiler.program import signature_of
from adcompiler.runtime.arrays import like_of
from adcompiler.runtime.bars import Bars, Tracked
from adcompiler.runtime.domain import writes_nothing
from adcompiler.runtime.held import hold, hold_arrays
from adcompiler.runtime.project import detach, materialize, project
from adcompiler.runtime.release import current, current_stream, using
from adcompiler.runtime.resolved import is_caller
from adcompiler.runtime.tangents import accumulate
from adcompiler.runtime.walk import check_cotangent, is_array
from adcompiler.texts import number_of_text
from adcompiler.variants import shown
from adcompiler.wanted import Wanted, check_pair, check_scalar, positional_parameters

_FLOATS = frozenset({float, np.float64, np.float32, np.float16, np.longdouble})


# --- gradients --------------------------------------------------------------------------------------------


def grad_finisher(mode: str, names: Wanted, as_tuple: bool, compiled: Compiled) -> Finish:
    """The part of a gradient after its forward."""
    pair, backward = compiled.pair, compiled.alone[1]
    function_name = compiled.request.function.__qualname__
    params = compiled.spec.params
    active = pair.active
    has_aux = mode == "aux"
    wanted = wanted_of(names, compiled)
    arrays = with_memory(compiled)
    constant = len(arrays) < len(params)
    place = definition_of(compiled.request.function)
    check_found(compiled)

    def finish(value: Any, saved: Any, *arguments: Any) -> Any:
        seed: Any = 1.0
        try:
            if has_aux:
                check_pair(value, function_name)
            loss = value[0] if has_aux else value
            if type(loss) not in _FLOATS:
                check_scalar(loss, function_name)
                seed = seed_of(loss)
        except NotScalarError as error:
            locate(error, place)
            raise
        return rest(value, saved, backward(saved, (seed, None) if has_aux else seed) if active else (), *arguments)

    def rest(value: Any, saved: Any, cts: Any, *arguments: Any) -> Any:
        arguments = at_entry(saved, arguments)
        out = tuple(zero_if_none(project(ct, primal), primal) for ct, primal in wanted(cts, arguments))
        whole = detach(out, ([arguments[i] for i in arrays] if constant else arguments, value))
        grads = whole if as_tuple else whole[0]
        return grads if mode == "gradient" else (value, grads)

    if has_aux or len(active) != 1 or names != ((active[0], None),):
        return Finish(finish)
    bound = {"FLOATS": _FLOATS, "finish": finish, "backward": backward, "rest": rest}
    return Finish(finish, _float_lines(active[0], as_tuple, mode), bound)


def wanted_of(names: Wanted, compiled: Compiled) -> Callable[[Any, Any], list[tuple[Any, Any]]]:
    """From what the backward gives, and the arguments, to cotangent and value of each one that is asked for."""
    params, active = compiled.spec.params, compiled.pair.active
    where = [params.index(name) for name, _ in names]
    slots = [active.index(params[i]) if params[i] in active else None for i in where]
    places = [(i, slot, position) for i, slot, (_, position) in zip(where, slots, names, strict=True)]
    single = len(active) == 1

    def wanted(cts: Any, arguments: Any) -> list[tuple[Any, Any]]:
        out = []
        by_slot = (cts,) if single else cts
        for i, slot, position in places:
            primal = arguments[i]
            ct = None if slot is None else by_slot[slot]
            if position is not None:
                primal, ct = primal[position], None if ct is None else ct[position]
            out.append((ct, primal))
        return out

    return wanted


def check_found(compiled: Compiled) -> None:
    """Raise if the result is made of text in which a derivative was lost."""
    if isinstance(compiled.spec.result, Inert | Unknown) and activity(compiled.spec, compiled.pair.mask).lost:
        raise number_of_text(compiled.spec.function)


def seed_of(loss: Any) -> Any:
    """The cotangent 1 of a loss: a float, or on the device where an array is."""
    return 1.0 if like_of(loss) is None else np.ones_like(loss)


def _float_lines(param: str, as_tuple: bool, mode: str) -> tuple[str, ...]:
    """The gradient of one float: all of it in the entry, since its calls would cost as much as the arithmetic."""
    bare = "(float($bar),)" if as_tuple else "float($bar)"
    return (
        "$value, $saved = $forward({names})",
        "if type($value) not in $FLOATS:",
        "    return $finish($value, $saved, {names})",
        "$bar = $backward($saved, 1.0)",
        f"if type({param}) is float and isinstance($bar, float):",
        f"    return {bare if mode == 'gradient' else f'$value, {bare}'}",
        "return $rest($value, $saved, $bar, {names})",
    )


def with_memory(compiled: Compiled) -> list[int]:
    """The positions of the parameters in which a gradient may find arrays of its own kind of numbers."""
    kinds = compiled.spec.kinds
    return [i for i, kind in enumerate(kinds) if not (isinstance(kind, Observed) and kind.inert)]


def at_entry(saved: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments as they were when the forward began, which may have written into them."""
    return saved.arguments if isinstance(saved, Tracked) else arguments


def zero_if_none(grad: Any, value: Any) -> Any:
    """A float or array without influence has the gradient zero; structures keep their None."""
    if grad is None and (isinstance(value, float | complex) or is_array(value)):
        return materialize(grad, value)
    return grad


# --- pullbacks --------------------------------------------------------------------------------------------


def pullback_finisher(single_use: bool, compiled: Compiled) -> Finish:
    """The part of a pullback after its forward."""
    pair, backward = compiled.pair, compiled.alone[1]
    signature = signature_of(compiled.request.function)
    positional = positional_parameters(signature)
    arrays = with_memory(compiled)
    active = pair.active
    plan, function = plan_of(compiled), compiled.request.function

    def finish(value: Any, saved: Any, *arguments: Any) -> Any:
        primals = dict(zip(signature.parameters, at_entry(saved, arguments), strict=True))
        kept: list[Any] = [saved]
        del saved
        release = current()
        stream = current_stream() if single_use else None

        def make_back(start: int, stop: int) -> Callable[[Any], tuple[Any, ...]]:
            return remembered(lambda ct: back(ct)[start:stop], Kept(plan, kept, arguments, value))  # type: ignore[no-any-return]

        def back(ct: Any) -> tuple[Any, ...]:
            if not kept:
                raise _consumed(function)
            check_cotangent(ct, value)
            seed = project(ct, value)
            record = kept.pop() if single_use else kept[0]
            try:
                with using(release, stream):
                    cts = backward(record, seed) if seed is not None and active else (None,) * len(active)
            except Exception as error:
                raise shown(error)  # noqa: B904  it is the same exception
            by_name = dict(zip(active, (cts,) if len(active) == 1 and seed is not None else cts, strict=True))
            values = record.record if isinstance(record, Tracked) else record
            own = [arguments[i] for i in arrays]
            foreign = (own, value, seed, ct, [s for s in values if not isinstance(s, list)])
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


def _consumed(function: Any) -> PullbackConsumedError:
    return refuse(
        PullbackConsumedError,
        f"this pullback of {function.__qualname__} has been called before",
        definition_of(function),
        "It was made with single_use=True, and has freed what it had read.",
        "Make it with single_use=False to call it again.",
    )


# --- calls at run time ------------------------------------------------------------------------------------


def call_finisher(again: bool, bound: dict[str, Any], count: int, strict: bool, compiled: Compiled) -> Finish:
    """The value and a pullback with one cotangent per argument; `bound` has their positions, parameter by parameter."""
    active, backward, plan = compiled.pair.active, compiled.alone[1], plan_of(compiled)
    _check_reads(compiled, strict)
    known = again or writes_nothing(compiled.request.function)  # these write into nothing that they are given
    unseen = compiled.pair.table and compiled.program.escaped and not known
    if alias(compiled.spec).sure_writes or unseen:
        raise refuse(
            MutationError,
            *_writer(compiled.request.function),
            "The function that calls it was compiled without knowing that.",
            "Let it return a new container, or call it by its own name.",
        )

    def finish(value: Any, saved: Any, *arguments: Any) -> Any:
        def back(y_bar: Any) -> Any:
            return _aligned(active, backward(saved, (y_bar, y_bar := None)[0]) if active else (), bound, count)

        return value, remembered(back, Kept(plan, [saved]))

    return Finish(finish)


def _check_reads(compiled: Compiled, strict: bool) -> None:
    """Raise if a function reads arrays from outside, where its caller writes into such."""
    guards = compiled.program.guards.values() if strict else ()
    inert = {guard.path for guard in guards if not can_be_active(guard.kind)}
    for guard in guards:
        # What a closure has captured has guards of its own.
        read = guard.path[0].form in ("global", "cell") and not isinstance(guard.kind, Closure)
        within = any(guard.path[: i + 1] in inert for i in range(len(guard.path)))
        if read and not within and can_be_active(guard.kind) and not is_scalar(guard.kind):
            raise refuse(
                MutationError,
                *_reader(compiled.request.function),
                "Such arrays are written into by the function that calls it.",
                "Pass the array as an argument, or call the function by its own name.",
            )


def _reader(function: Any) -> tuple[str, Any]:
    """What is said of a function that reads an array from outside, and the line."""
    if is_caller(function):
        return "a function that is only known at run time reads an array from outside", None
    what = f"{function.__qualname__} is only known at run time, and reads an array from outside"
    return what, definition_of(function)


def _writer(function: Any) -> tuple[str, Any]:
    """What is said of a function that writes; the line is that of the call."""
    if is_caller(function):
        return "a function that is only known at run time writes into what it is given or has captured", None
    return f"{function.__qualname__} is only known at run time, and writes into its arguments", None


def shared_finisher(bound: dict[str, Any], count: int, strict: bool, compiled: Compiled) -> Finish:
    """The same for a caller with a table of cotangents, which the pullback is given."""
    pair, backward, plan = compiled.pair, compiled.backward, plan_of(compiled)
    active, hot, table, params = pair.active, pair.hot, pair.table, pair.params
    _check_reads(compiled, strict)
    if alias(compiled.spec).sure_writes:
        raise refuse(
            MutationError,
            *_writer(compiled.request.function),
            "What the function that calls it keeps of them could not be protected.",
            "Let it return a new array, or call it by its own name.",
        )

    spread = {name for name, position in bound.items() if isinstance(position, dict)}

    def finish(value: Any, saved: Any, *arguments: Any) -> Any:
        held, arrays = hold(value), hold_arrays(value) if hot else None
        named = [(n, a) for n, a in zip(params, arguments, strict=True) if n in spread] if spread else []

        def back(y_bar: Any, bars: Bars) -> Any:
            if hot:  # into the shadows, where the function expects it
                y_bar = bars.give(arrays, accumulate(y_bar, bars.release(held)))
            else:  # a caller that writes into arrays has taken what there was of an object out of the table
                y_bar = bars.give(held, y_bar)
            cts = _aligned(active, backward(saved, y_bar, bars), bound, count)
            taken = {bound[n][key]: bars.take(own, key) for n, own in named for key in bound[n]}
            return tuple(accumulate(ct, taken.get(i)) for i, ct in enumerate(cts)) if taken else cts

        return value, remembered(back, Kept(plan, [saved]))

    def finish_by_value(value: Any, saved: Any, *arguments: Any) -> Any:
        held = {name: _held(a, name in spread) for name, a in zip(params, arguments, strict=True)}
        made = hold(value)

        def back(y_bar: Any, bars: Bars) -> Any:
            y_bar = accumulate(y_bar, bars.release(made))
            if y_bar is None or not active:
                return (None,) * count
            cts = backward(saved, y_bar, bars) if table else backward(saved, y_bar)
            each = (cts,) if len(active) == 1 else cts
            rest = tuple(_given(held[name], ct, bars) for name, ct in zip(active, each, strict=True))
            return _aligned(active, rest[0] if len(rest) == 1 else rest, bound, count)

        return value, remembered(back, Kept(plan, [saved]))

    return Finish(finish if pair.tracks else finish_by_value, shares=True)


def _held(argument: Any, spread: bool) -> Any:
    """What an argument holds; of `**kwargs`, a dict that the call makes, what its values hold."""
    return {key: hold(value) for key, value in argument.items()} if spread else hold(argument)


def _given(held: Any, ct: Any, bars: Bars) -> Any:
    """The cotangent of an argument without what belongs into the table."""
    if type(held) is dict and ct is not None:
        return {key: bars.give(held[key], c) for key, c in ct.items()}
    return bars.give(held, ct)


def _aligned(active: tuple[str, ...], cts: Any, bound: dict[str, Any], count: int) -> tuple[Any, ...]:
    """The cotangents of the active parameters as those of the call's arguments and keywords."""
    by_name = dict(zip(active, (cts,) if len(active) == 1 else cts, strict=True))
    out: list[Any] = [None] * count
    for name, position in bound.items():
        ct = by_name.get(name)
        if isinstance(position, tuple):
            for i, p in enumerate(position):
                out[p] = None if ct is None else ct[i]
        elif isinstance(position, dict):
            for key, p in position.items():
                out[p] = None if ct is None else ct.get(key)
        else:
            out[position] = ct
    return tuple(out)
