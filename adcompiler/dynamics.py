"""The reverse of operations whose derivative is found at run time, and of rules that are called.

    y = f(x)                        call = resolve((False, True), f, x)         # which operands are active
                                    y, saved = call.forward(x)
                                    _, x_bar = call.backward(saved, y_bar)

What is written into later is not to be kept by what is found: `run_apart` calls the forward then.
"""

from __future__ import annotations

from typing import Any

from adcompiler import ir
from adcompiler.bars import Code, State
from adcompiler.callees import Dynamic
from adcompiler.lattice import is_scalar
from adcompiler.runtime.apart import run_apart, within
from adcompiler.runtime.dynamic import resolve, resolve_spread, resolve_value
from adcompiler.runtime.stores import writing
from adcompiler.runtime.tracked import (
    resolve_caught,
    resolve_hot,
    resolve_hot_caught,
    resolve_tracked,
)
from adcompiler.runtime.writes import WRITES
from adcompiler.yields import Yields

_RUN_APART = ir.Static(run_apart, "run_apart")
_WRITING = ir.Static(writing, "writing")
_WITHIN = ir.Static(within, "within")


class Dynamics(Yields):
    """Adds what is known at run time only."""

    @staticmethod
    def may_write(value: Any) -> bool:
        """Whether an operation calls what is only known at run time, and might be a function that writes."""
        if not isinstance(value, ir.Apply) or not isinstance(value.callee, Dynamic) or value.callee.pure:
            return False
        return value.callee.key is None or isinstance(value.callee.key, str)

    def watched(self, stmt: ir.Assign, value: Any) -> Code:
        """A call of what is only known at run time, whose result has no influence: it may write, which is refused."""
        saved = dict(self.saver.frames[-1].region.saved)
        forward = self.dynamic(stmt, value, {}, [])
        self.saver.frames[-1].region.saved = saved
        return forward

    def dynamic(self, stmt: ir.Assign, value: ir.Apply, state: State, code: Code) -> Code:
        """An operation whose operands' types are known only at run time."""
        callee = value.callee
        args, keywords = list(value.args), []
        if callee.keywords:
            n = len(args) - len(callee.keywords)
            keywords = list(zip(callee.keywords, args[n:], strict=True))
            args = args[:n]
        owner = None
        func: Any
        if callee.key is None:
            func, args = args[0], args[1:]
            owner = func
        elif isinstance(callee.key, str):
            owner, args = args[0], args[1:]
            func = ir.Attr(owner, callee.key)
            if self.tracks and ("ndarray", callee.key) in WRITES:
                func = ir.Call(_WRITING, (func,))
        else:
            func = ir.Static(callee.key, callee.key.__name__)
        return self.resolved(stmt, func, args, keywords, owner, state, code)

    def resolved(
        self,
        stmt: ir.Assign,
        func: ir.Expr,
        args: list[Any],
        keywords: list[Any],
        owner: Any,
        state: State,
        code: Code,
    ) -> Code:
        """`call = resolve(f, ...)`, `y, saved = call.forward(...)`; in the reverse `call.backward(saved, y_bar)`."""
        wanted = [owner, *args, *(v for _, v in keywords)]
        on = tuple(w is not None and self.is_active(w) for w in wanted)
        names = [w.id if o and isinstance(w, ir.Name) else None for w, o in zip(wanted, on, strict=True)]
        call, saved = self.names.fresh("call"), self.names.fresh("saved")
        self.saver.mark(call)
        self.saver.mark(saved)
        flags = ir.Seq("tuple", tuple(map(ir.Const, on)))
        finder: Any = resolve_value if owner is func and on[0] else resolve
        before: tuple[ir.Expr, ...] = (flags, func)
        if self.tracks:
            finder = resolve_caught if self.caught else resolve_tracked
        if self.tracks and self.hot:
            finder = resolve_hot_caught if self.caught else resolve_hot
            hot = [w is not None and any(map(self.is_hot, names_in(w))) for w in wanted]
            before = (ir.Seq("tuple", tuple(map(ir.Const, [self.is_hot(stmt.target, after=True), *hot]))), flags, func)
        find = ir.Call(ir.Static(finder, finder.__name__), (*before, *args), tuple(keywords))
        forward: Code = [ir.Assign(call, self.within(find), stmt.origin)]
        forward.append(
            ir.Unpack(ir.Targets((stmt.target, saved)), self.forward_of(stmt, call, args, keywords), stmt.origin)
        )
        table = (ir.Name(self.table),) if self.tracks else ()
        back = ir.Call(ir.Attr(ir.Name(call), "backward"), (ir.Name(saved), ir.Name(self.bar(stmt.target)), *table))
        self.distribute(names, [True] * len(names), back, state, code)
        return forward

    def spread(self, stmt: ir.Assign, value: ir.Apply, state: State, code: Code) -> Code:
        """`f(*xs)`: as a call that is resolved at run time, of the items that there are."""
        assert isinstance(value.spelled, ir.Call)
        call, saved = self.names.fresh("call"), self.names.fresh("saved")
        self.saver.mark(call)
        self.saver.mark(saved)
        (whole,) = value.args
        flags = ir.Seq("tuple", (ir.Const(False), ir.Const(True)))
        find = ir.Call(ir.Static(resolve_spread, "resolve_spread"), (flags, value.spelled.func, whole))
        run = self.forward_of(stmt, call, [whole], [])
        back = ir.Call(ir.Attr(ir.Name(call), "backward"), (ir.Name(saved), ir.Name(self.bar(stmt.target))))
        self.distribute([None, whole.id], [True, True], back, state, code)
        return [
            ir.Assign(call, self.within(find), stmt.origin),
            ir.Unpack(ir.Targets((stmt.target, saved)), run, stmt.origin),
        ]

    def within(self, find: ir.Expr) -> ir.Expr:
        """What is found must not read what others write outside of it, and nobody passes to it."""
        program = self.spec.program
        return ir.Call(_WITHIN, (find,)) if program.outside_hot or program.outside_active else find

    def forward_of(self, stmt: ir.Assign, call: str, args: list[Any], keywords: list[Any]) -> ir.Expr:
        """The forward of what was found, which keeps nothing that is written into later."""
        written = [self.is_kept(a) for a in (*args, *(v for _, v in keywords))]
        result = not is_scalar(stmt.kind) and self.may_be_written(stmt.target, after=True)
        if not result and not any(written):
            return ir.Call(ir.Attr(ir.Name(call), "forward"), tuple(args), tuple(keywords))
        which = ir.Seq("tuple", tuple(map(ir.Const, written)))
        return ir.Call(_RUN_APART, (ir.Name(call), which, ir.Const(result), *args), tuple(keywords))

    def is_kept(self, arg: Any) -> bool:
        """Whether an operand that a called function may keep is written into later."""
        parts = [e for part in (arg if isinstance(arg, tuple) else (arg,)) for e in ir.walk(part)]
        if self.outside_written and any(isinstance(e, ir.Global) for e in parts):
            return True
        names = [e.id for e in parts if isinstance(e, ir.Name)]
        return any(not is_scalar(self.sizes.get(n)) and self.may_be_written(n) for n in names)


def names_in(arg: Any) -> list[str]:
    return [n for part in (arg if isinstance(arg, tuple) else (arg,)) for n in ir.reads(part)]


__all__ = ["Dynamics", "names_in"]
