"""SARIF 2.1.0, as code scanning services read it: one run, one result per place, with the edits that mend it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from hybridize.decide.model import Report, Severity
from hybridize.records import dataclass
from hybridize.report.codes import CodeDocs
from hybridize.report.identity import fingerprints
from hybridize.report.items import Item, items
from hybridize.report.links import help_uri
from hybridize.report.paths import all_errors
from hybridize.report.positions import Display, Positions
from hybridize.rewrite.model import Edit
from hybridize.rewrite.text import SourceText

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_HERE: Final = "SRCROOT"

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Offer:
    """What would mend one item: `doubt` is why that is not provably the same program (None: it is safe).

    `files` are paths from the project's root, each with its bytes and their edits.
    """

    says: str
    doubt: str | None
    files: tuple[tuple[str, bytes, tuple[Edit, ...]], ...]


@dataclass(frozen=True, slots=True)
class Silenced:
    """An item that is not reported: `how` is `inSource` (a comment) or `external` (a baseline), `why` what was said."""

    item: Item
    how: str
    why: str


#: The fixes of an item, the best first.
Offers: TypeAlias = Callable[[Item], Sequence[Offer]]


def to_sarif(
    report: Report,
    version: str,
    docs: CodeDocs,
    display: Display = str,
    *,
    here: str | None = None,
    offers: Offers = lambda item: (),
    silenced: Sequence[Silenced] = (),
) -> Json:
    """The log as plain data.

    Args:
        report: what to tell.
        version: that of hybridize.
        docs: describes the codes that occur.
        display: gives a path as it is seen `here`.
        here: the folder that relative paths count from; None for the project's root.
        offers: the fixes of an item.
        silenced: what is told as suppressed.
    """
    writer = _Writer(report, display, offers)
    told = list(items(report, display=display))
    found = list(fingerprints(report, (*told, *(each.item for each in silenced)), writer.contents))
    names: dict[str, str] = {}
    for item, _, _ in found:
        names.setdefault(item.code, item.name)
    order = {code: index for index, code in enumerate(sorted(names))}
    results = [writer.result(item, order[item.code], fingerprint, number) for item, fingerprint, number in found]
    for result in results[: len(told)] if silenced else ():
        result["suppressions"] = []  # where some results have them, those without are told by an empty list
    for result, each in zip(results[len(told) :], silenced, strict=True):
        why = {"justification": each.why} if each.why else {}
        result["suppressions"] = [{"kind": each.how, "status": "accepted", **why}]
    run = {
        "tool": {
            "driver": {
                "name": "hybridize",
                "version": version,
                "rules": [_rule(code, names[code], docs) for code in order],
            }
        },
        "columnKind": "unicodeCodePoints",
        "newlineSequences": ["\r\n", "\n", "\r"],
        "originalUriBaseIds": {_HERE: {"uri": _folder_uri(report.project.root if here is None else here)}},
        "invocations": [{"executionSuccessful": not all_errors(report)}],
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def dumps(log: Json) -> str:
    """A log as a document: ASCII."""
    return json.dumps(log, indent=1, ensure_ascii=True) + "\n"


def _rule(code: str, name: str, docs: CodeDocs) -> Json:
    doc = docs.get(code)
    rule: Json = {"id": code, "name": name}
    if doc:
        rule["shortDescription"] = {"text": doc.summary}
        page = doc.details or doc.summary
        rule["help"] = {"text": page, "markdown": page}
        uri = help_uri(code)
        if uri:
            rule["helpUri"] = uri
        if doc.severity:
            rule["defaultConfiguration"] = {"level": _LEVELS[Severity(doc.severity)]}
    return rule


class _Writer:
    """Writes the results of one report."""

    def __init__(self, report: Report, display: Display, offers: Offers) -> None:
        self._places = Positions(report, display)
        self.contents = self._places.contents
        self._offers = offers
        self._texts: dict[str, SourceText] = {}

    def result(self, item: Item, rule: int, fingerprint: str, number: int) -> Json:
        """One result; `number` says which of several with the same identity it is."""
        result: Json = {
            "ruleId": item.code,
            "ruleIndex": rule,
            "level": _LEVELS[item.severity],
            "message": {"text": item.message},
            "locations": [{"physicalLocation": self._location(item.path, self._region(item))}],
            # Neither follows line numbers. GitHub tells results apart by the second alone.
            "partialFingerprints": {
                "hybridize/v2": fingerprint,
                "primaryLocationLineHash": f"{fingerprint[:16]}:{number}",
            },
        }
        if item.evidence:
            result["relatedLocations"] = [
                {
                    "id": number,
                    "message": {"text": step.message},
                    "physicalLocation": self._location(
                        step.path, {"startLine": self._places.at(step.path, max(step.line, 1))[0]}
                    ),
                }
                for number, step in enumerate(item.evidence, 1)
            ]
        fixes = [self._fix(offer) for offer in self._offers(item)]
        if fixes:
            result["fixes"] = fixes
        return result

    def _region(self, item: Item) -> Json:
        line, column = self._places.start(item)
        region: Json = {"startLine": line, "startColumn": column}
        end_line, end_column = self._places.end(item)
        if (end_line, end_column) > (line, column):
            region |= {"endLine": end_line, "endColumn": end_column}
        return region

    def _location(self, path: str, region: Json) -> Json:
        return {"artifactLocation": self._artifact(path), "region": region}

    def _artifact(self, path: str) -> Json:
        shown = self._places(path)
        if os.path.isabs(shown):
            return {"uri": "file:///" + _uri(shown).lstrip("/")}
        return {"uri": _uri(shown), "uriBaseId": _HERE}

    def _fix(self, offer: Offer) -> Json:
        properties: Json = {"safe": offer.doubt is None}
        if offer.doubt is not None:
            properties["doubt"] = offer.doubt
        return {
            "description": {"text": offer.says},
            "artifactChanges": [
                {"artifactLocation": self._artifact(path), "replacements": list(self._replacements(path, data, edits))}
                for path, data, edits in offer.files
            ],
            "properties": properties,
        }

    def _replacements(self, path: str, data: bytes, edits: Sequence[Edit]) -> Iterator[Json]:
        text = self._texts.get(path)
        if text is None or text.data != data:
            text = self._texts[path] = SourceText(data)
        # A notebook is JSON, whatever its first lines look like.
        encoding = "utf-8" if path.endswith(".ipynb") else text.encoding
        for edit in edits:
            line, column = _position(text, edit.start, encoding)
            end_line, end_column = _position(text, edit.end, encoding)
            region = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
            yield {"deletedRegion": region, "insertedContent": {"text": edit.replacement.decode(encoding)}}


def _position(text: SourceText, offset: int, encoding: str) -> tuple[int, int]:
    """Line and column (in characters), both from 1, of a byte."""
    line = text.line_of(offset)
    return line, len(text.data[text.starts[line - 1] : offset].decode(encoding)) + 1


def _folder_uri(folder: str) -> str:
    inner = folder.replace(os.sep, "/").strip("/")
    return "file://" + _uri(f"/{inner}/" if inner else "/")


def _uri(path: str) -> str:
    return quote(path.replace(os.sep, "/").encode("utf-8", "surrogateescape"))
