"""Aliases, writes, globals and flags that change while the program runs: what was once read too late or too early."""

import contextlib
import math
import types

import numpy as np
import pytest

from adcompiler import DifferentiationError, gradient, pullback, rrule
from tests.promises import WRITTEN_OUT, check

X = np.array([0.3, -0.7, 1.2])

FLAG = False
FACTOR = 2.0
BUFFER = np.zeros(3)
WEIGHTS = np.ones(3)
INDEX = np.array([0, 1])
ACTIVATION = np.sin
settings = types.ModuleType("settings")


class Switch:
    """Its class attribute is a flag, and its method sets a global one."""

    flag = False

    def set_global(self):
        global FLAG
        FLAG = True


SWITCH = Switch()


def restore():
    """Set everything that the programs change back to what it was."""
    global FLAG, FACTOR, BUFFER, WEIGHTS, INDEX, ACTIVATION
    FLAG, FACTOR, ACTIVATION = False, 2.0, np.sin
    BUFFER, WEIGHTS, INDEX = np.zeros(3), np.ones(3), np.array([0, 1])
    settings.flag, settings.activation = False, np.sin
    Switch.flag = False


def accepted_or_refused(f, *args):
    """Check the derivative, unless the program is refused: a wrong number is the only thing that must not be."""
    restore()
    try:
        pullback(f, *args)
    except DifferentiationError as error:
        assert __file__ in str(error)  # noqa: PT017
    else:
        check(f, *args, before=restore, modes=WRITTEN_OUT)


def programs(*functions):
    """A parameter for each function, with its name."""
    return pytest.mark.parametrize("program", functions, ids=lambda f: f.__name__)


# Facts that the program itself changes


def increase_factor():
    global FACTOR
    FACTOR = FACTOR + 1.0


def set_flag():
    global FLAG
    FLAG = True


def global_number(x):
    increase_factor()
    return x * FACTOR


def global_number_between_reads(x):
    y = x * FACTOR
    increase_factor()
    return y * FACTOR * x


def global_flag(x):
    set_flag()
    if FLAG:
        return x * x
    return x * 3


def global_flag_set_by_a_method(x):
    SWITCH.set_global()
    return x * x if FLAG else x * 3


def global_flag_set_by_name(x):
    globals()["FLAG"] = True
    return x * x if FLAG else x * 3


def set_module_flag():
    settings.flag = True


def module_flag(x):
    set_module_flag()
    return x * x if settings.flag else x * 3


def set_module_function():
    settings.activation = np.cos


def module_function(x):
    set_module_function()
    return settings.activation(x)


def set_class_flag():
    Switch.flag = True


def class_flag(x):
    set_class_flag()
    return x * x if Switch.flag else x * 3


def class_flag_by_setattr(x):
    setattr(Switch, "flag", True)  # noqa: B010
    return x * x if Switch.flag else x * 3


@programs(
    global_number,
    global_number_between_reads,
    global_flag,
    global_flag_set_by_a_method,
    global_flag_set_by_name,
    module_flag,
    module_function,
    class_flag,
    class_flag_by_setattr,
)
def test_what_a_helper_changes_is_read_after_the_change(program):
    """A global, module attribute or class attribute that a call rebinds has its new value in what follows."""
    accepted_or_refused(program, 0.7)


def entry_of_a_dict(x, cfg):
    cfg["flag"] = True
    if cfg["flag"]:
        return x * 2
    return x * 3


def test_an_entry_that_the_program_sets():
    """A flag in a dict is read again after the program has set it."""
    accepted_or_refused(entry_of_a_dict, 0.7, {"flag": False})


def rebound_by_a_nested_function(x):
    k = 1.0

    def bump():
        nonlocal k
        k = 3.0

    bump()
    return x * k


def counted_by_a_nested_function(x):
    k = 0

    def g(t):
        nonlocal k
        k += 1
        return t * k

    return g(x) + g(x)


def flag_of_a_nested_function(x):
    flag = False

    def bump():
        nonlocal flag
        flag = True

    bump()
    return x * x if flag else x * 3


@programs(
    rebound_by_a_nested_function,
    counted_by_a_nested_function,
    flag_of_a_nested_function,
)
def test_locals_that_a_nested_function_rebinds(program):
    """A local that a nested function declares nonlocal is never taken for what it was before the call."""
    accepted_or_refused(program, 0.7)


def make_counter():
    n = 1.5

    def bump():
        nonlocal n
        n = n + 1.0

    def f(x):
        y = x * n
        bump()
        return y * n * x

    return f


def make_switch():
    flag = False

    def bump():
        nonlocal flag
        flag = True

    def f(x):
        bump()
        return x * x if flag else x * 3

    return f


def make_callee():
    act = np.sin

    def swap():
        nonlocal act
        act = np.cos

    calls = types.SimpleNamespace(swap=swap)

    def f(x):
        calls.swap()
        return act(x)

    return f


def gradient_or_refusal(f, *args):
    """The gradient, or None if the function is refused."""
    try:
        return gradient(f)(*args)
    except DifferentiationError:
        return None


def test_captured_variables_that_another_closure_rebinds():
    """A captured variable has at every read the value that it has then."""
    assert gradient_or_refusal(make_counter(), 0.7) in (None, pytest.approx(2 * 1.5 * 2.5 * 0.7))
    assert gradient_or_refusal(make_switch(), 0.7) in (None, pytest.approx(1.4))


def test_a_captured_function_that_another_closure_rebinds():
    """A captured function that a call rebinds is called, and differentiated, as what it is then."""
    assert gradient_or_refusal(make_callee(), 0.7) in (None, pytest.approx(-math.sin(0.7)))


# Global arrays


def get_buffer():
    return BUFFER


def two_names_of_a_global(x):
    a = get_buffer()
    b = get_buffer()
    a += x
    return np.sum(b)


def global_written_by_element(x):
    y = x * WEIGHTS
    WEIGHTS[0] = 50.0
    return np.sum(y)


def global_filled(x):
    y = x * WEIGHTS
    WEIGHTS.fill(50.0)
    return np.sum(y)


def global_index_written(x):
    y = x[INDEX]
    INDEX[0] = 2
    return np.sum(y * y)


def times_weights(x):
    return x * WEIGHTS


def global_saved_by_a_callee(x):
    y = times_weights(x)
    WEIGHTS[0] = 50.0
    return np.sum(y)


def write_weights():
    WEIGHTS[0] = 50.0


def global_saved_and_written_by_callees(x):
    y = times_weights(x)
    write_weights()
    return np.sum(y * times_weights(x))


@programs(
    two_names_of_a_global,
    global_written_by_element,
    global_filled,
    global_index_written,
    global_saved_by_a_callee,
    global_saved_and_written_by_callees,
)
def test_global_arrays_that_the_program_writes(program):
    """What the pullback needs of a global array is what it held when the forward read it."""
    accepted_or_refused(program, X)


# Arrays without derivative, written after they were used


def element_written_in_a_loop(x):
    z = np.ones(3)
    y = 0.0
    for i in range(3):
        y = y + np.sum(x * z)
        z[i] = 5.0
    return y


def element_increased_under_another_name(x):
    z = np.ones(3)
    w = z
    t = 0.0
    for _ in range(3):
        t = t + x @ w
        z[0] += 1
    return t


def fill(z, v):
    z[...] = v


def written_by_a_helper(x):
    z = np.ones(3)
    y = x * z
    fill(z, 5.0)
    return np.sum(y * z)


def captured_and_written(x):
    z = np.ones(3)

    def g(t):
        return t * z

    y = g(x)
    z[0] = 5.0
    return np.sum(y * g(x))


def index_written(x):
    i = np.array([0, 1])
    y = x[i]
    i[0] = 2
    return np.sum(y * y)


def index_list_extended(x):
    idx = [0, 1]
    y = x[idx]
    idx.append(2)
    return np.sum(y * y)


def index_list_reversed(x):
    idx = [0, 1]
    y = x[idx] * np.array([1.0, 2.0])
    idx.reverse()
    return np.sum(y * y)


@programs(
    element_written_in_a_loop,
    element_increased_under_another_name,
    written_by_a_helper,
    captured_and_written,
    index_written,
    index_list_extended,
    index_list_reversed,
)
def test_arrays_and_indices_written_after_their_use(program):
    """A write to an array or index without derivative does not reach back to what was computed with it."""
    accepted_or_refused(program, X)


def choice_written(x):
    a = np.array([0, 1, 0])
    z = np.choose(a, [x, 2 * x])
    a[0] = 1
    return np.sum(z)


def factor_written(x, factors):
    w = factors["a"]
    y = x * w
    w[0] = 50.0
    return np.sum(y)


@programs(choice_written, element_written_in_a_loop, written_by_a_helper, index_written, index_list_extended)
def test_operands_of_called_rules_written_after_their_use(program):
    """A rule that is called keeps what its operands were then, as one that is written out does."""
    check(program, X)


def test_operands_of_operators_found_at_run_time():
    """An operator whose rule is found at run time is right, or refused, if an operand is written afterwards."""
    accepted_or_refused(factor_written, X, {"a": np.ones(3)})


# Containers without derivative


def dict_entry_written(x):
    w = {"a": 1.0}
    y = x * w["a"]
    w["a"] = 7.0
    return y * w["a"]


def list_item_written(x):
    w = [1.0, 2.0]
    w[0] = 7.0
    return x * w[0]


def list_extended_and_shortened(x):
    w = [1.0, 2]
    w.append(5.0)
    w.pop(0)
    return x * w[0] * w[-1]


def list_item_tested_after_a_write(x):
    w = [None, None]
    w[0] = "s"
    if w[0] is None:
        return x * 2
    return x * 3


def counter_in_a_captured_list(x):
    n = [0]

    def inner(t):
        n[0] = n[0] + 1
        return t * n[0]

    return inner(x) + inner(x)


def element_of_the_old_list(x):
    s = [1.0, 2.0]
    s[0] += (s := [5.0, 6.0])[1]
    return x * s[0]


@programs(
    dict_entry_written,
    list_item_written,
    list_extended_and_shortened,
    list_item_tested_after_a_write,
    counter_in_a_captured_list,
    element_of_the_old_list,
)
def test_containers_that_the_program_changes(program):
    """Items of a list or dict are those that it holds when they are read."""
    accepted_or_refused(program, 3.0)


def scaled(x, cfg={"flag": True}):  # noqa: B006
    return x * 2 if cfg["flag"] else x * x


def by_a_mutable_default(x):
    return scaled(x)


def test_the_contents_of_a_mutable_default():
    """What a mutable default holds is read at each call."""
    assert gradient(by_a_mutable_default)(0.7) == 2.0
    scaled.__defaults__[0]["flag"] = False
    try:
        assert gradient(by_a_mutable_default)(0.7) == pytest.approx(1.4)
    finally:
        scaled.__defaults__[0]["flag"] = True


# Writes into what carries a derivative


def kept_by_append(x):
    kept = []
    buf = np.zeros(3)
    kept.append(buf)
    buf += x
    return np.sum(kept[0])


def kept_by_setdefault(x):
    kept = {}
    buf = np.zeros(3)
    kept.setdefault("a", buf)
    buf += x
    return np.sum(kept["a"])


def copied_by_keyword(x):
    y = np.zeros(3)
    np.copyto(dst=y, src=x)
    return np.sum(y)


def added_into_an_active_array(x):
    y = x * 2
    np.add(WEIGHTS, WEIGHTS, out=y)
    return np.sum(y * y)


def floor_into_an_active_array(x):
    y = x * 2
    np.floor(x, out=y)
    return np.sum(y * y)


def floor_into_an_array_by_position(x):
    y = x * 2
    s = np.sum(y * y)
    np.floor(WEIGHTS, y)
    return s


def mask_changed_in_place(x):
    m = x > 0
    y = np.where(m, x, 0.0)
    np.logical_not(m, out=m)
    return np.sum(y * 3)


def whole_quotient_in_place(x):
    y = x * 2
    z = y
    y //= 2.0
    return np.sum(z * 3)


@programs(
    kept_by_append,
    kept_by_setdefault,
    copied_by_keyword,
    added_into_an_active_array,
    floor_into_an_active_array,
    floor_into_an_array_by_position,
    mask_changed_in_place,
    whole_quotient_in_place,
)
def test_writes_into_memory_with_a_derivative(program):
    """A write that other names see, by a method, `out=` or an augmented assignment, is right or refused."""
    accepted_or_refused(program, X)


def stored_by_element(x):
    y = np.zeros(3)
    y[0] = x[1]
    return np.sum(y)


def increased_under_another_name(x):
    y = x * 1.0
    z = y
    y += x
    return np.sum(z)


@programs(stored_by_element, increased_under_another_name)
def test_writes_to_arrays_that_carry_derivatives(program):
    """An element, and an array that has another name."""
    check(program, X)


# In-place sums that are only another way to bind


def summed_in_place(x):
    total = np.zeros(3)
    for k in range(1, 4):
        total += np.sin(k * x) / k
    return total


def increased_after_an_assignment(x):
    x = x * 2.0
    x += 1.0
    x /= 4.0
    return np.sum(x * x)


def increased_and_returned_in_a_tuple(x, c):
    w = x * 1.0
    if c:
        return 1.0, w
    w += x
    return 2.0, w


def elements_summed_in_place(x):
    w = np.array([x[0], x[1]])
    s = 0.0
    for v in w:
        s += v
    return s


def test_sums_in_place_are_accepted():
    """`total += value` is accepted where no other name sees the array."""
    check(summed_in_place, X)
    check(increased_after_an_assignment, X)
    check(elements_summed_in_place, X)


def test_sums_in_place_of_what_a_branch_returns():
    """`w += value` is right, or refused, where another path returns a tuple with the array in it."""
    accepted_or_refused(increased_and_returned_in_a_tuple, X, True)
    accepted_or_refused(increased_and_returned_in_a_tuple, X, False)


def quadrature(a, b):
    w = np.array([a, b])
    s = 0.0
    for v in w:
        s = np.sin(s) + v
    return s


def number_increased_by_a_helper(a, b):
    b += quadrature(a, b)
    return a * b


def test_a_number_increased_in_place():
    """`b += helper(...)` of two numbers is a plain sum."""
    check(number_increased_by_a_helper, 0.7, 0.3)


@pytest.mark.parametrize("first", [(1, 2, 3), ()])
def test_a_container_of_integers_first(first):
    """A call with a container that carries no derivative does not settle what later calls get."""

    def f(x, p):
        s = x
        for a, *r in (p, p, (x, x, x)):
            s = s * a
            for q in r:
                s = s + q
        return s

    run = gradient(f, (0, 1))
    with contextlib.suppress(ValueError):
        run(2.0, first)
    assert (66.0, (32.0,)) == run(2.0, (4.0,))


# What a rule keeps


def weighed(a, w):
    return a * w


@rrule(weighed, result="fresh", kind="elementwise")
def weighed_rule(a, w):
    y = a * w
    kept = np.asarray(w)  # the argument itself

    def pullback(y_bar):
        return y_bar * kept, None

    return y, pullback


def weights_changed_after_a_rule(x):
    w = np.array([1, 2, 3])
    y = weighed(x, w)
    w[0] = 10
    return np.sum(y)


def test_what_a_rule_keeps_of_an_argument_that_is_written_later():
    """A local of an inlined rule may be its argument: it is kept as it was."""
    check(weights_changed_after_a_rule, X)
