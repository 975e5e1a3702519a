"""Reads git histories by the `git` command line; contents are in `blobs`.

Nothing here writes to a repository, runs its hooks, filters or diff drivers, or touches the network: partial clones
miss
objects, and a missing object is reported as missing.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Final, TypeVar

from hybridize.guard import for_children

NULL_OID: Final = frozenset("0")
_SAFE: Final = (
    "--no-replace-objects",
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.quotePath=false"),
    *("-c", "log.follow=false"),
    *("-c", "log.showRoot=true"),
    *("-c", "log.showSignature=false"),
    *("-c", "log.mailmap=false"),
    *("-c", "protocol.allow=never"),
    *("-c", "i18n.logOutputEncoding=UTF-8"),
)
_DIFF: Final = (
    "--raw",
    "-r",
    "-z",
    "-M",
    "-l1000",
    "--no-abbrev",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--text",
    "--diff-algorithm=default",
    "--format=%x01%H%x00%an%x00%at%x00%ct%x00%B%x00%x02",
)


_SIDES: Final = ("--root", "--always", "--raw", "-r", "-z", "--no-abbrev", "--no-renames", "--format=%x01%H")


class GitError(Exception):
    """Git could not do it; the message is its own last line."""


@dataclass(frozen=True, slots=True)
class RawFile:
    """One file of a changeset. Null object names mean that the file is absent on that side."""

    status: str
    path_before: str | None
    path_after: str | None
    oid_before: str | None
    oid_after: str | None

    @property
    def path(self) -> str:
        """The path after, or before if the file is gone."""
        return self.path_after or self.path_before or ""


@dataclass(frozen=True, slots=True)
class RawCommit:
    """A commit as the log names it; `authored` and `committed` are in seconds since the epoch, UTC."""

    sha: str
    author: str
    authored: int
    committed: int
    message: str
    files: tuple[RawFile, ...]

    @property
    def subject(self) -> str:
        """The first paragraph on one line, as git's `%s`."""
        return " ".join(self.message.strip("\n").partition("\n\n")[0].split("\n")).strip()

    @property
    def body(self) -> str:
        """The rest of the message."""
        return self.message.strip("\n").partition("\n\n")[2].strip()


@dataclass(frozen=True, slots=True)
class Sides:
    """A commit and, of each of its changed files, the object names before and after; null: not there."""

    sha: str
    files: tuple[tuple[str | None, str | None], ...]


Listed = TypeVar("Listed", RawCommit, Sides)


@dataclass(frozen=True, slots=True)
class Repository:
    """A clone, bare or not."""

    path: Path

    def command(self, *arguments: str) -> list[str]:
        """A git command line that neither the user's nor the repository's configuration can bend."""
        return ["git", "-C", str(self.path), *_SAFE, *arguments]

    def run(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """Output of a git command.

        Raises:
            GitError: it failed, or there is no git.
        """
        try:
            done = subprocess.run(
                self.command(*arguments),
                input=stdin,
                capture_output=True,
                check=False,
                env=environment(),
                preexec_fn=for_children(),
            )
        except OSError as error:
            raise GitError(f"cannot run git: {error}") from error
        if done.returncode:
            raise GitError(_last_line(done.stderr) or f"git {arguments[0]} failed")
        return done.stdout

    def resolve(self, revision: str) -> str | None:
        """The commit that a revision names, or null."""
        try:
            return self.run("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip() or None
        except GitError:
            return None

    def commits(self, selection: Sequence[str]) -> list[str]:
        """The commits without merges that a selection has, newest first."""
        return self.run("rev-list", "--no-merges", *selection).decode("ascii").split()

    def ends(self) -> tuple[str, frozenset[str]]:
        """The commit at HEAD, or nothing, and those at which a shallow clone ends: they only look as if they had added
        every file.

        Raises:
            GitError: it is no repository.
        """
        ask = ("rev-parse", "--absolute-git-dir")
        try:
            place, _, head = self.run(*ask, "--quiet", "--verify", "HEAD^{commit}").rstrip(b"\n").rpartition(b"\n")
        except GitError:
            place, head = self.run(*ask).rstrip(b"\n"), b""
        try:
            shallow = (Path(os.fsdecode(place)) / "shallow").read_text("ascii")
        except (OSError, UnicodeDecodeError):
            shallow = ""
        return head.decode("ascii"), frozenset(shallow.split())

    def url(self) -> str | None:
        """The web address of `origin`, without credentials, or null."""
        try:
            text = self.run("config", "--get", "remote.origin.url").decode("utf-8", "replace").strip()
        except GitError:
            return None
        return web_address(text)


def web_address(remote: str) -> str | None:
    """`https://host/owner/name` of a remote's address; null for local paths."""
    rest = remote.removesuffix("/").removesuffix(".git")
    scheme, separator, tail = rest.partition("://")
    if separator and scheme in ("https", "http", "ssh", "git"):
        host, slash, path = tail.partition("/")
        host = host.rpartition("@")[2].partition(":")[0]
        return f"https://{host}/{path}" if slash and host else None
    host, colon, path = rest.partition(":")
    if not separator and colon and "/" not in host and "@" in host:
        return f"https://{host.rpartition('@')[2]}/{path}"
    return None


def environment() -> dict[str, str]:
    """The environment of every git command: plain locale (its regular expressions are faster), no prompts, no
    network."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    extra = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}
    kept_git = {name: os.environ[name] for name in ("GIT_CONFIG_GLOBAL", "GIT_EXEC_PATH") if name in os.environ}
    return kept | kept_git | extra


def changes(repository: Repository, shas: Sequence[str], paths: Sequence[str]) -> Iterator[RawCommit | str]:
    """Each of the commits with its files within `paths`; one whose files cannot even be listed as its bare name."""
    options = ("--stdin", "--root", "--always", *_DIFF)
    listing = repository.command("diff-tree", *options, "--", *paths)
    # Without contents only exact renames can be seen, and nothing is read that may be missing.
    exact = repository.command("diff-tree", *options, "-M100%", "--", *paths)
    return _each(shas, [listing, exact], parse_log)


def sides(repository: Repository, selection: Sequence[str], wanted: Callable[[bytes], bool]) -> Sequence[Sides | str]:
    """The commits without merges that a selection has, newest first, with what their wanted paths held before and
    after, renames apart; one whose trees cannot be read as its bare name.

    Nothing but trees is read. Paths are looked at here: git would hold each file of a tree against each pattern,
    changed or not.
    """
    parse = partial(_parse_sides, wanted)
    log = repository.command("log", "--no-merges", "--no-decorate", "--no-notes", "--no-color", *_SIDES, *selection)
    try:  # one walk; who lists first and then asks for each reads every commit twice
        return list(_stream(log, "", parse))
    except GitError:
        tree = repository.command("diff-tree", "--stdin", *_SIDES)
        return list(_each(repository.commits(selection), [tree], parse))


def _each(
    shas: Sequence[str], commands: Sequence[list[str]], parse: Callable[[Iterator[bytes]], Iterator[Listed]]
) -> Iterator[Listed | str]:
    """What the first command lists for each commit; where it fails for one, what the others do, or its bare name."""
    first, *others = commands
    start = 0
    while start < len(shas):
        try:
            for found in _stream(first, "\n".join(shas[start:]), parse):
                start += 1
                yield found
            return
        except GitError:
            pass
        if start < len(shas):
            sha = shas[start]
            start += 1
            yield next((found for command in others for found in _alone(command, sha, parse)), sha)


def _alone(command: list[str], sha: str, parse: Callable[[Iterator[bytes]], Iterator[Listed]]) -> Iterator[Listed]:
    try:
        yield from _stream(command, sha, parse)
    except GitError:
        pass


def _stream(command: list[str], stdin: str, parse: Callable[[Iterator[bytes]], Iterator[Listed]]) -> Iterator[Listed]:
    """The commits that a git command prints, as it prints them; its failure is raised after them."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            preexec_fn=for_children(),
        )
    except OSError as error:
        raise GitError(f"cannot run git: {error}") from error
    assert process.stdout is not None
    assert process.stderr is not None
    errors: list[bytes] = []
    helpers = (
        threading.Thread(target=lambda s: errors.append(s.read()), args=(process.stderr,), daemon=True),
        threading.Thread(target=_feed, args=(process.stdin, stdin), daemon=True),
    )
    for helper in helpers:
        helper.start()
    try:
        yield from parse(_fields(process.stdout))
        if process.wait():
            helpers[0].join()
            raise GitError(_last_line(b"".join(errors)) or "git failed")
    finally:
        process.stdout.close()
        if process.poll() is None:
            process.terminate()
        process.wait()
        for helper in helpers:
            helper.join()
        process.stderr.close()


def _feed(stream: IO[bytes], text: str) -> None:
    try:
        stream.write(text.encode("ascii") + b"\n")
        stream.close()
    except OSError:
        pass  # git died; its exit status says so


def _fields(stream: IO[bytes]) -> Iterator[bytes]:
    """What stands between NUL bytes; an unfinished last field is dropped."""
    rest = b""
    while chunk := stream.read1(1 << 16) if hasattr(stream, "read1") else stream.read(1 << 16):
        *whole, rest = (rest + chunk).split(b"\0")
        yield from whole
    if rest.strip():
        yield rest


def parse_log(fields: Iterator[bytes]) -> Iterator[RawCommit]:
    """Commits from the NUL-separated fields of our log format. A commit cut off in the middle is not yielded."""
    head: tuple[str, str, int, int, str] | None = None
    files: list[RawFile] = []
    for field in fields:
        text = field.lstrip(b"\x02\n")
        if text.startswith(b"\x01"):
            if head:
                yield RawCommit(*head, tuple(files))
            head, files = None, []
            try:
                author, authored, committed, message = next(fields), next(fields), next(fields), next(fields)
            except StopIteration:
                return
            head = (text[1:].decode("ascii"), decode(author), _integer(authored), _integer(committed), decode(message))
        elif text.startswith(b":") and head:
            parts = text[1:].decode("ascii", "replace").split()
            status = parts[4][0]
            try:
                first = decode_path(next(fields))
                second = decode_path(next(fields)) if status in "RC" else first
            except StopIteration:
                return
            if parts[0] == "160000" or parts[1] == "160000":
                continue
            files.append(
                RawFile(
                    status,
                    None if status == "A" else first,
                    None if status == "D" else second,
                    None if NULL_OID.issuperset(parts[2]) else parts[2],
                    None if NULL_OID.issuperset(parts[3]) else parts[3],
                )
            )
    if head:
        yield RawCommit(*head, tuple(files))


def _parse_sides(wanted: Callable[[bytes], bool], fields: Iterator[bytes]) -> Iterator[Sides]:
    """Commits from the NUL-separated fields of `_SIDES`; as with `parse_log`, one cut off is not yielded."""
    sha = ""
    files: list[tuple[str | None, str | None]] = []
    for field in fields:
        if b":" not in field[:2]:
            if sha:
                yield Sides(sha, tuple(files))
            sha, files = field.rpartition(b"\x01")[2].decode("ascii"), []
        else:
            path = next(fields, b"")
            if wanted(path):
                first, second, before, after, _ = field.lstrip(b"\n:").decode("ascii").split()
                if before != after and "160000" not in (first, second):
                    files.append(
                        (None if NULL_OID.issuperset(before) else before, None if NULL_OID.issuperset(after) else after)
                    )
    if sha:
        yield Sides(sha, tuple(files))


def matching(repository: Repository, shas: Iterable[str], pattern: str, paths: Sequence[str]) -> frozenset[str]:
    """Which of the commits change a line matching `pattern`, as `log` would say; those git cannot read count as not."""
    wanted = list(shas)
    if not wanted:
        return frozenset()
    options = ("--stdin", "--root", "-r", "-M", "-l1000", "-s", "--text", "--no-textconv", "--no-ext-diff", "-v")
    try:
        output = repository.run(
            "diff-tree", *options, "--format=%H", f"-G{pattern}", "--", *paths, stdin="\n".join(wanted).encode() + b"\n"
        )
    except GitError:
        return frozenset(wanted)
    return frozenset(output.decode("ascii", "replace").split())


def decode(data: bytes) -> str:
    """Text of a message or name: UTF-8, else Latin-1, which accepts anything."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def decode_path(data: bytes) -> str:
    """A path for showing: bytes that are no UTF-8 appear as `\\xNN`. Contents are read by object name, never by
    path."""
    return data.decode("utf-8", "backslashreplace")


def _integer(data: bytes) -> int:
    try:
        return int(data)
    except ValueError:
        return 0


def _last_line(data: bytes) -> str:
    lines = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""
