"""Programs that are run twice, and what came out of the comparison."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

#: So many times as long by the clock as of a processor may a run take: what waits for others is not late.
PATIENCE = 3


class Kind(StrEnum):
    """What the graph did to a program, the gravest first."""

    RAISES = "raises"  # an exception (or a hang, or a crash) that the eager run does not have
    DIFFERS = "differs"  # silently: other values, types, output, state, or an exception that is lost
    RETRACES = "retraces"  # the same results, traced anew at every call
    SAFE = "safe"
    FAILED = "failed"  # nothing can be said: the eager run itself could not be made


@dataclass(frozen=True, slots=True)
class Program:
    """A program with a driver, and which of its functions shall be hybrid.

    Attributes:
        files: (path within the program's folder, text), Python and other.
        entry: the path of the file that is run.
        targets: functions to decorate: lexical paths (`Class.method`, `outer.inner`), or the bare name of the first one
            so called; in another file than the entry with that file's path before it (`pkg/model.py:Model.call`).
            Without targets the program's own `tf.function`s are what is hybrid, and the eager run goes without them.
        decorator: what the targets get, as it is written: `tf.function(jit_compile=True)`; more than one with `;`.
        outermost: above all decorators that are there; else where `hybridize fix` puts it.
        arguments: the program's command line.
    """

    files: tuple[tuple[str, str], ...]
    entry: str = "program.py"
    targets: tuple[str, ...] = ()
    decorator: str = "tf.function"
    outermost: bool = False
    arguments: tuple[str, ...] = ()

    @classmethod
    def single(
        cls, source: str, target: str | None = None, *, decorator: str = "tf.function", outermost: bool = False
    ) -> Program:
        """A program of one file; without a target its own `tf.function`s are what is hybrid."""
        targets = () if target is None else (target,)
        return cls((("program.py", source),), "program.py", targets, decorator, outermost)


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same: `where` is `r1`, `model.last`, `stdout`, `exception`, ...; both sides as text."""

    where: str
    eager: str
    hybrid: str

    def __str__(self) -> str:
        return f"{self.where}: {self.eager} -> {self.hybrid}"


@dataclass(frozen=True, slots=True)
class Traces:
    """How often a hybrid function was called and traced, and with how many distinct tensor dtypes and shapes.

    `creators` counts its instances that create variables at the first call: these are traced once more. `tensors` is
    the number of calls with a tensor among the arguments.
    """

    function: str
    calls: int
    traces: int
    specs: int
    creators: int = 0
    tensors: int = 0

    @property
    def each_call(self) -> bool:
        """Whether (nearly) every call was traced anew, and the tensors' dtypes and shapes are not why."""
        return self.calls >= 3 and self.traces >= self.calls and self.traces > self.specs + self.creators

    def __str__(self) -> str:
        return f"{self.function}: {self.traces} traces / {self.calls} calls / {self.specs} tensor specs"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the graph did. `line` (0: none) is the driver's line at which an exception arose, `notes` what TensorFlow
    logged during the hybrid run, `noise` what differs between eager runs too and was compared by its pattern alone."""

    kind: Kind
    differences: tuple[Difference, ...] = ()
    functions: tuple[Traces, ...] = ()
    line: int = 0
    notes: tuple[str, ...] = ()
    noise: tuple[str, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Outcome:
        """The outcome again."""
        return cls(
            Kind(data["kind"]),
            tuple(Difference(**d) for d in data["differences"]),
            tuple(Traces(**f) for f in data["functions"]),
            data["line"],
            tuple(data["notes"]),
            tuple(data["noise"]),
        )

    @property
    def traces(self) -> int:
        """Of all hybrid functions."""
        return sum(f.traces for f in self.functions)

    @property
    def calls(self) -> int:
        """Of all hybrid functions."""
        return sum(f.calls for f in self.functions)

    def __str__(self) -> str:
        told = "; ".join(map(str, self.differences[:3]))
        return f"{self.kind.value}" + (f": {told}" if told else "") + "".join(f" [{f}]" for f in self.functions)
