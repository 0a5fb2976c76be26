"""Single use gives memory back while it runs: modes, counts, what is alive, and whose memory gradients have."""

import contextlib
import copy
import gc
import os
import subprocess
import sys
import threading
import traceback
import weakref

import numpy as np
import pytest

from adcompiler import (
    PullbackConsumedError,
    gradient,
    hook,
    pullback,
    release_mode,
    release_stats,
    rrule,
    value_and_grad,
)
from adcompiler.release import consumed, released
from adcompiler.runtime.release import LIMIT, MODES, Release, current
from tests.blocks import block, lines, names, words
from tests.differences import assert_unshared
from tests.modes import copied

LARGE = LIMIT // 8
modes = pytest.mark.parametrize("mode", MODES)


@pytest.fixture
def _uncollected():
    """Whatever goes has to go with its last reference."""
    gc.disable()
    yield
    gc.enable()


def single_use(f, *args, mode="reuse", above=0):
    """The value and the pullback of a function, for which nothing has been compiled yet."""
    with release_mode(mode, above):
        return pullback(copied(f), *args, single_use=True)


def counted(run):
    """What is released while something runs."""
    before = release_stats()
    run()
    return {
        name: new - old for name, old, new in zip(before._fields, before, release_stats(), strict=True) if new != old
    }


def network(x, w):
    """Two layers."""
    h = np.tanh(x * w)
    return np.sum(np.tanh(h * w) * 2.0)


# --- the text ---------------------------------------------------------------------------------------------

LOOP = """
    for t in reversed(z):
        a = x * t
        b = accumulate(b, a + y)
    c = q(b * s)
    return c
"""
DROPPED = ["while z:", "    t = z.pop()", "    a = x * t", "    del t", "    w1 = a + y", "    del a"]
ADDED = ["    b = accumulate(b, w1)", "    del w1", "x = y = z = None", "w2 = b * s", "del b"]
CALLED = ["c = q((w2, (w2 := None))[0])", "del q", "return c"]


def text_of(source, mode, outside="x y z t", **options):
    """The lines of a block as it is run once."""
    statements = block(source)
    release = Release(mode, 0, **options)
    return lines(released(statements, release, words(statements, outside, reuses=release.reuses), names("")))


def test_records_are_consumed():
    """The reverse of a loop pops its records, of one value or several, in loops and branches too."""
    expected = ["while z:", "    t = z.pop()", "    while y:", "        a, b = y.pop()", "        F(a)"]
    assert expected == lines(consumed(block("for t in reversed(z):\n    for a, b in reversed(y):\n        F(a)")))
    other = ["for t in z:", "    F(t)"]
    assert other == lines(consumed(block("for t in z:\n    F(t)")))


def test_text_that_drops():
    """Every value is deleted at its last use, and handed over to calls."""
    assert DROPPED + ADDED + CALLED == text_of(LOOP, "drop")


@pytest.mark.parametrize("word", ["free", "poison"])
def test_text_that_frees(word):
    """Before the `del` of an array that is surely the pullback's own stands a call."""
    expected = [*DROPPED[:-1], f"    {word}(a)", "    del a", *ADDED[:-1], f"{word}(b)", "del b", *CALLED]
    assert expected == text_of(LOOP, word)


def test_text_that_reuses():
    """Results go into arrays that are not read later."""
    expected = ["while z:", "    t = z.pop()", "    t = np.multiply(x, t, out=reuse(t, x))"]
    expected += ["    t = np.add(t, y, out=reuse(t, y))", "    b = add_into((b, (b := None))[0], t)", "    del t"]
    expected += ["x = y = z = None", "b = np.multiply(b, s, out=reuse(b, s))", "c = q((b, (b := None))[0])"]
    assert [*expected, "del q", "return c"] == text_of(LOOP, "reuse")


def test_text_for_small_arguments():
    """It drops, whatever else the mode does, and nested operations stay nested."""
    for mode in ("free", "reuse", "poison"):
        text = "\n".join(text_of(LOOP, mode, small=True))
        assert "del a" in text
        assert "b = accumulate(b, a + y)" in text
        assert not any(word in text for word in ("free(", "poison(", "out=", "add_into"))


def test_a_class_is_freed_with_its_last_name():
    """An array is freed where the last view of it is read, and not before."""
    expected = ["a = x * y", "del y", "b = a.T", "del a", "c = b * x", "free(b)", "del b, x", "d = c * s"]
    assert expected == text_of("a = x * y\nb = a.T\nc = b * x\nd = c * s\nreturn d", "free", "x y")[:8]


# --- modes ------------------------------------------------------------------------------------------------


def test_the_mode_holds_inside_of_the_with():
    """It ends with the `with`, with an exception too, and the inner one of two holds."""
    default = current()
    with release_mode("drop"):
        assert Release("drop", LIMIT) == current()
        with release_mode("poison"):
            assert Release("poison", 0) == current()
        with contextlib.suppress(KeyError), release_mode("free", above=7):
            assert Release("free", 7) == current()
            raise KeyError
        assert Release("drop", LIMIT) == current()
    assert default is current()


@pytest.mark.parametrize("mode", ["", "all", "Reuse", None])
def test_other_modes(mode):
    """There are five."""
    with pytest.raises(ValueError, match="is not one of off, drop, free, reuse, poison"), release_mode(mode):
        pass


@pytest.mark.parametrize(
    ("mode", "above", "expected"),
    [
        (None, None, "reuse 65536"),
        ("drop", None, "drop 65536"),
        ("poison", None, "poison 0"),
        ("reuse", "100", "reuse 100"),
        (None, "0", "reuse 0"),
        ("none", None, "release mode 'none' is not one of off, drop, free, reuse, poison"),
    ],
)
def test_environment(mode, above, expected):
    """The variables say what holds for a whole run."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("ADCOMPILER_RELEASE")}
    env |= {
        f"ADCOMPILER_RELEASE_{key}": value for key, value in (("MODE", mode), ("ABOVE", above)) if value is not None
    }
    code = "from adcompiler.runtime.release import current; print(current().mode, current().above)"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert expected in (done.stdout if done.returncode == 0 else done.stderr)


def test_each_mode_has_its_text():
    """A function is compiled for each mode once, and gives the same to the last bit."""
    f, args = copied(network), (np.linspace(0.1, 0.9, 5), np.linspace(0.5, 1.5, 5))
    found = {}
    for mode in (*MODES, *MODES):
        with release_mode(mode, 0):
            grads = gradient(f, (0, 1))(*args)
        np.testing.assert_array_equal(grads, found.setdefault("first", grads))


def test_threads():
    """The mode of one thread is not that of another."""
    seen = {}

    def other():
        seen["other"] = current().mode

    with release_mode("drop"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert "drop" == current().mode
    assert current().mode == seen["other"]


def test_threads_with_modes_of_their_own():
    """Many threads that differentiate one function in different modes get the same."""
    f, x = copied(network), np.linspace(0.1, 0.9, 7)
    expected = gradient(network)(x, x)
    found = []

    def run(mode):
        for _ in range(20):
            with release_mode(mode, 0):
                found.append(gradient(f)(x, x))

    threads = [threading.Thread(target=run, args=(mode,)) for mode in MODES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 100 == len(found)
    np.testing.assert_array_equal(found, [expected] * 100)


@pytest.mark.parametrize(
    ("mode", "name"), [("off", ""), ("drop", ""), ("free", ""), ("reuse", "reused"), ("poison", "poisoned")]
)
def test_a_pullback_keeps_the_mode_it_was_made_in(mode, name):
    """Called outside of the `with`, or inside of another one, it does what it was made for."""
    for other in ("off", "poison", "reuse"):
        x = np.linspace(0.1, 0.9, 5)
        _, back = single_use(network, x, x, mode=mode)
        with release_mode(other, 0):
            found = counted(lambda back=back: back(1.0))
        assert {name} - {""} <= set(found) <= {name, f"{name}_bytes"}
        _, back = single_use(network, x, x, mode=mode)
        assert {name} - {""} <= set(counted(lambda back=back: back(1.0)))


# --- small and large --------------------------------------------------------------------------------------


def test_small_and_large_arguments():
    """A small call leaves arrays alone, a large one reuses, in any order; an array of exactly the limit is large."""
    f = copied(network)
    small, large = np.full(LARGE - 1, 0.3), np.full(LARGE, 0.3)
    with release_mode("reuse"):
        for x in (small, large, small, large, large, small):
            grad = []
            found = counted(lambda x=x, grad=grad: grad.append(gradient(f)(x, x)))
            assert bool(found) is (x is large), x.size
            np.testing.assert_allclose(grad[0], np.full_like(x, grad[0][0]), rtol=1e-14)


def test_large_first():
    """The text for large arguments takes small ones, too, and leaves them alone."""
    f = copied(network)
    with release_mode("reuse"):
        assert counted(lambda: gradient(f)(np.ones(LARGE), np.ones(LARGE)))
        assert {} == counted(lambda: gradient(f)(np.ones(3), np.ones(3)))
        assert counted(lambda: gradient(f)(np.ones(LARGE), np.ones(LARGE)))


def in_containers(p):
    return np.sum(np.tanh(np.tanh(p["a"][0] * 2.0) * 2.0))


def test_large_arrays_in_containers():
    """They are large arguments."""
    with release_mode("reuse"):
        assert counted(lambda: gradient(copied(in_containers))({"a": [np.ones(LARGE)]}))
        assert {} == counted(lambda: gradient(copied(in_containers))({"a": [np.ones(3)]}))


# --- called once ------------------------------------------------------------------------------------------


@modes
def test_a_second_call(mode):
    """It raises, in every mode; a seed of the wrong form before does not count."""
    _, back = single_use(network, np.ones(3), np.ones(3), mode=mode)
    with pytest.raises(TypeError):
        back([1.0])
    back(1.0)
    with pytest.raises(PullbackConsumedError, match="called before"):
        back(1.0)


def failing(x):
    return np.exp(x)


@rrule(failing)
def _failing_rule(x):
    y = np.exp(x)

    def back(y_bar):
        raise KeyError("in the rule")

    return y, back


def half_way(x, w):
    a = np.tanh(x * w)
    b = failing(a * 2.0)
    c = np.tanh(b * w)
    for _ in range(2):
        c = np.sin(c * w)
    return c * 2.0


@pytest.mark.usefixtures("_uncollected")
@modes
def test_a_pullback_that_raises(mode):
    """It is consumed, has not touched what is the user's, and keeps nothing but its traceback alive."""
    x, w, seed = np.linspace(0.1, 0.5, 4), np.linspace(0.5, 1.5, 4), np.ones(4)
    value, back = single_use(half_way, x, w, mode=mode)
    before = copy.deepcopy((x, w, seed, value))
    made = [weakref.ref(array) for array in arrays_of(back)]
    assert len(made) > 3
    with pytest.raises(KeyError, match="in the rule") as caught:
        back(seed)
    for now, then in zip((x, w, seed, value), before, strict=True):
        np.testing.assert_array_equal(now, then)
    with pytest.raises(PullbackConsumedError):
        back(seed)
    traceback.clear_frames(caught.value.__traceback__)
    del caught
    mine = {id(array) for array in (x, w, seed, value)}
    assert [] == [ref() for ref in made if ref() is not None and id(ref()) not in mine]


def arrays_of(back):
    """The arrays that a pullback keeps."""
    found, todo, seen = [], [back], set()
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if type(one) is np.ndarray:
            found.append(one)
        elif isinstance(one, list | tuple):
            todo.extend(one)
        elif getattr(one, "__closure__", None):
            todo.extend(cell.cell_contents for cell in one.__closure__)
    return found


# --- what is alive ----------------------------------------------------------------------------------------

ALIVE = []


def watched(x):
    """The argument, which is watched."""
    ALIVE.append(weakref.ref(x))
    return x


@rrule(watched, result="same")
def _watched_rule(x):
    ALIVE.append(weakref.ref(x))
    return x, lambda y_bar: (y_bar,)


def alive():
    return [i for i, ref in enumerate(ALIVE) if ref() is not None]


@pytest.fixture(autouse=True)
def _watch():
    ALIVE.clear()


def chain(x):
    a = watched(x * 2.0)  # a sum needs its shape only
    b = watched(a + 1.0)  # saved by np.sin
    c = watched(np.sin(b))
    d = watched(c + x)
    return np.sum(d)


@pytest.mark.usefixtures("_uncollected")
@pytest.mark.parametrize("mode", ["drop", "free", "reuse", "poison"])
def test_forward_temporaries_are_gone(mode):
    """Once the forward has ended, of its arrays only those live that the reverse will read; after it none."""
    _, back = single_use(chain, np.linspace(0.1, 0.5, 4), mode=mode)
    assert 4 == len(ALIVE)
    assert [1] == alive()
    back(1.0)
    assert [] == alive()


def during(x):
    a = np.sin(watched(x * 2.0))
    b = np.sin(watched(a * 3.0))
    c = np.sin(watched(b * 4.0))
    return np.sum(c)


@pytest.mark.usefixtures("_uncollected")
@pytest.mark.parametrize("mode", ["drop", "free", "reuse", "poison"])
def test_what_is_saved_goes_while_the_pullback_runs(mode):
    """When the cotangent of an array is known, what was saved behind it is gone."""
    seen = []

    def f(x):
        a = hook(lambda g: seen.append(alive()), np.sin(watched(x * 2.0)))
        b = hook(lambda g: seen.append(alive()), np.sin(watched(a * 3.0)))
        return np.sum(np.sin(watched(b * 4.0)))

    _, back = single_use(f, np.linspace(0.1, 0.5, 4), mode=mode)
    assert [0, 1, 2] == alive()
    back(1.0)
    assert [[0, 1], [0]] == seen
    assert [] == alive()


def looped(x):
    for _ in range(4):
        x = np.sin(watched(x * 2.0))
    return np.sum(x)


@pytest.mark.usefixtures("_uncollected")
@pytest.mark.parametrize("mode", ["drop", "free", "reuse", "poison"])
def test_records_go_while_the_pullback_runs(mode):
    """Each iteration's values go when its reverse has run."""
    seen = []

    def f(x):
        for _ in range(4):
            x = np.sin(watched(hook(lambda g: seen.append(len(alive())), x) * 2.0))
        return np.sum(x)

    _, back = single_use(f, np.linspace(0.1, 0.5, 4), mode=mode)
    assert 4 == len(alive())
    back(1.0)
    assert [3, 2, 1, 0] == seen


@pytest.mark.usefixtures("_uncollected")
def test_off_keeps_until_the_end():
    """Without release the record lives until the pullback has run."""
    _, back = single_use(looped, np.linspace(0.1, 0.5, 4), mode="off")
    assert 4 == len(alive())
    back(1.0)
    assert [] == alive()


# --- whose memory gradients have --------------------------------------------------------------------------

W = np.array([0.5, -1.0, 2.0])
TABLE = {"w": np.array([0.5, -1.0, 2.0])}
KEPT = []


def captured_array(x):
    return np.sum(x)


@rrule(captured_array)
def _captured_rule(x):
    kept = np.array([1.0, 2.0, 3.0])
    KEPT.append(kept)
    return np.sum(x), lambda y_bar: (kept,)


def summed(x):
    return np.sum(x)


@rrule(summed)
def _summed_rule(x):
    return np.sum(x), lambda y_bar: (W,)


def scaled(x):
    return np.sum(x * TABLE["w"])


@rrule(scaled)
def _scaled_rule(x):
    y = np.sum(x * TABLE["w"])

    def back(y_bar):
        return (TABLE["w"],)

    return y, back


def given(x):
    return np.sum(x * x) * 0.5


@rrule(given)
def _given_rule(x):
    y = np.sum(x * x) * 0.5

    def back(y_bar):
        return (x,)

    return y, back


def in_a_loop(x):
    y = 0.0
    for _ in range(1):
        h = x * 1.0
        KEPT.append(h)
        y = y + given(h)
    return y


def keeps_intermediates(x, y):
    h = np.exp(x)
    KEPT.append(h)
    k = h * y
    KEPT.append(k)
    return k


def writes_into_one(x, y):
    z = np.zeros(3)
    z[:] = x
    z += y
    return z


PROGRAMS = [
    lambda x: x,
    lambda x: (x, x),
    lambda x: x[::-1],
    lambda x: x.reshape(3, 1),
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: (x, y, x + y),
    lambda x: +x,
    lambda x: x + 1.0,
    lambda x: {"a": x, "b": [x + 0.0]},
    lambda x: np.concatenate([x, x]),
    lambda x, y: np.stack([x, y]),
    lambda x, y: np.where(np.array([True, False, True]), x, y),
    lambda x: x * W,
    lambda x: x @ W,
    lambda x: np.sum(x),
    lambda x, y: np.sum(x + y),
    lambda x: hook(lambda g: KEPT.append(g), x * 1.0),
    lambda x: hook(lambda g: KEPT.append(g) or g, x) + 0.0,
    lambda x: captured_array(x),
    lambda x: captured_array(x) * 1.0,
    lambda x: summed(x),
    lambda x: scaled(x),
    lambda x: given(x),
    in_a_loop,
    keeps_intermediates,
    writes_into_one,
]


@modes
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: getattr(f, "__name__", "")[:30])
def test_gradients_share_memory_with_nothing(f, mode):
    """Not with each other, arguments, value, what is captured, saved or kept, and not with the given cotangent."""
    KEPT.clear()
    x, y = np.array([0.3, 0.7, -0.4]), np.array([1.3, 0.2, 0.9])
    args = [x, y][: f.__code__.co_argcount]
    value, back = single_use(f, *args, mode=mode)
    saved = arrays_of(back)
    seed = [np.ones(np.shape(value)) if isinstance(value, np.ndarray) else copy.deepcopy(value)][0]
    before = copy.deepcopy((args, value, seed, KEPT[:], W, TABLE))
    kept = [*KEPT]
    grads = back(seed)
    assert_unshared(grads, (args, value, seed, saved, KEPT, W, TABLE))
    for grad in grads:
        grad[...] = 77.0  # they are the user's
    after = (args, value, seed, kept, W, TABLE)
    np.testing.assert_equal(after, before)


@pytest.mark.parametrize("f", [captured_array, summed, scaled, given, in_a_loop], ids=lambda f: f.__name__)
def test_rules_that_keep_what_they_give(f):
    """What a rule gives may be what it keeps: each call of a pullback gives arrays of its own, and `gradient` does."""
    for g in (f, lambda x: f(x), lambda x: sum(f(x) for _ in range(1))):
        KEPT.clear()
        x = np.array([0.3, 0.7, -0.4])
        _, back = pullback(g, x)
        grads = [back(1.0)[0], back(1.0)[0], gradient(g)(x)]
        assert_unshared(grads, (x, KEPT, W, TABLE))
        np.testing.assert_array_equal(grads, [grads[0]] * 3)


def with_aux(x, y):
    h = x * y
    return np.sum(h * h), (h, x, {"k": h[1:]})


@modes
def test_aux_is_untouched(mode):
    """What a function returns beside its value stays as it was, and gradients share no memory with it."""
    x, y = np.array([0.3, 0.7, -0.4]), np.array([1.3, 0.2, 0.9])
    with release_mode(mode, 0):
        (value, aux), grads = value_and_grad(copied(with_aux), (0, 1), has_aux=True)(x, y)
    np.testing.assert_equal(((value, aux)), with_aux(x, y))
    np.testing.assert_allclose(grads, (2 * x * y * y, 2 * x * x * y), rtol=1e-14)
    assert_unshared(grads, (aux, x, y))
