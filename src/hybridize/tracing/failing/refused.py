"""Which places of a frame raise whenever they are traced, by the static types of what arrives there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import Final

from hybridize.domain.calls import DIRECT, How
from hybridize.domain.objects import NONE_V, Bound, Container, Lib, LibInst, Lit, Obj, Tensor, Tup, Value
from hybridize.facts.origins import called_at
from hybridize.flow.frames import Frame
from hybridize.library.dialect import ASSIGNS
from hybridize.library.failing import assignment_fails, call_fails, inside, item_fails, operator_fails, sizes
from hybridize.program import ir
from hybridize.program.ir import Instr
from hybridize.program.operands import arguments
from hybridize.records import dataclass
from hybridize.tracing.control import Control, control
from hybridize.tracing.shapes.dims import unknown_dims
from hybridize.tracing.structure import Branch, Site, Turning
from hybridize.tracing.views import FrameView

_TRACED: Final = DIRECT | {How.KERAS, How.CALLBACK, How.OPERATOR}
_DEPTH: Final = 6
_MOST: Final = 6  # combinations of what may arrive that are looked at
#: The instructions that may be refused.
LOOKED_AT: Final = (ir.Call, ir.TwoSided, ir.Item, ir.Unpack)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A place that raises when it is traced, and what people call it."""

    path: str
    position: int
    said: str


def refusal(view: FrameView, instr: Instr, depth: int = _DEPTH) -> Refusal | None:
    """Why an instruction raises for certain when it is traced; None where it may be fine."""
    if isinstance(instr, ir.Call):
        found = _of_callees(view, instr, depth)
        if found is not None:
            return found
        said = _call(view, instr)
    elif isinstance(instr, ir.TwoSided):
        said = _operator(view, instr)
    elif isinstance(instr, ir.Item):
        said = _item(view, instr)
    elif isinstance(instr, ir.Unpack):
        said = _unpacking(view, instr)
    else:
        return None
    return Refusal(view.code.path, instr.position, said) if said else None


def raises(frame: Frame, view: FrameView, depth: int = _DEPTH) -> Refusal | None:
    """What of a frame raises whenever it is traced: no condition of Python's and no handler stands around it."""
    known: dict[Frame, Refusal | None] = view.project.shared("refused frames", dict)
    if frame not in known:
        known[frame] = None  # of a function that calls itself
        known[frame] = _raises(FrameView(view.project, frame), depth)
    return known[frame]


def _raises(view: FrameView, depth: int) -> Refusal | None:
    flow = control(view)
    for site in flow.structure.of(*LOOKED_AT):
        if not isinstance(site.instr, ir.Compare) and always(flow, site):
            found = refusal(view, site.instr, depth)
            if found is not None and flow.reached(site):
                return found
    return None


def always(flow: Control, site: Site) -> bool:
    """Whether tracing comes to a site, and what it raises gets out."""
    for outer, part in site.around():
        if isinstance(outer.instr, ir.Try) and part == "body" and outer.instr.handlers:
            return False
        if isinstance(outer, Branch) and part in ("then", "else"):
            value = flow.view.value(outer.instr.condition)
            if all(flow.truth(value)) and not flow.condition(outer):
                return False
        if isinstance(outer, Turning) and part in ("body", "orelse") and not flow.loop(outer):
            return False
    return True


def _of_callees(view: FrameView, instr: ir.Call, depth: int) -> Refusal | None:
    """What the project's functions that are called raise, where all of them do."""
    if depth <= 0:
        return None
    callees = called_at(view.frame, instr.position, _TRACED)
    found = [raises(callee, view, depth - 1) for callee in callees if callee is not view.frame]
    direct = all(how in DIRECT for _, how in view.callees(instr.position))
    return found[0] if found and all(found) and (direct or len(found) == 1) else None


# Operations ----------------------------------------------------------------------------------------------------------


def _known(view: FrameView, slot: int) -> list[Obj]:
    """What may be in a slot, each by itself; nothing where the graph may know less of it than we do."""
    value = view.value(slot)
    if len(value) > 1:
        value -= NONE_V  # eager code would raise, too
    if len(value) > 1 and slot not in {param.slot for param in view.code.params} and not _is_element(view, slot):
        return []  # what branches join
    if any(isinstance(o, Tensor) for o in value) and unknown_dims(view, slot) is not None:
        return []
    return list(value)


def _is_element(view: FrameView, slot: int) -> bool:
    """Whether a slot holds one element after the other of a list or tuple: each turn is traced by itself."""
    made = view.definition(slot)
    if not isinstance(made, ir.Iter):
        return False
    return all(isinstance(o, (Tup, Container)) for o in view.value(made.source))


def _every(view: FrameView, slots: list[int]) -> Iterator[tuple[Obj, ...]]:
    """The combinations of what may arrive in some slots; nothing where one of them is not known."""
    found = [_known(view, slot) for slot in slots]
    if all(found) and sum(len(f) > 1 for f in found) <= 1:
        yield from islice(product(*found), _MOST)


def _operator(view: FrameView, instr: ir.TwoSided) -> str:
    pairs = _every(view, [instr.left, instr.right])
    return f"`{instr.operator}`" if any(operator_fails(instr.operator, a, b) for a, b in pairs) else ""


def _item(view: FrameView, instr: ir.Item) -> str:
    made = view.definition(instr.source)
    if isinstance(made, ir.Attr) and made.name == "shape" and not _known(view, made.owner):
        return ""
    pairs = [*_every(view, [instr.source, instr.index])]
    if any(item_fails(owner, key) for owner, key in pairs):
        return "the index"
    lists = [(o, k) for o, k in pairs if isinstance(o, Container) and _parts(view, instr.source)]
    if any(isinstance(k, Lit) and type(k.const) is int and not inside(k.const, len(o.fields)) for o, k in lists):
        return "the index"
    return ""


def _parts(view: FrameView, slot: int) -> int:
    """How many tensors are in a list that an operation of TensorFlow has just given, by its operand's shape; or 0."""
    made = view.definition(slot)
    if not isinstance(made, ir.Call) or not made.arguments or not _known(view, made.arguments[0][0]):
        return 0
    names = view.names(made.function)
    if not names or any(n not in ("tf.unstack", "tf.split") for n in names):
        return 0
    lists = [o for o in view.value(slot) if isinstance(o, Container) and o.kind == "list" and o.exact]
    return len(lists[0].fields) if len(lists) == 1 == len(view.value(slot)) else 0


def _unpacking(view: FrameView, instr: ir.Unpack) -> str:
    slots, source, star = instr.targets, instr.source, instr.star
    made = view.definition(source)
    size = _parts(view, source)
    if not size and isinstance(made, ir.Attr) and made.name == "shape" and _known(view, made.owner):
        found = set(sizes(view.value(source)))
        size = found.pop() if len(found) == 1 else 0
    if size <= 0:
        return ""
    return "the unpacking" if (size < len(slots) - 1 if star >= 0 else size != len(slots)) else ""


def _call(view: FrameView, instr: ir.Call) -> str:
    functions = view.value(instr.function) - NONE_V
    if (
        len(functions) != 1
        or any(starred for _, starred in instr.arguments)
        or any(key is None for key, _ in instr.keywords)
    ):
        return ""
    (function,) = functions
    slots = list(arguments(instr))
    if isinstance(function, Bound) and isinstance(function.func, str):
        name = function.func.rpartition(":")[2]
        if name in ASSIGNS and slots:
            fails = any(assignment_fails(function.receiver, o) for (o,) in _every(view, slots[:1]))
            return f"`{name}`" if fails else ""
        return ""
    if isinstance(function, Lib):
        name, receiver = function.name, None
    elif isinstance(function, LibInst):
        name, receiver = f"{function.cls}.__call__", function
    else:
        return ""
    if not slots or (instr.position not in view.frame.ops and not name.startswith("tf.debugging.")):
        return ""
    keys = [key for key, _ in instr.keywords if key is not None]
    for each in _every(view, slots):
        args = [o.value for o in each[: len(instr.arguments)]]
        kwargs: dict[str, Value] = {k: o.value for k, o in zip(keys, each[len(instr.arguments) :], strict=True)}
        if call_fails(view.project.solution.engine, view.frame, instr.position, name, args, kwargs, receiver):
            return f"`{name.removesuffix('.__call__')}`"
    return ""
