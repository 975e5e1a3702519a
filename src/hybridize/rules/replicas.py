"""What strategies of `tf.distribute` run: functions once for each replica, with the replica's part of the batch."""

from __future__ import annotations

from typing import Final

from hybridize.facts.origins import calls_at
from hybridize.flow.frames import Frame
from hybridize.program.index import Index, index_of
from hybridize.program.ir import Instr, Op
from hybridize.rules.views import ProjectView

_STRATEGIES: Final = "tf.distribute."
_RUN: Final = (".run", ".experimental_run_v2")
_FAR: Final = 20


def is_run(project: ProjectView, caller: Frame, pos: int) -> bool:
    """Whether a call is that of a strategy's `run`."""
    return any(_runs(project, caller, call) for call in calls_at(caller.code, pos))


def _runs(project: ProjectView, frame: Frame, call: Instr) -> bool:
    names = project.names(frame.vals[call[2]] or frozenset())
    return any(name.startswith(_STRATEGIES) and name.endswith(_RUN) for name in names)


def replicated(project: ProjectView, frame: Frame) -> frozenset[int]:
    """The slots of the parameters that a function hands to a strategy's `run`: they may hold a value per replica."""
    index = index_of(frame.code)
    if not any(name.lstrip(".") in index.attributes for name in _RUN):
        return frozenset()
    params = {param.slot for param in frame.code.params}
    found: set[int] = set()
    for call in index.of(Op.CALL):
        if _runs(project, frame, call):
            given = [slot for slot, _ in call[3][1:]] + [slot for name, slot in call[4] if name != "fn"]
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
        if made is not None and made[0] in (Op.TUPLE, Op.LIST):
            todo += [each for each, _ in made[2]]
        elif made is not None and made[0] in (Op.UNPACK, Op.ITEM):
            todo.append(made[2])
    return seen
