"""Comments that silence a finding: `# hybridize: ignore[CODE, ...] -- reason`."""

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass

_COMMENT = re.compile(
    r"#\s*hybridize:\s*ignore\s*(?:\[(?P<codes>[^\]]*)\])?\s*(?:--\s*(?P<reason>.*?)\s*)?(?=#|$)", re.IGNORECASE
)
_LINE_END = re.compile(r"\r\n|\r")


@dataclass(frozen=True, slots=True)
class Suppression:
    """What a comment silences on its line: the codes it names, or everything if `codes` is None."""

    codes: frozenset[str] | None
    reason: str = ""

    def covers(self, code: str) -> bool:
        """Whether a finding with this code is silenced."""
        return self.codes is None or code.upper() in self.codes


def find_suppressions(text: str) -> Mapping[int, Suppression]:
    """The suppression on each line that has one; lines count from 1 and agree with those of `ast`.

    Only comments count, not strings that look like one. A file that cannot be tokenized to its end gives what came
    before.
    """
    if "hybridize:" not in text:  # nearly every file
        return {}
    import tokenize

    found: dict[int, Suppression] = {}
    reader = io.StringIO(_LINE_END.sub("\n", text), newline="\n")
    try:
        for token in tokenize.generate_tokens(reader.readline):
            if token.type == tokenize.COMMENT and "hybridize:" in token.string:
                comment = _COMMENT.search(token.string)
                if comment is not None:
                    found[token.start[0]] = _suppression(comment)
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


def _suppression(comment: re.Match[str]) -> Suppression:
    codes = comment["codes"]
    named = None if codes is None else frozenset(code.strip().upper() for code in codes.split(",") if code.strip())
    return Suppression(named, comment["reason"] or "")
