"""Colours for a terminal, and text that is safe to print there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TextIO

from hybridize.decide.model import Action, Severity
from hybridize.records import dataclass
from hybridize.regex import regex

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_CONTROL = regex(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")

ACTION_COLOURS: Mapping[Action, str] = {
    Action.CONVERT_TO_HYBRID: "green",
    Action.CONVERT_TO_EAGER: "blue",
    Action.RECONFIGURE: "cyan",
    Action.KEEP: "dim",
}
SEVERITY_COLOURS: Mapping[Severity, str] = {
    Severity.ERROR: "red",
    Severity.WARNING: "yellow",
    Severity.INFO: "cyan",
}


@dataclass(frozen=True, slots=True)
class Style:
    """Paints text with ANSI sequences, or leaves it alone where `enabled` is false."""

    enabled: bool = False

    def paint(self, text: str, colour: str) -> str:
        """`text` in the named colour (`bold`, `dim`, `red`, ...)."""
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.enabled and text else text

    def severity(self, severity: Severity, text: str) -> str:
        """`text` in the colour of its severity."""
        return self.paint(text, SEVERITY_COLOURS[severity])

    def action(self, action: Action, text: str) -> str:
        """`text` in the colour of what is to be done."""
        return self.paint(text, ACTION_COLOURS[action])


PLAIN = Style()


def wants_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether to colour: only on a terminal, NO_COLOR never, FORCE_COLOR always (as Python itself does it)."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return environ["FORCE_COLOR"] != "0"
    return environ.get("TERM") != "dumb" and stream.isatty()


def one_line(text: str) -> str:
    """`text` without line breaks and control characters: analyzed code must not steer the terminal."""
    return _CONTROL.sub(_visible, text)


def _visible(match: re.Match[str]) -> str:
    run = match.group()
    return " " if run.isspace() else "".join(f"\\x{ord(character):02x}" for character in run)
