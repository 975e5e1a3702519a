"""Streams: text that never fails on an odd terminal, colours, and files in place of stdout."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from hybridize.cli.errors import UsageError
from hybridize.guard import write_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.report.layout import Page
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


def page_for(output_file: str | None = None) -> Page:
    """The colours and the width for a text on stdout: those of the terminal, else none and 80 (or COLUMNS)."""
    import shutil

    from hybridize.report.layout import WIDTH, Page

    # A file is read anywhere: the terminal in which it is made says nothing about it.
    columns = shutil.get_terminal_size((WIDTH, 0)).columns if output_file is None else WIDTH
    return Page(columns, style_for(output_file))


def deliver_whole(data: bytes, output_file: str) -> None:
    """Bytes to a file, which is replaced as a whole or left as it was; `-` is stdout.

    Raises:
        UsageError: the file cannot be written.
    """
    if output_file == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        if os.path.exists(output_file) and not os.access(output_file, os.W_OK):
            raise PermissionError(None, "permission denied")
        write_whole(output_file, data)
    except (OSError, ValueError) as error:
        said = (getattr(error, "strerror", None) or str(error)).lower()
        raise UsageError(f"{output_file}: cannot be written: {said}") from None


def style_for(output_file: str | None = None) -> Style:
    """The colours for a report on stdout; none for one in a file."""
    from hybridize.report.style import Style, wants_colour

    return Style(output_file is None and wants_colour(sys.stdout, os.environ))
