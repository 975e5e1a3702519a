"""From a program to a report on each function: facts, hits of rules, decisions, the plan, repairs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Final, TypeAlias

from hybridize.config import Config
from hybridize.decide.basis import Basis
from hybridize.decide.compilation import Compilation
from hybridize.decide.mistakes import Mistakes
from hybridize.decide.model import Action, Call, Confidence, Finding, FunctionReport, Severity
from hybridize.decide.plan import Plan, Wanted, plan
from hybridize.decide.preconditions import Options, decide, finding, findings
from hybridize.decide.signatures import Signatures
from hybridize.decide.suppress import Suppressions
from hybridize.facts.calls.callgraph import called_functions
from hybridize.facts.functions.collect import Collector, FactOptions, identity
from hybridize.facts.model import Mode, Ternary
from hybridize.flow.solve import FlowOptions, Solution, Solver
from hybridize.program.build import Program
from hybridize.program.edited import Edited, edited
from hybridize.program.ir import Code
from hybridize.program.lowering import walk_codes
from hybridize.records import dataclass, replace
from hybridize.rules.assumed import settled
from hybridize.rules.model import RuleHit
from hybridize.rules.registry import all_rules
from hybridize.rules.scan import Scanner
from hybridize.source import Inputs, Roles, SourceText, decode_source
from hybridize.tracing.failing.awaited import awaited
from hybridize.tracing.views import FunctionView, ProjectView

if TYPE_CHECKING:
    from hybridize.repairs.model import Bundle

#: The rule that suggests functions to extract: not from code that becomes a graph as a whole.
_SUGGESTED = "HY110"
#: The rule that tells what retraces a graph.
_RETRACED = "HY101"
#: What is told of places that run eagerly only.
_OUTSIDE = (_SUGGESTED, "HY106", "HY107")
#: So many functions above one that was edited are judged with it.
_MOST_ABOVE = 12
#: Called with a phase, how much of it is done, and how much there is (0: not known).
Progress: TypeAlias = Callable[[str, int, int], None]
#: Called with a phase that is done, and who has done it.
After: TypeAlias = "Callable[[str, Deciding], None]"


@dataclass(frozen=True, slots=True)
class Again:
    """What is found of some functions after an edit.

    `asked` are the functions that it is about (ids), of which it may be another's to say something, and some may be
    gone. `functions` have no plan: each comes with whether what is decided about it, and why, is as it was. Places are
    in the text that `program.edited` makes.
    """

    asked: frozenset[str]
    functions: tuple[tuple[FunctionReport, bool], ...]
    findings: tuple[Finding, ...]
    bundles: tuple[Bundle, ...]


#: Phases, by their names: all that the program comes to is judged, and the rest.
ENTRIES_JUDGED: Final = "entries judged"
REST_JUDGED: Final = "all judged"
#: Between them: nothing is solved any more.
ALL_SOLVED: Final = "all solved"


class Deciding:
    """One run over a program; `functions` has the reports in the program's order, `mistakes` what failed."""

    def __init__(self, program: Program, config: Config, inputs: Inputs) -> None:
        self.program = program
        self.config = config
        self._inputs = inputs
        self.versions = inputs.versions
        self._said: Callable[[], None] = lambda: None
        self.mistakes = Mistakes(lambda: self._said())
        self.functions: list[FunctionReport] = []
        self.findings: list[Finding] = []
        self.bundles: list[Bundle] = []
        self.calls: list[Call] = []
        self._old = {path: said for path, said in inputs.old.items() if path in program.texts}
        self._roles = inputs.roles
        self._suppressions = Suppressions(program.texts)
        self._pairs = program.functions()
        self._reports: dict[int, FunctionReport] = {}
        self._broken: dict[int, tuple[FunctionView, list[RuleHit]]] = {}
        self._solved: tuple[Solver, Solution] | None = None  # as it was last

    def run(self, progress: Progress | None, *, repairs: bool, after: After | None = None) -> None:
        """Decides about every function; `repairs` are looked for last. `after` is told of each phase that is done."""
        for phase in self.phases(progress, repairs=repairs):
            if after is not None:
                after(phase, self)
            elif phase == ALL_SOLVED and self._solved is not None:
                self._solved[0].engine.world.settle()  # nobody solves it again

    def phases(self, progress: Progress | None, *, repairs: bool) -> Iterator[str]:
        """The same phase by phase, with the name of each that is done: other analyses may work in between."""
        config = self.config
        all_rules()  # imported before anything is named: what they hold is the same for all analyses
        solver = Solver(self.program, FlowOptions.of(config))
        active = solver.session.active
        if progress is not None:
            solver.engine.tick = lambda runs: progress("solving: functions run", runs, 0)
        first = solver.solve_entries()
        self._solved = solver, first
        yield "entries solved"
        with active():
            self._judge(first, self._share(first.reached, entries=True), progress)
        yield ENTRIES_JUDGED
        second = solver.solve_rest(first)
        self._solved = solver, second
        yield ALL_SOLVED
        with active():
            judged = self._judge(second, self._share(first.reached, entries=False), progress)
        yield REST_JUDGED
        if progress is not None:
            self._said = partial(progress, "planning", 0, 0)
        with active():
            self._conclude(first.reached, *judged, repairs=repairs)
        yield "planned"

    def after_edits(self, files: Mapping[str, bytes], *, entries: bool) -> Again | None:
        """As `again`, for files with other bytes, by path; None where they cannot be analyzed, or are not known."""
        assert self._solved is not None
        modules = {module.code.path: module for module in self.program.modules.values()}
        edits: list[Edited] = []
        with self._solved[0].session.active():
            for path, data in files.items():
                module = modules.get(path)
                text = decode_source(module.text.ref, data) if module is not None and module.text is not None else None
                edit = edited(module, text) if module is not None and isinstance(text, SourceText) else None
                if edit is None:
                    return None
                edits.append(edit)
        return self.again(edits, entries=entries)

    def again(self, edits: Sequence[Edited], *, entries: bool) -> Again:
        """Decides anew about functions that edits have changed, those in them, and those that may show it.

        It does so as of the last phase: `entries` says whether that was the one of the functions that the program comes
        to, and it is about these, or else about the others. Nothing else can be done with this one afterwards.
        """
        assert self._solved is not None
        solver, last = self._solved
        functions = [each for edit in edits for each in edit.functions]
        scopes = [each for edit in edits for each in edit.scopes]
        inside = {code for old, _ in functions for code in walk_codes(old)}
        shown = self._shown()
        above = _nearest_above(last, inside, shown)
        before = {identity(*self._pairs[i]): each for i, each in self._reports.items()}
        old = {code: identity(module, code) for module, code in self._pairs}
        solved, run = solver.solve_again(last, [*functions, *scopes], entries=entries)
        self.program.modules.update((edit.module.info.id, edit.module) for edit in edits)
        now = Deciding(self.program, self.config, self._inputs)
        paths = {edit.module.code.path for edit in edits} if scopes else set()
        beside = [code for code in run if code in shown and code.path in paths][:_MOST_ABOVE]
        ids = {code: identity(module, code) for module, code in now._pairs}
        made = ids.keys() - old.keys()
        wanted = {*above, *beside, *made, *(code for each, _ in functions for code in walk_codes(each))}
        share = [i for i in now._share(solved.reached, entries=entries) if now._pairs[i][1] in wanted]
        if share:
            with solver.session.active():
                _, scanner = now._judge(solved, share)
                now._leave_awaited(scanner.project)
                now._repair(scanner.project, [])
        judged = [now._reports[i] for i in share if i in now._reports]
        found = tuple((each, _is_same(each, before.get(each.facts.id))) for each in judged)
        asked = {id_ for code, id_ in old.items() if code in inside or code not in ids}
        asked |= {id_ for code, id_ in ids.items() if code in wanted}
        return Again(frozenset(asked), found, tuple(distinct(now.findings)), tuple(now.bundles))

    def _shown(self) -> set[Code]:
        """The functions of which a report says more than why they stay as they are."""
        told = {each.function for each in self.findings}
        return {
            self._pairs[i][1]
            for i, each in self._reports.items()
            if each.facts.mode is Mode.HYBRID or each.decision.action is not Action.KEEP or each.facts.id in told
        }

    def _conclude(self, reached: set[Code], collector: Collector, scanner: Scanner, *, repairs: bool) -> None:
        """Plans, looks for repairs, and leaves out what they and the plan make idle to tell."""
        rest = [
            h
            for h in scanner.project_hits()
            if not self._suppressions.silences(h.path, h.line, h.rule.code, h.rule.name)
        ]
        self.findings += _in_tests([finding(hit, None) for hit in rest], self._roles)
        mends = cache(partial(self._mends, scanner.project))  # each round of the plan asks again
        basis = Basis.of(scanner, collector.extents.components, self._old, mends)
        planned = self._plan(basis, reached)
        self.findings += self._suppressions.unused()

        # Where a graph calls, an argument is what it is at each of its traces, and a step is part of it.
        # And nothing is eager where a session runs graphs.
        def is_eager(path: str, line: int) -> bool:
            return basis.sessions.against(path) is None and not planned.in_graph(path, line)

        self.findings = [f for f in self.findings if f.code not in _OUTSIDE or is_eager(f.path, f.line)]
        self._leave_awaited(scanner.project)
        if repairs:
            steps = [h for h in rest if h.rule.code == _SUGGESTED and is_eager(h.path, h.line)]
            judged = zip(sorted(self._reports), self.functions, strict=True)
            eager = {self._pairs[i][1] for i, f in judged if f.decision.action is Action.CONVERT_TO_EAGER}
            self._repair(scanner.project, steps, {*planned.vain, *eager})
        self.findings = distinct(self.findings)
        ids = {self._pairs[i][1]: each.facts.id for i, each in self._reports.items()}
        self.calls = [
            Call(ids.get(caller, "") if caller is not None else "", ids[callee], path, line)
            for caller, callee, path, line in called_functions(collector.solution.frames)
            if callee in ids and (caller is None or caller in ids)
        ]

    def _share(self, reached: set[Code], *, entries: bool) -> list[int]:
        """The functions that the program comes to, or the others."""
        return [i for i, (_, code) in enumerate(self._pairs) if (code in reached) == entries]

    def _judge(
        self, solved: Solution, share: Sequence[int], progress: Progress | None = None
    ) -> tuple[Collector, Scanner]:
        """Decides about some functions."""
        config, suppressions, pairs = self.config, self._suppressions, self._pairs
        if progress is not None:
            self._said = lambda: progress("deciding", len(self._reports), len(pairs))
        assumes = config.speculate and (config.all_safe or Confidence(config.confidence) is Confidence.ASSUMED)
        options = FactOptions(config.follow_type_hints, config.speculate, config.boolean_literals, assumes)
        collector = Collector(solved, options, *((suppressions.vouches,) if suppressions.any else ()))
        scanner = Scanner(solved, self.versions, self._roles, self._said)
        scanner.project.effects = collector.effects
        views: dict[int, FunctionView] = {}
        for i in share:
            module, code = pairs[i]
            facts = self.mistakes.spare(code, partial(collector.facts, module, code))
            if facts is not None:
                views[i] = scanner.view(code, solved.frames.get(code, []), facts)
        every = suppressions.any or solved.world.is_small
        asked = [i for i, view in views.items() if _may_be_graph(view, every=every)]
        # What blocks nothing is told of hybrid functions only; it may still be what a comment silences.
        hits = dict(zip(asked, scanner.hits([views[i] for i in asked], every=suppressions.any), strict=True))
        for i, bare in views.items():
            told = hits[i] if i in hits else scanner.bare_hits(bare) if _is_known(bare) else []
            self.mistakes.spare(bare.code, partial(self._decide, i, bare, told))
        return collector, scanner

    def _decide(self, i: int, bare: FunctionView, told: list[RuleHit]) -> None:
        """Keeps the decision about a function, and what there is to tell of it."""
        view, told = settled(bare, told) if self.config.speculate else (bare, told)
        remaining = self._suppressions.remaining(view.facts, told)
        options = Options(self.config.strict_literals, self.config.all_information)
        report = self._suppressions.apply(decide(view.facts, options, remaining))
        if view.facts.may_be_hybrid and (report.decision.precondition is None or view.is_hybrid):
            self._broken[i] = (view, remaining)
        found = findings(view.facts, remaining, every=self.config.all_information)
        self.findings += _in_tests(found, self._roles, view.facts.path)
        self._reports[i] = report

    def _leave_awaited(self, project: ProjectView) -> None:
        """Leaves out what is found where the program demands a failure."""
        fails = awaited(project)
        self.findings = [f for f in self.findings if not fails.has(f.path, f.line)]

    def _plan(self, basis: Basis, reached: set[Code]) -> Plan:
        """Which of the safe changes are made.

        What turns out to be traced for each size is left out, and the plan made again: what that calls may gain by
        itself.
        """
        config, project = self.config, basis.scanner.project
        wanted = Wanted(config.all_safe, Confidence(config.confidence))
        order = sorted(self._reports)
        codes, decided = [self._pairs[i][1] for i in order], [self._reports[i] for i in order]
        while True:
            planned = plan(codes, decided, basis, wanted, self.mistakes)
            signatures = Signatures(
                project, reached, planned.graphs, asked=config.infer_input_signatures, all_safe=config.all_safe
            )
            configured = self._each(codes, planned.reports, signatures.configure)
            dropped = False
            for i, (was, now) in enumerate(zip(planned.reports, configured, strict=True)):
                if was.decision.action is Action.CONVERT_TO_HYBRID and now.decision.action is Action.KEEP:
                    decided[i], dropped = now, True
            if not dropped:
                break
        configured = self._each(codes, configured, Compilation(project, basis, asked=config.jit_compile).configure)
        self.functions = [self._suppressions.apply(report) for report in configured]
        return planned

    def _each(
        self,
        codes: Sequence[Code],
        reports: Sequence[FunctionReport],
        step: Callable[[Code, FunctionReport], FunctionReport],
    ) -> list[FunctionReport]:
        return [
            self.mistakes.changed(code, report, partial(step, code, report))
            for code, report in zip(codes, reports, strict=True)
        ]

    def _mends(self, project: ProjectView, code: Code) -> bool:
        """Whether a repair is offered that passes tensors for what retraces a function."""
        return any(
            _RETRACED in repair.answers
            for view, hits in self._broken.values()
            if view.code is code
            for bundle in _bundles(project, [(view, hits)], (), ())
            for repair in bundle.repairs
        )

    def _repair(self, project: ProjectView, steps: Sequence[RuleHit], vain: Collection[Code] = ()) -> None:
        """Only now, for what a repair changes may be used where the program itself does not get."""
        fails = awaited(project)
        broken = [
            each for _, each in sorted(self._broken.items()) if not fails.has(each[0].code.path, each[0].code.line)
        ]
        bundles = _bundles(project, broken, steps, vain)
        # What tests are written for may be the very thing that a repair would mend.
        self.bundles = [each for each in bundles if self.config.all_safe or not self._roles.is_test(each.path)]
        self.findings = _with_fixes(self.findings, self.bundles)


def _nearest_above(solved: Solution, inside: set[Code], shown: set[Code]) -> list[Code]:
    """The nearest of some functions that have others called, by whatever they call."""
    found: list[Code] = []
    seen, todo = set(inside), [*inside]
    for code in todo:
        for caller in {caller.code for frame in solved.frames.get(code, ()) for caller in frame.callers}:
            if caller not in seen and len(found) < _MOST_ABOVE:
                seen.add(caller)
                todo.append(caller)
                if caller in shown:
                    found.append(caller)
    return found


def _is_same(now: FunctionReport, before: FunctionReport | None) -> bool:
    """Whether the same is decided about a function, for the same reasons."""
    if before is None or now.decision.precondition != before.decision.precondition:
        return False
    said, known = ([(s.code, s.message) for s in each.statuses] for each in (now, before))
    return now.decision.action is before.decision.action and said == known


def _in_tests(found: list[Finding], roles: Roles, function: str = "") -> list[Finding]:
    """Findings; those in tests and of their functions as information: it may be what is tested, and costs little."""
    return [
        replace(f, severity=Severity.INFO) if roles.is_test(f.path) or roles.is_test(function) else f for f in found
    ]


def _with_fixes(found: Sequence[Finding], bundles: Sequence[Bundle]) -> list[Finding]:
    """The findings with what the repairs are that take them away, which may be those of any function they are in."""
    safe: dict[tuple[str, str, int, int], bool] = {}
    for bundle in bundles:
        for repair in bundle.repairs if bundle.hybrid or bundle.complete else ():
            for cause in repair.causes:
                safe[cause] = repair.safe and safe.get(cause, True)
    words = {True: "safe", False: "unsafe", None: None}
    return [replace(f, fix=words[safe.get((f.code, f.path, f.line, f.column))]) for f in found]


def _bundles(
    project: ProjectView,
    broken: Sequence[tuple[FunctionView, list[RuleHit]]],
    steps: Sequence[RuleHit],
    vain: Collection[Code],
) -> list[Bundle]:
    """What functions need to be made hybrid, or to be better graphs; steps in loops that can be functions.

    Of a function that is `vain` to be made hybrid, or that becomes eager, only its steps.
    """
    if not broken and not steps:
        return []
    from hybridize.repairs.collect import Repairs

    found = Repairs(project, broken)
    asked = ((view, hits) for view, hits in broken if view.code not in vain)
    bundles = [bundle for view, hits in asked if (bundle := found.bundle(view, hits)) is not None]
    parts = [bundle for hit in steps if (bundle := found.suggested(hit)) is not None]
    return sorted(_joined(bundles, parts), key=lambda bundle: bundle.precedence)


def _joined(bundles: Sequence[Bundle], steps: Sequence[Bundle]) -> Iterator[Bundle]:
    """Bundles of functions and steps of loops: that of a function that may be a graph as a whole is for otherwise."""
    own = {step.function: step for step in reversed(steps)}
    whole = {each.function for each in bundles if each.complete and not (each.makes or each.hybrid)}
    for each in bundles:
        step = own.get(each.function) if each.function in whole and each.otherwise is None else None
        yield each if step is None else replace(each, otherwise=step)
    yield from (step for step in steps if step.function not in whole)


def _is_known(view: FunctionView) -> bool:
    """Whether it is certain what a function receives: what it lacks for a graph can be told at all."""
    return view.facts.tensor_parameter.value is not Ternary.UNKNOWN


def _may_be_graph(view: FunctionView, *, every: bool) -> bool:
    """Whether a function is hybrid, or receives or updates what it may be made so for, datasets included.

    Without `every` not where nobody knows that it receives a tensor, nor that it computes with TensorFlow: that is why
    it stays eager, and what else would keep it so is looked for in small programs only, and where comments may name it.
    """
    facts = view.facts
    if facts.mode is Mode.HYBRID or facts.tensor_parameter.value is Ternary.YES:
        return True
    if facts.tensor_parameter.value is Ternary.UNKNOWN:
        return every or facts.tensor_computation.value is Ternary.YES
    return facts.on_state.value is Ternary.YES or view.takes_data


def distinct(found: Iterable[Finding]) -> list[Finding]:
    """One finding for each place and rule: that of the nearest function for which it is more than information."""
    best: dict[tuple[str, str, int, int], Finding] = {}
    for each in sorted(found, key=lambda f: (f.severity is Severity.INFO, len(f.evidence))):
        best.setdefault((each.code, each.path, each.line, each.column), each)
    return sorted(best.values(), key=lambda f: (f.path, f.line, f.column, f.code))
