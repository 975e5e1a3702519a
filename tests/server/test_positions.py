"""Texts in the units of clients, and places that move with edits."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("lsprotocol", reason='needs lsprotocol: pip install "hybridize[lsp]"')

from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position, PositionEncodingKind, TextDocumentContentChangePartial, TextDocumentItem
from lsprotocol.types import Range as ClientRange

from hybridize.server.buffers import Buffer
from hybridize.server.positions import Edit, Text, Units, back, between, forward
from hybridize.server.silence import silenced
from hybridize.source import split_lines

TEXTS = st.text(alphabet="ab\t é😀\n\r\x0c\u2028", max_size=30)
ENCODINGS = st.sampled_from(list(PositionEncodingKind))


@pytest.mark.parametrize(("kind", "column"), [("utf-8", 10), ("utf-16", 8), ("utf-32", 7)])
def test_a_column_counts_in_what_was_agreed_on(kind: str, column: int) -> None:
    text, units = Text("x\n\ta = '😀'\n"), Units(PositionEncodingKind(kind))
    assert units.position(text, (1, 7)).character == column


@given(TEXTS)
def test_lines_are_those_of_python(text: str) -> None:
    found = Text(text)
    assert [found.line(i) for i in range(found.count)] == split_lines(text)


@given(TEXTS, ENCODINGS, st.data())
def test_a_position_leads_back_to_its_place(text: str, encoding: PositionEncodingKind, data: st.DataObject) -> None:
    found, units = Text(text), Units(encoding)
    place = found.place(data.draw(st.integers(0, len(text))))
    assert units.place(found, units.position(found, place))[0] == place[0]
    if place[1] <= len(found.line(place[0])):  # not between the two characters of a line end
        assert units.place(found, units.position(found, place)) == place


@given(TEXTS, st.integers(0, 40), st.integers(0, 40))
def test_no_position_is_out_of_the_text(text: str, line: int, column: int) -> None:
    found = Text(text)
    place = Units().place(found, Position(line, column))
    assert 0 <= found.offset(place) <= len(text)


@given(TEXTS, TEXTS, ENCODINGS, st.data())
def test_a_buffer_holds_what_the_client_holds(
    text: str, new: str, encoding: PositionEncodingKind, data: st.DataObject
) -> None:
    """Whatever is edited, in whatever units, except in the middle of a line end."""
    units, old = Units(encoding), Text(text)
    ends = [i for i in range(len(text) + 1) if text[i - 1 : i + 1] != "\r\n"]
    start, end = sorted((data.draw(st.sampled_from(ends)), data.draw(st.sampled_from(ends))))
    client = ClientRange(units.position(old, old.place(start)), units.position(old, old.place(end)))
    buffer = Buffer(TextDocumentItem("file:///a.py", "python", 1, text))
    buffer.change(2, [TextDocumentContentChangePartial(client, new)], units)
    assert buffer.text.text == text[:start] + new + text[end:]
    assert buffer.version == 2


@given(TEXTS, TEXTS, st.data())
def test_what_is_not_edited_keeps_its_character(text: str, new: str, data: st.DataObject) -> None:
    """A place outside of an edit is at the same character afterwards, and leads back."""
    start, end = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))))
    old, after = Text(text), Text(text[:start] + new + text[end:])
    if re.search("\r\n?|\n", text[:start][-1:] + new + text[end : end + 1]):
        return  # two halves that make one line end: no editor does so
    edit = Edit(old.place(start), old.place(end), after.place(start + len(new)))
    for offset in range(len(text)):
        if start <= offset < end:
            continue
        moved = forward([edit], old.place(offset))
        assert moved == after.place(offset if offset < start else offset - end + start + len(new))
        assert back([edit], moved) == old.place(offset)


@given(TEXTS, TEXTS)
def test_one_edit_makes_one_text_of_another(old: str, new: str) -> None:
    one, two = Text(old), Text(new)
    edit = between(one, two)
    start, end, stop = one.offset(edit.start), one.offset(edit.end), two.offset(edit.stop)
    if "\r" not in old + new:
        assert old[:start] + new[start:stop] + old[end:] == new


@pytest.mark.parametrize(
    ("line", "code", "wanted"),
    [
        ("def f(x):", "P1", "def f(x):  # hybridize: ignore[P1] -- TODO: say why"),
        ("def f(x):  # fast  ", "P1", "def f(x):  # fast  # hybridize: ignore[P1] -- TODO: say why  "),
        ("y = f()  # hybridize: ignore[HY1] -- so", "HY2", "y = f()  # hybridize: ignore[HY1, HY2] -- so"),
        ("y = '''", "HY2", None),
    ],
)
def test_a_comment_goes_where_one_may_stand(line: str, code: str, wanted: str | None) -> None:
    text = Text(f"import a\n{line}\n")
    found = silenced(text, 1, code)
    if wanted is None:
        assert found is None
        return
    assert found is not None
    (_, column), new = found
    assert line[:column] + new + line[column:] == wanted
