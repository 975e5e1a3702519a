"""HY368: arguments that must be Python values in a graph, where eager code may give tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.library.keras.fixed import FIXED, OF_KERAS_2
from hybridize.program import ir
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule, Where
from hybridize.tracing.values import argument, tensor_or_number
from hybridize.tracing.views import FrameView

_REDUCTIONS: Final = "sum mean max min prod all any logsumexp std variance euclidean_norm".split()
_SCALED: Final = "GlorotUniform GlorotNormal HeUniform HeNormal LecunUniform LecunNormal VarianceScaling".split()
#: By function the arguments, each with place and name. Every line was tried with TensorFlow 2.15 and 2.21: a tensor
#: serves eagerly, alone and in a list, and raises in a graph. (`num`, `axis` of `tf.stack` and the like: HY341.)
STATIC: Final[dict[str, tuple[tuple[int, str], ...]]] = {
    **{f"tf.math.reduce_{name}": ((2, "keepdims"),) for name in _REDUCTIONS},
    "tf.argsort": ((1, "axis"),),
    "tf.constant": ((2, "shape"),),
    "tf.dynamic_partition": ((2, "num_partitions"),),
    "tf.ensure_shape": ((1, "shape"),),
    "tf.gather": ((4, "batch_dims"),),
    "tf.gather_nd": ((2, "batch_dims"),),
    "tf.image.extract_patches": ((1, "sizes"), (2, "strides"), (3, "rates")),
    "tf.map_fn": ((3, "parallel_iterations"),),
    "tf.nn.conv2d": ((2, "strides"),),
    "tf.nn.depth_to_space": ((1, "block_size"),),
    "tf.nn.local_response_normalization": ((1, "depth_radius"),),
    "tf.nn.moments": ((1, "axes"), (3, "keepdims")),
    "tf.nn.space_to_depth": ((1, "block_size"),),
    "tf.norm": ((3, "keepdims"),),
    "tf.one_hot": ((4, "axis"),),
    "tf.quantization.fake_quant_with_min_max_args": ((3, "num_bits"),),
    "tf.scan": ((3, "parallel_iterations"),),
    "tf.sort": ((1, "axis"),),
    "tf.tensordot": ((2, "axes"),),
    "tf.TensorShape": ((0, "dims"),),
    "tf.unstack": ((2, "axis"),),
    **{f"tensor.{kind}.set_shape": ((0, "shape"),) for kind in ("dense", "sparse")},
    **{f"keras.initializers.{name}.__call__": ((0, "shape"),) for name in _SCALED},
    **FIXED,
}
_DEEP: Final = 3


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A tensor, or a list of some, given for such an argument."""
    versions = view.project.versions
    for name in view.names(instr.function):
        if name in OF_KERAS_2 and not versions.may_have_keras(2):
            continue
        level = Level.INFO if name in OF_KERAS_2 and versions.may_have_keras(3) else None
        for place, argument_name in STATIC.get(name, ()):
            needs = _inside(view, argument(instr, place, argument_name), _DEEP)
            if needs:
                short = name.removesuffix(".__call__").rpartition(".")[2] if "tensor." in name else name
                said = f"gives a tensor as `{argument_name}` of `{short}`, which must be a Python value in a graph"
                yield Hit(instr.position, said, needs, level=level)
                return


def _inside(view: FrameView, slot: int, depth: int) -> int:
    """The mask of the tensors in a slot, or in the displays that it holds."""
    if slot < 0:
        return 0
    made = view.definition(slot)
    if isinstance(made, ir.Sequence) and depth:
        found = 0
        for part, _ in made.elements:
            found |= _inside(view, part, depth - 1)
        return found
    return tensor_or_number(view, slot)


RULE = Rule(
    code="HY368",
    name="static-argument",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Gives a tensor for an argument that must be a Python value in a graph.",
    details="""Most functions of TensorFlow take a tensor for any of their arguments. Some want a Python value while the
graph is made: an attribute of the operation (`block_size`, `keepdims`, `batch_dims`, `strides`), a static shape
(`tf.constant(0.0, shape=...)`, `tf.ensure_shape`, `t.set_shape`, `tf.TensorShape`), an axis that Python looks at
(`tf.sort`, `tf.tensordot`, `tf.nn.moments`), what a Keras layer is made with (`Permute((n, 1))`; `Reshape((h, w))` of
Keras 2). An eager tensor serves, for it has a value; a symbolic one raises, and so do `int(t)` and `tf.shape(x)[0]`,
even where the shape is known. Use `x.shape` where it is known, a function that
takes tensors (`tf.fill`, `tf.zeros`, `tf.broadcast_to`), or pass a Python number.""",
    triggers={ir.Call: Where(call, names=STATIC.__contains__)},
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    return x + tf.constant(1.0, shape=tf.shape(x))
r1 = target(tf.ones([2, 3]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, n):
    return tf.nn.depth_to_space(x, n)
r1 = target(tf.ones([1, 2, 2, 4]), tf.constant(2))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def halved(x):
    return tf.shape(x)[1] // 2
def target(x):
    size = halved(x)
    return tf.keras.layers.Permute(dims=(size, 1))(x)
r1 = target(tf.ones([2, 4, 3]))
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Shrunk(tf.keras.layers.Layer):
    def call(self, x):
        size = tf.shape(x)
        rest = tf.keras.layers.Cropping1D((size[1] // 2, 0))(x)
        return tf.keras.layers.MaxPooling1D((size[2],))(rest)
layer = Shrunk()
def target(x):
    return layer.call(x)
r1 = target(tf.ones([2, 4, 2]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, n):
    x.set_shape([n, 3])
    return tf.reduce_sum(x, axis=0, keepdims=n > 1)
r1 = target(tf.ones([2, 3]), tf.constant(2))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x, n):
    filled = tf.fill(tf.shape(x), 1.0) + tf.zeros([n, 3])
    return tf.reduce_sum(x + filled, axis=n - 1)
r1 = target(tf.ones([2, 3]), tf.constant(2))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    flat = tf.keras.layers.Reshape((x.shape[1] * x.shape[2],))(x)
    return tf.keras.layers.Rescaling(tf.reduce_max(flat))(flat)
r1 = target(tf.ones([2, 4, 3]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    one = tf.constant(1.0, shape=x.shape)
    return tf.ensure_shape(x + one, [2, 3])
r1 = target(tf.ones([2, 3]))
"""
        ),
    ),
    reference="measured under TensorFlow 2.15 and 2.21",
)
