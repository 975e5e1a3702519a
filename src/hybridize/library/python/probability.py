"""TensorFlow Probability and TensorFlow Addons: they compute with TensorFlow and have no effects in Python."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
    INT_V,
    NONE_V,
    Container,
    LibInst,
    Tensor,
    Tup,
    Value,
    stream,
    tensor,
    tup,
    unknown,
)
from hybridize.domain.tensors import DENSE, NDARRAY, VARIABLE
from hybridize.library.defaults import OF_JOINT
from hybridize.library.python.gaussian import MODELS
from hybridize.library.python.rules import (
    call_back,
    decorator,
    functions_in,
    give,
    instance,
    itself,
    listed,
    methods,
    nothing,
    opaque,
    properties,
    recall,
    text,
)
from hybridize.library.spec import Call, ClassSpec, Spec
from hybridize.records import replace

TENSOR_V: Final = tensor(DENSE).value


def computes(call: Call) -> Value:
    """A TensorFlow computation whose result's shape is not known."""
    call.frame.computes(call.pos, call.name)
    return TENSOR_V


def _like_input(call: Call) -> Value:
    """A layer or function that keeps shape and dtype."""
    call.frame.computes(call.pos, call.name)
    found = BOTTOM
    for obj in call.arg(0, "inputs"):
        if isinstance(obj, Tensor):
            kind = DENSE if obj.kind in (VARIABLE, NDARRAY) else obj.kind
            found = join(found, tensor(kind, obj.dtype, obj.shape).value)
    return found or TENSOR_V


# TensorFlow Probability ----------------------------------------------------------------------------------------------

_DISTRIBUTIONS: Final = (
    "Distribution Normal MultivariateNormalDiag MultivariateNormalTriL MultivariateNormalFullCovariance Bernoulli "
    "Categorical OneHotCategorical Uniform Gamma Beta Dirichlet Exponential Laplace LogNormal Poisson Independent "
    "TransformedDistribution MixtureSameFamily Mixture JointDistributionSequential JointDistributionNamed "
    "JointDistributionCoroutine StudentT HalfNormal HalfCauchy Deterministic TruncatedNormal VonMises "
    "RelaxedOneHotCategorical "
    "RelaxedBernoulli Logistic QuantizedDistribution Binomial Multinomial GaussianProcess Cauchy InverseGamma "
    "Sample Blockwise "
    "VariationalGaussianProcess HiddenMarkovModel NegativeBinomial Kumaraswamy Gumbel Wishart LKJ Horseshoe Empirical"
)
_BIJECTORS: Final = (
    "Bijector Exp Softplus Sigmoid Tanh Affine Chain Shift Scale Invert Identity FillTriangular Softmax Permute "
    "MaskedAutoregressiveFlow RealNVP BatchNormalization Reshape SoftmaxCentered FillScaleTriL Transpose Inline "
    "NormalCDF "
    "ScaleMatvecTriL AutoregressiveNetwork Square Log Power CholeskyOuterProduct"
)
_DISTRIBUTION: Final = ClassSpec(
    methods={
        **methods(
            "log_prob prob sample mean stddev variance mode entropy cdf log_cdf quantile kl_divergence cross_entropy "
            "survival_function covariance log_survival_function",
            computes,
        ),
        **methods("batch_shape_tensor event_shape_tensor", computes),
        "sample_distributions": Spec(opaque),
        **methods("experimental_sample_and_log_prob", give(tup([TENSOR_V, TENSOR_V]).value)),
        **methods("copy", itself),
    },
    properties={
        **properties("batch_shape event_shape", give(stream("TensorShape", INT_V).value)),
        **properties("loc scale logits probs rate concentration", computes),
        "dtype": opaque,
        "name": text,
    },
)


def _moved(call: Call) -> Value:
    """`chain.forward(x)`: a tensor if all parts of the chain take and give tensors, else perhaps a structure."""
    call.frame.computes(call.pos, call.name)
    kept = join(recall(call, "bijectors"), join(recall(call, "bijector"), recall(call, "argument 0")))
    nested = frozenset(o for o in kept if isinstance(o, (Container, Tup)))
    parts = join(kept - nested, call.elements(nested) if nested else BOTTOM)
    plain = all(isinstance(o, LibInst) and o.cls.rpartition(".")[2] in _BIJECTORS.split() for o in parts)
    return TENSOR_V if plain else unknown("a value of a bijector, which may be a structure").value


_TRANSFORMS: Final = instance("tensorflow_probability.distributions.TransformedDistribution")


def _called(call: Call) -> Value:
    """`bijector(x)`: of a distribution another one, of a bijector a chain of both, of anything else its value."""
    kinds = [o.cls.rpartition(".")[0] if isinstance(o, LibInst) else "" for o in call.arg(0)]
    if kinds and all(kind.endswith(".distributions") for kind in kinds):
        return _TRANSFORMS(call)
    if kinds and all(kind.endswith(".bijectors") for kind in kinds):
        return instance("tensorflow_probability.bijectors.Chain")(call)
    return _moved(call)


_BIJECTOR: Final = ClassSpec(
    methods={
        **methods("forward inverse", _moved),
        **methods("forward_log_det_jacobian inverse_log_det_jacobian", computes),
    },
    properties={
        **properties("trainable_variables variables trainable_weights", listed(tensor(VARIABLE).value)),
        "name": text,
    },
    call=Spec(_called, op=True),
)
#: Their samples are lists, dictionaries or named tuples.
_JOINT: Final = replace(
    _DISTRIBUTION,
    methods={
        **_DISTRIBUTION.methods,
        **methods("sample mean mode", lambda call: unknown(OF_JOINT).value),
    },
)
_PROBABILITY_LAYERS: Final = (
    "DistributionLambda DenseVariational DenseFlipout DenseReparameterization Convolution1DFlipout "
    "Convolution2DFlipout "
    "Convolution3DFlipout Convolution2DReparameterization DenseLocalReparameterization KLDivergenceRegularizer "
    "IndependentNormal IndependentBernoulli MultivariateNormalTriL OneHotCategorical VariationalGaussianProcess "
    "KLDivergenceAddLoss AutoregressiveTransform VariableLayer"
)
_PSD_KERNELS: Final = "ExponentiatedQuadratic MaternOneHalf MaternThreeHalves MaternFiveHalves RationalQuadratic Linear"


def _chain(call: Call) -> Value:
    """`sample_chain(...)` calls the trace function and the kernel's target."""
    for func in functions_in(call.kwargs.get("trace_fn", NONE_V)):
        call_back(call, func.value, TENSOR_V, unknown("the results of a kernel").value)
    call.frame.computes(call.pos, call.name)
    return unknown("the states of a chain").value


def _kernel(call: Call) -> Value:
    target = call.kwargs.get("target_log_prob_fn", call.arg(0))
    for func in functions_in(target):
        count = len(getattr(getattr(func, "code", None), "params", ())) or 1
        call_back(call, func.value, *[TENSOR_V] * min(count, 6))
    return instance("tensorflow_probability.mcmc.TransitionKernel")(call)


# TensorFlow Addons ---------------------------------------------------------------------------------------------------

_ADDON_LAYERS: Final = (
    "InstanceNormalization GroupNormalization WeightNormalization SpectralNormalization Maxout "
    "AdaptiveAveragePooling2D "
    "MultiHeadAttention CRF PolynomialCrossing StochasticDepth SpatialPyramidPooling2D NoisyDense "
    "CorrelationCost Sparsemax "
    "AdaptiveMaxPooling2D EmbeddingBag ESN TLU FilterResponseNormalization AdaptiveAveragePooling1D "
    "AdaptiveMaxPooling3D "
    "AdaptiveAveragePooling3D AdaptiveMaxPooling1D"
)
_ADDON_SAME: Final = frozenset(
    "InstanceNormalization GroupNormalization StochasticDepth Sparsemax TLU FilterResponseNormalization GELU".split()
)
_ADDON_OPTIMIZERS: Final = (
    "AdamW SGDW LAMB RectifiedAdam Lookahead NovoGrad LazyAdam ConditionalGradient SWA MovingAverage COCOB Yogi "
    "AdaBelief "
    "MultiOptimizer ProximalAdagrad"
)
_ADDON_RATES: Final = "CyclicalLearningRate TriangularCyclicalLearningRate ExponentialCyclicalLearningRate"
_ADDON_LOSSES: Final = (
    "SigmoidFocalCrossEntropy TripletSemiHardLoss TripletHardLoss ContrastiveLoss GIoULoss LiftedStructLoss NpairsLoss "
    "PinballLoss WeightedKappaLoss SparsemaxLoss NpairsMultilabelLoss"
)
_ADDON_METRICS: Final = (
    "F1Score CohenKappa RSquare MatthewsCorrelationCoefficient FBetaScore HammingLoss MultiLabelConfusionMatrix"
)
_ADDON_CELLS: Final = "LayerNormLSTMCell NASCell PeepholeLSTMCell ESNCell LayerNormSimpleRNNCell"
_ADDON_FUNCTIONS: Final = {
    "activations": "gelu mish sparsemax hardshrink lisht rrelu softshrink snake tanhshrink",
    "image": "rotate translate transform random_cutout cutout gaussian_filter2d mean_filter2d median_filter2d equalize "
    "sharpness dense_image_warp random_hsv_in_yiq adjust_hsv_in_yiq euclidean_dist_transform interpolate_spline "
    "resampler "
    "shear_x shear_y compose_transforms angles_to_projective_transforms sparse_image_warp",
    "losses": "sigmoid_focal_crossentropy triplet_semihard_loss triplet_hard_loss contrastive_loss giou_loss "
    "npairs_loss "
    "pinball_loss lifted_struct_loss weighted_kappa_loss sparsemax_loss npairs_multilabel_loss",
    "text": "crf_log_likelihood crf_decode viterbi_decode crf_sequence_score crf_log_norm skip_gram_sample parse_time "
    "crf_decode_forward crf_binary_score crf_unary_score crf_forward crf_filtered_inputs",
    "seq2seq": "sequence_loss tile_batch hardmax safe_cumprod gather_tree gather_tree_from_array monotonic_attention",
    "metrics": "hamming_loss_fn metric_learning.pairwise_distance metrics.hamming_distance",
}
_ADDON_SEQ2SEQ: Final = "BasicDecoder BeamSearchDecoder AttentionWrapper BahdanauAttention LuongAttention"

_ADDONS: Final = "tensorflow_addons"
_TFP: Final = ("tensorflow_probability", "tensorflow_probability.python")
#: TF-Agents' named tuples, which keep what they are given.
_STEPS: Final = "TimeStep time_step.TimeStep PolicyStep policy_step.PolicyStep Trajectory trajectory.Trajectory"
_METRIC_LEARNING: Final = "tensorflow_addons.losses.metric_learning"

FUNCTIONS: Final[dict[str, Spec]] = {
    **{
        f"{_ADDONS}.{m}.{n}": Spec(_like_input if m == "activations" else computes)
        for m, names in _ADDON_FUNCTIONS.items()
        for n in names.split()
    },
    **{f"gpflow.covariances.{n}": Spec(computes) for n in ("Kuu", "Kuf", "kuus.Kuu", "kufs.Kuf")},
    f"{_METRIC_LEARNING}.pairwise_distance": Spec(computes),
    f"{_ADDONS}.seq2seq.dynamic_decode": Spec(
        lambda call: unknown("what a decoder gives").value, effects=("unknown_call",)
    ),
    f"{_ADDONS}.options.disable_custom_kernel": Spec(nothing, effects=("state",)),
    **{
        f"{p}.math.{n}": Spec(computes)
        for p in _TFP
        for n in (
            "fill_triangular",
            "fill_triangular_inverse",
            "softplus_inverse",
            "log_cumsum_exp",
            "diag_jacobian",
            "lbeta",
            "clip_by_value_preserve_gradient",
            "log1mexp",
            "reduce_logmeanexp",
            "log_add_exp",
            "interp_regular_1d_grid",
            "cholesky_update",
            "bessel_kve",
            "sparse_or_dense_matmul",
            "random_rademacher",
            "owens_t",
        )
    },
    **{f"{p}.math.value_and_gradient": Spec(lambda call: _value_and_gradient(call)) for p in _TFP},
    **{
        f"{p}.stats.{n}": Spec(computes)
        for p in _TFP
        for n in (
            "percentile",
            "quantiles",
            "covariance",
            "correlation",
            "stddev",
            "variance",
            "auto_correlation",
            "histogram",
            "cholesky_covariance",
            "find_bins",
        )
    },
    **{
        f"{p}.mcmc.{n}": Spec(_chain)
        for p in _TFP
        for n in ("sample_chain", "sample_annealed_importance_chain", "trace_scan")
    },
    **{f"{p}.mcmc.{n}": Spec(computes) for p in _TFP for n in ("effective_sample_size", "potential_scale_reduction")},
    **{f"{p}.distributions.kl_divergence": Spec(computes) for p in _TFP},
    **{f"{p}.distributions.RegisterKL": Spec(decorator, effects=("state",)) for p in _TFP},
    **{
        f"{p}.vi.{n}": Spec(computes, effects=("unknown_call",))
        for p in _TFP
        for n in ("fit_surrogate_posterior", "monte_carlo_variational_loss")
    },
    **{
        f"{p}.optimizer.{n}": Spec(lambda call: _minimized(call))
        for p in _TFP
        for n in ("lbfgs_minimize", "bfgs_minimize", "nelder_mead_minimize", "differential_evolution_minimize")
    },
}


def _value_and_gradient(call: Call) -> Value:
    value = call_back(call, call.arg(0), *call.args[1:]) if call.args else BOTTOM
    call.frame.computes(call.pos, call.name)
    return tup([value or TENSOR_V, TENSOR_V]).value


def _minimized(call: Call) -> Value:
    """`lbfgs_minimize(value_and_gradients_function, initial_position)`."""
    call_back(call, call.arg(0), TENSOR_V)
    call.frame.computes(call.pos, call.name)
    return unknown("the results of an optimizer").value


def _named_tuple(_: Call) -> Value:
    """A tuple with methods of its own, of which nothing is known but that a graph may hold and return it."""
    return unknown("a named tuple of TF-Agents").value


def _layer(name: str) -> ClassSpec:
    return ClassSpec(bases=("keras.layers.Layer",), call=Spec(_like_input, op=True) if name in _ADDON_SAME else None)


_TRANSFORMED: Final = {
    "bijector": instance("tensorflow_probability.bijectors.Bijector"),
    "pretransformed_input": give(tensor(VARIABLE).value),
}

#: Base classes of models in other packages, which are modules of TensorFlow.
_MODULES: Final = (
    "gpflow.Module",
    "gpflow.base.Module",
    *(f"gpflow.{name}" for name in ("kernels.Kernel", "likelihoods.Likelihood", "mean_functions.MeanFunction")),
    *(f"gpflow.{name}" for name in ("functions.Function", "inducing_variables.InducingVariables")),
)

_PAIR: Final = tup([TENSOR_V, TENSOR_V]).value


def _moments(call: Call) -> Value:
    """Mean and variance."""
    call.frame.computes(call.pos, call.name)
    return _PAIR


def _assigned(call: Call) -> Value:
    """Another value for a parameter, which stays what it is."""
    call.frame.computes(call.pos, call.name)
    return call.receiver.value if call.receiver is not None else BOTTOM


#: GPflow's likelihoods, kernels and parameters: modules of TensorFlow, whose methods compute.
LIKELIHOOD: Final = ClassSpec(
    bases=("tf.Module",),
    methods={
        **methods(
            "log_prob conditional_mean conditional_variance predict_log_density variational_expectations", computes
        ),
        **methods("predict_mean_and_var", _moments),
    },
)
KERNEL: Final = ClassSpec(bases=("tf.Module",), methods=methods("K K_diag __call__", computes))
_PARAMETER: Final = ClassSpec(bases=("tf.Module",), methods=methods("assign assign_add assign_sub", _assigned))

CLASSES: Final[dict[str, ClassSpec]] = {
    **dict.fromkeys(("gpflow.Parameter", "gpflow.base.Parameter"), _PARAMETER),
    **{f"{p}.distributions.{n}": _DISTRIBUTION for p in _TFP for n in _DISTRIBUTIONS.split()},
    **{f"{p}.distributions.{n}": _JOINT for p in _TFP for n in _DISTRIBUTIONS.split() if n.startswith("Joint")},
    **{f"{p}.bijectors.{n}": _BIJECTOR for p in _TFP for n in _BIJECTORS.split()},
    **{f"{p}.layers.{n}": ClassSpec(bases=("keras.layers.Layer",)) for p in _TFP for n in _PROBABILITY_LAYERS.split()},
    **{
        f"{p}.math.psd_kernels.{n}": ClassSpec(methods=methods("matrix apply tensor", computes))
        for p in _TFP
        for n in _PSD_KERNELS.split()
    },
    **{
        f"{p}.mcmc.{n}": ClassSpec(make=_kernel)
        for p in _TFP
        for n in (
            "HamiltonianMonteCarlo",
            "NoUTurnSampler",
            "MetropolisHastings",
            "RandomWalkMetropolis",
            "SimpleStepSizeAdaptation",
            "DualAveragingStepSizeAdaptation",
            "TransformedTransitionKernel",
            "UncalibratedHamiltonianMonteCarlo",
            "ReplicaExchangeMC",
            "MetropolisAdjustedLangevinAlgorithm",
        )
    },
    **{f"tf_agents.trajectories.{n}": ClassSpec(make=_named_tuple) for n in _STEPS.split()},
    "tensorflow_probability.mcmc.TransitionKernel": ClassSpec(
        methods=methods("one_step bootstrap_results", lambda call: unknown("the state of a kernel").value)
    ),
    **{
        f"{p}.util.{n}": ClassSpec(bases=("tf.Module",), properties=_TRANSFORMED)
        for p in _TFP
        for n in ("TransformedVariable", "DeferredTensor")
    },
    **{name: ClassSpec(bases=("tf.Module",)) for name in _MODULES},
    **MODELS,
    "gpflow.kernels.Kernel": KERNEL,
    "gpflow.likelihoods.Likelihood": LIKELIHOOD,
    **{f"{_ADDONS}.layers.{n}": _layer(n) for n in (*_ADDON_LAYERS.split(), "GELU")},
    **{
        f"{_ADDONS}.optimizers.{n}": ClassSpec(bases=("keras.optimizers.Optimizer",)) for n in _ADDON_OPTIMIZERS.split()
    },
    **{
        f"{_ADDONS}.optimizers.{n}": ClassSpec(bases=("keras.optimizers.schedules.LearningRateSchedule",))
        for n in _ADDON_RATES.split()
    },
    **{f"{_ADDONS}.losses.{n}": ClassSpec(bases=("keras.losses.Loss",)) for n in _ADDON_LOSSES.split()},
    **{f"{_ADDONS}.metrics.{n}": ClassSpec(bases=("keras.metrics.Metric",)) for n in _ADDON_METRICS.split()},
    **{f"{_ADDONS}.rnn.{n}": ClassSpec(bases=("keras.layers.Layer",)) for n in _ADDON_CELLS.split()},
    **{f"{_ADDONS}.seq2seq.{n}": ClassSpec(bases=("keras.layers.Layer",)) for n in _ADDON_SEQ2SEQ.split()},
    **{
        f"{_ADDONS}.callbacks.{n}": ClassSpec(bases=("keras.callbacks.Callback",))
        for n in ("TQDMProgressBar", "TimeStopping", "AverageModelCheckpoint")
    },
}
