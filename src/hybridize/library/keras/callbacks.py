"""Keras' callbacks: functions and methods that training calls eagerly, with Python numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import BOTTOM, NONE_V, Container, Inst, LibInst, Tup, Value, prim
from hybridize.library.spec import Call, ClassSpec, Spec, nothing

_METHODS: Final = (
    "on_train_begin on_train_end on_epoch_begin on_epoch_end on_batch_begin on_batch_end on_train_batch_begin "
    "on_train_batch_end on_test_begin on_test_end on_test_batch_begin on_test_batch_end on_predict_begin on_predict_end"
).split()
_ONCE: Final = ("train_begin", "train_end", "test_begin", "test_end")


def run_callbacks(call: Call) -> None:
    """What `fit` and the like call of the callbacks that they are given: nothing runs those that nobody hands over."""
    _notify(call, call.kwargs.get("callbacks", BOTTOM), _METHODS, call.receiver.value if call.receiver else BOTTOM)


def _notify(call: Call, given: Value, methods: Sequence[str], model: Value) -> None:
    """Calls methods of callbacks: of one, of a list of them, of one that stands for several."""
    for obj in given:
        if isinstance(obj, (Container, Tup)):
            _notify(call, call.elements(obj.value), methods, model)
        elif isinstance(obj, Inst):
            call.engine.attributes.set_field(call.frame, obj, "model", model, call.pos)
            for name in methods:
                call.method(obj, name, *_arguments(call, name), how=How.CALLBACK)
        elif isinstance(obj, LibInst):
            for name in methods:
                _run_held(call, obj, name)
            _notify(call, call.field(obj, "callbacks"), methods, call.field(obj, "model") or model)


def _run_held(call: Call, obj: LibInst, name: str) -> None:
    """The function that a callback of Keras was made with for one of its methods."""
    func = call.field(obj, name)
    if func:
        call.call(func, *_arguments(call, name))
    schedule = call.field(obj, "schedule") if name == "on_epoch_begin" else BOTTOM
    if schedule:  # with the epoch and the rate as Python numbers
        call.call(schedule, prim("int", True).value, prim("float", True).value)


def _arguments(call: Call, name: str) -> list[Value]:
    logs = _logs(call)
    return [logs] if name.endswith(_ONCE) else [prim("int", True).value, logs]


def _logs(call: Call) -> Value:
    return call.list_of(prim("float", True).value, "dict", "logs")


def _history(call: Call) -> Value:
    return call.list_of(call.list_of(prim("float").value, "list", "values"), "dict", "history")


def _called(name: str) -> Spec:
    """A method that a training loop of the program calls itself."""

    def rule(call: Call) -> Value:
        if call.receiver is not None:
            _notify(call, call.receiver.value, (name,), BOTTOM)
        return NONE_V

    return Spec(rule)


_CALLED: Final = {name: _called(name) for name in _METHODS}

CLASSES: Final[dict[str, ClassSpec]] = {
    "keras.callbacks.Callback": ClassSpec(methods={"__init__": Spec(nothing), "set_model": Spec(nothing)}),
    "keras.callbacks.History": ClassSpec(properties={"history": _history}),
    "keras.callbacks.LearningRateScheduler": ClassSpec(
        bases=("keras.callbacks.Callback",), methods=_CALLED, parameters=("schedule", "verbose")
    ),
    "keras.callbacks.LambdaCallback": ClassSpec(bases=("keras.callbacks.Callback",), methods=_CALLED),
    "keras.callbacks.CallbackList": ClassSpec(
        methods=_CALLED, parameters=("callbacks", "add_history", "add_progbar", "model")
    ),
}
