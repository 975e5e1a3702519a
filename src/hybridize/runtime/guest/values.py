"""Values as nested tuples that two runs can be compared by; arrays stay arrays.

The first item of a leaf is its kind: `T` a tensor, `V` a variable, `np` an array, `nps` a NumPy scalar, `py` a Python
value; others have nothing to compare but their type.
"""

from __future__ import annotations

import array
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from .moving import moves, place

#: Items of one container, and levels of nesting, that are described.
ITEMS, DEPTH = 2000, 8
SHOWN = 120  # characters of a value in a message
ARRAYS = frozenset({"T", "V", "np", "nps"})
MISSING = ("nothing",)

#: What Keras and TensorFlow keep on their objects for themselves: caches that need not be equal.
BOOKKEEPING = frozenset(
    "built history train_function test_function predict_function compiled_loss compiled_metrics stop_training"
    " distribute_strategy".split()
)

#: What TensorFlow and Keras put in the place of containers, to track what is in them.
_WRAPPERS = {
    "ListWrapper": "list", "_DictWrapper": "dict", "_TupleWrapper": "tuple",
    "TrackedList": "list", "TrackedDict": "dict", "TrackedSet": "set",
}  # fmt: skip

Described = Any  # nested tuples


class Describer:
    """Describes values.

    Args:
        tensorflow, numpy: the imported modules.
        is_own: tells whether a class was defined by the program.
    """

    def __init__(self, tensorflow: Any, numpy: Any, is_own: Callable[[type], bool]) -> None:
        self._tf = tensorflow
        self._np = numpy
        self._is_own = is_own
        self._open: set[int] = set()

    def describe(self, value: object, depth: int = 0) -> Described:
        """The description of a value. Never raises."""
        kind = type(value)
        if value is None or kind in (bool, int, float, complex, str, bytes):
            return ("py", kind.__name__, value)
        if depth > DEPTH:
            return ("deep", kind.__name__)
        if id(value) in self._open:
            return ("cycle",)
        self._open.add(id(value))
        try:
            return self._compound(value, depth + 1)
        except Exception as error:  # a deleted variable, a property that raises
            return ("unreadable", kind.__name__, type(error).__name__)
        finally:
            self._open.discard(id(value))

    def array(self, kind: str, array: Any, dtype: str | None = None) -> Described:
        """An array as a leaf."""
        array = self._np.asarray(array)
        return (kind, dtype or array.dtype.name, tuple(array.shape), array)

    def _compound(self, value: Any, depth: int) -> Described:
        tf, np = self._tf, self._np
        if isinstance(value, np.generic):
            return self.array("nps", value)
        if isinstance(value, np.ndarray):
            return self.array("np", value.copy())
        if isinstance(value, tf.Variable) or (hasattr(value, "assign") and hasattr(value, "numpy")):
            return self.array("V", value.numpy())
        if isinstance(value, tf.Tensor):
            return self._tensor(value)
        if isinstance(value, (str, bytes, int, float, complex)):
            return ("py", type(value).__name__, value)
        if isinstance(value, (bytearray, array.array)):
            return ("py", type(value).__name__, bytes(value))
        if isinstance(value, tf.TensorShape):
            return ("shape", None if value.rank is None else tuple(value.as_list()))
        if isinstance(value, tf.DType):
            return ("dtype", value.name)
        if isinstance(value, (list, tuple, set, frozenset, dict)) or type(value).__name__ in ("deque", "mappingproxy"):
            return self._container(value, depth)
        if isinstance(value, (FunctionType, MethodType, BuiltinFunctionType, type, ModuleType)):
            return ("callable",)
        if isinstance(value, tf.data.Dataset):
            return ("dataset", str(value.element_spec))
        if isinstance(value, BaseException):
            return ("exception", type(value).__name__)
        return self._object(value, depth)

    def _tensor(self, value: Any) -> Described:
        if not hasattr(value, "numpy"):
            return ("symbolic",)
        if value.dtype in (self._tf.resource, self._tf.variant):
            return ("opaque", "Tensor")
        return self.array("T", value.numpy(), value.dtype.name)

    def _container(self, value: Any, depth: int) -> Described:
        name = _WRAPPERS.get(type(value).__name__, type(value).__name__)
        if isinstance(value, (set, frozenset)):
            return ("set", tuple(sorted((self.describe(v, depth) for v in value), key=repr)), name)
        if hasattr(value, "items"):
            pairs = [(_key(k), self.describe(v, depth)) for k, v in list(value.items())[:ITEMS]]
            return ("dict", dict(pairs), name)
        fields = getattr(value, "_fields", None)
        items = [self.describe(v, depth) for v in list(value)[:ITEMS]]
        if fields is not None:
            return ("dict", dict(zip(map(str, fields), items)), name)
        return ("tuple" if isinstance(value, tuple) else "list", tuple(items), name)

    def _object(self, value: Any, depth: int) -> Described:
        tf, cls = self._tf, type(value)
        watched = cls.__module__.startswith("_hybridize") and cls.__name__ in ("Shadow", "Bound", "Timed")
        if watched or hasattr(cls, "python_function"):
            return ("callable",)  # a hybrid function, or a watched one
        if isinstance(value, tf.__internal__.CompositeTensor if hasattr(tf, "__internal__") else ()):
            parts = tf.nest.flatten(value, expand_composites=True)
            return ("composite", cls.__name__, tuple(self.describe(p, depth) for p in parts))
        if moves(value):
            return ("iterator", cls.__name__, place(value))
        own = self._is_own(cls)
        attributes: dict[str, Described] = {}
        if own:
            pure = all(self._is_own(c) or c is object for c in cls.__mro__)
            names = [n for n in attribute_names(value) if pure or not (n.startswith("_") or n in BOOKKEEPING)]
            attributes = {n: self.describe(getattr(value, n), depth) for n in sorted(names)}
        variables = getattr(value, "variables", None)
        if isinstance(variables, (list, tuple)):
            attributes["variables"] = ("list", tuple(self.describe(v, depth) for v in variables), "list")
        if attributes:
            return ("object", cls.__name__, attributes)
        return ("callable",) if callable(value) and not own else ("opaque", cls.__name__)


def attribute_names(value: object) -> Iterable[str]:
    """The names that the object itself has, in `__dict__` and slots."""
    names = list(getattr(value, "__dict__", ()))
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        names += [s for s in ([slots] if isinstance(slots, str) else slots) if hasattr(value, s)]
    return [n for n in names if not n.startswith("__")]


def _key(key: object) -> str:
    if isinstance(key, (str, int, float, bool, tuple, type(None))):
        return repr(key)
    return f"<{type(key).__name__}>"


def shown(value: Described) -> str:
    """A description for a person, shortened."""
    kind = value[0]
    if kind == "nothing":
        text = "nothing"
    elif kind in ARRAYS:
        array = value[3]
        items = array.item() if array.ndim == 0 else array.reshape(-1)[:6].tolist()
        more = ", …" if array.size > 6 else ""
        name = {"T": "tensor", "V": "variable", "np": "array", "nps": "scalar"}[kind]
        listed = f"[{', '.join(map(_short, items))}{more}]" if isinstance(items, list) else _short(items)
        text = f"{name} {value[1]}{list(value[2]) if value[2] else ''} {listed}"
    elif kind == "py":
        text = f"{value[1]} {value[2]!r}" if value[2] is not None else "None"
    elif kind == "symbolic":
        text = "a symbolic tensor"
    elif kind in ("list", "tuple", "dict", "set"):
        text = f"{value[2]} of {len(value[1])}"
    else:
        text = " ".join(str(part) for part in value[:2] if isinstance(part, str))
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def _short(item: Any) -> str:
    return f"{item:.7g}" if isinstance(item, float) else repr(item)
