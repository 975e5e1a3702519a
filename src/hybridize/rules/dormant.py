"""Branches that only another setting takes: dead for the values that the program has, and yet offered by it.

A field that a constructor takes from its arguments, a constant of a module, an entry of a dictionary of settings: users
change these, and run what the analysis has pruned. It never looked into that code, so what is in it is told from the
values around it: calls and writes that a graph refuses, or makes once for each trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hybridize.domain.calls import NOT_TRACED
from hybridize.domain.objects import Bound, Cell, Class, Container, Func, Inst, Lib, LibInst, Lit, Tensor, Value
from hybridize.domain.tensors import NDARRAY
from hybridize.domain.words import CONSTRUCTORS
from hybridize.facts.callgraph import extent
from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.library import registry
from hybridize.library.defaults import library_attribute
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Block, Code
from hybridize.program.operands import operands
from hybridize.rules.scan import Scanner

#: What a call does that a graph refuses, or does once for each trace.
_CHANGES: Final = {
    "eager_only": "works only eagerly",
    "print": "prints once for each trace",
    "io": "reads or writes once for each trace",
    "clock": "reads the clock once for each trace",
    "random": "draws one number for each trace",
}
#: Of what has an effect by what it is given.
_PRINTS: Final = "builtins.print"
_FAR: Final = 24
_DEEP: Final = 4
_NO_VALUE: Final[Value] = frozenset()
_READS: Final = "numpy"


def broken_setting(scanner: Scanner, code: Code, frames: Sequence[Frame]) -> Evidence | None:
    """What another setting would run that a graph refuses or does otherwise; None where nothing is seen."""
    found: dict[Code, list[Frame]] = {}
    for frame in extent(frames, NOT_TRACED):
        found.setdefault(frame.code, []).append(frame)
    for each, of_code in found.items():
        for instr in index_of(each).of(ir.If):
            block = _dead(of_code, instr)
            if not block or not any(_is_setting(frame, instr.condition) for frame in of_code):
                continue
            said = next((s for frame in of_code for s in _Block(scanner, frame).broken(block)), None)
            if said is not None:
                what, pos = said
                return Evidence(f"another setting takes a branch that {what}", each.path, pos >> 16)
    return None


def _dead(frames: Sequence[Frame], instr: ir.If) -> Block:
    """The branch that no frame takes, of a condition that some come to."""
    then, other = (any(frame.edges[e] for frame in frames) for e in (instr.then_edge, instr.else_edge))
    if then == other:
        return ()
    block: Block = instr.orelse if then else instr.then
    return block


def _is_setting(frame: Frame, slot: int) -> bool:
    """Whether settings alone, constants for this program, decide a condition."""
    index = index_of(frame.code)
    todo, seen, some = [slot], set[int](), False
    while todo:
        slot = index.original(todo.pop())
        if slot in seen:
            continue
        seen.add(slot)
        made = index.definitions.get(slot)
        if len(seen) > _FAR:
            return False
        if made is None or isinstance(made, (ir.Global, ir.Attr, ir.Item)):
            value = frame.vals[slot] or _NO_VALUE
            if made is None and _is_literal(value) and all(p.slot != slot for p in frame.code.params):
                continue  # a constant in the text
            if made is None or not _is_literal(value) or not _is_kept(frame, made):
                return False
            some = True
        elif isinstance(made, (ir.Compare, ir.Unary, ir.Binary, ir.BoolOp, ir.Phi)):
            todo += operands(made)
        else:
            return False
    return some


def _is_literal(value: Value) -> bool:
    return bool(value) and all(isinstance(o, Lit) and not o.varies for o in value)


def _is_kept(frame: Frame, made: ir.Attr | ir.Global | ir.Item) -> bool:
    """Whether something is kept that whoever starts the program, or makes the object, has chosen."""
    if isinstance(made, ir.Global):
        cell = frame.module.fields.get(made.name)
        return cell is not None and len(cell.writes) == 1 and all(c.kind == "module" for c, _ in cell.writes)
    owners = frame.vals[made.owner if isinstance(made, ir.Attr) else made.source] or _NO_VALUE
    if isinstance(made, ir.Item):
        return any(isinstance(o, Container) and o.kind == "dict" for o in owners)
    cells = [o.fields[made.name] for o in owners if isinstance(o, Inst) and made.name in o.fields]
    return bool(cells) and all(_is_chosen(cell) for cell in cells)


def _is_chosen(cell: Cell) -> bool:
    """Whether a field is written by constructors only, from what these are given."""
    return bool(cell.writes) and all(c.name in CONSTRUCTORS and _from_outside(c, pos) for c, pos in cell.writes)


def _from_outside(code: Code, pos: int) -> bool:
    """Whether what a constructor stores follows from its parameters."""
    index = index_of(code)
    given = {p.slot for p in code.params[1:]}
    todo = [i.value for i in index.at(pos) if isinstance(i, ir.SetAttr)]
    seen: set[int] = set()
    while todo and len(seen) < _FAR:
        slot = index.original(todo.pop())
        if slot in given:
            return True
        made = index.definitions.get(slot)
        if slot not in seen and made is not None and not isinstance(made, (ir.Call, ir.Func)):
            todo += operands(made)
        seen.add(slot)
    return False


class _Block:
    """Code of a frame that the analysis never ran, with what it knows of the values around."""

    def __init__(self, scanner: Scanner, frame: Frame) -> None:
        self.scanner = scanner
        self.frame = frame
        self.index = index_of(frame.code)

    def broken(self, block: Block) -> Iterator[tuple[str, int]]:
        """What in it a graph refuses or does otherwise, with the place."""
        for instr in instructions(block):
            if isinstance(instr, ir.Call):
                said = self._called(instr)
            elif isinstance(instr, ir.SetAttr) and any(isinstance(o, Inst) for o in self.frame.vals[instr.owner] or ()):
                said = f"writes attribute `{instr.name}`"
            elif isinstance(instr, ir.SetGlobal):
                said = f"writes the global `{instr.name}`"
            else:
                said = ""
            if said:
                yield said, instr.position

    def _called(self, call: ir.Call) -> str:
        made = self.index.source(call.function)
        if isinstance(made, ir.Attr) and made.name == _READS and not call.arguments:
            owner = self._value(made.owner, _DEEP)
            if self.frame.vals[made.owner] is None or any(isinstance(o, Tensor) and o.kind != NDARRAY for o in owner):
                return f"uses `.{_READS}()`, which works only eagerly"
        for obj in self._value(call.function, _DEEP):
            said = self._library(obj) if not isinstance(obj, (Func, Bound)) else ""
            if isinstance(obj, Bound) and isinstance(obj.func, str):
                said = self._named(obj.func.replace(":", "."))
            func = obj.func if isinstance(obj, Bound) else obj
            if isinstance(func, Func):
                said = self._inside(func.code)
            if said:
                return said
        return ""

    def _library(self, obj: object) -> str:
        return self._named(obj.name) if isinstance(obj, Lib) else ""

    def _named(self, name: str) -> str:
        owner, _, method = name.rpartition(".")
        if name == _PRINTS:
            return f"uses `{method}`, which {_CHANGES['print']}"
        found = registry.method_spec(owner, method) if registry.is_class(owner) else None
        spec = found[1] if found is not None else registry.function_spec(name)
        kinds = [kind for kind in spec.effects if kind in _CHANGES] if spec is not None else []
        return f"uses `{method}`, which {_CHANGES[kinds[0]]}" if kinds else ""

    def _inside(self, code: Code) -> str:
        """What a function of the project does, as far as it was analysed for whoever else calls it."""
        for frame in self.scanner.solution.frames.get(code, ()):
            for effect in frame.effects.values():
                if effect.kind in _CHANGES:
                    return f"calls `{code.name}`, which {_CHANGES[effect.kind]}"
        return ""

    def _value(self, slot: int, depth: int) -> Value:
        """What a slot would hold."""
        known = self.frame.vals[slot]
        made = self.index.source(slot)
        if known or made is None or not depth:
            return known or _NO_VALUE
        if isinstance(made, ir.Global):
            cell = self.frame.module.fields.get(made.name)
            found: Value = cell.value if cell is not None else library_attribute("builtins", made.name)
            return found
        if isinstance(made, ir.Attr):
            return _NO_VALUE.union(*(self._member(o, made.name) for o in self._value(made.owner, depth - 1)))
        return _NO_VALUE

    def _member(self, obj: object, name: str) -> Value:
        if isinstance(obj, Lib):
            return library_attribute(obj.name, name)
        if isinstance(obj, LibInst):
            return library_attribute(obj.cls, name)
        if not isinstance(obj, Inst):
            return obj.fields[name].value if isinstance(obj, Class) and name in obj.fields else _NO_VALUE
        if name in obj.fields:
            return obj.fields[name].value
        for base in obj.cls.mro:
            if isinstance(base, Class) and name in base.fields:
                return base.fields[name].value
            if isinstance(base, Lib) and registry.method_spec(base.name, name) is not None:
                return library_attribute(base.name, name)
        return _NO_VALUE
