"""What the side effects of a function amount to, and what an answer rests on where some are those of unknown code."""

from __future__ import annotations

from typing import Final

from hybridize.facts.model import Evidence, Fact, Ternary, Told
from hybridize.facts.state.reasons import (
    OPAQUE,
    Reason,
    evidence_of,
    is_unclear,
    last_evidence_of,
    may_be_harmless,
    order,
)
from hybridize.facts.unknown.usage import Used

#: So many places are told.
_MOST: Final = 12


def judged(reasons: list[Reason], speculate: bool, used: Used) -> tuple[Fact, list[Evidence]]:
    """What some effects amount to, and the assumptions that the answer rests on."""
    certain: dict[tuple[str, int], Reason] = {}
    opaque: list[Reason] = []
    for reason in reasons:
        if reason.effect.kind in OPAQUE or is_unclear(reason):
            opaque.append(reason)
        else:
            certain.setdefault((reason.frame.code.path, reason.effect.position >> 16), reason)
    if certain:
        chosen = sorted(certain.items(), key=lambda c: (len(c[1].path), c[0]))[:_MOST]
        return Fact(Ternary.YES, tuple(step for _, reason in chosen for step in evidence_of(reason))), []
    if not opaque:
        return Fact(Ternary.NO), []
    doubtful = [r for r in opaque if not speculate or not (may_be_harmless(r) or used.says(r))]
    if doubtful:
        return Fact(Ternary.UNKNOWN, evidence_of(min(doubtful, key=order))), []
    seen: dict[str, Evidence] = {}
    for reason in sorted(opaque, key=order):
        last = last_evidence_of(reason)
        by_use = used.says(reason)
        said = by_use or f"assumed without side effect: {last.message}"
        told = Told.BY_USE if by_use else Told.OTHER
        seen.setdefault(last.message, Evidence(said, last.path, last.line, told))
    return Fact(Ternary.NO), list(seen.values())
