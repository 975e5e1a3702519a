"""Speculation about hits: what may be assumed in the place of one is noted on the facts, and the hit goes."""

from __future__ import annotations

from collections.abc import Sequence

from hybridize.facts.model import Evidence
from hybridize.records import replace
from hybridize.rules.model import RuleHit
from hybridize.tracing.views import FunctionView


def settled(function: FunctionView, hits: Sequence[RuleHit]) -> tuple[FunctionView, list[RuleHit]]:
    """A function with the assumptions that take the place of hits, and the hits that remain."""
    facts = function.facts
    said = {hit.unless: Evidence(hit.unless, hit.path, hit.line) for hit in hits if hit.unless}
    if said and not function.is_hybrid:
        facts = replace(facts, assumptions=(*facts.assumptions, *said.values()))
        function = FunctionView(function.project, function.code, function.frames, facts)
    return function, [hit for hit in hits if not hit.unless]
