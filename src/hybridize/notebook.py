"""`%load_ext hybridize`: the cell magic `%%hybridize` says what is decided about a cell and what it calls.

IPython is imported by whoever loads this extension, and never here.
"""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Sequence
from html import escape
from typing import Any

from hybridize.config import ConfigError
from hybridize.decide.model import Action, FunctionReport, Severity
from hybridize.fixing.changes import file_plan
from hybridize.live import SESSION, Session
from hybridize.records import dataclass
from hybridize.report.words import rests_on, verdict
from hybridize.rewrite.any_file import plan_file

_USAGE = "%%hybridize [--fix] [--no-run]"


@dataclass(frozen=True, slots=True)
class Row:
    """One function: where it is (`cell 2:5`, or a file and line), its name, what to do, and why."""

    place: str
    name: str
    verdict: str
    why: str
    changes: bool


@dataclass(frozen=True, slots=True, repr=False)
class Verdicts:
    """What is decided about a cell and what it calls; a table in a notebook, lines elsewhere."""

    rows: tuple[Row, ...]
    problems: tuple[str, ...] = ()

    def __repr__(self) -> str:
        lines = [f"{row.place}  {row.verdict}  {row.name}  {row.why}" for row in self.rows]
        return "\n".join([*lines, *self.problems]) or "no function in this cell, and none that it calls"

    def _repr_html_(self) -> str:
        """For notebooks."""
        heads = "".join(f"<th style='text-align:left'>{each}</th>" for each in ("where", "function", "verdict", "why"))
        rows = "".join(_html(row) for row in self.rows)
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>" if self.rows else ""
        problems = "".join(f"<p>{escape(problem)}</p>" for problem in self.problems)
        return f"{table}{problems}" or f"<p>{escape(repr(self))}</p>"


def _html(row: Row) -> str:
    word = f"<strong>{escape(row.verdict)}</strong>" if row.changes else escape(row.verdict)
    cells = [escape(row.place), f"<code>{escape(row.name)}</code>", word, escape(row.why)]
    return "<tr>" + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in cells) + "</tr>"


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext hybridize` calls: registers the cell magic."""

    def magic(line: str, cell: str) -> None:
        _magic(shell, line, cell)

    magic.__doc__ = f"{_USAGE}: what should be a graph in this cell and what it calls; then runs the cell."
    shell.register_magic_function(magic, "cell", "hybridize")


def _magic(shell: Any, line: str, cell: str) -> None:
    from IPython import display as displays
    from IPython.core.error import UsageError

    words = shlex.split(line)
    unknown = [word for word in words if word not in ("--fix", "--no-run")]
    if unknown:
        raise UsageError(f"unknown option {unknown[0]}: {_USAGE}")
    earlier = [text for text in shell.history_manager.input_hist_raw[1:] if text.strip() != _whole(line, cell)]
    try:
        # The first line is the magic's own: what follows has the lines that a reader sees.
        session = Session.of([*earlier, f"\n{cell}"])
    except ConfigError as error:
        raise UsageError(str(error)) from None
    show: Any = displays.display
    show(verdicts(session, len(earlier)))
    if "--fix" in words:
        _fix(shell, session, len(earlier))
    elif "--no-run" not in words:
        shell.run_cell(cell)


def _whole(line: str, cell: str) -> str:
    """The cell as it was typed."""
    return f"%%hybridize {line}".strip() + f"\n{cell.rstrip()}"


def verdicts(session: Session, cell: int) -> Verdicts:
    """What is decided about the functions of one cell (from 0), those that it calls, and what is wrong in it."""
    report = session.report
    rows = [_row(session, function, cell) for function in _concerned(session, cell)]
    problems = [
        f"{_place(session, found.line, cell)}  {found.code} {found.message}"
        for found in report.findings
        if found.path == SESSION and session.place(found.line)[0] == cell
    ]
    problems += [f"{error.path}:{error.line}: {error.message}" for error in report.errors]
    return Verdicts(tuple(rows), tuple(problems))


def _concerned(session: Session, cell: int) -> list[FunctionReport]:
    """The functions of a cell, and the candidates that it names, of several definitions the last one."""
    names = _called(session, cell)
    here: list[FunctionReport] = []
    called: dict[str, FunctionReport] = {}
    for function in session.report.functions:
        facts = function.facts
        if facts.path == SESSION and session.place(facts.line)[0] == cell:
            here.append(function)
        elif facts.candidate and facts.qualname.rpartition(".")[2] in names:
            called[facts.qualname] = function
    own = {function.facts.qualname for function in here}
    return [*here, *(function for name, function in called.items() if name not in own)]


def _called(session: Session, cell: int) -> frozenset[str]:
    """The names that a cell reads or calls."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(session.python(cell))):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return frozenset(found)


def _row(session: Session, function: FunctionReport, cell: int) -> Row:
    facts = function.facts
    place = _place(session, facts.line, cell) if facts.path == SESSION else f"{facts.path}:{facts.line}"
    changes = function.decision.action is not Action.KEEP
    serious = [s for s in function.statuses if s.severity is not Severity.INFO]
    why = rests_on(function) if changes or not serious else "; ".join(f"{s.code} {s.message}" for s in serious[:2])
    return Row(place, facts.qualname, verdict(function), why, changes)


def _place(session: Session, line: int, current: int) -> str:
    """`line 3` in this cell, `In [2]:5` in an earlier one."""
    cell, inside = session.place(line)
    return f"line {inside}" if cell == current else f"In [{cell + 1}]:{inside}"


def _fix(shell: Any, session: Session, cell: int) -> None:
    """Puts the cell with its conversions below; an earlier cell is left as it is."""
    found = _rewritten(session, cell, [f for f in session.report.functions if f.facts.path == SESSION])
    if isinstance(found, tuple):
        print("\n".join(f"hybridize: {reason}" for reason in found or ("nothing to change in this cell",)))
    else:
        shell.set_next_input(found, replace=False)


def _rewritten(session: Session, cell: int, functions: Sequence[FunctionReport]) -> str | tuple[str, ...]:
    """The text of a cell with the changes of its own functions; where there is none, what stands against it."""
    wanted = [
        function
        for function in functions
        if session.place(function.facts.line)[0] == cell and function.decision.action is not Action.KEEP
    ]
    result = plan_file(file_plan(SESSION, wanted), session.text.data) if wanted else None
    if result is None or not result.changed:
        return tuple(why for _, why in result.dropped) if result is not None else ()
    source = json.loads(result.new)["cells"][cell]["source"]
    text = source if isinstance(source, str) else "".join(source)
    return text.removeprefix("\n").rstrip("\n")
