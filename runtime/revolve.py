"""`checkpoint_loop(body, state, n)`: a loop of which a few states are kept, and the others are computed from these.

Which ones is the binomial schedule of Griewank and Walther ("revolve", 2000): with c states kept at a time, and every
step computed r times more at most, n = (c + r)! / (c! r!) steps are reversed, and no other schedule needs fewer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adcompiler.runtime.checkpoints import NOTHING, Call, samples_of
from adcompiler.runtime.frozen import as_called
from adcompiler.runtime.marks import differentiating
from adcompiler.runtime.randomness import States, generators, moved_on, replayed, states
from adcompiler.runtime.tangents import accumulate


def checkpoint_loop(body: Callable[[int, Any], Any], state: Any, n: int, *, snapshots: int | None = None) -> Any:
    """The state after `n` steps, ``for i in range(n): state = body(i, state)``, of which a pullback keeps a few.

    A state may have any structure; further arguments are what `body` captures, and have their cotangents. `snapshots`
    states are kept at a time, the first one included: by default about 2 log2(n), with which the steps are computed
    about log10(n) times more. With k snapshots and r times n computations more, (k + r)! / (k! r!) steps are reversed.
    `body` is called as by `checkpoint`: it must not write into arrays that it is given, draws the same random numbers
    again, and its effects are repeated. Raises ValueError for less than one snapshot.
    """
    check_snapshots(n, snapshots)
    for i in range(n):
        state = body(i, state)
    return state


def check_snapshots(n: int, snapshots: int | None) -> int:
    """How many states are kept, if that makes sense."""
    if snapshots is not None and snapshots < 1:
        raise ValueError(f"checkpoint_loop keeps at least one state, and snapshots is {snapshots}")
    return snapshots or max(1, 2 * math.ceil(math.log2(max(n, 1) + 1)))


def reach(kept: int, times: int) -> int:
    """How many steps can be reversed with `kept` states, each step being computed `times` more at most."""
    return math.comb(kept + times, kept) if times >= 0 and kept >= 0 else 0


def split(length: int, kept: int) -> int:
    """After how many of `length` steps the next state is kept, where `kept` can be, the first of them included."""
    times = 1
    while reach(kept, times) < length:
        times += 1
    return min(max(length - reach(kept - 1, times), reach(kept, times - 2), 1), length - 1)


@dataclass(frozen=True)
class Snapshot:
    """The state before a step, and the generators of random numbers then."""

    state: Any
    before: States


class Steps:
    """The loop as it runs once, with the states that it keeps, and its way back."""

    def __init__(
        self, config: Any, written_later: str | None, body: Any, state: Any, n: int, snapshots: int | None
    ) -> None:
        self.kept = check_snapshots(n, snapshots)
        self.n = n
        self.outside = written_later == "outside"
        self.wanted = (config.wanted[0], False, config.wanted[1])
        self.single_use = config.single_use
        self.original = body
        self.body, state = as_called((body, state), arrays=written_later is not None)
        self.steady = as_called(self.body, arrays=False) is self.body
        self.sources = generators(body, state)
        self.snapshots = {0: Snapshot(state, states(self.sources))}
        self.samples: dict[int, Any] = {}

    def run(self, state: Any) -> Any:
        """The loop; afterwards it has the states that the reverse begins with."""
        keep, first = set(_first_kept(self.n, self.kept)), self.snapshots[0].before
        for i in range(self.n):
            if i in keep and i:
                self.snapshots[i] = Snapshot(as_called(state, arrays=False), states(self.sources))
                self.samples[i] = list(samples_of(state))
            with differentiating():
                state = self.original(i, state)
        self.original = None
        if self.n:
            self.samples[self.n] = list(samples_of(state))
        moved = [source for source, _ in moved_on(first)]
        for i, kept in self.snapshots.items():
            drawn = [(source, s) for source, s in kept.before if any(source is m for m in moved)]
            self.snapshots[i] = Snapshot(kept.state, drawn)
        self.sources = moved
        return state

    def pullback(self, state_bar: Any) -> tuple[Any, Any]:
        """The cotangents of the body, and of the state at the beginning."""
        bars = [None, state_bar]
        end = self.n
        for number, start in reversed(list(enumerate(self.snapshots))):
            first = self.snapshots.pop(start) if self.single_use else self.snapshots[start]
            self._reverse(start, end, self.kept - number, first, bars)
            end = start
        return bars[0], bars[1]

    def _reverse(self, start: int, end: int, kept: int, first: Snapshot, bars: list[Any]) -> None:
        """The steps from `start` to `end` backwards; `bars` has the cotangents of the body and the state."""
        while end - start > 1:
            middle = start + (split(end - start, kept) if kept > 1 else end - start - 1)
            self._reverse(middle, end, kept - 1, self._advanced(start, middle, first), bars)
            end = middle
        if end > start and bars[1] is not None:
            call = Call(self.wanted, self.outside, self.body, (start, first.state), {}, first.before)
            call.samples = self.samples.get(end)
            call.steady = self._is_steady(first.state)
            body_bar, _, bars[1] = call.pullback(bars[1])
            bars[0] = accumulate(bars[0], body_bar)

    def _advanced(self, start: int, end: int, first: Snapshot) -> Snapshot:
        """The state before the step `end`, from that before `start`."""
        body, state = self.body, first.state
        if not self._is_steady(state):
            body, state = as_called((body, state), arrays=False)
        with replayed(first.before) if first.before else NOTHING, differentiating():
            for i in range(start, end):
                state = body(i, state)
            return Snapshot(state, states(self.sources))

    def _is_steady(self, state: Any) -> bool:
        """Whether a step can change nothing of what it is given but the numbers in an array."""
        return self.steady and type(state) is np.ndarray


def _first_kept(n: int, kept: int) -> list[int]:
    """The steps before which the state is kept as the loop runs forward."""
    out, start = [0], 0
    while n - start > 1 and kept > 1:
        start += split(n - start, kept)
        kept -= 1
        out.append(start)
    return out


__all__ = ["Steps", "checkpoint_loop", "reach", "split"]
