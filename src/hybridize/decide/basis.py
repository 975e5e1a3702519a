"""What a plan rests on, besides the reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hybridize.decide.confidence import Confidences
from hybridize.decide.removals import Removals
from hybridize.decide.sessions import Sessions
from hybridize.facts.calls.frequency import Frequency
from hybridize.facts.calls.work import Counts
from hybridize.facts.gain.benefit import Benefits
from hybridize.flow.frames import Frame
from hybridize.program.ir import Code
from hybridize.records import dataclass
from hybridize.rules.scan import Scanner
from hybridize.source import Roles, Versions


@dataclass(frozen=True, slots=True)
class Basis:
    """What the plan rests on: frames and calls of the whole solution, and the work in them."""

    frames: Mapping[Code, list[Frame]]
    frequency: Frequency
    benefits: Benefits
    sessions: Sessions
    roles: Roles
    confidences: Confidences
    removals: Removals
    scanner: Scanner

    @classmethod
    def of(
        cls,
        scanner: Scanner,
        order: list[list[Frame]],
        old: Mapping[str, Versions],
        mends: Callable[[Code], bool],
    ) -> Basis:
        """That of a solved program; `order` are the components of its call graph, callees first.

        `old` has the releases that folders ask for, by file, where these are before 2.0; `mends` says of a function
        that a repair is offered which passes tensors for what retraces it.
        """
        solution, roles = scanner.solution, scanner.project.roles
        counts = Counts()
        frequency = Frequency(solution, order, counts)
        benefits = Benefits(set(solution.world.hybrids), counts, solution.frames)
        removals = Removals(solution.frames, frequency, benefits, roles, mends)
        sessions = Sessions.of(solution, scanner.project.versions, roles, old)
        return cls(solution.frames, frequency, benefits, sessions, roles, Confidences(scanner), removals, scanner)
