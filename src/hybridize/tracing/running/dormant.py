"""Code that no call of the program runs: which parts of a function those are, and what their slots would hold.

The analysis never looked into them, so values are told from those around: constants, fields, functions, and that what
TensorFlow computes is a tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import NONE_V, Bound, Class, Func, Inst, Lib, LibInst, Obj, Tensor, Value, prim, tensor
from hybridize.domain.tensors import DENSE, NDARRAY
from hybridize.facts.symbolic import OPERATION, holds_tensor
from hybridize.flow.frames import Frame
from hybridize.flow.truth import truth
from hybridize.library import registry
from hybridize.library.defaults import library_attribute
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import NO_SLOT, Block, Instr
from hybridize.program.operands import edges_of
from hybridize.records import dataclass
from hybridize.tracing.structure import Site, Structure
from hybridize.tracing.views import FrameView, ProjectView

_NO_VALUE: Final[Value] = frozenset()
_DEEP: Final = 12
_READS: Final = ".numpy"
#: What Python's own conversions give.
_CONVERTS: Final = {f"builtins.{kind}": kind for kind in ("int", "float", "bool", "str")} | {"builtins.len": "int"}


@dataclass(frozen=True, slots=True)
class Dormant:
    """What no frame runs since none takes one side of a branch or loop: blocks, and the edges that leave them."""

    condition: int
    blocks: tuple[Block, ...]
    edges: frozenset[int]

    def instructions(self) -> Iterator[Instr]:
        """All of it in order."""
        for block in self.blocks:
            yield from instructions(block)


def dormant_parts(project: ProjectView, frames: Sequence[Frame]) -> Iterator[Dormant]:
    """What of one function no frame runs, though some frames come to the condition."""
    index = index_of(frames[0].code)
    structure: Structure | None = None
    for instr in index.of(ir.If, ir.Loop):
        side = _only_side(project, frames, _condition(instr))
        if side is None or (isinstance(instr, ir.Loop) and side):
            continue
        if isinstance(instr, ir.Loop):
            yield _dormant(_condition(instr), [instr.body], ())
            continue
        taken, block, edge = (
            (instr.then_edge, instr.orelse, instr.else_edge) if side else (instr.else_edge, instr.then, instr.then_edge)
        )
        rest: list[Block] = []
        if not any(frame.edges[taken] for frame in frames):  # what all take does not go on
            structure = structure or Structure(frames[0].code)
            rest = list(_after(structure.at(instr), frames))
        yield _dormant(instr.condition, [block, *rest], (edge,))


def _condition(instr: ir.If | ir.Loop) -> int:
    return instr.iterable if isinstance(instr, ir.Loop) and instr.is_for else instr.condition


def _dormant(condition: int, blocks: list[Block], edges: tuple[int, ...]) -> Dormant:
    inside = [edge for block in blocks for instr in instructions(block) for edge in edges_of(instr)]
    return Dormant(condition, tuple(block for block in blocks if block), frozenset((*edges, *inside)))


def _only_side(project: ProjectView, frames: Sequence[Frame], slot: int) -> bool | None:
    """What a condition is in all frames that come to it; None where it may be both, or none does."""
    engine = project.solution.engine
    found = [truth(engine, frame, frame.vals[slot]) for frame in frames if slot != NO_SLOT and frame.vals[slot]]
    may, may_not = any(yes for yes, _ in found), any(no for _, no in found)
    return None if may is may_not else may


def _after(site: Site, frames: Sequence[Frame]) -> Iterator[Block]:
    """What stands behind a branch that does not go on, as far as nothing else leads there."""
    yield site.block[site.index + 1 :]
    outer = site.parent
    ends = _ends(outer.instr) if outer is not None else []
    if outer is not None and ends and not any(frame.edges[edge] for frame in frames for edge in ends):
        yield from _after(outer, frames)


def _ends(instr: Instr) -> list[int]:
    """The edges by which control goes on behind a branch or a `try`; none of a loop."""
    return edges_of(instr) if isinstance(instr, (ir.If, ir.Try)) else []


class DormantView(FrameView):
    """A frame with what slots would hold in code that it does not run."""

    __slots__ = ("_made",)

    def __init__(self, project: ProjectView, frame: Frame) -> None:
        super().__init__(project, frame)
        self._made: dict[int, Value] = {}

    def value(self, slot: int) -> Value:
        """What a slot holds, or would."""
        return self._at(slot, _DEEP)

    def symbolic(self, slot: int) -> int:
        """As of a slot that is known; what is computed there is an operation's."""
        if slot < 0 or self.frame.vals[slot]:
            return super().symbolic(slot)
        return (self.mask(slot) or OPERATION) if holds_tensor(self.value(slot)) else 0

    def names(self, slot: int) -> tuple[str, ...]:
        """Those of the library functions and methods that a slot would hold."""
        return self.project.names(self.value(slot))

    def _at(self, slot: int, depth: int) -> Value:
        if slot < 0:
            return _NO_VALUE
        known: Value | None = self.frame.vals[slot] or self._made.get(slot)
        if known is None:
            self._made[slot] = _NO_VALUE
            made = index_of(self.frame.code).definitions.get(slot)
            known = self._made[slot] = self._of(made, depth - 1) if made is not None and depth else _NO_VALUE
        return known

    def _of(self, made: Instr, depth: int) -> Value:
        """What an instruction gives."""
        match made:
            case ir.Global():
                cell = self.frame.module.fields.get(made.name)
                found: Value = cell.value if cell is not None else library_attribute("builtins", made.name)
                return found
            case ir.Refine():
                return self._narrowed(made, self._at(made.source, depth))
            case ir.Copy():
                return self._at(made.source, depth)
            case ir.Phi():
                return _joined(self._at(slot, depth) for _, slot in made.incoming)
            case ir.Attr():
                return _NO_VALUE.union(*(self._member(o, made) for o in self._at(made.owner, depth)))
            case ir.Call():
                return _joined(self._called(o) for o in self._at(made.function, depth))
            case ir.Operator() | ir.Compare():
                sides = self._at(made.left, depth) | self._at(made.right, depth)
                return tensor(DENSE).value if any(map(_is_tensor, sides)) else _NO_VALUE
            case ir.Unary(operand=slot) | ir.Item(source=slot):
                return tensor(DENSE).value if any(map(_is_tensor, self._at(slot, depth))) else _NO_VALUE
        return _NO_VALUE

    def _narrowed(self, made: ir.Refine, value: Value) -> Value:
        """What a test leaves of a value: nothing where what is seen never comes this way."""
        engine = self.project.solution.engine
        if made.kind == "none":
            return value & NONE_V if made.holds else value - NONE_V
        if made.kind == "truth":
            return frozenset(o for o in value if truth(engine, self.frame, o.value)[0 if made.holds else 1])
        if made.kind == "isinstance" and value:
            found: Value = engine.protocols.narrow(self.frame, value, self.value(made.classes), made.holds)
            return found
        return value

    def _member(self, obj: Obj, made: ir.Attr) -> Value:
        if not isinstance(obj, Tensor):
            return _member(obj, made.name)
        found: Value = self.project.solution.engine.attributes.get_attr(self.frame, obj, made.name, made.position)
        return found

    def _called(self, obj: Obj) -> Value:
        """What a call of something gives."""
        func = obj.func if isinstance(obj, Bound) else obj
        if isinstance(obj, Class):
            instances = self.project.solution.world.instances.get(obj)
            return (instances[0] if instances else Inst(obj, (self.code, self.code.position), self.frame.uid)).value
        if isinstance(func, Func):
            return _joined(frame.ret for frame in self.project.solution.frames.get(func.code, ()))
        names = self.project.names(obj.value)
        if any(name in _CONVERTS for name in names):
            return prim(_CONVERTS[names[0]]).value
        if any(name.endswith(_READS) or (name.startswith("np.") and not registry.is_class(name)) for name in names):
            return tensor(NDARRAY).value
        return tensor(DENSE).value if any(map(_computes, names)) else _NO_VALUE


def _joined(values: Iterator[Value]) -> Value:
    return reduce(join, values, _NO_VALUE)


def _is_tensor(obj: Obj) -> bool:
    return isinstance(obj, Tensor) and obj.kind != NDARRAY


def _computes(name: str) -> bool:
    """Whether a library function is an operation of TensorFlow."""
    if name.startswith("tensor.dense."):
        return True
    if not name.startswith("tf.") or registry.is_class(name):
        return False
    spec = registry.function_spec(name)
    return spec is None or spec.op


def _member(obj: object, name: str) -> Value:
    """An attribute of an object, as far as nothing has to be run for it."""
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
