"""What the READMEs show is true: every Python snippet runs, and the dump is the one that the example prints."""

import builtins
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from adcompiler.rules import registry

ROOT = Path(__file__).parent.parent
READMES = [ROOT / "README.md", ROOT / "rules" / "README.md"]
SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def snippets(path):
    return SNIPPET.findall(path.read_text(encoding="utf-8"))


@pytest.fixture
def registered(monkeypatch):
    """What a snippet registers is forgotten."""
    for name in ("_rules", "_non_differentiable", "_opt_outs", "_refused", "_waiting"):
        monkeypatch.setattr(registry, name, getattr(registry, name))


@pytest.mark.parametrize("path", READMES, ids=lambda path: path.parent.name)
def test_snippets_run(path, tmp_path, registered, capsys):
    """One after another, each with what those before it have defined, as a reader would try them."""
    namespace = {"__name__": "snippets", "__builtins__": builtins}
    for number, text in enumerate(snippets(path)):
        file = tmp_path / f"snippet_{number}.py"
        file.write_text(text, encoding="utf-8")
        exec(compile(text, str(file), "exec"), namespace)
    assert number >= 2


@pytest.mark.parametrize(
    ("path", "number"),
    [(path, n) for path in READMES for n, _ in enumerate(snippets(path))],
    ids=lambda value: str(value) if isinstance(value, int) else value.parent.name,
)
def test_snippets_run_alone(path, number, tmp_path, registered, capsys):
    """A reader copies one; not output (the second of the first file), nor the tests of what the others define."""
    text = snippets(path)[number]
    if text.startswith("#") or "check_rule(" in text:
        return
    file = tmp_path / "alone.py"
    file.write_text(text, encoding="utf-8")
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), {"__name__": "alone"})


def test_dump_is_what_the_example_prints(tmp_path, request):
    """The second snippet is the output of the first (with `--update-golden` it is put in)."""
    readme = READMES[0]
    example, shown = snippets(readme)[:2]
    (tmp_path / "example.py").write_text(example, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "example.py"], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert "" == done.stderr
    printed = done.stdout.rstrip("\n") + "\n"
    if request.config.getoption("--update-golden"):
        text = readme.read_text(encoding="utf-8").replace(f"```python\n{shown}```", f"```python\n{printed}```")
        readme.write_text(text, encoding="utf-8")
    else:
        assert shown == printed


def test_dump_gives_the_gradient(tmp_path):
    """The shown text, alone, computes what value_and_grad does."""
    example, shown = snippets(READMES[0])[:2]
    modules = {}
    for name, text in (("example", example), ("shown", shown)):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
        modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(modules[name])
    example = modules["example"]
    value, back = modules["shown"].loss_forward(example.params, example.x, example.y)
    assert example.value == pytest.approx(value)
    for key, expected in example.g.items():
        assert expected == pytest.approx(back(1.0)[key])


def test_backward_of_a_write_is_what_the_snippet_prints(tmp_path, capsys):
    """The part of the text that is shown under the snippet of the section on writes."""
    section = READMES[0].read_text(encoding="utf-8").partition("## Writing into arrays")[2]
    (shown,) = re.findall(r"^```text\n(.*?)^```$", section.partition("\n## ")[0], re.DOTALL | re.MULTILINE)
    file = tmp_path / "writes.py"
    file.write_text(SNIPPET.search(section)[1], encoding="utf-8")
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), {"__name__": "writes"})
    assert shown in capsys.readouterr().out


def test_memory_report_is_what_the_snippet_prints(tmp_path, monkeypatch, capsys):
    """The table under the first snippet of the section on memory."""
    section = READMES[0].read_text(encoding="utf-8").partition("## Memory")[2]
    shown = re.search(r"^```text\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)[1]
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "evolve.py"
    file.write_text(SNIPPET.search(section)[1], encoding="utf-8")
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), {"__name__": "evolve"})
    assert shown == capsys.readouterr().out


@pytest.mark.parametrize("path", READMES, ids=lambda path: path.parent.name)
def test_links_and_files_exist(path):
    """Links lead somewhere."""
    for link in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / link).exists(), link


@pytest.mark.parametrize("folder", ["adcompiler", "rules", "runtime"])
def test_map_names_every_module(folder):
    """A module that is not in the map would not be found."""
    text = READMES[0].read_text(encoding="utf-8").partition("## Map")[2]
    tables = [table for table in text.split("\n\n") if table.startswith(f"| `{folder}/`")]
    rows = [row.split("|")[1] for table in tables for row in table.split("\n")[2:]]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    modules = {file.stem for file in (ROOT / folder).glob("*.py")} - {"__init__"}
    assert sorted(modules) == sorted(named)


def test_commands_exist():
    """The commands and make targets that are shown are there."""
    text = "".join(re.findall(r"^```sh\n(.*?)^```$", READMES[0].read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", text, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for command in re.findall(r"^adcompiler (\w+)", text, re.MULTILINE):
        done = subprocess.run(
            [sys.executable, "-m", "adcompiler", command, "--help"], cwd=ROOT, capture_output=True, check=False
        )
        assert 0 == done.returncode


def test_kinds_of_rules_are_described():
    """Each kind that a rule may declare stands in the table."""
    text = READMES[1].read_text(encoding="utf-8")
    assert {kind for kind in registry.RULE_KINDS if f'"{kind}"' not in text} == set()
