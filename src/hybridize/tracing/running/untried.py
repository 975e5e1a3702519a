"""Hybrid functions that no run of the program traces, or whose authors show that they raise.

What their findings say is right, and nobody has to do anything about it: the one is dead code, the other a lesson.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.closure import closure
from hybridize.domain.calls import SEEN
from hybridize.domain.session import solved
from hybridize.facts.origins import calls_to
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.tracing.failing.expected import is_expecting
from hybridize.tracing.hybridized import places
from hybridize.tracing.running.processes import programs
from hybridize.tracing.structure import Structure
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

#: Calls are followed so far from the function to a `with` that expects an exception.
_FAR: Final = 3


def is_never_made(function: FunctionView) -> bool:
    """Whether only functions that neither a program nor a test runs make a graph of it, by a call of `tf.function`."""
    made = function.facts.hybridization
    if made is None or made.is_decorator:
        return False
    project = function.project
    makers = [frame for where, _ in places(function) for frame in project.solution.frames.get(where, ())]
    if any(not frame.code.is_function for frame in makers):
        return False
    some = project.extents.set_of(makers)
    return bool(makers) and not any(run & some for run in (*programs(project), _tested(project)))


def is_never_run(function: FunctionView) -> bool:
    """Whether the project runs other functions, and neither it nor who imports it runs this one: what is left of
    something, or not yet in use. Where nothing is run at all, nobody knows; a part of a project is a file, with what it
    imports, that the rest has nothing to do with."""
    project = function.project
    if function.facts.reached or _runs_nothing(project):
        return False
    return not _is_imported(project, function.code)


def _is_imported(project: ProjectView, code: Code) -> bool:
    """Whether what others import calls a function, by whatever calls."""

    def callers(each: Code) -> Iterator[Code]:
        frames = project.solution.frames.get(each, ())
        return (caller.code for frame in frames for caller, _ in frame.incoming if caller is not None)

    return any(project.public.has(each) for each in closure([code], callers))


@solved
def _runs_nothing(project: ProjectView) -> bool:
    reached = project.solution.reached
    return project.solution.program.alone and not any(
        code.is_function and not project.roles.is_test(code.path) for code in reached
    )


@solved
def _tested(project: ProjectView) -> int:
    """What the functions of tests run."""
    frames = project.solution.frames.items()
    tests = [f for code, found in frames if project.roles.is_test(code.path) for f in found]
    return project.extents.of_all(tests) | project.extents.set_of(tests)


def is_seen_called(function: FunctionView) -> bool:
    """Whether code that is no test calls a function, or a library that is given it."""
    roles = function.project.roles
    return any(not roles.is_test(caller.code.path) for caller, _, _ in function.called_by(SEEN))


def is_shown_to_raise(function: FunctionView) -> bool:
    """Whether a call of a function stands in a `with` statement that expects an exception."""
    todo = [(caller, pos) for caller, pos, _ in function.called_by(SEEN)]
    seen = set(todo)
    for _ in range(_FAR):
        if any(_expects(function.project, caller, pos >> 16) for caller, pos in todo):
            return True
        outer = {place for caller, _ in todo for place in calls_to(caller)}
        todo = [place for place in outer if place not in seen]
        seen.update(todo)
    return False


def _expects(project: ProjectView, frame: Frame, line: int) -> bool:
    """Whether a line stands in the body of a `with` statement that handles exceptions."""
    view = FrameView(project, frame)
    for left in index_of(frame.code).of(ir.Exit):
        made = index_of(frame.code).source(left.source) if line in left.lines else None
        if isinstance(made, ir.Call):
            if is_expecting(view, made):
                return True
            if any(_handles(callee.code) for callee, _ in view.callees(made.position)):
                return True
    return False


def _handles(code: Code) -> bool:
    """Whether a context manager of the project, a generator, goes on after an exception in the body."""
    if not code.is_generator or not index_of(code).of(ir.Try):
        return False
    structure = Structure(code)
    for statement in index_of(code).of(ir.Try):
        site = structure.at(statement)
        body = [inner for inner in structure.within(site) if isinstance(inner.instr, ir.Yield)]
        yields = any(part == "body" for inner in body for outer, part in inner.around() if outer is site)
        handlers = statement.handlers
        if yields and any(not handler.body or not isinstance(handler.body[-1], ir.Raise) for handler in handlers):
            return True
    return False
