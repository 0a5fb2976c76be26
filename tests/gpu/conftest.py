"""The tests of this folder need a CUDA device: they are collected with ``-m gpu`` only."""

from pathlib import Path

import pytest

from tests.hostcupy.conftest import need_device, on_real_device


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the files out unless they are asked for by their mark."""
    if not on_real_device(config):
        return True
    need_device()
    return None
