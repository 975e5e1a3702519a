"""Comments that silence a finding: `# hybridize: ignore[CODE, ...] -- reason`.

Behind code or another comment it holds for its line, and on the line of a `def`, `class` or decorator for all that
follows it there; on a line of its own for the next line of code; before the first statement for the whole file.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping

from hybridize.records import dataclass
from hybridize.regex import regex

_COMMENT = regex(
    r"#\s*hybridize:\s*ignore\s*(?:\[(?P<codes>[^\]]*)\])?\s*(?:--\s*(?P<reason>.*?)\s*)?(?=#|$)", re.IGNORECASE
)
_LINE_END = regex(r"\r\n|\r")


@dataclass(frozen=True, slots=True)
class Suppression:
    """What a comment silences: the codes and names of rules it lists, or everything.

    `line` is where it stands, `first` and `last` the lines that it holds for.
    """

    codes: frozenset[str] | None
    reason: str = ""
    line: int = 0
    first: int = 0
    last: int = 0

    def covers(self, code: str, name: str = "") -> bool:
        """Whether a finding with this code or name is silenced."""
        if self.codes is None:
            return True
        return code.upper() in self.codes or (bool(name) and name.upper() in self.codes)


def find_suppressions(text: str) -> Mapping[int, Suppression]:
    """The suppression on each line that has one; lines count from 1 and agree with those of `ast`.

    Only comments count, not strings that look like one. A file that cannot be tokenized to its end gives what came
    before.
    """
    if "hybridize:" not in text:  # nearly every file
        return {}
    found: dict[int, Suppression] = {}
    code_lines: list[int] = []
    alone: list[int] = []
    for line, comment, is_alone in _tokens(text, code_lines):
        codes = comment["codes"]
        named = None if codes is None else frozenset(c.strip().upper() for c in codes.split(",") if c.strip())
        found[line] = Suppression(named, comment["reason"] or "", line, line, line)
        if is_alone:
            alone.append(line)
    end = text.count("\n") + 1
    for line in alone:
        following = next((n for n in code_lines if n > line), end)
        whole_file = not code_lines or line < code_lines[0]
        old = found[line]
        first, last = (1, max(end, following)) if whole_file else (following, following)
        found[line] = Suppression(old.codes, old.reason, line, first, last)
    return found


def _tokens(text: str, code_lines: list[int]) -> Iterator[tuple[int, re.Match[str], bool]]:
    """The comments of ours with their lines, and whether they stand alone; lines of code go into `code_lines`."""
    import tokenize

    silent = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER)
    reader = io.StringIO(_LINE_END.sub("\n", text), newline="\n")
    try:
        for token in tokenize.generate_tokens(reader.readline):
            line = token.start[0]
            if token.type == tokenize.COMMENT:
                comment = _COMMENT.search(token.string) if "hybridize:" in token.string else None
                if comment is not None:
                    # Behind another comment it speaks of that: a decorator that is commented out, say.
                    yield line, comment, comment.start() == 0 and (not code_lines or code_lines[-1] != line)
            elif token.type not in silent and token.string:
                code_lines += range(line, token.end[0] + 1)
    except (tokenize.TokenError, SyntaxError):
        pass


def spread(found: Mapping[int, Suppression], definitions: Iterable[tuple[int, int, int]]) -> list[Suppression]:
    """Suppressions with the lines they hold for: on a line of a header, all of the function or class.

    `definitions` are (first line with decorators, last line of the header, last line) of functions and classes.
    """
    spans = list(definitions)
    result = []
    for each in found.values():
        first, last = each.first, each.last
        if first == last:
            for start, header, end in spans:
                if start <= first <= header:
                    first, last = start, end
                    break
        result.append(Suppression(each.codes, each.reason, each.line, first, last))
    return result
