"""The paper's filter for bug-fixing changesets, on subject and body.

Source: the published method (gitcproc's `if_bug`): lower case; "error handl" and "error cod" deleted; stop words
dropped;
each whitespace token lemmatized; "bug= " and "bug=none" rejected; then one of the words below, as a whole word.

Difference: the original lemmatizes with WordNet and drops English stop words. Only plurals of the filter's own words
can
change its answer, and none of these words is a stop word; so the plurals are a table here, and stop words stay.
As there, a plural with punctuation attached ("bugs.") is not lemmatized.
"""

from __future__ import annotations

import re
from typing import Final

WORDS: Final = (
    *(
        "error",
        "bug",
        "fix",
        "fixing",
        "fixups",
        "fixed",
        "issue",
        "mistake",
        "blunder",
        "incorrect",
        "fault",
        "defect",
    ),
    *("flaw", "glitch", "gremlin", "typo", "erroneous"),
)
"""Words that mark a bug fix."""

LEMMAS: Final = {
    "errors": "error",
    "bugs": "bug",
    "fixes": "fix",
    "issues": "issue",
    "mistakes": "mistake",
    "blunders": "blunder",
    "faults": "fault",
    "defects": "defect",
    "flaws": "flaw",
    "glitches": "glitch",
    "gremlins": "gremlin",
    "typos": "typo",
}
"""What WordNet's lemmatizer, asked for nouns, does to whole tokens, as far as it matters here."""

_PATTERN: Final = re.compile(r"\b(?:" + "|".join(WORDS) + r")\b")


def is_bug_fix(message: str) -> bool:
    """Whether the filter keeps a changeset with this message (subject and body)."""
    text = message.lower().replace("error handl", "").replace("error cod", "")
    text = " ".join(LEMMAS.get(token, token) for token in text.split())
    if "bug= " in text or "bug=none" in text:
        return False
    return _PATTERN.search(text) is not None
