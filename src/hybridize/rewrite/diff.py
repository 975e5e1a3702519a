"""A unified diff straight from the edits: no search for the changed lines, so large files cost nothing."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.rewrite.model import Edit, FileResult, apply_edits
from hybridize.rewrite.text import SourceText

_CONTEXT = 3
_NO_NEWLINE = "\\ No newline at end of file\n"

# Lines `old_start` to `old_end` (0-based, exclusive) of the original become `new`.
_Change = tuple[int, int, list[bytes]]


def unified_diff(result: FileResult, name: str | None = None) -> str:
    """The change as text with `---` and `+++` headers and the file's path, or this name; empty if nothing changed.

    Of a notebook the sources of the cells that change are shown, in a form that is no patch of the file.
    The text is decoded as the file declares; line ends are kept, but a lone carriage return is shown as a newline.
    """
    if not result.changed:
        return ""
    path = result.path.as_posix() if name is None else name
    if result.path.suffix == ".ipynb":
        from hybridize.rewrite.cell_lines import cells_diff

        return cells_diff(result, path)
    text = SourceText(result.original)
    try:
        encoding = text.encoding
        result.original.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        encoding = "latin-1"
    old = [text.line(number) for number in range(1, len(text.starts) + 1)]
    if not old[-1]:
        old.pop()
    parts = [f"--- {path}\n", f"+++ {path}\n"]
    shift = 0
    for hunk in _hunks(list(_changes(text, result.edits, old))):
        lines, shift = _hunk(old, hunk, shift)
        parts.extend(_shown(line, encoding) for line in lines)
    return "".join(parts)


def _changes(text: SourceText, edits: tuple[Edit, ...], old: list[bytes]) -> Iterator[_Change]:
    """The edits as whole lines, those on neighbouring lines together, without the lines that stay equal."""
    groups: list[tuple[int, int, list[Edit]]] = []
    for edit in edits:
        first, last = text.line_of(edit.start) - 1, text.line_of(max(edit.start, edit.end - 1))
        if groups and first < groups[-1][1]:
            groups[-1] = (groups[-1][0], max(last, groups[-1][1]), [*groups[-1][2], edit])
        else:
            groups.append((first, last, [edit]))
    for first, last, group in groups:
        base = text.starts[first]
        before = b"".join(old[first:last])
        after = apply_edits(before, [Edit(e.start - base, e.end - base, e.replacement) for e in group])
        new = SourceText(after)
        # A BOM belongs to no line; only the first group could start with one, and `base` is behind it.
        lines = [line for number in range(1, len(new.starts) + 1) if (line := new.line(number))]
        last = min(last, len(old))
        while first < last and lines and old[first] == lines[0]:
            first += 1
            del lines[0]
        while first < last and lines and old[last - 1] == lines[-1]:
            last -= 1
            del lines[-1]
        if first < last or lines:
            yield first, last, lines


def _hunks(changes: list[_Change]) -> Iterator[list[_Change]]:
    """Changes whose context lines meet are shown together."""
    hunk: list[_Change] = []
    for change in changes:
        if hunk and change[0] - hunk[-1][1] > 2 * _CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _hunk(old: list[bytes], changes: list[_Change], shift: int) -> tuple[list[tuple[str, bytes]], int]:
    """One hunk's lines with their signs, and by how many lines the new file is longer after it."""
    start = max(0, changes[0][0] - _CONTEXT)
    stop = min(len(old), changes[-1][1] + _CONTEXT)
    lines: list[tuple[str, bytes]] = []
    place = start
    for first, last, new in changes:
        lines += [(" ", line) for line in old[place:first]]
        lines += [("-", line) for line in old[first:last]]
        lines += [("+", line) for line in new]
        place = last
    lines += [(" ", line) for line in old[place:stop]]
    removed = sum(sign != "+" for sign, _ in lines)
    added = sum(sign != "-" for sign, _ in lines)
    header = f"@@ -{_range(start, removed)} +{_range(start + shift, added)} @@\n"
    return [("@", header.encode()), *lines], shift + added - removed


def _range(start: int, length: int) -> str:
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _shown(line: tuple[str, bytes], encoding: str) -> str:
    sign, data = line
    if sign == "@":
        return data.decode()
    text = sign + data.decode(encoding, "replace")
    if text.endswith("\n"):
        return text
    return f"{text[:-1]}\n" if text.endswith("\r") else f"{text}\n{_NO_NEWLINE}"
