"""HY354: static shapes of tensors whose shape only a run knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lit, Stream, Tensor
from hybridize.domain.tensors import NDARRAY, VARIABLE, is_dynamic
from hybridize.facts.symbolic import OPERATION
from hybridize.program.index import Index, index_of
from hybridize.program.ir import Instr, Op
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule, Where
from hybridize.rules.values import elements, has_tensor, is_message, own, uses
from hybridize.rules.views import FrameView

#: Operations whose results have a first dim, or dims, that depend on values.
_SIZES: Final = frozenset(
    "tf.boolean_mask tf.unique tf.unique_with_counts tf.dynamic_partition tf.image.non_max_suppression "
    "tf.image.non_max_suppression_with_scores tf.ragged.boolean_mask tf.strings.unicode_decode "
    "tf.io.decode_raw tf.sets.difference tf.raw_ops.Unique".split()
)
_IMAGES: Final = frozenset(f"tf.io.decode_{k}" for k in "png jpeg image bmp gif jpeg".split()) | frozenset(
    f"tf.image.decode_{k}" for k in "png jpeg image bmp gif jpeg".split()
)
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
    "tf.reduce_prod": (0, "input_tensor"),
    "tf.scatter_nd": (2, "shape"),
    "np.prod": (0, "a"),
    "np.zeros": (0, "shape"),
    "np.ones": (0, "shape"),
    "np.random.normal": (2, "size"),
    "math.prod": (0, "iterable"),
}
#: Operations that are given a shape.
_SHAPED: Final = frozenset("tf.zeros tf.ones tf.fill tf.random.normal tf.random.uniform".split())
#: Functions of the host: nothing is known of the shapes of their results.
_HOST: Final = frozenset({"tf.py_function", "tf.numpy_function", "tf.compat.v1.py_func"})
#: Operations whose results have the shape of their first argument.
_SAME: Final = frozenset(
    "tf.cast tf.identity tf.nn.relu tf.abs tf.square tf.sqrt tf.exp tf.math.log tf.stop_gradient tf.sort tf.sigmoid "
    "tf.tanh tf.convert_to_tensor tf.sin tf.cos tf.clip_by_value tf.nn.softmax tf.round tf.floor tf.sign".split()
)
_DEPTH: Final = 6
ALL: Final = -1
FIRST: Final = 0


def read(view: FrameView, instr: Instr) -> Iterator[Hit]:
    """`t.shape[0]` of a tensor whose first dim the graph does not know."""
    index = index_of(view.code)
    slot = _shape_of(index, index.definitions.get(instr[2]))
    dims = _unknown_dims(view, slot, _DEPTH)
    if dims is None or not _asked(view, instr[3], dims):
        return
    if any(not _harmless(view, use) for use in uses(view, instr[1])):
        needs = own(view, slot) and OPERATION
        if needs:
            yield Hit(instr[-1], "reads a dim that is None while tracing: use `tf.shape`", needs)


def _asks_shape(name: str) -> bool:
    """Whether a function may need the shape, the rank or the length of what it is given."""
    return (
        name in _WANT_SHAPE
        or name in ("tf.unstack", "builtins.len")
        or (name.startswith("keras.layers.") and name.endswith(".__call__"))
    )


def call(view: FrameView, instr: Instr) -> Iterator[Hit]:
    """`tf.unstack(t)`, `len(t.shape)`, `tf.zeros(t.shape)`."""
    names = view.names(instr[2])
    wanted = next((_WANT_SHAPE[n] for n in names if n in _WANT_SHAPE), None)
    if wanted is not None:
        yield from _whole(view, instr, *wanted)
        return
    if "tf.unstack" in names and len(instr[3]) == 1 and not instr[4]:
        slot, found = instr[3][0][0], "makes a list of a tensor whose length is not known while tracing"
    elif "builtins.len" in names and instr[3]:
        slot, found = (
            _shape_of(index_of(view.code), view.definition(instr[3][0][0])),
            "asks for a rank that is not known while tracing",
        )
    elif instr[3] and any(n.startswith("keras.layers.") and n.endswith(".__call__") for n in names):
        slot, found = instr[3][0][0], "gives a layer a tensor whose rank is not known while tracing"
    else:
        return
    dims = _unknown_dims(view, slot, _DEPTH) if slot >= 0 else None
    if dims is not None and (dims == ALL or "tf.unstack" in names) and own(view, slot):
        yield Hit(instr[-1], found)


def _whole(view: FrameView, instr: Instr, place: int, name: str) -> Iterator[Hit]:
    """`tf.zeros(t.shape)`: a shape that is known in part is no shape yet."""
    given = [slot for slot, _ in instr[3][place : place + 1]] + [slot for key, slot in instr[4] if key == name]
    for slot in given:
        tensor = _shape_of(index_of(view.code), _source(view, slot))
        if _unknown_dims(view, tensor, _DEPTH) is not None and own(view, tensor):
            yield Hit(instr[-1], "wants a shape that is not known while tracing: use `tf.shape`")


def _source(view: FrameView, slot: int) -> Instr | None:
    """What makes a value, copies left out."""
    made = view.definition(slot)
    while made is not None and made[0] in (Op.COPY, Op.REFINE):
        made = view.definition(made[2])
    return made


def unpack(view: FrameView, instr: Instr) -> Iterator[Hit]:
    """`h, w = t.shape`."""
    index = index_of(view.code)
    slot = _shape_of(index, index.definitions.get(instr[2]))
    dims = _unknown_dims(view, slot, _DEPTH)
    if dims is None:
        return
    needs = own(view, slot) and OPERATION
    unknown = instr[1] if dims == ALL else instr[1][:1]
    if needs and (dims == ALL or any(not _harmless(view, u) for s in unknown for u in uses(view, s))):
        yield Hit(instr[-1], "unpacks a shape that is not known while tracing: use `tf.shape`", needs)


def _of_shape(index: Index, instr: Instr) -> bool:
    """Whether what an instruction takes apart is the shape of something."""
    return _shape_of(index, index.definitions.get(instr[2])) >= 0


def _shape_of(index: Index, made: Instr | None) -> int:
    """The slot of the tensor whose shape an instruction reads, or -1."""
    if made is None:
        return -1
    if made[0] == Op.ATTR and made[3] == "shape":
        return int(made[2])
    if made[0] == Op.CALL:
        func = index.definitions.get(made[2])
        if func is not None and func[0] == Op.ATTR:
            if func[3] == "get_shape":
                return int(func[2])
            if func[3] in ("as_list", "with_rank"):
                return _shape_of(index, index.definitions.get(func[2]))
    return -1


def _unknown_dims(view: FrameView, slot: int, depth: int) -> int | None:
    """Which dims of a tensor a graph does not know: ALL, the FIRST; None where they are known, so far as we know."""
    made = view.definition(slot)
    if made is None or not depth or _is_set(view, slot):
        return None
    op = made[0]
    if op in (Op.COPY, Op.REFINE):
        return _unknown_dims(view, made[2], depth - 1)
    if op == Op.PHI:  # of a loop or branch: one way to an unknown dim is enough
        found = [_unknown_dims(view, s, depth - 1) for _, s in made[2]]
        return next((f for f in found if f is not None), None)
    if op in (Op.BINARY, Op.UNARY, Op.INPLACE):
        found = [_unknown_dims(view, s, depth - 1) for s in made[3 : 5 if op != Op.UNARY else 4]]
        return next((f for f in found if f is not None), None)
    if op == Op.CALL:
        return _called(view, made, depth)
    if op == Op.ITEM:
        return FIRST if _is_mask(view, made) or _is_cut(view, made) else None
    if op in (Op.UNPACK, Op.ITER):
        return _element(view, made, depth)
    return None


def _called(view: FrameView, made: Instr, depth: int) -> int | None:
    for name in view.names(made[2]):
        if name in _HOST:
            return ALL
        if name in _IMAGES or name in _SIZES:
            return FIRST
        if name == "tf.where":
            return FIRST if len(made[3]) + len(made[4]) == 1 else None
        if name in _SHAPED:
            shape = view.definition(made[3][0][0]) if made[3] else None
            first = shape[2][0][0] if shape is not None and shape[0] in (Op.LIST, Op.TUPLE) and shape[2] else -1
            return FIRST if own(view, first, arrays=False) and not _folded(view, first) else None
        if name in ("tf.tile", "tf.repeat"):
            return FIRST if any(_counts(view, s) for s, _ in made[3][1:2]) else None
        if name == "tf.range":
            return FIRST if any(own(view, s, arrays=False) for s, _ in made[3]) else None
        if name in _SAME and made[3]:
            return _unknown_dims(view, made[3][0][0], depth - 1)
        if name == "builtins.next" and made[3]:
            return _batch(view, made[3][0][0], made[1])
    return None


def _counts(view: FrameView, slot: int) -> bool:
    """Whether an argument is a tensor, or a list that holds one."""
    return bool(own(view, slot, arrays=False)) or has_tensor(elements(view.value(slot)), arrays=False)


def _folded(view: FrameView, slot: int) -> bool:
    """Dims of `tf.shape(x)`: TensorFlow folds them where they are known."""
    made = view.definition(slot)
    if made is None or made[0] not in (Op.ITEM, Op.UNPACK):
        return False
    inner = view.definition(made[2])
    return inner is not None and inner[0] == Op.CALL and "tf.shape" in view.names(inner[2])


def _is_mask(view: FrameView, made: Instr) -> bool:
    """`x[mask]`."""
    tensor = any(isinstance(o, Tensor) and o.kind != NDARRAY for o in view.value(made[2]))
    index = view.value(made[3])
    return tensor and bool(index) and all(isinstance(o, Tensor) and o.dtype == "bool" and o.shape for o in index)


def _is_cut(view: FrameView, made: Instr) -> bool:
    """`x[:n]` with a tensor n."""
    index = view.definition(made[3])
    if index is None or index[0] != Op.SLICE or not has_tensor(view.value(made[2]), arrays=False):
        return False
    return any(own(view, part, arrays=False) for part in index[2:5] if part >= 0)


def _element(view: FrameView, made: Instr, depth: int) -> int | None:
    """Parts of tuples of results, and elements of datasets."""
    if made[0] == Op.ITER:
        return _batch(view, made[2], made[1])
    inner = view.definition(made[2])
    if inner is not None and inner[0] == Op.ITER:
        return _batch(view, inner[2], made[1][0]) if depth else None
    if inner is not None and inner[0] == Op.CALL and any(n in _SIZES or n in _HOST for n in view.names(inner[2])):
        return _called(view, inner, depth - 1)
    return None


def _batch(view: FrameView, stream: int, slot: int) -> int | None:
    """The first dim of batches whose last one may be smaller."""
    if not any(isinstance(o, Stream) and o.kind.startswith("tf.data.") for o in view.value(stream)):
        return None
    tensors = [o for o in view.value(slot) if isinstance(o, Tensor) and o.kind != VARIABLE]
    return FIRST if any(t.shape and is_dynamic(t.shape[0]) for t in tensors) else None


def _is_set(view: FrameView, slot: int) -> bool:
    """Whether the program says the shape itself (`t.set_shape(...)`)."""
    return any(use[0] == Op.ATTR and use[3] == "set_shape" for use in uses(view, slot))


def _asked(view: FrameView, index: int, dims: int) -> bool:
    found = [o.const for o in view.value(index) if isinstance(o, Lit) and isinstance(o.const, int)]
    return dims == ALL or FIRST in found


def _harmless(view: FrameView, use: Instr) -> bool:
    if use[0] == Op.COMPARE and use[2] in ("is", "is not"):
        return True
    return is_message(view, use)


RULE = Rule(
    code="HY354",
    name="unknown-shape",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Reads the static shape of a tensor whose shape only a run knows.",
    details="""In eager code every shape is known. While tracing, the results of `tf.boolean_mask`,
`tf.where(condition)`, `tf.unique`, `x[mask]`, `tf.py_function` and of decoded images have dims that are None, and
so have the batches of a dataset that is iterated inside. Arithmetic with them raises, `range` too, and comparisons
are silently false. Use `tf.shape(t)[0]`, or say the shape with `tf.ensure_shape`. The shapes of arguments are known
in each trace.""",
    triggers={
        Op.ITEM: Where(read, _of_shape),
        Op.UNPACK: Where(unpack, _of_shape),
        Op.CALL: Where(call, names=_asks_shape),
    },
    bad=(
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
    ),
    good=(
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
    ),
    reference="semantics.md, measured",
)
