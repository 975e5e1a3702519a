"""What was decided: the plain data that every report shows and that `fix` acts on."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeAlias

from hybridize.facts.model import Against, Evidence, FunctionFacts
from hybridize.records import dataclass, field, replace
from hybridize.source.model import CellMap
from hybridize.source.versions import Versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.repairs.model import Bundle


class Action(StrEnum):
    """What to do with a function."""

    CONVERT_TO_HYBRID = "convert_to_hybrid"
    CONVERT_TO_EAGER = "convert_to_eager"
    RECONFIGURE = "reconfigure"
    KEEP = "keep"


class Severity(StrEnum):
    """error: raises or computes something else; warning: may, or retraces; info: the rest."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Confidence(StrEnum):
    """What a conversion rests on, the surest first: calls that are seen, what is declared, what was assumed."""

    SEEN = "seen"
    DECLARED = "declared"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class Status:
    """One line to the user on a function. `code` is stable, `name` readable (`python-side-effects`).

    `is_of_function`: the message says what the function is, and not what is in it. `against` is what speaks against it
    as a reason to keep a function eager.
    """

    code: str
    name: str
    severity: Severity
    message: str
    path: str
    line: int
    column: int
    evidence: tuple[Evidence, ...] = ()
    is_of_function: bool = False
    against: Against = Against.NOTHING


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict: `precondition` is the one that passes, even where the plan keeps the function as it is.

    `confidence` is that of a conversion to hybrid (None for anything else), `grounds` the weakest of what it rests on.
    """

    action: Action
    precondition: str | None = None
    arguments: tuple[tuple[str, str], ...] = ()
    benefit: float | None = None
    confidence: Confidence | None = None
    grounds: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionReport:
    """One function: its facts, the decision, and the statuses that say why."""

    facts: FunctionFacts
    decision: Decision
    statuses: tuple[Status, ...] = ()

    @property
    def told(self) -> tuple[Status, ...]:
        """The statuses to tell: those that nothing speaks against, which decide without the rest; all where all are
        in doubt."""
        return tuple(s for s in self.statuses if s.against is Against.NOTHING) or self.statuses

    def kept(self, reason: Status) -> FunctionReport:
        """The report with the function left as it is, for a reason; the precondition that passes stays."""
        decision = replace(self.decision, action=Action.KEEP)
        return replace(self, decision=decision, statuses=(*self.statuses, reason))


@dataclass(frozen=True, slots=True)
class Finding:
    """A lint result on a place in the source; `fix` is `safe`, `unsafe` or None; `function` a function id or None.

    `ends`: the trace gets no further; `causes` are groups of places that name what it comes of (`decide/causes.py`),
    `also` is what else comes of that, and is told with it.
    """

    code: str
    name: str
    severity: Severity
    message: str
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str | None = None
    fix: str | None = None
    evidence: tuple[Evidence, ...] = ()
    ends: bool = False
    causes: tuple[tuple[Evidence, ...], ...] = ()
    also: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Assumption:
    """A fact that rests on speculation; always reported."""

    function: str
    message: str
    path: str
    line: int


def assumptions_of(functions: Iterable[FunctionReport]) -> tuple[Assumption, ...]:
    """What was assumed of some functions."""
    return tuple(Assumption(f.facts.id, e.message, e.path, e.line) for f in functions for e in f.facts.assumptions)


@dataclass(frozen=True, slots=True)
class FileError:
    """A path that can't be read or parsed (`line` 0 where there is none)."""

    path: str
    line: int
    message: str


@dataclass(frozen=True, slots=True, order=True)
class Call:
    """That one function calls another, or has it called: their ids. `line` is the first place, in the caller's file.

    What a lambda or a class body in a function does, the function does; `caller` is empty for the code of the module
    at `path`, outside of any function.
    """

    caller: str
    callee: str
    path: str
    line: int


#: A file, and the names of libraries that it has through other files of the project: `("tf", "tensorflow")`.
Borrowed: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class PartReport:
    """What was found in files that no import connects with the rest of the project: `files` and `lines` of them."""

    files: int
    lines: int
    functions: tuple[FunctionReport, ...] = ()
    findings: tuple[Finding, ...] = ()
    repairs: tuple[Bundle, ...] = ()
    unread: tuple[FileError, ...] = ()  # what is wrong with the files
    failed: tuple[FileError, ...] = ()  # what is wrong with hybridize
    calls: tuple[Call, ...] = ()
    borrowed: tuple[Borrowed, ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectInfo:
    """What was analyzed: `root` absolute, `seconds` wall-clock time; `versions` is what it may run on.

    `asked` are the files that were asked for, by path from the root, where these are not all that the project has: of
    these the report tells.
    """

    root: str
    files: int
    lines: int
    seconds: float
    versions: Versions = Versions()
    asked: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The whole result of an analysis, in the order of paths and lines."""

    project: ProjectInfo
    functions: tuple[FunctionReport, ...] = ()
    findings: tuple[Finding, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    errors: tuple[FileError, ...] = ()
    missing: tuple[str, ...] = field(default=())
    repairs: tuple[Bundle, ...] = ()  # what functions need to be made hybrid, or to be better graphs
    calls: tuple[Call, ...] = ()  # who calls whom, ordered
    borrowed: tuple[Borrowed, ...] = ()
    notebooks: tuple[tuple[str, CellMap], ...] = ()  # which of a notebook's lines are which of its cells'
