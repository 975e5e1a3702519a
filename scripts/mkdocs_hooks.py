"""What MkDocs does with our pages: a link to a file outside of `docs/`, which the site has not, becomes its text."""

from __future__ import annotations

import posixpath
import re
from typing import Any

_LINK = re.compile(r"\[(?P<text>[^\]\[]+)\]\((?P<to>\.\./[^)\s]*)\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page as the site shows it."""
    folder = posixpath.dirname(page.file.src_uri)

    def shown(found: re.Match[str]) -> str:
        inside = not posixpath.normpath(posixpath.join(folder, found["to"])).startswith("..")
        return found[0] if inside else found["text"]

    return _LINK.sub(shown, markdown)
