"""The commands, as a user of a command line calls them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import adcompiler
from adcompiler import explain
from adcompiler.cli import main
from adcompiler.rules.registry import all_rules, key_name

ROOT = Path(__file__).parent.parent

TRAIN = """\
import numpy as np

print("hello from train")
SCALE = 2.0
START = np.array([0.5, 1.5])


def squash(a):
    return np.tanh(a)


def loss(x, n=2):
    for _ in range(n):
        x = squash(x) * SCALE
    if n < 0:
        print("negative")
    return np.sum(x * x)


def refused(x):
    return sum({v * v for v in x})


def wrong(x):
    return np.sum(lie(x))


def lie(x):
    return x * x


def fails(x):
    raise KeyError("no such thing")


class Model:
    @staticmethod
    def score(x, scale=1.0):
        return np.sum(np.exp(x)) * scale


number = 3
"""


@pytest.fixture
def train(tmp_path, monkeypatch):
    """A folder with train.py in it, where the command is called."""
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("train", None)


@pytest.fixture
def run(capsys):
    """Call the command: `code, out, err = run("dump", "train:loss")`."""

    def run(*argv):
        try:
            code = main(argv)
        except SystemExit as exit:  # argparse
            code = exit.code
        out, err = capsys.readouterr()
        return code, out, err

    return run


# --- the command itself -----------------------------------------------------------------------------------


def test_version(run):
    assert (0, f"adcompiler {adcompiler.__version__}\n", "") == run("--version")


def test_help_names_the_commands(run):
    code, out, _ = run("--help")
    assert 0 == code
    for command in ("dump", "explain", "rules", "check"):
        assert command in out


@pytest.mark.parametrize("argv", [(), ("nonsense",), ("dump",), ("check",), ("dump", "x", "--stage", "q")])
def test_wrong_usage(argv, run, train):
    """What makes no sense ends with 2 and the usage on stderr."""
    code, out, err = run(*argv)
    assert (2, "") == (code, out)
    assert "usage: adcompiler" in err


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("loss", "'loss' is not a target; TARGET is module:function or file.py:function"),
        ("train:", "'train:' is not a target"),
        ("train:los", "train has no los; did you mean loss?"),
        ("train:Model.scroe", "train has no Model.scroe; did you mean score?"),
        ("nowhere.py:f", "there is no file nowhere.py"),
        ("no_such_module:f", "importing no_such_module raised ModuleNotFoundError"),
    ],
)
def test_target_that_is_not_there(target, message, run, train):
    """A wrong target is a mistake in the command: 2, with a hint and without a traceback."""
    code, out, err = run("dump", target)
    assert (2, "") == (code, out)
    assert f"adcompiler: {message}" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["np.ones(3"], "--args 'np.ones(3': SyntaxError"),
        (["missing"], "NameError: name 'missing' is not defined"),
        (["1.0", "2", "3"], "too many positional arguments"),
        (["q=1.0"], "got an unexpected keyword argument 'q'"),
    ],
)
def test_wrong_arguments(args, message, run, train):
    code, out, err = run("dump", "train:loss", "--args", *args)
    assert (2, "") == (code, out)
    assert message in err


# --- dump -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["train:loss", "train.py:loss"])
def test_dump(target, run, train):
    """The text goes to stdout, and what the module prints does not."""
    code, out, err = run("dump", target, "--args", "START", "n=3", "--single-use")
    assert 0 == code
    assert out.startswith("# loss (train.py:12), derivative with respect to x, single use.  adcompiler ")
    assert "def loss_forward(x, n=2):" in out
    assert "hello" not in out
    assert "hello" in err


def test_dump_without_arguments(run, train):
    """Arguments are guessed, and the text says how."""
    code, out, _ = run("dump", "train:loss")
    assert 0 == code
    assert "# Assumed, because no arguments were given: x is an array of 2 dimensions." in out


def test_dump_of_an_attribute(run, train):
    """A dotted path is followed; `--wrt` chooses."""
    code, out, _ = run("dump", "train:Model.score", "--args", "START", "--wrt", "x, scale")
    assert 0 == code
    assert "with respect to x and scale." in out
    code, _, err = run("dump", "train:Model.score", "--wrt", "y")
    assert 2 == code
    assert "--wrt names 'y'; the parameters of score are x, scale" in err


def test_dump_of_a_stage(run, train):
    code, out, _ = run("dump", "train:loss", "--stage", "kinds")
    assert 0 == code
    assert "by the rule multiply" in out


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("train:refused", 'train.py", line 21'),
        ("train:number", "int is not written in Python"),
        ("train:np.sin", "sin is not written in Python"),
    ],
)
def test_what_cannot_be_differentiated(target, message, run, train):
    """A refusal ends with 1, the message on stderr, and no traceback."""
    code, out, err = run("dump", target)
    assert (1, "") == (code, out)
    assert message in err
    assert "Traceback" not in err


def test_dump_in_a_file_is_importable(train):
    """`python -m adcompiler dump ... > file` from anywhere; the file then works alone."""
    env = {"PYTHONPATH": str(ROOT), "PATH": ""}
    command = [sys.executable, "-m", "adcompiler", "dump", "train.py:loss", "--args", "START"]
    with open(train / "dumped.py", "w") as file:
        subprocess.run(command, cwd=train, env=env, stdout=file, stderr=subprocess.PIPE, check=True)
    use = "import dumped; v, back = dumped.loss_forward(0.5); print(round(back(1.0), 6))"
    done = subprocess.run([sys.executable, "-c", use], cwd=train, env=env, capture_output=True, text=True, check=True)
    h, x = 1e-6, 0.5
    f = lambda x: (2 * np.tanh(2 * np.tanh(x))) ** 2
    assert float(done.stdout) == pytest.approx((f(x + h) - f(x - h)) / (2 * h), rel=1e-4)


def test_closed_pipe(train):
    """`| head` ends the command without a complaint."""
    command = f"{sys.executable} -m adcompiler rules | head -n 1"
    done = subprocess.run(
        command,
        shell=True,
        cwd=train,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert "" == done.stderr
    assert done.stdout.startswith("FUNCTION")


# --- explain ----------------------------------------------------------------------------------------------


def test_explain(run, train):
    """Every operation of every function: line, text, and how it is differentiated, or why it is not."""
    code, out, _ = run("explain", "train:loss", "--args", "START")
    assert 0 == code
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "loss(x: array[1], n: int), derivative with respect to x [train.py:12]" in lines
    assert "squash(a: array[1]), derivative with respect to a [train.py:8]" in lines
    assert "14 squash(x) recursion squash is compiled from its source (train.py:8)" in lines
    assert "15 n < 0 inert a test" in lines or "15 n < 0 inert integers" in lines
    assert any(line.startswith("9 np.tanh(a) rule tanh for numpy.tanh (") for line in lines)
    assert any(line.startswith("14 squash(x) * SCALE rule multiply for operator.mul (") for line in lines)


def test_explain_dynamic(run, train):
    """What depends on types seen at run time only is said to."""
    (train / "odd.py").write_text("def f(x, table):\n    return table(x) * x\n")
    try:
        code, out, _ = run("explain", "odd:f", "--args", "1.0", "__import__('operator').methodcaller('conj')")
    finally:
        sys.modules.pop("odd", None)
    assert 0 == code
    assert "dynamic" in out


def test_explain_says_what_is_not_differentiated(run, train):
    """What no derivative goes through is inert, whatever rule there is."""
    code, out, _ = run("explain", "train:Model.score", "--args", "START", "--wrt", "scale")
    assert 0 == code
    assert "nothing that it reads carries a derivative" in out


def test_explain_memory(run, train):
    """Without arguments nothing is run: names and kinds of what each line of each function keeps."""
    code, out, _ = run("explain", "--memory", "train:loss")
    assert 0 == code
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0].startswith("# Assumed, because no arguments were given: x is an array of 2 dimensions.")
    assert "loss, with respect to x [train.py:12]" in lines
    assert "13 for _ in range(n): the record of squash(), for each iteration of line 13" not in lines
    assert "14 x = squash(x) * SCALE the record of squash(), for each iteration of line 13" in lines
    assert "14 x = squash(x) * SCALE x (or of line 12): array[2]" in lines
    assert "squash, with respect to a [train.py:8]" in lines
    assert "9 return np.tanh(a) np.tanh(a): array[2]" in lines


def test_explain_memory_in_bytes(run, train):
    """With arguments the forward runs: two arrays of two floats from tanh, and the last x."""
    code, out, _ = run("explain", "--memory", "train:loss", "--args", "START")
    assert 0 == code
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0].startswith("The pullback of loss keeps ")
    assert "BYTES LINE CODE KEEPS" == lines[1]
    assert any(line.endswith("train.py:9 return np.tanh(a) np.tanh(a) (2 arrays)") for line in lines)
    assert next(line for line in lines if "train.py:9" in line).startswith("32 B ")


def test_explain_memory_of_what_fails(run, train):
    """An exception of the function itself is told as that."""
    code, out, err = run("explain", "--memory", "train:fails", "--args", "START")
    assert (1, "") == (code, out)
    assert "fails raised KeyError" in err


# --- rules ------------------------------------------------------------------------------------------------


def test_rules(run):
    """Every function that has a rule is in the table, with the place of the rule."""
    code, out, _ = run("rules")
    assert 0 == code
    lines = out.splitlines()
    assert ["FUNCTION", "KIND", "RESULT", "RULE"] == lines[0].split()
    listed = {line.split()[0] for line in lines[1:]}
    assert {key_name(key) for rule in all_rules() for key in rule.keys if " " not in key_name(key)} <= listed
    assert "no derivative" in out


def test_rules_of_a_name(run):
    """A part of a name chooses; the place of a rule is a file and a line."""
    code, out, _ = run("rules", "arctan2")
    assert 0 == code
    name, kind, _, place = out.splitlines()[1].split()
    assert ("numpy.arctan2", "elementwise") == (name, kind)
    file, _, line = place.rpartition(":")
    assert "arctan2" in "".join(Path(file).read_text().splitlines()[int(line) - 2 : int(line) + 4])


def test_no_such_rule(run):
    code, out, err = run("rules", "nonsense")
    assert (1, "") == (code, out)
    assert "no rule is for a function with 'nonsense' in its name" in err


# --- check ------------------------------------------------------------------------------------------------


def test_check(run, train):
    """A right gradient: one line for each argument, and 0."""
    code, out, _ = run("check", "train:loss", "--args", "START", "3")
    assert 0 == code
    name, error, verdict = out.splitlines()[1].split()
    assert ("x", "ok") == (name, verdict)
    assert float(error) < 1e-7


TYPED = """\
import numpy as np


def typed(x: np.ndarray, scale: float, n: int, *, power: int = 2):
    return np.sum(scale * x ** n) ** power


def untyped(a, b):
    return np.sum(np.maximum(a @ b, 0.5))


def part(x: "np.ndarray", y: float, /, z=2.0):
    return np.sum(x) * y * z


def keyword(*, x):
    return np.sum(x)


def never(x):
    raise RuntimeError("never")
"""


@pytest.mark.parametrize(
    ("target", "args", "assumed", "checked"),
    [
        ("typed", [], "x is an array of 2 dimensions, scale is a float, n is an int", ["x", "scale"]),
        ("typed", ["np.ones(3)"], "scale is a float, n is an int", ["x", "scale"]),
        ("typed", ["np.ones(3)", "n=3"], "scale is a float", ["x", "scale"]),
        ("typed", ["np.ones(3)", "2.0", "3", "power=1"], None, ["x", "scale"]),
        ("untyped", [], "a is an array of 2 dimensions, b is an array of 2 dimensions", ["a", "b"]),
        ("part", ["y=3.0"], None, None),
        ("part", [], "x is an array of 2 dimensions, y is a float", ["x", "y"]),
    ],
)
def test_check_with_guessed_arguments(run, train, target, args, assumed, checked):
    """What is not given comes from annotations, else it is an array, and what was assumed is said."""
    (train / "typed_module.py").write_text(TYPED)
    try:
        code, out, err = run("check", f"typed_module.py:{target}", *(["--args", *args] if args else []))
    finally:
        sys.modules.pop("typed_module", None)
    if checked is None:
        assert 2 == code
        return
    assert (0, "") == (code, err)
    note = f"# Assumed, because no arguments were given: {assumed}."
    lines = [line for line in out.splitlines() if not line.startswith("#")]
    assert (note in out) == (assumed is not None)
    assert checked == [line.split()[0] for line in lines[1:]]


def test_check_without_a_guess_that_works(run, train):
    """What the function says of the likeliest guess."""
    (train / "typed_module.py").write_text(TYPED)
    try:
        assert "never raised RuntimeError: never" in run("check", "typed_module.py:never")[2]
        assert "no positional argument" in run("check", "typed_module.py:keyword")[2]
    finally:
        sys.modules.pop("typed_module", None)


def test_check_of_a_wrong_rule(run, train, monkeypatch):
    """A wrong rule is found: WRONG, and 1."""
    (train / "lying.py").write_text(
        "import adcompiler\nfrom train import lie, wrong\n"
        "@adcompiler.rrule(lie)\ndef rule(x):\n    y = lie(x)\n"
        "    def pullback(y_bar):\n        return (3 * y_bar * x,)\n"
        "    return y, pullback\n"
    )
    try:
        code, out, _ = run("check", "lying:wrong", "--args", "np.ones(3)")
    finally:
        sys.modules.pop("lying", None)
    assert 1 == code
    assert ["x", "WRONG"] == out.splitlines()[1].split()[::2]


def test_check_of_a_function_that_fails(run, train):
    """The user's exception is told without a traceback."""
    code, out, err = run("check", "train:fails", "--args", "1.0")
    assert (1, "") == (code, out)
    assert "fails raised KeyError: 'no such thing'" in err


def test_check_without_anything_to_check(run, train):
    code, _, err = run("check", "train:loss", "--args", "3")
    assert 1 == code
    assert "no derivative" in err or "has a derivative" in err


def test_table():
    """Columns are aligned, and long ones do not push the others away."""
    assert ["a" * 60 + "  b", "a" + " " * 49 + "b"] == explain.table([("a" * 60, "b"), ("a", "b")])
