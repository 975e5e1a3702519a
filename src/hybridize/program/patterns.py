"""Lowering of `match`: a chain of branches, each binding what its pattern captures."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hybridize.program import ir
from hybridize.program.builder import Builder, Incoming, position
from hybridize.program.ir import Block

if TYPE_CHECKING:
    from collections.abc import Callable


class PatternLowering(Builder):
    """Lowers `match` statements."""

    if TYPE_CHECKING:

        def expr(self, node: ast.expr) -> int: ...
        def branch(
            self, lower: Callable[[], object], refinements: Sequence[Any] = ()
        ) -> tuple[Block, dict[str, int]]: ...
        def block(self, statements: Sequence[ast.stmt]) -> bool: ...

    def match(self, node: ast.Match) -> bool:
        """Lowers a `match`: case by case, what is left over falls to the next one."""
        return self._cases(self.expr(node.subject), list(node.cases), position(node))

    def _cases(self, subject: int, cases: list[ast.match_case], pos: int) -> bool:
        if not cases:
            return True
        case = cases[0]
        case_pos = position(case.pattern)
        condition = self.pattern_test(case.pattern, subject)
        falls = [True, True]

        def then() -> None:
            self.capture(case.pattern, subject)
            if case.guard is not None:
                self.expr(case.guard)
            falls[0] = self.block(case.body)

        def other() -> None:
            falls[1] = self._cases(subject, cases[1:], pos)

        block, changes = self.branch(then)
        irrefutable = case.guard is None and _irrefutable(case.pattern)
        rest: Block = ()
        rest_changes: dict[str, int] = {}
        if irrefutable:
            falls[1] = False
        else:
            rest, rest_changes = self.branch(other)
        if case.guard is not None and not irrefutable:
            unknown = self.slot()
            self.emit(ir.Match(case_pos, unknown, subject, "test"))
            condition = unknown
        first, second = self.edge(), self.edge()
        self.emit(ir.If(case_pos, condition, block, rest, first, second))
        incoming: list[Incoming] = []
        if falls[0]:
            incoming.append((first, changes))
        if falls[1]:
            incoming.append((second, rest_changes))
        self.join(incoming, case_pos)
        return bool(incoming)

    def pattern_test(self, pattern: ast.pattern, subject: int) -> int:
        """The slot of the condition under which a pattern matches, as far as it can be told."""
        pos = position(pattern)
        match pattern:
            case ast.MatchAs(pattern=None):
                return self.constant(True)
            case ast.MatchAs(pattern=ast.pattern() as inner):
                return self.pattern_test(inner, subject)
            case ast.MatchValue(value=value):
                return self._compare("==", subject, self.expr(value), pos)
            case ast.MatchSingleton(value=value):
                return self._compare("is", subject, self.constant(value), pos)
            case ast.MatchClass(cls=cls, patterns=[], kwd_patterns=[]):
                dst = self.slot()
                self.emit(ir.Match(pos, dst, subject, "class", self.expr(cls)))
                return dst
            case ast.MatchOr(patterns=patterns):
                tests = tuple(self.pattern_test(p, subject) for p in patterns)
                dst = self.slot()
                self.emit(ir.BoolOp(pos, dst, tests, "or"))
                return dst
            case ast.MatchSequence() | ast.MatchMapping():
                dst = self.slot()
                self.emit(ir.Match(pos, dst, subject, "shape", shape=_shape(pattern)))
                return dst
        dst = self.slot()
        self.emit(ir.Match(pos, dst, subject, "test"))
        return dst

    def _compare(self, op: str, left: int, right: int, pos: int) -> int:
        dst = self.slot()
        self.emit(ir.Compare(pos, dst, op, left, right))
        return dst

    def capture(self, pattern: ast.pattern, subject: int) -> None:
        """Binds the names of a pattern."""
        pos = position(pattern)
        if isinstance(pattern, (ast.MatchSequence, ast.MatchMapping)):
            narrowed = self.slot()
            self.emit(ir.Refine(pos, narrowed, subject, "shape", True, shape=_shape(pattern)))
            subject = narrowed
        match pattern:
            case ast.MatchAs(pattern=inner, name=name):
                if inner is not None:
                    self.capture(inner, subject)
                if name is not None:
                    self.store(name, subject, pos)
            case ast.MatchOr(patterns=patterns):
                for alternative in patterns:
                    self.capture(alternative, subject)
            case ast.MatchSequence(patterns=patterns):
                self._sequence_pattern(patterns, subject, pos)
            case ast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
                for key, value in zip(keys, patterns, strict=True):
                    dst = self.slot()
                    self.emit(ir.Item(pos, dst, subject, self.expr(key)))
                    self.capture(value, dst)
                if rest:
                    self.store(rest, subject, pos)
            case ast.MatchClass():
                self._class(pattern, subject, pos)

    def _sequence_pattern(self, patterns: Sequence[ast.pattern], subject: int, pos: int) -> None:
        star = next((i for i, p in enumerate(patterns) if isinstance(p, ast.MatchStar)), -1)
        slots = tuple(self.slot() for _ in patterns)
        self.emit(ir.Unpack(pos, slots, subject, star))
        for part, slot in zip(patterns, slots, strict=True):
            if isinstance(part, ast.MatchStar):
                if part.name:
                    self.store(part.name, slot, pos)
            else:
                self.capture(part, slot)

    def _class(self, pattern: ast.MatchClass, subject: int, pos: int) -> None:
        narrowed = self.slot()
        self.emit(ir.Refine(pos, narrowed, subject, "isinstance", True, self.expr(pattern.cls)))
        for i, part in enumerate(pattern.patterns):
            dst = self.slot()
            self.emit(ir.Match(pos, dst, narrowed, "position", index=i))
            self.capture(part, dst)
        for name, part in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
            dst = self.slot()
            self.emit(ir.Attr(pos, dst, narrowed, name))
            self.capture(part, dst)


def _shape(pattern: ast.MatchSequence | ast.MatchMapping) -> tuple[str, int, bool]:
    """What a sequence or mapping pattern asks for: kind, number of elements, whether there may be more."""
    if isinstance(pattern, ast.MatchMapping):
        return ("mapping", len(pattern.keys), True)
    starred = any(isinstance(p, ast.MatchStar) for p in pattern.patterns)
    return ("sequence", len(pattern.patterns) - starred, starred)


def _irrefutable(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and (pattern.pattern is None or _irrefutable(pattern.pattern))
