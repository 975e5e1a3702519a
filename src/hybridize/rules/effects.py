"""Python side effects as hits: what the rules that name a kind of side effect have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hybridize.domain.objects import Cell, Container, Obj, Stream, Tensor, Tup, Value
from hybridize.domain.tensors import NDARRAY, VARIABLE
from hybridize.facts.effects import CHANGES, Reason, describe, evidence_of, fills_own, kind_of
from hybridize.facts.origins import instructions
from hybridize.flow.frames import Frame
from hybridize.program.ir import Instr, Op
from hybridize.rules.model import Hit, Level
from hybridize.rules.views import FunctionView

#: A container in a container in an argument: looked into so deeply.
_DEPTH = 3


def reasons(function: FunctionView) -> Iterator[tuple[Frame, Reason]]:
    """The side effects of a function in each of its contexts, with the calls that lead to them."""
    summaries = function.project.effects.summaries
    for frame in function.frames:
        for reason in summaries.get(frame, {}).values():
            if not fills_own(frame, reason):
                yield frame, reason


def hit(reason: Reason, level: Level | None = None, said: str | None = None) -> Hit:
    """A side effect as a hit at its own place."""
    chain = evidence_of(reason)
    return Hit(
        reason.effect.position,
        said or describe(reason.effect),
        evidence=chain,
        path=reason.frame.code.path,
        level=level,
    )


def of_kinds(*kinds: str) -> Callable[[FunctionView], Iterator[Hit]]:
    """A scan for the side effects of some kinds."""

    def scan(function: FunctionView) -> Iterator[Hit]:
        for _, reason in reasons(function):
            if kind_of(reason.effect) in kinds:
                yield hit(reason)

    return scan


def is_change(reason: Reason) -> bool:
    """Whether a side effect changes an object or a variable (not the outside world)."""
    return kind_of(reason.effect) in CHANGES and reason.effect.kind != "iterator"


def argument_name(frame: Frame, reason: Reason) -> str | None:
    """The parameter that brings the container or array which a side effect changes; None where no argument is."""
    target = reason.effect.target
    if isinstance(target, Container):
        for param, value in zip(frame.code.params, frame.args, strict=True):
            if param.kind not in ("varargs", "kwargs") and _within(target, value):
                return param.name
    elif isinstance(target, Tensor | Stream):
        for root in sorted(r for r in reason.roots if isinstance(r, int)):
            return frame.code.params[root].name
    return None


def _within(target: Obj, value: Value, depth: int = _DEPTH) -> bool:
    """Whether a container is in a value, as an argument's structure is seen: containers are, objects are not."""
    for obj in value:
        if obj is target:
            return True
        if not depth:
            continue
        if any(_within(target, each, depth - 1) for each in _items(obj)):
            return True
    return False


def stored(reason: Reason) -> list[int]:
    """The slots whose value a change puts away, in the frame that makes it."""
    return [slot for instr in _instructions_at(reason) for slot in _put(instr)]


def leaked(function: FunctionView, reason: Reason) -> bool:
    """Whether a change stores a tensor that is symbolic while tracing."""
    frame = reason.frame
    for slot in stored(reason):
        value = frame.vals[slot] or frozenset()
        if slot >= 0 and _has_tensor(value) and function.project.symbolic.mask(frame, slot):
            return True
    return False


def _has_tensor(value: Value, depth: int = _DEPTH) -> bool:
    """Whether a value is or holds a tensor that is no variable: storing a variable stores no value."""
    for obj in value:
        if isinstance(obj, Tensor):
            if obj.kind not in (VARIABLE, NDARRAY):
                return True
        elif depth and any(_has_tensor(item, depth - 1) for item in _items(obj)):
            return True
    return False


def _items(obj: Obj) -> list[Value]:
    """What is in a tuple or container."""
    if isinstance(obj, Tup):
        return list(obj.items)
    if not isinstance(obj, Container):
        return []
    cells: list[Cell] = [*obj.fields.values(), *([obj.rest] if obj.rest is not None else [])]
    return [cell.value for cell in cells]


def _instructions_at(reason: Reason) -> Iterator[Instr]:
    for instr in instructions(reason.frame.code.body):
        if instr[-1] == reason.effect.position:
            yield instr


def _put(instr: Instr) -> list[int]:
    match instr[0]:
        case Op.SET_ATTR | Op.SET_ITEM | Op.PUT:
            return [instr[4]]
        case Op.SET_GLOBAL | Op.SET_CELL | Op.APPEND:
            return [instr[3]]
        case Op.CALL:
            return [slot for slot, _ in instr[3]] + [slot for _, slot in instr[4]]
    return []
