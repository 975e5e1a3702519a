"""What was changed as plain data: the JSON of `fix` (docs/json.md)."""

from __future__ import annotations

from typing import Any

from hybridize.fixing.changes import Change
from hybridize.fixing.fixes import Fixes
from hybridize.repairs.model import Bundle, Proposed
from hybridize.report.json_report import errors_of
from hybridize.report.paths import prefix_of, relative_to_root

Json = dict[str, Any]


def to_dict(fixes: Fixes, asked: frozenset[str] | None = None) -> Json:
    """The whole result, keys in the documented order; `asked` are functions (ids) to tell of whatever they are."""
    root = fixes.report.project.root
    return {
        "version": 1,
        "root": root,
        "prefix": prefix_of(fixes.report),
        "written": fixes.written,
        "files": [
            {
                "path": relative_to_root(file.path, root),
                "changed": bool(file.result and file.result.changed and not file.error),
                "error": file.error,
                "changes": [_change(change) for change in file.changes],
            }
            for file in fixes.files
        ],
        "repairs": [_repair(each, names, root) for each, names in fixes.repaired.done],
        "not_repaired": [_left(bundle, reason) for bundle, reason in fixes.repaired.left],
        "left": [
            {"function": function.facts.id, "line": function.facts.line, "code": why.code, "reason": why.message}
            for function, why in fixes.kept(asked)
        ],
        "errors": list(errors_of(fixes.report)),
    }


def _change(change: Change) -> Json:
    return {
        "function": change.function.facts.id,
        "line": change.line,
        "action": change.function.decision.action.value,
        "precondition": change.function.decision.precondition,
        "outcome": change.outcome.value,
        "reason": change.reason,
    }


def _repair(each: Proposed, names: tuple[str, ...], root: str) -> Json:
    return {
        "code": each.code,
        "name": each.name,
        "path": relative_to_root(each.path, root),
        "line": each.line,
        "message": each.says,
        "safe": each.safe,
        "doubt": each.doubt,
        "functions": list(names),
    }


def _left(bundle: Bundle, reason: str) -> Json:
    codes = [each.code for each in bundle.repairs]
    return {"function": bundle.function, "line": bundle.line, "repairs": codes, "reason": reason}
