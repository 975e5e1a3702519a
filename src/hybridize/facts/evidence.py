"""The sentences of evidence that code asks, each made in one place beside what it tells."""

from __future__ import annotations

from typing import Final

from hybridize.facts.model import Evidence, Told

_SENTENCES: Final = {
    Told.CALL: "calls `{}`",
    Told.CALLED: "called only from graphs: `{}`",
    Told.PER_CALL: "is made anew at each call of `{}`",
    Told.RECEIVES: "`{}` receives {}",
    Told.PART: "a loop makes this part longer in each turn",
    Told.APPENDED: "a loop appends to this list",
    Told.STACKED: "a loop appends to the list that this is made of",
    Told.MAY_DIFFER: "may be of another size each time",
    Told.SAVED: "given to `{}`, which saves it by its name",
}


def tells(told: Told, path: str, line: int, subject: str = "", what: object = "") -> Evidence:
    """A step that tells something, of a subject where the sentence has one; `what` is the rest of it."""
    return Evidence(_SENTENCES[told].format(subject, what), path, line, told, subject)


def call_step(name: str, path: str, position: int) -> Evidence:
    """A call that leads to the cause."""
    return tells(Told.CALL, path, position >> 16, name)
