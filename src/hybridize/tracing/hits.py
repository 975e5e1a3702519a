"""What is found while looking at a trace: a place, what it stands against, and how loudly it is told."""

from __future__ import annotations

from enum import StrEnum

from hybridize.facts.model import Evidence
from hybridize.facts.symbolic import OPERATION
from hybridize.records import dataclass


class Outcome(StrEnum):
    """What becomes of the program once the function is a graph."""

    RAISES = "raises"
    DIFFERS = "differs silently"
    RETRACES = "retraces"
    SLOWS = "slows"


class Blocks(StrEnum):
    """What a hit stands against."""

    TO_HYBRID = "to_hybrid"
    TO_EAGER = "to_eager"
    SIGNATURE = "signature"
    JIT_COMPILE = "jit_compile"


class Level(StrEnum):
    """How a hit is reported where the function is hybrid: error raises or computes something else, warning may."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where a rule's pattern holds.

    `position` is `line << 16 | column` (column from 0); `needs` is the mask of what must be symbolic for it to hold
    (facts.symbolic; `OPERATION`: whenever the code is traced); `evidence` comes after the calls that lead here, and
    `path` names another file where the hit is not in the function's own.
    `level` and `outcome` replace the rule's where one hit is milder or worse than the rest. One that is not `sure`
    rests on calls that were merged: it keeps functions eager, is not told of hybrid ones in large programs, and is
    told as information in small ones. `about` is the name of what is read or made: repairs ask for it; `unless` what
    may be assumed so that it does not hold (speculation); `error` the built-in exception that tracing raises, where
    it is known to be always this one. `also` are further positions in the function where it holds: told once.
    """

    position: int
    message: str
    needs: int = OPERATION
    evidence: tuple[Evidence, ...] = ()
    path: str | None = None
    end: int | None = None
    level: Level | None = None
    outcome: Outcome | None = None
    blocks: frozenset[Blocks] | None = None
    subject: object = None  # what `confirm` needs to know
    sure: bool = True
    about: str = ""
    unless: str = ""
    error: str = ""
    also: tuple[int, ...] = ()
