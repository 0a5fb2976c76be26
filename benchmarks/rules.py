"""How much a derivative costs: for every built-in rule, value and pullback together, in units of the value alone.

    make bench-rules            all rules, the slowest first
    make bench-rules ONLY=fft   the calls with this in their text

A value that takes no time to speak of (a view, a number) is replaced as the unit by a copy of arguments and value,
which is marked by a c. Of several measurements the shortest counts, value and pullback by turns, so that the ratio
depends little on what else the machine does.
"""

import ast
import operator
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from inspect import getattr_static
from pathlib import Path
from typing import Any

import numpy as np
from rule_calls import ARGUMENTS, CALLS, CONSTANTS, DOMAINS, DRAWS, special

from adcompiler import DifferentiationError, pullback
from adcompiler.rules.registry import all_rules, key_name, lookup
from adcompiler.runtime.ruling import first_that_takes
from adcompiler.vectors import leaves, random_like

# What would measure the machine instead: threads that wait for each other while others work, and memory that goes back
# to the system and has to be mapped again.
QUIET = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    **dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), str(2**30)),
}

SLOW = 6.0
SECONDS = 0.2
SHORT = 20e-6

# Why a rule takes more than SLOW times as long as its value, by the name of its first key.
_CALLS = "each piece is a call of its own, with a pullback of its own, which must be kept"
_EXTREMUM = "the value is one pass; which elements attain it, and how many share, takes a comparison and a count more"
_MOVED = "the value is one copy of memory; the cotangent is zeros, their filling, and a copy for the caller"
_SELECTED = "NumPy gives the values by hashing or selecting; their places need a sort"
_SOLVER = "a solver that needs little: what is left is the time of a few small calls"
_TWO = "the value reads two arrays and writes little or nothing; the pullback writes two arrays"
REASONS = {
    **dict.fromkeys("numpy.lib._function_base_impl.vectorize.__call__ numpy.apply_along_axis".split(), _CALLS),
    **dict.fromkeys("numpy.apply_over_axes numpy.piecewise numpy.unstack".split(), _CALLS),
    **dict.fromkeys("numpy.maximum numpy.minimum numpy.fmax numpy.fmin".split(), _EXTREMUM),
    **dict.fromkeys(
        "numpy.max numpy.min numpy.nanmax numpy.nanmin numpy.ptp numpy.clip ndarray.clip".split(), _EXTREMUM
    ),
    **dict.fromkeys("numpy.pad numpy.insert numpy.delete numpy.ediff1d numpy.fft.fftshift".split(), _MOVED),
    **dict.fromkeys("numpy.fft.ifftshift numpy.diag numpy.diff numpy.compress ndarray.compress".split(), _MOVED),
    **dict.fromkeys("numpy.polyadd numpy.polysub numpy.polyint numpy.select numpy.choose".split(), _MOVED),
    **dict.fromkeys("numpy.unique numpy.unique_values numpy.unique_counts numpy.unique_inverse".split(), _SELECTED),
    **dict.fromkeys("numpy.union1d numpy.setxor1d numpy.partition numpy.sort".split(), _SELECTED),
    **dict.fromkeys("numpy.vecdot numpy.matvec numpy.vecmat".split(), _TWO),
    "scipy.integrate._odepack_py.odeint": "the value is compiled Fortran; the adjoint equation is solved in Python",
    "scipy.integrate._ivp.ivp.solve_ivp": "the adjoint equation is solved back, with interpolation of the solution",
    "scipy.integrate._quadrature.simpson": "the weights of the rule are written out for each sample",
    "ndarray.tolist": "numbers in lists are Python objects, one by one",
    "builtins.abs": "the absolute value clears a bit; np.sign, which gives nan for nan, takes three times as long",
    "operator.getitem": "the value copies rows as a whole; the cotangent is zeros and a sum for each row",
    "numpy.prod": "the product of all others is computed by running products from both ends, since any may be 0",
    "numpy.linalg.cholesky": "LAPACK's triangular solver is not in NumPy: two solutions of general systems instead",
    "numpy.linalg.matrix_norm": "the value is one sum; the cotangent is the matrix, divided and copied",
    "numpy.poly": "the roots are multiplied out again without one of them, for each",
    "numpy.lib._index_tricks_impl.AxisConcatenator.__getitem__": "the index is read again, to find what stands where",
    "numpy.linspace": "NumPy counts and multiplies; the cotangents need the weights of both ends, and two sums",
    **dict.fromkeys("j1 y1 i1 k1 i1e k1e".split(), "SciPy has polynomials for orders 0 and 1, and a recurrence for 2"),
    **dict.fromkeys("itstruve0 itmodstruve0 it2struve0".split(), "a Struve function takes longer than its integral"),
    **dict.fromkeys(
        "ellipk ellipe ellipkm1".split(), "Carlson's forms do not cancel, and take longer than a polynomial"
    ),
    "psi": "its derivative, a zeta function, takes longer than a polynomial",
    "numpy.fft.rfftfreq": "the value counts; the cotangent multiplies it and sums",
    "numpy.gradient": "the differences are taken twice, and their adjoint along each axis",
    "numpy.average": "weights and elements both have cotangents, and the sum of the weights is a result",
    "numpy.random._generator.Generator.choice": "few are chosen; the cotangent is as long as the whole",
}

# The same, for what is common to one form of call, by a part of its text.
FORMS = {
    "where=": "with a mask, the plain rule is applied to the chosen elements, and both are put into place",
    ".outer(": "the value reads two vectors; the pullback reads and writes a matrix for each, and sums it",
    "np.divide.reduce": "there is no closed form here: it is folded step by step, by the rule of the plain call",
    ".reduce(": "several passes for one: products of others or places of extrema, and the axis is moved to the end",
    ".accumulate(": "a function without closed form is undone step by step along the axis",
    ".reduceat(": "as for reduce, and the total of each piece is spread over its elements",
    "optimize.": _SOLVER,
    "integrate.quad(": _SOLVER,
    "casting=": "the general form of a call goes through more Python than the value",
}

METHODS = {
    "outer": "np.{name}.outer({letters})",
    "reduce": "np.{name}.reduce(G, dtype=float)",
    "accumulate": "np.{name}.accumulate(G)",
    "reduceat": "np.{name}.reduceat(G, cuts)",
}


@dataclass(frozen=True)
class Row:
    """One call that was measured, or the error that it ended in."""

    call: str
    rule: Any
    ratio: float
    copies: bool = False
    error: str = ""


def calls() -> list[str]:
    """The lines of the table, and those that have one form for many functions."""
    lines = CALLS.split("\n")
    for name in sorted({_ufunc(key).__name__ for rule in all_rules() for key in rule.keys if _ufunc(key)}):
        ufunc = getattr(np, name)
        if ufunc.signature is not None:
            continue
        letters = ", ".join(DOMAINS.get(name, ("X", "Y")[: ufunc.nin]))
        lines += [f"np.{name}({letters})"]
        lines += (
            [f"np.{name}({letters}, where=half)"] if ufunc.nout == 1 else [f"np.{name}({letters}, casting='same_kind')"]
        )
        for method, form in METHODS.items():
            if lookup(getattr(ufunc, method)):
                lines.append(form.format(name=name, letters="LP, flags" if name == "ldexp" else "LP, LP"))
                lines += [f"np.{name}.reduce(G)"] if method == "reduce" else []
    if special is not None:
        lines += [f"special.{name}(P)" for name, f in sorted(vars(special).items()) if _is_unary(f)]
    for name, parameters in DRAWS.items():
        lines += [f"{source}.{name}({parameters})" for source in ("rng", "legacy", "np.random")]
    return [line for line in lines if line.strip()]


def _ufunc(key: Any) -> Any:
    return key if isinstance(key, np.ufunc) and getattr(np, key.__name__, None) is key else None


def _is_unary(value: Any) -> bool:
    return isinstance(value, np.ufunc) and value.nin == 1 and bool(lookup(value))


def compiled_from(lines: list[str], folder: Path) -> list[Any]:
    """For each line a function of its names in capitals, in a file, which is where the compiler reads it."""
    names = [sorted(_names(line) & ARGUMENTS.keys()) for line in lines]
    texts = [
        f"def call_{i}({', '.join(found)}):\n    return {line}\n"
        for i, (line, found) in enumerate(zip(lines, names, strict=True))
    ]
    path = folder / "calls_of_rules.py"
    path.write_text("\n\n".join(texts), encoding="utf-8")
    spec = spec_from_file_location("calls_of_rules", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    vars(module).update(CONSTANTS)
    spec.loader.exec_module(module)
    return [getattr(module, f"call_{i}") for i in range(len(lines))]


def _names(line: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Name)}


def rule_of(line: str) -> Any:
    """The rule that answers a call: the outermost function of the line, with its arguments."""
    space = {**CONSTANTS, **ARGUMENTS}

    def value(node: ast.expr) -> Any:
        return eval(ast.unparse(node), space)

    node: Any = ast.parse(line, mode="eval").body
    if isinstance(getattr(node, "value", None), ast.Call) or line.startswith("A.flat["):
        node = node.value
    if isinstance(node, ast.Subscript):
        owner = value(node.value)
        index = eval(line.replace(ast.unparse(node.value), "np.s_", 1), space)
        getitem = operator.getitem if isinstance(owner, np.ndarray) else type(owner).__getitem__
        return first_that_takes(lookup(getitem), (owner, index), {})
    if isinstance(node, ast.Attribute):
        return lookup(getattr_static(type(value(node.value)), node.attr))[0]
    assert isinstance(node, ast.Call)
    args = tuple(value(a) for a in node.args)
    kwargs = {str(k.arg): value(k.value) for k in node.keywords}
    function = value(node.func)
    if not lookup(function) and isinstance(node.func, ast.Attribute):
        args = (value(node.func.value), *args)
        function = getattr(type(args[0]), node.func.attr)
    elif not lookup(function):
        args, function = (function, *args), type(function).__call__
    return first_that_takes(lookup(function), args, kwargs)


def measured(line: str, function: Any) -> Row:
    """The ratio of one call."""
    rule = rule_of(line)
    arguments = [ARGUMENTS[name] for name in sorted(_names(line) & ARGUMENTS.keys())]
    value, back = pullback(function, *arguments)
    cotangent = random_like(value, np.random.default_rng(2))
    back(cotangent)
    arrays = [leaf for leaf in leaves((arguments, value)) if isinstance(leaf, np.ndarray)]
    best = [np.inf, np.inf, np.inf]
    end = time.perf_counter() + SECONDS
    rounds = 0
    while rounds < 3 or (time.perf_counter() < end and rounds < 200):
        rounds += 1
        begin = time.perf_counter()
        function(*arguments)
        after_value = time.perf_counter()
        pullback(function, *arguments)[1](cotangent)
        after_pullback = time.perf_counter()
        [np.copy(leaf) for leaf in arrays]
        times = after_value - begin, after_pullback - after_value, time.perf_counter() - after_pullback
        best = list(map(min, best, times))
    copies = best[0] < SHORT
    return Row(line, rule, best[1] / (max(best[2], best[0]) if copies else best[0]), copies)


def least(line: str, function: Any) -> Row:
    """The least ratio of up to three measurements, if the first say that the rule is slow: the machine may be."""
    row = measured(line, function)
    for _ in range(2):
        if row.ratio > SLOW:
            row = min(row, measured(line, function), key=lambda found: found.ratio)
    return row


def main(only: str) -> None:
    """Measure, and print the slowest first."""
    lookup(np.sin)  # loads the rules of the packages that are imported
    lines = [line for line in calls() if only in line]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line, function in zip(lines, compiled_from(lines, Path(folder)), strict=True):
            try:
                rows.append(least(line, function))
            except (DifferentiationError, ArithmeticError, AttributeError, IndexError, TypeError, ValueError) as error:
                rows.append(Row(line, None, 0.0, error=f"{type(error).__name__}: {str(error).splitlines()[0]}"))
    show(rows)
    if not only:
        show_unmeasured(rows)


def show(rows: list[Row]) -> None:
    """The table of ratios."""
    for row in sorted((row for row in rows if not row.error), key=lambda row: -row.ratio):
        slow = row.ratio > SLOW
        reason = reason_of(row) if slow else ""
        print(f"{row.ratio:8.1f}{'c' if row.copies else ' '} {'!' if slow else ' '} {row.call}  {reason}".rstrip())
    for row in rows:
        if row.error:
            print(f"   error    {row.call}  {row.error}")


def reason_of(row: Row) -> str:
    """Why a call takes long: by its form, else by its rule."""
    by_form = [reason for part, reason in FORMS.items() if part in row.call]
    return by_form[0] if by_form else REASONS.get(key_name(row.rule.keys[0]), "no reason is known")


def show_unmeasured(rows: list[Row]) -> None:
    """The rules for which there is no call here, by their files."""
    missing = [rule for rule in all_rules() if rule.builtin and rule not in {row.rule for row in rows}]
    print(f"\n{len({row.rule for row in rows if row.rule})} rules measured, {len(missing)} not:")
    for file in Counter(file_of(rule) for rule in missing):
        names = ", ".join(key_name(rule.keys[0]) for rule in missing if file_of(rule) == file)
        print(f"  {file}: {names}")


def file_of(rule: Any) -> str:
    """The file that the text of a rule is in."""
    function = rule.partials[0] if rule.partials else rule.function
    return f"rules/{function.__module__.rpartition('.')[2]}.py"


if __name__ == "__main__":
    if not QUIET.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **QUIET})
    main(sys.argv[1] if len(sys.argv) > 1 else "")
