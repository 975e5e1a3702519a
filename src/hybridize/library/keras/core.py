"""Keras' base protocols: calling a layer reaches `build` and `call`; weights; symbolic tensors; functional models."""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOOL_V,
    BOTTOM,
    NONE_V,
    STR_V,
    Class,
    Container,
    Inst,
    LibInst,
    Obj,
    Tensor,
    Tup,
    Value,
    literal,
    prim,
    tensor,
    unknown,
)
from hybridize.domain.tensors import BATCH, DENSE, DYNAMIC, NDARRAY, SYMBOLIC, VARIABLE, Shape
from hybridize.library import registry
from hybridize.library.convert import PYTHON_TF, dtype_of, shape_of, shape_value, type_of_value
from hybridize.library.defaults import keep_arguments
from hybridize.library.keras.calling import call_layer, call_library_model, call_sequence, holds, is_symbolic
from hybridize.library.keras.drawn import keep_applied
from hybridize.library.keras.growth import add_layer, begin
from hybridize.library.keras.hooks import run_weight_hook
from hybridize.library.keras.kinds import as_kind
from hybridize.library.keras.settings import (
    float_of_inputs,
    global_float,
    init_layer,
    settings_of_receiver,
    weight_dtype,
)
from hybridize.library.keras.tracking import (
    FIXED,
    OTHER_WEIGHTS,
    TRAINABLE,
    direct_layers,
    fixed_weights,
    tracked_weights,
    trainable_weights,
    weight_arrays,
)
from hybridize.library.spec import Call, ClassSpec, Rule, Spec, nothing


def _build(call: Call) -> Value:
    """`layer.build(input_shape)`: a library layer is built on that shape, a model is called on a symbolic tensor."""
    obj = call.receiver
    given = call.arg(0, "input_shape")
    several = _shapes(call, given)
    if several and isinstance(obj, Inst) and "keras.Model" in registry.mro_names(obj):
        inputs = call.listed([_placeholder(call, shape_of(call, each)) for each in several], "inputs")
        call.method(obj, "call", inputs, how=How.KERAS)
        return NONE_V
    shape = None if several else shape_of(call, given)
    if shape is None or not isinstance(obj, (Inst, LibInst)):
        return NONE_V
    traced = _placeholder(call, shape)
    if isinstance(obj, LibInst):
        if holds(call, obj, "$layers"):
            call_sequence(call, obj, [as_kind(call, traced, SYMBOLIC)])
        elif not holds(call, obj, "$outputs"):
            call.write(obj.cell("$built"), traced)
    elif "keras.Sequential" in registry.mro_names(obj):
        call_sequence(call, obj, [as_kind(call, traced, SYMBOLIC)])
    elif "keras.Model" in registry.mro_names(obj):
        call.method(obj, "call", traced, how=How.KERAS)
    return NONE_V


def _placeholder(call: Call, shape: Shape) -> Value:
    """What a model is called with to be built on a shape."""
    known = None if shape is None else tuple(DYNAMIC if d < 0 else d for d in shape)
    return tensor(DENSE, global_float(call), known).value


def _shapes(call: Call, given: Value) -> list[Value]:
    """The shapes, where a list or tuple of them is given."""
    if len(given) != 1:
        return []
    (obj,) = given
    items: list[Value] = []
    if isinstance(obj, Tup):
        items = list(obj.items)
    elif isinstance(obj, Container) and obj.kind == "list" and call.is_exact(obj):
        items = call.read_all(obj)
    is_several = bool(items) and all(v and all(isinstance(o, (Tup, Container)) for o in v) for v in items)
    return items if is_several else []


def _init_wrapper(call: Call) -> Value:
    """`super().__init__(layer)` of a project's wrapper."""
    init_layer(call)
    if isinstance(call.receiver, Inst) and call.args:
        call.write(call.receiver.cell("layer"), call.args[0])
    return NONE_V


def _build_wrapper(call: Call) -> Value:
    """`super().build(input_shape)` of a project's wrapper: the layer inside is built."""
    if isinstance(call.receiver, Inst):
        for inner in call.read(call.receiver.cell("layer")):
            _build(Call(call.engine, call.frame, call.pos, call.name, call.args, call.kwargs, inner))
    return NONE_V


def _make_model(call: Call) -> Value:
    """`keras.Model(inputs, outputs)`: a functional model."""
    made = keep_arguments(call)
    call.keep(made, "$outputs", call.arg(1, "outputs"))
    keep_applied(call, made)
    return made.value


def _init_model(call: Call) -> Value:
    """`super().__init__(inputs=..., outputs=...)` of a subclass."""
    init_layer(call)
    outputs = call.arg(1, "outputs")
    if outputs and isinstance(call.receiver, Inst):
        call.write(call.receiver.cell("$outputs"), outputs)
        keep_applied(call, call.receiver)
    return NONE_V


def _make_sequential(call: Call) -> Value:
    made = keep_arguments(call)
    layers = call.arg(0, "layers")
    call.keep(made, "$layers", layers if layers and layers is not NONE_V else begin(call).value)
    _build_sequence(call, made, layers)
    return made.value


def _build_sequence(call: Call, obj: Inst | LibInst, layers: Value) -> None:
    """A `Sequential` that begins with an `Input` is built at once."""
    for group in layers:
        if isinstance(group, Container) and call.is_exact(group) and group.fields:
            first = call.read(next(iter(group.fields.values())))
            if first and all(isinstance(o, Tensor) and o.kind == SYMBOLIC for o in first):
                call_sequence(call, obj, [first])


def _init_sequential(call: Call) -> Value:
    layers = call.arg(0, "layers")
    if isinstance(call.receiver, Inst):
        value = layers if layers and layers is not NONE_V else begin(call).value
        call.write(call.receiver.cell("$layers"), value)
        _build_sequence(call, call.receiver, layers)
    return NONE_V


def _add(call: Call) -> Value:
    """`model.add(layer)`."""
    obj = call.receiver
    if isinstance(obj, (LibInst, Inst)):
        for group in call.read(obj.cell("$layers")):
            if isinstance(group, Container):
                add_layer(call, group, call.arg(0, "layer"))
    call.effect("mutate", "Sequential.add", obj)
    return NONE_V


def _pop(call: Call) -> Value:
    """`model.pop()`: which layers are left is not followed."""
    obj = call.receiver
    if isinstance(obj, (LibInst, Inst)):
        for group in call.read(obj.cell("$layers")):
            if isinstance(group, Container):
                call.engine.cells.lose_exactness(group)
    return NONE_V


def _call_any(call: Call) -> Value:
    obj = call.receiver
    if isinstance(obj, Inst):
        return call_layer(call)
    if isinstance(obj, LibInst) and (holds(call, obj, "$outputs") or holds(call, obj, "$layers")):
        return call_library_model(call)
    symbolic = any(is_symbolic(call, v) for v in call.args)
    return tensor(SYMBOLIC if symbolic else DENSE).value


def _run_model(call: Call) -> Value:
    """`model.call(x)`, without what Keras does around it: the layers of a library's model run all the same."""
    if isinstance(call.receiver, LibInst):
        return _call_any(call)
    return tensor(SYMBOLIC if is_symbolic(call, call.every()) else DENSE).value


def _add_weight(call: Call) -> Value:
    """`self.add_weight(shape, dtype)`; Keras 2 takes `name` first, Keras 3 `shape`."""
    shape: Shape = None
    for value in (call.kwargs.get("shape", BOTTOM), *call.args[:2]):
        if shape is None and value and not any(o in STR_V for o in value):
            shape = shape_of(call, value)
    dtype = dtype_of(call.kwargs.get("dtype", BOTTOM))
    if "dtype" not in call.kwargs:
        dtype = weight_dtype(settings_of_receiver(call)) if call.receiver is not None else "float32"
    made = tensor(VARIABLE, dtype, shape).value
    for role in ("initializer", "regularizer", "constraint"):
        if role in call.kwargs:
            run_weight_hook(call, role, call.kwargs[role], made)
    return made


def _input(call: Call) -> Value:
    """`keras.Input(shape, batch_size)`: a symbolic tensor with a batch dim."""
    given = call.arg(-1, "tensor")
    if given and given is not NONE_V:
        return given
    shape = shape_of(call, call.arg(0, "shape"))
    batch = call.constant(1, "batch_size")
    full = None if shape is None else ((batch if isinstance(batch, int) else BATCH), *shape)
    other = call.kwargs.get("batch_shape") or call.kwargs.get("batch_input_shape")
    if other:
        full = shape_of(call, other)
    given = call.arg(3, "dtype")
    dtype = dtype_of(given) or (None if given and given is not NONE_V else float_of_inputs(call))
    return tensor(SYMBOLIC, dtype, full).value


def _symbolic(call: Call) -> Value:
    """`keras.backend.placeholder(shape, ndim, dtype)`: a symbolic tensor of Keras."""
    return tensor(SYMBOLIC, dtype_of(call.arg(2, "dtype")), shape_of(call, call.arg(0, "shape"))).value


def _property(name: str) -> Rule:
    return lambda call: unknown(f"`{name}` of a layer").value


def _without_inputs(call: Call, layers: Value) -> Value:
    """The list of a model's layers: what it was told of its inputs is none of them."""
    for group in layers if len(layers) == 1 else ():
        if isinstance(group, Container) and call.is_exact(group):
            values = [call.read(cell) for cell in group.fields.values()]
            kept = [value for value in values if not value or not all(map(_is_input, value))]
            if len(kept) < len(values):
                return call.listed(kept, "layers")
    return layers


def _is_input(obj: Obj) -> bool:
    symbolic = isinstance(obj, Tensor) and obj.kind == SYMBOLIC
    return symbolic or (isinstance(obj, LibInst) and obj.cls == "keras.layers.InputLayer")


def _layers(call: Call) -> Value:
    obj = call.receiver
    if isinstance(obj, (LibInst, Inst)):
        own = call.read(obj.cell("$layers"))
        if own:
            return _without_inputs(call, own)
    return direct_layers(call)


def _dtype(call: Call) -> Value:
    return literal("float32").value


def _class_config(call: Call) -> Value:
    """`get_config()`: of a project's layer what every layer has, which its own method adds to."""
    made = call.new("dict", "config")
    if isinstance(call.receiver, Inst) and "keras.Model" not in registry.mro_names(call.receiver):
        dtype = literal(weight_dtype(settings_of_receiver(call)) or "float32").value
        for key, value in (("name", STR_V), ("trainable", BOOL_V), ("dtype", dtype)):
            call.write(made.cell(key), value)
        return made.value
    call.engine.cells.lose_exactness(made)
    call.write(made.rest_cell(), unknown("a configuration value").value)
    return made.value


def _functional_output(call: Call) -> Value:
    obj = call.receiver
    outputs = call.read(obj.cell("$outputs")) if isinstance(obj, (LibInst, Inst)) else BOTTOM
    return outputs or tensor(SYMBOLIC).value


def _functional_input(call: Call) -> Value:
    obj = call.receiver
    given = call.read(obj.cell("inputs")) if isinstance(obj, LibInst) else BOTTOM
    return given or tensor(SYMBOLIC).value


def _functional_inputs(call: Call) -> Value:
    """The inputs of a functional model as a list, whatever structure they were given in."""
    given = _functional_input(call)
    if any(isinstance(o, (Container, Tup)) for o in given):
        return given
    return call.listed([given], "inputs")


def _from_config(call: Call) -> Value:
    """`cls.from_config(config)`: the class is called with what the dictionary holds."""
    made, cls = BOTTOM, call.receiver
    for obj in call.arg(0, "config"):
        if isinstance(cls, Class) and isinstance(obj, Container) and obj.kind == "dict":
            given = {str(key): call.read(cell) for key, cell in list(obj.fields.items())}
            if not call.is_exact(obj):
                given["**"] = call.read(obj.rest_cell())
            made = join(made, call.engine.calls.call_value(call.frame, call.pos, cls.value, [], given))
    return made or _get_layer(call)


def _get_layer(call: Call) -> Value:
    return call.made("keras.layers.Layer").value


LAYER_PROPERTIES: Final[dict[str, Rule]] = {
    **dict.fromkeys(TRAINABLE, trainable_weights),
    **dict.fromkeys(FIXED, fixed_weights),
    **dict.fromkeys(OTHER_WEIGHTS, tracked_weights),
    "losses": lambda call: call.list_of(tensor(DENSE, "float32", ()).value, "list", "losses"),
    "updates": lambda call: call.list_of(tensor(DENSE).value, "list", "updates"),
    "metrics": lambda call: call.list_of(call.made("keras.metrics.Metric").value, "list", "metrics"),
    "name": lambda call: STR_V,
    "dtype": _dtype,
    "compute_dtype": _dtype,
    "variable_dtype": _dtype,
    "_compute_dtype": _dtype,
    "input_spec": _property("input_spec"),
    "output_shape": _property("output_shape"),
    "input_shape": _property("input_shape"),
    "output": _functional_output,
    "input": _functional_input,
    "outputs": lambda call: call.list_of(_functional_output(call), "list", "outputs"),
    "inputs": _functional_inputs,
}
_LAYER_METHODS: Final[dict[str, Spec]] = {
    "__init__": Spec(nothing),
    "build": Spec(_build),
    "call": Spec(_run_model, op=True),
    "__call__": Spec(_call_any, op=True),
    "add_weight": Spec(_add_weight),
    "add_variable": Spec(_add_weight),
    "add_loss": Spec(nothing),
    "add_metric": Spec(nothing),
    "add_update": Spec(nothing),
    "get_config": Spec(_class_config),
    "get_weights": Spec(weight_arrays, effects=("eager_only",)),
    "set_weights": Spec(nothing, effects=("eager_only",)),
    "compute_output_shape": Spec(_property("an output shape")),
    "compute_mask": Spec(lambda call: join(tensor(DENSE, "bool").value, NONE_V)),
    "count_params": Spec(lambda call: prim("int").value),
    "from_config": Spec(_from_config),
    "get_input_shape_at": Spec(_property("an input shape")),
}

FUNCTIONS: Final[dict[str, Spec]] = {
    "keras.Input": Spec(_input),
    "keras.backend.placeholder": Spec(_symbolic),
    "keras.backend.clear_session": Spec(nothing, effects=("state",)),
    "keras.backend.floatx": Spec(lambda call: literal("float32").value),
    "keras.backend.epsilon": Spec(lambda call: prim("float").value),
    "keras.backend.image_data_format": Spec(lambda call: STR_V),
    "keras.backend.set_learning_phase": Spec(nothing, effects=("state",)),
    "keras.backend.learning_phase_scope": Spec(lambda call: unknown("a scope").value, effects=("state",)),
    "keras.backend.set_value": Spec(nothing, effects=("eager_only",)),
    "keras.backend.get_value": Spec(lambda call: tensor(NDARRAY).value, effects=("eager_only",)),
    "keras.backend.int_shape": Spec(lambda call: shape_value(_shape_of_first(call), "tuple")),
    "keras.backend.is_keras_tensor": Spec(lambda call: BOOL_V),
    "keras.backend.ndim": Spec(lambda call: prim("int").value),
    "keras.backend.dtype": Spec(lambda call: _dtype_of_first(call)),
    "keras.backend.standardize_dtype": Spec(lambda call: STR_V),
    "keras.backend.result_type": Spec(lambda call: STR_V),
    "keras.backend.backend": Spec(lambda call: literal("tensorflow").value),
    "keras.backend.count_params": Spec(lambda call: prim("int").value),
    **{
        f"keras.backend.{name}": Spec(lambda call: BOOL_V)
        for name in ("is_sparse", "is_tensor", "is_int_dtype", "is_float_dtype")
    },
    "keras.utils.plot_model": Spec(nothing, effects=("io",)),
    "keras.utils.set_random_seed": Spec(nothing, effects=("random",)),
    "keras.utils.to_categorical": Spec(lambda call: tensor(NDARRAY, "float32", _one_more(call)).value),
    "keras.utils.get_file": Spec(lambda call: STR_V, effects=("io",)),
}


def _dtype_of_first(call: Call) -> Value:
    """`keras.backend.dtype`: the name of a tensor's dtype, which Python knows while it traces."""
    result = BOTTOM
    for obj in call.arg(0, "x"):
        known = obj.dtype if isinstance(obj, Tensor) else None
        result = join(result, literal(known).value if known is not None else STR_V)
    return result or STR_V


def _shape_of_first(call: Call) -> Shape:
    for obj in call.arg(0, "x"):
        if isinstance(obj, Tensor):
            return obj.shape
    return None


def _one_more(call: Call) -> Shape:
    _, shape = type_of_value(call, call.arg(0), PYTHON_TF)
    classes = call.constant(1, "num_classes")
    return None if shape is None else (*shape, classes if isinstance(classes, int) else -2)


CLASSES: Final[dict[str, ClassSpec]] = {
    "keras.layers.Layer": ClassSpec(
        bases=("tf.Module",), methods=_LAYER_METHODS, properties=LAYER_PROPERTIES, call=Spec(_call_any, op=True)
    ),
    "keras.layers.Wrapper": ClassSpec(
        bases=("keras.layers.Layer",), methods={"__init__": Spec(_init_wrapper), "build": Spec(_build_wrapper)}
    ),
    "keras.Model": ClassSpec(
        bases=("keras.layers.Layer",),
        methods={"__init__": Spec(_init_model), "get_layer": Spec(_get_layer)},
        properties={"layers": _layers},
        make=_make_model,
    ),
    "keras.Sequential": ClassSpec(
        bases=("keras.Model",),
        methods={"__init__": Spec(_init_sequential), "add": Spec(_add), "pop": Spec(_pop, effects=("mutate",))},
        make=_make_sequential,
    ),
}
