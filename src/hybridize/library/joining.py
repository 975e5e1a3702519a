"""Lists and dictionaries put together by `+`, `*`, `|`: what the new ones hold, by position where that is known."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import Any

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, Container, Lit, Obj, Stream, Tup, Value, literal, stream, tup, unknown
from hybridize.library.convert import SHAPE_KIND
from hybridize.library.engine import EngineApi
from hybridize.library.lengths import hold_alike, length_of, note_length


def several_lists(a: Value, b: Value) -> bool:
    """Whether lists are put together of which there are several: the results are one list whose elements mix."""
    return bool(a and b) and all(isinstance(o, Container) and o.kind == "list" for side in (a, b) for o in side)


def concatenated_alike(engine: EngineApi, frame: Any, a: Value, b: Value, pos: int) -> Value:
    """One of several lists and one of several others: with positions where all that can be are equally long."""
    lengths = {tuple(length_of(engine, frame, o.value) for o in pair) for pair in itertools.product(a, b)}
    if len(lengths) == 1:
        result = BOTTOM
        for x, y in itertools.product(a, b):
            result = join(result, concatenated(engine, frame, [x, y], pos))
        return result
    made = engine.cells.container(frame, pos, "list", "concatenation")
    hold_alike(engine, made)
    for side in (a, b):
        engine.cells.write(frame, made.rest_cell(), engine.heap.elements(frame, side, pos), pos)
    totals = {None if None in pair else sum(pair) for pair in lengths}  # type: ignore[arg-type]
    note_length(engine, made, totals.pop() if len(totals) == 1 else None)
    mixed: Value = made.value
    return mixed


def concatenated(engine: EngineApi, frame: Any, sides: list[Any], pos: int) -> Value:
    """The list that two sequences make, one after the other."""
    made = engine.cells.container(frame, pos, "list", "concatenation")
    exact = len(sides) == 2
    index = 0
    for side in sides:
        if exact and isinstance(side, Tup):
            cells = list(side.items)
        elif exact and isinstance(side, Container) and engine.cells.is_exact(frame, side):
            cells = [engine.cells.read(frame, c) for c in list(side.fields.values())]
        else:
            exact = False
            break
        for value in cells:
            engine.cells.write(frame, made.cell(index), value, pos)
            index += 1
    if not exact or index > 64:
        hold_alike(engine, made)
        for side in sides:
            engine.cells.write(frame, made.rest_cell(), engine.heap.elements(frame, side.value, pos), pos)
        lengths = [length_of(engine, frame, side.value) for side in sides]
        known = [length for length in lengths if length is not None]
        note_length(engine, made, sum(known) if len(known) == 2 else None)
    result: Value = made.value
    return result


def is_shape(obj: Obj) -> bool:
    """Whether an object is a `TensorShape`."""
    return isinstance(obj, (Tup, Stream)) and obj.kind == SHAPE_KIND


def joined_shapes(engine: EngineApi, frame: Any, x: Obj, y: Obj, pos: int) -> Value:
    """`x + y` where one is a `TensorShape`, and the other something that spells dims: a shape again."""
    items: list[Value] = []
    for side in (x, y):
        if isinstance(side, Tup):
            items += side.items
        elif isinstance(side, Container) and side.kind == "list" and engine.cells.is_exact(frame, side):
            items += [engine.cells.read(frame, cell) for cell in list(side.fields.values())]
        else:
            dims = join(engine.heap.elements(frame, x.value, pos), engine.heap.elements(frame, y.value, pos))
            lengths = [length_of(engine, frame, o.value) for o in (x, y)]
            return stream(SHAPE_KIND, dims, count=None if None in lengths else sum(filter(None, lengths))).value
    return tup(items, SHAPE_KIND).value


def repeated(engine: EngineApi, frame: Any, x: Obj, y: Obj, pos: int) -> Value:
    """A list so many times: one abstract list for each number of times."""
    sequence, count = (x, y) if isinstance(x, Container) else (y, x)
    times = count.const if isinstance(count, Lit) and isinstance(count.const, int) else None
    made = engine.cells.container(frame, pos, "list", f"repetition {times}")  # so that lengths are not mixed
    assert isinstance(sequence, Container)
    if isinstance(count, Lit) and isinstance(count.const, int) and engine.cells.is_exact(frame, sequence):
        cells = list(sequence.fields.values())
        if 0 < len(cells) * count.const <= 64:
            for i in range(len(cells) * count.const):
                engine.cells.write(frame, made.cell(i), engine.cells.read(frame, cells[i % len(cells)]), pos)
            exact: Value = made.value
            return exact
    hold_alike(engine, made)
    engine.cells.write(frame, made.rest_cell(), engine.heap.elements(frame, sequence.value, pos), pos)
    length = length_of(engine, frame, sequence.value)
    note_length(engine, made, None if length is None or times is None else length * max(times, 0))
    result: Value = made.value
    return result


def merged(engine: EngineApi, frame: Any, parts: list[Value], made: Container, pos: int) -> Value:
    """`made` with the entries of dictionaries added; a new one has of each key the last entry."""
    for at, part in enumerate(parts, 1):
        following = parts[at:] if made.value not in parts else []
        replaced = frozenset().union(*(surely_in(engine, frame, other) for other in following))
        fill(engine, frame, made, part, replaced, pos)
    result: Value = made.value
    return result


def fill(engine: EngineApi, frame: Any, made: Container, part: Value, replaced: Collection[Any], pos: int) -> None:
    """Adds the entries of a dictionary, but of keys that are `replaced` later only their places."""
    for obj in part:
        if not isinstance(obj, Container) or obj.kind != "dict":
            engine.cells.lose_exactness(made)
            engine.cells.write(frame, made.rest_cell(), unknown("a value of a merged mapping").value, pos)
            continue
        for key, cell in list(obj.fields.items()):
            if key in replaced:
                made.cell(key)
            else:
                engine.heap.set_item_quietly(
                    frame, made, literal(key).value, engine.cells.read(frame, cell), made.site[1]
                )
        if not engine.cells.is_exact(frame, obj):
            engine.cells.lose_exactness(made)
            engine.cells.write(frame, made.rest_cell(), engine.cells.read(frame, obj.rest_cell()), pos)
            engine.heap.take_keys(frame, made, obj, pos)


def surely_in(engine: EngineApi, frame: Any, value: Value) -> frozenset[Any]:
    """The keys that a dictionary has for certain."""
    (only,) = value if len(value) == 1 else (None,)
    known = isinstance(only, Container) and only.kind == "dict" and engine.cells.is_exact(frame, only)
    return frozenset(only.fields) if known and isinstance(only, Container) else frozenset()
