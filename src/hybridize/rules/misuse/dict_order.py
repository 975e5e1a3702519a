"""HY255: the order of a dictionary that came as an argument."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from hybridize.domain.calls import DIRECT
from hybridize.domain.objects import Container
from hybridize.domain.words import VIEWS
from hybridize.facts.model import Evidence
from hybridize.facts.origins import called_at, calls_at, definitions, passed_slots
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.records import dataclass
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.values import uses
from hybridize.tracing.views import FrameView, FunctionView

_KEEPS: Final = frozenset({"list", "tuple", "enumerate", "iter", "zip", "reversed", "map"})
_DEPTH: Final = 3
_NAMED: Final = (ir.Global, ir.Attr)
_JOINS: Final = frozenset({"concat", "stack", "concatenate", "hstack", "vstack"})
_IN_ORDER: Final = _JOINS | {"next", "convert_to_tensor"}


#: A file, and a position in it.
Place: TypeAlias = tuple[str, int]


@dataclass(slots=True)
class _Trail:
    """What follows a dictionary that came as an argument through one frame.

    `name` is the argument; `slots` has by slot whether what is there stands in the dictionary's order (or is the
    dictionary itself), and where that order was taken.
    """

    view: FrameView
    name: str
    slots: dict[int, tuple[bool, Place | None]]
    hits: list[Hit]
    gives: Place | None = None  # where the order of what the frame returns was taken

    def add(self, slot: int, place: int | Place | None) -> None:
        """Notes that a slot holds things in the dictionary's order, which was taken at a place."""
        if slot >= 0 and not self.slots.get(slot, (False, None))[0]:
            self.slots[slot] = (True, (self.view.code.path, place) if isinstance(place, int) else place)

    def hit(self, position: int, taken: Place | None) -> None:
        """Adds that the order matters at a position; the hit is where it was taken."""
        path, first = taken or (self.view.code.path, position)
        said = f"depends on the order of `{self.name}`, and a graph keeps the first call's order"
        evidence = [Evidence(said, path, first >> 16)]
        if (path, first >> 16) != (self.view.code.path, position >> 16):
            evidence.append(Evidence("the order matters here", self.view.code.path, position >> 16))
        self.hits.append(Hit(first, said, evidence=tuple(evidence), path=path))


def scan(function: FunctionView) -> Iterator[Hit]:
    """What depends on the order of a dictionary that arrives with its keys now in one order, now in another."""
    mixed = {param.slot: param.name for i, param in enumerate(function.code.params) if _orders(function, i)}
    for frame in function.frames if mixed else ():
        for slot, name in mixed.items():
            trail = _follow(FrameView(function.project, frame), name, {slot: (False, None)}, _DEPTH)
            if trail.gives is not None:
                trail.hit(trail.gives[1], trail.gives)
            yield from trail.hits


def _follow(view: FrameView, name: str, slots: dict[int, tuple[bool, Place | None]], depth: int) -> _Trail:
    """Goes through the uses of a dictionary, and of what is made of it in its order; helpers included."""
    trail = _Trail(view, name, slots, [])
    done: set[int] = set()
    while len(done) < len(slots):
        slot = next(s for s in slots if s not in done)
        done.add(slot)
        listed, taken = slots[slot]
        for use in uses(view, slot):
            if isinstance(use, ir.Iter):
                _loop(trail, use, slot, taken)
            elif isinstance(use, ir.Call):
                _call(trail, use, slot, depth)
            elif isinstance(use, ir.Attr) and not listed and use.name in VIEWS:
                for made in uses(view, use.target):
                    if isinstance(made, ir.Call) and made.function == use.target:
                        trail.add(made.target, made.position)
            elif isinstance(use, ir.Sequence) and (slot, True) in use.elements:
                trail.add(use.target, taken or use.position)
            elif isinstance(use, ir.Return) and listed:
                trail.gives = trail.gives or taken
            elif listed and isinstance(use, (ir.Item, ir.Unpack)) and use.source == slot and not _is_cut(view, use):
                trail.hit(use.position, taken)
    return trail


def _is_cut(view: FrameView, use: ir.Item | ir.Unpack) -> bool:
    """Whether an item is a slice of everything."""
    made = view.definition(use.index) if isinstance(use, ir.Item) else None
    return isinstance(made, ir.Slice) and made.lower < 0 and made.upper < 0


def _call(trail: _Trail, use: ir.Call, slot: int, depth: int) -> None:
    """A call that keeps the order, depends on it, or passes things on to a function of the project."""
    view, (listed, taken) = trail.view, trail.slots[slot]
    name = _name(view.frame, use)
    places = [i for i, (given, _) in enumerate(use.arguments) if given == slot]
    if name in _KEEPS and places and not view.callees(use.position):
        trail.add(use.target, taken or use.position)
        if name == "zip" and any(_iterated(view.frame, s) != _iterated(view.frame, slot) for s, _ in use.arguments):
            trail.hit(use.position, taken)
    elif listed and _takes_by_place(view, use, slot):
        trail.hit(use.position, taken)
    elif depth:
        for callee, index in _given(view, use, slot):
            inner = {callee.code.params[index].slot: trail.slots[slot]}
            found = _follow(FrameView(view.project, callee), trail.name, inner, depth - 1)
            trail.hits += found.hits
            if found.gives is not None:
                trail.add(use.target, found.gives)


def _loop(trail: _Trail, fetch: ir.Iter, slot: int, taken: Place | None) -> None:
    """A loop or comprehension: what it makes in its order, or whether the order matters to it."""
    view = trail.view
    loop: ir.Loop | None = next((i for i in index_of(view.code).of(ir.Loop) if fetch in i.test), None)
    if loop is None:
        return
    if _counts(view, fetch, slot):
        trail.hit(fetch.position, taken)
    elif loop.fills >= 0:
        trail.add(loop.fills, taken or fetch.position)
    elif _order_matters(view, loop):
        trail.hit(fetch.position, taken)
    else:
        for instr in instructions(loop.body):
            made = view.definition(instr.function) if isinstance(instr, ir.Call) else None
            if isinstance(made, ir.Attr) and made.name in ("append", "extend"):
                trail.add(made.owner, taken or fetch.position)


def _counts(view: FrameView, fetch: ir.Iter, slot: int) -> bool:
    """Whether a loop goes through `enumerate(...)`, and uses the numbers."""
    made = view.definition(slot)
    if not isinstance(made, ir.Call) or _name(view.frame, made) != "enumerate":
        return False
    parts = [use for use in uses(view, fetch.target) if isinstance(use, ir.Unpack)]
    return not parts or any(uses(view, use.targets[0]) for use in parts)


def _given(view: FrameView, call: ir.Call, slot: int) -> Iterator[tuple[Frame, int]]:
    """The functions of the project that a call gives a slot to, with the parameter that it arrives at."""
    for callee in called_at(view.frame, call.position, DIRECT):
        for index in range(len(callee.code.params)):
            if passed_slots(view.frame, call.position, callee, index) == [slot]:
                yield callee, index


def _takes_by_place(view: FrameView, use: ir.Call, slot: int) -> bool:
    """Whether a call depends on the order of the elements in a slot."""
    starred = any(given == slot and is_starred for given, is_starred in use.arguments)
    return starred or _name(view.frame, use) in _IN_ORDER


def _name(frame: Frame, call: ir.Call) -> str:
    """The name of a function or method that is called, without what it belongs to."""
    made = definitions(frame.code).get(call.function)
    return str(made.name) if isinstance(made, _NAMED) else ""


def _orders(function: FunctionView, index: int) -> bool:
    """Whether dictionaries with the same keys arrive at a parameter in more than one order."""
    seen: dict[tuple[str, ...], tuple[str, ...]] = {}
    if function.code.params[index].is_kwargs:
        return _keywords_differ(function)
    for frame in function.frames:
        for obj in frame.args[index]:
            if isinstance(obj, Container) and obj.kind in ("dict", "collections.OrderedDict") and obj.exact:
                keys = tuple(map(str, obj.fields))
                if seen.setdefault(tuple(sorted(keys)), keys) != keys:
                    return True
    return False


def _keywords_differ(function: FunctionView) -> bool:
    """Whether calls give the same keywords in more than one order."""
    named = {param.name for param in function.code.params if not param.is_kwargs}
    seen: dict[tuple[str, ...], tuple[str, ...]] = {}
    for caller, pos, _ in function.called_by(DIRECT):
        for call in calls_at(caller.code, pos):
            keys = tuple(name for name, _ in call.keywords if name is not None and name not in named)
            if seen.setdefault(tuple(sorted(keys)), keys) != keys:
                return True
    return False


def _iterated(frame: Frame, slot: int) -> int:
    """The slot of the dictionary that a loop runs over, through its views and what keeps the order."""
    for _ in range(4):
        made = definitions(frame.code).get(slot)
        if made is None:
            return slot
        if isinstance(made, ir.Copy):
            slot = made.source
        elif isinstance(made, ir.Call):
            func = definitions(frame.code).get(made.function)
            if isinstance(func, ir.Attr) and func.name in VIEWS:
                slot = func.owner
            elif isinstance(func, ir.Global) and func.name in _KEEPS and made.arguments:
                slot = made.arguments[0][0]
            else:
                return -1
        else:
            return slot
    return slot


def _order_matters(view: FrameView, loop: ir.Loop) -> bool:
    """Whether the loop carries a value on by more than sums, or its parts are joined in their order."""
    inside = list(instructions(loop.body))
    carried = [use for phi in loop.phis for use in uses(view, phi.target)]
    places = {id(instr) for instr in inside}
    if any(id(use) in places and not (isinstance(use, ir.Operator) and use.operator in ("+", "+=")) for use in carried):
        return True
    frame = view.frame
    gathers = any(isinstance(i, ir.Append) for i in inside)
    return gathers and any(isinstance(i, ir.Call) and _method(frame, i) in _JOINS for i in index_of(frame.code).flat)


def _method(frame: Frame, call: ir.Call) -> str:
    made = definitions(frame.code).get(call.function)
    return str(made.name) if isinstance(made, ir.Attr) else ""


RULE = Rule(
    code="HY255",
    name="dict-order",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    act="sort the keys, or pass the order as a list",
    summary="The result depends on the order of a dictionary argument; a graph keeps the order of its trace.",
    details="""Two dictionaries with the same keys share a trace, in whatever order the keys were put in. A loop over
the argument was unrolled in the order of the first call, and later calls follow it. Loop over `sorted(d)`, or pass a
list of pairs.""",
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(d):
    s = tf.constant(0)
    for k in d:
        s = s * 10 + d[k]
    return s
r1 = target({"a": tf.constant(1), "b": tf.constant(2)})
r2 = target({"b": tf.constant(2), "a": tf.constant(1)})
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(parts):
    found = []
    for name, part in parts.items():
        found.append(part)
    return tf.concat(found, 0)
r1 = target({"a": tf.constant([1]), "b": tf.constant([2])})
r2 = target({"b": tf.constant([2]), "a": tf.constant([1])})
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(parts):
    first = list(parts.values())[0]
    return first * 2 + tf.reduce_sum(tf.stack(list(parts.values())))
r1 = target({"b": tf.constant(1), "a": tf.constant(2)})
r2 = target({"a": tf.constant(4), "b": tf.constant(3)})
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def joined(columns):
    return tf.stack(list(columns.values()), axis=-1)
def target(**columns):
    return joined(columns) * 2
r1 = target(b=tf.constant(1), a=tf.constant(2))
r2 = target(a=tf.constant(4), b=tf.constant(3))
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(d):
    s = tf.constant(0)
    for k in d:
        s = s + d[k]
    return s
r1 = target({"a": tf.constant(1), "b": tf.constant(2)})
r2 = target({"b": tf.constant(2), "a": tf.constant(1)})
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(d):
    s = tf.constant(0)
    for k in sorted(d):
        s = s * 10 + d[k]
    return s
r1 = target({"a": tf.constant(1), "b": tf.constant(2)})
r2 = target({"b": tf.constant(2), "a": tf.constant(1)})
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(d):
    s = tf.constant(0)
    for k in d:
        s = s * 10 + d[k]
    return s
r1 = target({"b": tf.constant(1), "a": tf.constant(2)})
r2 = target({"b": tf.constant(2), "a": tf.constant(1)})
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(d):
    return {k: v * 2 for k, v in d.items()}
r1 = target({"b": tf.constant(2), "a": tf.constant(1)})["a"]
"""
        ),
    ),
    reference="semantics.md R21",
)
