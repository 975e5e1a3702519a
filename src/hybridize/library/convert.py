"""Between Python values and tensor types: dtypes, shapes, and what becomes of a value that TensorFlow converts."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
    INT_V,
    NONE_V,
    Container,
    Lib,
    Lit,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Value,
    literal,
    prim,
    stream,
    tensor,
    tup,
)
from hybridize.domain.tensors import DENSE, DYNAMIC, NDARRAY, UNRESOLVED, Shape, is_dynamic, join_shapes
from hybridize.library.lengths import length_of
from hybridize.library.spec import Call

DTYPES: Final = frozenset(
    {"float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"}
    | {"uint64", "bool", "string", "complex64", "complex128", "resource", "variant", "qint8", "quint8", "qint32"}
)
_ALIASES: Final = {
    "double": "float64",
    "half": "float16",
    "float": "float64",
    "int": "int64",
    "bool_": "bool",
    "float_": "float64",
    "int_": "int64",
    "single": "float32",
    "str": "string",
    "str_": "string",
    "bytes_": "string",
    "complex": "complex128",
    "complex_": "complex128",
    "intp": "int64",
    "intc": "int32",
    "short": "int16",
    "longlong": "int64",
    "byte": "int8",
    "ubyte": "uint8",
}
#: NumPy's one-letter codes, and those that spell a size in bytes ("f4"); only in strings.
_LETTERS: Final = dict(
    zip(
        "f d e i l q h b B H I ? F D".split(),
        ("float32 float64 float16 int32 int64 int64 int16 int8 uint8 uint16 uint32 bool complex64 complex128").split(),
        strict=True,
    )
)
_SIZED: Final = {
    "f": ("float", (2, 4, 8)),
    "i": ("int", (1, 2, 4, 8)),
    "u": ("uint", (1, 2, 4, 8)),
    "c": ("complex", (8, 16)),
}
_CODES: Final = {
    **_LETTERS,
    **{f"{letter}{n}": f"{kind}{8 * n}" for letter, (kind, sizes) in _SIZED.items() for n in sizes},
}
#: What TensorFlow makes of Python numbers.
PYTHON_TF: Final = {
    "int": "int32",
    "float": "float32",
    "bool": "bool",
    "str": "string",
    "bytes": "string",
    "complex": "complex128",
}
PYTHON_NP: Final = {
    "int": "int64",
    "float": "float64",
    "bool": "bool",
    "str": "string",
    "bytes": "string",
    "complex": "complex128",
}

#: How deeply sequences are looked into, and how many alternatives of a value.
_NESTING: Final = 4
_ALTERNATIVES: Final = 8

#: What TensorFlow makes of NumPy's integers in a list: `tf.constant([np.int64(1)])` is an int32, as of Python's own.
_NARROWED: Final = frozenset({"int8", "int16", "int64", "uint8", "uint16"})

SHAPE_KIND: Final = "TensorShape"


def dtype_name(name: str, *, tensorflow: bool = True) -> str | None:
    """The dtype that a name denotes; Python's `float` and `int` mean 32 bits to TensorFlow's `dtype=` arguments."""
    if name in DTYPES:
        return name
    if tensorflow and name in ("float", "int"):
        return f"{name}32"
    return _ALIASES.get(name)


def dtype_of(value: Value, *, tensorflow: bool = True) -> str | None:
    """The dtype that an argument names, if it is one."""
    if len(value) != 1:
        return None
    (obj,) = value
    match obj:
        case Lit(const=str() as name):
            return dtype_name(name, tensorflow=tensorflow) or _CODES.get(name.lstrip("<="))
        case Lib(name=name):
            python = name.startswith("builtins.")
            return dtype_name(name.rpartition(".")[2], tensorflow=tensorflow or not python)
    return None


def dim_of(value: Value) -> int:
    """The dim that a value gives when it is used as one."""
    if len(value) == 1:
        (obj,) = value
        if isinstance(obj, Lit):
            if isinstance(obj.const, int) and not isinstance(obj.const, bool):
                return obj.const if obj.const >= 0 else DYNAMIC
            if obj.const is None:
                return DYNAMIC
        if isinstance(obj, Tensor):
            return obj.content[0] if obj.content and len(obj.content) == 1 else DYNAMIC
    return UNRESOLVED


def shape_of(call: Call, value: Value) -> Shape:
    """The shape that an argument spells: a list or tuple of dims, a shape, a shape tensor, one int."""
    if len(value) != 1:
        return None
    (obj,) = value
    match obj:
        case Tup():
            return tuple(map(dim_of, obj.items))
        case Container(kind="list"):
            if not call.is_exact(obj):
                return None
            return tuple(dim_of(call.read(cell)) for cell in list(obj.fields.values()))
        case Tensor():
            return obj.content
        case Lit() | Prim(kind="int") if obj.kind == "int":
            return (dim_of(value),)
    return None


def dim_value(dim: int) -> Value:
    """A dim as Python sees it in `x.shape[i]`."""
    if dim >= 0:
        return literal(dim).value
    return NONE_V if is_dynamic(dim) else INT_V


def shape_value(shape: Shape, kind: str = SHAPE_KIND) -> Value:
    """A shape as a Python value."""
    if shape is None:
        return stream(kind, INT_V).value
    return tup([dim_value(d) for d in shape], kind).value


def of_graph(value: Value) -> Value:
    """What a graph gives back where its function returns a value: of Python's numbers and texts it makes tensors."""
    found = BOTTOM
    for obj in value:
        if isinstance(obj, (Lit, Prim)) and obj.kind in PYTHON_TF:
            found = join(found, tensor(DENSE, PYTHON_TF[obj.kind], ()).value)
        elif isinstance(obj, Tup) and (obj.kind == "tuple" or obj.names):
            found = join(found, tup([of_graph(item) for item in obj.items], obj.kind, obj.names).value)
        else:
            found = join(found, obj.value)
    return found


def alike(value: Value) -> Value:
    """Python numbers of one kind as one number: which of them it is says nothing about a type."""
    kinds = {o.kind if isinstance(o, (Lit, Prim)) else "" for o in value}
    return prim(kinds.pop()).value if len(kinds) == 1 and "" not in kinds and "None" not in kinds else value


def type_of_value(call: Call, value: Value, table: dict[str, str], depth: int = 0) -> tuple[str | None, Shape]:
    """(dtype, shape) of a value that is converted to a tensor (or array); unknown parts are None."""
    value = alike(value) if len(value) > 1 else value
    if not value or depth > _NESTING or len(value) > _ALTERNATIVES:
        return None, None
    result: tuple[str | None, Shape] | None = None
    for obj in value:
        found = _type_of_object(call, obj, table, depth)
        if result is None:
            result = found
        elif found != result:
            result = (result[0] if found[0] == result[0] else None, join_shapes(found[1], result[1]))
        if result == (None, None):
            return result
    return result or (None, None)


def _type_of_object(call: Call, obj: Obj, table: dict[str, str], depth: int) -> tuple[str | None, Shape]:
    match obj:
        case Tensor():
            return obj.dtype, obj.shape
        case Lit() | Prim():
            return table.get(obj.kind), ()
        case Tup():
            return _stacked(call, list(obj.items), table, depth)
        case Container(kind="list" | "deque"):
            engine, frame = call.engine, call.frame
            if engine.cells.is_exact(frame, obj):
                return _stacked(call, [engine.cells.read(frame, c) for c in list(obj.fields.values())], table, depth)
            return _alike_items(call, obj, engine.heap.elements(frame, obj.value, call.pos), table, depth)
        case Stream(kind="tuple" | "range"):
            return _alike_items(call, obj, obj.element, table, depth)
    return None, None


def _alike_items(call: Call, obj: Obj, element: Value, table: dict[str, str], depth: int) -> tuple[str | None, Shape]:
    dtype, shape = type_of_value(call, element, table, depth + 1)
    if table is PYTHON_TF and on_host([element]):
        dtype = narrowed(dtype)
    return dtype, None if shape is None else (_rows(call, obj), *shape)


def _rows(call: Call, obj: Obj) -> int:
    found = length_of(call.engine, call.frame, obj.value)
    return UNRESOLVED if found is None else found


def _stacked(call: Call, items: list[Value], table: dict[str, str], depth: int) -> tuple[str | None, Shape]:
    if not items:
        return table["float"], (0,)
    types = [type_of_value(call, item, table, depth + 1) for item in items]
    dtypes = {d for d, _ in types}
    if table is PYTHON_TF and not dtypes.isdisjoint(_NARROWED) and on_host(items):
        dtypes = {narrowed(d) for d in dtypes}
    dtype = dtypes.pop() if len(dtypes) == 1 else _mixed(dtypes, table)
    shape = types[0][1]
    for _, other in types[1:]:
        shape = join_shapes(shape, other)
    return dtype, None if shape is None else (len(items), *shape)


def on_host(items: list[Value]) -> bool:
    """Whether no element of a sequence is a tensor."""
    return not any(isinstance(obj, Tensor) and obj.kind != NDARRAY for item in items for obj in item)


def narrowed(dtype: str | None) -> str | None:
    """The dtype of a tensor that TensorFlow makes of a list of arrays or NumPy's numbers of a dtype."""
    return PYTHON_TF["int"] if dtype in _NARROWED else dtype


def _mixed(dtypes: set[str | None], table: dict[str, str]) -> str | None:
    """A list of ints and floats is a list of floats."""
    return table["float"] if dtypes == {table["int"], table["float"]} else None
