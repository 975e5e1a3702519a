"""TensorFlow's core: `tf.function`, variables, modules, tapes, constants, shapes and contexts."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.nesting import taken_apart
from hybridize.domain.objects import (
    BOTTOM,
    FALSE,
    INT_V,
    NONE_V,
    STR_V,
    Container,
    Inst,
    LibInst,
    Obj,
    Tensor,
    Tup,
    Value,
    literal,
    tensor,
    unknown,
    wrapper,
)
from hybridize.domain.tensors import DENSE, DYNAMIC, NDARRAY, SPARSE, UNRESOLVED, VARIABLE, Dim
from hybridize.domain.unknowns import Why
from hybridize.library.convert import PYTHON_TF, dim_of, dtype_of, shape_of, shape_value, type_of_value
from hybridize.library.defaults import keep_arguments
from hybridize.library.dialect import FUNCTION_PARAMETERS
from hybridize.library.python.rules import itself
from hybridize.library.spec import Call, ClassSpec, Spec, nothing, parametrized
from hybridize.library.structures import fields_of, leaves, map_structure, map_structures


def _function(call: Call) -> Value:
    """`tf.function(f)` makes a hybrid function; `tf.function(jit_compile=True)` a decorator that does."""
    options = dict(zip(FUNCTION_PARAMETERS, call.args, strict=False))
    options.update(call.kwargs)
    func = options.pop("func", BOTTOM)
    if not func or func is NONE_V:
        return wrapper("decorator", BOTTOM, call.name, tuple(sorted(options.items()))).value
    call.frame.effect("hybridize", None, call.name, call.pos)
    signature = [options["input_signature"]] if "input_signature" in options else []
    result = BOTTOM
    for obj in func:
        result = join(result, wrapper("hybrid", obj.value, call.pos, *signature).value)
    call.engine.notes.note_hybrid(call.frame, call.pos, func, options)
    return result


def _identity(call: Call) -> Value:
    return call.arg(0)


def _convert(call: Call) -> Value:
    dtype = dtype_of(call.arg(1, "dtype"))
    value = call.arg(0, "value")
    result = BOTTOM
    if not value and (call.args or call.kwargs):
        return BOTTOM  # no execution has given it a value yet
    for obj in value:
        if isinstance(obj, Tensor) and obj.kind not in (NDARRAY, VARIABLE):
            result = join(result, obj.value if dtype in (None, obj.dtype) else tensor(DENSE, dtype, obj.shape).value)
        else:
            inferred, shape = type_of_value(call, obj.value, PYTHON_TF)
            result = join(result, tensor(DENSE, dtype or inferred, shape).value)
    return result or tensor(DENSE, dtype).value


def _variable(call: Call) -> Value:
    """A variable keeps the type of its initial value, which may be a function."""
    call.effect("create_variable", call.name)
    initial = call.arg(0, "initial_value")
    functions = [o for o in initial if not isinstance(o, (Tensor, Container, Tup)) and _is_callable(o)]
    if functions and len(functions) == len(initial):
        initial = call.call(initial)
    dtype = dtype_of(call.arg(5, "dtype"))
    inferred, shape = type_of_value(call, initial, PYTHON_TF)
    given = shape_of(call, call.kwargs.get("shape", BOTTOM)) if call.kwargs.get("shape") else None
    return tensor(VARIABLE, dtype or inferred, given if given is not None else shape).value


def _sparse(call: Call) -> Value:
    dtype, _ = type_of_value(call, call.arg(1, "values"), PYTHON_TF)
    return tensor(SPARSE, dtype, shape_of(call, call.arg(2, "dense_shape"))).value


def _indexed_slices(call: Call) -> Value:
    dtype, _ = type_of_value(call, call.arg(0, "values"), PYTHON_TF)
    shape = call.arg(2, "dense_shape")
    return tensor(SPARSE, dtype, shape_of(call, shape) if shape and shape is not NONE_V else None).value


def _is_callable(obj: Obj) -> bool:
    from hybridize.domain.objects import Bound, Func, Wrapper

    return isinstance(obj, (Func, Bound, Wrapper))


def _gradient(call: Call) -> Value:
    """Gradients have the structure and types of the sources."""
    return map_structure(call, call.arg(1, "sources"), _gradient_of, "gradient") or tensor(DENSE).value


def _gradients(call: Call) -> Value:
    """A list, whatever the sources are."""
    return call.list_of(tensor(DENSE).value, "list", "gradients")


def _gradient_of(obj: Obj) -> Value:
    return tensor(DENSE, obj.dtype, obj.shape).value if isinstance(obj, Tensor) else unknown("a gradient").value


@parametrized
def _jacobian(call: Call, batched: int = 0) -> Value:
    """The dims of the target and then those of each source."""
    _, target = type_of_value(call, call.arg(0, "target"), PYTHON_TF)

    def of(obj: Obj) -> Value:
        if not isinstance(obj, Tensor):
            return unknown("a jacobian").value
        known = target is not None and obj.shape is not None
        shape = (*target, *obj.shape[batched:]) if known and target is not None and obj.shape is not None else None
        return tensor(DENSE, obj.dtype, shape).value

    sources = call.arg(1, "source" if batched else "sources")
    return map_structure(call, sources, of, "jacobian") or tensor(DENSE).value


def _forward(call: Call) -> Value:
    """`ForwardAccumulator.jvp(target)`: what belongs to each tensor of the target."""
    return map_structure(call, call.arg(0, "primals"), _gradient_of, "jvp") or tensor(DENSE).value


def _watched(call: Call) -> Value:
    return call.list_of(tensor(VARIABLE).value, "tuple" if False else "list", "watched")


def _tensor_spec(call: Call) -> Value:
    return keep_arguments(call).value


def _spec_of(call: Call) -> Value:
    return call.made("tf.TensorSpec").value


def _module_variables(call: Call) -> Value:
    from hybridize.library.keras import tracking

    name = call.name.rpartition(".")[2]
    rules = {"trainable_variables": tracking.trainable_weights, "non_trainable_variables": tracking.fixed_weights}
    return rules.get(name, tracking.tracked_weights)(call)


def _tensor_shape(call: Call) -> Value:
    return shape_value(shape_of(call, call.arg(0)))


def _map_structure(call: Call) -> Value:
    func = call.arg(0, "func")
    if len(call.args) > 2:
        return map_structures(call, call.args[1:], lambda leaves: call.call(func, *leaves), "mapped")
    return map_structure(call, call.arg(1), lambda obj: call.call(func, obj.value), "mapped")


def _flatten(call: Call) -> Value:
    ordered = leaves(call, call.arg(0))
    if ordered is not None:
        return call.listed(ordered, "flattened")
    found = BOTTOM
    todo = list(call.arg(0))
    seen: set[Obj] = set()
    while todo:
        obj = todo.pop()
        if obj in seen:
            continue
        seen.add(obj)
        if isinstance(obj, Tup):
            todo += [o for item in obj.items for o in item]
        elif isinstance(obj, Container):
            values = call.values(obj)
            todo += list(values)
        elif isinstance(obj, Inst) and taken_apart(obj) is not None:
            todo += [o for field in fields_of(call, obj) for o in field]
        else:
            found = join(found, obj.value)
    return call.list_of(found, "list", "flat")


def _tensor_array(call: Call) -> Value:
    return keep_arguments(call, "tf.TensorArray").value


def _array_write(call: Call) -> Value:
    receiver = call.receiver
    if isinstance(receiver, LibInst):
        call.keep(receiver, "elements", call.arg(1, "value"))
    return itself(call)


def _array_unstack(call: Call) -> Value:
    """Every row of the value becomes an element."""
    receiver = call.receiver
    if isinstance(receiver, LibInst):
        for obj in call.arg(0, "value"):
            dtype, shape = type_of_value(call, obj.value, PYTHON_TF)
            call.keep(receiver, "elements", tensor(DENSE, dtype, shape[1:] if shape else None).value)
            call.keep(receiver, "rows", literal(shape[0]).value if shape and shape[0] >= 0 else INT_V)
    return itself(call)


def _array_rows(call: Call) -> Dim:
    """How many elements a `TensorArray` holds: what was unstacked into it, or its size if that is fixed."""
    receiver = call.receiver
    if not isinstance(receiver, LibInst):
        return DYNAMIC
    dynamic = any(o is not FALSE for o in call.field(receiver, "dynamic_size"))
    rows = call.field(receiver, "rows")
    found = dim_of(rows or call.field(receiver, "size")) if not dynamic or rows else DYNAMIC
    return found if found >= 0 else DYNAMIC


def _array_element(call: Call) -> Value:
    receiver = call.receiver
    if isinstance(receiver, LibInst):
        stored = call.field(receiver, "elements")
        dtype = dtype_of(call.field(receiver, "dtype"))
        shapes = [o.shape for o in stored if isinstance(o, Tensor)]
        return tensor(DENSE, dtype, shapes[0] if len(shapes) == 1 else None).value
    return tensor(DENSE).value


def _array_stack(call: Call) -> Value:
    (element,) = _array_element(call)
    assert isinstance(element, Tensor)
    shape = None if element.shape is None else (_array_rows(call), *element.shape)
    return tensor(DENSE, element.dtype, shape).value


def _placeholder(call: Call) -> Value:
    return tensor(DENSE, dtype_of(call.arg(0, "dtype")), shape_of(call, call.arg(1, "shape"))).value


_COLUMNS: Final = (
    "bucketized_column categorical_column_with_hash_bucket categorical_column_with_identity "
    "categorical_column_with_vocabulary_file categorical_column_with_vocabulary_list crossed_column embedding_column "
    "indicator_column numeric_column sequence_numeric_column shared_embeddings weighted_categorical_column"
).split()


def _column(call: Call) -> Value:
    """A description of a feature: no tensor."""
    return keep_arguments(call, "tf.feature_column.FeatureColumn").value


#: Functions that return nothing that a program computes with.
_SAY_NOTHING: Final = (
    "tf.test.main",
    "tf.compat.v1.test.main",
    "tf.compat.v1.app.run",
    "tf.compat.v1.initializers.global_variables",
    "tf.compat.v1.global_variables_initializer",
    "tf.compat.v1.local_variables_initializer",
    "tf.compat.v1.tables_initializer",
    *(f"tf.compat.v1.logging.{name}" for name in "set_verbosity info warn warning error debug fatal log".split()),
    *(f"np.testing.assert_{name}" for name in "allclose array_equal equal almost_equal array_less raises".split()),
)


FUNCTIONS: Final[dict[str, Spec]] = {
    "tf.gradients": Spec(_gradients, op=True),
    "tf.TensorSpec.from_tensor": Spec(_spec_of),
    "tf.TensorSpec.from_spec": Spec(_spec_of),
    "tf.function": Spec(_function),
    "tf.nest.map_structure": Spec(_map_structure),
    "tf.nest.flatten": Spec(_flatten),
    "tf.Module.with_name_scope": Spec(_identity),
    "tf.nest.pack_sequence_as": Spec(lambda call: call.arg(0, "structure")),
    "tf.nest.assert_same_structure": Spec(nothing),
    "tf.autograph.experimental.do_not_convert": Spec(_identity),
    "tf.autograph.experimental.set_loop_options": Spec(nothing),
    "tf.autograph.set_verbosity": Spec(nothing, effects=("state",)),
    **dict.fromkeys(_SAY_NOTHING, Spec(nothing)),
    "tf.compat.v1.placeholder": Spec(_placeholder, op=True),
    "tf.compat.v1.placeholder_with_default": Spec(lambda call: _convert(call), op=True),
    **{f"tf.feature_column.{name}": Spec(_column) for name in _COLUMNS},
    **{
        f"tf.compat.v1.feature_column.{name}": Spec(lambda call: tensor(DENSE, "float32", (DYNAMIC, UNRESOLVED)).value)
        for name in ("input_layer", "linear_model")
    },
    "tf.compat.dimension_value": Spec(_identity),
    "tf.get_static_value": Spec(lambda call: unknown("a static value").value),
    "tf.broadcast_static_shape": Spec(lambda call: shape_value(None)),
    "tf.get_logger": Spec(lambda call: call.made("logging.Logger").value),
    "tf.keras.utils.set_random_seed": Spec(nothing, effects=("random",)),
    "tf.config.run_functions_eagerly": Spec(nothing, effects=("state",)),
    "tf.config.experimental_run_functions_eagerly": Spec(nothing, effects=("state",)),
    "tf.config.list_physical_devices": Spec(lambda call: call.list_of(unknown("a device").value, "list", "devices")),
    "tf.config.experimental.set_memory_growth": Spec(nothing, effects=("state",)),
    "tf.config.set_visible_devices": Spec(nothing, effects=("state",)),
    "tf.debugging.set_log_device_placement": Spec(nothing, effects=("state",)),
    "tf.compat.v1.enable_eager_execution": Spec(nothing, effects=("state",)),
    "tf.compat.v1.disable_eager_execution": Spec(nothing, effects=("state",)),
    "tf.summary.create_file_writer": Spec(lambda call: call.made("tf.summary.SummaryWriter").value),
    **{
        f"tf.summary.{name}": Spec(lambda call: tensor(DENSE, "bool", ()).value)
        for name in ("scalar", "image", "histogram", "text", "audio", "write", "graph")
    },
    "tf.summary.trace_on": Spec(nothing, effects=("state",)),
    "tf.summary.trace_export": Spec(nothing, effects=("io",)),
    "tf.saved_model.load": Spec(lambda call: unknown("a saved model", Why.LOADED).value, effects=("io",)),
    "tf.saved_model.save": Spec(nothing, effects=("io",)),
}

CLASSES: Final[dict[str, ClassSpec]] = {
    "tf.Variable": ClassSpec(make=_variable),
    "tf.Tensor": ClassSpec(make=_convert),
    "tf.sparse.SparseTensor": ClassSpec(make=_sparse),
    "tf.IndexedSlices": ClassSpec(make=_indexed_slices),
    "tf.TensorShape": ClassSpec(make=_tensor_shape),
    "tf.TensorSpec": ClassSpec(make=_tensor_spec, parameters=("shape", "dtype", "name")),
    "tf.GradientTape": ClassSpec(
        methods={
            "gradient": Spec(_gradient, op=True),
            "jacobian": Spec(_jacobian(), op=True),
            "batch_jacobian": Spec(_jacobian(1), op=True),
            "watch": Spec(nothing),
            "watched_variables": Spec(_watched),
            "stop_recording": Spec(itself),
            "reset": Spec(nothing),
            "__enter__": Spec(itself),
        },
        parameters=("persistent", "watch_accessed_variables"),
    ),
    "tf.Module": ClassSpec(
        methods={
            "__init__": Spec(nothing),
            "with_name_scope": Spec(_identity),
            "_flatten": Spec(lambda call: unknown("the parts of a module").value),
        },
        properties={
            "variables": _module_variables,
            "trainable_variables": _module_variables,
            "non_trainable_variables": _module_variables,
            "submodules": lambda call: unknown("submodules").value,
            "name": lambda call: STR_V,
            "name_scope": lambda call: unknown("a name scope").value,
        },
    ),
    "tf.autodiff.ForwardAccumulator": ClassSpec(
        methods={"jvp": Spec(_forward, op=True), "__enter__": Spec(itself)}, parameters=("primals", "tangents")
    ),
    "tf.TensorArray": ClassSpec(
        make=_tensor_array,
        methods={
            "write": Spec(_array_write, op=True),
            "unstack": Spec(_array_unstack, op=True),
            "scatter": Spec(_array_write, op=True),
            "read": Spec(_array_element, op=True),
            "stack": Spec(_array_stack, op=True),
            "concat": Spec(lambda call: tensor(DENSE).value, op=True),
            "gather": Spec(_array_stack, op=True),
            "size": Spec(lambda call: tensor(DENSE, "int32", ()).value, op=True),
            "mark_used": Spec(nothing),
        },
        parameters=("dtype", "size"),
    ),
    "tf.summary.SummaryWriter": ClassSpec(
        methods={
            "as_default": Spec(itself),
            "set_as_default": Spec(nothing, effects=("state",)),
            "flush": Spec(nothing),
            "close": Spec(nothing, effects=("io",)),
            "__enter__": Spec(itself),
        }
    ),
    "tf.train.Checkpoint": ClassSpec(
        methods={
            "save": Spec(lambda call: STR_V, effects=("io",)),
            "write": Spec(lambda call: STR_V, effects=("io",)),
            "restore": Spec(lambda call: unknown("a restore status").value, effects=("io",)),
            "read": Spec(lambda call: unknown("a restore status").value, effects=("io",)),
        }
    ),
    "tf.train.CheckpointManager": ClassSpec(
        methods={
            "save": Spec(lambda call: STR_V, effects=("io",)),
            "restore_or_initialize": Spec(lambda call: STR_V, effects=("io",)),
        },
        properties={"latest_checkpoint": lambda call: join(STR_V, NONE_V), "checkpoints": lambda call: STR_V},
    ),
    "wrapper.hybrid": ClassSpec(
        methods={
            "get_concrete_function": Spec(lambda call: _concrete(call)),
            "experimental_get_tracing_count": Spec(lambda call: INT_V),
            "pretty_printed_concrete_signatures": Spec(lambda call: STR_V),
            "experimental_get_compiler_ir": Spec(lambda call: unknown("compiler output").value),
        }
    ),
}


def _concrete(call: Call) -> Value:
    """A concrete function: calling it runs the same code."""
    call.effect("concrete_function", "get_concrete_function", call.receiver)
    return itself(call)
