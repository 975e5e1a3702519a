"""What functions, attributes and methods of TensorFlow give that is no tensor: names, flags, dtypes, specs, operations.

The tables hold what TensorFlow 2.15 and 2.21 gave for every public member, eagerly and in a trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hybridize.domain.objects import BOOL_V, INT_V, NONE_V, STR_V, Value, lib, literal, prim, stream, tup, unknown
from hybridize.domain.session import cached
from hybridize.library.convert import SHAPE_KIND, dtype_of
from hybridize.library.spec import Call, Spec, give

_FLOAT: Final = prim("float").value
_SHAPE: Final = stream(SHAPE_KIND, INT_V).value
_KINDS: Final[Mapping[str, Value]] = {"bool": BOOL_V, "int": INT_V, "str": STR_V, "float": _FLOAT, "shape": _SHAPE}

#: Functions that give a Python value, eagerly and while tracing.
_FUNCTIONS: Final[Mapping[str, str]] = {
    "tf.executing_eagerly tf.inside_function tf.is_symbolic_tensor tf.compat.v1.executing_eagerly": "bool",
    "tf.compat.v1.executing_eagerly_outside_functions tf.compat.v1.resource_variables_enabled": "bool",
    "tf.compat.v1.control_flow_v2_enabled tf.distribute.has_strategy tf.distribute.in_cross_replica_context": "bool",
    "tf.config.functions_run_eagerly tf.config.get_soft_device_placement tf.debugging.is_numeric_tensor": "bool",
    "tf.config.experimental.get_synchronous_execution tf.debugging.get_log_device_placement": "bool",
    "tf.config.experimental.tensor_float_32_execution_enabled": "bool",
    "tf.debugging.is_traceback_filtering_enabled tf.nest.is_nested": "bool",
    "keras.utils.is_interactive_logging_enabled keras.config.is_interactive_logging_enabled": "bool",
    "tf.get_current_name_scope tf.config.optimizer.get_jit tf.config.experimental.get_device_policy": "str",
    "tf.compat.as_str tf.compat.as_str_any tf.compat.as_text tf.compat.path_to_str": "str",
    "tf.config.threading.get_inter_op_parallelism_threads": "int",
    "tf.config.threading.get_intra_op_parallelism_threads tf.compat.v1.logging.get_verbosity": "int",
}
#: Functions that give `None` eagerly, and while tracing an operation, which no function can return.
_OPERATIONS: Final = (
    "tf.print tf.no_op tf.group tf.Assert tf.debugging.Assert tf.summary.flush tf.io.write_file",
    *(
        f"{module}.assert_{check}"
        for module in ("tf.debugging", "tf.compat.v1", "tf.compat.v1.debugging")
        for check in (
            "equal none_equal less less_equal greater greater_equal near negative positive non_negative non_positive "
            "rank rank_at_least rank_in"
        ).split()
    ),
)
OPERATION: Final = "tf.Operation"
#: By class: what its members give (a kind, or the name of a class that no function can return). Members of which
#: nothing is said here or in a model give something unknown.
_MEMBERS: Final[Mapping[str, Mapping[str, str]]] = {
    "tf.TensorSpec": {"bool": "is_compatible_with is_subtype_of", "str": "name"},
    "tf.TypeSpec": {"bool": "is_compatible_with is_subtype_of"},
    "tf.dtypes.DType": {"bool": "is_compatible_with is_subtype_of"},
    "keras.layers.Layer": {"keras.layers.InputSpec": "input_spec", "keras.KerasTensor": "compute_output_spec"},
}
_QUANTIZED: Final = frozenset({"qint8", "qint16", "qint32", "quint8", "quint16"})
_SIZES: Final = {"bool": 1, "complex64": 8, "complex128": 16, "bfloat16": 2, "string": 1, "variant": 1, "resource": 1}


@cached
def member(owner: str, name: str) -> Value | None:
    """What a member of a public class gives, by the class that defines it; None where the tables say nothing."""
    for kind, names in _MEMBERS.get(owner, {}).items():
        if name in names.split():
            return _KINDS.get(kind) or lib(kind).value
    return None


@cached
def dtype_member(dtype: str, name: str) -> Value | None:
    """An attribute of a dtype: `tf.float32.name`, `x.dtype.is_floating`; None for what is none of its plain ones."""
    known = dtype_of(lib(dtype).value)
    if known is None:
        return None
    digits = "".join(c for c in known if c.isdigit())
    plain: dict[str, object] = {
        "name": known,
        "size": _SIZES.get(known) or int(digits or 8) // 8,
        "is_floating": known.startswith(("float", "bfloat", "half")),
        "is_integer": known.startswith(("int", "uint")),
        "is_bool": known == "bool",
        "is_complex": known.startswith("complex"),
        "is_unsigned": known.startswith("uint"),
        "is_quantized": known in _QUANTIZED,
        "is_numeric": known not in ("bool", "string", "variant", "resource"),
        "is_numpy_compatible": known not in ("variant", "resource"),
    }
    if name in plain:
        return literal(plain[name]).value
    if name in ("base_dtype", "real_dtype"):
        return lib({"complex64": "tf.float32", "complex128": "tf.float64"}.get(known, dtype)).value
    if name in ("max", "min"):
        return _FLOAT if plain["is_floating"] else INT_V
    if name == "limits":
        return tup([INT_V if plain["is_integer"] else _FLOAT] * 2).value
    if name == "as_numpy_dtype":
        return lib(f"np.{known}").value
    return INT_V if name == "as_datatype_enum" else None


def as_dtype(call: Call) -> Value:
    """`tf.as_dtype(name)`."""
    known = dtype_of(call.arg(0, "type_value"))
    return lib(f"tf.{known}").value if known else unknown("a dtype").value


_NOTHING_OR_OPERATION: Final = NONE_V | lib(OPERATION).value
FUNCTIONS: Final[dict[str, Spec]] = {
    **{name: Spec(give(_KINDS[kind])) for names, kind in _FUNCTIONS.items() for name in names.split()},
    **{name: Spec(give(_NOTHING_OR_OPERATION), op=True) for names in _OPERATIONS for name in names.split()},
    "tf.as_dtype": Spec(as_dtype),
    "tf.dtypes.as_dtype": Spec(as_dtype),
    "tf.type_spec_from_value": Spec(give(lib("tf.TypeSpec").value)),
}
