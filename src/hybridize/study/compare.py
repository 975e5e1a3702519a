"""Pairs the functions of a changeset's two sides and says what happened to each one's uses.

A function is the same on both sides if it has the same qualified name in the same file (git's renames followed), or,
where
that name has gone, if its name and body are alike anywhere in the changeset: moved, re-indented, renamed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal

from hybridize.study.uses_data import EMPTY, FileUses, Function, Use

SAME_NAME_SIMILARITY: Final = 0.4
OTHER_NAME_SIMILARITY: Final = 0.6
SMALLEST_RENAMED: Final = 2
"""Functions with fewer lines than this are paired only by name: short bodies are alike by chance."""

EventKind = Literal["add", "remove", "arguments", "same"]


@dataclass(frozen=True, slots=True)
class FilePair:
    """One file before and after; an absent side has no path and no uses."""

    path_before: str | None
    path_after: str | None
    before: FileUses = EMPTY
    after: FileUses = EMPTY

    @property
    def path(self) -> str:
        """The path after, or before if the file is gone."""
        return self.path_after or self.path_before or ""


@dataclass(frozen=True, slots=True)
class Place:
    """A function on one side of a changeset."""

    file: int
    function: Function


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to the uses of one function, wrapped expression or alias.

    `existed` and `exists` say whether that function (or, for a wrapped expression, the scope around it) was there
    before and is there after. `other_file` says that the function is in another file than before. `weak` marks
    aliases and mentions, which make nothing hybrid by themselves. `whole_file` says that a function's file came or went
    with it.
    """

    kind: EventKind
    name: str
    path: str
    existed: bool
    exists: bool
    moved: bool
    weak: bool
    before: tuple[Use, ...]
    after: tuple[Use, ...]
    function_before: Function | None = None
    function_after: Function | None = None
    other_file: bool = False
    whole_file: bool = False

    @property
    def line(self) -> int:
        """Where to look: the use after, or before if it is gone."""
        return (self.after or self.before)[0].line


class _Side:
    """All functions of one side, with their bodies as bags of lines."""

    def __init__(self, files: Sequence[FileUses]) -> None:
        self.files = files
        self.places = [
            Place(number, function) for number, file in enumerate(files) for function in file.functions.values()
        ]
        self._bags: dict[tuple[int, str], Counter[str]] = {}

    @cached_property
    def used(self) -> frozenset[tuple[int, str]]:
        return frozenset((n, use.owner) for n, file in enumerate(self.files) for use in file.uses if use.known)

    def bag(self, place: Place) -> Counter[str]:
        key = (place.file, place.function.qualname)
        if key not in self._bags:
            function = place.function
            lines = self.files[place.file].lines[function.def_line : function.end_line]
            stripped = (line.strip() for line in lines)
            self._bags[key] = Counter(line for line in stripped if line and not line.startswith(("#", "@")))
        return self._bags[key]


def compare(pairs: Sequence[FilePair]) -> list[Event]:
    """Every function, wrapped expression and alias with a use on either side, and what happened to it."""
    before, after = _Side([p.before for p in pairs]), _Side([p.after for p in pairs])
    match = _pair_functions(before, after)
    scopes = {(p.file, p.function.qualname): (q.file, q.function.qualname) for p, q in match}
    events = [e for e in _function_events(pairs, before, after, match) if not _respelled(e, pairs)]
    events += _loose_events(pairs, scopes)
    return sorted(_join(events), key=lambda e: (e.path, e.line, e.name, e.kind))


def _pair_functions(before: _Side, after: _Side) -> list[tuple[Place, Place]]:
    match: list[tuple[Place, Place]] = []
    left: list[Place] = []
    groups: dict[tuple[int, str], list[Place]] = defaultdict(list)
    for place in after.places:
        groups[place.file, place.function.qualname.partition("#")[0]].append(place)
    by_key: dict[tuple[int, str], list[Place]] = defaultdict(list)
    for place in before.places:
        by_key[place.file, place.function.qualname.partition("#")[0]].append(place)
    for key, olds in by_key.items():
        news = groups.get(key, [])
        if len(olds) == len(news) == 1:
            match.append((olds[0], news[0]))
            news.clear()
        elif news:
            found = _greedy(before, after, olds, news, lambda _: 0.0)
            match += found
            left += [p for p in olds if all(p is not old for old, _ in found)]
            groups[key] = [p for p in news if all(p is not new for _, new in found)]
        else:
            left += olds
    fresh = [place for places in groups.values() for place in places]
    used_before, used_after = before.used, after.used
    some_before = [p for p in left if (p.file, p.function.qualname) in used_before]
    some_after = [p for p in fresh if (p.file, p.function.qualname) in used_after]
    if some_before or some_after:
        found = _greedy(before, after, some_before, fresh, _threshold)
        taken = {id(p) for pair in found for p in pair}
        match += found
        match += _greedy(
            before,
            after,
            [p for p in left if id(p) not in taken],
            [p for p in some_after if id(p) not in taken],
            _threshold,
        )
    return match


def _threshold(pair: tuple[Function, Function, int]) -> float:
    old, new, lines = pair
    if old.name == new.name:
        return SAME_NAME_SIMILARITY
    return OTHER_NAME_SIMILARITY if lines >= SMALLEST_RENAMED else 2.0


def _greedy(
    before: _Side,
    after: _Side,
    olds: list[Place],
    news: list[Place],
    threshold: Callable[[tuple[Function, Function, int]], float],
) -> list[tuple[Place, Place]]:
    """The most alike first; nearness of place breaks ties."""
    if len(olds) * len(news) > 200_000:
        return []
    scored = []
    for i, old in enumerate(olds):
        bag = before.bag(old)
        size = bag.total()
        for j, new in enumerate(news):
            if old.function.is_class != new.function.is_class:
                continue
            other = after.bag(new)
            total = size + other.total()
            # Two empty bodies (one-liners) are alike if their names are, two of one line if it is the same.
            score = 2 * (bag & other).total() / total if total else float(old.function.name == new.function.name)
            lines = SMALLEST_RENAMED if score == 1 and total == 2 else min(size, other.total())
            if score >= threshold((old.function, new.function, lines)):
                same_name = old.function.name == new.function.name
                scored.append((-score - 0.2 * same_name, old.file != new.file, abs(i - j), i, j))
    match, taken_old, taken_new = [], set(), set()
    for _, _, _, i, j in sorted(scored):
        if i not in taken_old and j not in taken_new:
            taken_old.add(i)
            taken_new.add(j)
            match.append((olds[i], news[j]))
    return match


def _function_events(
    pairs: Sequence[FilePair], before: _Side, after: _Side, match: Iterable[tuple[Place, Place]]
) -> Iterator[Event]:
    seen_before: set[tuple[int, str]] = set()
    seen_after: set[tuple[int, str]] = set()
    for old, new in match:
        seen_before.add((old.file, old.function.qualname))
        seen_after.add((new.file, new.function.qualname))
        uses = (pairs[old.file].before.of(old.function.qualname), pairs[new.file].after.of(new.function.qualname))
        if uses[0] or uses[1]:
            moved = old.file != new.file or old.function.qualname != new.function.qualname
            path = pairs[new.file].path
            there = old.file != new.file
            yield _event(new.function.qualname, path, True, True, moved, *uses, old.function, new.function, there)
    for side, seen, is_before in ((before, seen_before, True), (after, seen_after, False)):
        for place in side.places:
            name = place.function.qualname
            uses_here = side.files[place.file].of(name)
            if not uses_here or (place.file, name) in seen:
                continue
            path = pairs[place.file].path
            if is_before:
                event = _event(name, path, True, False, False, uses_here, (), place.function, None)
            else:
                event = _event(name, path, False, True, False, (), uses_here, None, place.function)
            yield replace(event, whole_file=None in (pairs[place.file].path_before, pairs[place.file].path_after))


def _respelled(event: Event, pairs: Sequence[FilePair]) -> bool:
    """Whether another object of the API's last name decorates the function in its stead: `@tf.function` becomes
    `@backend.function`."""
    old, new = event.function_before, event.function_after
    if event.weak or event.kind not in ("add", "remove") or old is None or new is None:
        return False
    gained = event.kind == "add"
    pattern = [re.match(r"@(?:\w+\.)*(\w+)", use.text) for use in (event.after if gained else event.before)]
    leaves = "|".join(found[1] for found in pattern if found)
    function = old if gained else new
    for pair in pairs:
        file = pair.before if gained else pair.after
        if leaves and file.functions.get(function.qualname) is function:
            above = file.lines[function.line - 1 : function.def_line - 1]
            return any(re.match(rf"\s*@(?:\w+\.)*(?:{leaves})\b", line) for line in above)
    return False


def _loose_events(pairs: Sequence[FilePair], scopes: dict[tuple[int, str], tuple[int, str]]) -> Iterator[Event]:
    """Wrapped expressions, aliases and mentions, which no function of the file owns."""
    back = {new: old for old, new in scopes.items()}
    olds = [(n, use) for n, pair in enumerate(pairs) for use in pair.before.uses if not use.known]
    news = [(n, use) for n, pair in enumerate(pairs) for use in pair.after.uses if not use.known]
    # The same text in the same place, the same text elsewhere, another text in the same place with the same arguments.
    for same_text, any_place in ((True, False), (True, True), (False, False)):
        for new in list(news):
            for old in olds:
                here = back.get((new[0], new[1].scope), (new[0], new[1].scope))
                same_place = here == (old[0], old[1].scope)
                alike = _is_weak(old[1]) == _is_weak(new[1])
                alike = alike and (old[1].owner == new[1].owner if same_text else old[1].arguments == new[1].arguments)
                if alike and (same_place or any_place):
                    olds.remove(old)
                    news.remove(new)
                    path = pairs[new[0]].path
                    yield _event(new[1].owner, path, True, True, not same_place, (old[1],), (new[1],))
                    break
    for number, use in olds:
        exists = (number, use.scope) in scopes or (use.scope == "<module>" and pairs[number].path_after is not None)
        event = _event(use.owner, pairs[number].path, True, exists, False, (use,), ())
        yield replace(event, whole_file=pairs[number].path_after is None)
    for number, use in news:
        existed = (number, use.scope) in back or (use.scope == "<module>" and pairs[number].path_before is not None)
        event = _event(use.owner, pairs[number].path, existed, True, False, (), (use,))
        yield replace(event, whole_file=pairs[number].path_before is None)


def _join(events: list[Event]) -> list[Event]:
    """A decorator turned into a wrapping call of the same function (or back) is one event, not a loss and a gain."""
    lost = [e for e in events if e.kind == "remove" and not e.weak]
    result = [e for e in events if e.kind != "remove" or e.weak]
    for event in lost:
        for number, other in enumerate(result):
            if other.kind == "add" and not other.weak and _leaf(other.name) == _leaf(event.name):
                loose = not (event.before[0].known and other.after[0].known)
                if loose and (event.path == other.path or event.before[0].scope != "<module>"):
                    result[number] = _event(
                        other.name,
                        other.path,
                        event.existed,
                        other.exists,
                        True,
                        event.before,
                        other.after,
                        event.function_before,
                        other.function_after,
                    )
                    break
        else:
            result.append(event)
    return result


def _leaf(name: str) -> str:
    return name.partition("#")[0].rpartition(".")[2]


def _is_weak(use: Use) -> bool:
    return use.role in ("alias", "mention")


def _event(
    name: str,
    path: str,
    existed: bool,
    exists: bool,
    moved: bool,
    before: tuple[Use, ...],
    after: tuple[Use, ...],
    function_before: Function | None = None,
    function_after: Function | None = None,
    other_file: bool = False,
) -> Event:
    kind: EventKind
    if not before:
        kind = "add"
    elif not after:
        kind = "remove"
    elif {u.arguments for u in before} == {u.arguments for u in after}:
        kind = "same"
    else:
        kind = "arguments"
    weak = all(_is_weak(use) for use in (*before, *after))
    return Event(
        kind, name, path, existed, exists, moved, weak, before, after, function_before, function_after, other_file
    )
