"""Which rules fire before a changeset and not after: the likely problem category.

The rules live in a room that the study does not see; whoever calls it passes a `RuleRunner`. It is given both versions
of the files that matter, and asked about the functions that the changeset makes hybrid, or eager, or hybrid in another
way: about these and what they call.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from hybridize.study import tree
from hybridize.study.blobs import Blobs
from hybridize.study.compare import Event, FilePair
from hybridize.study.history import Repository
from hybridize.study.store import ChangedFile
from hybridize.study.uses_data import MODULE

SIDES_KEPT: Final = 64
#: Functions of one side, by path and qualified name (`A.f#2` for the second of its name; `<module>`: no function).
Functions: TypeAlias = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class RuleHit:
    """A rule that fires: its code, the problem category that it stands for, and the function's qualified name.

    `function` is empty where the hit is on no function. `asks_for_graph` marks what is said of an eager function that
    should be hybrid: it is settled only by making that very function hybrid.
    """

    code: str
    category: str
    function: str = ""
    asks_for_graph: bool = False


@dataclass(frozen=True, slots=True)
class Firing:
    """What fires on some functions of one version, and how many functions of each qualified name that version has."""

    hits: tuple[RuleHit, ...]
    functions: Mapping[str, int]
    hybrid: Mapping[str, int] = field(default_factory=dict)


class RuleRunner(Protocol):
    """How the rules are asked. Must not raise for any source; null: no answer (in time)."""

    def __call__(self, files: Mapping[str, bytes], functions: Functions) -> Firing | None:
        """The hits on some functions and on what they may call, given a project's files by their paths."""


def settled(before: Firing, after: Firing) -> list[RuleHit]:
    """Hits that are gone while their function is still there, in the order of `before`."""
    left = Counter((hit.code, hit.function) for hit in after.hits)
    found: list[RuleHit] = []
    for hit in before.hits:
        key = (hit.code, hit.function)
        if left[key] > 0:
            left[key] -= 1
            continue
        name = hit.function
        if name and after.functions.get(name, 0) < before.functions.get(name, 0):
            continue  # it went with its function, which settles nothing
        if hit.asks_for_graph and after.hybrid.get(name, 0) <= before.hybrid.get(name, 0):
            continue
        found.append(hit)
    return found


def likely_category(hits: Sequence[RuleHit]) -> str | None:
    """The category that most of the settled hits stand for; null where two are equally many, or there are none."""
    ranks = Counter(category for category, _, _ in {(h.category, h.code, h.function) for h in hits}).most_common(2)
    if not ranks or (len(ranks) == 2 and ranks[0][1] == ranks[1][1]):
        return None
    return ranks[0][0]


def changed(pairs: Sequence[FilePair], events: Iterable[Event]) -> tuple[Functions, Functions]:
    """The functions that stay and whose uses come, go or change, before and after, with those in which they are
    wrapped; where it is not known what is wrapped, those of the file that bear its name."""
    sides: tuple[set[tuple[str, str]], set[tuple[str, str]]] = (set(), set())
    for event in events:
        if not (event.existed and event.exists and event.kind != "same"):
            continue
        leaf = event.name.partition("#")[0].rpartition(".")[2]
        scopes = {use.scope for use in (*event.before, *event.after) if use.role != "decorator"}
        for pair in pairs:
            for found, path, file, function in (
                (sides[0], pair.path_before, pair.before, event.function_before),
                (sides[1], pair.path_after, pair.after, event.function_after),
            ):
                if path is None or (pair.path != event.path and function not in file.functions.values()):
                    continue
                here = (f.qualname for f in file.functions.values() if f is function or f.qualname in scopes)
                alike = (f.qualname for f in file.functions.values() if function is None and f.name == leaf)
                found |= {(path, name) for name in (*here, *alike, *(scopes & {MODULE}))}
    return frozenset(sides[0]), frozenset(sides[1])


class Sides:
    """The two versions of a project around a changeset, from the clone it was mined from while that is there."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._blobs: tuple[Path, Repository, Blobs] | None = None
        self._entries = lru_cache(SIDES_KEPT)(tree.entries)

    def close(self) -> None:
        """End the git process."""
        if self._blobs is not None:
            self._blobs[2].close()
            self._blobs = None

    def of(
        self, changeset: sqlite3.Row, files: Sequence[ChangedFile], functions: tuple[Functions, Functions]
    ) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """The files of functions, and what they import, by path, before and after: the same selection on both sides."""
        paths = {path for side in functions for path, _ in side}
        known = (
            _texts((f.path_before, f.before) for f in files if paths & {f.path_before, f.path_after}),
            _texts((f.path_after, f.after) for f in files if paths & {f.path_before, f.path_after}),
        )
        clone = self._clone(changeset["repository_id"])
        if clone is None:
            return known
        repository, blobs = clone
        sha = changeset["sha"]
        trees = (self._entries(repository, f"{sha}^"), self._entries(repository, sha))
        if not trees[1]:
            return known
        wanted: set[str] = set()
        for side, texts in zip(trees, known, strict=True):
            wanted |= tree.relevant(side, sorted(texts), partial(_text_at, blobs, side))
        result = []
        for side, texts in zip(trees, known, strict=True):
            blobs.prefetch(side[path].oid for path in wanted if path in side)
            read = {path: blobs.read(side[path].oid) for path in sorted(wanted) if path in side}
            result.append(texts | {path: data for path, data in read.items() if data is not None})
        return result[0], result[1]

    def _clone(self, repository_id: int) -> tuple[Repository, Blobs] | None:
        row = self._connection.execute("SELECT path FROM repository WHERE id = ?", (repository_id,)).fetchone()
        path = Path(row["path"])
        if self._blobs is None or self._blobs[0] != path:
            self.close()
            if not path.is_dir():
                return None
            repository = Repository(path)
            self._blobs = (path, repository, Blobs(repository))
        return self._blobs[1], self._blobs[2]


def _texts(pairs: Iterable[tuple[str | None, str | None]]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path, text in pairs:
        if path is not None and text is not None and tree.is_safe(path):
            found[path] = text.encode("utf-8", "surrogatepass")
    return found


def _text_at(blobs: Blobs, side: Mapping[str, tree.Entry], path: str) -> str | None:
    data = blobs.read(side[path].oid)
    return None if data is None else data.decode("utf-8", "replace")


def compare_rules(
    sides: Sides,
    changeset: sqlite3.Row,
    files: Sequence[ChangedFile],
    functions: tuple[Functions, Functions],
    runner: RuleRunner,
) -> list[RuleHit]:
    """The hits on functions (before, after) and on what they call that a changeset settles; none where a side is
    missing or the rules give no answer."""
    before_files, after_files = sides.of(changeset, files, functions)
    if not before_files or not after_files or before_files == after_files:
        return []
    before = runner(before_files, functions[0])
    after = runner(after_files, functions[1]) if before is not None and before.hits else None
    return [] if before is None or after is None else settled(before, after)
