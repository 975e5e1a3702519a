"""The layers of a `Sequential` that grows by `add`: in order where they are added by the function that makes the model,
outside of loops or in loops that are followed turn by turn; else which layers there are, but not how often or in what
order."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from hybridize.domain.objects import Container, Value
from hybridize.library.spec import Call
from hybridize.program.index import index_of

#: Where `Container.order` has the places of layers that are only added on some ways through the function.
_DOUBTFUL: Final = "doubtful"
#: Where it has what was around the making of the model: branches that may not be taken, turns of loops.
_BORN: Final = "born"


def begin(call: Call) -> Container:
    """The layers of a model that is made: none so far."""
    made = call.new("list", "layers")
    made.order.setdefault(_BORN, (call.frame.doubts, len(call.frame.turn)))
    return made


def doubtful(group: Container) -> Collection[int]:
    """The places of layers that may be missing."""
    found: frozenset[int] = group.order.get(_DOUBTFUL, frozenset())
    return found


def add_layer(call: Call, group: Container, layer: Value) -> None:
    """Adds a layer to those that a model has."""
    engine, frame = call.engine, call.frame
    frame.volatile = True  # where it goes rests on what this run has added
    doubts, turns = group.order.get(_BORN, (0, 0))
    place = _place(call, group, turns)
    if place is None:
        engine.cells.lose_exactness(group)
        engine.cells.write(frame, group.rest_cell(), layer, call.pos)
        return
    if frame.doubts > doubts and place not in doubtful(group):
        group.order[_DOUBTFUL] = frozenset((*doubtful(group), place))
        engine.cells.wake(group.reshaped)
    engine.cells.write(frame, group.cell(place), layer, call.pos)


def _place(call: Call, group: Container, turns: int) -> int | None:
    """Where the layer of this call comes, in this turn of the loops around; None where that is not known."""
    frame = call.frame
    if not group.exact or group.frame != frame.uid:
        return None
    loops = index_of(frame.code).loops
    before, around = loops.get(group.site[1], ()), loops.get(call.pos, ())
    if around[: len(before)] != before or len(around) - len(before) != len(frame.turn) - turns:
        return None  # a loop between that is not followed
    key = (call.pos, frame.turn)
    place: int | None = group.order.get(key)
    run, last = group.order.get(None, (frame.runs, len(group.fields) - 1))
    if place is None:
        if (run, last) != (frame.runs, len(group.fields) - 1):
            return None  # it comes between others
        place = group.order[key] = len(group.fields)
        call.engine.cells.wake(group.reshaped)
    group.order[None] = frame.runs, place
    return place
