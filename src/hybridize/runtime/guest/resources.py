"""State that is in no Python attribute: variables, tables, iterators over data, random numbers, open files."""

from __future__ import annotations

import array
import contextlib
import contextvars
import copy
import gc
import importlib
import io
import os
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .holders import Cache, Whole


def is_variable(tf: Any, value: Any) -> bool:
    """Whether it is a variable of TensorFlow's (Keras 3 wraps one, which is found inside)."""
    return isinstance(value, tf.Variable)


def kind_name(value: object) -> str:
    """The name of an object's class."""
    return type(value).__name__


@contextlib.contextmanager
def untaped(tf: Any) -> Iterator[None]:
    """No tape of this thread records what is done here."""
    for name in ("record", "tape"):
        try:
            module = importlib.import_module(f"tensorflow.python.eager.{name}")
        except ImportError:
            continue
        if hasattr(module, "stop_recording"):
            with module.stop_recording():
                yield
            return
    yield


@contextlib.contextmanager
def no_tapes() -> Iterator[None]:
    """The tapes that are open are put away meanwhile; others may be opened. Slow: all objects are looked through."""
    tapes = [o for o in gc.get_objects() if type(o).__name__ == "GradientTape" and getattr(o, "_recording", False)]
    for tape in reversed(tapes):
        tape._pop_tape()
    try:
        yield
    finally:
        for tape in tapes:
            tape._push_tape()


def taped() -> bool:
    """Whether a tape of this thread records."""
    for name in ("record", "tape"):
        try:
            module = importlib.import_module(f"tensorflow.python.eager.{name}")
        except ImportError:
            continue
        if hasattr(module, "could_possibly_record"):
            return bool(module.could_possibly_record())
    return False


class Variables:
    """The values of variables: reading is cheap, since a buffer is copied only when the variable is written."""

    def __init__(self, tf: Any, variables: dict[int, tuple[str, Any]]) -> None:
        self._tf = tf
        self.values: dict[int, tuple[str, Any, Any]] = {}
        for key, (path, variable) in variables.items():
            with contextlib.suppress(Exception):  # deleted, or not initialized
                self.values[key] = (path, variable, variable.read_value())

    def restore(self) -> None:
        """Writes the values back."""
        for _, variable, value in self.values.values():
            with contextlib.suppress(Exception):
                variable.assign(value)

    def now(self) -> dict[int, tuple[str, Any]]:
        """The paths and present values."""
        found = {}
        for key, (path, variable, _) in self.values.items():
            try:
                found[key] = (path, variable.read_value())
            except Exception:
                continue
        return found


def special(tf: Any, np: Any, path: str, value: Any, loud: bool) -> Any:
    """The holder of an object whose state is read and written as a whole; None for any other."""
    if isinstance(value, random.Random):
        return Whole(path, value.getstate, value.setstate, lambda a, b: a == b, loud)
    if isinstance(value, np.random.RandomState):
        state = value.get_state
        return Whole(path, lambda: copy.deepcopy(state(legacy=False)), value.set_state, _same_repr, loud)
    if isinstance(value, np.random.Generator):
        bits = value.bit_generator
        return Whole(path, lambda: copy.deepcopy(bits.state), lambda s: setattr(bits, "state", s), _same_repr, loud)
    if isinstance(value, (array.array, bytearray)):
        return Whole(path, lambda: value[:], lambda s: value.__setitem__(slice(None), s), lambda a, b: a == b, loud)
    if isinstance(value, contextvars.ContextVar):
        return _context_variable(path, value, loud)
    if type(value).__module__ == "sqlite3" and hasattr(value, "total_changes"):
        return _counted(f"{path}.total_changes", lambda: int(value.total_changes), loud)
    if type(value).__name__ == "SimpleQueue":
        return _simple_queue(path, value, loud)
    if type(value).__module__ == "mmap" and not value.closed:
        return Whole(path, lambda: value[:], lambda s: value.__setitem__(slice(None), s), _equals, loud)
    if isinstance(value, (io.StringIO, io.BytesIO)):
        return _memory_file(path, value, loud)
    if hasattr(value, "cache_clear") and hasattr(value, "cache_info"):
        return Cache(path, value)
    name = type(value).__name__
    if name in ("MutableHashTable", "DenseHashTable"):
        return Whole(
            path, lambda: value.export(), lambda s: _refill(value, s), lambda a, b: _same_tables(np, a, b), loud
        )
    if name == "GradientTape":
        return Whole(path, lambda: (value._tape, value._recording), lambda s: _retape(value, s), _same_items, False)
    if name == "OwnedIterator":
        return _iterator(tf, path, value)
    if isinstance(value, io.IOBase):
        return _file(path, value, loud)
    return None


def guarded_tape(tf: Any, tape: Any) -> Any:
    """The tape with all that it records, but whose gradients are None: asked in a graph it would be used up."""

    def none(this: Any, target: Any, sources: Any, *_: Any, **__: Any) -> Any:
        return tf.nest.map_structure(lambda _: None, sources)

    methods = dict.fromkeys(("gradient", "jacobian", "batch_jacobian"), none)
    kind: Any = type("GradientTape", (type(tape),), methods)
    other = object.__new__(kind)
    other.__dict__ = tape.__dict__
    return other


def _context_variable(path: str, value: Any, loud: bool) -> Any:
    try:
        value.get()
    except LookupError:  # there is no way to take a value away again
        return None
    return Whole(path, value.get, value.set, lambda a, b: a is b, loud)


def _counted(path: str, count: Callable[[], int], loud: bool) -> Whole:
    """What only grows: how much it did since the state was last put back, which the thing itself is not."""
    base = [count()]

    def back(grown: int) -> None:
        base[0] = count() - grown

    return Whole(path, lambda: count() - base[0], back, _equals, loud)


def _memory_file(path: str, value: Any, loud: bool) -> Any:
    """A text or bytes that are written like a file."""
    if value.closed:
        return None

    def put(state: Any) -> None:
        value.seek(0)
        value.truncate()
        value.write(state[0])
        value.seek(state[1])

    return Whole(path, lambda: (value.getvalue(), value.tell()), put, lambda a, b: a == b, loud)


def _retape(tape: Any, state: Any) -> None:
    """A tape that was used up records again."""
    if tape._recording:
        tape._pop_tape()
    tape._tape = state[0]
    if state[1]:
        tape._push_tape()


def _same_items(a: Any, b: Any) -> bool:
    return all(x is y for x, y in zip(a, b))


def _same_repr(a: Any, b: Any) -> bool:
    return repr(a) == repr(b)


def _refill(table: Any, content: Any) -> None:
    table.remove(table.export()[0])
    table.insert(*content)


def _same_tables(np: Any, a: Any, b: Any) -> bool:
    return all(sorted(map(str, x.numpy().tolist())) == sorted(map(str, y.numpy().tolist())) for x, y in zip(a, b))


def _iterator(tf: Any, path: str, value: Any) -> Any:
    """The position of an iterator over a dataset, by TensorFlow's own checkpoints of it."""
    try:
        ops = importlib.import_module("tensorflow.python.ops.gen_dataset_ops")
        resource = value._iterator_resource

        def save() -> Any:
            return ops.serialize_iterator(resource, external_state_policy=1)

        save()
        return Whole(path, save, lambda s: ops.deserialize_iterator(resource, s), lambda a, b: False, False)
    except Exception:
        return None


def is_read(value: Any) -> bool:
    """Whether a file is open for reading, and its place can't be told: what was read is gone."""
    try:
        if value.closed or not value.readable() or isinstance(value, (io.StringIO, io.BytesIO)):
            return False
        value.tell()
    except (OSError, ValueError, AttributeError):
        return value not in (sys.stdin, sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__, sys.__stdin__)
    return False


def _place(path: str, value: Any, loud: bool) -> Any:
    """A file that is open for reading: where it is read."""
    try:
        if value.closed or not value.readable() or not value.seekable():
            return None
        value.tell()
    except (OSError, ValueError, AttributeError):
        return None

    def get() -> Any:
        try:
            return value.tell()
        except (OSError, ValueError):  # a line was read by `next`
            return None

    return Whole(path, get, value.seek, _equals, loud)


def _simple_queue(path: str, value: Any, loud: bool) -> Whole:
    def get() -> list[Any]:
        items = []
        while not value.empty():
            items.append(value.get_nowait())
        put(items, filled=False)
        return items

    def put(items: list[Any], filled: bool = True) -> None:
        while filled and not value.empty():
            value.get_nowait()
        for item in items:
            value.put(item)

    return Whole(path, get, put, lambda a, b: len(a) == len(b) and _same_items(a, b), loud)


def _file(path: str, value: Any, loud: bool) -> Any:
    """A regular file that is open for writing: how long it is."""
    try:
        if value.closed or not os.path.isfile(value.name):
            return None
        if not value.writable():
            return _place(path, value, loud)
        value.flush()

        def get() -> Any:
            value.flush()
            return (os.fstat(value.fileno()).st_size, value.tell())

        def put(state: Any) -> None:
            value.flush()
            os.ftruncate(value.fileno(), state[0])
            value.seek(state[1])

        return Whole(path, get, put, lambda a, b: a == b, loud)
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def settings(np: Any) -> list[Whole]:
    """Holders of what is one for the whole process, and reached by no name."""
    found = [
        Whole("os.environ", lambda: dict(os.environ), _set_environment, _equals),
        Whole("numpy.geterr()", np.geterr, lambda s: np.seterr(**s), _equals),
    ]
    with contextlib.suppress(OSError):  # the folder was removed
        found.append(Whole("os.getcwd()", os.getcwd, os.chdir, _equals))
    backend: Any = sys.modules.get("keras.src.backend.config") or sys.modules.get("keras.src.backend")
    if hasattr(backend, "floatx") and hasattr(backend, "set_floatx"):
        found.append(Whole("keras.backend.floatx()", backend.floatx, backend.set_floatx, _equals))
    return found


def _set_environment(saved: dict[str, str]) -> None:
    for name in [n for n in os.environ if n not in saved]:
        del os.environ[name]
    for name, value in saved.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def _equals(a: Any, b: Any) -> bool:
    return bool(a == b)


class Randomness:
    """The global streams of random numbers: Python's, NumPy's, and the seeds of TensorFlow's eager operations."""

    def __init__(self, np: Any) -> None:
        self._np = np
        self._python = random.getstate()
        self._numpy = np.random.get_state()
        self._context = _context()
        rng = getattr(self._context, "_rng", None)
        self._tensorflow = (getattr(self._context, "_seed", None), rng, rng.getstate() if rng is not None else None)

    def reseeded(self) -> bool:
        """Whether `tf.random.set_seed` was called since."""
        return getattr(self._context, "_rng", None) is not self._tensorflow[1]

    def moved(self) -> tuple[bool, bool]:
        """Whether Python's and NumPy's streams stand elsewhere since."""
        return random.getstate() != self._python, not _same_repr(self._np.random.get_state(), self._numpy)

    def restore(self) -> None:
        """As they were."""
        random.setstate(self._python)
        self._np.random.set_state(self._numpy)
        seed, rng, state = self._tensorflow
        if self._context is not None and hasattr(self._context, "_rng"):
            self._context._seed, self._context._rng = seed, rng
            if rng is not None:
                rng.setstate(state)


def global_seed() -> int | None:
    """The one of `tf.random.set_seed`, if it was called."""
    seed = getattr(_context(), "_seed", None)
    return None if seed is None else int(seed)


def _context() -> Any:
    module = sys.modules.get("tensorflow.python.eager.context")
    return module.context() if module is not None else None


class AlignedSeeds:
    """A context in which TensorFlow's stateful random operations get seeds by the order in which they are made.

    So an eager run and a trace draw the same numbers, as long as both make the same operations in the same order.
    """

    _salt = 0

    def __enter__(self) -> None:
        self._number = 0
        module: Any = importlib.import_module("tensorflow.python.framework.random_seed")
        self._module, self._original = module, module.get_seed
        module.get_seed = self._next

    def __exit__(self, *_: object) -> None:
        self._module.get_seed = self._original

    @classmethod
    def renew(cls) -> None:
        """Other seeds from now on: kernels that are kept between calls go on where they stopped."""
        cls._salt += 1

    def _next(self, op_seed: Any) -> tuple[int, int]:
        self._number += 1
        return 87_654_321 + self._salt, self._number
