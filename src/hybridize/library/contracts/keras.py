"""What Keras calls back: layers, models, losses, metrics, optimizers, callbacks, and what weights are made with.

Each kind of method was run, decorated, with TensorFlow 2.15 (Keras 2) and 2.21 (Keras 3): under `fit`, called by hand,
in functional models, saved and loaded.
"""

from __future__ import annotations

from typing import Final

_CONFIG: Final = """
raises | save | config | names and numbers become tensors, which no file holds
    get_config
raises | save | objects | it makes an object, which no graph returns
    from_config
"""
_LAYER: Final = f"""
graph | any | tensors
    call
raises | build | nothing | it makes variables and other state, which a graph may do at its first trace only
    build
unproven | symbolic | tensors | a functional model calls it on symbolic tensors, which no graph takes
    __call__
raises@3 | symbolic | tensors | a functional model calls it on symbolic tensors, which no graph takes
    compute_mask
raises | build | shape | sizes become tensors, where Keras counts with numbers
    compute_output_shape
raises | symbolic | objects | it gives and takes symbolic tensors, which are no tensors of a graph
    compute_output_spec symbolic_call
raises | host | specs | it gives a description of a tensor, which no graph returns
    compute_output_signature
raises | build | variables | it makes variables, which a graph may do at its first trace only
    add_weight add_variable
raises | any | nothing | it keeps tensors of the graph, which raise when they are read outside
    add_loss add_metric add_update
differs | any | variables | variables become copies of their values, which have no gradients
    trainable_weights non_trainable_weights trainable_variables non_trainable_variables weights variables
differs | user | arrays | arrays and numbers become tensors
    get_weights
raises | user | python | it reads values and sizes as Python's numbers
    count_params set_weights
raises | build | python | sizes become tensors, where Keras counts with numbers
    state_size output_size
unproven | any | tensors | Keras gives it the size of a batch as a number, a tensor or `None`
    get_initial_state
unproven | any | objects | Keras goes through what it gives
    losses metrics updates
raises | save | config | names and numbers become tensors, which no file holds
    get_build_config build_from_config
unproven | save | nothing | it reads and writes files
    save_own_variables load_own_variables
{_CONFIG}
"""
_PREPROCESSING: Final = """
unproven | user | nothing | it sets the state that the layer is built with
    adapt update_state finalize_state reset_state
"""
_MODEL: Final = """
graph | any | tensors
    __call__
graph | graph | tensors
    train_step test_step predict_step
raises | host | objects | it makes a function, which no graph returns
    make_train_function make_test_function make_predict_function
raises | user | python | it runs a loop of graphs, and gives Python's numbers
    fit fit_generator evaluate evaluate_generator predict_generator train_on_batch test_on_batch
raises | user | python | it reads sizes and settings as Python's numbers and texts
    summary get_compile_config compile_from_config
raises | user | nothing | it makes the state of the optimizer and of the metrics
    compile
unproven | user | arrays | whoever calls it is promised arrays
    predict predict_on_batch
unproven | graph | tensors | it is part of the graph of a step already
    compute_loss compute_metrics
unproven | loop | nothing | it resets the state that steps count in
    reset_metrics reset_states
raises | user | nothing | it reads and writes files
    save save_weights load_weights export save_spec to_json to_yaml
"""
_LOSS: Final = f"""
graph | any | tensors
    call
unproven | any | tensors | Keras reduces, weights and masks in the method that this replaces
    __call__
{_CONFIG}
"""
_METRIC: Final = f"""
graph | any | tensors
    update_state result
unproven | loop | nothing | it resets the state that steps count in
    reset_state reset_states merge_state
unproven | any | tensors | Keras updates and reads the metric in the method that this replaces
    __call__
raises | build | variables | it makes variables, which a graph may do at its first trace only
    add_weight add_variable
{_CONFIG}
"""
_OLD_OPTIMIZER: Final = f"""
raises | user | operations | it makes the variables of the optimizer at its first call, and may give an operation
    apply_gradients minimize
raises | build | variables | it makes variables, which a graph may do at its first trace only
    add_weight add_slot
differs | any | variables | variables become copies of their values
    variables weights get_slot
raises | any | operations | it gives an operation, which no graph returns
    _resource_apply_dense _resource_apply_sparse _resource_apply_sparse_duplicate_indices
raises | build | nothing | it makes variables, which a graph may do at its first trace only
    _create_slots _create_all_weights _create_hypers
raises | any | nothing | it keeps tensors of the graph, which raise when they are read outside
    _prepare_local _prepare
raises | any | operations | it gives operations, which no graph returns
    get_updates
unproven | any | tensors | it is part of the step of an optimizer
    _resource_scatter_add _resource_scatter_update _decayed_lr _get_hyper _compute_gradients get_gradients
{_CONFIG}
"""
# Up to TensorFlow 2.10 it was what is called legacy since.
_OPTIMIZER: Final = f"""
raises@3 | any | nothing | it is given variables of Keras 3, of which a graph inside of a graph makes no tensors
    update_step
raises | build | nothing | it makes the variables of the optimizer
    build
raises | build | variables | it makes variables, which a graph may do at its first trace only
    add_variable add_variable_from_reference add_optimizer_variables
raises | user | nothing | it makes the variables of the optimizer at its first call
    apply
unproven | user | tensors | it passes on pairs of gradients and variables
    compute_gradients aggregate_gradients
{_OLD_OPTIMIZER}
"""
_CALLBACK: Final = """
unproven | loop | nothing | the number of the epoch and the numbers in the logs trace it anew
    on_epoch_begin on_epoch_end on_train_begin on_train_end on_test_begin on_test_end on_predict_begin
    on_predict_end
unproven | loop | nothing | the number of the batch and the numbers in the logs trace it anew
    on_batch_begin on_batch_end on_train_batch_begin on_train_batch_end on_test_batch_begin on_test_batch_end
    on_predict_batch_begin on_predict_batch_end
unproven | loop | nothing | it keeps the model
    set_model set_params
"""
_WEIGHT_FUNCTION: Final = f"""
raises@3 | any | tensors | it is given variables of Keras 3, of which a graph inside of a graph makes no tensors
    __call__
{_CONFIG}
"""
_INITIALIZER: Final = f"""
unproven | build | tensors | Keras calls it once for each weight, and each shape is traced anew
    __call__
{_CONFIG}
"""
_SEQUENCE: Final = """
unproven | host | arrays | threads and processes call it: arrays become tensors, and each number is traced anew
    __getitem__
unproven | host | python | Keras counts with it
    __len__ num_batches
unproven | loop | nothing | it changes what is loaded next
    on_epoch_begin on_epoch_end __iter__
"""
_POLICY: Final = f"""
differs | host | python | texts become tensors
    compute_dtype variable_dtype name quantization_mode
{_CONFIG}
"""
_SCHEDULE: Final = _WEIGHT_FUNCTION

#: By the canonical name of a class.
TABLES: Final = {
    "keras.layers.Layer": _LAYER,
    "keras.layers.experimental.preprocessing.PreprocessingLayer": _PREPROCESSING,
    "keras.Model": _MODEL,
    "keras.losses.Loss": _LOSS,
    "keras.metrics.Metric": _METRIC,
    "keras.optimizers.Optimizer": _OPTIMIZER,
    "keras.optimizers.legacy.Optimizer": _OLD_OPTIMIZER,
    "keras.callbacks.Callback": _CALLBACK,
    "keras.initializers.Initializer": _INITIALIZER,
    "keras.regularizers.Regularizer": _WEIGHT_FUNCTION,
    "keras.constraints.Constraint": _WEIGHT_FUNCTION,
    "keras.optimizers.schedules.LearningRateSchedule": _SCHEDULE,
    "keras.utils.Sequence": _SEQUENCE,
    "keras.mixed_precision.Policy": _POLICY,
}
