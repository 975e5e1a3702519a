"""What a changeset did to hybridization, read off the syntax trees before and after.

The answer is a pre-fill for raters, with its evidence; it never counts as a rating. Several kinds may hold; one is
primary,
by an order that follows how people read a diff:

1. What happened to functions that are there on both sides tells more than code that came or went as a whole.
2. A function that lost its decorator while another one gained one is a relocation.
3. Among additions, removals and changed arguments the more frequent wins; a signature is preferred to other arguments.
4. Code that came or went as a whole counts as an addition or a removal if nothing else happened.
5. Moves, renames, re-indentation, comments, strings and formatting change nothing: other.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from hybridize.study import requirements
from hybridize.study.compare import Event, FilePair, compare
from hybridize.study.keyword import DEFAULT, Keyword
from hybridize.study.rulediff import RuleRunner, Sides, compare_rules, likely_category
from hybridize.study.store import SuggestionRow, file_changes, replace_suggestions
from hybridize.study.uses import find_uses
from hybridize.study.uses_data import EMPTY, Use

Kind = Literal[
    "add_decorator",
    "remove_decorator",
    "change_argument",
    "add_signature",
    "relocate",
    "re_add",
    "upgrade_library",
    "other",
]
KINDS: Final[tuple[Kind, ...]] = (
    *("add_decorator", "remove_decorator", "change_argument", "add_signature", "relocate", "re_add"),
    *("upgrade_library", "other"),
)

REVERTING: Final = ("revert", "undo", "restore", "bring back", "put back", "re-add", "readd", "back out")


@dataclass(frozen=True, slots=True)
class Evidence:
    """One sentence with its place; `side` says in which version the line counts."""

    message: str
    path: str
    line: int
    side: Literal["before", "after"] = "after"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One kind that holds, with why."""

    kind: Kind
    evidence: tuple[Evidence, ...]


History = Callable[[Event], str | None]
"""The earlier changeset that took this function's use away, or null."""


def no_history(_: Event) -> str | None:
    """For a changeset judged by itself."""
    return None


# -- from trees to kinds ---------------------------------------------------------------------------------------------


def suggest(pairs: Sequence[FilePair], keyword: Keyword = DEFAULT, history: History = no_history) -> list[Suggestion]:
    """Kinds that hold for a changeset, the primary one first. Never empty: `other` holds where nothing else does."""
    events = compare(pairs)
    strong = [e for e in events if not e.weak]
    active = [e for e in strong if e.kind != "same"]
    respelled = any(sorted(u.text for u in e.before) != sorted(u.text for u in e.after) for e in strong)
    if not active and not respelled:
        # An alias or a mention counts only where it is all there is; not if existing uses just go by it now.
        active = [e for e in events if e.kind != "same"]
    groups = _Groups.of(active, keyword, history)
    primary = groups.primary()
    found = {kind: evidence for kind, evidence in groups.evidence().items() if evidence}
    if primary == "other" or not found:
        moved = [e for e in strong if e.moved]
        found["other"] = tuple(_moved(e) for e in moved[:5]) or (_nothing(pairs),)
    if primary not in found:
        found[primary] = next(iter(found.values()))
    order = [primary, *(kind for kind in KINDS if kind in found and kind != primary)]
    return [Suggestion(kind, found[kind]) for kind in order]


@dataclass(frozen=True, slots=True)
class _Groups:
    """Events by what they mean. `new` and `gone` are code that came or went with its use."""

    added: tuple[Event, ...]
    again: tuple[tuple[Event, str], ...]
    removed: tuple[Event, ...]
    signature: tuple[Event, ...]
    argument: tuple[Event, ...]
    new: tuple[Event, ...]
    gone: tuple[Event, ...]
    keyword: Keyword

    @classmethod
    def of(cls, events: Iterable[Event], keyword: Keyword, history: History) -> _Groups:
        sorted_: dict[str, list[Event]] = {n: [] for n in ("added", "removed", "signature", "argument", "new", "gone")}
        again: list[tuple[Event, str]] = []
        for event in events:
            if event.kind == "add":
                earlier = history(event)
                if earlier:
                    again.append((event, earlier))
                sorted_["added" if event.existed else "new"].append(event)
            elif event.kind == "remove":
                sorted_["removed" if event.exists else "gone"].append(event)
            else:
                sorted_["signature" if _gains_signature(event, keyword) else "argument"].append(event)
        return cls(again=tuple(again), keyword=keyword, **{name: tuple(found) for name, found in sorted_.items()})

    def relocated(self) -> bool:
        """Whether what one function lost another one got."""
        if self.removed and (self.added or self.new):
            return _near(self.removed, (*self.added, *self.new))
        return bool(self.gone and self.added and not self.new) and _near(self.gone, self.added)

    def primary(self) -> Kind:
        """The one kind that a rater would most likely name."""
        arguments = len(self.signature) + len(self.argument)
        argument_kind: Kind = "add_signature" if len(self.signature) >= len(self.argument) else "change_argument"
        if self.relocated():
            gained, lost = len(self.added) or len(self.new), len(self.removed) or len(self.gone)
            if max(gained, lost) <= 3 * min(gained, lost):
                return "relocate"
        if self.added or self.removed or arguments:
            most = max(len(self.added), len(self.removed), arguments)
            if len(self.added) == most:
                return self._add()
            if arguments == most:
                return argument_kind
            return "remove_decorator"
        # Code rewritten as a whole: hybridization came or went only if one side clearly outweighs the other.
        if self.new and len(self.new) >= 2 * len(self.gone):
            return self._add()
        if self.gone and len(self.gone) >= 3 * len(self.new):
            return "remove_decorator"
        return "other"

    def _add(self) -> Kind:
        return "re_add" if 2 * len(self.again) >= len(self.added or self.new) and self.again else "add_decorator"

    def evidence(self) -> dict[Kind, tuple[Evidence, ...]]:
        again = {id(event) for event, _ in self.again}
        added = [e for e in (*self.added, *self.new) if id(e) not in again]
        removed = [*self.removed, *self.gone]
        found: dict[Kind, tuple[Evidence, ...]] = {
            "add_decorator": tuple(_gained(e) for e in added),
            "remove_decorator": tuple(_lost(e) for e in removed),
            "change_argument": tuple(_changed(e) for e in self.argument),
            "add_signature": tuple(_changed(e) for e in self.signature),
            "re_add": tuple(
                Evidence(f"{e.name} gets back what {sha[:12]} removed", e.path, e.line) for e, sha in self.again
            ),
        }
        if self.relocated():
            lost = (self.removed or self.gone)[0]
            got = (self.added or self.new)[0]
            text = f"{_text(lost.before)} goes from {lost.name} to {got.name}"
            found["relocate"] = (Evidence(text, got.path, got.line),)
        return found


def _gains_signature(event: Event, keyword: Keyword) -> bool:
    name = keyword.signature_argument
    if name is None:
        return False
    before = sum(use.argument(name) is not None for use in event.before)
    return sum(use.argument(name) is not None for use in event.after) > before


def _near(lost: Iterable[Event], got: Iterable[Event]) -> bool:
    """Whether some loss and some gain are in the same file, or in methods of one name (pulled up, pushed down)."""
    names = {_leaf(e) for e in lost if "." in e.name} & {_leaf(e) for e in got if "." in e.name}
    return bool(names or {e.path for e in lost} & {e.path for e in got})


def _leaf(event: Event) -> str:
    return event.name.partition("#")[0].rpartition(".")[2]


def _gained(event: Event) -> Evidence:
    how = "" if event.existed else " (new code)"
    return Evidence(f"{event.name} gets {_text(event.after)}{how}", event.path, event.line)


def _lost(event: Event) -> Evidence:
    how = "" if event.exists else " (with its code)"
    return Evidence(f"{event.name} loses {_text(event.before)}{how}", event.path, event.line, "before")


def _changed(event: Event) -> Evidence:
    return Evidence(f"{event.name}: {_text(event.before)} becomes {_text(event.after)}", event.path, event.line)


def _moved(event: Event) -> Evidence:
    return Evidence(f"{event.name} is moved or renamed and keeps {_text(event.after)}", event.path, event.line)


def _nothing(pairs: Sequence[FilePair]) -> Evidence:
    path = pairs[0].path if pairs else ""
    return Evidence("only comments, strings, formatting or other code changed", path, 1)


def _text(uses: Sequence[Use]) -> str:
    text = uses[0].text if uses else ""
    return text if len(text) <= 100 else text[:97] + "..."


# -- from the database -----------------------------------------------------------------------------------------------


def suggest_item(
    connection: sqlite3.Connection,
    item: str,
    keyword: Keyword = DEFAULT,
    rules: RuleRunner | None = None,
    sides: Sides | None = None,
) -> list[SuggestionRow]:
    """Suggestions on a mined changeset, the primary one first; not yet stored.

    With `rules`, each row also has the codes of those that fire before and not after, and the category they stand for.
    """
    row = connection.execute(
        "SELECT c.* FROM changeset c JOIN item i ON i.changeset_id = c.id WHERE i.id = ?", (item,)
    ).fetchone()
    if row is None:
        return []
    pairs: list[FilePair] = []
    upgrades: list[Evidence] = []
    files = file_changes(connection, row["id"])
    for file in files:
        path = file.path_after or file.path_before or ""
        if requirements.is_requirements(path) or path.endswith("setup.py"):
            for name, old, new, line in requirements.differences(file.before or "", file.after or "", keyword.packages):
                upgrades.append(Evidence(f"{name} {old} becomes {new}", path, line))
        if requirements.is_requirements(path):
            continue
        before = EMPTY if file.before is None else find_uses(file.before, keyword, file.outside_before)
        after = EMPTY if file.after is None else find_uses(file.after, keyword, file.outside_after)
        pairs.append(FilePair(file.path_before, file.path_after, before, after))
    found = suggest(pairs, keyword, lambda event: _earlier_removal(connection, row, event))
    if upgrades:
        position = 0 if found[0].kind == "other" else len(found)
        found.insert(position, Suggestion("upgrade_library", tuple(upgrades)))
    gone = []
    # Code that comes or goes as a whole settles nothing; asking the rules takes seconds.
    if rules is not None and any(e.existed and e.exists and e.kind != "same" for e in compare(pairs)):
        gone = compare_rules(sides or Sides(connection), row, files, rules)
    codes, category = tuple(sorted({hit.code for hit in gone})), likely_category(gone)
    return [
        SuggestionRow(
            item,
            suggestion.kind,
            number == 0,
            tuple(
                {"message": e.message, "path": e.path, "line": e.line, "side": e.side} for e in suggestion.evidence[:50]
            ),
            codes,
            category,
        )
        for number, suggestion in enumerate(found)
    ]


def _earlier_removal(connection: sqlite3.Connection, changeset: sqlite3.Row, event: Event) -> str | None:
    """The latest earlier changeset of the repository in which the function lost its use and stayed.

    A changeset that says it reverts also brings back functions that went as a whole.
    """
    name = event.name.partition("#")[0]
    leaf = name.rpartition(".")[2]
    place = event.path.rpartition("/")[2]
    rows = connection.execute(
        "SELECT c.sha, h.qualname, h.line_after, h.uses_removed, h.uses_added, h.uses_after_json, f.path_after,"
        " f.path_before FROM change h JOIN file_change f ON f.id = h.file_change_id"
        " JOIN changeset c ON c.id = f.changeset_id WHERE c.repository_id = ? AND h.uses_removed > h.uses_added"
        " AND (c.committed_at, c.authored_at) < (?, ?) AND h.qualname IN (?, ?)"
        " ORDER BY c.committed_at DESC, c.authored_at DESC",
        (changeset["repository_id"], changeset["committed_at"], changeset["authored_at"], name, _scope(event)),
    )
    reverting = changeset["subject"].lower().startswith(REVERTING)
    for row in rows:
        paths = {(row["path_after"] or "").rpartition("/")[2], (row["path_before"] or "").rpartition("/")[2]}
        if place not in paths:
            continue
        if row["qualname"] == name and not json.loads(row["uses_after_json"]):
            if row["line_after"] is not None or reverting:
                return str(row["sha"])
        elif row["qualname"] != name and not any(leaf in text for text in json.loads(row["uses_after_json"])):
            return str(row["sha"])
    return None


def _scope(event: Event) -> str:
    """Where a wrapping call stands; a decorator has no place of its own to look up."""
    wraps = [use for use in event.after if use.role != "decorator"]
    return wraps[0].scope if wraps and event.existed else ""


def suggest_all(
    connection: sqlite3.Connection,
    keyword: Keyword = DEFAULT,
    rules: RuleRunner | None = None,
    *,
    again: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Suggest on every mined changeset that has none yet (or on all, `again`); says how many."""
    where = "" if again else " AND NOT EXISTS (SELECT 1 FROM suggestion s WHERE s.item = i.id)"
    items = [
        row[0] for row in connection.execute(f"SELECT i.id FROM item i WHERE i.kind = 'commit'{where} ORDER BY i.id")
    ]
    sides = Sides(connection)
    try:
        for number, item in enumerate(items, 1):
            replace_suggestions(connection, item, suggest_item(connection, item, keyword, rules, sides))
            if progress:
                progress(number, len(items))
    finally:
        sides.close()
    return len(items)
