"""Changes of Python state that come out the same at every call: once per trace is then enough."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hybridize.domain.objects import Container, Func, Inst, LibInst, Lit, Obj, Tensor, Tup, Unknown, Value
from hybridize.domain.tensors import VARIABLE
from hybridize.domain.words import CONSTRUCTORS
from hybridize.facts.origins import call_at, definitions
from hybridize.facts.state.guards import guarded, set_up_once
from hybridize.facts.state.reasons import Reason
from hybridize.flow.frames import Effect, Frame
from hybridize.library.dialect import STATIC
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.tracing.views import ProjectView

_NO_VALUE: Final[Value] = frozenset()
#: What a graph is made for: the same in every call that runs it.
_STATIC: Final = STATIC | {"name"}
#: Functions whose results depend on nothing but their arguments.
_PURE: Final = frozenset({"tuple", "str", "len", "int", "repr", "list", "frozenset"})
_DEPTH: Final = 6
#: Objects with a life of their own: who holds one holds it at the next call, too.
_OBJECTS: Final = (Inst, LibInst, Container, Tup, Func)
_ENTERED: Final = frozenset({"__enter__", "__exit__"})


def adds_same(reason: Reason, root: Frame) -> bool:
    """Whether a change adds an element or entry that every call of the same trace adds again.

    `seen.add("a")`, `shapes.add(tuple(x.shape))`, `d["k"] = 1`: only who takes it out between calls sees a difference.
    `root` is the function whose side effect it is: what its own arguments are, a trace is made for.
    """
    effect, frame = reason.effect, reason.frame
    target = effect.target
    if not isinstance(target, Container):
        return False
    if effect.kind == "mutate" and target.kind == "set" and effect.detail.rpartition(".")[2] == "add":
        call = call_at(frame.code, effect.position)
        return call is not None and len(call.arguments) == 1 and _is_same(frame, call.arguments[0][0], frame is root)
    if effect.kind != "item" or target.kind != "dict":
        return False
    found = [i for i in index_of(frame.code).at(effect.position) if isinstance(i, ir.SetItem)]
    if len(found) != 1:
        return False
    key, value = found[0].index, frame.vals[found[0].value] or _NO_VALUE
    return _is_constant(value) and _is_same(frame, key, frame is root) and _every_entry(target, frame, key) <= value


def writes_same(project: ProjectView, reason: Reason, root: Frame) -> bool:
    """Whether an attribute is given what every call gives it: what the object holds itself, or a constant of its own.

    `self.dropout.rate = self.rate` (a variable), `self.called = True`, `self.size = x.shape` (of one size that all
    calls have): after the first call nothing is different. `root` is the function whose side effect it is.
    """
    effect, frame = reason.effect, reason.frame
    if effect.kind in ("attribute", "global", "closure") and guarded(frame, effect.position):
        # `if first: ...; first = False`: a graph that is traced then does at each call what is meant for the first.
        return set_up_once(frame, effect.position)
    index = index_of(frame.code)
    written = [
        (i.owner, i.value) for i in index.at(effect.position) if isinstance(i, ir.SetAttr) and i.name == effect.detail
    ]
    calls = [i for i in index.at(effect.position) if isinstance(i, ir.Call) and _is_setattr(frame, i)]
    written += [(call.arguments[0][0], call.arguments[2][0]) for call in calls]
    if effect.kind != "attribute" or len(written) != 1:
        return False
    ((owner, slot),) = written
    value = frame.vals[slot] or _NO_VALUE
    every = {o for each in project.solution.frames.get(frame.code, ()) for o in each.vals[slot] or _NO_VALUE}
    static = len(every) == 1 and all(map(_is_known, every)) and _is_same(frame, slot, frame is root)
    if len(value) == 1 and (static or (_is_constant(value) and index.source(slot) is None)):
        return _other_writes(project, effect) <= value
    return _is_held(frame, slot, (index.original(owner), effect.detail))


def _is_setattr(frame: Frame, call: ir.Call) -> bool:
    """Whether a call is `setattr(object, name, value)`."""
    called = index_of(frame.code).source(call.function) if len(call.arguments) == 3 else None
    return isinstance(called, ir.Global) and called.name == "setattr"


def _is_held(frame: Frame, slot: int, written: tuple[int, str], depth: int = _DEPTH) -> bool:
    """Whether a value is made of objects that `self` or a module holds, and of nothing that is computed or counted."""
    index = index_of(frame.code)
    slot = index.original(slot)
    made = index.source(slot)
    if not depth:
        return False
    if made is None:
        given = frame.vals[slot] or _NO_VALUE
        is_object = bool(given) and all(isinstance(o, _OBJECTS) or _is_variable(o) for o in given)
        return is_object and frame.code.place_of(slot) >= 0
    match made:
        case ir.Global():
            return True
        case ir.Attr() if (index.original(made.owner), made.name) != written:
            value = frame.vals[made.target] or _NO_VALUE
            is_object = bool(value) and all(isinstance(o, (*_OBJECTS, Unknown)) or _is_variable(o) for o in value)
            return is_object and _is_held(frame, made.owner, written, depth - 1)
        case ir.Item():
            return _is_held(frame, made.source, written, depth - 1)
        case ir.Binary() if made.operator == "+":
            return all(_is_held(frame, s, written, depth - 1) for s in (made.left, made.right))
        case ir.Sequence():
            return all(not star and _is_held(frame, s, written, depth - 1) for s, star in made.elements)
        case ir.Dict():
            return not made.entries
        case ir.Call():
            # A list that the function itself makes is as long at every call of the graph.
            called = index.source(made.function)
            if isinstance(called, ir.Global) and called.name in ("list", "dict") and not made.arguments:
                return True
            measured = index.source(made.arguments[0][0]) if len(made.arguments) == 1 else None
            is_len = isinstance(called, ir.Global) and called.name == "len"
            return is_len and isinstance(measured, ir.Sequence)
    return False


def _is_variable(obj: Obj) -> bool:
    return isinstance(obj, Tensor) and obj.kind == VARIABLE


def _other_writes(project: ProjectView, effect: Effect) -> Value:
    """What code that runs at every call gives the same attribute; constructors come first, and graphs are traced."""

    def gather() -> dict[str, list[tuple[Value, Value]]]:
        found: dict[str, list[tuple[Value, Value]]] = {}
        hybrids = project.solution.world.hybrids
        for code, frames in project.solution.frames.items():
            for instr in index_of(code).of(ir.SetAttr) if code.name not in CONSTRUCTORS and code not in hybrids else ():
                values = (
                    (frame.vals[instr.owner] or _NO_VALUE, frame.vals[instr.value] or _NO_VALUE) for frame in frames
                )
                found.setdefault(instr.name, []).extend(values)
        return found

    every = project.shared("values of attributes", gather).get(effect.detail, [])
    return frozenset(o for owner, value in every if not _is_other(owner, effect.target) for o in value)


def _is_other(owner: Value, target: Obj | None) -> bool:
    """Whether an object is of another class than a given one for certain."""
    own = isinstance(target, Inst) and bool(owner) and all(isinstance(o, Inst) for o in owner)
    return own and not any(isinstance(o, Inst) and isinstance(target, Inst) and o.cls is target.cls for o in owner)


def is_entered(reason: Reason, every: Iterable[Reason]) -> bool:
    """Whether a context manager changes something when it is entered, and changes it back when it is left."""
    frame = reason.frame
    if frame.code.name in _ENTERED:
        same = (r.frame.code.name for r in every if r.effect.target is reason.effect.target)
        return frozenset(same) >= _ENTERED
    return any(
        caller.code.is_generator and len({pos for pos, callee in caller.calls if callee.code is frame.code}) > 1
        for caller in frame.callers
    )


def fills_default(reason: Reason) -> bool:
    """Whether reading an element makes it, as a `defaultdict` does: the first time alone."""
    found = index_of(reason.frame.code).at(reason.effect.position)
    return reason.effect.kind == "item" and not any(isinstance(i, ir.SetItem) for i in found)


def fills_cache(reason: Reason) -> bool:
    """Whether an entry is put into a dictionary that the function has looked into for it: what is there is not made."""
    frame, target = reason.frame, reason.effect.target
    if reason.effect.kind != "item" or not isinstance(target, Container) or target.kind != "dict":
        return False
    index = index_of(frame.code)
    asked = [i.right for i in index.of(ir.Compare) if i.operator in ("in", "not in")]
    asked += [i.owner for i in index.attributes.get("get", ())]
    return any(target in (frame.vals[slot] or _NO_VALUE) for slot in asked)


def _every_entry(target: Container, frame: Frame, key: int) -> Value:
    """What a dictionary holds under a key, whoever wrote it; under any where the key is not known."""
    found = [target.rest.value] if target.rest is not None else []
    names = {o.const for o in frame.vals[key] or () if isinstance(o, Lit)}
    found += [cell.value for name, cell in target.fields.items() if not names or name in names]
    return frozenset(o for value in found for o in value)


def _is_constant(value: Value) -> bool:
    return len(value) == 1 and all(isinstance(o, Lit) for o in value)


def _is_known(obj: Obj) -> bool:
    """Whether something is a constant, or a tuple or shape of constants."""
    if isinstance(obj, Tup):
        return all(len(item) == 1 and all(map(_is_known, item)) for item in obj.items)
    return isinstance(obj, Lit) and not obj.varies and obj.const != -1


def _is_same(frame: Frame, slot: int, is_root: bool, depth: int = _DEPTH) -> bool:
    """Whether a value is a constant, an argument that is no tensor, or something static that is made of those."""
    if slot < 0 or not depth:
        return False
    value = frame.vals[slot] or _NO_VALUE
    made: Instr | None = definitions(frame.code).get(slot)
    if made is None:
        own = frame.code.place_of(slot) >= 0
        plain = bool(value) and not any(isinstance(o, Tensor) for o in value)
        return _is_constant(value) if not own else is_root and plain
    match made:
        case ir.Attr() if made.name in _STATIC:
            owner = frame.vals[made.owner] or _NO_VALUE
            return bool(owner) and all(isinstance(o, Tensor) for o in owner)
        case ir.Copy():
            return _is_same(frame, made.source, is_root, depth - 1)
        case ir.Item():
            index = frame.vals[made.index] or _NO_VALUE
            return _is_constant(index) and _is_same(frame, made.source, is_root, depth - 1)
        case ir.Tuple():
            return all(not star and _is_same(frame, s, is_root, depth - 1) for s, star in made.elements)
        case ir.Call() if not made.keywords:
            called = definitions(frame.code).get(made.function)
            if isinstance(called, ir.Attr) and called.name == "as_list":
                return _is_same(frame, called.owner, is_root, depth - 1)
            pure = isinstance(called, ir.Global) and called.name in _PURE
            return pure and all(not star and _is_same(frame, s, is_root, depth - 1) for s, star in made.arguments)
    return False
