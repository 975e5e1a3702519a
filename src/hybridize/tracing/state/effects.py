"""Python side effects as hits: what the rules that name a kind of side effect have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hybridize.facts.side_effects.arguments import comes_out_same
from hybridize.facts.state.guards import holds_plain_tensor, stored
from hybridize.facts.state.reasons import CHANGES, Reason, describe, evidence_of, fills_own, is_unclear, kind_of
from hybridize.flow.frames import Frame
from hybridize.tracing.hits import Hit, Level
from hybridize.tracing.views import FunctionView


def reasons(function: FunctionView) -> Iterator[tuple[Frame, Reason]]:
    """The side effects that tracing alters, of a function in each of its contexts, with the calls that lead to them.

    What the analysis cannot be sure of keeps a function eager, but is no bug to report.
    """
    known = function.project.effects
    exact = function.project.solution.world.is_small
    for frame in function.frames:
        for reason in known.of(frame).values():
            if (
                comes_out_same(frame, reason)
                or fills_own(frame, reason)
                or is_unclear(reason)
                or known.may_be_own(frame, reason)
            ):
                continue
            if reason.sure or exact:
                yield frame, reason


def hit(reason: Reason, level: Level | None = None, said: str | None = None) -> Hit:
    """A side effect as a hit at its own place."""
    chain = evidence_of(reason)
    return Hit(
        reason.effect.position,
        said or describe(reason.effect),
        evidence=chain,
        path=reason.frame.code.path,
        level=level,
        sure=reason.sure,
    )


def of_kinds(*kinds: str) -> Callable[[FunctionView], Iterator[Hit]]:
    """A scan for the side effects of some kinds."""

    def scan(function: FunctionView) -> Iterator[Hit]:
        for _, reason in reasons(function):
            if kind_of(reason.effect) in kinds:
                yield hit(reason)

    return scan


def is_change(reason: Reason) -> bool:
    """Whether a side effect changes an object or a variable (not the outside world)."""
    return kind_of(reason.effect) in CHANGES and reason.effect.kind != "iterator"


def leaked(function: FunctionView, reason: Reason) -> bool:
    """Whether a change stores a tensor that is symbolic while tracing."""
    frame = reason.frame
    for slot in stored(frame, reason.effect.position):
        if holds_plain_tensor(frame.vals[slot] or frozenset()) and function.project.symbolic.mask(frame, slot):
            return True
    return False
