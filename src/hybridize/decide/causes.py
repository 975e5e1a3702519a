"""One finding for each cause: what else comes of it is told with the one at which a person would mend it.

Errors and warnings have a cause in common

- at one line: what raises there comes before the rest, and what is stored there is what is computed there;
- where one rule says the same of several places of a function, or several things of one place, as of a decorator;
- where one rule ends the trace of a function more than once: only the first is come to, and mended like the rest;
- where rules name the same places (`Finding.causes`): who writes what a graph has read, and who calls the graph again.

What is selected decides first: a finding that nobody asked for stands for no other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from hybridize.decide.model import Finding, Severity
from hybridize.facts.model import Evidence
from hybridize.records import replace

_SEVERITIES: Final = tuple(Severity)


def one_each(found: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings without those that another one tells `also`."""
    first: dict[Hashable, int] = {}
    groups: dict[int, list[int]] = {}
    of: dict[int, int] = {}  # the group of each
    for i, each in enumerate(found):
        if each.severity is Severity.INFO:
            continue
        of[i], groups[i] = i, [i]
        for key in _keys(each):
            other = of[first.setdefault(key, i)]
            if other != of[i]:
                joined = groups.pop(of[i])
                groups[other] += joined
                of.update(dict.fromkeys(joined, other))
    told: dict[int, Finding] = {}
    for group in groups.values():
        best, *others = sorted(group, key=lambda i: _rank(found[i]))
        also = tuple(_said(found[i]) for i in sorted(others))
        told[best] = replace(found[best], also=also) if also else found[best]
    return tuple(told.get(i, each) for i, each in enumerate(found) if i in told or each.severity is Severity.INFO)


def _keys(each: Finding) -> Iterator[Hashable]:
    yield from each.causes
    if each.function is not None:
        yield each.code, each.function, each.path, each.message
        if not each.causes:
            yield each.code, each.function, each.path, each.line
        if each.ends:
            yield each.code, each.function


def _rank(each: Finding) -> tuple[int, bool, int, int, int]:
    """The worst; what ends the trace; the nearest to the graph; of one line the innermost, which gives the rest."""
    return _SEVERITIES.index(each.severity), not each.ends, len(each.evidence), each.line, -each.column


def _said(each: Finding) -> Evidence:
    return Evidence(f"{each.code} {each.name}: {each.message}", each.path, each.line)
