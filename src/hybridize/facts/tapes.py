"""The tapes of a function: which of its places they record."""

from __future__ import annotations

from hybridize.domain.objects import LibInst, Value
from hybridize.flow.frames import Frame
from hybridize.library import costs
from hybridize.program import ir
from hybridize.program.index import Index, index_of


def managers(frame: Frame, index: Index, left: ir.Exit) -> Value:
    """What a `with` statement enters."""
    return frame.vals[index.original(left.source)] or frozenset()


def is_tape(frame: Frame, index: Index, left: ir.Exit) -> bool:
    """Whether a `with` statement records operations to take derivatives of them."""
    return any(isinstance(o, LibInst) and costs.records(o.cls) for o in managers(frame, index, left))


def around(frame: Frame, pos: int) -> list[ir.Exit]:
    """Where the tapes end that record a place of a function."""
    index = index_of(frame.code)
    return [instr for instr in index.of(ir.Exit) if pos >> 16 in instr.lines and is_tape(frame, index, instr)]


def recording(frame: Frame, pos: int) -> int:
    """How many tapes of a function record one of its places."""
    return len(around(frame, pos))
