"""The facts about one function: three-valued answers, each with its evidence."""

from __future__ import annotations

from enum import Enum, StrEnum, auto
from typing import Final

from hybridize.records import dataclass, field


class Ternary(StrEnum):
    """A three-valued answer. Only a determinate yes or no decides; unknown blocks."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Mode(StrEnum):
    """How a function runs today."""

    EAGER = "eager"
    HYBRID = "hybrid"


class Source(StrEnum):
    """Where the knowledge that a parameter receives tensors comes from."""

    DATAFLOW = "dataflow"
    TYPE_HINT = "type_hint"
    DOCSTRING = "docstring"
    SPECULATION = "speculation"


#: Where the authors of a function say what it takes.
DECLARED: Final = frozenset({Source.TYPE_HINT, Source.DOCSTRING})


class FunctionKind(StrEnum):
    """What a `def` defines."""

    FUNCTION = "function"
    METHOD = "method"
    CLASSMETHOD = "classmethod"
    STATICMETHOD = "staticmethod"
    NESTED = "nested"

    @property
    def is_bound(self) -> bool:
        """Whether a call on an object passes that, or its class, before the arguments."""
        return self in (FunctionKind.METHOD, FunctionKind.CLASSMETHOD)


class Told(Enum):
    """What a step of evidence tells, for those that ask it; `facts.evidence` has the sentences."""

    OTHER = auto()  # what only people read
    CALL = auto()  # the call of the subject, which leads to the cause, or into code about which nothing is known
    CALLED = auto()  # a call by the subject
    PER_CALL = auto()  # something that is made anew at each call of the subject
    RECEIVES = auto()  # what the parameter receives that is the subject
    PART = auto()  # a part of which one end is seen to move
    APPENDED = auto()  # a list that a loop makes longer
    STACKED = auto()  # an array that is made of such a list
    MAY_DIFFER = auto()  # tensors that may also be as long each time
    SUMMARIZED = auto()  # a call of one of the project's functions, of too many to tell them apart
    BY_USE = auto()  # an assumption that rests on use
    LEFT = auto()  # the same of the field that is the subject, in which a graph leaves what it has stored
    SAVED = auto()  # a function that is given to the subject, which saves it by its name


@dataclass(frozen=True, slots=True)
class Evidence:
    """One step of a chain from the function to the cause: a sentence and its place (`line` from 1).

    `told` is what code may ask it, and `subject` the name that this is about. Two steps that say the same of the same
    place are one.
    """

    message: str
    path: str
    line: int
    told: Told = field(default=Told.OTHER, compare=False)
    subject: str = field(default="", compare=False)


class Against(StrEnum):
    """What speaks against telling a hit (`rules/telling.py`): of a graph the first five, of refusals the last three."""

    NOTHING = "nothing"
    TESTED = "tested"  # it stands in a test, or is of a function of one: what happens there is what is tested
    UNRUN = "unrun"  # no run of the program traces the function
    MERGED = "merged"  # calls of the code were taken together: what the hit rests on may be of none of them
    TRIED = "tried"  # the program traces the function: who ran it has seen that it does not raise, or what it does
    UNKNOWN = "unknown"  # it rests on something that nobody knows


@dataclass(frozen=True, slots=True)
class Fact:
    """An answer about a function, with the chain of evidence that leads to it."""

    value: Ternary
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class TensorType:
    """A type that arrives at a parameter: `shape` is None where the rank is unknown, a dim None where it is."""

    kind: str
    dtype: str | None
    shape: tuple[int | None, ...] | None


@dataclass(frozen=True, slots=True)
class ParameterFacts:
    """What one parameter receives, over all calls. `index` is its place in the definition, `self` included."""

    name: str
    index: int
    tensor: Ternary
    tensor_types: tuple[TensorType, ...] = ()
    literals: tuple[str, ...] = ()
    source: Source | None = None
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Hybridization:
    """How a function was made hybrid: by a decorator, or by an explicit call where `is_decorator` is false.

    `arguments` stand at that place; `given` are the names of those that a wrapper of `tf.function` adds (a
    `functools.partial`, a decorator of the project). `conditional`: the place may also leave the function eager (a
    flag, a stand-in where TensorFlow is missing).
    """

    line: int
    arguments: tuple[tuple[str, str], ...]
    is_decorator: bool = True
    given: tuple[str, ...] = ()
    conditional: bool = False

    def says(self, name: str) -> bool:
        """Whether an argument is given, here or by a wrapper."""
        return name in self.given or any(name == each for each, _ in self.arguments)


@dataclass(frozen=True, slots=True)
class Hazard:
    """A construct that raises, silently differs or retraces under tracing; `name` is the pattern."""

    name: str
    message: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """Everything known about one `def` (the paper's five facts, coverage, tensor computation).

    `retraces` says whether literals that differ from call to call reach a parameter; `tracing_effects` whether there
    are side effects other than state that is set up once (None: as `python_side_effects`). `updates_variables` is
    answered where no parameter receives a tensor: whether what it computes changes variables; `reads_variables` where
    it does not: whether it computes with some, and `makes_tensors`, where conversions may rest on assumptions, whether
    it gives tensors without any: draws, say. `line` and `column` are those of `def` (from 1); `vouched` are those of
    the `assumptions` that a person makes, in a comment, and `unfollowed` those about calls that nobody can follow;
    `gives_tensors`: its annotation says that it gives tensors; `id` is `package.module:Class.method`, with `#2` for a
    second definition of the same name in one scope.
    """

    id: str
    path: str
    line: int
    column: int
    end_line: int
    qualname: str
    kind: FunctionKind
    mode: Mode
    hybridization: Hybridization | None
    candidate: bool
    reached: bool
    parameters: tuple[ParameterFacts, ...]
    tensor_parameter: Fact
    primitive_parameter: Fact
    python_side_effects: Fact
    recursive: Fact
    tensor_computation: Fact
    covered_by_hybrid_callers: Fact
    retraces: Fact = Fact(Ternary.NO)
    tracing_effects: Fact | None = None
    updates_variables: Fact = Fact(Ternary.NO)
    reads_variables: Fact = Fact(Ternary.NO)
    makes_tensors: Fact = Fact(Ternary.NO)
    hazards: tuple[Hazard, ...] = ()
    assumptions: tuple[Evidence, ...] = ()
    vouched: tuple[Evidence, ...] = ()
    unfollowed: tuple[Evidence, ...] = ()
    gives_tensors: bool = False

    @property
    def may_be_hybrid(self) -> bool:
        """Whether it is a candidate, or has no tensor parameter but computes on other tensors."""
        return self.candidate or self.on_state.value is Ternary.YES

    @property
    def on_state(self) -> Fact:
        """Whether a function without tensor parameters computes: on variables that it changes or reads, or on draws."""
        asked = (self.updates_variables, self.reads_variables, self.makes_tensors)
        return next((fact for fact in asked if fact.value is Ternary.YES), self.makes_tensors)
