"""State that is set up once: code that runs only until what it stores is there (`if self.v is None: self.v = ...`).

Such code runs while a function is traced for the first time, and at its first call where the function is eager: what it
stores is the same either way, unless that is a symbolic tensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

from hybridize.domain.calls import ANY, How
from hybridize.domain.objects import NONE, Cell, Container, Lit, Obj, Prim, Tensor, Tup, Unknown, Value
from hybridize.domain.session import Table, cached, solved
from hybridize.domain.tensors import NDARRAY, VARIABLE
from hybridize.facts.origins import calls_of, definitions
from hybridize.facts.state.latched import acting, assigns
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Block, Code, Instr
from hybridize.program.operands import arguments, written
from hybridize.records import dataclass

#: Changes that come out the same: state that is made when it is not there yet; a constant that is always the same.
SET_UP: Final = "set up "
CONSTANT: Final = "constant "
#: Flags that Keras and TensorFlow set themselves once an object is set up.
_SET_UP: Final = frozenset({"built", "_built", "is_built"})
#: Decorators that keep a function's first result.
_CACHES: Final = frozenset({"cache", "lru_cache", "cached_property", "memoize"})
#: Comparisons that ask whether something is there.
_PRESENCE: Final = frozenset({"is", "is not", "in", "not in"})
_DEPTH: Final = 3
#: What is not run by the host while a graph runs.
_HERE: Final = ANY - {How.HOST}
_NO_VALUE: Final[Value] = frozenset()


@dataclass(eq=False)
class Region:
    """Code that runs under a condition: what the condition reads, the code, and the condition's slot (-1: none).

    `instead` runs where the code does not: the other branch, and those that leave before it.
    """

    tested: frozenset[str]
    code: Block
    test: int = -1
    instead: tuple[Block, ...] = ()

    @cached_property
    def block(self) -> list[Instr]:
        """All its instructions."""
        return list(instructions(self.code))

    @cached_property
    def slots(self) -> frozenset[int]:
        """The slots that it defines."""
        return frozenset(slot for instr in self.block for slot in written(instr))

    def written(self, code: Code) -> frozenset[str]:
        """The names that its own instructions write."""
        if self._written is None:
            self._written = frozenset(_named_by(code, self.block))
        return self._written

    _written: frozenset[str] | None = None


#: The functions that `functools` keeps the results of.
CACHED: Final = Table[Code, None](solved=True)


def is_cached(code: Code) -> bool:
    """Whether a decorator, or a call that `functools` is given the function by, keeps its results."""
    return is_applied(code) or any(last_name(d) in _CACHES for d in code.decorators)


def is_applied(code: Code) -> bool:
    """Whether the program gives a function to `functools.cache` or `lru_cache`, in whatever way."""
    return code in CACHED.here()


def last_name(node: Any) -> str:
    """The last name of a decorator, whatever it is called with."""
    while hasattr(node, "func"):
        node = node.func
    return str(getattr(node, "attr", None) or getattr(node, "id", ""))


def guarded(frame: Frame, position: int) -> bool:
    """Whether what is at a position runs only until some state is there that it (or code beside it) sets."""
    return any(_sets_what_it_tests(frame, region) for region in regions(frame.code).get(position, ()))


def asked_first(frame: Frame, position: int) -> bool:
    """Whether a condition around asks for what a position writes, by its name: the next call finds it there."""
    own = frozenset(_named_by(frame.code, index_of(frame.code).at(position)))
    return any(not region.tested.isdisjoint(own) for region in regions(frame.code).get(position, ()))


@solved
def set_up_once(frame: Frame, position: int) -> bool:
    """Whether code is guarded, and leaves no trace but the state that it sets: no other result depends on it."""
    for region in regions(frame.code).get(position, ()):
        if _sets_what_it_tests(frame, region) and _leaves_only_state(frame, region):
            return True
    return False


def is_flagged(frame: Frame, position: int) -> bool:
    """Whether code is set up once under a flag or field of its own, not under what is in a container: keys vary."""
    for region in regions(frame.code).get(position, ()):
        own = {i.name for i in region.block if isinstance(i, ir.Assignment)}
        if not region.tested.isdisjoint(own) and _leaves_only_state(frame, region):
            return True
    return False


# What is stored ---------------------------------------------------------------------------------------------------


def stored(frame: Frame, position: int) -> list[int]:
    """The slots whose values the instructions at a position put away."""
    found = [slot for i in index_of(frame.code).at(position) for slot in _put(i)]
    return [slot for slot in found if slot >= 0]


def _put(instr: Instr) -> list[int]:
    match instr:
        case ir.Store():
            return [instr.value]
        case ir.Call():
            return arguments(instr)
    return []


def parts(obj: Obj) -> list[Value]:
    """What is in a tuple or container."""
    if isinstance(obj, Tup):
        return list(obj.items)
    if not isinstance(obj, Container):
        return []
    cells: list[Cell] = [*obj.fields.values(), *([obj.rest] if obj.rest is not None else [])]
    return [cell.value for cell in cells]


@solved
def holds_plain_tensor(value: Value, depth: int = _DEPTH) -> bool:
    """Whether a value is or holds a tensor that is no variable: storing a variable stores no value."""
    for obj in value:
        if isinstance(obj, Tensor):
            if obj.kind not in (VARIABLE, NDARRAY):
                return True
        elif not depth or not isinstance(obj, (Tup, Container)):
            continue
        elif any(holds_plain_tensor(item, depth - 1) for item in parts(obj)):
            return True
    return False


def may_hold_tensor(value: Value) -> bool:
    """Whether a value is or holds such a tensor, or is something unknown: a call's result may be one of the trace."""
    return holds_plain_tensor(value) or any(isinstance(obj, Unknown) for obj in value)


# Regions ----------------------------------------------------------------------------------------------------------


@cached
def regions(code: Code) -> dict[int, tuple[Region, ...]]:
    """The conditions under which each position of a code runs, outermost first."""
    found: dict[int, tuple[Region, ...]] = {}
    if index_of(code).of(ir.If, ir.Loop) or _has_handlers(code):
        _walk(code, code.body, (), found)
    return found


def _has_handlers(code: Code) -> bool:
    return any(i.handlers for i in index_of(code).of(ir.Try))


def _walk(code: Code, block: Block, stack: tuple[Region, ...], found: dict[int, tuple[Region, ...]]) -> None:
    for i, instr in enumerate(block):
        if stack:
            found.setdefault(instr.position, stack)
        if isinstance(instr, ir.If):
            tested = frozenset(_reads(code, instr.condition))
            for branch, other in ((instr.then, instr.orelse), (instr.orelse, instr.then)):
                _walk(code, branch, (*stack, Region(tested, branch, instr.condition, (other,))), found)
            ends = [branch for branch in (instr.then, instr.orelse) if branch and isinstance(branch[-1], ir.Ending)]
            if ends:
                stack = (*stack, Region(tested, block[i + 1 :], instr.condition, tuple(ends)))
        elif isinstance(instr, ir.Loop):
            tested = frozenset() if instr.is_for else frozenset(_counted(code, instr.condition))
            inside = (*stack, Region(tested, instr.body, instr.condition)) if tested else stack
            for part, around in ((instr.test, stack), (instr.body, inside), (instr.orelse, stack)):
                _walk(code, part, around, found)
        elif isinstance(instr, ir.Try):
            tried = frozenset(i.name for i in instructions(instr.body) if isinstance(i, ir.Attr))
            tried |= frozenset(name for i in instructions(instr.body) for name in _item_owner(code, i))
            for part in (instr.body, instr.orelse, instr.final):
                _walk(code, part, stack, found)
            for handler in instr.handlers:
                _walk(code, handler.body, (*stack, Region(tried, handler.body)), found)


def _counted(code: Code, condition: int) -> Iterator[str]:
    """What is filled until it has so many elements: `while len(self.blocks) < n`."""
    known = definitions(code)
    compared = known.get(condition)
    if isinstance(compared, ir.Compare) and compared.operator in ("<", "<=", "!="):
        counts = known.get(compared.left)
        called = known.get(counts.function) if isinstance(counts, ir.Call) else None
        if isinstance(counts, ir.Call) and isinstance(called, ir.Global) and called.name == "len":
            for slot, _ in counts.arguments:
                yield from _reads(code, slot)


def _item_owner(code: Code, instr: Instr) -> Iterator[str]:
    if isinstance(instr, ir.Item):
        yield from _reads(code, instr.source)


def _reads(code: Code, slot: int) -> Iterator[str]:
    """The names of the fields, globals and captured variables that a value depends on."""
    known = definitions(code)
    todo: list[int] = [slot]
    seen: set[int] = set()
    while todo and len(seen) < 60:
        each = todo.pop()
        if each in seen or each < 0:
            continue
        seen.add(each)
        instr = known.get(each)
        if instr is None:
            continue
        match instr:
            case ir.Attr():
                yield instr.name
                todo.append(instr.owner)
            case ir.Outer():
                yield instr.name
            case ir.Copy():
                todo.append(instr.source)
            case ir.Compare() if instr.operator in _PRESENCE or NONE in (code.template[instr.right] or ()):
                todo += [instr.left, instr.right]
            case ir.Unary():
                todo.append(instr.operand)
            case ir.Item():
                todo += [instr.source, instr.index]
            case ir.BoolOp():
                todo += instr.operands
            case ir.Phi():
                todo += [s for _, s in instr.incoming]
            case ir.Call():
                todo += [instr.function, *[s for s, _ in instr.arguments]]
                yield from _named(code, instr)


def _named(code: Code, call: ir.Call) -> Iterator[str]:
    """The attribute that `hasattr`, `getattr` or `setattr` names."""
    for slot, _ in call.arguments:
        for obj in (code.template[slot] or ()) if slot >= 0 else ():
            if isinstance(obj, Lit) and isinstance(obj.const, str):
                yield obj.const


@solved
def _sets_what_it_tests(frame: Frame, region: Region) -> bool:
    if not region.tested:
        return False
    return bool(region.tested & _SET_UP) or not region.tested.isdisjoint(_writes(frame, region))


def _writes(frame: Frame, region: Region) -> set[str]:
    """The names of the fields, globals, captured variables and containers that a region and its callees write."""
    found = set(region.written(frame.code))
    todo: list[tuple[Frame, int]] = []
    positions = {instr.position for instr in region.block if isinstance(instr, ir.Call)}
    for pos, callee in calls_of(frame, _HERE):
        if pos in positions:
            todo.append((callee, _DEPTH - 1))
    seen: set[Code] = set()
    while todo:
        callee, depth = todo.pop()
        if callee.code in seen:
            continue
        seen.add(callee.code)
        found |= _written_by(callee.code)
        if depth:
            todo += [(inner, depth - 1) for _, inner in calls_of(callee, _HERE)]
    return found


@cached
def _written_by(code: Code) -> frozenset[str]:
    """What a function's own code writes."""
    return frozenset(_named_by(code, index_of(code).flat))


def _named_by(code: Code, block: list[Instr]) -> Iterator[str]:
    """The names of what some instructions write."""
    for instr in block:
        match instr:
            case ir.Assignment():
                yield instr.name
            case ir.SetItem():
                yield from _reads(code, instr.owner)
            case ir.Call():
                made = definitions(code).get(instr.function)
                if isinstance(made, ir.Attr):
                    yield from _reads(code, made.owner)
                yield from _named(code, instr)


def _is_state(code: Code, region: Region, slot: int) -> bool:
    """Whether what is returned is read from the state that the region sets, and what later calls return, too."""
    name = _name_read(code, slot)
    if name not in region.tested or name not in region.written(code) or not region.instead:
        return False
    others = [i for block in region.instead for i in instructions(block) if isinstance(i, ir.Return)]
    return bool(others) and all(_name_read(code, i.value) == name for i in others)


def _name_read(code: Code, slot: int) -> str | None:
    """The field, global or captured variable whose value is in a slot."""
    made = definitions(code).get(slot)
    return made.name if isinstance(made, ir.Load) else None


#: What computes a condition of others.
_FOLLOWED: Final = (ir.Copy, ir.Unary, ir.BoolOp, ir.Compare)
_NONE: Final[Value] = frozenset({NONE})


@solved
def _leaves_only_state(frame: Frame, region: Region) -> bool:
    """Whether nothing computed in a region is used after it but objects that it also stores."""
    kept = {slot for instr in region.block if not isinstance(instr, ir.Call) for slot in _put(instr)}
    for instr in region.block:
        if not isinstance(instr, ir.Return) or _is_object(frame.vals[instr.value] or _NO_VALUE):
            continue
        if not _is_state(frame.code, region, instr.value):
            return False
    index = index_of(frame.code)
    for instr in index.of(ir.Phi):
        if instr.target not in region.slots and instr.target in index.read:
            for _, slot in instr.incoming:
                if slot in region.slots and slot not in kept and not _is_object(frame.vals[slot] or _NO_VALUE):
                    return False
    return not (assigns(frame, region.block) or acting(frame, region.block) or _is_other_later(frame, region))


def _is_other_later(frame: Frame, region: Region) -> bool:
    """Whether later calls do otherwise than the first, which a graph does again and again, apart from the region."""
    known = definitions(frame.code)
    for block in region.instead:
        inside = list(instructions(block))
        if any(isinstance(i, ir.Raise) for i in inside) or acting(frame, inside) or assigns(frame, inside):
            return True
        made = {slot for instr in inside for slot in written(instr)}
        given = [i.value for i in inside if isinstance(i, ir.Return)]
        given += [
            s for i in index_of(frame.code).of(ir.Phi) if i.target not in made for _, s in i.incoming if s in made
        ]
        for slot in given:
            if _name_read(frame.code, slot) not in region.tested and frame.vals[slot] != _NONE and known.get(slot):
                return True
    return _is_read_before(frame, region)


def _is_read_before(frame: Frame, region: Region) -> bool:
    """Whether a flag that the region takes away is read before it, and not only to tell whether it runs."""
    index, begins = index_of(frame.code), min((i.position for i in region.block), default=0)
    later = {slot for block in region.instead for i in instructions(block) for slot in written(i)}
    for instr in index.of(ir.Load):
        if instr.name not in region.tested or instr.target in later or instr.position > begins:
            continue
        if not _is_flag(frame.vals[instr.target]):
            continue
        todo, seen = [instr.target], {region.test}
        while todo:
            slot = todo.pop()
            for use in index.uses.get(slot, ()) if slot not in seen else ():
                if not isinstance(use, _FOLLOWED):
                    return True
                todo.append(use.target)
            seen.add(slot)
    return False


def _is_flag(value: Value | None) -> bool:
    """Whether a value is one of a few constants."""
    return bool(value) and all(isinstance(o, Lit) for o in value or ()) and value != _NONE


def _is_object(value: Value) -> bool:
    """Whether a value is an object with identity: no number, string or tensor that could differ from call to call."""
    return not holds_plain_tensor(value) and not any(
        isinstance(o, Prim) or (isinstance(o, Lit) and o.const is not None) for o in value
    )
