"""The documentation of all codes, from the rooms that own them."""

from __future__ import annotations

import importlib
from typing import Any

from hybridize.repairs.page import repair_page
from hybridize.repairs.registry import all_repairs
from hybridize.report.codes import CodeDoc
from hybridize.rules.page import rule_page
from hybridize.rules.registry import all_rules

# Module, attribute, kind: a mapping from code to a text, or to an object with `name`, `summary`, ...
_SOURCES = (
    ("hybridize.decide", "PRECONDITION_DOCS", "precondition"),
    ("hybridize.decide", "STATUS_DOCS", "status"),
)
_PRECONDITIONS = (
    CodeDoc(
        "P1",
        "convert-to-hybrid",
        "precondition",
        "an eager function with a tensor parameter, no primitive parameter, no side effect and no recursion",
        details="Decorated with `tf.function`, it runs as a graph: one trace serves all its calls.",
    ),
    CodeDoc(
        "P2",
        "convert-to-eager-without-tensors",
        "precondition",
        "a hybrid function without a tensor parameter and without side effects",
        details="Without tensors as arguments a trace is hardly ever used again; the decorator is removed.",
    ),
    CodeDoc(
        "P3",
        "convert-to-eager-with-literals",
        "precondition",
        "a hybrid function with tensor and primitive parameters, without side effects and recursion",
        details="Each new literal traces the function anew; the decorator is removed.",
    ),
)


def load_docs() -> dict[str, CodeDoc]:
    """Every code's documentation, preconditions first, then as the rooms order them."""
    docs = {doc.code: doc for doc in _PRECONDITIONS}
    for module, attribute, kind in _SOURCES:
        try:
            found = getattr(importlib.import_module(module), attribute, None)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            continue
        for code, doc in (found or {}).items():
            docs[code] = _convert(code, doc, kind)
    for rule in all_rules():
        docs[rule.code] = CodeDoc(
            rule.code, rule.name, "rule", rule.summary, rule.level and rule.level.value, rule_page(rule)
        )
    for repair in all_repairs():
        docs[repair.code] = CodeDoc(repair.code, repair.name, "repair", repair.summary, None, repair_page(repair))
    return docs


def _convert(code: str, doc: Any, kind: str) -> CodeDoc:
    if isinstance(doc, CodeDoc):
        return doc
    if isinstance(doc, str):
        summary, _, details = doc.partition("\n")
        return CodeDoc(code, "", kind, summary.strip(), details=details.strip())
    severity = getattr(doc, "severity", None)
    return CodeDoc(
        code,
        str(getattr(doc, "name", "")),
        kind,
        str(getattr(doc, "summary", None) or getattr(doc, "message", "")),
        str(severity) if severity is not None else None,
        str(getattr(doc, "details", "")),
    )
