"""HY104: a long list of tensors as an argument: each is an input of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import BY_PROGRAM
from hybridize.domain.nesting import held
from hybridize.domain.objects import Bound, Class, Container, Func, Inst, Lib, LibInst, Obj, Stream, Tensor, Tup, Value
from hybridize.domain.tensors import VARIABLE
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.source import is_test_path
from hybridize.tracing.retraced.moving import Moving, moving
from hybridize.tracing.running.loops import ADDS, filling
from hybridize.tracing.views import FunctionView

#: From so many inputs on the call of a graph costs more than a body of some 40 operations gains (measured).
_MANY: Final = 32
_SEQUENCES: Final = frozenset({"list", "dict", "deque", "set", "frozenset", "OrderedDict", "defaultdict"})
_OBJECTS: Final = (Inst, LibInst, Func, Bound, Class)
#: What makes a sequence of all the elements of another.
_GATHER: Final = frozenset(
    "builtins.list builtins.tuple builtins.sorted builtins.reversed builtins.map builtins.filter builtins.zip "
    "random.sample random.choices".split()
)
#: What a dictionary gives for each of its keys.
_OF_KEYS: Final = ("values", "items", "keys")
_DEPTH: Final = 3


def scan(function: FunctionView) -> Iterator[Hit]:
    """The calls of the program that pass many tensors one by one, or as many as its data are."""
    answers = moving(function.project)
    seen: set[tuple[str, int]] = set()
    for caller, pos, frame in function.called_by(BY_PROGRAM):
        place = (caller.code.path, pos)
        args = frame.incoming.get((caller, pos))
        if args is None or place in seen or is_test_path(caller.code.path):
            continue
        for index, value in enumerate(args):
            many = _many(value)
            said = many or _unbounded(answers, caller, pos, frame, index)
            if said:
                seen.add(place)
                name = frame.code.params[index].name
                # How many there are in code that runs as a graph already nobody has counted: a list may be short.
                level = Level.INFO if function.is_hybrid and not many else None
                message = f"`{name}` receives {said}: each is an input of the graph"
                yield Hit(pos, message, path=caller.code.path, level=level)
                break


def _many(value: Value) -> str:
    """What is said of so many tensors that are known by number; empty where there are few, or it is not known."""
    counts = [count for obj in value if (count := _count(obj)) is not None and _holds_tensors(obj)]
    return f"{max(counts)} tensors one by one" if counts and max(counts) >= _MANY else ""


def _count(obj: Obj) -> int | None:
    if isinstance(obj, Tup):
        return len(obj.items)
    if isinstance(obj, Container) and obj.kind in _SEQUENCES:
        if obj.exact and (obj.rest is None or not obj.rest.value):
            return len(obj.fields)
        return obj.count if obj.count is not None and obj.count >= 0 else None
    if isinstance(obj, Stream) and obj.kind == "tuple":
        return obj.count if obj.count is not None and obj.count >= 0 else None
    return None


def _inside(obj: Obj) -> list[Value]:
    if isinstance(obj, Tup):
        return list(obj.items)
    if isinstance(obj, Container):
        return [cell.value for cell in (*obj.fields.values(), *([obj.rest] if obj.rest is not None else []))]
    return [obj.element] if isinstance(obj, Stream) else []


def _holds_tensors(obj: Obj) -> bool:
    """Whether a sequence holds tensors that are no variables, which a program has few of."""
    return any(isinstance(o, Tensor) and o.kind != VARIABLE for o in held(obj.value, 1, _inside))


def _unbounded(answers: Moving, caller: Frame, pos: int, callee: Frame, index: int) -> str:
    """What is said of a sequence that has as many tensors as the program has data."""
    value = callee.incoming[caller, pos][index]
    if not any(isinstance(o, (Container, Stream)) and _count(o) is None and _holds_tensors(o) for o in value):
        return ""
    if callee.code.params[index].is_varargs:
        starred = [slot for call in index_of(caller.code).calls.get(pos, ()) for slot, star in call.arguments if star]
        slot = starred[0] if starred else -1
        if starred and _many(caller.vals[slot] or frozenset()):
            return _many(caller.vals[slot])
    else:
        slot = answers.argument(caller, pos, callee, index)
    is_many = slot >= 0 and _is_of_data(answers, caller, pos, slot, _DEPTH)
    return "as many tensors as there are data, one by one" if is_many else ""


def _is_of_data(answers: Moving, frame: Frame, pos: int, slot: int, depth: int) -> bool:
    """Whether a loop over data fills what is in a slot, or its length changes from call to call."""
    index = index_of(frame.code)
    slot = index.original(slot)
    made = index.definitions.get(slot)
    if made is None or not depth:
        return False
    names = (
        {o.name for o in frame.vals[made.function] or () if isinstance(o, Lib)} if isinstance(made, ir.Call) else set()
    )
    if isinstance(made, (ir.List, ir.Dict)):
        return any(_goes_through_data(answers, frame, pos, each) for each in _loops(frame, made))
    if isinstance(made, ir.Call) and names & _GATHER:
        return any(_is_gathered(answers, frame, pos, each, depth) for each, _ in made.arguments[:1])
    if isinstance(made, ir.Generator):
        return any(_goes_through_data(answers, frame, pos, each) for each in _loops(frame, made))
    if isinstance(made, (ir.Unpack, ir.Item)):  # `a, b = zip(*rows)`
        return _is_of_data(answers, frame, pos, made.source, depth - 1)
    return False


def _is_gathered(answers: Moving, frame: Frame, pos: int, slot: int, depth: int) -> bool:
    """Whether a sequence that another is made of has as many elements as there are data.

    The values of a dictionary are as many as its keys, whatever they are: what fills it says how many.
    """
    index = index_of(frame.code)
    made = index.source(slot)
    method = index.source(made.function) if isinstance(made, ir.Call) and not made.arguments else None
    if isinstance(method, ir.Attr) and method.name in _OF_KEYS:
        return _is_of_data(answers, frame, pos, method.owner, depth - 1)
    return _are_data(frame, slot) or _is_of_data(answers, frame, pos, slot, depth - 1)


def _loops(frame: Frame, made: ir.Dict | ir.Generator | ir.List) -> list[ir.Loop]:
    """The loops that fill a list or dictionary after it was made."""
    index = index_of(frame.code)
    appends = [i for name in ADDS for i in index.attributes.get(name, ()) if index.original(i.owner) == made.target]
    return [loop for _, loops in filling(index, made, appends) for loop in loops]


def _goes_through_data(answers: Moving, frame: Frame, pos: int, loop: ir.Loop) -> bool:
    """Whether a loop has as many turns as there are examples, steps or rows: not layers, nor a number that stays."""
    if not loop.is_for:
        return True
    if loop.iterable < 0:
        return False
    length = _length(frame, loop.iterable)
    if length is not None:  # as many as another sequence has, which a model may have built of its layers
        return _is_of_data(answers, frame, pos, length, _DEPTH - 1)
    turns = [o.count for o in frame.vals[loop.iterable] or () if isinstance(o, Stream) and o.count is not None]
    return (
        (bool(turns) and max(turns) >= _MANY)
        or _are_data(frame, loop.iterable)
        or answers.moves(frame, pos, loop.iterable)
    )


def _length(frame: Frame, slot: int) -> int | None:
    """The slot of the sequence whose indices a loop goes through (`range(len(rows))`); None where there is none."""
    index = index_of(frame.code)
    for name in ("builtins.range", "builtins.len"):
        made = index.source(slot)
        if not isinstance(made, ir.Call) or len(made.arguments) != 1:
            return None
        if not any(isinstance(o, Lib) and o.name == name for o in frame.vals[made.function] or ()):
            return None
        slot = index.original(made.arguments[0][0])
    return slot if not all(isinstance(o, Tensor) for o in frame.vals[slot] or ()) else None


def _are_data(frame: Frame, slot: int) -> bool:
    """Whether what is gone through holds tensors or texts, and no objects of the program such as layers."""
    found = list(held(frame.vals[slot] or frozenset(), 1, _inside))
    return any(isinstance(o, Tensor) and o.kind != VARIABLE for o in found) and not any(
        isinstance(o, _OBJECTS) for o in found
    )


_PRELUDE: Final = "import numpy as np\nimport tensorflow as tf\n"

RULE = Rule(
    code="HY104",
    name="many-arguments",
    category=Category.PERFORMANCE,
    outcome=Outcome.SLOWS,
    act="stack them into one tensor, or keep them in a `tf.Module` that the function captures",
    summary="A hybrid function receives a long list of tensors, each of which is an input of its graph.",
    details="""A list, tuple or dictionary among the arguments is taken apart: each tensor or array in it is an input
of its own, which is converted, checked and passed at every call, and a list of another length is another graph. With
256 arrays a call took 22 ms as a graph and 1.4 ms eagerly. Stack them before the call (`tf.stack(batch)`,
`np.array(batch)`): one tensor is one input.""",
    level=Level.WARNING,
    root=scan,
    bad=(
        Example(
            _PRELUDE
            + """\
def target(x, rows):
    return tf.reduce_sum(x * tf.stack(rows))
rows = [np.ones(4, "float32") for _ in range(256)]
for i in range(3):
    r = target(tf.ones([4]), rows)
""",
            line=7,
            outcome=Outcome.SLOWS,
        ),
        Example(
            _PRELUDE
            + """\
def target(x, rows):
    return tf.reduce_sum(x * tf.stack(rows))
for size in (3, 40, 90):
    data = np.ones([size, 4], "float32")
    r = target(tf.ones([4]), [row * 2.0 for row in data])
""",
            line=7,
            outcome=Outcome.SLOWS,
        ),
    ),
    good=(
        Example(
            _PRELUDE
            + """\
def target(x, rows):
    return tf.reduce_sum(x * rows)
rows = [np.ones(4, "float32") for _ in range(256)]
for i in range(3):
    r = target(tf.ones([4]), tf.stack(rows))
"""
        ),
        Example(
            _PRELUDE
            + """\
def target(x, parts):
    return tf.add_n([tf.reduce_sum(x * part) for part in parts])
scales = [1.0, 2.0, 3.0]
for i in range(3):
    r = target(tf.ones([4]), [tf.ones([4]) * scale for scale in scales])
"""
        ),
    ),
    known_problems="""Lists whose length nobody has counted are information: 19 findings of that kind were read or
judged alike, and none was right.""",
    reference="semantics.md R18",
)
