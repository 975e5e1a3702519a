"""What shall be done to a project: the repairs that unlock something, and the changes of decorators after them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport, Report
from hybridize.fixing.changes import plan_fixes
from hybridize.fixing.fixes import Fixes
from hybridize.fixing.settling import settled
from hybridize.records import dataclass, field, replace
from hybridize.repairing import Analyze, Repaired, Wanted, repair
from hybridize.repairs.model import Proposed
from hybridize.report.select import EVERYTHING, ignored_by, is_selected, matches, selected

#: Ids of functions; None for all.
Functions: TypeAlias = "frozenset[str] | None"


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans changes of one project; nothing is written.

    `report` is all that the analysis says, also of what the configuration does not select; `analyze` is that analysis,
    with other contents of some files. `unsafe`: with repairs that are not provably the same. `given` are contents that
    stand for those on disk, by path from the root.
    """

    report: Report
    config: Config
    analyze: Analyze
    unsafe: bool = False
    given: Mapping[str, bytes] = field(default_factory=dict)

    def plan(self, functions: Functions = None) -> Fixes:
        """The changes for some functions, or all that the configuration selects, after which there are no more."""

        def one(report: Report, contents: Mapping[str, bytes], held: frozenset[str]) -> Fixes:
            return self._round(report, contents, functions, held)

        return settled(self.report, self.given, one, self.analyze)

    def glance(self, functions: Functions = None) -> Fixes:
        """The changes of the first round alone: what else they make possible is not looked for."""
        return self._round(self.report, self.given, functions, frozenset())

    def _round(
        self, report: Report, contents: Mapping[str, bytes], functions: Functions, held: frozenset[str]
    ) -> Fixes:
        """What a report leads to; `held` are functions (ids) that stay as they are."""
        repaired = self._repaired(report, contents, functions, held)
        final = selected(repaired.report, self.config, repaired.unlocked)
        final = replace(final, functions=tuple(_kept(f) if f.facts.id in held else f for f in final.functions))
        chosen = _with_parts(repaired, functions)
        lines = {**_lines_of_parts(repaired), **{each.facts.id: each.facts.line for each in self.report.functions}}
        after = {**contents, **repaired.contents}
        files = plan_fixes(final, to_change(final, chosen), after, lines, self.given)
        return Fixes(report, final, repaired, tuple(files), chosen)

    def _repaired(
        self, report: Report, contents: Mapping[str, bytes], functions: Functions, held: frozenset[str]
    ) -> Repaired:
        if not report.repairs:
            return Repaired(report)
        root = Path(report.project.root)
        asked = report.project.asked
        wanted = replace(wanted_repairs(self.config, functions, unsafe=self.unsafe), held=held, files=asked)

        def read(path: str) -> bytes:
            return contents[path] if path in contents else (root / path).read_bytes()

        return repair(lambda more: self.analyze({**contents, **more}), report, read, wanted)


def to_change(report: Report, functions: Functions = None) -> list[FunctionReport]:
    """The functions of a report that are to be changed, of some or all."""
    return [
        each
        for each in report.functions
        if each.decision.action is not Action.KEEP and (functions is None or each.facts.id in functions)
    ]


def _kept(function: FunctionReport) -> FunctionReport:
    return replace(function, decision=replace(function.decision, action=Action.KEEP))


def wanted_repairs(config: Config, functions: Functions = None, *, unsafe: bool = False) -> Wanted:
    """What a configuration says about repairs: a code selects its repair, and that of a rule all that answer it."""
    ignored = ignored_by(config.per_file_ignores) if config.per_file_ignores else None

    def is_wanted(each: Proposed) -> bool:
        ignore = [*config.ignore, *(ignored(each.path) if ignored is not None else ())]
        if not config.select and not ignore:
            return True
        codes = [(each.code, each.name), *((code, "") for code in each.answers)]
        chosen = [is_selected(code, name, config.select, ignore) for code, name in codes]
        return any(chosen) if config.select else chosen[0]

    def is_named(each: Proposed) -> bool:
        names = [s for s in config.select if s.upper() != EVERYTHING]
        return any(matches(s, code, each.name) for s in names for code in (each.code, *each.answers))

    return Wanted(unsafe, is_wanted, is_named, functions)


def _with_parts(repaired: Repaired, functions: Functions) -> Functions:
    """The functions with those that repairs made of parts of them."""
    if functions is None:
        return None
    return functions | {part for part, whole in repaired.made.items() if whole in functions}


def _lines_of_parts(repaired: Repaired) -> dict[str, int]:
    """Where the functions that repairs made (ids) were before: at the lines that these repairs are on."""
    made = {(each.path, each.makes): each.line for each, _ in repaired.done if each.makes}
    known = ((f.facts.id, made.get((f.facts.path, f.facts.qualname))) for f in repaired.report.functions)
    return {name: line for name, line in known if line is not None}
