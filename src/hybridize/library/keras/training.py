"""Keras' training protocols: `compile`, `fit`, optimizers, losses, metrics, callbacks, data sets."""

from __future__ import annotations

import math
from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
    INT_V,
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
from hybridize.domain.tensors import (
    BATCH,
    DENSE,
    NDARRAY,
    UNRESOLVED,
    Dim,
    arrived,
    at_run_time,
    blurred,
)
from hybridize.library.keras.callbacks import run_callbacks
from hybridize.library.keras.core import batch_size, call_layer, call_library_model, nothing
from hybridize.library.keras.losses import seen_dtype
from hybridize.library.spec import Call, ClassSpec, Rule, Spec
from hybridize.library.structures import map_structure

#: Where the methods take the size of batches.
_BATCH_SIZE: Final = {"fit": 2, "evaluate": 2, "predict": 1}
#: Arguments that say how many batches there are: their size then follows from it.
_STEPS: Final = ("steps_per_epoch", "steps", "validation_steps")
_SCALAR: Final = tensor(DENSE, "float32", ()).value


def _compile(call: Call) -> Value:
    obj = call.receiver
    names = ("optimizer", "loss", "metrics")
    if isinstance(obj, Inst | LibInst):
        for i, name in enumerate(names):
            value = call.arg(i, name)
            if value:
                call.engine.write(call.frame, obj.cell(f"$compiled {name}"), value, call.pos)
        eager = call.kwargs.get("run_eagerly")
        if eager:
            call.engine.write(call.frame, obj.cell("$run_eagerly"), eager, call.pos)
    return NONE_V


def _compiled(call: Call, name: str) -> Value:
    obj = call.receiver
    return call.engine.read(call.frame, obj.cell(f"$compiled {name}")) if isinstance(obj, Inst | LibInst) else BOTTOM


def _batch_of(call: Call, value: Value, part: str = "") -> Value:
    """A batch of what is given to `fit`: arrays are cut into batches, data sets give their elements."""
    result = BOTTOM
    for obj in value:
        if isinstance(obj, Tensor):
            shape = None if not obj.shape else (_batch_dim(call, obj.shape[0], part), *map(blurred, obj.shape[1:]))
            dtype = "float32" if obj.dtype == "float64" else obj.dtype
            result = join(result, tensor(DENSE, dtype, shape).value)
        elif isinstance(obj, Stream):
            result = join(result, obj.element if "." in obj.kind else _loaded(call, obj.element))
        elif isinstance(obj, Inst):
            item = call.method(obj, "__getitem__", INT_V, how="keras")
            result = join(result, _loaded(call, item) if item else tensor(DENSE).value)
        elif isinstance(obj, Tup):
            result = join(result, tup([_batch_of(call, item, part) for item in obj.items], obj.kind, obj.names).value)
        elif isinstance(obj, Container) and obj.kind == "dict":
            result = join(result, _dict_batch(call, obj, part))
        elif isinstance(obj, Container):
            result = join(result, call.list_of(_batch_of(call, call.elements(obj.value), part), obj.kind, "batch"))
        elif isinstance(obj, Lit):
            continue
        else:
            result = join(result, tensor(DENSE).value)
    return result


def _dict_batch(call: Call, obj: Container, part: str) -> Value:
    """A batch of arrays by name."""
    made = call.new("dict", f"batch {part}{obj.site[1]}")
    if not call.engine.is_exact(call.frame, obj):
        call.engine.lose_exactness(made)
        held = frozenset(o for o in call.engine.values_of(call.frame, obj) if not isinstance(o, Container))
        call.engine.write(call.frame, made.rest_cell(), _batch_of(call, held, part), call.pos)
    for key, cell in list(obj.fields.items()):
        held = frozenset(o for o in call.engine.read(call.frame, cell) if not isinstance(o, Container))
        call.engine.write(call.frame, made.cell(key), _batch_of(call, held, part), call.pos)
    return made.value


def _batch_dim(call: Call, rows: Dim, part: str) -> Dim:
    """The number of examples in the batches of an array.

    Keras reshapes the indices of the examples to whole batches, so that a graph knows their size, unless a smaller
    batch comes last. `part` says which examples: those to train on, or to validate on.
    """
    if "on_batch" in call.name:
        return rows
    place = _BATCH_SIZE.get(call.name.rpartition(".")[2])
    size = call.constant(place, "batch_size", 32) if place is not None else None
    if call.arg(-1, f"{part}batch_size") and part:
        size = call.constant(-1, f"{part}batch_size")
    size = 32 if size is None and place is not None else size
    rows = _split(call, rows, part)
    if rows < 0 or not isinstance(size, int) or size < 1 or any(call.given(-1, n) for n in _STEPS):
        return BATCH
    if rows and rows % size == 0:
        return size
    if rows < size:
        return arrived((at_run_time(rows),))[0] if _how(call) == "keras" else at_run_time(rows)  # type: ignore[index]
    return BATCH


def _split(call: Call, rows: Dim, part: str) -> Dim:
    """How many of the examples `validation_split` leaves for training, or takes away."""
    if part or not call.given(6, "validation_split"):
        return rows
    share = call.constant(6, "validation_split")
    if rows < 0 or not isinstance(share, int | float):
        return BATCH
    if share == 0:
        return rows
    left = math.floor(rows * (1.0 - share))
    # Both parts are seen: one size is right only for both.
    size = call.constant(2, "batch_size", 32)
    whole = isinstance(size, int) and size > 0 and left % size == 0 and (rows - left) % size == 0
    return left if whole and 0 < left < rows else BATCH


def _loaded(call: Call, value: Value) -> Value:
    """What Keras makes of the batches that a generator or a sequence of the project gives."""

    def leaf(obj: Obj) -> Value:
        if not isinstance(obj, Tensor):
            return obj.value
        shape = (BATCH, *map(blurred, obj.shape[1:])) if obj.shape else obj.shape
        return tensor(DENSE, obj.dtype if obj.dtype != "float64" else None, shape).value

    return map_structure(call, value, leaf, "loaded")


def _is_data(value: Value) -> bool:
    return any(isinstance(o, Stream | Inst) for o in value)


def _how(call: Call) -> str:
    obj = call.receiver
    eager = call.engine.read(call.frame, obj.cell("$run_eagerly")) if isinstance(obj, Inst | LibInst) else BOTTOM
    return "keras" if eager and not (eager <= literal(False).value) else "graph"


def _step(step: str, *, training: bool) -> Rule:
    """`fit` and its relatives: the project's step if it defines one, else `call` on a batch."""

    def rule(call: Call) -> Value:
        x, y = call.arg(0, "x"), call.arg(1, "y") if step != "predict_step" else BOTTOM
        batch = _batch_of(call, x)
        if _is_data(x) or not y or y is NONE_V:
            data = batch
        else:
            data = tup([batch, _batch_of(call, y)]).value
        run_callbacks(call)
        obj = call.receiver
        if not isinstance(obj, Inst | LibInst) or not data:
            return _history(call)
        how = _how(call)
        found = call.engine.find_method(call.frame, obj, step)
        if found:
            predicted = call.engine.call_value(call.frame, call.pos, found, [data], {}, how)
        else:
            predicted = _default_step(call, data, training, how)
        if training:
            _validate(call, obj, how)
        if step == "predict_step":
            return _as_arrays(call, predicted, batch_size(call, x))
        return _history(call) if training else _evaluated(call)

    return rule


def _validate(call: Call, obj: Inst | LibInst, how: str) -> None:
    """The test step on the data that `fit` is given for validation."""
    given = call.arg(7, "validation_data")
    if not given or given is NONE_V or "on_batch" in call.name:
        return
    data, test = _batch_of(call, given, "validation_"), call.engine.find_method(call.frame, obj, "test_step")
    if test and data:
        call.engine.call_value(call.frame, call.pos, test, [data], {}, how)
    elif data:
        _default_step(call, data, False, how)


def _as_arrays(call: Call, value: Value, examples: Dim) -> Value:
    """What `predict` gives: the results of all batches, one after the other, as arrays."""
    result = BOTTOM
    for obj in value:
        if isinstance(obj, Tensor):
            shape = obj.shape
            if shape:
                shape = (_rows_of_all(call, shape[0], examples), *shape[1:])
            result = join(result, tensor(NDARRAY, obj.dtype, shape).value)
        elif isinstance(obj, Tup):
            items = [_as_arrays(call, item, examples) for item in obj.items]
            result = join(result, tup(items, obj.kind, obj.names).value)
        elif isinstance(obj, Container):
            result = join(result, _arrays_of(call, obj, examples))
        else:
            result = join(result, tensor(NDARRAY).value)
    return result or tensor(NDARRAY).value


def _rows_of_all(call: Call, rows: Dim, examples: Dim) -> Dim:
    """The first dim of the results of all batches together, `rows` being that of one."""
    if rows <= BATCH:
        return max(examples, UNRESOLVED)
    size = _batch_dim(call, examples, "")
    # Batches of one size: what one of them gives comes as often as there are batches.
    return rows * (examples // size) if rows >= 0 and size > 0 else UNRESOLVED


def _arrays_of(call: Call, obj: Container, examples: Dim) -> Value:
    made = call.new(obj.kind, "predicted")
    if not call.engine.is_exact(call.frame, obj):
        call.engine.lose_exactness(made)
        held = frozenset(o for o in call.engine.values_of(call.frame, obj) if not isinstance(o, Container))
        values = _as_arrays(call, held, examples)
        call.engine.write(call.frame, made.rest_cell(), values, call.pos)
    for key, cell in list(obj.fields.items()):
        held = frozenset(o for o in call.engine.read(call.frame, cell) if not isinstance(o, Container))
        array = _as_arrays(call, held, examples)
        call.engine.write(call.frame, made.cell(key), array, call.pos)
    return made.value


def _evaluated(call: Call) -> Value:
    """What `evaluate` gives: the loss, with metrics a list of numbers."""
    number = prim("float", True).value
    metrics = _compiled(call, "metrics")
    plain = not metrics or metrics is NONE_V
    several = call.list_of(number, "dict" if call.kwargs.get("return_dict") else "list", "evaluated")
    return join(number, several) if plain else several


def _default_step(call: Call, data: Value, training: bool, how: str) -> Value:
    obj = call.receiver
    result = BOTTOM
    for element in data:
        parts = list(element.items) if isinstance(element, Tup) else [element.value]
        if not parts or not parts[0]:
            continue
        inner = Call(call.engine, call.frame, call.pos, "keras.Model.__call__", [parts[0]], {}, obj)
        found = call.engine.find_method(call.frame, obj, "call") if obj is not None else BOTTOM
        if found and _takes_training(found):
            inner.kwargs = {"training": literal(training).value}
        predicted = call_layer(inner) if isinstance(obj, Inst) else call_library_model(inner)
        result = join(result, predicted)
        if len(parts) > 1:
            _losses(call, parts[1], predicted, how)
    return result


def _takes_training(found: Value) -> bool:
    for obj in found:
        func = getattr(obj, "func", obj)
        inner = getattr(func, "inner", None)
        code = getattr(func, "code", None) or (getattr(next(iter(inner)), "code", None) if inner else None)
        if code is not None and any(p.name == "training" or p.kind == "kwargs" for p in code.params):
            return True
    return False


def _losses(call: Call, truth: Value, predicted: Value, how: str) -> None:
    """Losses and metrics of the project that `compile` was given: each sees the output that has its key."""
    for name in ("loss", "metrics"):
        todo = [(obj, truth, predicted) for obj in _compiled(call, name)]
        for obj, real, made in todo:  # grows while it is read
            if isinstance(obj, Container) and obj.kind == "dict":
                for key, cell in list(obj.fields.items()):
                    parts = _output(call, real, key), _output(call, made, key)
                    todo += [(item, *parts) for item in call.engine.read(call.frame, cell)]
                continue
            if isinstance(obj, Container | Tup):
                todo += [(item, real, made) for item in call.elements(obj.value)]
            elif not isinstance(obj, Lit | LibInst) and real and made:
                matched = _matched(real, made, isinstance(obj, Inst))
                call.engine.call_value(call.frame, call.pos, obj.value, [matched, made], {}, how)


def _output(call: Call, value: Value, key: object) -> Value:
    """One output of several: by its key where they are a dictionary with that key, else of unknown type."""
    result = BOTTOM
    for obj in value:
        if isinstance(obj, Container) and obj.kind == "dict" and key in obj.fields:
            result = join(result, call.engine.read(call.frame, obj.fields[key]))
        elif isinstance(obj, Container | Tup):
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
    return call.engine.library_instance(call.frame, call.pos, "keras.callbacks.History").value


def _train_on_batch(call: Call) -> Value:
    call.effect("eager_only", call.name)
    obj = call.receiver
    step = "test_step" if "test" in call.name else "predict_step" if "predict" in call.name else "train_step"
    rule = _step(step, training=step == "train_step")
    made = rule(call) if isinstance(obj, Inst | LibInst) else BOTTOM
    if step == "predict_step":
        return made or tensor(NDARRAY).value
    return prim("float", True).value


def _metric_call(call: Call) -> Value:
    obj = call.receiver
    if isinstance(obj, Inst):
        call.method(obj, "update_state", *call.args, how="keras", **call.kwargs)
        made = call.method(obj, "result", how="keras")
        if made:
            return made
    return _SCALAR


def _update_state(call: Call) -> Value:
    return NONE_V


def _minimize(call: Call) -> Value:
    loss = call.arg(0, "loss")
    for obj in loss:
        if not isinstance(obj, Tensor):
            call.call(obj.value)
    variables = call.arg(1, "var_list")
    for obj in variables:
        if not isinstance(obj, Tensor | Container | Tup | Stream):
            call.call(obj.value)
    return NONE_V


def _schedule(call: Call) -> Value:
    obj = call.receiver
    if isinstance(obj, Inst):
        made = call.method(obj, "__call__", tensor(DENSE, "int64", ()).value, how="keras")
        if made:
            return made
    return _SCALAR


def _apply(call: Call) -> Value:
    """`apply_gradients`: the project's learning-rate schedule is called with the step."""
    obj = call.receiver
    if isinstance(obj, LibInst):
        rate = join(call.field(obj, "learning_rate"), call.field(obj, "lr"))
        for schedule in rate:
            if isinstance(schedule, Inst):
                call.call(schedule.value, tensor(DENSE, "int64", ()).value, how="keras")
    return NONE_V


def _rate(call: Call) -> Value:
    obj = call.receiver
    if isinstance(obj, LibInst):
        stored = call.field(obj, "learning_rate")
        if stored and not all(isinstance(o, Lit) for o in stored):
            return stored
    return tensor("variable", "float32", ()).value


def _iterations(call: Call) -> Value:
    return tensor("variable", "int64", ()).value


def _made(name: str) -> Rule:
    """An attribute that is an instance of a library class."""
    return lambda call: call.engine.library_instance(call.frame, call.pos, name).value


def _compiled_optimizer(call: Call) -> Value:
    """The optimizer that `compile` was given; one that is not known where no call of it is seen, or it gave a name."""
    given = frozenset(o for o in _compiled(call, "optimizer") if not isinstance(o, Lit))
    return given or _made("keras.optimizers.Optimizer")(call)


def _arrays(*shapes: tuple[int, ...]) -> Rule:
    """`load_data()`: two pairs of arrays."""

    def rule(call: Call) -> Value:
        x, y = (tensor(NDARRAY, "uint8", shape).value for shape in (shapes[0], shapes[1]))
        xt, yt = (tensor(NDARRAY, "uint8", shape).value for shape in (shapes[2], shapes[3]))
        return tup([tup([x, y]).value, tup([xt, yt]).value]).value

    return rule


def _sequences(call: Call) -> Value:
    pair = tup([tensor(NDARRAY).value, tensor(NDARRAY, "int64").value]).value
    return tup([pair, pair]).value


def _housing(call: Call) -> Value:
    pairs = [
        tup([tensor(NDARRAY, "float64", (n, 13)).value, tensor(NDARRAY, "float64", (n,)).value]).value
        for n in (404, 102)
    ]
    return tup(pairs).value


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
    "__init__": Spec(nothing),
}
_METRIC: Final = {
    "update_state": Spec(_update_state, op=True),
    "result": Spec(lambda call: _SCALAR, op=True),
    "reset_state": Spec(nothing),
    "reset_states": Spec(nothing),
    "__init__": Spec(nothing),
    "add_weight": Spec(lambda call: tensor("variable", "float32", ()).value),
    "get_config": Spec(lambda call: unknown("a configuration").value),
}
_MODEL: Final = {
    "compile": Spec(_compile, effects=("eager_only",)),
    "fit": Spec(_step("train_step", training=True), effects=("eager_only", "print")),
    "fit_generator": Spec(_step("train_step", training=True), effects=("eager_only", "print")),
    "evaluate": Spec(_step("test_step", training=False), effects=("eager_only", "print")),
    "predict": Spec(_step("predict_step", training=False), effects=("eager_only", "print")),
    "train_on_batch": Spec(_train_on_batch),
    "test_on_batch": Spec(_train_on_batch),
    "predict_on_batch": Spec(_train_on_batch),
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
    "train_step": Spec(lambda call: call.list_of(_SCALAR, "dict", "metrics"), op=True),
    "test_step": Spec(lambda call: call.list_of(_SCALAR, "dict", "metrics"), op=True),
    "predict_step": Spec(lambda call: tensor(DENSE).value, op=True),
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

_DATASETS: Final = {
    "mnist": _arrays((60000, 28, 28), (60000,), (10000, 28, 28), (10000,)),
    "fashion_mnist": _arrays((60000, 28, 28), (60000,), (10000, 28, 28), (10000,)),
    "cifar10": _arrays((50000, 32, 32, 3), (50000, 1), (10000, 32, 32, 3), (10000, 1)),
    "imdb": _sequences,
    "reuters": _sequences,
    "boston_housing": _housing,
}

FUNCTIONS: Final[dict[str, Spec]] = {
    **{f"keras.datasets.{name}.load_data": Spec(rule, effects=("io",)) for name, rule in _DATASETS.items()},
    "keras.models.load_model": Spec(
        lambda call: call.engine.library_instance(call.frame, call.pos, "keras.Model").value, effects=("io",)
    ),
    "keras.models.clone_model": Spec(lambda call: call.arg(0)),
    "keras.losses.get": Spec(lambda call: unknown("a loss").value),
    "keras.optimizers.get": Spec(
        lambda call: call.engine.library_instance(call.frame, call.pos, "keras.optimizers.Optimizer").value
    ),
}

CLASSES: Final[dict[str, ClassSpec]] = {
    "keras.Model": ClassSpec(methods=_MODEL, properties=_MODEL_PROPERTIES),
    "keras.optimizers.Optimizer": ClassSpec(
        methods=_OPTIMIZER,
        properties={
            "learning_rate": _rate,
            "lr": _rate,
            "iterations": _iterations,
            "variables": lambda call: call.list_of(tensor("variable").value, "list", "variables"),
        },
    ),
    "tf.compat.v1.train.Optimizer": ClassSpec(methods=_OPTIMIZER),
    "keras.losses.Loss": ClassSpec(
        methods={"__init__": Spec(nothing)},
    ),
    "keras.metrics.Metric": ClassSpec(methods=_METRIC, call=Spec(_metric_call, op=True)),
    "keras.optimizers.schedules.LearningRateSchedule": ClassSpec(
        methods={"__init__": Spec(nothing)}, call=Spec(_schedule, op=True)
    ),
}
