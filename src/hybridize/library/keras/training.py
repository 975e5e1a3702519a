"""Keras' training protocols: `compile`, `fit`, optimizers, losses, metrics, callbacks, data sets."""

from __future__ import annotations

from functools import partial
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
    NONE_V,
    STR_V,
    Container,
    Inst,
    LibInst,
    Lit,
    Obj,
    Stream,
    Tensor,
    Tup,
    Value,
    literal,
    prim,
    tensor,
    tup,
    unknown,
)
from hybridize.domain.tensors import BATCH, DENSE, NDARRAY, UNRESOLVED, Dim
from hybridize.library.keras.batches import batch_dim, batch_of, run_mode
from hybridize.library.keras.callbacks import run_callbacks
from hybridize.library.keras.calling import batch_size, call_layer, call_library_model
from hybridize.library.keras.losses import seen_dtype, updated
from hybridize.library.keras.modes import takes_training
from hybridize.library.keras.running import COMPILED, STEP_OF, TRAINS
from hybridize.library.spec import Call, ClassSpec, Rule, Spec, nothing, parametrized
from hybridize.library.structures import each_part, once

_SCALAR: Final = tensor(DENSE, "float32", ()).value


def _compile(call: Call) -> Value:
    obj = call.receiver
    names = ("optimizer", "loss", "metrics")
    if isinstance(obj, (Inst, LibInst)):
        for i, name in enumerate(names):
            value = call.arg(i, name)
            if value:
                call.write(obj.cell(COMPILED + name), value)
        eager = call.kwargs.get("run_eagerly")
        if eager:
            call.write(obj.cell("$run_eagerly"), eager)
    return NONE_V


def _compiled(call: Call, name: str) -> Value:
    obj = call.receiver
    return call.read(obj.cell(COMPILED + name)) if isinstance(obj, (Inst, LibInst)) else BOTTOM


def _is_data(value: Value) -> bool:
    return any(isinstance(o, (Stream, Inst)) for o in value)


@parametrized
def _step(call: Call, step: str, *, training: bool) -> Value:
    """`fit` and its relatives: the project's step if it defines one, else `call` on a batch."""
    x, y = call.arg(0, "x"), call.arg(1, "y") if step != "predict_step" else BOTTOM
    batch = batch_of(call, x)
    if _is_data(x) or not y or y is NONE_V:
        data = batch
    else:
        data = tup([batch, batch_of(call, y)]).value
    run_callbacks(call)
    obj = call.receiver
    if not isinstance(obj, (Inst, LibInst)) or not data:
        return _history(call)
    how = run_mode(call)
    found = call.engine.attributes.find_method(call.frame, obj, step)
    if found:
        predicted = call.engine.calls.call_value(call.frame, call.pos, found, [data], {}, how)
    else:
        predicted = _default_step(call, data, training, how)
    if training:
        _validate(call, obj, how)
    if step == "predict_step":
        return _as_arrays(call, predicted, batch_size(call, x), {})
    return _history(call) if training else _evaluated(call)


def _validate(call: Call, obj: Inst | LibInst, how: How) -> None:
    """The test step on the data that `fit` is given for validation."""
    given = call.arg(7, "validation_data")
    if not given or given is NONE_V or "on_batch" in call.name:
        return
    data, test = batch_of(call, given, "validation_"), call.engine.attributes.find_method(call.frame, obj, "test_step")
    if test and data:
        call.engine.calls.call_value(call.frame, call.pos, test, [data], {}, how)
    elif data:
        _default_step(call, data, False, how)


def _as_arrays(call: Call, value: Value, examples: Dim, done: dict[Obj, Value]) -> Value:
    """What `predict` gives: the results of all batches, one after the other, as arrays; `done` are its structures."""
    result = BOTTOM
    for obj in value:
        if isinstance(obj, Tensor):
            shape = obj.shape
            if shape:
                shape = (_rows_of_all(call, shape[0], examples), *shape[1:])
            result = join(result, tensor(NDARRAY, obj.dtype, shape).value)
        elif isinstance(obj, (Tup, Container)):
            result = join(result, once(done, obj, partial(_arrays_of, call, obj, examples, done)))
        else:
            result = join(result, tensor(NDARRAY).value)
    return result or tensor(NDARRAY).value


def _rows_of_all(call: Call, rows: Dim, examples: Dim) -> Dim:
    """The first dim of the results of all batches together, `rows` being that of one."""
    if rows <= BATCH:
        return max(examples, UNRESOLVED)
    size = batch_dim(call, examples, "")
    # Batches of one size: what one of them gives comes as often as there are batches.
    return rows * (examples // size) if rows >= 0 and size > 0 else UNRESOLVED


def _arrays_of(call: Call, obj: Tup | Container, examples: Dim, done: dict[Obj, Value]) -> Value:
    if isinstance(obj, Tup):
        items = [_as_arrays(call, item, examples, done) for item in obj.items]
        return tup(items, obj.kind, obj.names).value
    return each_part(call, obj, "predicted", lambda held: _as_arrays(call, held, examples, done))


def _evaluated(call: Call) -> Value:
    """What `evaluate` gives: the loss, with metrics a list of numbers."""
    number = prim("float", True).value
    metrics = _compiled(call, "metrics")
    plain = not metrics or metrics is NONE_V
    several = call.list_of(number, "dict" if call.kwargs.get("return_dict") else "list", "evaluated")
    return join(number, several) if plain else several


def _default_step(call: Call, data: Value, training: bool, how: How) -> Value:
    obj = call.receiver
    result = BOTTOM
    for element in data:
        parts = list(element.items) if isinstance(element, Tup) else [element.value]
        if not parts or not parts[0]:
            continue
        inner = Call(call.engine, call.frame, call.pos, "keras.Model.__call__", [parts[0]], {}, obj)
        found = call.engine.attributes.find_method(call.frame, obj, "call") if obj is not None else BOTTOM
        if takes_training(found) or isinstance(obj, LibInst):
            inner.kwargs = {"training": literal(training).value}
        predicted = call_layer(inner, how) if isinstance(obj, Inst) else call_library_model(inner, how)
        result = join(result, predicted)
        if len(parts) > 1:
            _losses(call, parts[1], predicted, how)
    return result


def _predicted(call: Call) -> Value:
    """`super().predict_step(data)`: what the model gives for a batch, in whatever structure."""
    data = BOTTOM
    for element in call.arg(0, "data"):
        data = join(data, element.items[0] if isinstance(element, Tup) and element.items else element.value)
    known = isinstance(call.receiver, (Inst, LibInst)) and bool(data)
    return (_default_step(call, data, False, How.KERAS) if known else BOTTOM) or tensor(DENSE).value


@parametrized
def _own_step(call: Call, training: bool) -> Value:
    """`super().train_step(data)` and `super().test_step(data)`: the model is called, then losses and metrics are."""
    data = call.arg(0, "data")
    if isinstance(call.receiver, (Inst, LibInst)) and data:
        _default_step(call, data, training, How.KERAS)
    return call.list_of(_SCALAR, "dict", "metrics")


def _losses(call: Call, truth: Value, predicted: Value, how: How) -> None:
    """Losses and metrics of the project that `compile` was given: each sees the output that has its key."""
    for name in ("loss", "metrics"):
        todo = [(obj, truth, predicted) for obj in _compiled(call, name)]
        for obj, real, made in todo:  # grows while it is read
            if isinstance(obj, Container) and obj.kind == "dict":
                for key, value in call.engine.cells.items(call.frame, obj):
                    parts = _output(call, real, key), _output(call, made, key)
                    todo += [(item, *parts) for item in value]
                continue
            if isinstance(obj, (Container, Tup)):
                todo += [(item, real, made) for item in call.elements(obj.value)]
            elif not isinstance(obj, (Lit, LibInst)) and real and made:
                matched = _matched(real, made, isinstance(obj, Inst))
                call.engine.calls.call_value(call.frame, call.pos, obj.value, [matched, made], {}, how)


def _output(call: Call, value: Value, key: object) -> Value:
    """One output of several: by its key where they are a dictionary with that key, else of unknown type."""
    result = BOTTOM
    for obj in value:
        held = (
            dict(call.engine.cells.items(call.frame, obj)) if isinstance(obj, Container) and obj.kind == "dict" else {}
        )
        if key in held:
            result = join(result, held[key])
        elif isinstance(obj, (Container, Tup)):
            result = join(result, tensor(DENSE).value)
        else:
            result = join(result, obj.value)
    return result


def _matched(truth: Value, predicted: Value, instance: bool) -> Value:
    """What losses and metrics see as truth: floats of the prediction's dtype; Keras 2 keeps integers, Keras 3 does not.

    Labels of rank 1 get a last dim beside predictions of rank 2: in Keras 2 always, in Keras 3
    for functions, if it is 1.
    """
    shapes = [o.shape for o in predicted if isinstance(o, Tensor)]
    result = BOTTOM
    for obj in truth:
        if not isinstance(obj, Tensor):
            result = join(result, obj.value)
            continue
        shape = obj.shape
        pairs = [p for p in shapes if p is None or shape is None or (len(shape) == 1 and len(p) == 2)]
        if pairs:
            one = all(p is not None and p[-1] == 1 for p in pairs) and len(pairs) == len(shapes) and not instance
            shape = (*shape, 1) if one and shape is not None else None
        result = join(result, tensor(obj.kind, seen_dtype(obj.dtype), shape).value)
    return result


def _history(call: Call) -> Value:
    return call.made("keras.callbacks.History").value


def _on_batch(call: Call) -> Value:
    call.effect("eager_only", call.name)
    obj = call.receiver
    step = STEP_OF[call.name.rpartition(".")[2]]
    rule = _step(step, training=TRAINS[step])
    made = rule(call) if isinstance(obj, (Inst, LibInst)) else BOTTOM
    if step == "predict_step":
        return made or tensor(NDARRAY).value
    return prim("float", True).value


def _metric_call(call: Call) -> Value:
    return updated(call) or _SCALAR


def _made(name: str) -> Rule:
    """An attribute that is an instance of a library class."""
    return lambda call: call.made(name).value


def _compiled_optimizer(call: Call) -> Value:
    """The optimizer that `compile` was given; one that is not known where no call of it is seen, or it gave a name."""
    given = frozenset(o for o in _compiled(call, "optimizer") if not isinstance(o, Lit))
    return given or _made("keras.optimizers.Optimizer")(call)


_METRIC: Final = {
    "update_state": Spec(nothing, op=True),
    "result": Spec(lambda call: _SCALAR, op=True),
    "reset_state": Spec(nothing),
    "reset_states": Spec(nothing),
    "__init__": Spec(nothing),
    "add_weight": Spec(lambda call: tensor("variable", "float32", ()).value),
    "get_config": Spec(lambda call: unknown("a configuration").value),
}
_MODEL: Final = {
    "compile": Spec(_compile, effects=("eager_only",)),
    **{
        name: Spec(_on_batch)
        if name.endswith("_on_batch")
        else Spec(_step(step, training=TRAINS[step]), effects=("eager_only", "print"))
        for name, step in STEP_OF.items()
    },
    "summary": Spec(nothing, effects=("print",)),
    "save": Spec(nothing, effects=("io",)),
    "save_weights": Spec(nothing, effects=("io",)),
    "export": Spec(nothing, effects=("io",)),
    "load_weights": Spec(lambda call: unknown("a load status").value, effects=("io",)),
    "reset_states": Spec(nothing),
    "reset_metrics": Spec(nothing),
    "to_json": Spec(lambda call: STR_V),
    **dict.fromkeys(("compute_loss", "_compute_loss"), Spec(lambda call: _SCALAR, op=True)),
    "compute_metrics": Spec(lambda call: call.list_of(_SCALAR, "dict", "metrics"), op=True),
    "compiled_loss": Spec(lambda call: _SCALAR, op=True),
    "train_step": Spec(_own_step(training=True), op=True),
    "test_step": Spec(_own_step(training=False), op=True),
    "predict_step": Spec(_predicted, op=True),
    "make_train_function": Spec(lambda call: unknown("a train function").value),
    "get_metrics_result": Spec(lambda call: call.list_of(_SCALAR, "dict", "metrics"), op=True),
}

#: What a model has besides its layers: what `compile` was given, and what `fit` keeps.
_MODEL_PROPERTIES: Final[dict[str, Rule]] = {
    "optimizer": lambda call: _compiled_optimizer(call),
    "loss_tracker": _made("keras.metrics.Mean"),
    "_loss_tracker": _made("keras.metrics.Mean"),
    "compiled_metrics": _made("keras.metrics.Metric"),
    "_compile_metrics": _made("keras.metrics.Metric"),
    "distribute_strategy": _made("tf.distribute.Strategy"),
    "_distribution_strategy": _made("tf.distribute.Strategy"),
    "history": _made("keras.callbacks.History"),
    "stop_training": lambda call: prim("bool").value,
    "run_eagerly": lambda call: prim("bool").value,
}

FUNCTIONS: Final[dict[str, Spec]] = {
    "keras.models.clone_model": Spec(lambda call: call.arg(0)),
}

CLASSES: Final[dict[str, ClassSpec]] = {
    "keras.Model": ClassSpec(methods=_MODEL, properties=_MODEL_PROPERTIES),
    "keras.losses.Loss": ClassSpec(
        methods={"__init__": Spec(nothing)},
    ),
    "keras.metrics.Metric": ClassSpec(methods=_METRIC, call=Spec(_metric_call, op=True)),
}
