"""The documentation of all codes, from the rooms that own them."""

from __future__ import annotations

from collections.abc import Mapping

from hybridize.config import Config
from hybridize.decide import PRECONDITION_DOCS, STATUS_DOCS
from hybridize.decide.documentation import Doc
from hybridize.repairs.registry import all_repairs
from hybridize.report.codes import CodeDoc
from hybridize.report.pages import decision_page, repair_page, rule_page
from hybridize.report.select import unknown_selectors
from hybridize.rules.registry import all_rules


def load_docs() -> dict[str, CodeDoc]:
    """Every code's documentation: preconditions, statuses, rules, repairs."""
    docs = {**_of("precondition", PRECONDITION_DOCS), **_of("status", STATUS_DOCS)}
    for rule in all_rules():
        level = rule.level and rule.level.value
        docs[rule.code] = CodeDoc(rule.code, rule.name, "rule", rule.summary, level, rule_page(rule))
    for repair in all_repairs():
        docs[repair.code] = CodeDoc(repair.code, repair.name, "repair", repair.summary, None, repair_page(repair))
    return docs


def _of(kind: str, docs: Mapping[str, Doc]) -> dict[str, CodeDoc]:
    return {
        code: CodeDoc(code, doc.name, kind, doc.summary, doc.severity and doc.severity.value, decision_page(code, doc))
        for code, doc in docs.items()
    }


def unknown_codes(config: Config) -> list[str]:
    """A sentence for each selector of a configuration that means no code, with the code that was perhaps meant."""
    selectors = [*config.select, *config.ignore, *(code for _, codes in config.per_file_ignores for code in codes)]
    if not selectors:
        return []
    known = [(doc.code, doc.name) for doc in load_docs().values()]
    return [
        f"no code starts with `{selector}`{f'; did you mean `{close}`?' if close else ''}"
        for selector, close in unknown_selectors(selectors, known)
    ]
