"""What reports say of repairs: a hint at a function, and the counts below."""

from __future__ import annotations

from hybridize.decide.model import Action, Report
from hybridize.report.words import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.repairs.model import Bundle

#: The status that says so.
_NOT_WORTH_IT = "not-worth-it"


def bundles(report: Report) -> dict[str, Bundle]:
    """The repairs of a report by the id of their function."""
    return {bundle.function: bundle for bundle in report.repairs}


def promising(report: Report) -> list[Bundle]:
    """Those that `fix` may make: not of functions of which it is said that a graph would not pay even so."""
    pointless = {f.facts.id for f in report.functions if any(s.name == _NOT_WORTH_IT for s in f.statuses)}
    made = [bundle for bundle in report.repairs if bundle.complete or bundle.hybrid]
    return [bundle for bundle in made if bundle.hybrid or bundle.makes or bundle.function not in pointless]


def hint(bundle: Bundle | None) -> str | None:
    """A word on a function that `fix` may repair: `[repairable] HY801 print-to-tf-print, ...`; None if it may not."""
    if bundle is None:
        return None
    names = dict.fromkeys(f"{each.code} {each.name}" for each in bundle.repairs)
    option = "" if bundle.safe else " with --unsafe-fixes"
    return f"[repairable{option}] {', '.join(names)}"


def counts(report: Report) -> str | None:
    """One line on what `fix` may do, as people know it; None where there is nothing to do."""
    changes = sum(function.decision.action is not Action.KEEP for function in report.functions)
    near = promising(report)
    safe = sum(bundle.safe for bundle in near)
    parts = [f"{counted(changes, 'change')} with `hybridize fix`"] if changes else []
    if safe:
        parts.append(f"up to {counted(safe, 'more function')} by safe repairs")
    if len(near) > safe:
        parts.append(f"up to {counted(len(near) - safe, 'more function')} with `--unsafe-fixes`")
    return ", ".join(parts) or None
