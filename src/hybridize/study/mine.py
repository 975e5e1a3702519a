"""Mines histories for changesets that add or remove a use, and keeps them in the study's database."""

from __future__ import annotations

import gc
import json
import sqlite3
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from hybridize.study import history, notebook, requirements
from hybridize.study import profile as profiles
from hybridize.study.bugfix import is_bug_fix
from hybridize.study.history import Blobs, GitError, RawCommit, RawFile, Repository
from hybridize.study.keyword import Keyword
from hybridize.study.profile import Profile
from hybridize.study.mined import Mined, MinedFile, function_changes, keep_changeset
from hybridize.study.store import now, transaction
from hybridize.study.uses import find_uses
from hybridize.study.uses_data import EMPTY, FileUses, Outside
from hybridize.study.wrappers import Wrappers

CACHE_SIZE: Final = 1024
BATCH: Final = 50
"""Changesets kept in one transaction: what a kill can lose, and how long the other writer waits."""

Progress = Callable[[str, int, int], None]
"""Called with the repository's name, commits seen so far among candidates, and changesets kept."""


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

    def selection(self) -> list[str]:
        """The part of a git command line that selects commits."""
        period = [f"--{name}={value}" for name, value in (("since", self.since), ("until", self.until)) if value]
        return [*period, "--all" if self.all_refs else "HEAD"]

    def paths(self) -> list[str]:
        """Files to search, and files that tell of library versions."""
        return ["*.py", *(["*.ipynb"] if self.notebooks else []), *requirements.PATHS]

    def identity(self) -> str:
        """What decides which changesets are found; a repository done with the same is not done again."""
        relevant = {k: v for k, v in asdict(self).items() if k not in ("all_changes", "dataset")}
        return json.dumps(relevant, sort_keys=True)


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
        self.possible = keyword.possible_in(data)
        self.data = data
        self._keyword = keyword
        self._is_notebook = is_notebook

    @cached_property
    def text(self) -> str:
        """The source, as text."""
        return notebook.code_of(self.data) if self._is_notebook else decode_source(self.data)

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
    """Mines one repository."""

    def __init__(self, connection: sqlite3.Connection, repository: Repository, name: str, options: MineOptions) -> None:
        self.connection = connection
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
        head = self.repository.resolve("HEAD") or ""
        if not head and not self.options.all_refs:
            self.repository.run("rev-parse", "--absolute-git-dir")
            raise GitError("no commit at HEAD")
        self.result.head = head
        row_id, selection, done = self._begin(head)
        if done:
            self.result.skipped = True
            return
        self.result.commits = self.repository.count(selection)
        known = {
            row[0]
            for row in self.connection.execute(
                "SELECT sha FROM changeset WHERE repository_id = ?", (row_id,)
            ).fetchall()
        }
        skip = known | self.repository.boundary()
        pending: list[tuple[RawCommit, list[MinedFile], bool]] = []
        with Blobs(self.repository) as blobs:
            self.wrappers = Wrappers(self.repository, self.keyword, blobs)
            for commit in self._candidates(selection, skip):
                self.result.candidates += 1
                if commit.sha not in skip:
                    kept = self._examine(commit, blobs)
                    if kept is not None:
                        pending.append((commit, *kept))
                if len(pending) >= BATCH:
                    self._keep(row_id, pending)
                if progress:
                    progress(self.result.name, self.result.candidates, self.result.kept + len(pending))
            self._keep(row_id, pending)
        self.connection.execute(
            "UPDATE repository SET state = 'done', error = ?, commits = coalesce(commits, 0) + ?,"
            " candidates = coalesce(candidates, 0) + ?, mined_at = ? WHERE id = ?",
            (
                f"{len(self.result.lost)} commits could not be read: {' '.join(self.result.lost[:5])}"
                if self.result.lost
                else None,
                self.result.commits,
                self.result.candidates,
                now(),
                row_id,
            ),
        )

    def _begin(self, head: str) -> tuple[int, list[str], bool]:
        """The repository's row, what is left to mine, and whether that is nothing."""
        selection = self.options.selection()
        identity = self.options.identity()
        with transaction(self.connection):
            row = self.connection.execute("SELECT * FROM repository WHERE name = ?", (self.result.name,)).fetchone()
            if (
                row is not None
                and row["path"] != str(self.repository.path.resolve())
                and not self._descends(row["head"])
            ):
                raise GitError(f"another repository is already called {self.result.name}: {row['path']}")
            same = row is not None and row["options_json"] == identity
            if same and row["state"] == "done" and row["head"]:
                if row["head"] == head and not self.options.all_refs:
                    return int(row["id"]), selection, True
                if self.repository.resolve(row["head"]):
                    selection = [*selection, f"^{row['head']}"]
                elif row["commits"]:
                    self.connection.execute(
                        "UPDATE repository SET commits = 0, candidates = 0 WHERE id = ?", (row["id"],)
                    )
            elif row is not None:
                self.connection.execute("UPDATE repository SET commits = 0, candidates = 0 WHERE id = ?", (row["id"],))
            self.connection.execute(
                "INSERT INTO repository (name, path, url, head, state, options_json) VALUES (?, ?, ?, ?, 'started', ?)"
                " ON CONFLICT (name) DO UPDATE SET path = excluded.path, url = coalesce(excluded.url, url),"
                " head = excluded.head, state = 'started', options_json = excluded.options_json, error = NULL",
                (self.result.name, str(self.repository.path.resolve()), self.repository.url(), head, identity),
            )
            found = self.connection.execute("SELECT id FROM repository WHERE name = ?", (self.result.name,)).fetchone()
        return int(found["id"]), selection, False

    def _descends(self, head: str | None) -> bool:
        """Whether this clone has the commit at which the one of its name was mined."""
        return not head or self.repository.resolve(head) is not None

    def _candidates(self, selection: list[str], skip: frozenset[str] | set[str]) -> Iterator[RawCommit]:
        pattern, paths = self.keyword.wide_pattern + self.wrappers.pattern, self.options.paths()
        seen: set[str] = set()
        try:
            for commit in history.log(self.repository, selection, pattern, paths):
                seen.add(commit.sha)
                yield commit
            return
        except GitError:
            # A missing object ends `git log`; look at the commits one by one, around the gaps.
            pass
        for found in history.log_with_gaps(self.repository, selection, pattern, paths, seen | set(skip)):
            if isinstance(found, str):
                self.result.lost.append(found)
            else:
                yield found

    # -- one changeset -------------------------------------------------------------------------------------------

    def _examine(self, commit: RawCommit, blobs: Blobs) -> tuple[list[MinedFile], bool] | None:
        """The files to keep and whether some could not be read; null if the changeset has nothing of interest."""
        kept: list[MinedFile] = []
        unread = False
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
            # The wide pattern brought it, or a moved line did.
            strict = not unread and history.matching(
                self.repository, [commit.sha], self.keyword.strict_pattern, self.options.paths()
            )
            return (kept, unread) if strict and not self.options.uses_only else None
        if self.options.uses_only and not any(file.changes for file in kept):
            return None
        return kept, unread

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
        return Counter(line for line in text.split("\n") if self.keyword.text in line)

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

    def _keep(self, row_id: int, pending: list[tuple[RawCommit, list[MinedFile], bool]]) -> None:
        with transaction(self.connection):
            for commit, files, unread in pending:
                fix = is_bug_fix(commit.message)
                self.result.kept += 1
                self.result.bug_fixes += fix
                selected = fix or self.options.all_changes
                changeset = Mined(commit, tuple(files), unread, fix)
                keep_changeset(self.connection, row_id, self.result.name, changeset, selected, self.options.dataset)
        pending.clear()


def decode_source(data: bytes) -> str:
    """Text of a source file: a BOM or a coding line is obeyed, else UTF-8, else Latin-1."""
    import io
    import tokenize

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return data.decode("latin-1")


def repository_name(path: Path) -> str:
    """`owner/name` from the clone's remote if it has one, else its folder's last two names."""
    url = Repository(path).url()
    if url:
        return "/".join(url.split("/")[-2:])
    resolved = path.resolve()
    if resolved.name == ".git":
        resolved = resolved.parent
    return "/".join(part for part in (resolved.parent.name, resolved.name.removesuffix(".git")) if part)


__all__ = ["MineOptions", "MineResult", "Miner", "repository_name"]
