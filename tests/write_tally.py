"""Many random programs with writes compared at once: a tally by outcome, and what differs in few lines of text."""

from __future__ import annotations

import argparse
import ast
import collections
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from tests.random_writes import WritingProgram, writing_program
from tests.write_checks import MODES, UnsuitableError, check

Modes = dict[str, Callable[..., Any]]


def outcome(program: WritingProgram, modes: Modes = MODES) -> tuple[str, str, Modes]:
    """What became of a program, its reason, and the modes that show it."""
    for mode, make in modes.items():
        try:
            refusal = check(program, {mode: make})
        except UnsuitableError as error:
            return "unsuitable", str(error), modes
        except Exception as error:
            return "mismatch", f"{type(error).__name__}: {error}", {mode: make}
        if refusal is not None:
            return "refused", re.sub(r"`[^`]*`", "`…`", refusal), {mode: make}
    return "ok", "", modes


def kind_of(reason: str) -> str:
    """The part of a failure that stays while its program becomes shorter."""
    return " ".join(re.sub(r"[`'\"\d(\[-].*", "", reason, flags=re.DOTALL).split())


def shorter(text: str) -> Iterator[str]:
    """The text without one statement, or with the body of a compound statement in its place."""
    tree = ast.parse(text)
    bodies = [
        body
        for node in ast.walk(tree)
        for name in ("body", "orelse", "finalbody")
        if isinstance(body := getattr(node, name, None), list)
    ]
    for body in bodies:
        for i in reversed(range(len(body))):
            statement = body[i]
            for replacement in [[], *(getattr(statement, name, []) for name in ("body", "orelse"))]:
                if (replacement or len(body) > 1) and not isinstance(statement, ast.FunctionDef | ast.Module):
                    body[i : i + 1] = replacement
                    yield ast.unparse(tree)
                    body[i : i + len(replacement)] = [statement]
                elif len(body) > 1 and not replacement:
                    del body[i]
                    yield ast.unparse(tree)
                    body.insert(i, statement)


def simpler(text: str) -> Iterator[str]:
    """The text with a part of an expression in its place."""
    tree = ast.parse(text)
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            for i, node in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(node, ast.expr) or isinstance(node, ast.Name | ast.Constant):
                    continue
                if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
                    continue
                parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
                for part in [ast.Constant(0.5), *parts]:
                    _put(parent, name, value, i, part)
                    yield ast.unparse(tree)
                    _put(parent, name, value, i, node)


def _put(parent: ast.AST, name: str, value: Any, i: int, node: ast.expr) -> None:
    if isinstance(value, list):
        value[i] = node
    else:
        setattr(parent, name, node)


def reduced(program: WritingProgram, result: str, reason: str, modes: Modes) -> WritingProgram:
    """A program with fewer statements and simpler expressions, and the same outcome."""
    for candidates in (shorter, simpler):
        found = True
        while found:
            found = False
            for text in candidates(program.text):
                candidate = WritingProgram(text + "\n", program.args)
                if len(candidate.text) >= len(program.text):
                    continue
                try:
                    new, why, _ = outcome(candidate, modes)
                except SyntaxError:
                    continue
                if new == result and kind_of(why) == kind_of(reason):
                    program, found = candidate, True
                    break
    return program


def shown(program: WritingProgram) -> str:
    """The text, and the arguments that it uses."""
    main = next(node for node in ast.parse(program.text).body if getattr(node, "name", "") == "program")
    used = {node.id for node in ast.walk(main) if isinstance(node, ast.Name)}
    names = [arg.arg for arg in main.args.args]
    args = [f"# {name} = {value!r}" for name, value in zip(names, program.args, strict=True) if name in used]
    return "\n".join([program.text, *args])


def main() -> None:
    """Compare, and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_writes")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first program; the others follow")
    parser.add_argument("--size", type=int, help="statements of the outermost block")
    parser.add_argument("--mode", choices=MODES, action="append", help="all, if none is given")
    parser.add_argument("--no-reduction", action="store_true", help="print programs as they were drawn")
    parser.add_argument("--each", action="store_true", help="print every program that differs, not one of each kind")
    parser.add_argument("--refused", action="store_true", help="print one program for each reason of refusal")
    options = parser.parse_args()
    modes = {name: MODES[name] for name in options.mode} if options.mode else MODES
    results: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[tuple[str, str]] = collections.Counter()
    for seed in range(options.seed, options.seed + options.count):
        program = writing_program(Random(seed), options.size)
        result, reason, where = outcome(program, modes)
        results[result] += 1
        kind = result, kind_of(reason) if result == "mismatch" else reason
        reasons[kind] += 1
        if (result == "mismatch" or (options.refused and result == "refused")) and (options.each or reasons[kind] == 1):
            short = program if options.no_reduction else reduced(program, result, reason, where)
            print(f"--- seed {seed}, {next(iter(where))}: {result}: {reason.strip()}\n{shown(short)}\n", flush=True)
    for (result, reason), count in reasons.most_common():
        if reason:
            print(f"{count:6} {result}: {reason}")
    print(dict(results))
