"""Exit codes, and the errors that end a command with one line."""

from __future__ import annotations

NOTHING = 0
SOMETHING = 1
ERROR = 2
INTERRUPTED = 130
BROKEN_PIPE = 141


class UsageError(Exception):
    """What the user asked for cannot be done; the text is for the user, its first line says it all."""
