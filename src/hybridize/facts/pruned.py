"""Code that one call does not run: what stands under a condition on a parameter that this call's argument decides.

Contexts may have been merged, so that a frame stands for several calls with different arguments.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from hybridize.domain.objects import Lit, Unknown, Value
from hybridize.domain.session import Table
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Block, Code, Instr
from hybridize.program.operands import blocks_of

#: A condition: which parameter, whether it asks for None or for the truth, and the answer under which the code runs.
Condition: TypeAlias = tuple[int, bool, bool]
CONDITIONS: Final = Table[Code, dict[int, tuple[Condition, ...]]]()


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
        for index, asks_none, answer in self._conditions.get(place[1], ()):
            assert self._passed is not None
            known = (_is_none if asks_none else _truth)(self._passed[index])
            if known is not None and known is not answer:
                return True
        return False


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


def conditions(code: Code) -> dict[int, tuple[Condition, ...]]:
    """The conditions on parameters under which each position of a code runs."""
    noted = CONDITIONS.here()
    found = noted.get(code)
    if found is None:
        found = noted[code] = {}
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
            _walk(code, branch, (*stack, _under(asked, answer)) if asked is not None else stack, found)
        if asked is not None:
            for branch, other in ((instr.then, False), (instr.orelse, True)):
                if branch and isinstance(branch[-1], ir.Ending):
                    stack = (*stack, _under(asked, other))


def _under(asked: Condition, answer: bool) -> Condition:
    index, asks_none, positive = asked
    return index, asks_none, answer is positive


def _asked(code: Code, slot: int) -> Condition | None:
    """The parameter that a condition asks about, and whether plainly or negated."""
    known = index_of(code).definitions
    positive, asks_none = True, False
    while True:
        made: Instr | None = known.get(slot)
        if made is None:
            break
        if isinstance(made, ir.Refine):
            slot = made.source
        elif isinstance(made, ir.Unary) and made.operator == "not":
            slot, positive = made.operand, not positive
        elif (
            isinstance(made, ir.Compare)
            and made.operator in ("is", "is not")
            and _is_none(code.template[made.right] or frozenset())
        ):
            slot, positive, asks_none = made.left, positive is (made.operator == "is"), True
        else:
            return None
        if asks_none and isinstance(made, ir.Unary):
            return None
    for i, param in enumerate(code.params):
        if param.slot == slot:
            return i, asks_none, positive
    return None
