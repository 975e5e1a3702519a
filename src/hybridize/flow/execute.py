"""The transfer functions of the instructions: one function per operation, found in one table."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Value
from hybridize.flow.calls import Calls
from hybridize.flow.frames import ExhaustedError, Frame
from hybridize.flow.steps import Handler
from hybridize.flow.transfer import control, names, values
from hybridize.flow.truth import MAYBE, NEVER, truth
from hybridize.library.protocols import TRUTH, ask
from hybridize.program.ir import Block, Instr


class Executor(Calls):
    """The part of the engine that executes code."""

    def execute(self, frame: Frame, block: Block) -> bool:
        """Executes a block; false where control does not reach its end."""
        vals = frame.vals
        table = HANDLERS
        self.work += len(block)
        if self.work > self.limit:
            raise ExhaustedError
        for instr in block:
            if table[type(instr)](self, frame, vals, instr) is False:  # type: ignore[arg-type]  # Engine is the only executor
                return False
        return True

    def condition(self, frame: Frame, value: Value | None, pos: int) -> tuple[bool, bool]:
        """Whether a condition may hold, and whether it may not. A value that is not there yet decides nothing."""
        if not value:
            frame.stuck = True
            return MAYBE if frame.lenient else NEVER
        ask(self, frame, value, TRUTH, pos)
        return truth(self, frame, value)


HANDLERS: Final[dict[type[Instr], Handler]] = {**names.STEPS, **values.STEPS, **control.STEPS}
