"""Whether a graph of a function would be worth it: who calls it, how often, and how much it computes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Final, TypeGuard

from hybridize.decide.basis import Basis
from hybridize.decide.coverage import Coverage
from hybridize.decide.documentation import status_of
from hybridize.decide.gains import WHOLLY
from hybridize.decide.model import Status
from hybridize.domain.calls import BY_OTHERS, IN_GRAPHS
from hybridize.facts.gain.benefit import Work
from hybridize.facts.gain.computation import opaque_call
from hybridize.facts.model import FunctionFacts, Ternary
from hybridize.library import costs
from hybridize.program.ir import Code
from hybridize.source import Role
from hybridize.tracing.running.switches import switched_off

#: A function that is called from graphs for this share of its calls needs no graph of its own.
MOSTLY: Final = 0.66
#: So often at most a nested function is called for each time that it is made.
_ONCE: Final = 1.5
#: A program that calls something so often does more than to show it.
_MANY: Final = 1000
#: A library calls what it is given as often as it likes.
_BY_LIBRARIES: Final = BY_OTHERS | IN_GRAPHS
#: What a program calls that leaves training to Keras.
_COMPILE: Final = "keras.Model.compile"


def is_counted(work: Work | None, facts: FunctionFacts) -> TypeGuard[Work]:
    """Whether all that a function computes is known, and counted: a library's loops may be neither."""
    known = work is not None and not work.unknown and work.operations >= 1
    return known and facts.tensor_computation.value is Ternary.YES


def counted(work: Work) -> str:
    """How many operations a call runs, in words."""
    number = round(work.operations)
    return "1 TensorFlow operation" if number == 1 else f"{number} TensorFlow operations"


class Worth:
    """What speaks against graphs that would be safe.

    Args:
        basis: what is known of the program.
        coverage: by whose graphs functions run.
        graphs: for which share of its calls each function runs as (part of) a graph, as far as that is decided.
        busy: whether something that can be converted is called in loops of unknown length.
    """

    def __init__(self, basis: Basis, coverage: Coverage, graphs: Mapping[Code, float], *, busy: bool) -> None:
        self._basis, self._coverage, self._graphs, self._busy = basis, coverage, graphs, busy

    def against(
        self, code: Code, facts: FunctionFacts, share: float, work: Work | None, *, counted_only: bool = False
    ) -> Status | None:
        """Why a function that is safe to convert is left as it is; `counted_only`: not that too little is known."""
        apart = self.apart(code, facts, share)
        if apart is not None or work is None:
            return apart
        if work.nodes > costs.LARGEST_GRAPH:
            message = f"tracing unrolls its Python loops: about {work.nodes:,.0f} operations"
            return status_of(facts, "not-worth-it", message)
        if work.updates > costs.MOST_UPDATES or work.steps > costs.MOST_STEPS:
            message = "tracing unrolls a training loop: a graph of one step is what gains"
            return status_of(facts, "not-worth-it", message)
        if work.benefit < 1:
            if work.unknown:
                return None if counted_only else self._uncounted(code, facts, work)
            # The figure is of the faster side: one below 1 reads as its opposite.
            times = f"{1 / max(work.benefit, 0.001):.2g} times as fast as a graph"
            message = f"about {counted(work)} per call: eager code is about {times}"
            return status_of(facts, "not-worth-it", message)
        return self.seldom(code, facts, work, work.eager - work.graph)

    def _uncounted(self, code: Code, facts: FunctionFacts, work: Work) -> Status:
        """What is said where too little is known to pay, and something is called of which nobody knows what it does."""
        said = next(filter(None, map(opaque_call, self._basis.frames.get(code, []))), None)
        message = f"about {counted(work)} per call as far as known, and what else it calls is not: nothing shows a gain"
        return status_of(facts, "no-gain-seen", message, () if said is None else (said,))

    def apart(self, code: Code, facts: FunctionFacts, share: float) -> Status | None:
        """Why a graph of a function would not be run, or only as part of another, whatever it holds."""
        session = self.session(code, facts)
        if session is not None:
            return session
        off = switched_off(self._basis.scanner.project, code)
        if off is not None:
            return status_of(facts, "not-worth-it", f"{off.message}: no graph is made where it runs", (off,))
        relays = self.relays(code, facts)
        if relays is not None:
            return relays
        covered = facts.covered_by_hybrid_callers
        if covered.value is Ternary.YES and share >= MOSTLY:
            return status_of(facts, "covered", "every caller is a graph already", covered.evidence)
        return self._coverage.status(code, facts, share) if share >= MOSTLY else None

    def seldom(self, code: Code, facts: FunctionFacts, work: Work, saved: float) -> Status | None:
        """Why tracing a function takes longer than its calls win back, each of which may save so many microseconds."""
        anew = self._made_anew(code, facts)
        if anew is not None:
            return anew
        each = self._calls_of_each(code)
        if each * saved < work.trace:
            message = f"made anew for at most {each:.0f} calls: tracing it each time takes longer than they save"
            return status_of(facts, "not-worth-it", message)
        rare = self._too_rare(code, work, saved)
        if rare is not None:
            often = "once" if rare == 1 else f"at most {rare:.0f} times"
            message = f"called {often}: tracing it takes longer than that saves"
            return status_of(facts, "not-worth-it", message)
        return None

    def session(self, code: Code, facts: FunctionFacts) -> Status | None:
        """Why a function builds graphs of sessions, which a decorator changes for the worse."""
        said = self._basis.sessions.against(code.path)
        evidence = (said,) if said is not None and said.path else ()
        return None if said is None else status_of(facts, "tensorflow-1", said.message, evidence)

    def relays(self, code: Code, facts: FunctionFacts) -> Status | None:
        """Why a function that only calls what is hybrid already, once each, needs no graph around: a wrapper's code."""
        frames = self._basis.frames.get(code, [])
        step = self._basis.benefits.steps(frames)
        if step is not None:
            message = (
                f"its steps over a data set are graphs already (`{step.name}`): a loop over one is slower in a graph"
            )
            return status_of(facts, "not-worth-it", message)
        calls = self._basis.benefits.relayed(frames)
        if not calls:
            return None
        names = ", ".join(f"`{name}`" for name in sorted({callee.name for callee in calls}))
        return status_of(facts, "not-worth-it", f"all that it computes is in graphs already: it calls {names}")

    def made_within(self, code: Code, facts: FunctionFacts, share: float) -> Status | None:
        """Why a graph of a nested function would be traced again for nothing."""
        outer = code.parent
        if outer is None or not outer.is_function:
            return None
        if self._graphs.get(outer, 0.0) >= WHOLLY:
            message = f"made anew by each trace of `{outer.name}`, whose graph it is part of"
            return status_of(facts, "covered", message)
        if share >= WHOLLY:
            return self._coverage.status(code, facts, share)
        return self._made_anew(code, facts)

    def _made_anew(self, code: Code, facts: FunctionFacts) -> Status | None:
        """What is said of a nested function that the one around it makes again and again, for about one call each."""
        outer = code.parent
        if outer is None or not outer.is_function:
            return None
        calls = self._basis.frequency.calls
        made = sum(call.weight for call in calls.get(outer, {}).values())
        called = sum(call.weight for call in calls.get(code, {}).values())
        if made <= 1 or not 0 < called <= _ONCE * made:
            return None
        message = f"made anew by each call of `{outer.name}`, which calls it about once: each call would trace it"
        return status_of(facts, "not-worth-it", message)

    def _calls_of_each(self, code: Code) -> float:
        """How often a function that is made again and again is called at most each time; inf where it is made once, or
        nobody knows."""
        outer, frequency = code.parent, self._basis.frequency
        frames = self._basis.frames.get(outer, []) if outer is not None else []
        calls = list(frequency.calls.get(code, {}).values())
        if (
            not calls
            or code in frequency.escaped
            or any(c.caller is not outer or c.how in _BY_LIBRARIES for c in calls)
        ):
            return math.inf
        assert outer is not None  # the caller of a call
        counts, made = frequency.counts, frequency.bound(outer).count
        if made * max((counts.most(frame, code.position) for frame in frames), default=1.0) <= 1:
            return math.inf
        places = {pos for call in calls for pos, _ in call.places}
        return max((sum(counts.between(f, code.position, pos) for pos in places) for f in frames), default=math.inf)

    def _too_rare(self, code: Code, work: Work, saved: float) -> float | None:
        """How often a function is called at most, if that is known and too seldom to win back what tracing costs.

        Only in a project whose work is elsewhere: a script that does nothing but call it a few times shows or tests it,
        and says nothing of how often it will be called.
        """
        if not self._busy and not self._compiles and self._basis.scanner.solution.program.alone:
            return None
        bound = self._basis.frequency.bound(code, self._graphs)
        if math.isinf(bound.count) or bound.count * saved >= work.trace:
            return None
        return bound.count if bound.is_whole(code.path) else None

    @cached_property
    def is_demonstration(self) -> bool:
        """Whether the project is one program that only shows its functions, by calling each a few times.

        That says nothing of how often they will be called; where there is more, a few calls are beside it.
        """
        frequency, roles = self._basis.frequency, self._basis.roles
        program = self._basis.confidences.scanner.solution.program
        files = [module.code.path for module in program.modules.values() if module.text is not None]
        if not program.alone or len(files) != 1 or roles.of(files[0]) is not Role.PROGRAM or self._busy:
            return False
        if self._compiles:
            return False  # Keras' own loops run what is to be run
        bounds = map(frequency.bound, frequency.codes)
        return not any(bound.count >= _MANY and (bound.looped or bound.folders) for bound in bounds)

    @cached_property
    def _compiles(self) -> bool:
        """Whether the program leaves training to Keras."""
        frames = (frame for found in self._basis.frames.values() for frame in found)
        return any(effect.detail == _COMPILE for frame in frames for effect in frame.effects.values())
