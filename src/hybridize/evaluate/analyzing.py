"""The task of an evaluation: one project analyzed, as plain data (`project` below is what executors call)."""

from __future__ import annotations

import ast
import io
import json
import platform
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hybridize import __version__
from hybridize.api import analyze
from hybridize.config import Config, load_config
from hybridize.decide.model import FunctionReport, Report
from hybridize.evaluate.project_sources import lay
from hybridize.facts.model import Mode, Source, Ternary
from hybridize.guard import folder
from hybridize.records import replace
from hybridize.repairing import Wanted, repair
from hybridize.source import is_test_path

#: How a candidate is known for one, the surest first.
_KNOWN: Final = (Source.DATAFLOW, Source.TYPE_HINT, Source.DOCSTRING, Source.SPECULATION)
#: Tokens that make no line one of code.
_SPACE: Final = frozenset(
    (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    )
)


@dataclass(frozen=True, slots=True)
class Row:
    """A function as tables count it: a row of the results.

    Attributes:
        known: by what it is a candidate: `hybrid`, or the surest source of a tensor parameter; empty for none.
        kinds: those of the tensors that reach it.
        tensor, primitive, effects, recursive, computes, covered: its facts, yes, no or unknown.
        reached: whether the program itself comes to it.
        codes: of its statuses; `why` what the first of them says.
        safe, unsafe: whether it is a graph, or may be, with the safe repairs, and with all (None: not asked).
    """

    id: str
    path: str
    line: int
    kind: str
    mode: str
    candidate: bool
    reached: bool
    test: bool
    known: str
    kinds: tuple[str, ...]
    tensor: str
    primitive: str
    effects: str
    recursive: str
    computes: str
    covered: str
    action: str
    precondition: str
    confidence: str
    benefit: float | None
    codes: tuple[str, ...]
    why: str
    safe: bool | None = None
    unsafe: bool | None = None


def project(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What is found in a project.

    Args:
        payload: `name`; where the sources are (`sources.lay`); `options` as in `[tool.hybridize]`, which replace
            those of the project; `settings`, fields of `Config` that an ablation changes; `repairs`, whether to try
            them.

    Returns:
        `functions` (rows), `findings`, `errors`, `assumptions` (how many), `measures` and `provenance`.
    """
    with folder("hybridize-evaluate-") as out:
        # Named as the project, as a clone of it would be.
        place = Path(out) / payload["name"]
        lay(payload, place)
        config = _config(payload, place)
        report = analyze([place], config, repairs=payload["repairs"])
        served = _served(place, report, config) if payload["repairs"] else {}
        rows = [_row(function, served) for function in report.functions]
        return {
            "functions": rows,
            "findings": [_finding(report, each) for each in range(len(report.findings))],
            "errors": [[each.path, each.line, each.message] for each in report.errors],
            "assumptions": len(report.assumptions),
            "measures": _measures(place, report),
            "provenance": _provenance(report, config),
        }


def _config(payload: Mapping[str, Any], place: Path) -> Config:
    settings: dict[str, Any] = {
        key: tuple(each) if isinstance(each, list) else each for key, each in payload["settings"].items()
    }
    options = dict(payload["options"])
    src = [str(place / each) for each in options.pop("src", ())]
    found = load_config((place,), options)
    return replace(found, jobs=1, cache=False, src=(*found.src, *src), **settings)


def _row(function: FunctionReport, served: Mapping[str, tuple[bool, bool]]) -> dict[str, Any]:
    facts, decision = function.facts, function.decision
    sources = {p.source for p in facts.parameters if p.tensor is Ternary.YES}
    told = next((source.value for source in _KNOWN if source in sources), Source.SPECULATION.value)
    safe, unsafe = served.get(facts.id, (None, None))
    row = Row(
        facts.id,
        facts.path,
        facts.line,
        facts.kind.value,
        facts.mode.value,
        facts.candidate,
        facts.reached,
        is_test_path(facts.path),
        "" if not facts.candidate else told if sources or facts.mode is Mode.EAGER else Mode.HYBRID.value,
        tuple(sorted({each.kind for p in facts.parameters for each in p.tensor_types})),
        facts.tensor_parameter.value.value,
        facts.primitive_parameter.value.value,
        facts.python_side_effects.value.value,
        facts.recursive.value.value,
        facts.tensor_computation.value.value,
        facts.covered_by_hybrid_callers.value.value,
        decision.action.value,
        decision.precondition or "",
        decision.confidence.value if decision.confidence else "",
        decision.benefit,
        tuple(status.code for status in function.statuses),
        function.statuses[0].message if function.statuses else "",
        safe,
        unsafe,
    )
    return {name: getattr(row, name) for name in Row.__slots__}


def _finding(report: Report, number: int) -> dict[str, Any]:
    each = report.findings[number]
    return {
        "code": each.code,
        "name": each.name,
        "severity": each.severity.value,
        "path": each.path,
        "line": each.line,
        "function": each.function or "",
        "fix": each.fix or "",
        "message": each.message,
        "test": is_test_path(each.path),
    }


def _served(place: Path, report: Report, config: Config) -> dict[str, tuple[bool, bool]]:
    """By id, whether a function is a graph, or may be, with the safe repairs, and with all."""
    found: dict[str, tuple[bool, bool]] = {}
    for unsafe in (False, True) if report.repairs else ():
        mended = repair(
            lambda contents: analyze([place], config, contents=contents),
            report,
            lambda path: (Path(report.project.root) / path).read_bytes(),
            Wanted(unsafe=unsafe),
        ).report
        for function in mended.functions:
            if function.decision.precondition or any(status.name == "covered" for status in function.statuses):
                found[function.facts.id] = (not unsafe or found.get(function.facts.id, (False, True))[0], True)
    return {f.facts.id: found.get(f.facts.id, (False, False)) for f in report.functions}


def _measures(place: Path, report: Report) -> dict[str, Any]:
    return {
        "files": report.project.files,
        "lines": report.project.lines,
        "code_lines": sum(map(code_lines, sorted(place.rglob("*.py")))),
        "functions": len(report.functions),
        "seconds": report.project.seconds,
    }


def code_lines(path: Path) -> int:
    """How many lines of a file hold code (the paper's KLOC): no blanks, comments, docstrings; 0 if it is broken."""
    try:
        data = path.read_bytes()
        lines = {
            line
            for token in tokenize.tokenize(io.BytesIO(data).readline)
            if token.type not in _SPACE
            for line in range(token.start[0], token.end[0] + 1)
        }
        return len(lines - set(_docstrings(ast.parse(data))))
    except (OSError, SyntaxError, ValueError, tokenize.TokenError, RecursionError):
        return 0


def _docstrings(tree: ast.Module) -> Iterable[int]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


def _provenance(report: Report, config: Config) -> dict[str, Any]:
    versions = report.project.versions
    return {
        "hybridize": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "tensorflow": ".".join(map(str, versions.tensorflow)),
        "said_by": versions.origin,
        "options": json.loads(json.dumps({**config.values(), "without": config.without})),
    }
