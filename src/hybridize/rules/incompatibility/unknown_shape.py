"""HY354: static shapes of tensors whose shape only a run knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Bound, Container, Func, Lit, Prim, Tensor, Value, Wrapper
from hybridize.facts.evidence import call_step
from hybridize.facts.model import Evidence
from hybridize.facts.symbolic import OPERATION
from hybridize.program import ir
from hybridize.program.index import Index, index_of
from hybridize.program.ir import Code, Instr
from hybridize.records import replace
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule, Where
from hybridize.tracing.keras.layers import is_made
from hybridize.tracing.shapes.dims import ALL, Dims, unknown_dims
from hybridize.tracing.shapes.opened import OpenView, given_to, opened
from hybridize.tracing.values import has_tensor, is_message, own, uses
from hybridize.tracing.views import FrameView, ProjectView

_IS_NONE: Final = "reads a dim that is None while tracing: use `tf.shape`"
_IS_TENSOR: Final = "computes with a length that is a tensor of int32 while tracing: cast `tf.shape`"
#: Functions that want a whole shape: where they get it, by place and by name.
_WANT_SHAPE: Final = {
    "tf.zeros": (0, "shape"),
    "tf.ones": (0, "shape"),
    "tf.fill": (0, "dims"),
    "tf.reshape": (1, "shape"),
    "tf.broadcast_to": (1, "shape"),
    "tf.tile": (1, "multiples"),
    "tf.eye": (0, "num_rows"),
    "tf.random.normal": (0, "shape"),
    "tf.random.uniform": (0, "shape"),
    "tf.random.truncated_normal": (0, "shape"),
    "tf.random.stateless_normal": (0, "shape"),
    "tf.random.stateless_uniform": (0, "shape"),
    "tf.constant": (0, "value"),
    "tf.convert_to_tensor": (0, "value"),
    "tf.math.reduce_prod": (0, "input_tensor"),
    "tf.scatter_nd": (2, "shape"),
    "np.prod": (0, "a"),
    "np.zeros": (0, "shape"),
    "np.ones": (0, "shape"),
    "np.random.normal": (2, "size"),
    "math.prod": (0, "iterable"),
}


def read(view: FrameView, instr: ir.Item) -> Iterator[Hit]:
    """`t.shape[0]` of a tensor whose first dim the graph does not know."""
    index = index_of(view.code)
    slot = _shape_of(index, index.definitions.get(instr.source))
    dims = unknown_dims(view, slot)
    if dims is None or not _asked(view, slot, instr.index, dims):
        return
    if any(not _harmless(view, use) for use in uses(view, instr.target)):
        needs = own(view, slot) and OPERATION
        if needs:
            yield Hit(instr.position, _IS_NONE, needs)


def _asks_shape(name: str) -> bool:
    """Whether a function may need the shape, the rank or the length of what it is given."""
    return (
        name in _WANT_SHAPE
        or name in ("tf.unstack", "builtins.len")
        or (name.startswith("keras.layers.") and name.endswith(".__call__"))
    )


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """`tf.unstack(t)`, `len(t.shape)`, `tf.zeros(t.shape)`."""
    names = view.names(instr.function)
    wanted = next((_WANT_SHAPE[n] for n in names if n in _WANT_SHAPE), None)
    if wanted is not None:
        yield from _whole(view, instr, *wanted)
        return
    if "tf.unstack" in names and len(instr.arguments) == 1 and not instr.keywords:
        slot, found = instr.arguments[0][0], "makes a list of a tensor whose length is not known while tracing"
    elif "builtins.len" in names and instr.arguments:
        yield from _length(view, instr)
        slot, found = (
            _shape_of(index_of(view.code), view.definition(instr.arguments[0][0])),
            "asks for a rank that is not known while tracing",
        )
    elif instr.arguments and any(n.startswith("keras.layers.") and n.endswith(".__call__") for n in names):
        slot, found = instr.arguments[0][0], "gives a layer a tensor whose rank is not known while tracing"
        yield from _sized(view, instr)
    else:
        yield from _through(view, instr)
        return
    dims = unknown_dims(view, slot) if slot >= 0 else None
    if dims is not None and (dims == ALL or ("tf.unstack" in names and 0 in dims)) and own(view, slot):
        yield Hit(instr.position, found)


def _length(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """`len(t)` is a whole number of the graph's then: it goes with no floats, divides to float64, repeats no list."""
    dims = unknown_dims(view, instr.arguments[0][0])
    if dims is None or (dims != ALL and 0 not in dims) or not own(view, instr.arguments[0][0]):
        return
    if any(_wants_number(view, use, instr.target) for use in uses(view, instr.target)):
        yield Hit(instr.position, _IS_TENSOR, OPERATION)


def _wants_number(view: FrameView, use: Instr, slot: int) -> bool:
    """Whether an operation takes a Python number where it does not take a tensor of int32."""
    if not isinstance(use, ir.Operator):
        return False
    others = [o for s in (use.left, use.right) if s != slot for o in view.value(s)]
    if any(isinstance(o, (Lit, Prim)) and o.kind == "float" for o in others):
        return True
    tensors = [o for o in others if isinstance(o, Tensor)]
    if any((o.dtype or "").startswith(("float", "bfloat", "complex")) for o in tensors):
        return True
    return any(isinstance(o, Container) for o in others)


def _sized(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A layer that makes its weights there, for a last axis of which only a run knows the size."""
    slot = instr.arguments[0][0]
    dims = unknown_dims(view, slot)
    last = {len(o.shape) - 1 for o in view.value(slot) if isinstance(o, Tensor) and o.shape is not None}
    open_last = dims is not None and bool(last) and last <= set(dims)
    if open_last and own(view, slot) and any(is_made(view.project, o) for o in view.value(instr.function)):
        yield Hit(instr.position, "builds a layer for a last axis that is None while tracing")


def _whole(view: FrameView, instr: ir.Call, place: int, name: str) -> Iterator[Hit]:
    """`tf.zeros(t.shape)`: a shape that is known in part is no shape yet."""
    given = [slot for slot, _ in instr.arguments[place : place + 1]] + [
        slot for key, slot in instr.keywords if key == name
    ]
    index = index_of(view.code)
    for slot in given:
        tensor = _shape_of(index, index.source(slot))
        if unknown_dims(view, tensor) is not None and own(view, tensor):
            yield Hit(instr.position, "wants a shape that is not known while tracing: use `tf.shape`")


def unpack(view: FrameView, instr: ir.Unpack) -> Iterator[Hit]:
    """`h, w = t.shape`."""
    index = index_of(view.code)
    slot = _shape_of(index, index.definitions.get(instr.source))
    dims = unknown_dims(view, slot)
    if dims is None:
        return
    needs = own(view, slot) and OPERATION
    unknown = instr.targets if dims == ALL else [s for i, s in enumerate(instr.targets) if i in dims]
    if needs and (dims == ALL or any(not _harmless(view, u) for s in unknown for u in uses(view, s))):
        yield Hit(instr.position, "unpacks a shape that is not known while tracing: use `tf.shape`", needs)


def rank(view: FrameView, instr: ir.Attr) -> Iterator[Hit]:
    """`t.shape.rank`, `t.ndim` of a tensor of unknown rank: None, and no comparison with it is true."""
    slot = instr.owner if instr.name == "ndim" else _shape_of(index_of(view.code), view.definition(instr.owner))
    if slot < 0 or not has_tensor(view.value(slot), arrays=False) or unknown_dims(view, slot) != ALL:
        return
    if own(view, slot) and any(not _harmless(view, use) for use in uses(view, instr.target)):
        yield Hit(instr.position, "asks for a rank that is not known while tracing")


def _of_shape(index: Index, instr: ir.Item | ir.Unpack) -> bool:
    """Whether what an instruction takes apart is the shape of something."""
    return _shape_of(index, index.definitions.get(instr.source)) >= 0


def _shape_of(index: Index, made: Instr | None) -> int:
    """The slot of the tensor whose shape an instruction reads, or -1."""
    if made is None:
        return -1
    if isinstance(made, ir.Attr) and made.name == "shape":
        return int(made.owner)
    if isinstance(made, ir.Call):
        func = index.definitions.get(made.function)
        if isinstance(func, ir.Attr):
            if func.name == "get_shape":
                return int(func.owner)
            if func.name in ("as_list", "with_rank"):
                return _shape_of(index, index.definitions.get(func.owner))
    return -1


def _asked(view: FrameView, slot: int, index: int, dims: Dims) -> bool:
    """Whether one of the dims is read by a constant index."""
    found = [o.const for o in view.value(index) if isinstance(o, Lit) and isinstance(o.const, int)]
    rank = next((len(o.shape) for o in view.value(slot) if isinstance(o, Tensor) and o.shape is not None), 0)
    return dims == ALL or any((i if i >= 0 else i + rank) in dims for i in found)


def _through(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A helper that asks for a dim of its argument, where that is a tensor whose dim the graph does not know."""
    pos = instr.position
    for callee, _ in view.callees(pos):
        inner = opened(view, pos, callee, unknown_dims)
        if inner is None or not inner.given:
            continue
        path = callee.code.path
        step = call_step(callee.code.name, view.code.path, pos)
        for hit in _asked_within(inner):
            evidence = hit.evidence or (Evidence(hit.message, path, hit.position >> 16),)
            yield replace(hit, needs=OPERATION, evidence=(step, *evidence), path=hit.path or path)


def _asked_within(view: OpenView) -> list[Hit]:
    """What a function asks of the dims of its parameters that are unknown."""
    known: dict[object, list[Hit]] = view.project.shared("asked of dims", dict)
    key = (view.frame, given_to(view), view.level)
    if key not in known:
        known[key] = []  # of a recursive call
        index = index_of(view.code)
        asks: list[tuple[Instr, Iterator[Hit]]] = [(item, read(view, item)) for item in index.of(ir.Item)]
        asks += [(parts, unpack(view, parts)) for parts in index.of(ir.Unpack)]
        asks += [(each, call(view, each)) for each in index.of(ir.Call)]
        known[key] = [hit for instr, hits in asks if _is_run(view, instr) for hit in hits]
    return known[key]


def _is_run(view: FrameView, instr: Instr) -> bool:
    """Whether control gets to an instruction."""
    made = instr.target
    return not isinstance(made, int) or made < 0 or view.frame.vals[made] is not None


def _reads_shape(project: ProjectView, callee: Value) -> bool:
    """Whether a function of the project mentions a shape, or a length; a graph is the function behind it."""
    for obj in callee:
        func = obj.func if isinstance(obj, Bound) else obj
        if isinstance(func, Func) and _mentions_shape(func.code):
            return True
        if isinstance(func, Wrapper) and _reads_shape(project, func.inner):
            return True
    return False


def _mentions_shape(code: Code) -> bool:
    index = index_of(code)
    return "shape" in index.attributes or "len" in index.names


def _harmless(view: FrameView, use: Instr) -> bool:
    if isinstance(use, ir.Compare) and use.operator in ("is", "is not"):
        return True
    return is_message(view, use)


RULE = Rule(
    code="HY354",
    name="unknown-shape",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Reads the static shape of a tensor whose shape only a run knows.",
    details="""In eager code every shape is known. While tracing, the results of `tf.boolean_mask`,
`tf.where(condition)`, `tf.unique`, `x[mask]`, `tf.py_function`, of growing `TensorArray`s and of decoded images have
dims that are None, whoever computes them: a helper, a layer, another graph. So have the batches of a dataset that is
iterated inside. Arithmetic with them raises, `range` too, and comparisons are silently false; a layer cannot make its
weights for a last axis that is None. Use `tf.shape(t)[0]`, or say the shape with `tf.ensure_shape`. The shapes of
arguments are known in each trace.""",
    level=Level.INFO,
    triggers={
        ir.Item: Where(read, _of_shape),
        ir.Unpack: Where(unpack, _of_shape),
        ir.Attr: Where(rank, lambda _, instr: instr.name in ("rank", "ndims", "ndim")),
        ir.Call: Where(call, names=_asks_shape, values=_reads_shape),
    },
    bad=(
        Example(
            """\
import tensorflow as tf
@tf.function
def rollout(n, x):
    rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in tf.range(n):
        rows = rows.write(i, x * tf.cast(i, tf.float32))
    return rows.stack()
@tf.function
def target(n, x):
    y = rollout(n, x)
    total = tf.zeros(())
    for i in range(y.shape[0]):
        total += y[i]
    return total
r1 = target(tf.constant(3), tf.constant(2.0))
""",
            line=12,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Column:
    @tf.function
    def of(self, y):
        return tf.reshape(y, [y.shape[0], 1])
column = Column()
@tf.function
def target(x):
    return column.of(tf.boolean_mask(x, x > 0.0))
r1 = target(tf.constant([1.0, -1.0, 3.0]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    y = x
    if tf.reduce_sum(x) > 0.0:
        y = x[tf.newaxis]
    return y[0] if y.shape.rank == 2 else y
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=6,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    y = x
    if tf.reduce_sum(x) > 0.0:
        y = tf.concat([x, x], 0)
    return tf.reduce_sum(y) / float(y.shape[0])
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    kept = tf.boolean_mask(x, x > 0)
    return tf.reduce_sum(kept) / float(kept.shape[0])
r1 = target(tf.constant([1.0, -2.0]))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    y = tf.py_function(lambda v: v * 2, [x], tf.float32)
    rows, columns = y.shape
    return y * float(rows)
r1 = target(tf.constant([[1.0, -2.0]]))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    kept = tf.boolean_mask(x, x > 0)
    return kept + tf.zeros(kept.shape)
r1 = target(tf.constant([1.0, -2.0]))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    kept = tf.boolean_mask(x, x > 0)
    total = tf.constant(0.0)
    for i in range(len(kept)):
        total += kept[i]
    return total / len(kept)
r1 = target(tf.constant([1.0, -2.0]))
""",
            line=7,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def rows(t):
    return float(t.shape[-1])
def target(ids):
    hot = tf.one_hot(ids, tf.reduce_max(ids) + 1)
    return hot / rows(hot)
r1 = target(tf.constant([0, 2]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
dense = tf.keras.layers.Dense(2)
def target(x, keep):
    return dense(tf.transpose(tf.boolean_mask(x, keep)))
r1 = target(tf.ones([3, 2]), tf.constant([True, True, False]))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def nearest(a, b):
    d = tf.expand_dims(a, 1) - tf.expand_dims(b, 0)
    best = tf.argmin(tf.reduce_sum(d * d, axis=2), axis=1)
    return tf.zeros([best.shape[0]])
def kept(x):
    return tf.boolean_mask(x, x[:, 0] > 0), tf.reduce_sum(x)
def target(x, y):
    some, total = kept(x)
    return nearest(some, y) + total
r1 = target(tf.constant([[1.0, 2.0], [-1.0, 3.0]]), tf.ones((3, 2)))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
@tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
def double(x):
    return x * 2.0
@tf.function
def target(x):
    y = double(x)
    return tf.reduce_sum(y) / float(y.shape[0])
r1 = target(tf.ones((3, 2)))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    kept = tf.boolean_mask(x, x > 0)
    total = tf.constant(0.0)
    for i in range(len(kept)):
        total += kept[i]
    return total + tf.reduce_sum(kept[len(kept) // 2 :])
r1 = target(tf.constant([1.0, -2.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
dense = tf.keras.layers.Dense(2, kernel_initializer="ones")
dense.build([None, 2])
rows = tf.keras.layers.Dense(2, kernel_initializer="ones")
def target(x, keep):
    return dense(tf.transpose(tf.boolean_mask(x, keep))) + rows(tf.boolean_mask(x, keep))
r1 = target(tf.ones([3, 2]), tf.constant([True, True, False]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    kept = tf.boolean_mask(x, x[:, 0] > 0)
    y = tf.ensure_shape(tf.py_function(lambda v: v * 2, [x], tf.float32), [1, 2])
    return kept * float(kept.shape[1]) * tf.cast(tf.shape(kept)[0], tf.float32) * float(y.shape[0]) * float(x.shape[0])
r1 = target(tf.constant([[1.0, -2.0]]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.reduce_sum(x) / float(x.shape[0])
r1 = [target(b) for b in tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0]).batch(2)]
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    h = tf.nn.relu(tf.one_hot(tf.range(tf.shape(x)[0]), 3)) + tf.concat([x, x], 1)[:, :3]
    return h / float(h.shape[0])
r1 = [target(b) for b in tf.data.Dataset.from_tensor_slices(tf.ones([3, 2])).batch(2)]
"""
        ),
    ),
    reference="semantics.md R18, R19",
)
