"""Input signatures from what calls pass: a spec for each tensor parameter, or the reasons why there is none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from hybridize.domain.objects import NONE, Container, Lit, Obj, Prim, Tensor, Tup, Unknown, Value
from hybridize.domain.tensors import BATCH, DENSE, DYNAMIC, NDARRAY, RAGGED, SPARSE, SYMBOLIC, VARIABLE, Dim
from hybridize.records import dataclass, field, replace

_DENSE: Final = frozenset({DENSE, NDARRAY, SYMBOLIC})
_CLASSES: Final = {DENSE: "TensorSpec", SPARSE: "SparseTensorSpec", RAGGED: "RaggedTensorSpec"}
_DTYPES: Final = frozenset(
    "bool string float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "complex64 complex128".split()
)


@dataclass(frozen=True, slots=True)
class Leaf:
    """One tensor: `shape` None for any rank, a dim None for any size."""

    kind: str
    dtype: str
    shape: tuple[int | None, ...] | None

    def __str__(self) -> str:
        shape = "None" if self.shape is None else f"[{', '.join(map(str, self.shape))}]"
        return f"tf.{_CLASSES[self.kind]}({shape}, tf.{self.dtype})"

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Itself."""
        return (self,)

    @property
    def loose(self) -> Leaf:
        """The same for any number of whatever it holds: only the last axis of several says what these are."""
        shape = self.shape
        return self if not shape else replace(self, shape=(*[None] * max(len(shape) - 1, 1), *shape[1:][-1:]))


@dataclass(frozen=True, slots=True)
class Nest:
    """A tuple or list of fixed length."""

    is_list: bool
    items: tuple[Spec, ...]

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.items))
        if self.is_list:
            return f"[{inner}]"
        return f"({inner},)" if len(self.items) == 1 else f"({inner})"

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The tensors inside."""
        return tuple(leaf for item in self.items for leaf in item.leaves)

    @property
    def loose(self) -> Nest:
        """The same with loose items."""
        return replace(self, items=tuple(item.loose for item in self.items))


@dataclass(frozen=True, slots=True)
class Keyed:
    """A dictionary with these texts as keys, and no other."""

    keys: tuple[str, ...]
    items: tuple[Spec, ...]

    def __str__(self) -> str:
        pairs = zip(self.keys, self.items, strict=True)
        return "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {item}" for key, item in pairs) + "}"

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The tensors inside."""
        return tuple(leaf for item in self.items for leaf in item.leaves)

    @property
    def loose(self) -> Keyed:
        """The same with loose items."""
        return replace(self, items=tuple(item.loose for item in self.items))


Spec: TypeAlias = Leaf | Nest | Keyed


@dataclass(slots=True)
class Signature:
    """The specs by position; `problems` are the reasons why it cannot be written.

    `traces` are the most graphs that the calls seen need for one tensor without a signature (infinite: one each).
    """

    specs: list[Spec] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    traces: float = 1.0
    ranks_differ: bool = False

    @property
    def leaves(self) -> list[Leaf]:
        """All tensors."""
        return [leaf for spec in self.specs for leaf in spec.leaves]

    @property
    def loose(self) -> Signature:
        """The same for other sizes than those of the calls seen: what a setting says is no part of a contract."""
        return replace(self, specs=[spec.loose for spec in self.specs])

    @property
    def source(self) -> str:
        """The source text of the argument."""
        return f"[{', '.join(map(str, self.specs))}]"


def spec_of(values: Sequence[Value], name: str, result: Signature, *, any_batch: bool = False) -> Spec | None:
    """The spec that accepts all these values of a parameter; None, with problems in the result, where there is none."""
    objects = list(dict.fromkeys(obj for value in values for obj in sorted(value, key=repr)))
    if any(isinstance(o, Unknown) for o in objects) or not objects:
        result.problems.append(f"not known what `{name}` receives")
    elif any(o is NONE for o in objects):
        result.problems.append(f"`{name}` is None in some call")
    elif any(isinstance(o, (Lit, Prim)) for o in objects):
        result.problems.append(f"`{name}` receives Python values")
    elif all(isinstance(o, Tensor) for o in objects):
        return _leaf([o for o in objects if isinstance(o, Tensor)], name, result, any_batch)
    else:
        return _nest(objects, name, result, any_batch)
    return None


def _nest(objects: Sequence[Obj], name: str, result: Signature, any_batch: bool) -> Spec | None:
    if all(isinstance(o, Container) and o.kind == "dict" for o in objects):
        return _dictionary([o for o in objects if isinstance(o, Container)], name, result, any_batch)
    rows = [_items(o) for o in objects]
    kinds = {isinstance(o, Tup) for o in objects}
    known = [row for row in rows if row is not None]
    if len(known) != len(rows) or len(kinds) != 1:
        result.problems.append(f"`{name}` receives structures that a signature does not describe")
        parts = [list(o.items) for o in objects if isinstance(o, Tup)]
        if len(parts) == len(objects) and len({len(row) for row in parts}) == 1:
            for i, column in enumerate(zip(*parts, strict=True)):  # for the traces: whether they vary
                spec_of(column, f"{name}[{i}]", result, any_batch=any_batch)
        return None
    if len({len(row) for row in known}) != 1 or not known[0]:
        result.problems.append(f"`{name}` receives structures of differing length")
        return None
    found = [
        spec_of(column, f"{name}[{i}]", result, any_batch=any_batch)
        for i, column in enumerate(zip(*known, strict=True))
    ]
    items = tuple(spec for spec in found if spec is not None)
    return Nest(False in kinds, items) if len(items) == len(found) else None


def _dictionary(objects: list[Container], name: str, result: Signature, any_batch: bool) -> Spec | None:
    """Keys are part of the structure: all dictionaries must have the same; else only what varies in them is noted."""
    keys = sorted({key for obj in objects for key in obj.fields}, key=repr)
    known = all(obj.exact and obj.rest is None and len(obj.fields) == len(keys) for obj in objects)
    if not keys or not known or not all(isinstance(key, str) and key.isprintable() for key in keys):
        result.problems.append(f"`{name}` receives dictionaries whose keys are not known, or not the same")
    found: list[Spec] = []
    for key in keys:
        values = [obj.fields[key].value for obj in objects if key in obj.fields]
        if all(values):
            spec = spec_of(values, f"{name}[{key!r}]", result, any_batch=any_batch)
            found += [spec] if spec is not None else []
        else:
            result.problems.append(f"not known what `{name}[{key!r}]` receives")
    return Keyed(tuple(keys), tuple(found)) if known and len(found) == len(keys) and found else None


def _items(obj: Obj) -> list[Value] | None:
    """The elements of a plain tuple, or of a list whose elements are all known."""
    if isinstance(obj, Tup) and obj.kind == "tuple" and obj.names is None:
        return list(obj.items)
    if isinstance(obj, Container) and obj.kind == "list" and obj.exact and obj.rest is None:
        return [cell.value for cell in obj.fields.values()]
    return None


def _leaf(tensors: list[Tensor], name: str, result: Signature, any_batch: bool) -> Leaf | None:
    kinds = {DENSE if t.kind in _DENSE else t.kind for t in tensors}
    dtypes = {t.dtype for t in tensors}
    shapes = {t.shape for t in tensors if t.shape is not None}
    result.ranks_differ = result.ranks_differ or len({len(shape) for shape in shapes}) > 1
    for dtype in dtypes:
        of_dtype = {t.shape for t in tensors if t.shape is not None and t.dtype == dtype}
        result.traces = max(result.traces, _traces(of_dtype, kinds == {DENSE}))
    before = len(result.problems)
    if VARIABLE in kinds:
        result.problems.append(f"`{name}` receives a variable, which a signature would turn into a tensor")
    elif len(kinds) > 1:
        result.problems.append(f"`{name}` receives tensors of several kinds ({', '.join(sorted(kinds))})")
    if None in dtypes:
        result.problems.append(f"the dtype of `{name}` is not known")
    elif len(dtypes) > 1:
        result.problems.append(f"`{name}` receives several dtypes ({', '.join(sorted(filter(None, dtypes)))})")
    elif not dtypes <= _DTYPES:
        result.problems.append(f"`{name}` is of dtype {next(iter(dtypes))}")
    if any(t.shape is None for t in tensors):
        result.problems.append(f"the shape of `{name}` is not known")
    elif RAGGED in kinds and any(len(t.shape or ()) != 2 for t in tensors):
        result.problems.append(f"the ragged rank of `{name}` is not known")
    if len(result.problems) > before:
        return None
    (kind,) = kinds
    merged = _merged(shapes)
    if merged and (kind == RAGGED or (any_batch and kind == DENSE)):
        merged = (merged[0] if not any_batch else None, *([None] if kind == RAGGED else merged[1:]))
    return Leaf(kind, next(iter(dtypes)) or "", merged)


def _merged(shapes: set[tuple[Dim, ...]]) -> tuple[int | None, ...] | None:
    """Equal dims stay, others become None; None for differing ranks."""
    if len({len(shape) for shape in shapes}) != 1:
        return None
    columns: Iterable[tuple[Dim, ...]] = zip(*shapes, strict=True)
    return tuple(c[0] if c[0] >= 0 and len(set(c)) == 1 else None for c in columns)


def _traces(shapes: set[tuple[Dim, ...]], is_dense: bool) -> float:
    """How many graphs the shapes need: batches differ once at most, other sizes that only a run knows at every call."""
    if is_dense and any(dim == DYNAMIC for shape in shapes for dim in shape):
        return float("inf")
    return float(len({tuple(dim if dim >= 0 else BATCH for dim in shape) for shape in shapes})) or 1.0
