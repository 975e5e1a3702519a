"""What a repair is: the data that one file per repair declares, and the changes that it proposes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from hybridize.facts.model import Evidence
from hybridize.records import dataclass
from hybridize.repairs.source.edits import NewImport, Place, TextEdit

if TYPE_CHECKING:
    from hybridize.facts.state.reasons import Reason
    from hybridize.program.ir import Code
    from hybridize.repairs.source.bench import Bench
    from hybridize.rules.model import RuleHit
    from hybridize.tracing.views import FunctionView


#: The repair that takes a step out of its loop.
_STEP = "HY818"


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that keeps a function from being a graph, or a finding in one that is.

    `code` is that of a rule or status, `position` is `line << 16 | column` (from 0) in `path`. `reason` is the side
    effect and `hit` the rule's hit, where it is one; `parameter` the place of the parameter that receives literals.
    `alone`: a graph does nothing else that tracing alters, and nothing else is found in it.
    """

    code: str
    path: str
    position: int
    message: str
    function: Code
    reason: Reason | None = None
    hit: RuleHit | None = None
    parameter: int | None = None
    alone: bool = False

    @property
    def line(self) -> int:
        """From 1."""
        return self.position >> 16

    @property
    def place(self) -> Place:
        """As syntax trees have it."""
        return self.position >> 16, self.position & 0xFFFF


@dataclass(frozen=True, slots=True)
class Change:
    """What a repair proposes for a cause: edits that belong together, and what may be said about them.

    `says` is the change in one sentence, `doubt` why it is not provably the same (None: it is safe). `spans` are the
    ranges (path, start, end) in which other causes that the repair's `removes` names are gone with it; `later` those
    (code, path, start, end) of causes that another repair can answer once this one is made. `makes` is the qualified
    name of a new function that is to become a graph in place of the old one.
    """

    edits: tuple[TextEdit, ...]
    says: str
    doubt: str | None
    imports: tuple[NewImport, ...] = ()
    spans: tuple[tuple[str, Place, Place], ...] = ()
    later: tuple[tuple[str, str, Place, Place], ...] = ()
    makes: str = ""


class NotOffered(Exception):
    """A repair looked at a cause and declines; the argument says why, for the person who wonders."""


#: Looks at one cause: the changes that would take it away, or nothing, the best first.
Propose: TypeAlias = "Callable[[Bench, Cause], Iterator[Change]]"
#: Looks at a whole function and all its causes, where the repairs of single causes are not enough.
ProposeWhole: TypeAlias = "Callable[[Bench, FunctionView, Sequence[Cause]], Change]"


@dataclass(frozen=True, slots=True)
class RepairExample:
    """A program before and after `fix --unsafe-fixes` alone; `function` is the one that becomes hybrid or better.

    `output` says whether what it prints stays the same, `changed` which names of the program (`trainer.steps`) hold
    something else afterwards (`*`: the program raised before); all other values stay the same.
    """

    before: str
    after: str
    function: str = ""
    output: bool = False
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Repair:
    """One repair. `code` is stable, `name` reads as in "allow ..."; `summary` is a sentence, `details` Markdown.

    `safety` says when it is safe, and if it is not, what may differ. `removes` are the codes of rules and statuses that
    it answers. `order` decides between repairs of one cause: the lower first. `whole` is for those that answer all
    causes of a function at once.
    """

    code: str
    name: str
    removes: frozenset[str]
    summary: str
    details: str
    safety: str
    propose: Propose
    examples: tuple[RepairExample, ...] = ()
    order: int = 50
    whole: ProposeWhole | None = None


@dataclass(frozen=True, slots=True)
class Proposed:
    """A change of a repair, as reports show it and as `fix` applies it.

    `causes` are what it takes away: code, path, line and column (from 1) of each. `makes` is the qualified name of the
    new function that becomes a graph.
    """

    code: str
    name: str
    path: str
    line: int
    column: int
    says: str
    doubt: str | None
    edits: tuple[TextEdit, ...]
    imports: tuple[NewImport, ...] = ()
    causes: tuple[tuple[str, str, int, int], ...] = ()
    makes: str = ""

    @property
    def answers(self) -> tuple[str, ...]:
        """The codes of the causes."""
        return tuple(dict.fromkeys(code for code, *_ in self.causes))

    @property
    def safe(self) -> bool:
        """Whether the program is provably the same."""
        return self.doubt is None


@dataclass(frozen=True, slots=True)
class Bundle:
    """The repairs that one function needs. `rest` are the causes without one: while there are any, it stays.

    `hybrid`: the function is a graph already and each repair mends a finding on its own. `otherwise` is what can be
    tried where these repairs do not unlock anything.
    """

    function: str
    path: str
    line: int
    qualname: str
    repairs: tuple[Proposed, ...]
    rest: tuple[Evidence, ...] = ()
    hybrid: bool = False
    otherwise: Bundle | None = None

    @property
    def makes(self) -> str:
        """The qualified name of the function that becomes a graph in place of this one; empty: it does so itself."""
        return next((repair.makes for repair in self.repairs if repair.makes), "")

    @property
    def is_step(self) -> bool:
        """Whether the step of a loop becomes a function."""
        return self.makes != "" and self.repairs[0].code == _STEP

    @property
    def precedence(self) -> tuple[bool, int]:
        """Of two that change the same lines the first is made.

        A whole function, the step of a loop within its function, any part, the step of a loop beside its function.
        """
        inner = self.qualname == "<module>" or self.makes.startswith(f"{self.qualname}.")
        rank = 0 if not self.makes else 2 if not self.is_step else 1 if inner else 3
        return not self.complete, rank

    @property
    def complete(self) -> bool:
        """Whether nothing that the analysis knows of stays in the way."""
        return not self.rest

    @property
    def safe(self) -> bool:
        """Whether all its repairs are."""
        return all(repair.safe for repair in self.repairs)
