"""What is installed is what is tested, in every way of installing it."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = {"adcompiler": "adcompiler", "adcompiler.rules": "rules", "adcompiler.runtime": "runtime"}
FILES = {
    f"{package.replace('.', '/')}/{path.name}" for package, f in FOLDERS.items() for path in (ROOT / f).glob("*.py")
}
IMPORT = (
    "import adcompiler, adcompiler.rules, adcompiler.runtime; print(adcompiler.__file__, adcompiler.rules.__file__)"
)


def run(*command, cwd):
    """Run a command without anything of the environment that could help it to find the checkout; return its output."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def checkout(tmp_path_factory):
    """A copy of what is packaged, since building leaves its traces in the folder."""
    copy = tmp_path_factory.mktemp("checkout")
    tracked = [*FOLDERS.values(), "tests", "examples", "benchmarks"]
    for folder in tracked:
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, copy)
    return copy


@pytest.fixture(scope="session")
def wheel(checkout, tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", out, checkout, cwd=out)
    return next(out.glob("*.whl"))


@pytest.fixture
def python(tmp_path):
    """The interpreter of a new environment that has the dependencies, but not the package."""
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip())
    # A folder named in a .pth is searched, but its own .pth files, such as an editable install's, are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return python


def install(python, *what):
    """Install without a look at an index: all that is needed is here."""
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--ignore-installed"]
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, *what, cwd=python.parent)


def test_every_package_is_listed():
    """A folder that is not listed imports well in a checkout and is missing from the wheel."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert [*FOLDERS] == config["packages"]
    assert FOLDERS == config["package-dir"]
    for folder in FOLDERS.values():
        assert [] == [path for path in (ROOT / folder).glob("*/**/*.py")], "packages are flat"


def test_wheel_contents(wheel):
    """All modules and the typing marker, and nothing of the tests."""
    names = set(zipfile.ZipFile(wheel).namelist())
    assert FILES | {"adcompiler/py.typed"} == {name for name in names if ".dist-info/" not in name}


def test_sdist_contents(checkout, tmp_path):
    """The source distribution keeps the layout of the checkout and can be tested."""
    code = f"from setuptools.build_meta import build_sdist; build_sdist({str(tmp_path)!r})"
    run(sys.executable, "-c", code, cwd=checkout)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    here = {str(path.relative_to(ROOT)) for folder in FOLDERS.values() for path in (ROOT / folder).glob("*.py")}
    assert here | {"tests/conftest.py", "examples/digits.py", "LICENSE", "Makefile", "pyproject.toml"} <= names


@pytest.mark.slow
def test_wheel_works_without_the_checkout(wheel, python, tmp_path):
    """Module, command and imports work from an unrelated folder."""
    install(python, wheel)
    home = str(python.parent.parent)
    assert all(path.startswith(home) for path in run(python, "-c", IMPORT, cwd=tmp_path).split())
    assert "usage: adcompiler" in run(python, "-m", "adcompiler", "--help", cwd=tmp_path)
    assert "usage: adcompiler" in run(python.parent / "adcompiler", "--help", cwd=tmp_path)


@pytest.mark.slow
def test_wheel_does_not_disturb_a_checkout(wheel, python, checkout):
    """In the checkout its own code runs, although another copy is installed."""
    install(python, wheel)
    assert all(path.startswith(str(checkout)) for path in run(python, "-c", IMPORT, cwd=checkout).split())
    assert "usage: adcompiler" in run(python, "-m", "adcompiler", "--help", cwd=checkout)


@pytest.mark.slow
def test_editable_install(checkout, python, tmp_path):
    """From an unrelated folder the code of the checkout runs."""
    install(python, "--editable", checkout)
    assert all(path.startswith(str(checkout)) for path in run(python, "-c", IMPORT, cwd=tmp_path).split())
    for folder in (tmp_path, checkout):
        assert "usage: adcompiler" in run(python, "-m", "adcompiler", "--help", cwd=folder)


@pytest.mark.slow
def test_checkout_without_install(python, checkout):
    """A checkout with its dependencies runs as it is."""
    assert "usage: adcompiler" in run(python, "-m", "adcompiler", "--help", cwd=checkout)


def test_script_and_version():
    """The command's version is the package's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {"adcompiler": "adcompiler.cli:main"} == project["scripts"]
    shown = run(sys.executable, "-m", "adcompiler", "--version", cwd=ROOT)
    assert f"adcompiler {project['version']}" == shown.strip()
