"""Expressions of the user's text → A-normal form: every operation its own statement, in Python's evaluation order.

    return np.sum(x * x) + 1        t1 = x * x
                                    t2 = np.sum(t1)
                                    t3 = t2 + 1
                                    return t3

`and`, `or`, chained comparisons and conditional expressions become `if`s that assign one name.  What has no
form in the IR (f-strings) is kept verbatim; whether it may stay is decided after activity.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import gast

from adcompiler import ir
from adcompiler.errors import Origin, UnsupportedSyntaxError, refuse
from adcompiler.names import Names
from adcompiler.parse import Source, origin_of
from adcompiler.scope import Scope, bindings, calls_out, loads, own_nodes

BINARY = {
    gast.Add: "+", gast.Sub: "-", gast.Mult: "*", gast.Div: "/", gast.FloorDiv: "//", gast.Mod: "%", gast.Pow: "**",
    gast.MatMult: "@", gast.BitAnd: "&", gast.BitOr: "|", gast.BitXor: "^", gast.LShift: "<<", gast.RShift: ">>",
}  # fmt: skip
COMPARE = {
    gast.Eq: "==", gast.NotEq: "!=", gast.Lt: "<", gast.LtE: "<=", gast.Gt: ">", gast.GtE: ">=", gast.Is: "is",
    gast.IsNot: "is not", gast.In: "in", gast.NotIn: "not in",
}  # fmt: skip
UNARY = {gast.USub: "-", gast.UAdd: "+", gast.Invert: "~", gast.Not: "not"}

_ITERATORS = (zip, enumerate, reversed, range)

YIELDS = (gast.Yield, gast.YieldFrom)

_VERBATIM = {gast.JoinedStr: "an f-string"}


class _Spelled(gast.NodeTransformer):  # type: ignore[misc]  # gast has no types
    """Puts expressions where names stand."""

    def __init__(self, values: dict[str, gast.AST]) -> None:
        self.values = values

    def visit_Name(self, node: gast.Name) -> gast.AST:
        found = self.values.get(node.id) if isinstance(node.ctx, gast.Load) else None
        return node if found is None else self.visit(copy.deepcopy(found))


def _deleted(node: gast.AST) -> frozenset[str]:
    targets = (t for d in gast.walk(node) if isinstance(d, gast.Delete) for t in d.targets)
    return frozenset(t.id for t in targets if isinstance(t, gast.Name))


def _first_bound(node: gast.AST) -> dict[str, int]:
    """The line where each variable gets its first value; parameters have one from the beginning."""
    lines: dict[str, int] = {}
    for d in gast.walk(node):
        line = getattr(d, "lineno", None)  # none in what was put in here
        if line is not None and isinstance(d, gast.Name) and isinstance(d.ctx, gast.Store):
            lines[d.id] = min(lines.get(d.id, line), line)
    parameters = (d.id for d in gast.walk(node) if isinstance(d, gast.Name) and isinstance(d.ctx, gast.Param))
    return lines | dict.fromkeys(parameters, 0)


class Normaliser:
    """Lowers expressions into the list of statements `out`; statements are added by `lower.Lowering`."""

    def __init__(self, source: Source, scope: Scope, cells: frozenset[str], names: Names) -> None:
        self.source = source
        self.scope = scope
        self.cells = cells
        self.names = names
        self.out: list[ir.Stmt] = []
        self.held_temps: set[str] = set()  # temporaries that stand in what is kept verbatim
        self.own: set[str] = set()  # the variables of the comprehensions around
        self.deleted = _deleted(source.node)
        self.first_bound = _first_bound(source.node)
        self.deferred: dict[str, gast.AST] = {}  # iterators that have a name and are not consumed yet

    # --- helpers ----------------------------------------------------------------------------------------

    def origin(self, node: gast.AST) -> Origin:
        """Where a node stands in the user's file."""
        return origin_of(node, self.source)

    def unsupported(self, node: gast.AST, what: str, advice: str) -> Exception:
        """The error for syntax that has no derivative yet."""
        return refuse(UnsupportedSyntaxError, f"{what} cannot be differentiated", self.origin(node), "", advice)

    def is_local(self, name: str) -> bool:
        """Whether a name is a variable of the function or of an enclosing function."""
        return name in self.scope.bound or name in self.cells or name in self.own or name in self.held_temps

    def local_reads(self, node: gast.AST) -> frozenset[str]:
        """The variables that a node reads, nested scopes included."""
        return frozenset(n for n in loads(node) if self.is_local(n))

    def temp(self, value: ir.Expr, node: gast.AST) -> ir.Name:
        """Assign a value to a new temporary."""
        name = self.names.fresh("t")
        self.out.append(ir.Assign(name, value, self.origin(node)))
        return ir.Name(name)

    def block(self, make: Any) -> ir.Block:
        """Run `make` with an empty list of statements and return what it added."""
        outer, self.out = self.out, []
        try:
            make()
            return tuple(self.out)
        finally:
            self.out = outer

    # --- expressions ------------------------------------------------------------------------------------

    def atom(self, node: gast.AST) -> ir.Expr:
        """A name or constant that holds the value of an expression."""
        value = self.value(node)
        return value if ir.is_atom(value) else self.temp(value, node)

    def value(self, node: gast.AST) -> ir.Expr:
        """One operation on atoms."""
        method = getattr(self, "value_" + type(node).__name__, None)
        if method is not None:
            return method(node)  # type: ignore[no-any-return]
        if type(node) in _VERBATIM:
            return self.verbatim(node, _VERBATIM[type(node)])
        what = {"Await": "await"}.get(type(node).__name__, "this expression")
        raise self.unsupported(node, what, "Write it as a plain function.")

    def value_Yield(self, node: gast.Yield) -> ir.Expr:
        """`yield`, whose value is None: `send` is refused."""
        value = ir.Const(None) if node.value is None else self.atom(node.value)
        self.out.append(ir.Yield(value, (), self.origin(node)))
        return ir.Const(None)

    def value_YieldFrom(self, node: gast.YieldFrom) -> ir.Expr:
        raise self.unsupported(node, "the value of `yield from`", "Yield what the other generator would return.")

    def kept(self, node: Any) -> Any:
        """Text that is kept as it stands: iterators that were left for their one use are made there."""
        return _Spelled(self.deferred).visit(copy.deepcopy(node)) if self.deferred else node

    def verbatim(self, node: gast.AST, what: str) -> ir.Expr:
        """An expression kept as it stands."""
        node = self.kept(node)
        if any(True for _ in bindings(node)):
            raise self.unsupported(node, f"a walrus inside {what}", "Assign the name in a statement of its own before.")
        if any(isinstance(d, YIELDS) for d in own_nodes(node)):
            raise self.unsupported(node, f"a yield inside {what}", "Yield in a statement of its own.")
        reads = frozenset(n for n in loads(node, values_only=True) if self.is_local(n))
        return ir.Verbatim(node, reads, what, inert=isinstance(node, gast.JoinedStr))

    def settled(self, node: gast.AST | None) -> Any:
        """An expression inside something kept as it stands, evaluated before it where it may change something."""
        if node is None or not calls_out(node):
            return node
        atom = self.atom(node)
        if isinstance(atom, ir.Name | ir.Global):
            self.held_temps.add(atom.id)
            new: gast.AST = gast.Name(atom.id, gast.Load(), None, None)
        else:
            new = gast.Constant(atom.value, None)  # type: ignore[attr-defined]
        return gast.copy_location(new, node)

    def value_JoinedStr(self, node: gast.JoinedStr) -> ir.Expr:
        """An f-string; calls in it that may change something come first, and what stands before them."""
        late = [i for i, part in enumerate(node.values) if isinstance(part, gast.FormattedValue) and calls_out(part)]
        if not late:
            return self.verbatim(node, "an f-string")
        parts = []
        for i, part in enumerate(node.values):
            if isinstance(part, gast.FormattedValue) and i in late:
                part = gast.copy_location(
                    gast.FormattedValue(self.settled(part.value), part.conversion, part.format_spec), part
                )
            elif isinstance(part, gast.FormattedValue) and i < late[-1]:
                text = self.temp(self.verbatim(gast.copy_location(gast.JoinedStr([part]), node), "an f-string"), node)
                self.held_temps.add(text.id)
                name = gast.copy_location(gast.Name(text.id, gast.Load(), None, None), part)
                part = gast.copy_location(gast.FormattedValue(name, -1, None), part)
            parts.append(part)
        return self.verbatim(gast.copy_location(gast.JoinedStr(parts), node), "an f-string")

    def with_settled_defaults(self, node: Any) -> Any:
        """A nested function whose defaults, where they may change something, are evaluated before it."""
        defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
        if not any(map(calls_out, defaults)):
            return node
        new = copy.copy(node)
        new.args = copy.copy(node.args)
        new.args.defaults = [self.settled(d) for d in node.args.defaults]
        new.args.kw_defaults = [self.settled(d) for d in node.args.kw_defaults]
        return new

    def operands(self, nodes: Sequence[gast.AST]) -> list[ir.Expr]:
        """Atoms of several expressions, left to right, each with the value it has at its turn."""
        atoms = []
        for i, node in enumerate(nodes):
            star = isinstance(node, gast.Starred)
            a = self.atom(node.value if star else node)
            later = nodes[i + 1 :]
            rebound = isinstance(a, ir.Name) and any(a.id in bindings(n) for n in later)
            early = isinstance(a, ir.Global) or (isinstance(a, ir.Name) and self.may_be_unbound(a.id, node))
            if rebound or (early and any(isinstance(d, gast.Call) for n in later for d in gast.walk(n))):
                a = self.temp(a, node)
            atoms.append(ir.Star(a) if star else a)
        return atoms

    def may_be_unbound(self, name: str, node: gast.AST) -> bool:
        """Whether a variable may have no value where it is read: that error comes before what stands behind it."""
        return name in self.deleted or self.first_bound.get(name, 0) >= getattr(node, "lineno", 1)

    def value_Constant(self, node: gast.Constant) -> ir.Expr:
        return ir.Const(node.value)

    def value_Name(self, node: gast.Name) -> ir.Expr:
        if node.id in self.deferred:
            return self.value(self.deferred.pop(node.id))
        return ir.Name(node.id) if self.is_local(node.id) else ir.Global(node.id)

    def value_NamedExpr(self, node: gast.NamedExpr) -> ir.Expr:
        value = self.value(node.value)
        name = node.target.id
        if name in self.scope.outer:
            raise self.unsupported(node, "a walrus that binds an outer name", "Use a local name.")
        self.out.append(ir.Assign(name, value, self.origin(node)))
        return ir.Name(name)

    def value_BinOp(self, node: gast.BinOp) -> ir.Expr:
        left, right = self.operands([node.left, node.right])
        return ir.Op(BINARY[type(node.op)], (left, right))

    def value_UnaryOp(self, node: gast.UnaryOp) -> ir.Expr:
        op = UNARY[type(node.op)]
        operand = self.atom(node.operand)
        if op == "-" and isinstance(operand, ir.Const) and type(operand.value) in (int, float, complex):
            return ir.Const(-operand.value)
        return ir.Op(op, (operand,))

    def value_Compare(self, node: gast.Compare) -> ir.Expr:
        ops = [COMPARE[type(op)] for op in node.ops]
        if len(ops) == 1:
            left, right = self.operands([node.left, node.comparators[0]])
            return ir.Op(ops[0], (left, right))
        result = self.names.fresh("t")
        left, right = self.operands([node.left, node.comparators[0]])
        self.out.append(ir.Assign(result, ir.Op(ops[0], (left, right)), self.origin(node)))
        self._chain(result, right, ops[1:], node.comparators[1:], node)
        return ir.Name(result)

    def _chain(self, result: str, left: ir.Expr, ops: list[str], rest: list[gast.AST], node: gast.AST) -> None:
        def step() -> None:
            right = self.atom(rest[0])
            self.out.append(ir.Assign(result, ir.Op(ops[0], (left, right)), self.origin(node)))
            if len(ops) > 1:
                self._chain(result, right, ops[1:], rest[1:], node)

        body = self.block(step)
        self.out.append(ir.If(ir.Name(result), body, (), self.origin(node)))

    def value_BoolOp(self, node: gast.BoolOp) -> ir.Expr:
        result = self.names.fresh("t")
        self._bool(result, node.values, isinstance(node.op, gast.And), node)
        return ir.Name(result)

    def _bool(self, result: str, values: list[gast.AST], conjunction: bool, node: gast.AST) -> None:
        self.out.append(ir.Assign(result, self.value(values[0]), self.origin(values[0])))
        if len(values) > 1:
            rest = self.block(lambda: self._bool(result, values[1:], conjunction, node))
            body, orelse = (rest, ()) if conjunction else ((), rest)
            self.out.append(ir.If(ir.Name(result), body, orelse, self.origin(node)))

    def value_IfExp(self, node: gast.IfExp) -> ir.Expr:
        result = self.names.fresh("t")
        test = self.atom(node.test)

        def arm(value: gast.AST) -> ir.Block:
            return self.block(lambda: self.out.append(ir.Assign(result, self.value(value), self.origin(value))))

        self.out.append(ir.If(test, arm(node.body), arm(node.orelse), self.origin(node)))
        return ir.Name(result)

    def value_Tuple(self, node: gast.Tuple) -> ir.Expr:
        return ir.Seq("tuple", tuple(self.operands(node.elts)))

    def value_List(self, node: gast.List) -> ir.Expr:
        return ir.Seq("list", tuple(self.operands(node.elts)))

    def value_Set(self, node: gast.Set) -> ir.Expr:
        return ir.Seq("set", tuple(self.operands(node.elts)))

    def value_Dict(self, node: gast.Dict) -> ir.Expr:
        nodes = [n for pair in zip(node.keys, node.values, strict=True) for n in pair if n is not None]
        atoms = iter(self.operands(nodes))
        return ir.DictOf(tuple((None if k is None else next(atoms), next(atoms)) for k in node.keys))

    def value_Lambda(self, node: gast.Lambda) -> ir.Expr:
        node = self.with_settled_defaults(node)
        return ir.Lambda(node, self.local_reads(node))

    def value_Attribute(self, node: gast.Attribute) -> ir.Expr:
        return ir.Attr(self._path(node.value), node.attr)

    def _path(self, node: gast.AST) -> ir.Expr:
        """The object of an attribute: a dotted path to a module, class or function is one expression (`np.linalg`)."""
        if isinstance(node, gast.Attribute):
            attribute = ir.Attr(self._path(node.value), node.attr)
            return attribute if self.is_constant(attribute) else self.temp(attribute, node)
        return self.atom(node)

    def is_constant(self, path: ir.Expr) -> bool:
        """Whether a dotted path leads to what cannot be written into; `comprehend` knows."""
        return False

    def value_Subscript(self, node: gast.Subscript) -> ir.Expr:
        value, index = self.subscript(node)
        return ir.Item(value, index)

    def subscript(self, node: gast.Subscript) -> tuple[ir.Expr, ir.Expr]:
        """The container and the index of a subscript."""
        value = self.atom(node.value)
        rebound = isinstance(value, ir.Name) and value.id in bindings(node.slice)
        return (self.temp(value, node.value) if rebound else value), self.index(node.slice)

    def index(self, node: gast.AST) -> ir.Expr:
        """An index: slices and tuples of indices stay nested, everything else is an atom."""
        match node:
            case gast.Slice():
                parts = [p if p is None else self.atom(p) for p in (node.lower, node.upper, node.step)]
                return ir.Slice(*parts)
            case gast.Tuple() if not any(isinstance(e, gast.Starred) for e in node.elts):
                return ir.Seq("tuple", tuple(self.index(e) for e in node.elts))
        return self.atom(node)

    def value_Call(self, node: gast.Call) -> ir.Expr:
        if isinstance(node.func, gast.Attribute):
            func: ir.Expr = ir.Attr(self._path(node.func.value), node.func.attr)
        else:
            func = self._path(node.func)
        given = [item for arg in node.args for item in _spread(arg)]
        keywords = _spread_keywords(node.keywords)
        atoms = self.operands([*given, *(value for _, value in keywords)])
        args, values = atoms[: len(given)], atoms[len(given) :]
        kwargs = tuple((name, v) for (name, _), v in zip(keywords, values, strict=True))
        return ir.Call(func, tuple(args), kwargs)

    def iterable(self, node: gast.AST) -> ir.Expr:
        """What a `for` runs over: nested `zip`, `enumerate`, `reversed` and `range` stay one expression."""
        function = self.known(node.func) if isinstance(node, gast.Call) else None
        if any(function is f for f in _ITERATORS) and not any(isinstance(a, gast.Starred) for a in node.args):
            args = tuple(self.iterable(a) for a in node.args)
            kwargs = tuple((k.arg, self.atom(k.value)) for k in node.keywords)
            return ir.Call(ir.Static(function, function.__name__ if function else ""), args, kwargs)
        return self.moving(node) or self.atom(node)

    def known(self, node: gast.AST) -> Any:
        """The object that a global stands for, if that may be relied on; `comprehend` knows."""
        return None

    def moving(self, node: gast.AST) -> ir.Expr | None:
        """A call that makes an iterator of others; `iterators` knows which."""
        return None


def _spread(node: gast.AST) -> list[gast.AST]:
    """`*[a, b]` among operands is `a` and `b`."""
    if isinstance(node, gast.Starred) and isinstance(node.value, gast.List | gast.Tuple):
        return [item for part in node.value.elts for item in _spread(part)]
    return [node]


def _spread_keywords(keywords: Sequence[gast.keyword]) -> list[tuple[str | None, gast.AST]]:
    """`**{"a": v}` among keywords is `a=v`; if a keyword would stand twice, they are as they were."""
    out: list[tuple[str | None, gast.AST]] = []
    for keyword in keywords:
        keys = keyword.value.keys if keyword.arg is None and isinstance(keyword.value, gast.Dict) else [None]
        if all(isinstance(key, gast.Constant) and str(key.value).isidentifier() for key in keys):
            out += [(key.value, value) for key, value in zip(keys, keyword.value.values, strict=True)]
        else:
            out.append((keyword.arg, keyword.value))
    names = [name for name, _ in out if name is not None]
    return out if len(names) == len(set(names)) else [(k.arg, k.value) for k in keywords]
