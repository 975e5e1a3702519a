"""Arguments of decorators: an `input_signature` inferred from the calls (P4), or `reduce_retracing`."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from hybridize.decide.documentation import status_of
from hybridize.decide.model import Action, Decision, FunctionReport
from hybridize.domain.calls import NOT_TRACED, How
from hybridize.domain.objects import Container, Lit, Prim, Tensor, Tup, Value
from hybridize.domain.tensors import VARIABLE
from hybridize.facts.calls.callgraph import extent
from hybridize.facts.functions.causes import argument_slot
from hybridize.facts.functions.growing import grown_argument, is_fixed
from hybridize.facts.functions.rounds import Rounds
from hybridize.facts.functions.specs import Signature, spec_of
from hybridize.facts.functions.static_reads import StaticReads
from hybridize.facts.gain.computation import opaque_call, training_step
from hybridize.facts.model import Evidence, FunctionFacts, Mode, Source, Ternary, Told
from hybridize.flow.frames import Frame
from hybridize.library.dialect import OF_SHAPES
from hybridize.program.code import Code, Param
from hybridize.records import dataclass, replace
from hybridize.source import Role
from hybridize.source.syntax import walk
from hybridize.tracing.failing.awaited import awaited
from hybridize.tracing.retraced.moving import moving
from hybridize.tracing.retraced.resizing import resizing
from hybridize.tracing.running.replicas import is_run, replicated
from hybridize.tracing.running.switches import switched_off
from hybridize.tracing.shapes.sizes import has_computed_sides, has_unresolved, is_open
from hybridize.tracing.views import ProjectView

#: The first release that takes `reduce_retracing`.
_RELAXES: Final = (2, 9)
_RELAXES_METHODS: Final = (2, 1)
#: Arguments that speak of shapes already.
_CONFIGURED: Final = OF_SHAPES | {"**"}
_COMPILED: Final = frozenset({"jit_compile", "experimental_compile"})
#: Shapes are generalized at the second trace: only from the third on is anything won.
_FEW_TRACES: Final = 2
_KERAS: Final = frozenset({"training", "mask"})


@dataclass(frozen=True, slots=True)
class Site:
    """One call: who calls which frame, where, whether Keras makes it, whether it runs eagerly, and what it passes."""

    caller: Frame
    callee: Frame
    position: int
    is_keras: bool
    is_eager: bool
    arguments: list[Value]

    @property
    def path(self) -> str:
        """The file of the caller."""
        return self.caller.code.path


class Signatures:
    """Infers signatures over a solved program.

    `reached` are the functions that the program itself runs, `graphs` the share of its calls for which each is part of
    a graph.
    """

    def __init__(
        self,
        project: ProjectView,
        reached: set[Code],
        graphs: Mapping[Code, float],
        *,
        asked: bool,
        all_safe: bool = False,
    ) -> None:
        self.project = project
        self.reached = reached
        self.graphs = graphs
        self.asked = asked
        self.all_safe = all_safe
        self.reads = StaticReads(project.symbolic)
        self.rounds = project.shared("rounds", lambda: Rounds(project.solution.frames))

    def configure(self, code: Code, report: FunctionReport) -> FunctionReport:
        """The report with arguments for its decorator, where they are asked for or spare traces."""
        decision, facts = report.decision, report.facts
        converts = decision.action is Action.CONVERT_TO_HYBRID
        if facts.tensor_parameter.value is not Ternary.YES if converts else not _may_get_signature(report):
            return report
        frames = self.project.solution.frames.get(code, [])
        sites = list(self._sites(code, frames))
        signature = self._signature(code, facts, frames, sites)
        # What tests pass says nothing of how often a size comes.
        own = [site for site in sites if not self.project.roles.is_test(site.path)]
        traces = self._traces(code, facts, frames, own) if signature.traces > 1 else 1.0
        ask = math.isfinite(traces) or not converts
        grown = self._grown(code, facts, own) if ask else None
        # Sizes that only a run knows may be the same at each call, as those of batches are: a decorator of the
        # project's own is changed where they are seen to differ.
        guesses = converts or self.asked or self.all_safe
        resized = self._resized(code, own, surely=not guesses) if ask and grown is None else None
        seen = math.isfinite(traces) or converts or grown is not None or resized is not None
        traces = math.inf if grown is not None or resized is not None else traces
        retraced = seen and traces > _FEW_TRACES
        loose = self._anew(code, own, moving(self.project).moves) if converts and not retraced else None
        # A decorator that is there is changed for more than the trace of a last, smaller batch.
        varies = traces > (1 if converts else _FEW_TRACES) and len(own) == len(sites) and seen
        if not self.asked and not varies and not retraced and loose is None:
            return report
        conflict = None
        # What a library's callers elsewhere pass, no signature knows.
        elsewhere = not self.asked and self.project.roles.of(code.path) is Role.LIBRARY
        if (
            not signature.problems
            and not elsewhere
            and (self.asked or (varies and not self._is_left_out(code, signature)))
        ):
            written = signature if self.asked else signature.loose
            conflict = self._conflict(frames, written, any(site.is_keras for site in sites), written != signature)
            if conflict is None:
                return _with(report, "input_signature", written.source)
        statuses = [status_of(facts, "no-input-signature", problem, ()) for problem in signature.problems]
        if conflict is not None:
            said = "a size that the signature leaves open is read when the function is traced"
            statuses.append(status_of(facts, "no-input-signature", said, (conflict,)))
        report = replace(report, statuses=(*report.statuses, *statuses)) if self.asked else report
        if not retraced:
            return self._loosened(code, report, own, loose)
        if converts:
            return self._relaxed(code, report, own, grown)
        anyway = switched_off(self.project, code) is not None or any(map(_has_new_number, own))
        return report if anyway else self._let_in(code, report, signature, grown)

    def _let_in(
        self, code: Code, report: FunctionReport, signature: Signature, grown: Evidence | None
    ) -> FunctionReport:
        """A function that is hybrid already lets in other sizes, too, where nothing that it does asks for them."""
        made, frames = report.facts.hybridization, self.project.solution.frames.get(code, [])
        compiled = made is not None and any(name in _COMPILED for name, _ in made.arguments)  # once for each size
        if self._is_elsewhere(report) or compiled or any(map(opaque_call, extent(frames, NOT_TRACED))):
            return report
        listed = grown is not None and grown.told is Told.APPENDED
        relaxes = self._relaxes(code)
        if listed or relaxes is None:
            return report
        conflict = self._forgets(code, any_rank=signature.ranks_differ)
        return report if conflict is not None else _with(report, relaxes, "True")

    def _is_elsewhere(self, report: FunctionReport) -> bool:
        """Whether callers that nobody sees may need a function as it is."""
        library = self.project.roles.of(report.facts.path) is Role.LIBRARY
        return library and not self.asked and not self.all_safe

    def _relaxed(self, code: Code, report: FunctionReport, sites: list[Site], grown: Evidence | None) -> FunctionReport:
        """What becomes of a conversion that is traced for each size: other sizes are let in, or it is not made."""
        frames = self.project.solution.frames.get(code, [])
        signature = self._signature(code, report.facts, frames, sites)
        listed = grown is not None and grown.told is Told.APPENDED  # a longer list is another structure
        conflict = self._forgets(code, any_rank=signature.ranks_differ) if not listed else None
        relaxes = self._relaxes(code)
        if not listed and conflict is None and relaxes is not None:
            return _with(report, relaxes, "True")
        if self.all_safe:
            return report
        facts = report.facts
        if grown is not None:
            return report.kept(
                status_of(facts, "not-worth-it", f"every call is traced anew: {grown.message}", (grown,))
            )
        sizes = self._resized(code, sites)
        if sizes is None or (conflict is None and relaxes is not None):
            return report
        said = f"{sizes.message}: every call may be traced anew, for {_needs(conflict)}"
        evidence = (sizes, conflict) if conflict is not None else (sizes,)
        return report.kept(status_of(facts, "not-worth-it", said, evidence))

    def _loosened(
        self, code: Code, report: FunctionReport, sites: list[Site], loose: Evidence | None
    ) -> FunctionReport:
        """Lets in other sizes where they may come, and nothing that the function does asks for them.

        A graph for one size costs the same with it; only what nobody can look into might miss a size. Where sizes are
        computed that no batch has, or nobody knows them and tracing asks for them, a graph for each is not made by
        default; but layers and steps of training are given batches.
        """
        if loose is None:
            return report
        frames, relaxes = self.project.solution.frames.get(code, []), self._relaxes(code)
        conflict = self._forgets(code, any_rank=False)
        if conflict is None and relaxes is not None and not any(map(opaque_call, extent(frames, NOT_TRACED))):
            return _with(report, relaxes, "True")
        computed = any(has_computed_sides(value) for site in sites for value in site.arguments)
        if self.all_safe or not (computed or (conflict is not None and self._is_unknown(code, frames, sites))):
            return report
        said = f"{loose.message}: every call may be traced anew, for {_needs(conflict)}"
        return report.kept(status_of(report.facts, "not-worth-it", said, (loose,)))

    def _is_unknown(self, code: Code, frames: list[Frame], sites: list[Site]) -> bool:
        """Whether nobody knows that what eager calls pass is of one size; layers and steps of training get batches."""
        asked, given = resizing(self.project).may_resize, [site for site in sites if not site.is_keras]
        return training_step(frames) is None and self._anew(code, given, asked, has_unresolved) is not None

    def _forgets(self, code: Code, *, any_rank: bool) -> Evidence | None:
        """What asks for a size that is unknown once other sizes are let in; a library is called from elsewhere, too."""
        frames, library = self.project.solution.frames.get(code, []), self.project.roles.of(code.path) is Role.LIBRARY
        return self.reads.conflict(frames, any_rank=any_rank, relaxed=True, unseen=library)

    def _relaxes(self, code: Code) -> str | None:
        """The argument that lets in other sizes of a function, under a name that every release in question takes.

        TensorFlow 2.0 ignores it for methods, and its first previews have none. All releases raise an `IndexError`
        where another call passed fewer `*args` or `**kwargs`, and where variables of several shapes arrive, theirs are
        let in as well: gradients then get the shape of another variable (measured with 2.15 and 2.21).
        """
        versions = self.project.versions
        if versions.newest < _RELAXES_METHODS or any(param.is_starred for param in code.params):
            return None
        if self._takes_several_variables(code):
            return None
        return "reduce_retracing" if versions.oldest >= _RELAXES else "experimental_relax_shapes"

    def _takes_several_variables(self, code: Code) -> bool:
        """Whether a parameter receives variables whose shapes differ, or may."""
        frames = self.project.solution.frames.get(code, [])
        for values in zip(*(frame.args for frame in frames), strict=True):
            shapes = {o.shape for value in values for o in value if isinstance(o, Tensor) and o.kind == VARIABLE}
            if len(shapes) > 1 or None in shapes:
                return True
        return False

    def _resized(self, code: Code, sites: list[Site], *, surely: bool = False) -> Evidence | None:
        """A call that passes tensors of another size each time."""
        answers = resizing(self.project)
        return self._anew(code, sites, answers.chooses if surely else answers.resizes)

    def _anew(
        self,
        code: Code,
        sites: list[Site],
        asked: Callable[[Frame, int, int], bool],
        among: Callable[[Value], bool] = is_open,
    ) -> Evidence | None:
        """A call of which a question about what it passes holds for tensors whose size is not known: `among`."""
        answers = moving(self.project)
        for site in sites:
            for index, value in enumerate(site.arguments) if site.is_eager else ():
                slot = answers.argument(site.caller, site.position, site.callee, index) if among(value) else -1
                if slot >= 0 and asked(site.caller, site.position, slot):
                    said = f"`{code.params[index].name}` receives tensors of other sizes"
                    return Evidence(said, site.path, site.position >> 16)
        return None

    def _grown(self, code: Code, facts: FunctionFacts, sites: list[Site]) -> Evidence | None:
        """What a loop makes longer from one eager call to the next, among the arguments."""
        bound = facts.kind.value in ("method", "classmethod")
        for site in sites:
            for index, param in enumerate(code.params) if site.is_eager else ():
                if is_fixed(site.arguments[index]):
                    continue
                slot = argument_slot(site.caller, site.position, index, param.name, bound=bound)
                found = grown_argument(site.caller, site.position, slot) if slot >= 0 else None
                found = found or (self._rounds(site, slot) if slot >= 0 else None)
                if found is not None:
                    return found
        return None

    def _rounds(self, site: Site, slot: int) -> Evidence | None:
        """Where what one call gives comes round to the next, longer."""
        repeated = moving(self.project).is_repeated(site.caller, site.position)
        return self.rounds.longer(site.caller, site.position, slot) if repeated else None

    def _traces(self, code: Code, facts: FunctionFacts, frames: list[Frame], sites: list[Site]) -> float:
        """How many graphs the eager calls need without a signature; each object has graphs of its own."""
        is_method = facts.kind.value == "method"
        groups: dict[object, list[Site]] = {}
        for site in sites:
            if site.is_eager:
                groups.setdefault(site.arguments[0] if is_method and site.arguments else None, []).append(site)
        return max((self._signature(code, facts, frames, group).traces for group in groups.values()), default=1.0)

    def _is_left_out(self, code: Code, signature: Signature) -> bool:
        """Whether a call, of code that does not run as well, passes something which a signature has no place for."""
        skip = 1 if code.in_class else 0
        covered = {param.name for param in code.params[skip : skip + len(signature.specs)]}
        if all(param.name in covered for param in code.params[skip:]):
            return False
        return any(
            len(call.args) > len(signature.specs)
            or any(isinstance(each, ast.Starred) for each in call.args)
            or any(k.arg is None or k.arg not in covered for k in call.keywords)
            for module in self.project.solution.program.modules.values()
            for call in self._calls_of(module.code.path).get(code.name, ())
        )

    def _calls_of(self, path: str) -> dict[str, list[ast.Call]]:
        """The calls of a file by the last name of what is called."""

        def gather() -> dict[str, list[ast.Call]]:
            found: dict[str, list[ast.Call]] = {}
            tree = self.project.module(path)
            for node in walk(tree) if tree is not None else ():
                if isinstance(node, ast.Call):
                    name = getattr(node.func, "attr", "") or getattr(node.func, "id", "")
                    found.setdefault(str(name), []).append(node)
            return found

        return self.project.shared(("calls by name", path), gather)

    def _conflict(self, frames: list[Frame], signature: Signature, any_batch: bool, any_size: bool) -> Evidence | None:
        """A read of a size that a signature leaves open; `any_size`: it leaves open all but the last of each tensor."""
        shapes = [leaf.shape for leaf in signature.leaves]
        if all(shape is not None and None not in shape for shape in shapes):
            return None
        return self.reads.conflict(frames, any_rank=None in shapes, any_batch=any_batch, any_size=any_size)

    def _signature(self, code: Code, facts: FunctionFacts, frames: list[Frame], sites: list[Site]) -> Signature:
        result = Signature()
        skip = 1 if facts.kind.value in ("method", "classmethod") else 0
        if not sites:
            result.problems.append("no call of the program tells what it receives")
            return result
        if bool(skip) != bool(code.params and code.params[0].name == "self"):
            # TensorFlow goes by the name: only a first parameter called `self` is left out of signatures.
            result.problems.append(
                "a signature would cover its first parameter" if skip else "it calls a parameter `self`"
            )
        if any(p.source is Source.SPECULATION for p in facts.parameters):
            result.problems.append("its parameters are tensors by speculation only")
        keras = any(site.is_keras for site in sites)
        # A replica gets its part of the batch, and what hands batches on may get one value for each.
        parted = any(is_run(self.project, site.caller, site.position) for site in sites)
        handed_on = frozenset[int]().union(*(replicated(self.project, frame) for frame in frames))
        others = self.project.contracts.others(code)
        explicit = 0
        for frame in frames:
            explicit |= frame.explicit
        last = max((p.index for p in facts.parameters if p.tensor is Ternary.YES), default=-1)
        for index, param in enumerate(code.params):
            if index < skip:
                continue
            values = [site.arguments[index] for site in sites if site.arguments[index]]
            if keras and code.name == "call" and param.name in _KERAS:
                result.problems.append(f"Keras passes `{param.name}` itself")
            elif others and not explicit >> index & 1 and _is_optional(param):
                # `fit` passes `training` to whatever takes it: a signature of what the program passes refuses that.
                result.problems.append(f"{others} may pass `{param.stars}{param.name}`, too")
            elif not param.by_place:
                _extra(param, values, bool(explicit >> index & 1), result.problems)
            elif param.has_default and not explicit >> index & 1:
                if index < last:
                    result.problems.append(f"`{param.name}` has a default and stands before a tensor parameter")
            else:
                if param.slot in handed_on:
                    result.problems.append(f"`{param.name}` may be one value for each replica")
                spec = spec_of(values, param.name, result, any_batch=keras or parted)
                if spec is not None:
                    result.specs.append(spec)
        return result

    def _sites(self, code: Code, frames: list[Frame]) -> Iterator[Site]:
        """The calls that the program makes: not those of functions that it never runs, nor those that shall raise."""
        for frame in frames:
            for (caller, pos), arguments in frame.incoming.items():
                if caller is None or pos == code.position or (caller.gone and len(frame.incoming) > 1):
                    continue
                if code in self.reached and caller.code not in self.reached and caller.code.is_function:
                    continue
                how = caller.calls.get((pos, frame))
                keras = how is How.KERAS or (caller.code.name == "call" and caller.code.in_class)
                if not awaited(self.project).is_there(caller.code.path, pos >> 16):
                    is_eager = how is not How.GRAPH and self.graphs.get(caller.code, 0.0) < 1
                    yield Site(caller, frame, pos, keras, is_eager, arguments)


def _has_new_number(site: Site) -> bool:
    """Whether an eager call passes a Python number that is another at each call: each is traced anew, whatever else."""
    objects = (o for value in site.arguments for o in value) if site.is_eager else ()
    return any(isinstance(o, Prim) or (isinstance(o, Lit) and o.varies) for o in objects)


def _needs(conflict: Evidence | None) -> str:
    """Why other sizes cannot be let in."""
    if conflict is None:
        return "in this release nothing lets in other sizes"
    return f"tracing needs the size ({conflict.message})"


def _may_get_signature(report: FunctionReport) -> bool:
    """Whether a function is hybrid by a decorator, stays so, and its decorator says nothing of shapes."""
    facts, made = report.facts, report.facts.hybridization
    return (
        facts.mode is Mode.HYBRID
        and report.decision.action is Action.KEEP
        and made is not None
        and made.is_decorator
        and not made.conditional
        and facts.tensor_parameter.value is Ternary.YES
        and facts.python_side_effects.value is not Ternary.YES
        and not any(hazard.name == "graph-dependants" for hazard in facts.hazards)
        and not any(map(made.says, _CONFIGURED))
        and not made.given  # another name for a configured `tf.function` takes no arguments
    )


def _extra(param: Param, values: list[Value], given: bool, problems: list[str]) -> None:
    """`*args`, `**kwargs` and keyword-only parameters must stay as they are by default."""
    stars = param.stars
    if param.by_name:
        if given or not param.has_default:
            problems.append(f"a signature says nothing of the keyword-only `{param.name}`")
    elif any(not _is_empty(value) for value in values):
        problems.append(f"calls pass more through `{stars}{param.name}`")


def _is_optional(param: Param) -> bool:
    """Whether calls may leave a parameter out."""
    return param.has_default or param.is_starred


def _is_empty(value: Value) -> bool:
    return all(
        (isinstance(o, Tup) and not o.items)
        or (isinstance(o, Container) and o.exact and not o.fields and o.rest is None)
        for o in value
    )


def _with(report: FunctionReport, name: str, source: str) -> FunctionReport:
    """The report with one more argument: of a new decorator, or (P4) of the one that is there."""
    decision = report.decision
    if decision.action is Action.CONVERT_TO_HYBRID:
        return replace(report, decision=replace(decision, arguments=(*decision.arguments, (name, source))))
    made = report.facts.hybridization
    old = made.arguments if made is not None else ()
    statuses = tuple(s for s in report.statuses if s.name != "no-primitive-parameter")
    decided = Decision(Action.RECONFIGURE, "P4", (*old, (name, source)), decision.benefit)
    return replace(report, decision=decided, statuses=statuses)
