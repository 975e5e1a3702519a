"""All verdicts of some projects as one sorted text, so that two trees of hybridize can be compared line by line.

python scripts/verdicts.py PROJECT... [--all-safe] [--out FILE]; then `diff` two of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import FunctionReport, Report


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("projects", nargs="+", type=Path)
    parser.add_argument("--all-safe", action="store_true")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    lines: list[str] = []
    for project in args.projects:
        report = analyze([project.resolve()], Config(all_safe=args.all_safe), repairs=False)
        lines += (f"{project.name}/{line}" for line in sorted(verdicts(report)))
    text = "\n".join(lines) + "\n"
    if args.out is None:
        sys.stdout.write(text)
    else:
        args.out.write_text(text, encoding="utf-8")
    return 0


def verdicts(report: Report) -> Iterator[str]:
    """A line for each function's decision, status and parameter, and for each finding."""
    for function in report.functions:
        yield from _of_function(function)
    for found in report.findings:
        yield f"{found.path}:{found.line}:{found.column} finding {found.code} {found.severity.value} {found.message}"


def _of_function(function: FunctionReport) -> Iterator[str]:
    facts, decision = function.facts, function.decision
    here = f"{facts.path}:{facts.line} {facts.qualname}"
    benefit = "" if decision.benefit is None else f" {decision.benefit:.2g}"
    arguments = ", ".join(f"{name}={value}" for name, value in decision.arguments)
    verdict = f"{facts.mode.value} {decision.action.value} {decision.precondition}{benefit} {arguments}"
    yield f"{here} decision {verdict}".rstrip()
    for status in function.statuses:
        yield f"{here} status {status.code} {status.path}:{status.line} {status.message}"
    for parameter in facts.parameters:
        types = "; ".join(f"{t.kind} {t.dtype} {t.shape}" for t in parameter.tensor_types)
        yield f"{here} parameter {parameter.name} {parameter.tensor.value} {types}".rstrip()


if __name__ == "__main__":
    raise SystemExit(main())
