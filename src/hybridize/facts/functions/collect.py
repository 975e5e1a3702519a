"""Gathers the facts of every function of a solved program."""

from __future__ import annotations

from hybridize.domain.objects import Inst
from hybridize.domain.session import begin_solution
from hybridize.facts.calls.callgraph import Coverage
from hybridize.facts.calls.extents import Extents
from hybridize.facts.calls.recursion import recursion
from hybridize.facts.functions.looking import Looker
from hybridize.facts.functions.modes import hybridization
from hybridize.facts.functions.parameters import Parameters
from hybridize.facts.gain.computation import Computation, hazards
from hybridize.facts.model import Evidence, Fact, FunctionFacts, FunctionKind, Hazard, Mode, Ternary, Told
from hybridize.facts.side_effects.effects import SideEffects, Vouched, nobody
from hybridize.facts.state.guards import CACHED
from hybridize.facts.unknown.dependants import exported, used_as_tensor
from hybridize.facts.unknown.likely import Likely
from hybridize.flow.frames import Frame
from hybridize.flow.hints import HintReader
from hybridize.flow.solve import Solution
from hybridize.library import registry
from hybridize.program.build import ModuleSource
from hybridize.program.ir import Code
from hybridize.records import dataclass


@dataclass(frozen=True, slots=True)
class FactOptions:
    """What the user can switch; `assumes`: whether conversions may rest on what is assumed of fields."""

    follow_type_hints: bool = True
    speculate: bool = True
    boolean_literals: bool = False
    assumes: bool = False


class Collector:
    """Facts of functions over one solution."""

    def __init__(self, solution: Solution, options: FactOptions, vouched: Vouched = nobody) -> None:
        begin_solution()
        CACHED.here().update(solution.world.cached)
        self.solution = solution
        self.options = options
        self.hints = HintReader(solution.engine)
        self.looker = Looker()
        self.likely = Likely(solution.frames, self.hints)
        self.extents = Extents(solution)
        self.effects = SideEffects(solution, self.extents, vouched, assumes=options.assumes)
        self.computation = Computation(self.extents, self.effects.used.computes_at)
        self.hybrid = set(solution.world.hybrids)
        self.exported = exported(solution)
        self.coverage = Coverage(solution, self.hybrid)

    def facts(self, module: ModuleSource, code: Code) -> FunctionFacts:
        """The facts of one function."""
        options = self.options
        frames = self.solution.frames.get(code, [])
        reached = code in self.solution.reached
        made_hybrid = hybridization(self.solution, code)
        parameters = Parameters(
            code,
            frames,
            self.hints,
            self.looker,
            self.likely,
            reached=reached,
            follow_hints=options.follow_type_hints,
            speculate=options.speculate,
            booleans=options.boolean_literals,
        )
        tensor = parameters.tensor_fact()
        effects, assumed, vouched, harmful = self.effects.facts(frames, options.speculate)
        if not frames:
            effects = type(effects)(Ternary.UNKNOWN, (Evidence("no call was analyzed", code.path, code.line),))
        primitive = parameters.primitive_fact()
        computation, guessed = self.computation.fact(
            frames, speculate=options.speculate and effects.value is Ternary.NO, reached=reached
        )
        if tensor.value is Ternary.YES and computation.value is not Ternary.YES and made_hybrid is None:
            tensor = parameters.only_arrays(computation.value) or tensor
        updates, reads, makes = self._on_state(frames, hybrid=made_hybrid is not None, asked=tensor.value is Ternary.NO)
        return FunctionFacts(
            id=identity(module, code),
            path=code.path,
            line=code.line,
            column=code.column,
            end_line=code.end_line,
            qualname=code.qualname,
            kind=kind_of(code, parameters.kind if parameters.func is not None else "method"),
            mode=Mode.HYBRID if made_hybrid else Mode.EAGER,
            hybridization=made_hybrid,
            candidate=made_hybrid is not None or tensor.value is Ternary.YES,
            reached=reached,
            parameters=parameters.facts,
            tensor_parameter=tensor,
            primitive_parameter=primitive,
            python_side_effects=effects,
            recursive=recursion(frames, self.extents, self._is_layer),
            tensor_computation=computation,
            covered_by_hybrid_callers=self.coverage.fact(code),
            retraces=parameters.retracing_fact(made_hybrid),
            updates_variables=updates,
            reads_variables=reads,
            makes_tensors=makes,
            tracing_effects=harmful if frames and harmful != effects else None,
            hazards=hazards(code) + (self._dependants(code, frames) if made_hybrid else ()),
            assumptions=tuple(parameters.assumptions + assumed + guessed + vouched)
            if tensor.value is Ternary.YES
            else (),
            vouched=tuple(vouched),
            unfollowed=tuple(each for each in assumed if each.told not in (Told.BY_USE, Told.LEFT)),
            gives_tensors=options.follow_type_hints and self._gives_tensors(code, frames),
        )

    def _on_state(self, frames: list[Frame], *, hybrid: bool, asked: bool) -> tuple[Fact, Fact, Fact]:
        """Whether a call changes variables, computes with some, or makes tensors: each if none before does."""
        no = Fact(Ternary.NO)
        updates = self.computation.updates(frames) if asked else no
        if not asked or hybrid or updates.value is Ternary.YES:
            return updates, no, no
        reads = self.computation.reads(frames)
        if not self.options.assumes or reads.value is Ternary.YES:
            return updates, reads, no
        return updates, reads, self.computation.makes(frames)

    def _gives_tensors(self, code: Code, frames: list[Frame]) -> bool:
        func = frames[0].func if frames else None
        return code.returns is not None and func is not None and self.hints.is_tensor_hint(code.returns, func)

    def _is_layer(self, inst: Inst) -> bool:
        return "tf.Module" in registry.mro_names(inst)

    def _dependants(self, code: Code, frames: list[Frame]) -> tuple[Hazard, ...]:
        """Places that need the graph of a hybrid function."""
        place = self.exported.get(code)
        said = used_as_tensor(frames) if place is None else Evidence("its concrete function is asked for", *place)
        return () if said is None else (Hazard("graph-dependants", said.message, (said,)),)


def identity(module: ModuleSource, code: Code) -> str:
    """The id of a function, as reports have it."""
    return f"{module.info.id}:{identifier(code)}"


def identifier(code: Code) -> str:
    """The lexical path of a function, with its number if it is not the first of that name."""
    return code.qualname if code.occurrence == 1 else f"{code.qualname}#{code.occurrence}"


def kind_of(code: Code, kind: str) -> FunctionKind:
    """What a `def` defines; `kind` is what a class has it as: `function` where it deletes its name."""
    if code.in_class:
        return FunctionKind(kind)
    if code.parent is not None and not code.parent.is_body:
        return FunctionKind.NESTED
    return FunctionKind.FUNCTION
