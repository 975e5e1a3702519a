"""The Python state and the variables that a call can reach: remembered before a run, put back after it."""

from __future__ import annotations

import collections
import contextlib
import functools
import gc
import io
import os
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from .holders import Cache, Cell, Change, Class_, Mapped, Position, Sequence_, Traces, Whole
from .moving import Unclonable, Wire, clone, is_bare, moves
from .outside import LIBRARIES
from .resources import guarded_tape, is_read, is_variable, kind_name, settings, special
from .values import BOOKKEEPING

#: Objects that are looked at for one call.
OBJECTS = 30_000
_ATOMS = (
    int, float, complex, bool, str, bytes, type(None), type(...), range, slice, types.CodeType,
    types.GetSetDescriptorType, types.MemberDescriptorType, types.WrapperDescriptorType,
)  # fmt: skip
#: Parts of TensorFlow whose objects hold a program's state; the rest is machinery.
_TENSORFLOW = (
    "tensorflow.python.keras", "tensorflow.python.trackable", "tensorflow.python.module",
    "tensorflow.python.training.tracking", "tensorflow.python.training.moving_averages",
    "tensorflow.python.ops.stateful_random_ops",
)  # fmt: skip
_STANDARD_FOLDER = os.path.dirname(os.__file__) + os.sep
#: Parts of the standard library whose objects are data.
_STANDARD = frozenset(
    "types argparse collections functools queue _queue weakref _weakrefset contextlib _thread _threading_local string"
    " configparser unittest".split()
)
_MEETING = frozenset(
    "Queue LifoQueue PriorityQueue SimpleQueue Event Condition Barrier Semaphore BoundedSemaphore Thread".split()
)
#: Packages whose objects are put back, but not compared.
_MACHINERY = (*LIBRARIES, "google", "absl", "numpy")
#: What Keras keeps outside of objects: (module, name).
_KERAS = (
    ("keras.src.backend.common.global_state", "GLOBAL_STATE_TRACKER"),
    ("keras.src.backend", "_SEED_GENERATOR"),
    ("keras.src.backend", "PER_GRAPH_OBJECT_NAME_UIDS"),
)


class Heap:
    """What the snapshots of one process have in common.

    Args:
        tensorflow, numpy: the imported modules.
        is_own: tells whether a module, by its name, is the program's.
        limit: bytes of arrays and variables that one snapshot may hold.
    """

    def __init__(self, tensorflow: Any, numpy: Any, is_own: Callable[[str], bool], limit: int) -> None:
        self.tf, self.np, self.is_own, self.limit = tensorflow, numpy, is_own, limit
        self._names: dict[types.CodeType, frozenset[str]] = {}
        self._descends: dict[type, int] = {}

    def globals(self) -> list[Any]:
        """State that Keras keeps in its modules, as far as they are loaded."""
        found = [getattr(sys.modules.get(module), name, None) for module, name in _KERAS]
        return [value for value in found if value is not None]

    def handlers(self) -> list[Any]:
        """What gets the messages of `logging` and is the program's, or a text in memory: no name leads there."""
        logging: Any = sys.modules.get("logging")
        known = [reference() for reference in list(getattr(logging, "_handlerList", ()))]
        own = [h for h in known if h is not None and self.is_own(type(h).__module__)]
        return own + [h.stream for h in known if isinstance(getattr(h, "stream", None), io.StringIO)]

    def names(self, code: types.CodeType) -> frozenset[str]:
        """The names that a function's code may look up in its globals."""
        found = self._names.get(code)
        if found is None:
            names = set(code.co_names)
            for constant in code.co_consts:
                if isinstance(constant, types.CodeType):
                    names |= self.names(constant)
            found = self._names[code] = frozenset(names)
        return found

    def is_pure(self, kind: type) -> bool:
        """Whether all attributes of a class's instances are the program's: no library keeps books in them."""
        mro = (c.__module__ for c in kind.__mro__ if c is not object)
        return all(self.is_own(m) or m.partition(".")[0] in _STANDARD for m in mro)

    def descends(self, kind: type) -> int:
        """How the attributes of a class's instances count: 2 compared, 1 put back alone (machinery), 0 not at all."""
        found = self._descends.get(kind)
        if found is None:
            found = self._descends[kind] = self._descend(kind)
        return found

    def _descend(self, kind: type) -> int:
        if any(self.is_own(c.__module__) for c in kind.__mro__ if c is not object):
            return 2
        module = kind.__module__ or ""
        root = module.partition(".")[0]
        if root in ("tensorflow", "numpy"):
            return int(module.startswith(_TENSORFLOW))
        if root in sys.stdlib_module_names:
            return 2 * int(root in _STANDARD)
        if module.startswith("_hybridize"):
            return 0
        return 1 if root.startswith(_MACHINERY) else 2


class Snapshot:
    """The state at one moment, of all that is reached from some named values.

    Attributes:
        variables: (path, variable) by identity.
        singles: (path, object): what can be read only once, and not be put back.
        meeting: the path of something that threads wait for each other with.
        truncated: whether there was more than is remembered.
    """

    def __init__(self, heap: Heap, roots: list[tuple[str, Any]], home: Any = None) -> None:
        self._heap, self._home = heap, home
        self._seen: dict[int, Any] = {}
        self._holders: list[Any] = []
        self._globals: dict[int, tuple[Any, str, set[str]]] = {}
        self._queue: collections.deque[tuple[str, Any]] = collections.deque()
        self._quiet: collections.deque[tuple[str, Any]] = collections.deque()
        self._bytes = 0
        self.positions: list[Position] = []
        self.singles: list[tuple[str, Any]] = []
        self._wires: list[tuple[str, Wire]] = []
        self.variables: dict[int, tuple[str, Any]] = {}
        self.paths: dict[int, str] = {}  # of lists, dictionaries and tensors
        self.tapes: list[Any] = []
        self.traces: list[Traces] = []
        self._caches: list[Cache] = []
        self.truncated = False
        self.meeting = ""
        for path, value in roots:
            self._later(path, value, True)
        for value in heap.handlers():
            self._later("logging", value, True)
        for value in heap.globals():
            self._later("keras", value, False)
        self._walk()
        self._holders += settings(heap.np)
        for mapping, prefix, names in self._globals.values():
            self._holders.append(Mapped(prefix, "{}{}", mapping, sorted(names), lambda n: not n.startswith("__")))

    def restore(self, caches: bool = True) -> None:
        """Puts everything back; without `caches` these keep what was put there."""
        for holder in self._holders:
            if caches or holder not in self._caches:
                with contextlib.suppress(Exception):  # an object of the program's that can't be written
                    holder.restore()

    def cached(self) -> bool:
        """Whether something was put into caches of `functools`."""
        return any(holder.grown() for holder in self._caches)

    def changes(self) -> Iterator[Change]:
        """What is not as it was and is compared between runs: path, before, now."""
        for holder in self._holders:
            with contextlib.suppress(Exception):  # an object of the program's that can't be read
                yield from [change for change in holder.changes() if not isinstance(change[2], Wire)]

    def atoms(self) -> Iterator[Any]:
        """The numbers, texts and identities that are compared, by holder."""
        for holder in self._holders:
            yield holder.path, *holder.atoms()

    def stand_in(self) -> dict[int, Any]:
        """Copies of iterators (or wires) take their places until `restore`; by the identity of the original."""
        found: dict[int, Any] = {}
        for position in self.positions:
            position.used = clone(position.value, found)
        for path, value in self.singles:
            wire = found[id(value)] = Wire(path, value)
            self._wires.append((path, wire))
        originals = [*(p.value for p in self.positions), *(v for _, v in self.singles)]
        for original in originals:
            self.replace(original, found[id(original)])
        return found

    def guard_tapes(self, tf: Any) -> dict[int, Any]:
        """Tapes that give no gradients, as in a graph, take the places of those that there are."""
        found: dict[int, Any] = {}
        for tape in self.tapes:
            found[id(tape)] = guarded_tape(tf, tape)
            self.replace(tape, found[id(tape)])
        return found

    def replace(self, value: Any, other: Any) -> None:
        """Another object takes the place of one until `restore`."""
        for holder in self._holders:
            holder.stand_in(value, other)

    def forget(self) -> None:
        """Lets go of everything."""
        self._seen.clear()
        self._holders.clear()
        self._globals.clear()
        self._queue.clear()
        self._quiet.clear()

    def tripped(self) -> str | None:
        """The path of what can be read only once and was touched."""
        return next((path for path, wire in self._wires if wire.hybridize_tripped), None)

    def _later(self, path: str, value: Any, loud: bool) -> None:
        if not isinstance(value, _ATOMS) and id(value) not in self._seen:
            (self._queue if loud else self._quiet).append((path, value))

    def _walk(self) -> None:
        """What is compared is reached first, so that it isn't taken for a library's machinery."""
        while self._queue or self._quiet:
            loud = bool(self._queue)
            path, value = (self._queue if loud else self._quiet).popleft()
            if id(value) in self._seen:
                continue
            if len(self._seen) >= OBJECTS or self._bytes > self._heap.limit:
                self.truncated = True
                return
            self._seen[id(value)] = value
            if loud and type(value).__name__ in _MEETING and type(value).__module__ in ("queue", "_queue", "threading"):
                self.meeting = self.meeting or path
            if isinstance(value, (list, dict, self._heap.tf.Tensor)):
                self.paths[id(value)] = path
            self._visit(path, value, loud)

    def _visit(self, path: str, value: Any, loud: bool) -> None:
        kind = type(value)
        if kind is types.FunctionType:
            self._function(path, value)
        elif kind is types.MethodType:
            self._later(path, value.__self__, loud)
            self._later(path, value.__func__, loud)
        elif kind in (types.BuiltinFunctionType, types.MethodWrapperType):
            if not isinstance(value.__self__, types.ModuleType):  # the `append` of a list, say
                self._later(path, value.__self__, loud)
        elif isinstance(value, type):
            self._class(path, value)
        elif kind is types.ModuleType:
            self._module(value)
        elif issubclass(kind, (list, collections.deque, dict, tuple, set, frozenset, functools.partial)):
            self._container(path, value, loud)
        elif issubclass(kind, self._heap.np.ndarray):
            self._array(path, value, loud)
        elif isinstance(value, self._heap.tf.Tensor):
            return
        elif is_variable(self._heap.tf, value):
            self._variable(path, value)
        elif kind is memoryview:
            self._later(path, value.obj, loud)
        elif moves(value):
            self._moving(path, value, loud)
        else:
            self._instance(path, value, loud)

    def _function(self, path: str, value: Any) -> None:
        # What wraps a function of the program's may say that it is of the same module.
        installed = value.__code__.co_filename.startswith(_STANDARD_FOLDER) or "-packages" in value.__code__.co_filename
        own = not installed and self._heap.is_own(getattr(value, "__module__", None) or "")
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()):
            holder = Cell(name, cell)
            if id(cell) not in self._seen:
                self._seen[id(cell)] = cell
                self._holders.append(holder)
                self._later(name, holder.saved, own)
        if not own:
            return
        for default in (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()):
            self._later(f"{value.__name__}'s default", default, True)
        if value.__dict__:
            self._holders.append(Mapped(value.__name__, "{}.{}", value.__dict__, None, _given))
            for name, each in value.__dict__.items():
                self._later(f"{value.__name__}.{name}", each, True)
        names = value.__globals__
        prefix = "" if names is self._home or self._home is None else f"{names.get('__name__')}."
        known = self._globals.setdefault(id(names), (names, prefix, set()))[2]
        for name in self._heap.names(value.__code__) - known:
            known.add(name)
            if name in names:
                self._later(f"{prefix}{name}", names[name], True)

    def _class(self, path: str, value: type) -> None:
        if not self._heap.is_own(value.__module__):
            return
        holder = Class_(value.__name__, value)
        self._holders.append(holder)
        for name, each in holder.saved.items():
            self._later(f"{value.__name__}.{name}", each, True)
        for each in list(vars(value).values()):
            each = getattr(each, "__func__", None) or getattr(each, "fget", None) or each
            if callable(each):
                self._later(path, each, True)
        for base in value.__bases__:
            self._later(path, base, True)

    def _module(self, value: Any) -> None:
        made = sys.modules.get(value.__name__) is not value and getattr(value, "__file__", None) is None
        if not (made or self._heap.is_own(value.__name__)):
            return
        names = vars(value)
        known = self._globals.setdefault(id(names), (names, f"{value.__name__}.", set()))[2]
        for name, each in list(names.items()):
            if not name.startswith("__"):
                known.add(name)
                self._later(f"{value.__name__}.{name}", each, True)

    def _container(self, path: str, value: Any, loud: bool) -> None:
        kind = type(value)
        if issubclass(kind, functools.partial):
            for each in (value.func, *value.args, *value.keywords.values()):
                self._later(path, each, loud)
        elif issubclass(kind, dict):
            self._holders.append(Mapped(path, "{}[{}]", value, None, lambda _: loud))
            for key, each in list(dict.items(value)):
                self._later(f"{path}[{key!r}]" if isinstance(key, (str, int)) else f"{path}[…]", each, loud)
                self._later(f"{path}[…]", key, loud)
        elif issubclass(kind, (set, frozenset)):
            if issubclass(kind, set):
                self._holders.append(Whole(path, lambda: set(value), lambda s: _refill(value, s), _same_set, loud))
            for each in list(value):
                self._later(f"{path}[…]", each, loud)
        else:
            if not issubclass(kind, tuple):
                self._holders.append(Sequence_(path, value, loud))
            for i, each in enumerate(list(value)):
                self._later(f"{path}[{i}]", each, loud)
        if getattr(value, "__dict__", None):
            self._attributes(path, value, loud)

    def _array(self, path: str, value: Any, loud: bool) -> None:
        np = self._heap.np
        self._bytes += value.nbytes
        if value.flags.writeable:
            same = _equal if value.dtype != object else _identical
            self._holders.append(
                Whole(path, value.copy, lambda saved: np.copyto(value, saved), lambda a, b: same(np, a, b), loud)
            )
        if value.dtype == object:
            for i, each in enumerate(value.reshape(-1).tolist()):
                self._later(f"{path}[{i}]", each, loud)

    def _variable(self, path: str, value: Any) -> None:
        self.variables[id(value)] = (path, value)
        with_size = getattr(value, "shape", None)
        if with_size is not None and with_size.rank is not None:
            self._bytes += int(self._heap.np.prod(with_size.as_list() or [1], dtype="float64")) * 4

    def _moving(self, path: str, value: Any, loud: bool) -> None:
        try:
            clone(value, {})
        except Unclonable:
            if type(value) is not types.GeneratorType or value.gi_frame is not None:
                self.singles.append((path, value))
            return
        position = Position(path, value, loud)
        self.positions.append(position)
        self._holders.append(position)
        self._behind(path, value, loud)

    def _behind(self, path: str, value: Any, loud: bool) -> None:
        """What an object of Python's own holds, in no attribute."""
        for each in gc.get_referents(value):
            if not isinstance(each, (type, types.ModuleType, types.FrameType)):
                self._later(path, each, loud)

    def _instance(self, path: str, value: Any, loud: bool) -> None:
        holder = special(self._heap.tf, self._heap.np, path, value, loud)
        if kind_name(value) == "GradientTape":
            self.tapes.append(value)
        if holder is not None:
            self._holders.append(holder)
            if isinstance(holder, Cache):
                self._caches.append(holder)
                self._later(path, getattr(value, "__wrapped__", None), loud)
            return
        if isinstance(value, io.IOBase):
            if is_read(value):
                self.singles.append((path, value))
            return
        if type(value).__module__.startswith("_hyb"):
            self._watched(path, value, loud)
            return
        how = self._heap.descends(type(value))
        if how:
            self._attributes(path, value, loud and how == 2)
        elif hasattr(value, "python_function"):
            self._hybrid(path, value, loud)
        elif is_bare(value):
            self._behind(path, value, loud)
        elif callable(value) and "__wrapped__" in getattr(value, "__dict__", ()):  # a custom gradient's, say
            self._later(path, value.__wrapped__, loud)

    def _hybrid(self, path: str, value: Any, loud: bool) -> None:
        """A hybrid function of the program's own: its traces, and what it wraps."""
        self._later(path, value.python_function, loud)
        try:
            holder = Traces(path, value)
        except AttributeError:  # another TensorFlow's
            return
        self.traces.append(holder)
        self._holders.append(holder)
        for each in list(value._descriptor_cache.values()):
            self._later(path, each, loud)

    def _watched(self, path: str, value: Any, loud: bool) -> None:
        """A watched function, or one that is bound to something: attributes that the program gave it, and these."""
        self._later(path, getattr(value, "__hybridize_function__", None), loud)
        names = getattr(value, "__dict__", {})
        if "__hybridize__" in names:
            self._holders.append(Mapped(path, "{}.{}", names, None, _given))
            for name, each in list(names.items()):
                if _given(name):
                    self._later(f"{path}.{name}", each, loud)
        else:
            self._later(path, getattr(value, "__self__", None), loud)

    def _attributes(self, path: str, value: Any, loud: bool) -> None:
        kind = type(value)
        own = self._heap.is_own
        pure = loud and self._heap.is_pure(kind)

        def counts(name: Any) -> bool:
            return pure or (loud and not (str(name).startswith("_") or name in BOOKKEEPING))

        names = getattr(value, "__dict__", None)
        if isinstance(names, dict):
            self._holders.append(Mapped(path, "{}.{}", names, None, counts))
            for name, each in list(names.items()):
                self._later(f"{path}.{name}", each, counts(name))
        for cls in kind.__mro__:
            for name, member in vars(cls).items():
                if isinstance(member, types.MemberDescriptorType):
                    self._slot(f"{path}.{name}", value, member, counts(name))
        if loud and own(kind.__module__):
            self._later(kind.__name__, kind, True)

    def _slot(self, path: str, value: Any, member: Any, loud: bool) -> None:
        try:
            content = member.__get__(value)
        except AttributeError:
            return
        try:
            member.__set__(value, content)
        except (AttributeError, TypeError):  # read-only: nothing changes
            self._later(path, content, loud)
            return
        self._holders.append(
            Whole(path, lambda: member.__get__(value), lambda v: member.__set__(value, v), lambda a, b: a is b, loud)
        )
        self._later(path, content, loud)


def _given(name: Any) -> bool:
    """Whether an attribute of a function is the program's: AutoGraph has `ag_dnc_wrapper__` and its like."""
    return not (str(name).startswith("_") or str(name).endswith("__"))


def _refill(value: set[Any], content: set[Any]) -> None:
    set.clear(value)
    set.update(value, content)


def _same_set(a: set[Any], b: set[Any]) -> bool:
    return len(a) == len(b) and {id(v) for v in a} == {id(v) for v in b}


def _identical(np: Any, a: Any, b: Any) -> bool:
    return a.shape == b.shape and all(x is y for x, y in zip(a.reshape(-1).tolist(), b.reshape(-1).tolist()))


def _equal(np: Any, a: Any, b: Any) -> bool:
    if a.shape != b.shape:
        return False
    return bool(np.array_equal(a, b)) or (a.dtype.kind in "fc" and bool(np.array_equal(a, b, equal_nan=True)))
