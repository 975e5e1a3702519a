"""What a file defines and which uses of the API are in it, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

Role = Literal["decorator", "wrap", "alias", "mention"]
Method = Literal["tree", "tokens", "text"]
MODULE: Final = "<module>"

Arguments = tuple[tuple[str, str], ...]
"""Names and normalized sources of arguments, as bound so far."""
Outside = tuple[tuple[str, Arguments], ...]
"""Makers of hybrid functions that a file imports: local (dotted) name, and the arguments bound with it."""


@dataclass(frozen=True, slots=True)
class Use:
    """One use.

    `owner` is the qualified name of the function that becomes hybrid, where it is known; else the text of what is
    wrapped, or the alias's name. `known` tells the two apart. `arguments` are (name, normalized source), with
    variables resolved. `condition` is the source of the tests (of `if` statements and expressions, within the function
    that it stands in) under which it happens; empty: always.
    """

    role: Role
    owner: str
    known: bool
    scope: str
    arguments: tuple[tuple[str, str], ...]
    line: int
    end_line: int
    text: str
    condition: str = ""

    def argument(self, name: str) -> str | None:
        """An argument's normalized source, or null; an explicit `None` counts as not given."""
        value = dict(self.arguments).get(name)
        return None if value == "None" else value


@dataclass(frozen=True, slots=True)
class Function:
    """A function definition. `qualname` ends in `#2` for the second of that name in its scope."""

    qualname: str
    name: str
    line: int
    def_line: int
    end_line: int
    is_class: bool = False


@dataclass(frozen=True, slots=True)
class FileUses:
    """What one file defines and uses. `lines` are its source lines; `makers` are the names of its top level that make
    functions hybrid: aliases, and functions that return what the API makes of their parameter."""

    functions: dict[str, Function]
    uses: tuple[Use, ...]
    method: Method
    lines: tuple[str, ...] = field(repr=False, default=())
    makers: Outside = ()

    def of(self, qualname: str) -> tuple[Use, ...]:
        """The uses that make this function hybrid."""
        return tuple(use for use in self.uses if use.known and use.owner == qualname)


EMPTY: Final = FileUses({}, (), "tree")
