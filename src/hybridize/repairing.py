"""Repairs are tried in memory: analyzed anew, kept where they unlock something, else dropped with a reason."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeAlias

from hybridize.decide.model import Action, FunctionReport, Report
from hybridize.facts.model import Mode
from hybridize.records import dataclass, field, replace
from hybridize.repairs.model import Bundle, Proposed
from hybridize.rewrite.compose import compose

#: A repair may uncover the next cause; so often is a function looked at again.
ROUNDS = 4
#: So often is everything tried without what turned out to be of no use.
_ATTEMPTS = 6

#: Analyzes the project with other contents (by path from the root) of some files.
Analyze: TypeAlias = Callable[[Mapping[str, bytes]], Report]
Read: TypeAlias = Callable[[str], bytes]
#: The function that a repair is for, and the repair itself where it only mends one finding.
Goal: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which repairs may be applied: the unsafe ones, those of some codes, for some functions.

    `selected` says of a repair whether it is asked for; `explicit` whether it is so by name, which applies it even
    where it unlocks nothing. `functions` are ids, None for all; `held` those that stay as graphs or eager as they are;
    `files` those that may be changed, by path from the root, None for all.
    """

    unsafe: bool = False
    selected: Callable[[Proposed], bool] = lambda each: True
    explicit: Callable[[Proposed], bool] = lambda each: False
    functions: frozenset[str] | None = None
    held: frozenset[str] = frozenset()
    files: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Repaired:
    """What became of the repairs: the new contents by path, the report on them, and both lists with reasons.

    `done` has each repair once, with the functions that it was for. `left` are those not applied. `made` are the
    functions that repairs made (ids), each with that of the function it is a part of. `unlocked` are these and those
    that repairs were for (ids).
    """

    report: Report
    contents: Mapping[str, bytes] = field(default_factory=dict)
    done: tuple[tuple[Proposed, tuple[str, ...]], ...] = ()
    left: tuple[tuple[Bundle, str], ...] = ()
    made: Mapping[str, str] = field(default_factory=dict)
    unlocked: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Attempt:
    report: Report
    contents: dict[str, bytes] = field(default_factory=dict)
    applied: dict[Goal, list[Bundle]] = field(default_factory=dict)
    refused: dict[Goal, tuple[Bundle, str]] = field(default_factory=dict)


def repair(analyze: Analyze, report: Report, read: Read, wanted: Wanted) -> Repaired:
    """Applies what repairs of a report's project unlock something; nothing is written.

    Args:
        analyze: the analysis of the project with other contents of some files.
        report: that of the project as it is.
        read: the bytes of a file as it is, by its path from the root.
        wanted: what may be applied.
    """
    rejected: dict[Goal, tuple[Bundle, str]] = {}
    left = _not_wanted(report, wanted)
    for number in range(_ATTEMPTS):
        attempt = _attempt(analyze, report, read, wanted, rejected)
        failed = _failures(report, attempt, wanted)
        if not failed:
            made = _made(attempt)
            left += _of_the_source([*attempt.refused.values(), *rejected.values()], report, made)
            unlocked = frozenset(made) | {function for function, _ in attempt.applied}
            return Repaired(attempt.report, attempt.contents, _done(attempt), tuple(left), made, unlocked)
        rejected.update(failed)
        if number == _ATTEMPTS - 2:  # what is left may fail in turn for ever: none, then
            reason = "not kept: other repairs in the same run did not unlock anything"
            rejected.update({goal: (found[0], reason) for goal, found in attempt.applied.items() if goal not in failed})
    return Repaired(report, left=(*left, *_of_the_source(rejected.values(), report, ())))


def _of_the_source(
    left: Iterable[tuple[Bundle, str]], report: Report, made: Collection[str]
) -> list[tuple[Bundle, str]]:
    """What is left of functions that people can find: in the project as it is, or made by what is applied."""
    lines = {function.facts.id: function.facts.line for function in report.functions}
    # The code at the top of a module is no function of a report.
    known = [(b, why) for b, why in left if b.function in lines or b.function in made or b.qualname == "<module>"]
    return [(replace(bundle, line=lines.get(bundle.function, bundle.line)), why) for bundle, why in known]


def placed(each: Proposed, now: Report, first: Report) -> Proposed:
    """A repair of what repairs made of a project, at the line that its function has in the project as it was."""
    if now is first:
        return each
    old = {f.facts.id: f.facts for f in first.functions}
    around = [
        f.facts for f in now.functions if f.facts.path == each.path and f.facts.line <= each.line and f.facts.id in old
    ]
    if not around:
        return each
    nearest = max(around, key=lambda facts: facts.line)
    was = old[nearest.id]
    return replace(each, line=min(each.line - nearest.line + was.line, was.end_line))


def goals(report: Report) -> list[tuple[Goal, Bundle]]:
    """The bundles of a report by what they are for: each repair of a function that is hybrid already by itself."""
    found: list[tuple[Goal, Bundle]] = []
    for bundle in report.repairs:
        if not bundle.hybrid:
            found.append(((bundle.function, bundle.makes), bundle))
            if bundle.otherwise is not None:
                found.append(((bundle.function, bundle.otherwise.makes), bundle.otherwise))
            continue
        for each in bundle.repairs:
            alone = Bundle(
                bundle.function, bundle.path, bundle.line, bundle.qualname, (each,), bundle.rest, hybrid=True
            )
            found.append(((bundle.function, f"{each.code} {' '.join(each.answers)} {each.says}"), alone))
    return found


def _attempt(analyze: Analyze, report: Report, read: Read, wanted: Wanted, rejected: Mapping[Goal, object]) -> _Attempt:
    state = _Attempt(report)
    for _ in range(ROUNDS):
        made = _made(state)
        todo = [
            (goal, b)
            for goal, b in goals(state.report)
            if goal not in rejected and (b.function in made or _is_asked(b, wanted)) and _refusal(b, wanted) is None
        ]
        todo = [(goal, b) for goal, b in todo if not (b.makes and _is_parted(state, b))]
        first = {goal[0] for goal, b in todo if b.otherwise is not None}
        others = {id(b.otherwise) for b in state.report.repairs}
        todo = [(goal, b) for goal, b in todo if id(b) not in others or goal[0] not in first]
        # A graph already: what is mended once and found again is not mended.
        todo = [(goal, b) for goal, b in todo if not (b.hybrid and goal in state.applied)]
        if not todo:
            break
        composed = compose([b for _, b in todo], lambda path: state.contents.get(path) or read(path))
        goal_of = [goal for goal, _ in todo]
        state.refused = {goal_of[i]: found for i, found in composed.refused.items()}
        if not composed.taken:
            break
        for i, bundle in composed.taken.items():
            at = replace(bundle, repairs=tuple(placed(each, state.report, report) for each in bundle.repairs))
            state.applied.setdefault(goal_of[i], []).append(at)
        state.contents.update(composed.files)
        state.report = analyze(state.contents)
    return state


def _made(state: _Attempt) -> dict[str, str]:
    """The functions that applied repairs made (ids), each with that of the function it is a part of."""
    parts = {(b.path, b.makes): b.function for bundles in state.applied.values() for b in bundles if b.makes}
    if not parts:
        return {}
    places = {(f.facts.path, f.facts.qualname): f.facts.id for f in state.report.functions}
    return {places[place]: whole for place, whole in parts.items() if place in places}


def _is_parted(state: _Attempt, bundle: Bundle) -> bool:
    """Whether a function was parted before: what stays of it has the causes still, and its part is no more divided.

    Each of its loops may have a step of its own.
    """
    done = [b for bundles in state.applied.values() for b in bundles if b.makes and b.path == bundle.path]
    if any(b.makes == bundle.qualname for b in done):
        return True
    return any(b.function == bundle.function and not (b.is_step and bundle.is_step) for b in done)


def _is_asked(bundle: Bundle, wanted: Wanted) -> bool:
    return bundle.function not in wanted.held and (wanted.functions is None or bundle.function in wanted.functions)


def _refusal(bundle: Bundle, wanted: Wanted) -> str | None:
    """Why a bundle that is asked for may not be applied; None if it may."""
    for each in bundle.repairs:
        if not wanted.selected(each):
            return f"{each.code} {each.name} is not selected"
        touched = {edit.path for edit in each.edits} | {new.path for new in each.imports}
        if wanted.files is not None and not touched <= wanted.files:
            other = min(touched - wanted.files)
            return f"{each.code} {each.name} changes {other}, too, which was not asked for"
    explicit = any(wanted.explicit(each) for each in bundle.repairs)
    if not bundle.complete and not bundle.hybrid and not explicit:
        first = bundle.rest[0]
        more = f", and {len(bundle.rest) - 1} more" if len(bundle.rest) > 1 else ""
        return f"no repair for {first.message} ({first.path}:{first.line}){more}"
    if not wanted.unsafe:
        doubtful = next((each for each in bundle.repairs if not each.safe), None)
        if doubtful is not None:
            return f"{doubtful.code} {doubtful.name} is not safe ({doubtful.doubt}): --unsafe-fixes applies it"
    return None


def _not_wanted(report: Report, wanted: Wanted) -> list[tuple[Bundle, str]]:
    reasons = [(bundle, _refusal(bundle, wanted)) for _, bundle in goals(report) if _is_asked(bundle, wanted)]
    return [(bundle, reason) for bundle, reason in reasons if reason is not None]


def _failures(before: Report, attempt: _Attempt, wanted: Wanted) -> dict[Goal, tuple[Bundle, str]]:
    """The goals that were not reached, with the reason."""
    functions = {f.facts.id: f for f in attempt.report.functions}
    failed: dict[Goal, tuple[Bundle, str]] = {}
    for goal, bundles in attempt.applied.items():
        bundle = bundles[0]
        explicit = any(wanted.explicit(r) for b in bundles for r in b.repairs)
        reason = None if explicit else _missed(before, attempt.report, goal, bundle, functions)
        if reason is not None:
            failed[goal] = (bundle, reason)
    if not failed and attempt.applied:
        failed.update(_regressions(before, attempt, functions))
    return failed


def _missed(
    before: Report, after: Report, goal: Goal, bundle: Bundle, functions: Mapping[str, FunctionReport]
) -> str | None:
    """Why a goal is not reached; None if it is: the function becomes a graph, or part of one that it was not."""
    now = functions.get(bundle.function)
    if bundle.makes:
        made = next(
            (f for f in after.functions if (f.facts.path, f.facts.qualname) == (bundle.path, bundle.makes)), None
        )
        if made is not None and (made.decision.action is Action.CONVERT_TO_HYBRID or made.facts.mode is Mode.HYBRID):
            return None
        said = next((f"{s.code} {s.name}: {s.message}" for s in made.statuses), "") if made is not None else ""
        return f"`{bundle.makes}` would not become hybrid even so ({said or 'it is not found'})"
    if bundle.hybrid:
        codes = set(bundle.repairs[0].answers)
        count = [sum(f.code in codes and f.function == goal[0] for f in r.findings) for r in (before, after)]
        if now is not None and now.facts.mode is Mode.EAGER and now.decision.action is Action.CONVERT_TO_HYBRID:
            return "it would be made hybrid again"
        if now is not None and now.decision.action is Action.CONVERT_TO_EAGER:
            return "its decorator goes"
        return None if count[1] < count[0] or now is None else "the finding would stay"
    if now is None:
        return "the function would be gone"
    if now.decision.action is Action.CONVERT_TO_HYBRID or now.facts.mode is Mode.HYBRID:
        return None
    old = next((f for f in before.functions if f.facts.id == bundle.function), None)
    if now.decision.precondition is not None and _is_covered(now) and old is not None and not _is_covered(old):
        return None
    said = next((f"{s.code} {s.name}: {s.message}" for s in now.statuses), "it would stay eager all the same")
    return f"it would not become hybrid even so ({said})"


def _is_covered(function: FunctionReport) -> bool:
    """Whether a function runs as part of graphs."""
    return any(status.name == "covered" for status in function.statuses)


def _regressions(
    before: Report, attempt: _Attempt, functions: Mapping[str, FunctionReport]
) -> dict[Goal, tuple[Bundle, str]]:
    """All goals that touch a file in which a function is worse off than before."""
    worse: dict[str, str] = {}
    for old in before.functions:
        new = functions.get(old.facts.id)
        passed = old.decision.action is Action.CONVERT_TO_HYBRID
        if passed and new is not None and new.decision.precondition is None and new.facts.mode is Mode.EAGER:
            worse[old.facts.path] = old.facts.qualname
    found = {}
    for goal, bundles in attempt.applied.items():
        touched = {edit.path for b in bundles for r in b.repairs for edit in r.edits} & set(worse)
        if touched:
            found[goal] = (bundles[0], f"`{worse[min(touched)]}` could not become hybrid any more")
    return found


def _done(attempt: _Attempt) -> tuple[tuple[Proposed, tuple[str, ...]], ...]:
    done: dict[tuple[object, ...], tuple[Proposed, list[str]]] = {}
    for bundles in attempt.applied.values():
        for bundle in bundles:
            for each in bundle.repairs:
                _, names = done.setdefault((each.code, each.edits, each.imports), (each, []))
                if bundle.qualname not in names:
                    names.append(bundle.qualname)
    found = [(each, tuple(names)) for each, names in done.values()]
    return tuple(sorted(found, key=lambda item: (item[0].path, item[0].line, item[0].code)))
