"""State that holds tensors, and is made outside of any graph all the same: in `tf.init_scope`, of nothing symbolic."""

from __future__ import annotations

from hybridize.closure import closure
from hybridize.domain.objects import Tensor
from hybridize.facts.origins import definitions
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Instr
from hybridize.program.operands import operands

_DEPTH = 60  # slots that a value may be made of
_KNOWN = ("shape", "dtype")  # what Python knows of a tensor while it is traced


def lifted(frame: Frame, position: int, slots: list[int]) -> bool:
    """Whether code stands in `tf.init_scope`, and what is in some slots depends on no tensor that is an argument."""
    return in_init_scope(frame.code, position) and not _from_tensors(frame, slots)


def in_init_scope(code: Code, position: int) -> bool:
    """Whether code stands in `tf.init_scope`, which runs outside of the graph that is being traced."""
    known = definitions(code)
    return any(
        position >> 16 in exit.lines and _is_init_scope(known, exit.source) for exit in index_of(code).of(ir.Exit)
    )


def _is_init_scope(known: dict[int, Instr], slot: int) -> bool:
    made = known.get(slot)
    func = known.get(made.function) if isinstance(made, ir.Call) else None
    return isinstance(func, (ir.Attr, ir.Global)) and func.name == "init_scope"


def _from_tensors(frame: Frame, slots: list[int]) -> bool:
    """Whether a value is made of a tensor that arrives as an argument, as far as the function's own code says."""
    known = definitions(frame.code)
    arrives = {
        param.slot
        for param, value in zip(frame.code.params, frame.args, strict=True)
        if any(isinstance(o, Tensor) for o in value)
    }

    def made_of(slot: int) -> list[int]:
        made = known.get(slot)
        return [] if made is None or (isinstance(made, ir.Attr) and made.name in _KNOWN) else operands(made)

    return any(slot in arrives or i >= _DEPTH for i, slot in enumerate(closure(slots, made_of)))
