"""Fixtures that every test may use."""

import os
import re
from pathlib import Path

import pytest

# All arrays in the tests are small: they are freed and reused nevertheless.
os.environ.setdefault("ADCOMPILER_RELEASE_ABOVE", "0")

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write what the tests got as what they shall expect")


@pytest.fixture
def golden(request):
    """Compare `str(result)` with the file `golden/<module>/<test>.txt`: `golden(result)`.

    With `--update-golden` the file is written instead; the difference is then to be read before it is committed.
    """
    module = request.path.stem.removeprefix("test_")
    test = re.sub(r"[^\w.]+", "-", request.node.name.removeprefix("test_")).strip("-")
    path = GOLDEN / module / f"{test}.txt"

    def check(result):
        text = f"{result}\n"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if not path.exists():
            pytest.fail(f"there is no {path}; make it with --update-golden, and read it")
        assert path.read_text(encoding="utf-8") == text

    return check
