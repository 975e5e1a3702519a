"""HY255: the order of a dictionary that came as an argument."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from hybridize.domain.objects import Container
from hybridize.facts.model import Evidence
from hybridize.facts.origins import calls_at, definitions, passed_slots
from hybridize.flow.frames import Frame
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Instr, Loop, Op
from hybridize.records import dataclass
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.rules.values import uses
from hybridize.rules.views import FrameView, FunctionView

_VIEWS: Final = frozenset({"items", "keys", "values"})
_KEEPS: Final = frozenset({"list", "tuple", "enumerate", "iter", "zip", "reversed", "map"})
_DEPTH: Final = 3
_NAMED: Final = (Op.GLOBAL, Op.ATTR)
_IN_ORDER: Final = frozenset({"concat", "stack", "concatenate", "hstack", "vstack", "next", "convert_to_tensor"})
_JOINS: Final = frozenset({"concat", "stack", "concatenate", "hstack", "vstack"})


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
            if use[0] == Op.ITER:
                _loop(trail, use, slot, taken)
            elif use[0] == Op.CALL:
                _call(trail, use, slot, depth)
            elif use[0] == Op.ATTR and not listed and use[3] in _VIEWS:
                for made in uses(view, use[1]):
                    if made[0] == Op.CALL and made[2] == use[1]:
                        trail.add(made[1], made[-1])
            elif use[0] in (Op.LIST, Op.TUPLE) and (slot, True) in use[2]:
                trail.add(use[1], taken or use[-1])
            elif use[0] == Op.RETURN and listed:
                trail.gives = trail.gives or taken
            elif listed and use[0] in (Op.ITEM, Op.UNPACK) and use[2] == slot and not _is_cut(view, use):
                trail.hit(use[-1], taken)
    return trail


def _is_cut(view: FrameView, use: Instr) -> bool:
    """Whether an item is a slice of everything."""
    made = view.definition(use[3]) if use[0] == Op.ITEM else None
    return made is not None and made[0] == Op.SLICE and made[2] < 0 and made[3] < 0


def _call(trail: _Trail, use: Instr, slot: int, depth: int) -> None:
    """A call that keeps the order, depends on it, or passes things on to a function of the project."""
    view, (listed, taken) = trail.view, trail.slots[slot]
    name = _name(view.frame, use)
    places = [i for i, (given, _) in enumerate(use[3]) if given == slot]
    if name in _KEEPS and places and not view.callees(use[-1]):
        trail.add(use[1], taken or use[-1])
        if name == "zip" and any(_iterated(view.frame, s) != _iterated(view.frame, slot) for s, _ in use[3]):
            trail.hit(use[-1], taken)
    elif listed and _takes_by_place(view, use, slot):
        trail.hit(use[-1], taken)
    elif depth:
        for callee, index in _given(view, use, slot):
            inner = {callee.code.params[index].slot: trail.slots[slot]}
            found = _follow(FrameView(view.project, callee), trail.name, inner, depth - 1)
            trail.hits += found.hits
            if found.gives is not None:
                trail.add(use[1], found.gives)


def _loop(trail: _Trail, fetch: Instr, slot: int, taken: Place | None) -> None:
    """A loop or comprehension: what it makes in its order, or whether the order matters to it."""
    view = trail.view
    loop: Loop | None = next((i[2] for i in index_of(view.code).of(Op.LOOP) if fetch in i[2].test), None)
    if loop is None:
        return
    if _counts(view, fetch, slot):
        trail.hit(fetch[-1], taken)
    elif loop.fills >= 0:
        trail.add(loop.fills, taken or fetch[-1])
    elif _order_matters(view, loop):
        trail.hit(fetch[-1], taken)
    else:
        for instr in instructions(loop.body):
            made = view.definition(instr[2]) if instr[0] == Op.CALL else None
            if made is not None and made[0] == Op.ATTR and made[3] in ("append", "extend"):
                trail.add(made[2], taken or fetch[-1])


def _counts(view: FrameView, fetch: Instr, slot: int) -> bool:
    """Whether a loop goes through `enumerate(...)`, and uses the numbers."""
    made = view.definition(slot)
    if made is None or made[0] != Op.CALL or _name(view.frame, made) != "enumerate":
        return False
    parts = [use for use in uses(view, fetch[1]) if use[0] == Op.UNPACK]
    return not parts or any(uses(view, use[1][0]) for use in parts)


def _given(view: FrameView, call: Instr, slot: int) -> Iterator[tuple[Frame, int]]:
    """The functions of the project that a call gives a slot to, with the parameter that it arrives at."""
    for callee, how in view.callees(call[-1]):
        if how in ("call", "hybrid"):
            for index in range(len(callee.code.params)):
                if passed_slots(view.frame, call[-1], callee, index) == [slot]:
                    yield callee, index


def _takes_by_place(view: FrameView, use: Instr, slot: int) -> bool:
    """Whether a call depends on the order of the elements in a slot."""
    starred = any(given == slot and is_starred for given, is_starred in use[3])
    return starred or _name(view.frame, use) in _IN_ORDER


def _name(frame: Frame, call: Instr) -> str:
    """The name of a function or method that is called, without what it belongs to."""
    made = definitions(frame.code).get(call[2])
    return str(made[2] if made[0] == Op.GLOBAL else made[3]) if made is not None and made[0] in _NAMED else ""


def _orders(function: FunctionView, index: int) -> bool:
    """Whether dictionaries with the same keys arrive at a parameter in more than one order."""
    seen: dict[tuple[str, ...], tuple[str, ...]] = {}
    if function.code.params[index].kind == "kwargs":
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
    named = {param.name for param in function.code.params if param.kind != "kwargs"}
    seen: dict[tuple[str, ...], tuple[str, ...]] = {}
    for caller, pos, _, how in function.callers():
        for call in calls_at(caller.code, pos) if how in ("call", "hybrid") else ():
            keys = tuple(name for name, _ in call[4] if name is not None and name not in named)
            if seen.setdefault(tuple(sorted(keys)), keys) != keys:
                return True
    return False


def _iterated(frame: Frame, slot: int) -> int:
    """The slot of the dictionary that a loop runs over, through its views and what keeps the order."""
    for _ in range(4):
        made = definitions(frame.code).get(slot)
        if made is None:
            return slot
        if made[0] in (Op.COPY, Op.REFINE):
            slot = made[2]
        elif made[0] == Op.CALL:
            func = definitions(frame.code).get(made[2])
            if func is not None and func[0] == Op.ATTR and func[3] in _VIEWS:
                slot = func[2]
            elif func is not None and func[0] == Op.GLOBAL and func[2] in _KEEPS and made[3]:
                slot = made[3][0][0]
            else:
                return -1
        else:
            return slot
    return slot


def _order_matters(view: FrameView, loop: Loop) -> bool:
    """Whether the loop carries a value on by more than sums, or its parts are joined in their order."""
    inside = list(instructions(loop.body))
    carried = [use for phi in loop.phis for use in uses(view, phi[1])]
    places = {id(instr) for instr in inside}
    if any(id(use) in places and not (use[0] in (Op.BINARY, Op.INPLACE) and use[2] in ("+", "+=")) for use in carried):
        return True
    frame = view.frame
    gathers = any(i[0] == Op.APPEND for i in inside)
    return gathers and any(i[0] == Op.CALL and _method(frame, i) in _JOINS for i in index_of(frame.code).flat)


def _method(frame: Frame, call: Instr) -> str:
    made = definitions(frame.code).get(call[2])
    return str(made[3]) if made is not None and made[0] == Op.ATTR else ""


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
