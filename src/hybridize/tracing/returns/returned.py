"""Objects as results of which a graph gives another thing back: distributions and bijectors, a `defaultdict`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import Container, Inst, Lib, LibInst, Obj, Tensor, Tup, Value
from hybridize.domain.tensors import VARIABLE
from hybridize.facts.origins import called_at
from hybridize.flow.frames import Frame
from hybridize.library.python.probability_results import (
    DIFFERS,
    PACKAGE,
    RAISES,
    SINCE,
    SURVIVES,
    UNKNOWN,
    coerces,
    fate_of,
)
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.program.operands import arguments, operands
from hybridize.records import dataclass
from hybridize.tracing.views import FrameView

_DEFAULTS: Final = "collections.defaultdict"
_DEPTH: Final = 6
_SAID: Final = {
    RAISES: "which a traced function cannot return",
    DIFFERS: "which cannot be used any more after a traced function has returned it",
    UNKNOWN: "of which nobody knows that it comes back from a traced function as it was",
}


@dataclass(frozen=True, slots=True)
class Returned:
    """What is said of a result; `certain` where it is known to raise whatever the caller does."""

    said: str
    certain: bool


def returned(view: FrameView, slot: int, depth: int = _DEPTH) -> Iterator[Returned]:
    """What is to be said of the objects in a slot that is returned."""
    made = view.definition(slot)
    if depth and isinstance(made, (ir.Passing, ir.Sequence)):
        for part in operands(made):
            yield from returned(view, part, depth - 1)
        return
    if isinstance(made, ir.Call) and _is_coerced(view, made):
        said = "a distribution that stands for a tensor: a traced function gives the tensor"
        yield Returned(said, certain=False)
        return
    if isinstance(made, ir.Call) and _DEFAULTS in view.names(made.function):
        yield Returned("a `defaultdict`, of which a plain dict comes back", certain=False)
    found = dict.fromkeys(obj for obj in _held(view.value(slot)) if _is_probability(obj))
    for obj in sorted(found, key=repr):
        yield from _object(view, obj, made if obj in view.value(slot) else None)


def _object(view: FrameView, obj: Obj, made: Instr | None) -> Iterator[Returned]:
    """What is to be said of one object; `made` is the instruction that gives it."""
    fate, name = _fate(obj), f"a `{_name(obj)}`"
    if fate != SURVIVES:
        yield Returned(f"{name}, {_SAID[fate]}", certain=fate == RAISES)
        return
    if view.project.versions.oldest < SINCE:
        oldest = ".".join(map(str, SINCE))
        said = f"{name}, of which older releases than that for TensorFlow {oldest} are not known to give it back"
        yield Returned(said, certain=False)
    if not isinstance(made, ir.Call):
        if isinstance(made, (ir.Attr, ir.Item)):
            yield Returned(f"{name} that was made before: another one comes back, without its variables", certain=False)
        return
    for slot in arguments(made):
        for part in _held(view.value(slot)):
            if isinstance(part, Tensor) and part.kind == VARIABLE:
                yield Returned(f"{name} of a variable, which it comes back without", certain=False)
                return
            if _is_probability(part) and _fate(part) != SURVIVES:
                said = f"{name} of a `{_name(part)}`, {_SAID[_fate(part)]}"
                yield Returned(said, certain=False)
                return


def _held(value: Value) -> Iterator[Obj]:
    """The objects of a value, and those that lists and tuples in it hold."""
    for obj in value:
        yield obj
        if isinstance(obj, Tup):
            yield from (part for item in obj.items for part in item)
        elif isinstance(obj, Container):
            yield from (part for cell in obj.fields.values() for part in cell.value)


def _is_coerced(view: FrameView, call: ir.Call) -> bool:
    """Whether a call runs a layer that gives distributions, or a function of the program that ends in one."""
    known: dict[tuple[Frame, int], bool] = view.project.shared("coerced results", dict)
    key = (view.frame, call.position)
    if key not in known:
        known[key] = False  # of a recursive call
        known[key] = any(map(_coercing, view.value(call.function))) or any(
            _ends_coerced(FrameView(view.project, callee))
            for callee in called_at(view.frame, call.position, (How.CALL, How.KERAS))
        )
    return known[key]


def _ends_coerced(view: FrameView) -> bool:
    made = (view.definition(instr.value) for instr in index_of(view.code).of(ir.Return))
    return any(isinstance(each, ir.Call) and _is_coerced(view, each) for each in made)


def _coercing(obj: Obj, depth: int = 3) -> bool:
    """Whether an object is such a layer, or a model that Keras makes of layers among which is one."""
    if not isinstance(obj, LibInst):
        return False
    if obj.cls.startswith(PACKAGE):
        return coerces(obj.cls)
    if not depth or not obj.cls.startswith("keras."):
        return False
    return any(_coercing(part, depth - 1) for cell in obj.fields.values() for part in _held(cell.value))


def _is_probability(obj: Obj) -> bool:
    return bool(_name(obj))


def _name(obj: Obj) -> str:
    """The class of the library that an object is of, or derives from; empty for any other object."""
    if isinstance(obj, LibInst):
        return obj.cls if obj.cls.startswith(PACKAGE) else ""
    if isinstance(obj, Inst):
        bases = (base.name for base in obj.cls.mro if isinstance(base, Lib))
        return next((name for name in bases if name.startswith(PACKAGE)), "")
    return ""


def _fate(obj: Obj) -> str:
    found = fate_of(_name(obj))
    # A class of one's own may say by a decorator how it is taken apart.
    return UNKNOWN if isinstance(obj, Inst) and found != SURVIVES else found
