"""A call of `tf.print` as text: its arguments from the pieces of what was shown, and its layout."""

from __future__ import annotations

import ast

from hybridize.repairs.source.pieces import Piece, as_text, is_formatted, merged, quoted

_WIDTH = 110  # of a line, in characters


def laid_out(name: str, arguments: list[str], indent: str | None) -> str:
    """A call on one line, or with a line for each argument where that would be long; `indent` is that of its line."""
    line = f"{name}({', '.join(arguments)})"
    if indent is None or len(indent) + len(line) <= _WIDTH:
        return line
    step = "\t" if indent.startswith("\t") else "    "
    lines: list[str] = []
    for each in arguments:
        lines += _broken(each, step, _WIDTH - len(indent) - len(step))
    return "\n".join([f"{name}(", *(f"{indent}{step}{each}" for each in lines), f"{indent})"])


def _broken(text: str, step: str, width: int) -> list[str]:
    """One argument with its comma; a list of texts to join has a line for each where it is long."""
    opening, _, rest = text.partition("([")
    if len(text) < width or not opening.endswith(".strings.join") or not rest.endswith("])"):
        return [f"{text},"]
    parts = ast.parse(text, mode="eval").body
    assert isinstance(parts, ast.Call)
    assert isinstance(parts.args[0], ast.List)
    items = [ast.get_source_segment(text, each) for each in parts.args[0].elts]
    return [f"{opening}(", f"{step}[", *(f"{step}{step}{item}," for item in items), f"{step}]", "),"]


def arguments_of(shown: list[list[Piece]], separator: str, tf: str) -> tuple[list[str], list[str]]:
    """The arguments as source, and the keywords that join them otherwise than `print` would."""
    parts = [merged(pieces) for pieces in shown]
    together: list[Piece] = []
    for i, part in enumerate(parts):
        together += [Piece(separator)] if i else []
        together += part
    together = merged(together)
    if is_formatted(together, tf):
        texts = [as_text(piece, tf) for piece in together]
        return [f"{tf}.strings.join([{', '.join(texts)}])"] if len(texts) > 1 else texts, []
    if all(len(part) <= 1 for part in parts):
        return [_source(part[0]) if part else '""' for part in parts], []
    return [_source(piece) for piece in together], ['sep=""']


def _source(piece: Piece) -> str:
    return quoted(piece.text) if piece.source is None else piece.source
