"""`--add-ignore`: comments on all that a report has to say, until nothing is left that a comment can silence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from hybridize.decide.documentation import CODES
from hybridize.decide.model import Report
from hybridize.records import dataclass
from hybridize.report.items import Item, Kind, items
from hybridize.rewrite import FileResult
from hybridize.rewrite.comments import plan_comments
from hybridize.rewrite.compose import edits_between
from hybridize.source.model import FileRef, SourceText
from hybridize.source.reading import decode_source

#: Analyzes the project with other contents (by path from the root) of some files, and leaves out what nobody asked for.
Look: TypeAlias = Callable[[Mapping[str, bytes]], Report]

#: What is silenced no longer blocks: a change may be proposed that was not before, and be silenced in turn.
_ROUNDS = 6
#: These tell of comments and of hybridize itself.
_NEVER = frozenset({CODES["unused-suppression"], CODES["failed"]})


@dataclass(frozen=True, slots=True)
class Ignored:
    """What was planned, or is left: the files with their comments, how many lines got one, what takes none and why."""

    root: str
    files: tuple[FileResult, ...]
    comments: int
    left: tuple[tuple[Item, str], ...]


def ignore_all(look: Look, reason: str = "") -> Ignored:
    """Plans a comment on each line that is reported. Nothing is written.

    `reason` has neither `#` nor line breaks. Raises what `look` does, and OSError for a file that is gone.
    """
    contents: dict[str, bytes] = {}
    originals: dict[str, bytes] = {}
    refused: dict[tuple[str, int], str] = {}
    comments = 0
    report = look(contents)
    for _ in range(_ROUNDS):
        added = 0
        for path, wanted in _wanted(report).items():
            file = Path(report.project.root, path)
            if path not in originals:
                originals[path] = file.read_bytes()
            source = decode_source(FileRef(str(file), path), contents.get(path, originals[path]))
            assert isinstance(source, SourceText)  # it was analyzed
            planned = plan_comments(source, wanted, reason)
            refused |= {(path, line): why for line, why in planned.refused}
            if planned.added:
                contents[path] = planned.result.new
                added += len(planned.added)
        if not added:
            break
        comments += added
        report = look(contents)
    files = tuple(
        FileResult(Path(path), originals[path], new, edits_between(originals[path], new), (), (), ())
        for path, new in sorted(contents.items())
    )
    left = [(item, _why(item, refused)) for item in items(report)]
    return Ignored(report.project.root, files, comments, tuple(left))


def _wanted(report: Report) -> Mapping[str, Mapping[int, set[str]]]:
    """The codes to silence by path and line."""
    found: defaultdict[str, defaultdict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for item in items(report):
        if item.kind is not Kind.ERROR and item.code not in _NEVER:
            found[item.path][item.line].add(item.code)
    return found


def _why(item: Item, refused: Mapping[tuple[str, int], str]) -> str:
    if item.kind is Kind.ERROR:
        return item.message
    if item.code in _NEVER:
        return f"no comment silences it: {item.message}"
    return refused.get((item.path, item.line), "the comment did not silence it")
