"""What a program never comes to, for what stands before it surely raises: a field that nobody sets, a missing key.

Flow goes on with an unknown value there, so that the rest is looked at, too. Such a program has never been run as it
stands, up to there; what it would do behind is nothing to tell its authors of first. What is between `try` and its
handlers ends there alone, and so does what stands in a `with` whose manager may take an exception.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import DIRECT, How
from hybridize.domain.objects import LibInst, Unknown, Value
from hybridize.domain.unknowns import Why
from hybridize.facts.origins import edges_to
from hybridize.flow.frames import Frame
from hybridize.library.python.system import lacks
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Block, Instr
from hybridize.program.operands import arguments, operands
from hybridize.tracing.failing.failures import failures
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

#: Calls are followed so far from a function to what stands before them.
_FAR: Final = 4


def is_behind_failure(function: FunctionView, path: str, line: int) -> bool:
    """Whether what stands at a line of a function, or the function itself, is never come to."""
    project = function.project
    cut = project.shared(("behind", function.code), lambda: _is_cut_off(project, function.frames, _FAR))
    here = [f for f in function.frames if f.code.path == path and f.code.line <= line <= f.code.end_line]
    return cut or (bool(here) and all(line in _lines(project, frame) for frame in here))


def is_dead(project: ProjectView, frame: Frame, position: int) -> bool:
    """Whether a place is never come to."""
    return position in _dead(project, frame) or _is_cut_off(project, [frame], _FAR)


def _is_cut_off(project: ProjectView, frames: list[Frame], depth: int) -> bool:
    """Whether all calls of a function stand behind what raises."""
    calls = [call for frame in frames for call in edges_to(frame)]
    return bool(calls) and all(
        how is not How.ROOT
        and (pos in _dead(project, caller) or (depth > 1 and _is_cut_off(project, [caller], depth - 1)))
        for caller, pos, how in calls
    )


def _lines(project: ProjectView, frame: Frame) -> frozenset[int]:
    """The lines of a frame of which it comes to nothing."""
    dead = _dead(project, frame)
    live = {instr.position >> 16 for instr in index_of(frame.code).flat if instr.position not in dead}
    return frozenset(pos >> 16 for pos in dead) - live


def _dead(project: ProjectView, frame: Frame) -> frozenset[int]:
    """The positions in a frame that it never comes to."""
    known: dict[Frame, tuple[frozenset[int], bool]] = project.shared("dead code", dict)
    if frame not in known:
        known[frame] = frozenset(), True  # of a recursion
        walk = _Walk(project, frame)
        falls = walk.block(frame.code.body)
        known[frame] = frozenset(walk.dead), falls or walk.returns
    return known[frame][0]


def _comes_back(project: ProjectView, frame: Frame) -> bool:
    """Whether a call of a frame may return."""
    if frame.code.is_generator or frame.code.is_async or frame.phase:
        return True
    _dead(project, frame)
    known: dict[Frame, tuple[frozenset[int], bool]] = project.shared("dead code", dict)
    return known[frame][1]


class _Walk:
    """One frame's code: `dead` are the positions that it never comes to."""

    def __init__(self, project: ProjectView, frame: Frame) -> None:
        self.view = FrameView(project, frame)
        self.dead: set[int] = set()
        self.returns = False
        self.failing = {each.position for each in failures(self.view) if each.certain} if not frame.phase else set()
        managers = index_of(frame.code).of(ir.Exit)
        self.guarded = {line for left in managers if not _lets_pass(self.view, left) for line in left.lines}

    def block(self, block: Block) -> bool:
        """Whether control may get to the end of a block."""
        for i, instr in enumerate(block):
            if self._ends(instr):
                self.dead.update(each.position for each in instructions(block[i + 1 :]))
                self.dead.discard(instr.position)
                return False
        return True

    def _ends(self, instr: Instr) -> bool:
        match instr:
            case ir.If():
                ways = [self.block(instr.then), self.block(instr.orelse)]
                return not any(ways)  # which one flow takes may be known wrongly
            case ir.Loop():
                self.block(instr.body)
                self.block(instr.orelse)
                return not self.block(instr.test)
            case ir.Try():
                done = self.block(instr.body) and self.block(instr.orelse)
                ways = [done, *[self.block(handler.body) for handler in instr.handlers]]
                return not self.block(instr.final) or not any(ways)
            case ir.Return():
                self.returns = True
                return True
            case ir.Jump():
                return True
        return instr.position >> 16 not in self.guarded and self._raises(instr)

    def _raises(self, instr: Instr) -> bool:
        """Whether an instruction surely raises; where control gets to it, as flow sees it."""
        view = self.view
        if isinstance(instr, ir.Raise) or view.frame.phase:
            return isinstance(instr, ir.Raise)
        if isinstance(instr, ir.Attr):
            value = view.value(instr.target)
            unset = bool(value) and all(isinstance(o, Unknown) and o.why is Why.UNSET and not o.taken for o in value)
            return unset or self._is_no_option(view.value(instr.owner), instr.name)
        if isinstance(instr, ir.Global):
            return any(
                isinstance(o, Unknown) and view.project.effects.excused.is_undefined(view.frame, o)
                for o in view.value(instr.target)
            )
        if instr.position in self.failing and isinstance(instr, (ir.Binary, ir.Item, ir.Call)):
            return all(len(view.value(slot)) == 1 for slot in operands(instr))
        if isinstance(instr, ir.Call):
            callees = list(self._callees(instr))
            return bool(callees) and not any(_comes_back(view.project, callee) for callee in callees)
        return False

    def _is_no_option(self, value: Value, name: str) -> bool:
        """Whether a namespace is asked for what no parser puts there; a library may add options to one that it gets."""
        none = bool(value) and all(isinstance(o, LibInst) and lacks(o, name) for o in value)
        return none and not self.view.project.shared("parsers handed out", lambda: _hands_out(self.view.project))

    def _callees(self, call: ir.Call) -> Iterator[Frame]:
        """What a call runs, if that is code of the project, and nothing else."""
        calls = index_of(self.view.code).calls.get(call.position, ())
        found = self.view.callees(call.position) if len(calls) == 1 else []
        if all(how in DIRECT for _, how in found):
            yield from (callee for callee, _ in found)


def _lets_pass(view: FrameView, left: ir.Exit) -> bool:
    """Whether the manager of a `with` is known not to take exceptions: those of TensorFlow."""
    value = view.value(left.source)
    return bool(value) and all(isinstance(o, LibInst) and o.cls.startswith(("tf.", "keras.")) for o in value)


def _hands_out(project: ProjectView) -> bool:
    """Whether something that nobody can follow gets a parser of a command line."""
    return any(
        isinstance(o, LibInst) and o.cls.startswith("argparse.")
        for frames in project.solution.frames.values()
        for frame in frames
        for call in index_of(frame.code).of(ir.Call)
        if any(isinstance(o, Unknown) for o in frame.vals[call.function] or ())
        for slot in arguments(call)
        if slot >= 0
        for o in frame.vals[slot] or ()
    )
