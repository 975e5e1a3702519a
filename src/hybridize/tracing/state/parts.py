"""Which entries of a container code reads and writes: who reads `cfg["rate"]` does not see `cfg["epoch"]` change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from hybridize.domain.objects import Cell, Container, Inst, Lib, LibInst, Lit, Value
from hybridize.domain.words import ELEMENTWISE
from hybridize.facts.origins import definitions
from hybridize.flow.frames import Frame
from hybridize.library.dialect import NUMBERS_ONLY, SHAPES_ONLY
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.program.operands import arguments
from hybridize.records import dataclass

#: Constants that tell entries apart: keys of dictionaries, indices, members of sets.
Keys: TypeAlias = "frozenset[object]"
Uses: TypeAlias = "dict[int, list[Instr]]"

_NO_VALUE: Final[Value] = frozenset()
_IDENTITY: Final = frozenset({"is", "is not"})
_EQUALITY: Final = frozenset({"==", "!="})
_MEMBERSHIP: Final = frozenset({"in", "not in"})
#: Methods that ask for the entry of their first argument.
_ASKS: Final = frozenset({"get", "__getitem__", "__contains__"})
#: Methods that write the entry of their first argument; those that put one there, and those that do if there is none.
_PUTS: Final = frozenset({"__setitem__", "add"})
_TAKES: Final = frozenset({"pop", "__delitem__", "discard", "remove"})
_DEFAULT: Final = "setdefault"
#: Methods of lists that leave the elements before as they are.
_AT_END: Final = frozenset({"append", "extend", "__iadd__"})
#: Operators that no dict has: a text is formatted with one.
_ARITHMETIC: Final = ELEMENTWISE - {"%"}
_MOST: Final = 200  # uses of a value that are looked at


class Part(Cell):
    """An entry of a container, or a variable of the environment (`whole` stands for all of them)."""

    __slots__ = ("key", "whole")

    def __init__(self, whole: Container | Cell, key: object) -> None:
        super().__init__()
        self.whole = whole
        self.key = key


@dataclass(frozen=True, slots=True)
class Change:
    """A write of a container: the entries that it concerns (None: any), and whether only their values change.

    `puts` is what it puts there; None where it takes entries away, or is not known. `ends`: it appends. `offers`: it
    puts a value where there is none.
    """

    keys: Keys | None
    puts: Value | None = None
    ends: bool = False
    offers: bool = False

    def concerns(self, key: object) -> bool:
        """Whether the entry of a key may be another one after it."""
        if self.ends:
            return isinstance(key, int) and key < 0
        if self.keys is None or key in self.keys:
            return True
        # An index from the end may be any from the start.
        return any(isinstance(k, int) and isinstance(key, int) and (k < 0) is not (key < 0) for k in self.keys)


_ANY: Final = Change(None)


def keys_read(frame: Frame, slot: int) -> Keys | None:
    """The entries that code reads of the container in a slot; None where it may read any, or hands the container on."""
    found: set[object] = set()
    for instr, slots in _reads(frame, slot):
        keys = _read_by(frame, instr, slots)
        if keys is None or len(slots) > _MOST:
            return None
        found |= keys
    return frozenset(found)


def is_number(frame: Frame, slot: int) -> bool:
    """Whether code uses a slot, and in no way that a dict could be used: it raises there for one."""
    used = False
    for instr, slots in _reads(frame, slot):
        used = True
        if not _counts(frame, instr, slots) or len(slots) > _MOST:
            return False
    return used


def _reads(frame: Frame, slot: int) -> Iterator[tuple[Instr, set[int]]]:
    """What uses the value of a slot, through the names that it gets, with the slots that it has had until there."""
    uses = index_of(frame.code).uses
    todo, seen = [slot], {slot}
    while todo:
        for instr in uses.get(todo.pop(), ()):
            if not isinstance(instr, ir.Passing):
                yield instr, seen
            elif instr.target not in seen:
                seen.add(instr.target)
                todo.append(instr.target)


def _counts(frame: Frame, instr: Instr, slots: set[int]) -> bool:
    """Whether an instruction raises where one of some slots holds a dict."""
    match instr:
        case ir.Operator():
            return instr.operator in _ARITHMETIC and not any(
                isinstance(o, Inst) for slot in (instr.left, instr.right) for o in frame.vals[slot] or ()
            )
        case ir.Call() if instr.function not in slots:
            return _goes_to(frame, instr, NUMBERS_ONLY)
        case ir.Sequence():
            found = index_of(frame.code).uses.get(instr.target, ())
            return bool(found) and all(isinstance(u, ir.Call) and _goes_to(frame, u, SHAPES_ONLY) for u in found)
    return False


def _goes_to(frame: Frame, call: ir.Call, names: frozenset[str]) -> bool:
    """Whether a call goes to one of some library functions, and to nothing else."""
    called = frame.vals[call.function] or ()
    return bool(called) and all(isinstance(o, Lib) and o.name in names for o in called)


def _holds_dicts(frame: Frame, slots: set[int]) -> bool:
    """Whether the containers in some slots are dicts: lists can be added and multiplied."""
    held = (o for slot in slots for o in frame.vals[slot] or () if isinstance(o, Container))
    return all(o.kind == "dict" for o in held)


def _read_by(frame: Frame, instr: Instr, slots: set[int]) -> Keys | None:
    if _counts(frame, instr, slots) and _holds_dicts(frame, slots):
        return frozenset()
    match instr:
        case ir.Item() if instr.index not in slots:
            return constants(frame, instr.index)
        case ir.SetItem() if instr.owner in slots and slots.isdisjoint((instr.index, instr.value)):
            return frozenset()
        case ir.DelItem() if instr.index not in slots:
            return frozenset()
        case ir.Compare() if instr.operator in _IDENTITY or _compares_constant(frame, instr, slots):
            return frozenset()
        case ir.Compare() if instr.operator in _MEMBERSHIP and instr.left not in slots:
            return constants(frame, instr.left)
        case ir.Attr() if instr.name in _ASKS:
            found: set[object] = set()
            for use in index_of(frame.code).uses.get(instr.target, ()):
                keys = (
                    _first_argument(frame, use) if isinstance(use, ir.Call) and use.function == instr.target else None
                )
                if keys is None:
                    return None
                found |= keys
            return frozenset(found)
        case ir.DelLocal():
            return frozenset()
    return None


def _compares_constant(frame: Frame, instr: ir.Compare, slots: set[int]) -> bool:
    """Whether a comparison with a text, number or None asks nothing of what a container holds: it is none of these."""
    other = instr.right if instr.left in slots else instr.left
    return instr.operator in _EQUALITY and constants(frame, other) is not None


def constants(frame: Frame, slot: int) -> Keys | None:
    """The constants that a slot may hold; None where it may hold anything else."""
    value = (frame.vals[slot] or _NO_VALUE) if slot >= 0 else _NO_VALUE
    if not value or not all(isinstance(o, Lit) for o in value):
        return None
    return frozenset(o.const for o in value if isinstance(o, Lit))


def _first_argument(frame: Frame, call: ir.Call) -> Keys | None:
    return constants(frame, call.arguments[0][0]) if call.arguments and not call.arguments[0][1] else None


def changes(frame: Frame, position: int, whole: Container | Cell) -> list[Change]:
    """What the code at a position does to a container (or to the environment)."""
    found = [_changed(frame, instr, whole) for instr in index_of(frame.code).at(position)]
    return [each for each in found if each is not None] or [_ANY]


def _changed(frame: Frame, instr: Instr, whole: Container | Cell) -> Change | None:
    match instr:
        case ir.SetItem() if _holds(frame, instr.owner, whole):
            return Change(constants(frame, instr.index), frame.vals[instr.value])
        case ir.DelItem() if _holds(frame, instr.owner, whole):
            return Change(constants(frame, instr.index))
        case ir.Inplace() if _holds(frame, instr.left, whole):
            if _is_list(whole):
                return Change(None, ends=True) if instr.operator == "+" else _ANY
            return Change(_entries(frame.vals[instr.right] or _NO_VALUE)) if instr.operator == "|" else _ANY
        case ir.Call():
            return _called(frame, instr, whole)
    return None


def _called(frame: Frame, call: ir.Call, whole: Container | Cell) -> Change | None:
    """What a call changes: a method of the container, or a function that is given it."""
    method = definitions(frame.code).get(call.function)
    if not isinstance(method, ir.Attr) or not _holds(frame, method.owner, whole):
        given = arguments(call)
        return _ANY if any(_holds(frame, slot, whole) for slot in given) else None
    name = method.name
    if name in _AT_END and _is_list(whole):
        return Change(None, ends=True)
    if _is_list(whole):
        return _ANY
    if name in _PUTS:
        value = frame.vals[call.arguments[1][0]] if len(call.arguments) == 2 else None
        return Change(_first_argument(frame, call), value)
    if name in _TAKES:
        return Change(_first_argument(frame, call))
    if name == _DEFAULT:
        return Change(_first_argument(frame, call), offers=True)
    return _updated(frame, call) if name == "update" else _ANY


def _updated(frame: Frame, call: ir.Call) -> Change:
    """`d.update(k=v)`, `d.update({"k": v})`."""
    keys: set[object] = set()
    for name, _ in call.keywords:
        if name is None:
            return _ANY
        keys.add(name)
    for slot, starred in call.arguments:
        entries = None if starred else _entries(frame.vals[slot] or _NO_VALUE)
        if entries is None:
            return _ANY
        keys |= entries
    put = {o for _, slot in call.keywords for o in frame.vals[slot] or ()} if not call.arguments else None
    return Change(frozenset(keys), frozenset(put) if put is not None else None)


def _entries(value: Value) -> Keys | None:
    """The keys of the dictionaries in a value, where all of them are known."""
    found: set[object] = set()
    for obj in value:
        if not isinstance(obj, Container) or obj.kind != "dict" or not obj.exact:
            return None
        found |= obj.fields.keys()
    return frozenset(found) if value else None


def _holds(frame: Frame, slot: int, whole: Container | Cell) -> bool:
    value = (frame.vals[slot] or _NO_VALUE) if slot >= 0 else _NO_VALUE
    if isinstance(whole, Container):
        return whole in value
    return any(_name(o) in ("os.environ", "os._Environ") for o in value)


def _name(obj: object) -> str:
    return obj.name if isinstance(obj, Lib) else obj.cls if isinstance(obj, LibInst) else ""


def _is_list(whole: Container | Cell) -> bool:
    return isinstance(whole, Container) and whole.kind == "list"


def stays(whole: Container | Cell, key: object, found: Iterable[Change]) -> bool:
    """Whether the changes of an entry leave it as it was made: what is there already, put there again."""
    if not isinstance(whole, Container) or not _is_made_with(whole, key):
        return False
    every = list(found)
    if all(change.offers for change in every):
        return True
    value = whole.fields[key].value if key in whole.fields else _NO_VALUE
    same = len(value) == 1 and all(isinstance(o, Lit) for o in value)
    known = all(each.puts is not None and each.keys is not None for each in every)
    return same and known and all(each.puts == value for each in every)


def _is_made_with(whole: Container, key: object) -> bool:
    """Whether the code that makes a dictionary or list gives it an entry."""
    code, position = whole.site
    for instr in index_of(code).at(position):
        if isinstance(instr, ir.Dict):
            consts = [o.const for k, _ in instr.entries if k >= 0 for o in code.template[k] or () if isinstance(o, Lit)]
            if key in consts:
                return True
        elif isinstance(instr, ir.List):
            starred = any(star for _, star in instr.elements)
            if not starred and isinstance(key, int) and -len(instr.elements) <= key < len(instr.elements):
                return True
        elif isinstance(instr, ir.Call) and any(name == key for name, _ in instr.keywords):
            return True
    return False
