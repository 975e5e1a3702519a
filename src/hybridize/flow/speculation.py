"""What a function does with a parameter, where nothing calls it: an operand of TensorFlow is likely a tensor.

Only the text speaks here: `tf.matmul(x, w)` and `self.dense(x)` ask for a tensor, `range(x)`, `x["key"]` and
`x.items()` for something else. One use that speaks against it outweighs all others. What is found is an assumption, and
reported as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.closure import closure
from hybridize.domain.objects import BOTTOM, Class, Func, Inst, Lib, LibInst, Lit, Value
from hybridize.flow.engine import Engine
from hybridize.library import registry
from hybridize.library.defaults import library_attribute
from hybridize.library.dialect import COMPUTES, OPERANDS, TAKES_DATA
from hybridize.program import ir
from hybridize.program.code import Code, Param
from hybridize.program.index import Index, index_of
from hybridize.program.ir import Instr
from hybridize.program.operands import operands

_OF_TENSORS: Final = frozenset("shape dtype get_shape ndim numpy device set_shape ref".split())
#: Built-in functions that nobody asks about a tensor.
_OF_OTHERS: Final = frozenset(
    "range str repr open next iter callable getattr hasattr setattr vars dict set sorted zip enumerate reversed map "
    "filter list tuple int float bool issubclass input chr ord join".split()
)
#: What changes its first operand, takes it apart, calls it or asks for its truth; attributes and items depend.
_TAKES: Final = (ir.Attr, ir.Part, ir.Change, ir.Enter, ir.YieldFrom, ir.Call, ir.If)
_DEPTH: Final = 3
_LAYER: Final = "keras.layers.Layer"


class Uses:
    """What the functions of a program do with their parameters."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._known: dict[tuple[Code, int], str | None] = {}
        self._uses: dict[Code, _SlotUses] = {}

    def operand(self, func: Func, index: int) -> str | None:
        """As `of`, for a parameter with which operators compute what is then given to TensorFlow.

        It may be a number as well: so it counts only where no other parameter is known for a tensor by its own uses.
        """
        params = func.code.params
        if params[index].slot < 0 or any(self.of(func, i) for i, p in enumerate(params) if p.by_place):
            return None
        uses = self._slot_uses(func.code)
        slots = _aliases(uses, params[index].slot, params[index].name)
        if any(_speaks_against(func.code, instr, slots) for instr in uses.of(slots)):
            return None
        first = {each for slot in slots for each in uses.computed.get(slot, ())}
        computed = set(closure(first, lambda each: uses.computed.get(each, ())))
        for instr in uses.of(computed):
            answer = self._call(func, uses.made, instr, computed, 0) if isinstance(instr, ir.Call) else None
            if answer:
                return answer
        return None

    def _slot_uses(self, code: Code) -> _SlotUses:
        found = self._uses.get(code)
        if found is None:
            found = self._uses[code] = _SlotUses(code)
        return found

    def of(self, func: Func, index: int, depth: int = 0) -> str | None:
        """Which use says that a parameter is a tensor, in words; None where none does, or one speaks against it."""
        key = func.code, index
        if key not in self._known:
            self._known[key] = None  # for a recursion
            self._known[key] = self._look(func, func.code.params[index], depth)
        return self._known[key]

    def _look(self, func: Func, param: Param, depth: int) -> str | None:
        if param.slot < 0:
            return None
        said: str | None = None
        for code in readers(func.code, param.name):
            uses = self._slot_uses(code)
            made = uses.made
            slots = _aliases(uses, param.slot if code is func.code else -1, param.name)
            for instr in uses.of(slots):
                if _speaks_against(code, instr, slots):
                    return None
                if isinstance(instr, ir.Call):
                    answer = self._call(func, made, instr, slots, depth)
                    if answer == "":
                        return None
                    said = said or answer
                elif isinstance(instr, ir.Attr) and instr.owner in slots and instr.name == "get_shape":
                    said = said or "`.get_shape`"
        return said

    def _call(self, func: Func, made: Index, instr: ir.Call, slots: set[int], depth: int) -> str | None:
        """What a call that receives the parameter says of it; empty where that it is no tensor."""
        given: list[int | str] = [i for i, (slot, star) in enumerate(instr.arguments) if slot in slots and not star]
        given += [name for name, slot in instr.keywords if slot in slots and name is not None]
        if any(slot in slots for slot, star in instr.arguments if star) or any(
            s in slots for n, s in instr.keywords if n is None
        ):
            return ""
        if not given:
            return None
        for callee in self._callees(func, made, instr.function):
            for place in given:
                answer = self._asks(callee, place, depth)
                if answer is not None:
                    return answer
        return None

    def _asks(self, callee: object, place: int | str, depth: int) -> str | None:
        """Whether what is called asks for a tensor at a position or keyword."""
        if isinstance(callee, Lib):
            return asked_by(callee.name, place)
        if isinstance(callee, (Inst, LibInst)):
            named = place in (0, "inputs", "x")
            return "a layer" if named and _LAYER in self._classes(callee) else None
        if isinstance(callee, Func) and depth < _DEPTH:
            names = [p.name for p in callee.code.params]
            bound = callee.owner is not None and bool(names) and names[0] == "self"
            at = (place + bound) if isinstance(place, int) else (names.index(place) if place in names else -1)
            if not 0 <= at < len(names) or callee.code.params[at].is_starred:
                return None
            return self.of(callee, at, depth + 1)
        return None

    def _classes(self, callee: Inst | LibInst) -> set[str]:
        names = callee.cls.library if isinstance(callee, Inst) else [callee.cls]
        return {base for name in names for base in registry.class_chain(name)}

    def _callees(self, func: Func, made: Index, slot: int) -> Iterator[object]:
        """What may be called, by its name in the text."""
        yield from sorted(self._value(func, made, slot, 0), key=repr)

    def _value(self, func: Func, made: Index, slot: int, depth: int) -> Value:
        instr = made.definitions.get(slot)
        if instr is None or depth > 6:
            return self._receiver(func, slot)
        if isinstance(instr, ir.Outer):
            cell = func.cells.get(instr.name) or func.module.fields.get(instr.name)
            return cell.value if cell is not None and cell.value else library_attribute("builtins", instr.name)
        found: Value = BOTTOM
        if isinstance(instr, ir.Attr):
            for owner in self._value(func, made, instr.owner, depth + 1):
                if isinstance(owner, Lib):
                    found |= library_attribute(owner.name, instr.name)
                elif hasattr(owner, "fields") and instr.name in owner.fields:
                    found |= owner.fields[instr.name].value
                elif isinstance(owner, Inst):
                    found |= _of_class(owner.cls, instr.name)
        return found

    def _receiver(self, func: Func, slot: int) -> Value:
        """The objects of its class, where a slot is the first parameter of a method."""
        params = func.code.params
        if func.owner is None or not params or params[0].slot != slot:
            return BOTTOM
        return frozenset(self.engine.world.instances.get(func.owner, ())[:2])


def parts_of(code: Code, param: Param) -> int:
    """Into how many parts a function takes a parameter apart (`x, mask = inputs`); 0 where it does not."""
    made = index_of(code)
    slots = _aliases(_SlotUses(code), param.slot, param.name)
    taken = {len(instr.targets) for instr in made.of(ir.Unpack) if instr.source in slots and instr.star < 0}
    return taken.pop() if len(taken) == 1 else 0


def _of_class(cls: Class, name: str) -> Value:
    """An attribute of a class of the project or the nearest of its bases."""
    for base in cls.mro:
        if isinstance(base, Class) and name in base.fields:
            return base.fields[name].value
    return BOTTOM


def asked_by(name: str, place: int | str) -> str | None:
    """Whether a library's function asks for a tensor at a position or keyword; empty where surely for another thing."""
    if registry.root_of(name) == "builtins":
        return "" if name.rpartition(".")[2] in _OF_OTHERS else None
    last = name.rpartition(".")[2]
    plain = name.startswith("tf.") and name.count(".") == 1
    if name in TAKES_DATA or not (plain or name.startswith(COMPUTES)) or not last[:1].islower():
        return None
    names = registry.parameter_names(name)
    parameter = place if isinstance(place, str) else names[place] if place < len(names) else ""
    return f"`{name}`" if parameter in OPERANDS else None


def readers(code: Code, name: str) -> list[Code]:
    """A function, and those inside it that read one of its variables."""
    found = [code]
    if name in code.cells:
        for child in code.children:
            if name in child.free:
                found += readers(child, name) if name in child.cells else [child]
    return found


class _SlotUses:
    """Where the slots of a code are used, gathered once for all of its parameters."""

    def __init__(self, code: Code) -> None:
        self.made = index_of(code)
        self.moved: dict[int, list[int]] = {}  # the places of the instructions that hand a slot on as it is
        self.asked: dict[int, list[int]] = {}  # of those that say something of it
        self.read: dict[str, list[int]] = {}  # of those that read captured variables, by name
        self.computed: dict[int, list[int]] = {}  # the slots that operators compute from a slot
        for place, instr in enumerate(self.made.flat):
            if isinstance(instr, ir.Cell):
                self.read.setdefault(instr.name, []).append(place)
            elif isinstance(instr, ir.Copy):
                self.moved.setdefault(instr.source, []).append(place)
            elif isinstance(instr, (ir.Binary, ir.Unary)):
                for slot in operands(instr):
                    self.computed.setdefault(slot, []).append(instr.target)
            elif isinstance(instr, ir.Phi):
                for _, source in instr.incoming:
                    self.moved.setdefault(source, []).append(place)
            else:
                for slot in _looked_at(instr):
                    self.asked.setdefault(slot, []).append(place)

    def of(self, slots: set[int]) -> list[Instr]:
        """The instructions that say something of some slots, in order."""
        return [self.made.flat[place] for place in sorted({p for slot in slots for p in self.asked.get(slot, ())})]


def _looked_at(instr: Instr) -> list[int]:
    """The slots of which an instruction says something."""
    if isinstance(instr, ir.Compare):
        return [instr.left, instr.right]
    if isinstance(instr, ir.Call):
        return [instr.function, *(slot for slot, _ in instr.arguments), *(slot for _, slot in instr.keywords)]
    return operands(instr)[:1] if isinstance(instr, _TAKES) else []


def _aliases(uses: _SlotUses, slot: int, name: str) -> set[int]:
    """The slots that surely or perhaps hold what a parameter received; as a captured variable it goes by its name."""
    made = uses.made
    found = {slot} - {-1}
    todo = [(each, -1) for each in found]
    if not any(instr.name == name and instr.value not in found for instr in made.of(ir.SetCell)):
        read = uses.read.get(name, ())
        todo += [(made.flat[place].target, place) for place in read]
        found.update(target for target, _ in todo)
    while todo:
        source, since = todo.pop()
        for place in uses.moved.get(source, ()):
            target = made.flat[place].target
            if place > since and target not in found:
                found.add(target)
                todo.append((target, place))
    return found


def _speaks_against(code: Code, instr: Instr, slots: set[int]) -> bool:
    """Whether an instruction does with a parameter what nobody does with a tensor."""
    if isinstance(instr, ir.Compare):
        return (instr.left in slots and _is_text(code, instr.right)) or (
            instr.right in slots and _is_text(code, instr.left)
        )
    if not isinstance(instr, _TAKES) or operands(instr)[0] not in slots:
        return False
    if isinstance(instr, ir.Attr):
        return instr.name not in _OF_TENSORS
    return not isinstance(instr, ir.Item) or _is_text(code, instr.index)


def _is_text(code: Code, slot: int) -> bool:
    """Whether a slot is a constant string."""
    value: Value = (code.template[slot] if 0 <= slot < len(code.template) else None) or BOTTOM
    return bool(value) and all(isinstance(o, Lit) and o.kind == "str" for o in value)
