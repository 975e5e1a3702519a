"""How values join: set union, bounded. What grows beyond its bound is summarized, so that every chain is finite."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from hybridize.domain.objects import (
    BOTTOM,
    Lit,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Value,
    prim,
    stream,
    tensor,
    tup,
    unknown,
)
from hybridize.domain.tensors import join_shapes

MAX_LITERALS: Final = 6
MAX_TENSORS: Final = 4
MAX_TUPLES: Final = 4
MAX_OBJECTS: Final = 48
MAX_DEPTH: Final = 6

_memo: dict[tuple[Value, Value], Value] = {}
_values: dict[Value, Value] = {}


def reset_lattice() -> None:
    """Forgets memoized joins (between analyses)."""
    _memo.clear()
    _values.clear()


def join(a: Value, b: Value) -> Value:
    """The least bounded value that covers both."""
    if a is b or not b:
        return a
    if not a:
        return b
    key = (a, b)
    found = _memo.get(key)
    if found is None:
        union = a | b
        if len(union) == len(a):
            found = a
        elif len(union) == len(b):
            found = b
        else:
            found = normalize(union)
            found = _values.setdefault(found, found)
        _memo[key] = found
    return found


def join_all(values: list[Value] | tuple[Value, ...]) -> Value:
    """The join of many values."""
    result = BOTTOM
    for value in values:
        result = join(result, value)
    return result


def normalize(value: Value) -> Value:
    """Summarizes what is over its bound; the result covers the value and does not depend on any order."""
    lits: dict[str, list[Lit]] = defaultdict(list)
    prims: dict[str, list[Prim]] = defaultdict(list)
    tensors: list[Tensor] = []
    tuples: list[Tup] = []
    streams: dict[str, list[Stream]] = defaultdict(list)
    unknowns: list[Unknown] = []
    rest: list[Obj] = []
    for obj in value:
        match obj:
            case Lit():
                lits[obj.kind].append(obj)
            case Prim():
                prims[obj.kind].append(obj)
            case Tensor():
                tensors.append(obj)
            case Tup():
                tuples.append(obj)
            case Stream():
                streams[obj.kind].append(obj)
            case Unknown():
                unknowns.append(obj)
            case _:
                rest.append(obj)
    out: list[Obj] = rest if len(rest) <= MAX_OBJECTS else [unknown("too many values")]
    out += _primitives(lits, prims)
    out += _tensors(tensors)
    out += _tuples(tuples)
    for kind, group in streams.items():
        out.append(group[0] if len(group) == 1 else stream(kind, join_all([s.element for s in group])))
    if unknowns:
        out.append(min(unknowns, key=lambda u: u.reason))
    return frozenset(out)


def _primitives(lits: dict[str, list[Lit]], prims: dict[str, list[Prim]]) -> list[Obj]:
    out: list[Obj] = []
    for kind, group in prims.items():
        varies = any(p.varies for p in group)
        out.append(prim(kind, varies))
    for kind, literals in lits.items():
        if kind in prims:
            continue
        if len(literals) > MAX_LITERALS:
            out.append(prim(kind))
        else:
            out += literals
    return out


def _tensors(group: list[Tensor]) -> list[Tensor]:
    if len(group) <= 1:
        return group
    by_type: dict[tuple[str, str | None], list[Tensor]] = defaultdict(list)
    for t in group:
        by_type[t.kind, t.dtype].append(t)
    out: list[Tensor] = []
    for (kind, dtype), members in by_type.items():
        if len(members) > MAX_TENSORS or any(t.shape is None for t in members):
            shape = members[0].shape
            for t in members[1:]:
                shape = join_shapes(shape, t.shape)
            members = [tensor(kind, dtype, shape)]
        out += members
    if len(by_type) > MAX_TENSORS + 2:
        merged: dict[str, Tensor] = {}
        for t in out:
            old = merged.get(t.kind)
            merged[t.kind] = t if old is None else tensor(t.kind, None, join_shapes(old.shape, t.shape))
        return list(merged.values())
    return out


def _tuples(group: list[Tup]) -> list[Obj]:
    if len(group) <= 1:
        return list(group)
    by_length: dict[tuple[str, int, tuple[str, ...] | None], list[Tup]] = defaultdict(list)
    for t in group:
        by_length[t.kind, len(t.items), t.names].append(t)
    out: list[Obj] = []
    for (kind, _, names), members in by_length.items():
        if len(members) > MAX_TUPLES:
            items = [join_all(list(column)) for column in zip(*(m.items for m in members), strict=True)]
            out.append(tup(items, kind, names))
        else:
            out += members
    if len(by_length) > MAX_TUPLES:
        element = join_all([item for t in group for item in t.items])
        return [stream("tuple", element)]
    return out


def widen(old: Value, new: Value) -> Value:
    """The join at a loop head that still changes: literals of a changing kind become primitives that vary."""
    joined = join(old, new)
    if joined is old:
        return old
    grown = joined - old
    kinds = {o.kind for o in grown if isinstance(o, Lit) and o.kind in ("int", "float", "str")}
    if kinds:
        kept: list[Obj] = [o for o in joined if not (isinstance(o, Lit | Prim) and o.kind in kinds)]
        joined = frozenset(kept + [prim(kind, True) for kind in sorted(kinds)])
    shapes = [o for o in joined if isinstance(o, Tensor)]
    if len(shapes) > 1:
        joined = normalize_shapes(joined)
    if any(depth(o) > MAX_DEPTH for o in joined):
        joined = frozenset([o for o in joined if depth(o) <= MAX_DEPTH] + [unknown("nested too deeply")])
    return _values.setdefault(joined, joined)


def normalize_shapes(value: Value) -> Value:
    """Merges tensors of one kind and dtype into one."""
    merged: dict[tuple[str, str | None], Tensor] = {}
    rest: list[Obj] = []
    for obj in value:
        if isinstance(obj, Tensor):
            old = merged.get((obj.kind, obj.dtype))
            merged[obj.kind, obj.dtype] = (
                obj if old is None else tensor(obj.kind, obj.dtype, join_shapes(old.shape, obj.shape))
            )
        else:
            rest.append(obj)
    return frozenset(rest + list(merged.values()))


def depth(obj: Obj) -> int:
    """How deeply immutable structures nest in an object."""
    if isinstance(obj, Tup):
        return 1 + max((depth(o) for item in obj.items for o in item), default=0)
    if isinstance(obj, Stream):
        return 1 + max((depth(o) for o in obj.element), default=0)
    return 0
