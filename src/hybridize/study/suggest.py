"""What a changeset did to hybridization, read off the syntax trees before and after.

The answer is a pre-fill for raters, with its evidence; it never counts as a rating. Several kinds may hold; one is
primary,
by what the codebook's definitions mean to people who read diffs (`docs/study-suggestions.md` says how we know):

1. What happened to functions that are there on both sides decides; the more frequent of adding, removing and changing
   arguments is the main kind. A use that is put under a condition goes, one that loses its condition comes.
2. A use that goes to another function, a function that moves or gets another name with its use, a decorator that
   becomes a wrapping call: relocated.
3. Code that came or went as a whole together with its use is other, unless the message says that it is the point.
4. A decorator that the history, or a comment, had taken away comes back: re-added.
5. Re-indentation, comments, strings and formatting change nothing: other.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from hybridize.study import requirements, suggest_model
from hybridize.study.compare import Event, FilePair, compare
from hybridize.study.keyword import DEFAULT, Keyword
from hybridize.study.rulediff import RuleRunner, Sides, compare_rules, likely_category
from hybridize.study.store import ChangedFile, SuggestionRow, file_changes, replace_suggestions
from hybridize.study.uses import find_uses
from hybridize.study.uses_data import EMPTY, Function, Use

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

COMMENT: Final = "a comment"
"""Where a use was before it came back, if not in the history."""
REWRITE: Final = 3
"""Where so many times more functions came or went whole than were changed, in files that stay, it is a rewrite."""
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
    confidence: float = 0.0


History = Callable[[Event], str | None]
"""The earlier changeset that took this function's use away, or null."""


def no_history(_: Event) -> str | None:
    """For a changeset judged by itself."""
    return None


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
    active = [e for e in strong if e.kind != "same" or _carried(e) or _conditions(e) or _roles(e)]
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


def _carried(event: Event) -> bool:
    """Whether a use goes along with its function to another place or name, or becomes another kind of use."""
    if event.weak or not event.before or not event.after:
        return False
    if _roles(event) == "turned":
        return True
    old, new = event.function_before, event.function_after
    return (
        event.kind == "same"
        and event.moved
        and (old is None or new is None or _owner(old) != _owner(new) or event.other_file)
    )


def _roles(event: Event) -> Literal["", "turned", "fewer", "more"]:
    """What became of the kinds of uses: a decorator turns into a call, or one of the two goes or joins."""
    before, after = ({use.role for use in side} for side in (event.before, event.after))
    if not before or not after or before == after:
        return ""
    if before & after:
        return "fewer" if after < before else "more"
    return "turned"


def _owner(function: Function) -> str:
    return function.qualname.partition("#")[0]


def _conditions(event: Event) -> bool:
    """Whether a wrapping call came under a condition or lost one; a decorator stands where its function does."""
    before, after = ({use.condition for use in side if use.role == "wrap"} for side in (event.before, event.after))
    return bool(before) and bool(after) and (before == {""}) != (after == {""})


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


@dataclass(frozen=True, slots=True)
class Groups:
    """Events by what they mean. `new` and `gone` are code that came or went with its use."""

    added: tuple[Event, ...]
    again: tuple[tuple[Event, str], ...]
    removed: tuple[Event, ...]
    signature: tuple[Event, ...]
    argument: tuple[Event, ...]
    new: tuple[Event, ...]
    gone: tuple[Event, ...]
    carried: tuple[Event, ...]
    keyword: Keyword
    upgraded: bool = False

    @classmethod
    def of(
        cls,
        events: Iterable[Event],
        keyword: Keyword,
        history: History,
        commented: frozenset[tuple[str, str]],
        upgraded: bool,
    ) -> Groups:
        names = ("added", "removed", "signature", "argument", "new", "gone", "carried")
        sorted_: dict[str, list[Event]] = {name: [] for name in names}
        again: list[tuple[Event, str]] = []
        for event in events:
            sorted_[_group(event, keyword)].append(event)
            if event.kind == "add":
                earlier = history(event)
                place = (event.path, event.function_before.qualname) if event.function_before else None
                if earlier is None and place in commented:
                    earlier = COMMENT
                if earlier:
                    again.append((event, earlier))
        found = {name: tuple(events) for name, events in sorted_.items()}
        return cls(again=tuple(again), keyword=keyword, upgraded=upgraded, **found)

    def counts(self) -> dict[str, int]:
        """How many functions each thing happened to."""
        names = ("added", "removed", "signature", "argument", "new", "gone", "carried")
        return {name: _functions(getattr(self, name)) for name in names}

    def features(self, message: str, upgraded: bool) -> dict[str, float]:
        """What the model of confidence looks at."""
        flags = {"relocated": self.relocated(), "again": bool(self.again), "upgrade": upgraded}
        flags["loose added"] = bool(self.added) and all(e.function_after is None for e in self.added)
        flags["loose removed"] = bool(self.removed) and all(e.function_before is None for e in self.removed)
        return suggest_model.features(
            self.counts(), flags, self.primary(message), message, sorted(self.keyword.spellings)
        )

    def relocated(self) -> bool:
        """Whether what one function lost another one got."""
        if self.removed and (self.added or self.new):
            return _near(self.removed, (*self.added, *self.new))
        return bool(self.gone and self.added and not self.new) and _near(self.gone, self.added)

    def swapped(self) -> int:
        """How many functions that went left a wrapping call, as it was, to one that came: it stands where it stood."""
        lost, got = (
            Counter(
                (e.path, use.scope, use.arguments) for e in events for use in e.before + e.after if use.role == "wrap"
            )
            for events in (self.gone, self.new)
        )
        return (lost & got).total()

    def primary(self, message: str) -> Kind:
        """The one kind that a rater would most likely name."""
        n = self.counts()
        arguments = n["signature"] + n["argument"]
        argument_kind: Kind = "add_signature" if n["signature"] >= n["argument"] else "change_argument"
        changed = n["added"] + n["removed"] + arguments
        if self.relocated():
            gained, lost = n["added"] or n["new"], n["removed"] or n["gone"]
            if arguments <= max(gained, lost) <= 3 * min(gained, lost):
                return "relocate"
        rewritten = _functions(e for e in (*self.new, *self.gone) if not e.whole_file)
        if changed and changed >= n["carried"] and rewritten < REWRITE * changed:
            most = max(n["added"], n["removed"], arguments)
            if n["added"] == most:
                return self._add(message)
            return argument_kind if arguments == most else "remove_decorator"
        swapped = self.swapped()
        carried = n["carried"] + swapped
        if carried and carried >= max(n["new"] - swapped, n["gone"] - swapped, changed):
            return "relocate"
        # Code that came or went as a whole: of interest only if the message says so; a test is a test.
        tests = all("test" in event.path.lower() for event in (*self.new, *self.gone))
        if not changed and not tests and suggest_model.asks(message, sorted(self.keyword.spellings)):
            if self.new and n["new"] >= 2 * n["gone"]:
                return self._add(message)
            if self.gone and n["gone"] >= 3 * n["new"]:
                return "remove_decorator"
        return "upgrade_library" if self.upgraded and not self.new and not self.gone and not changed else "other"

    def _add(self, message: str) -> Kind:
        again = self.again and 2 * len(self.again) >= len(self.added or self.new)
        return "re_add" if again or suggest_model.returns(message, sorted(self.keyword.spellings)) else "add_decorator"

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
                Evidence(f"{e.name} gets back what {sha[:12]} removed", e.path, e.line)
                if sha != COMMENT
                else Evidence(f"{e.name} gets back what was commented out", e.path, e.line)
                for e, sha in self.again
            ),
            "relocate": tuple(_moved(e) for e in self.carried[:5]),
        }
        if self.relocated():
            lost = (self.removed or self.gone)[0]
            got = (self.added or self.new)[0]
            text = f"{_text(lost.before)} goes from {lost.name} to {got.name}"
            found["relocate"] = (Evidence(text, got.path, got.line), *found["relocate"])
        return found


def _functions(events: Iterable[Event]) -> int:
    """How many functions they are about: what is wrapped at six places is one."""
    return len({(event.path, event.name) for event in events})


def _group(event: Event, keyword: Keyword) -> str:
    """The field of `Groups` that an event belongs to."""
    if event.kind == "add":
        return "added" if event.existed else "new"
    if event.kind == "remove":
        return "removed" if event.exists else "gone"
    if _carried(event):
        return "carried"
    if event.kind == "same" and (_conditions(event) or _roles(event)):
        less = _roles(event) == "fewer" or (not _roles(event) and any(use.condition for use in event.after))
        return "removed" if less else "added"
    return "signature" if _gains_signature(event, keyword) else "argument"


def _gains_signature(event: Event, keyword: Keyword) -> bool:
    name = keyword.signature_argument
    if name is None:
        return False
    before = sum(use.argument(name) is not None for use in event.before)
    return sum(use.argument(name) is not None for use in event.after) > before


def _near(lost: Iterable[Event], got: Iterable[Event]) -> bool:
    """Whether some loss and some gain are in the same file, or in methods of one name (pulled up, pushed down)."""
    names = {_leaf(n) for n in map(_name_before, lost) if "." in n} & {_leaf(e.name) for e in got if "." in e.name}
    return bool(names or {e.path for e in lost} & {e.path for e in got})


def _name_before(event: Event) -> str:
    return event.function_before.qualname if event.function_before else event.name


def _leaf(name: str) -> str:
    return name.partition("#")[0].rpartition(".")[2]


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
    row, files, pairs = prepared.changeset, prepared.files, prepared.pairs
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
