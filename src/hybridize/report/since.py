"""`--since`: only what stands in functions or on lines that a change has touched. The analysis is that of the whole."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

from hybridize.decide.model import Report
from hybridize.records import dataclass, replace
from hybridize.rewrite.locate import Site, functions
from hybridize.source.ends import common_ends
from hybridize.source.model import FileRef, SourceError, SourceText
from hybridize.source.reading import decode_source, parse, read_source, split_lines

#: The bytes of a file (by absolute path) before the change; None where there was none.
ReadOld = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class Touched:
    """What a change has touched in one file, lines from 1: sorted `lines`, and the (first, last) lines of functions.

    `lines` None: the whole file.
    """

    lines: tuple[int, ...] | None
    functions: frozenset[tuple[int, int]] = frozenset()

    def line(self, line: int) -> bool:
        """Whether a line is new, changed, or in a function that was touched."""
        return self.between(line, line) or any(first <= line <= last for first, last in self.functions)

    def between(self, first: int, last: int) -> bool:
        """Whether one of these lines is new or changed."""
        if self.lines is None:
            return True
        place = bisect_left(self.lines, first)
        return place < len(self.lines) and self.lines[place] <= last

    def definition(self, line: int, last: int) -> bool:
        """Whether the function whose `def` stands on a line, and which ends on `last`, was touched."""
        return self.between(line, last) or any(a <= line and last == b for a, b in self.functions)


def only_since(report: Report, read_old: ReadOld, contents: Mapping[str, bytes] | None = None) -> Report:
    """The report with the functions and findings that a change has touched, and all errors.

    `contents` are bytes by path from the root that stand for those on disk. Raises what `read_old` does.
    """
    root, given = report.project.root, contents or {}
    known: dict[str, Touched] = {}

    def touched(path: str) -> Touched:
        if path not in known:
            ref = FileRef(os.path.join(root, path), path)
            new = decode_source(ref, given[path]) if path in given else read_source(ref)
            known[path] = compare(ref, read_old(ref.path), new)
        return known[path]

    kept = tuple(
        function
        for function in report.functions
        if touched(function.facts.path).definition(function.facts.line, function.facts.end_line)
    )
    ids = {function.facts.id for function in kept}
    return replace(
        report,
        functions=kept,
        findings=tuple(f for f in report.findings if f.function in ids or touched(f.path).line(f.line)),
        assumptions=tuple(each for each in report.assumptions if each.function in ids),
        repairs=tuple(bundle for bundle in report.repairs if bundle.function in ids),
    )


def compare(ref: FileRef, old: bytes | None, new: SourceText | SourceError) -> Touched:
    """What is touched in the new text of a file; all of it where one of the two cannot be read."""
    before = None if old is None else decode_source(ref, old)
    if not isinstance(before, SourceText) or not isinstance(new, SourceText):
        return Touched(None)
    gone, lines = _changed(split_lines(before.text), split_lines(new.text))
    if not gone and not lines:
        return Touched(())
    removed = Touched(tuple(gone))
    # A line that is gone belongs to the function that it was in, be it a decorator.
    names = {site.qualname for site in _sites(before) if removed.between(_first_line(site), site.node.end_lineno or 0)}
    spans = {
        (_first_line(site), site.node.end_lineno or site.node.lineno)
        for site in _sites(new)
        if site.qualname in names or Touched(tuple(lines)).between(_first_line(site), site.node.end_lineno or 0)
    }
    return Touched(tuple(lines), frozenset(spans))


def _sites(source: SourceText) -> Sequence[Site]:
    tree = parse(source)
    return [] if isinstance(tree, SourceError) else functions(tree)


def _first_line(site: Site) -> int:
    return min([site.node.lineno, *(decorator.lineno for decorator in site.node.decorator_list)])


def _changed(old: Sequence[str], new: Sequence[str]) -> tuple[list[int], list[int]]:
    """The lines (from 1) that are gone from the old text, and those that are new in the new one."""
    from difflib import SequenceMatcher

    head, tail = common_ends(old, new)
    before, after = old[head : len(old) - tail], new[head : len(new) - tail]
    gone: list[int] = []
    lines: list[int] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            gone += range(head + a + 1, head + b + 1)
            lines += range(head + c + 1, head + d + 1)
    return gone, lines
