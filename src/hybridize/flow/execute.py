"""The transfer functions of the instructions: one function per operation code, found in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hybridize.domain.lattice import join, widen
from hybridize.domain.objects import (
    BOOL_V,
    BOTTOM,
    NONE,
    NONE_V,
    STR_V,
    Class,
    Container,
    Func,
    Inst,
    Lib,
    Lit,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Value,
    counter,
    literal,
    stream,
    tup,
    unknown,
    wrapper,
)
from hybridize.domain.tensors import NDARRAY
from hybridize.flow import steps
from hybridize.flow.calls import Calls
from hybridize.flow.frames import ExhaustedError, Frame
from hybridize.flow.heap import ONE_SHOT, join_items
from hybridize.flow.narrowing import fits_shape
from hybridize.flow.steps import Handler, kept
from hybridize.flow.truth import MAYBE, NEVER, truth
from hybridize.flow.turns import follow, follow_while, is_decided, items_in_turn
from hybridize.flow.windows import window_of
from hybridize.library.lengths import hold_alike, length_of, note_length
from hybridize.library.operators import binary, compare, inplace, unary
from hybridize.library.protocols import FORMATTED, SHOWN, TRUTH, ask, look_up, show
from hybridize.program.ir import ALWAYS, NO_SLOT, Block, Instr, Loop, Op, Try

if TYPE_CHECKING:
    from hybridize.flow.engine import Engine

#: A loop is interpreted at most so often; widening makes it stable long before.
MAX_ITERATIONS = 12
#: `f(*xs)` passes so many elements at most that are not told apart.
MAX_SPREAD: Final = 64
#: Longer texts are not spelled out.
MAX_TEXT = 80
#: The special methods that a value of an f-string is asked for, by its conversion.
_ASKED: Final = {"": FORMATTED, "s": SHOWN, "r": SHOWN[1:], "a": SHOWN[1:]}


class Executor(Calls):
    """The part of the engine that executes code."""

    def execute(self, frame: Frame, block: Block) -> bool:
        """Executes a block; false where control does not reach its end."""
        vals = frame.vals
        table = HANDLERS
        self.work += len(block)
        if self.work > self.limit:
            raise ExhaustedError
        for instr in block:
            if table[instr[0]](self, frame, vals, instr) is False:  # type: ignore[arg-type]  # Engine is the only executor
                return False
        return True

    def condition(self, frame: Frame, value: Value | None, pos: int) -> tuple[bool, bool]:
        """Whether a condition may hold, and whether it may not. A value that is not there yet decides nothing."""
        if not value:
            frame.stuck = True
            return MAYBE if frame.lenient else NEVER
        ask(self, frame, value, TRUTH, pos)
        return truth(self, frame, value)


def _copy(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    vals[instr[1]] = vals[instr[2]]


def _global(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, name, _ = instr
    module = frame.module
    code = frame.code
    if code.kind == "class" and frame.namespace is not None:
        own = frame.namespace.fields.get(name)
        if own is not None and own.value:
            vals[dst] = own.value
            return
    cell = module.fields.get(name)
    if cell is not None:
        step = frame.step
        cell.readers[step] = step.runs
        if cell.value:
            vals[dst] = cell.value
            return
    vals[dst] = engine.global_value(frame, name)


def _cell(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, name, _ = instr
    cell = frame.cells.get(name)
    if cell is None:
        vals[dst] = engine.global_value(frame, name)
        return
    step = frame.step
    cell.readers[step] = step.runs
    vals[dst] = cell.value
    if not cell.value and frame.lenient:
        vals[dst] = unknown(f"variable `{name}`, not bound yet").value


def _set_global(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, name, src, pos = instr
    engine.write(frame, frame.module.cell(name), vals[src] or BOTTOM, pos)
    if frame.code.kind != "module":
        frame.effect("global", frame.module, name, pos)


def _set_cell(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, name, src, pos = instr
    cell = frame.cells.get(name)
    if cell is not None:
        engine.write(frame, cell, vals[src] or BOTTOM, pos)
        if name not in frame.code.cells:
            frame.effect("closure", None, name, pos).cell = cell


def _set_name(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, name, src, pos = instr
    if frame.namespace is not None:
        value = vals[src] or BOTTOM
        for obj in value:
            if isinstance(obj, Func) and obj.owner is None:
                obj.owner = frame.namespace
        cell = frame.namespace.cell(name)
        # A class body runs once, top to bottom: a later binding of a name replaces the earlier one.
        if cell.value and frame.runs <= 1:
            cell.value = BOTTOM
        engine.write(frame, cell, value, pos)


def _del_global(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    if frame.code.kind != "module":
        frame.effect("global", frame.module, instr[2], instr[3])


def _attr(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, owner, name, pos = instr
    value = vals[owner]
    vals[dst] = engine.get_attrs(frame, value, name, pos) if value else _missing(frame)


def _missing(frame: Frame) -> Value:
    frame.stuck = True
    return unknown("a value that the analysis never sees").value if frame.lenient else BOTTOM


def _set_attr(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, owner, name, src, pos = instr
    value = vals[src] or BOTTOM
    owners = vals[owner] or BOTTOM
    if owners and all(isinstance(o, Lit | Prim) and o is not NONE for o in owners):
        # No number or string has attributes of its own: a member of an enumeration is meant.
        frame.effect("attribute", unknown("a member of an enumeration"), name, pos).slot = owner
    for obj in owners:
        if isinstance(obj, Unknown) or (isinstance(obj, Tensor) and obj.kind == NDARRAY):
            frame.effect("attribute", obj, name, pos).slot = owner
        else:
            engine.set_attr(frame, obj, name, value, pos)


def _del_cell(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, name, pos = instr
    frame.effect("closure", None, name, pos).cell = frame.cells.get(name)


def _del_local(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    ask(engine, frame, vals[instr[2]] or BOTTOM, ("__del__",), instr[3])


def _del_attr(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, owner, name, pos = instr
    for obj in vals[owner] or BOTTOM:
        engine.del_attr(frame, obj, name, pos)


def _item(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, owner, index, pos = instr
    value, key = vals[owner], vals[index]
    vals[dst] = engine.get_item(frame, value, key, pos) if value and key else _missing(frame)


def _set_item(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, owner, index, src, pos = instr
    key, value = vals[index] or BOTTOM, vals[src] or BOTTOM
    for obj in vals[owner] or BOTTOM:
        if isinstance(obj, Tensor | Unknown):
            kind = obj.kind if isinstance(obj, Tensor) else "item"
            frame.effect("item", obj, kind, pos).slot = owner
        else:
            engine.set_item(frame, obj, key, value, pos)


def _del_item(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, owner, index, pos = instr
    for obj in vals[owner] or BOTTOM:
        if isinstance(obj, Container):
            engine.lose_exactness(obj)
        elif isinstance(obj, Inst):
            method = engine.find_method(frame, obj, "__delitem__")
            if method:
                engine.call_value(frame, pos, method, [vals[index] or BOTTOM], {}, "operator")
                continue
        frame.effect("item", obj, "item", pos).slot = owner


def _slice(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, *parts, _ = instr
    values = [(vals[p] or BOTTOM) if p != NO_SLOT else NONE_V for p in parts]
    window = window_of(frame, instr, values)
    vals[dst] = wrapper("slice", BOTTOM, *values, *([window] if window else ())).value


def _binary(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, op, left, right, pos = instr
    a, b = vals[left], vals[right]
    vals[dst] = binary(engine, frame, op, a, b, pos) if a and b else _missing(frame)


def _inplace(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, op, left, right, pos = instr
    a, b = vals[left], vals[right]
    vals[dst] = inplace(engine, frame, op, a, b, pos) if a and b else _missing(frame)
    for obj in a or BOTTOM:
        if isinstance(obj, Tensor) and obj.kind == NDARRAY and obj.shape != ():
            frame.effect("item", obj, "array", pos).slot = left


def _unary(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, op, src, pos = instr
    value = vals[src]
    if op == "not":
        may, may_not = engine.condition(frame, value, pos)
        vals[dst] = BOOL_V if may == may_not and may else literal(may_not).value if may or may_not else BOTTOM
    else:
        vals[dst] = unary(engine, frame, op, value, pos) if value else _missing(frame)


def _compare(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, op, left, right, pos = instr
    a, b = vals[left], vals[right]
    vals[dst] = compare(engine, frame, op, a, b, pos) if a and b else _missing(frame)


def _boolop(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, parts, op, pos = instr
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
    vals[dst] = (vals[parts[-1]] if decided else result) or _missing(frame)


def _call(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, func, args, keywords, pos = instr
    target = vals[func]
    if not target:
        vals[dst] = _missing(frame)
        return
    values: list[Value] = []
    rest = BOTTOM
    for slot, starred in args:
        value = vals[slot]
        if not value:
            value = _missing(frame)
            if not value:
                vals[dst] = BOTTOM
                return
        if not starred:
            if rest:
                rest = join(rest, value)
            else:
                values.append(value)
            continue
        items = None if rest else engine.spread(frame, value, pos)
        if items is None and not rest:
            items = _alike(engine, frame, value, pos)
        if items is not None:
            values += items
        else:
            rest = join(rest, engine.elements(frame, value, pos) or unknown("an unpacked argument").value)
    named: dict[str, Value] = {}
    for name, slot in keywords:
        value = vals[slot]
        if not value:
            value = _missing(frame)
            if not value:
                vals[dst] = BOTTOM
                return
        if name is None:
            engine.spread_mapping(frame, value, named, pos)
        else:
            named[name] = value
    vals[dst] = engine.call_value(frame, pos, target, values, named, "call", rest)


def _alike(engine: Engine, frame: Frame, value: Value, pos: int) -> list[Value] | None:
    """The elements of a sequence of known length that are not told apart."""
    length = length_of(engine, frame, value)
    if length is None or not 0 < length <= MAX_SPREAD:
        return None
    element = engine.elements(frame, value, pos)
    return [element] * length if element else None


def _tuple(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, parts, pos = instr
    items: list[Value] = []
    for slot, starred in parts:
        value = vals[slot] or _missing(frame)
        if not value:
            vals[dst] = BOTTOM
            return
        if not starred:
            items.append(value)
            continue
        more = engine.spread(frame, value, pos)
        if more is None:
            element = engine.elements(frame, value, pos)
            vals[dst] = stream("tuple", join(join_items(tuple(items)), element)).value
            return
        items += more
    vals[dst] = tup(items).value


def _sequence(kind: str) -> Handler:
    def handler(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
        _, dst, parts, pos = instr
        made = engine.container(frame, pos, kind)
        if len(parts) > 64:
            engine.lose_exactness(made)
        index = 0
        for slot, starred in parts:
            value = vals[slot] or BOTTOM
            if starred:
                more = engine.spread(frame, value, pos)
                if more is not None and made.exact and kind == "list" and len(more) <= 64:
                    for item in more:
                        engine.write(frame, made.cell(index), item, pos)
                        index += 1
                    continue
                engine.lose_exactness(made)
                engine.write(frame, made.rest_cell(), engine.elements(frame, value, pos), pos)
            elif made.exact and kind == "list":
                engine.write(frame, made.cell(index), value, pos)
                index += 1
            else:
                engine.write(frame, made.rest_cell(), value, pos)
            if kind == "set":
                look_up(engine, frame, value, pos)
        if kind != "list" and parts:
            engine.lose_exactness(made)
        vals[dst] = made.value

    return handler


def _generator(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    vals[instr[1]] = engine.container(frame, instr[2], "generator").value


def _dict(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, pairs, pos = instr
    made = engine.container(frame, pos, "dict")
    for key, slot in pairs:
        value = vals[slot] or BOTTOM
        if key != NO_SLOT:
            look_up(engine, frame, vals[key] or BOTTOM, pos)
            engine.set_item_quietly(frame, made, vals[key] or BOTTOM, value, made.site[1])
            continue
        named: dict[str, Value] = {}
        engine.spread_mapping(frame, value, named, pos)
        for name, item in named.items():
            if name == "**":
                engine.lose_exactness(made)
                engine.write(frame, made.rest_cell(), item, pos)
            else:
                engine.write(frame, made.cell(name), item, pos)
    vals[dst] = made.value


def _format(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, parts, conversions, texts, pos = instr
    for slot, conversion in zip(parts, conversions, strict=True):
        show(engine, frame, vals[slot] or BOTTOM, _ASKED[conversion], pos)
    vals[dst] = (_spelled(vals, parts, texts) if texts and engine.world.is_small else None) or STR_V


def _spelled(vals: list[Any], parts: tuple[int, ...], texts: tuple[str | None, ...]) -> Value | None:
    """The text of an f-string whose values are all constants."""
    shown: list[str] = []
    varies = False
    for slot in parts:
        obj = next(iter(vals[slot] or (None,)))
        if not isinstance(obj, Lit) or len(vals[slot]) != 1 or not isinstance(obj.const, int | str):
            return None
        varies = varies or obj.varies
        shown.append(str(obj.const))
    values = iter(shown)
    text = "".join(next(values) if piece is None else piece for piece in texts)
    if len(text) > MAX_TEXT:
        return None
    return counter(text).value if varies else literal(text).value


def _append(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, owner, src, pos = instr
    for obj in vals[owner] or BOTTOM:
        if isinstance(obj, Container):
            hold_alike(engine, obj)
            engine.write(frame, obj.rest_cell(), vals[src] or BOTTOM, pos)


def _sized(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, owner, source, _ = instr
    for obj in vals[owner] or BOTTOM:
        if isinstance(obj, Container) and vals[source]:
            note_length(engine, obj, length_of(engine, frame, vals[source]))


def _put(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, owner, key, src, pos = instr
    for obj in vals[owner] or BOTTOM:
        if isinstance(obj, Container):
            look_up(engine, frame, vals[key] or BOTTOM, pos)
            engine.set_item_quietly(frame, obj, vals[key] or BOTTOM, vals[src] or BOTTOM, pos)


def _unpack(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, slots, src, star, pos = instr
    value = vals[src]
    if not value:
        value = _missing(frame)
    count = len(slots)
    results: list[Value] = [BOTTOM] * count
    for obj in value:
        items = engine.unpackable(frame, obj, pos)
        if items is not None and isinstance(obj, Tup | Container) and obj.kind in ONE_SHOT:
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
        element = engine.elements(frame, obj.value, pos)
        for i in range(count):
            part = element
            if i == star:
                made = engine.container(frame, pos, "list", f"star{star}")
                engine.lose_exactness(made)
                engine.write(frame, made.rest_cell(), element, pos)
                part = made.value
            results[i] = join(results[i], part)
    for slot, part in zip(slots, results, strict=True):
        vals[slot] = part


def _starred(engine: Engine, frame: Frame, items: list[Value], tag: str, pos: int) -> Value:
    """The list of what a star takes, by position while all alternatives have the same length."""
    made = engine.container(frame, pos, "list", tag)
    if made.exact and made.fields and len(made.fields) != len(items):
        engine.lose_exactness(made)
    for i, item in enumerate(items):
        engine.write(frame, made.cell(i), item, pos)
    return made.value


def _func(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, code, defaults, pos = instr
    func = engine.function_object(frame, code, pos)
    for name, slot in defaults:
        old = func.defaults.get(name)
        new = func.defaults[name] = join(old or BOTTOM, vals[slot] or BOTTOM)
        if old is not None and new is not old:
            engine.defaults_changed(func)
    vals[dst] = func.value


def _class(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, code, bases, keywords, pos = instr
    objects: list[Obj] = []
    for slot, _ in bases:
        value = vals[slot] or BOTTOM
        objects.append(min(value, key=_base_order) if value else unknown("a base class"))
    vals[dst] = engine.class_object(frame, code, objects, dict(keywords), pos).value


def _base_order(obj: Obj) -> tuple[int, str]:
    return (0 if isinstance(obj, Class) else 1 if isinstance(obj, Lib) else 2, repr(obj))


def _import(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, name, top, _ = instr
    vals[dst] = engine.import_name(frame, name, top)


def _import_from(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, module, level, name, _ = instr
    vals[dst] = engine.import_from(frame, module, level, name)


def _import_star(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, module, level, pos = instr
    engine.import_star(frame, module, level, pos)


def _phi(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    result = BOTTOM
    edges = frame.edges
    for edge, slot in instr[2]:
        if edge == ALWAYS or edges[edge]:
            value = vals[slot]
            if value:
                result = join(result, value)
    vals[instr[1]] = result


def _refine(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, src, kind, argument, polarity, _ = instr
    value = vals[src]
    if not value:
        vals[dst] = value
        return
    if kind == "none":
        kept = value & NONE_V if polarity else value - NONE_V
        if polarity and not kept and any(isinstance(o, Unknown) for o in value):
            kept = NONE_V
    elif kind == "truth":
        kept = frozenset(o for o in value if truth(engine, frame, o.value)[0 if polarity else 1])
    elif kind == "isinstance":
        kept = engine.narrow(frame, value, vals[argument] or BOTTOM, polarity)
    elif kind == "shape":
        kept = frozenset(o for o in value if fits_shape(o, argument)[0 if polarity else 1])
    else:
        kept = value
    vals[dst] = value if len(kept) == len(value) else join(BOTTOM, kept)


def _return(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> bool:
    value = vals[instr[2]]
    if not value:
        value = _missing(frame)
    engine.returned(frame, value)
    return False


def _yield(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, src, _ = instr
    engine.yielded(frame, vals[src] or BOTTOM)
    vals[dst] = join(NONE_V, engine.read(frame, engine.world.sent(frame.code)))


def _yield_from(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, src, pos = instr
    engine.yielded(frame, engine.elements(frame, vals[src] or BOTTOM, pos))
    result = BOTTOM
    for obj in vals[src] or BOTTOM:
        if isinstance(obj, Stream) and obj.origin:
            engine.read(frame, engine.world.finished(obj.origin))
            for callee in engine.world.contexts(obj.origin).frames.values():
                result = join(result, callee.ret)
    vals[dst] = result or NONE_V


def _raise(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> bool:
    return False


def _assert(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> bool | None:
    may, _ = engine.condition(frame, vals[instr[2]], instr[3])
    return None if may else False


def _jump(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> bool:
    frame.edges[instr[2]] = 1
    return False


def _if(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> bool | None:
    _, _, condition, then, other, first, second, pos = instr
    may, may_not = engine.condition(frame, vals[condition], pos)
    if may and may_not and frame.code.appends:
        return _undecided(engine, frame, instr)
    falls = False
    if may and engine.execute(frame, then):
        frame.edges[first] = 1
        falls = True
    if may_not and engine.execute(frame, other):
        frame.edges[second] = 1
        falls = True
    return None if falls else False


def _undecided(engine: Engine, frame: Frame, instr: Instr) -> bool | None:
    """Both ways of a branch, where appends are counted."""
    frame.doubts += 1
    falls = False
    for block, edge in ((instr[3], instr[5]), (instr[4], instr[6])):
        if engine.execute(frame, block):
            frame.edges[edge] = 1
            falls = True
    frame.doubts -= 1
    return None if falls else False


def _loop(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> bool | None:
    if not frame.code.appends:
        return _turns(engine, frame, vals, instr)
    loop: Loop = instr[2]
    outer = frame.around
    value = vals[loop.iterable] if loop.is_for and not loop.breaks and loop.iterable != NO_SLOT else BOTTOM
    frame.around = (*outer, length_of(engine, frame, value or BOTTOM))
    falls = _turns(engine, frame, vals, instr)
    frame.around = outer
    return falls


def _turns(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> bool | None:
    loop: Loop = instr[2]
    edges = frame.edges
    items = items_in_turn(engine, frame, loop)
    if items is not None:
        return follow(engine, frame, loop, items)
    if is_decided(engine, loop):
        ended, after = follow_while(engine, frame, loop, instr[3])
        if ended:
            return after
    edges[loop.entry] = 1
    outer = frame.looping
    frame.looping = outer or bool(loop.phis)
    leaves = _iterate(engine, frame, vals, loop, instr[3])
    frame.looping = outer
    if leaves is None:
        return False
    falls = any(edges[edge] for edge in loop.breaks)
    if leaves:
        edges[loop.exhausted] = 1
        if engine.execute(frame, loop.orelse):
            edges[loop.done] = 1
            falls = True
    return None if falls else False


def _iterate(engine: Engine, frame: Frame, vals: list[Any], loop: Loop, pos: int) -> bool | None:
    """Executes a loop until nothing changes; whether it may end without `break`, None where control never gets in."""
    leaves = loop.is_for
    for iteration in range(MAX_ITERATIONS):
        changed = iteration == 0
        for phi in loop.phis:
            slot = phi[1]
            old = vals[slot] or BOTTOM
            _phi(engine, frame, vals, phi)
            new = vals[slot]
            if iteration > 1:
                new = vals[slot] = widen(old, new)
            if new is not old and new != old:
                changed = True
        if not changed:
            break
        if not engine.execute(frame, loop.test):
            return None
        if loop.is_for:
            enters = bool(vals[loop.test[-1][1]])
        else:
            enters, exits = engine.condition(frame, vals[loop.condition], pos)
            leaves = leaves or exits
        if not enters:
            break
        if engine.execute(frame, loop.body):
            frame.edges[loop.back] = 1
        if not loop.phis:
            break
    return leaves


def _try(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> bool | None:
    statement: Try = instr[2]
    edges = frame.edges
    falls = False
    frame.doubts += 1
    if engine.execute(frame, statement.body) and engine.execute(frame, statement.orelse):
        edges[statement.fallthrough] = 1
        falls = True
    for handler in statement.handlers:
        engine.execute(frame, handler.phis)
        engine.execute(frame, handler.catches)
        if handler.caught != NO_SLOT:
            vals[handler.caught] = engine.caught(frame, vals[handler.type_slot] if handler.type_slot >= 0 else None)
        if engine.execute(frame, handler.body):
            edges[handler.fallthrough] = 1
            falls = True
    frame.doubts -= 1
    engine.execute(frame, statement.join)
    if not engine.execute(frame, statement.final):
        return False
    return None if falls else False


def _enter(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, src, _, pos = instr
    value = vals[src]
    vals[dst] = engine.enter_context(frame, value, pos) if value else _missing(frame)


def _exit(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, src, pos = instr
    engine.exit_context(frame, vals[src] or BOTTOM, pos)


def _iter(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, src, pos = instr
    value = vals[src]
    vals[dst] = engine.elements(frame, value, pos) if value else _missing(frame)


def _match(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, src, kind, argument, pos = instr
    value = vals[src] or BOTTOM
    if kind == "class":
        inside = engine.narrow(frame, value, vals[argument] or BOTTOM, True)
        outside = engine.narrow(frame, value, vals[argument] or BOTTOM, False)
        vals[dst] = BOOL_V if inside and outside else literal(bool(inside)).value if value else BOTTOM
    elif kind == "shape":
        answers = [fits_shape(o, argument) for o in value]
        may, may_not = any(a[0] for a in answers), any(a[1] for a in answers)
        vals[dst] = BOOL_V if may and may_not else literal(may).value if value else BOTTOM
    elif kind == "position":
        vals[dst] = engine.match_position(frame, value, argument, pos)
    else:
        vals[dst] = BOOL_V


def _dynamic(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    frame.effect("unknown_call", None, instr[2], instr[-1])


_TABLE: dict[Op, Handler] = {
    Op.COPY: _copy,
    Op.GLOBAL: _global,
    Op.CELL: _cell,
    Op.SET_GLOBAL: _set_global,
    Op.SET_CELL: _set_cell,
    Op.SET_NAME: _set_name,
    Op.DEL_GLOBAL: _del_global,
    Op.DEL_CELL: _del_cell,
    Op.DEL_LOCAL: _del_local,
    Op.ATTR: kept(_attr, steps.second),
    Op.SET_ATTR: kept(_set_attr, steps.changed_attribute, assigns=False),
    Op.DEL_ATTR: _del_attr,
    Op.ITEM: kept(_item, steps.two),
    Op.SET_ITEM: kept(_set_item, steps.changed_item, assigns=False),
    Op.DEL_ITEM: _del_item,
    Op.SLICE: _slice,
    Op.BINARY: kept(_binary, steps.operands),
    Op.INPLACE: kept(_inplace, steps.operands),
    Op.UNARY: kept(_unary, steps.operand),
    Op.COMPARE: kept(_compare, steps.operands),
    Op.BOOLOP: _boolop,
    Op.CALL: kept(_call, steps.called),
    Op.TUPLE: _tuple,
    Op.LIST: _sequence("list"),
    Op.SET: _sequence("set"),
    Op.GENERATOR: _generator,
    Op.DICT: _dict,
    Op.FORMAT: kept(_format, steps.several),
    Op.APPEND: _append,
    Op.SIZED: _sized,
    Op.PUT: _put,
    Op.UNPACK: _unpack,
    Op.FUNC: _func,
    Op.CLASS: _class,
    Op.IMPORT: _import,
    Op.IMPORT_FROM: _import_from,
    Op.IMPORT_STAR: kept(_import_star, steps.none, assigns=False),
    Op.PHI: _phi,
    Op.REFINE: kept(_refine, steps.refined),
    Op.RETURN: _return,
    Op.YIELD: _yield,
    Op.YIELD_FROM: _yield_from,
    Op.AWAIT: _copy,
    Op.RAISE: _raise,
    Op.ASSERT: _assert,
    Op.JUMP: _jump,
    Op.IF: _if,
    Op.LOOP: _loop,
    Op.TRY: _try,
    Op.ENTER: _enter,
    Op.EXIT: _exit,
    Op.ITER: kept(_iter, steps.second),
    Op.MATCH: _match,
    Op.DYNAMIC: _dynamic,
}
HANDLERS: tuple[Handler, ...] = tuple(_TABLE[op] for op in Op)
