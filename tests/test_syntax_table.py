"""docs/SYNTAX.md names every node of Python's grammar, and what it says of each is true."""

import ast
import inspect
import re
import sys
from pathlib import Path

import pytest

from adcompiler import pullback
from tests.promises import MARK, check
from tests.syntax_programs import PROGRAMS

TABLE = Path(__file__).parent.parent / "docs" / "SYNTAX.md"
ROW = re.compile(r"^\| (`\w+`[^|]*?) \| (yes|refused|-) \| ?([^|]*?) ?\|$", re.MULTILINE)

# Rows whose program does not do yet what the table says; whatever is finished has to be taken out.
NOT_YET: frozenset[str] = frozenset()

# Kept by Python for old programs, and never made by its parser.
OLD = {
    *("Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Index", "ExtSlice"),
    *("slice", "AugLoad", "AugStore", "Param", "Suite"),
}


def rows():
    """Label, answer and remark of each row."""
    return ROW.findall(TABLE.read_text(encoding="utf-8"))


def nodes(answer=None):
    """The classes that the rows begin with."""
    return {re.match(r"`(\w+)`", label)[1] for label, said, _ in rows() if answer in (None, said)}


def test_every_node_has_a_row():
    """A row for each class that the parser of this Python can make, and none for others."""
    classes = [c for c in vars(ast).values() if isinstance(c, type) and issubclass(c, ast.AST)]
    made = {c.__name__ for c in classes if not [s for s in c.__subclasses__() if s.__module__ in ("ast", "_ast")]}
    made |= {"Constant"}  # its subclasses are old names
    made = {name for name in made if not name.startswith("_")} - OLD
    newer = {"TypeAlias", "TypeVar", "ParamSpec", "TypeVarTuple"} if sys.version_info < (3, 12) else set()
    newer |= {"TemplateStr", "Interpolation"} if sys.version_info < (3, 14) else set()
    assert made == nodes() - newer


def test_every_row_is_read():
    """No row is overlooked for its form; each occurs once, and what is not supported has a remark."""
    text = TABLE.read_text(encoding="utf-8")
    assert len(rows()) == len(re.findall(r"^\| `", text, re.MULTILINE))
    assert len(rows()) == len({label for label, _, _ in rows()})
    assert all(remark for _, said, remark in rows() if said != "yes")


def test_every_row_has_a_program():
    """And every program a row, unless this Python cannot read it."""
    claimed = {label for label, said, _ in rows() if said != "-"}
    newer = ("`TypeAlias`", "`TypeVar`", "`ParamSpec`", "`TypeVarTuple`", "`TemplateStr`", "`Interpolation`")
    assert not set(PROGRAMS) - claimed
    assert not {label for label in claimed - set(PROGRAMS) if not label.startswith(newer)}
    assert not NOT_YET - set(PROGRAMS)


@pytest.mark.parametrize("label", [label for label, said, _ in rows() if said == "yes" and label in PROGRAMS])
def test_what_is_supported(label, request):
    """Its program is differentiated, in every mode, as central differences say."""
    if label in NOT_YET:
        request.applymarker(pytest.mark.xfail(strict=True, reason="not yet"))
    program = PROGRAMS[label]
    names = set(re.findall(r"\w+", label.split("`")[1]))
    source = ast.parse(text_of(program.function))
    assert names & {type(node).__name__ for node in ast.walk(source)}, "the program has no such node"
    check(program.function, *program.args)


@pytest.mark.parametrize("label", [label for label, said, _ in rows() if said == "refused" and label in PROGRAMS])
def test_what_is_refused(label, request):
    """Its program is refused with the file, the marked line and its text, and advice."""
    if label in NOT_YET:
        request.applymarker(pytest.mark.xfail(strict=True, reason="not yet"))
    program = PROGRAMS[label]
    file = inspect.getsourcefile(program.function)
    _, first = inspect.getsourcelines(program.function)
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    number = next(n for n in range(first, len(lines) + 1) if MARK in lines[n - 1])
    with pytest.raises(program.kind) as caught:
        pullback(program.function, *program.args)
    what, place, text, *_, advice = str(caught.value).split("\n")
    assert what
    assert f'  File "{file}", line {number}' == place
    assert lines[number - 1].strip() == text.strip()
    assert program.advice in advice
    assert advice.endswith(".")


def text_of(function):
    """The text of a program."""
    lines, _ = inspect.getsourcelines(function)
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "".join(line[indent:] for line in lines)
