"""Finds changesets in which a person changed the hybridization of a function that was there before and stayed."""

from __future__ import annotations

import difflib
import hashlib
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hybridize.study.history import Blobs, GitError, RawCommit, RawFile, Repository, log
from hybridize.study.keyword import Keyword
from hybridize.study.mine import decode_source
from hybridize.study.uses import find_uses
from hybridize.study.uses_data import FileUses, Use
from hybridize.study.wrappers import Wrappers

KINDS = ("added", "removed", "arguments", "signature", "relocated")
HALVES = ("develop", "measure")
TESTS = ("test", "tests", "conftest")
_KEYWORD = Keyword()


@dataclass(frozen=True, slots=True)
class Limits:
    """What a changeset may have to count as one about hybridization, and a repository to be gone through."""

    files: int = 8  # Python files that it touches
    functions: int = 5  # functions whose hybridization it changes
    alike: float = 0.6  # share of the function's lines that stay
    size: int = 250_000  # bytes of Python in the newest tree: each tree is checked as a whole
    seconds: float = 60.0  # of `git log` for one repository


@dataclass(frozen=True, slots=True)
class Fix:
    """One change by a person. `other` is the function that loses the decorator where it is relocated."""

    repository: str
    commit: str
    path: str
    function: str
    kind: str
    before: str
    after: str
    other: str = ""


@dataclass(frozen=True, slots=True)
class _Source:
    """What a repository's files are read from, and its own makers of hybrid functions."""

    name: str
    blobs: Blobs
    wrappers: Wrappers


def half_of(repository: str) -> str:
    """`develop` or `measure`: the lowest bit of the first byte of the SHA-256 of "owner/name"."""
    return HALVES[hashlib.sha256(repository.encode()).digest()[0] & 1]


def mine(git: Path, name: str, limits: Limits) -> Iterator[Fix]:
    """The changes of a repository, newest first; of each function only the newest one of each kind."""
    repository = Repository(git)
    seen: set[tuple[str, str, str]] = set()
    end = time.monotonic() + limits.seconds
    try:
        if python_size(git) > limits.size:
            return
        with Blobs(repository) as blobs:
            source = _Source(name, blobs, Wrappers(repository, _KEYWORD, blobs))
            for commit in log(repository, ["HEAD"], _KEYWORD.wide_pattern, ["*.py"]):
                for fix in _of_commit(commit, source, limits):
                    key = (fix.path, fix.function, fix.kind)
                    if key not in seen:
                        seen.add(key)
                        yield fix
                if time.monotonic() > end:
                    return
    except (GitError, subprocess.SubprocessError):
        return


def python_size(git: Path) -> int:
    """Bytes of Python in the newest tree."""
    command = ["git", "-C", str(git), "ls-tree", "-r", "-l", "HEAD"]
    lines = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout.decode("utf-8", "replace")
    rows = (line.partition("\t") for line in lines.splitlines())
    sizes = (head.split()[3] for head, _, path in rows if path.endswith(".py"))
    return sum(int(size) for size in sizes if size.isdigit())


def _of_commit(commit: RawCommit, source: _Source, limits: Limits) -> list[Fix]:
    if len(commit.files) > limits.files:
        return []
    found = [fix for raw in commit.files for fix in _of_file(commit, raw, source, limits)]
    return found if len(found) <= limits.functions else []


def _of_file(commit: RawCommit, raw: RawFile, source: _Source, limits: Limits) -> list[Fix]:
    if not raw.oid_before or not raw.oid_after or raw.path_before != raw.path_after or _is_test(raw.path):
        return []
    contents = source.blobs.read(raw.oid_before), source.blobs.read(raw.oid_after)
    if None in contents or not any(_KEYWORD.possible_in(data or b"") for data in contents):
        return []
    texts = [decode_source(data or b"") for data in contents]
    before, after = map(find_uses, texts)
    changed = _changed(before, after, limits)
    if changed:  # a decorator of the project's own may be one of these, too
        sides = zip((f"{commit.sha}^", commit.sha), texts, strict=True)
        before, after = (find_uses(t, _KEYWORD, source.wrappers.outside(rev, raw.path, t)) for rev, t in sides)
        changed = _changed(before, after, limits)
    gains, losses = ([q for q, kind in changed if kind == wanted] for wanted in ("added", "removed"))
    moved = {gain: loss for gain in gains for loss in losses if _related(after, gain, loss)}
    fixes = []
    for qualname, kind in changed:
        if qualname in moved.values():
            continue
        other = moved.get(qualname, "")
        said = _text(before.of(other or qualname)), _text(after.of(qualname))
        found = "relocated" if other else kind
        fixes.append(Fix(source.name, commit.sha, raw.path, qualname, found, *said, other))
    return fixes


def _changed(before: FileUses, after: FileUses, limits: Limits) -> list[tuple[str, str]]:
    if before.method != "tree" or after.method != "tree":
        return []
    return [(q, kind) for q in before.functions if (kind := _kind(before, after, q, limits))]


def _is_test(path: str) -> bool:
    return any(part.startswith(TESTS) or part.endswith(("_test.py", "_tests.py")) for part in path.split("/"))


def _kind(before: FileUses, after: FileUses, qualname: str, limits: Limits) -> str | None:
    """How a function's hybridization changed, where the function is there before and after and not another one."""
    old, new = before.of(qualname), after.of(qualname)
    if qualname not in after.functions or before.functions[qualname].is_class:
        return None
    kind = _difference(old, new)
    return kind if kind and _alike(_body(before, qualname), _body(after, qualname)) >= limits.alike else None


def _difference(old: Sequence[Use], new: Sequence[Use]) -> str | None:
    if not old or not new:
        return "added" if new else "removed" if old else None
    first, second = (dict(uses[0].arguments) for uses in (old, new))
    changed = {key for key in {*first, *second} if first.get(key) != second.get(key)}
    return None if not changed else "signature" if "input_signature" in changed else "arguments"


def _body(file: FileUses, qualname: str) -> list[str]:
    function = file.functions[qualname]
    lines = [line.strip() for line in file.lines[function.def_line - 1 : function.end_line]]
    return [line for line in lines if line and not line.startswith("#")]


def _alike(first: list[str], second: list[str]) -> float:
    return difflib.SequenceMatcher(None, first, second, autojunk=False).ratio()


def _related(file: FileUses, gain: str, loss: str) -> bool:
    """Whether one of two functions is inside the other or names it."""
    if gain.startswith(f"{loss}.") or loss.startswith(f"{gain}."):
        return True
    names = {one: one.rpartition(".")[2] for one in (gain, loss)}
    texts = {one: "\n".join(_body(file, one)) for one in (gain, loss)}
    return f"{names[loss]}(" in texts[gain] or f"{names[gain]}(" in texts[loss]


def _text(uses: Sequence[Use]) -> str:
    return " ".join(" ".join(use.text.split()) for use in uses)[:300]


def draw(fixes: Sequence[Fix], per_kind: int, seed: int) -> list[Fix]:
    """At most so many of each kind: first one of each repository, then a second one, as the seed orders them."""
    chosen: list[Fix] = []
    for kind in KINDS:
        of_kind = sorted((fix for fix in fixes if fix.kind == kind), key=lambda fix: _order(fix, seed))
        rounds: dict[str, int] = {}
        ranked: list[tuple[int, bytes, Fix]] = []
        for fix in of_kind:
            rounds[fix.repository] = rounds.get(fix.repository, 0) + 1
            ranked.append((rounds[fix.repository], _order(fix, seed), fix))
        chosen += [fix for _, _, fix in sorted(ranked, key=lambda entry: entry[:2])][:per_kind]
    return chosen


def _order(fix: Fix, seed: int) -> bytes:
    return hashlib.sha256(f"{seed} {fix.repository} {fix.commit} {fix.path} {fix.function}".encode()).digest()
