"""A training step that Python interrupts -> what it computes in front of that, and what it does behind it.

`if np.isnan(loss): continue` between the gradients and the update ends the step early, and no graph can do so. What
comes before stays together, with the gradients, which may as well be computed at once; what comes behind does so, too.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from hybridize.library.dialect import DERIVES
from hybridize.records import dataclass, replace
from hybridize.repairs.moving.flow_of_names import forbidden
from hybridize.repairs.moving.hoisting import Early, early
from hybridize.repairs.moving.loop_behind import Behind, flat, is_tape
from hybridize.repairs.moving.parts import stays, work_of
from hybridize.repairs.source.edits import TextEdit
from hybridize.repairs.source.names import names_in
from hybridize.repairs.source.text import SourceFile, applied, end, found_again
from hybridize.source.bindings import bound_by
from hybridize.source.syntax import walk

#: What a part behind must compute to become a function: an optimizer's update.
_LEAST = 5.0


#: What of some statements may come behind the others, and behind some gradients.
Wait: TypeAlias = Callable[[Sequence[ast.stmt], Sequence[ast.stmt]], Behind]


@dataclass(frozen=True, slots=True)
class Divided:
    """The file as it is then, the statements in front (gradients included), and those behind, if they are worth it."""

    file: SourceFile
    front: tuple[ast.stmt, ...]
    back: tuple[ast.stmt, ...]
    asked: tuple[str, ...] = ()


def divided(
    file: SourceFile,
    block: Sequence[ast.stmt],
    blocked: Collection[int],
    work: Mapping[int, float],
    wait: Wait,
    *,
    unasked: bool = False,
) -> Divided | None:
    """The parts of a step (of some statements of a block) that lines which cannot be in a graph interrupt, if it has.

    Args:
        file: where they stand.
        block: the statements, a tape among them.
        blocked: the lines that cannot be in a graph.
        work: how many operations each line runs.
        wait: what of some statements may come behind the others, and behind some gradients.
        unasked: whether what waits must not ask for anything that the front may have changed since.
    """
    first, later = _front(block, blocked, wait, unasked)
    front, rest = block[:first], block[first:]
    stay = 0
    while front and front[-1] in later.late:  # it is there already
        front, later, stay = front[:-1], replace(later, late=later.late[:-1]), stay + 1
    tapes = {name for s in front if is_tape(s) for name in _recorders(s)}
    if not rest or not tapes or any(is_tape(s) for s in rest):
        return None
    found = _derived(rest, tapes)
    moved = found.moved(file, "gradients") if found is not None else None
    if found is None or moved is None:
        return None
    body, (edits, lines) = file.block(block[0]), moved
    edits += [each for s in later.late if (each := file.whole_lines(s, comment=True)) is not None]
    indent, behind = file.indentation(front[0]), file.behind(front[-1])
    late = list(file.dedented(later.late))
    if len(edits) < len(lines) + len(later.late) or indent is None or behind is None:
        return None
    after = "".join(f"\n{indent}{text}" for text in [*(text for _, text in lines), *late])
    edits.append(TextEdit(file.path, behind, behind, after))
    new = file.with_text(applied(file.lines, edits), end(rest[-1])[0])
    again = found_again(file, block[0], new)
    if not again:
        return None
    at, kept = body.index(block[0]), [s for s in front if s not in later.late]
    back = _back([s for s in body[body.index(rest[0]) :] if s not in found.whole], blocked, work, rest[-1])
    count = len(kept) + len(lines)
    first_behind = at + count + len(later.late) + stay
    return Divided(new, tuple(again[at : at + count]), tuple(again[first_behind + i] for i in back), later.asked)


def _front(block: Sequence[ast.stmt], blocked: Collection[int], wait: Wait, unasked: bool) -> tuple[int, Behind]:
    """How many statements come before what interrupts them, and what of these may wait until they are done, and the
    gradients, too."""
    first = next((i for i, s in enumerate(block) if next(forbidden([s]), None) is not None), len(block))
    for count in range(first, 0, -1):
        front, rest = block[:count], block[count:]
        tapes = {name for s in front if is_tape(s) for name in _recorders(s)}
        calls = [n for s in rest for n in walk(s) if isinstance(n, ast.expr) and _derives(n, tapes)]
        later = wait(front, [ast.Expr(call) for call in calls])
        stuck = any(stays(s, blocked) and s not in later.late for s in flat(front))
        if not stuck and not (unasked and later.asked):
            return count, later
    return 0, Behind()


def _recorders(tape: ast.With) -> set[str]:
    return {n for item in tape.items if item.optional_vars is not None for n in names_in(item.optional_vars)}


def _derived(rest: Sequence[ast.stmt], tapes: Collection[str]) -> Early | None:
    """The gradients that statements compute; None where a tape is needed among them, or what they bind before."""
    found = early(rest, lambda node: _derives(node, tapes))
    calls = [*(s.value for s in found.whole), *found.inner]
    uses = [n for s in rest for n in walk(s) if isinstance(n, ast.Name) and n.id in tapes]
    if len(uses) != len(calls) or any(isinstance(n, ast.Call) for c in calls for n in walk(c) if n is not c):
        return None
    bound: set[str] = set()
    for statement in rest:
        inside = set(walk(statement))
        if any(names_in(call) & bound for call in calls if call in inside):
            return None
        bound |= bound_by([statement]) if statement not in found.whole else set()
    return found


def _derives(node: ast.expr, tapes: Collection[str]) -> bool:
    """Whether an expression asks one of some tapes for a gradient."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in DERIVES
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in tapes
    )


def _back(rest: Sequence[ast.stmt], blocked: Collection[int], work: Mapping[int, float], update: ast.stmt) -> range:
    """The places of the statements behind that run with the update, if they compute enough."""
    if update not in rest or stays(update, blocked):
        return range(0)
    first = last = rest.index(update)
    while first > 0 and not stays(rest[first - 1], blocked):
        first -= 1
    while last + 1 < len(rest) and not stays(rest[last + 1], blocked):
        last += 1
    while not work_of([rest[first]], work):
        first += 1
    while not work_of([rest[last]], work):
        last -= 1
    enough = work_of(rest[first : last + 1], work) >= _LEAST
    return range(first, last + 1) if enough else range(0)
