"""What holds of memory that single-use pullbacks give back, on arrays of the double and on those of CuPy.

Each of `CHECKS` is called with the memory: its arrays, its peak, and a limit.
"""

import contextlib
import functools

import numpy as np

from adcompiler import differentiable, gradient, pullback, release_mode, release_stats, value_and_grad
from adcompiler.runtime.reuse import _quarantine, free, reuse
from adcompiler.vectors import inner, random_like
from benchmarks import release as network
from tests import release_programs as programs
from tests.differences import numerical_gradient

MODES = ("off", "drop", "free", "reuse", "poison")
SIZE = 256, 64  # the batch and the layers of the network: an activation is 64 KiB
UNIT = 4 * SIZE[0] * SIZE[1]
N = 4  # rows and columns of the other arrays


def moved(value, convert):
    """A structure of lists and tuples with its arrays converted."""
    if isinstance(value, (tuple, list)):
        return type(value)(moved(entry, convert) for entry in value)
    return convert(value) if hasattr(value, "dtype") else value


def on_host(value):
    """A copy of a structure with arrays of NumPy."""
    return moved(value, lambda x: x.get() if hasattr(x, "get") else x.copy())


def assert_equal(actual, expected, tolerance=0.0):
    if isinstance(expected, (tuple, list)):
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected, strict=True):
            assert_equal(a, e, tolerance)
    elif expected is not None:
        np.testing.assert_allclose(0.0 if actual is None else actual, expected, tolerance, tolerance)


def sample():
    """An array of NumPy with small different numbers."""
    return np.linspace(-0.7, 0.9, N * N).reshape(N, N) ** 3 + 0.2


def overwrite(memory):
    """Take all the memory that has been given back for something else."""
    return [memory.arrays(np.full(shape, 7.0)) for shape in ((N, N), (N,), ()) for _ in range(20)]


@contextlib.contextmanager
def counted():
    """What the statistics go up by in the `with`: a dict, filled at the end."""
    before, found = release_stats(), {}
    yield found
    found.update(zip(before._fields, (b - a for a, b in zip(before, release_stats(), strict=True)), strict=True))


# --- the network of the benchmark -------------------------------------------------------------------------

# The most that forward and backward need, in activations, and the least of a backward that gives nothing back. Written
# by hand one that drops needs 8 and 8, one that writes into dead buffers 8 and 7.25, one that drops nothing 21.5.
PEAKS = {"reusable": (9.1, 21.5), "off": (9.1, 21.5), "drop": (8.1, 8.1), "free": (8.1, 8.1), "reuse": (8.1, 7.3)}
LEAST = 11.0


def check_peak(memory, program, mode):
    """Forward and backward need no more than those written by hand, and the gradients remain."""
    forward, kept, backward, remaining = network.measured(memory, program, mode, SIZE)
    most = PEAKS[mode]
    assert forward <= most[0]
    assert abs(kept - 7.0) < 0.1
    assert backward <= most[1]
    if mode in ("reusable", "off"):
        assert backward >= LEAST
    else:
        assert abs(remaining - 2.5) < 0.1


def by_hand(x, t, layers):
    """The gradients of the network with respect to its layers, by the chain rule."""
    hs = [x]
    for W, b in layers:
        hs.append(np.tanh(hs[-1] @ W + b))
    h_bar = 2 * (hs[-1] - t)
    grads = []
    for (W, _), h, y in reversed(list(zip(layers, hs[:-1], hs[1:], strict=True))):
        s_bar = h_bar * (1 - y * y)
        grads.insert(0, (h.T @ s_bar, s_bar.sum(0)))
        h_bar = s_bar @ W.T
    return grads


def slope(memory, mode, program=network.looped):
    """The gradient of the network with respect to its layers, and how much the statistics went up by."""
    x, t, layers = network.inputs(SIZE)
    with release_mode(mode), counted() as found:
        grads = gradient(program, 2)(*memory.arrays((x, t, layers)))
    return on_host(grads), found


def numbers(memory):
    """The gradients of the network are those by the chain rule, the same to the bit in every mode."""
    expected = by_hand(*moved(network.inputs(SIZE), lambda a: a.astype(float)))
    first = slope(memory, "off")[0]
    assert_equal(first, expected, 1e-3)
    for program in (network.looped, network.helped):
        for mode in MODES:
            assert_equal(slope(memory, mode, program)[0], first, 0.0 if program is network.looped else 1e-6)


def statistics(memory):
    """Each mode gives back what it says: arrays are freed, results go into dead ones, or neither."""
    done = {mode: {k for k, n in slope(memory, mode)[1].items() if n} for mode in MODES}
    assert set() == done["off"] == done["drop"]
    assert {"released", "bytes"} <= done["free"] <= {"released", "bytes", "shared"}
    assert {"reused", "reused_bytes"} <= done["reuse"]
    assert {"poisoned"} == done["poison"]
    freed = slope(memory, "free")[1]
    assert freed["released"] >= network.L  # 1 - h * h of each layer
    assert freed["bytes"] >= network.L * UNIT
    assert slope(memory, "reuse")[1]["reused_bytes"] >= network.L * UNIT


def small_arrays(memory):
    """Arrays below the size are neither freed nor reused."""
    x, t, layers = memory.arrays(network.inputs(SIZE))
    for mode in ("free", "reuse"):
        with release_mode(mode, above=UNIT + 1), counted() as found:
            gradient(network.looped, 2)(x, t, layers)
        assert not any(found.values())


def limit(memory):
    """A network whose pullback for single use fits into the memory does not fit with one that can be called again."""
    for program, most in (("unrolled", 9.0), ("loop", 9.0), ("helpers", 9.0), ("objects", 9.0)):
        f, arguments = network.PROGRAMS[program]
        f = differentiable(f, nondiff=("t",))
        for single_use in (True, False):
            _in_limit(memory, f, arguments, most, single_use)


def _in_limit(memory, f, arguments, most, single_use):
    pullback(f, *arguments(*memory.arrays(network.inputs(SIZE))), single_use=single_use)[1](None)  # to compile it
    given = arguments(*memory.arrays(network.inputs(SIZE)))
    seed = memory.arrays(np.ones((), "f"))
    with memory.limited(int(most * UNIT)):
        try:
            pullback(f, *given, single_use=single_use)[1](seed)
        except MemoryError:
            assert not single_use
        else:
            assert single_use


def nothing_stays(memory):
    """When the results are gone so is all their memory, without the garbage collector."""
    for name, call in (("objects", _pulled_back), ("loop", _slope_of_all)):
        f, arguments = network.PROGRAMS[name]
        given = arguments(*memory.arrays(network.inputs(SIZE)))
        for mode in MODES:
            with release_mode(mode):
                call(f, given)  # to compile it
                _quarantine.clear()
                before = memory.out()
                call(f, given)
                _quarantine.clear()
                assert memory.out() == before, (name, mode)


def _pulled_back(f, given):
    loss, back = pullback(f, *given, single_use=True)
    back(np.ones_like(loss))


def _slope_of_all(f, given):
    value_and_grad(f, tuple(range(len(given))))(*given)


# --- views, and arrays that the user has ------------------------------------------------------------------


def check_program(memory, program):
    """In every mode the gradients are right, and arguments, value and cotangent stay as they were."""
    x = sample()
    value = program(x)
    seed = random_like(value, np.random.default_rng(3))
    expected = numerical_gradient(lambda x: inner(seed, program(x)), x)
    for mode in MODES:
        for make in (functools.partial(pullback, single_use=True), pullback):
            given, ct = memory.arrays((x, seed))
            with release_mode(mode):
                y, back = make(program, given)
                (grad,) = back(ct)
            others = overwrite(memory)
            assert_equal(on_host((given, y, ct)), (x, value, seed), 1e-12)
            assert_equal(on_host(grad), expected, 1e-7)
            grad[...] = 5.0
            assert_equal(on_host((given, y, ct)), (x, value, seed), 1e-12)
            assert_equal(on_host(others[0]), np.full((N, N), 7.0))


def _of_the_user(memory, take, expected):
    """What `take(x)` gives of the user's own, of which the first is a gradient, is the same in every mode."""
    for mode in MODES:
        programs.KEPT.clear()
        with release_mode(mode):
            grad, *kept = take(memory.arrays(sample()))
        overwrite(memory)
        assert_equal(on_host(kept), expected, 1e-12)
        assert_equal(on_host(grad), 12 * np.tanh(sample()) ** 2 * (1 - np.tanh(sample()) ** 2), 1e-12)
    programs.KEPT.clear()


def kept_by_the_user(memory):
    """What the user keeps of a forward, in a list, an object, by a logger or as a result, is not written into."""
    h = np.tanh(sample())

    def aux(x):
        (_, aux), grad = value_and_grad(programs.as_aux, has_aux=True)(x)
        return grad, *aux

    def in_a_list(x):
        kept = []
        return gradient(programs.in_a_list)(x, kept), *kept

    def logged(x):
        return gradient(programs.by_a_logger)(x), *programs.KEPT

    def in_an_object(x):
        layers = [programs.Layer(), programs.Layer()]
        return gradient(programs.in_an_object)(x, layers), layers[0].last, layers[1].last

    for take in (aux, in_a_list, logged, in_an_object):
        _of_the_user(memory, take, [h, 2 * h])


def seen_by_hooks(memory):
    """The cotangents that a hook keeps are not written into."""
    h = np.tanh(sample())

    def hooked(x):
        grad = gradient(programs.cotangents)(x)
        return grad, [sorted(programs.KEPT, key=lambda c: float(c.sum()))]

    seen = sorted([4 * h * h, 4 * h * h, 8 * h * h], key=np.sum)  # of g * g * h: to h, to g, and through g
    _of_the_user(memory, hooked, [[seen]])


def kept_by_a_rule(memory):
    """The arrays that a rule gives and keeps are not written into."""
    x = sample()
    expected = numerical_gradient(programs.of_a_rule, x)
    z = 9 * x * x
    y_bar = (np.tanh(z) + z * (1 - np.tanh(z) ** 2)) * 6 * x
    for mode in MODES:
        with release_mode(mode):
            grad = gradient(programs.of_a_rule)(memory.arrays(x))
        overwrite(memory)
        assert_equal(on_host(grad), expected, 1e-7)
        assert_equal(on_host([programs.MEMO["value"], programs.MEMO["cotangent"]]), [3 * x, 3 * y_bar], 1e-12)
    programs.MEMO.clear()


# --- one array --------------------------------------------------------------------------------------------


def freed(memory):
    """An array that nobody shares is freed once; one with a view, a view, and one below the size are left alone."""
    with release_mode("free", above=8 * N * N):
        x = memory.arrays(sample())
        before = memory.out()
        with counted() as found:
            assert free(x)
        assert (1, 8 * N * N, 0) == (found["released"], found["bytes"], found["shared"])
        assert memory.out() < before
        for view in (lambda x: x.T, lambda x: x[1:], lambda x: x.reshape(-1), lambda x: x[...], lambda x: x[0, 0]):
            x = memory.arrays(sample())
            y = view(x)
            with counted() as found:
                assert not free(x)
            assert (0, 1) == (found["released"], found["shared"])
            assert not free(y)
            assert_equal(on_host(x), sample())
        assert not free(memory.arrays(sample()[1:]))
        assert not free(memory.arrays(np.zeros((0, N))))


def reused(memory):
    """An array is written into if nobody else has it, no view of it exists, and the result has its shape and dtype."""
    x, row = sample(), sample()[0]
    with release_mode("reuse", above=0):
        assert _adds_into([memory.arrays([x, x])])
        assert _adds_into([memory.arrays([x, row])])
        assert not _adds_into([memory.arrays([row, x])])  # the result is larger
        assert not _adds_into([memory.arrays([x.astype("f"), x])])  # and more precise
        for other in (lambda a: a, lambda a: a.T, lambda a: a[1:]):
            pairs = [memory.arrays([x, x])]
            held = other(pairs[0][0])
            assert not _adds_into(pairs)
            assert_equal(on_host(held), other(x))
    with release_mode("reuse", above=x.nbytes + 1):
        assert not _adds_into([memory.arrays([x, x])])


def _adds_into(pairs):
    """Whether the sum of a pair goes into its first array, to which this has the only reference."""
    x, y = pairs.pop()
    return np.add(x, y, out=reuse(x, y)) is x


def without_a_pool(memory):
    """Memory that has no `free` is neither freed nor written into: it may be somebody else's."""
    x = memory.lent(sample())
    with release_mode("reuse", above=0), counted() as found:
        assert not free(x)
        assert not _adds_into([[memory.lent(sample()), memory.arrays(sample())]])
        with memory.without_pool():
            grads = gradient(network.looped, 2)(*memory.arrays(network.inputs(SIZE)))
    assert not any(found.values())
    assert_equal(on_host(grads), by_hand(*moved(network.inputs(SIZE), lambda a: a.astype(float))), 1e-3)


CHECKS = (
    *(numbers, statistics, small_arrays, limit, nothing_stays),
    *(kept_by_the_user, seen_by_hooks, kept_by_a_rule, freed, reused, without_a_pool),
)
peaks = [(program, mode) for program in network.PROGRAMS for mode in PEAKS]
