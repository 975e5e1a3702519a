"""Which releases of TensorFlow have a private module: importing one says on which releases a project runs.

Read off the files of the wheels of `tensorflow-cpu` 2.1 to 2.14, 2.16 and 2.17 and of `tensorflow` 2.15 and 2.21, each
release's first. What all of them have is left out, as is what only tests of TensorFlow import.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from hybridize.regex import regex
from hybridize.source.requirements import NEWEST, Release

_ROOT: Final = "tensorflow.python."
#: Where a module has always been.
_FIRST: Final[Release] = (0, 0)
#: An import that nothing stands around: what is indented may be tried, or asked for a release.
_IMPORT: Final = regex(
    r"^(?:from[ \t]+tensorflow\.python\.(?P<of>[\w.]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n#]*)"
    r"|import[ \t]+tensorflow\.python\.(?P<module>[\w.]+)"
    r"|from[ \t]+tensorflow\.python[ \t]+import[ \t]+(?P<top>\([^)]*\)|[^\n#]*))",
    re.M,
)
_NAME: Final = regex(r"(\w+)(?:[ \t]+as[ \t]+\w+)?")


def bounds(texts: Iterable[str]) -> tuple[Release, Release]:
    """The first and the last release that have all private modules that some sources import."""
    first, last = _FIRST, NEWEST
    for text in texts:
        if _ROOT in text or "from tensorflow.python import" in text:
            for module in _imported(text):
                since, until = _releases(module)
                first, last = max(first, since), min(last, until)
    return first, last


def _imported(text: str) -> Iterator[str]:
    """The private modules that a source imports, below `tensorflow.python`; names in them may be modules, too."""
    for found in _IMPORT.finditer(text):
        of = found["of"] or ""
        if found["module"]:
            yield found["module"]
            continue
        for name in _NAME.finditer(found["names"] or found["top"] or ""):
            yield f"{of}.{name[1]}".lstrip(".")


def _releases(module: str) -> tuple[Release, Release]:
    """The releases that have a module: those that have all packages around it."""
    first, last = _FIRST, NEWEST
    known = _table()
    while module:
        since, until = known.get(module, (_FIRST, NEWEST))
        first, last = max(first, since), min(last, until)
        module = module.rpartition(".")[0]
    return first, last


@cache
def _table() -> dict[str, tuple[Release, Release]]:
    found: dict[str, tuple[Release, Release]] = {}
    for line in _MODULES.splitlines():
        since, until, *modules = line.split()
        span = (_release(since, _FIRST), _release(until, NEWEST))
        found.update(dict.fromkeys(modules, span))
    return found


def _release(said: str, otherwise: Release) -> Release:
    major, _, minor = said.partition(".")
    return (int(major), int(minor)) if minor else otherwise


#: The first and the last release (`-`: since 2.1 at least, or to this day), and the modules.
_MODULES: Final = """\
- 2.1 autograph.pyct.compiler data.experimental.ops.sleep distribute.multi_process_runner_util
- 2.1 keras.engine.training_v2 keras.engine.training_v2_utils keras.layers.image_preprocessing
- 2.2 autograph.converters.arg_defaults autograph.converters.function_scopes autograph.core.naming
- 2.2 autograph.operators.special_values autograph.operators.symbols autograph.utils.type_check
- 2.2 feature_column.dense_features feature_column.dense_features_v2 framework.tensor_like
- 2.2 keras.distribute.multi_worker_training_state keras.engine.network keras.ops
- 2.3 distribute.model_collection distribute.model_combinations keras.engine.training_arrays
- 2.3 keras.engine.training_distributed keras.engine.training_eager keras.engine.training_generator
- 2.3 keras.mixed_precision.experimental
- 2.4 distribute.all_reduce distribute.distributed_file_utils framework.composite_tensor_utils
- 2.4 keras.engine.base_preprocessing_layer_v1 keras.layers.preprocessing.normalization_v1
- 2.4 keras.layers.preprocessing.text_vectorization_v1 ops.losses.loss_reduction ops.tensor_forest_ops
- 2.4 training.tensorboard_logging
- 2.5 data.experimental.ops.optimization data.experimental.ops.stats_aggregator
- 2.5 data.experimental.ops.stats_ops data.experimental.ops.stats_options data.experimental.ops.threadpool
- 2.5 keras.layers.normalization_v2 platform.status_bar
- 2.6 data.experimental.ops.distribute_options data.experimental.ops.optimization_options
- 2.6 data.experimental.ops.threading_options
- 2.7 keras.applications keras.datasets keras.estimator keras.layers.normalization
- 2.7 keras.layers.preprocessing keras.layers.wrappers keras.premade keras.preprocessing profiler.traceme
- 2.7 training.experimental.loss_scaling_gradient_tape
- 2.8 estimator.canned.boosted_trees estimator.canned.boosted_trees_utils keras.utils.multi_gpu_utils
- 2.9 keras.layers.kernelized keras.layers.local keras.layers.noise keras.wrappers
- 2.11 util.memory
- 2.12 autograph.utils.py_func keras.layers.cudnn_recurrent keras.layers.recurrent_v2
- 2.12 platform.control_imports platform.parameterized training.distribute
- 2.12 training.distribution_strategy_context util.compat_internal util.deprecation_wrapper
- 2.13 autograph.converters.list_comprehensions distribute.distribution_strategy_context
- 2.13 ops.distributions.transformed_distribution ops.rnn_cell_wrapper_impl tpu.profiler
- 2.13 training.saving.functional_saver training.tracking
- 2.14 ops.linalg.adjoint_registrations ops.linalg.cholesky_registrations ops.linalg.inverse_registrations
- 2.14 ops.linalg.linear_operator_algebra ops.linalg.matmul_registrations ops.linalg.registrations_util
- 2.14 ops.linalg.solve_registrations
- 2.15 distribute.estimator_training estimator tpu.async_checkpoint tpu.error_handling tpu.session_support
- 2.15 tpu.tpu_config tpu.tpu_context tpu.tpu_embedding tpu.tpu_embedding_gradient tpu.tpu_estimator
- 2.15 tpu.util training.training_ops
- 2.17 eager.profiler eager.profiler_client
2.2 2.2 keras.layers.preprocessing.categorical_crossing keras.layers.preprocessing.categorical_encoding
2.2 2.2 keras.layers.preprocessing.categorical_encoding_v1 keras.preprocessing.image_pipeline
2.2 2.3 keras.mixed_precision.experimental.device_compatibility_check
2.2 2.3 keras.mixed_precision.experimental.get_layer_policy
2.2 2.4 autograph.utils.compat_util keras.layers.preprocessing.index_lookup_v1
2.2 2.7 keras.applications.efficientnet keras.layers.preprocessing.discretization
2.2 2.7 keras.layers.preprocessing.hashing keras.layers.preprocessing.image_preprocessing
2.2 2.7 keras.layers.preprocessing.index_lookup keras.layers.preprocessing.preprocessing_stage
2.2 2.7 keras.layers.preprocessing.reduction
2.2 2.9 training.saving.saveable_hook
2.2 - autograph.pyct.error_utils autograph.pyct.gast_util autograph.pyct.loader distribute.collective_util
2.2 - distribute.tpu_values dlpack framework.auto_control_deps_utils framework.gpu_util
2.2 - keras.engine.base_layer_v1 keras.engine.compile_utils keras.engine.training_v1
2.2 - keras.saving.saved_model.json_utils keras.saving.saved_model.metric_serialization
2.2 - keras.utils.version_utils ops.linalg.linear_operator_block_lower_triangular
2.2 - ops.linalg.linear_operator_tridiag platform.device_context profiler.profiler_client
2.2 - profiler.profiler_v2 saved_model.method_name_updater tpu.client
2.3 2.4 keras.layers.ops keras.layers.preprocessing.category_encoding_v1
2.3 2.4 keras.layers.preprocessing.integer_lookup_v1 keras.layers.preprocessing.string_lookup_v1
2.3 2.7 keras.feature_column keras.layers.preprocessing.category_crossing
2.3 2.7 keras.layers.preprocessing.category_encoding keras.layers.preprocessing.integer_lookup
2.3 2.7 keras.layers.preprocessing.string_lookup keras.layers.preprocessing.table_utils
2.3 2.7 keras.legacy_tf_layers.normalization keras.preprocessing.dataset_utils
2.3 2.7 keras.preprocessing.image_dataset keras.preprocessing.text_dataset keras.preprocessing.timeseries
2.3 2.9 keras.layers.einsum_dense
2.3 2.13 training.saving.checkpoint_options
2.3 - autograph.converters.functions autograph.converters.variables
2.3 - autograph.operators.conditional_expressions autograph.operators.variables autograph.pyct.cache
2.3 - autograph.pyct.naming autograph.pyct.static_analysis.reaching_fndefs autograph.pyct.transpiler
2.3 - data.experimental.ops.compression_ops data.experimental.ops.data_service_ops
2.3 - data.experimental.ops.io data.experimental.service distribute.cluster_resolver.tpu
2.3 - distribute.distribute_utils distribute.mirrored_run distribute.packed_distributed_variable
2.3 - distribute.ps_values distribute.values_util framework.memory_checker framework.python_memory_checker
2.3 - keras.combinations keras.distribute.worker_training_state keras.engine.functional
2.3 - keras.engine.keras_tensor keras.initializers.initializers_v1 keras.initializers.initializers_v2
2.3 - keras.layers.legacy_rnn keras.legacy_tf_layers keras.optimizer_v2.legacy_learning_rate_decay
2.3 - ops.bincount_ops ops.numpy_ops ops.ragged.ragged_ops ops.ragged.row_partition profiler.trace
2.3 - saved_model.load_options tpu.tpu_embedding_v2 tpu.tpu_embedding_v2_utils types
2.4 2.4 saved_model.load_context
2.4 2.6 keras.distribute.model_collection_base keras.distribute.model_combinations
2.4 2.6 keras.distribute.optimizer_combinations keras.distribute.simple_models
2.4 2.7 keras.applications.mobilenet_v3
2.4 2.8 distribute.parallel_device.saving
2.4 2.9 keras.layers.multi_head_attention
2.4 2.13 ops.numpy_ops.np_export
2.4 - autograph.pyct.static_analysis.type_inference distribute.cluster_resolver.sagemaker_cluster_resolver
2.4 - distribute.coordinator distribute.parallel_device distribute.parameter_server_strategy_v2
2.4 - framework.tfrt_utils keras.distribute.distributed_training_utils_v1 keras.engine.training_arrays_v1
2.4 - keras.engine.training_distributed_v1 keras.engine.training_eager_v1
2.4 - keras.engine.training_generator_v1 keras.engine.training_utils_v1
2.4 - keras.mixed_precision.autocast_variable keras.mixed_precision.device_compatibility_check
2.4 - keras.mixed_precision.get_layer_policy keras.mixed_precision.loss_scale
2.4 - keras.mixed_precision.loss_scale_optimizer keras.mixed_precision.policy keras.optimizer_v1
2.4 - keras.optimizer_v2.utils keras.utils.control_flow_util keras.utils.tf_contextlib
2.4 - keras.utils.tf_inspect ops.handle_data_util ops.map_ops saved_model.save_context types.doc_typealias
2.4 - util.keras_deps
2.5 2.9 keras.distribute.sidecar_evaluator keras.distribute.strategy_combinations
2.5 - compiler.tensorrt.utils distribute.tpu_util distribute.v1 keras.distribute.distributed_file_utils
2.5 - keras.saving.saved_model.load_context keras.saving.utils_v1 keras.utils.dataset_creator
2.5 - keras.utils.object_identity lib.core ops.numpy_ops.np_config ops.structured.structured_array_ops
2.5 - tpu.tpu_name_util
2.6 2.6 saved_model.experimental
2.6 2.7 keras.layers.normalization.batch_normalization keras.layers.normalization.batch_normalization_v1
2.6 2.7 keras.layers.normalization.layer_normalization
2.6 - data.experimental.ops.lookup_ops distribute.coordinator.values distribute.values_v2
2.6 - framework.extension_type framework.extension_type_field framework.immutable_dict
2.6 - keras.distribute.distribute_coordinator_utils keras.legacy_tf_layers.variable_scope_shim
2.6 - ops.composite_tensor_ops ops.structured.structured_ops user_ops.ops
2.7 2.13 training.tracking.base_delegate
2.7 - data.experimental.ops.random_access data.ops.options distribute.coordinator.coordinator_context
2.7 - distribute.experimental.rpc saved_model.registration util.traceback_utils util.type_annotations
2.8 2.8 eager.function_cache eager.function_trace_type ops.ragged.ragged_shape
2.8 2.13 training.tracking.asset training.tracking.autotrackable training.tracking.resource
2.8 2.13 training.tracking.trackable_utils
2.8 - data.ops.structured_function distribute.coordinator.watchdog distribute.input_util
2.8 - distribute.merge_call_interim distribute.tpu_replicated_variable distribute.v1.input_lib
2.8 - ops.filesystem_ops ops.ragged.ragged_image_ops types.trace
2.9 2.9 training.tracking.checkpoint_util
2.9 2.10 eager.function_context eager.function_saved_model_utils eager.function_spec
2.9 2.11 distribute.failure_handling.gce_util
2.9 - distribute.failure_handling framework.composite_tensor_gradient framework.op_def_library_pybind
2.9 - ops.ragged.dynamic_ragged_shape ops.ragged.ragged_check_ops tpu.tpu_embedding_base
2.9 - tpu.tpu_embedding_for_serving tpu.tpu_embedding_v1 tpu.tpu_hardware_feature
2.10 - checkpoint data.experimental.ops.from_list data.ops.load_op data.ops.save_op framework.type_utils
2.10 - ops.linalg.slicing ops.structured.structured_tensor_dynamic trackable util.deprecated_module
2.10 - util.deprecated_module_new util.variable_utils
2.11 2.13 eager.polymorphic_function.function_spec eager.polymorphic_function.monomorphic_function
2.11 2.13 eager.polymorphic_function.quarantine eager.polymorphic_function.tracing_compiler
2.11 - checkpoint.checkpoint_view checkpoint.save_util checkpoint.save_util_v1 compiler.xla.experimental
2.11 - data.ops.counter_op data.ops.filter_op data.ops.from_tensor_slices_op data.ops.ignore_errors_op
2.11 - data.ops.rebatch_op eager.polymorphic_function saved_model.tracing_utils
2.12 - autograph.utils.type_registry checkpoint.async_checkpoint_helper checkpoint.tensor_callable
2.12 - data.experimental.ops.distributed_save_op data.ops.batch_op data.ops.cache_op
2.12 - data.ops.choose_from_datasets_op data.ops.concatenate_op data.ops.dataset_autograph
2.12 - data.ops.directed_interleave_op data.ops.flat_map_op data.ops.from_generator_op
2.12 - data.ops.from_sparse_tensor_slices_op data.ops.from_tensors_op data.ops.group_by_window_op
2.12 - data.ops.interleave_op data.ops.iterator_autograph data.ops.map_op data.ops.padded_batch_op
2.12 - data.ops.prefetch_op data.ops.ragged_batch_op data.ops.random_op data.ops.range_op
2.12 - data.ops.repeat_op data.ops.sample_from_datasets_op data.ops.scan_op data.ops.shard_op
2.12 - data.ops.shuffle_op data.ops.skip_op data.ops.snapshot_op data.ops.sparse_batch_op data.ops.take_op
2.12 - data.ops.take_while_op data.ops.unbatch_op data.ops.unique_op data.ops.window_op data.ops.zip_op
2.12 - distribute.failure_handling.failure_handling_util distribute.failure_handling.preemption_watcher
2.12 - eager.polymorphic_function.attributes eager.polymorphic_function.compiler_ir
2.12 - eager.polymorphic_function.saved_model_exported_concrete framework.type_spec_registry
2.12 - saved_model.fingerprinting saved_model.path_helpers tpu.tpu_replication types.data
2.13 - checkpoint.checkpoint_context distribute.coordinator.remote_value
2.13 - eager.polymorphic_function.atomic_function eager.polymorphic_function.autograph_util
2.13 - eager.polymorphic_function.eager_function_run eager.polymorphic_function.tf_method_target
2.13 - eager.record framework.byte_swap_tensor framework.stack framework.tensor framework.tensor_conversion
2.13 - ops.array_ops_stack ops.autograph_ops ops.cond ops.control_flow_assert ops.control_flow_case
2.13 - ops.control_flow_switch_case ops.ragged.ragged_embedding_ops ops.ref_variable ops.shape_util
2.13 - ops.variable_v1 ops.while_loop saved_model.fingerprinting_utils training.saving.trace_saveable_util
2.13 - util.nest_util
2.14 - data.experimental.ops.pad_to_cardinality distribute.experimental.dtensor_strategy_extended
2.14 - distribute.experimental.dtensor_util distribute.experimental.mirrored_strategy
2.14 - distribute.experimental.multi_worker_mirrored_strategy eager.polymorphic_function.concrete_function
2.14 - eager.polymorphic_function.function_type_utils eager.polymorphic_function.tracing_compilation
2.14 - eager.polymorphic_function.transform feature_column.feature_column_v2_types
2.14 - framework.flexible_dtypes framework.strict_mode framework.weak_tensor ops.ragged.ragged_bincount_ops
2.14 - ops.random_crop_ops ops.random_ops_util ops.weak_tensor_ops
2.15 - framework.none_tensor ops.linalg.property_hint_util ops.nn_fused_batch_norm_grad
2.15 - ops.nn_impl_distribute ops.ragged.ragged_autograph util.tf_decorator_export
2.16 - checkpoint.sharding distribute.load_context framework.constant_tensor_conversion
2.16 - framework.override_binary_operator ops.lookup_grad ops.parsing_grad ops.resource_variables_toggle
2.16 - ops.tensor_getitem_override ops.tensor_math_operator_overrides summary.tb_summary
2.16 - tpu.tpu_embedding_v3 tpu.tpu_embedding_v3_utils
2.17 - checkpoint.checkpoint_adapter data.experimental.ops.global_shuffle_op
2.17 - tpu.tpu_embedding_v3_checkpoint_adapter
2.21 - data.experimental.ops.iterator_model_ops tpu.embedding_context_utils util.numpy_compat
"""
