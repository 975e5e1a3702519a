"""What a call finds of state that was there before it, and what it has written itself by the time it reads it.

A field that each call writes before it reads it carries nothing from one call to the next. Code is walked in its order,
callees where they are called; branches join, and a loop may turn not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from hybridize.domain.calls import REPEATED
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.ir import Block, Code, Instr
from hybridize.tracing.state.order import Sites

#: By frame and position in it the places (bits) that are read or written there.
Touched = Mapping[Frame, Mapping[int, int]]

_WRITERS: Final = (ir.Store, ir.Call)
_NOTHING: Final = (0, 0)
#: What is written where control does not get to: everything.
_NOWHERE: Final = -1


class Within:
    """The places that calls read before they write them."""

    def __init__(self, sites: Sites, reads: Touched, writes: Touched) -> None:
        self._sites = sites
        self._reads = reads
        self._writes = writes
        self._known: dict[Frame, tuple[int, int]] = {}

    def found_by(self, frames: Iterable[Frame]) -> int:
        """The places whose value from before the call some of the frames see."""
        found = 0
        for frame in frames:
            found |= self._frame(frame)[0]
        return found

    def _frame(self, frame: Frame) -> tuple[int, int]:
        """What a call reads of what was there before, and what it has written when it returns."""
        known = self._known.get(frame)
        if known is None:
            self._known[frame] = _NOTHING  # of a recursive call
            call = _Call(self, frame)
            call.returned.append(call.block(frame.code.body, 0))
            ends = [each for each in call.returned if each != _NOWHERE]
            known = self._known[frame] = call.read, _all(ends) if ends else 0
        return known

    def touched(self, frame: Frame, instr: Instr) -> tuple[int, int]:
        """What an instruction reads and writes, by what it calls too."""
        pos = instr.position
        read, written = self._reads.get(frame, _NO_PLACES).get(pos, 0), 0
        if isinstance(instr, ir.Call):
            # One method on some of several objects: each writes its own field, and what is read next is that one's.
            by_code: dict[Code, int] = {}
            for callee, how in self._sites.run_by(frame, instr, pos):
                does = self._frame(callee)
                read |= does[0]
                by_code[callee.code] = by_code.get(callee.code, 0) | (0 if how in REPEATED else does[1])
            written = _all(list(by_code.values())) if by_code else 0
        if isinstance(instr, _WRITERS):
            written |= self._writes.get(frame, _NO_PLACES).get(pos, 0)
        return read, written


class _Call:
    """A walk through one frame: `read` of what was there before, `returned` what is written wherever it returns."""

    def __init__(self, within: Within, frame: Frame) -> None:
        self.within = within
        self.frame = frame
        self.read = 0
        self.returned: list[int] = []

    def block(self, block: Block, written: int) -> int:
        """What is written after a block; everything where control does not get to its end."""
        for instr in block:
            made = instr.target
            if type(made) is int and made >= 0 and self.frame.vals[made] is None and not isinstance(instr, ir.Phi):
                return _NOWHERE  # control never gets there
            match instr:
                case ir.If():
                    written = self.block(instr.then, written) & self.block(instr.orelse, written)
                case ir.Loop():
                    written = self._loop(instr, written)
                case ir.Try():
                    written = self._try(instr, written)
                case ir.Return():
                    self.returned.append(written)
                    return _NOWHERE
                case ir.Raise() | ir.Jump():
                    return _NOWHERE
                case _:
                    read, more = self.within.touched(self.frame, instr)
                    self.read |= read & ~written
                    written |= more
        return written

    def _loop(self, loop: ir.Loop, written: int) -> int:
        written = self.block(loop.test, written)
        self.block(loop.body, written)
        self.block(loop.orelse, written)
        return written

    def _try(self, statement: ir.Try, written: int) -> int:
        done = self.block(statement.orelse, self.block(statement.body, written))
        for handler in statement.handlers:
            done &= self.block(handler.body, written)
        return done | self.block(statement.final, written)


_NO_PLACES: Final[Mapping[int, int]] = {}


def _all(masks: list[int]) -> int:
    found = masks[0]
    for mask in masks:
        found &= mask
    return found
