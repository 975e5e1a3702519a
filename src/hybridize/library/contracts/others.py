"""What libraries around TensorFlow call back: probability, environments, agents, estimators, other frameworks.

A class is found by the library that it comes from and its name, or, where all classes of a library take on the same
contracts, by the library alone. Environments, estimators and TensorFlow Probability were run with TensorFlow 2.15.
"""

from __future__ import annotations

from typing import Final

_PROBABILITY: Final = """
raises | host | objects | it gives descriptions and objects, which no graph returns
    _parameter_properties _params_event_ndims _param_shapes _maximum_likelihood_parameters
    _composite_tensor_nonshape_params _composite_tensor_shape_params _composite_tensor_params _type_spec
    parameter_properties
raises | host | objects | it gives types or objects, which no graph returns
    _forward_dtype _inverse_dtype _model_flatten _model_unflatten
unproven | host | shape | it gives shapes, which become tensors
    _default_event_space_bijector _event_shape _batch_shape _forward_event_shape _inverse_event_shape
    event_shape batch_shape
unproven | any | operations | it gives assertions, which graphs do not return
    _parameter_control_dependencies _sample_control_dependencies _assertions
unproven | any | shape | it gives a shape that may be Python's
    _event_shape_tensor _batch_shape_tensor _forward_event_shape_tensor _inverse_event_shape_tensor
unproven | graph | structures | a chain runs it inside of its own loop, and keeps the fields of its results
    one_step bootstrap_results
unproven | host | python | numbers and types become tensors
    is_calibrated is_constant_jacobian dtype
unproven | any | tensors | a new distribution, bijector or kernel at each call would be traced anew
    _log_prob _prob _sample_n _mean _mode _stddev _variance _covariance _entropy _cdf _log_cdf
    _survival_function _log_survival_function _quantile _kl_divergence _cross_entropy _forward _inverse
    _forward_log_det_jacobian _inverse_log_det_jacobian _is_increasing _apply _matrix _tensor _call_log_prob
    _call_sample_n
"""
_ENVIRONMENT: Final = """
differs | host | python | whoever runs it is promised arrays, numbers and flags, which become tensors
    step reset render close seed _step _reset observation reward action action_space observation_space
    action_spec observation_spec time_step_spec reward_spec
"""
_AGENT: Final = """
unproven | any | structures | the library wraps it in a graph of its own
    _train _loss _action _distribution _variables _initialize _preprocess_sequence call
raises | build | objects | it makes variables and objects
    create_variables copy _get_initial_state get_initial_state
"""
_ESTIMATOR: Final = """
raises | user | objects | it gives the object itself, or settings
    fit partial_fit get_params set_params fit_transform fit_predict set_output
unproven | user | arrays | whoever calls it is promised arrays, which become tensors
    predict predict_proba predict_log_proba decision_function transform inverse_transform score score_samples
    sample
"""
_TORCH: Final = """
raises | host | objects | it computes with PyTorch, whose tensors are none of TensorFlow's
    forward training_step validation_step test_step predict_step configure_optimizers backward step state_dict
    load_state_dict parameters named_parameters train_dataloader val_dataloader __getitem__
"""

#: By the name of a class, or of a package or module that its classes come from, with a dot at the end.
TABLES: Final = {
    "tensorflow_probability.": _PROBABILITY,
    "gym.": _ENVIRONMENT,
    "gymnasium.": _ENVIRONMENT,
    "pettingzoo.": _ENVIRONMENT,
    "dm_env.": _ENVIRONMENT,
    "tf_agents.environments.": _ENVIRONMENT,
    "tf_agents.": _AGENT,
    "sklearn.": _ESTIMATOR,
    "scikeras.": _ESTIMATOR,
    "torch.": _TORCH,
    "pytorch_lightning.": _TORCH,
    "lightning.": _TORCH,
}
