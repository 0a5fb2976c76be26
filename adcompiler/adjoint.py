"""The pass `adjoint`: a resolved function → its forward, which records, and its backward, the structured mirror.

The forward keeps the user's control flow and names; the backward walks it in reverse.  Every name has one cotangent,
*taken* (and reset) where the name is bound, so that joins, loop-carried names and conditional definitions need nothing
more.  What no cotangent reaches is not differentiated and saves nothing.  See `saving` for records, `bars` for
the state of the cotangents, `protected` for exceptions, `reverse` for single operations.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from adcompiler import ir
from adcompiler.activity import activity
from adcompiler.alias import alias
from adcompiler.aliases import PLAIN, Memory
from adcompiler.bars import Bar, Code, State
from adcompiler.cotangents import LEN, RANGE, REVERSED
from adcompiler.definite import definite
from adcompiler.gathers import gathered
from adcompiler.lattice import Int, Scalar, is_real, numeric
from adcompiler.pair import Pair
from adcompiler.protected import RESULT, Protected
from adcompiler.quiet import is_quiet
from adcompiler.records import Mark, Record, Top, with_records
from adcompiler.saving import Frame, Region, Saver, exits_of, region_of, with_copies
from adcompiler.shadowing import placed
from adcompiler.spec import Spec
from adcompiler.whiles import with_tests_inside
from adcompiler.writing import is_open


def pair_of(
    spec: Spec, mask: tuple[bool, ...], caught: bool = False, memory: Memory = PLAIN, over: bool = False
) -> Pair:
    """The pair of a specialisation for active parameters; of one in progress (recursion) the names are known.

    `over`: they, or the result, may be written into before the pullback runs.
    """
    key = mask, caught, memory, over
    if key not in spec.pairs:
        active = tuple(p for p, on in zip(spec.params, mask, strict=True) if on)
        names = spec.program.pair_names(spec)
        pair = Pair(spec, mask, *names, spec.params, active=active, caught=caught, memory=memory, over=over)
        spec.pairs[key] = pair
        first = Adjoint(pair)
        first.run()
        zeros = first.plain_sums()
        if zeros and not pair.table:
            # Sums of floats that are never read while they may be unset start at 0.0: no test per addition.
            Adjoint(pair, zeros).run()
    return spec.pairs[key]  # type: ignore[no-any-return]


class Adjoint(Protected):
    """Writes one pair."""

    def __init__(self, pair: Pair, zeros: frozenset[str] = frozenset()) -> None:
        spec = pair.spec
        self.pair = pair
        self.activity = activity(spec, pair.mask, pair.memory)
        names = copy.deepcopy(spec.names)
        body = with_tests_inside(
            gathered(spec.body, self.activity, spec.function.locals, definite(spec.body, frozenset(spec.params))),
            self.activity.before,
            spec.function.locals,
            names,
        )
        self.protect(body, pair.caught)
        found = definite(body, frozenset(spec.params), self.opened)
        user = spec.function.locals | spec.function.cells | frozenset(spec.params)
        names.reserve(["np", "math"])
        super().__init__(spec, names, Saver(names, found, user, spec.function.cells), alias(spec, pair.memory.merged))
        self.zeros = zeros
        self.over = pair.over
        self.hot = self.activity.hot
        pair.hot = self.activity.hot_result
        pair.tracks = self.tracks = spec.program.writes_places and not is_quiet(spec)
        pair.hot_params = self.activity.hot_params
        pair.shared = self.tracks or pair.hot or bool(pair.hot_params) or spec.program.outside_hot
        if self.tracks or self.activity.shadows:
            pair.table = self.table = names.unique("bars")
        if spec.function.generator:
            pair.run = names.unique("run")
        self.unset: set[str] = set()
        self.heads: dict[int, State] = {}
        self.body = body
        self.exit_states: list[dict[type, State]] = []

    def pair_of(self, spec: Spec, mask: tuple[bool, ...], memory: Memory = PLAIN, over: bool = False) -> Pair:
        return pair_of(spec, mask, self.tracks and bool(self.caught) and is_open(spec), memory, over)

    def run(self) -> None:
        """Fill in the pair."""
        pair = self.pair
        region = region_of(None, self.body)
        pair.cotangent = self.names.unique("value_bar")
        self.bar_names[RESULT] = pair.cotangent
        start: State = {RESULT: Bar()} if self.cancels and not pair.run else {}
        self.exit_states.append({ir.Return: start})
        if None in self.opened:
            region.open = True
            pair.record = self.names.unique("saved")
        self.regions.append(region)
        if _needs_marker(self.body):
            region.marker = self.names.fresh("at")
            region.saved[region.marker] = None
            if region.open:
                region.unset[region.marker] = 0
        forward, backward, state = self.block(self.body, start, region, top=True)
        backward += self.finish_paths(state)
        backward = placed(backward, region.windows)
        pair.saved = tuple(region.saved)
        pair.forward = with_records([Top(region), *self.nothing_interrupted(), *forward])
        pair.results = tuple(ir.Name(self.bar(p)) if p in state else ir.Const(None) for p in pair.active)
        pair.sure = {p: p in state and not state[p].maybe for p in pair.active}
        pair.backward = tuple(backward)
        pair.bars = dict(self.bar_names)
        pair.junk = self.junk

    def adapted(self, state: State, wanted: State) -> Code:
        self.unset.update(name for name in wanted if name not in state)
        return super().adapted(state, wanted)

    def plain_sums(self) -> frozenset[str]:
        """Names whose cotangents some path leaves unset, that are only added to there, and that are real floats."""
        kinds: dict[str, list[Any]] = {n: [k] for n, k in zip(self.spec.params, self.spec.kinds, strict=True)}
        for stmt in ir.statements(self.body):
            if isinstance(stmt, ir.Assign):
                kinds.setdefault(stmt.target, []).append(stmt.kind)
        return frozenset(
            name
            for name in self.unset - self.taken_unsure
            if all(isinstance(numeric(k), Scalar | Int) and is_real(k) for k in kinds.get(name, [None]))
        )

    # --- blocks -----------------------------------------------------------------------------------------

    def block(self, block: ir.Block, out: State, region: Region, top: bool = False) -> tuple[Code, Code, State]:
        """The forward of a block, its reverse, and the cotangents at its start, from those at its end."""
        frame = Frame(block, region, top=top)
        self.saver.frames.append(frame)
        outs: list[Code] = [[] for _ in block]
        reverse: Code = []
        state = dict(out)
        for unit in reversed(self.units(block)):
            last, before, code = block[unit[-1]], state, []
            for i in reversed(unit):
                frame.index = i
                stmt = block[i]
                if ir.blocks(stmt):
                    code += self.materialise_all(state, after=True)
                exits = [region.exits[id(s)] for s in exits_of((stmt,), False) if id(s) in region.exits]
                if exits and region.marker is not None and not isinstance(stmt, ir.Return | ir.Break | ir.Continue):
                    reverse, state = self.guarded(region, max(exits), reverse + code, state, out)
                    code = []
                outs[i], part, state = self.statement(stmt, state, region)
                code += self.commented(stmt, part)
            if self.sequences[-1] is not None and (isinstance(last, ir.Yield) or not ir.blocks(last)):
                code += self.materialise_all(state, after=False)
                code, state = self.step(last, code, state, before, frame, outs[unit[-1]])
            reverse += code
        if block:
            reverse += self.materialise_all(state, after=False)
        self.saver.frames.pop()
        return with_copies(frame, outs), placed(reverse, frame.views), state

    def commented(self, stmt: ir.Stmt, code: Code) -> Code:
        """The reverse of a statement carries the statement's origin."""
        return [s if s.origin is not None else replace(s, origin=stmt.origin) for s in code]  # type: ignore[type-var]  # all are dataclasses

    def guarded(self, region: Region, last: int, tail: Code, state: State, out: State) -> tuple[Code, State]:
        """The reverse of what follows a possible exit: it runs only if the exit was not taken."""
        joined = self.met(out, state)
        taken = self.adapted(state, joined)
        skipped = self.adapted(out, joined)
        if not tail and not taken and not skipped:
            return tail, joined
        assert region.marker is not None
        test = ir.Op(">", (ir.Name(region.marker), ir.Const(last)))
        return [ir.If(test, tuple(tail + taken), tuple(skipped))], joined

    def statement(self, stmt: Any, state: State, region: Region) -> tuple[Code, Code, State]:
        """The forward of a statement, its reverse, and the cotangents before it."""
        self.stmt, self.active = stmt, self.activity.before.get(id(stmt), frozenset())
        guarded = self.guarded_call if self.may_stop_halfway(stmt) else list
        method = getattr(self, "stmt_" + type(stmt).__name__, None)
        if method is None:
            return [stmt], [], state
        forward, code, state = method(stmt, dict(state), region)
        return guarded(forward), code, state

    # --- control flow -----------------------------------------------------------------------------------

    def stmt_If(self, stmt: ir.If, state: State, region: Region) -> tuple[Code, Code, State]:
        body, r_body, s_body = self.block(stmt.body, state, region)
        orelse, r_orelse, s_orelse = self.block(stmt.orelse, state, region)
        joined = self.met(s_body, s_orelse)
        r_body += self.adapted(s_body, joined)
        r_orelse += self.adapted(s_orelse, joined)
        if not r_body and not r_orelse:
            return [replace(stmt, body=tuple(body), orelse=tuple(orelse))], [], joined
        self.stmt = stmt
        before: Code = []
        test = self.exit_test(stmt.body, region)
        if test is None:
            took = self.names.fresh("took")
            self.saver.mark(took)
            body.insert(0, ir.Assign(took, ir.Const(1)))
            test = ir.Name(took)
            if took not in region.unset:
                # Before the `if`, not in its `else`, which may be an `elif`.
                before.append(ir.Assign(took, ir.Const(0)))
        reverse = ir.If(test, tuple(r_body), tuple(r_orelse))
        return [*before, replace(stmt, body=tuple(body), orelse=tuple(orelse))], [reverse], joined

    def exit_test(self, body: ir.Block, region: Region) -> ir.Expr | None:
        """A test of the exit marker that says whether a branch was taken, if the branch always leaves.

        What a `try` or `with` is around may be left through their end, where another exit is taken.
        """
        if (
            region.marker is None
            or self.around
            or not ir.leaves(body)
            or any(isinstance(s, ir.Try) for s in ir.statements(body))
        ):
            return None
        numbers = [region.exits[id(s)] for s in exits_of(body, False) if id(s) in region.exits]
        if len(numbers) != 1:
            return None
        return ir.Op("==", (ir.Name(region.marker), ir.Const(numbers[0])))

    def stmt_Return(self, stmt: ir.Return, state: State, region: Region) -> tuple[Code, Code, State]:
        state = self.left(state, self.exit_states[0][ir.Return])
        reverse: Code = []
        if self.pair.run:
            return [*self.marked(stmt), stmt], reverse, state  # nobody sees what a generator returns
        seed = self.take(RESULT, state) if self.cancels else Bar()
        if seed is not None and isinstance(stmt.value, ir.Name) and stmt.value.id in self.active:
            if not self.has_places(stmt.kind):
                unsure = seed.maybe or self.pair.shared
                self.add(stmt.value.id, ir.Name(self.pair.cotangent), state, reverse, maybe=unsure, kind=stmt.kind)
        forward = [*self.marked(stmt), stmt]
        return forward, reverse, state

    def stmt_Yield(self, stmt: ir.Yield, state: State, region: Region) -> tuple[Code, Code, State]:
        reverse: Code = []
        self.unyielded(stmt, state, reverse)
        count = ir.Store(ir.Attr(ir.Name(self.pair.run), "count"), ir.Const(1), "+")
        dropped = (*self.marked(stmt), ir.Return(ir.Const(None)))
        return [count, replace(stmt, body=dropped)], reverse, state

    def left(self, here: State, beyond: State) -> State:
        """The cotangents at an exit: those where it leads to, and the buffers and sums that are already there."""
        if self.around or self.cancels or self.sequences[-1] is not None:
            return here
        head = self.exit_states[-1].get(ir.Continue, {})
        made = {name: bar for name, bar in (here | head).items() if not bar.maybe}
        return beyond | {name: bar for name, bar in made.items() if bar.owned or name not in beyond}

    def marked(self, stmt: ir.Stmt) -> Code:
        """The exit markers of all regions that a statement leaves, and their records, the innermost first."""
        out: Code = []
        for region in reversed(self.regions):
            if id(stmt) in region.exits:
                out.append(Mark(region, region.exits[id(stmt)]))
                if region.loop is not None and not region.open:
                    out.append(Record(region))
        if isinstance(stmt, ir.Return):
            out.append(Record(self.regions[0]))
        return out

    def stmt_Break(self, stmt: ir.Break, state: State, region: Region) -> tuple[Code, Code, State]:
        return [*self.marked(stmt), stmt], [], self.left(state, self.exit_states[-1][ir.Break])

    def stmt_Continue(self, stmt: ir.Continue, state: State, region: Region) -> tuple[Code, Code, State]:
        return [*self.marked(stmt), stmt], [], self.left(state, self.exit_states[-1][ir.Continue])

    def stmt_For(self, stmt: ir.For, state: State, region: Region) -> tuple[Code, Code, State]:
        return self.loop(stmt, state, region)

    def stmt_While(self, stmt: ir.While, state: State, region: Region) -> tuple[Code, Code, State]:
        return self.loop(stmt, state, region)

    def loop(self, stmt: Any, state: State, region: Region) -> tuple[Code, Code, State]:
        broken = dict(state)
        orelse, reverse, state = self.orelse(stmt, state, region)
        # Nested loops start from what was found before: cotangents only grow while the loops around them are repeated,
        # except that a loop around may have been asked for a buffer of its own since.
        known = {n: b for n, b in self.heads.get(id(stmt), {}).items() if not (n in state and state[n].owned)}
        met = self.met(state, known)
        head = state | {name: met[name] for name in known}
        while True:
            keep = self.snapshot()
            inner = region_of(stmt, stmt.body)
            body, code, end, owned = self.iteration(stmt, head, broken, inner)
            wanted = self.met(head, end)
            for name in owned:
                wanted[name] = Bar(owned=True)
            if wanted == head:
                self.heads[id(stmt)] = head
                break
            self.restore(keep)
            head = wanted
        self.stmt = stmt
        if not code:
            inner.trace = ""
            return [replace(stmt, body=tuple(body), orelse=tuple(orelse))], reverse, state
        start = self.prepare(state, head)
        back, before = self.backwards(stmt, inner, code)
        if inner.open:
            body = [ir.Try(tuple(body), (), (), (Record(inner),))]
        stmt = self.with_numbers(stmt, self.walked(stmt))
        forward = [*before, *self.checks(stmt), replace(stmt, body=(Top(inner), *body), orelse=tuple(orelse))]
        back = [*start, *back]
        if self.sequences[-1] is not None:
            back, head = self.if_begun(inner.trace, back, head, state)
        return forward, [*reverse, *back], head

    def orelse(self, stmt: Any, state: State, region: Region) -> tuple[Code, Code, State]:
        """The `else` of a loop: its reverse runs if the loop was not left by `break`."""
        orelse, code, after = self.block(stmt.orelse, state, region)
        joined = self.met(state, after)
        code += self.adapted(after, joined)
        skipped = self.adapted(state, joined)
        if not code and not skipped:
            return orelse, [], joined
        self.stmt = stmt
        done = self.names.fresh("done")
        self.saver.mark(done)
        self.saver.frames[-1].region.unset[done] = None
        orelse.insert(0, ir.Assign(done, ir.Const(1)))
        # A second pass through an enclosing loop must not see the flag of the first.
        return orelse, [ir.If(ir.Name(done), tuple(code), tuple(skipped))], joined

    def iteration(self, stmt: Any, head: State, broken: State, inner: Region) -> tuple[Code, Code, State, set[str]]:
        """One reverse iteration: body code, and the cotangents it leaves for the iteration before."""
        self.regions.append(inner)
        self.exit_states.append({ir.Break: broken, ir.Continue: head})
        self.owned_requests.append(set())
        self.numbers.pop(id(stmt), None)
        inner.open = id(stmt) in self.opened
        if inner.open:
            self.begin(stmt.body, inner)
        else:
            self.sequences.append(None)
            if _needs_marker(stmt.body):
                inner.marker = self.names.fresh("at")
                inner.saved[inner.marker] = None
        inner.trace = self.names.fresh("trace")
        frame = Frame((stmt,), inner)
        self.saver.frames.append(frame)
        body, code, end = self.block(stmt.body, head, inner, top=True)
        self.stmt, self.active = stmt, self.activity.before.get(id(stmt), frozenset())
        if isinstance(stmt, ir.For):
            code += self.take_targets(stmt, end)
        requests = self.owned_requests.pop()
        for name in sorted(requests):
            if not (name in end and end[name].owned):
                code.append(self.make_owned(name, end.get(name)))
                end[name] = Bar(owned=True)
        code = placed(code + self.adapted(end, self.met(head, end)), inner.windows)
        self.saver.frames.pop()
        self.exit_states.pop()
        self.regions.pop()
        self.sequences.pop()
        if not ir.leaves(stmt.body) and not inner.open:
            body += [Mark(inner, len(inner.exits) + 1), Record(inner)]
        return body, code, end, requests

    def prepare(self, state: State, head: State) -> Code:
        """Bring the cotangents to the form they have at the loop head; buffers that the loop adds to become owned."""
        wanted = {n: b for n, b in head.items() if not (b.owned and not (n in state and state[n].owned))}
        out = self.adapted(state, wanted)
        for name, bar in head.items():
            if name not in wanted and bar.owned:
                out.append(self.make_owned(name, state.get(name)))
        return out

    def backwards(self, stmt: Any, inner: Region, code: Code) -> tuple[Code, Code]:
        """The reverse loop, and what the forward needs before the loop."""
        if not inner.saved:
            trips = ir.Name(inner.trace)
            self.saver.mark(inner.trace, 0)
            before: Code = [ir.Assign(inner.trace, ir.Const(0))]
            header = ir.Call(RANGE, (trips,))
            count: ir.Expr = trips
            target: ir.Target = self.junk
        else:
            self.saver.mark(inner.trace, ())
            before = [ir.Assign(inner.trace, ir.Seq("list", ()))]
            header = ir.Call(REVERSED, (ir.Name(inner.trace),))
            count = ir.Call(LEN, (ir.Name(inner.trace),))
            saved = tuple(inner.saved)
            target = saved[0] if len(saved) == 1 else ir.Targets(saved)
        back: Code = []
        for key in [k for k in self.counters if isinstance(k, tuple) and k[0] == id(stmt)]:
            count_name = self.counters.pop(key)
            self.saver.mark(count_name, 0)
            before.append(ir.Assign(count_name, ir.Call(LEN, (ir.Name(key[1]),))))
        counter = self.counters.pop(id(stmt), None)
        if counter is not None:
            back.append(ir.Assign(counter, count))
            code = [ir.Assign(counter, ir.Op("-", (ir.Name(counter), ir.Const(1))), augmented=True), *code]
        back.append(ir.For(target, header, tuple(code), ()))
        return back, before

    # --- repeated runs ----------------------------------------------------------------------------------

    def snapshot(self) -> Any:
        """What a dry run of a loop body may change."""
        frames = [(f, f.noted()) for f in self.saver.frames]
        regions = [(r, dict(r.saved), dict(r.unset), dict(r.windows)) for r in self.regions]
        return frames, regions, copy.deepcopy(self.names), dict(self.bar_names), dict(self.counters)

    def restore(self, kept: Any) -> None:
        """Forget a dry run."""
        frames, regions, names, bar_names, counters = kept
        for frame, noted in frames:
            frame.copies, frame.kept, frame.late, frame.marks = noted
        for region, saved, unset, windows in regions:
            region.saved, region.unset, region.windows = saved, unset, windows
        self.names.__dict__.update(names.__dict__)
        self.bar_names, self.counters = bar_names, counters


def _needs_marker(body: ir.Block) -> bool:
    """Whether control may leave a region elsewhere than at its end."""
    exits = exits_of(body)
    return bool(exits) and not (len(exits) == 1 and exits[0] is body[-1])


__all__ = ["pair_of"]
