"""Words of TensorFlow that several rooms ask for: what its decorator takes, and which names have which role."""

from __future__ import annotations

from typing import Final

from hybridize.domain.tensors import DENSE, NDARRAY, VARIABLE

#: The parameters of `tf.function`, in order.
FUNCTION_PARAMETERS: Final = (
    "func",
    "input_signature",
    "autograph",
    "jit_compile",
    "reduce_retracing",
    "experimental_implements",
    "experimental_autograph_options",
    "experimental_attributes",
    "experimental_relax_shapes",
    "experimental_compile",
    "experimental_follow_type_hints",
)
#: Those that say what shapes it is traced for.
OF_SHAPES: Final = frozenset({"input_signature", "reduce_retracing", "experimental_relax_shapes"})
#: Those that only say how often a function is traced.
OF_TRACES: Final = OF_SHAPES - {"input_signature"}
#: Those that were renamed: the old name, the new one, the first release that has it.
RENAMED: Final = {
    "experimental_relax_shapes": ("reduce_retracing", (2, 9)),
    "experimental_compile": ("jit_compile", (2, 5)),
}
#: The beginnings of names of what computes with tensors: functions, methods.
TENSOR_LIBRARIES: Final = ("tf.", "tensor.", "keras.")
#: The beginnings of names of packages outside of the index that compute with TensorFlow.
TENSOR_PACKAGES: Final = ("tensorflow", "tf_", "tf2", "tfp", "tfa", "keras", "gpflow", "einops", "horovod")
#: Packages that compute by themselves: on arrays of their own, on NumPy's, or on a device that TensorFlow does not see.
OTHER_FRAMEWORKS: Final = frozenset(
    "jax jaxlib flax haiku optax torch torchvision cupy mxnet paddle theano chainer autograd numba cython pyopencl mlx "
    "tinygrad".split()
)
#: The beginnings of names of layers and models.
LAYERS: Final = ("keras.layers.", "keras.Model", "keras.Sequential")
#: Operations of a graph that call Python on the host.
HOST_CALLS: Final = frozenset({"tf.py_function", "tf.numpy_function", "tf.compat.v1.py_func"})
#: Attributes of a tensor that Python knows while it traces.
STATIC: Final = frozenset({"shape", "dtype", "ndim", "ndims", "rank"})
#: Methods that change a variable, and those of a tape that derive.
ASSIGNS: Final = frozenset({"assign", "assign_add", "assign_sub"})
DERIVES: Final = frozenset({"gradient", "jacobian", "batch_jacobian"})
#: Parameters of TensorFlow's functions that are given the data, by name; not axes, sizes, shapes, rates or lists.
OPERANDS: Final = frozenset(
    "a b x y z input inputs input_tensor tensor logits labels features image images params t y_true y_pred matrix "
    "condition x1 x2 predictions targets target output value segment_ids sequences cond lhs rhs sp_input "
    "img1 img2 boxes scores signals signal stfts spectrograms magnitude_spectrograms chol diagonal "
    "sorted_sequence".split()
)
#: The modules whose functions compute on tensors.
COMPUTES: Final = (
    "tf.math.",
    "tf.nn.",
    "tf.linalg.",
    "tf.image.",
    "tf.signal.",
    "tf.sparse.",
    "tf.strings.",
    "tf.bitwise.",
    "keras.backend.",
    "keras.losses.",
    "keras.activations.",
    "keras.metrics.",
    "keras.ops.",
    "tf.experimental.numpy.",
)
#: What makes constants.
CONSTANTS: Final = frozenset({"tf.constant", "tf.compat.v1.constant", "keras.backend.constant"})
#: Functions that raise for a dict in any place (measured under 2.15 and 2.21): they are given numbers and tensors.
NUMBERS_ONLY: Final = frozenset(
    "tf.cast tf.reshape tf.one_hot tf.range tf.fill tf.tile tf.expand_dims tf.constant tf.convert_to_tensor "
    "tf.broadcast_to tf.eye tf.math.sqrt tf.math.add tf.math.subtract tf.math.multiply tf.math.divide tf.math.truediv "
    "tf.math.floordiv tf.math.pow tf.math.minimum tf.math.maximum tf.clip_by_value tf.split tf.random.uniform "
    "tf.random.normal tf.random.truncated_normal tf.nn.dropout tf.math.top_k tf.image.resize tf.linspace tf.roll "
    "tf.repeat tf.gather tf.linalg.matmul tf.math.l2_normalize tf.transpose tf.pad tf.squeeze "
    "builtins.range builtins.float builtins.int builtins.abs builtins.round".split()
)
#: Those of which that holds for the sizes in a shape: an empty dict is a shape of its own.
SHAPES_ONLY: Final = NUMBERS_ONLY | {"tf.zeros", "tf.ones"}
#: What opens a scope of names.
NAME_SCOPES: Final = frozenset(
    {"tf.name_scope", "tf.compat.v1.name_scope", "keras.backend.name_scope", "tf.python.framework.ops.name_scope"}
)
#: Functions that run one of those that they are given; a graph has all of them.
CHOOSING: Final = frozenset({"tf.cond", "tf.case", "tf.switch_case", "keras.ops.cond"})
#: Functions that Python runs with one that they are given, over the leaves of structures.
MAPPING: Final = frozenset({"tf.nest.map_structure", "keras.tree.map_structure"})
#: Functions that take Python data as readily, or lists of tensors, or things that are no tensors.
TAKES_DATA: Final = frozenset(
    "tf.constant tf.Variable tf.fill tf.range tf.zeros tf.ones tf.print tf.function tf.cond "
    "tf.while_loop tf.map_fn tf.scan tf.foldl tf.foldr tf.stack tf.concat tf.math.add_n tf.identity_n "
    "tf.meshgrid tf.group tf.tuple tf.eye tf.linspace tf.broadcast_static_shape tf.dtypes.as_dtype "
    "tf.ones_like tf.zeros_like tf.shape_n tf.is_tensor tf.py_function tf.numpy_function tf.get_static_value "
    "tf.type_spec_from_value "
    "tf.io.decode_image tf.io.decode_jpeg tf.io.decode_png tf.linalg.LinearOperator tf.nest.map_structure "
    "tf.make_tensor_proto tf.einsum tf.broadcast_dynamic_shape tf.dynamic_stitch tf.dynamic_partition".split()
)
#: Library classes whose objects say more as such than as something unknown.
TOLD_CLASSES: Final = frozenset({"tf.TensorArray", "tf.distribute.Strategy", "tf.random.Generator"})
#: Data sets and their iterators, as what they are followed.
STREAMS: Final = {
    **dict.fromkeys(("tf.data.Dataset", "tf.distribute.DistributedDataset"), "tf.data.Dataset"),
    **dict.fromkeys(("tf.data.Iterator", "tf.distribute.DistributedIterator"), "tf.data.Iterator"),
}
#: Classes of objects that compute with TensorFlow when they are called.
COMPUTING_CLASSES: Final = frozenset(
    {"keras.layers.Layer", "keras.losses.Loss", "keras.metrics.Metric", "keras.regularizers.Regularizer"}
)
#: What docstrings call tensors and arrays.
DOCUMENTED: Final = {
    **dict.fromkeys(
        "tensor tensors tf.tensor tf.tensors tensor-like tensor_like tensorlike eagertensor tf.eagertensor".split(),
        DENSE,
    ),
    **dict.fromkeys(
        "ndarray ndarrays np.ndarray numpy.ndarray np.array array arrays array_like array-like arraylike".split(),
        NDARRAY,
    ),
    "tf.variable": VARIABLE,
    "tf.variables": VARIABLE,
}
#: Functions whose result Python knows while a function is traced, whatever they are asked of.
STATIC_QUESTIONS: Final = frozenset(
    f"builtins.{name}" for name in "isinstance issubclass hasattr callable type id len super".split()
) | frozenset(
    {
        "tf.is_tensor",
        "tf.executing_eagerly",
        "tf.inside_function",
        "tf.is_symbolic_tensor",
        "keras.backend.is_keras_tensor",
    }
)
#: Operations whose result is longer than what they are given.
LENGTHEN: Final = frozenset(
    "tf.concat tf.pad tf.repeat tf.tile tf.keras.layers.concatenate keras.layers.concatenate "
    "np.append np.concatenate np.pad np.vstack np.hstack".split()
)
#: Operations whose result is as long as their first argument.
KEEP: Final = frozenset(
    "tf.cast tf.constant tf.convert_to_tensor tf.expand_dims tf.identity tf.stack tf.stop_gradient tf.ones_like "
    "tf.zeros_like tf.transpose np.array np.asarray np.expand_dims np.stack".split()
)
#: Methods of a training step, whosever they are.
STEPS: Final = {
    "gradient": "tf.GradientTape.gradient",
    "apply_gradients": "keras.optimizers.Optimizer.apply_gradients",
    "minimize": "keras.optimizers.Optimizer.minimize",
}
#: Beginnings of names of what reads, writes and restores: no computation.
NO_COMPUTATION: Final = ("tf.io", "tf.train")
#: What XLA computes otherwise: random numbers come out otherwise, sizes of results are known when they run only.
OTHERWISE: Final = (
    "tf.random.",
    "keras.random.",
    "keras.layers.Dropout",
    "tf.nn.dropout",
    "tf.boolean_mask",
    "tf.unique",
    "tf.ragged.",
    "tf.sparse.",
    "tf.distribute.",
)
#: The beginning of names of what runs a function in replicas; those of them that trace it always.
STRATEGIES: Final = "tf.distribute."
TRACING_STRATEGIES: Final = frozenset({"tf.distribute.TPUStrategy", "tf.distribute.experimental.TPUStrategy"})
#: Functions that ask for the size of a tensor while it is traced.
SIZE_QUESTIONS: Final = frozenset({"tf.unstack", "builtins.len", "keras.backend.int_shape", "tf.get_static_value"})
#: What only programs for TensorFlow 1 call.
PLACEHOLDERS: Final = frozenset({"tf.compat.v1.placeholder", "tf.compat.v1.sparse.placeholder"})
V1_SWITCHES: Final = frozenset({"tf.compat.v1.disable_eager_execution", "tf.compat.v1.disable_v2_behavior"})
V1_SESSIONS: Final = frozenset({"tf.compat.v1.Session", "tf.compat.v1.InteractiveSession"})
