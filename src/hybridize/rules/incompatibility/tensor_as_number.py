"""HY341: Python asks for the value of a tensor: `bool(t)`, an index into a list, a repeat count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Container, Lib, LibInst, Lit, Prim, Stream, Tensor, Tup, Value
from hybridize.domain.session import solved
from hybridize.domain.tensors import NDARRAY
from hybridize.domain.words import NUMBER_CLASSES
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Instr
from hybridize.program.operands import operands
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule, Where, attributes, operators
from hybridize.tracing.values import argument, elements, has_tensor, inside, number, own, tensor_or_number
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

#: Sequences that Python itself indexes.
_SEQUENCES: Final = frozenset({"list", "tuple", "deque", "bytearray"})
_TRUTHS: Final = frozenset({"builtins.bool", "operator.truth"})
_MAP: Final = "builtins.map"
_POSITIONS: Final = frozenset({"builtins.list.pop", "builtins.list.insert"})
#: What looks its argument up by its hash, or what that holds.
_KEYS: Final = (
    frozenset(
        {f"builtins.dict.{name}" for name in ("get", "pop", "setdefault", "fromkeys", "__contains__", "__getitem__")}
    )
    | {f"builtins.{kind}.{name}" for kind in ("set", "frozenset") for name in ("union", "intersection", "difference")}
    | {f"builtins.set.{name}" for name in ("add", "discard", "remove", "update")}
    | {"builtins.set", "builtins.frozenset", "collections.Counter", "collections.Counter.update"}
)
_PAIRS: Final = frozenset({"builtins.dict", "builtins.dict.update", "collections.OrderedDict"})
_HASHED: Final = ("dict", "Dict", "Counter", "set")
#: What Python numbers have and tensors do not.
_OF_NUMBERS: Final = frozenset(
    "is_integer as_integer_ratio bit_length bit_count to_bytes hex conjugate numerator denominator real imag".split()
)
#: Parameters of TensorFlow's functions that must be Python ints while tracing: place and name.
_PYTHON_INTS: Final = {
    "tf.unstack": (1, "num"),
    "tf.split": (1, "num_or_size_splits"),
    "tf.stack": (1, "axis"),
    "tf.nn.softmax": (1, "axis"),
    "tf.nn.log_softmax": (1, "axis"),
    "tf.squeeze": (1, "axis"),
}


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """`bool(t)`; `range(n)` where no `for` statement takes it; a position for a list's method."""
    names = view.names(instr.function)
    if not _TRUTHS.isdisjoint(names):
        needs = own(view, argument(instr, 0))
        if needs:
            yield Hit(instr.position, "asks for the truth of a tensor with `bool`", needs)
    elif _MAP in names:
        converts = {o.name for o in view.value(argument(instr, 0)) if isinstance(o, Lib)} & NUMBER_CLASSES
        given = argument(instr, 1)
        if converts and has_tensor(elements(view.value(given))):
            needs = view.symbolic(given)
            if needs:
                yield Hit(instr.position, "converts tensors to Python numbers with `map`", needs)
    elif any(n in _PYTHON_INTS for n in names):
        index, name = next(_PYTHON_INTS[n] for n in names if n in _PYTHON_INTS)
        slot = argument(instr, index, name)
        needs = tensor_or_number(view, slot) if _is_scalar(view.value(slot)) else 0
        if needs:
            yield Hit(instr.position, f"gives a tensor as `{name}`, which must be a Python int", needs)
    elif not _KEYS.isdisjoint(names):
        yield from _keyed(instr, inside(view, argument(instr, 0)))
    elif not _PAIRS.isdisjoint(names):
        yield from _keyed(instr, _first_of_pairs(view, argument(instr, 0)))
    elif not _POSITIONS.isdisjoint(names):
        needs = tensor_or_number(view, argument(instr, 0))
        if needs:
            yield Hit(instr.position, "uses a tensor as the position in a list", needs)


_KEYED: Final = "looks up or keeps a number made from a tensor by its hash: in a graph it is a tensor, which has none"


def _keyed(instr: Instr, needs: int) -> Iterator[Hit]:
    if needs:
        yield Hit(instr.position, _KEYED, needs)


def _first_of_pairs(view: FrameView, slot: int) -> int:
    """The mask of the numbers among the keys in `[(key, value)]` or `zip(keys, values)`."""
    made = view.definition(slot)
    if isinstance(made, ir.Call):
        return inside(view, argument(made, 0)) if "builtins.zip" in view.names(made.function) else 0
    pairs = [part for part, _ in made.elements] if isinstance(made, ir.Sequence) else []
    pairs += [each.value for each in index_of(view.code).of(ir.Append) if each.owner == slot]
    needs = 0
    for pair in map(view.definition, pairs):
        if isinstance(pair, ir.Sequence) and pair.elements:
            needs |= inside(view, pair.elements[0][0])
    return needs


def _by_hash(value: Value) -> bool:
    return any(isinstance(o, Container) and o.kind.endswith(_HASHED) for o in value)


def member(view: FrameView, instr: ir.Compare) -> Iterator[Hit]:
    """`int(t) in {1, 2}`."""
    if _by_hash(view.value(instr.right)):
        yield from _keyed(instr, inside(view, instr.left))


def display(view: FrameView, instr: ir.Dict | ir.Set) -> Iterator[Hit]:
    """`{int(t), 1}`, `{int(t): 1}`."""
    needs = 0
    for slot, _ in instr.entries if isinstance(instr, ir.Dict) else instr.elements:
        if slot >= 0:
            needs |= inside(view, slot)
    yield from _keyed(instr, needs)


def added(view: FrameView, instr: ir.Append | ir.Put) -> Iterator[Hit]:
    """`{int(t) for t in ts}`, `{int(t): t for t in ts}`."""
    if isinstance(instr, ir.Put):
        yield from _keyed(instr, inside(view, instr.key))
    elif _by_hash(view.value(instr.owner)):
        yield from _keyed(instr, inside(view, instr.value))


def change(view: FrameView, instr: ir.SetItem | ir.DelItem) -> Iterator[Hit]:
    """`d[int(t)] = 1`, `del d[int(t)]`, `items[int(t)] = 1`."""
    if _by_hash(view.value(instr.owner)):
        yield from _keyed(instr, inside(view, instr.index))
    else:
        yield from _indexed(view, instr, instr.owner, instr.index)


def attribute(view: FrameView, instr: ir.Attr) -> Iterator[Hit]:
    """`float(t).is_integer()`."""
    needs = number(view, instr.owner)
    if needs:
        yield Hit(
            instr.position, f"uses `.{instr.name}` of a number made from a tensor: in a graph it is a tensor", needs
        )


def _is_scalar(value: Value) -> bool:
    return all(not isinstance(o, Tensor) or not o.shape for o in value)


def item(view: FrameView, instr: ir.Item) -> Iterator[Hit]:
    """A Python sequence or array, indexed or sliced by a tensor."""
    yield from _indexed(view, instr, instr.source, instr.index)


def _indexed(view: FrameView, instr: Instr, owner: int, index: int) -> Iterator[Hit]:
    value = view.value(owner)
    if not value or not _indexed_by_python(view, owner, value):
        return
    needs = 0
    for part in _indices(view, index):
        needs |= tensor_or_number(view, part)
    if needs:
        kind = "an array" if any(isinstance(o, Tensor) for o in value) else "a Python container"
        # A key that is a word where it is no tensor: calls were merged.
        merged = any(isinstance(o, Lit) and o.kind == "str" for o in view.value(index))
        yield Hit(instr.position, f"indexes {kind} with a tensor", needs, sure=not merged)


def _indexed_by_python(view: FrameView, owner: int, value: Value) -> bool:
    if any(isinstance(o, Tensor) and o.kind != NDARRAY for o in value):
        return False
    if any(isinstance(o, Tensor) for o in value):
        return not view.symbolic(owner)  # an array that stays one
    return any(
        isinstance(o, (Tup, Container))
        or (isinstance(o, (Lit, Prim)) and o.kind in ("str", "bytes"))
        or (isinstance(o, Stream) and o.kind in _SEQUENCES)
        for o in value
    )


def _indices(view: FrameView, slot: int) -> list[int]:
    made = view.definition(slot)
    if isinstance(made, ir.Slice):
        return operands(made)
    if isinstance(made, ir.Tuple):
        return [part for part, _ in made.elements]
    return [slot]


def _is_sequence(value: Value) -> bool:
    """Whether a value is a sequence or text; one that may be a number, too, is most likely that here."""
    texts = [isinstance(o, (Container, Tup)) or (isinstance(o, Lit) and o.kind == "str") for o in value]
    return any(texts) and not any(isinstance(o, (Lit, Prim)) and o.kind in ("int", "float") for o in value)


def repeat(view: FrameView, instr: ir.Binary) -> Iterator[Hit]:
    """`[0] * n`: Python repeats the list; with a tensor it is a product."""
    for sequence, count in ((instr.left, instr.right), (instr.right, instr.left)):
        if _is_sequence(view.value(sequence)):
            needs = number(view, count) or _array(view, count)
            if needs:
                yield Hit(instr.position, "repeats a Python sequence as often as a tensor says", needs)
            return


def _array(view: FrameView, slot: int) -> int:
    return own(view, slot) if all(isinstance(o, Tensor) and o.kind == NDARRAY for o in view.value(slot)) else 0


_ARRAY: Final = "tf.TensorArray"
#: Its methods that take places, with the name of that parameter; `split` makes numbers of what it is given.
_PLACES: Final = {"read": "index", "write": "index", "gather": "indices", "scatter": "indices"}
_LENGTHS: Final = "split"


def arrays(function: FunctionView) -> Iterator[Hit]:
    """A `tf.TensorArray` from outside, read or written at a place that is a tensor: an eager one is a Python list."""
    extents, hybrids = function.project.extents, function.project.solution.world.hybrids
    for frame in function.frames:
        extent, given = extents.of(frame), {o for value in frame.args for o in value}
        for inner in sorted({frame, *extents.frames(extent & _users(function.project))}, key=lambda f: f.uid):
            view = FrameView(function.project, inner)
            for instr in _reads_of(inner.code):
                objects = [
                    o for o in view.value(view.receiver(instr.function)) if isinstance(o, LibInst) and o.cls == _ARRAY
                ]
                # By code, for contexts that are merged share the objects of one of them; hints make theirs here, too.
                outside = [o for o in objects if o in given or not extents.with_code(o.site[0]) & extent]
                if not outside or len(outside) != len(objects) or any(o.site[0] in hybrids for o in outside):
                    continue  # what a graph makes is a list of tensors in it, also for the graphs that it calls
                made = view.definition(instr.function)
                name = made.name if isinstance(made, ir.Attr) else ""
                said = "takes a tensor as the place in a `tf.TensorArray` from outside, which is a Python list"
                if name == _LENGTHS:
                    said = "splits a tensor into a `tf.TensorArray` from outside: that asks for the lengths as numbers"
                elif not own(view, argument(instr, 0, _PLACES.get(name, ""))):
                    continue
                yield Hit(instr.position, said, path=inner.code.path)


def _reads_of(code: Code) -> list[ir.Call]:
    index = index_of(code)
    names = (_PLACES.keys() | {_LENGTHS}) & index.attributes.keys()
    if not names:
        return []
    made = {i.target for name in names for i in index.attributes[name]}
    return [instr for instr in index.of(ir.Call) if instr.function in made]


@solved
def _users(project: ProjectView) -> int:
    """The frames that read or write at places of an object."""
    every = project.solution.frames.items()
    return project.extents.set_of(f for code, frames in every if _reads_of(code) for f in frames)


RULE = Rule(
    code="HY341",
    name="tensor-as-python-number",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Python needs the value of a tensor, as a truth or an index.",
    act="keep it a tensor (`tf.gather`, `tf.cond`, `tf.range`), or pass a Python number",
    details="""`bool(t)`, an index into a list, a tuple, a string, a dict or an array, and a repeat count all need a
value, and a symbolic tensor has none. `int(t)` and `float(t)` do not help: AutoGraph turns them into
operations, so that their results are symbolic as well, and have neither a hash nor a number's methods: such a
number is no key of a dictionary and no member of a set, whatever function it was passed to or comes from.
Gather from a tensor instead (`tf.gather(tf.constant(weights), i)`), use `tf.cond`, or a plain `if` on
the tensor. NumPy scalars that arrive as arguments become tensors too.""",
    root=arrays,
    triggers={
        ir.Call: Where(call, names=(_TRUTHS | _POSITIONS | _KEYS | _PAIRS | _PYTHON_INTS.keys() | {_MAP}).__contains__),
        ir.Compare: operators(member, "in", "not in"),
        ir.Set: display,
        ir.Dict: display,
        ir.Append: added,
        ir.Put: added,
        ir.SetItem: change,
        ir.DelItem: change,
        ir.Attr: attributes(attribute, _OF_NUMBERS),
        ir.Item: item,
        ir.Binary: operators(repeat, "*"),
    },
    bad=(
        Example(
            """\
import tensorflow as tf
NAMES = {1: 10.0, 2: 20.0}
def target(x):
    return x * NAMES.get(int(x), 0.0) + len({int(x), 1})
r1 = target(tf.constant(1.0))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def put(best, kind, score):
    best[kind] = max(score, best.get(kind, 0.0))
def target(boxes):
    best = {}
    for box in (boxes[0], boxes[1]):
        put(best, int(box[1]), float(box[0]))
    return tf.constant(len(best))
r1 = target(tf.constant([[0.5, 1.0], [0.75, 2.0]]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def kind(x):
    return int(x), x
def target(x, y):
    a, _ = kind(x)
    b, _ = kind(y)
    return x + len({each for each in [a, b]})
r1 = target(tf.constant(1.0), tf.constant(1.5))
""",
            line=7,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
WEIGHTS = [0.5, 2.0]
def target(x, i):
    return x * WEIGHTS[int(i)]
r1 = target(tf.constant(3.0), tf.constant(1))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    ready = bool(tf.reduce_all(x > 0))
    return x if ready else -x
r1 = target(tf.constant([3.0]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    scales = (1.0, 2.0)
    for i in tf.range(2):
        x = x * scales[i]
    return x
r1 = target(tf.constant(3.0))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
scales = [1.0, 2.0, 3.0]
@tf.function(input_signature=[tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.int32)])
def target(x, i):
    return x * scales[i]
r1 = target(tf.constant(1.0), 2)
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(ta, total):
    for i in tf.range(2):
        total += ta.read(i)
    return total
array = tf.TensorArray(tf.float32, 2, clear_after_read=False).unstack(tf.constant([1.0, 2.0]))
r1 = target(array, tf.constant(0.0))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def put(rows, place, row):
    rows[place] = row
def target(x):
    rows = {}
    for i in range(int(x.shape[0])):
        put(rows, i, x[i])
    put(rows, len(x), float(x[0]))
    return rows[0] + rows[2] + len({int(i) for i in rows})
r1 = target(tf.constant([3.0, 4.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    array = tf.TensorArray(tf.float32, 2, clear_after_read=False).unstack(x)
    total = 0.0
    for i in tf.range(2):
        total += array.read(i)
    return total
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, n):
    scales = [1.0, 2.0]
    for i in range(2):
        x = x * scales[i]
    return x * float(n) + tf.zeros([int(n)])
r1 = target(tf.constant([3.0]), tf.constant(1))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, i):
    return x[i] + x[:i][0]
r1 = target(tf.constant([3.0, 4.0]), tf.constant(1))
"""
        ),
    ),
    reference="semantics.md R8",
    known_problems="A number that is kept in a field before it is a key is not followed.",
)
