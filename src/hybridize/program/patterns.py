"""Lowering of `match`: a chain of branches, each binding what its pattern captures."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final

from hybridize.program import ir
from hybridize.program.builder import Incoming, position
from hybridize.program.ir import NO_SLOT, Block
from hybridize.program.scope_lowering import Lowering


def _match(low: Lowering, node: ast.Match) -> bool:
    """Lowers a `match`: case by case, what is left over falls to the next one."""
    return _cases(low, low.expr(node.subject), list(node.cases), position(node))


def _cases(low: Lowering, subject: int, cases: list[ast.match_case], pos: int) -> bool:
    if not cases:
        return True
    case = cases[0]
    case_pos = position(case.pattern)
    condition = _pattern_test(low, case.pattern, subject)
    falls = [True, True]

    def then() -> None:
        _capture(low, case.pattern, subject)
        if case.guard is not None:
            low.expr(case.guard)
        falls[0] = low.block(case.body)

    def other() -> None:
        falls[1] = _cases(low, subject, cases[1:], pos)

    block, changes = low.branch(then)
    irrefutable = case.guard is None and _irrefutable(case.pattern)
    rest: Block = ()
    rest_changes: dict[str, int] = {}
    if irrefutable:
        falls[1] = False
    else:
        rest, rest_changes = low.branch(other)
    if case.guard is not None and not irrefutable:
        unknown = low.slot()
        low.emit(ir.Match(case_pos, unknown, subject, "test"))
        condition = unknown
    first, second = low.edge(), low.edge()
    low.emit(ir.If(case_pos, condition, block, rest, first, second))
    incoming: list[Incoming] = []
    if falls[0]:
        incoming.append((first, changes))
    if falls[1]:
        incoming.append((second, rest_changes))
    low.join(incoming, case_pos)
    return bool(incoming)


def _pattern_test(low: Lowering, pattern: ast.pattern, subject: int) -> int:
    """The slot of the condition under which a pattern matches, as far as it can be told."""
    pos = position(pattern)
    match pattern:
        case ast.MatchAs(pattern=None):
            return low.constant(True)
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return _pattern_test(low, inner, subject)
        case ast.MatchValue(value=value):
            return _compare(low, "==", subject, low.expr(value), pos)
        case ast.MatchSingleton(value=value):
            return _compare(low, "is", subject, low.constant(value), pos)
        case ast.MatchClass(cls=cls, patterns=[], kwd_patterns=[]):
            dst = low.slot()
            low.emit(ir.Match(pos, dst, subject, "class", low.expr(cls)))
            return dst
        case ast.MatchOr(patterns=patterns):
            tests = tuple(_pattern_test(low, p, subject) for p in patterns)
            dst = low.slot()
            low.emit(ir.BoolOp(pos, dst, tests, "or"))
            return dst
        case ast.MatchSequence() | ast.MatchMapping():
            dst = low.slot()
            low.emit(ir.Match(pos, dst, subject, "shape", shape=_shape(pattern)))
            return dst
    dst = low.slot()
    low.emit(ir.Match(pos, dst, subject, "test"))
    return dst


def _compare(low: Lowering, op: str, left: int, right: int, pos: int) -> int:
    dst = low.slot()
    low.emit(ir.Compare(pos, dst, op, left, right))
    return dst


def _capture(low: Lowering, pattern: ast.pattern, subject: int) -> None:
    """Binds the names of a pattern."""
    pos = position(pattern)
    if isinstance(pattern, (ast.MatchSequence, ast.MatchMapping)):
        narrowed = low.slot()
        low.emit(ir.Refine(pos, narrowed, subject, "shape", True, shape=_shape(pattern)))
        subject = narrowed
    match pattern:
        case ast.MatchAs(pattern=inner, name=name):
            if inner is not None:
                _capture(low, inner, subject)
            if name is not None:
                low.store(name, subject, pos)
        case ast.MatchOr(patterns=patterns):
            for alternative in patterns:
                _capture(low, alternative, subject)
        case ast.MatchSequence(patterns=patterns):
            _sequence_pattern(low, patterns, subject, pos)
        case ast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
            for key, value in zip(keys, patterns, strict=True):
                dst = low.slot()
                low.emit(ir.Item(pos, dst, subject, low.expr(key)))
                _capture(low, value, dst)
            if rest:
                others = low.slot()  # a dict of its own: what is done to it is not done to the subject
                low.emit(ir.Dict(pos, others, ((NO_SLOT, subject),)))
                low.store(rest, others, pos)
        case ast.MatchClass():
            _class(low, pattern, subject, pos)


def _sequence_pattern(low: Lowering, patterns: Sequence[ast.pattern], subject: int, pos: int) -> None:
    star = next((i for i, p in enumerate(patterns) if isinstance(p, ast.MatchStar)), -1)
    slots = tuple(low.slot() for _ in patterns)
    low.emit(ir.Unpack(pos, slots, subject, star))
    for part, slot in zip(patterns, slots, strict=True):
        if isinstance(part, ast.MatchStar):
            if part.name:
                low.store(part.name, slot, pos)
        else:
            _capture(low, part, slot)


def _class(low: Lowering, pattern: ast.MatchClass, subject: int, pos: int) -> None:
    narrowed = low.slot()
    low.emit(ir.Refine(pos, narrowed, subject, "isinstance", True, low.expr(pattern.cls)))
    for i, part in enumerate(pattern.patterns):
        dst = low.slot()
        low.emit(ir.Match(pos, dst, narrowed, "position", index=i))
        _capture(low, part, dst)
    for name, part in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
        dst = low.slot()
        low.emit(ir.Attr(pos, dst, narrowed, name))
        _capture(low, part, dst)


def _shape(pattern: ast.MatchSequence | ast.MatchMapping) -> tuple[str, int, bool]:
    """What a sequence or mapping pattern asks for: kind, number of elements, whether there may be more."""
    if isinstance(pattern, ast.MatchMapping):
        return ("mapping", len(pattern.keys), True)
    starred = any(isinstance(p, ast.MatchStar) for p in pattern.patterns)
    return ("sequence", len(pattern.patterns) - starred, starred)


def _irrefutable(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and (pattern.pattern is None or _irrefutable(pattern.pattern))


STATEMENTS: Final[dict[type[ast.stmt], Callable[[Lowering, Any], bool | None]]] = {
    ast.Match: _match,
}
