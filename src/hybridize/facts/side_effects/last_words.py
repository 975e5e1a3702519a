"""What is printed or logged before the exception that follows: said at each call that fails, in a graph as well.

A trace that ends in an exception is not kept, so that the next such call traces again, and says it again. That does not
hold where somebody catches the exception inside of the trace, which is kept then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lib
from hybridize.domain.session import cached
from hybridize.facts.origins import edges_to
from hybridize.flow.frames import Effect, Frame
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Block, Code

_SAID: Final = "print"
_SUPPRESS: Final = "contextlib.suppress"


def is_last_word(frame: Frame, effect: Effect) -> bool:
    """Whether an effect is an output after which the call fails, whatever the values of tensors are."""
    return effect.kind == _SAID and effect.position in _before_raise(frame.code) and not _is_caught(frame, effect)


@cached
def _before_raise(code: Code) -> frozenset[int]:
    """The positions in branches and handlers that end by raising."""
    return frozenset(i.position for block in _blocks(code) if _raises(block) for i in instructions(block))


def _blocks(code: Code) -> Iterator[Block]:
    for branch in index_of(code).of(ir.If):
        yield from (branch.then, branch.orelse)
    for tried in index_of(code).of(ir.Try):
        yield from (handler.body for handler in tried.handlers)


def _raises(block: Block) -> bool:
    return bool(block) and isinstance(block[-1], ir.Raise)


@cached
def _guarded(code: Code) -> frozenset[int]:
    """The positions of which a handler of the same function catches what is raised."""
    tried = (instr.body for instr in index_of(code).of(ir.Try) if instr.handlers)
    return frozenset(i.position for body in tried for i in instructions(body))


def _is_caught(frame: Frame, effect: Effect) -> bool:
    """Whether the function or whoever calls it, however far, may catch the exception."""
    todo, seen = [(frame, effect.position)], {frame}
    while todo:
        each, position = todo.pop()
        if position in _guarded(each.code) or _suppresses(each):
            return True
        for caller, pos, _ in edges_to(each):
            if caller not in seen:
                seen.add(caller)
                todo.append((caller, pos))
    return False


def _suppresses(frame: Frame) -> bool:
    return any(
        isinstance(o, Lib) and o.name == _SUPPRESS
        for call in index_of(frame.code).of(ir.Call)
        for o in frame.vals[call.function] or ()
    )
