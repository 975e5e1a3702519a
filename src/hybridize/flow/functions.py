"""Calls of the project's functions: what goes to which parameter, and in which context (frame) the function runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.identity import intern_obj
from hybridize.domain.lattice import join, join_all
from hybridize.domain.objects import BOTTOM, NONE_V, Class, Func, Mod, Stream, Value, stream, tup, unknown
from hybridize.flow.cells import Cells
from hybridize.flow.contexts import Contexts
from hybridize.flow.frames import CALLED, Frame, Step
from hybridize.flow.handed import NOT_HANDED
from hybridize.flow.parts import Parts
from hybridize.program.ir import Code
from hybridize.records import dataclass

#: Nested calls are followed at once down to this depth; deeper ones wait in the worklist.
MAX_DEPTH: Final = 48
#: A frame that has run so often waits in the worklist, so that further changes of its arguments are taken together.
EAGER_RUNS: Final = 2
#: Ranks end here: those of functions that call each other would rise for ever.
MAX_RANK: Final = 100

_NO_CALLS: Final[dict[tuple[int, Frame], How]] = {}


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A call that a frame gets: from where, with what."""

    caller: Frame
    pos: int
    callee: Frame
    values: list[Value]

    @property
    def has_receiver(self) -> bool:
        """Whether the first argument is the receiver of a method."""
        return self.callee.bound is not ((self.caller, self.pos) in self.callee.mixed)


class FunctionCalls:
    """Calls functions of the project."""

    def __init__(self, engine: Parts, cells: Cells) -> None:
        self.engine = engine
        self.world = cells.world
        self.cells = cells

    def call_function(
        self,
        frame: Frame,
        pos: int,
        func: Func,
        args: list[Value],
        kwargs: Mapping[str, Value],
        how: How,
        rest: Value,
        has_receiver: bool,
    ) -> Value:
        """Calls a function of the project in the context of its arguments."""
        values, explicit = self.bind_arguments(frame, pos, func, args, kwargs, rest)
        contexts = self.world.contexts(func.code)
        key = contexts.key(func, values, has_receiver)
        callee = contexts.frames.get(key)
        if callee is None:
            callee = self._moved(frame, pos, contexts, func, values, key)
            if callee is None:
                callee = self._new_frame(contexts, func, values, has_receiver)
        frame.sites[pos, func] = callee
        changed = callee.take(values)
        callee.explicit |= explicit
        if has_receiver is not callee.bound:
            callee.mixed.add((frame, pos))
        if how is not How.ROOT:
            step: Step | None = frame.step
            if frame.looping or callee.waiters.get(frame.step) == frame.step.runs:
                step = None  # it has gone on with what there was before
            callee.waiters[frame.step] = frame.step.runs
        else:  # nobody goes on with what the unknown caller gets
            step = None
        callee.callers[frame] = None
        # One place may call a function of several objects, which only the finest level tells apart.
        earlier = callee.incoming.get((frame, pos)) if contexts.level or self.cells.turns > 1 else None
        callee.incoming[frame, pos] = values if earlier is None else list(map(join, earlier, values))
        self.note_call(frame, pos, callee, how)
        if callee.rank >= frame.rank and not callee.running:
            frame.rank = min(callee.rank + 1, MAX_RANK)
        if (changed or callee.stale or not callee.runs) and not callee.running:
            if self.cells.depth < MAX_DEPTH and callee.runs < EAGER_RUNS:
                self.engine.run(callee, step)
            else:
                self.cells.enqueue(callee)
        elif changed:
            self.cells.enqueue(callee)
        return self.result_of(frame, callee, values)

    def result_of(self, frame: Frame, callee: Frame, values: list[Value]) -> Value:
        """What a call gives to its caller: the returned value, or a generator of what is yielded."""
        code = callee.code
        if code.is_generator:
            element = stream("generator", callee.yields).element  # cut off where it nests too deeply
            return intern_obj(Stream, "generator", element, None, None, code).value
        if not callee.ret:
            if code.abstract:
                return unknown(f"an abstract method `{code.name}`").value
            if frame.lenient and not callee.running:
                return unknown(f"the result of `{code.name}`, which does not return").value
        if callee.handed != NOT_HANDED and all(isinstance(o, Class) for o in values[callee.handed]):
            return values[callee.handed]
        return callee.ret

    def note_call(self, frame: Frame, pos: int, callee: Frame, how: How) -> None:
        """Notes that a frame calls another, which is in use from now on."""
        key = (pos, callee)
        if how is How.ROOT:
            if key not in frame.roots:
                frame.roots[key] = None
                self._use(callee)
            return
        if key not in frame.calls and key not in frame.earlier:
            self._use(callee)
        frame.calls[key] = how
        frame.log.append((CALLED, key, how))

    def _use(self, frame: Frame) -> None:
        frame.uses += 1
        if frame.uses == 1 and not frame.dead:
            if not frame.running:
                for _, callee in frame.calls:
                    self._use(callee)
            if frame.stale:
                self.cells.enqueue(frame)

    def _drop(self, frame: Frame) -> None:
        """Notes that a call site no longer goes to a frame. Frames that nobody calls are not run any more."""
        frame.uses -= 1
        if frame.uses == 0 and not frame.running and not frame.dead:
            self.release(frame)

    def release(self, frame: Frame) -> None:
        """Notes that what a frame calls is called by it no more."""
        for _, callee in frame.calls:
            self._drop(callee)

    def settle_calls(self, frame: Frame) -> None:
        """Notes that a frame has run: what it no longer calls may go out of use."""
        earlier, frame.earlier = frame.earlier, _NO_CALLS
        if earlier and earlier.keys() != frame.calls.keys():
            for call in earlier:
                if call not in frame.calls:
                    self._drop(call[1])
        if not frame.uses or frame.dead:
            self.release(frame)

    def _moved(
        self, frame: Frame, pos: int, contexts: Contexts, func: Func, values: list[Value], key: object
    ) -> Frame | None:
        """The frame that this place called before, if no other place calls it and what it was given has only grown:
        it goes on in the new context. The fixpoint would else leave a frame behind for each step of a growing value."""
        before = frame.sites.get((pos, func))
        if before is None or before.dead or before.uses != 1:
            return None
        if (pos, before) not in frame.earlier and (pos, before) not in frame.calls:
            return None
        if contexts.frames.get(before.key) is not before or not all(map(frozenset.issubset, before.args, values)):
            return None
        del contexts.frames[before.key]
        before.key = key
        before.incoming.clear()
        contexts.frames[key] = before
        return before

    def _new_frame(self, contexts: Contexts, func: Func, values: list[Value], has_receiver: bool) -> Frame:
        if not contexts.fits(len(contexts.frames) + 1):
            self._coarsen(contexts, func, values, has_receiver)
        key = contexts.key(func, values, has_receiver)
        found = contexts.frames.get(key)
        if found is not None:
            return found
        made = self.make_frame(func.code, func.module, func, key)
        made.bound = has_receiver
        contexts.frames[key] = made
        return made

    def _coarsen(self, contexts: Contexts, func: Func, values: list[Value], has_receiver: bool) -> None:
        """Goes to the next level at which the present calls of a function, and a new one, have few enough contexts.

        The calls that fall together go on in the frame of one of them: what it has found out so far stays true.
        """
        old = list(contexts.frames.values())
        arrivals = [arrival for frame in old if frame.uses for arrival in _arrivals(frame)]
        # Many calls of the program say more than what the unknown caller may pass.
        arrivals = [a for a in arrivals if not a.callee.started_by(a.caller, a.pos)] or arrivals
        while True:
            contexts.level += 1
            groups: dict[object, list[_Arrival]] = {contexts.key(func, values, has_receiver): []}
            for arrival in arrivals:
                assert arrival.callee.func is not None
                key = contexts.key(arrival.callee.func, arrival.values, arrival.has_receiver)
                groups.setdefault(key, []).append(arrival)
            if contexts.fits(len(groups)):
                break
        contexts.frames = {}
        exact: dict[Frame, int] = {}
        for frame in old:
            frame.dead = True
            mine = [arrival for arrival in arrivals if arrival.callee is frame]
            if _is_exact(frame, mine):
                exact[frame] = len(mine)
        held = [frame for frame in old if frame.uses and not frame.running]
        for key, group in groups.items():
            if group:
                self._merge(contexts, key, group, exact)
        for frame in old:
            if frame.dead and frame not in exact:
                for caller in frame.callers:
                    self.cells.enqueue(caller)
        for frame in held:
            if frame.dead:
                self.release(frame)
        for frame in old:
            if frame.dead:
                for step in frame.waiters:
                    step.dirty = True

    def _merge(self, contexts: Contexts, key: object, group: list[_Arrival], exact: dict[Frame, int]) -> None:
        """Sends the calls of one new context to one frame: to that of the first call, if it stands for no others."""
        shares = Counter(arrival.callee for arrival in group)
        heir = next((frame for frame, share in shares.items() if share == exact.get(frame)), None)
        if heir is None:
            first = group[0].callee
            assert first.func is not None
            heir = self.make_frame(first.code, first.module, first.func, key)
            heir.bound = group[0].has_receiver
            heir.rank = first.rank
        heir.dead = False
        heir.key = key
        contexts.frames[key] = heir
        heir.incoming = {(a.caller, a.pos): a.values for a in group if a.callee is heir}
        heir.grown = 0
        grown = heir.take([join_all(column) for column in zip(*(a.values for a in group), strict=True)])
        for arrival in group:
            if arrival.callee is not heir:
                self._redirect(arrival, heir)
        if grown or not heir.runs:
            self.cells.enqueue(heir)

    def _redirect(self, arrival: _Arrival, heir: Frame) -> None:
        """Lets a call that was analyzed go to another frame; its caller runs again if that gives something else."""
        caller, pos, callee = arrival.caller, arrival.pos, arrival.callee
        if arrival.has_receiver is not heir.bound:
            heir.mixed.add((caller, pos))
        assert callee.func is not None
        if caller.sites.get((pos, callee.func)) is callee:
            caller.sites[pos, callee.func] = heir
        known = heir.incoming.get((caller, pos))
        heir.incoming[caller, pos] = arrival.values if known is None else list(map(join, known, arrival.values))
        heir.explicit |= callee.explicit
        heir.callers[caller] = None
        waiting = {step: run for step, run in callee.waiters.items() if step.frame is caller}
        heir.waiters.update(waiting)
        for step in waiting:
            step.dirty = True  # it is to note the call of another frame
        counted = (pos, heir) in caller.calls or (pos, heir) in caller.earlier
        for calls in (caller.calls, caller.earlier):
            if (pos, callee) in calls:
                calls[pos, heir] = calls.pop((pos, callee))
                if not counted:
                    self._use(heir)
                    counted = True
        if (pos, callee) in caller.roots:
            del caller.roots[pos, callee]
            self.note_call(caller, pos, heir, How.ROOT)
        caller.rank = max(caller.rank, min(heir.rank + 1, MAX_RANK))
        same = callee.ret is heir.ret and callee.yields is heir.yields and not callee.running
        same = same and callee.handed == heir.handed
        if not same:
            self.cells.wake(waiting)

    def make_frame(self, code: Code, module: Mod, func: Func | None, key: object) -> Frame:
        """A new frame, with the closure cells of its function."""
        self.world.frame_count += 1
        made = Frame(self.world.frame_count, code, module, func, key)
        made.phase = self.cells.phase
        self.world.frames.append(made)
        if func is not None:
            for name in code.free:
                if name in func.cells:
                    made.cells[name] = func.cells[name]
        return made

    def bind_arguments(
        self, frame: Frame, pos: int, func: Func, args: list[Value], kwargs: Mapping[str, Value], rest: Value
    ) -> tuple[list[Value], int]:
        """The value of each parameter, and the bits of those that the call gives."""
        params = func.code.params
        if len(args) == len(params) and not kwargs and not rest and _takes_by_position(func.code):
            return args.copy(), (1 << len(args)) - 1
        values: list[Value] = []
        explicit = 0
        position = 0
        used: set[str] = set()
        extra = kwargs.get("**", BOTTOM)
        for i, param in enumerate(params):
            kind = param.kind
            if kind == "varargs":
                values.append(self._varargs(frame, func, args[position:], rest))
                explicit |= (1 << i) if position < len(args) or rest else 0
                position = len(args)
                continue
            if kind == "kwargs":
                values.append(self._kwargs(frame, func, kwargs, used, extra))
                continue
            if kind != "keyword" and position < len(args):
                value = args[position]
                position += 1
                explicit |= 1 << i
            elif kind != "positional" and param.name in kwargs:
                value = kwargs[param.name]
                used.add(param.name)
                explicit |= 1 << i
            elif param.has_default:
                value = func.defaults.get(param.name, NONE_V)
                for more in (rest if kind != "keyword" else BOTTOM, extra):
                    if more:
                        value = join(value, more)
                        explicit |= 1 << i
            else:
                value = join(rest if kind != "keyword" else BOTTOM, extra)
                explicit |= (1 << i) if value else 0
                value = value or unknown("an argument that no call passes").value
            values.append(value)
        return values, explicit

    def _varargs(self, frame: Frame, func: Func, extra: list[Value], rest: Value) -> Value:
        if rest:
            for value in extra:
                rest = join(rest, value)
            return stream("tuple", rest).value
        return tup(extra).value

    def _kwargs(self, frame: Frame, func: Func, kwargs: Mapping[str, Value], used: set[str], extra: Value) -> Value:
        made = self.cells.container(frame, func.code.position, "dict", "kwargs")
        for name, value in kwargs.items():
            if name not in used and name != "**":
                self.cells.write(frame, made.cell(name), value, func.code.position)
        if extra:
            self.cells.lose_exactness(made)
            self.cells.write(frame, made.rest_cell(), extra, func.code.position)
        return made.value


def _takes_by_position(code: Code) -> bool:
    """Whether every parameter takes one positional argument, as those of most functions do."""
    if code.plain is None:
        code.plain = all(param.by_place for param in code.params)
    return code.plain


def _arrivals(frame: Frame) -> list[_Arrival]:
    """The calls that still go to a frame."""
    return [
        _Arrival(caller, pos, frame, values)
        for (caller, pos), values in frame.incoming.items()
        if caller is not None
        and caller.uses
        and not caller.dead
        and ((pos, frame) in caller.calls or (pos, frame) in caller.earlier or (pos, frame) in caller.roots)
    ]


def _is_exact(frame: Frame, arrivals: list[_Arrival]) -> bool:
    """Whether what a frame was given all comes from its present calls."""
    for i, value in enumerate(frame.args):
        present = join_all([arrival.values[i] for arrival in arrivals])
        if join(present, value) != present:
            return False
    return bool(arrivals)
