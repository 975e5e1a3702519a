"""Which code that nobody can follow computes with TensorFlow, by what the program gives it and does with what it gives.

What gets a tensor and gives what an operation computes on is taken for a function of TensorFlow; and a package that has
such a function for one that computes with it. A package that is known to work on the host never is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Final

from hybridize.domain.nesting import held
from hybridize.domain.objects import Tensor, Unknown
from hybridize.domain.tensors import NDARRAY
from hybridize.domain.unknowns import Why
from hybridize.facts.origins import passed_slots
from hybridize.facts.state.guards import parts
from hybridize.flow.frames import Effect, Frame
from hybridize.library.dialect import OTHER_FRAMEWORKS, STATIC, TENSOR_PACKAGES
from hybridize.library.index.lookup import known_package
from hybridize.library.python.packages import MODULES
from hybridize.program import ir
from hybridize.program.index import Index, index_of
from hybridize.program.ir import Code, Instr
from hybridize.program.operands import arguments, operands

#: What is got out of something unknown of these is not the same for each call of it.
_VAGUE: Final = (Why.SUMMARIZED, Why.EVALUATED, Why.EXECUTED, Why.LOADED, Why.LACKING)
#: Operations that take arrays and numbers as readily as tensors: they say nothing of what they are given.
_CONVERTS: Final = frozenset(
    "tf.constant tf.convert_to_tensor tf.cast tf.identity tf.Variable tf.print tf.data.Dataset.from_tensor_slices "
    "tf.py_function tf.numpy_function".split()
)
_KEEPS: Final = "setdefault"
#: Through so many calls of functions of the project.
_CALLS: Final = 2
#: Through so many joins of branches and loops what a call gives is followed.
_JOINS: Final = 2


class Foreign:
    """The packages and objects that nobody can follow, in a solved program."""

    def __init__(self, frames: Mapping[Code, Sequence[Frame]]) -> None:
        self._frames = frames

    def computes(self, name: str) -> bool:
        """Whether a dotted name belongs to a package that computes with TensorFlow."""
        return name.startswith(TENSOR_PACKAGES) or name.partition(".")[0] in self._shown

    def vouches(self, frame: Frame, effect: Effect) -> bool:
        """Whether a call of code that nobody can follow is likely one of a function of TensorFlow."""
        name, source = _name(effect), _source(effect)
        if _is_on_host(name) or _keeps(frame, effect.position):
            return False
        if is_computed_on(frame, effect.position):
            return True
        if source is None or (name.rpartition(".")[2][:1].isupper() and effect.kind == "foreign_call"):
            return False  # the constructor of a class may make variables
        return (source in self._shown or self.computes(name)) and _is_operand(frame, effect.position)

    @cached_property
    def _shown(self) -> frozenset[str | Unknown]:
        """Whose functions get tensors, and give what operations compute on."""
        getting: set[str | Unknown] = set()
        giving: set[str | Unknown] = set()
        for frames in self._frames.values():
            for frame in frames:
                for effect in frame.effects.values():
                    source = _source(effect)
                    if source is None or _is_on_host(_name(effect)):
                        continue
                    calls = index_of(frame.code).calls.get(effect.position, ())
                    if source not in getting and any(_gets_tensor(frame, call) for call in calls):
                        getting.add(source)
                    if source not in giving and is_given(frame, calls):
                        giving.add(source)
        return frozenset(getting & giving)


def _source(effect: Effect) -> str | Unknown | None:
    """Whose function is called: a package's, or an object's that is one and the same for other calls of it."""
    name = _name(effect)
    if name:
        return name.partition(".")[0]
    target = effect.target
    specific = isinstance(target, Unknown) and bool(target.taken) and target.why not in _VAGUE
    return target if specific and effect.kind == "unknown_call" and isinstance(target, Unknown) else None


def _name(effect: Effect) -> str:
    """The function of a package that a call is one of, or that gave what is called; empty where there is none."""
    if effect.kind == "foreign_call":
        return effect.detail
    if effect.kind != "unknown_call" or not isinstance(effect.target, Unknown):
        return ""
    result, owner = effect.target.result_of, effect.target.field_of
    if result:
        return result if "." in result else ""
    return owner if owner and not known_package(owner) and not _is_on_host(owner) else ""


def _is_on_host(name: str) -> bool:
    """Whether a package is known as one that does not compute with TensorFlow, or is Python's own."""
    package = name.partition(".")[0]
    known = package in MODULES or package in OTHER_FRAMEWORKS or package in sys.stdlib_module_names
    return known and not name.startswith(TENSOR_PACKAGES)


def _keeps(frame: Frame, position: int) -> bool:
    """Whether a call is that of the method by which mappings of whatever class keep what they give back."""
    index = index_of(frame.code)
    made = (index.source(call.function) for call in index.calls.get(position, ()))
    return any(isinstance(each, ir.Attr) and each.name == _KEEPS for each in made)


def is_computed_on(frame: Frame, position: int) -> bool:
    """Whether a call gets a tensor, and an operation, or an operator with a tensor, computes on what it gives."""
    calls = [call for call in index_of(frame.code).calls.get(position, ()) if _gets_tensor(frame, call)]
    if not calls:
        return False
    return is_given(frame, calls) or _meets_tensor(frame, calls) or any(_is_handed_on(frame, c.target) for c in calls)


def _is_handed_on(frame: Frame, slot: int, far: int = _CALLS) -> bool:
    """Whether a function of the project that gets a value, by itself, has operations compute on it, or hands it on."""
    index = index_of(frame.code)
    todo, seen = [slot], {slot}
    for each in todo:
        for use in index.uses.get(each, ()):
            if isinstance(use, ir.Passing) and use.target not in seen:
                seen.add(use.target)
                todo.append(use.target)
            for at, callee in frame.calls if isinstance(use, ir.Call) and use.function != each else ():
                if at == use.position and any(_takes(callee, got, far) for got in _received(frame, at, callee, each)):
                    return True
    return False


def _received(frame: Frame, position: int, callee: Frame, slot: int) -> Iterator[int]:
    """The parameters, by their slots, in which a call receives a value."""
    original = index_of(frame.code).original
    for i, param in enumerate(callee.code.params):
        if any(original(each) == original(slot) for each in passed_slots(frame, position, callee, i) or ()):
            yield param.slot


def _takes(frame: Frame, slot: int, far: int) -> bool:
    """Whether a function computes with TensorFlow on what arrives in a slot."""
    index = index_of(frame.code)
    given = (
        index.original(each)
        for position, name in frame.ops.items()
        if name not in _CONVERTS
        for instr in index.at(position)
        for each in operands(instr)
    )
    return slot in given or _beside_tensor(frame, {slot}) or (far > 1 and _is_handed_on(frame, slot, far - 1))


def _meets_tensor(frame: Frame, calls: Sequence[ir.Call]) -> bool:
    """Whether what some calls give, or what operators make of it, is an operand beside a tensor."""
    return _beside_tensor(frame, {call.target for call in calls})


def _beside_tensor(frame: Frame, some: set[int]) -> bool:
    """Whether some values, or what operators make of them, are operands beside a tensor."""
    index = index_of(frame.code)
    made = set(some)
    for instr in index.of(ir.Unpack, ir.Binary, ir.Inplace):
        slots = [index.original(slot) for slot in operands(instr)]
        if made.isdisjoint(slots):
            continue
        if isinstance(instr, ir.Unpack):
            made.update(instr.targets)
            continue
        beside = [obj for slot in slots if slot not in made and slot >= 0 for obj in frame.vals[slot] or ()]
        if any(isinstance(obj, Tensor) and obj.kind != NDARRAY for obj in beside):
            return True
        made.add(instr.target)
    return False


def gets_tensor(frame: Frame, position: int) -> bool:
    """Whether every call at a place gets a tensor, or what may be one."""
    calls = index_of(frame.code).calls.get(position, ())
    return bool(calls) and all(_gets_tensor(frame, call, unknown=True) for call in calls)


def _is_operand(frame: Frame, position: int) -> bool:
    """Whether a call gets what may be a tensor, or its result is an operand: an operator's, or that of an operation."""
    index = index_of(frame.code)
    calls = index.calls.get(position, ())
    if any(_gets_tensor(frame, call, unknown=True) for call in calls):
        return all(call.target in index.read for call in calls)
    if is_given(frame, calls):
        return True
    operators = index.of(ir.Binary, ir.Inplace, ir.Unary, ir.Compare)
    return any(index.source(slot) in calls for made in operators for slot in operands(made) if slot >= 0)


def _gets_tensor(frame: Frame, call: ir.Call, *, unknown: bool = False) -> bool:
    """Whether some argument is or holds a tensor, or with `unknown` what nobody knows."""
    slots = arguments(call)
    return any(
        (isinstance(obj, Tensor) and obj.kind != NDARRAY) or (unknown and isinstance(obj, Unknown))
        for slot in slots
        if slot >= 0
        for obj in held(frame.vals[slot] or (), 2, parts)
    )


def is_given(frame: Frame, calls: Sequence[ir.Call], *, computed: bool = False) -> bool:
    """Whether an operation is given what one of some calls gives, or a part of it, by itself or in a list.

    With `computed`, what operators compute of it and of what may be a tensor counts as well.
    """
    index = index_of(frame.code)
    for position, name in frame.ops.items():
        if name in _CONVERTS:
            continue
        for instr in index.at(position):
            slots = [slot for slot in operands(instr) if slot >= 0]
            made = [_element(index, slot) for slot in slots]
            if computed:
                made += [each for _, each in index.upstream(slots, partial(_by_operators, frame))]
            made += [
                index.source(slot) for each in made if isinstance(each, ir.Sequence) for slot in _elements(index, each)
            ]
            for _ in range(_JOINS):
                made += [index.source(slot) for each in made for slot in _joined(index, each)]
            if any(_whole(index, each) is call for each in made for call in calls):
                return True
    return False


def _joined(index: Index, made: Instr | None) -> list[int]:
    """What a join of branches or of a loop brings together, but for what has been asked for its truth."""
    slots = [slot for _, slot in made.incoming] if isinstance(made, ir.Phi) else []
    return [slot for slot in slots if not isinstance(index.definitions.get(slot), ir.Refine)]


def _by_operators(frame: Frame, made: Instr) -> list[int]:
    """What operators compute something of, where none is known for a number, text or other thing than a tensor."""
    slots = operands(made) if isinstance(made, (ir.Binary, ir.Inplace, ir.Unary)) else []
    open_ = all(slot >= 0 and all(isinstance(o, (Tensor, Unknown)) for o in frame.vals[slot] or ()) for slot in slots)
    return slots if open_ else []


def _element(index: Index, slot: int) -> Instr | None:
    """What makes the value of a slot; where it is one of a tuple that is taken apart at once, what made that."""
    made = index.source(slot)
    shown = index.source(made.source) if isinstance(made, ir.Unpack) else None
    if not isinstance(made, ir.Unpack) or not isinstance(shown, ir.Sequence) or made.star >= 0:
        return made
    at = made.targets.index(index.original(slot)) if index.original(slot) in made.targets else -1
    whole = len(shown.elements) == len(made.targets) and not any(star for _, star in shown.elements)
    return index.source(shown.elements[at][0]) if at >= 0 and whole else made


def _whole(index: Index, made: Instr | None) -> Instr | None:
    """What an attribute or element is read of, else the value itself; of its sizes nothing is said."""
    while isinstance(made, (ir.Attr, ir.Item, ir.Unpack)):
        if isinstance(made, ir.Attr) and made.name in STATIC:
            return None
        made = index.source(made.owner if isinstance(made, ir.Attr) else made.source)
    return made


def _elements(index: Index, made: ir.Sequence) -> list[int]:
    """The slots of what a tuple or list holds, and of what a comprehension adds to it."""
    added = [each.value for each in index.of(ir.Append) if index.source(each.owner) is made]
    return [slot for slot, _ in made.elements] + added
