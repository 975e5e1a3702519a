"""Code that runs eagerly only: branches under `tf.executing_eagerly()`, which no trace gets to, and what an
`tf.init_scope` holds that is made of no argument: it leaves the graph (what happens once per trace is another rule's).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lib
from hybridize.facts.state.lifted import in_init_scope, lifted
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.operands import operands

_NOWHERE: Final[frozenset[int]] = frozenset()
#: Functions that ask for the mode, with the answer while tracing.
_WHILE_TRACING: Final = {
    "tf.executing_eagerly": False,
    "tf.compat.v1.executing_eagerly": False,
    "tf.inside_function": True,
}
_NAMES: Final = ("executing_eagerly", "inside_function")
_SCOPE: Final = "init_scope"


def eager_only(frame: Frame) -> frozenset[int]:
    """The positions in a frame that no trace gets to."""
    attributes = index_of(frame.code).attributes
    found = frozenset(_positions(frame)) if any(name in attributes for name in _NAMES) else _NOWHERE
    if _SCOPE not in attributes:
        return found
    inside = (each for each in index_of(frame.code).flat if lifted(frame, each.position, list(operands(each))))
    return found | {each.position for each in inside}


def _positions(frame: Frame) -> Iterator[int]:
    index = index_of(frame.code)
    for instr in index.of(ir.If):
        answer = _answer(frame, instr.condition)
        if answer is not None:
            yield from (each.position for each in instructions(instr.orelse if answer else instr.then))


def _answer(frame: Frame, slot: int) -> bool | None:
    """What a condition is while tracing, where it asks just for that."""
    known = index_of(frame.code).definitions
    positive = True
    while True:
        made = known.get(slot)
        if made is None:
            return None
        if isinstance(made, ir.Copy):
            slot = made.source
        elif isinstance(made, ir.Unary) and made.operator == "not":
            slot, positive = made.operand, not positive
        elif isinstance(made, ir.Phi):
            joined = _joined(frame, made)
            return joined if joined is None else joined is positive
        else:
            break
    if not isinstance(made, ir.Call) or in_init_scope(frame.code, made.position):
        return None
    found = frame.vals[made.function] or ()
    names = {o.name if isinstance(o, Lib) else "" for o in found}
    answers = {_WHILE_TRACING.get(name) for name in names}
    answer = answers.pop() if len(answers) == 1 else None
    return answer if answer is None else answer is positive


def _joined(frame: Frame, phi: ir.Phi) -> bool | None:
    """What `a and b` or `a or b` is while tracing: what one operand decides, or the one that is left."""
    ways: dict[int, int] = dict(phi.incoming)
    for branch in index_of(frame.code).of(ir.If):
        if branch.then_edge in ways and branch.else_edge in ways and len(ways) == 2:
            first, then, other = _answer(frame, branch.condition), ways[branch.then_edge], ways[branch.else_edge]
            if first is not None:
                return _answer(frame, then if first else other)
            made = index_of(frame.code).definitions.get(then)
            is_or = isinstance(made, ir.Refine) and made.source == branch.condition
            rest = _answer(frame, other if is_or else then)
            return rest if rest is is_or else None
    return None
