"""Recurrent layers, their cells, and the wrappers `RNN`, `Bidirectional` and `TimeDistributed`."""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, Container, Inst, LibInst, Lit, Obj, Tensor, Tup, Value, tensor, tup
from hybridize.domain.tensors import DENSE, DYNAMIC, SYMBOLIC, Dim, Shape
from hybridize.library.convert import dim_of, dim_value
from hybridize.library.keras.calling import call_inside
from hybridize.library.keras.dense import normal
from hybridize.library.keras.models import LayerValue, layer_value
from hybridize.library.keras.settings import LayerCall, Settings, cast_inputs, entered, layer_class
from hybridize.library.operands import Impossible, Unsure
from hybridize.library.shapes import sum_of
from hybridize.library.spec import Call, ClassSpec, Spec, parametrized

#: How many state tensors a layer or cell has, and how many gates.
_STATES: Final = {"LSTM": 2, "GRU": 1, "SimpleRNN": 1, "CuDNNLSTM": 2, "CuDNNGRU": 1}


def _time_and_batch(it: LayerCall) -> tuple[Dim, Dim]:
    """The batch and time dims of the input."""
    shape = it.x.known
    if len(shape) < 3:
        raise Impossible
    return (shape[1], shape[0]) if it.settings.default("time_major", False) else (shape[0], shape[1])


def _sequence_shape(it: LayerCall, batch: Dim, time: Dim, rest: tuple[Dim, ...]) -> Shape:
    return (time, batch, *rest) if it.settings.default("time_major", False) else (batch, time, *rest)


def _kind(name: str) -> str:
    return name.rpartition(".")[2].removesuffix("Cell")


def _recurrent(kind: str) -> ClassSpec:
    def rule(it: LayerCall) -> Value:
        batch, time = _time_and_batch(it)
        units = it.settings.dim("units")
        dtype = it.compute_dtype()
        state = it.result(dtype, (batch, units))
        if it.settings.default("return_sequences", False):
            output = it.result(dtype, _sequence_shape(it, batch, time, (units,)))
        else:
            output = state
        if not it.settings.default("return_state", False):
            return output
        # Keras 2 gives a list, Keras 3 a tuple: code that indexes or unpacks sees the same.
        return it.call.listed([output] + [state] * _STATES[kind], "states")

    return layer_value(rule, properties=normal(settings="units return_sequences return_state go_backwards stateful"))


# Cells ---------------------------------------------------------------------------------------------------------------


def _cell(kind: str) -> ClassSpec:
    def rule(it: LayerCall) -> Value:
        shape = it.x.known
        state = it.result(it.compute_dtype(), (*shape[:-1], it.settings.dim("units")))
        given = it.call.arg(1, "states")
        if kind == "LSTM" or not any(isinstance(o, Tensor) for o in given):
            states = it.call.listed([state] * _STATES[kind], "states")
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
    size = dim_value(_units(call))
    if _STATES[kind] == 1:
        return size
    return call.listed([size] * _STATES[kind], "state_size")


@parametrized
def _initial_states(call: Call, kind: str) -> Value:
    batch: Dim = DYNAMIC
    # Keras 2 takes inputs, batch size and dtype, Keras 3 the batch size alone.
    index = 0 if len(call.args) == 1 else 1
    given = call.kwargs.get("batch_size", BOTTOM) or (call.args[index] if index < len(call.args) else BOTTOM)
    if given:
        batch = dim_of(given)
    state = tensor(DENSE, None, (batch, _units(call))).value
    if _STATES[kind] == 1:
        return state
    return call.listed([state] * _STATES[kind], "states")


# Wrappers ------------------------------------------------------------------------------------------------------------


def _inner(it: LayerCall, name: str) -> Obj:
    obj = it.settings.object(name)
    if obj is None:
        raise Impossible
    return obj


def _time_distributed(it: LayerCall) -> Value:
    """The inner layer is called on one time step, or on steps and batch as one dim: either way without the time dim."""
    inner = it.settings.value("layer")
    try:
        x = it.x
    except Unsure:
        it.call.call(inner, tensor(DENSE).value, how=How.KERAS)
        raise
    kind = SYMBOLIC if SYMBOLIC in it.args.kinds else DENSE
    if x.shape is None or len(x.shape) < 2:
        it.call.call(inner, tensor(kind, x.dtype).value, how=How.KERAS)
        raise Unsure
    # Keras picks the dim that the inner layer sees by the static shape: a known batch stays.
    batch = x.shape[0] if x.shape[0] >= 0 else DYNAMIC
    made = it.call.call(inner, tensor(kind, it.cast(x), (batch, *x.shape[2:])).value, how=How.KERAS)
    result = BOTTOM
    for obj in made:
        if not isinstance(obj, Tensor):
            raise Unsure
        shape = None if not obj.shape else (x.shape[0], x.shape[1], *obj.shape[1:])
        result = join(result, it.result(obj.dtype, shape))
    return result


def _call_cell(it: LayerCall, cell: Value, dtype: str | None, shape: Shape) -> Value:
    """Calls the project's cell on one time step, with states of the sizes it declares."""
    batch = shape[0] if shape else DYNAMIC
    step = tensor(DENSE, dtype, shape).value
    sizes = it.call.engine.attributes.get_attrs(it.call.frame, cell, "state_size", it.call.pos)
    return it.call.call(cell, step, _initial(it, sizes, batch, dtype), how=How.KERAS)


def _initial(it: LayerCall, sizes: Value, batch: Dim, dtype: str | None) -> Value:
    """The state tensors for a declared `state_size`."""
    if len(sizes) == 1:
        (obj,) = sizes
        if isinstance(obj, Lit) and isinstance(obj.const, int):
            return tup([tensor(DENSE, dtype, (batch, obj.const)).value]).value
        if isinstance(obj, Tup) and obj.kind == "tuple":
            return tup([tensor(DENSE, dtype, (batch, dim_of(item))).value for item in obj.items]).value
        if isinstance(obj, Container) and obj.kind == "list" and it.call.engine.cells.is_exact(it.call.frame, obj):
            items = it.call.read_all(obj)
            return tup([tensor(DENSE, dtype, (batch, dim_of(item))).value for item in items]).value
    return it.call.list_of(tensor(DENSE, dtype).value, "list", "initial states")


def _cells(it: LayerCall) -> list[Value]:
    """The cells of an `RNN`: one, or several on top of each other."""
    given = it.settings.value("cell")
    if len(given) == 1:
        obj: Obj | None
        (obj,) = given
        if isinstance(obj, LibInst) and obj.cls.endswith("StackedRNNCells"):
            given = it.call.field(obj, "cells")
            (obj,) = given if len(given) == 1 else (None,)
        if isinstance(obj, (Tup, Container)):
            items = it.args.items_of(obj)
            if not items:
                raise Unsure
            return items
    return [given]


def _step_of(it: LayerCall, cell: Value, dtype: str | None, shape: Shape) -> tuple[Tensor, Value]:
    """What a cell gives for one time step: its output and its states."""
    (obj,) = cell if len(cell) == 1 else (None,)
    if isinstance(obj, LibInst) and _kind(obj.cls) in _STATES:
        units = Settings(it.call, obj, obj.cls).dim("units")
        made = tensor(DENSE, it.compute_dtype(), None if not shape else (shape[0], units))
        return made, it.call.listed([made.value] * _STATES[_kind(obj.cls)], f"states {units}")
    found = _call_cell(it, cell, dtype, shape)
    if len(found) == 1:
        (pair,) = found
        if isinstance(pair, Tup) and len(pair.items) == 2 and len(pair.items[0]) == 1:
            (output,) = pair.items[0]
            if isinstance(output, Tensor):
                return output, pair.items[1]
    raise Unsure


def _rnn(it: LayerCall) -> Value:
    x = it.x
    if x.shape is not None and (len(x.shape) < 3 or it.settings.default("time_major", False)):
        raise Unsure
    cells = _cells(it)
    states: list[Value] = []
    dtype, shape = it.cast(x), x.shape
    for cell in cells:
        output, state = _step_of(it, cell, dtype, shape if shape is None else (shape[0], *shape[2:]))
        states.append(state)
        dtype = output.dtype
        # The next cell sees what this one gives, at each time step.
        shape = None if x.shape is None or not output.shape else (*x.shape[:2], *output.shape[1:])
    if shape is not None and not it.settings.default("return_sequences", False):
        shape = (shape[0], *shape[2:])
    made = it.result(dtype, shape)
    if not it.settings.default("return_state", False):
        return made
    if len(cells) > 1:
        return it.call.listed([made, *states], "states")
    (held,) = states[0] if len(states[0]) == 1 else (None,)
    parts = it.args.items_of(held) if isinstance(held, (Tup, Container)) else states
    return it.call.listed([made, *(_as_result(it, part) for part in parts)], "states")


def _as_result(it: LayerCall, state: Value) -> Value:
    """A state of a cell as the layer gives it: symbolic where its input is."""
    (held,) = state if len(state) == 1 else (None,)
    if not isinstance(held, Tensor):
        raise Unsure
    return it.result(held.dtype, held.shape)


def _bidirectional(it: LayerCall) -> Value:
    """Both directions of the inner layer; their outputs merged, their states after one another."""
    inner = it.settings.value("layer")
    made = it.call.call(inner, *it.call.args[:1], how=How.KERAS)
    backward = it.settings.value("backward_layer")
    if any(isinstance(o, (Inst, LibInst)) for o in backward):
        it.call.call(backward, *it.call.args[:1], how=How.KERAS)
        raise Unsure
    mode = it.settings.constant("merge_mode", default="concat")
    if len(made) != 1:
        raise Unsure
    (obj,) = made
    if isinstance(obj, Tensor):
        return _merged(it, obj, mode)
    if isinstance(obj, Container) and obj.exact:
        values = it.call.read_all(obj)
        (first,) = values[0] if len(values[0]) == 1 else (None,)
        if isinstance(first, Tensor) and mode is not None:
            return it.call.listed([_merged(it, first, mode), *values[1:], *values[1:]], "both states")
    raise Unsure


def _merged(it: LayerCall, one: Tensor, mode: object) -> Value:
    if mode is None:
        return it.call.listed([one.value, one.value], "both directions")
    if mode != "concat":
        return one.value
    shape = None if not one.shape else (*one.shape[:-1], sum_of((one.shape[-1], one.shape[-1])))
    return tensor(one.kind, one.dtype, shape).value


def _lambda(it: LayerCall) -> Value:
    """`Lambda(f)` calls f on the inputs, cast as for any layer."""
    func = it.settings.value("function")
    args = cast_inputs(it.call, list(it.call.args))
    if not func or not args or it.settings.given("arguments"):
        raise Unsure
    return call_inside(it.call, func, args)


def _wrapper(rule: LayerValue) -> ClassSpec:
    """A layer that calls another one."""

    def value(it: LayerCall) -> Value:
        assert it.call.receiver is not None
        with entered(it.call.receiver) as first:
            if not first:
                raise Unsure
            return rule(it)

    return layer_value(value, bases=("keras.layers.Layer",))


CLASSES: Final[dict[str, ClassSpec]] = {
    **{f"keras.layers.{kind}": _recurrent(kind) for kind in _STATES},
    **{f"keras.layers.{kind}Cell": _cell(kind) for kind in ("LSTM", "GRU", "SimpleRNN")},
    "keras.layers.Lambda": _wrapper(_lambda),
    "keras.layers.RNN": _wrapper(_rnn),
    "keras.layers.TimeDistributed": _wrapper(_time_distributed),
    "keras.layers.Bidirectional": _wrapper(_bidirectional),
}
