"""`memory_report`: what a pullback keeps, by arithmetic, by `tracemalloc`, and whether its advice is true."""

import gc
import linecache
import sys
import tracemalloc
import weakref

import numpy as np
import pytest

from adcompiler import memory_report, pullback, rrule
from adcompiler.rules import registry
from tests.corpus import SAMPLES

N = 120
WEIGHT = np.full((N, N), 0.5)


def report_of(f, *args, **options):
    value, back = pullback(f, *args, **options)
    report = memory_report(back)
    del value
    return report


def line_of(report, text):
    """The line whose code contains a text."""
    (line,) = [line for line in report.lines if text in line.text]
    return line


def square(n=N):
    return np.linspace(0.1, 0.9, n * n).reshape(n, n)


@pytest.fixture
def registered(monkeypatch):
    """What a test registers is forgotten."""
    for name in ("_rules", "_non_differentiable", "_opt_outs", "_refused", "_waiting"):
        monkeypatch.setattr(registry, name, getattr(registry, name))


# --- what is counted --------------------------------------------------------------------------------------


def test_one_array():
    """The derivative of tanh needs its result, and nothing else: n * n floats."""

    def f(x):
        h = np.tanh(x)
        return np.sum(h)

    report = report_of(f, square())
    assert N * N * 8 == report.total
    (line,) = report.lines
    assert (__file__, "h = np.tanh(x)", N * N * 8, ("h",)) == (line.file, line.text, line.bytes, line.names)
    assert line.text == linecache.getline(__file__, line.line).strip()


def test_dtype_counts():
    """The same of float32 is half of it."""

    def f(x):
        return np.sum(np.tanh(x))

    assert N * N * 4 == report_of(f, square().astype(np.float32)).total


def test_temporaries_are_called_by_their_expression():
    """What has no name is shown as it was written."""

    def f(x):
        return np.sum(np.exp(3 * x))

    (line,) = report_of(f, square()).lines
    assert ("np.exp(3 * x)",) == line.names


def test_views_count_once():
    """An array and two views of it are one block."""

    def f(x):
        h = np.tanh(x)
        return np.sum(h.T * h[::-1])

    assert N * N * 8 <= report_of(f, square()).total < N * N * 8 + 1000


def test_what_the_user_holds_is_not_counted():
    """Arguments, the value and globals are named and cost nothing."""

    def f(x):
        return np.exp(x @ WEIGHT * x)

    report = report_of(f, square())
    line = line_of(report, "return np.exp")
    assert N * N * 8 <= report.total < N * N * 8 + 1000  # x @ WEIGHT
    assert N * N * 8 == line.held  # the value
    assert 2 * N * N * 8 == line_of(report, "def f(x)").held  # x and WEIGHT
    assert "an argument" in str(report)
    assert "global" in str(report)
    assert "the value" in str(report)


def test_captured_arrays_are_the_users():
    """What a closure captures lives without the pullback."""
    w = square()

    def f(x):
        return np.sum(x * w)

    report = report_of(f, square())
    assert report.total < 1000
    assert N * N * 8 == sum(line.held for line in report.lines)


def test_shapes_cost_next_to_nothing():
    """Of an array whose shape is needed only, the shape is kept."""

    def f(x):
        h = x * 2.0
        return np.sum(h + np.ones((3, 1, 1)))

    report = report_of(f, square())
    assert report.total < 500
    assert any("shape of" in name for line in report.lines for name in line.names)


def test_loop():
    """A loop keeps an array for each iteration, and says how many there are."""

    def f(x):
        for _ in range(20):
            x = np.sin(x)
        return np.sum(x)

    report = report_of(f, square())
    made = line_of(report, "x = np.sin(x)")
    assert 19 * N * N * 8 == made.items[0].bytes  # the first of the twenty is the argument
    assert 19 == made.items[0].count
    assert ("records of 20 iterations",) == line_of(report, "for _ in range").names
    assert made.bytes <= report.total < made.bytes + 2000


def test_loop_of_numbers():
    """A number of an iteration is an object, in a list."""

    def f(x):
        s = 0.0
        for _ in range(1000):
            s = s * x + 0.5
        return s

    report = report_of(f, 0.9)
    assert 1000 * 24 <= line_of(report, "s = s * x").bytes + 24 <= 1001 * 24
    assert 1000 * 8 <= line_of(report, "for _ in").bytes <= 1000 * 10


def test_nested_loops():
    """The arrays of all iterations count."""

    def f(x):
        for _ in range(3):
            for _ in range(4):
                x = np.cos(x)
        return np.sum(x)

    assert 11 * N * N * 8 == line_of(report_of(f, square()), "np.cos").items[0].bytes


def layer(w, x):
    return np.tanh(x @ w)


def test_callees():
    """What a called function keeps stands under its own line; what it was given under that of the call."""

    def f(x):
        a = layer(WEIGHT, x)
        b = layer(WEIGHT, a * 2.0)
        return np.sum(b)

    report = report_of(f, square())
    assert 2 * N * N * 8 == line_of(report, "return np.tanh(x @ w)").bytes
    assert 2 == line_of(report, "return np.tanh(x @ w)").items[0].count
    call = line_of(report, "b = layer")
    assert "x of layer()" not in call.names  # WEIGHT has no derivative, and x is not needed
    assert 2 * N * N * 8 <= report.total < 2 * N * N * 8 + 2000


def test_argument_of_a_callee():
    """An array that only a called function keeps belongs to the line that makes it, if it is known there."""

    def f(w, x):
        return np.sum(layer(w, x * 2.0))

    report = report_of(f, square(), square())
    line = line_of(report, "return np.sum(layer")
    assert N * N * 8 <= line.bytes < N * N * 8 + 1000
    assert "x of layer()" in line.names


def test_recursion():
    """Each call has a record of its own, in that of its caller."""

    def f(x):
        return np.sum(deeper(x, 50))

    assert 50 * N * N * 8 == line_of(report_of(f, square()), "return deeper(np.tanh(x), n - 1)").items[0].bytes


def deeper(x, n):
    if n == 0:
        return x
    return deeper(np.tanh(x), n - 1)


def test_copies_of_what_is_written_into():
    """An operand that is overwritten later is kept as a copy."""

    def f(x):
        u = 1.0 * x
        q = u * u
        u[0] = 0.0
        return np.sum(q) + np.sum(u)

    report = report_of(f, square())
    assert ("a copy of u", N * N * 8) == next(
        (i.name, i.bytes) for i in line_of(report, "q = u * u").items if "copy" in i.name
    )
    assert N * N * 8 <= report.total < N * N * 8 + 1500


def test_found_at_run_time():
    """Functions in a list of unknown content have their lines too."""

    def double_exp(x):
        return np.exp(np.exp(x))

    def f(x, functions):
        for g in functions:
            x = g(x)
        return np.sum(x)

    report = report_of(f, square(), [double_exp, np.tanh])
    assert 2 * N * N * 8 <= line_of(report, "return np.exp(np.exp(x))").bytes < 2 * N * N * 8 + 1000
    assert 3 * N * N * 8 <= report.total < 3 * N * N * 8 + 10_000


def test_generators():
    """A generator's own lines keep what it computes."""

    def f(x):
        def powers(y):
            for _ in range(4):
                y = np.sin(y)
                yield y

        return sum(np.sum(p) for p in powers(x))

    assert 3 * N * N * 8 == line_of(report_of(f, square()), "y = np.sin(y)").bytes


def test_closures_of_rules(registered):
    """The arrays in the cells of an opaque rule's pullback are counted, by the name of the variable."""

    def blurred(x):
        return x + 0.0

    @rrule(blurred)
    def rule(x):
        factor = np.ones_like(x)
        for _ in range(2):
            factor = factor * 0.5

        def back(y_bar):
            return (y_bar * factor,)

        return x + 0.0, back

    def f(x):
        return blurred(x)

    report = report_of(f, square())
    line = line_of(report, "return blurred(x)")
    assert N * N * 8 == next(item.bytes for item in line.items if "factor in the pullback" in item.name)
    assert N * N * 8 <= report.total < N * N * 8 + 5000


def test_functions_with_a_rule():
    """There is no source to show, and what the rule keeps is told all the same."""
    report = report_of(np.outer, np.ones(N), np.ones(N))
    assert "outer" == report.function
    assert (2 * N * 8, True) == (report.lines[0].held, report.total < 10_000)


def test_branches():
    """A name that is bound in two branches stands under the last of them, and the other is named."""

    def f(x, flag):
        if np.sum(flag) > 0:
            h = np.exp(x)
        else:
            h = np.sin(x)
        return np.sum(h * h)

    report = report_of(f, square(), np.ones(2))
    assert N * N * 8 <= report.total < 2 * N * N * 8 + 1000
    assert any("or of line" in name for line in report.lines for name in line.names)


def test_single_use():
    """Before the call it keeps the same; after it nothing is left."""

    def f(x):
        return np.sum(np.tanh(x))

    _, back = pullback(f, square(), single_use=True)
    assert N * N * 8 == memory_report(back).total
    back(1.0)
    report = memory_report(back)
    assert (0, ()) == (report.total, report.lines)
    assert "has been called" in str(report)


def test_reusable_keeps_after_its_call():
    """It can be called again."""

    def f(x):
        return np.sum(np.tanh(x))

    _, back = pullback(f, square())
    back(1.0)
    assert N * N * 8 == memory_report(back).total


def test_methods_and_objects():
    """Arrays in objects are the user's; what a method makes is not."""

    class Model:
        def __init__(self):
            self.w = square()

        def loss(self, x):
            return np.sum(np.tanh(x @ self.w))

    report = report_of(Model().loss, square())
    assert N * N * 8 <= report.total < N * N * 8 + 1000


def test_objects_that_compute_their_attributes():
    """An object is not asked for attributes that its class does not have."""

    class Table:
        __slots__ = ("entries",)

        def __init__(self):
            self.entries = {"gain": square()}

        def __getattr__(self, name):
            if name == "__dict__":
                raise AttributeError(name)
            return self.entries[name]

        def __call__(self, x):
            return np.tanh(x * self.entries["gain"])

    def f(x, functions):
        for g in functions:
            x = g(x)
        return np.sum(x)

    report = report_of(f, square(), [Table(), Table()])
    assert 2 * N * N * 8 <= report.total < 5 * N * N * 8


def test_only_pullbacks():
    """Anything else has no record."""
    with pytest.raises(TypeError, match=r"the second result of pullback\(\)"):
        memory_report(lambda ct: ct)


def test_report_changes_nothing():
    """The pullback still gives its gradient, and the report refers to none of its arrays."""

    def f(x):
        return np.sum(np.tanh(x))

    _, back = pullback(f, square())
    expected = 1 - np.tanh(square()) ** 2
    report = memory_report(back)
    np.testing.assert_allclose(back(1.0)[0], expected, rtol=1e-12)
    gc.collect()
    arrays = [a for a in gc.get_referents(report) if isinstance(a, np.ndarray)]
    assert [] == arrays


def test_first_arguments_are_not_kept():
    """What a pullback was compiled for is freed with its user's last reference."""

    def f(p):
        return np.sum(np.tanh(p["w"]))

    w = square()
    freed = weakref.ref(w)
    _, back = pullback(f, {"w": w})
    del w, back, _
    gc.collect()
    assert freed() is None


@pytest.mark.parametrize("sample", SAMPLES[::5], ids=lambda sample: sample.id)
def test_every_byte_has_a_line(sample):
    """What is kept of any program belongs to a line that a user wrote, and the lines add up."""
    args, kwargs = sample.arguments()
    _, back = pullback(sample.function, *args, **kwargs)
    report = memory_report(back)
    assert report.total == sum(line.bytes for line in report.lines)
    assert report.total == sum(item.bytes for line in report.lines for item in line.items)
    for line in report.lines:
        assert line.text == linecache.getline(line.file, line.line).strip()
    assert str(report).startswith("The pullback of ")


# --- compared with what Python allocates ------------------------------------------------------------------


def stencil(u, k):
    u = u.copy()
    for _ in range(20):
        lap = u[2:] - 2 * u[1:-1] + u[:-2]
        u[1:-1] += k * lap * u[1:-1]
    return np.sum(u)


def mixed(x):
    rows = [np.exp(x * i) for i in range(5)]
    u, s, _ = np.linalg.svd(x + np.eye(len(x)))
    state = {"a": rows[1] * rows[2]}
    state["a"] = state["a"] * u
    while np.sum(state["a"]) > 1.0:
        state["a"] = state["a"] * 0.5 * np.cos(x)
    return np.sum(np.stack(rows)) + np.sum(s) + np.sum(state["a"])


def halves(x):
    return sum(np.sum(row * row) for row in (np.sin(x * i) for i in range(5)))


@pytest.mark.parametrize(
    ("f", "args"),
    [(stencil, (np.ones(10_000), 0.1)), (mixed, (square(60),)), (halves, (square(),)), (deeper, (square(), 30))],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_total_is_what_is_freed(f, args):
    """The total is what the interpreter gives back when the pullback goes, to a few per cent."""
    pullback(f, *args)  # compiled
    gc.collect()
    tracemalloc.start()
    try:
        value, back = pullback(f, *args)
        total = memory_report(back).total
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        del back
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del value
    assert before - after == pytest.approx(total, rel=0.03)


# --- advice -----------------------------------------------------------------------------------------------


def advice(report):
    return [line.suggestion for line in report.lines if line.suggestion]


def test_no_advice_for_small_things():
    """What is small, or cannot be helped, is left alone."""

    def f(x):
        for _ in range(20):
            x = np.sin(x)
        return np.sum(x)

    def g(x):
        return np.sum(np.tanh(x))

    assert [] == advice(report_of(f, square(5)))
    assert [] == advice(report_of(g, square()))


def test_advice_copy_of_a_view():
    """A view keeps the whole array; a copy of it does not."""

    def f(x):
        part = (x * 2.0)[:3]
        return np.sum(part * part)

    def better(x):
        part = (x * 2.0)[:3].copy()
        return np.sum(part * part)

    report = report_of(f, square())
    (told,) = advice(report)
    assert "`part.copy()`" in told
    assert N * N * 8 <= report.total
    assert report_of(better, square()).total < 3 * N * 8 + 500


def test_advice_equal_copies():
    """Two copies of the same contents can be one."""

    def f(x):
        u = 1.0 * x
        u[0] = 0.0
        a = np.sin(u)
        b = np.cos(u)
        u[1] = 0.0
        return np.sum(a) + np.sum(b) + np.sum(u)

    def better(x):
        u = 1.0 * x
        u[0] = 0.0
        kept = u.copy()
        a = np.sin(kept)
        b = np.cos(kept)
        u[1] = 0.0
        return np.sum(a) + np.sum(b) + np.sum(u)

    report = report_of(f, square())
    assert all("`kept = u.copy()`" in told for told in advice(report))
    assert 2 == len(advice(report))
    assert 2 * N * N * 8 <= report.total
    assert report_of(better, square()).total < N * N * 8 + 1500


def test_advice_shape_only(registered):
    """A rule that captures an array for its shape keeps all of it."""

    def spread(x):
        return x * 1.0

    @rrule(spread)
    def rule(x):
        work = np.empty_like(x)
        for i in range(len(x)):
            work[i] = i

        def back(y_bar):
            return (np.broadcast_to(y_bar, work.shape),)

        return x * 1.0, back

    def f(x):
        return spread(x)

    (told,) = advice(report_of(f, square()))
    assert "only the shape or dtype of work is read" in told
    assert "`n = work.shape`" in told


def step(u):
    return u + 0.1 * np.sin(u) * np.cos(u)


def evolve(u):
    for _ in range(100):
        u = step(u)
    return np.sum(u)


def ten_steps(u):
    for _ in range(10):
        u = step(u)
    return u


def ten_steps_again(u):
    return ten_steps(u)


def evolve_in_tens(u):
    for _ in range(10):
        u = ten_steps_again(u)
    return np.sum(u)


def test_advice_recompute(registered):
    """The iterations of a loop in blocks that are recomputed: as many stay as there are blocks."""

    @rrule(ten_steps_again)
    def rule(u):
        def back(u_bar):
            return pullback(ten_steps, u)[1](u_bar)

        return ten_steps(u), back

    u = np.linspace(0.0, 1.0, 5000)
    (_, back), (_, again) = pullback(evolve, u), pullback(evolve_in_tens, u)
    (told,) = set(advice(memory_report(back)))
    assert told.startswith("recompute it: the loop of line")
    assert "for each of 100 iterations. Put 10 iterations at a time" in told
    assert memory_report(back).total > 299 * 5000 * 8
    assert memory_report(again).total < 12 * 5000 * 8
    np.testing.assert_allclose(back(1.0)[0], again(1.0)[0], rtol=1e-12)


# --- as text ----------------------------------------------------------------------------------------------


def test_table(monkeypatch, tmp_path):
    """The largest line comes first, with its advice below it, once."""
    file = tmp_path / "waves.py"
    file.write_text(
        "import numpy as np\n"
        "def waves(x):\n"
        "    for _ in range(16):\n"
        "        y = np.sin(x)\n"
        "        x = np.cos(y)\n"
        "    return np.sum(x)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("waves", None)
    import waves

    lines = str(report_of(waves.waves, square())).split("\n")
    assert "The pullback of waves keeps 3.4 MiB." == lines[0]
    assert ["BYTES", "LINE", "CODE", "KEEPS"] == lines[1].split()
    assert "1.8 MiB  waves.py:4  y = np.sin(x)        y (16 arrays)" == lines[2]
    assert lines[3].startswith("    -> recompute it: the loop of line 3 keeps this for each of 16 iterations. Put 4 ")
    assert lines[4].startswith("1.6 MiB  waves.py:5  x = np.cos(y)        x (or of line 2) (15 arrays, ")
    assert lines[5].endswith("records of 16 iterations")
    assert 1 == sum("->" in line for line in lines)
