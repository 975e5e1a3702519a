"""Edits of repairs -> new files. A bundle's edits are made together or not at all; overlap is resolved here."""

from __future__ import annotations

import codecs
import io
import itertools
import tokenize
from collections.abc import Callable, Iterable, Iterator
from copy import copy

from hybridize.records import dataclass, field, replace
from hybridize.repairs.model import Bundle
from hybridize.repairs.source.edits import NewImport, TextEdit
from hybridize.rewrite.imports import import_edit
from hybridize.rewrite.model import Edit, apply_edits
from hybridize.rewrite.notebook_json import NotEditable, edit_notebook
from hybridize.rewrite.propose import parse
from hybridize.rewrite.sections import NOWHERE, Around
from hybridize.rewrite.text import NEWLINE, SourceText
from hybridize.source.ends import common_ends
from hybridize.source.model import FileRef, SourceError
from hybridize.source.model import SourceText as Source
from hybridize.source.reading import decode_source

_BOM = codecs.BOM_UTF8


@dataclass(slots=True)
class Composed:
    """The files that change; by number the bundles in them, as far as they were applied, and why others are not."""

    files: dict[str, bytes] = field(default_factory=dict)
    taken: dict[int, Bundle] = field(default_factory=dict)
    refused: dict[int, tuple[Bundle, str]] = field(default_factory=dict)


def _together(bundle: Bundle) -> Bundle:
    """The repairs of a bundle that go together; one that changes what another before it changes waits for later."""
    edits: set[TextEdit] = set()
    kept = []
    for repair in bundle.repairs:
        mine = set(repair.edits) - edits
        if not any(_overlap(one, two) for one in mine for two in edits):
            edits |= mine
            kept.append(repair)
    return replace(bundle, repairs=tuple(kept))


def _overlap(one: TextEdit, two: TextEdit) -> bool:
    if one.path != two.path:
        return False
    if one.start == two.start:
        return one.end > one.start and two.end > two.start
    first, second = sorted((one, two), key=lambda e: e.start)
    return second.start < first.end


class _Refused(Exception):
    """A bundle can't be applied; the argument says why."""


def compose(bundles: Iterable[Bundle], read: Callable[[str], bytes]) -> Composed:
    """Applies as many bundles as go together, the first first; `read` gives a file's bytes. Raises what `read` does."""
    found = Composed()
    files: dict[str, _File] = {}
    for number, whole in enumerate(bundles):
        bundle = _together(whole)
        try:
            new = _applied(bundle, files, read)
        except _Refused as reason:
            found.refused[number] = (whole, str(reason))
            continue
        files |= new
        found.taken[number] = bundle
    found.files = {path: file.new for path, file in files.items() if file.new != file.data}
    return found


def each_alone(bundles: Iterable[Bundle], read: Callable[[str], bytes]) -> Iterator[tuple[Bundle, dict[str, bytes]]]:
    """Each bundle that can be applied, with the files as it alone changes them; others are left out.

    Files that `read` fails on with an OSError, or that do not parse, cannot be changed.
    """
    files: dict[str, _File] = {}
    for bundle in bundles:
        try:
            new = _applied(_together(bundle), files, read)
        except (_Refused, OSError, SyntaxError, ValueError):
            continue
        yield bundle, {path: file.new for path, file in new.items() if file.new != file.data}


def _applied(bundle: Bundle, files: dict[str, _File], read: Callable[[str], bytes]) -> dict[str, _File]:
    """The files that a bundle changes, after it; they are added to `files` as they are. Raises _Refused."""
    edits = {edit for repair in bundle.repairs for edit in repair.edits}
    imports = {each for repair in bundle.repairs for each in repair.imports}
    paths = sorted({edit.path for edit in edits} | {each.path for each in imports})
    for path in paths:
        if path not in files:
            files[path] = _File(path, read(path))
    return {
        path: files[path].with_more({e for e in edits if e.path == path}, {i for i in imports if i.path == path})
        for path in paths
    }


class _File:
    """A file with the edits that were accepted so far; those of a notebook are of the Python of its cells."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.notebook = _notebook(path, data)
        python = data if self.notebook is None else self.notebook.text.encode()
        self.text = SourceText(python)
        self.tree = parse(python)
        self.comments = _comments(python, self.text)
        self.edits: frozenset[TextEdit] = frozenset()
        self.imports: frozenset[NewImport] = frozenset()
        self.data = self.new = data

    def with_more(self, edits: set[TextEdit], imports: set[NewImport]) -> _File:
        """The file with further edits; raises _Refused where they don't go together or break it."""
        other = copy(self)
        other.edits, other.imports = self.edits | edits, self.imports | imports
        try:
            other.new = other._apply()
        except (SyntaxError, ValueError, UnicodeError) as error:
            raise _Refused(f"the result of {self.path} would not parse ({error})") from None
        except NotEditable as reason:
            raise _Refused(str(reason)) from None
        return other

    def _apply(self) -> bytes:
        edits = self._edits()
        if self.notebook is not None:
            return edit_notebook(self.notebook, edits)[0] if edits else self.data
        new = apply_edits(self.data, edits)
        parse(new)
        return new

    def _edits(self) -> tuple[Edit, ...]:
        places = sorted((self._edit(edit) for edit in self.edits), key=lambda e: (e.start, e.end, e.replacement))
        self._keep_comments(places)
        for one, two in itertools.pairwise(places):
            if two.start < one.end or (one.start == two.start and one.end > one.start):
                line = self.text.line_of(two.start)
                raise _Refused(f"two repairs change line {line} of {self.path}")
        first = min((edit.start[0] for edit in self.edits), default=1)
        before = next((i for i, n in enumerate(self.tree.body) if (n.end_lineno or 0) >= first), len(self.tree.body))
        wanted: dict[str, list[str]] = {}
        for each in sorted(self.imports):
            wanted.setdefault(each.module, []).append(each.alias)
        cells = self.notebook.cells if self.notebook is not None else None
        around = Around(breaks=frozenset(cells.starts)) if cells is not None else NOWHERE
        new = [import_edit(self.text, self.tree, module, names, before, around) for module, names in wanted.items()]
        return tuple(sorted([*new, *places], key=lambda e: (e.start, e.end)))

    def _keep_comments(self, edits: list[Edit]) -> None:
        """Raises _Refused where a comment in the text that goes is not in what comes, be it at another place."""
        gone = [c for c in self.comments if any(edit.start <= c[0] < edit.end for edit in edits)]
        if not gone:
            return
        new = [edit.replacement for edit in edits]
        for start, _, said in gone:
            if sum(text.count(said) for text in new) < sum(other == said for _, _, other in gone):
                raise _Refused(f"a comment on line {self.text.line_of(start)} of {self.path} would be lost")

    def _edit(self, edit: TextEdit) -> Edit:
        newline = self.text.newline_at(min(edit.start[0], len(self.text.starts)))
        replacement = edit.text.encode(self.text.encoding).replace(b"\n", newline)
        return Edit(self.text.offset(*edit.start), self.text.offset(*edit.end), replacement)


def _notebook(path: str, data: bytes) -> Source | None:
    ref = FileRef(path, path)
    read = decode_source(ref, data) if ref.is_notebook else None
    if isinstance(read, SourceError):
        raise ValueError(read.message)
    return read


def _comments(data: bytes, text: SourceText) -> list[tuple[int, int, bytes]]:
    """The byte ranges of the comments, with what they say."""
    found = []
    try:
        for token in tokenize.tokenize(io.BytesIO(data).readline):
            if token.type == tokenize.COMMENT:
                said = token.string.encode(text.encoding)
                column = len(token.line[: token.start[1]].encode())
                start = text.offset(token.start[0], column)
                found.append((start, start + len(said), said))
    except (tokenize.TokenError, SyntaxError):
        pass  # what Python parses and its tokenizer does not has no comments that are known
    return found


def edits_between(original: bytes, new: bytes) -> tuple[Edit, ...]:
    """Edits by whole lines that make one file of another: what a diff of several steps shows."""
    import difflib

    mark = len(_BOM) if original.startswith(_BOM) and new.startswith(_BOM) else 0  # it belongs to no line
    old_lines, new_lines = _lines(original[mark:]), _lines(new[mark:])
    starts = [mark]
    for line in old_lines:
        starts.append(starts[-1] + len(line))
    # The matcher takes quadratic time: it gets only what lies between the first and the last difference.
    same, tail = common_ends(old_lines, new_lines)
    old_part, new_part = old_lines[same : len(old_lines) - tail], new_lines[same : len(new_lines) - tail]
    matcher = difflib.SequenceMatcher(None, old_part, new_part, autojunk=False)
    return tuple(
        Edit(starts[same + a], starts[same + b], b"".join(new_part[c:d]))
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    )


def _lines(data: bytes) -> list[bytes]:
    parts, last = [], 0
    for match in NEWLINE.finditer(data):
        parts.append(data[last : match.end()])
        last = match.end()
    return [*parts, data[last:]] if last < len(data) else parts
