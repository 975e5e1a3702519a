"""What Keras calls back: layers, models, losses, metrics, optimizers, callbacks, and what weights are made with.

Each row was tried with TensorFlow 2.15 (Keras 2) and 2.21 (Keras 3): a method of that name, decorated, under `fit`, called
by hand, saved and loaded.
"""

from __future__ import annotations

from typing import Final

_CONFIG: Final = """
raises  | get_config | save | config | names and numbers become tensors, which no file holds
raises  | from_config | save | objects | it makes an object, which no graph returns
"""
_LAYER: Final = f"""
graph   | call | any | tensors |
raises  | build | build | nothing | it makes variables and other state, which a graph may do at its first trace only
unproven | __call__ | symbolic | tensors | a functional model calls it on symbolic tensors, which no graph takes
raises@3 | compute_mask | symbolic | tensors | a functional model calls it on symbolic tensors, which no graph takes
raises  | compute_output_shape | build | shape | sizes become tensors, where Keras counts with numbers
raises  | compute_output_spec symbolic_call | symbolic | objects | it gives and takes symbolic tensors, which are no tensors of a graph
raises  | compute_output_signature | host | specs | it gives a description of a tensor, which no graph returns
raises  | add_weight add_variable | build | variables | it makes variables, which a graph may do at its first trace only
raises  | add_loss add_metric add_update | any | nothing | it keeps tensors of the graph, which raise when they are read outside
differs | trainable_weights non_trainable_weights trainable_variables non_trainable_variables weights variables | any | variables | variables become copies of their values, which have no gradients
differs | get_weights | eager | arrays | arrays and numbers become tensors
raises  | count_params set_weights | host | python | it reads values and sizes as Python's numbers
raises  | state_size output_size | build | python | sizes become tensors, where Keras counts with numbers
unproven | get_initial_state | any | tensors | Keras gives it the size of a batch as a number, a tensor or `None`
unproven | losses metrics updates | any | objects | Keras goes through what it gives
raises  | get_build_config build_from_config | save | config | names and numbers become tensors, which no file holds
unproven | save_own_variables load_own_variables | save | nothing | it reads and writes files
{_CONFIG}
"""
_PREPROCESSING: Final = """
unproven | adapt update_state finalize_state reset_state | eager | nothing | it sets the state that the layer is built with
"""
_MODEL: Final = """
graph   | __call__ | any | tensors |
graph   | train_step test_step predict_step | graph | tensors |
raises  | make_train_function make_test_function make_predict_function | host | objects | it makes a function, which no graph returns
raises  | fit fit_generator evaluate evaluate_generator predict_generator train_on_batch test_on_batch | eager | python | it runs a loop of graphs, and gives Python's numbers
raises  | summary get_compile_config compile_from_config | host | python | it reads sizes and settings as Python's numbers and texts
raises  | compile | host | nothing | it makes the state of the optimizer and of the metrics
unproven | predict predict_on_batch | eager | arrays | whoever calls it is promised arrays
unproven | compute_loss compute_metrics | graph | tensors | it is part of the graph of a step already
unproven | reset_metrics reset_states | loop | nothing | it resets the state that steps count in
raises  | save save_weights load_weights export save_spec to_json to_yaml | host | nothing | it reads and writes files
"""
_LOSS: Final = f"""
graph   | call | any | tensors |
unproven | __call__ | any | tensors | Keras reduces, weights and masks in the method that this replaces
{_CONFIG}
"""
_METRIC: Final = f"""
graph   | update_state result | any | tensors |
unproven | reset_state reset_states merge_state | loop | nothing | it resets the state that steps count in
unproven | __call__ | any | tensors | Keras updates and reads the metric in the method that this replaces
raises  | add_weight add_variable | build | variables | it makes variables, which a graph may do at its first trace only
{_CONFIG}
"""
_OLD_OPTIMIZER: Final = f"""
raises  | apply_gradients minimize | any | operations | it makes the variables of the optimizer at its first call, and may give an operation
raises  | add_weight add_slot | build | variables | it makes variables, which a graph may do at its first trace only
differs | variables weights get_slot | any | variables | variables become copies of their values
raises  | _resource_apply_dense _resource_apply_sparse _resource_apply_sparse_duplicate_indices | any | operations | it gives an operation, which no graph returns
raises  | _create_slots _create_all_weights _create_hypers | build | nothing | it makes variables, which a graph may do at its first trace only
raises  | _prepare_local _prepare | any | nothing | it keeps tensors of the graph, which raise when they are read outside
raises  | get_updates | any | operations | it gives operations, which no graph returns
unproven | _resource_scatter_add _resource_scatter_update _decayed_lr _get_hyper _compute_gradients get_gradients | any | tensors | it is part of the step of an optimizer
{_CONFIG}
"""
# Up to TensorFlow 2.10 it was what is called legacy since.
_OPTIMIZER: Final = f"""
raises@3 | update_step | any | nothing | it is given variables of Keras 3, of which a graph inside of a graph makes no tensors
raises  | build | build | nothing | it makes the variables of the optimizer
raises  | add_variable add_variable_from_reference add_optimizer_variables | build | variables | it makes variables, which a graph may do at its first trace only
raises  | apply | any | nothing | it makes the variables of the optimizer at its first call
unproven | compute_gradients aggregate_gradients | any | tensors | it passes on pairs of gradients and variables
{_OLD_OPTIMIZER}
"""
_CALLBACK: Final = """
unproven | on_epoch_begin on_epoch_end on_train_begin on_train_end on_test_begin on_test_end on_predict_begin on_predict_end | loop | nothing | the number of the epoch and the numbers in the logs trace it anew
unproven | on_batch_begin on_batch_end on_train_batch_begin on_train_batch_end on_test_batch_begin on_test_batch_end on_predict_batch_begin on_predict_batch_end | loop | nothing | the number of the batch and the numbers in the logs trace it anew
unproven | set_model set_params | loop | nothing | it keeps the model
"""
_WEIGHT_FUNCTION: Final = f"""
raises@3 | __call__ | any | tensors | it is given variables of Keras 3, of which a graph inside of a graph makes no tensors
{_CONFIG}
"""
_INITIALIZER: Final = f"""
unproven | __call__ | build | tensors | Keras calls it once for each weight, and each shape is traced anew
{_CONFIG}
"""
_SEQUENCE: Final = """
unproven | __getitem__ | host | arrays | threads and processes load batches with it: arrays become tensors, and each number is traced anew
unproven | __len__ num_batches | host | python | Keras counts with it
unproven | on_epoch_begin on_epoch_end __iter__ | loop | nothing | it changes what is loaded next
"""
_POLICY: Final = f"""
differs | compute_dtype variable_dtype name quantization_mode | host | python | texts become tensors
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
