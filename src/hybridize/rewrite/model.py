"""What goes into the room and what comes out of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from hybridize.records import dataclass

Action = Literal["add", "remove", "replace"]

# Names that the file gets from elsewhere (a wildcard, another file of the project) -> what they fully denote.
KnownNames = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes `start` to `end` (exclusive, 0-based, of the file as on disk) become `replacement`."""

    start: int
    end: int
    replacement: bytes


@dataclass(frozen=True, slots=True)
class DecoratorDialect:
    """How one graph compiler's decorator is spelled; `tf.function` is one instance, `torch.compile` could be another.

    `module` and `attribute` name the object (`tensorflow`, `function`), `alias` is what people call the module.
    `modules` are the public modules that offer the same object, `internals` full names under which it also exists:
    recognized, never written. `parameters` are the decorator's own, in order. Above a decorator in `outermost_of` the
    new one must stand, where all others must stay above it (docs/semantics.md R16).
    """

    module: str
    attribute: str
    alias: str
    modules: tuple[str, ...]
    internals: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    outermost_of: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The conventional spelling, for messages: `tf.function`."""
        return f"{self.alias}.{self.attribute}"

    def is_decorator(self, qualified: str) -> bool:
        """Whether the full name denotes the decorator."""
        module, _, attribute = qualified.rpartition(".")
        return (attribute == self.attribute and module in self.modules) or qualified in self.internals

    def is_outermost_of(self, qualified: str) -> bool:
        """Whether the new decorator must stand above the one with this full name."""
        return qualified in self.outermost_of


@dataclass(frozen=True, slots=True)
class DecoratorChange:
    """One planned change to one function's decorators.

    `line` (from 1) is that of `def`, `column` (from 1) where `def` or `async` starts; `qualname` is the lexical path
    (`Class.method`, `outer.inner`), checked unless empty. `arguments` are (name, source text), all that the decorator
    shall have. `decorator_line` names the decorator to remove or replace where the analysis knows it better than this
    file alone can tell (an alias from another file of the project).
    """

    path: Path
    line: int
    column: int
    qualname: str
    action: Action
    dialect: DecoratorDialect
    arguments: tuple[tuple[str, str], ...] = ()
    decorator_line: int | None = None


@dataclass(frozen=True, slots=True)
class FilePlan:
    """All changes to one file; `path` is relative to the project's root, `own` are its modules' top-level names."""

    path: Path
    changes: tuple[DecoratorChange, ...]
    known_names: KnownNames = ()
    own: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FileResult:
    """The file before and after; every planned change is in exactly one of the last three."""

    path: Path
    original: bytes
    new: bytes
    edits: tuple[Edit, ...]
    applied: tuple[DecoratorChange, ...]
    unchanged: tuple[DecoratorChange, ...]  # the file already is as asked
    dropped: tuple[tuple[DecoratorChange, str], ...]

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.new != self.original


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """What became of one file: written, or left as it was with one line that says why (None: nothing to do)."""

    path: Path
    written: bool
    error: str | None = None


def apply_edits(source: bytes, edits: Iterable[Edit]) -> bytes:
    """The bytes after the edits, which are sorted and do not overlap; ValueError if they do."""
    parts: list[bytes] = []
    done = 0
    for edit in edits:
        if edit.start < done or edit.end < edit.start or edit.end > len(source):
            raise ValueError(f"edits overlap at byte {edit.start}")
        parts += (source[done : edit.start], edit.replacement)
        done = edit.end
    parts.append(source[done:])
    return b"".join(parts)
