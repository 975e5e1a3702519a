"""What shall be done to a project: the repairs that unlock something, and the changes of decorators after them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport, Report
from hybridize.fixing.changes import plan_fixes
from hybridize.fixing.fixes import Fixes
from hybridize.records import dataclass, field
from hybridize.repairing import Analyze, Repaired, Wanted, repair
from hybridize.repairs.model import Proposed
from hybridize.report.select import EVERYTHING, ignored_by, is_selected, matches, selected

#: Ids of functions; None for all.
Functions: TypeAlias = "frozenset[str] | None"


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans changes of one project; nothing is written.

    `report` is all that the analysis says, also of what the configuration does not select; `analyze` is that analysis,
    with other contents of some files. `unsafe`: with repairs that are not provably the same. `given` are the bytes of
    files, by path from the root, that stand in place of those on disk (what an editor holds).
    """

    report: Report
    config: Config
    analyze: Analyze
    unsafe: bool = False
    given: Mapping[str, bytes] = field(default_factory=dict)

    def plan(self, functions: Functions = None) -> Fixes:
        """The changes for some functions, or all that the configuration selects."""
        repaired = self._repaired(functions)
        final = selected(repaired.report, self.config, repaired.unlocked)
        chosen = _with_parts(repaired, functions)
        lines = {function.facts.id: function.facts.line for function in self.report.functions}
        files = plan_fixes(final, to_change(final, chosen), repaired.contents, lines, self.given)
        return Fixes(self.report, final, repaired, tuple(files), chosen)

    def _repaired(self, functions: Functions) -> Repaired:
        if not self.report.repairs:
            return Repaired(self.report)
        root, given = Path(self.report.project.root), self.given
        wanted = wanted_repairs(self.config, functions, unsafe=self.unsafe)

        def read(path: str) -> bytes:
            return given[path] if path in given else (root / path).read_bytes()

        return repair(lambda contents: self.analyze({**given, **contents}), self.report, read, wanted)


def to_change(report: Report, functions: Functions = None) -> list[FunctionReport]:
    """The functions of a report that are to be changed, of some or all."""
    return [
        each
        for each in report.functions
        if each.decision.action is not Action.KEEP and (functions is None or each.facts.id in functions)
    ]


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
