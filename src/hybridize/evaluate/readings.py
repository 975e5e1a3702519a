"""Which functions are candidates, which of them pass a precondition, and why the others do not, under two readings.

*paper*: Tables I and II of "Speculative Automated Refactoring of Imperative Deep Learning Programs to Graph Execution"
over our facts. A candidate is hybrid, or has a parameter that data flow or a type hint knows to receive TensorFlow's
tensors (where only arrays come, the paper's analysis finds none); literals count at every call, but for Booleans;
every function that passes counts as refactored; nothing else is asked. *ours*: the decisions of `check`: tensors by
any source, preconditions P1 to P7 with all rules, and the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from hybridize.evaluate.analyzing import Row

_TENSORS: Final = frozenset({"dense", "sparse", "ragged", "variable"})
#: By what a function's failures are counted: the paper's Table VI.
FAILURES: Final[Mapping[str, str]] = {
    "F1": "no primitive parameter (P3)",
    "F2": "primitive parameters (P1)",
    "F3": "Python side effects (P1, P2, P3)",
    "F4": "missing call-graph node; here: a fact is undetermined (P1, P2, P3)",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of a candidate: the precondition that passes (empty for none), whether it counts as refactored, what failed."""

    precondition: str
    refactored: bool
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """A way of counting: whether a function is a candidate, and the verdict on one that is."""

    name: str
    is_candidate: Callable[[Row], bool]
    verdict: Callable[[Row], Verdict]
    preconditions: tuple[str, ...]

    def candidates(self, rows: Iterable[Row]) -> dict[str, tuple[Row, Verdict]]:
        """By id."""
        return {row.id: (row, self.verdict(row)) for row in rows if self.is_candidate(row)}


def _paper_candidate(row: Row) -> bool:
    known = row.known in ("dataflow", "type_hint") and bool(_TENSORS & set(row.kinds) or not row.kinds)
    return row.mode == "hybrid" or known


def _paper_verdict(row: Row) -> Verdict:
    if row.mode == "eager":
        asked = {"F2": (row.primitive, "yes"), "F3": (row.effects, "yes"), "recursive": (row.recursive, "yes")}
        passing = "P1"
    elif row.tensor == "yes":
        asked = {"F1": (row.primitive, "no"), "F3": (row.effects, "yes")}
        passing = "P3"
    else:
        asked = {"F3": (row.effects, "yes")}
        passing = "P2"
    failures = [name for name, (value, bad) in asked.items() if value == bad]
    if "unknown" in [value for value, _ in asked.values()] or (row.mode == "hybrid" and row.tensor == "unknown"):
        failures.append("F4")
    return Verdict("" if failures else passing, not failures, tuple(failures))


def _our_verdict(row: Row) -> Verdict:
    return Verdict(row.precondition, row.action != "keep", () if row.precondition else tuple(dict.fromkeys(row.codes)))


PAPER: Final = Reading("paper", _paper_candidate, _paper_verdict, ("P1", "P2", "P3"))
OURS: Final = Reading("ours", lambda row: row.candidate, _our_verdict, ("P1", "P2", "P3", "P4", "P5", "P6", "P7"))
READINGS: Final[Mapping[str, tuple[Reading, ...]]] = {"paper": (PAPER,), "ours": (OURS,), "both": (PAPER, OURS)}

#: Where a candidate ends by our reading, with what that means: the first that holds, so that the shares add up.
CLASSES: Final[Mapping[str, str]] = {
    "changed": "the plan changes it",
    "planned out": "passes a precondition; the plan leaves it, because it gains nothing or rests on too little",
    "in a graph": "fails, but runs as part of a graph of the project all the same",
    "warned": "is hybrid, with a side effect, a recursion, or an undetermined fact",
    "hybrid": "is hybrid, and nothing speaks against that",
    "no TensorFlow": "computes nothing with TensorFlow: there is nothing to make a graph of",
    "not a graph's": "only raises, or is a method whose result Python itself asks for",
    "builds a model": "is given Keras' symbolic tensors: it makes a model, and runs nothing itself",
    "repaired": "passes once repairs are made",
    "would not pay": "fails, and a graph of it would gain nothing",
    "refused": "stays eager, and a graph of it might have gained",
}


def class_of(row: Row) -> str:
    """The class of a candidate."""
    codes = set(row.codes)
    tests = (
        ("changed", row.action != "keep"),
        ("planned out", bool(row.precondition)),
        ("in a graph", "HY010" in codes),
        ("warned", row.mode == "hybrid" and bool(codes & {"HY003", "HY004", "HY006"})),
        ("hybrid", row.mode == "hybrid"),
        ("no TensorFlow", "HY005" in codes),
        ("not a graph's", bool(codes & {"HY014", "HY018"})),
        ("builds a model", "HY304" in codes),
        ("repaired", bool(row.unsafe)),
        ("would not pay", "HY021" in codes),
    )
    return next((name for name, holds in tests if holds), "refused")
