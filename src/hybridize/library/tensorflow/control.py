"""TensorFlow functions that call functions: control flow, maps, host functions, distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join, join_all
from hybridize.domain.objects import (
    BOTTOM,
    INT_V,
    MAX_NESTING,
    NONE_V,
    STR_V,
    Container,
    Lib,
    Obj,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Value,
    stream,
    tensor,
    tup,
    unknown,
)
from hybridize.domain.tensors import BATCH, DENSE, UNRESOLVED, Dim
from hybridize.domain.unknowns import ELEMENT, Why
from hybridize.library.convert import PYTHON_TF, dtype_of, type_of_value
from hybridize.library.spec import Call, ClassSpec, Rule, Spec, parametrized
from hybridize.library.tensorflow.data_elements import dataset


def _as_tensor(call: Call, value: Value, depth: int = 0) -> Value:
    """What a loop variable or branch result is inside the graph: a tensor, or a structure of tensors."""
    if depth > MAX_NESTING:
        return unknown("an element of a structure", Why.PART).value  # a list may hold itself
    result = BOTTOM
    for obj in value:
        structure = _structure(call, obj, lambda part: _as_tensor(call, part, depth + 1), f"structure{depth}")
        if structure is not None:
            result = join(result, structure)
        elif isinstance(obj, Tensor) or obj in NONE_V:
            result = join(result, obj.value)
        else:
            dtype, shape = type_of_value(call, obj.value, PYTHON_TF)
            known = dtype is not None or shape is not None
            result = join(result, tensor(DENSE, dtype, shape).value if known else obj.value)
    return result


def _structure(call: Call, obj: Obj, convert: Callable[[Value], Value], tag: str) -> Value | None:
    """A list or tuple with its parts converted: those that TensorFlow keeps; None for anything else."""
    if isinstance(obj, Tup):
        return tup([convert(item) for item in obj.items], obj.kind, obj.names).value
    if isinstance(obj, Stream) and obj.kind == "tuple":
        return stream("tuple", convert(obj.element), obj.count).value
    if isinstance(obj, Container) and obj.kind == "list":
        return call.list_of(convert(call.elements(obj.value)), "list", tag)
    return None


#: So deep lists of functions are looked into.
_DEEPEST: Final = 3


def _cond(call: Call) -> Value:
    call.frame.computes(call.pos, call.name)
    first = call.call(call.arg(1, "true_fn")) if call.arg(1, "true_fn") else BOTTOM
    second = call.call(call.arg(2, "false_fn")) if call.arg(2, "false_fn") else BOTTOM
    return _as_tensor(call, join(first, second))


def _branches(call: Call) -> Value:
    """`tf.case`, `tf.switch_case`: any of the functions."""
    result = BOTTOM
    for value in (*call.args, *call.kwargs.values()):
        result = join(result, _call_inside(call, value, 0))
    return _as_tensor(call, result) or unknown("the result of a branch").value


def _call_inside(call: Call, value: Value, depth: int) -> Value:
    result = BOTTOM
    for obj in value:
        if isinstance(obj, (Tup, Container, Stream)) and depth < _DEEPEST:
            result = join(result, _call_inside(call, call.elements(obj.value), depth + 1))
        elif not isinstance(obj, Tensor) and obj not in NONE_V and _is_callable(obj):
            result = join(result, call.call(obj.value))
    return result


def _is_callable(obj: Obj) -> bool:
    from hybridize.domain.objects import Bound, Func, Inst, Wrapper

    return isinstance(obj, (Bound, Func, Wrapper, Inst))


def _items(call: Call, value: Value) -> list[Value]:
    """The loop variables of `tf.while_loop` by position."""
    for obj in value:
        if isinstance(obj, Tup):
            return list(obj.items)
        if isinstance(obj, Container) and obj.kind == "list" and call.is_exact(obj):
            return call.read_all(obj)
    return [call.elements(value)]


def _while_loop(call: Call) -> Value:
    cond, body = call.arg(0, "cond"), call.arg(1, "body")
    state = [_as_tensor(call, v) for v in _items(call, call.arg(2, "loop_vars"))]
    for _ in range(3):
        call.call(cond, *state)
        result = call.call(body, *state)
        after = _items(call, result) if result else state
        if len(after) != len(state):
            break
        new = [join(a, _as_tensor(call, b)) for a, b in zip(state, after, strict=True)]
        if new == state:
            break
        state = new
    return tup(state).value if len(state) != 1 else call.list_of(state[0], "list", "loop")


def _slice_of(call: Call, value: Value, depth: int = 0) -> Value:
    """An element along the first axis of a tensor or of each tensor of a structure."""
    if depth > MAX_NESTING:
        return unknown("an element of a structure", Why.PART).value  # a list may hold itself
    result = BOTTOM
    for obj in value:
        if isinstance(obj, Tensor):
            kind = obj.kind if obj.kind in ("ragged", "sparse", "symbolic") else DENSE
            result = join(result, tensor(kind, obj.dtype, obj.shape[1:] if obj.shape else None).value)
        elif isinstance(obj, Tup):
            result = join(result, tup([_slice_of(call, i, depth + 1) for i in obj.items], obj.kind, obj.names).value)
        elif isinstance(obj, Container) and obj.kind == "list":
            # A Python list given as `elems` is a structure: each element is sliced.
            dtype, shape = type_of_value(call, obj.value, PYTHON_TF)
            if dtype is not None and shape is not None:
                result = join(result, tensor(DENSE, dtype, shape[1:]).value)
            else:
                element = _slice_of(call, call.elements(obj.value), depth + 1)
                result = join(result, call.list_of(element, "list", "slices"))
        elif isinstance(obj, Unknown):
            result = join(result, tensor(DENSE).value)  # what is no structure is made a tensor first
        else:
            result = join(result, obj.value)
    return result


def _rows(call: Call, value: Value) -> Dim:
    """How many elements there are along the first axis of a tensor or structure."""
    for obj in value:
        parts = list(obj.items) if isinstance(obj, Tup) else []
        if isinstance(obj, Container) and obj.kind == "dict":
            parts = call.read_all(obj)
        found = [_rows(call, part) for part in parts]
        if not parts:
            shape = type_of_value(call, obj.value, PYTHON_TF)[1]
            found = [shape[0] if shape else UNRESOLVED]
        size = max(found) if max(found) >= 0 or set(found) == {BATCH} else UNRESOLVED
        return size if len(value) == 1 else UNRESOLVED
    return UNRESOLVED


def _stacked(call: Call, value: Value, rows: Dim, depth: int = 0) -> Value:
    """Results of each element, stacked along a new first axis."""
    if depth > MAX_NESTING:
        return tensor(DENSE).value
    result = BOTTOM
    for obj in value:
        structure = _structure(call, obj, lambda part: _stacked(call, part, rows, depth + 1), f"stacked{depth}")
        if structure is not None:
            result = join(result, structure)
        elif isinstance(obj, Tensor):
            shape = None if obj.shape is None else (rows, *obj.shape)
            result = join(result, tensor(DENSE, obj.dtype, shape).value)
        else:
            result = join(result, tensor(DENSE).value)
    return result


def _map_fn(call: Call) -> Value:
    how = How.GRAPH if call.name == "tf.vectorized_map" else How.CALLBACK  # which traces it, also in eager code
    result = call.call(call.arg(0, "fn"), _slice_of(call, call.arg(1, "elems")), how=how)
    return _stacked(call, _as_tensor(call, result), _rows(call, call.arg(1, "elems"))) or tensor(DENSE).value


@parametrized
def _fold(call: Call, *, scan: bool) -> Value:
    element = _slice_of(call, call.arg(1, "elems"))
    state = call.arg(2, "initializer")
    state = _as_tensor(call, state) if state and state is not NONE_V else element
    for _ in range(3):
        new = join(state, _as_tensor(call, call.call(call.arg(0, "fn"), state, element)))
        if new == state:
            break
        state = new
    return _stacked(call, state, _rows(call, call.arg(1, "elems"))) if scan else state


def _host_function(call: Call) -> Value:
    """`tf.py_function`, `tf.numpy_function`: the function runs eagerly, on tensors or arrays."""
    func = call.arg(0, "func")
    numpy = call.name != "tf.py_function"
    items = _items(call, call.arg(1, "inp"))
    arguments = []
    for item in items:
        dtype, shape = type_of_value(call, item, PYTHON_TF)
        arguments.append(tensor("ndarray" if numpy else DENSE, dtype, shape).value)
    # What a library function does on the host it does whenever the graph runs, as eagerly: no effect of the caller's.
    followed = join_all([obj.value for obj in func if not isinstance(obj, Lib)])
    if followed:
        call.call(followed, *arguments, how=How.HOST)
    out = call.arg(2, "Tout")
    if not out or out is NONE_V:
        return unknown("the result of a host function").value
    dtypes = _items(call, out) if any(isinstance(o, (Tup, Container)) for o in out) else None
    if dtypes is not None:
        return tup([tensor(DENSE, dtype_of(d)).value for d in dtypes]).value
    return tensor(DENSE, dtype_of(out)).value


def _custom_gradient(call: Call) -> Value:
    """The decorated function returns (result, gradient function); callers see the result."""
    from hybridize.domain.objects import wrapper

    return wrapper("custom_gradient", call.arg(0, "f")).value


def _recompute(call: Call) -> Value:
    return call.arg(0, "f")


def _scope(call: Call) -> Value:
    return call.made(call.name).value


def _record_if(call: Call) -> Value:
    """What writes summaries under it asks its condition, where that is a function."""
    _call_inside(call, call.arg(0, "condition"), _DEEPEST)
    return call.made(call.name).value


def _entered(value: Value) -> ClassSpec:
    """The class of a scope whose `with` statement binds that value."""
    return ClassSpec(methods={"__enter__": Spec(lambda call: value)})


def _strategy_run(call: Call) -> Value:
    """Runs a function on each replica; what it returns is a value per replica."""
    func = call.arg(0, "fn")
    args = call.arg(1, "args")
    named: dict[str, Value] = {}
    for obj in call.arg(2, "kwargs"):
        if isinstance(obj, Container) and obj.kind == "dict":
            for key, item in call.engine.cells.items(call.frame, obj):
                if isinstance(key, str):
                    named[key] = item
    positional = _items(call, args) if args and args is not NONE_V else []
    return call.call(func, *positional, how=How.GRAPH, **named)


def _reduce(call: Call) -> Value:
    return _as_tensor(call, call.arg(1, "value"))


def _distribute(call: Call) -> Value:
    return _distributed(call.arg(0))


def _distribute_from_function(call: Call) -> Value:
    context = call.made("tf.distribute.InputContext").value
    return _distributed(call.call(call.arg(0), context))


def _distributed(given: Value) -> Value:
    """The dataset that a strategy makes of one: whoever made that one, it is a dataset afterwards."""
    result = BOTTOM
    for obj in given:
        made = dataset(obj.part(ELEMENT)) if isinstance(obj, Unknown) else obj.value
        result = join(result, made)
    return result


def _local_results(call: Call) -> Value:
    return tup([call.arg(0)]).value


_SCOPE = Spec(lambda call: call.made("tf.distribute.Scope").value)

_STRATEGY: Final = {
    "run": Spec(_strategy_run, op=True),
    "experimental_run_v2": Spec(_strategy_run, op=True),
    "reduce": Spec(_reduce, op=True),
    "scope": _SCOPE,
    "experimental_distribute_dataset": Spec(_distribute),
    "distribute_datasets_from_function": Spec(_distribute_from_function),
    "experimental_distribute_datasets_from_function": Spec(_distribute_from_function),
    "experimental_local_results": Spec(_local_results),
    "gather": Spec(lambda call: call.arg(0), op=True),
}
_STRATEGY_NAMES: Final = (
    "Strategy MirroredStrategy OneDeviceStrategy TPUStrategy MultiWorkerMirroredStrategy ParameterServerStrategy "
    "experimental.CentralStorageStrategy experimental.TPUStrategy experimental.MultiWorkerMirroredStrategy "
    "experimental.ParameterServerStrategy"
).split()


def _named_object(name: str) -> Rule:
    return lambda call: call.made(name).value


FUNCTIONS: Final[dict[str, Spec]] = {
    "tf.cond": Spec(_cond),
    "tf.case": Spec(_branches, op=True),
    "tf.switch_case": Spec(_branches, op=True),
    "tf.while_loop": Spec(_while_loop, op=True),
    "tf.map_fn": Spec(_map_fn, op=True),
    "tf.vectorized_map": Spec(_map_fn, op=True),
    "tf.scan": Spec(_fold(scan=True), op=True),
    "tf.foldl": Spec(_fold(scan=False), op=True),
    "tf.foldr": Spec(_fold(scan=False), op=True),
    "tf.py_function": Spec(_host_function, op=True),
    "tf.compat.v1.py_func": Spec(_host_function, op=True),
    "tf.numpy_function": Spec(_host_function, op=True),
    "tf.custom_gradient": Spec(_custom_gradient),
    "tf.recompute_grad": Spec(_recompute),
    "tf.grad_pass_through": Spec(_recompute),
    "tf.init_scope": Spec(_scope),
    "tf.device": Spec(_scope),
    "tf.name_scope": Spec(_scope),
    "tf.python.framework.ops.name_scope": Spec(_named_object("tf.name_scope")),  # public under no name
    "tf.control_dependencies": Spec(_scope),
    "tf.summary.record_if": Spec(_record_if),
    "tf.distribute.get_strategy": Spec(_named_object("tf.distribute.Strategy")),
    "tf.distribute.get_replica_context": Spec(_named_object("tf.distribute.ReplicaContext")),
    "tf.distribute.has_strategy": Spec(lambda call: unknown("whether a strategy is in force").value),
}

CLASSES: Final[dict[str, ClassSpec]] = {
    "tf.name_scope": _entered(STR_V),
    "tf.summary.record_if": _entered(NONE_V),
    **dict.fromkeys(("tf.init_scope", "tf.device", "tf.control_dependencies"), _entered(NONE_V)),
    **{
        f"tf.distribute.{name}": ClassSpec(
            methods=_STRATEGY,
            properties={"num_replicas_in_sync": lambda call: INT_V, "extended": _named_object("tf.x")},
        )
        for name in _STRATEGY_NAMES
    },
    "tf.distribute.InputContext": ClassSpec(
        methods={"get_per_replica_batch_size": Spec(lambda call: INT_V)},
        properties={"num_input_pipelines": lambda call: INT_V, "input_pipeline_id": lambda call: INT_V},
    ),
}
