"""Any value -> plain nested lists that travel as JSON, so that two runs can be compared without TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

#: Elements of one tensor that are kept; of a larger one, these and two sums.
ELEMENTS = 4096
#: Items of one container, and levels of nesting, that are kept.
ITEMS, DEPTH = 1000, 6
#: What Keras and TensorFlow keep on their objects for themselves: caches that need not be equal.
BOOKKEEPING = frozenset(
    "built history train_function test_function predict_function compiled_loss compiled_metrics stop_training"
    " distribute_strategy".split()
)

Plain = Any  # nested lists of str, int, float, bool and None


class Describer:
    """Describes the values of one run.

    `tensorflow` and `numpy` are the imported modules; `is_own` tells whether a class was defined by the program;
    `text` makes a string independent of the run (its folder).
    """

    def __init__(self, tensorflow: Any, numpy: Any, is_own: Callable[[type], bool], text: Callable[[str], str]) -> None:
        self._tf = tensorflow
        self._np = numpy
        self._is_own = is_own
        self._text = text
        self._open: set[int] = set()

    def describe(self, value: object, depth: int = 0) -> Plain:
        """The description of a value: a list that starts with its kind. Never raises."""
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return self._primitive(value)
        if depth > DEPTH:
            return ["deep", type(value).__name__]
        if id(value) in self._open:
            return ["cycle"]
        self._open.add(id(value))
        try:
            return self._compound(value, depth + 1)
        except Exception as error:  # a deleted variable, a property that raises
            return ["unreadable", type(value).__name__, type(error).__name__]
        finally:
            self._open.discard(id(value))

    def _primitive(self, value: Any) -> Plain:
        kind = type(value).__name__
        if isinstance(value, self._np.generic):
            return ["nps", *self._elements(self._np.asarray(value))]
        if isinstance(value, complex):
            return ["py", kind, [value.real, value.imag]]
        if isinstance(value, bytes):
            return ["py", kind, value.decode("latin-1")]
        if isinstance(value, str):
            return ["py", kind, self._text(str(value))]
        return ["py", kind, value if isinstance(value, float) or abs(value or 0) < 2**63 else str(value)]

    def _compound(self, value: Any, depth: int) -> Plain:
        tf, np = self._tf, self._np
        if isinstance(value, np.generic):
            return ["nps", *self._elements(np.asarray(value))]
        if isinstance(value, np.ndarray):
            return ["np", *self._elements(value)]
        if isinstance(value, tf.Variable) or (hasattr(value, "assign") and hasattr(value, "numpy")):
            return ["V", *self._elements(value.numpy())]
        if isinstance(value, tf.Tensor):
            return self._tensor(value)
        if isinstance(value, tf.TensorShape):
            return ["shape", None if value.rank is None else value.as_list()]
        if isinstance(value, tf.DType):
            return ["dtype", value.name]
        if isinstance(value, (list, tuple, set, frozenset, dict)) or type(value).__name__ in ("deque", "mappingproxy"):
            return self._container(value, depth)
        if isinstance(value, (FunctionType, MethodType, BuiltinFunctionType, type, ModuleType)):
            return ["callable"]
        if isinstance(value, tf.data.Dataset):
            return ["dataset", str(value.element_spec)]
        if isinstance(value, BaseException):
            return ["exception", type(value).__name__]
        return self._object(value, depth)

    def _tensor(self, value: Any) -> Plain:
        if not hasattr(value, "numpy"):
            return ["symbolic"]
        if value.dtype in (self._tf.resource, self._tf.variant):
            return ["opaque", "Tensor"]
        return ["T", *self._elements(value.numpy(), value.dtype.name)]

    def _elements(self, array: Any, dtype: str | None = None) -> list[Plain]:
        np = self._np
        array = np.asarray(array)
        if array.dtype.kind == "V" or array.dtype.name == "bfloat16":
            array = array.astype("float32")
        flat = array.reshape(-1)
        sums: list[float] = []
        if flat.size > ELEMENTS and flat.dtype.kind in "fiub":
            sums = [float(np.sum(flat, dtype="float64")), float(np.sum(np.abs(flat), dtype="float64"))]
        items = flat[:ELEMENTS].tolist()
        return [dtype or array.dtype.name, list(array.shape), [_element(i) for i in items] + sums]

    def _container(self, value: Any, depth: int) -> Plain:
        if isinstance(value, (set, frozenset)):
            return ["set", sorted((self.describe(v, depth) for v in value), key=repr)]
        if hasattr(value, "items"):
            pairs = [[self._key(k), self.describe(v, depth)] for k, v in list(value.items())[:ITEMS]]
            return ["dict", sorted(pairs, key=lambda p: str(p[0])), len(value)]
        fields = getattr(value, "_fields", None)
        items = [self.describe(v, depth) for v in list(value)[:ITEMS]]
        if fields is not None:
            return ["dict", [list(p) for p in zip(map(str, fields), items, strict=True)], type(value).__name__]
        return ["tuple" if isinstance(value, tuple) else "list", items, len(value)]

    def _key(self, key: object) -> str:
        if isinstance(key, (str, int, float, bool, tuple, type(None))):
            return self._text(repr(key))
        return f"<{type(key).__name__}>"

    def _object(self, value: Any, depth: int) -> Plain:
        tf, cls = self._tf, type(value)
        if isinstance(value, tf.__internal__.CompositeTensor if hasattr(tf, "__internal__") else ()):
            parts = tf.nest.flatten(value, expand_composites=True)
            return ["composite", cls.__name__, [self.describe(p, depth) for p in parts]]
        own = self._is_own(cls)
        pure = own and all(self._is_own(c) or c is object for c in cls.__mro__)
        attributes: list[Plain] = []
        if own:
            names = [n for n in _attribute_names(value) if pure or not (n.startswith("_") or n in BOOKKEEPING)]
            attributes = [[n, self.describe(getattr(value, n), depth)] for n in sorted(names)]
        variables = getattr(value, "variables", None)
        if isinstance(variables, (list, tuple)):
            attributes.append(["variables", ["list", [self.describe(v, depth) for v in variables], len(variables)]])
        if attributes:
            return ["object", cls.__name__, attributes]
        return ["callable"] if callable(value) and not own else ["opaque", cls.__name__]


def _attribute_names(value: object) -> Iterable[str]:
    names = list(getattr(value, "__dict__", ()))
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        names += [s for s in ([slots] if isinstance(slots, str) else slots) if hasattr(value, s)]
    return [n for n in names if not n.startswith("__")]


def _element(item: object) -> Plain:
    if isinstance(item, bytes):
        return item.decode("latin-1")
    if isinstance(item, complex):
        return [item.real, item.imag]
    return item if isinstance(item, (bool, int, float, str)) else repr(item)
