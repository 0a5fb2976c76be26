"""The reverse of code whose exceptions are caught: `try` and `with`.

A *protected* sequence of statements may stop anywhere, and the function goes on.  Its forward counts what is done in a
marker, and its reverse undoes no more than that:

    try:                               at1 = how1 = 0
        s = s * v                      try:                           # the reverse
        s = s * math.log(v)                s_1 = s                    if how1 == 1:
    except ValueError:                     s = s * v                      s_bar = s_bar * x
        s = s * x                          at1 = 1                    if at1 >= 2:
                                           t1 = math.log(v)               s_bar = s_bar * t1
                                           s = s * t1                 if at1 >= 1:
                                           at1 = 2                        s_bar = s_bar * v
                                       except ValueError:
                                           how1 = 1
                                           s = s * x

The reverse goes through `finally`, then the handler or the `else` that ran, then the body.  The record of a loop whose
iterations may stop anywhere is *open*: it is appended in a `finally` of the compiler's own, and what it holds is
initialised.  So is the function's own record if a `return` goes through a `finally`, which saves values after it.

A call that writes and raises leaves no record.  Its exception is noted, and where it is caught the function refuses to
go on.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field

from adcompiler import ir
from adcompiler.alias import alias
from adcompiler.bars import Code, State
from adcompiler.callees import PairCall, PlaceCall
from adcompiler.dynamics import names_in
from adcompiler.pair import Pair
from adcompiler.passing import raised, raised_again, try_that_passes, with_that_passes
from adcompiler.reverse import Reverser
from adcompiler.runtime.stores import interrupted
from adcompiler.saving import Frame, Region, exits_of
from adcompiler.writing import fills, may_store, writes

_INTERRUPTED = ir.Static(interrupted, "interrupted")
_ANY = ir.Static(BaseException, "BaseException")
RESULT = "<result>"  # in a state: the cotangent of the function's value, where a `return` may be cancelled


@dataclass(eq=False)
class Steps:
    """The marker of a protected sequence, and the numbers of the statements after which it is set."""

    marker: str
    numbers: dict[int, int] = field(default_factory=dict)


class Protected(Reverser):
    """Adds `try`, `with` and what is inside them to what is reversed."""

    pair: Pair
    interrupted = ""  # the variable that holds the refusal to go on behind a call that wrote and raised

    def protect(self, body: ir.Block, caught: bool) -> None:
        """Find what is protected in the function's body; `caught`: a caller may catch its exceptions."""
        self.caught = int(caught)  # how many around the statement at hand may catch its exceptions
        self.opened = opened(body)
        self.cancels = any(_crossed(s, ir.Return) for s in ir.statements(body))
        self.guarded_calls = 0  # calls whose exceptions are noted, so far
        self.sequences: list[Steps | None] = [None]
        self.around = 0  # how many `try` and `with` are around the statement at hand
        self._readers = _readers(body)

    @abstractmethod
    def block(self, block: ir.Block, out: State, region: Region, top: bool = False) -> tuple[Code, Code, State]:
        """The forward of a block, its reverse, and the cotangents at its start."""

    # --- sequences --------------------------------------------------------------------------------------

    def begin(self, block: ir.Block, region: Region) -> None:
        """A protected sequence starts."""
        marker = self.names.fresh("at")
        region.saved[marker] = None
        region.unset[marker] = 0
        numbers = {id(stmt): n for n, stmt in enumerate(self._ends(block), start=1)}
        self.sequences.append(Steps(marker, numbers))

    def units(self, block: ir.Block) -> list[range]:
        """The statements of a block that are reversed together: in a protected one, temporaries with their use."""
        if self.sequences[-1] is None:
            return [range(i, i + 1) for i in range(len(block))]
        out: list[range] = []
        start = 0
        for i, stmt in enumerate(block):
            if self._is_temporary(stmt) and i + 1 < len(block) and not ir.blocks(block[i + 1]):
                continue
            inside = {id(s) for s in block[start : i + 1]}
            alone = all(self._readers.get(s.target, set()) <= inside for s in block[start:i])  # type: ignore[attr-defined]
            out += [range(start, i + 1)] if alone else [range(k, k + 1) for k in range(start, i + 1)]
            start = i + 1
        return out

    def _is_temporary(self, stmt: ir.Stmt) -> bool:
        """Whether a statement does no more than to give a temporary its value."""
        if not isinstance(stmt, ir.Assign) or stmt.target in self.saver.user_names:
            return False
        if self.hot and any(id(stmt) in by for by in self.aliases.written.values()):
            return False
        if self.hot and isinstance(stmt.value, ir.Apply) and writes(stmt.value.callee):
            return False
        return not self.tracks or not isinstance(stmt.value, ir.Apply) or not may_store(stmt.value.callee)

    def may_stop_halfway(self, stmt: ir.Stmt) -> bool:
        """Whether a statement has a call that may write and then raise, where the function may go on."""
        if not self.table or self.caught <= self.pair.caught:
            return False
        for value in ir.expressions(stmt):
            if not isinstance(value, ir.Apply) or not self.is_active(value) or isinstance(value.callee, PlaceCall):
                continue
            if (self.tracks and may_store(value.callee) and not fills(value)) or self.writes_arrays(value):
                return True
        return False

    def guarded_call(self, forward: Code) -> Code:
        """The forward of such a call: of what it did before an exception there is no record, and that is noted."""
        self.guarded_calls += 1
        self.interrupted = self.interrupted or self.names.unique("interrupted")
        error = self.names.fresh("error")
        note = ir.Assign(self.interrupted, ir.Call(_INTERRUPTED, (ir.Name(error),)))
        return [ir.Try(tuple(forward), (ir.Handler(_ANY, error, (note, raised())),), (), ())]

    def nothing_interrupted(self) -> Code:
        """What the forward starts with."""
        return [ir.Assign(self.interrupted, ir.Const(None))] if self.interrupted else []

    def refused_if_interrupted(self) -> ir.Stmt:
        """The refusal to go on behind such an exception."""
        return raised_again(self.interrupted)

    def writes_arrays(self, value: ir.Apply) -> bool:
        """Whether a compiled function writes into arrays whose cotangents are in shadows."""
        if not isinstance(value.callee, PairCall):
            return False
        callee = alias(value.callee.spec)
        names = [n for i in callee.writes for n in names_in(value.args[i])]
        return any(map(self.is_hot, names)) or (callee.writes_outside and self.spec.program.outside_hot)

    def _ends(self, block: ir.Block) -> Iterator[ir.Stmt]:
        """The statements of a sequence after which its marker may be set, in the order of the text."""
        self.sequences.append(Steps(""))
        units = self.units(block)
        self.sequences.pop()
        for unit in units:
            stmt = block[unit[-1]]
            match stmt:
                case ir.If():
                    parts: tuple[ir.Block, ...] = ir.blocks(stmt)
                case ir.Try():
                    # What runs before a `finally` has markers of its own: it may stop, and the `finally` still run.
                    parts = (stmt.final,) if stmt.final else ir.blocks(stmt)[1:]
                case ir.For() | ir.While():
                    parts = (stmt.orelse,)
                case ir.With():
                    parts = () if stmt.swallows else (stmt.body,)
                case _:
                    parts = ()
                    yield stmt
            for part in parts:
                yield from self._ends(part)

    def step(
        self, stmt: ir.Stmt, code: Code, done: State, before: State, frame: Frame, out: Code
    ) -> tuple[Code, State]:
        """The reverse of a statement of a protected sequence: it runs if the forward got behind the statement."""
        steps = self.sequences[-1]
        assert steps is not None
        joined = self.met(before, done)
        code = code + self.adapted(done, joined)
        skipped = self.adapted(before, joined)
        if not code and not skipped:
            return [], joined
        number = ir.Const(steps.numbers[id(stmt)])
        note = ir.Assign(steps.marker, number)
        if isinstance(stmt, ir.Return | ir.Yield):
            out.insert(0, note)
        else:
            frame.marks[frame.block.index(stmt) + 1] = note
        test = ir.Op(">=", (ir.Name(steps.marker), number))
        return [ir.If(test, tuple(code), tuple(skipped))], joined

    def if_begun(self, trace: str, code: Code, head: State, state: State) -> tuple[Code, State]:
        """The reverse of a loop of a protected sequence: the forward may not have got there."""
        joined = self.met(state, head)
        code = [*code, *self.adapted(head, joined)]
        return [ir.If(ir.Name(trace), tuple(code), tuple(self.adapted(state, joined)))], joined

    # --- statements -------------------------------------------------------------------------------------

    def stmt_With(self, stmt: ir.With, state: State, region: Region) -> tuple[Code, Code, State]:
        self.around += 1
        self.caught += stmt.swallows
        calls = self.guarded_calls
        body, code, state = self.part(stmt.body, state, region, stmt.swallows)
        self.caught -= stmt.swallows
        self.around -= 1
        if stmt.target is not None:
            state.pop(stmt.target, None)
        # The reverse runs under the same contexts, if they are made of nothing that would have to be kept.
        again = code and not stmt.swallows and stmt.target is None and not set(ir.reads(stmt.item))
        reverse: Code = [_with(stmt, code)] if again else code
        forward = ir.with_blocks(stmt, (tuple(body),))
        passing = with_that_passes(forward, stmt, self.names)  # type: ignore[arg-type]
        if stmt.swallows and self.guarded_calls > calls:
            passing.append(self.refused_if_interrupted())
        return passing, reverse, state

    def stmt_Try(self, stmt: ir.Try, state: State, region: Region) -> tuple[Code, Code, State]:
        self.around += 1
        final, reverse, state = self.block(stmt.final, state, region)
        cancels = bool(exits_of(stmt.final))
        self.caught += cancels
        before = self.guarded_calls
        arms, code, state = self.arms(stmt, state, region)
        self.caught += stops(stmt) - cancels
        inside = self.guarded_calls
        body, undone, state = self.part(stmt.body, state, region, stops(stmt) or self.resumes(stmt))
        self.caught -= stops(stmt)
        self.around -= 1
        if self.guarded_calls > inside:
            arms = [*([self.refused_if_interrupted(), *arm] for arm in arms[:-1]), arms[-1]]
        if self.guarded_calls > before and cancels:
            final = [self.refused_if_interrupted(), *final]
        *caught, orelse = map(tuple, arms)
        forward = ir.with_blocks(stmt, (tuple(body), *caught, orelse, tuple(final)))
        passing = try_that_passes(forward, stmt, self.spec, self.names)  # type: ignore[arg-type]
        return passing, [*reverse, *code, *undone], state

    def resumes(self, stmt: ir.Try) -> bool:
        """Whether a `finally` may run, and control go on, where what comes before it has stopped anywhere."""
        return self.sequences[-1] is not None and bool(stmt.final)

    def part(self, block: ir.Block, state: State, region: Region, alone: bool) -> tuple[Code, Code, State]:
        """A block of a `try`; `alone` is a protected sequence of its own."""
        if not alone or not block:
            return self.block(block, state, region)
        self.begin(block, region)
        found = self.block(block, state, region)
        self.sequences.pop()
        return found

    def arms(self, stmt: ir.Try, state: State, region: Region) -> tuple[list[Code], Code, State]:
        """The handlers and the `else`: the reverse of the one that ran, if any."""
        blocks = [*(h.body for h in stmt.handlers), stmt.orelse]
        found = [self.part(b, state, region, self.resumes(stmt)) for b in blocks]
        joined = state
        for handler, (_, _, start) in zip([*stmt.handlers, None], found, strict=True):
            if handler is not None and handler.name is not None:
                start.pop(handler.name, None)
            joined = self.met(joined, start)
        forwards = [forward for forward, _, _ in found]
        reverses = [code + self.adapted(start, joined) for _, code, start in found]
        skipped = self.adapted(state, joined)
        if not any(reverses) and not skipped:
            return forwards, [], joined
        how = self.names.fresh("how")
        region.saved[how] = None
        region.unset[how] = 0
        rest = tuple(skipped)
        for n, (_, code, start) in reversed([*enumerate(found)]):
            if code or start != state:  # otherwise it does what is done where nothing ran
                forwards[n].insert(0, ir.Assign(how, ir.Const(n + 1)))
                rest = (ir.If(ir.Op("==", (ir.Name(how), ir.Const(n + 1))), tuple(reverses[n]), rest),)
        return forwards, list(rest), joined


def _with(stmt: ir.With, body: Code) -> ir.Stmt:
    return ir.with_blocks(stmt, (tuple(body),))


# --- what is protected ------------------------------------------------------------------------------------


def stops(stmt: ir.Try) -> bool:
    """Whether control may go on behind the body of a `try` that has stopped anywhere in it."""
    return bool(stmt.handlers or exits_of(stmt.final))


def opened(body: ir.Block) -> frozenset[int | None]:
    """The loops (by id; None is the function) whose records are open."""
    found: set[int | None] = {id(s) for s in _loops_inside(body)}
    for stmt in ir.statements(body):
        if isinstance(stmt, ir.Try) and stmt.final and _crossed(stmt, ir.Return):
            found.add(None)
        if isinstance(stmt, ir.For | ir.While):
            inside = ir.statements(stmt.body)
            if any(isinstance(s, ir.Try | ir.With) and exits_of((s,)) for s in inside):
                found.add(id(stmt))
    return frozenset(found)


def _loops_inside(block: ir.Block, protected: bool = False) -> Iterator[ir.Stmt]:
    """The loops inside a `try`, or inside a `with` that swallows exceptions."""
    for stmt in block:
        if protected and isinstance(stmt, ir.For | ir.While):
            yield stmt
        inside = protected or isinstance(stmt, ir.Try) or (isinstance(stmt, ir.With) and stmt.swallows)
        for inner in ir.blocks(stmt):
            yield from _loops_inside(inner, inside)


def _crossed(stmt: ir.Stmt, exit_: type) -> bool:
    """Whether an exit of a kind leaves through a `finally` or a context manager, which may cancel it."""
    match stmt:
        case ir.Try(final=final) if final:
            blocks = ir.blocks(stmt)[:-1]
        case ir.With(swallows=True):
            blocks = ir.blocks(stmt)
        case _:
            return False
    return any(isinstance(s, exit_) for b in blocks for s in ir.statements(b))


def _readers(body: ir.Block) -> dict[str, set[int]]:
    """The statements that read each name, by id."""
    found: dict[str, set[int]] = {}
    for stmt in ir.statements(body):
        for expr in ir.expressions(stmt):
            for name in ir.reads(expr):
                found.setdefault(name, set()).add(id(stmt))
    return found
