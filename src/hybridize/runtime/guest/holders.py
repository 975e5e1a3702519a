"""What holds state, one class for each kind: remembers its content, puts it back, and tells what changed meanwhile."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from typing import Any

MISSING = object()
_ITEMS = 300  # changed items of one holder that are told
_ATOMS = (bool, int, float, complex, str, bytes, type(None))
Change = tuple[str, Any, Any]  # path, value before, value now (MISSING: none)


def atom(value: Any) -> Any:
    """What tells a value from others: a number or a text itself, of any other object its identity."""
    return (type(value), value) if isinstance(value, _ATOMS) else id(value)


class Mapped:
    """Names (or keys) with values: an instance's `__dict__`, a dictionary, some of a module's globals.

    `loud` tells which names are compared: others are only put back.
    """

    def __init__(self, path: str, form: str, mapping: dict[Any, Any], names: Any, loud: Callable[[Any], bool]) -> None:
        self.path, self._form, self._mapping, self._names, self._loud = path, form, mapping, names, loud
        self.saved = self._now()

    def _now(self) -> dict[Any, Any]:
        if self._names is None:
            return dict(self._mapping)
        return {name: self._mapping[name] for name in self._names if name in self._mapping}

    def _same(self, now: dict[Any, Any]) -> bool:
        saved = self.saved
        return len(now) == len(saved) and all(k in now and now[k] is v for k, v in saved.items())

    def restore(self) -> None:
        """As it was."""
        now = self._now()
        if self._same(now):
            return
        if self._names is None:
            kind: Any = collections.OrderedDict if isinstance(self._mapping, collections.OrderedDict) else dict
            kind.clear(self._mapping)
            dict.update(self._mapping, self.saved) if kind is dict else kind.update(self._mapping, self.saved)
            return
        for name in now:
            if name not in self.saved:
                del self._mapping[name]
        self._mapping.update(self.saved)

    def changes(self) -> Iterator[Change]:
        """What is not as it was."""
        now = self._now()
        if self._same(now):
            return
        told = 0
        for key in dict.fromkeys((*self.saved, *now)):
            before, after = self.saved.get(key, MISSING), now.get(key, MISSING)
            if before is not after and self._loud(key) and told < _ITEMS:
                told += 1
                yield self._form.format(self.path, repr(key) if "[" in self._form else key), before, after

    def stand_in(self, value: Any, other: Any) -> None:
        """Puts another object where a value is."""
        for key, each in self.saved.items():
            if each is value:
                self._mapping[key] = other

    def atoms(self) -> Iterator[Any]:
        """What is compared, as hashable values."""
        for key, value in self.saved.items():
            if self._loud(key):
                yield atom(key), atom(value)


class Class_(Mapped):
    """Data on a class of the program's."""

    def __init__(self, path: str, cls: type) -> None:
        self._cls = cls
        super().__init__(path, "{}.{}", vars(cls), None, lambda _: True)  # type: ignore[arg-type]

    def _now(self) -> dict[Any, Any]:
        hidden = (property, classmethod, staticmethod)
        return {
            k: v
            for k, v in vars(self._cls).items()
            if not k.startswith("__") and not callable(v) and not isinstance(v, hidden)
        }

    def restore(self) -> None:
        now = self._now()
        for name in now:
            if name not in self.saved:
                delattr(self._cls, name)
        for name, value in self.saved.items():
            if now.get(name, MISSING) is not value:
                setattr(self._cls, name, value)

    def stand_in(self, value: Any, other: Any) -> None:
        for key, each in self.saved.items():
            if each is value:
                setattr(self._cls, key, other)


class Sequence_:
    """A list or deque."""

    def __init__(self, path: str, value: Any, loud: bool) -> None:
        self.path, self._value, self._loud = path, value, loud
        self.saved = list(value) if isinstance(value, collections.deque) else list.copy(value)

    def _now(self) -> list[Any]:
        return list(self._value) if isinstance(self._value, collections.deque) else list.copy(self._value)

    def _same(self, now: list[Any]) -> bool:
        return len(now) == len(self.saved) and all(a is b for a, b in zip(now, self.saved))

    def restore(self) -> None:
        """As it was."""
        if self._same(self._now()):
            return
        if isinstance(self._value, collections.deque):
            self._value.clear()
            self._value.extend(self.saved)
        else:
            list.__setitem__(self._value, slice(None), self.saved)

    def changes(self) -> Iterator[Change]:
        """What is not as it was."""
        now = self._now()
        if not self._loud or self._same(now):
            return
        told = 0
        for i in range(max(len(now), len(self.saved))):
            before = self.saved[i] if i < len(self.saved) else MISSING
            after = now[i] if i < len(now) else MISSING
            if before is not after and told < _ITEMS:
                told += 1
                yield f"{self.path}[{i}]", before, after

    def stand_in(self, value: Any, other: Any) -> None:
        """Puts another object where a value is."""
        for i, each in enumerate(self.saved):
            if each is value:
                self._value[i] = other

    def atoms(self) -> Iterator[Any]:
        """What is compared, as hashable values."""
        if self._loud:
            yield from map(atom, self.saved)


class Whole:
    """Something with a state that is read and written as a whole: a set, an array, a generator of random numbers.

    `same` compares two states; `shown` gives what is compared between runs.
    """

    def __init__(
        self,
        path: str,
        get: Callable[[], Any],
        put: Callable[[Any], Any],
        same: Callable[[Any, Any], bool],
        loud: bool = True,
    ) -> None:
        self.path, self._get, self._put, self._same, self._loud = path, get, put, same, loud
        self.saved = get()

    def restore(self) -> None:
        """As it was."""
        if not self._same(self._get(), self.saved):
            self._put(self.saved)

    def changes(self) -> Iterator[Change]:
        """What is not as it was."""
        if self._loud:
            now = self._get()
            if not self._same(now, self.saved):
                yield self.path, self.saved, now

    def stand_in(self, value: Any, other: Any) -> None:
        """Nothing is inside."""

    def atoms(self) -> Iterator[Any]:
        """Nothing: states as a whole are others at every call."""
        return iter(())


class Cache(Whole):
    """A cache of `functools`: what a run put there is taken out again, with all the rest."""

    def __init__(self, path: str, value: Any) -> None:
        self._value = value
        super().__init__(path, lambda: value.cache_info().misses, self._clear, lambda now, before: now <= before, False)

    def _clear(self, _: int) -> None:
        self._value.cache_clear()

    def grown(self) -> bool:
        """Whether something was put there."""
        return not self._same(self._get(), self.saved)


class Cell(Whole):
    """A variable of an enclosing function."""

    def __init__(self, path: str, cell: Any) -> None:
        self._cell = cell
        super().__init__(path, self._content, self._fill, lambda a, b: a is b)

    def _content(self) -> Any:
        try:
            return self._cell.cell_contents
        except ValueError:
            return MISSING

    def _fill(self, value: Any) -> None:
        if value is MISSING:
            del self._cell.cell_contents
        else:
            self._cell.cell_contents = value

    def stand_in(self, value: Any, other: Any) -> None:
        if self.saved is value:
            self._cell.cell_contents = other

    def atoms(self) -> Iterator[Any]:
        yield atom(self.saved)


class Position:
    """An iterator: it can't be put back, but a copy can run in its place."""

    def __init__(self, path: str, value: Any, loud: bool) -> None:
        self.path, self.value, self._loud = path, value, loud
        self.used = value

    def restore(self) -> None:
        """The iterator itself was not moved while its copy stood in."""
        self.used = self.value

    def changes(self) -> Iterator[Change]:
        """Always told: its position."""
        if self._loud:
            yield self.path, self.value, self.used

    def stand_in(self, value: Any, other: Any) -> None:
        """Nothing is inside."""

    def atoms(self) -> Iterator[Any]:
        """Nothing: it is somewhere else at every call."""
        return iter(())


class Traces:
    """The traces of a hybrid function of the program's own: what happens as one is made happens again without it.

    `made` tells of variables that were made meanwhile: who holds them holds others than the program will have.
    """

    def __init__(self, path: str, function: Any) -> None:
        self.path, self._function = path, function
        self.saved = self._now()

    def _now(self) -> tuple[Any, ...]:
        function = self._function
        cache, captures = function._function_cache, function._function_captures
        tables = {k: (t, t._dispatch_table.copy(), t._dispatch_cache.copy()) for k, t in cache._dispatch_dict.items()}
        kept = {n: v.copy() if isinstance(v, (dict, list)) else v for n, v in vars(captures).items()}
        bound = dict(function._descriptor_cache.data)
        return dict(vars(function)), cache._primary.copy(), tables, kept, bound

    def restore(self) -> None:
        """As it was."""
        function = self._function
        fields, primary, tables, kept, bound = self.saved
        vars(function).clear()
        vars(function).update(fields)
        cache = function._function_cache
        cache._primary = primary.copy()
        cache._dispatch_dict = {k: t for k, (t, _, _) in tables.items()}
        for table, entries, recent in tables.values():
            table._dispatch_table, table._dispatch_cache = entries.copy(), recent.copy()
        vars(function._function_captures).update(
            {n: v.copy() if isinstance(v, (dict, list)) else v for n, v in kept.items()}
        )
        function._descriptor_cache.data.clear()
        function._descriptor_cache.data.update(bound)

    def made(self) -> bool:
        """Whether a trace made variables since."""
        forms = (self._function, *self._function._descriptor_cache.values())
        now = any(getattr(form, "_created_variables", None) for form in forms)
        return now and not self.saved[0].get("_created_variables")

    def changes(self) -> Iterator[Change]:
        """None: traces are no result."""
        return iter(())

    def stand_in(self, value: Any, other: Any) -> None:
        """Nothing is inside."""

    def atoms(self) -> Iterator[Any]:
        """Nothing."""
        return iter(())
