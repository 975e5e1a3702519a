"""What strategies of `tf.distribute` run: functions once for each replica, with the replica's part of the batch."""

from __future__ import annotations

from typing import Final

from hybridize.facts.functions.causes import argument_slot
from hybridize.facts.origins import calls_at
from hybridize.flow.frames import Frame
from hybridize.library.dialect import STRATEGIES
from hybridize.program import ir
from hybridize.program.index import Index, index_of
from hybridize.program.ir import Instr
from hybridize.program.operands import joined
from hybridize.tracing.views import ProjectView

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
    return any(name.startswith(STRATEGIES) and name.endswith(_RUN) for name in names)


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

    def taken_from(made: Instr) -> list[int]:
        if isinstance(made, ir.Sequence):
            return [each for each, _ in made.elements]
        return [made.source] if isinstance(made, (ir.Unpack, ir.Item)) else []

    return {slot for slot, _ in index.upstream(slots, taken_from, _FAR)}


def is_distributed(project: ProjectView, frame: Frame, slot: int, depth: int = _CALLS) -> bool:
    """Whether a slot holds what a strategy's dataset gives, or a part of it: with several replicas a value for each."""

    def names(call: ir.Call) -> tuple[str, ...]:
        return project.names(frame.vals[call.function] or frozenset())

    def whole(made: Instr) -> list[int]:
        if isinstance(made, ir.Part):
            return [made.source]
        if isinstance(made, ir.Call) and not _GOES.isdisjoint(names(made)):
            return [given for given, _ in made.arguments]
        return joined(made)

    for each, made in index_of(frame.code).upstream([slot], whole, _FAR):
        if made is None and depth and _is_passed_distributed(project, frame, each, depth):
            return True
        called = names(made) if isinstance(made, ir.Call) else ()
        if any(name.startswith(STRATEGIES) and name.endswith(_DISTRIBUTES) for name in called):
            return True
    return False


def _is_passed_distributed(project: ProjectView, frame: Frame, slot: int, depth: int) -> bool:
    """Whether a caller passes for a parameter what a strategy's dataset gives, or the dataset."""
    place = frame.code.place_of(slot)
    for caller, pos in frame.incoming if place >= 0 else ():
        if caller is not None and caller is not frame:
            bound = frame.code.in_class
            given = argument_slot(caller, pos, place, frame.code.params[place].name, bound=bound)
            if given >= 0 and is_distributed(project, caller, given, depth - 1):
                return True
    return False
