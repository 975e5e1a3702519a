"""`fix -i`: one change at a time, with its diff and its reason, and a question."""

from __future__ import annotations

import sys

from hybridize.cli.output import write
from hybridize.records import dataclass, field, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.decide.model import FunctionReport
    from hybridize.fixing.planner import Planner
    from hybridize.repairing import Repaired
    from hybridize.repairs.model import Bundle
    from hybridize.rewrite.model import FileResult

_HELP = "y: make it, n: leave it, a: make it and all that follow, q: leave it and all that follow\n"


def choose(planner: Planner, chosen: frozenset[str] | None) -> set[str] | None:
    """The ids of the functions whose changes were accepted; None where all that there are were."""
    from hybridize.fixing.planner import to_change
    from hybridize.report.select import selected

    accepted: set[str] = set()
    everything = False
    plain = to_change(selected(planner.report, planner.config), chosen)
    asked = {function.facts.id for function in plain}
    items: list[FunctionReport | Bundle] = [*plain]
    items += [b for b in planner.report.repairs if b.function not in asked and (chosen is None or b.function in chosen)]
    states = _States(planner)
    for item in items:
        name, text = _shown(states, item, frozenset(accepted))
        if not text:
            continue
        if not everything:
            write(text)
            answer = _ask()
            if answer == "q":
                break
            everything = answer == "a"
            if answer == "n":
                continue
        accepted.add(name)
    return accepted


@dataclass(slots=True)
class _States:
    """What becomes of the files where the changes of some functions (ids) are made, and of no others."""

    planner: Planner
    known: dict[frozenset[str], tuple[Repaired, dict[str, FileResult]]] = field(default_factory=dict)

    def of(self, names: frozenset[str]) -> tuple[Repaired, dict[str, FileResult]]:
        """The repairs, and the files that change by their paths."""
        if names not in self.known:
            fixes = self.planner.glance(names)
            files = {file.path: file.result for file in fixes.files if file.result is not None}
            self.known[names] = (fixes.repaired, files)
        return self.known[names]


def _shown(states: _States, item: FunctionReport | Bundle, accepted: frozenset[str]) -> tuple[str, str]:
    """The id of an item's function, and its diff with the reason; an empty text where there is nothing to do.

    The diff of a repair is from what the changes that were accepted make of the files.
    """
    from hybridize.cli.fix_report import diff_of
    from hybridize.cli.output import style_for
    from hybridize.fixing.changes import plan_fixes
    from hybridize.repairs.model import Bundle
    from hybridize.report.paths import Places
    from hybridize.report.words import rests_on, verdict

    style, display = style_for(), Places.of(states.planner.report)
    if not isinstance(item, Bundle):
        name = item.facts.id
        head = f"{display.at(item.facts.path, item.facts.line)} {verdict(item)} {item.facts.qualname}: {rests_on(item)}"
        planned = plan_fixes(states.planner.report, [item])
        text = diff_of([file.result for file in planned if file.result], style, display)
        return name, f"\n{style.paint(head, 'bold')}\n{text}" if text else ""
    name = item.function
    alone, _ = states.of(frozenset((name,)))
    if not alone.done:
        return name, ""
    _, before = states.of(accepted)
    repaired, after = states.of(accepted | {name})
    earlier = {each.edits for each, _ in states.of(accepted)[0].done}
    lines = [style.paint(f"{display.at(item.path, item.line)} repair {item.qualname}", "bold")]
    for each, _ in repaired.done:
        if each.edits not in earlier:
            doubt = f" [unsafe: {each.doubt}]" if each.doubt else ""
            lines.append(f"  line {each.line}: {each.code} {each.name}: {each.says}{doubt}")
    results = [_since(before.get(path), result) for path, result in after.items()]
    text = diff_of([each for each in results if each.changed], style, display)
    return name, "\n" + "\n".join(lines) + "\n" + text if text else ""


def _since(before: FileResult | None, after: FileResult) -> FileResult:
    """What changes from one state of a file to another."""
    from hybridize.rewrite.compose import edits_between

    if before is None:
        return after
    return replace(after, original=before.new, edits=edits_between(before.new, after.new))


def _ask() -> str:
    """The answer to a question; the end of the input means to stop."""
    while True:
        write("make this change? [y/n/a/q] ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            write("\n")
            return "q"
        answer = line.strip().lower()[:1]
        if answer in ("y", "n", "a", "q"):
            return answer
        write(_HELP)
