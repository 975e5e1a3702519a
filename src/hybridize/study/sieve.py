"""Which changesets change a line that a pattern matches: what git's `log -G` says, in less time.

Git compares whole files. Here only what two contents do not begin and end with alike is looked at, which seldom
holds a name of interest at all; git is asked where such lines stand there on both sides, for they may have moved.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from fnmatch import translate
from functools import lru_cache
from itertools import islice, repeat
from typing import Final

from hybridize.study import history
from hybridize.study.blobs import Blobs
from hybridize.study.history import GitError, RawCommit, Repository, Sides

TOGETHER: Final = 2_000
"""Commits that are judged before the first of them is told: git is asked once for all of them."""
FILES: Final = 250
"""Files whose contents are asked for at once."""
CHANGED: Final = 250
"""Changed lines from which on git no longer looks for the shortest comparison."""
SHORT: Final = 5
"""Letters that names must begin alike with to be looked for by them alone: fewer stand in too many lines."""
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
        self, repository: Repository, blobs: Blobs, pattern: str, names: Sequence[str], paths: Sequence[str]
    ) -> None:
        self._repository = repository
        self._blobs = blobs
        self._pattern = pattern
        # The same lines come again with every version of a file.
        self._matches = lru_cache(1 << 16)(re.compile(pattern.encode()).search)
        self._names = telling(names)
        self._paths = paths
        self._unread = 0
        self.lost: set[str] = set()
        """Commits whose files could not be listed."""

    def search(self, listed: Iterable[Sides | str]) -> Iterator[tuple[str, RawCommit | None]]:
        """Each of the commits: with its message and files if it changes a matching line, else (or if lost) without.

        One of which some content cannot be read is among the former, for the caller to search what can be.

        Raises:
            GitError: no content at all can be read.
        """
        left = iter(listed)
        while some := list(islice(left, TOGETHER)):
            passed = self._changing([found for found in some if isinstance(found, Sides)])
            # Most commits end here, and only for the others it matters whether files were renamed.
            named = list(history.changes(self._repository, passed, self._paths))
            commits = {found.sha: found for found in named if isinstance(found, RawCommit)}
            self.lost.update(found for found in (*some, *named) if isinstance(found, str))
            renamed = {sha for sha, commit in commits.items() if any(file.status == "R" for file in commit.files)}
            wrong = renamed.difference(self.changing([commits[sha] for sha in renamed]))
            for sha in map(sha_of, some):
                yield sha, None if sha in wrong else commits.get(sha)

    def changing(self, commits: Iterable[RawCommit]) -> list[str]:
        """Those of the commits that change a matching line."""
        return self._changing(
            [
                Sides(c.sha, tuple((f.oid_before, f.oid_after) for f in c.files if f.oid_before != f.oid_after))
                for c in commits
            ]
        )

    def _changing(self, commits: Sequence[Sides]) -> list[str]:
        """Those of the commits that change a matching line, in order."""
        changing: set[str] = set()
        doubtful: dict[str, None] = {}
        changed = ((commit.sha, *pair) for commit in commits for pair in commit.files)
        while some := list(islice(changed, FILES)):
            self._blobs.prefetch(oid for _, before, after in some for oid in (after, before) if oid)
            for sha, before, after in some:
                if sha not in changing:
                    verdict = self._changes(before, after)
                    if verdict:
                        changing.add(sha)
                    elif verdict is None:
                        doubtful[sha] = None
        asked = [sha for sha in doubtful if sha not in changing]
        changing |= history.matching(self._repository, asked, self._pattern, self._paths)
        return [commit.sha for commit in commits if commit.sha in changing]

    def _changes(self, oid_before: str | None, oid_after: str | None) -> bool | None:
        """Whether a matching line of the file changes, or cannot be read; null: such lines stay, but may have moved."""
        before, after = (self._blobs.read(oid) if oid else b"" for oid in (oid_before, oid_after))
        if before is None or after is None:
            self._unread += self._unread >= 0
            if self._unread > HOPELESS:
                raise GitError("no file contents in this clone")
            return True
        self._unread = -1
        if not before or not after:
            return bool(self._lines(before or after, self._names, one=True))
        parts = unlike(before, after)
        names = [name for name in self._names if name in parts[0] or name in parts[1]]
        if not names:
            return False
        old, new = (self._lines(part, names) for part in parts)
        return None if old == new and old and not stay(old, *parts) else old != new

    def _lines(self, part: bytes, names: Iterable[bytes], *, one: bool = False) -> list[bytes]:
        """The matching lines with one of the names, in order; only `one` if that will do."""
        found: dict[int, bytes] = {}
        for name in names:
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


def listing(repository: Repository, selection: Sequence[str], paths: Sequence[str]) -> Sequence[Sides | str]:
    """The commits that a selection has, newest first, as `Sieve.search` takes them."""
    return history.sides(repository, selection, _chooser(paths))


def sha_of(listed: Sides | str) -> str:
    """The name of a commit, listed or lost."""
    return listed if isinstance(listed, str) else listed.sha


def telling(names: Sequence[str]) -> tuple[bytes, ...]:
    """Fewer literals, of which each of the names has one: each costs a search through all that changed."""
    starts = Counter(name[: name.find("_") + 1] for name in set(names))
    common = tuple(start for start, count in starts.items() if count > 1 and len(start) > SHORT)
    short = {next((start for start in common if name.startswith(start)), name): None for name in names}
    return tuple(name.encode() for name in short if not any(other != name and other in name for other in short))


def _chooser(paths: Sequence[str]) -> Callable[[bytes], bool]:
    """Whether a path matches one of the patterns, as git takes them; plain endings are told apart faster."""
    ends = tuple(path[1:].encode() for path in paths if path.startswith("*") and "*" not in path[1:])
    others = [path for path in paths if path[1:].encode() not in ends]
    match = re.compile("|".join(map(translate, others)).encode()).match if others else None
    return lambda path: path.endswith(ends) or (match is not None and match(path) is not None)


def stay(lines: Sequence[bytes], before: bytes, after: bytes) -> bool:
    """Whether a shortest comparison must leave the lines, which both texts have as often, where they are.

    It must if all lines that are on both sides, each as often as on the side that has fewer, can be kept at once: then
    every shortest comparison keeps that many of each. False: unknown, or git may take another than a shortest one.
    """
    if not (before.endswith(b"\n") and after.endswith(b"\n")):
        return False  # a last line without its end is another line
    olds, news = before.split(b"\n"), after.split(b"\n")
    often, also = Counter(olds), Counter(news)
    if any(often[line] != also[line] or often[line] ** 2 > min(len(olds), len(news)) for line in lines):
        return False
    kept = sum(map(min, often.values(), map(also.get, often, repeat(0))))
    if len(olds) + len(news) - 2 * kept > CHANGED:
        return False
    even = {line for line, count in often.items() if also[line] == count}
    first, second = _between(olds, even, also), _between(news, even, often)
    if [line for line in olds if line in even] != [line for line in news if line in even]:
        return False
    found = sum(often[line] for line in even)
    for place in first.keys() & second.keys():
        fewer, more = first[place], second[place]
        if fewer != more:
            if len(fewer) > len(more):
                fewer, more = more, fewer
            rest = iter(more)
            if not all(line in rest for line in fewer):
                return False
        found += len(fewer)
    return found == kept


def _between(lines: list[bytes], even: Set[bytes], others: Mapping[bytes, int]) -> dict[int, list[bytes]]:
    """The other lines that the other side has, too, by how many of the even ones stand before."""
    found: dict[int, list[bytes]] = {}
    for skipped, place in enumerate([place for place, line in enumerate(lines) if line not in even]):
        if lines[place] in others:
            found.setdefault(place - skipped, []).append(lines[place])
    return found


def unlike(before: bytes, after: bytes) -> tuple[bytes, bytes]:
    """Whole lines of two contents without those that both begin with and those that both end with.

    However lines are compared, a line outside has changed only together with an equal one inside.
    """
    olds, news = len(before), len(after)
    shorter = min(olds, news)
    low, high = 0, shorter + 1
    while high - low > 1:  # they begin alike for `low` bytes, and not for `high`
        middle = (low + high) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle
    start = before.rfind(b"\n", 0, low) + 1
    end, high = 0, shorter - start + 1
    while high - end > 1:  # and they end alike
        middle = (end + high) // 2
        if before[olds - middle : olds - end] == after[news - middle : news - end]:
            end = middle
        else:
            high = middle
    olds, news = olds - end, news - end
    if (olds > start and before[olds - 1] != 10) or (news > start and after[news - 1] != 10):
        line = before.find(b"\n", olds)
        cut = (line + 1 if line >= 0 else len(before)) - olds
        olds, news = olds + cut, news + cut
    return before[start:olds], after[start:news]
