"""The tests of this folder run on arrays of CuPy: in host memory, or with ``-m gpu`` on the device.

They are collected only when they are asked for: by ``make test-cupy``, which names the folder, or by ``-m gpu``.
"""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def on_real_device(config: pytest.Config) -> bool:
    """Whether the tests were asked for by their mark, and not by their folder."""
    return config.option.markexpr == "gpu"


def named(config: pytest.Config) -> bool:
    """Whether this folder, or a file in it, stands on the command line."""
    places = [Path(argument.split("::")[0]) for argument in config.args]
    return any((config.invocation_params.dir / place).resolve().is_relative_to(FOLDER) for place in places)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the files out unless they are asked for; before one is imported, decide where CuPy's arrays live."""
    if not named(config) and not on_real_device(config):
        return True
    if on_real_device(config):
        need_device()
    else:
        from tests.hostcupy.compiler import NoCompiler, command
        from tests.hostcupy.install import install

        try:
            command()
        except NoCompiler as error:
            raise pytest.UsageError(str(error)) from None
        install()
    return None


def need_device() -> None:
    """Raise if there is no device."""
    import cupy

    if not cupy.cuda.is_available():
        raise pytest.UsageError("-m gpu needs a CUDA device; `make test-cupy` runs these tests in host memory")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test here may also run on a device."""
    for item in items:
        if item.path.is_relative_to(FOLDER):
            item.add_marker("gpu")
