"""How values join: set union, bounded. What grows beyond its bound is summarized, so that every chain is finite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final, TypeVar

from hybridize.domain.identity import intern_obj
from hybridize.domain.objects import (
    BOTTOM,
    Bound,
    Container,
    Heap,
    Inst,
    Lit,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Value,
    Wrapper,
    counter,
    prim,
    stream,
    tensor,
    tup,
    unknown,
)
from hybridize.domain.tensors import join_shapes
from hybridize.domain.unknowns import Why

MAX_LITERALS: Final = 6
MAX_TENSORS: Final = 4
MAX_TUPLES: Final = 4
MAX_OBJECTS: Final = 48
MAX_DEPTH: Final = 5
MAX_GROWING: Final = 12
#: So many values are joined one after the other; of more, the result is kept.
_FEW: Final = 2
#: Marks a tensor that stands for several dtypes.
SUMMARY: Final = (-9,)

TOO_MANY: Final = Unknown("too many values")
TOO_MANY.why = Why.SUMMARIZED
_Kinded = TypeVar("_Kinded", Lit, Prim, Stream)


class Joins:
    """What has been computed of values: results of joins, the one object of equal values, and what they hold."""

    __slots__ = ("each", "holders", "many", "summaries", "two", "values")

    def __init__(self) -> None:
        self.two: dict[tuple[Value, Value], Value] = {}
        self.many: dict[tuple[Value, ...], Value] = {}
        self.values: dict[Value, Value] = {}
        self.summaries: dict[Value, Value] = {}
        self.holders: dict[Value, tuple[Obj, ...]] = {}
        self.each: dict[Value, list[Value]] = {}


_joins = Joins()
_memo, _values = _joins.two, _joins.values  # looked up at each step of an analysis


def joins_in_force() -> Joins:
    """Where joins are looked up now."""
    return _joins


def use_joins(joins: Joins) -> None:
    """Makes joins be looked up in these (`domain.session`)."""
    global _joins, _memo, _values
    _joins, _memo, _values = joins, joins.two, joins.values


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
    if len(values) <= _FEW:
        result = BOTTOM
        for value in values:
            result = join(result, value)
        return result
    key = tuple(values)
    found = _joins.many.get(key)
    if found is None:
        found = BOTTOM
        for value in key:
            found = join(found, value)
        _joins.many[key] = found
    return found


def holders(value: Value) -> tuple[Obj, ...]:
    """The objects of a value that hold others: instances, tuples and containers."""
    found = _joins.holders.get(value)
    if found is None:
        found = _joins.holders[value] = tuple([obj for obj in value if isinstance(obj, _HOLDING)])
    return found


def each(value: Value) -> list[Value]:
    """The objects of a value one by one, in an order that is the same in every run."""
    found = _joins.each.get(value)
    if found is None:
        found = _joins.each[value] = [obj.value for obj in sorted(value, key=repr)]
    return found


_HOLDING: Final = (Inst, Tup, Container)
#: The kinds of objects that are summarized among themselves where there are many; there are no classes below these.
_SUMMARIZED: Final = frozenset({Lit, Prim, Tensor, Tup, Stream, Unknown})


def normalize(value: Value) -> Value:
    """Summarizes what is over its bound; the result covers the value and does not depend on any order."""
    rest: list[Obj] = []
    groups: dict[type[Obj], list[Any]] = {}
    for obj in value:
        kind = type(obj)
        if kind not in _SUMMARIZED:
            rest.append(obj)
        elif kind in groups:
            groups[kind].append(obj)
        else:
            groups[kind] = [obj]
    if not groups and len(rest) <= MAX_OBJECTS:
        return frozenset(rest)
    unknowns: list[Unknown] = groups.get(Unknown, [])
    if len(rest) > MAX_OBJECTS or TOO_MANY in value:
        rest, unknowns = [], [TOO_MANY]  # once summarized, always summarized: joins must only grow
    out: list[Obj] = rest
    if Lit in groups or Prim in groups:
        out += _primitives(_by_kind(groups.get(Lit, ())), _by_kind(groups.get(Prim, ())))
    if Tensor in groups:
        out += _tensors(groups[Tensor])
    if Tup in groups or Stream in groups:
        out += _sequences(groups.get(Tup, []), _by_kind(groups.get(Stream, ())))
    if unknowns:
        out.append(min(unknowns, key=_rank))
    return frozenset(out)


def _by_kind(objects: Iterable[_Kinded]) -> dict[str, list[_Kinded]]:
    """Objects that have a kind, sorted by it."""
    found: dict[str, list[_Kinded]] = {}
    for obj in objects:
        found.setdefault(obj.kind, []).append(obj)
    return found


def _sequences(tuples: list[Tup], streams: dict[str, list[Stream]]) -> list[Obj]:
    """What is left of tuples and streams."""
    out = _tuples(tuples, streams) if tuples else []
    for kind, group in streams.items():
        out.append(group[0] if len(group) == 1 else _one_stream(kind, join_all([s.element for s in group]), group))
    return out


def _rank(obj: Unknown) -> tuple[bool, str]:
    return (obj is not TOO_MANY, obj.reason)


def _primitives(lits: dict[str, list[Lit]], prims: dict[str, list[Prim]]) -> list[Obj]:
    out: list[Obj] = []
    for kind, group in prims.items():
        known = lits.get(kind, ())
        varies = any(p.varies for p in group) or any(x.varies for x in known)
        likely = {p.likely for p in group} | {x.const for x in known}
        out.append(prim(kind, varies, likely.pop() if len(likely) == 1 and not varies else None))
    for kind, literals in lits.items():
        if kind in prims:
            continue
        varying = {x.const for x in literals if x.varies}
        if varying:
            literals = [x for x in literals if x.varies or x.const not in varying]
        if len(literals) > MAX_LITERALS:
            out.append(prim(kind, bool(varying)))
        else:
            out += literals
    return out


def _covers(a: Tensor, b: Tensor) -> bool:
    """Whether one type of a kind and dtype says everything that another does."""
    if a.content != b.content and a.content != SUMMARY and (a.content is not None or b.content == SUMMARY):
        return False
    return a.shape is None or (b.shape is not None and join_shapes(a.shape, b.shape) == a.shape)


def _is_covered(t: Tensor, members: list[Tensor]) -> bool:
    return any(o is not t and _covers(o, t) and not (_covers(t, o) and repr(t) <= repr(o)) for o in members)


def _tensors(group: list[Tensor]) -> list[Tensor]:
    if len(group) <= 1:
        return group
    by_type: dict[tuple[str, str | None], list[Tensor]] = defaultdict(list)
    for t in group:
        by_type[t.kind, t.dtype].append(t)
    out: list[Tensor] = []
    for (kind, dtype), members in by_type.items():
        kept = [t for t in members if not _is_covered(t, members)]
        out += _by_rank(kind, dtype, kept) if len(kept) > MAX_TENSORS else kept
    if len(by_type) <= MAX_TENSORS + 2 and not any(t.content == SUMMARY for t in group):
        return out
    by_kind: dict[str, list[Tensor]] = defaultdict(list)
    for t in out:
        by_kind[t.kind].append(t)
    # The mark keeps what was summarized summarized: joins must only grow.
    return [
        tensor(kind, None, _merged(kind, None, members).shape, SUMMARY) if len(members) > 1 else members[0]
        for kind, members in by_kind.items()
    ]


def _by_rank(kind: str, dtype: str | None, members: list[Tensor]) -> list[Tensor]:
    """One type for each rank, or one for all if there are many ranks."""
    ranks: dict[int | None, list[Tensor]] = defaultdict(list)
    for t in members:
        ranks[None if t.shape is None else len(t.shape)].append(t)
    if None in ranks or len(ranks) > MAX_TENSORS:
        return [_merged(kind, dtype, members)]
    return [_merged(kind, dtype, group) if len(group) > 1 else group[0] for group in ranks.values()]


def _merged(kind: str, dtype: str | None, members: list[Tensor]) -> Tensor:
    shape = members[0].shape
    for t in members[1:]:
        shape = join_shapes(shape, t.shape)
    return tensor(kind, dtype, shape, SUMMARY if any(t.content == SUMMARY for t in members) else None)


def _tuples(group: list[Tup], streams: dict[str, list[Stream]]) -> list[Obj]:
    """What is left of the tuples. Tuples of too many lengths join the streams: once there, they stay there."""
    if "tuple" in streams:
        element = join_all([s.element for s in streams["tuple"]])
        group = [t for t in group if t.kind != "tuple" or not all(join(element, item) == element for item in t.items)]
    if len(group) <= 1:
        return list(group)
    by_length: dict[tuple[str, int, tuple[str, ...] | None], list[Tup]] = defaultdict(list)
    for t in group:
        by_length[t.kind, len(t.items), t.names].append(t)
    out: list[Obj] = []
    for members in by_length.values():
        kept = members
        if len(members) > 1:
            kept = [t for t in members if not any(o is not t and _covers_items(o, t) for o in members)]
        out += [_merged_tuple(kept)] if len(kept) > MAX_TUPLES else kept
    if len(by_length) > MAX_TUPLES:
        element = join_all([item for t in group for item in t.items])
        streams.setdefault("tuple", []).append(stream("tuple", element))
        return []
    return out


def _covers_items(a: Tup, b: Tup) -> bool:
    # By join, not by subset: a summarized column has lost the literals and reasons that it covers.
    for mine, other in zip(a.items, b.items, strict=True):
        if mine is not other and join(mine, other) != mine:
            return False
    return True


def _merged_tuple(members: list[Tup]) -> Tup:
    columns = zip(*(m.items for m in members), strict=True)
    return tup([join_all(list(column)) for column in columns], members[0].kind, members[0].names)


def varying(value: Value) -> Value:
    """Numbers as values that a place of the program takes in turn."""
    result = BOTTOM
    for obj in value:
        if isinstance(obj, Lit) and obj.kind == "int":
            obj = counter(obj.const)
        elif isinstance(obj, Prim) or (isinstance(obj, Lit) and obj.kind == "float"):
            obj = prim(obj.kind, True)
        result = join(result, obj.value)
    return result


def widen(old: Value, new: Value) -> Value:
    """The join at a loop head that still changes: literals of a changing kind become primitives that vary."""
    joined = join(old, new)
    if joined is old:
        return old
    grown = joined - old
    kinds = {o.kind for o in grown if isinstance(o, Lit) and o.kind in ("int", "float", "str")}
    if kinds:
        kept: list[Obj] = [o for o in joined if not (isinstance(o, (Lit, Prim)) and o.kind in kinds)]
        joined = frozenset(kept + [prim(kind, True) for kind in sorted(kinds)])
    joined = summarize(joined)
    return _values.setdefault(joined, joined)


def summarize(value: Value, level: int = 0) -> Value:
    """One tensor for each kind and dtype, one tuple for each length, one stream for each kind, not nested deeply."""
    found = _joins.summaries.get(value)
    if found is not None:
        return found
    groups: dict[object, list[Obj]] = defaultdict(list)
    out: list[Obj] = []
    for obj in value:
        match obj:
            case Tensor():
                groups["tensor", obj.kind, obj.dtype].append(obj)
            case Tup():
                groups["tuple", obj.kind, len(obj.items), obj.names].append(obj)
            case Stream():
                groups["stream", obj.kind].append(obj)
            case _:
                out.append(obj)
    for members in groups.values():
        out += _summarized(members, level)
    result = _values.setdefault(frozenset(out), frozenset(out)) if groups else value
    _joins.summaries[value] = result
    return result


def _summarized(members: list[Obj], level: int) -> list[Obj]:
    first = members[0]
    if level > MAX_DEPTH:
        return [unknown("a value that is nested too deeply")]
    if isinstance(first, Tensor):
        return [first] if len(members) == 1 else [_merged(first.kind, first.dtype, members)]  # type: ignore[arg-type]
    if isinstance(first, Tup):
        whole = _merged_tuple(members) if len(members) > 1 else first  # type: ignore[arg-type]
        return [tup([summarize(item, level + 1) for item in whole.items], whole.kind, whole.names)]
    assert isinstance(first, Stream)
    streams = [m for m in members if isinstance(m, Stream)]
    return [_one_stream(first.kind, summarize(join_all([m.element for m in streams]), level + 1), streams)]


def _one_stream(kind: str, element: Value, group: list[Stream]) -> Stream:
    """What stands for several streams of a kind: it keeps what all of them have."""
    origin = group[0].origin
    made = stream(kind, element, _count(group))
    if origin is None or any(s.origin is not origin for s in group) or made.element is not element:
        return made
    return intern_obj(Stream, kind, element, _count(group), None, origin)


def _count(group: list[Stream]) -> int | None:
    """The number of elements that all of some streams have."""
    return group[0].count if len({s.count for s in group}) == 1 else None


def collapse(value: Value, largest: int = MAX_GROWING) -> Value:
    """What is left of a value that keeps growing: no large structures, and of many heap objects none told apart.

    A value that still changes is collapsed with `largest` 0: it may come back to what it was when some structure is
    left out of it and comes again.
    """
    if any(isinstance(o, (Tup, Stream, Wrapper, Bound)) and o.size > largest for o in value):
        kept = [o for o in value if not isinstance(o, (Tup, Stream, Wrapper, Bound))]
        value = normalize(frozenset([*kept, unknown("a value that keeps growing")]))
    if sum(1 for o in value if isinstance(o, (Heap, Wrapper, Bound))) > MAX_GROWING:
        value = frozenset([*(o for o in value if isinstance(o, (Lit, Prim, Tensor, Tup, Stream))), TOO_MANY])
    return _values.setdefault(value, value)
