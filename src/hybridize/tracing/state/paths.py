"""Where values come from, as ways into what holds them: which arguments may be, or may hold, the very same tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from hybridize.domain.calls import DIRECT
from hybridize.domain.objects import Inst, Lit, Tensor, Tup
from hybridize.facts.origins import calls_to
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.program.operands import by_operation
from hybridize.records import dataclass
from hybridize.tracing.shapes.opened import passed
from hybridize.tracing.values import argument, uses
from hybridize.tracing.views import FrameView

Keys: TypeAlias = tuple[object, ...]
#: Slots to look at next, with the keys to take out of them.
Steps: TypeAlias = "list[tuple[int, Keys]]"
#: A key that is not known: any.
ANY: Final = object()
#: So many keys are told apart.
_KEYS: Final = 4
#: Functions that give what they are given, or a sequence of its elements.
_SAME: Final = frozenset({"tf.convert_to_tensor"})
_ELEMENTS: Final = frozenset(
    {f"builtins.{name}" for name in "list tuple sorted reversed iter set".split()} | {"tf.nest.flatten"}
)
#: Methods that put their last argument into a container.
_ADDS: Final = frozenset({"builtins.list.append", "builtins.list.insert", "builtins.dict.setdefault"})
_STEPS: Final = 60
_CALLERS: Final = 3


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from: a place, and the keys by which it was taken out of what is there.

    The place is a tuple: `param` with frame and index, `made` with frame and slot, `field` with object and name,
    `global` or `cell` with file and name.
    """

    place: tuple[object, ...]
    path: Keys = ()


def origins(view: FrameView, slot: int, path: Keys = ()) -> frozenset[Origin]:
    """The places that a value came from, within one function; those of its elements, too, if it is a display."""
    found: set[Origin] = set()
    params = {param.slot: i for i, param in enumerate(view.code.params)}
    todo, seen = [(slot, path)], set[tuple[int, Keys]]()
    while todo and len(seen) < _STEPS:
        each, keys = todo.pop()
        if each < 0 or (each, keys) in seen:
            continue
        seen.add((each, keys))
        made = view.definition(each)
        if each in params:
            found.add(Origin(("param", view.frame, params[each]), keys))
            continue
        steps = _STEP[type(made)](view, made, each, keys) if made is not None and type(made) in _STEP else []
        todo += [(source, more[:_KEYS]) for source, more in steps]
        if isinstance(made, (ir.List, ir.Dict)):
            todo += [(source, keys[1:]) for source in _added(view, each)]
        named = _named(view, made, keys)
        found.update(named)
        if not steps and not named:
            found.add(Origin(("made", view.frame, each), keys))
        found.update(Origin(place, keys) for place in _kept(view, each))
    return frozenset(found)


def _kept(view: FrameView, slot: int) -> Iterator[tuple[object, ...]]:
    """The globals and captured variables that a slot is the value of: others read it by these."""
    index = index_of(view.code)
    for instr in index.of(ir.SetOuter):
        if instr.value == slot:
            yield "global" if isinstance(instr, ir.SetGlobal) else "cell", view.code.path, instr.name


def _named(view: FrameView, made: Instr | None, keys: Keys) -> list[Origin]:
    """What is read of fields, globals and captured variables."""
    if not isinstance(made, ir.Load):
        return []
    if isinstance(made, ir.Attr):
        return [Origin(("field", o, made.name), keys) for o in view.value(made.owner) if isinstance(o, Inst)]
    return [Origin(("global" if isinstance(made, ir.Global) else "cell", view.code.path, made.name), keys)]


def _added(view: FrameView, slot: int) -> Iterator[int]:
    """What a function puts into a list or dictionary that it has made."""
    for use in uses(view, slot):
        if isinstance(use, ir.Fill) and use.owner == slot:
            yield use.value
        elif isinstance(use, ir.Attr):
            for call in uses(view, use.target):
                if isinstance(call, ir.Call) and _ADDS & set(view.names(call.function)):
                    yield from (each for each, _ in call.arguments[-1:])


def _copied(_: FrameView, made: ir.Copy, __: int, keys: Keys) -> Steps:
    return [(made.source, keys)]


def _joined(_: FrameView, made: ir.Phi, __: int, keys: Keys) -> Steps:
    return [(slot, keys) for _, slot in made.incoming]


def _shown(_: FrameView, made: ir.Sequence, __: int, keys: Keys) -> Steps:
    """An element of a display, or all of them where the display itself is asked for."""
    parts = [slot for slot, _ in made.elements]
    first = keys[0] if keys else ANY
    if type(first) is int and -len(parts) <= first < len(parts) and not any(starred for _, starred in made.elements):
        return [(parts[first], keys[1:])]
    return [(slot, keys[1:]) for slot in parts]


def _entries(view: FrameView, made: ir.Dict, _: int, keys: Keys) -> Steps:
    first = keys[0] if keys else ANY
    return [(slot, keys[1:]) for key, slot in made.entries if first is ANY or _constant(view, key) in (ANY, first)]


def _item(view: FrameView, made: ir.Item | ir.Iter | ir.Unpack, slot: int, keys: Keys) -> Steps:
    """An element; what is taken out of a tensor is a new one."""
    if _is_tensor(view, made.source):
        return []
    key = _constant(view, made.index) if isinstance(made, ir.Item) else ANY
    if isinstance(made, ir.Unpack) and made.star < 0 and slot in made.targets:
        key = made.targets.index(slot)
    return _element(view, made.source, (key, *keys))


def _attribute(view: FrameView, made: ir.Attr, _: int, keys: Keys) -> Steps:
    return [(made.owner, (ANY, *keys))] if any(isinstance(o, Tup) for o in view.value(made.owner)) else []


def _called(view: FrameView, made: ir.Call, _: int, keys: Keys) -> Steps:
    names = set(view.names(made.function))
    if names & _SAME:
        return [(argument(made, 0), keys)]
    return [(argument(made, 0), (ANY, *keys[1:]) if keys else ())] if names & _ELEMENTS else []


def _element(view: FrameView, slot: int, keys: Keys) -> Steps:
    """An element of what is in a slot; of `zip` and `enumerate` one of their operands'."""
    made = view.definition(slot)
    if isinstance(made, ir.Call) and len(keys) > 1 and type(keys[1]) is int:
        names = view.names(made.function)
        if "builtins.zip" in names:
            return [(argument(made, keys[1]), (ANY, *keys[2:]))]
        if "builtins.enumerate" in names:
            return [(argument(made, 0), (ANY, *keys[2:]))] if keys[1] else []
    return [(slot, keys)]


_GROUPS: Final[Mapping[type[Instr], Callable[[FrameView, Any, int, Keys], Steps]]] = {
    ir.Copy: _copied,
    ir.Phi: _joined,
    ir.Sequence: _shown,
    ir.Dict: _entries,
    ir.Part: _item,
    ir.Attr: _attribute,
    ir.Call: _called,
}
_STEP: Final = by_operation(_GROUPS)


def _is_tensor(view: FrameView, slot: int) -> bool:
    """Whether taking something out of a value makes a new tensor."""
    value = view.value(slot)
    return bool(value) and all(isinstance(o, Tensor) for o in value)


def _constant(view: FrameView, slot: int) -> object:
    found = {o.const for o in view.value(slot) if isinstance(o, Lit)} if slot >= 0 else set()
    return found.pop() if len(found) == 1 and len(view.value(slot)) == 1 else ANY


# Aliases --------------------------------------------------------------------------------------------------------------


def overlap(one: Iterable[Origin], other: Iterable[Origin]) -> bool:
    """Whether something of one may be, or be in, something of the other."""
    others = list(other)
    return any(a.place == b.place and _leads(a.path, b.path) for a in one for b in others)


def _leads(one: Keys, other: Keys) -> bool:
    return all(a is ANY or b is ANY or a == b for a, b in zip(one, other, strict=False))


def may_alias(view: FrameView, one: frozenset[Origin], other: frozenset[Origin], depth: int = _CALLERS) -> bool:
    """Whether two values of a function may be, or hold, the same object: here, or because its callers pass it so."""
    if overlap(one, other):
        return True
    given = [{o.place[2] for o in each if o.place[:2] == ("param", view.frame)} for each in (one, other)]
    if not depth or not all(given):
        return False
    for caller, pos in sites(view.frame):
        around = FrameView(view.project, caller)
        if may_alias(around, before(around, pos, view.frame, one), before(around, pos, view.frame, other), depth - 1):
            return True
    return False


def before(caller: FrameView, pos: int, callee: Frame, found: Iterable[Origin]) -> frozenset[Origin]:
    """The origins of values of a callee as those of what a call passes for them; others are as they are."""
    result: set[Origin] = set()
    for each in found:
        if each.place[:2] != ("param", callee):
            result.add(each)
            continue
        index = each.place[2]
        assert isinstance(index, int)
        for slot in passed(caller, pos, callee, index) or ():
            result |= origins(caller, slot, each.path)
    return frozenset(result)


def sites(frame: Frame) -> list[tuple[Frame, int]]:
    """The calls of a frame by expressions of the program, in a fixed order."""
    return sorted(calls_to(frame, DIRECT), key=lambda call: call[0].uid)


def reads(view: FrameView, origin: Origin) -> bool:
    """Whether a function itself reads the field, global or captured variable that an origin names."""
    kind, *where = origin.place
    if kind == "field":
        holder, name = where
        return any(holder in view.value(instr.owner) for instr in index_of(view.code).attributes.get(str(name), ()))
    if kind == "global" or kind == "cell":
        return where[0] == view.code.path and any(
            instr.name == where[1]
            for instr in (index_of(view.code).of(ir.Global) if kind == "global" else index_of(view.code).of(ir.Cell))
        )
    return False
