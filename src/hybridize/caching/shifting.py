"""What was found in a part, where only space has changed since: the same, with the lines as they are now.

Repairs are text, and look at the comments and blank lines around what they change: where these are others, nothing is
given back, and the part is analyzed again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeVar

from hybridize.decide.model import Call, FileError, Finding, PartReport, Status
from hybridize.domain.places import moved_words
from hybridize.facts.model import Evidence, FunctionFacts, Hazard, Hybridization
from hybridize.records import replace
from hybridize.regex import regex
from hybridize.repairs.model import Bundle, Proposed
from hybridize.repairs.source.edits import Place, TextEdit

#: So many lines around a change of a repair are looked at by those who write it, or less.
_AROUND: Final = 3
#: Annotations of fields that are texts and numbers, however many.
_WITHOUT: Final = regex(r"(?:\b(?:str|int|float|bool|bytes|None|tuple|dict)\b|[\[\], .|])+")
#: What holds no place, however deep it goes.
_PLAIN: Final = (str, int, float, bytes, bool, type(None))


T = TypeVar("T")


class Moves(Protocol):
    """Where the lines of a file are now (`source.spacing.Moved`)."""

    added: int

    def line(self, old: int) -> int | None:
        """Where a line of code is now; None where that cannot be told."""

    def near(self, old: int) -> int:
        """Where a line is now, whatever stands on it."""

    def is_same(self, first: int, last: int) -> bool:
        """Whether what stands between two lines, and around them, is as it was."""


class Lost(Exception):
    """A place is not where it can be told."""


class Mover:
    """Takes what was found along with the lines of its files.

    Args:
        moves: of the files whose lines have moved, by path.
    """

    def __init__(self, moves: Mapping[str, Moves]) -> None:
        self._moves = moves
        self._named: dict[str, list[Moves]] = {}
        for path, each in moves.items():
            self._named.setdefault(path.rpartition("/")[2], []).append(each)
        self._evidence: dict[int, Evidence] = {}
        self._names: dict[type, tuple[str, ...]] = {}

    def part(self, report: PartReport) -> PartReport | None:
        """A part's report as it is now; None where that is to be found anew."""
        try:
            self._check(report)
            return replace(
                report,
                lines=report.lines + sum(each.added for each in self._moves.values()),
                functions=self._all(report.functions),
                findings=self._all(report.findings),
                repairs=self._all(report.repairs),
                calls=self._all(report.calls),
                unread=self._all(report.unread),
                failed=self._all(report.failed),
            )
        except Lost:
            return None

    def each(self, found: T) -> T | None:
        """One thing that was found as it is now; None where some line of it cannot be told."""
        try:
            moved: T = self._any(found)
        except Lost:
            return None
        return moved

    def _check(self, report: PartReport) -> None:
        """Raises Lost where a repair may have been written otherwise."""
        ends = {each.facts.id: each.facts.end_line for each in report.functions}
        for bundle in report.repairs:
            if not self.stands(bundle, ends.get(bundle.function, bundle.line)):
                raise Lost

    def stands(self, bundle: Bundle, end: int) -> bool:
        """Whether the lines that repairs were written for are as they were, to the `end` of their function."""
        places = [(bundle.path, bundle.line, end)]
        places += [(e.path, e.start[0], e.end[0]) for each in bundle.repairs for e in each.edits]
        return all(
            path not in self._moves or self._moves[path].is_same(first - _AROUND, last + _AROUND)
            for path, first, last in places
        ) and (bundle.otherwise is None or self.stands(bundle.otherwise, end))

    def _all(self, each: tuple[Any, ...]) -> tuple[Any, ...]:
        moved = self._any(each)
        assert isinstance(moved, tuple)
        return moved

    def _any(self, value: Any) -> Any:
        """A value, or the very same where nothing in it has moved."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is tuple:
            if not value:
                return value
            found = [self._any(each) for each in value]
            return value if all(a is b for a, b in zip(found, value, strict=True)) else tuple(found)
        if kind is Evidence:
            known = self._evidence.get(id(value))
            if known is None:
                known = self._evidence[id(value)] = self._with_line(value)
            return known
        how = _HOW.get(kind)
        if how is not None:
            return how(self, value)
        return self._fields(value)

    def _fields(self, value: Any) -> Any:
        """Whatever a record holds."""
        changed = {}
        kind = type(value)
        names = self._names.get(kind)
        if names is None:
            names = self._names[kind] = _may_hold_places(kind)
        for name in names:
            old = getattr(value, name)
            if old and type(old) not in _PLAIN:
                new = self._any(old)
                if new is not old:
                    changed[name] = new
        return replace(value, **changed) if changed else value

    def _with_line(self, value: Any) -> Any:
        """What has a sentence and a line of a file."""
        value = self._fields(value) if type(value) is not Evidence else value
        changed: dict[str, object] = {}
        moved = self._moves.get(value.path)
        if moved is not None and value.line:
            changed["line"] = self._line(moved, value.line)
            if type(value) is Finding:
                changed["end_line"] = self._line(moved, value.end_line)
        said = moved_words(value.message, lambda path, line: self._named_line(path, line, value))
        if said != value.message:
            changed["message"] = said
        return replace(value, **changed) if changed else value

    def _facts(self, facts: FunctionFacts) -> FunctionFacts:
        found: FunctionFacts = self._fields(facts)
        moved = self._moves.get(facts.path)
        if moved is None:
            return found
        hybrid = facts.hybridization
        return replace(
            found,
            line=self._line(moved, facts.line),
            end_line=self._line(moved, facts.end_line),
            hybridization=replace(hybrid, line=self._line(moved, hybrid.line)) if hybrid is not None else None,
        )

    def _hazard(self, hazard: Hazard) -> Hazard:
        found: Hazard = self._fields(hazard)
        said = {old.message: new.message for old, new in zip(hazard.evidence, found.evidence, strict=True)}
        return replace(found, message=said.get(hazard.message, hazard.message))

    def _bundle(self, bundle: Bundle) -> Bundle:
        found: Bundle = self._fields(bundle)
        moved = self._moves.get(bundle.path)
        return found if moved is None else replace(found, line=self._line(moved, bundle.line))

    def _proposed(self, repair: Proposed) -> Proposed:
        found: Proposed = self._fields(repair)
        moved = self._moves.get(repair.path)

        def where(path: str, line: int) -> int:
            return self._named_line(path, line, repair)

        return replace(
            found,
            line=repair.line if moved is None else self._line(moved, repair.line),
            says=moved_words(repair.says, where),
            doubt=moved_words(repair.doubt, where) if repair.doubt is not None else None,
            causes=tuple(
                (code, path, self._line(self._moves[path], line) if path in self._moves else line, column)
                for code, path, line, column in repair.causes
            ),
        )

    def _call(self, call: Call) -> Call:
        moved = self._moves.get(call.path)
        return call if moved is None else replace(call, line=self._line(moved, call.line))

    def _edit(self, edit: TextEdit) -> TextEdit:
        moved = self._moves.get(edit.path)
        if moved is None:
            return edit

        def place(old: Place) -> Place:
            return moved.near(old[0]), old[1]

        return replace(edit, start=place(edit.start), end=place(edit.end))

    def _line(self, moved: Moves, line: int) -> int:
        found = moved.line(line)
        if found is None:
            raise Lost
        return found

    def _named_line(self, file: str, line: int, value: Any) -> int:
        """Where a line is now that a sentence names: of a file of that name, or of the one that it is about."""
        if file:
            moved = self._moves.get(file)
            named = [moved] if moved is not None else self._named.get(file, ())
        else:
            said = f"line {line}"
            about = [e.path for e in getattr(value, "evidence", ()) if said in e.message] or [value.path]
            named = [self._moves[path] for path in dict.fromkeys(about) if path in self._moves]
            if named and len(set(about)) > 1:
                raise Lost
        if not named:
            return line
        if len(named) > 1:
            raise Lost
        return self._line(named[0], line)


def _may_hold_places(record: type) -> tuple[str, ...]:
    """The fields of a record that are more than texts and numbers; none of what is no record."""
    names: tuple[str, ...] = getattr(record, "__match_args__", ())
    return tuple(name for name in names if not _WITHOUT.fullmatch(str(record.__annotations__[name])))


_HOW: Final[Mapping[type, Callable[[Mover, Any], Any]]] = {
    Status: Mover._with_line,
    Finding: Mover._with_line,
    FileError: Mover._with_line,
    FunctionFacts: Mover._facts,
    Hazard: Mover._hazard,
    Hybridization: lambda mover, value: value,
    Bundle: Mover._bundle,
    Call: Mover._call,
    Proposed: Mover._proposed,
    TextEdit: Mover._edit,
}
