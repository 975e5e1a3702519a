"""Tells social conversation ("thanks!", "any update?") from technical comments, by a documented heuristic.

The study used a trained classifier of comments for this. Here a comment is social if all of these hold, after quoted
lines,
mail signatures, mentions and emoji are taken off:

1. it has no code, no traceback, no link and no name that looks like code (`a_b`, `a.b(`, `CamelCase`);
2. it has at most `LONGEST` words;
3. it says something social (a table of phrases below) besides a closing "thanks", or is short, or nothing is left of
it;
4. it has at most one technical word (a table below) for each twelve words, and at least one is always allowed.

It is meant to be precise rather than complete: a social comment that stays costs a rater a glance, a technical one that
goes is lost. On 61 comments of public threads about `tf.function`, labelled by hand (27 social): precision 18/18,
recall
18/27. The phrases were chosen with that sample in sight, so expect somewhat less on others.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST: Final = 45
"""Longer comments are kept: people who write that much usually say something."""

SHORT: Final = 12
"""Up to so many words, a closing "thanks" alone makes a comment social."""

SOCIAL_PHRASES: Final = (
    *("thank", "thanks", "thx", "tnx", "ty", "cheers", "kudos", "appreciate", "appreciated", "grateful"),
    *("congrats", "congratulations", "welcome", "no worries", "no problem", "my pleasure", "glad", "happy to help"),
    *("great work", "good work", "nice work", "great job", "good job", "nice job", "amazing", "awesome", "well done"),
    *("any update", "any updates", "any news", "any progress", "gentle ping", "friendly ping", "ping", "bump"),
    *("sorry", "apologies", "my bad", "lgtm", "looks good", "sounds good", "agreed", "same here", "me too", "[+]1"),
    *(
        "please review",
        "take a look",
        "being worked on",
        "working on this",
        "looking forward",
        "feel free",
        "good luck",
    ),
    *("closing", "reopening", "duplicate of", "assign this", "assign me", "would love to", "i would like to work"),
    *(
        "still interested",
        "automatically closed",
        "marked as stale",
        "googlebot",
        "cla",
        "satisfied with the resolution",
    ),
)
"""Whole words or phrases, lower case, as regular expressions."""

TECHNICAL_WORDS: Final = frozenset(
    """api argument arguments array attribute autograph backend batch benchmark bug build call called calls class colab
    compile compiled compiler config cpu cuda dataset debug decorated decorator decorators device dtype eager eagerly
    epoch
    error errors exception execution fail failed fails fix function functions gpu gradient gradients graph
    implementation
    import input inputs install keras kernel layer layers library line linter log loop loss memory method mode model
    models
    module name nightly notebook numpy op ops optimizer output outputs parameter performance pip predict python random
    release repro reproduce retracing run runs script shape shapes signature slow slower speed step stack static tensor
    tensorflow tensors test tested tests tf trace traceback tracing train training type update upgrade upgraded
    upgrading
    value values variable variables version versions warning warnings weights work workaround works""".split()
)

_QUOTED_LINE: Final = re.compile(r"^\s*>.*$", re.MULTILINE)
_MAIL: Final = re.compile(
    r"(?:^On .{5,120} wrote:|-{4,}\s*(?:Original Message|原始邮件)|^—\s*$|&mdash;).*", re.M | re.S
)
_CODE: Final = re.compile(
    r"```|`[^`\n]+`|^(?: {4}|\t)\S|Traceback \(most|https?://|\w+_\w+|\w+\.\w+\(|\b[a-z]+[A-Z]\w+|\bFile \"|=\s*\w"
    r"|\d+\.\d+",
    re.MULTILINE,
)
_CLOSING: Final = re.compile(r"(?:thanks|thank you|thx|cheers)(?: (?:a lot|so much|in advance|again))?\W*$")
_MENTION: Final = re.compile(r"(?<!\w)@[\w/-]+")
_WORD: Final = re.compile(r"[a-z][a-z'-]*(?:\.[a-z]+)*")
_SOCIAL: Final = re.compile(r"(?<![\w+])(?:" + "|".join(SOCIAL_PHRASES) + r")(?!\w)")


def is_social(comment: str) -> bool:
    """Whether a comment is social conversation only."""
    text = _MAIL.sub("", _QUOTED_LINE.sub("", comment))
    text = _MENTION.sub(" ", text)
    if _CODE.search(text):
        return False
    lowered = text.lower()
    words = _WORD.findall(lowered)
    if len(words) > LONGEST:
        return False
    if not words:
        # Emoji, "+1", a bare mention; but a comment in another script is left to the reader.
        return not re.search(r"[^\W\d_]", text)
    technical = sum(word in TECHNICAL_WORDS or "." in word for word in words)
    if len(words) > SHORT:
        lowered = _CLOSING.sub("", lowered)
    return _SOCIAL.search(lowered) is not None and technical <= max(1, len(words) // 12)
