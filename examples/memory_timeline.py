"""Draw how many bytes are alive while a function and its pullback run, line by line of the generated code.

    python examples/memory_timeline.py [memory_timeline.png]

Two programs, a multilayer perceptron and steps in time, each with a pullback that can be called again and with one for
single use, which frees what it has read. What is counted is what `tracemalloc` sees at each line, beyond what was there
before the call. The picture needs matplotlib, the measuring does not.
"""

import argparse
import gc
import sys
import tracemalloc
from typing import NamedTuple

import numpy as np

from adcompiler import memory_report, pullback


class Event(NamedTuple):
    """A line of the generated code is about to run: the bytes alive, and the most there were since the last one."""

    phase: str
    live: int
    peak: int


def perceptron(params, x):
    """The mean square of what a perceptron of several layers makes of `x`."""
    for w, b in params:
        x = np.tanh(x @ w + b)
    return np.mean(x * x)


def steps(u, k):
    """The energy of a chain of pendulums after some steps in time."""
    v = np.zeros_like(u)
    for _ in range(40):
        v = v + 0.1 * (k * (np.roll(u, 1) - 2.0 * u + np.roll(u, -1)) - np.sin(u))
        u = u + 0.1 * v
    return np.sum(v * v)


def programs(size):
    """The two functions with arguments whose arrays have `size` rows or thousands of elements."""
    rng = np.random.default_rng(0)
    params = [(rng.normal(size=(64, 64)) / 8.0, np.zeros(64)) for _ in range(8)]
    return {
        "perceptron of 8 layers": (perceptron, (params, rng.normal(size=(16 * size, 64)))),
        "40 steps in time": (steps, (rng.normal(size=1000 * size), 0.5)),
    }


def timeline(f, args, single_use):
    """The events of one call of `f` and of its pullback, and what the pullback kept in between."""
    pullback(f, *args, single_use=single_use)[1](1.0)  # compiled, and whatever else is done once
    events, phase, start = [], "forward", 0

    def note(*_):
        live, peak = tracemalloc.get_traced_memory()
        events.append(Event(phase, live - start, peak - start))
        tracemalloc.reset_peak()
        return note

    def calls(frame, *_):
        return note if frame.f_code.co_filename.startswith("<adcompiler ") else None

    gc.collect()
    tracemalloc.start()
    before = sys.gettrace()
    start, _ = tracemalloc.get_traced_memory()
    try:
        sys.settrace(calls)
        value, back = pullback(f, *args, single_use=single_use)
        sys.settrace(before)
        kept = memory_report(back).total
        phase = "pullback"
        note()
        sys.settrace(calls)
        gradients = back(1.0)
        sys.settrace(before)
        note()
    finally:
        sys.settrace(before)
        tracemalloc.stop()
    del value, gradients
    return events, kept


def draw(measured, path):
    """One axis for each program, one line for each way to call it; the dashed line is where the pullback begins."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise SystemExit("The picture needs matplotlib: pip install -e '.[plots]'") from None
    figure = Figure(figsize=(10, 4), layout="constrained")
    for axis, (name, ways) in zip(figure.subplots(1, len(measured)), measured.items(), strict=True):
        for way, (events, _) in ways.items():
            (line,) = axis.plot([e.live / 2**20 for e in events], label=way, drawstyle="steps-post")
            axis.plot([e.peak / 2**20 for e in events], color=line.get_color(), alpha=0.3, linewidth=0.8)
            begin = next(i for i, e in enumerate(events) if e.phase == "pullback")
            axis.axvline(begin, color=line.get_color(), linestyle="--", linewidth=0.8)
        axis.set(title=name, xlabel="lines of generated code that have run", ylabel="MiB alive", ylim=(0, None))
        axis.legend()
    figure.savefig(path, dpi=120)


def measure(size=40):
    """The timelines of all programs, reusable and for single use."""
    ways = {"reusable": False, "single use": True}
    return {
        name: {way: timeline(f, args, single_use) for way, single_use in ways.items()}
        for name, (f, args) in programs(size).items()
    }


def main():
    parser = argparse.ArgumentParser(description="Draw what is alive while a pullback is made and called.")
    parser.add_argument("path", nargs="?", default="memory_timeline.png", help="the picture (default: %(default)s)")
    path = parser.parse_args().path
    measured = measure()
    for name, ways in measured.items():
        for way, (events, kept) in ways.items():
            peak = max(event.peak for event in events)
            print(
                f"{name}, {way}: the pullback keeps {kept / 2**20:.1f} MiB, "
                f"at most {peak / 2**20:.1f} MiB are alive, {events[-1].live / 2**20:.1f} MiB after its call"
            )
    draw(measured, path)
    print(f"drawn in {path}")


if __name__ == "__main__":
    main()
