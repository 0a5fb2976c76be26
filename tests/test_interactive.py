"""Functions that were typed in: cells, prompts, doctests, text that is registered; and where no text is kept."""

import doctest
import functools
import linecache
import os
import subprocess
import sys
import textwrap
import time
import types

import numpy as np
import pytest

from adcompiler import (
    DifferentiationError,
    SourceNotFoundError,
    check_gradient,
    gradient,
    pullback,
    rrule,
    value_and_grad,
)
from adcompiler.errors import UnsupportedSyntaxError

X = np.array([0.5, -1.5, 2.0])
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "PYTHON_BASIC_REPL": "1"}
PROMPT_KEEPS_TEXT = sys.version_info >= (3, 13)


@pytest.fixture
def run(monkeypatch):
    """Run text as a notebook runs a cell: compiled under a name, with the text in linecache, in one namespace."""
    namespace = {"np": np, "__name__": "__main__"}

    def run(name, text, keep=True):
        text = textwrap.dedent(text)
        if keep:
            entry = (len(text), None, text.splitlines(keepends=True), name)
            monkeypatch.setitem(linecache.cache, name, entry)
        exec(compile(text, name, "exec", dont_inherit=True), namespace)
        return namespace

    return run


class TestCells:
    @pytest.mark.parametrize(
        "name", ["<ipython-input-3-0a1b2c>", "/tmp/ipykernel_4242/123456.py", "<python-input-0>", "In[7]"]
    )
    def test_names_of_cells(self, run, name):
        """Whatever a front end calls its cells; a refusal shows the cell's own line."""
        cell = run(name, "k = 3.0\ndef f(x):\n    return np.sum(k * x ** 2)\ndef g(x):\n    return eval('x')\n")
        check_gradient(cell["f"], X)
        with pytest.raises(UnsupportedSyntaxError) as caught:
            gradient(cell["g"])(X)
        assert f"""  File "{name}", line 5\n    return eval('x')\n""" in str(caught.value)

    def test_helpers_in_other_cells(self, run):
        """A function and what it calls may stand in several cells."""
        run("<cell 1>", "def inner(x):\n    return np.tanh(x)\n")
        f = run("<cell 2>", "def f(x):\n    return np.sum(inner(x) ** 2)\n")["f"]
        check_gradient(f, X)
        run("<cell 1>", "def inner(x):\n    return np.exp(x)\n")
        np.testing.assert_allclose(2 * np.exp(2 * X), gradient(f)(X))

    def test_cell_that_is_run_again(self, run):
        """The same cell with another text, under a new name or the old one: the newest function and text are used."""
        for name in ("<cell 1>", "<cell 2>", "<cell 2>"):
            for power in (2, 3):
                f = run(name, f"def f(x):\n    return np.sum(x ** {power})\n")["f"]
                np.testing.assert_allclose(power * X ** (power - 1), gradient(f)(X))

    def test_function_of_a_cell_that_was_run_again(self, run):
        """An old function whose text is gone is refused, not differentiated as the new one."""
        old = run("<cell 3>", "def f(x):\n    return np.sum(x ** 2)\n")["f"]
        run("<cell 3>", "def f(x):\n    return np.sum(x ** 3)\n")
        with pytest.raises(SourceNotFoundError) as caught:
            gradient(old)(X)
        message = str(caught.value)
        assert "the source of f is not the code that runs" in message
        assert '  File "<cell 3>", line 1\n    def f(x):' in message
        assert message.endswith("Run the cell again.")

    def test_function_that_was_read_before_its_cell_was_run_again(self, run):
        """What is compiled already stays right."""
        old = run("<cell 4>", "def f(x):\n    return np.sum(x ** 2)\n")["f"]
        df = gradient(old)
        np.testing.assert_allclose(2 * X, df(X))
        new = run("<cell 4>", "def f(x):\n    return np.sum(x ** 3)\n")["f"]
        np.testing.assert_allclose(2 * X, df(X))
        np.testing.assert_allclose(3 * X**2, gradient(new)(X))

    def test_defined_twice_in_one_cell(self, run):
        """The later definition is the function; one that was kept from before keeps its own text."""
        cell = run("<cell 5>", "def f(x):\n    return x * 2.0\nfirst = f\ndef f(x):\n    return x * 3.0\n")
        assert (2.0, 3.0) == (gradient(cell["first"])(1.0), gradient(cell["f"])(1.0))

    def test_twice_the_same_text(self, run):
        """Equal definitions are told apart by their place, since they may see other variables."""
        cell = run(
            "<cell 6>",
            """\
            def make(k):
                def f(x): return k * x
                return f
            def other(k):
                def f(x): return k * x
                return f
            a, b = make(2.0), other(5.0)
            """,
        )
        assert (2.0, 5.0) == (gradient(cell["a"])(1.0), gradient(cell["b"])(1.0))

    def test_code_replaced_in_place(self, run):
        """`%autoreload` puts new code into the old function."""
        f = run("<cell 7>", "def f(x):\n    return x * x\n")["f"]
        df = gradient(f)
        assert 6.0 == df(3.0)
        f.__code__ = run("<cell 8>", "def f(x):\n    return x * x * x\n")["f"].__code__
        assert 27.0 == df(3.0)

    def test_magic_commands_and_top_level_await(self, run, monkeypatch):
        """Lines that are no Python stand around the function, as in the raw text of a cell."""
        text = (
            "#magic\nimport math\nclass M:\n    @staticmethod\n    def f(x):\n        return math.exp(x) * x\n#await\n"
        )
        f = run("<cell 9>", text)["M"].f
        raw = text.replace("#magic", "%load_ext autoreload").replace("#await", "await nothing()")
        monkeypatch.setitem(linecache.cache, "<cell 9>", (len(raw), None, raw.splitlines(keepends=True), "<cell 9>"))
        check_gradient(f, 0.3)

    def test_future_annotations_of_an_earlier_cell(self, run):
        """A front end carries `from __future__ import annotations` from one cell to the next."""
        name, text = "<cell 10>", "def f(x: unknown) -> unknown:\n    y: unknown = x * x\n    return y\n"
        namespace = run(name, "")
        import __future__

        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        exec(compile(text, name, "exec", __future__.annotations.compiler_flag), namespace)
        assert 6.0 == gradient(namespace["f"])(3.0)

    def test_registered_text_as_the_message_says(self):
        """The advice for exec() works as it is written."""
        text = "def f(x):\n    return x * x\n"
        scope = {}
        exec(text, scope)
        with pytest.raises(SourceNotFoundError) as caught:
            gradient(scope["f"])(3.0)
        advice = str(caught.value).split("give the text to linecache: ")[1].split(". Or")[0]
        scope = {"text": text, "linecache": linecache}
        exec(advice, scope)
        assert 6.0 == gradient(scope["f"])(3.0)


class TestLambdas:
    def test_several_on_one_line(self):
        """Each is found by its columns."""
        functions = lambda x: x * 2.0, lambda x: x * 3.0, (lambda x: x * x, lambda x: x * x * 2.0)
        slopes = [gradient(f)(3.0) for f in (*functions[:2], *functions[2])]
        assert [2.0, 3.0, 6.0, 12.0] == slopes

    def test_over_several_lines(self, run):
        """With brackets, breaks and comments in them, and a string that looks like another one."""
        cell = run(
            "<lambdas>",
            """\
            table = {
                "one": lambda x: (
                    x  # lambda x: x + 1
                    * x
                ), "two": lambda x, *, scale=2.0: scale \\
                    * x,
                'lambda x: 0': (lambda x:
                    [x, x * 4.0][1]), "four": lambda x: (lambda y:
                        y * 5.0)(x)}
            """,
        )
        assert [6.0, 2.0, 4.0, 5.0] == [gradient(f)(3.0) for f in cell["table"].values()]

    def test_made_in_a_comprehension(self, run):
        """One text, several functions with their own variables; also in a class, whose private names are mangled."""
        cell = run(
            "<comprehension>",
            "fs = [lambda x, n=n: x ** n for n in (1, 2, 3)]\n"
            "gs = [(lambda k: lambda x: k * x)(k) for k in (2.0, 7.0)]\n",
        )
        assert [1.0, 4.0, 12.0] == [gradient(f)(2.0) for f in cell["fs"]]
        assert [2.0, 7.0] == [gradient(g)(1.0) for g in cell["gs"]]
        text = "__k = 2.0\n_C__k = 3.0\nclass C:\n    fs = [lambda x, n=n: x * __k * n for n in (1.0, 2.0)]\n"
        cell = run("<class>", text)
        assert [3.0, 6.0] == [gradient(f)(1.0) for f in cell["C"].fs]


class TestFiles:
    def test_nested_function_of_a_changed_file(self, tmp_path, monkeypatch):
        """A closure made before the file changed: followed if it only moved, refused if it is another."""
        path = tmp_path / "changing_module.py"
        text = "def make(k):\n    def inner(x):\n        return k * x * x\n    return inner\n"
        monkeypatch.syspath_prepend(str(tmp_path))

        def write(text):
            path.write_text(text, encoding="utf-8")
            os.utime(path, (time.time(), path.stat().st_mtime + 10))

        write(text)
        import changing_module

        before = changing_module.make(3.0)
        write("# a line\n\n" + text)
        assert 6.0 == gradient(before)(1.0)
        write(text.replace("k * x * x", "k * x"))
        assert 6.0 == gradient(changing_module.make(3.0))(1.0), "the text that was read is still that of this code"
        linecache.cache.pop(str(path), None)
        with pytest.raises(SourceNotFoundError) as caught:
            gradient(types.FunctionType(before.__code__, {}, "inner", None, before.__closure__))(1.0)
        assert f'File "{path}", line 2\n    def inner(x):' in str(caught.value)
        assert "Import the module again, or restart Python." in str(caught.value)
        sys.modules.pop("changing_module")

    def test_file_that_is_gone(self, tmp_path):
        """The message names the file."""
        path = tmp_path / "gone.py"
        scope = {}
        exec(compile("def f(x):\n    return x\n", str(path), "exec"), scope)
        with pytest.raises(SourceNotFoundError, match=r"(?s)source of f .*no file .*gone\.py.*in a file or a notebook"):
            gradient(scope["f"])(1.0)


def prompt(text):
    """What Python prints when a text is typed at its prompt, in a terminal where there is one."""
    pty = pytest.importorskip("pty")
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-q", "-i"], stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=ENVIRONMENT
    )
    os.close(terminal)
    os.write(controller, (textwrap.dedent(text) + "\nexit()\n").encode())
    out, _ = process.communicate(timeout=120)
    os.close(controller)
    return out.decode()


class TestPrompts:
    TYPED = """\
    from adcompiler import gradient
    def f(x):
        return x * x

    gradient(f)(3.0)
    def f(x):
        return x * x * x

    gradient(f)(3.0), gradient(lambda x: 5.0 * x)(3.0)
    """

    def test_prompt(self):
        """From Python 3.13 on the prompt keeps what is typed; before, the message says what to do."""
        out = prompt(self.TYPED)
        if PROMPT_KEEPS_TEXT:
            assert "6.0" in out
            assert "(27.0, 5.0)" in out
        else:
            assert "the source of f is not available" in out
            assert "standard input and not kept the text" in out
            assert "use IPython, a notebook or Python 3.13" in out

    def test_as_the_prompt_of_3_13_keeps_it(self, run):
        """Every input has a name of its own, and its text in linecache."""
        f = run("<python-input-1>", "def f(x):\n    return x * x\n")["f"]
        assert 6.0 == gradient(f)(3.0)
        f = run("<python-input-3>", "def f(x):\n    return x * x * x\n")["f"]
        assert 27.0 == gradient(f)(3.0)
        values = run("<python-input-4>", "fs = lambda x: f(x), lambda x: 2 * f(x)\n")["fs"]
        assert [27.0, 54.0] == [gradient(g)(3.0) for g in values]

    def test_command(self):
        """`python -c`: as at the prompt."""
        text = "from adcompiler import gradient\ndef f(x):\n    return x * x\nprint(gradient(f)(3.0))"
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, env=ENVIRONMENT, timeout=120
        )
        if PROMPT_KEEPS_TEXT:
            assert "6.0\n" == done.stdout
        else:
            assert "It was made by exec() or by `python -c`, which do not keep the text." in done.stderr
            assert "Put it in a file and import it" in done.stderr


DOCTEST = """
>>> import numpy as np
>>> from adcompiler import gradient
>>> def f(x):
...     return np.sum(x ** 2)
>>> gradient(f)(np.ones(2))
array([2., 2.])
>>> def f(x):
...     return np.sum(x ** 3)
>>> gradient(f)(np.ones(2)), gradient(lambda x: 4.0 * x)(1.0)
(array([3., 3.]), 4.0)
>>> gradient(lambda x: eval("x"))(1.0)
Traceback (most recent call last):
    ...
adcompiler.UnsupportedSyntaxError: eval()
  File "<doctest typed[6]>", line 1
    gradient(lambda x: eval("x"))(1.0)
                       ^^^^^^^^^
Its text is not known.
Write the code out.
"""


def test_doctests():
    """Functions that are defined in doctests, redefined there, and refused with the doctest's line."""
    test = doctest.DocTestParser().get_doctest(DOCTEST, {}, "typed", None, None)
    out = []
    assert (0, 7) == tuple(doctest.DocTestRunner(verbose=False).run(test, out=out.append))[:2], "".join(out)


class TestNoText:
    def refusal(self, function, *args):
        with pytest.raises(SourceNotFoundError) as caught:
            gradient(function)(*args)
        return str(caught.value)

    def test_exec(self, run):
        """Text given to exec() under no name of its own."""
        message = self.refusal(run("<string>", "def f(x):\n    return x\n", keep=False)["f"], 1.0)
        assert message.startswith("the source of f is not available\nIt was made by exec()")
        assert "linecache.cache[name]" in message
        assert message.endswith("Or tell adcompiler its derivative with @rrule.")

    def test_exec_under_a_name_that_means_something_else(self, run, monkeypatch):
        """A text under `<string>` is not taken for that of another function."""
        monkeypatch.setitem(linecache.cache, "<string>", (9, None, ["def f(x):\n", "    return 2 * x\n"], "<string>"))
        assert "made by exec()" in self.refusal(run("<string>", "def f(x):\n    return x\n", keep=False)["f"], 1.0)

    @pytest.mark.parametrize(
        ("name", "why", "advice"),
        [
            ("<stdin>", "standard input and not kept", "Python 3.13"),
            ("<timed exec>", "%%time does not keep", "without %%time"),
            ("<magic-timeit>", "%timeit does not keep", "in a cell before"),
            ("<nowhere>", "not kept under the name <nowhere>", "in a file or a notebook cell"),
        ],
    )
    def test_names_without_text(self, run, name, why, advice):
        """Where the text went, and what to do about it."""
        message = self.refusal(run(name, "def f(x):\n    return x\n", keep=False)["f"], 1.0)
        assert why in message
        assert advice in message

    def test_wrapper_without_text(self, run):
        """A decorator that makes its wrapper from text: the function inside is named."""
        wrap = run("<decorator>", "def wrap(f):\n    def call(x):\n        return f(x)\n    return call\n", keep=False)[
            "wrap"
        ]

        def loss(x):
            return x * x

        wrapped = functools.wraps(loss)(wrap(loss))
        message = self.refusal(wrapped, 3.0)
        assert "the source of wrap.<locals>.call, which wraps " in message
        assert (
            "TestNoText.test_wrapper_without_text.<locals>.loss.__wrapped__, if it is the one that is meant" in message
        )
        assert 6.0 == gradient(wrapped.__wrapped__)(3.0)

    def test_helper_without_text(self, run):
        """The line that calls it is shown."""
        helper = run("<string>", "def helper(x):\n    return x\n", keep=False)["helper"]

        def f(x):
            return 2.0 * helper(x)

        message = self.refusal(f, 1.0)
        assert f'  File "{__file__}", line {f.__code__.co_firstlineno + 1}\n    return 2.0 * helper(x)\n' in message
        assert "the source of helper is not available" in message

    def test_helper_without_text_that_is_not_active(self, run):
        """Where no derivative goes through it, it is simply called; so is one that has a rule."""
        helper = run("<string>", "def helper(x):\n    return 3.0\n", keep=False)["helper"]
        assert 3.0 == gradient(lambda x: x * helper(1))(2.0)

        @rrule(helper)
        def rule(x):
            return 3.0, lambda y_bar: (7.0 * y_bar,)

        assert 7.0 == gradient(helper)(1.0) == gradient(lambda x: helper(x))(1.0)

    def test_functions_in_c(self):
        """There is no Python text; a rule is what they need."""
        with pytest.raises(Exception, match="has no derivative rule") as caught:
            gradient(math_like)(1.0)
        assert "NoRuleError" == type(caught.value).__name__
        assert "@rrule" in str(caught.value)
        with pytest.raises(Exception, match="has no derivative rule"):
            pullback(np.ma.median, X)

    @pytest.mark.parametrize(
        ("make", "words"),
        [
            (lambda f: functools.lru_cache(f), ("functools.lru_cache", "__wrapped__")),
            (lambda f: np.vectorize(f), ("np.vectorize", "whole arrays")),
            (lambda f: dict, ("the class dict", "def or a lambda")),
        ],
        ids=["lru_cache", "vectorize", "class"],
    )
    def test_what_is_no_function(self, make, words):
        """What can be called, and has no text of its own."""
        with pytest.raises(DifferentiationError) as caught:
            value_and_grad(make(lambda x: x * x))
        for word in words:
            assert word in str(caught.value)

    def test_calls_of_it(self):
        """Inside a function, whether it is known when compiling or not; the line is shown."""
        made = functools.lru_cache(lambda x: x * x)

        def known(x):
            return made(x)

        def unknown(x):
            return functools.lru_cache(lambda x: x * x)(x)

        for f in (known, unknown):
            with pytest.raises(DifferentiationError) as caught:
                gradient(f)(2.0)
            assert f'File "{__file__}", line {f.__code__.co_firstlineno + 1}' in str(caught.value)
            assert "cache" in str(caught.value)


math_like = memoryview.tolist
