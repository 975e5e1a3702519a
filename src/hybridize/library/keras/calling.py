"""What calling a layer or model runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join, join_all
from hybridize.domain.objects import BOTTOM, Container, Inst, LibInst, Obj, Tensor, Tup, Value, tensor, tup, unknown
from hybridize.domain.tensors import DENSE, DYNAMIC, SYMBOLIC, Dim
from hybridize.library import registry
from hybridize.library.convert import shape_value
from hybridize.library.keras.drawn import note_applied, note_reapplied, run_applied
from hybridize.library.keras.growth import doubtful
from hybridize.library.keras.kinds import as_kind
from hybridize.library.keras.modes import implied_training, outer_training, takes_training
from hybridize.library.keras.settings import cast_inputs, entered
from hybridize.library.spec import Call

#: A structure of inputs is looked into so deeply.
_DEPTH: Final = 4


def is_symbolic(call: Call, value: Value) -> bool:
    """Whether a value holds Keras symbolic tensors, in a structure or not.

    Level by level, and each container and value once: a project's lists of lists reach one another by many ways.
    """
    seen: set[Container | Tup] = set()
    known: set[Value] = set()
    level = [value]
    for depth in range(_DEPTH + 1):
        deeper: list[Value] = []
        while level:
            some = level.pop()
            if some in known:
                continue
            known.add(some)
            for obj in some:
                if isinstance(obj, Tensor):
                    if obj.kind == SYMBOLIC:
                        return True
                elif isinstance(obj, Tup):
                    if obj not in seen:
                        seen.add(obj)
                        level += obj.items
                elif isinstance(obj, Container) and depth < _DEPTH and obj not in seen:
                    seen.add(obj)
                    deeper += call.engine.heap.cells_of(call.frame, obj)
        level = deeper
    return False


def input_shape(call: Call, value: Value) -> Value:
    """The shape that `build` receives. At each depth a value is asked once: lists of lists reach one another."""
    known: dict[tuple[Value, int], Value] = {}

    def shape(value: Value, depth: int) -> Value:
        if depth >= _DEPTH:
            return unknown("an input shape").value
        if (value, depth) not in known:
            found = join_all([of(obj, depth + 1) for obj in value])
            known[value, depth] = found or unknown("an input shape").value
        return known[value, depth]

    def of(obj: Obj, depth: int) -> Value:
        if isinstance(obj, Tensor):
            return shape_value(obj.shape)
        if isinstance(obj, Tup):
            return tup([shape(item, depth) for item in obj.items]).value
        if isinstance(obj, Container) and obj.kind == "list":
            return call.list_of(shape(call.elements(obj.value), depth), "list", "input shapes")
        return BOTTOM

    return shape(value, 0)


def call_layer(call: Call, how: How = How.KERAS) -> Value:
    """`layer(x)`: `build` first, once, then `call` on converted inputs; `how`: those inside a functional model."""
    obj = call.receiver
    assert obj is not None
    args = cast_inputs(call, call.args)
    if isinstance(obj, Inst):
        if args:
            call.method(obj, "build", input_shape(call, args[0]), how=How.BUILD)
        found = call.engine.attributes.find_method(call.frame, obj, "call")
        if found:
            return _call_project_layer(call, found, args)
        if "keras.Sequential" in registry.mro_names(obj):
            return call_sequence(call, obj, args)
        outputs = call.read(obj.cell("$outputs"))
        if outputs:
            return _call_functional(call, obj, outputs, how)
    kind = SYMBOLIC if any(is_symbolic(call, value) for value in args) else DENSE
    return tensor(kind).value


def _call_project_layer(call: Call, method: Value, args: list[Value]) -> Value:
    """Runs a project's `call`. On symbolic inputs Keras traces it with graph tensors and makes the result symbolic."""
    symbolic = any(is_symbolic(call, value) for value in (*args, *call.kwargs.values()))
    if symbolic:
        call.effect("symbolic_call", "a functional model")
    mode = implied_training(call, method, args, symbolic=symbolic)
    kwargs = {**call.kwargs, "training": mode} if mode else call.kwargs
    if symbolic and isinstance(call.receiver, Inst):
        named = {name: as_kind(call, value, DENSE) for name, value in call.kwargs.items()}
        note_applied(call, call.receiver, [as_kind(call, value, DENSE) for value in args], named)
    return call_inside(call, method, args, kwargs, call.rest)


def _call_functional(call: Call, model: Inst | LibInst, outputs: Value, how: How) -> Value:
    """Calls a functional model: the project's layers in it run again, unless it becomes part of another one."""
    if any(is_symbolic(call, value) for value in call.args):
        note_reapplied(call, model)
    else:
        run_applied(call, model, how)
    return concrete(call, outputs)


def call_inside(
    call: Call, func: Value, args: list[Value], kwargs: Mapping[str, Value] | None = None, rest: Value = BOTTOM
) -> Value:
    """Calls what a layer runs: where the layer is given symbolic tensors, that is given graph tensors."""
    engine, frame, pos = call.engine, call.frame, call.pos
    named = kwargs or {}
    if not any(is_symbolic(call, value) for value in (*args, *named.values())):
        return engine.calls.call_value(frame, pos, func, args, named, How.KERAS, rest)
    traced = [as_kind(call, value, DENSE) for value in args]
    named = {name: as_kind(call, value, DENSE) for name, value in named.items()}
    return as_kind(call, engine.calls.call_value(frame, pos, func, traced, named, How.KERAS, rest), SYMBOLIC)


def concrete(call: Call, value: Value) -> Value:
    """Symbolic outputs as the tensors that calling a functional model gives: as many examples as the input has."""
    kind = SYMBOLIC if any(is_symbolic(call, v) for v in call.args) else DENSE
    return as_kind(call, value, kind, batch_size(call, call.args[0] if call.args else BOTTOM))


def batch_size(call: Call, value: Value, depth: int = 0) -> Dim:
    """The first dim that all tensors of an input have; just dynamic where they differ."""
    found: set[Dim] = set()
    for obj in value:
        if isinstance(obj, Tensor):
            found.add(obj.shape[0] if obj.shape else DYNAMIC)
        elif isinstance(obj, Tup) and depth < 3:
            found |= {batch_size(call, item, depth + 1) for item in obj.items}
        elif isinstance(obj, Container) and depth < 3:
            found.add(batch_size(call, call.values(obj), depth + 1))
        else:
            return DYNAMIC
    return found.pop() if len(found) == 1 else DYNAMIC


def call_sequence(call: Call, obj: Inst | LibInst, args: list[Value]) -> Value:
    """Calls the layers of a `Sequential` one after the other."""
    kind = SYMBOLIC if args and is_symbolic(call, args[0]) else DENSE
    with entered(obj) as first:
        if not first:
            return tensor(kind).value  # it holds itself, as far as we can tell
        result = BOTTOM
        for group in call.read(obj.cell("$layers")):
            result = join(result, _call_layers(call, group, args[0] if args else BOTTOM, kind))
    return result or tensor(kind).value


def _call_layers(call: Call, group: Obj, value: Value, kind: str) -> Value:
    skipped: Collection[int] = ()
    if isinstance(group, Tup):
        steps = list(group.items)
    elif isinstance(group, Container) and call.is_exact(group):
        steps = call.read_all(group)
        skipped = doubtful(group)
    elif isinstance(group, (Inst, LibInst)):
        steps = [group.value]  # one layer, where a list of them is expected: nothing that can be iterated over
    else:
        step = call.elements(group.value)
        call.call(step, value, how=How.KERAS)
        call.call(step, tensor(kind).value, how=How.KERAS)
        return tensor(kind).value
    mode = call.kwargs.get("training") or outer_training(call.frame)
    for place, step in enumerate(steps):
        if step and all(isinstance(o, Tensor) for o in step):
            continue  # an `Input`
        if step and value:
            kwargs = {"training": mode} if mode and _forwards(call, step) else {}
            result = call.call(step, value, how=How.KERAS, **kwargs)
            value = join(value, result) if place in skipped else result
    return value


def _forwards(call: Call, layer: Value) -> bool:
    """Whether a layer of a `Sequential` can be told its mode."""
    for obj in layer:
        if isinstance(obj, LibInst) and holds(call, obj, "$layers"):
            return True
        if isinstance(obj, Inst) and takes_training(call.engine.attributes.find_method(call.frame, obj, "call")):
            return True
    return False


def call_library_model(call: Call, how: How = How.KERAS) -> Value:
    """Calls a functional model or a `Sequential`."""
    obj = call.receiver
    assert isinstance(obj, LibInst)
    outputs = call.field(obj, "$outputs")
    if outputs:
        return _call_functional(call, obj, outputs, how)
    layers = call.field(obj, "$layers")
    args = cast_inputs(call, call.args)
    if layers:
        return call_sequence(call, obj, args)
    return tensor(SYMBOLIC if any(is_symbolic(call, v) for v in args) else DENSE).value


def holds(call: Call, obj: LibInst, name: str) -> bool:
    """Whether an object has a field; the frame runs again when it gets it."""
    if name not in obj.fields:
        call.read(obj.absent(name))
    return name in obj.fields
