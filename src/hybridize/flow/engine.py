"""The engine: a worklist fixpoint of frames over the whole program."""

from __future__ import annotations

import ast
import heapq
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from hybridize.domain.lattice import join, widen
from hybridize.domain.objects import Value, unknown
from hybridize.flow.attributes import Attributes
from hybridize.flow.calls import Calls
from hybridize.flow.cells import Cells
from hybridize.flow.construction import Construction
from hybridize.flow.definitions import Definitions
from hybridize.flow.frames import PATIENCE, ExhaustedError, Frame, Step
from hybridize.flow.functions import FunctionCalls
from hybridize.flow.handed import NOT_HANDED, handed
from hybridize.flow.heap import HeapAccess
from hybridize.flow.imports import Imports
from hybridize.flow.library_calls import LibraryCalls
from hybridize.flow.notes import Notes
from hybridize.flow.protocols import Protocols
from hybridize.flow.truth import MAYBE, NEVER, truth
from hybridize.flow.world import World
from hybridize.library.protocols import TRUTH, ask
from hybridize.program.ir import Block, Instr

#: A frame is run at most so often; the lattice is finite, but high.
MAX_RUNS = 1000
#: Who waits is told each time that so many frames were run.
_TICK = 200

#: What an operation does in an execution; false where control does not reach its end.
Handler: TypeAlias = "Callable[[Engine, Frame, list[Any], Any], bool | None]"


class Engine:
    """Interprets a program abstractly until nothing changes."""

    def __init__(self, world: World, handlers: Mapping[type[Instr], Handler]) -> None:
        self.world = world
        self.handlers = handlers
        self.cells = cells = Cells(world)
        self.library = LibraryCalls(self, cells)
        self.attributes = Attributes(self, cells, self.library)
        self.heap = HeapAccess(self, cells, self.library, self.attributes)
        self.functions = FunctionCalls(self, cells)
        self.imports = Imports(self, cells, self.heap, self.functions)
        self.protocols = Protocols(self, cells, self.attributes)
        self.construction = Construction(self, cells, self.library, self.attributes)
        self.calls = Calls(
            self,
            cells,
            self.library,
            self.attributes,
            self.functions,
            self.imports,
            self.protocols,
            self.construction,
        )
        self.definitions = Definitions(self, cells, self.attributes, self.functions)
        self.notes = Notes(cells)
        #: What an annotation in a frame says of a value; None where type hints are not followed.
        self.hinted: Callable[[ast.expr, Frame], Value] | None = None
        #: Told now and then how many frames were run.
        self.tick: Callable[[int], None] | None = None
        self._runs = 0

    def execute(self, frame: Frame, block: Block) -> bool:
        """Executes a block; false where control does not reach its end."""
        vals = frame.vals
        table = self.handlers
        cells = self.cells
        cells.work += len(block)
        if cells.work > cells.limit:
            raise ExhaustedError
        for instr in block:
            if table[type(instr)](self, frame, vals, instr) is False:
                return False
        return True

    def condition(self, frame: Frame, value: Value | None, pos: int) -> tuple[bool, bool]:
        """Whether a condition may hold, and whether it may not. A value that is not there yet decides nothing."""
        if not value:
            frame.stuck = True
            return MAYBE if frame.lenient else NEVER
        ask(self, frame, value, TRUTH, pos)
        return truth(self, frame, value)

    def solve(self) -> None:
        """Runs queued frames, callees before callers, until none is left; then those that wait for
        a value that never comes go on with an unknown one."""
        while True:
            while self.cells.queue:
                _, _, frame = heapq.heappop(self.cells.queue)
                frame.queued = False
                if not frame.uses:
                    frame.stale = True
                elif not frame.dead and not frame.running:
                    self.run(frame)
            stuck = [f for f in self.world.frames if f.stuck and not f.lenient and not f.dead and f.uses]
            if not stuck:
                return
            for frame in stuck:
                self._relax(frame)
            for frame in self.world.frames:
                # A caller of a function that never returns must not wait for it either.
                if not frame.dead and frame.uses and not frame.ret and not frame.code.is_generator and frame.runs:
                    for caller in frame.callers:
                        if not caller.lenient:
                            self._relax(caller)

    def _relax(self, frame: Frame) -> None:
        """Lets a frame go on with unknown values where it waits for some that never come."""
        frame.lenient = True
        frame.steps.clear()
        self.cells.enqueue(frame)

    def run(self, frame: Frame, waiting: Step | None = None) -> None:
        """Executes a frame with its present arguments; `waiting` is who goes on with what it gives now."""
        contexts = self.world.contexts(frame.code)
        if frame.exhausted:
            return
        self._runs += 1
        if self.tick is not None and not self._runs % _TICK:
            self.tick(self._runs)
        frame.running = True
        frame.runs += 1
        frame.stuck = False
        frame.ended = False
        frame.looping = False
        frame.stale = False
        frame.around, frame.doubts = (), 0
        frame.filled.clear()
        before = (frame.ret, frame.yields, frame.handed)
        frame.earlier, frame.calls = frame.calls, {}
        frame.effects.clear()
        frame.ops.clear()
        frame.log.clear()
        base = frame.step = frame.base
        base.runs = base.seen = frame.runs
        for param, value in zip(frame.code.params, frame.args, strict=True):
            frame.vals[param.slot] = value
        self.cells.depth += 1
        outer = self.cells.work, self.cells.limit
        start = self.cells.work = contexts.spent
        self.cells.limit = contexts.allowance
        try:
            if frame.runs > MAX_RUNS or contexts.exhausted:
                raise ExhaustedError
            self.execute(frame, frame.code.body)
        except ExhaustedError:
            self._give_up(frame)
        finally:
            contexts.spent += self.cells.work - start
            self.cells.work, self.cells.limit = outer
            self.cells.depth -= 1
            frame.running = False
            self.functions.settle_calls(frame)
        if contexts.returned:
            frame.handed = handed(frame, contexts.returned) if not frame.exhausted else NOT_HANDED
        if frame.ret != before[0] or frame.yields != before[1] or frame.handed != before[2]:
            if waiting is not None:
                del frame.waiters[waiting]
            self.cells.wake(frame.waiters)
            if waiting is not None:
                frame.waiters[waiting] = waiting.runs
            if frame.code.is_generator:
                self.cells.wake(self.world.finished(frame.code).readers)

    def _give_up(self, frame: Frame) -> None:
        """Follows a frame no longer: what it has done so far stands, and what else it does and gives is unknown."""
        frame.exhausted = True
        frame.effect("unfollowed", None, frame.code.name, frame.code.position)
        result = unknown(f"the result of `{frame.code.name}`, which is more than the analysis follows").value
        self.returned(frame, result)
        if frame.code.is_generator:
            self.yielded(frame, result)

    def returned(self, frame: Frame, value: Value) -> None:
        """Adds to what a frame returns."""
        old = frame.ret
        frame.ret = widen(old, value) if frame.runs > PATIENCE else join(old, value)

    def yielded(self, frame: Frame, value: Value) -> None:
        """Adds to what a generator yields."""
        old = frame.yields
        frame.yields = widen(old, value) if frame.runs > PATIENCE else join(old, value)
