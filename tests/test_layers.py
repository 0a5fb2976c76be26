"""Imports point one way: the compiler -> the rules -> the run time."""

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = {"adcompiler": "adcompiler", "adcompiler.rules": "rules", "adcompiler.runtime": "runtime"}
ALLOWED = {
    "adcompiler": {"adcompiler", "adcompiler.rules", "adcompiler.runtime"},
    "adcompiler.rules": {"adcompiler.rules", "adcompiler.runtime"},
    "adcompiler.runtime": {"adcompiler.runtime"},
}
THIRD_PARTY = {
    "adcompiler": {"numpy", "gast", "astor"},
    "adcompiler.rules": {"numpy", "scipy", "cupy", "cupyx"},
    "adcompiler.runtime": {"numpy"},
}
LOADED_LATER = {"adcompiler.rules.cupy": {"cupy", "cupyx"}}  # rules of packages that the user has imported


def modules():
    """Every module of the package: its full name and its file."""
    for package, folder in LAYERS.items():
        for path in sorted((ROOT / folder).glob("*.py")):
            yield (package if path.stem == "__init__" else f"{package}.{path.stem}"), path


MODULES = dict(modules())


def layer_of(name):
    return next((layer for layer in [*LAYERS][1:] if f"{name}.".startswith(f"{layer}.")), "adcompiler")


def imports(path, top_level_only=False):
    """The full names of all modules that a file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno}: a relative import hides the layer it goes to"
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from {name if name in MODULES else node.module for name in full}


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_down(name):
    """A module imports from its own layer and from those below, and only the libraries that its layer may need."""
    for imported in imports(MODULES[name]):
        top = imported.partition(".")[0]
        if top == "adcompiler":
            assert layer_of(imported) in ALLOWED[layer_of(name)], f"{name} imports {imported}"
        else:
            allowed = THIRD_PARTY[layer_of(name)] | LOADED_LATER.get(name, set())
            assert top in allowed | sys.stdlib_module_names, f"{name} imports {imported}"


def test_no_cycles():
    """The modules can be put in an order in which each imports only earlier ones."""
    graph = {name: {*imports(path, top_level_only=True)} - {name} for name, path in MODULES.items()}
    assert len(list(graphlib.TopologicalSorter(graph).static_order())) >= len(MODULES)


def test_astor_is_imported_by_the_printer_only():
    """One door out: all text is printed in one place, where it is checked."""
    assert {"adcompiler.emit"} >= {name for name, path in MODULES.items() if "astor" in set(imports(path))}


def test_import_is_light():
    """Importing the package loads neither CuPy nor anything else that the user did not ask for."""
    heavy = "cupy", "scipy", "sklearn", "pytest", "torch"
    code = f"import adcompiler, sys; print(*sys.modules.keys() & set({heavy!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "" == done.stdout.strip()
