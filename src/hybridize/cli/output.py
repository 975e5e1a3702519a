"""Streams: text that never fails on an odd terminal, colours, and files in place of stdout."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from hybridize.cli.errors import UsageError
from hybridize.guard import write_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.report.style import Style


def write(text: str, stream: TextIO | None = None) -> None:
    """Write to a stream (default: stdout); characters that it cannot encode come out as `\\x..`."""
    target = sys.stdout if stream is None else stream
    encoding = getattr(target, "encoding", None)
    if encoding:
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            text = text.encode(encoding, "backslashreplace").decode(encoding)
    target.write(text)


def complain(message: str, *, label: str = "error") -> None:
    """A line on stderr."""
    try:
        write(f"hybridize: {label}: {message}\n", sys.stderr)
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # nobody listens any more


def deliver(text: str, output_file: str | None) -> None:
    """A report to stdout, or to a file (UTF-8); raises UsageError if that cannot be written."""
    if output_file is None:
        write(text)
        return
    try:
        write_whole(output_file, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"{output_file}: cannot be written: {(error.strerror or str(error)).lower()}") from None


def style_for(output_file: str | None = None) -> Style:
    """The colours for a report on stdout; none for one in a file."""
    from hybridize.report.style import Style, wants_colour

    return Style(output_file is None and wants_colour(sys.stdout, os.environ))
