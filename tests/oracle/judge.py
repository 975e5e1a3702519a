"""Compares what `hybridize` infers with what was recorded, and counts.

python -m tests.oracle.judge [-v] [FAMILY ...]        a table; -v lists what is not right
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.facts.model import Ternary

from ..tools.record_types import functions_of
from .corpus import Program, families, programs, truth

_TYPE = re.compile(r"(?:(\w+):)?(\w+)\[(.*)\]")

#: Verdicts on the types of a parameter that holds tensors.
EXACT, UNKNOWN, WRONG, OPEN = "exact", "unknown", "wrong", "open"


@dataclass(frozen=True)
class Type:
    """A dtype (None: unknown) and dims (None: unknown rank)."""

    dtype: str | None
    dims: tuple[int | None, ...] | None

    def admits(self, other: Type) -> bool:
        """Whether a recorded type does not contradict this one."""
        if self.dtype is not None and self.dtype != other.dtype:
            return False
        if self.dims is None or other.dims is None:
            return True
        pairs = zip(self.dims, other.dims, strict=False)
        return len(self.dims) == len(other.dims) and all(a is None or b is None or a == b for a, b in pairs)

    def text(self) -> str:
        dims = "*" if self.dims is None else ",".join("?" if d is None else str(d) for d in self.dims)
        return f"{self.dtype or '?'}[{dims}]"


@dataclass(frozen=True)
class Verdict:
    """What became of one parameter."""

    place: str
    recorded: str
    inferred: str
    tensor_right: bool
    types: str | None


def read(text: str) -> frozenset[Type]:
    """The types that a record names."""
    found = set()
    for part in text.split(" | "):
        match = _TYPE.fullmatch(part)
        if match is not None:
            found.add(Type(match.group(2), _dims(match.group(3))))
    return frozenset(found)


def _dims(text: str) -> tuple[int | None, ...] | None:
    if text == "*":
        return None
    return tuple(None if d == "?" else int(d) for d in text.split(",") if d)


def merged(types: frozenset[Type]) -> frozenset[Type]:
    """One type per dtype and rank: dims that differ are None, as in a union over calls."""
    found: dict[tuple[str | None, int], Type] = {}
    for item in types:
        key = item.dtype, -1 if item.dims is None else len(item.dims)
        old = found.setdefault(key, item)
        if old.dims is not None and item.dims is not None:
            dims = tuple(a if a == b else None for a, b in zip(old.dims, item.dims, strict=True))
            found[key] = Type(item.dtype, dims)
    return frozenset(found.values())


def compare(inferred: frozenset[Type], recorded: frozenset[Type]) -> str:
    """Exact, unknown, or wrong: what arrived is not among what was inferred, or what was inferred never arrives."""
    if inferred == recorded or merged(inferred) == merged(recorded):
        return EXACT
    if not inferred:
        return UNKNOWN
    covered = all(any(i.admits(r) for i in inferred) for r in recorded)
    needed = all(any(i.admits(r) for r in recorded) for i in inferred)
    return UNKNOWN if covered and needed else WRONG


def verdicts(program: Program, recorded: dict[str, str]) -> list[Verdict]:
    """Every parameter of a program that the run reached."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder).resolve() / "project"
        project.mkdir()
        program.write(project)
        keys = {(key.partition(":")[0], line): key for key, line, _ in functions_of(project).values()}
        report = analyze([project], Config())
    inferred = {}
    for function in report.functions:
        facts = function.facts
        for parameter in facts.parameters:
            inferred[f"{keys[facts.path, facts.line]}({parameter.name})"] = parameter
    found = []
    for place, text in recorded.items():
        if place in ("digest", "error"):
            continue
        parameter = inferred[place]
        types = frozenset(Type(t.dtype, t.shape) for t in parameter.tensor_types)
        right = parameter.tensor is (Ternary.NO if text == "-" else Ternary.YES)
        verdict = None if text == "-" else OPEN if program.open else compare(types, read(text))
        if verdict == OPEN and compare(types, read(text)) == WRONG:
            verdict = WRONG
        shown = parameter.tensor.value + " " + " | ".join(sorted(t.text() for t in types))
        name = f"{program.family}:{program.name} {place}"
        found.append(Verdict(name, text, shown.strip(), right, verdict if right or text == "-" else UNKNOWN))
    return found


@dataclass
class Score:
    """Counts over parameters."""

    programs: int = 0
    parameters: int = 0
    right: int = 0
    types: Counter[str] = field(default_factory=Counter)

    def merge(self, other: Score) -> None:
        """Count what another score counts."""
        self.programs += other.programs
        self.parameters += other.parameters
        self.right += other.right
        self.types.update(other.types)

    def add(self, found: list[Verdict]) -> None:
        """Count one program."""
        self.programs += 1
        self.parameters += len(found)
        self.right += sum(v.tensor_right for v in found)
        self.types.update(v.types for v in found if v.types is not None)

    def share(self, verdict: str) -> float:
        """The share of a verdict among the parameters with determined types."""
        whole = self.types.total() - (self.types[OPEN] if verdict != WRONG else 0)
        return self.types[verdict] / whole if whole else 0.0

    def line(self, name: str) -> str:
        """One row of the table."""
        right = self.right / self.parameters if self.parameters else 0.0
        shares = "  ".join(f"{self.share(v):7.2%}" for v in (EXACT, UNKNOWN, WRONG))
        return f"{name:14} {self.programs:5} {self.parameters:6} {right:8.2%} {self.types.total():6} {shares}"


HEADER = f"{'family':14} {'progr':>5} {'params':>6} {'tensor':>8} {'types':>6} {'exact':>8} {'unknown':>8} {'wrong':>8}"


def judge_family(family: str, every: int = 1) -> tuple[Score, list[Verdict]]:
    """The score of a family, or of every so manieth program of it, and what is not right there."""
    score, bad = Score(), []
    known = truth(family)
    for program in programs(family)[::every]:
        entry = known.get(program.name, {})
        if "error" in entry or entry.get("digest") != program.digest:
            continue
        found = verdicts(program, entry)
        score.add(found)
        bad += [v for v in found if not v.tensor_right or v.types in (UNKNOWN, WRONG)]
    return score, bad


def main(arguments: list[str]) -> int:
    """The command line."""
    verbose = "-v" in arguments
    whole = Score()
    rows = []
    for family in [a for a in arguments if a != "-v"] or families():
        score, bad = judge_family(family)
        rows.append(score.line(family))
        whole.merge(score)
        for verdict in bad if verbose else ():
            kind = verdict.types if verdict.tensor_right else "TENSOR"
            print(f"{kind:8} {verdict.place}: {verdict.recorded}  <>  {verdict.inferred}")
    print(HEADER, *rows, whole.line("all"), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
