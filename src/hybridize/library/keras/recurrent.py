"""Recurrent layers, their cells, and the wrappers `RNN`, `Bidirectional` and `TimeDistributed`."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, Container, Inst, LibInst, Lit, Obj, Tensor, Tup, Value, tensor, tup
from hybridize.domain.tensors import DENSE, DYNAMIC, SYMBOLIC, Dim, Shape
from hybridize.library.keras.dense import normal
from hybridize.library.keras.settings import LayerCall, Settings, Weights, cast_inputs, layer_class, layer_value
from hybridize.library.operands import Impossible, Unsure
from hybridize.library.shapes import product_of, sum_of
from hybridize.library.spec import Call, ClassSpec, Spec

#: How many state tensors a layer or cell has, and how many gates.
_STATES: Final = {"LSTM": 2, "GRU": 1, "SimpleRNN": 1, "CuDNNLSTM": 2, "CuDNNGRU": 1}
_GATES: Final = {"LSTM": 4, "GRU": 3, "SimpleRNN": 1, "CuDNNLSTM": 4, "CuDNNGRU": 3}


def _time_and_batch(l: LayerCall) -> tuple[Dim, Dim]:
    """The batch and time dims of the input."""
    shape = l.x.known
    if len(shape) < 3:
        raise Impossible
    return (shape[1], shape[0]) if l.settings.default("time_major", False) else (shape[0], shape[1])


def _sequence_shape(l: LayerCall, batch: Dim, time: Dim, rest: tuple[Dim, ...]) -> Shape:
    return (time, batch, *rest) if l.settings.default("time_major", False) else (batch, time, *rest)


def _list(l: LayerCall, values: list[Value], tag: str) -> Value:
    made = l.call.new("list", tag)
    for i, value in enumerate(values):
        l.call.engine.write(l.call.frame, made.cell(i), value, l.call.pos)
    return made.value


def _kind(name: str) -> str:
    return name.rpartition(".")[2].removesuffix("Cell")


def _recurrent(kind: str) -> ClassSpec:
    def rule(l: LayerCall) -> Value:
        batch, time = _time_and_batch(l)
        units = l.settings.dim("units")
        dtype = l.compute_dtype()
        state = l.result(dtype, (batch, units))
        if l.settings.default("return_sequences", False):
            output = l.result(dtype, _sequence_shape(l, batch, time, (units,)))
        else:
            output = state
        if not l.settings.default("return_state", False):
            return output
        # Keras 2 gives a list, Keras 3 a tuple: code that indexes or unpacks sees the same.
        return _list(l, [output] + [state] * _STATES[kind], "states")

    def weights(l: LayerCall) -> Weights:
        units, features = l.settings.dim("units"), l.x.known[-1]
        gates = product_of((units, _GATES[kind]))
        return {"kernel": (features, gates), "recurrent_kernel": (units, gates)}

    return layer_value(rule, properties=normal(settings="units return_sequences return_state go_backwards stateful"))


# Cells ---------------------------------------------------------------------------------------------------------------


def _cell(kind: str) -> ClassSpec:
    def rule(l: LayerCall) -> Value:
        shape = l.x.known
        state = l.result(l.compute_dtype(), (*shape[:-1], l.settings.dim("units")))
        given = l.call.arg(1, "states")
        if kind == "LSTM" or not any(isinstance(o, Tensor) for o in given):
            states = _list(l, [state] * _STATES[kind], "states")
        else:
            states = state
        return tup([state, states]).value

    return layer_value(
        rule,
        methods={"get_initial_state": Spec(_initial_states(kind))},
        properties=normal(settings="units") | {"state_size": lambda call: _state_size(call, kind)},
    )


def _units(call: Call) -> Dim:
    assert call.receiver is not None
    return Settings(call, call.receiver, layer_class(call, call.receiver)).dim("units")


def _state_size(call: Call, kind: str) -> Value:
    from hybridize.library.convert import dim_value

    size = dim_value(_units(call))
    if _STATES[kind] == 1:
        return size
    made = call.new("list", "state_size")
    for i in range(_STATES[kind]):
        call.engine.write(call.frame, made.cell(i), size, call.pos)
    return made.value


def _initial_states(kind: str):  # type: ignore[no-untyped-def]
    def rule(call: Call) -> Value:
        from hybridize.library.convert import dim_of

        batch: Dim = DYNAMIC
        for name, index in (("batch_size", 0 if len(call.args) == 1 else 1),):
            given = call.kwargs.get(name, BOTTOM) or (call.args[index] if index < len(call.args) else BOTTOM)
            if given:
                batch = dim_of(given)
        state = tensor(DENSE, None, (batch, _units(call))).value
        if _STATES[kind] == 1:
            return state
        made = call.new("list", "states")
        for i in range(_STATES[kind]):
            call.engine.write(call.frame, made.cell(i), state, call.pos)
        return made.value

    return rule


# Wrappers ------------------------------------------------------------------------------------------------------------


def _inner(l: LayerCall, name: str) -> Obj:
    obj = l.settings.object(name)
    if obj is None:
        raise Impossible
    return obj


def _time_distributed(l: LayerCall) -> Value:
    """The inner layer is called on one time step, or on steps and batch as one dim: either way without the time dim."""
    inner = l.settings.value("layer")
    try:
        x = l.x
    except Unsure:
        l.call.call(inner, tensor(DENSE).value, how="keras")
        raise
    kind = SYMBOLIC if SYMBOLIC in l.args.kinds else DENSE
    if x.shape is None or len(x.shape) < 2:
        l.call.call(inner, tensor(kind, x.dtype).value, how="keras")
        raise Unsure
    # Keras picks the dim that the inner layer sees by the static shape: a known batch stays.
    batch = x.shape[0] if x.shape[0] >= 0 else DYNAMIC
    made = l.call.call(inner, tensor(kind, l.cast(x), (batch, *x.shape[2:])).value, how="keras")
    result = BOTTOM
    for obj in made:
        if not isinstance(obj, Tensor):
            raise Unsure
        shape = None if not obj.shape else (x.shape[0], x.shape[1], *obj.shape[1:])
        result = join(result, l.result(obj.dtype, shape))
    return result


def _call_cell(l: LayerCall, cell: Value, dtype: str | None, shape: Shape) -> Value:
    """Calls the project's cell on one time step, with states of the sizes it declares."""
    batch = shape[0] if shape else DYNAMIC
    step = tensor(DENSE, dtype, None if shape is None else (shape[0], *shape[2:])).value
    sizes = l.call.engine.get_attrs(l.call.frame, cell, "state_size", l.call.pos)
    return l.call.call(cell, step, _initial(l, sizes, batch, dtype), how="keras")


def _initial(l: LayerCall, sizes: Value, batch: Dim, dtype: str | None) -> Value:
    """The state tensors for a declared `state_size`."""
    from hybridize.library.convert import dim_of

    if len(sizes) == 1:
        (obj,) = sizes
        if isinstance(obj, Lit) and isinstance(obj.const, int):
            return tup([tensor(DENSE, dtype, (batch, obj.const)).value]).value
        if isinstance(obj, Tup) and obj.kind == "tuple":
            return tup([tensor(DENSE, dtype, (batch, dim_of(item))).value for item in obj.items]).value
        if isinstance(obj, Container) and obj.kind == "list" and l.call.engine.is_exact(l.call.frame, obj):
            items = [l.call.engine.read(l.call.frame, c) for c in list(obj.fields.values())]
            return tup([tensor(DENSE, dtype, (batch, dim_of(item))).value for item in items]).value
    return l.call.list_of(tensor(DENSE, dtype).value, "list", "initial states")


def _rnn(l: LayerCall) -> Value:
    cell = l.settings.value("cell")
    x = l.x
    dtype = l.compute_dtype()
    kinds = [o for o in cell]
    if len(kinds) == 1 and isinstance(kinds[0], LibInst) and _kind(kinds[0].cls) in _STATES:
        units = Settings(l.call, kinds[0], kinds[0].cls).dim("units")
        batch, time = _time_and_batch(l)
        return _rnn_result(l, batch, time, (units,), dtype, _STATES[_kind(kinds[0].cls)])
    shape = x.shape
    if shape is not None and l.settings.default("time_major", False):
        raise Unsure
    made = _call_cell(l, cell, l.cast(x), shape)
    outputs = BOTTOM
    for obj in made:
        if isinstance(obj, Tup) and len(obj.items) == 2:
            outputs = join(outputs, obj.items[0])
    if len(outputs) != 1 or shape is None or len(shape) < 3 or l.settings.default("return_state", False):
        raise Unsure
    (output,) = outputs
    if not isinstance(output, Tensor) or output.shape is None:
        raise Unsure
    rest = output.shape[1:]
    sequences = l.settings.default("return_sequences", False)
    return l.result(output.dtype, (shape[0], shape[1], *rest) if sequences else (shape[0], *rest))


def _rnn_result(l: LayerCall, batch: Dim, time: Dim, rest: tuple[Dim, ...], dtype: str | None, states: int) -> Value:
    state = l.result(dtype, (batch, *rest))
    output = state
    if l.settings.default("return_sequences", False):
        output = l.result(dtype, _sequence_shape(l, batch, time, rest))
    if not l.settings.default("return_state", False):
        return output
    return _list(l, [output] + [state] * states, "states")


def _bidirectional(l: LayerCall) -> Value:
    """Both directions of the inner layer; their outputs merged, their states after one another."""
    inner = l.settings.value("layer")
    made = l.call.call(inner, *l.call.args[:1], how="keras")
    backward = l.settings.value("backward_layer")
    if any(isinstance(o, Inst | LibInst) for o in backward):
        if l.call.call(backward, *l.call.args[:1], how="keras") and len(inner) == 1:
            raise Unsure
    mode = l.settings.constant("merge_mode", default="concat")
    if len(made) != 1:
        raise Unsure
    (obj,) = made
    if isinstance(obj, Tensor):
        return _merged(l, obj, mode)
    if isinstance(obj, Container) and obj.exact:
        values = [l.call.engine.read(l.call.frame, c) for c in list(obj.fields.values())]
        (first,) = values[0] if len(values[0]) == 1 else (None,)
        if isinstance(first, Tensor) and mode is not None:
            return _list(l, [_merged(l, first, mode), *values[1:], *values[1:]], "both states")
    raise Unsure


def _merged(l: LayerCall, one: Tensor, mode: object) -> Value:
    if mode is None:
        return _list(l, [one.value, one.value], "both directions")
    if mode != "concat":
        return one.value
    shape = None if not one.shape else (*one.shape[:-1], sum_of((one.shape[-1], one.shape[-1])))
    return tensor(one.kind, one.dtype, shape).value


def _lambda(l: LayerCall) -> Value:
    """`Lambda(f)` calls f on the inputs, cast as for any layer."""
    func = l.settings.value("function")
    args = cast_inputs(l.call, list(l.call.args))
    if not func or not args or l.settings.given("arguments"):
        raise Unsure
    return l.call.call(func, *args, how="keras")


_WRAPPER: Final = ("keras.layers.Layer",)

CLASSES: Final[dict[str, ClassSpec]] = {
    **{f"keras.layers.{kind}": _recurrent(kind) for kind in _STATES},
    **{f"keras.layers.{kind}Cell": _cell(kind) for kind in ("LSTM", "GRU", "SimpleRNN")},
    "keras.layers.Lambda": layer_value(_lambda, bases=_WRAPPER),
    "keras.layers.RNN": layer_value(_rnn, bases=_WRAPPER),
    "keras.layers.TimeDistributed": layer_value(_time_distributed, bases=_WRAPPER),
    "keras.layers.Bidirectional": layer_value(_bidirectional, bases=_WRAPPER),
}
