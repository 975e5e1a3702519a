"""State that callbacks change while training goes on: Keras makes one graph of a model's step, nobody decorates it.

Measured with TensorFlow 2.15 (Keras 2) and 2.21 (Keras 3): a number in a field of the model that `on_epoch_begin` or
`on_train_batch_end` sets anew stays in `fit` what it was at the first step; with `run_eagerly=True` it does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import Cell, Inst, Lit
from hybridize.facts.calls.keras_graphs import is_run_by_graph
from hybridize.facts.origins import called_at
from hybridize.facts.state.guards import stored
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.records import dataclass
from hybridize.tracing.failing.behind import is_dead
from hybridize.tracing.hits import Hit
from hybridize.tracing.running.switches import switches
from hybridize.tracing.state.reads import scan
from hybridize.tracing.state.writes import Place, writes_of
from hybridize.tracing.views import FrameView, ProjectView

#: What Keras calls between two steps, again and again; `epoch`: only where there is a second one.
_BETWEEN_STEPS: Final = frozenset({"on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end"})
_BETWEEN_EPOCHS: Final = frozenset({"on_epoch_begin", "on_epoch_end"})
#: Steps of `fit` that are no training: they have graphs of their own.
_OTHERS: Final = frozenset({"test_step", "predict_step"})
_IN_GRAPHS: Final = frozenset({How.KERAS, How.GRAPH})
#: What lets Keras make the graph of a step anew.
_MAKES_ANEW: Final = frozenset({"compile", "make_train_function", "train_function"})


@dataclass(frozen=True, slots=True)
class Changed:
    """A read in a step that Keras runs as a graph, of what a callback writes: the read, who writes, and who trains."""

    read: Hit
    path: str
    writer: Frame
    written: int
    trainer: Frame
    trained: int


def changed_by_callbacks(project: ProjectView) -> Iterator[Changed]:
    """The reads of fields and variables in steps of `fit` that its callbacks change between two steps."""
    if switches(project)[0]:
        return  # the program may run the steps eagerly
    for code, frames in project.solution.frames.items():
        if project.roles.is_test(code.path) or "fit" not in index_of(code).attributes:
            continue
        for trainer in frames:
            for pos in sorted({pos for pos, _ in trainer.calls}) if not trainer.gone else ():
                hooks = called_at(trainer, pos, (How.CALLBACK,))
                if hooks and is_run_by_graph(trainer, pos) and not is_dead(project, trainer, pos):
                    yield from _changed(project, trainer, pos, [f for f in hooks if _runs_again(trainer, pos, f)])


def _runs_again(trainer: Frame, pos: int, hook: Frame) -> bool:
    """Whether Keras calls a method of a callback after the first step, and a step after that."""
    if hook.code.name in _BETWEEN_STEPS:
        return True
    calls = index_of(trainer.code).calls.get(pos, ())
    epochs = [trainer.vals[slot] or () for call in calls for name, slot in call.keywords if name == "epochs"]
    several = any(not isinstance(o, Lit) or o.const != 1 for value in epochs for o in value)
    return hook.code.name in _BETWEEN_EPOCHS and several


def _changed(project: ProjectView, trainer: Frame, pos: int, hooks: list[Frame]) -> Iterator[Changed]:
    extents, known = project.extents, writes_of(project)
    outside = extents.of_all(hooks)
    if any(_makes_anew(frame) for frame in extents.frames(outside)):
        return
    steps = [frame for frame in called_at(trainer, pos, _IN_GRAPHS) if frame.code.name not in _OTHERS]
    inside = extents.without_bodies(extents.of_all(steps))
    told: set[Place] = set()
    for frame in sorted(extents.frames(inside & ~outside), key=lambda each: each.uid):
        if frame.code in project.solution.world.hybrids:
            continue  # told of as such
        for read in scan(FrameView(project, frame)):
            place = read.subject
            if (
                not isinstance(place, Cell)
                or place in told
                or not isinstance(known.owners.get(place), (Inst, type(None)))
            ):
                continue
            writers = known.at(place)
            if any(extents.has(inside, writer) for writer, _ in writers):
                continue  # the step writes it itself
            for writer, at in writers:
                if extents.has(outside, writer) and _differs(writer, at):
                    told.add(place)
                    yield Changed(read, frame.code.path, writer, at, trainer, pos)
                    break


def _makes_anew(frame: Frame) -> bool:
    index = index_of(frame.code)
    return not _MAKES_ANEW.isdisjoint(index.attributes) or any(i.name in _MAKES_ANEW for i in index.of(ir.SetAttr))


def _differs(writer: Frame, position: int) -> bool:
    """Whether what is written is another value than before: no constant, but for one that a condition brings."""
    values = [writer.vals[slot] or () for slot in stored(writer, position)]
    if not values or not all(values):
        return False
    if all(isinstance(o, Lit) and not o.varies for value in values for o in value):
        return any(
            each.position == position
            for branch in index_of(writer.code).of(ir.If)
            for each in instructions((*branch.then, *branch.orelse))
        )
    return True
