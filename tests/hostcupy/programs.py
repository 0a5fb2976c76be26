"""The programs of tests/test_writes_*.py on arrays of CuPy: the same text, in which `np` is CuPy."""

import contextlib
import copy
import importlib.util
import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import cupy
import numpy as np

from adcompiler import pullback
from adcompiler.runtime.project import materialize
from adcompiler.vectors import close, inner, random_like
from tests.differences import numerical_gradient
from tests.hostcupy.calls import NOT_TAKEN

FOLDER = Path(__file__).parents[1]


class NotTaken(Exception):
    """CuPy itself does not run the program."""


@dataclass(frozen=True)
class Run:
    """A test function that looks at a program, and its parameters."""

    module: ModuleType
    test: Callable[..., None]
    parameters: dict[str, Any]

    def __str__(self) -> str:
        named = [getattr(v, "__name__", None) or repr(v) for v in self.parameters.values()]
        return "-".join([self.module.__name__.removeprefix("test_writes_"), self.test.__name__[5:], *named])

    def __call__(self) -> None:
        """Look at the program, in CuPy."""
        self.test(**self.parameters)


def runs() -> Iterator[Run]:
    """All tests of written programs."""
    for path in sorted(FOLDER.glob("test_writes_*.py")):
        module = _loaded(path)
        for name, test in list(vars(module).items()):
            if name.startswith("test_") and "check_writes(" in inspect.getsource(test):
                marks = [m for m in getattr(test, "pytestmark", []) if m.name == "parametrize"]
                for values in itertools.product(*(m.args[1] for m in marks)):
                    yield Run(module, test, {m.args[0]: v for m, v in zip(marks, values, strict=True)})


def _loaded(path: Path) -> ModuleType:
    """A second copy of a module of tests, which compares with CuPy."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.check_writes = lambda f, *args, **how: check(module, f, *args, **how)  # type: ignore[attr-defined]
    return module


@contextlib.contextmanager
def _in_cupy(module: ModuleType) -> Iterator[None]:
    """Give a module's functions CuPy for NumPy, and its arrays and containers of these."""
    kinds = (np.ndarray, dict, list)
    before = {k: v for k, v in vars(module).items() if v is np or (isinstance(v, kinds) and not k.startswith("_"))}
    vars(module).update({name: cupy if value is np else on_device(value) for name, value in before.items()})
    try:
        yield
    finally:
        vars(module).update(before)


def moved(value: Any, convert: Callable[[Any], Any]) -> Any:
    """`value` with its arrays converted, also in containers and objects."""
    if isinstance(value, (tuple, list)):
        entries = [moved(entry, convert) for entry in value]
        return type(value)(*entries) if hasattr(value, "_fields") else type(value)(entries)
    if isinstance(value, dict):
        return type(value)({key: moved(entry, convert) for key, entry in value.items()})
    if hasattr(value, "__dict__") and not isinstance(value, (type, FunctionType, cupy.ndarray)):
        made = copy.copy(value)
        made.__dict__.update(moved(value.__dict__, convert))
        return made
    return convert(value)


def on_device(value: Any) -> Any:
    """Arrays of NumPy as those of CuPy, with their layout."""
    return moved(copy.deepcopy(value), lambda x: cupy.array(x, order="K") if type(x) is np.ndarray else x)


def on_host(value: Any) -> Any:
    """Arrays of CuPy as those of NumPy."""
    return moved(value, lambda x: cupy.asnumpy(x) if isinstance(x, cupy.ndarray) else x)


def check(module: ModuleType, f: Callable[..., Any], *args: Any, before: Callable[[], None] = lambda: None) -> None:
    """The value, the changed arguments and the gradient of a program in CuPy.

    They are those of the program in NumPy, or where the program means something else in CuPy (an element of an array is
    a view of it), those of central differences.
    """
    plain = copy.deepcopy(args)
    before()
    try:
        value = f(*plain)
    except TypeError:  # NumPy's numbers are not written into
        value = None
    own, given = _called(module, f, args, before)
    wanted = copy.deepcopy((on_host(own), on_host(given)))
    seed = random_like(wanted[0], np.random.default_rng(7))
    same = value is not None and close(wanted[0], value, 1e-12) and close(wanted[1], plain, 1e-12)
    if same:
        before()
        expected = materialize(pullback(f, *copy.deepcopy(args))[1](seed), args)
    else:
        expected = numerical_gradient(lambda x: inner(seed, on_host(_called(module, f, x, before)[0])), args)
    for single_use in (False, True):
        before()
        with _in_cupy(module):
            given = on_device(args)
            y, back = pullback(f, *given, single_use=single_use)
            _compare(on_host((y, given)), wanted, 0.0)
            for _ in range(1 if single_use else 2):
                grads = materialize(back(on_device(seed)), given)
                _check_types(grads, given)
                _compare(on_host(grads), expected, 1e-9 if same else 1e-5)


def _called(module: ModuleType, f: Callable[..., Any], args: Any, before: Callable[[], None]) -> tuple[Any, Any]:
    """The value of the plain program in CuPy, and the arguments after the call."""
    before()
    with _in_cupy(module):
        given = on_device(args)
        try:
            return f(*given), given
        except NOT_TAKEN as error:
            raise NotTaken(f"{type(error).__name__}: {error}") from None


def _compare(actual: Any, expected: Any, tolerance: float) -> None:
    if isinstance(expected, (tuple, list, dict)):
        items = expected.items() if isinstance(expected, dict) else enumerate(expected)
        for key, entry in items:
            _compare(None if actual is None else actual[key], entry, tolerance)
    elif isinstance(expected, (float, complex, np.ndarray, np.generic)):
        np.testing.assert_allclose(0.0 if actual is None else actual, expected, tolerance, tolerance)
    elif hasattr(expected, "__dict__") and not isinstance(expected, (type, FunctionType)):
        _compare(vars(actual), vars(expected), tolerance)


def _check_types(grad: Any, value: Any) -> None:
    if isinstance(value, (tuple, list, dict)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, entry in items:
            if grad is not None:
                _check_types(grad[key], entry)
    elif isinstance(value, cupy.ndarray) and value.dtype.kind in "fc" and grad is not None:
        assert type(grad) is cupy.ndarray
        assert (grad.shape, grad.dtype, grad.device) == (value.shape, value.dtype, value.device)
