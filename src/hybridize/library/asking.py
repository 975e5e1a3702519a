"""What asks for a tensor, by name: functions, methods and attributes of TensorFlow, Keras and packages around them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from hybridize.library.contracts.lookup import is_member
from hybridize.library.dialect import ASSIGNS

#: What TensorFlow is as readily given a number for.
_OF_NUMBERS: Final = frozenset(
    "abs add subtract multiply divide truediv floordiv mod pow maximum minimum negative sign square sqrt rsqrt exp log "
    "log1p expm1 sin cos tan asin acos atan sinh cosh tanh floor ceil round less less_equal greater greater_equal "
    "equal atan2 hypot not_equal logical_and logical_or logical_not sigmoid softplus reciprocal cast identity "
    "convert_to_tensor saturate_cast is_nan is_inf is_finite lgamma digamma erf squared_difference clip_by_value "
    "random_uniform as_string strings_join debugging_check_numerics to_float to_int32".split()
)
#: Functions that give back what they were given, in another structure.
_PASSED_ON: Final = frozenset(
    "builtins.list builtins.tuple builtins.zip builtins.enumerate builtins.reversed builtins.dict builtins.sum "
    "tf.nest.flatten tf.nest.map_structure tf.concat tf.identity "
    "tf.stop_gradient np.asarray np.array tf.cast tf.convert_to_tensor".split()
)
#: Of these, those that have a first argument of that kind, and others.
_OF_FIRST: Final = ("np.", "tf.cast", "tf.convert_to_tensor", "tf.identity", "tf.stop_gradient", "tf.concat")
#: What nobody asks about a tensor.
_OF_OTHERS: Final = frozenset(
    f"builtins.{name}" for name in "range open chr ord issubclass input callable setattr vars".split()
)
#: Methods of library objects that take tensors, by the class they belong to.
_METHODS: Final[Mapping[str, frozenset[str]]] = {
    "tf.GradientTape": frozenset({"watch", "gradient", "jacobian", "batch_jacobian"}),
    "tf.TensorArray": frozenset({"write", "unstack"}),
    "keras.metrics.Metric": frozenset({"update_state", "__call__"}),
    "keras.losses.Loss": frozenset({"call", "__call__"}),
    "keras.layers.Layer": frozenset({"call", "__call__"}),
    "keras.optimizers.Optimizer": frozenset({"apply_gradients"}),
    "keras.optimizers.legacy.Optimizer": frozenset({"apply_gradients"}),
}
#: Methods of TensorFlow Probability's distributions and bijectors that compute of a value, and that nothing else has...
OF_VALUES: Final = frozenset(
    "log_prob prob unnormalized_log_prob log_cdf survival_function log_survival_function forward_log_det_jacobian "
    "inverse_log_det_jacobian".split()
)
#: ... and those whose names others use, too.
_OF_VALUES: Final = OF_VALUES | {"cdf", "quantile", "forward", "inverse"}
_OF_PROBABILITY: Final = ("tensorflow_probability.distributions.", "tensorflow_probability.bijectors.")
_PARAMETERS: Final = frozenset(
    "loc scale logits probs rate concentration concentration0 concentration1 scale_diag scale_tril df low high".split()
)
#: What gives its replicas their parts of a batch, and the methods that do so.
STRATEGY: Final = "tf.distribute.Strategy"
STRATEGY_RUNS: Final = frozenset({"run", "experimental_run_v2"})
#: Classes whose objects are called with tensors.
_CALLED: Final = frozenset({"keras.layers.Layer", "keras.losses.Loss", "keras.metrics.Metric"})
#: Packages of functions on tensors, beside TensorFlow itself.
_COMPUTING: Final = (
    "tensorflow_probability.stats.",
    "tensorflow_addons.losses.",
    "tensorflow_addons.activations.",
    "tensorflow_addons.image.",
    "keras.layers.",
)
#: Functions that take tensors at a place, or structures of these, where what flows shall not be told by that.
_OF_STRUCTURES: Final[Mapping[str, tuple[int | str, ...]]] = {
    **dict.fromkeys(("tf.map_fn", "tf.vectorized_map", "tf.scan", "tf.foldl", "tf.foldr"), (1, "elems")),
    "tf.dynamic_partition": (0, "data"),
    # Of what stands at one place Python's own index is shorter.
    **dict.fromkeys(("tf.gather", "tf.gather_nd", "tf.compat.v1.gather", "tf.batch_gather"), (1, "indices")),
    **dict.fromkeys(("tf.nn.embedding_lookup", "tf.nn.embedding_lookup_sparse"), (1, "ids")),
    "tf.one_hot": (0, "indices"),
    **dict.fromkeys(("tf.ones_like", "tf.zeros_like"), (0, "input", "tensor")),
    "tensorflow_probability.mcmc.sample_chain": (1, "current_state"),
    "tf.random.categorical": (0, "logits"),
    "tf.random.shuffle": (0, "value"),
    "tf.einsum": (1, 2),
    "tf.boolean_mask": (1, "mask"),
    "tf.scatter_nd": (1, "updates"),
    "tf.tensor_scatter_nd_update": (2, "updates"),
    "tf.math.bincount": (0, "arr"),
    **dict.fromkeys(("tf.clip_by_global_norm", "tf.linalg.global_norm"), (0, "t_list")),
    **dict.fromkeys(("tf.io.parse_example", "tf.io.parse_single_example"), (0, "serialized")),
    **{
        f"tf.math.{kind}segment_{how}": (0, "data")
        for kind in ("", "unsorted_")
        for how in ("sum", "mean", "max", "min", "prod")
    },
}
#: What only TensorFlow's own shapes and dtypes have.
_ASKED: Final[Mapping[str, frozenset[str]]] = {
    "shape": frozenset(
        "as_list rank dims ndims with_rank with_rank_at_least is_fully_defined is_compatible_with merge_with "
        "assert_has_rank assert_is_compatible_with num_elements concatenate".split()
    ),
    "dtype": frozenset(
        "is_floating is_complex is_integer is_bool base_dtype as_numpy_dtype real_dtype is_compatible_with".split()
    ),
}
#: What Keras gives its models when it builds them.
_OF_MODELS: Final = frozenset("inputs outputs input_shape output_shape".split())
#: What arrays have as well.
_OF_ARRAYS: Final = frozenset("dtype shape name device ndim size rank".split())
#: Functions that tell what something is.
ASKS_KIND: Final = frozenset({"builtins.isinstance", "tf.is_tensor", "keras.backend.is_tensor", "keras.ops.is_tensor"})


def asks_by_package(name: str, place: int | str) -> str | None:
    """Whether a function asks for a tensor where TensorFlow's own do not tell; empty where for another thing."""
    if name in _OF_OTHERS:
        return ""
    if place in _OF_STRUCTURES.get(name, ()):
        return f"`{name}`"
    if name.startswith(_COMPUTING) and place == 0 and name.rpartition(".")[2][:1].islower():
        return f"`{name}`"
    return None


def passes_on(name: str, places: Collection[int | str]) -> bool:
    """Whether a function gives back what it gets at some places, in another structure or dtype."""
    return name in _PASSED_ON and (not name.startswith(_OF_FIRST) or 0 in places)


def takes_numbers(said: str) -> bool:
    """Whether a use, in words, may be that of a number."""
    return said.strip("`").rpartition(".")[2] in _OF_NUMBERS


def is_called_with_tensors(chain: Collection[str]) -> bool:
    """Whether objects of a class with these bases are called with tensors."""
    return not _CALLED.isdisjoint(chain)


def method_asks(chain: Collection[str], name: str, place: int | str) -> bool:
    """Whether a method of a class with these bases takes tensors at a place."""
    if name in STRATEGY_RUNS and STRATEGY in chain:
        return place in (1, "args")
    if name in _OF_VALUES and place in (0, "value", "x", "y"):
        return any(each.startswith(_OF_PROBABILITY) for each in chain)
    return place in (0, 1, 2) and any(name in _METHODS.get(each, ()) for each in chain)


def parametrizes(name: str, place: int | str) -> bool:
    """Whether an argument is one of those that say what a distribution is, at the first places or by their names."""
    made = name.startswith(_OF_PROBABILITY) and name.rpartition(".")[2][:1].isupper()
    return made and (place in (0, 1) or place in _PARAMETERS)


def assigns(name: str) -> bool:
    """Whether a method of a variable gives it a value."""
    return name in ASSIGNS


def only_of_tensors(name: str) -> frozenset[str]:
    """What an attribute (a shape, a dtype) has only where it is that of a tensor, no array."""
    return _ASKED.get(name, frozenset())


def is_of_model(name: str) -> bool:
    """Whether an attribute is one of Keras' models, and none of an array: what has it is no structure of tensors."""
    return name in _OF_MODELS or (
        name not in _OF_ARRAYS and (is_member("keras.Model", name) or is_member("keras.layers.Layer", name))
    )


def is_no_content(name: str) -> bool:
    """Whether an attribute says something of a tensor or object, and is none of its parts."""
    return name in _OF_ARRAYS
