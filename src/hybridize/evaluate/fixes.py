"""Changes of hybridization by people, out of a mined study: what the tool is held against by `evaluate fixes`."""

from __future__ import annotations

import difflib
import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hybridize.study.store import ChangedFile, connect, file_changes
from hybridize.study.uses import find_uses
from hybridize.study.uses_data import FileUses, Use

#: What people do: make a function a graph, take that away, change how, say with which arguments, or where.
KINDS: Final = ("added", "removed", "arguments", "signature", "relocated")
#: Parts of paths that belong to tests.
_TESTS: Final = ("test", "tests", "conftest")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a changeset may have to count as one about hybridization.

    Attributes:
        files: with a use of `tf.function` that it touches.
        functions: whose hybridization it changes.
        alike: share of the function's lines that stay.
    """

    files: int = 8
    functions: int = 5
    alike: float = 0.6


@dataclass(frozen=True, slots=True)
class Fix:
    """One change by a person of a function that is there before and after.

    Attributes:
        function: its qualified name; of a relocated decorator, who gains it.
        before, after: the uses, as they are written.
        other: who loses the decorator where it is relocated.
    """

    repository: str
    commit: str
    path: str
    function: str
    kind: str
    before: str
    after: str
    other: str = ""


def of_study(database: Path, limits: Limits) -> list[Fix]:
    """The changes of all repositories of a study; of each function only the newest one of each kind."""
    found: dict[tuple[str, str, str, str], Fix] = {}
    connection = connect(database)
    try:
        rows = connection.execute(
            "SELECT changeset.id, sha, name FROM changeset JOIN repository ON repository.id = repository_id "
            "WHERE touches_use = 1 AND changeset.state = 'done' ORDER BY name, committed_at DESC, sha"
        ).fetchall()
        for row in rows:
            for fix in _of_changeset(connection, row, limits):
                found.setdefault((fix.repository, fix.path, fix.function, fix.kind), fix)
    finally:
        connection.close()
    return list(found.values())


def draw(fixes: Sequence[Fix], per_kind: int, seed: int) -> list[Fix]:
    """At most so many of each kind: first one of each repository, then a second one, as the seed orders them."""
    chosen: list[Fix] = []
    for kind in KINDS:
        rounds: dict[str, int] = {}
        ranked: list[tuple[int, bytes, Fix]] = []
        for fix in sorted((fix for fix in fixes if fix.kind == kind), key=lambda fix: _order(fix, seed)):
            rounds[fix.repository] = rounds.get(fix.repository, 0) + 1
            ranked.append((rounds[fix.repository], _order(fix, seed), fix))
        chosen += [fix for _, _, fix in sorted(ranked, key=lambda entry: entry[:2])][:per_kind]
    return chosen


def _order(fix: Fix, seed: int) -> bytes:
    return hashlib.sha256(f"{seed} {fix.repository} {fix.commit} {fix.path} {fix.function}".encode()).digest()


def _of_changeset(connection: sqlite3.Connection, row: sqlite3.Row, limits: Limits) -> Sequence[Fix]:
    files = file_changes(connection, row["id"])
    if len(files) > limits.files:
        return ()
    found = [fix for file in files for fix in _of_file(file, row, limits)]
    return found if len(found) <= limits.functions else ()


def _of_file(file: ChangedFile, row: sqlite3.Row, limits: Limits) -> Iterator[Fix]:
    path = file.path_after
    if file.before is None or file.after is None or path is None or path != file.path_before or _is_test(path):
        return
    before = find_uses(file.before, outside=file.outside_before)
    after = find_uses(file.after, outside=file.outside_after)
    if before.method != "tree" or after.method != "tree":
        return
    changed = {q: kind for q in before.functions if (kind := _kind(before, after, q, limits))}
    gains, losses = ([q for q, kind in changed.items() if kind == wanted] for wanted in ("added", "removed"))
    moved = {gain: loss for gain in gains for loss in losses if _related(after, gain, loss)}
    for name, kind in changed.items():
        if name not in moved.values():
            other = moved.get(name, "")
            said = _text(before.of(other or name)), _text(after.of(name))
            yield Fix(row["name"], row["sha"], path, name, "relocated" if other else kind, *said, other)


def _is_test(path: str) -> bool:
    return any(part.startswith(_TESTS) or part.endswith(("_test.py", "_tests.py")) for part in path.split("/"))


def _kind(before: FileUses, after: FileUses, name: str, limits: Limits) -> str | None:
    """How a function's hybridization changed, where the function is there before and after and not another one."""
    if name not in after.functions or before.functions[name].is_class:
        return None
    kind = _difference(before.of(name), after.of(name))
    return kind if kind and _alike(_body(before, name), _body(after, name)) >= limits.alike else None


def _difference(old: Sequence[Use], new: Sequence[Use]) -> str | None:
    if not old or not new:
        return "added" if new else "removed" if old else None
    first, second = (dict(uses[0].arguments) for uses in (old, new))
    changed = {key for key in {*first, *second} if first.get(key) != second.get(key)}
    return None if not changed else "signature" if "input_signature" in changed else "arguments"


def _body(file: FileUses, name: str) -> list[str]:
    function = file.functions[name]
    lines = [line.strip() for line in file.lines[function.def_line - 1 : function.end_line]]
    return [line for line in lines if line and not line.startswith("#")]


def _alike(first: list[str], second: list[str]) -> float:
    return difflib.SequenceMatcher(None, first, second, autojunk=False).ratio()


def _related(file: FileUses, gain: str, loss: str) -> bool:
    """Whether one of two functions is inside the other or calls it by its name."""
    if gain.startswith(f"{loss}.") or loss.startswith(f"{gain}."):
        return True
    names = {one: one.rpartition(".")[2] for one in (gain, loss)}
    texts = {one: "\n".join(_body(file, one)) for one in (gain, loss)}
    return f"{names[loss]}(" in texts[gain] or f"{names[gain]}(" in texts[loss]


def _text(uses: Sequence[Use]) -> str:
    return " ".join(" ".join(use.text.split()) for use in uses)[:300]
