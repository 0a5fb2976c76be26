"""A function's source is found wherever Python keeps it, and never taken from the wrong place."""

import functools
import importlib.util
import linecache
import sys
import textwrap
import warnings

import gast
import numpy as np
import pytest

from adcompiler.errors import SourceNotFoundError
from adcompiler.parse import origin_of, parse


def body_of(function):
    """The text of the first statement, or of a lambda's expression."""
    node = parse(function).node
    return gast.unparse(node.body if isinstance(node, gast.Lambda) else node.body[0]).strip()


@pytest.fixture
def load(tmp_path):
    """Import a text as a module from a file; `load(text, again=True)` only changes the file."""
    path = tmp_path / "user_code.py"

    def load(text, again=False):
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        if again:
            return None
        spec = importlib.util.spec_from_file_location("user_code", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield load
    linecache.cache.pop(str(path), None)


class TestFunctions:
    def test_lines_and_columns_are_those_of_the_file(self, load):
        """A nested function is not moved to the left margin."""
        outer = load("""\
            import numpy as np
            def outer(k):
                def inner(x):
                    return np.sin(k * x)
                return inner
            """).outer
        source = parse(outer(2.0))
        value = source.node.body[0].value
        assert ("inner", 3) == (source.name, source.first_line)
        assert (4, 15) == (value.lineno, value.col_offset)
        assert "        return np.sin(k * x)" == source.lines[value.lineno - 1]

    def test_decorators_are_not_part_of_the_source(self, load):
        """The function is found although its code begins at its first decorator."""
        module = load("""\
            def plain(f):
                return f
            @plain
            @plain
            def f(x):
                return x * x
            """)
        source = parse(module.f)
        assert [] == source.node.decorator_list
        assert 5 == source.first_line

    def test_wrapper_is_parsed_itself(self):
        """`functools.wraps` gives a wrapper the name of what it wraps; the wrapper's own code is what runs."""

        def double(f):
            @functools.wraps(f)
            def wrapper(x):
                return 2 * f(x)

            return wrapper

        @double
        def f(x):
            return x

        assert "return 2 * f(x)" == body_of(f)

    def test_definitions_under_conditions(self, load):
        """Of two definitions with one name the one that ran is taken."""
        module = load("""\
            def make(flag):
                if flag:
                    def f(x):
                        return x + 1
                else:
                    def f(x):
                        return x + 2
                return f
            """)
        assert ["return x + 1", "return x + 2"] == [body_of(module.make(flag)) for flag in (True, False)]

    def test_every_kind_of_parameter(self):
        """Defaults and annotations do not matter to what a function does."""

        def f(a, /, b: float = 1.0, *rest: float, c=(lambda z: z), d: "float" = 2.0, **options) -> float:
            return a + b + c(d)

        assert "return a + b + c(d)" == body_of(f)

    def test_recursion_and_names_from_around(self, load):
        """A function that calls itself is the same text at module level and inside another function."""
        module = load("""\
            def f(n):
                return 1 if n == 0 else n * f(n - 1)
            def around():
                def f(n):
                    return 1 if n == 0 else n * f(n - 1)
                return f
            """)
        assert (1, 4) == (parse(module.f).first_line, parse(module.around()).first_line)

    def test_future_annotations(self, load):
        """The module's `from __future__` imports are respected."""
        module = load("""\
            from __future__ import annotations
            def f(x):
                y: unknown = x
                def g(z: unknown): return z
                return g(y)
            """)
        assert 2 == parse(module.f).first_line

    def test_asynchronous_functions_and_generators(self):
        """They are refused later, with their line, so they must be parsed."""

        async def f(x):
            return x

        def g(x):
            yield x

        assert isinstance(parse(f).node, gast.AsyncFunctionDef)
        assert "yield x" == body_of(g)

    def test_functions_with_assertions_under_pytest(self):
        """pytest rewrites `assert` when it imports a test module."""

        def f(x):
            assert x > 0, "positive"
            return np.sqrt(x)

        assert "np.sqrt(x)" == gast.unparse(parse(f).node.body[1].value).strip()

    @pytest.mark.filterwarnings("ignore")
    def test_warnings_are_not_repeated(self, load):
        """What Python says of a text was said when it was imported, and is no error here."""
        f = load("def f(x):\n    '\\d'\n    return x is 1\n").f
        with warnings.catch_warnings(action="error"):
            assert 1 == parse(f).first_line

    def test_class_inside_a_function(self, load):
        """A class body knows its qualified name, which depends on where the function stands."""
        module = load("""\
            def outer():
                def f(x):
                    class C:
                        def g(self): return self
                    return x
                return f
            """)
        assert 2 == parse(module.outer()).first_line


class TestLambdas:
    def test_several_on_one_line(self):
        """Columns tell them apart."""
        f, g, h = lambda x: x + 1, lambda x: x * 2, lambda y: y * 2
        assert ["x + 1", "x * 2", "y * 2"] == [body_of(each) for each in (f, g, h)]

    def test_equal_ones_on_one_line(self):
        """Even when they are the same text, each is found at its own place."""
        pair = (lambda x: x * 2, lambda x: x * 2)
        first, second = (parse(each).node.col_offset for each in pair)
        assert first < second

    def test_nested_and_in_defaults(self):
        """The inner one is not taken for the outer one."""
        outer = lambda x, g=(lambda x: x + 1): lambda x: x + 2
        assert "lambda x: x + 2" == body_of(outer)
        assert "x + 2" == body_of(outer(1))
        assert "x + 1" == body_of(outer.__defaults__[0])

    def test_over_several_lines_in_a_call(self):
        """A lambda is not a text that stands alone."""
        functions = dict(
            square=lambda x: (
                x * x
            ),
            cube=lambda x: x**3,
        )  # fmt: skip
        assert ["x * x", "x ** 3"] == [body_of(each) for each in functions.values()]


class TestMethods:
    def test_bound_method(self):
        """A bound method stands for its function."""

        class Model:
            def f(self, x):
                return self.w * x

        assert "return self.w * x" == body_of(Model().f)
        assert body_of(Model.f) == body_of(Model().f)

    def test_private_names(self):
        """`self.__w` is spelled as Python spells it, as generated code stands in no class."""

        class _Model:
            def f(self, __x):
                global __y
                return self.__w * __x + __y + self.__len__()

            def nested(self):
                return lambda x: self.__w

        source = parse(_Model.f)
        assert "_Model__x" == source.node.args.args[1].id
        assert ["_Model__y"] == source.node.body[0].names
        assert "self._Model__w * _Model__x + _Model__y + self.__len__()" in gast.unparse(source.node.body[1])
        assert "self._Model__w" == body_of(_Model().nested())

    def test_private_names_outside_of_a_class(self, load):
        """Without a class nothing is mangled."""
        assert "return __x" == body_of(load("def f(__x):\n    return __x\n").f)

    def test_super(self):
        """`super()` needs the hidden name `__class__`, and is written out, since it looks for both in its frame."""

        class Base:
            def f(self, x):
                return x

        class Child(Base):
            def f(self, x):
                return super().f(x)

        assert "return super(__class__, self).f(x)" == body_of(Child.f)

    def test_static_and_class_methods(self):
        """Both give plain functions."""

        class Model:
            @staticmethod
            def f(x):
                return x

            @classmethod
            def g(cls, x):
                return cls.f(x)

        assert ["return x", "return cls.f(x)"] == [body_of(Model.f), body_of(Model.g)]


class TestTextsThatAreNoFiles:
    def register(self, name, text, monkeypatch):
        """What a notebook does with a cell."""
        monkeypatch.setitem(linecache.cache, name, (len(text), None, text.splitlines(keepends=True), name))
        namespace = {}
        exec(compile(text, name, "exec"), namespace)
        return namespace

    def test_notebook_cell(self, monkeypatch):
        """The cell's own lines are shown."""
        f = self.register("<cell 7>", "k = 3\ndef f(x):\n    return k * x\n", monkeypatch)["f"]
        source = parse(f)
        assert ("<cell 7>", 2) == (source.file, source.first_line)

    def test_redefined_cell(self, monkeypatch):
        """A new text under the old name, and the function of the new text."""
        for factor in (2, 3):
            f = self.register("<cell 8>", f"def f(x):\n    return {factor} * x\n", monkeypatch)["f"]
            assert f"return {factor} * x" == body_of(f)

    def test_text_that_does_not_parse_as_a_whole(self, monkeypatch):
        """Magic commands elsewhere do not matter, and lines and columns remain."""
        text = "import math\n#magic\nif True:\n    def f(x):\n        return math.sin(x)\n#magic\n"
        f = self.register("<cell 9>", text, monkeypatch)["f"]
        raw = text.replace("#magic", "%matplotlib inline").splitlines(keepends=True)
        monkeypatch.setitem(linecache.cache, "<cell 9>", (len(text), None, raw, "<cell 9>"))
        source = parse(f)
        assert (4, 5, 8) == (source.first_line, source.node.body[0].lineno, source.node.body[0].col_offset)


class TestChangedFiles:
    BEFORE = "def f(x):\n    return 2.0 * x\n"

    def test_moved_function_is_followed(self, load):
        """Lines that were added above change the place, not the function."""
        f = load(self.BEFORE).f
        load("import math\n\n" + self.BEFORE, again=True)
        assert 3 == parse(f).first_line

    @pytest.mark.parametrize("now", ["2 * x", "3.0 * x", "2.0 + x", "2.0 * y", "2.0 * x * x"])
    def test_changed_function_is_refused(self, load, now):
        """The text of another function is never differentiated."""
        f = load(self.BEFORE).f
        load(f"def f(x):\n    return {now}\n", again=True)
        with pytest.raises(SourceNotFoundError, match=r"(?s)source of f is not .*line 1\n    def f\(x\).*Import"):
            parse(f)

    def test_changed_function_whose_old_text_was_read(self, load):
        """What was imported before the change is still known."""
        f = load(self.BEFORE).f
        parse(f)
        load("def f(x):\n    return 3.0 * x\n", again=True)
        assert "return 2.0 * x" == body_of(f)

    def test_changed_assertions_do_not_hide_other_changes(self, load):
        """Only pytest's own rewriting may differ."""
        f = load("def f(x):\n    assert x > 0\n    return 2.0 * x\n").f
        load("def f(x):\n    assert x > 1\n    return 2.0 * x\n", again=True)
        with pytest.raises(SourceNotFoundError):
            parse(f)

    def test_deleted_function(self, load):
        """A function that is gone, in a file that is now shorter."""
        f = load("\n\n" + self.BEFORE).f
        load("x = 1", again=True)
        with pytest.raises(SourceNotFoundError, match="f is not the code"):
            parse(f)


class TestNoSource:
    def test_text_that_was_kept_nowhere(self):
        """`exec` of a plain string leaves no source."""
        namespace = {}
        exec("def f(x): return x", namespace)
        with pytest.raises(SourceNotFoundError, match=r"(?s)made by exec\(\).*Put it in a file"):
            parse(namespace["f"])

    @pytest.mark.parametrize("thing", [len, np.sin, np.add, int, functools.partial(len), 3])
    def test_not_a_python_function(self, thing):
        """Built-in functions, classes and objects have none either."""
        with pytest.raises(SourceNotFoundError, match="not written in Python"):
            parse(thing)


class TestOrigins:
    def marked(self, load, text, pick):
        source = parse(load(text).f)
        origin = origin_of(pick(source.node), source)
        return origin.line, origin.text, origin.text[origin.column : origin.end_column]

    def test_expression(self, load):
        """The marked part is the expression, in the line without its indentation."""
        place = self.marked(load, "def f(x):\n    return x + x * 3\n", lambda node: node.body[0].value.right)
        assert (2, "return x + x * 3", "x * 3") == place

    def test_letters_of_several_bytes(self, load):
        """Columns count characters, not bytes."""
        place = self.marked(load, "def f(x):\n    μ, β = x, 'é'; return μ * β\n", lambda node: node.body[1].value)
        assert (2, "μ, β = x, 'é'; return μ * β", "μ * β") == place

    def test_several_lines(self, load):
        """A statement of several lines is shown by its first, to the end of that line."""
        place = self.marked(
            load, "def f(x):\n    for _ in range(3):\n        x = x\n    return x\n", lambda n: n.body[0]
        )
        assert (2, "for _ in range(3):", "for _ in range(3):") == place

    def test_node_without_place(self, load):
        """What the compiler made itself is placed at the function."""
        source = parse(load("def f(x):\n    return x\n").f)
        assert (1, "def f(x):") == (origin_of(gast.Pass(), source).line, origin_of(gast.Pass(), source).text)

    def test_parameter(self, load):
        """Parameters have places too."""
        assert (1, "def f(x, yy):", "yy") == self.marked(
            load, "def f(x, yy):\n    return x\n", lambda n: n.args.args[1]
        )


def test_own_result_is_fresh():
    """Passes change the tree they are given; the next parse starts anew."""
    first, second = parse(body_of), parse(body_of)
    assert first.node is not second.node
    assert first.lines == second.lines


@pytest.mark.parametrize("module", ["argparse", "typing", "dataclasses", "numpy.lib._function_base_impl"])
def test_real_modules(module):
    """Every function of large modules is recognised, wherever it stands."""
    members = vars(importlib.import_module(module)).values()
    inside = [member for cls in members if isinstance(cls, type) for member in vars(cls).values()]
    functions = [each for each in [*members, *inside] if hasattr(each, "__code__") and each.__module__ == module]
    here = [each for each in functions if each.__code__.co_filename == sys.modules[module].__file__]
    assert len(here) > 30
    assert [each.__code__.co_name for each in here] == [parse(each).node.name for each in here]
