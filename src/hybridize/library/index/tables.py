"""The index's data: its format, and loading it piece by piece.

Each table (`tensorflow`, `tensorflow_v1`, `keras`, `numpy`) is two or three files below `data/`, UTF-8 text compressed
by zlib; `scripts/build_index.py` writes them.

`<table>.names.zlib`: five sections separated by an empty line, the lines of the 2nd, and of the 4th and 5th, aligned:
1. a header of one line, JSON: the versions of the packages by release;
2. the canonical names, sorted;
3. one line with two characters a name: its kind (see KINDS) and its releases (bits: 1 for 2.15, 2 for the newest);
4. the aliases, sorted;
5. the canonical name of each alias, which may be in another table.

`<table>.records.zlib`: one line of JSON a canonical name, in the same order: an object with those keys that are not
empty of `p` parameters, `b` bases, `r` public ancestors (if they are more than `b`), `m` members by name as `[kind]`
or `[kind, parameters]`, `v` value, `t` type. When the releases differ it is `{"o": ..., "n": ...}`, and `k` in `n` is
a kind other than 2.15's. Parameters are strings as in a signature: `x`, `name=None`, `*args`, `**kwargs` and the
marks `/` and `*`.

`<table>.private.zlib`: two sections, paths inside the implementation (`tf.python.ops.math_ops.add`) and what they mean.
"""

from __future__ import annotations

import os.path
from functools import cache
from typing import Any, Final

from hybridize.library.index.model import RELEASES, Kind, Release

KINDS: Final[dict[str, Kind]] = {
    "m": "module",
    "f": "function",
    "c": "class",
    "k": "constant",
    "u": "ufunc",
    "d": "dtype",
}
TABLES: Final = ("tensorflow", "tensorflow_v1", "keras", "numpy")
DATA: Final = os.path.join(os.path.dirname(__file__), "data")
_V1: Final = "tf.compat.v1"


def table_of(name: str) -> str:
    """The table of a name in normalized spelling."""
    if name.startswith("keras"):
        return "keras"
    if name.startswith("np"):
        return "numpy"
    return "tensorflow_v1" if name == _V1 or name.startswith(_V1 + ".") else "tensorflow"


class Table:
    """One table; its records and its implementation paths are read when they are first needed."""

    __slots__ = ("_flags", "_private", "_records", "aliases", "header", "name", "positions")

    def __init__(self, name: str) -> None:
        """Read the names, none of the rest."""
        header, names, flags, aliases, targets = _sections(f"{name}.names.zlib", 5)
        self.name = name
        self.header = header[0]
        self.positions: dict[str, int] = dict(zip(names, range(len(names)), strict=True))
        self.aliases: dict[str, str] = dict(zip(aliases, targets, strict=True))
        self._flags = flags[0]
        self._records: list[str] | None = None
        self._private: dict[str, str] | None = None

    def kind(self, position: int) -> Kind:
        """The kind of the symbol there."""
        return KINDS[self._flags[2 * position]]

    def releases(self, position: int) -> tuple[Release, ...]:
        """The releases that have the symbol there."""
        bits = int(self._flags[2 * position + 1])
        return tuple(release for i, release in enumerate(RELEASES) if bits >> i & 1)

    def record(self, position: int) -> dict[str, Any]:
        """The record of the symbol there."""
        import json

        if self._records is None:
            self._records = _text(f"{self.name}.records.zlib").split("\n")
        record: dict[str, Any] = json.loads(self._records[position])
        return record

    def private(self, path: str) -> str | None:
        """The canonical name of what a path inside the implementation (normalized spelling) leads to."""
        if self._private is None:
            paths, targets = _sections(f"{self.name}.private.zlib", 2)
            self._private = dict(zip(paths, targets, strict=True))
        return self._private.get(path)


@cache
def table(name: str) -> Table:
    """The table of that name, read once."""
    return Table(name)


@cache
def aliases_of(canonical: str) -> tuple[str, ...]:
    """The other public names of a symbol or of a member of a class, sorted."""
    own = table_of(canonical)
    searched = ("tensorflow", "tensorflow_v1") if own == "tensorflow" else (own,)
    found = [a for t in searched for a, target in table(t).aliases.items() if target == canonical]
    owner, _, member = canonical.rpartition(".")
    if not found and own and owner and canonical not in table(own).positions:
        found = [f"{a}.{member}" for a in aliases_of(owner)]
    return tuple(sorted(found))


def _text(file: str) -> str:
    import zlib

    with open(os.path.join(DATA, file), "rb") as data:
        return zlib.decompress(data.read()).decode()


def _sections(file: str, count: int) -> list[list[str]]:
    sections = _text(file).split("\n\n")
    if len(sections) != count:
        raise ValueError(f"{file}: not an index file of this version; run scripts/build_index.py")
    return [section.split("\n") if section else [] for section in sections]
