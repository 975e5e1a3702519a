"""Keras' callbacks: functions and methods that training calls eagerly, with Python numbers."""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import BOTTOM, Container, Inst, Tup, Value, prim
from hybridize.library.defaults import keep_arguments
from hybridize.library.keras.core import nothing
from hybridize.library.spec import Call, ClassSpec, Spec

_METHODS: Final = (
    "on_train_begin on_train_end on_epoch_begin on_epoch_end on_batch_begin on_batch_end on_train_batch_begin "
    "on_train_batch_end on_test_begin on_test_end on_test_batch_begin on_test_batch_end on_predict_begin on_predict_end"
).split()
_ONCE: Final = ("train_begin", "train_end", "test_begin", "test_end")


def run_callbacks(call: Call) -> None:
    """Methods of the project's callbacks among the arguments of `fit` and the like."""
    given = call.kwargs.get("callbacks", BOTTOM)
    for group in given:
        for obj in call.elements(group.value) if isinstance(group, (Container, Tup)) else ():
            if not isinstance(obj, Inst):
                continue
            model = call.receiver.value if call.receiver is not None else BOTTOM
            call.engine.attributes.set_field(call.frame, obj, "model", model, call.pos)
            logs = _logs(call)
            for name in _METHODS:
                args = [logs] if name.endswith(_ONCE) else [prim("int", True).value, logs]
                call.method(obj, name, *args, how=How.CALLBACK)


def _logs(call: Call) -> Value:
    return call.list_of(prim("float", True).value, "dict", "logs")


def _history(call: Call) -> Value:
    return call.list_of(call.list_of(prim("float").value, "list", "values"), "dict", "history")


def _scheduler(call: Call) -> Value:
    """`LearningRateScheduler(schedule)`: epoch and rate as Python numbers, at the beginning of each epoch."""
    schedule = call.arg(0, "schedule")
    if schedule:
        call.call(schedule, prim("int", True).value, prim("float", True).value)
    return keep_arguments(call).value


def _lambdas(call: Call) -> Value:
    """`LambdaCallback(on_epoch_end=f, ...)`."""
    for name, func in call.kwargs.items():
        if name in _METHODS and func:
            logs = _logs(call)
            call.call(func, *([logs] if name.endswith(_ONCE) else [prim("int", True).value, logs]))
    return keep_arguments(call).value


CLASSES: Final[dict[str, ClassSpec]] = {
    "keras.callbacks.Callback": ClassSpec(methods={"__init__": Spec(nothing), "set_model": Spec(nothing)}),
    "keras.callbacks.History": ClassSpec(properties={"history": _history}),
    "keras.callbacks.LearningRateScheduler": ClassSpec(
        bases=("keras.callbacks.Callback",), make=_scheduler, parameters=("schedule", "verbose")
    ),
    "keras.callbacks.LambdaCallback": ClassSpec(bases=("keras.callbacks.Callback",), make=_lambdas),
}
