"""The JSON of a report: one versioned object, described by `schema.json` beside this file."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from typing import Any, Final

from hybridize.decide.model import Decision, Finding, FunctionReport, Report, Status
from hybridize.facts.model import Evidence, Fact, FunctionFacts, ParameterFacts
from hybridize.report.paths import all_errors, prefix_of, relative_to_root
from hybridize.report.words import release
from hybridize.source.versions import Versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.repairs.model import Bundle, Proposed

VERSION = 1

Json = dict[str, Any]

#: The schema of what `fix` prints.
FIX_SCHEMA: Final = "fix_schema.json"

_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False, check_circular=False, separators=(", ", ": "))


def to_dict(report: Report) -> Json:
    """The whole report as plain data, keys in the documented order."""
    return {key: list(part) if isinstance(part, Iterator) else part for key, part in _parts(report)}


def _parts(report: Report) -> Iterator[tuple[str, Any]]:
    """The keys of a report in order; lists as iterators, so that not all of a big one need be there at once."""
    root = report.project.root
    yield "version", VERSION
    yield "project", _project(report)
    yield "functions", (function_to_dict(function, root) for function in report.functions)
    yield "findings", (_finding(finding, root) for finding in report.findings)
    yield "assumptions", _assumptions(report)
    yield "errors", errors_of(report)
    yield "repairs", (_bundle(bundle, root) for bundle in report.repairs)


def dumps(report: Report) -> str:
    """The report as a JSON document: ASCII, each entry of a list on a line, the same text for equal reports."""
    members: list[str] = []
    for key, part in _parts(report):
        body = ",\n".join(f"  {_compact(entry)}" for entry in part) if isinstance(part, Iterator) else _compact(part)
        text = f"[\n{body}\n ]" if body and isinstance(part, Iterator) else body or "[]"
        members.append(f' "{key}": {text}')
    return "{\n" + ",\n".join(members) + "\n}\n"


def schema_text(name: str = "schema.json") -> str:
    """The JSON schema of the document, as it is installed with the package; that of `fix` is `FIX_SCHEMA`."""
    from importlib import resources

    return resources.files("hybridize.report").joinpath(name).read_text("utf-8")


def dump_lines(report: Report) -> str:
    """The same entries as JSON lines, each with a `type`: project, function, finding, assumption, error or repair."""
    names = {"functions": "function", "findings": "finding", "assumptions": "assumption", "errors": "error"}
    names["repairs"] = "repair"
    data = to_dict(report)
    entries: list[Json] = [{"type": "project", "version": VERSION, **data["project"]}]
    for key, name in names.items():
        entries.extend({"type": name, **entry} for entry in data[key])
    return "".join(f"{_compact(entry)}\n" for entry in entries)


def function_to_dict(function: FunctionReport, root: str) -> Json:
    """One entry of `functions`."""
    facts, told = function.facts, function.told
    decorator = facts.hybridization if facts.hybridization and facts.hybridization.is_decorator else None
    return {
        "id": facts.id,
        "path": relative_to_root(facts.path, root),
        "line": facts.line,
        "end_line": facts.end_line,
        "qualname": facts.qualname,
        "kind": facts.kind.value,
        "mode": facts.mode.value,
        "decorator": {"line": decorator.line, "arguments": dict(decorator.arguments)} if decorator else None,
        "conditional": facts.hybridization is not None and facts.hybridization.conditional,
        "candidate": facts.candidate,
        "reached": facts.reached,
        "parameters": [_parameter(parameter) for parameter in facts.parameters],
        "facts": _facts(facts, root),
        "decision": _decision(function.decision, root),
        "statuses": [_status(status, root, status in told) for status in function.statuses],
    }


def _compact(value: object) -> str:
    # ASCII only: lone surrogates of odd file names stay valid JSON, and no terminal's encoding can break it.
    return _ENCODER.encode(value)


def _project(report: Report) -> Json:
    project = report.project
    books = {path: [[c.index + 1, c.first_line, c.line_count] for c in m.cells] for path, m in report.notebooks}
    return {
        "root": project.root.replace(os.sep, "/"),
        "prefix": prefix_of(report),
        "files": project.files,
        "lines": project.lines,
        "seconds": round(project.seconds, 3),
        "tensorflow": versions_to_dict(project.versions),
        **({"notebooks": books} if books else {}),
    }


def versions_to_dict(versions: Versions) -> Json:
    """The release in force, the oldest and the newest that the project allows, its Keras, and who says so."""
    return {
        "version": release(versions.tensorflow),
        "oldest": release(versions.oldest),
        "newest": release(versions.newest),
        "keras": [major for major in (2, 3) if versions.may_have_keras(major)],
        "source": versions.source,
    }


def _parameter(parameter: ParameterFacts) -> Json:
    return {
        "name": parameter.name,
        "index": parameter.index,
        "tensor": parameter.tensor.value,
        "tensor_types": [
            {"kind": kind.kind, "dtype": kind.dtype, "shape": None if kind.shape is None else list(kind.shape)}
            for kind in parameter.tensor_types
        ],
        "literals": list(parameter.literals),
        "source": parameter.source.value if parameter.source else None,
    }


def _facts(facts: FunctionFacts, root: str) -> Json:
    return {
        "tensor_parameter": _fact(facts.tensor_parameter, root),
        "primitive_parameter": _fact(facts.primitive_parameter, root),
        "python_side_effects": _fact(facts.python_side_effects, root),
        "recursive": _fact(facts.recursive, root),
        "tensor_computation": _fact(facts.tensor_computation, root),
        "covered_by_hybrid_callers": _fact(facts.covered_by_hybrid_callers, root),
    }


def _fact(fact: Fact, root: str) -> Json:
    return {"value": fact.value.value, "evidence": _evidence(fact.evidence, root)}


def _evidence(chain: tuple[Evidence, ...], root: str) -> list[Json]:
    return [{"message": e.message, "path": relative_to_root(e.path, root), "line": e.line} for e in chain]


def _decision(decision: Decision, root: str) -> Json:
    benefit = decision.benefit
    return {
        "action": decision.action.value,
        "precondition": decision.precondition,
        "arguments": dict(decision.arguments),
        "benefit": round(benefit, 3) if benefit is not None and math.isfinite(benefit) else None,
        "confidence": decision.confidence.value if decision.confidence is not None else None,
        "grounds": _evidence(decision.grounds, root),
    }


def _status(status: Status, root: str, told: bool) -> Json:
    return {
        "code": status.code,
        "name": status.name,
        "severity": status.severity.value,
        "message": status.message,
        "path": relative_to_root(status.path, root),
        "line": status.line,
        "column": status.column,
        "evidence": _evidence(status.evidence, root),
        **({} if told else {"against": status.against.value}),
    }


def _finding(finding: Finding, root: str) -> Json:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "path": relative_to_root(finding.path, root),
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "function": finding.function,
        "fix": finding.fix,
        "evidence": _evidence(finding.evidence, root),
        **({"also": _evidence(finding.also, root)} if finding.also else {}),
    }


def _bundle(bundle: Bundle, root: str) -> Json:
    """What one function needs: the repairs with their edits, and the causes that no repair answers."""
    return {
        "function": bundle.function,
        "line": bundle.line,
        "complete": bundle.complete,
        "safe": bundle.safe,
        "repairs": [_repair(each, root) for each in bundle.repairs],
        "rest": _evidence(bundle.rest, root),
    }


def _repair(each: Proposed, root: str) -> Json:
    return {
        "code": each.code,
        "name": each.name,
        "path": relative_to_root(each.path, root),
        "line": each.line,
        "column": each.column,
        "message": each.says,
        "safe": each.safe,
        "doubt": each.doubt,
        "answers": list(each.answers),
        "edits": [
            {
                "path": relative_to_root(edit.path, root),
                "start": [edit.start[0], edit.start[1] + 1],
                "end": [edit.end[0], edit.end[1] + 1],
                "text": edit.text,
            }
            for edit in each.edits
        ],
    }


def _assumptions(report: Report) -> Iterator[Json]:
    root = report.project.root
    for assumption in report.assumptions:
        yield {
            "function": assumption.function,
            "message": assumption.message,
            "path": relative_to_root(assumption.path, root),
            "line": assumption.line,
        }


def errors_of(report: Report) -> Iterator[Json]:
    """The entries of `errors`, missing paths included."""
    root = report.project.root
    for error in all_errors(report):
        yield {"path": relative_to_root(error.path, root), "line": error.line, "message": error.message}
