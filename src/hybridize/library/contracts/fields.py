"""Which attributes instances of the base classes of Keras and TensorFlow have by the library's own code."""

from __future__ import annotations

from typing import Final

from hybridize.library.index.lookup import members

#: What methods of these classes store in their instances under either Keras, beside the members of the classes.
_STORED: Final = frozenset(
    """
    _activity_regularizer _allow_non_tensor_positional_args _allow_sum_over_batch_size _auto_config _auto_get_config
    _auto_config_error_args _auto_track_sub_layers _autocast _autotune_steps_per_execution _base_model_initialized
    _batch_input_shape _build_input_shape _build_shapes_dict _call_context_args _call_has_context_arg _element_spec
    _call_has_mask_arg _call_has_training_arg _call_signature _call_spec _callable_losses _called _checkpoint _path
    _captured_weight_regularizer _chief_worker_only _cluster_coordinator _compile_config _compile_loss _name _dynamic
    _compile_metrics _compiled_trainable_state _compute_dtype_object _compute_loss_has_training_arg _dtype _initial_step
    _compute_output_and_mask_jointly _convert_input_args _distribute_reduction_method _distribute_strategy _input_spec
    _distribution_strategy _dtype_policy _eval_data_handler _eval_epoch_iterator _inbound_nodes _inbound_nodes_value
    _initial_epoch _initial_weights _input_shape_arg _instrumented_keras_api _instrumented_keras_layer_class _layers
    _instrumented_keras_model_class _is_compiled _is_graph_network _is_model_for_instrumentation _jit_compile _lock
    _keras_mask _layout_map _loss_ids _loss_tracker _losses _losses_override _metric_obj _metrics _metrics_lock _model
    _name_scope _name_scope_on_declaration _non_trainable_variables _outbound_nodes _outbound_nodes_value _parent_path
    _predict_counter _preserve_input_structure_in_config _pss_evaluation_shards _remat_mode _run_eagerly _scope_name
    _saved_model_arg_spec _saved_model_inputs_spec _seed_generators _self_name_based_restores _self_update_uid _stateful
    _self_saveable_object_factories _self_setattr_tracking _self_unconditional_checkpoint_dependencies _test_counter
    _self_unconditional_deferred_dependencies _self_unconditional_dependency_names _shard_test_function _tracked _used
    _steps_per_execution _steps_per_execution_tuner _supports_masking _supports_tf_logs _thread_local _tracker _updates
    _train_counter _trainable _trainable_variables _training_state _unconditional_loss _use_resource_variables
    _variables activation activity_regularizer autocast built call_signature_parameters compiled compiled_loss history
    predict_function compiled_metrics constraint input_names inputs loss model name optimizer output_names outputs
    overwrite_with_gradient reduction regularizer steps_per_execution validation_data params
    stop_evaluating stop_predicting stop_training supports_jit test_function train_function train_tf_function
    unrolled_steps_per_execution
    """.split()
)
_KNOWN: Final = frozenset(
    {"keras.layers.Layer", "keras.Model", "tf.Module", "keras.losses.Loss", "keras.metrics.Metric"}
    | {f"keras.{name}" for name in ("callbacks.Callback", "regularizers.Regularizer", "constraints.Constraint")}
    | {"keras.initializers.Initializer"}
)


def may_have(base: str, name: str) -> bool:
    """Whether a class of a library has an attribute, or stores it in its instances: where not known, it may."""
    return base not in _KNOWN or name in _STORED or name in members(base)
