"""Shapes that a function gets as a tensor (`tf.shape(x)`) and makes a result of: its graph does not know their dims.

Measured with TensorFlow 2.15 and 2.21: in a graph or a functional model, `tf.broadcast_to(y, tf.shape(x))` has the dims
that are known of `x`. As the argument of a function that is a graph of its own, the shape has no value: the
result has no known dim, and what asks for one (a layer that is built, a test) finds None. Single dims that are known
(`tf.shape(x)[1]`) are constants, which pass; eager code knows all dims either way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from hybridize.closure import closure
from hybridize.domain.calls import DIRECT
from hybridize.domain.objects import Tensor, Value
from hybridize.facts.model import Evidence
from hybridize.facts.origins import called_at, calls_to, passed_slots
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.program.operands import operands
from hybridize.tracing.shapes.sized import SIZED
from hybridize.tracing.views import FrameView, ProjectView

_SHAPES: Final = frozenset({"tf.shape", "tf.RaggedTensor.bounding_shape", "tensor.ragged.bounding_shape"})
#: What makes shapes of shapes: TensorFlow follows the known dims through them.
_JOINS: Final = frozenset({"tf.concat", "tf.stack", "tf.cast", "tf.identity"})
_TAKES: Final = SIZED | {"tf.reshape", "tf.range", "tf.tile", "tf.repeat"}
_MOST: Final = 40
_CALLS: Final = 2


def shape_from_outside(project: ProjectView, frames: Iterable[Frame]) -> Evidence | None:
    """A call that passes the shape of a tensor to a function that makes a result of that shape; None for none."""
    for frame in frames:
        for index, value in enumerate(frame.args):
            if not _is_vector(value) or not _sizes(project, frame, index, _CALLS):
                continue
            for caller, position in sorted(calls_to(frame, DIRECT), key=lambda site: (site[0].code.path, site[1])):
                slots = passed_slots(caller, position, frame, index) or ()
                if caller.code.kind != "module" and any(_is_of_shape(project, caller, slot) for slot in slots):
                    name = frame.code.params[index].name
                    said = f"gets a shape as a tensor, `{name}`, of which its graph would not know a dim"
                    return Evidence(said, caller.code.path, position >> 16)
    return None


def _is_vector(value: Value) -> bool:
    """Whether a value may be a list of whole numbers that is a tensor."""
    return any(
        isinstance(o, Tensor) and (o.dtype or "int32").startswith("int") and (o.shape is None or len(o.shape) == 1)
        for o in value
    )


def _is_of_shape(project: ProjectView, frame: Frame, slot: int) -> bool:
    """Whether a value is the shape of a tensor, or put together of such."""
    view = FrameView(project, frame)

    def made_of(instr: Instr) -> Iterable[int]:
        joins = not isinstance(instr, ir.Call) or not _JOINS.isdisjoint(view.names(instr.function))
        return operands(instr) if joins and isinstance(instr, (ir.Call, ir.Item, ir.Sequence, ir.Phi)) else ()

    return any(
        isinstance(made, ir.Call) and not _SHAPES.isdisjoint(view.names(made.function))
        for _, made in index_of(frame.code).upstream([slot], made_of, _MOST)
    )


def _sizes(project: ProjectView, frame: Frame, index: int, calls: int) -> bool:
    """Whether a parameter, or an element of it, says how large a result is."""
    view, known = FrameView(project, frame), index_of(frame.code)
    found: list[Instr] = []

    def follow(slot: int) -> Iterator[int]:
        for use in known.uses.get(slot, ()):
            names = view.names(use.function) if isinstance(use, ir.Call) else ()
            if isinstance(use, ir.Call) and _JOINS.isdisjoint(names):
                found.extend([use] if not _TAKES.isdisjoint(names) or _passes(project, frame, use, slot, calls) else [])
            elif use.target >= 0:
                yield use.target

    list(closure([frame.code.params[index].slot], follow, _MOST))
    return bool(found)


def _passes(project: ProjectView, frame: Frame, call: ir.Call, slot: int, calls: int) -> bool:
    """Whether a function that gets the value does so."""
    return any(
        slot in (passed_slots(frame, call.position, callee, index) or ()) and _sizes(project, callee, index, calls - 1)
        for callee in (called_at(frame, call.position, DIRECT) if calls else ())
        for index in range(len(callee.code.params))
    )
