"""Finding the contract of a method: by the class that it overrides a method of, and that class's own bases."""

from __future__ import annotations

import builtins
import os.path
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Final

from hybridize.library.contracts.model import Answer, Contract, read
from hybridize.library.index import known_package, lookup
from hybridize.records import dataclass

#: By the first part of a name, the module with the tables; `others` for the rest, Python's own for all.
_MODULES: Final = {"keras": "keras", "tf": "tensorflow"}
_DATA: Final = os.path.join(os.path.dirname(__file__), "private_members.zlib")
#: Who calls, in a sentence, by the first part of the name of a class.
_CALLERS: Final = {
    "keras": "Keras",
    "tf": "TensorFlow",
    "builtins": "Python",
    "tensorflow_probability": "TensorFlow Probability",
}

UNLISTED: Final = Contract(Answer.UNPROVEN, "any", "anything", "nothing is known of what it asks of it")
UNKNOWN: Final = Contract(Answer.UNPROVEN, "any", "anything", "nothing is known of what its base class calls")


@dataclass(frozen=True, slots=True)
class Found:
    """A contract with the class of the library whose method is overridden."""

    owner: str
    contract: Contract

    @property
    def caller(self) -> str:
        """Who calls the method, for a sentence."""
        root = self.owner.partition(".")[0]
        return _CALLERS.get(root, f"`{root}`")


def contract_of(chain: Sequence[str], method: str) -> Found | None:
    """The contract that a method of a class takes on; None where it overrides nothing.

    Args:
        chain: the library classes that the class derives from, canonical names, nearest first (`registry.class_chain`).
        method: the name under which it stands in the class.
    """
    for name in chain:
        table = _table(name)
        if method in table:
            return Found(name, table[method])
    if method.startswith("__"):
        if not method.endswith("__"):
            return None  # Python gives it a name of its own in each class
        special = _special().get(method)
        if special is not None and (special.answer is not Answer.GRAPH or not _defines(chain, method)):
            return Found("builtins.object", special)
    for name in chain:
        if is_member(name, method):
            return Found(name, UNLISTED)
    unknown = next((name for name in chain if not _is_covered(name)), None)
    return Found(unknown, UNKNOWN) if unknown is not None else None


def _defines(chain: Sequence[str], method: str) -> bool:
    """Whether a library class other than `object` may define a special method."""
    return any(is_member(name, method) or not _is_covered(name) for name in chain)


@cache
def _special() -> Mapping[str, Contract]:
    from hybridize.library.contracts.python import SPECIAL

    return read(SPECIAL)


@cache
def _table(name: str) -> Mapping[str, Contract]:
    """The contracts that a class brings by itself; empty where none are written down."""
    root = name.partition(".")[0]
    if root in _MODULES:
        text = _tables(_MODULES[root]).get(name)
        return read(text) if text else {}
    text = _tables("python").get(name)
    if text is None:
        tables = _tables("others")
        text = tables.get(max((key for key in tables if name.startswith(key)), key=len, default=""))
    return read(text) if text else {}


def _tables(module: str) -> Mapping[str, str]:
    found: Mapping[str, str] = import_module(f"hybridize.library.contracts.{module}").TABLES
    return found


@cache
def _is_covered(name: str) -> bool:
    """Whether it is known which methods a library class has."""
    from hybridize.library.contracts.python import NEUTRAL

    if name in NEUTRAL or _builtin(name) is not None or _family(name) in _private():
        return True
    if not known_package(name):
        return False
    entry = lookup(name)
    return entry is not None and entry.kind == "class"


@cache
def is_member(name: str, method: str) -> bool:
    """Whether a library class has a method or property of that name."""
    built_in = _builtin(name)
    if built_in is not None:
        return hasattr(built_in, method) and not hasattr(object, method)
    if method in _private().get(name, ()) or method in _private().get(_family(name), ()):
        return True
    entry = lookup(name) if known_package(name) else None
    return entry is not None and entry.kind == "class" and method in entry.members


def _builtin(name: str) -> type | None:
    """A class of Python's own."""
    root, _, last = name.partition(".")
    found = getattr(builtins, last, None) if root == "builtins" else None
    return found if isinstance(found, type) else None


def _family(name: str) -> str:
    return name.partition(".")[0] + "."


@cache
def _private() -> Mapping[str, frozenset[str]]:
    """Members that the index does not list, by class: those with a name of their own for the library's use.

    A line for each class; that of a name with a dot at its end speaks for all classes of a library.
    """
    import zlib

    with open(_DATA, "rb") as file:
        lines = zlib.decompress(file.read()).decode().splitlines()
    return {line.partition(" ")[0]: frozenset(line.split()[1:]) for line in lines}
