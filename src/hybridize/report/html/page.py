"""Report and sources -> one HTML file. A policy in it forbids whatever is not in it: no network, no other script."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import zlib
from collections.abc import Mapping
from importlib import resources
from typing import Any, Final

from hybridize.decide.model import Report
from hybridize.report.codes import CodeDocs
from hybridize.report.html.page_data import page_data, places, title_of
from hybridize.report.html.page_sources import sources

#: The scripts in the order in which they need each other.
_SCRIPTS: Final = (
    "dom.js",
    "model.js",
    "python.js",
    "source.js",
    "graph.js",
    "overview.js",
    "tables.js",
    "function.js",
    "page.js",
)

#: In scripts and styles, where no text goes over several lines.
_UNREAD: Final = re.compile(r"^[ ]*(?://.*|/\*.*\*/)?(?:\n|$)|^[ ]+", re.M)
_HARMLESS: Final = bytes.maketrans(b"<>&", b",.:")


def render(report: Report, diffs: Mapping[str, str], docs: CodeDocs, version: str) -> str:
    """The page: the same text for the same report and sources.

    Args:
        report: the result of an analysis; its files are read again for their sources.
        diffs: by the id of a function, or `path:line`, what would be changed there, as unified diffs.
        docs: what the codes mean.
        version: that of hybridize.

    Returns:
        An HTML document, ASCII but for what the project is called.
    """
    data = page_data(report, diffs, docs, f"hybridize {version}")
    style, script = _asset("page.css"), _script()
    values = {
        "policy": _policy(style, script),
        "title": html.escape(title_of(report).encode("utf-8", "backslashreplace").decode()),
        "style": style,
        "script": script,
        "data": _packed(data),
        "sources": _packed(sources(report.project.root, data["files"], places(data))),
    }
    # One pass: what is filled in may hold anything.
    first, *rest = _asset("page.html").split("{{")
    parts = (piece.partition("}}") for piece in rest)
    return first + "".join(values[name.strip()] + text for name, _, text in parts)


def _script() -> str:
    body = "\n".join(_asset(name) for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{body}}})();\n'


def _asset(name: str) -> str:
    """A file of the page, without what only its authors read: indentation and lines of comment."""
    text = resources.files("hybridize.report.html").joinpath("assets", name).read_text("utf-8")
    return _UNREAD.sub("", text)


def _policy(style: str, script: str) -> str:
    """What the page may do: this style and script, by their hashes; nothing is loaded, sent or framed."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _packed(value: Any) -> str:
    """Data as text that means nothing to HTML: JSON, compressed, in base 85 without `<`, `>` and `&`."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":"))
    return base64.b85encode(zlib.compress(text.encode(), 9)).translate(_HARMLESS).decode()
