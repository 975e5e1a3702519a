"""How a layer becomes a class model: its rule, its weights and its settings as attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, NONE, Container, Inst, LibInst, Tensor, Value, literal, show, tensor, tup
from hybridize.domain.tensors import DENSE, RAGGED, SYMBOLIC, UNRESOLVED, VARIABLE, Dim, Shape
from hybridize.library.keras.hooks import has_weight_hooks, run_weight_hooks
from hybridize.library.keras.named import unknown_setting
from hybridize.library.keras.settings import (
    LayerCall,
    cleaned,
    default_of,
    layer_class,
    settings_of_receiver,
    weight_dtype,
)
from hybridize.library.keras.sizes import BUILT
from hybridize.library.operands import Impossible, Unsure, expand
from hybridize.library.spec import Call, ClassSpec, Rule, Spec, parametrized

Weights: TypeAlias = "dict[str, tuple[Dim, ...]]"

LayerShape: TypeAlias = "Callable[[LayerCall], Shape]"

LayerValue: TypeAlias = "Callable[[LayerCall], Value]"

WeightRule: TypeAlias = "Callable[[LayerCall], Weights]"


def layer(
    shape: LayerShape, dtype: str = "cast", weights: WeightRule | None = None, ragged: bool = False, **more: Any
) -> ClassSpec:
    """A layer with one output.

    `dtype` is "cast" (the input's after casting), "compute" (the layer's own) or a dtype. `ragged`: ragged inputs give
    ragged outputs.
    """

    def value(it: LayerCall) -> Value:
        return single(it, shape, dtype, ragged)

    return layer_value(value, weights, **more)


def single(it: LayerCall, shape: LayerShape, dtype: str, ragged: bool) -> Value:
    """The output of a layer that gives one tensor."""
    found_dtype: str | None
    if dtype == "cast":
        found_dtype = it.cast(it.x)
    else:
        found_dtype = it.compute_dtype() if dtype == "compute" else dtype
    try:
        found = shape(it)
    except Unsure:
        found = None
    if RAGGED in it.args.kinds:
        made = tensor(RAGGED, found_dtype, cleaned(found) if ragged else None)
        return made.value if ragged else frozenset((made, tensor(DENSE, found_dtype)))
    return it.result(found_dtype, found)


def layer_value(value: LayerValue, weights: WeightRule | None = None, **more: Any) -> ClassSpec:
    """A layer whose rule gives any value."""

    def one(call: Call) -> Value:
        assert call.receiver is not None
        it = LayerCall(call, layer_class(call, call.receiver))
        try:
            return value(it)
        except (Unsure, Impossible) as error:
            if isinstance(error, Impossible):
                call.refuse()
            kinds = {o.kind for v in (*call.args, *call.kwargs.values()) for o in v if isinstance(o, Tensor)}
            return tensor(SYMBOLIC if SYMBOLIC in kinds or SYMBOLIC in it.args.kinds else DENSE).value

    def run(call: Call) -> Value:
        note_input(call)
        if weights is not None and has_weight_hooks(call.receiver):
            shapes = built_weights(call, weights) or {}
            run_weight_hooks(call, {name: weight_value(call, shape) for name, shape in shapes.items()})
        return expand(call, one)

    def called(call: Call) -> Value:
        if isinstance(call.receiver, Inst) and call.engine.attributes.find_method(call.frame, call.receiver, "call"):
            from hybridize.library.keras.calling import call_layer

            return call_layer(call)
        return run(call)

    properties: dict[str, Rule] = dict(more.pop("properties", {}))
    if weights is not None:
        properties["$weights"] = _named_weights(weights)
    methods = {"call": Spec(run, op=True), **more.pop("methods", {})}
    return ClassSpec(
        bases=more.pop("bases", ("keras.layers.Layer",)),
        methods=methods,
        properties=properties,
        call=Spec(called, op=True),
        **more,
    )


def note_input(call: Call) -> None:
    """Remembers what a layer is built on."""
    obj = call.receiver
    if isinstance(obj, (LibInst, Inst)) and call.args:
        kept = BOTTOM
        for o in call.args[0]:
            if isinstance(o, Tensor):
                kept = join(kept, tensor(DENSE, o.dtype, o.shape).value)
        if kept:
            call.write(obj.cell(BUILT), kept)


@parametrized
def weight(call: Call, rule: WeightRule, name: str) -> Value:
    """A property that is one of the weights."""
    shapes = built_weights(call, rule)
    if shapes is None or name not in shapes:
        settings = settings_of_receiver(call)
        return tensor(VARIABLE, weight_dtype(settings)).value if shapes is None else NONE.value
    return weight_value(call, shapes[name])


def weight_value(call: Call, shape: tuple[Dim, ...]) -> Value:
    """A weight as a variable; its dims are fixed, so that a dynamic one can only be unresolved."""
    settings = settings_of_receiver(call)
    return tensor(VARIABLE, weight_dtype(settings), tuple(d if d >= 0 else UNRESOLVED for d in shape)).value


def built_weights(call: Call, rule: WeightRule) -> Weights | None:
    """The shapes of a layer's weights, as far as its inputs and settings tell."""
    obj = call.receiver
    if not isinstance(obj, (LibInst, Inst)):
        return None
    given = call.read(obj.cell(BUILT))
    inner = Call(call.engine, call.frame, call.pos, call.name, [given] if given else [], {}, obj)
    try:
        return rule(LayerCall(inner, layer_class(call, obj)))
    except (Unsure, Impossible):
        return None


@parametrized
def _named_weights(call: Call, rule: WeightRule) -> Value:
    """The weights by name; nothing while the layer is not built."""
    shapes = built_weights(call, rule)
    if shapes is None:
        return BOTTOM
    values = {name: weight_value(call, shape) for name, shape in shapes.items()}
    made: Container = call.new("dict", "weights " + " ".join(map(show, values.values())))
    for name, value in values.items():
        call.write(made.cell(name), value)
    return made.value


def weight_properties(rule: WeightRule, names: str) -> dict[str, Rule]:
    """Properties for the weights with these names."""
    return {name: weight(rule, name) for name in names.split()}


@parametrized
def setting(call: Call, name: str) -> Value:
    """A property that reads a setting back."""
    settings = settings_of_receiver(call)
    try:
        given = settings.value(name)
        if given:
            return given
        default = default_of(settings.name, name, None)
        return value_of_constant(default)
    except Unsure:
        return unknown_setting(name).value


def value_of_constant(const: Any) -> Value:
    """A default as a value."""
    if isinstance(const, tuple):
        return tup([value_of_constant(c) for c in const]).value
    return literal(const).value
