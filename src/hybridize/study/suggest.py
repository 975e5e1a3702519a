"""What a changeset did to hybridization, read off the syntax trees before and after.

The answer is a pre-fill for raters, with its evidence; it never counts as a rating. Several kinds may hold; one is
primary, by what the codebook's definitions mean to people who read diffs (`docs/study-suggestions.md` says how we
know; `suggest_groups` has them as code):

1. What happened to functions that are there on both sides decides; the more frequent of adding, removing and changing
   arguments is the main kind. A use that is put under a condition goes, one that loses its condition comes; of a
   decorator and a wrapping call, one of the two that goes is a use that goes.
2. A use that goes to another function, a function that moves or gets another name with its use, a decorator that
   becomes a wrapping call: relocated.
3. Code that came or went as a whole together with its use is other, unless the message says that it is the point.
4. A decorator that the history, a comment, or by what the message says somebody had taken away comes back: re-added.
5. Re-indentation, comments, strings and formatting change nothing, nor does another object of the API's last name in
   its place (`@backend.function`): other.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from hybridize.study import requirements, suggest_model
from hybridize.study.compare import Event, FilePair, compare
from hybridize.study.keyword import DEFAULT, Keyword
from hybridize.study.rulediff import RuleRunner, Sides, changed, compare_rules, likely_category
from hybridize.study.store import ChangedFile, SuggestionRow, file_changes, replace_suggestions
from hybridize.study.suggest_groups import Evidence, Groups, History, Kind, happened, no_history
from hybridize.study.uses import find_uses
from hybridize.study.uses_data import EMPTY

REVERTING: Final = ("revert", "undo", "restore", "bring back", "put back", "re-add", "readd", "back out")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One kind that holds, with why."""

    kind: Kind
    evidence: tuple[Evidence, ...]
    confidence: float = 0.0


# -- from trees to kinds ---------------------------------------------------------------------------------------------


def suggest(
    pairs: Sequence[FilePair],
    keyword: Keyword = DEFAULT,
    history: History = no_history,
    message: str = "",
    upgrades: Sequence[Evidence] = (),
) -> list[Suggestion]:
    """Kinds that hold for a changeset, the primary one first. Never empty: `other` holds where nothing else does."""
    groups, found = examine(pairs, keyword, history, message, upgrades)
    return ranked(groups, found, message, upgrades)


def ranked(
    groups: Groups, found: dict[Kind, tuple[Evidence, ...]], message: str, upgrades: Sequence[Evidence]
) -> list[Suggestion]:
    """The kinds that were found: the primary one by the rules, the rest by the model's confidence."""
    model = suggest_model.shipped()
    confidences = model.confidences(groups.features(message, bool(upgrades)))
    primary = groups.primary(message)
    sure = model.calibrated(confidences.get(primary, 0.0))
    left = 1 - sure
    rest = sorted((kind for kind in found if kind != primary), key=lambda kind: -confidences.get(kind, 0.0))
    total = sum(share for kind, share in confidences.items() if kind != primary) or 1.0
    shares = {primary: sure} | {kind: left * confidences.get(kind, 0.0) / total for kind in rest}
    return [Suggestion(kind, found[kind], round(share, 3)) for kind, share in shares.items()]


def examine(
    pairs: Sequence[FilePair],
    keyword: Keyword = DEFAULT,
    history: History = no_history,
    message: str = "",
    upgrades: Sequence[Evidence] = (),
) -> tuple[Groups, dict[Kind, tuple[Evidence, ...]]]:
    """What happened, and the kinds that may be meant by it with their evidence; the primary one is among them."""
    events = compare(pairs)
    strong = [e for e in events if not e.weak]
    active = [e for e in strong if happened(e)]
    respelled = any(sorted(u.text for u in e.before) != sorted(u.text for u in e.after) for e in strong)
    if not active and not respelled:
        # An alias or a mention counts only where it is all there is; not if existing uses just go by it now.
        active = [e for e in events if e.kind != "same"]
    groups = Groups.of(active, keyword, history, _commented(pairs, keyword), bool(upgrades))
    found = {kind: evidence for kind, evidence in groups.evidence().items() if evidence}
    if upgrades:
        found["upgrade_library"] = tuple(upgrades)
    found.setdefault("other", (_nothing(pairs),))
    primary = groups.primary(message)
    if primary not in found:
        found[primary] = next(iter(found.values()))
    return groups, found


def _commented(pairs: Sequence[FilePair], keyword: Keyword) -> frozenset[tuple[str, str]]:
    """Functions, by path and name, above which a use stood as a comment."""
    leaves = "|".join(map(re.escape, keyword.leaves))
    pattern = re.compile(rf"\s*#\s*@?[\w.]*\b(?:{leaves})\b(?:\(|\s*$)")
    found = set()
    for pair in pairs:
        for function in pair.before.functions.values():
            above = pair.before.lines[max(function.line - 4, 0) : function.def_line - 1]
            if any(pattern.match(line) for line in above):
                found.add((pair.path, function.qualname))
    return frozenset(found)


def _nothing(pairs: Sequence[FilePair]) -> Evidence:
    path = pairs[0].path if pairs else ""
    return Evidence("only comments, strings, formatting or other code changed", path, 1)


# -- from the database -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prepared:
    """A mined changeset with what happened in it."""

    changeset: sqlite3.Row
    files: tuple[ChangedFile, ...]
    pairs: tuple[FilePair, ...]
    upgrades: tuple[Evidence, ...]
    message: str
    groups: Groups
    found: dict[Kind, tuple[Evidence, ...]]

    def suggestions(self) -> list[Suggestion]:
        """The kinds that hold, the primary one first."""
        return ranked(self.groups, self.found, self.message, self.upgrades)


def prepare(connection: sqlite3.Connection, item: str, keyword: Keyword = DEFAULT) -> Prepared | None:
    """Compare the two sides of a mined changeset; null if there is none of this name."""
    row = connection.execute(
        "SELECT c.* FROM changeset c JOIN item i ON i.changeset_id = c.id WHERE i.id = ?", (item,)
    ).fetchone()
    if row is None:
        return None
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
    message = f"{row['subject']}\n{row['body']}".strip()
    groups, found = examine(pairs, keyword, lambda event: _earlier_removal(connection, row, event), message, upgrades)
    return Prepared(row, tuple(files), tuple(pairs), tuple(upgrades), message, groups, found)


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
    prepared = prepare(connection, item, keyword)
    if prepared is None:
        return []
    found = prepared.suggestions()
    gone = []
    if rules is not None:
        functions = changed(prepared.pairs, compare(prepared.pairs))
        # Code that comes or goes as a whole settles nothing; asking the rules takes seconds.
        if functions[0] and functions[1]:
            gone = compare_rules(sides or Sides(connection), prepared.changeset, prepared.files, functions, rules)
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
            suggestion.confidence,
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
    """Suggest on every selected changeset that has no suggestion yet (or on all, `again`); says how many."""
    where = "" if again else " AND NOT EXISTS (SELECT 1 FROM suggestion s WHERE s.item = i.id)"
    items = [
        row[0]
        for row in connection.execute(
            f"SELECT i.id FROM item i WHERE i.kind = 'commit' AND i.selected{where} ORDER BY i.id"
        )
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
