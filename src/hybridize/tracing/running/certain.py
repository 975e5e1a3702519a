"""Whether what raises while tracing does so for certain: the code runs at each call, and a program calls it.

Somebody who has decorated a function and runs it finds out at once; whoever has not run it yet is told by an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.calls import DIRECT
from hybridize.facts.calls.callgraph import denotes
from hybridize.facts.origins import call_at
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.tracing.running.processes import programs_of
from hybridize.tracing.views import FunctionView


def is_called(function: FunctionView) -> bool:
    """Whether a program of the project calls a hybrid function itself, and its decorator is always applied."""
    made = function.facts.hybridization
    if made is None or made.conditional or not made.is_decorator:
        return False
    return any(True for _ in direct_calls(function)) and any(True for _ in programs_of(function))


def direct_calls(function: FunctionView) -> Iterator[tuple[Frame, int, Frame]]:
    """The calls that name the function itself: none of a library that runs it (a layer its activation)."""
    for caller, pos, frame in function.called_by(DIRECT):
        called = [o for call in index_of(caller.code).calls.get(pos, ()) for o in caller.vals[call.function] or ()]
        if called and all(denotes(obj, function.code) for obj in called):
            yield caller, pos, frame


def passed_by_place(function: FunctionView, caller: Frame, pos: int, index: int) -> list[int]:
    """The slot that a call of a hybrid function passes for a parameter."""
    call = call_at(caller.code, pos)
    if call is None or any(starred for _, starred in call.arguments):
        return []
    named = dict(call.keywords).get(function.code.params[index].name)
    if named is not None:
        return [named]
    place = index - function.facts.kind.is_bound
    return [call.arguments[place][0]] if 0 <= place < len(call.arguments) else []


def runs_always(frame: Frame, position: int) -> bool:
    """Whether each call of a function comes to an instruction: nothing stands around it, no exit before it."""
    index = index_of(frame.code)
    exits = [instr.position for instr in index.of(ir.Return, ir.Raise) if instr.position < position]
    return not exits and any(instr.position == position for instr in frame.code.body)
