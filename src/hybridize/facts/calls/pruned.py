"""Code that one call does not run: what stands under a condition on a parameter that this call's argument decides.

Contexts may have been merged, so that a frame stands for several calls with different arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from hybridize.domain.objects import Lit, Unknown, Value
from hybridize.domain.session import cached
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Block, Code
from hybridize.program.operands import blocks_of
from hybridize.records import dataclass

#: Conditions are looked into so deep.
_DEPTH: Final = 12


@dataclass(frozen=True, slots=True)
class Asked:
    """Whether a parameter is None (`asks_none`), or holds."""

    index: int
    asks_none: bool


@dataclass(frozen=True, slots=True)
class Either:
    """What `a and b`, `a or b` and `a if c else b` ask: another question, by the answer to the first."""

    first: Question
    then: Question
    other: Question


#: What a condition asks of parameters: its answer, where it is always the same; None for anything else.
Question: TypeAlias = "Asked | Either | bool | None"
#: A question, and the answer under which the code runs.
Condition: TypeAlias = "tuple[Question, bool]"


class Pruned:
    """The places (file, position) in a function that one call of it does not get to."""

    __slots__ = ("_conditions", "_passed", "_path")

    def __init__(self, caller: Frame, position: int, callee: Frame, *, again: bool) -> None:
        """`again`: what the call runs may call the function again, with other arguments."""
        passed = callee.incoming.get((caller, position))
        # What the frame itself was given has decided already in the fixpoint.
        if again or passed is None or not callee.is_shared(passed):
            self._conditions: dict[int, tuple[Condition, ...]] = {}
        else:
            self._conditions = conditions(callee.code)
        self._passed = passed
        self._path = callee.code.path

    @property
    def some(self) -> bool:
        """Whether there may be any such place at all."""
        return bool(self._conditions)

    def __contains__(self, place: tuple[str, int]) -> bool:
        if not self._conditions or place[0] != self._path:
            return False
        for question, answer in self._conditions.get(place[1], ()):
            assert self._passed is not None
            known = _answer(question, self._passed)
            if known is not None and known is not answer:
                return True
        return False


def _answer(question: Question, passed: Sequence[Value]) -> bool | None:
    """The answer for one call; None where it is not known."""
    if isinstance(question, Asked):
        return (_is_none if question.asks_none else _truth)(passed[question.index])
    if not isinstance(question, Either):
        return question
    first = _answer(question.first, passed)
    if first is not None:
        return _answer(question.then if first else question.other, passed)
    then, other = _answer(question.then, passed), _answer(question.other, passed)
    return then if then is other else None


def _is_none(value: Value) -> bool | None:
    """Whether a value is None; None where that is not known."""
    if any(isinstance(o, Unknown) for o in value):
        return None
    found = {isinstance(o, Lit) and o.const is None for o in value}
    return found.pop() if len(found) == 1 else None


def _truth(value: Value) -> bool | None:
    """The truth of constants; None where it is not known."""
    if not all(isinstance(o, Lit) and not o.varies for o in value):
        return None
    found = {bool(o.const) for o in value if isinstance(o, Lit)}
    return found.pop() if len(found) == 1 else None


@cached
def conditions(code: Code) -> dict[int, tuple[Condition, ...]]:
    """The conditions on parameters under which each position of a code runs."""
    found: dict[int, tuple[Condition, ...]] = {}
    if code.params and index_of(code).of(ir.If):
        _walk(code, code.body, (), found)
    return found


def _walk(code: Code, block: Block, stack: tuple[Condition, ...], found: dict[int, tuple[Condition, ...]]) -> None:
    for instr in block:
        if stack:
            found.setdefault(instr.position, stack)
        if not isinstance(instr, ir.If):
            for part in blocks_of(instr):
                _walk(code, part, stack, found)
            continue
        asked = _asked(code, instr.condition)
        for branch, answer in ((instr.then, True), (instr.orelse, False)):
            _walk(code, branch, (*stack, (asked, answer)) if asked is not None else stack, found)
        if asked is not None:
            for branch, other in ((instr.then, False), (instr.orelse, True)):
                if branch and isinstance(branch[-1], ir.Ending):
                    stack = (*stack, (asked, other))


def _asked(code: Code, slot: int, depth: int = _DEPTH) -> Question:
    """What a condition asks of the parameters."""
    index = _parameter(code, slot)
    if index is not None:
        return Asked(index, asks_none=False)
    match index_of(code).source(slot) if depth else None:
        case ir.Unary(operator="not", operand=operand):
            return _not(_asked(code, operand, depth - 1))
        case ir.Compare(operator="is" | "is not" as operator, left=left, right=right):
            if _is_none(code.template[right] or frozenset()):
                asked = _none_asked(code, left)
                return asked if operator == "is" else _not(asked)
        case ir.Phi(incoming=((taken, then), (skipped, other))):
            return _joined(code, {taken: then, skipped: other}, depth - 1)
    return None


def _not(question: Question) -> Question:
    return None if question is None else Either(question, then=False, other=True)


def _none_asked(code: Code, slot: int) -> Question:
    """Whether a parameter is None."""
    index = _parameter(code, slot)
    return None if index is None else Asked(index, asks_none=True)


def _parameter(code: Code, slot: int, depth: int = _DEPTH) -> int | None:
    """The parameter that a slot holds as it was passed: where branches join that only asked about it, too."""
    slot = index_of(code).original(slot)
    made = index_of(code).definitions.get(slot)
    if isinstance(made, ir.Phi) and depth:
        slots = {index_of(code).original(each) for _, each in made.incoming}
        brought = {_parameter(code, each, depth - 1) for each in slots}
        return brought.pop() if len(brought) == 1 else None
    return next((i for i, param in enumerate(code.params) if param.slot == slot), None)


def _joined(code: Code, incoming: dict[int, int], depth: int) -> Question:
    """What the join of two branches asks: by the condition of the branches, one or the other."""
    for branch in index_of(code).of(ir.If):
        if {branch.then_edge, branch.else_edge} == incoming.keys():
            first = _asked(code, branch.condition, depth)
            then = _brought(code, branch, incoming[branch.then_edge], depth)
            other = _brought(code, branch, incoming[branch.else_edge], depth)
            return None if first is then is other is None else Either(first, then, other)
    return None


def _brought(code: Code, branch: ir.If, slot: int, depth: int) -> Question:
    """What one side of a join asks: in `a and b` where `a` does not hold it is `a`, which does not hold."""
    made = index_of(code).definitions.get(slot)
    if isinstance(made, ir.Refine) and made.kind == "truth" and made.source == branch.condition:
        return made.holds
    return _asked(code, slot, depth)
