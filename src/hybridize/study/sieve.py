"""Which changesets change a line that a pattern matches: what git's `log -G` says, in less time.

Git compares whole files. Here only what two contents do not begin and end with alike is looked at, which seldom
holds a name of interest at all; git is asked where such lines stand there on both sides, for they may have moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Final

from hybridize.study import history
from hybridize.study.history import Blobs, GitError, RawCommit, RawFile, Repository

TOGETHER: Final = 1_000
"""Commits that are judged before the first of them is told: git is asked once for all of them."""
FILES: Final = 250
"""Files whose contents are asked for at once."""
HOPELESS: Final = 500
"""Files of which no content can be read before the clone is given up."""


class Sieve:
    """Judges changesets by one pattern.

    Args:
        repository: of the changesets.
        blobs: its contents.
        pattern: a POSIX extended regular expression that Python understands alike, for single lines.
        names: literals; every line that matches has one of them.
        paths: of the files to judge by.
    """

    def __init__(
        self, repository: Repository, blobs: Blobs, pattern: str, names: Iterable[str], paths: Sequence[str]
    ) -> None:
        self._repository = repository
        self._blobs = blobs
        self._pattern = pattern
        # The same lines come again with every version of a file.
        self._matches = lru_cache(1 << 16)(re.compile(pattern.encode()).search)
        self._names = tuple(dict.fromkeys(name.encode() for name in names))
        self._paths = paths
        self._unread = 0

    def search(self, shas: Sequence[str]) -> Iterator[RawCommit | str]:
        """Each of the commits; those that change a matching line with all their files, the others without any.

        One of which some content cannot be read keeps its files, for the caller to search those that can be; one whose
        files cannot even be listed is a bare name.

        Raises:
            GitError: no content at all can be read.
        """
        commits = history.changes(self._repository, shas, self._paths)
        while some := list(islice(commits, TOGETHER)):
            listed = [found for found in some if isinstance(found, RawCommit)]
            changing = self._changing(listed)
            for found in some:
                yield found if isinstance(found, str) or found.sha in changing else replace(found, files=())

    def says(self, commit: RawCommit) -> bool:
        """Whether one commit changes a matching line."""
        return bool(self._changing([commit]))

    def _changing(self, commits: Sequence[RawCommit]) -> set[str]:
        """The commits that change a matching line."""
        changing: set[str] = set()
        doubtful: dict[str, None] = {}
        changed = ((c.sha, raw) for c in commits for raw in c.files if raw.oid_before != raw.oid_after)
        while some := list(islice(changed, FILES)):
            self._blobs.prefetch(oid for _, raw in some for oid in (raw.oid_after, raw.oid_before) if oid)
            for sha, raw in some:
                if sha not in changing:
                    verdict = self._changes(raw)
                    if verdict:
                        changing.add(sha)
                    elif verdict is None:
                        doubtful[sha] = None
        asked = [sha for sha in doubtful if sha not in changing]
        return changing | history.matching(self._repository, asked, self._pattern, self._paths)

    def _changes(self, raw: RawFile) -> bool | None:
        """Whether a matching line of the file changes, or cannot be read; null: such lines stay, but may have moved."""
        before, after = (self._blobs.read(oid) if oid else b"" for oid in (raw.oid_before, raw.oid_after))
        if before is None or after is None:
            self._unread += self._unread >= 0
            if self._unread > HOPELESS:
                raise GitError("no file contents in this clone")
            return True
        self._unread = -1
        if not before or not after:
            return bool(self._lines(before or after, one=True))
        parts = unlike(before, after)
        both = b"\n".join(parts)
        if not any(name in both for name in self._names):
            return False
        old, new = map(self._lines, parts)
        return None if old and old == new else old != new

    def _lines(self, part: bytes, *, one: bool = False) -> list[bytes]:
        """The matching lines, in order; only `one` if that will do."""
        found: dict[int, bytes] = {}
        for name in self._names:
            at = part.find(name)
            while at >= 0:
                start = part.rfind(b"\n", 0, at) + 1
                end = part.find(b"\n", at)
                end = len(part) if end < 0 else end
                if start not in found and self._matches(part[start:end]):
                    found[start] = part[start:end]
                    if one:
                        return [part[start:end]]
                at = part.find(name, end)
        return [found[start] for start in sorted(found)]


def unlike(before: bytes, after: bytes) -> tuple[bytes, bytes]:
    """Whole lines of two contents without those that both begin with and those that both end with.

    However lines are compared, a line outside has changed only together with an equal one inside.
    """
    start = _alike(before, after)
    start = before.rfind(b"\n", 0, start) + 1
    before, after = before[start:], after[start:]
    end = _alike(before[::-1], after[::-1])
    olds, news = len(before) - end, len(after) - end
    if (olds and before[olds - 1] != 10) or (news and after[news - 1] != 10):
        line = before.find(b"\n", olds)
        cut = (line + 1 if line >= 0 else len(before)) - olds
        olds, news = olds + cut, news + cut
    return before[:olds], after[:news]


def _alike(one: bytes, other: bytes) -> int:
    """How many bytes two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while high - low > 1:  # up to `low` they are alike, up to `high` they are not
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low
