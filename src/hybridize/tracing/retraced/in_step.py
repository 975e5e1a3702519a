"""Arguments whose sizes keep step with a write: with each new value comes another size, and so another trace.

`size *= 2` at the end of each stage, and images that are made that large for the next one: the graph of a size has seen
the value that belongs to it.
"""

from __future__ import annotations

from collections.abc import Iterable

from hybridize.domain.objects import Lit, Prim, Value
from hybridize.flow.frames import Frame
from hybridize.library.dialect import OF_SHAPES
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.program.operands import arguments, operands
from hybridize.tracing.hybridized import option
from hybridize.tracing.shapes.sizes import is_open, shapes_of
from hybridize.tracing.state.writes import Place, writes_of
from hybridize.tracing.views import FunctionView, ProjectView


def keeps_step(function: FunctionView, frame: Frame, place: Place, write: int, call: int) -> bool:
    """Whether a loop that writes a place at some position passes, at another, tensors of another size after each write.

    What the call gets is made of a number that the same loop changes, and is seen to come in several sizes.
    """
    loops = index_of(frame.code).loops.get(write)
    if any(option(function, name) for name in (*OF_SHAPES, "input_signature")):
        return False  # one graph may serve all sizes
    if not loops or loops[-1] not in index_of(frame.code).loops.get(call, ()):
        return False
    given = [slot for each in index_of(frame.code).calls.get(call, ()) for slot in arguments(each) if slot >= 0]
    moved = [slot for slot in given if _moves(function.project, frame, place, loops[-1], slot)]
    return bool(moved) and _is_of_sizes(function)


def _is_of_sizes(function: FunctionView) -> bool:
    """Whether calls pass tensors of several sizes for some parameter."""
    for i in range(len(function.code.params)):
        value: Value = frozenset(o for frame in function.frames for o in frame.args[i])
        shapes = shapes_of(value)
        if len(shapes) > 1 or (None not in shapes and is_open(value)):
            return True
    return False


def _moves(project: ProjectView, frame: Frame, place: Place, loop: int, slot: int) -> bool:
    """Whether what is in a slot is made of a number that each turn of a loop changes, be it the one that is written."""
    index = index_of(frame.code)
    known = writes_of(project)
    heads = {id(phi) for phi in index.of(ir.Loop)[loop].phis}

    def changes(made: Instr) -> bool:
        if isinstance(made, ir.Load) and any(cell is place for cell, _ in known.late_cells(frame, made)):
            return True
        turns = id(made) in heads or (isinstance(made, ir.Iter) and index.loops.get(made.position, ())[-1:] == (loop,))
        return turns and _are_numbers(frame.vals[made.target] or ())

    return any(made is not None and changes(made) for _, made in index.upstream([slot], operands))


def _are_numbers(value: Iterable[object]) -> bool:
    found = list(value)
    return bool(found) and all(isinstance(o, (Lit, Prim)) for o in found)
