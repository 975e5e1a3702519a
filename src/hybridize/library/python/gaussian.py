"""GPflow's models: modules of TensorFlow that keep what they are made of, and whose losses and predictions compute."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, NONE_V, Inst, Stream, Value, bound, tensor, tup, wrapper
from hybridize.domain.tensors import DENSE
from hybridize.library.python.rules import instance, methods
from hybridize.library.spec import Call, ClassSpec, Spec, parametrized

#: What the constructor of a model is given, and keeps under the same names.
_PARTS: Final = ("kernel", "likelihood", "mean_function", "num_latent_gps")
#: What a model of the project defines for its loss, the nearest first.
_OBJECTIVES: Final = ("maximum_log_likelihood_objective", "elbo", "log_marginal_likelihood")
_SCALAR: Final = tensor(DENSE, None, ()).value
_TENSOR: Final = tensor(DENSE).value
_MOMENTS: Final = tup([_TENSOR, _TENSOR]).value


def _keep(call: Call) -> Value:
    if isinstance(call.receiver, Inst):
        for place, name in enumerate(_PARTS):
            given = call.arg(place, name)
            if given:
                call.engine.attributes.set_field(call.frame, call.receiver, name, given, call.pos)
    return NONE_V


def _loss(call: Call) -> Value:
    """What a model computes of the data that it is given, or keeps; a method of the project may be asked for it."""
    call.frame.computes_else(call.pos, call.name)
    given = [_taken(value) for value in call.args]
    if isinstance(call.receiver, Inst):
        for name in _OBJECTIVES:
            if found := call.method(call.receiver, name, *given):
                return join(found, _SCALAR)
    return _SCALAR


def _taken(data: Value) -> Value:
    """The data themselves, or what an iterator of a data set gives next."""
    result = BOTTOM
    for obj in data:
        result = join(result, obj.element if isinstance(obj, Stream) and "Iterator" in obj.kind else obj.value)
    return result


def _closure(call: Call) -> Value:
    """The loss on certain data, as a function without arguments."""
    assert call.receiver is not None
    loss = bound("training_loss", call.receiver).value
    return wrapper("partial", loss, tuple(call.args[:1]), ()).value


@parametrized
def _giving(call: Call, value: Value) -> Value:
    call.frame.computes_else(call.pos, call.name)
    return value


#: A model: what its methods give, on top of TensorFlow's modules.
MODEL: Final = ClassSpec(
    bases=("tf.Module",),
    properties={
        "kernel": instance("gpflow.kernels.Kernel"),
        "likelihood": instance("gpflow.likelihoods.Likelihood"),
        "mean_function": instance("gpflow.mean_functions.MeanFunction"),
        "inducing_variable": instance("gpflow.inducing_variables.InducingVariables"),
        **dict.fromkeys(("q_mu", "q_sqrt"), instance("gpflow.Parameter")),
    },
    methods={
        "__init__": Spec(_keep),
        "training_loss_closure": Spec(_closure),
        **methods("training_loss maximum_log_likelihood_objective elbo log_marginal_likelihood", _loss),
        **methods("log_posterior_density log_prior_density", _giving(_SCALAR)),
        **methods("predict_f predict_y", _giving(_MOMENTS)),
        **methods("predict_f_samples predict_log_density", _giving(_TENSOR)),
    },
)
#: The loss that models with data of their own, and those that are given some, take from these beside `GPModel`.
MODELS: Final[dict[str, ClassSpec]] = dict.fromkeys(
    (
        *(f"gpflow.models.{name}" for name in ("BayesianModel", "GPModel", "model.BayesianModel", "model.GPModel")),
        *(f"gpflow.models.{name}" for name in "GPR SGPR GPRFITC VGP SVGP GPMC SGPMC GPLVM CGLB".split()),
        *(f"gpflow.models.{n}DataTrainingLossMixin" for n in ("External", "Internal")),
        *(f"gpflow.models.training_mixins.{n}DataTrainingLossMixin" for n in ("External", "Internal")),
    ),
    MODEL,
)
