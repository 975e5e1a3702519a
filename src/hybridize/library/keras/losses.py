"""Losses and metrics: functions, and the classes around them."""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, NONE, NONE_V, Inst, Lib, Lit, Obj, Tensor, Value, tensor
from hybridize.domain.tensors import DENSE, NDARRAY, RAGGED, SYMBOLIC, UNRESOLVED, Shape
from hybridize.library.convert import dtype_of, shape_of
from hybridize.library.keras.settings import init_layer, is_float, layer_class, make_layer, settings_of_receiver
from hybridize.library.operands import Args, Impossible, Operand, Unsure, expand, group, op
from hybridize.library.shapes import broadcast_all, reduced
from hybridize.library.spec import Call, ClassSpec, Rule, Spec

_MEAN_LAST: Final = """
    mean_squared_error mean_absolute_error mean_absolute_percentage_error mean_squared_logarithmic_error
    hinge squared_hinge categorical_hinge log_cosh poisson kl_divergence
"""


def _names(words: str) -> str:
    """Functions that exist under `losses` and `metrics` (one is an alias of the other) or only one of them."""
    return " ".join(f"{prefix}.{w}" for w in words.split() for prefix in ("keras.losses", "keras.metrics"))


def _float(o: Operand) -> str | None:
    """The dtype of predictions: arrays and Python values are not sure to keep theirs."""
    if o.dtype == "float32":
        return o.dtype
    return o.dtype if is_float(o.dtype) and not o.weak else None


def _predicted(a: Args) -> str | None:
    return _float(a.tensor("y_pred"))


def _pair(a: Args) -> tuple[int, ...]:
    shape = broadcast_all((a.tensor("y_true").shape, a.tensor("y_pred").shape))
    if not shape:
        raise Unsure
    return shape


def _last(a: Args) -> Shape:
    return _pair(a)[:-1]


def _along(a: Args) -> Shape:
    axis = a.integer("axis", default=-1)
    return reduced(_pair(a), (axis,), False)


def _sparse(a: Args) -> Shape:
    axis = a.integer("axis", default=-1)
    return reduced(a.tensor("y_pred").known, (axis,), False)


def _sparse_last(a: Args) -> Shape:
    return a.tensor("y_pred").known[:-1]


FUNCTIONS: Final[dict[str, Spec]] = {
    **group(_names(_MEAN_LAST), op(_predicted, _last)),
    # Keras 2 computes this one in the default float.
    **group(_names("huber"), op(lambda a: "float32" if _predicted(a) == "float32" else None, _last)),
    **group(_names("binary_crossentropy binary_focal_crossentropy"), op(_predicted, _along)),
    **group(_names("categorical_crossentropy categorical_focal_crossentropy"), op(_predicted, _along)),
    **group(_names("sparse_categorical_crossentropy"), op(_predicted, _sparse)),
    "keras.losses.cosine_similarity": op(_predicted, _along),
    # Keras 2 gives the mean of the last dim, Keras 3 does not.
    "keras.metrics.binary_accuracy": op(lambda a: "float32" if _predicted(a) == "float32" else None, lambda a: None),
    "keras.metrics.categorical_accuracy": op(lambda a: "float32" if _predicted(a) == "float32" else None, _last),
    "keras.metrics.sparse_categorical_accuracy": op(
        lambda a: "float32" if _predicted(a) == "float32" else None, _sparse_last
    ),
    "keras.metrics.top_k_categorical_accuracy": op(
        lambda a: "float32" if _predicted(a) == "float32" else None, _sparse_last
    ),
    "keras.metrics.sparse_top_k_categorical_accuracy": op(
        lambda a: "float32" if _predicted(a) == "float32" else None, _sparse_last
    ),
}

# Loss objects --------------------------------------------------------------------------------------------------------

#: What a loss gives for each sample: the predictions' shape without its last dim, or without a chosen axis.
_ELEMENTWISE: Final = """
    MeanSquaredError MeanAbsoluteError MeanAbsolutePercentageError MeanSquaredLogarithmicError Hinge SquaredHinge
    CategoricalHinge LogCosh Huber Poisson KLDivergence BinaryCrossentropy BinaryFocalCrossentropy
    CategoricalCrossentropy CategoricalFocalCrossentropy SparseCategoricalCrossentropy CosineSimilarity
"""


def _unreduced(call: Call) -> bool:
    """Whether the reduction is none. `Unsure` if it is not known."""
    settings = settings_of_receiver(call)
    obj = settings.object("reduction")
    if isinstance(call.receiver, Inst) and "$made" not in call.receiver.fields:
        raise Unsure
    match obj:
        case None:
            return False
        case Lit(const=const):
            return const in ("none", None)
        case Lib(name=name):
            return name.endswith("NONE")
    raise Unsure


def _loss_dtype(call: Call, a: Args) -> str | None:
    settings = settings_of_receiver(call)
    if settings.given("dtype"):
        return None
    predicted = a.tensor("y_pred")
    return "float32" if predicted.dtype == "float32" else None


def seen_dtype(dtype: str | None) -> str | None:
    """The dtype in which a project's loss sees a tensor: Keras 3 converts to floats, Keras 2 keeps integers."""
    return dtype if dtype == "float32" else None


def _seen(value: Value) -> Value:
    """An argument of a project's loss object: Keras 3 converts it, Keras 2 leaves it as it is."""
    result = BOTTOM
    for obj in value:
        if isinstance(obj, Tensor):
            for kind in {obj.kind, DENSE} if obj.kind == NDARRAY else {obj.kind}:
                result = join(result, tensor(kind, seen_dtype(obj.dtype), obj.shape).value)
        else:
            result = join(result, obj.value)
    return result


def _loss_call(call: Call) -> Value:
    """`super().call(y_true, y_pred)`: one loss for each example."""

    def one(inner: Call) -> Value:
        a = Args(inner, "", ("y_true", "y_pred"))
        try:
            return tensor(DENSE, _loss_dtype(inner, a), _loss_shape(inner, a)).value
        except (Unsure, Impossible):
            return tensor(DENSE).value

    return expand(call, one)


def _loss(call: Call) -> Value:
    """`loss(y_true, y_pred)`: reduced to a scalar unless told otherwise."""
    receiver = call.receiver
    made = BOTTOM
    if isinstance(receiver, Inst):
        made = call.method(receiver, "call", *map(_seen, call.args[:2]), how=How.KERAS)

    def one(inner: Call) -> Value:
        a = Args(inner, "", ("y_true", "y_pred"))
        dtype: str | None = None
        shape: Shape = None
        try:
            dtype = _loss_dtype(inner, a)
            shape = _loss_shape(inner, a) if _unreduced(inner) else ()
        except (Unsure, Impossible):
            pass
        return tensor(a.kind() if a.kind() != RAGGED else DENSE, dtype, shape).value

    return _reduced(call, made) if made else expand(call, one)


def _reduced(call: Call, made: Value) -> Value:
    """What the project's `call` gives, after the reduction."""
    try:
        if _unreduced(call):
            return made
        shape: Shape = ()
    except Unsure:
        shape = None
    result = BOTTOM
    for obj in made:
        if isinstance(obj, Tensor):
            dtype = obj.dtype if obj.dtype == "float32" else None
            kind = SYMBOLIC if obj.kind == SYMBOLIC else DENSE
            result = join(result, tensor(kind, dtype, shape if shape is not None or obj.shape != () else ()).value)
        else:
            result = join(result, tensor(DENSE, None, shape).value)
    return result


def _loss_shape(call: Call, a: Args) -> Shape:
    name = layer_class(call, call.receiver) if call.receiver is not None else ""
    settings = settings_of_receiver(call)
    last = name.rpartition(".")[2]
    axis = settings.integer("axis", default=-1)
    if last == "SparseCategoricalCrossentropy":
        return a.tensor("y_pred").known[:-1]
    if last not in _ELEMENTWISE.split():
        raise Unsure
    return reduced(_pair(a), (axis,), False)


# Metric objects ------------------------------------------------------------------------------------------------------

_SCALAR_METRICS: Final = """
    Accuracy AUC BinaryAccuracy BinaryCrossentropy BinaryIoU CategoricalAccuracy CategoricalCrossentropy
    CategoricalHinge CosineSimilarity Hinge IoU KLDivergence LogCoshError Mean MeanAbsoluteError
    MeanAbsolutePercentageError MeanIoU MeanMetricWrapper MeanSquaredError MeanSquaredLogarithmicError
    OneHotIoU OneHotMeanIoU Poisson
    RootMeanSquaredError SparseCategoricalAccuracy SparseCategoricalCrossentropy
    SparseTopKCategoricalAccuracy
    SquaredHinge Sum TopKCategoricalAccuracy MeanRelativeError
    PrecisionAtRecall RecallAtPrecision SensitivityAtSpecificity SpecificityAtSensitivity
"""
_THRESHOLD_METRICS: Final = "Precision Recall TruePositives TrueNegatives FalsePositives FalseNegatives"


def _metric_value(call: Call) -> Value:
    """`metric.result()`."""
    settings = settings_of_receiver(call)
    last = settings.name.rpartition(".")[2]
    shape: Shape = None
    try:
        dtype = None if settings.given("dtype") else "float32"
        if last in _THRESHOLD_METRICS.split():
            obj = settings.object("thresholds")
            if obj is None or obj is NONE or isinstance(obj, Lit):
                shape = ()
        elif last in ("F1Score", "FBetaScore"):
            if settings.given("average"):
                shape = ()
            else:
                shape = (UNRESOLVED,)
        elif last in _SCALAR_METRICS.split():
            shape = ()
    except Unsure:
        return tensor(DENSE).value
    return tensor(DENSE, dtype, shape).value


def updated(call: Call) -> Value:
    """What `metric(...)` gives where the project has its class: `update_state`, then `result`; else nothing."""
    if not isinstance(call.receiver, Inst):
        return BOTTOM
    call.method(call.receiver, "update_state", *call.args, how=How.KERAS, **call.kwargs)
    return call.method(call.receiver, "result", how=How.KERAS)


def _metric_call(call: Call) -> Value:
    return updated(call) or _metric_value(call)


def _metric_weight(call: Call) -> Value:
    """`add_weight` of a metric: Keras 2 takes the name first, Keras 3 the shape; a scalar by default."""
    if "shape" in call.kwargs or len(call.args) > 1 or any(not _is_string(o) for v in call.args for o in v):
        given = call.kwargs.get("shape", BOTTOM)
        if not given:
            given = next((v for v in call.args[:2] if not any(_is_string(o) for o in v)), BOTTOM)
        return tensor("variable", _weight_dtype(call), shape_of(call, given) if given else None).value
    return tensor("variable", _weight_dtype(call), ()).value


def _weight_dtype(call: Call) -> str | None:
    given = call.kwargs.get("dtype", BOTTOM)
    if given and given is not NONE_V:
        return dtype_of(given)
    return "float32" if len(call.args) < 3 else None


def _is_string(obj: Obj) -> bool:
    return getattr(obj, "kind", "") == "str"


_RESULT: Final[Rule] = _metric_value

CLASSES: Final[dict[str, ClassSpec]] = {
    "keras.losses.Loss": ClassSpec(
        make=make_layer,
        methods={"__init__": Spec(init_layer), "call": Spec(_loss_call, op=True)},
        call=Spec(_loss, op=True),
    ),
    "keras.metrics.Metric": ClassSpec(
        make=make_layer,
        methods={
            "__init__": Spec(init_layer),
            "result": Spec(_RESULT, op=True),
            "add_weight": Spec(_metric_weight),
            "add_variable": Spec(_metric_weight),
        },
        call=Spec(_metric_call, op=True),
    ),
}
