"""What a rule is: the data that one file per rule declares, and what its scanners give."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from hybridize.facts.model import Against, Evidence
from hybridize.program.ir import Code, Instr
from hybridize.records import dataclass, field
from hybridize.tracing.hits import Blocks as Blocks
from hybridize.tracing.hits import Hit as Hit
from hybridize.tracing.hits import Level as Level
from hybridize.tracing.hits import Outcome as Outcome

if TYPE_CHECKING:
    from hybridize.domain.objects import Value
    from hybridize.flow.frames import Frame
    from hybridize.program.index import Index
    from hybridize.tracing.views import FrameView, FunctionView, ProjectView


class Category(StrEnum):
    """The study's taxonomy of hybridization bugs; the folder of a rule and the hundreds of its code."""

    PERFORMANCE = "performance"  # HY1xx
    MISUSE = "misuse"  # HY2xx: API misuse
    INCOMPATIBILITY = "incompatibility"  # HY3xx
    TENSORFLOW = "tensorflow"  # HY4xx: TensorFlow bug
    DEBUGGABILITY = "debuggability"  # HY5xx
    STATE = "state"  # HY6xx: exposed variable state
    NUMERICAL = "numerical"  # HY7xx


#: Looks at one instruction of one frame: hits travel from there to every function whose traced extent holds the frame.
Trigger: TypeAlias = "Callable[[FrameView, Any], Iterator[Hit]]"


@dataclass(frozen=True, slots=True)
class Where:
    """A trigger with what an instruction must be for it to look at all: asked once, not for each frame.

    It looks where any of them holds. `form` is asked of an instruction as it stands in its code; the others are for
    calls: `names` of the canonical names of the library functions that are called, `values` of all that is called.
    They may say yes where the trigger finds nothing, but never no where it finds something.
    """

    trigger: Trigger
    form: Callable[[Index, Any], bool] | None = None
    names: Callable[[str], bool] | None = None
    values: Callable[[ProjectView, Value], bool] | None = None


def operators(trigger: Trigger, *accepted: str) -> Where:
    """A trigger at some operators."""
    return Where(trigger, form=lambda _, instr: instr.operator in accepted)


def attributes(trigger: Trigger, accepted: Collection[str]) -> Where:
    """A trigger at reads of attributes of some names."""
    return Where(trigger, form=lambda _, instr: instr.name in accepted)


#: Looks at a whole frame (its effects, say); hits travel as those of triggers do.
FrameScan: TypeAlias = "Callable[[FrameView], Iterator[Hit]]"
#: Looks at one function as the thing that is (or would be) decorated.
RootScan: TypeAlias = "Callable[[FunctionView], Iterator[Hit]]"
#: Whether hits in a callee count for who calls it at a position (false: the call runs once, or keeps its result).
Passage: TypeAlias = "Callable[[FrameView, int, Frame], bool]"


@dataclass(slots=True)
class Doubt:
    """The hits of a rule on a function that are still to be confirmed, with the frames that carry them."""

    function: FunctionView
    hits: dict[Hit, list[Frame]]


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A hit that holds, with more evidence; `unless` is what can be assumed so that it does not (speculation).

    `level` replaces the hit's where it is milder: it blocks as before. `said` comes after the hit's message: what the
    program is seen to do, `causes` what it comes of (`RuleHit`).
    """

    evidence: tuple[Evidence, ...] = ()
    unless: str = ""
    level: Level | None = None
    said: str = ""
    causes: tuple[tuple[Evidence, ...], ...] = ()


def at_line(path: str, line: int) -> tuple[Evidence, ...]:
    """The cause that a line is to all that is found there, and to what comes of it elsewhere."""
    return (Evidence("here", path, line),)


#: Looks at the hits of a rule on many functions: for each function those that hold.
Confirmation: TypeAlias = "Callable[[ProjectView, Sequence[Doubt]], list[dict[Hit, Confirmed]]]"
#: Looks at the program as a whole; hits name their path.
ProjectScan: TypeAlias = "Callable[[ProjectView], Iterator[Hit]]"


@dataclass(frozen=True, slots=True)
class Example:
    """A program that shows a rule: its text, with a driver whose results are compared eager and as graphs.

    `target` is the function that is decorated (`target`, `C.method`), or already is. `line` is where the rule hits
    (bad examples). `outcome` is what TensorFlow does: `raises`, `differs`, `retraces`, `slows`; None: the same.
    `needs` restricts it to a Keras major version (2 or 3) or a TensorFlow version, as in `keras>=3`.
    """

    source: str
    target: str = "target"
    line: int | None = None
    outcome: Outcome | None = None
    needs: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `code` is stable, `name` reads as in "allow ..."; `summary` is a sentence, `details` Markdown.

    `outcome` is what happens if the pattern is traced, `blocks` what it stands against, `level` how it is reported
    where the function is hybrid already (None: not at all). Of the ways to look at a program a rule uses any:
    `triggers` by operation or group (with `Where` only some instructions of it), `frame` for a function in one context
    (with `codes` only in code where it has something to look for, which is asked once), `root` for the function that is
    decorated, `project` for everything else. `passes` can stop hits on their way up the calls, `confirm` at the
    function that is decorated. What blocks nothing has nothing to say of eager functions: its `root` is not asked.
    `opens` says that its hits are about arguments of unknown kind: they count where nobody is seen to pass what a hit
    needs, and only against the conversion of eager functions.
    `act` says of a function that is hybrid already what to do: a part of a sentence, which findings add to the message.
    `once` says that its hits in one function that is called have one cause: of a hybrid function the first is told.
    `bare` says that functions without a tensor parameter are asked too, which have no other cause to be told.
    `known_problems` says in Markdown what it is known to miss or to get wrong; empty where nothing is known.
    `reference` says where the facts come from: sections of docs/semantics.md (`semantics.md R18, Harmless`) and others,
    with semicolons between.
    """

    code: str
    name: str
    category: Category
    outcome: Outcome
    summary: str
    details: str
    level: Level | None = Level.ERROR
    blocks: frozenset[Blocks] = frozenset((Blocks.TO_HYBRID,))
    triggers: Mapping[type[Instr], Trigger | Where] = field(default_factory=dict)
    frame: FrameScan | None = None
    codes: Callable[[Code], bool] | None = None
    root: RootScan | None = None
    project: ProjectScan | None = None
    passes: Passage | None = None
    confirm: Confirmation | None = None
    bare: bool = False
    opens: bool = False
    bad: tuple[Example, ...] = ()
    good: tuple[Example, ...] = ()
    known_problems: str = ""
    reference: str = ""
    act: str = ""
    once: bool = False


@dataclass(frozen=True, slots=True)
class RuleHit:
    """A hit on a function, with the chain of evidence from the function to the cause.

    `unless` is what speculation may assume in its place; empty where it holds for certain, or nobody can tell.
    `sure` is that of the hit, and of the calls that lead there; `about` is the name that it is about,
    and `error` the built-in exception that tracing raises, where one is known. `merged` says that calls of the code
    that has it are not told apart, `against` what speaks against telling it. `also` are further positions in the code
    where it holds, `causes` groups of places: what comes of the same one is told once (`decide/causes.py`).
    """

    rule: Rule
    message: str
    path: str
    position: int
    level: Level
    outcome: Outcome
    blocks: frozenset[Blocks]
    evidence: tuple[Evidence, ...]
    end: int | None = None
    unless: str = ""
    sure: bool = True
    about: str = ""
    error: str = ""
    merged: bool = False
    against: Against = Against.NOTHING
    also: tuple[int, ...] = ()
    causes: tuple[tuple[Evidence, ...], ...] = ()

    @property
    def line(self) -> int:
        """The line of the cause, from 1."""
        return self.position >> 16

    @property
    def column(self) -> int:
        """The column of the cause, from 1."""
        return (self.position & 0xFFFF) + 1
