"""HY255: the order of a dictionary that came as an argument."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from hybridize.domain.objects import Container
from hybridize.facts.origins import calls_at, definitions, passed_slots
from hybridize.flow.frames import Frame
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Instr, Loop, Op
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.rules.values import uses
from hybridize.rules.views import FrameView, FunctionView

_VIEWS: Final = frozenset({"items", "keys", "values"})
_KEEPS: Final = frozenset({"list", "tuple", "enumerate", "iter", "zip"})
_DEPTH: Final = 3
_NAMED: Final = (Op.GLOBAL, Op.ATTR)
_IN_ORDER: Final = frozenset({"concat", "stack", "concatenate", "hstack", "vstack", "next", "convert_to_tensor"})
_JOINS: Final = frozenset({"concat", "stack", "concatenate", "hstack", "vstack"})


def scan(function: FunctionView) -> Iterator[Hit]:
    """Loops over a dictionary that arrives with its keys now in one order, now in another, where the order matters."""
    mixed = {param.slot: param.name for i, param in enumerate(function.code.params) if _orders(function, i)}
    if not mixed:
        return
    for frame in function.frames:
        yield from _picked(FrameView(function.project, frame), mixed)
        for instr in index_of(frame.code).flat:
            if instr[0] != Op.LOOP or not instr[2].is_for or not instr[2].test:
                continue
            loop: Loop = instr[2]
            fetch = loop.test[-1]
            name = mixed.get(_iterated(frame, fetch[2])) if fetch[0] == Op.ITER else None
            if name is not None and _order_matters(FrameView(function.project, frame), loop):
                yield Hit(fetch[-1], f"depends on the order of `{name}`, and a graph keeps the first call's order")


def _picked(view: FrameView, mixed: Mapping[int, str], depth: int = _DEPTH) -> Iterator[Hit]:
    """What is taken from such a dictionary by its place, or joined, in the order that it has; helpers included."""
    for slot, name in mixed.items():
        ordered = [slot]
        for each in ordered:
            for use in uses(view, each):
                if use[0] == Op.ATTR and use[3] in _VIEWS:
                    ordered += [made[1] for made in uses(view, use[1]) if made[0] == Op.CALL and made[2] == use[1]]
                elif use[0] == Op.CALL and _name(view.frame, use) in _KEEPS and use[3] and use[3][0][0] == each:
                    ordered.append(use[1])
                elif each != slot and _takes_by_place(view, use, each):
                    said = f"depends on the order of `{name}`, and a graph keeps the first call's order"
                    yield Hit(use[-1], said, path=view.code.path)
                elif use[0] == Op.CALL and each == slot and depth:
                    for callee, index in _given(view, use, slot):
                        inner = FrameView(view.project, callee)
                        yield from _picked(inner, {callee.code.params[index].slot: name}, depth - 1)


def _given(view: FrameView, call: Instr, slot: int) -> Iterator[tuple[Frame, int]]:
    """The functions of the project that a call gives a slot to, with the parameter that it arrives at."""
    for callee, how in view.callees(call[-1]):
        if how in ("call", "hybrid"):
            for index in range(len(callee.code.params)):
                if passed_slots(view.frame, call[-1], callee, index) == [slot]:
                    yield callee, index


def _takes_by_place(view: FrameView, use: Instr, slot: int) -> bool:
    """Whether an instruction depends on the order of the elements in a slot."""
    if use[0] in (Op.ITEM, Op.UNPACK):
        return bool(use[2] == slot)
    if use[0] != Op.CALL:
        return False
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
    gathers = any(i[0] == Op.APPEND or (i[0] == Op.CALL and _method(frame, i) == "append") for i in inside)
    return gathers and any(i[0] == Op.CALL and _method(frame, i) in _JOINS for i in index_of(frame.code).flat)


def _method(frame: Frame, call: Instr) -> str:
    made = definitions(frame.code).get(call[2])
    return str(made[3]) if made is not None and made[0] == Op.ATTR else ""


RULE = Rule(
    code="HY255",
    name="dict-order",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
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
