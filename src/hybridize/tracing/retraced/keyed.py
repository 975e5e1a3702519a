"""What is made once for each key (`if n not in made: made[n] = ...`), where later calls bring other keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from hybridize.domain.objects import Lit, Prim, Tensor, Value
from hybridize.facts.origins import calls_to, definitions, passed_slots
from hybridize.facts.state.guards import guarded, is_cached, regions
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Instr
from hybridize.records import dataclass
from hybridize.tracing.creation import makes_variables
from hybridize.tracing.views import FrameView, ProjectView

#: Whether a value may be true, and whether it may be false.
Truth: TypeAlias = Callable[[Frame, Value], tuple[bool, bool]]
_DEPTH: Final = 6
_STATIC_SHAPE: Final = frozenset({"shape", "get_shape", "as_list"})


@dataclass(frozen=True, slots=True)
class Guarded:
    """A creation under a guard, or a call of one: what is made, the keys that the guard asks for, the place of it."""

    name: str
    keys: list[int]
    made: tuple[str, int] | None = None


def guarded_creations(project: ProjectView) -> dict[tuple[Frame, int], Guarded]:
    """The guarded creations that were seen, and the guarded calls of functions that make something."""
    return project.shared("keyed creations", dict)


def passes(view: FrameView, pos: int, callee: Frame) -> bool:
    """Calls that run once, or keep what they made, make nothing at the later ones."""
    if guarded(view.frame, pos):
        name, made = _first_made(FrameView(view.project, callee))
        guarded_creations(view.project).setdefault((view.frame, pos), Guarded(name, keys(view.code, pos), made))
        return False
    return not is_cached(callee.code)


def _first_made(view: FrameView) -> tuple[str, tuple[str, int] | None]:
    """What a function makes itself, and where."""
    for instr in index_of(view.code).of(ir.Call):
        name = makes_variables(view, instr.function)
        if name is not None:
            return name, (view.code.path, instr.position)
    return "variable", None


def keys(code: Code, position: int) -> list[int]:
    """The slots of the keys whose presence decides whether what is at a position runs."""
    return [key for region in regions(code).get(position, ()) for key in _asked(code, region.test)]


def _asked(code: Code, test: int) -> Iterator[int]:
    """The keys that a condition looks up, or compares: `k not in d`, `d.get(k) is None`, `not d[k]`, `self.n != n`."""
    known = definitions(code)
    todo, seen = [test], set()
    while todo:
        slot = todo.pop()
        instr = known.get(slot)
        if instr is None or slot in seen:
            continue
        seen.add(slot)
        match instr:
            case ir.Compare() if instr.operator in ("in", "not in"):
                yield instr.left
            case ir.Compare():
                if instr.operator not in ("is", "is not"):
                    yield from (instr.left, instr.right)  # `self.v is None or self.v.shape[0] != n`
                todo += [instr.left, instr.right]
            case ir.Phi():  # of `and`, `or`
                todo += [each for _, each in instr.incoming]
            case ir.Copy():
                todo.append(instr.source)
            case ir.Unary():
                todo.append(instr.operand)
            case ir.BoolOp():
                todo += instr.operands
            case ir.Item():
                yield instr.index
            case ir.Call() if _is_get(known.get(instr.function)) and instr.arguments:
                yield instr.arguments[0][0]


def _is_get(made: Instr | None) -> bool:
    return isinstance(made, ir.Attr) and made.name == "get"


def comes_late(frame: Frame, position: int, roots: Sequence[Frame], truth: Truth) -> bool:
    """Whether the first call of a function, by its conditions on arguments, leaves out what a later one does."""
    if frame not in roots:
        return False
    first = min(roots, key=lambda f: f.uid)
    if frame is first or frame.code is not first.code or not _same_receiver(first, frame):
        return False
    for region in regions(frame.code).get(position, ()):
        before, value = (f.vals[region.test] if region.test >= 0 else None for f in (first, frame))
        if before and value and not truth(first, before)[0] and truth(frame, value)[0]:
            return True
    return False


def _same_receiver(first: Frame, frame: Frame) -> bool:
    """Whether two frames of a method are of one object: others have a graph of their own."""
    parent = frame.code.parent
    return parent is None or not parent.is_class or bool(frame.args and frame.args[0] == first.args[0])


def varies(frame: Frame, key: int, roots: Sequence[Frame], depth: int = _DEPTH) -> bool:
    """Whether calls of a function (its frames are `roots`) bring different keys: numbers or strings that come from its
    own parameters, or the static shapes of its tensors."""
    if key < 0 or not depth:
        return False
    if frame in roots:
        index = frame.code.place_of(key)
        if index >= 0:
            every: Value = frozenset(o for f in roots if index < len(f.args) for o in f.args[index])
            return _several(every)
    made = definitions(frame.code).get(key)
    if made is None:
        return _comes_in(frame, key, roots, depth)
    match made:
        case ir.Copy():
            return varies(frame, made.source, roots, depth - 1)
        case ir.Item() | ir.Unpack() if _is_shape(frame, made.source):
            every = frozenset(o for f in _same(frame, roots) for o in f.vals[key] or ())
            return _several(every)
        case ir.Attr() if made.name == "shape" and _is_parameter(frame, made.owner):
            return len({o for f in _same(frame, roots) for o in f.vals[key] or ()}) > 1
        case ir.Item():
            return varies(frame, made.index, roots, depth - 1)
        case ir.Tuple():
            return any(varies(frame, slot, roots, depth - 1) for slot, _ in made.elements)
        case ir.Call() if len(made.arguments) == 1:
            return varies(frame, made.arguments[0][0], roots, depth - 1)
    return False


def _is_parameter(frame: Frame, slot: int) -> bool:
    return frame.code.place_of(slot) >= 0


def _same(frame: Frame, roots: Sequence[Frame]) -> Sequence[Frame]:
    return roots if frame in roots else [frame]


def _comes_in(frame: Frame, slot: int, roots: Sequence[Frame], depth: int) -> bool:
    """Whether a parameter gets what varies, from the callers that belong to the function."""
    index = frame.code.place_of(slot)
    if index < 0:
        return False
    return any(
        varies(caller, each, roots, depth - 1)
        for caller, pos in calls_to(frame)
        for each in passed_slots(caller, pos, frame, index) or ()
    )


def _is_shape(frame: Frame, slot: int) -> bool:
    """Whether a slot holds the static shape of a tensor."""
    made = definitions(frame.code).get(slot)
    while isinstance(made, ir.Call):
        made = definitions(frame.code).get(made.function)
        if isinstance(made, ir.Attr) and made.name == "as_list":
            made = definitions(frame.code).get(made.owner)
    if not isinstance(made, ir.Attr) or made.name not in _STATIC_SHAPE:
        return False
    return any(isinstance(o, Tensor) for o in frame.vals[made.owner] or ())


def _several(value: Value) -> bool:
    """Whether a value is now one number or string, now another."""
    plain = [o for o in value if isinstance(o, (Lit, Prim))]
    return len(plain) > 1 or any(isinstance(o, Prim) for o in plain)
