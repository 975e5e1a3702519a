"""Lines that fit: paragraphs with hanging indents, commands beside what they do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from hybridize.records import dataclass
from hybridize.regex import regex
from hybridize.report.style import PLAIN, Style

#: The width where no terminal says one.
WIDTH = 80
#: Text of longer lines is hard to read, text of shorter ones hard to wrap.
_WIDEST, _NARROWEST = 120, 30


_PAINT = regex(r"\x1b\[\d*m")


def _visible(text: str) -> int:
    return len(_PAINT.sub("", text.rstrip("\n")))


@dataclass(frozen=True, slots=True)
class Page:
    """What text is laid out on: `columns` wide, painted by `style`. Words longer than a line (paths) stay whole."""

    columns: int = WIDTH
    style: Style = PLAIN

    @property
    def width(self) -> int:
        """The columns that are used."""
        return min(max(self.columns, _NARROWEST), _WIDEST)

    def paragraph(
        self, text: str, *, first: str = "", rest: str | None = None, lead: str = "", colour: str = ""
    ) -> str:
        """Wrapped text; the first line begins with `first`, the others with `rest` (default: as many spaces).

        `lead` is a part of the text that is painted with `colour`, where it stands in one line.
        """
        lines = textwrap.wrap(
            text,
            self.width,
            initial_indent=first,
            subsequent_indent=" " * len(first) if rest is None else rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
        if lead and lines:
            lines[0] = lines[0].replace(lead, self.style.paint(lead, colour), 1)
        return "".join(f"{line.rstrip()}\n" for line in lines)

    def fold(self, text: str) -> str:
        """Lines that are laid out already, painted or not: those that are too long go on below, deeper by four."""
        return "".join(self._folded(line) for line in text.splitlines(keepends=True))

    def _folded(self, line: str) -> str:
        if _visible(line) <= self.width:
            return line
        body = line.strip(" \n")
        indent = " " * (len(line) - len(line.lstrip(" ")))
        lines = [indent]
        for number, word in enumerate(body.split(" ")):
            gap = " " if number and lines[-1].strip() else ""
            if lines[-1].strip() and _visible(lines[-1]) + len(gap) + _visible(word) > self.width:
                lines.append(f"{indent}    ")
                gap = ""
            lines[-1] += gap + word
        return "".join(f"{each.rstrip(' ')}\n" for each in lines)

    def heading(self, text: str) -> str:
        """The line above a block."""
        title, colon, rest = text.partition(":")
        head = title + colon
        return self.paragraph(head + rest, rest="  ", lead=head, colour="bold")

    def commands(self, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
        """What to type and what it does: beside each other where all fit, else one below the other."""
        known = list(pairs)
        column = max((len(command) for command, _ in known), default=0) + 4
        beside = all(column + len(text) <= self.width for _, text in known)
        for command, text in known:
            painted = self.style.paint(command, "cyan")
            if beside:
                yield f"  {painted}{' ' * (column - 2 - len(command))}{text}\n"
            else:
                yield f"  {painted}\n{self.paragraph(text, first=' ' * 6)}"


def ordered(lines: Iterable[str], most: int, what: str, page: Page, option: str = "--all") -> Iterator[str]:
    """As many as `most`, and how many more there are."""
    known = list(lines)
    yield from known[:most]
    if len(known) > most:
        yield page.paragraph(f"... and {len(known) - most:,} more {what} ({option})", first="  ")
