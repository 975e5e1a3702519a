"""Functions of TensorFlow and Keras without a rule of their own that give objects, datasets or Python values.

What a function without a rule and without an entry here gives is taken for a tensor.
"""

from __future__ import annotations

from functools import cache
from typing import Final

#: Beginnings of their names.
_BEGINNINGS: Final = (
    "tf.autograph",
    "tf.compat.v1.app",
    "tf.compat.v1.autograph",
    "tf.compat.v1.data",
    "tf.compat.v1.disable",
    "tf.compat.v1.distribute",
    "tf.compat.v1.enable",
    "tf.compat.v1.errors",
    "tf.compat.v1.estimator",
    "tf.compat.v1.feature_column",
    "tf.compat.v1.flags",
    "tf.compat.v1.get_default",
    "tf.compat.v1.gfile",
    "tf.compat.v1.graph_util",
    "tf.compat.v1.initializers",
    "tf.compat.v1.lite",
    "tf.compat.v1.logging",
    "tf.compat.v1.mixed_precision",
    "tf.compat.v1.profiler",
    "tf.compat.v1.resource_loader",
    "tf.compat.v1.saved_model",
    "tf.compat.v1.summary",
    "tf.compat.v1.test",
    "tf.compat.v1.train",
    "tf.config",
    "tf.data.experimental",
    "tf.debugging.disable",
    "tf.debugging.enable",
    "tf.debugging.experimental",
    "tf.distribute",
    "tf.estimator",
    "tf.experimental.dispatch_for",
    "tf.experimental.dlpack.to",
    "tf.experimental.dtensor",
    "tf.experimental.extension_type",
    "tf.feature_column",
    "tf.graph_util",
    "tf.io.gfile",
    "tf.lite",
    "tf.mlir",
    "tf.profiler",
    "tf.saved_model",
    "tf.summary",
    "tf.sysconfig",
    "tf.test",
    "tf.tpu.experimental",
    "tf.train",
    "np.testing",
    "keras.backend.experimental",
    "keras.config",
    "keras.datasets",
    "keras.distribution",
    "keras.estimator",
    "keras.export",
    "keras.models",
    "keras.preprocessing",
    "keras.saving",
    "keras.tree",
    "keras.utils.deserialize",
    "keras.utils.get",
    "keras.utils.legacy",
    "keras.utils.serialize",
    "keras.visualization",
)
#: Functions of every module of Keras that make objects out of what describes them, and the other way round.
_OF_KERAS: Final = frozenset({"deserialize", "get", "serialize"})
#: By module: single functions.
_NAMES: Final = {
    "tf": """
        make_ndarray make_tensor_proto no_gradient nondifferentiable_batch_function register_tensor_conversion_function
        variable_creator_scope
    """,
    "tf.debugging": "assert_proper_iterable assert_same_float_dtype",
    "tf.experimental": """
        async_clear_error async_scope enable_strict_mode function_executor_type register_filesystem_plugin
        unregister_dispatch_for
    """,
    "tf.experimental.numpy": """
        experimental_enable_numpy_behavior finfo iscomplexobj isrealobj isscalar issubdtype promote_types result_type
    """,
    "tf.experimental.numpy.random": "seed",
    "tf.quantization.experimental": "quantize_saved_model",
    "tf.signal": "inverse_stft_window_fn",
    "tf.xla.experimental": "jit_scope",
    "tf.compat": "as_bytes dimension_at_index forward_compatibility_horizon forward_compatible",
    "tf.compat.v1": """
        add_to_collection add_to_collections all_variables colocate_with container create_partitioned_variables
        delete_session_tensor fixed_size_partitioner get_collection get_collection_ref get_variable_scope
        global_variables load_file_system_library local_variables make_template min_max_variable_partitioner
        model_variables moving_average_variables no_regularizer op_scope variable_axis_size_partitioner
        variable_creator_scope variable_op_scope wrap_function
    """,
    "tf.compat.v1.losses": "add_loss get_losses get_regularization_losses",
    "tf.compat.v1.random": "get_seed",
    "tf.compat.v1.tpu": "bfloat16_scope core",
    "keras": "device remat version",
    "keras.backend": """
        batch_get_value batch_set_value eval function get_session get_uid learning_phase learning_phase_scope
        manual_variable_initialization placeholder reset_uids set_session
    """,
    "keras.layers": "disable_v2_dtype_behavior enable_v2_dtype_behavior",
    "keras.mixed_precision": "global_policy",
    "keras.ops": "custom_gradient dtype is_tensor vectorize",
    "keras.utils": """
        audio_dataset_from_directory model_to_dot pack_x_y_sample_weight split_dataset timeseries_dataset_from_array
        to_ordinal track_tf1_style_variables unpack_x_y_sample_weight warmstart_embedding_matrix
    """,
}
_EACH: Final = frozenset(f"{module}.{name}" for module, names in _NAMES.items() for name in names.split())
#: Functions whose names begin like those of others, and that compute.
_TENSORS: Final = frozenset(
    {
        "tf.compat.v1.saved_model.get_tensor_from_tensor_info",
        "tf.data.experimental.cardinality",
        "tf.data.experimental.get_single_element",
        "tf.data.experimental.to_variant",
        "tf.tpu.experimental.embedding.serving_embedding_lookup",
    }
)


@cache
def gives_no_tensors(name: str) -> bool:
    """Whether a function without a rule, by its canonical name, gives something else than tensors."""
    if name in _EACH:
        return True
    if name.startswith("keras.") and name.rpartition(".")[2] in _OF_KERAS:
        return True
    return name.startswith(_BEGINNINGS) and name not in _TENSORS
