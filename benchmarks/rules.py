"""How much a derivative costs: for every built-in rule, value and pullback together, in units of the value alone.

    make bench-rules            all rules, the slowest first
    make bench-rules ONLY=fft   the calls with this in their text

A value that takes no time to speak of (a view, a number) is replaced by a copy of the arguments as the unit, which is
marked by a c. Of several measurements the shortest counts, value and pullback by turns, so that the ratio depends
little on what else the machine does.
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
from rule_calls import ARGUMENTS, CALLS, CONSTANTS, DOMAINS, DRAWS

from adcompiler import DifferentiationError, pullback
from adcompiler.rules.registry import all_rules, key_name, lookup
from adcompiler.runtime.ruling import first_that_takes
from adcompiler.vectors import random_like

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
REASONS: dict[str, str] = {}

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
    for name, parameters in DRAWS.items():
        lines += [f"{source}.{name}({parameters})" for source in ("rng", "legacy", "np.random")]
    return [line for line in lines if line.strip()]


def _ufunc(key: Any) -> Any:
    return key if isinstance(key, np.ufunc) and getattr(np, key.__name__, None) is key else None


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
        [np.copy(a) for a in arguments]
        times = after_value - begin, after_pullback - after_value, time.perf_counter() - after_pullback
        best = list(map(min, best, times))
    copies = best[0] < SHORT
    return Row(line, rule, best[1] / (max(best[2], best[0]) if copies else best[0]), copies)


def main(only: str) -> None:
    """Measure, and print the slowest first."""
    lookup(np.sin)  # loads the rules of the packages that are imported
    lines = [line for line in calls() if only in line]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line, function in zip(lines, compiled_from(lines, Path(folder)), strict=True):
            try:
                rows.append(measured(line, function))
            except (DifferentiationError, ArithmeticError, AttributeError, IndexError, TypeError, ValueError) as error:
                rows.append(Row(line, None, 0.0, error=f"{type(error).__name__}: {str(error).splitlines()[0]}"))
    show(rows)
    if not only:
        show_unmeasured(rows)


def show(rows: list[Row]) -> None:
    """The table of ratios."""
    for row in sorted((row for row in rows if not row.error), key=lambda row: -row.ratio):
        slow = row.ratio > SLOW
        reason = REASONS.get(key_name(row.rule.keys[0]), "no reason is known") if slow else ""
        print(f"{row.ratio:8.1f}{'c' if row.copies else ' '} {'!' if slow else ' '} {row.call}  {reason}".rstrip())
    for row in rows:
        if row.error:
            print(f"   error    {row.call}  {row.error}")


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
