"""Which statements of a function can be a graph: those that no cause stands in, with most of the computation."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from hybridize.domain.calls import NOT_TRACED
from hybridize.domain.objects import Heap, Value
from hybridize.domain.words import NUMBERS
from hybridize.facts.origins import roots, slots_of
from hybridize.facts.state.guards import SET_UP
from hybridize.facts.state.reasons import CHANGES, WORLD, Reason, fills_own
from hybridize.flow.frames import Effect, Frame
from hybridize.library.costs import applies, assigns, differentiates
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.records import dataclass
from hybridize.repairs.model import Cause
from hybridize.repairs.moving.flow_of_names import forbidden
from hybridize.repairs.source.bench import Bench, numbers
from hybridize.repairs.source.text import FunctionNode, end, start
from hybridize.source.syntax import walk
from hybridize.tracing.views import ProjectView

#: How often a loop runs, where parts in it are compared with parts outside.
_TRIPS = 10.0
#: The most that one call counts for: its function is a part by itself.
_HEAVY = 60.0
#: What a call of Keras, and a gradient, count for: several operations.
_SEVERAL = 5.0
_NUMBERS = NUMBERS | {"print"}
_EAGER = frozenset({"numpy", "item", "tolist"})


@dataclass(frozen=True, slots=True)
class Run:
    """Statements in a row of one block; `work` is what they compute, loops around them counted."""

    block: tuple[ast.stmt, ...]
    work: float


def runs(block: Sequence[ast.stmt], blocked: Collection[int], work: Mapping[int, float]) -> Iterator[Run]:
    """The longest runs of statements without a blocked line, in a block and those within it."""
    return _runs(block, blocked, work, 1.0)


def _runs(
    block: Sequence[ast.stmt], blocked: Collection[int], work: Mapping[int, float], factor: float
) -> Iterator[Run]:
    current: list[ast.stmt] = []
    for statement in block:
        if not stays(statement, blocked):
            current.append(statement)
            continue
        yield from _trimmed(current, work, factor)
        current = []
        trips = _TRIPS if isinstance(statement, (ast.For, ast.While)) else 1.0
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list) and not isinstance(statement, (FunctionNode, ast.ClassDef)):
                yield from _runs(inner, blocked, work, factor * trips)
    yield from _trimmed(current, work, factor)


def _trimmed(block: list[ast.stmt], work: Mapping[int, float], factor: float) -> Iterator[Run]:
    """A run without the statements at its ends that compute nothing."""
    while block and not work_of(block[:1], work):
        block = block[1:]
    while block and not work_of(block[-1:], work):
        block = block[:-1]
    if block:
        yield Run(tuple(block), total_work(block, work) * factor)


def work_of(block: Sequence[ast.stmt], work: Mapping[int, float]) -> float:
    """What statements compute."""
    return sum(work.get(line, 0.0) for s in block for line in range(s.lineno, end(s)[0] + 1))


def stays(statement: ast.stmt, blocked: Collection[int]) -> bool:
    """Whether a statement cannot be part of a graph: one of the lines does not, or it jumps."""
    if any(line in blocked for line in range(statement.lineno, end(statement)[0] + 1)):
        return True
    return next(forbidden([statement]), None) is not None


def total_work(block: Sequence[ast.stmt], work: Mapping[int, float]) -> float:
    """What a block computes, loops counted."""
    found = 0.0
    for statement in block:
        if isinstance(statement, (FunctionNode, ast.ClassDef)):
            continue
        inner = [getattr(statement, name, None) for name in ("body", "orelse", "finalbody")]
        blocks = [b for b in inner if isinstance(b, list)]
        trips = _TRIPS if isinstance(statement, (ast.For, ast.While)) else 1.0
        within = sum(work_of(b, work) for b in blocks)
        found += work_of([statement], work) - within + trips * sum(total_work(b, work) for b in blocks)
    return found


def work_by_line(bench: Bench, code: Code) -> dict[int, float]:
    """How many operations the lines of a function run, callees included that are no graphs yet."""
    found: dict[int, float] = {}
    hybrids = bench.project.solution.world.hybrids
    extents = bench.project.extents
    known: dict[Frame, int] = bench.project.shared("operations of extents", dict)
    for frame in bench.frames(code):
        here: dict[int, float] = {}
        for pos, name in frame.ops.items():
            many = name.startswith("keras.") or applies(name) or differentiates(name)
            here[pos >> 16] = here.get(pos >> 16, 0.0) + (_SEVERAL if many else 1.0)
        for pos, callee, _ in extents.calls(frame):
            if callee.code in hybrids:
                continue
            inner = known.get(callee)
            if inner is None:
                inner = known[callee] = sum(len(each.ops) for each in extents.frames(extents.of(callee)))
            here[pos >> 16] = here.get(pos >> 16, 0.0) + min(float(inner), _HEAVY)
        for line, count in here.items():
            found[line] = max(found.get(line, 0.0), count)
    return found


def is_step(bench: Bench, code: Code, block: Sequence[ast.stmt]) -> bool:
    """Whether statements of a function compute gradients and apply them."""
    first, last = block[0].lineno, end(block[-1])[0]
    names = {name for f in bench.frames(code) for pos, name in f.ops.items() if first <= pos >> 16 <= last}
    return any(map(differentiates, names)) and any(applies(name) or assigns(name) for name in names)


def lines_of_causes(bench: Bench, code: Code, own: FunctionNode, causes: Sequence[Cause]) -> set[int] | None:
    """The lines of a function in which its causes stand, or the calls that lead to them; None where one is anywhere."""
    found: set[int] = set()
    for cause in causes:
        if cause.parameter is not None:
            continue  # whether the part takes it shows later
        lines = {line for path, line in _places(bench, code, cause) if path == code.path and _is_in(line, own)}
        if not lines:
            return None
        found |= lines
        if cause.reason is not None:
            found |= _same_changes(bench, code, cause.reason)
    return found


def _is_in(line: int, own: FunctionNode) -> bool:
    return own.body[0].lineno <= line <= end(own)[0]


def _places(bench: Bench, code: Code, cause: Cause) -> Iterator[tuple[str, int]]:
    yield cause.path, cause.line
    if cause.hit is not None:
        yield from ((each.path, each.line) for each in cause.hit.evidence[:1])
        yield from ((cause.path, position >> 16) for position in cause.hit.also)
    reason = cause.reason
    if reason is None:
        return
    if reason.path:
        path, position, _ = reason.path[0]
        yield path, position >> 16
        return
    extents = bench.project.extents
    for frame in bench.frames(code):
        for pos, callee, _ in extents.calls(frame):
            if extents.has(extents.of(callee), reason.frame):
                yield code.path, pos >> 16


def _same_changes(bench: Bench, code: Code, reason: Reason) -> set[int]:
    """Where the function itself does to the same object what a side effect does: a summary names one place of them."""
    effect = reason.effect
    return {
        other.position >> 16
        for frame in bench.frames(code)
        for other in frame.effects.values()
        if other.kind in CHANGES and (other.target, other.detail) == (effect.target, effect.detail)
    }


def lines_of_effects(bench: Bench, code: Code, first: int, last: int, but: Collection[int] = ()) -> set[int]:
    """The lines between two, of a loop, that change what was there before a round of it, or the outside world.

    `but` are positions that do not count.
    """
    found: set[int] = set()
    for frame in bench.frames(code):
        for effect in frame.effects.values():
            line = effect.position >> 16
            if effect.position in but:
                continue
            if effect.kind in WORLD or (effect.kind in CHANGES and not _is_made(frame, effect, first, last)):
                found.add(line)
        for pos, callee, _ in bench.project.extents.calls(frame):
            if pos not in but and _has_effects(bench.project, callee):
                found.add(pos >> 16)
    return {line for line in found if first <= line <= last}


def lines_of_stuck(bench: Bench, code: Code, but: Collection[int] = ()) -> set[int]:
    """The lines of a function that call what cannot be in a graph; `but` are positions that do not count."""
    return {
        pos >> 16
        for frame in bench.frames(code)
        for pos, callee, how in bench.project.extents.calls(frame)
        if pos not in but and callee.code in bench.stuck and how not in NOT_TRACED
    }


def _is_made(frame: Frame, effect: Effect, first: int, last: int) -> bool:
    """Whether the code of some lines makes the object that an effect of the same code changes."""
    target = effect.target
    if isinstance(target, Heap):
        return target.site[0] is frame.code and first <= target.site[1] >> 16 <= last
    if effect.kind != "iterator" or target is None:
        return False
    index, slots = index_of(frame.code), slots_of(frame, effect.kind, target, effect.position)
    made = [index.definitions.get(index.original(slot)) for slot in slots if not roots(frame, slot)]
    lines = [instr.position >> 16 for instr in made if isinstance(instr, ir.Call)]
    return bool(slots) and len(lines) == len(slots) and all(first <= line <= last for line in lines)


def _has_effects(project: ProjectView, callee: Frame) -> bool:
    return any(
        (reason.effect.kind in WORLD or reason.effect.kind in CHANGES)
        and reason.once != SET_UP
        and not fills_own(callee, reason)
        for reason in project.effects.of(callee).values()
    )


def eager_lines(block: Sequence[ast.stmt], value: Callable[[str], Value]) -> set[int]:
    """The lines on which Python numbers or arrays are made of what may be tensors, by the words that do it.

    `value` says what a name holds.
    """
    found: set[int] = set()
    for node in (n for statement in block for n in walk(statement)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            makes = isinstance(node.func, ast.Name) and name in _NUMBERS and bool(node.args)
            of = value(node.args[0].id) if makes and isinstance(node.args[0], ast.Name) else ()
            makes = makes and not (name in NUMBERS and of and numbers(of))
            if makes or (isinstance(node.func, ast.Attribute) and name in _EAGER):
                found.update(range(start(node)[0], end(node)[0] + 1))
        if isinstance(node, ast.JoinedStr):
            found.update(range(start(node)[0], end(node)[0] + 1))
    return found
