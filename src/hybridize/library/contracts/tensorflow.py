"""What TensorFlow calls back outside of Keras: modules, types of its own, linear operators, optimizers and estimators.

Run with TensorFlow 2.15, as those of Keras were: one or more of each kind.
"""

from __future__ import annotations

from typing import Final

_TRACKED: Final = """
differs | any | variables | variables become copies of their values, which have no gradients
    variables trainable_variables non_trainable_variables
raises | save | objects | it goes through the objects that are saved
    submodules _flatten _trackable_children _deserialize_from_proto _serialize_to_proto _copy_trackable_to_cpu
    _gather_saveables_for_checkpoint _lookup_dependency
"""
_OPERATOR: Final = """
graph | any | tensors
    _matmul _matvec _trace _diag_part _solve _solvevec _determinant _log_abs_determinant _to_dense _cond
    _eigvals _add_to_tensor
raises | host | shape | it gives a shape, which becomes a tensor
    _shape
unproven | any | shape | it gives a shape that may be Python's
    _shape_tensor
raises | any | operations | it gives an operation, which no graph returns
    _assert_non_singular _assert_positive_definite _assert_self_adjoint
raises | host | objects | it gives objects and descriptions, which no graph returns
    _linop_matmul _linop_solve _linop_adjoint _linop_inverse _linop_cholesky _composite_tensor_fields
    _composite_tensor_prefer_static_fields _experimental_parameter_ndims_to_matrix_ndims parameters
"""
_ENDLESS: Final = "host | objects | tracing itself asks it for the type of an argument, without end"
_TYPE: Final = f"""
raises | {_ENDLESS}
    _serialize _deserialize _component_specs _to_components _from_components _to_tensor_list _from_tensor_list
    value_type is_compatible_with most_specific_compatible_type _to_legacy_output_types _to_legacy_output_shapes
    _to_legacy_output_classes
"""
_TRACE_TYPE: Final = f"""
raises | {_ENDLESS}
    is_subtype_of most_specific_common_supertype placeholder_value to_tensors from_tensors flatten cast
"""
_COMPOSITE: Final = f"""
raises | {_ENDLESS}
    _type_spec _shape_invariant_to_type_spec _consumers
"""
_EXTENSION: Final = """
unproven | any | nothing | it runs whenever an object is made, inside of TensorFlow too
    __validate__
raises | any | nothing | it makes the object, which is no value of a graph until then
    __init__
"""
_OPTIMIZER: Final = """
raises | any | operations | it gives an operation, which no graph returns
    _apply_dense _resource_apply_dense _apply_sparse _resource_apply_sparse _apply_sparse_shared
    _apply_sparse_duplicate_indices _resource_apply_sparse_duplicate_indices _finish
raises | build | nothing | it makes variables, or keeps tensors of the graph, which raise when they are read outside
    _create_slots _prepare
raises | user | operations | it makes variables at its first call, and gives an operation
    apply_gradients minimize
raises | user | objects | it gives pairs of gradients and variables
    compute_gradients
differs | any | variables | variables become copies of their values
    variables get_slot get_slot_names get_name
"""
_HOOK: Final = """
raises | v1 | objects | a session runs the graph that it is part of: tensors of another graph raise
    begin after_create_session before_run after_run end
"""
_ESTIMATOR: Final = """
raises | user | python | it runs a session
    train evaluate predict export_saved_model eval_dir get_variable_value get_variable_names
"""
_CELL: Final = """
unproven | v1 | tensors | its variables are made while a graph of TensorFlow 1 is built
    call __call__
raises | v1 | python | sizes become tensors
    state_size output_size zero_state
"""
_TEST: Final = """
differs | host | nothing | it makes what the tests read: tensors of the graph, which raise when they are read outside
    setUp tearDown setUpClass tearDownClass
"""
_DATASET: Final = """
raises | host | objects | it gives descriptions of the elements
    element_spec _inputs _functions options
unproven | host | objects | Python asks it for an iterator
    __iter__ __len__ __bool__
"""
_STRATEGY: Final = """
unproven | any | objects | TensorFlow asks it where to run
    run reduce gather scope experimental_distribute_dataset extended
"""

#: By the canonical name of a class.
TABLES: Final = {
    "tf.Module": _TRACKED,
    "tf.linalg.LinearOperator": _OPERATOR,
    "tf.TypeSpec": _TYPE,
    "tf.types.experimental.TraceType": _TRACE_TYPE,
    "tf.__internal__.CompositeTensor": _COMPOSITE,
    "tf.experimental.ExtensionType": _EXTENSION,
    "tf.compat.v1.train.Optimizer": _OPTIMIZER,
    "tf.compat.v1.train.SessionRunHook": _HOOK,
    "tf.estimator.Estimator": _ESTIMATOR,
    "tf.compat.v1.nn.rnn_cell.RNNCell": _CELL,
    "tf.test.TestCase": _TEST,
    "tf.data.Dataset": _DATASET,
    "tf.distribute.Strategy": _STRATEGY,
}
