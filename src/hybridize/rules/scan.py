"""Runs the rules: hits of each frame once, carried up the calls to every function whose traced extent holds them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from hybridize.closure import closure
from hybridize.domain.calls import NOT_TRACED, How
from hybridize.domain.objects import Unknown, Value
from hybridize.facts.calls.dispatch import is_either
from hybridize.facts.calls.pruned import Pruned
from hybridize.facts.calls.traced import is_traced
from hybridize.facts.evidence import call_step
from hybridize.facts.functions.modes import traced_frames
from hybridize.facts.model import Evidence, FunctionFacts
from hybridize.facts.symbolic import OPERATION, Symbolic, holds_tensor, parameters_of
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution
from hybridize.flow.world import World
from hybridize.program import ir
from hybridize.program.ir import Code
from hybridize.records import dataclass, replace
from hybridize.rules.dispatch import Dispatch
from hybridize.rules.model import Blocks, Confirmed, Doubt, Hit, Level, Rule, RuleHit
from hybridize.rules.registry import all_rules
from hybridize.rules.telling import is_guarded, is_merged, told
from hybridize.source.roles import Roles
from hybridize.source.versions import Versions
from hybridize.tracing.running.eagerly import eager_only
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

#: A function keeps so many hits of one rule, nearest first.
_MOST: Final = 8


@dataclass(slots=True, eq=False)
class Carried:
    """A hit in the extent of a frame: `needs` in terms of that frame, `path` the calls (file, position, name).

    `sure`: no call on the way may run something else instead.
    """

    rule: Rule
    hit: Hit
    frame: Frame
    needs: int
    path: tuple[tuple[str, int, str], ...]
    sure: bool = True

    @property
    def place(self) -> tuple[str, int]:
        """Where it is in the function whose extent holds it: the call that leads there, or the hit itself."""
        return self.path[0][:2] if self.path else (self.hit.path or self.frame.code.path, self.hit.position)


class _Gathered:
    """The hits on one function, one for each place and rule."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str, int], RuleHit] = {}
        self.doubts: dict[str, Doubt] = {}  # by rule
        self.ways: dict[Hit, Carried] = {}  # by which way each doubtful hit first comes

    def add(self, hit: RuleHit) -> None:
        """Adds a hit that holds; a certain one takes the place of one that may be assumed away."""
        key = (hit.rule.code, hit.path, hit.position)
        known = self.found.get(key)
        if known is None or (known.unless and not hit.unless):
            self.found[key] = hit

    def doubt(self, function: FunctionView, carried: Carried, frame: Frame) -> None:
        """Adds a hit that the rule has to confirm."""
        doubt = self.doubts.get(carried.rule.code)
        if doubt is None:
            doubt = self.doubts[carried.rule.code] = Doubt(function, {})
        doubt.hits.setdefault(carried.hit, []).append(frame)
        self.ways.setdefault(carried.hit, carried)

    def sorted(self) -> list[RuleHit]:
        """The hits by rule, nearest first."""
        return sorted(self.found.values(), key=lambda h: (h.rule.code, len(h.evidence), h.path, h.position))


class Scanner:
    """The hits of all rules over one solution."""

    def __init__(
        self,
        solution: Solution,
        versions: Versions | None = None,
        roles: Roles | None = None,
        each: Callable[[], None] = lambda: None,
    ) -> None:
        """`each` is called before each step of the work."""
        self.solution = solution
        self._each = each
        self.project = ProjectView(solution, Symbolic(), versions, roles)
        self.rules = all_rules()
        self._dispatch = Dispatch(self.project, self.rules)
        self._root_rules = [rule for rule in self.rules if rule.root is not None]
        self._blocking_rules = [rule for rule in self._root_rules if rule.blocks]
        self._bare_rules = [rule for rule in self._root_rules if rule.bare]
        self.failures: list[str] = []  # rules that raised
        self._carried: dict[Frame, tuple[Carried, ...]] = {}
        self._ranks: dict[Frame, int] | None = None  # of the components that frames are in: callees before callers

    def view(self, code: Code, frames: list[Frame], facts: FunctionFacts) -> FunctionView:
        """A function with its live frames, or, where it is hybrid, those of them that are traced."""
        return FunctionView(self.project, code, traced_frames(frames, facts.hybridization), facts)

    def hits(self, functions: Sequence[FunctionView], *, every: bool = True) -> list[list[RuleHit]]:
        """For each function the hits, were it the one that is decorated.

        Without `every`, eager functions are asked only what may block their conversion.
        """
        self._prepare([frame for function in functions for frame in function.frames])
        gathered = [self._gathered(function) for function in functions]
        self._confirm(gathered)
        for function, each in zip(functions, gathered, strict=True):
            self._ask(function, self._root_rules if every or function.is_hybrid else self._blocking_rules, each)
        return [told(function, each.sorted()) for function, each in zip(functions, gathered, strict=True)]

    def bare_hits(self, function: FunctionView) -> list[RuleHit]:
        """What is to be told of an eager function without tensors: its results, receivers and kind of code."""
        gathered = _Gathered()
        self._ask(function, self._bare_rules, gathered)
        return gathered.sorted()

    def hits_at(self, function: FunctionView, view: FrameView, call: ir.Call) -> Iterator[Hit]:
        """What rules say against the trace of a call, by a view that knows what stands there: no call may run it."""
        watchers = next((each for instr, each in self._dispatch.watched(view.code) if instr is call), [])
        for rule, trigger in (*watchers, *self._dispatch.called(view.value(call.function))):
            for hit in self._guarded(rule, None, trigger, view, call):
                if hit.sure and hit.needs and not rule.opens and self._stands(function, rule, hit, view.frame):
                    yield hit

    def hits_inside(self, function: FunctionView, frames: Sequence[Frame]) -> Iterator[Hit]:
        """What rules say against a trace of some frames that are given tensors, as they are, or for all that is known.

        Of a frame that no call of the program runs only what is done with the arguments themselves counts.
        """
        self._prepare(list(frames))
        for frame in frames:
            called = any(True for _ in frame.seen_calls())
            for carried in self._carried.get(frame, ()):
                given = [frame.args[i] for i in parameters_of(carried.needs) if i < len(frame.args)]
                whole = bool(carried.needs & OPERATION)
                holds = called if whole else any(holds_tensor(each) or _is_unknown(each) for each in given)
                if holds and carried.sure and self._stands(function, carried.rule, carried.hit, frame):
                    yield carried.hit

    def hits_for_arrays(self, function: FunctionView, given: Collection[int]) -> Iterator[RuleHit]:
        """What would break, or come out otherwise, if some parameters of a function got arrays."""
        self._prepare(function.frames)
        for frame in function.frames:
            for carried in self._carried.get(frame, ()):
                counts = carried.rule.opens and not carried.hit.unless
                if counts and function.may_get_array(frame, carried.needs, given):
                    yield _result(carried, self.solution.world)

    def _stands(self, function: FunctionView, rule: Rule, hit: Hit, frame: Frame) -> bool:
        """Whether a hit in what a function may run speaks against its conversion."""
        if Blocks.TO_HYBRID not in (rule.blocks if hit.blocks is None else hit.blocks) or hit.unless:
            return False
        if rule.confirm is None:
            return True
        confirmed = rule.confirm(self.project, [Doubt(function, {hit: [frame]})])[0].get(hit)
        return confirmed is not None and not confirmed.unless

    def _ask(self, function: FunctionView, rules: list[Rule], gathered: _Gathered) -> None:
        """What rules say of the function itself."""
        self._each()
        function.known_callers = list(function.callers())
        for rule in rules:
            assert rule.root is not None
            try:  # not `_guarded`: one generator more for each rule and function
                for hit in rule.root(function):
                    gathered.add(_root_result(function, rule, hit))
            except Exception as error:
                for hit in self._failed(rule, function.code, error):
                    gathered.add(_root_result(function, rule, hit))
        function.known_callers = None

    def _gathered(self, function: FunctionView) -> _Gathered:
        """What the extent of a function carries."""
        gathered = _Gathered()
        # What may happen keeps a function eager; of a hybrid one it is told where the program is followed in detail.
        doubtful = not function.is_hybrid or self.solution.world.is_small
        for frame in function.frames:
            for carried in self._carried.get(frame, ()):
                if carried.rule.opens:
                    counts = not function.is_hybrid and function.opens(frame, carried.needs)
                else:
                    counts = function.holds(frame, carried.needs) and (carried.sure or doubtful)
                if not counts:
                    continue
                if carried.rule.confirm is None:
                    gathered.add(_result(carried, self.solution.world))
                else:
                    gathered.doubt(function, carried, frame)
        return gathered

    def project_hits(self) -> list[RuleHit]:
        """The hits that belong to no function."""
        found: dict[tuple[str, str, int], RuleHit] = {}
        for rule in self.rules:
            for each in self._guarded(rule, None, rule.project, self.project) if rule.project is not None else ():
                path = each.path or ""
                evidence = each.evidence or (Evidence(each.message, path, each.position >> 16),)
                hit = _made(rule, each, path, evidence)
                found.setdefault((rule.code, path, each.position), hit)
        return sorted(found.values(), key=lambda h: (h.path, h.position, h.rule.code))

    def _guarded(
        self, rule: Rule, code: Code | None, scan: Callable[..., Iterator[Hit]], *args: object
    ) -> Iterator[Hit]:
        """What a rule finds. A mistake in one costs its hits, not the analysis."""
        try:
            yield from scan(*args)
        except Exception as error:
            yield from self._failed(rule, code, error)

    def _failed(self, rule: Rule, code: Code | None, error: Exception) -> Iterator[Hit]:
        """A rule that raised: what it might have found keeps the code eager; `failures` keeps the mistake for tests."""
        self.failures.append(f"{rule.code}: {type(error).__name__}: {error}")
        if code is not None and rule.blocks:
            message = f"hybridize failed to tell whether this holds here ({type(error).__name__}): please report it"
            yield Hit(code.position, message, sure=False, level=Level.INFO)

    def _confirm(self, gathered: Sequence[_Gathered]) -> None:
        """Adds what of the doubtful hits holds; all of them where the rule cannot tell."""
        for rule in self.rules:
            concerned = [each for each in gathered if rule.code in each.doubts]
            if rule.confirm is None or not concerned:
                continue
            doubts = [each.doubts[rule.code] for each in concerned]
            try:
                answers = rule.confirm(self.project, doubts)
            except Exception as error:
                self.failures.append(f"confirm: {type(error).__name__}: {error}")
                answers = [dict.fromkeys(doubt.hits, Confirmed()) for doubt in doubts]
            for each, answer in zip(concerned, answers, strict=True):
                for hit, more in answer.items():
                    result = _result(each.ways[hit], self.solution.world)
                    level = more.level or result.level
                    evidence = (*result.evidence, *more.evidence)
                    said = f"{result.message} {more.said}" if more.said else result.message
                    told = replace(result, message=said, evidence=evidence, unless=more.unless, level=level)
                    each.add(replace(told, causes=more.causes) if more.causes else told)

    # Frames ----------------------------------------------------------------------------------------------------------

    def _prepare(self, frames: list[Frame]) -> None:
        """Scans what the frames may run, callees first."""
        starts = [frame for frame in frames if frame not in self._carried]
        missing = set(closure(starts, lambda each: [c for _, c in each.calls if c not in self._carried]))
        if not missing:
            return
        if self._ranks is None:
            every = self.project.extents.components
            self._ranks = {frame: rank for rank, component in enumerate(every) for frame in component}
        for rank in sorted({self._ranks[frame] for frame in missing}):
            self._scan(sorted(self.project.extents.components[rank], key=lambda f: f.uid))

    def _scan(self, component: list[Frame]) -> None:
        self._each()
        members = set(component)
        gathered: list[Carried] = []
        for frame in component:
            own = self._own(frame)
            if len(component) > 1 and _comes_by_chance(frame):
                own = (replace(each, sure=False) for each in own)
            gathered += own
        for frame in component:
            for pos, callee, how in self.project.extents.calls(frame):
                if _is_part(frame, pos, how) and callee not in members:
                    gathered += self._lifted(frame, pos, callee)
        if len(component) > 1:
            # Functions that call each other share their hits; whose parameter it was is no longer told apart.
            gathered = [Carried(c.rule, c.hit, c.frame, OPERATION, c.path, c.sure) for c in gathered]
        kept = _nearest(gathered) if gathered else ()
        for frame in component:
            self._carried[frame] = kept

    def _own(self, frame: Frame) -> Iterator[Carried]:
        if frame.code.is_body:
            return
        view = FrameView(self.project, frame)
        called, vals = self._dispatch.called, frame.vals
        untraced = eager_only(frame)
        for instr, watchers in self._dispatch.watched(frame.code):
            made = instr.target
            if untraced and instr.position in untraced:
                continue
            if type(made) is int and made >= 0 and vals[made] is None:
                continue  # control never gets there
            if isinstance(instr, ir.Call):
                callee = vals[instr.function]
                some = called(callee) if callee else None
                if some:
                    watchers = [*watchers, *[w for w in some if w not in watchers]] if watchers else some
            for rule, trigger in watchers:
                try:  # not `_guarded`: one generator more for each trigger of each instruction
                    for hit in trigger(view, instr):
                        if hit.needs:
                            sure = hit.sure and (not isinstance(instr, ir.Call) or not is_either(frame, instr.position))
                            sure = sure and not is_merged(frame, instr) and not is_guarded(frame, instr.position)
                            yield Carried(rule, hit, frame, hit.needs, (), sure)
                except Exception as error:
                    for hit in self._failed(rule, frame.code, error):
                        yield Carried(rule, hit, frame, hit.needs, (), hit.sure)
        for rule in self._dispatch.scanning(frame.code):
            assert rule.frame is not None
            for hit in self._guarded(rule, frame.code, rule.frame, view):
                if hit.needs and not (untraced and hit.path is None and hit.position in untraced):
                    yield Carried(rule, hit, frame, hit.needs, (), hit.sure)

    def _lifted(self, frame: Frame, pos: int, callee: Frame) -> Iterator[Carried]:
        found = self._carried.get(callee)
        if not found or pos in eager_only(frame):
            return
        pruned = Pruned(frame, pos, callee, again=self.project.extents.is_recursive(callee))
        prunes = pruned.some
        either = is_either(frame, pos)
        step = (frame.code.path, pos, callee.code.name)
        for carried in found:
            if prunes and carried.place in pruned:
                continue
            passes = carried.rule.passes
            if passes is not None and not passes(FrameView(self.project, frame), pos, callee):
                continue
            needs = OPERATION
            if not carried.needs & OPERATION:
                needs = self.project.symbolic.lift(frame, pos, callee, carried.needs)
            if needs:
                sure = carried.sure and not either
                yield Carried(carried.rule, carried.hit, carried.frame, needs, (step, *carried.path), sure)


def _is_part(frame: Frame, pos: int, how: How) -> bool:
    """Whether what a call runs is traced with its caller: that of a strategy that runs it as it finds it, too."""
    return how not in NOT_TRACED or (how is How.GRAPH and not is_traced(frame, pos, how))


def _is_unknown(value: Value) -> bool:
    return any(isinstance(o, Unknown) for o in value)


def _comes_by_chance(frame: Frame) -> bool:
    """Whether every call that runs a frame may run something else instead."""
    sites = [(caller, pos) for caller in frame.callers if not caller.gone for pos, f in caller.calls if f is frame]
    return bool(sites) and all(is_either(caller, pos) for caller, pos in sites)


def _nearest(gathered: list[Carried]) -> tuple[Carried, ...]:
    """The nearest hits of each rule, one for each place; what each needs is joined over the ways that lead there."""
    merged: dict[tuple[str, str, int, object], Carried] = {}
    for carried in gathered:
        hit = carried.hit
        # What is to be confirmed of one subject says nothing of another at the same place: `model` and its attribute.
        key = (carried.rule.code, hit.path or carried.frame.code.path, hit.position, hit.subject)
        old = merged.get(key)
        if old is None:
            merged[key] = carried
        else:
            best = min(old, carried, key=lambda c: (not c.sure, len(c.path)))
            merged[key] = Carried(best.rule, best.hit, best.frame, old.needs | carried.needs, best.path, best.sure)
    counts: dict[str, int] = {}
    kept = []
    for carried in sorted(merged.values(), key=_rank):
        counts[carried.rule.code] = counts.get(carried.rule.code, 0) + 1
        if counts[carried.rule.code] <= (_MOST if carried.rule.confirm is None else 8 * _MOST):
            kept.append(carried)
    return tuple(kept)


def _rank(carried: Carried) -> tuple[str, bool, int, str, int]:
    return carried.rule.code, not carried.sure, len(carried.path), carried.frame.code.path, carried.hit.position


def _result(carried: Carried, world: World) -> RuleHit:
    steps = tuple(call_step(name, path, pos) for path, pos, name in carried.path)
    path = carried.hit.path or carried.frame.code.path
    cause = carried.hit.evidence or (Evidence(carried.hit.message, path, carried.hit.position >> 16),)
    merged = world.is_merged(carried.frame.code)
    return _made(carried.rule, carried.hit, path, (*steps, *cause), merged, carried.sure)


def _root_result(function: FunctionView, rule: Rule, hit: Hit) -> RuleHit:
    path = hit.path or function.code.path
    evidence = hit.evidence or (Evidence(hit.message, path, hit.position >> 16),)
    merged = function.project.solution.world.is_merged(function.code)
    return _made(rule, hit, path, evidence, merged, hit.sure)


def _made(
    rule: Rule, hit: Hit, path: str, evidence: tuple[Evidence, ...], merged: bool = False, sure: bool = True
) -> RuleHit:
    level = hit.level or rule.level or Level.INFO
    blocks = rule.blocks if hit.blocks is None else hit.blocks
    outcome = hit.outcome or rule.outcome
    place = (path, hit.position)
    said = (hit.message, *place, level, outcome, blocks, evidence, hit.end, hit.unless)
    return RuleHit(rule, *said, sure=sure, about=hit.about, error=hit.error, merged=merged, also=hit.also)
