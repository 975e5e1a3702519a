"""The functions of a changeset by what happened to their uses, and the kind that it amounts to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from hybridize.study import suggest_model
from hybridize.study.compare import Event
from hybridize.study.keyword import Keyword
from hybridize.study.uses_data import Function, Use

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


@dataclass(frozen=True, slots=True)
class Evidence:
    """One sentence with its place; `side` says in which version the line counts."""

    message: str
    path: str
    line: int
    side: Literal["before", "after"] = "after"


History = Callable[[Event], str | None]
"""The earlier changeset that took this function's use away, or null."""


def no_history(_: Event) -> str | None:
    """For a changeset judged by itself."""
    return None


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


def happened(event: Event) -> bool:
    """Whether the event says something of hybridization."""
    return event.kind != "same" or _carried(event) or _conditions(event) or bool(_roles(event))


def _conditions(event: Event) -> bool:
    """Whether a wrapping call came under a condition or lost one; a decorator stands where its function does."""
    before, after = ({use.condition for use in side if use.role == "wrap"} for side in (event.before, event.after))
    return bool(before) and bool(after) and (before == {""}) != (after == {""})


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


def _text(uses: Sequence[Use]) -> str:
    text = uses[0].text if uses else ""
    return text if len(text) <= 100 else text[:97] + "..."
