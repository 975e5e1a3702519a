"""What strategies of `tf.distribute` run: functions once for each replica, with the replica's part of the batch."""

from __future__ import annotations

from typing import Final

from hybridize.facts.origins import calls_at
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import Index, index_of
from hybridize.tracing.views import ProjectView

_STRATEGIES: Final = "tf.distribute."
_RUN: Final = (".run", ".experimental_run_v2")
_FAR: Final = 20


def is_run(project: ProjectView, caller: Frame, pos: int) -> bool:
    """Whether a call is that of a strategy's `run`."""
    return any(_runs(project, caller, call) for call in calls_at(caller.code, pos))


def _runs(project: ProjectView, frame: Frame, call: ir.Call) -> bool:
    names = project.names(frame.vals[call.function] or frozenset())
    return any(name.startswith(_STRATEGIES) and name.endswith(_RUN) for name in names)


def replicated(project: ProjectView, frame: Frame) -> frozenset[int]:
    """The slots of the parameters that a function hands to a strategy's `run`: they may hold a value per replica."""
    index = index_of(frame.code)
    if not any(name.lstrip(".") in index.attributes for name in _RUN):
        return frozenset()
    params = {param.slot for param in frame.code.params}
    found: set[int] = set()
    for call in index.of(ir.Call):
        if _runs(project, frame, call):
            given = [slot for slot, _ in call.arguments[1:]] + [slot for name, slot in call.keywords if name != "fn"]
            found |= _sources(index, given) & params
    return frozenset(found)


def _sources(index: Index, slots: list[int]) -> set[int]:
    """The slots that some are taken from: of displays the elements, of elements the whole."""
    todo, seen = list(slots), set[int]()
    while todo and len(seen) < _FAR:
        slot = index.original(todo.pop())
        made = index.definitions.get(slot)
        if slot in seen:
            continue
        seen.add(slot)
        if isinstance(made, (ir.Tuple, ir.List)):
            todo += [each for each, _ in made.elements]
        elif isinstance(made, (ir.Unpack, ir.Item)):
            todo.append(made.source)
    return seen
