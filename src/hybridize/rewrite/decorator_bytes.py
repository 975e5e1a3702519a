"""The bytes that decorators and their arguments take up."""

from __future__ import annotations

import ast
import re

from hybridize.records import dataclass
from hybridize.rewrite.locate import Function
from hybridize.rewrite.model import Edit
from hybridize.rewrite.text import SourceText

_AT = re.compile(rb"[ \t\f]*@")
_LEAD = re.compile(rb"[ \t\f]*")


@dataclass(frozen=True, slots=True)
class DecoratorSpan:
    """One decorator: the byte and line of its `@`, and the byte where the next logical line starts."""

    at: int
    line: int
    end: int


def decorator_span(text: SourceText, function: Function, index: int) -> DecoratorSpan | None:
    """Where the function's decorator with this index is; None if the bytes are not as expected."""
    node = function.decorator_list[index]
    floor = function.decorator_list[index - 1].end_lineno or 0 if index else 0
    for line in range(node.lineno, floor, -1):  # `@(` may stand on a line before the expression's first
        match = _AT.match(text.line(line))
        start = text.offset(node.lineno, node.col_offset)
        if match and text.starts[line - 1] + match.end() <= start:
            at = text.starts[line - 1] + match.end() - 1
            depth = text.open_parentheses(at + 1, start)
            close = None if depth is None else text.close_parentheses(_end(text, node), depth)
            end = None if close is None else text.rest_of_line(close)
            return None if end is None else DecoratorSpan(at, line, end)
    return None


def definition_start(text: SourceText, function: Function) -> int:
    """The byte of `def` or `async`."""
    return text.offset(function.lineno, function.col_offset)


def insertion(text: SourceText, offset: int, decorator: bytes) -> Edit:
    """A decorator on a line of its own in front of the logical line that starts at the byte."""
    line = text.line_of(offset)
    return Edit(offset, offset, decorator + text.newline_at(line) + text.indentation(line))


def removal(text: SourceText, span: DecoratorSpan) -> Edit:
    """The decorator's whole line or lines go; what the line holds besides blanks in front stays."""
    start = text.starts[span.line - 1]
    lead = text.data[start : span.at]
    if b"\f" not in lead and text.indentation(span.line) == lead:
        return Edit(start, span.end, b"")
    # A form feed, or a backslash on the line before: the next logical line moves up to the place of `@`.
    following = _LEAD.match(text.data, span.end)
    return Edit(span.at, following.end() if following else span.end, b"")


def arguments_edit(
    text: SourceText, node: ast.expr, new: tuple[tuple[str, str], ...], skip: int = 0
) -> list[Edit] | None:
    """The edits that give a decorator exactly these keyword arguments; those already there keep their bytes.

    The first `skip` positional arguments are not the decorator's own (`functools.partial(tf.function, ...)`).
    None if the bytes are not as expected.
    """
    if not isinstance(node, ast.Call):
        end = _end(text, node)
        return [Edit(end, end, f"({_source(new)})".encode(text.encoding))] if new else []
    opening = _opening(text, node)
    if opening is None:
        return None
    close = _end(text, node) - 1
    kept = {keyword.arg: keyword for keyword in node.keywords if keyword.arg}
    wanted = dict(new)
    regular = len(node.args) == skip and len(kept) == len(node.keywords) and set(kept) <= set(wanted)
    if not regular:
        if not new and not skip:
            return [Edit(opening, close + 1, b"")]
        start = _end(text, node.args[skip - 1]) if skip else opening + 1
        separator = ", " if skip and new else ""
        return [Edit(start, close, (separator + _source(new)).encode(text.encoding))]
    edits: list[Edit] = []
    for name, value in new:
        if name in kept and ast.dump(kept[name].value) != ast.dump(ast.parse(value, mode="eval").body):
            old = kept[name].value
            start = text.offset(old.lineno, old.col_offset)
            edits.append(Edit(start, _end(text, old), value.encode(text.encoding)))
    added = tuple((name, value) for name, value in new if name not in kept)
    if added:
        edits.append(_appended(text, node, opening, close, added))
    return sorted(edits, key=lambda edit: edit.start)


def _appended(text: SourceText, node: ast.Call, opening: int, close: int, added: tuple[tuple[str, str], ...]) -> Edit:
    last = max((_end(text, part) for part in (*node.args, *(word.value for word in node.keywords))), default=None)
    if last is None:
        return Edit(opening + 1, opening + 1, _source(added).encode(text.encoding))
    # The value may stand in parentheses of its own: what follows them is the comma or the end of the call.
    while (after := text.close_parentheses(last, 1)) is not None and after <= close:
        last = after
    return Edit(last, last, f", {_source(added)}".encode(text.encoding))


def _opening(text: SourceText, node: ast.Call) -> int | None:
    """The byte of the call's own opening parenthesis."""
    end = _end(text, node.func)
    while (after := text.close_parentheses(end, 1)) is not None:
        end = after
    match = re.compile(rb"(?:[ \t\f\r\n\\]|#[^\r\n]*)*\(").match(text.data, end)
    return match.end() - 1 if match else None


def _end(text: SourceText, node: ast.expr) -> int:
    return text.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)


def _source(arguments: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{name}={value}" for name, value in arguments)


def decorator_source(name: str, arguments: tuple[tuple[str, str], ...]) -> str:
    """`@tf.function` or `@tf.function(autograph=False)`, without a newline."""
    return f"@{name}({_source(arguments)})" if arguments else f"@{name}"
