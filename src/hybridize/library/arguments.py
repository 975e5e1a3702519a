"""The arguments of a call by name, and as the tensors, dims, numbers and dtypes that rules ask for.

`Unsure` is raised where the program does not determine what is asked for, `Impossible` where TensorFlow would raise.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache, reduce
from typing import Any, Final

from hybridize.domain.objects import BOTTOM, NONE, Container, Lit, Obj, Prim, Stream, Tensor, Tup, Value, tensor
from hybridize.domain.tensors import (
    DENSE,
    DYNAMIC,
    NDARRAY,
    RAGGED,
    SPARSE,
    SYMBOLIC,
    UNRESOLVED,
    Dim,
    Shape,
    join_shapes,
)
from hybridize.library.arithmetic import promoted
from hybridize.library.convert import PYTHON_NP, PYTHON_TF, alike, dtype_of, narrowed
from hybridize.library.index import lookup
from hybridize.library.lengths import length_of
from hybridize.library.spec import Call
from hybridize.records import dataclass

#: What a dim argument says with -1: the rest of the elements.
INFER: Final = -3
#: A sequence of alike elements is spelled out up to this length.
_MOST_ALIKE: Final = 64
_MAX_DEPTH: Final = 4
#: So many alternatives of a value are looked at; the cost of nested ones multiplies.
_MAX_ALTERNATIVES: Final = 6


class Unsure(Exception):
    """The program, as far as it is known, does not determine this part of a type."""


class Impossible(Exception):
    """TensorFlow would raise for these arguments."""


#: What a rule raises that cannot tell: one that asks for dims, or for words of a table, that are not there cannot.
CANNOT_TELL: Final = (Unsure, LookupError, ValueError)


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument as the tensor that it is, or that it is converted to.

    `weak`: made from Python values or NumPy arrays, so that its dtype gives way to that of the other operands.
    """

    dtype: str | None
    shape: Shape
    kind: str = DENSE
    content: Shape = None
    weak: bool = False
    python: str | None = None

    @property
    def known(self) -> tuple[Dim, ...]:
        """The shape, or `Unsure` if the rank is unknown."""
        if self.shape is None:
            raise Unsure
        return self.shape

    @property
    def rank(self) -> int:
        """The rank, or `Unsure`."""
        return len(self.known)


NOTHING: Final = Operand(None, None)


@cache
def positions(name: str) -> dict[str, tuple[int, str | None]]:
    """Position and default of each parameter of a library callable, of all its releases; -1 for keyword-only ones."""
    entry = lookup(name)
    found: dict[str, tuple[int, str | None]] = {}
    if entry is not None:
        for parameters in (entry.parameters or (), *entry.alternatives):
            for i, p in enumerate(parameters):
                if not p.kind.startswith("var") and p.name not in found:
                    found[p.name] = (i if p.kind != "keyword_only" else -1, p.default)
    return found


@cache
def first_parameter(name: str) -> str:
    """The name of the first positional parameter."""
    return next((p for p, (i, _) in positions(name).items() if i == 0), "x")


@cache
def _traits(name: str) -> tuple[dict[str, tuple[int, str | None]], bool, bool]:
    """The parameters of a library callable, whether it is NumPy's, and whether it promotes as NumPy does."""
    numpy = name.startswith("np.")
    return positions(name), numpy, numpy or name.startswith("tf.experimental.numpy.")


class Args:
    """The arguments of a call, by parameter name; several names mean the first that is given."""

    __slots__ = ("call", "kinds", "name", "numpy", "operands", "promotes", "slots")

    def __init__(self, call: Call, name: str = "", parameters: tuple[str, ...] = ()) -> None:
        self.call = call
        self.name = name or call.name
        self.slots, self.numpy, self.promotes = _traits(self.name)
        if parameters:
            self.slots = {p: (i, None) for i, p in enumerate(parameters)}
        self.kinds: list[str] = []
        self.operands: dict[Value, Operand] = {}  # the rules of dtype and shape ask for the same ones

    def value(self, *names: str) -> Value:
        """What is given for a parameter; bottom if nothing is."""
        call = self.call
        for name in names:
            slot = self.slots.get(name, (-1, None))[0]
            if 0 <= slot < len(call.args):
                return call.args[slot]
            if name in call.kwargs:
                return call.kwargs[name]
        if call.rest:
            raise Unsure
        return BOTTOM

    def given(self, *names: str) -> bool:
        """Whether something else than None is given."""
        value = self.value(*names)
        return bool(value) and not (len(value) == 1 and NONE in value)

    def object(self, *names: str) -> Obj | None:
        """The one object that is given, or None; `Unsure` if there are several."""
        value = self.value(*names)
        if len(value) > 1:
            raise Unsure
        return next(iter(value), None)

    @property
    def first(self) -> str:
        """The name of the first parameter."""
        return first_parameter(self.name)

    def constant(self, *names: str, default: Any = None) -> Any:
        """The constant that is given, or the default; `Unsure` if it is not a known constant."""
        obj = self.object(*names)
        if obj is None:
            return default
        if isinstance(obj, Lit):
            return obj.const
        if isinstance(obj, Tensor) and obj.shape == () and obj.content and obj.content[0] >= 0:
            return obj.content[0]
        raise Unsure

    def integer(self, *names: str, default: int | None = None) -> int:
        """An int; `Unsure` if it is not known."""
        const = self.constant(*names, default=default)
        if not isinstance(const, int):
            raise Unsure
        return const

    def flag(self, *names: str, default: bool = False) -> bool:
        """Whether a constant is true."""
        return bool(self.constant(*names, default=default))

    def integers(self, *names: str, default: Iterable[int] | None = None) -> tuple[int, ...] | None:
        """One int or a sequence of ints as a tuple; None if nothing or None is given; `Unsure` if not known."""
        obj = self.object(*names)
        if obj is None:
            return None if default is None else tuple(default)
        return None if obj is NONE else self.integers_of(obj)

    def integers_of(self, obj: Obj) -> tuple[int, ...]:
        """The ints that an object spells."""
        return tuple(_integer(item) for item in self.items_of(obj))

    def items_of(self, obj: Obj) -> list[Value]:
        """The elements of a sequence of known length; a scalar counts as one element."""
        match obj:
            case Tup():
                return list(obj.items)
            case Container(kind="list" | "deque"):
                if not self.call.is_exact(obj):
                    return self._alike(obj)
                return self.call.read_all(obj)
            case Stream(kind="tuple" | "range"):
                return self._alike(obj)
            case Tensor(content=content) if content is not None:
                return [tensor(DENSE, "int32", (), (d,)).value for d in content]
            case Lit() | Prim():
                return [obj.value]
        raise Unsure

    def _alike(self, obj: Obj) -> list[Value]:
        """The elements of a sequence of which only the number is known."""
        length = length_of(self.call.engine, self.call.frame, obj.value)
        if length is None or length > _MOST_ALIKE:
            raise Unsure
        return [self.call.elements(obj.value)] * length

    def dims(self, *names: str) -> tuple[Dim, ...]:
        """A shape argument: dims, with INFER for -1; `Unsure` if its rank is not known."""
        obj = self.object(*names)
        if obj is None:
            raise Unsure
        return self.dims_of(obj)

    def dims_of(self, obj: Obj) -> tuple[Dim, ...]:
        """The dims that an object spells, with INFER for -1."""
        if isinstance(obj, Tensor):
            if obj.content is not None:
                return obj.content
            if obj.shape is not None and len(obj.shape) == 1 and obj.shape[0] >= 0:
                return (DYNAMIC if obj.kind != NDARRAY else UNRESOLVED,) * obj.shape[0]
            if obj.shape == ():
                return (DYNAMIC if obj.kind != NDARRAY else UNRESOLVED,)
            raise Unsure
        return tuple(_dim(item) for item in self.items_of(obj))

    def tensor(self, *names: str) -> Operand:
        """An argument as a tensor. `Impossible` if it is not given or None."""
        value = self.value(*names)
        if not value or (len(value) == 1 and NONE in value):
            raise Impossible
        return self.operand(value)

    def nth(self, index: int) -> Operand:
        """An argument by position, whatever its name."""
        if index < len(self.call.args):
            return self.operand(self.call.args[index])
        name = next((p for p, (i, _) in self.slots.items() if i == index), "")
        return self.tensor(name)

    def optional(self, *names: str) -> Operand | None:
        """An argument as a tensor, None if it is not given."""
        return self.tensor(*names) if self.given(*names) else None

    def operand(self, value: Value) -> Operand:
        """A value as a tensor."""
        made = self.operands.get(value)
        if made is None:
            made = self.operands[value] = self._of(value, 0)
        self.kinds.append(made.kind)
        return made

    def tensors(self, *names: str) -> list[Operand]:
        """A sequence of tensors; one tensor counts as its slices. `Unsure` if its length is not known."""
        obj = self.object(*names)
        if obj is None or obj is NONE:
            raise Impossible
        if isinstance(obj, Tensor):
            self.kinds.append(obj.kind)
            if obj.shape and obj.shape[0] >= 0:
                return [Operand(obj.dtype, obj.shape[1:], obj.kind)] * obj.shape[0]
            raise Unsure
        return [self.operand(item) for item in self.items_of(obj)]

    def every(self, *names: str) -> Operand:
        """What the elements of a sequence of unknown length have in common."""
        value = self.value(*names)
        return self.operand(self.call.elements(value))

    def _of(self, value: Value, depth: int) -> Operand:
        value = alike(value) if len(value) > 1 else value
        if len(value) == 1:
            return self._object(next(iter(value)), depth)
        if len(value) > (_MAX_ALTERNATIVES if depth == 0 else 2):
            return NOTHING
        found = [self._object(obj, depth) for obj in sorted(value, key=repr) if obj is not NONE]
        return _merged(found)

    def _object(self, obj: Obj, depth: int) -> Operand:
        match obj:
            case Tensor() | Lit() | Prim():
                return _plain(obj, self.promotes)
            case Tup() | Container(kind="list" | "deque") if depth < _MAX_DEPTH:
                return self._sequence(obj, PYTHON_NP if self.promotes else PYTHON_TF, depth)
            case Stream(kind="tuple" | "range" | "TensorShape"):
                inner = self._of(obj.element, depth + 1)
                length = length_of(self.call.engine, self.call.frame, obj.value)
                rows = UNRESOLVED if length is None else length
                return Operand(inner.dtype, None if inner.shape is None else (rows, *inner.shape), weak=True)
        return NOTHING

    def _sequence(self, obj: Obj, table: dict[str, str], depth: int) -> Operand:
        try:
            items = self.items_of(obj)
        except Unsure:
            inner = self._of(self.call.elements(obj.value), depth + 1)
            length = length_of(self.call.engine, self.call.frame, obj.value)
            shape = None if inner.shape is None else (UNRESOLVED if length is None else length, *inner.shape)
            dtype = narrowed(inner.dtype) if inner.weak and not self.promotes else inner.dtype
            return Operand(dtype, shape, inner.kind if inner.kind == SYMBOLIC else DENSE, weak=inner.weak)
        if not items:
            return Operand(table["float"], (0,), weak=True)
        found = [self._of(item, depth + 1) for item in items]
        strong = [f.dtype for f in found if not f.weak]
        if self.promotes:
            dtype = reduce(promoted, [f.dtype for f in found])  # `np.array([float32_scalar, 1.0])` is float64
        else:
            dtypes = set(strong or [narrowed(f.dtype) for f in found])
            dtype = next(iter(dtypes)) if len(dtypes) == 1 else None
            if not strong and dtypes == {table["int"], table["float"]}:
                dtype = table["float"]
        inner_shape = found[0].shape
        for f in found[1:]:
            inner_shape = join_shapes(inner_shape, f.shape)
        content = None
        if inner_shape == () and all(f.content is not None for f in found):
            content = tuple(f.content[0] for f in found if f.content)
        kind = SYMBOLIC if any(f.kind == SYMBOLIC for f in found) else DENSE
        return Operand(dtype, None if inner_shape is None else (len(items), *inner_shape), kind, content, not strong)

    def dtype(self, *names: str, default: str | None = None) -> str | None:
        """The dtype that an argument names; the default if none is given."""
        value = self.value(*names)
        if not value or (len(value) == 1 and NONE in value):
            return default
        return dtype_of(value, tensorflow=not self.promotes)

    def kind(self) -> str:
        """The kind of a result that stays what its operands are."""
        for kind in (SYMBOLIC, RAGGED, SPARSE):
            if kind in self.kinds:
                return kind
        return NDARRAY if self.numpy else DENSE

    def result(self, dtype: str | None, shape: Shape, content: Shape = None) -> Value:
        """A tensor as the result."""
        kind = self.kind()
        if kind in (RAGGED, SPARSE):
            return tensor(kind, dtype, None).value
        return tensor(kind, dtype, shape, content).value


@lru_cache(maxsize=4096)
def _plain(obj: Tensor | Lit | Prim, promotes: bool) -> Operand:
    """A tensor, array or Python constant as an operand; `promotes`: as NumPy does."""
    if isinstance(obj, Tensor):
        weak = obj.kind == NDARRAY and not promotes
        return Operand(obj.dtype, obj.shape, obj.kind, obj.content, weak)
    const = obj.const if isinstance(obj, Lit) and obj.kind == "int" else None
    dtype = (PYTHON_NP if promotes else PYTHON_TF).get(obj.kind)
    if dtype == "int32" and const is not None and not -(2**31) <= const < 2**31:
        dtype = None
    content = (const,) if const is not None and const >= 0 else None
    return Operand(dtype, (), DENSE, content, True, obj.kind) if dtype else NOTHING


def _integer(value: Value) -> int:
    if len(value) == 1:
        (obj,) = value
        if isinstance(obj, Lit) and isinstance(obj.const, int):
            return int(obj.const)
        if isinstance(obj, Tensor) and obj.shape == () and obj.content and obj.content[0] >= 0:
            return obj.content[0]
    raise Unsure


def _dim(value: Value) -> Dim:
    if len(value) == 1:
        (obj,) = value
        if isinstance(obj, Lit):
            if isinstance(obj.const, int):
                return obj.const if obj.const >= 0 else INFER
            if obj is NONE:
                return DYNAMIC
        if isinstance(obj, Tensor) and obj.content and len(obj.content) == 1:
            return obj.content[0]
        if isinstance(obj, Tensor) and obj.kind != NDARRAY:
            return DYNAMIC
    return UNRESOLVED


def _merged(found: list[Operand]) -> Operand:
    if not found:
        return NOTHING
    first = found[0]
    dtype, shape, kind = first.dtype, first.shape, first.kind
    for other in found[1:]:
        dtype = dtype if dtype == other.dtype else None
        shape = join_shapes(shape, other.shape)
        kind = kind if kind == other.kind else DENSE
    return Operand(dtype, shape, kind, None, all(f.weak for f in found))
