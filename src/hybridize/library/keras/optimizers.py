"""Optimizers and learning-rate schedules of Keras, those of the project included."""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    NONE_V,
    Container,
    Inst,
    LibInst,
    Lit,
    Prim,
    Stream,
    Tensor,
    Tup,
    Value,
    tensor,
    unknown,
)
from hybridize.domain.tensors import DENSE, NDARRAY
from hybridize.library.spec import Call, ClassSpec, Spec, nothing


def _minimize(call: Call) -> Value:
    loss = call.arg(0, "loss")
    for obj in loss:
        if not isinstance(obj, Tensor):
            call.call(obj.value)
    variables = call.arg(1, "var_list")
    for obj in variables:
        if not isinstance(obj, (Tensor, Container, Tup, Stream)):
            call.call(obj.value)
    return NONE_V


def _update(call: Call, obj: Inst, gradient: Value, variable: Value) -> None:
    """The step of an optimizer of the project on one variable: Keras 3 passes the learning rate as well."""
    found = call.engine.attributes.find_method(call.frame, obj, "update_step")
    for method in found:
        code = getattr(getattr(method, "func", method), "code", None)
        given = [gradient, variable, tensor("variable", "float32", ()).value]
        count = len(code.params) - 1 if code is not None else 3
        call.call(method.value, *given[:count], how=How.KERAS)


def _schedule(call: Call) -> Value:
    obj = call.receiver
    if isinstance(obj, Inst):
        made = call.method(obj, "__call__", tensor(DENSE, "int64", ()).value, how=How.KERAS)
        if made:
            return made
    return tensor(DENSE, "float32", ()).value


def _apply(call: Call) -> Value:
    """`apply_gradients`: the project's learning-rate schedule is called with the step."""
    obj = call.receiver
    if isinstance(obj, LibInst):
        rate = join(call.field(obj, "learning_rate"), call.field(obj, "lr"))
        for schedule in rate:
            if isinstance(schedule, Inst):
                call.call(schedule.value, tensor(DENSE, "int64", ()).value, how=How.KERAS)
    elif isinstance(obj, Inst):
        pairs = call.elements(call.arg(0, "grads_and_vars"))
        for pair in pairs:
            if isinstance(pair, Tup) and len(pair.items) == 2 and all(pair.items):
                call.method(obj, "build", call.list_of(pair.items[1], "list", "variables"), how=How.KERAS)
                _update(call, obj, *pair.items)
    return NONE_V


def _rate(call: Call) -> Value:
    """The rate of an optimizer: numbers are kept in a variable, schedules as they are."""
    obj = call.receiver
    rate = tensor("variable", "float32", ()).value
    if not isinstance(obj, LibInst):
        return rate
    stored = call.field(obj, "learning_rate")
    kept = frozenset(o for o in stored if not isinstance(o, (Lit, Prim, Tensor)))
    return (join(kept, rate) if len(kept) < len(stored) else kept) or rate


_OPTIMIZER: Final = {
    "apply_gradients": Spec(_apply, op=True),
    "apply": Spec(_apply, op=True),
    "minimize": Spec(_minimize, op=True),
    "get_gradients": Spec(lambda call: call.list_of(tensor(DENSE).value, "list", "gradients"), op=True),
    "compute_gradients": Spec(lambda call: unknown("gradients and variables").value, op=True),
    "get_scaled_loss": Spec(lambda call: call.arg(0), op=True),
    "scale_loss": Spec(lambda call: call.arg(0), op=True),
    "get_unscaled_gradients": Spec(lambda call: call.arg(0), op=True),
    "get_config": Spec(lambda call: unknown("a configuration").value),
    "build": Spec(nothing),
    "get_weights": Spec(lambda call: call.list_of(tensor(NDARRAY).value, "list", "weights"), effects=("eager_only",)),
    "set_weights": Spec(nothing, effects=("eager_only",)),
    # What is set so before there are variables, or is a tensor, Python keeps: a graph has it as a constant (Keras 2).
    "_set_hyper": Spec(nothing, effects=("mutate",)),
    "__init__": Spec(nothing),
}

FUNCTIONS: Final[dict[str, Spec]] = {
    "keras.optimizers.get": Spec(lambda call: call.made("keras.optimizers.Optimizer").value),
}

CLASSES: Final[dict[str, ClassSpec]] = {
    "keras.optimizers.Optimizer": ClassSpec(
        methods=_OPTIMIZER,
        properties={
            "learning_rate": _rate,
            "lr": _rate,
            "iterations": lambda call: tensor("variable", "int64", ()).value,
            "variables": lambda call: call.list_of(tensor("variable").value, "list", "variables"),
        },
        assigned=frozenset({"learning_rate", "lr", "iterations"}),
    ),
    "tf.compat.v1.train.Optimizer": ClassSpec(methods=_OPTIMIZER),
    "keras.optimizers.schedules.LearningRateSchedule": ClassSpec(
        methods={"__init__": Spec(nothing)}, call=Spec(_schedule, op=True)
    ),
}
