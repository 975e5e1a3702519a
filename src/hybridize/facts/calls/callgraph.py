"""The call graph of a solution: strongly connected frames, reachability, recursion, coverage by hybrid callers."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping

from hybridize.closure import closure
from hybridize.domain.calls import How
from hybridize.domain.objects import Bound, Func, Obj, Stream, Wrapper
from hybridize.domain.session import cached
from hybridize.facts.evidence import call_step, tells
from hybridize.facts.model import Evidence, Fact, Ternary, Told
from hybridize.facts.origins import calls_at
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution
from hybridize.program.ir import Code
from hybridize.program.operands import arguments


def components(frames: Iterable[Frame], known: Collection[Frame] = ()) -> list[list[Frame]]:
    """Strongly connected components of the call graph, callees first (Tarjan, without recursion).

    What is `known` is left out, with what only that calls.
    """
    index: dict[Frame, int] = {}
    low: dict[Frame, int] = {}
    on_stack: set[Frame] = set()
    stack: list[Frame] = []
    result: list[list[Frame]] = []
    for root in frames:
        if root in index:
            continue
        work: list[tuple[Frame, list[Frame]]] = [(root, _callees(root, known))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            frame, todo = work[-1]
            if todo:
                callee = todo.pop()
                if callee not in index:
                    index[callee] = low[callee] = len(index)
                    stack.append(callee)
                    on_stack.add(callee)
                    work.append((callee, _callees(callee, known)))
                elif callee in on_stack:
                    low[frame] = min(low[frame], index[callee])
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[frame])
            if low[frame] == index[frame]:
                component = []
                while True:
                    member = stack.pop()
                    on_stack.discard(member)
                    component.append(member)
                    if member is frame:
                        break
                result.append(component)
    return result


def _callees(frame: Frame, known: Collection[Frame]) -> list[Frame]:
    found = dict.fromkeys([callee for _, callee in frame.calls])
    return [callee for callee in found if callee not in known] if known else list(found)


def reachable(frame: Frame, known: Collection[Frame] = ()) -> set[Frame]:
    """The frames that a call of this one may run, itself included; not what is `known`, and what only that calls."""
    return set(closure([frame], lambda each: _callees(each, known)))


def extent(frames: Iterable[Frame], outside: frozenset[str]) -> Iterator[Frame]:
    """Frames and what they call, but for the ways of being called that are `outside`."""
    return closure(frames, lambda frame: [callee for (_, callee), how in frame.calls.items() if how not in outside])


def call_chain(start: Frame, goal: Frame) -> list[tuple[Frame, int, Frame]]:
    """The shortest chain of calls from one frame to another: (caller, position, callee) steps."""
    previous: dict[Frame, tuple[Frame, int]] = {}
    todo = [start]
    seen = {start}
    while todo:
        following: list[Frame] = []
        for frame in todo:
            for pos, callee in sorted(frame.calls, key=lambda c: (c[0], c[1].uid)):
                if callee is goal:
                    chain = [(frame, pos, callee)]
                    while frame is not start:
                        caller, at = previous[frame]
                        chain.append((caller, at, frame))
                        frame = caller
                    return list(reversed(chain))
                if callee not in seen:
                    seen.add(callee)
                    previous[callee] = (frame, pos)
                    following.append(callee)
        todo = following
    return []


def called_functions(frames: Mapping[Code, Iterable[Frame]]) -> list[tuple[Code | None, Code, str, int]]:
    """Who calls which function: the caller (None: the code of a module), the callee, the caller's file, the first line.

    What lambdas and class bodies call, the function around them calls; what nobody is seen to start is not there.
    """
    first: dict[tuple[Code | None, Code, str], int] = {}
    for code, each in frames.items():
        caller = _function_around(code)
        for frame in each:
            for (position, callee), how in frame.calls.items():
                if how is How.ROOT or not callee.code.is_function:
                    continue
                key = caller, callee.code, code.path
                first[key] = min(first.get(key, position >> 16), position >> 16)
    return [(caller, callee, path, line) for (caller, callee, path), line in first.items()]


def _function_around(code: Code) -> Code | None:
    """The function that code belongs to: itself, or the one around a lambda or class body."""
    around: Code | None = code
    while around is not None and not around.is_function:
        around = around.parent
    return around


def describe_chain(chain: list[tuple[Frame, int, Frame]]) -> list[Evidence]:
    """A chain of calls as evidence."""
    return [call_step(callee.code.name, frame.code.path, pos) for frame, pos, callee in chain]


def _is_mapped(frame: Frame, position: int, code: Code) -> bool:
    """Whether a hybrid function is called only by a dataset that was given it, as part of the dataset's own graph."""
    given = False
    for call in calls_at(frame.code, position):
        called = frame.vals[call.function] or ()
        if holds(frame, call.function, code):
            return False
        if any(isinstance(o, Bound) and isinstance(o.receiver, Stream) and o.receiver.is_data for o in called):
            given = given or any(holds(frame, slot, code) for slot in arguments(call))
    return given


@cached
def has_own_gradient(code: Code) -> bool:
    """Whether a function is under `tf.custom_gradient`: beside its result it returns the function that derives it."""
    return _is_decorated(code, "custom_gradient")


@cached
def is_registered_gradient(code: Code) -> bool:
    """Whether TensorFlow calls a function with the operation that is to be derived, another at each call."""
    return _is_decorated(code, "RegisterGradient")


def _is_decorated(code: Code, name: str) -> bool:
    return any(name in ast.unparse(node) for node in code.decorators)


def denotes(obj: Obj, code: Code) -> bool:
    """Whether something is a function, as it is, bound or wrapped."""
    func = obj.func if isinstance(obj, Bound) else obj
    if isinstance(func, Wrapper):
        return any(denotes(inner, code) for inner in func.inner)
    return isinstance(func, Func) and func.code is code


def holds(frame: Frame, slot: int, code: Code) -> bool:
    """Whether a slot may hold a function."""
    return any(denotes(obj, code) for obj in frame.vals[slot] or ())


class Coverage:
    """Which functions run only inside graphs already (least fixpoint over callers)."""

    def __init__(self, solution: Solution, hybrid: set[Code]) -> None:
        self.callers: dict[Code, set[tuple[Code, str]]] = {}
        self.open: set[Code] = set()
        for frames in solution.frames.values():
            for frame in frames:
                for (pos, callee), how in frame.calls.items():
                    if how is How.ROOT and callee.started_by(frame, pos):
                        self.open.add(callee.code)
                    else:
                        within = how is How.HYBRID and _is_mapped(frame, pos, callee.code)
                        self.callers.setdefault(callee.code, set()).add((frame.code, How.GRAPH if within else how))
        for obj in solution.world.escaped:
            code = getattr(obj, "code", None) or getattr(getattr(obj, "func", None), "code", None)
            if code is not None:
                self.open.add(code)
        self.covered: set[Code] = set()
        changed = True
        while changed:
            changed = False
            for code, callers in self.callers.items():
                if code in self.covered or code in self.open:
                    continue
                if all(how is How.GRAPH or c in hybrid or c in self.covered for c, how in callers):
                    self.covered.add(code)
                    changed = True

    def fact(self, code: Code) -> Fact:
        """Whether every known caller of a function is a graph."""
        callers = self.callers.get(code)
        if code in self.covered and callers:
            steps = sorted({(c.path, c.line, c.qualname) for c, _ in callers})[:3]
            return Fact(Ternary.YES, tuple(tells(Told.CALLED, path, line, name) for path, line, name in steps))
        if not callers and code in self.open:
            return Fact(Ternary.UNKNOWN, (Evidence("no caller in the project", code.path, code.line),))
        return Fact(Ternary.NO)
