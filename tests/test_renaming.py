"""Names are replaced in every form of statement and expression, and in the text that these keep."""

import ast
import re

import gast

from adcompiler import ir
from adcompiler.emit import Emitter, to_source
from adcompiler.renaming import renamed, renamed_text

A, B = ir.Name("a"), ir.Name("b")
BOTH = frozenset({"a", "b"})
NEW = {"a": "c1", "b": "c2"}


def tree(text):
    return gast.parse(text).body[0]


def expression(text):
    return gast.parse(text, mode="eval").body


TEXT = ir.Verbatim(expression("f'{a} {b}'"), BOTH, "an f-string")
EXPRESSIONS = (
    A, ir.Global("g"), ir.Const(1), ir.Static(len, "len"), ir.Op("+", (A, B)), ir.Call(A, (B, ir.Star(A)), (("k", B),)),
    ir.Attr(A, "k"), ir.Item(A, ir.Slice(B, None, A)), ir.Seq("list", (A, ir.Star(B))), ir.DictOf(((A, B), (None, A))),
    ir.IfExp(A, B, A), ir.Taken(A), ir.BoolOp("and", (A, B)), TEXT, ir.Lambda(expression("lambda v: a + b + v"), BOTH),
    ir.Fn(("v",), ir.Name("v")), ir.Star(A), ir.Slice(A, B, None),
)  # fmt: skip
BODY = (ir.Assign("a", B),)
STATEMENTS = (
    ir.Assign("a", B), ir.Assign("a", ir.Op("+", (A, B)), augmented=True),
    ir.Unpack(ir.Targets(("a", ir.Targets(("b",)))), A),
    ir.Do(ir.Call(A)), ir.If(A, BODY, BODY), ir.For("a", B, BODY, BODY), ir.For(ir.Targets(("a", "b")), B, BODY, ()),
    ir.While(BODY, A, BODY, BODY), ir.With(A, "b", BODY), ir.Try(BODY, (ir.Handler(TEXT, "a", BODY),), BODY, BODY),
    ir.Break(), ir.Continue(), ir.Return(A), ir.Yield(A, BODY), ir.Clear(("a", "b")), ir.Delete(("a",)),
    ir.Store(ir.Item(A, B), A), ir.Store(ir.Attr(A, "k"), B, "+", held=A), ir.Collect("a", B), ir.Collect("a", B, A),
    ir.Gather("a", ir.Verbatim(expression("[a for v in b]"), BOTH, "a list"), "b", BODY),
    ir.Define("a", tree("def a(v, k=b):\n    return v + b"), frozenset({"b"})),
    ir.Opaque(tree("assert a, b"), BOTH, frozenset(), "assert"),
)  # fmt: skip


def forms(base):
    return {c for c in vars(ir).values() if isinstance(c, type) and issubclass(c, base) and c is not base}


def kinds_of(found):
    return {type(e) for top in found for e in ir.walk(top)}


def names_in(stmt):
    """All names in the text of a statement and in what it says of itself."""
    emitter = Emitter(lambda static: static.spelling)
    shown = stmt
    if isinstance(stmt, ir.Gather):
        shown = ir.With(stmt.spelled, stmt.target, (ir.Collect(stmt.into, ir.Const(0)), *stmt.body))
    source = to_source(gast.Module(body=emitter.block((shown,)), type_ignores=[]))
    said = {n for e in ir.expressions(stmt) for n in ir.reads(e)} | ir.bound(stmt)
    if isinstance(stmt, ir.Define):
        said |= stmt.captures
    return set(re.findall(r"\b(?:[ab]|c\d)\b", source)) | said & {"a", "b", "c1", "c2"}


def test_every_form_is_here():
    """A new form of statement or expression needs a case here."""
    assert {type(s) for s in STATEMENTS} == forms(ir.Stmt)
    assert kinds_of(EXPRESSIONS) == forms(ir.Expr) - {ir.Apply}


def test_names_are_replaced_everywhere():
    """Neither the text of a statement nor what it says of itself holds the old names."""
    for stmt in (*STATEMENTS, *map(ir.Do, EXPRESSIONS)):
        before = names_in(stmt)
        [new] = renamed((stmt,), NEW)
        assert names_in(new) == {NEW[n] for n in before}, stmt
        [back] = renamed((new,), {b: a for a, b in NEW.items()})
        assert names_in(back) == before, stmt


def text_of(source):
    new = renamed_text(gast.parse(source), NEW)
    return ast.unparse(gast.gast_to_ast(new)).replace("\n", " ").replace("    ", "")


def test_scopes_keep_their_own_names():
    """Names that a function, a class or a comprehension has itself are no other variable's."""
    assert text_of("a = [a for a in b]") == "c1 = [a for a in c2]"
    assert text_of("f = lambda a, k=a: a + b") == "f = lambda a, k=c1: a + c2"
    assert text_of("def a(b, k=b):\n    a = b\n    return a") == "def c1(b, k=c2): a = b return a"
    assert text_of("class K(a):\n    b = 1\n    c = b") == "class K(c1): b = 1 c = b"
    assert text_of("class K:\n    b = 1\n\n    def a(self):\n        return b").endswith("def a(self): return c2")
    assert text_of("import a, b.x") == "import a as c1, b.x"
    assert text_of("try:\n    a\nexcept b as a:\n    pass") == "try: c1 except c2 as c1: pass"
    assert text_of("match a:\n    case [b, *a]:\n        pass") == "match c1: case [c2, *c1]: pass"
