"""What strategies of `tf.distribute` run: functions once for each replica, with the replica's part of the batch."""

from __future__ import annotations

from typing import Final

from hybridize.facts.causes import argument_slot
from hybridize.facts.origins import calls_at
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import Index, index_of
from hybridize.tracing.views import ProjectView

_STRATEGIES: Final = "tf.distribute."
_RUN: Final = (".run", ".experimental_run_v2")
_DISTRIBUTES: Final = ("distribute_dataset", "distribute_datasets_from_function")
#: Those of which a replica waits for the others where gradients are applied, which no graph inside of theirs does.
SEVERAL: Final = frozenset(
    f"tf.distribute.{name}"
    for name in "MirroredStrategy MultiWorkerMirroredStrategy experimental.CentralStorageStrategy "
    "experimental.MultiWorkerMirroredStrategy".split()
)
_FAR: Final = 20
_CALLS: Final = 3
#: Built-in functions that hand on what they are given to go through.
_GOES: Final = frozenset(f"builtins.{name}" for name in "enumerate iter next zip".split())


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


def is_distributed(project: ProjectView, frame: Frame, slot: int, depth: int = _CALLS) -> bool:
    """Whether a slot holds what a strategy's dataset gives, or a part of it: with several replicas a value for each."""
    index = index_of(frame.code)
    todo, seen = [slot], set[int]()
    while todo and len(seen) < _FAR:
        slot = index.original(todo.pop())
        made = index.definitions.get(slot)
        if slot in seen:
            continue
        seen.add(slot)
        if made is None:
            if depth and _is_passed_distributed(project, frame, slot, depth):
                return True
        elif isinstance(made, (ir.Item, ir.Iter, ir.Unpack)):
            todo.append(made.source)
        elif isinstance(made, ir.Phi):
            todo += [source for _, source in made.incoming]
        elif isinstance(made, ir.Call):
            names = project.names(frame.vals[made.function] or frozenset())
            if any(name.startswith(_STRATEGIES) and name.endswith(_DISTRIBUTES) for name in names):
                return True
            todo += [given for given, _ in made.arguments] if not _GOES.isdisjoint(names) else []
    return False


def _is_passed_distributed(project: ProjectView, frame: Frame, slot: int, depth: int) -> bool:
    """Whether a caller passes for a parameter what a strategy's dataset gives, or the dataset."""
    place = next((i for i, p in enumerate(frame.code.params) if p.slot == slot), -1)
    for caller, pos in frame.incoming if place >= 0 else ():
        if caller is not None and caller is not frame:
            bound = frame.code.parent is not None and frame.code.parent.kind == "class"
            given = argument_slot(caller, pos, place, frame.code.params[place].name, bound=bound)
            if given >= 0 and is_distributed(project, caller, given, depth - 1):
                return True
    return False
