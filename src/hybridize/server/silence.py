"""The comment that silences a code on a line, as an edit of the text."""

from __future__ import annotations

import io
import tokenize
from typing import Final

from hybridize.regex import regex
from hybridize.server.positions import Place, Text

#: What stands for the reason until a person gives it.
REASON: Final = "TODO: say why"
_CODES = regex(r"#\s*hybridize:\s*ignore\s*\[(?P<codes>[^\]]*)\]")


def silenced(text: Text, line: int, code: str) -> tuple[Place, str] | None:
    """Where to insert what, so that a line (from 0) is silent about a code; None where no comment can stand."""
    comment = _comment_on(text, line)
    if comment is None:
        return None
    found = text.line(line)
    known = _CODES.search(found, comment)
    if known is not None:
        return (line, known.end("codes")), f", {code}" if known["codes"].strip() else code
    end = len(found.rstrip())
    return (line, end), f"  # hybridize: ignore[{code}] -- {REASON}"


def _comment_on(text: Text, line: int) -> int | None:
    """The column of the comment on a line, or its end where one may stand; None inside of strings and statements."""
    lines = "\n".join(text.line(number) for number in range(text.count))
    try:
        for token in tokenize.generate_tokens(io.StringIO(lines, newline="\n").readline):
            if token.start[0] - 1 > line:
                return None
            if token.start[0] - 1 == line and token.type in (tokenize.COMMENT, tokenize.NEWLINE, tokenize.NL):
                return token.start[1]
    except (tokenize.TokenError, SyntaxError):
        pass  # a file that is not whole: what came before is known
    return None
