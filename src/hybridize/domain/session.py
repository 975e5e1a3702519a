"""What one analysis keeps: the objects that it has named, what it has computed of values, and what rooms note of code.

Several analyses live side by side in one process, and in threads: each has its session, and the one that works has made
its own the one in force. What interns and joins looks there at every step, too often to be handed it: which session is
in force is a state of the process, and only `Session.active` changes it, for as long as one analysis works.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from itertools import islice
from threading import RLock
from types import ModuleType
from typing import Any, Final, Generic, ParamSpec, TypeVar

from hybridize.domain.identity import Names, names_in_force, use_names
from hybridize.domain.lattice import Joins, joins_in_force, use_joins

_LOCK: Final = RLock()
_NOTHING: Final[Any] = object()


K = TypeVar("K")
V = TypeVar("V")
P = ParamSpec("P")


class Table(Generic[K, V]):
    """A table of a module, of which each session has its own: what was noted of code or values, to be kept.

    `solved`: what it holds rests on one solution, and goes when another one of the same program begins.
    """

    def __init__(self, *, solved: bool = False) -> None:
        self.solved = solved

    def here(self) -> dict[K, V]:
        """That of the session in force."""
        return _tables[self]


_tables: defaultdict[Table[Any, Any], dict[Any, Any]] = defaultdict(dict)


#: The objects that models and rules hold, which are made when their modules are imported.
_BASE: Final = names_in_force()


def imported(module: str) -> ModuleType:
    """Imports a module that may hold objects: they are those of all sessions, and outlive the one in force."""
    with _LOCK:
        names, known = names_in_force(), len(_BASE.objects)
        use_names(_BASE)
        try:
            return import_module(module)
        finally:
            use_names(names)
            names.add(islice(_BASE.objects.items(), known, None))


def begin_solution() -> None:
    """Empties what rests on a solution: another one of the same program begins."""
    for table in [each for each in _tables if each.solved]:
        del _tables[table]


def cached(function: Callable[P, V]) -> Callable[P, V]:
    """`functools.cache` for what is found out of code or values: each session keeps its own results."""
    return _kept(function, Table())


def solved(function: Callable[P, V]) -> Callable[P, V]:
    """`cached` for what is read off frames, or what cells hold: the results are those of one solution."""
    return _kept(function, Table(solved=True))


def _kept(function: Callable[P, V], table: Table[Any, V]) -> Callable[P, V]:
    @wraps(function)
    def look(*args: P.args, **kwargs: P.kwargs) -> V:
        noted = _tables[table]
        key = (args, tuple(kwargs.items())) if kwargs else args
        found: V = noted.get(key, _NOTHING)
        if found is _NOTHING:
            found = noted[key] = function(*args, **kwargs)
        return found

    return look


class Session:
    """What one analysis keeps. It begins with the objects that models hold, and those of the program that it is of."""

    def __init__(self, program: Session | None = None) -> None:
        with _LOCK:
            self._names: Names = (_BASE if program is None else program._names).anew()
            self._seen = len(_BASE.objects)
        self._joins = Joins()
        self._tables: defaultdict[Table[Any, Any], dict[Any, Any]] = defaultdict(dict)

    def forget(self, subjects: Set[object]) -> None:
        """Drops what was found of some things, and of them together with others: they are no longer what they were."""
        for noted in self._tables.values():
            for key in [k for k in noted if k in subjects or (type(k) is tuple and not subjects.isdisjoint(k))]:
                del noted[key]

    @contextmanager
    def active(self) -> Iterator[None]:
        """Makes this the session in force while the block runs. Analyses of other threads wait for its end."""
        global _tables
        with _LOCK:
            names, joins, tables = names_in_force(), joins_in_force(), _tables
            self._names.add(islice(_BASE.objects.items(), self._seen, None))
            self._seen = len(_BASE.objects)
            use_names(self._names)
            use_joins(self._joins)
            _tables = self._tables
            try:
                yield
            finally:
                use_names(names)
                use_joins(joins)
                _tables = tables
