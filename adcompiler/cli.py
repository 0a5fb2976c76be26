"""The command line: `adcompiler` and `python -m adcompiler`.

    adcompiler dump train.py:loss --wrt params          the generated text, as a module that can be run
    adcompiler explain train.py:loss                    what becomes of every operation
    adcompiler explain --memory train.py:loss           what its pullback keeps; with --args in bytes
    adcompiler rules tanh                               the rules whose functions are called so
    adcompiler rules --coverage numpy.linalg            how each public function of a module is differentiated
    adcompiler check train.py:loss --args 'np.ones(3)'  the gradient against central differences

A TARGET is `module:function` or `file.py:function`; behind the colon a dotted path is followed.  Exit codes: 0; 1 if
the function cannot be differentiated, the check failed or no rule has that name; 2 if the command makes no sense.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from adcompiler.compare import compared_or_guessed
from adcompiler.coverage import covered
from adcompiler.dump import STAGES, assumed_notes, dump, plain, tried
from adcompiler.errors import DifferentiationError
from adcompiler.explain import explained, table
from adcompiler.memory import kept_kinds, run_report
from adcompiler.orders import dump_order
from adcompiler.pipeline import compile_request
from adcompiler.rules.registry import all_non_differentiable, all_rules, key_name
from adcompiler.runtime.release import OFF
from adcompiler.show import place
from adcompiler.version import __version__

_EPILOG = "TARGET is module:function or file.py:function."


class UsageError(Exception):
    """The command names something that is not there."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    options = _parser().parse_args(argv)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except UsageError as error:
        return _complain(str(error), 2)
    except DifferentiationError as error:
        return _complain(str(error), 1)
    except BrokenPipeError:
        # The reader has gone; Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _complain(message: str, code: int) -> int:
    print(f"adcompiler: {message}", file=sys.stderr)
    return code


# --- the commands' arguments ------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="adcompiler", description="Derivatives of NumPy code, as readable Python.")
    parser.add_argument("--version", action="version", version=f"adcompiler {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    shown = _with_target(commands, "dump", _dump, "print the generated functions")
    shown.add_argument(
        "--wrt",
        metavar="A,B",
        help="the parameters to differentiate with respect to (default: the first that can have a derivative)",
    )
    shown.add_argument(
        "--single-use", action="store_true", help="the pullback may be called once, and consumes its records"
    )
    shown.add_argument(
        "--stage", choices=STAGES, default="final", help="what an earlier pass made (default: final, the text)"
    )

    shown.add_argument(
        "--order",
        type=int,
        default=1,
        metavar="N",
        help="derivatives of derivatives: the text in forward mode, N - 1 times, then the gradient of its tangent",
    )

    why = _with_target(commands, "explain", _explain, "say how each operation is differentiated")
    why.add_argument("--wrt", metavar="A,B", help="as for dump")
    why.add_argument(
        "--memory",
        action="store_true",
        help="say what each line keeps for the pullback instead; with --args the function is run, and bytes are told",
    )

    rules = commands.add_parser("rules", help="list the rules", description="List the rules.")
    rules.add_argument("name", metavar="NAME", nargs="?", default="", help="only functions with this in their name")
    rules.add_argument("--coverage", metavar="MODULE", help="how every public function of a module or class is treated")
    rules.set_defaults(run=_rules)

    checked = _with_target(commands, "check", _check, "compare the gradient with central differences")
    checked.add_argument(
        "--tolerance", type=float, default=1e-5, help="the largest relative error (default: %(default)s)"
    )
    return parser


def _with_target(commands: Any, name: str, run: Any, does: str) -> argparse.ArgumentParser:
    """The parser of a command that takes a function and example arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=does, description=does.capitalize() + ".", epilog=_EPILOG
    )
    parser.add_argument("target", metavar="TARGET", help="module:function or file.py:function")
    parser.add_argument(
        "--args",
        metavar="EXPR",
        nargs="+",
        default=[],
        help="arguments as Python expressions, with np for numpy; name=EXPR for keywords (default: guessed from "
        "annotations, else arrays)",
    )
    parser.set_defaults(run=run)
    return parser


# --- commands ---------------------------------------------------------------------------------------------


def _dump(options: argparse.Namespace) -> int:
    with _quiet():
        function, args, kwargs = _called(options)
        wrt = _wrt(options, function)
        if options.order > 1:
            text = dump_order(function, args, kwargs, wrt, options.order)
        else:
            text = dump(function, args, kwargs, wrt, options.single_use, options.stage)
    sys.stdout.write(text)
    return 0


def _explain(options: argparse.Namespace) -> int:
    with _quiet():
        function, args, kwargs = _called(options)
        compiled, guess = tried(function, args, kwargs, _wrt(options, function), OFF, compile_request)
        if not options.memory:
            text = explained(compiled)
        elif guess or not (args or kwargs):
            text = "".join(f"{note}\n" for note in assumed_notes(guess)) + kept_kinds(compiled)
        else:
            try:
                text = f"{run_report(compiled)}\n"
            except DifferentiationError:
                raise
            except Exception as error:
                return _raised(function, error)
    sys.stdout.write(text)
    return 0


def _rules(options: argparse.Namespace) -> int:
    if options.coverage is not None:
        try:
            print(covered(options.coverage), end="")
        except ImportError as error:
            raise UsageError(f"--coverage {options.coverage}: {error}") from None
        return 0
    rows = [
        (key_name(key), rule.kind or "-", rule.result or "-", place(rule)) for rule in all_rules() for key in rule.keys
    ]
    rows += [(key_name(found.key), found.kind or "-", "-", "no derivative") for found in all_non_differentiable()]
    wanted = [row for row in rows if options.name in row[0]]
    if not wanted:
        return _complain(f"no rule is for a function with {options.name!r} in its name", 1)
    print("\n".join(table([("FUNCTION", "KIND", "RESULT", "RULE"), *wanted])))
    return 0


def _check(options: argparse.Namespace) -> int:
    with _quiet():
        function, args, kwargs = _called(options)
        try:
            errors, guess = compared_or_guessed(function, args, kwargs)
        except DifferentiationError:
            raise
        except Exception as error:
            return _raised(function, error)
    print("".join(f"{note}\n" for note in assumed_notes(guess)), end="")
    good = all(error <= options.tolerance for _, error in errors)
    rows = [(name, f"{error:.2e}", "ok" if error <= options.tolerance else "WRONG") for name, error in errors]
    print("\n".join(table([("ARGUMENT", "MAX RELATIVE ERROR", ""), *rows])))
    return 0 if good else 1


def _raised(function: Any, error: Exception) -> int:
    return _complain(f"{function.__qualname__} raised {type(error).__name__}: {error}", 1)


def _quiet() -> Any:
    """What the user's module prints does not belong to the output."""
    return contextlib.redirect_stdout(sys.stderr)


def _wrt(options: argparse.Namespace, function: Any) -> tuple[str, ...] | None:
    if options.wrt is None:
        return None
    names = tuple(filter(None, (name.strip() for name in options.wrt.split(","))))
    parameters = inspect.signature(function, follow_wrapped=False).parameters
    for name in names:
        if name not in parameters:
            raise UsageError(f"--wrt names {name!r}; the parameters of {function.__name__} are {', '.join(parameters)}")
    return names


# --- the target and its arguments -------------------------------------------------------------------------


def _called(options: argparse.Namespace) -> tuple[Any, list[Any], dict[str, Any]]:
    """The function, and the arguments that `--args` gives."""
    module, function = _target(options.target)
    args, kwargs = _evaluated(options.args, vars(module))
    signature = inspect.signature(function, follow_wrapped=False)
    try:
        signature.bind_partial(*args, **kwargs)
    except TypeError as error:
        raise UsageError(f"{options.target}: {error}") from None
    parameters = signature.parameters.values()
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        # Python 3.13 no longer finds these in `bind_partial`.
        for name in [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY and p.name in kwargs]:
            raise UsageError(f"{options.target}: {name!r} parameter is positional only, but was passed as a keyword")
    return function, args, kwargs


def _target(text: str) -> tuple[ModuleType, Any]:
    """The module and the function that a target names."""
    where, colon, path = text.rpartition(":")
    if not colon or not path:
        raise UsageError(f"{text!r} is not a target; {_EPILOG}")
    module = _from_file(Path(where)) if where.endswith(".py") else _from_name(where)
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{where} has no {path}{_similar(part, vars(found))}")
        found = getattr(found, part)
    return module, plain(found)


def _similar(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, names, 1)
    return f"; did you mean {close[0]}?" if close else ""


def _from_name(name: str) -> ModuleType:
    sys.path.insert(0, os.getcwd())
    return _imported(name, lambda: importlib.import_module(name))


def _from_file(path: Path) -> ModuleType:
    """The module of a file, under the name by which a script beside it would import it."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    sys.path.insert(0, str(path.resolve().parent))
    known = sys.modules.get(path.stem)
    name = path.stem if known is None or _file_of(known) == path.resolve() else f"{path.stem}_target"

    def load() -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, path.resolve())
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return _imported(str(path), load)


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if file else None


def _imported(name: str, load: Any) -> ModuleType:
    try:
        return load()  # type: ignore[no-any-return]
    except Exception as error:
        raise UsageError(f"importing {name} raised {type(error).__name__}: {error}") from error


def _evaluated(texts: Sequence[str], module: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The values of `--args`; an expression may also name what stands in the target's module."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for text in texts:
        keyword = re.match(r"\s*([^\W\d]\w*)\s*=(?!=)(.*)", text, re.DOTALL)
        name, expression = keyword.groups() if keyword else (None, text)
        try:
            value = eval(expression.strip(), {**module, "np": np})
        except Exception as error:
            raise UsageError(f"--args {text!r}: {type(error).__name__}: {error}") from None
        if name is None:
            args.append(value)
        else:
            kwargs[name] = value
    return args, kwargs
