"""Which rules fire before a changeset and not after: the likely problem category.

The rules live in a room that the study does not see; whoever calls it passes a `RuleRunner`. It is given both
versions of the project, or of the part of it that matters, as files.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, Protocol

from hybridize.study import tree
from hybridize.study.history import Blobs, Repository
from hybridize.study.store import ChangedFile

SIDES_KEPT: Final = 64


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
    """What fires in one version of a project, and how many functions of each qualified name it has."""

    hits: tuple[RuleHit, ...]
    functions: Mapping[str, int]
    hybrid: Mapping[str, int] = field(default_factory=dict)


class RuleRunner(Protocol):
    """How the rules are asked. Must not raise for any source; null: no answer (in time)."""

    def __call__(self, files: Mapping[str, bytes]) -> Firing | None:
        """All hits in a project, given its files by their paths."""


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

    def of(self, changeset: sqlite3.Row, files: Sequence[ChangedFile]) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """Files by path, before and after; of a tree that is large, the same selection on both sides."""
        known = (_texts((f.path_before, f.before) for f in files), _texts((f.path_after, f.after) for f in files))
        clone = self._clone(changeset["repository_id"])
        if clone is None:
            return known
        repository, blobs = clone
        sha = changeset["sha"]
        trees = (self._entries(repository, f"{sha}^"), self._entries(repository, sha))
        if not trees[1]:
            return known
        wanted: set[str] = set()
        for side, paths in zip(trees, known, strict=True):
            wanted |= tree.relevant(side, sorted(paths), partial(_text_at, blobs, side))
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
    sides: Sides, changeset: sqlite3.Row, files: Sequence[ChangedFile], runner: RuleRunner
) -> list[RuleHit]:
    """The hits that a changeset settles; none where a side is missing or the rules give no answer."""
    before_files, after_files = sides.of(changeset, files)
    if not before_files or not after_files or before_files == after_files:
        return []
    before = runner(before_files)
    after = runner(after_files) if before is not None and before.hits else None
    return [] if before is None or after is None else settled(before, after)
