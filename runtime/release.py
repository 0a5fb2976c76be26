"""How much of its memory a single-use pullback gives back while it runs, and what has been given back.

`drop` lets go of every value at its last use; `free` also returns the memory of device arrays at once; `reuse` also
writes results into arrays that are not needed any more.  None of them changes a number.  `poison` is for tests: what
would be freed is filled with NaN instead.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import itertools
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from adcompiler.runtime.arrays import is_device_class

MODES = ("off", "drop", "free", "reuse", "poison")
LIMIT = 1 << 16  # bytes: for smaller arrays the tests cost more than the memory


@dataclass(frozen=True)
class Release:
    """How much is released, and the size in bytes from which on arrays are freed and reused.

    `small` is what a mode becomes where all arguments are smaller than that: it only drops.
    """

    mode: str = "reuse"
    above: int = LIMIT
    small: bool = False

    @property
    def drops(self) -> bool:
        """Whether values are let go at their last use."""
        return self.mode != "off"

    @property
    def frees(self) -> bool:
        """Whether memory is returned explicitly."""
        return self.mode in ("free", "reuse", "poison") and not self.small

    @property
    def reuses(self) -> bool:
        """Whether results are written into arrays that are not needed any more."""
        return self.mode == "reuse" and not self.small

    def fitting(self, arguments: Any) -> Release:
        """What becomes of it for the arguments of a call."""
        return self if not self.frees or _has_large(arguments, self.above) else replace(self, small=True)


def _has_large(value: Any, above: int, depth: int = 8) -> bool:
    """Whether a value is or holds an array of a size, or one on a device, where no test costs too much."""
    if above == 0:
        return True
    if isinstance(value, np.ndarray):
        return value.nbytes >= above
    if is_device_class(type(value)):
        return True
    if depth == 0 or isinstance(value, str | bytes | type):
        return False
    items: Any = value if type(value) in (list, tuple) else value.values() if type(value) is dict else None
    if items is None:
        items = vars(value).values() if type(getattr(value, "__dict__", None)) is dict else ()
    return any(_has_large(item, above, depth - 1) for item in itertools.islice(items, 1000))


OFF = Release("off")


def _checked(mode: str, above: int | None) -> Release:
    if mode not in MODES:
        raise ValueError(f"release mode {mode!r} is not one of {', '.join(MODES)}")
    return Release(mode, (0 if mode == "poison" else LIMIT) if above is None else above)


def _of_environment() -> Release:
    above = os.environ.get("ADCOMPILER_RELEASE_ABOVE")
    return _checked(os.environ.get("ADCOMPILER_RELEASE_MODE", "reuse"), None if above is None else int(above))


_current: contextvars.ContextVar[Release] = contextvars.ContextVar("release", default=_of_environment())  # noqa: B039  it is frozen
current = _current.get


@contextlib.contextmanager
def release_mode(mode: str, above: int | None = None) -> Iterator[None]:
    """What single-use pullbacks made inside the `with` release: "off", "drop", "free", "reuse" or "poison".

    Each mode includes those before it; "reuse" is the default. `above` is the size in bytes from which on arrays are
    freed and reused (64 KiB; 0 under "poison"). For a whole run there are the environment variables
    ADCOMPILER_RELEASE_MODE and ADCOMPILER_RELEASE_ABOVE. Raises ValueError for another mode.
    """
    with _set(_checked(mode, above)):
        yield


@contextlib.contextmanager
def _set(release: Release) -> Iterator[None]:
    token = _current.set(release)
    try:
        yield
    finally:
        _current.reset(token)


# --- streams ----------------------------------------------------------------------------------------------

Stream = tuple[int, int, Any] | None


def current_stream() -> Stream:
    """What CuPy computes on now: a stream of a device; None where there is no CuPy, or no device.

    The default stream of a thread has the same number in every thread, which is therefore a part of it.
    """
    cupy = sys.modules.get("cupy")
    if cupy is None or not _has_device(cupy):
        return None
    return threading.get_ident(), cupy.cuda.runtime.getDevice(), cupy.cuda.get_current_stream()


@functools.cache
def _has_device(cupy: Any) -> bool:
    return bool(cupy.cuda.is_available())


_NOTHING = contextlib.nullcontext()


def using(release: Release, stream: Stream = None) -> contextlib.AbstractContextManager[None]:
    """A `with` in which a release mode holds: that in which a pullback was made, whose forward ran on `stream`."""
    if stream is not None and stream != current_stream():
        return _elsewhere(release, stream[2])
    return _NOTHING if current() is release else _set(release)


@contextlib.contextmanager
def _elsewhere(release: Release, stream: Any) -> Iterator[None]:
    """The same on another stream than that of the forward, to which the memory of the forward returns.

    There it might be taken again while this stream still computes with it. So nothing is freed or reused meanwhile, and
    the other stream goes on when this one has done what it was asked for; nobody else waits for that.
    """
    try:
        with _set(replace(release, above=sys.maxsize)):
            yield
    finally:
        now = current_stream()
        if now is not None:
            stream.wait_event(now[2].record())


# --- counts -----------------------------------------------------------------------------------------------


class ReleaseStats(NamedTuple):
    """Counts since the program started.

    `released` arrays, of `bytes` in all, were freed; `shared` ones were left alone, since another array has their
    memory; results went into `reused` arrays, of `reused_bytes` in all; `poisoned` ones were filled with NaN.
    """

    released: int = 0
    shared: int = 0
    bytes: int = 0
    reused: int = 0
    reused_bytes: int = 0
    poisoned: int = 0


counts = dict.fromkeys(ReleaseStats._fields, 0)


def release_stats() -> ReleaseStats:
    """What single-use pullbacks have released so far; see `ReleaseStats`."""
    return ReleaseStats(**counts)


__all__ = [
    "LIMIT",
    "MODES",
    "OFF",
    "Release",
    "ReleaseStats",
    "counts",
    "current",
    "current_stream",
    "release_mode",
    "release_stats",
    "using",
]
