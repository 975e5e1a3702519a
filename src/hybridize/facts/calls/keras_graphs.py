"""What Keras runs in graphs of its own: the layers and losses of its loops, and what is called on symbolic tensors.

A functional model keeps the layers that were called on symbolic tensors: whoever calls the model calls these.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import Bound, Inst, LibInst, Obj, Tensor
from hybridize.domain.tensors import SYMBOLIC
from hybridize.facts.calls.operations import symbolic
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution
from hybridize.library.keras.running import STEP_OF
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.operands import arguments

#: Runs a model in a graph whatever `compile` was told; the methods of `STEP_OF` do unless it was told otherwise.
_BUILD: Final = "build"
#: What the field of a model is called that says that its steps run eagerly, and that of what it computes.
_EAGER: Final = "$run_eagerly"
_OUTPUTS: Final = "$outputs"


def is_run_by_graph(frame: Frame, pos: int) -> bool:
    """Whether the call at a place has Keras run its model in a graph."""
    return any(_runs_graph(obj) for instr in _calls(frame, pos) for obj in frame.vals[instr.function] or ())


def library_loops(frame: Frame) -> Iterator[tuple[int, str]]:
    """The places of a function that have Keras loop over data with a model, in graphs or not, each with the method."""
    for pos, calls in index_of(frame.code).calls.items():
        objs = [obj for instr in calls for obj in frame.vals[instr.function] or ()]
        names = {obj.func.rpartition(":")[2] for obj in objs if isinstance(obj, Bound) and isinstance(obj.func, str)}
        yield from ((pos, method) for method in sorted(names & STEP_OF.keys()))


def is_on_symbolic(frame: Frame, pos: int) -> bool:
    """Whether the call at a place gets or gives symbolic tensors: Keras notes what it does, for a functional model."""
    return any(symbolic(frame, instr) or _gets_symbolic(frame, instr) for instr in _calls(frame, pos))


def functional_calls(solution: Solution, frame: Frame) -> Iterator[tuple[int, Frame]]:
    """The frames of layers that the calls of functional models in a function run, with the places of these calls."""
    for pos in frame.ops:
        for instr in _calls(frame, pos):
            for obj in frame.vals[instr.function] or ():
                if isinstance(obj, LibInst) and _OUTPUTS in obj.fields and not symbolic(frame, instr):
                    for layer in dict.fromkeys(_layers(solution, obj)):
                        yield pos, layer


def _layers(solution: Solution, model: LibInst) -> Iterator[Frame]:
    """What the function that made a functional model called on symbolic tensors, models inside of it included."""
    todo, seen = _builders(solution, model), set[Frame]()
    while todo:
        frame = todo.pop()
        if frame in seen:
            continue
        seen.add(frame)  # functions that build parts of models call each other in many ways
        for (pos, callee), how in frame.calls.items():
            if how in (How.KERAS, How.CALL) and is_on_symbolic(frame, pos):
                if how is How.KERAS:
                    yield callee
                else:
                    todo.append(callee)
        for pos in frame.ops:
            for instr in _calls(frame, pos):
                for obj in frame.vals[instr.function] or ():
                    if isinstance(obj, LibInst) and _OUTPUTS in obj.fields and symbolic(frame, instr):
                        todo += _builders(solution, obj)


def _builders(solution: Solution, model: LibInst) -> list[Frame]:
    """The frame that made a model."""
    return [builder for builder in solution.frames.get(model.site[0], ()) if builder.uid == model.frame]


def _calls(frame: Frame, pos: int) -> tuple[ir.Call, ...]:
    return index_of(frame.code).calls.get(pos, ())


def _runs_graph(obj: Obj) -> bool:
    if not isinstance(obj, Bound) or not isinstance(obj.func, str):
        return False
    name = obj.func.rpartition(":")[2]
    return name == _BUILD or (name in STEP_OF and not _is_eager(obj.receiver))


def _is_eager(model: Obj) -> bool:
    """Whether `compile` may have been told to run a model's steps eagerly."""
    cell = model.fields.get(_EAGER) if isinstance(model, (Inst, LibInst)) else None
    return cell is not None and any(getattr(obj, "const", True) is not False for obj in cell.value)


def _gets_symbolic(frame: Frame, instr: ir.Call) -> bool:
    given = arguments(instr)
    return any(isinstance(o, Tensor) and o.kind == SYMBOLIC for slot in given for o in frame.vals[slot] or ())
