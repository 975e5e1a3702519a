"""Shapes as arguments: a `TensorShape` is kept by weak reference, so that each new one is traced anew.

Measured with TensorFlow 2.15 and 2.21: six calls with `f(x.shape[:2])`, `f(tf.TensorShape([2]))` or `f((x.shape,))` of
new tensors are six traces, though the shapes are equal; with `tuple(x.shape)`, `list(x.shape)`, `x.shape.as_list()` and
`x.shape[0]` it is one. A tensor keeps its own shape, and so it is the same object as long as the tensor is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import DIRECT, How
from hybridize.domain.objects import Stream, Tup
from hybridize.facts.origins import call_at
from hybridize.flow.frames import Frame
from hybridize.library.convert import SHAPE_KIND
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.operands import arguments
from hybridize.tracing.views import FunctionView

_CALLS: Final = DIRECT | {How.KERAS}


def given_shapes(function: FunctionView) -> Iterator[tuple[Frame, int]]:
    """The calls of a function by eager code that make a shape and pass it, alone or in a display: caller, position."""
    hybrids = function.project.solution.world.hybrids
    for caller, pos, _ in function.called_by(_CALLS):
        call = call_at(caller.code, pos) if caller.code not in hybrids else None
        if call is not None and any(is_new_shape(caller, slot, pos) for slot in arguments(call)):
            yield caller, pos


def is_new_shape(frame: Frame, slot: int, pos: int) -> bool:
    """Whether what a call at a position is given is, or displays, a shape that is another object at each call."""
    index = index_of(frame.code)
    made = index.source(slot)
    if made is None:
        return False
    if isinstance(made, ir.Sequence):
        return any(is_new_shape(frame, part, pos) for part, _ in made.elements)
    if not _is_shape(frame, slot) or (pos in index.looped and made.position not in index.looped):
        return False
    if isinstance(made, ir.Attr):
        return made.name == "shape" and _is_new_tensor(frame, made, pos)
    return isinstance(made, (ir.Operator, ir.Call, ir.Item))


def _is_shape(frame: Frame, slot: int) -> bool:
    value = frame.vals[slot] or ()
    return bool(value) and all(isinstance(o, (Tup, Stream)) and o.kind == SHAPE_KIND for o in value)


def _is_new_tensor(frame: Frame, read: ir.Attr, pos: int) -> bool:
    """Whether the shape that is read is that of a tensor that is made as often as the call runs."""
    index = index_of(frame.code)
    made = index.source(read.owner)
    if made is None or isinstance(made, ir.Load):
        return False
    return pos not in index.looped or made.position in index.looped
