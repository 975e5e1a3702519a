"""Code that a run may leave out: what a condition of Python decides of which nobody knows the answer.

A condition on a tensor leaves nothing out, for both of its branches are traced. What stands under another one happens
for some settings, kinds of arguments or backends, and whether a run ever has these is not seen.
"""

from __future__ import annotations

from collections.abc import Mapping

from hybridize.domain.objects import Lit, Tensor, Value
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Code
from hybridize.rules.model import RuleHit
from hybridize.tracing.views import FunctionView, ProjectView


def is_optional(function: FunctionView, hit: RuleHit, *, answers: bool = False) -> bool:
    """Whether a hit, or a call that leads to it, stands in a function where a run may not come to.

    With `answers` only what a call answers counts (whether a file is there, which may be so at the first call alone),
    and what stands behind an early return.
    What the condition of a decorator says of branches of the function itself is asked elsewhere (`unreached`).
    """
    made, code = function.facts.hybridization, function.code
    steps = [(hit.path, hit.line), *((step.path, step.line) for step in hit.evidence)]
    known = (answered if answers else conditional)(function.project)
    own = range(code.line, code.end_line + 1) if made is not None and made.conditional else range(0)
    return any(line in known.get(path, ()) and not (path == code.path and line in own) for path, line in steps)


def conditional(project: ProjectView) -> Mapping[str, set[int]]:
    """The lines of functions that stand under such conditions, by file."""
    return project.shared("conditional lines", lambda: _every(project, answers=False))


def answered(project: ProjectView) -> Mapping[str, set[int]]:
    """Of these lines those that stand under what a call has answered, or behind an early return."""
    return project.shared("answered lines", lambda: _every(project, answers=True))


def _every(project: ProjectView, *, answers: bool) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for code in project.solution.frames:
        if code.is_function:
            found.setdefault(code.path, set()).update(_lines(project, code, answers))
    return found


def _lines(project: ProjectView, code: Code, answers: bool) -> set[int]:
    lines: set[int] = set()
    index = index_of(code)
    for branch in index.of(ir.If):
        slot, inverse = branch.condition, False
        made = index.source(slot)
        while isinstance(made, ir.Unary) and made.operator == "not":
            slot, inverse = made.operand, not inverse
            made = index.source(slot)
        values = [frame.vals[slot] or frozenset() for frame in project.solution.frames[code]]
        for block, other, answer in (
            (branch.then, branch.orelse, not inverse),
            (branch.orelse, branch.then, inverse),
        ):
            if any(_may_be(value, answer) for value in values):
                continue
            if not answers or isinstance(made, ir.Call):
                lines |= _lines_of(block) - {branch.position >> 16}
            if other and isinstance(other[-1], ir.Return):  # what follows: the graph may have returned for ever
                lines |= _lines_of(_after(code.body, branch)) - {branch.position >> 16}
    for statement in index.of(ir.Try):
        for handler in statement.handlers:
            lines |= _lines_of(handler.body)
    return lines


def _after(block: ir.Block, branch: ir.If) -> ir.Block:
    """What follows a branch of a function's own body."""
    at = next((i for i, instr in enumerate(block) if instr is branch), len(block))
    return block[at + 1 :]


def _lines_of(block: ir.Block) -> set[int]:
    """The lines of a branch; what a condition says of a parameter stands where the function begins."""
    return {instr.position >> 16 for instr in instructions(block) if not isinstance(instr, ir.Refine)}


def _may_be(value: Value, answer: bool) -> bool:
    """Whether a condition is a tensor, or a constant that the program itself gives it decides so."""
    return any(isinstance(o, Tensor) or (isinstance(o, Lit) and bool(o.const) is answer) for o in value)
