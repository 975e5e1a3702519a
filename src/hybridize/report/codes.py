"""What a code means: the shape of the documentation that `rules` lists and `explain CODE` prints."""

from __future__ import annotations

from collections.abc import Mapping

from hybridize.records import dataclass
from hybridize.report.select import matches
from hybridize.report.style import PLAIN, Style


@dataclass(frozen=True, slots=True)
class CodeDoc:
    """One precondition, status, rule or repair.

    `kind` is `precondition`, `status`, `rule` or `repair`; `summary` a sentence; `details` Markdown, may be empty.
    """

    code: str
    name: str
    kind: str
    summary: str
    severity: str | None = None
    details: str = ""


CodeDocs = Mapping[str, CodeDoc]


def find_code(docs: CodeDocs, text: str) -> CodeDoc | None:
    """The documentation of a code or a name, whatever its case."""
    for doc in docs.values():
        if text.upper() == doc.code.upper() or (doc.name and text.lower() == doc.name.lower()):
            return doc
    return None


def list_codes(docs: CodeDocs, selectors: tuple[str, ...] = (), style: Style = PLAIN) -> str:
    """One line per code: code, name, severity, sentence."""
    shown = [d for d in docs.values() if not selectors or any(matches(s, d.code, d.name) for s in selectors)]
    if not shown:
        return ""
    code, name = max(len(doc.code) for doc in shown), max(len(doc.name) for doc in shown)
    severity = max(len(doc.severity or "") for doc in shown)
    return "".join(
        f"{style.paint(doc.code.ljust(code), 'bold')}  {doc.name.ljust(name)}  "
        f"{(doc.severity or '').ljust(severity)}  {doc.summary}\n"
        for doc in shown
    )


def describe_code(doc: CodeDoc, style: Style = PLAIN) -> str:
    """A code's page."""
    severity = f", {doc.severity}" if doc.severity else ""
    head = style.paint(f"{doc.code} {doc.name}".rstrip(), "bold")
    parts = [f"{head} ({doc.kind}{severity})", doc.summary]
    if doc.details.strip():
        parts.append(doc.details.strip())
    return "\n\n".join(parts) + "\n"
