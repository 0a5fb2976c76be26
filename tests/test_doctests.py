"""The examples in docstrings are true."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = {"adcompiler": "adcompiler", "rules": "adcompiler.rules", "runtime": "adcompiler.runtime"}
MODULES = [
    f"{package}.{path.stem}"
    for folder, package in FOLDERS.items()
    for path in sorted((ROOT / folder).glob("*.py"))
    if path.stem not in {"__init__", "__main__"} and ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_module(name, capsys):
    """Modules are imported by name: importing `rules/x.py` by its path would make a second registry."""
    package = name.rpartition(".")[2]
    if package == "cupy":
        pytest.importorskip(package)
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert 0 == result.failed, capsys.readouterr().out
