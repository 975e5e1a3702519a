"""What moves as it is read: iterators, hashes, generators. A copy stands in for one where none sees the difference.

Where no copy can be made, a wire does: whoever touches it needs what can be read only once.
"""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

_HASHES = frozenset(("_hashlib", "_blake2", "_md5", "_sha1", "_sha2", "_sha3", "_sha256", "_sha512", "zlib"))
_SINGLE = frozenset({"SRE_Scanner"})  # that move, but are no iterators
_CALLED = (types.FunctionType, types.MethodType)
_ATOMS = (int, float, complex, bool, str, bytes, type(None), range, slice)
_DEPTH = 12


class Used(BaseException):
    """What can be read only once was about to be. No handler for ordinary exceptions shall stop it."""


class Unclonable(Exception):
    """No copy can be made."""


def moves(value: Any) -> bool:
    """Whether an object is of Python's own, without attributes, and moves as it is read."""
    kind = type(value)
    if kind is types.GeneratorType:
        return True
    if kind.__module__ in _HASHES:
        return hasattr(value, "copy")
    if kind.__name__ in _SINGLE:
        return True
    return hasattr(kind, "__next__") and is_bare(value) and not kind.__module__.startswith(("io", "_io"))


def is_bare(value: Any) -> bool:
    """Whether an object is of Python's own and written in C: it has no attributes."""
    kind = type(value)
    known = kind.__module__.partition(".")[0] in sys.stdlib_module_names
    return known and not hasattr(value, "__dict__") and "__slots__" not in vars(kind)


def clone(value: Any, memo: dict[int, Any]) -> Any:
    """A copy at the same place, with copies of the iterators that it reads; raises Unclonable.

    Args:
        value: which `moves`.
        memo: copies by the identity of their originals; is added to.
    """
    if id(value) not in memo:
        memo[id(value)] = _clone(value, memo)
    return memo[id(value)]


def _clone(value: Any, memo: dict[int, Any]) -> Any:
    kind = type(value)
    if kind is types.GeneratorType or kind.__name__ in _SINGLE:
        raise Unclonable
    if kind.__module__ in _HASHES:
        return value.copy()
    make, arguments, *state = _reduced(value)
    if kind.__name__ == "callable_iterator" and not isinstance(arguments[0], _CALLED):
        raise Unclonable
    copy = make(*_parts(arguments, memo))
    if state and state[0] is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            copy.__setstate__(_parts((state[0],), memo)[0])
    return copy


def _reduced(value: Any) -> tuple[Any, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that this goes away
        try:
            reduced = value.__reduce__()
        except Exception:
            raise Unclonable from None
    if not isinstance(reduced, tuple) or getattr(reduced[0], "__module__", "") == "copyreg":
        raise Unclonable
    return reduced


def _parts(values: tuple[Any, ...], memo: dict[int, Any]) -> tuple[Any, ...]:
    return tuple(clone(v, memo) if moves(v) else _parts(v, memo) if type(v) is tuple else _file(v) for v in values)


def _file(value: Any) -> Any:
    if hasattr(type(value), "__next__") and type(value).__module__.startswith(("io", "_io")):
        raise Unclonable  # the place of a file is its own
    return value


def place(value: Any, depth: int = 0) -> str:
    """Where it stands, as text."""
    kind = type(value)
    if depth > _DEPTH or isinstance(value, _ATOMS):
        return repr(value)[:200] if isinstance(value, _ATOMS) else "…"
    if type(value) in (tuple, list):
        return "(" + ", ".join(place(v, depth + 1) for v in value[:50]) + ")"
    if not moves(value):
        return "<callable>" if callable(value) else f"<{kind.__name__}>"  # whoever watches it
    if kind.__module__ in _HASHES:
        return value.hexdigest() if hasattr(value, "hexdigest") else f"<{kind.__name__}>"
    try:
        return f"{kind.__name__}{place(_reduced(value)[1:], depth + 1)}"[:500]
    except Unclonable:
        return f"<{kind.__name__}>"


class Wire:
    """Stands for what can be read only once; to touch it raises Used."""

    def __init__(self, path: str, value: Any) -> None:
        self.__path = path
        self.__names = {name for name in dir(type(value)) if not name.startswith("_")}
        self.hybridize_tripped = False

    def __iter__(self) -> Iterator[Any]:
        self.__trip()
        return iter(())

    def __next__(self) -> Any:
        self.__trip()

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self.__names:
            self.__trip()
        raise AttributeError(name)

    def __trip(self) -> None:
        self.hybridize_tripped = True
        raise Used(self.__path)
