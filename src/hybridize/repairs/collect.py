"""From a function that stays eager to the repairs that it needs: every cause is answered, or named as left over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from hybridize.facts.functions.collect import identity
from hybridize.facts.model import Evidence, Ternary, Told
from hybridize.facts.state.guards import SET_UP
from hybridize.facts.state.reasons import CHANGES, OPAQUE, VOUCHED, Reason, describe, fills_own, is_unclear, kind_of
from hybridize.facts.state.restored import RESTORED
from hybridize.flow.frames import Effect, Frame
from hybridize.program.ir import Code
from hybridize.repairs.model import Bundle, Cause, Change, NotOffered, Proposed, Repair
from hybridize.repairs.registry import all_repairs, repairs_for
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.text import FunctionNode, inside
from hybridize.rules.model import Blocks, RuleHit
from hybridize.tracing.views import FunctionView, ProjectView

#: The rules that name a kind of side effect where it is a finding.
_EFFECT_CODES: Final = {
    "print": "HY201",
    "random": "HY203",
    "clock": "HY204",
    "io": "HY202",
    "iterator": "HY231",
    "state": "HY206",
} | dict.fromkeys(sorted(CHANGES - {"iterator"}), "HY206")
_MOST: Final = 40
#: Effects of frames by their kind and what they concern.
_Alike: TypeAlias = "dict[tuple[str, str], list[tuple[Effect, Frame]]]"


class Repairs:
    """The repairs of one run of the analysis.

    Args:
        project: what was found.
        broken: the functions that would be graphs but for something, with their hits.
    """

    def __init__(self, project: ProjectView, broken: Sequence[tuple[FunctionView, Sequence[RuleHit]]] = ()) -> None:
        self.bench = Bench(project, frozenset(view.code for view, hits in broken if any(map(_is_of_body, hits))))
        self.failures: list[str] = []  # repairs that raised
        self._known: dict[tuple[str, str, int, object], tuple[Repair, Change] | str] = {}

    def bundle(self, function: FunctionView, hits: Sequence[RuleHit]) -> Bundle | None:
        """What a function needs to become a graph, or a better one; None where no repair has anything to offer."""
        facts = function.facts
        hybrid = function.is_hybrid
        if not hybrid and not self._is_candidate(function):
            return None
        causes = list(_findings(function, hits) if hybrid else _causes(function, hits))
        if not causes:
            return None
        chosen: list[tuple[Repair, Change]] = []
        proposed: dict[int, list[Cause]] = {}
        open_: list[tuple[Cause, str]] = []
        for cause in causes:
            place = next((i for i, each in enumerate(chosen) if _answers(*each, cause)), None)
            if place is None:
                made = self._change(cause) if len(chosen) < _MOST else ""
                if isinstance(made, str):
                    open_.append((cause, made))
                    continue
                place = next((i for i, each in enumerate(chosen) if each == made), len(chosen))
                chosen[place:] = [made] if place == len(chosen) else chosen[place:]
            proposed.setdefault(place, []).append(cause)
        rest = [
            Evidence(f"{cause.code}: {cause.message}{f' ({why})' if why else ''}", cause.path, cause.line)
            for cause, why in open_
            if not any(_answers(*each, cause) for each in chosen)
        ]
        # Best is what leaves all causes where they are; else those that have repairs of their own can go along.
        part = None if hybrid else self._part(function, causes)
        if part is None and rest and chosen:
            part = self._part(function, [cause for cause, _ in open_])
        if not chosen or (rest and part is not None):
            return part
        repairs = tuple(_proposed(*chosen[i], found) for i, found in sorted(proposed.items()))
        return Bundle(facts.id, facts.path, facts.line, facts.qualname, repairs, tuple(rest), hybrid, part)

    def _is_candidate(self, function: FunctionView) -> bool:
        """Whether a function would be made hybrid but for what can be repaired."""
        facts = function.facts
        if facts.recursive.value is not Ternary.NO or facts.tensor_computation.value is not Ternary.YES:
            return False
        if facts.tensor_parameter.value is Ternary.YES:
            return True
        # A step that draws its own batch, and no program that trains once.
        return facts.updates_variables.value is Ternary.YES and self.bench.has_several_calls(function.code)

    def _part(self, function: FunctionView, causes: Sequence[Cause]) -> Bundle | None:
        """What makes a graph of a part of a function, whatever its causes are."""
        facts = function.facts
        for repair in all_repairs():
            try:
                change = repair.whole(self.bench, function, causes) if repair.whole is not None else None
            except NotOffered:
                continue
            except Exception as error:
                self.failures.append(f"{repair.code}: {type(error).__name__}: {error}")
                continue
            if change is not None:
                made = (_proposed(repair, change, list(causes)),)
                return Bundle(facts.id, facts.path, facts.line, facts.qualname, made)
        return None

    def suggested(self, hit: RuleHit) -> Bundle | None:
        """What a finding asks for that is about a piece of code, and not about the function that it is in."""
        code = self._code_at(hit)
        if code is None:
            return None
        cause = Cause(hit.rule.code, hit.path, hit.position, hit.message, code, hit=hit)
        made = self._change(cause)
        if isinstance(made, str):
            return None
        found = _proposed(*made, [cause])
        whole = self._id_of(code) or f"{hit.path}:{found.makes}"
        return Bundle(whole, code.path, hit.line, code.qualname, (found,))

    def _id_of(self, code: Code) -> str | None:
        """The id of a function as facts have it; None for a module."""
        modules = self.bench.project.solution.program.modules.values()
        home = next((m for m in modules if m.code.path == code.path), None)
        return identity(home, code) if home is not None and code.is_function else None

    def _code_at(self, hit: RuleHit) -> Code | None:
        """The function, or else the module, that a hit is in."""
        file = self.bench.file(hit.path)
        inside = [
            node
            for node in (file.nodes if file is not None else ())
            if isinstance(node, FunctionNode) and node.lineno < hit.line <= (node.end_lineno or 0)
        ]
        return self.bench.code(hit.path, inside[-1] if inside else None)

    def _change(self, cause: Cause) -> tuple[Repair, Change] | str:
        """The change for a cause, or why there is none."""
        # What a literal reaches is asked of each function apart; a place in the code is the same for all.
        key = (cause.code, cause.path, cause.position, cause.function if cause.parameter is not None else None)
        if key not in self._known:
            self._known[key] = self._offer(cause)
        return self._known[key]

    def _offer(self, cause: Cause) -> tuple[Repair, Change] | str:
        declined = ""
        for repair in repairs_for(cause.code):
            try:
                for change in repair.propose(self.bench, cause):
                    if change.edits or change.imports:
                        return repair, change
            except NotOffered as reason:
                declined = declined or str(reason)
            except Exception as error:
                self.failures.append(f"{repair.code}: {type(error).__name__}: {error}")
        return declined


def _is_of_body(hit: RuleHit) -> bool:
    """Whether a hit keeps whatever runs a function from being a graph, and not just the function itself."""
    return Blocks.TO_HYBRID in hit.blocks and hit.rule.root is None


def _causes(function: FunctionView, hits: Sequence[RuleHit]) -> Iterator[Cause]:
    """Why an eager function stays so: side effects first, for what repairs one often takes hits along."""
    facts, code = function.facts, function.code
    effects = facts.tracing_effects or facts.python_side_effects
    seen: dict[tuple[str, int, str], None] = {}
    for reason in _reasons(function) if effects.value is Ternary.YES else ():
        path, position = reason.frame.code.path, reason.effect.position
        named = _EFFECT_CODES.get(kind_of(reason.effect), "HY003")
        if (path, position, named) not in seen:
            seen[path, position, named] = None
            yield Cause(named, path, position, describe(reason.effect), code, reason=reason)
    if effects.value is Ternary.UNKNOWN:
        said = effects.evidence[-1].message if effects.evidence else "side effects are not known"
        yield Cause("HY006", facts.path, code.position, said, code)
    if facts.retraces.value is not Ternary.NO:
        evidence = facts.retraces.evidence
        receives = evidence[0].subject if evidence and evidence[0].told is Told.RECEIVES else None
        index = next((i for i, param in enumerate(code.params) if param.name == receives), None)
        message = evidence[0].message if evidence else "literals retrace it"
        yield Cause("HY002", facts.path, code.position, message, code, parameter=index)
    for hit in hits:
        if Blocks.TO_HYBRID in hit.blocks:
            yield Cause(hit.rule.code, hit.path, hit.position, hit.message, code, hit=hit)
    for hazard in facts.hazards:
        yield Cause(hazard.name, facts.path, code.position, hazard.message, code)


def _findings(function: FunctionView, hits: Sequence[RuleHit]) -> Iterator[Cause]:
    """What rules say of a function that is hybrid already."""
    reasons: dict[tuple[str, int], Reason] = {}
    for reason in _reasons(function):
        reasons.setdefault((reason.frame.code.path, reason.effect.position), reason)
    told = [hit for hit in hits if hit.rule.level is not None or hit.level is not None]
    alone = len({hit.rule.code for hit in told}) == 1 and not reasons
    for hit in told:
        effect = reasons.get((hit.path, hit.position))
        yield Cause(hit.rule.code, hit.path, hit.position, hit.message, function.code, effect, hit, alone=alone)


def _reasons(function: FunctionView) -> Iterator[Reason]:
    """The side effects that tracing alters, at every place that has one."""
    effects = function.project.effects
    for frame in function.frames:
        alike: _Alike | None = None
        for reason in effects.of(frame).values():
            # What the analysis cannot see into it assumes harmless, or says so once the rest is repaired.
            unseen = reason.effect.kind in OPAQUE or is_unclear(reason)
            if unseen or reason.once in (SET_UP, RESTORED, VOUCHED) or fills_own(frame, reason):
                continue
            yield reason
            if reason.effect.target is None:
                alike = _alike(function.project, frame) if alike is None else alike
                same = alike.get((reason.effect.kind, reason.effect.detail), ())
                yield from (Reason(effect, each, ()) for effect, each in same if effect is not reason.effect)


def _alike(project: ProjectView, frame: Frame) -> _Alike:
    """The effects of the same kind on the outside world at all places: a summary names one of them."""
    found: _Alike = {}
    extents = project.extents
    changing = project.shared("frames with effects", lambda: extents.having(lambda each: bool(each.effects)))
    for each in sorted(extents.frames(changing.within(extents.of(frame))), key=lambda f: f.uid):
        for effect in each.effects.values():
            found.setdefault((effect.kind, effect.detail), []).append((effect, each))
    return found


def _answers(repair: Repair, change: Change, cause: Cause) -> bool:
    """Whether a change that was chosen for another cause takes this one away, too."""
    spans = [*change.spans] if cause.code in repair.removes else []
    spans += [(path, first, last) for code, path, first, last in change.later if code == cause.code]
    return any(path == cause.path and inside(cause.place, first, last) for path, first, last in spans)


def _proposed(repair: Repair, change: Change, causes: list[Cause]) -> Proposed:
    first = causes[0]
    line, column = first.place
    places = dict.fromkeys((cause.code, cause.path, cause.line, cause.place[1] + 1) for cause in causes)
    return Proposed(
        repair.code,
        repair.name,
        first.path,
        line,
        column + 1,
        change.says,
        change.doubt,
        change.edits,
        change.imports,
        tuple(places),
        change.makes,
    )
