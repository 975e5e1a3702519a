"""SARIF 2.1.0, as code scanning services read it: one run, one result per place."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import quote

from hybridize.decide.model import Report, Severity
from hybridize.report.codes import CodeDocs
from hybridize.report.items import Item, items
from hybridize.report.paths import all_errors, relative_to_root

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_ROOT = "ROOT"

Json = dict[str, Any]


def to_sarif(report: Report, version: str, docs: CodeDocs) -> Json:
    """The log as plain data; `version` is that of hybridize, `docs` describes the codes that occur."""
    results = list(items(report))
    names: dict[str, str] = {}
    for item in results:
        names.setdefault(item.code, item.name)
    driver = {
        "name": "hybridize",
        "version": version,
        "rules": [_rule(code, name, docs) for code, name in sorted(names.items())],
    }
    order = {code: index for index, code in enumerate(sorted(names))}
    root = report.project.root
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            _ROOT: {"uri": "file://" + _uri("/" + root.strip("/") + "/" if root.strip("/") else "/")}
        },
        "invocations": [{"executionSuccessful": not all_errors(report)}],
        "results": [_result(item, order[item.code], root) for item in results],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def dumps(report: Report, version: str, docs: CodeDocs) -> str:
    """The log as a document."""
    return json.dumps(to_sarif(report, version, docs), indent=1, ensure_ascii=True) + "\n"


def _rule(code: str, name: str, docs: CodeDocs) -> Json:
    doc = docs.get(code)
    rule: Json = {"id": code, "name": name}
    if doc:
        rule["shortDescription"] = {"text": doc.summary}
        if doc.details:
            rule["help"] = {"text": doc.details, "markdown": doc.details}
    return rule


def _result(item: Item, rule: int, root: str) -> Json:
    result: Json = {
        "ruleId": item.code,
        "ruleIndex": rule,
        "level": _LEVELS[item.severity],
        "message": {"text": item.message},
        "locations": [{"physicalLocation": _location(item.path, item.line, root, item)}],
        # Lines shift; the function, the code and the sentence stay.
        "partialFingerprints": {"hybridize/v1": _fingerprint(item, root)},
    }
    if item.evidence:
        result["relatedLocations"] = [
            {
                "id": number,
                "message": {"text": step.message},
                "physicalLocation": _location(step.path, step.line, root),
            }
            for number, step in enumerate(item.evidence, 1)
        ]
    return result


def _location(path: str, line: int, root: str, item: Item | None = None) -> Json:
    region: Json = {"startLine": max(line, 1)}
    if item:
        region["startColumn"] = item.column
        if (item.end_line, item.end_column) > (item.line, item.column):
            region |= {"endLine": item.end_line, "endColumn": item.end_column}
    artifact = {"uri": _uri(relative_to_root(path, root)), "uriBaseId": _ROOT}
    return {"artifactLocation": artifact, "region": region}


def _uri(path: str) -> str:
    return quote(path.encode("utf-8", "surrogateescape"))


def _fingerprint(item: Item, root: str) -> str:
    text = "\0".join((item.code, relative_to_root(item.path, root), item.function or "", item.name))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]
