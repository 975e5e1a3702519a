"""Mines histories for changesets that add or remove a use, and keeps them in the study's database."""

from __future__ import annotations

import gc
import json
import sqlite3
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from hybridize.study import notebook_text, requirements
from hybridize.study import profile as profiles
from hybridize.study.blobs import Blobs
from hybridize.study.bugfix import is_bug_fix
from hybridize.study.history import GitError, RawCommit, RawFile, Repository
from hybridize.study.keyword import Keyword
from hybridize.study.mined import Mined, MinedFile, function_changes, keep_changeset
from hybridize.study.mined_set import tie, tie_options
from hybridize.study.profile import Profile
from hybridize.study.sieve import Sieve, listing, sha_of
from hybridize.study.store import now, transaction
from hybridize.study.uses import find_uses
from hybridize.study.uses_data import EMPTY, FileUses, Outside
from hybridize.study.wrappers import Wrappers

CACHE_SIZE: Final = 1024
BATCH: Final = 50
"""Changesets kept in one transaction: what a kill can lose, and how long the other writer waits."""
LOOKED: Final = 2_000
"""Commits after which it is written down how far a history is looked through, though nothing was found."""

Reached = tuple[str, int, str, int]
"""How far a history is looked through: what was listed, commits of the list done, the last of them, candidates."""
Progress = Callable[[str, int, int, int], None]
"""Called with the repository's name, commits looked through, how many there are, and changesets kept."""


@dataclass(frozen=True, slots=True)
class MineOptions:
    """What to mine. `all_changes` also selects changesets that the bug-fix filter does not keep."""

    profile: Profile = field(default_factory=profiles.built_in)
    all_changes: bool = False
    notebooks: bool = False
    since: str | None = None
    until: str | None = None
    all_refs: bool = False
    uses_only: bool = False
    dataset: str = ""

    def selection(self, head: str) -> list[str]:
        """The part of a git command line that selects commits; `head` is what HEAD names."""
        period = [f"--{name}={value}" for name, value in (("since", self.since), ("until", self.until)) if value]
        return [*period, "--all" if self.all_refs else head]

    def paths(self) -> list[str]:
        """Files to search, and files that tell of library versions."""
        return ["*.py", *(["*.ipynb"] if self.notebooks else []), *requirements.PATHS]

    def identity(self) -> str:
        """What decides which changesets are found; a repository done with the same is not done again."""
        relevant = ("notebooks", "since", "until", "all_refs", "uses_only")
        return json.dumps({name: getattr(self, name) for name in relevant}, sort_keys=True)


@dataclass(slots=True)
class MineResult:
    """What mining one repository brought."""

    name: str
    head: str = ""
    commits: int = 0
    candidates: int = 0
    kept: int = 0
    bug_fixes: int = 0
    partial: int = 0
    lost: list[str] = field(default_factory=list)
    skipped: bool = False
    error: str | None = None


class Content:
    """One version of a file: its text, its uses, and a digest of the lines that can matter to them; each on demand."""

    def __init__(self, data: bytes, keyword: Keyword, is_notebook: bool) -> None:
        self.literal = keyword.text.encode() in data
        self.data = data
        self._keyword = keyword
        self._is_notebook = is_notebook

    @cached_property
    def possible(self) -> bool:
        """Whether it can hold a use at all."""
        return self._keyword.possible_in(self.data)

    @cached_property
    def text(self) -> str:
        """The source, as text."""
        return notebook_text.code_of(self.data) if self._is_notebook else decode_source(self.data)

    @cached_property
    def uses(self) -> FileUses:
        """What the file defines and uses."""
        return find_uses(self.text, self._keyword) if self.data else EMPTY

    def uses_with(self, outside: Outside) -> FileUses:
        """The same where the file imports makers of hybrid functions from its project."""
        return find_uses(self.text, self._keyword, outside) if outside else self.uses

    @cached_property
    def skeleton(self) -> tuple[str, ...]:
        """Lines that can matter: equal ones on both sides mean equal uses, and spare the parser two files in three."""
        return self._keyword.skeleton(self.text)


ABSENT: Final = Content(b"", Keyword(), False)


class Miner:
    """Mines one repository; `url` is its address on the web, where it has one."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        repository: Repository,
        name: str,
        options: MineOptions,
        url: str | None = None,
    ) -> None:
        self.connection = connection
        self.url = url
        self.repository = repository
        self.options = options
        self.keyword = Keyword(options.profile)
        self.result = MineResult(name)
        self.cache: OrderedDict[tuple[str, bool], Content] = OrderedDict()

    def run(self, progress: Progress | None = None) -> MineResult:
        """Mine, resuming where an earlier run stopped. A repository that fails says so in the result."""
        collecting = gc.isenabled()
        gc.disable()  # syntax trees have no cycles; looking for some would cost a fifth of the time
        try:
            self._run(progress)
        except GitError as error:
            self.result.error = str(error)
            self.connection.execute(
                "UPDATE repository SET state = 'failed', error = ? WHERE name = ?", (str(error), self.result.name)
            )
        finally:
            if collecting:
                gc.enable()
        return self.result

    def _run(self, progress: Progress | None) -> None:
        head, boundary = self.repository.ends()
        if not head and not self.options.all_refs:
            raise GitError("no commit at HEAD")
        self.result.head = head
        row_id, selection, done = self._begin(head)
        if done:
            self.result.skipped = True
            return
        commits = listing(self.repository, selection, self.options.paths())
        shas = [sha_of(commit) for commit in commits]
        done_before = self._done_before(row_id, shas)
        self.result.commits = len(shas) - len(done_before)
        rows = self.connection.execute("SELECT sha FROM changeset WHERE repository_id = ?", (row_id,))
        skip = done_before | {row[0] for row in rows} | boundary
        left = [commit for commit in commits if sha_of(commit) not in skip]
        listed, place = json.dumps(selection), {sha: number for number, sha in enumerate(shas, 1)}
        pending: list[Mined] = []
        with Blobs(self.repository) as blobs:
            self.wrappers = Wrappers(self.repository, self.keyword, blobs)
            pattern = self.keyword.wide_pattern + self.wrappers.pattern
            names = (*self.keyword.names, *self.wrappers.searched)
            sieve = Sieve(self.repository, blobs, pattern, names, self.options.paths())
            self.strict = Sieve(
                self.repository, blobs, self.keyword.strict_pattern, [self.keyword.text], self.options.paths()
            )
            since_kept = 0
            for number, (sha, commit) in enumerate(sieve.search(left), 1):
                since_kept += 1
                if commit is not None:
                    self.result.candidates += 1
                    found = self._examine(commit, blobs)
                    if found is not None:
                        pending.append(found)
                elif sha in sieve.lost:
                    self.result.lost.append(sha)
                if len(pending) >= BATCH or since_kept >= LOOKED:
                    self._keep(row_id, pending, (listed, place[sha], sha, self.result.candidates))
                    since_kept = 0
                if progress:
                    progress(self.result.name, number, len(left), self.result.kept + len(pending))
            self._keep(row_id, pending, None)
        lost = f"{len(self.result.lost)} commits could not be read: {' '.join(self.result.lost[:5])}"
        self.connection.execute(
            "UPDATE repository SET state = 'done', error = ?, candidates = coalesce(candidates, 0) + ?, mined_at = ?,"
            " commits = coalesce(commits, 0) + ?, head = ?, resume_json = NULL WHERE id = ?",
            (lost if self.result.lost else None, self.result.candidates, now(), len(shas), head, row_id),
        )

    def _done_before(self, row_id: int, shas: list[str]) -> set[str]:
        """What an interrupted run had looked through: the first so many commits of what it had listed."""
        row = self.connection.execute("SELECT resume_json FROM repository WHERE id = ?", (row_id,)).fetchone()
        if row["resume_json"] is None:
            return set()
        selection, count, last, candidates = json.loads(row["resume_json"])
        try:
            listed = self.repository.commits(json.loads(selection))
        except GitError:
            return set()
        if count > len(listed) or listed[count - 1] != last:
            return set()
        self.result.candidates = candidates
        return set(listed[:count]) & set(shas)

    def _begin(self, head: str) -> tuple[int, list[str], bool]:
        """The repository's row, what is left to mine, and whether that is nothing."""
        selection = self.options.selection(head)
        with transaction(self.connection):
            tie(self.connection, self.options.profile)
            tie_options(self.connection, self.options.identity(), self.options.all_changes)
            row = self.connection.execute("SELECT * FROM repository WHERE name = ?", (self.result.name,)).fetchone()
            path = str(self.repository.path.resolve())
            known = bool(row and row["head"] and self.repository.resolve(row["head"]))
            if row is not None and row["path"] != path and row["head"] and not known:
                raise GitError(f"another repository is already called {self.result.name}: {row['path']}")
            if known and row["state"] == "done" and row["head"] == head and not self.options.all_refs:
                return int(row["id"]), selection, True
            if known:
                selection = [*selection, f"^{row['head']}"]
            # Where the commit of the last time is gone, history was rewritten: it is counted anew.
            self.connection.execute(
                "INSERT INTO repository (name, path, url, state, options_json) VALUES (?, ?, ?, 'started', ?)"
                " ON CONFLICT (name) DO UPDATE SET path = excluded.path, url = coalesce(excluded.url, url),"
                " state = 'started', options_json = excluded.options_json, error = NULL,"
                " commits = CASE WHEN ? THEN commits END, candidates = CASE WHEN ? THEN candidates END",
                (self.result.name, path, self.url, self.options.identity(), known, known),
            )
            found = self.connection.execute("SELECT id FROM repository WHERE name = ?", (self.result.name,)).fetchone()
        return int(found["id"]), selection, False

    # -- one changeset -------------------------------------------------------------------------------------------

    def _examine(self, commit: RawCommit, blobs: Blobs) -> Mined | None:
        """What to keep, or null if the changeset has nothing of interest. Without files of interest it is kept only if
        the literal keyword is on a line that changes, which is asked for many at once."""
        kept: list[MinedFile] = []
        unread = literal = False
        oids = (o for raw in commit.files if raw.oid_before != raw.oid_after for o in (raw.oid_before, raw.oid_after))
        blobs.prefetch(oid for oid in oids if oid and (oid, False) not in self.cache)
        for raw in commit.files:
            if raw.oid_before == raw.oid_after:
                continue
            if requirements.is_requirements(raw.path):
                kept += self._requirements(raw, blobs)
                continue
            before, after = (self._side(oid, raw.path, blobs) for oid in (raw.oid_before, raw.oid_after))
            if before is None or after is None:
                unread = True
                continue
            literal = literal or before.literal or after.literal
            wrapped = self.wrappers.mentioned(before.data) or self.wrappers.mentioned(after.data)
            if not wrapped and (not (before.possible or after.possible) or before.skeleton == after.skeleton):
                continue
            outside = self._outside(commit, raw, before, after) if wrapped else ((), ())
            uses = before.uses_with(outside[0]), after.uses_with(outside[1])
            changes = function_changes(*uses)
            if changes or self._lines_differ(before.text, after.text):
                method = max(uses[0].method, uses[1].method, key=("tree", "tokens", "text").index)
                texts = (before.text if raw.oid_before else None, after.text if raw.oid_after else None)
                kept.append(MinedFile(raw, *texts, method, changes, outside))
        of_interest = [
            file for file in kept if file.method != "text" or not requirements.is_requirements(file.raw.path)
        ]
        if unread:
            self.result.partial += 1
            if not of_interest:
                self.result.lost.append(commit.sha)
        if not of_interest:
            # The wide pattern brought it, or a moved line did; git is asked only where the name is there at all.
            if unread or not literal or self.options.uses_only:
                return None
        elif self.options.uses_only and not any(file.changes for file in kept):
            return None
        return Mined(commit, tuple(kept), unread, is_bug_fix(commit.message), bool(of_interest))

    def _outside(self, commit: RawCommit, raw: RawFile, before: Content, after: Content) -> tuple[Outside, Outside]:
        """Makers that the file imports from its project, on both sides."""
        sides = ((f"{commit.sha}^", raw.path_before, before), (commit.sha, raw.path_after, after))
        first, second = (self.wrappers.outside(r, path, side.text) if path else () for r, path, side in sides)
        return first, second

    def _side(self, oid: str | None, path: str, blobs: Blobs) -> Content | None:
        """One side of a file; null if the object can't be read."""
        if oid is None:
            return ABSENT
        is_notebook = path.endswith(".ipynb")
        key = (oid, is_notebook)
        if key not in self.cache:
            data = blobs.read(oid)
            if data is None:
                return None
            self.cache[key] = Content(data, self.keyword, is_notebook)
            if len(self.cache) > CACHE_SIZE:
                self.cache.popitem(last=False)
        self.cache.move_to_end(key)
        return self.cache[key]

    def _lines_differ(self, before: str, after: str) -> bool:
        """Whether the lines with the literal keyword differ: what a text miner would call a change."""
        return self._keyword_lines(before) != self._keyword_lines(after)

    def _keyword_lines(self, text: str) -> Counter[str]:
        name = self.keyword.text
        return Counter(line for line in text.split("\n") if name in line) if name in text else Counter()

    def _requirements(self, raw: RawFile, blobs: Blobs) -> list[MinedFile]:
        if raw.oid_before is None or raw.oid_after is None:
            return []
        before, after = blobs.read(raw.oid_before), blobs.read(raw.oid_after)
        if before is None or after is None:
            return []
        texts = decode_source(before), decode_source(after)
        if requirements.differences(*texts, self.keyword.packages):
            return [MinedFile(raw, *texts, "text", ())]
        return []

    def _keep(self, row_id: int, pending: list[Mined], reached: Reached | None) -> None:
        """Write what was found, and how far the history is looked through."""
        literal = set(self.strict.changing(found.commit for found in pending if not found.of_interest))
        with transaction(self.connection):
            self.connection.execute(
                "UPDATE repository SET resume_json = ? WHERE id = ?", (reached and json.dumps(reached), row_id)
            )
            for found in pending:
                if not found.of_interest and found.commit.sha not in literal:
                    continue
                self.result.kept += 1
                self.result.bug_fixes += found.is_bug_fix
                selected = found.is_bug_fix or self.options.all_changes
                keep_changeset(self.connection, row_id, self.result.name, found, selected, self.options.dataset)
        pending.clear()


def settle_items(connection: sqlite3.Connection) -> None:
    """A commit of several clones is an item of the one that was named first, whoever mined it first."""
    connection.execute(
        "UPDATE item SET (changeset_id, project) = (SELECT c.id, r.name FROM changeset c JOIN repository r"
        " ON r.id = c.repository_id WHERE c.sha = substr(item.id, 8) ORDER BY r.id LIMIT 1)"
        " WHERE kind = 'commit' AND substr(id, 8) IN (SELECT sha FROM changeset GROUP BY sha HAVING count(*) > 1)"
    )


def decode_source(data: bytes) -> str:
    """Text of a source file: a BOM or a coding line is obeyed, else UTF-8, else Latin-1."""
    import io
    import tokenize

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return data.decode("latin-1")


def repository_name(path: Path, url: str | None) -> str:
    """`owner/name` from the address of the clone's remote if it has one, else its folder's last two names."""
    if url:
        return "/".join(url.split("/")[-2:])
    resolved = path.resolve()
    if resolved.name == ".git":
        resolved = resolved.parent
    return "/".join(part for part in (resolved.parent.name, resolved.name.removesuffix(".git")) if part)


__all__ = ["MineOptions", "MineResult", "Miner", "repository_name"]
