"""Steps that compute: operators, calls, displays, formats, unpacking, patterns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join, join_all
from hybridize.domain.objects import (
    BOOL_V,
    BOTTOM,
    STR_V,
    Container,
    Lit,
    Tensor,
    Tup,
    Value,
    counter,
    literal,
    stream,
    tup,
    unknown,
)
from hybridize.domain.tensors import NDARRAY
from hybridize.domain.words import ONE_SHOT
from hybridize.flow import steps
from hybridize.flow.ending import ENDED, ends_all, never_returns, refuses
from hybridize.flow.engine import Engine, Handler
from hybridize.flow.frames import Frame
from hybridize.flow.narrowing import fits_shape
from hybridize.flow.steps import keeping, kept, on
from hybridize.flow.transfer.names import missing_value
from hybridize.flow.truth import MAYBE, truth
from hybridize.library.joining import fill, surely_in
from hybridize.library.lengths import hold_alike, length_of, note_length
from hybridize.library.operators import binary, compare, inplace, unary
from hybridize.library.protocols import FORMATTED, SHOWN, TRUTH, ask, look_up, show
from hybridize.program import ir
from hybridize.program.ir import NO_SLOT, Instr

#: `f(*xs)` passes so many elements at most that are not told apart.
MAX_SPREAD: Final = 64


#: Longer texts are not spelled out.
MAX_TEXT = 80


#: The special methods that a value of an f-string is asked for, by its conversion.
_ASKED: Final = {"": FORMATTED, "s": SHOWN, "r": SHOWN[1:], "a": SHOWN[1:]}


def _two_sided(compute: Callable[[Engine, Frame, str, Value, Value, int], Value]) -> Handler:
    def step(engine: Engine, frame: Frame, vals: list[Any], instr: ir.TwoSided) -> None:
        a, b = vals[instr.left], vals[instr.right]
        found = compute(engine, frame, instr.operator, a, b, instr.position) if a and b else missing_value(frame)
        vals[instr.target] = found

    return step


_assign_computed: Final = _two_sided(inplace)


def _inplace(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Inplace) -> None:
    _assign_computed(engine, frame, vals, instr)
    for obj in vals[instr.left] or BOTTOM:
        if isinstance(obj, Tensor) and obj.kind == NDARRAY and obj.shape != ():
            frame.effect("item", obj, "array", instr.position).slot = instr.left


def _unary(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Unary) -> None:
    dst, op, src = instr.target, instr.operator, instr.operand
    pos = instr.position
    value = vals[src]
    if op == "not":
        may, may_not = engine.condition(frame, value, pos)
        vals[dst] = BOOL_V if may == may_not and may else literal(may_not).value if may or may_not else BOTTOM
    else:
        vals[dst] = unary(engine, frame, op, value, pos) if value else missing_value(frame)


def _boolop(engine: Engine, frame: Frame, vals: list[Any], instr: ir.BoolOp) -> None:
    dst, parts, op = instr.target, instr.operands, instr.operator
    pos = instr.position
    result = BOTTOM
    decided = True
    for slot in parts:
        value = vals[slot] or BOTTOM
        may, may_not = truth(engine, frame, value) if value else MAYBE
        if slot != parts[-1]:
            ask(engine, frame, value, TRUTH, pos)
        if (op == "and" and not may) or (op == "or" and not may_not):
            vals[dst] = value
            return
        decided = decided and may != may_not
        result = join(result, value)
    vals[dst] = (vals[parts[-1]] if decided else result) or missing_value(frame)


def _call(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Call) -> None:
    dst, func, args = instr.target, instr.function, instr.arguments
    keywords, pos = instr.keywords, instr.position
    target = vals[func]
    if not target:
        vals[dst] = missing_value(frame)
        return
    values: list[Value] = []
    rest = BOTTOM
    for slot, starred in args:
        value = vals[slot]
        if not value:
            value = missing_value(frame)
            if not value:
                vals[dst] = BOTTOM
                return
        if not starred:
            if rest:
                rest = join(rest, value)
            else:
                values.append(value)
            continue
        items = None if rest else engine.calls.spread(frame, value, pos)
        if items is None and not rest:
            items = _alike(engine, frame, value, pos)
        if items is not None:
            values += items
        else:
            rest = join(rest, engine.heap.elements(frame, value, pos) or unknown("an unpacked argument").value)
    named: dict[str, Value] = {}
    for name, slot in keywords:
        value = vals[slot]
        if not value:
            value = missing_value(frame)
            if not value:
                vals[dst] = BOTTOM
                return
        if name is None:
            engine.calls.spread_mapping(frame, value, named, pos)
        else:
            named[name] = value
    refused = refuses(engine, frame, instr, target)
    if not refused:
        vals[dst] = engine.calls.call_value(frame, pos, target, values, named, How.CALL, rest)
    if refused or never_returns(engine, frame, pos, target):
        vals[dst] = ENDED


_called_once = keeping(_call, steps.called)


def _call_on(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Call) -> bool | None:
    """A call, and whether anything comes after it."""
    _called_once(engine, frame, vals, instr)
    if vals[instr.target] is not ENDED:
        return None
    frame.ended = frame.ended or ends_all(frame, instr)
    return False


def _alike(engine: Engine, frame: Frame, value: Value, pos: int) -> list[Value] | None:
    """The elements of a sequence of known length that are not told apart."""
    length = length_of(engine, frame, value)
    if length is None or not 0 < length <= MAX_SPREAD:
        return None
    element = engine.heap.elements(frame, value, pos)
    return [element] * length if element else None


def _tuple(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Tuple) -> None:
    dst, parts, pos = instr.target, instr.elements, instr.position
    items: list[Value] = []
    for slot, starred in parts:
        value = vals[slot] or missing_value(frame)
        if not value:
            vals[dst] = BOTTOM
            return
        if not starred:
            items.append(value)
            continue
        more = engine.calls.spread(frame, value, pos)
        if more is None:
            element = engine.heap.elements(frame, value, pos)
            vals[dst] = stream("tuple", join(join_all(tuple(items)), element)).value
            return
        items += more
    vals[dst] = tup(items).value


def _sequence(kind: str) -> Handler:
    def handler(engine: Engine, frame: Frame, vals: list[Any], instr: ir.List | ir.Set) -> None:
        dst, parts, pos = instr.target, instr.elements, instr.position
        made = engine.cells.container(frame, pos, kind)
        if len(parts) > 64:
            engine.cells.lose_exactness(made)
        index = 0
        for slot, starred in parts:
            value = vals[slot] or BOTTOM
            if starred:
                more = engine.calls.spread(frame, value, pos)
                if more is not None and made.exact and kind == "list" and len(more) <= 64:
                    for item in more:
                        engine.cells.write(frame, made.cell(index), item, pos)
                        index += 1
                    continue
                engine.cells.lose_exactness(made)
                engine.cells.write(frame, made.rest_cell(), engine.heap.elements(frame, value, pos), pos)
            elif made.exact and kind == "list":
                engine.cells.write(frame, made.cell(index), value, pos)
                index += 1
            else:
                engine.cells.write(frame, made.rest_cell(), value, pos)
            if kind == "set":
                look_up(engine, frame, value, pos)
        if kind != "list" and parts:
            engine.cells.lose_exactness(made)
        vals[dst] = made.value

    return handler


def _generator(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Generator) -> None:
    vals[instr.target] = engine.cells.container(frame, instr.position, "generator").value


def _dict(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Dict) -> None:
    dst, pairs, pos = instr.target, instr.entries, instr.position
    made = engine.cells.container(frame, pos, "dict")
    for at, (key, slot) in enumerate(pairs):
        value = vals[slot] or BOTTOM
        if key != NO_SLOT:
            look_up(engine, frame, vals[key] or BOTTOM, pos)
            engine.heap.set_item_quietly(frame, made, vals[key] or BOTTOM, value, made.site[1])
            continue
        if value and all(isinstance(o, Container) and o.kind == "dict" for o in value):
            fill(engine, frame, made, value, _replaced(engine, frame, vals, pairs[at + 1 :]), pos)
            continue
        named: dict[str, Value] = {}
        engine.calls.spread_mapping(frame, value, named, pos)
        for name, item in named.items():
            if name == "**":
                engine.cells.lose_exactness(made)
                engine.cells.write(frame, made.rest_cell(), item, pos)
            else:
                engine.cells.write(frame, made.cell(name), item, pos)
    vals[dst] = made.value


def _replaced(engine: Engine, frame: Frame, vals: list[Any], pairs: tuple[tuple[int, int], ...]) -> frozenset[Any]:
    """The keys that the rest of a display sets, whatever was there before."""
    found: set[Any] = set()
    for key, slot in pairs:
        if key == NO_SLOT:
            found |= surely_in(engine, frame, vals[slot] or BOTTOM)
            continue
        (only,) = vals[key] if vals[key] and len(vals[key]) == 1 else (None,)
        if isinstance(only, Lit):
            found.add(only.const)
    return frozenset(found)


def _format(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Format) -> None:
    dst, parts, conversions = instr.target, instr.values, instr.conversions
    texts, pos = instr.texts, instr.position
    for slot, conversion in zip(parts, conversions, strict=True):
        show(engine, frame, vals[slot] or BOTTOM, _ASKED[conversion], pos)
    vals[dst] = (_spelled(vals, parts, texts) if texts and engine.world.is_small else None) or STR_V


def _spelled(vals: list[Any], parts: tuple[int, ...], texts: tuple[str | None, ...]) -> Value | None:
    """The text of an f-string whose values are all constants."""
    shown: list[str] = []
    varies = False
    for slot in parts:
        obj = next(iter(vals[slot] or (None,)))
        if not isinstance(obj, Lit) or len(vals[slot]) != 1 or not isinstance(obj.const, (int, str)):
            return None
        varies = varies or obj.varies
        shown.append(str(obj.const))
    values = iter(shown)
    text = "".join(next(values) if piece is None else piece for piece in texts)
    if len(text) > MAX_TEXT:
        return None
    return counter(text).value if varies else literal(text).value


def _append(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Append) -> None:
    owner, src, pos = instr.owner, instr.value, instr.position
    for obj in vals[owner] or BOTTOM:
        if isinstance(obj, Container):
            hold_alike(engine, obj)
            engine.cells.write(frame, obj.rest_cell(), vals[src] or BOTTOM, pos)


def _sized(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Sized) -> None:
    owner, source = instr.owner, instr.source
    for obj in vals[owner] or BOTTOM:
        if isinstance(obj, Container) and vals[source]:
            note_length(engine, obj, length_of(engine, frame, vals[source]))


def _put(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Put) -> None:
    owner, key, src = instr.owner, instr.key, instr.value
    pos = instr.position
    for obj in vals[owner] or BOTTOM:
        if isinstance(obj, Container):
            look_up(engine, frame, vals[key] or BOTTOM, pos)
            engine.heap.set_item_quietly(frame, obj, vals[key] or BOTTOM, vals[src] or BOTTOM, pos)


def _unpack(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Unpack) -> None:
    slots, src, star = instr.targets, instr.source, instr.star
    pos = instr.position
    value = vals[src]
    if not value:
        value = missing_value(frame)
    count = len(slots)
    results: list[Value] = [BOTTOM] * count
    for obj in value:
        items = engine.calls.unpackable(frame, obj, pos)
        if items is not None and isinstance(obj, (Tup, Container)) and obj.kind in ONE_SHOT:
            frame.effect("iterator", obj, obj.kind, pos)
        if items is not None and (len(items) == count if star < 0 else len(items) >= count - 1):
            after = count - star - 1 if star >= 0 else 0
            for i in range(count):
                if star < 0 or i < star:
                    part = items[i]
                elif i == star:
                    part = _starred(engine, frame, items[star : len(items) - after], f"star{star}", pos)
                else:
                    part = items[len(items) - (count - i)]
                results[i] = join(results[i], part)
            continue
        if items is not None and len(value) > 1:
            continue  # of another length: that alternative raises here
        element = engine.heap.elements(frame, obj.value, pos)
        for i in range(count):
            part = element
            if i == star:
                made = engine.cells.container(frame, pos, "list", f"star{star}")
                engine.cells.lose_exactness(made)
                engine.cells.write(frame, made.rest_cell(), element, pos)
                part = made.value
            results[i] = join(results[i], part)
    for slot, part in zip(slots, results, strict=True):
        vals[slot] = part


def _starred(engine: Engine, frame: Frame, items: list[Value], tag: str, pos: int) -> Value:
    """The list of what a star takes, by position while all alternatives have the same length."""
    made = engine.cells.container(frame, pos, "list", tag)
    if made.exact and made.fields and len(made.fields) != len(items):
        engine.cells.lose_exactness(made)
    for i, item in enumerate(items):
        engine.cells.write(frame, made.cell(i), item, pos)
    return made.value


def _iter(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Iter) -> None:
    dst, src, pos = instr.target, instr.source, instr.position
    value = vals[src]
    vals[dst] = engine.heap.elements(frame, value, pos) if value else missing_value(frame)


def _match(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Match) -> None:
    dst, kind = instr.target, instr.kind
    value = vals[instr.source] or BOTTOM
    if kind == "class":
        inside = engine.protocols.narrow(frame, value, vals[instr.classes] or BOTTOM, True)
        outside = engine.protocols.narrow(frame, value, vals[instr.classes] or BOTTOM, False)
        vals[dst] = BOOL_V if inside and outside else literal(bool(inside)).value if value else BOTTOM
    elif instr.shape is not None:
        answers = [fits_shape(o, instr.shape) for o in value]
        may, may_not = any(a[0] for a in answers), any(a[1] for a in answers)
        vals[dst] = BOOL_V if may and may_not else literal(may).value if value else BOTTOM
    elif kind == "position":
        vals[dst] = engine.protocols.match_position(frame, value, instr.index, instr.position)
    else:
        vals[dst] = BOOL_V


STEPS: Final[dict[type[Instr], Handler]] = dict(
    [
        kept(ir.Binary, _two_sided(binary)),
        kept(ir.Inplace, _inplace),
        kept(ir.Unary, _unary),
        kept(ir.Compare, _two_sided(compare)),
        on(ir.BoolOp, _boolop),
        on(ir.Call, _call_on),
        on(ir.Tuple, _tuple),
        on(ir.List, _sequence("list")),
        on(ir.Set, _sequence("set")),
        on(ir.Generator, _generator),
        on(ir.Dict, _dict),
        kept(ir.Format, _format),
        on(ir.Append, _append),
        on(ir.Sized, _sized),
        on(ir.Put, _put),
        on(ir.Unpack, _unpack),
        kept(ir.Iter, _iter),
        on(ir.Match, _match),
    ]
)
