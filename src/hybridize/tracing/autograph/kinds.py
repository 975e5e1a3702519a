"""What AutoGraph makes of values that branches and loops of the graph assign, and which do not go together."""

from __future__ import annotations

from typing import Final, TypeAlias

from hybridize.domain.nesting import taken_apart
from hybridize.domain.objects import (
    NONE,
    Class,
    Container,
    Func,
    Inst,
    Lib,
    LibInst,
    Lit,
    Obj,
    Prim,
    Tensor,
    Tup,
    Value,
)
from hybridize.domain.tensors import DENSE, NDARRAY, VARIABLE, Shape

#: The dtype that a Python value gets as a tensor.
PYTHON_DTYPES: Final = {"int": "int32", "float": "float32", "bool": "bool", "str": "string", "complex": "complex128"}
_DEPTH: Final = 3

#: What a value is: ("none",), ("tensor", dtype, shape), ("object", name), ("structure", type, keys, parts), ("other",).
Kind: TypeAlias = tuple[object, ...]

OTHER: Final[Kind] = ("other",)


def kinds(value: Value) -> list[Kind]:
    """The kinds of a value's alternatives."""
    return [_kind(obj, 0) for obj in value]


def _kind(obj: Obj, depth: int) -> Kind:
    if obj is NONE:
        return ("none",)
    if isinstance(obj, Tensor):
        if obj.kind in (DENSE, VARIABLE, NDARRAY):
            return ("tensor", obj.dtype, obj.shape)
        return OTHER
    if isinstance(obj, (Lit, Prim)):
        dtype = PYTHON_DTYPES.get(obj.kind)
        return ("tensor", dtype, ()) if dtype is not None else OTHER
    if isinstance(obj, Tup) and depth < _DEPTH:
        if obj.kind != "tuple" or obj.names is not None:
            return OTHER
        return ("structure", "tuple", len(obj.items), tuple(_only(item, depth) for item in obj.items))
    if isinstance(obj, Container):
        return _container(obj, depth)
    if isinstance(obj, (Func, Class)):
        return ("object", f"the {'function' if isinstance(obj, Func) else 'class'} `{obj.code.name}`")
    if taken_apart(obj) is not None:
        return OTHER
    if isinstance(obj, Inst):
        foreign = obj.cls.foreign or any(isinstance(base, Lib) and "Extension" in base.name for base in obj.cls.mro)
        return OTHER if foreign else ("object", f"an instance of `{obj.cls.name}`")
    if isinstance(obj, Lib):
        return ("object", f"`{obj.name}`")
    if isinstance(obj, LibInst) and obj.cls.startswith(("tf.keras.", "keras.")):
        return ("object", f"an instance of `{obj.cls}`")
    return OTHER


def _container(obj: Container, depth: int) -> Kind:
    if obj.kind not in ("list", "dict") or not obj.exact or obj.rest is not None or depth >= _DEPTH:
        return OTHER
    keys = len(obj.fields) if obj.kind == "list" else tuple(sorted(map(repr, obj.fields)))
    return ("structure", obj.kind, keys, tuple(_only(cell.value, depth) for cell in obj.fields.values()))


def _only(value: Value, depth: int) -> Kind:
    if len(value) != 1:
        return OTHER
    (obj,) = value
    return _kind(obj, depth + 1)


def conflict(first: Kind, second: Kind, shapes: bool = False) -> str | None:
    """Why two values cannot be what one variable of the graph holds, None where they may. `shapes`: in a loop."""
    if OTHER in (first, second):
        return None
    if "none" in (first[0], second[0]):
        return "one is None" if first != second else "both are None"
    if "object" in (first[0], second[0]):
        name = first[1] if first[0] == "object" else second[1]
        return f"{name} is no tensor"
    if first[0] != second[0]:
        return "one is a structure, one a tensor"
    if first[0] == "structure":
        return _structures(first, second, shapes)
    if first[1] is not None and second[1] is not None and first[1] != second[1]:
        return f"`{first[1]}` and `{second[1]}`"
    if shapes and not _fits(first[2], second[2]):  # type: ignore[arg-type]  # a shape
        return f"shape {_shape(first[2])} and then {_shape(second[2])}"  # type: ignore[arg-type]
    return None


def _structures(first: Kind, second: Kind, shapes: bool) -> str | None:
    if first[1] != second[1]:
        return f"a {first[1]} and a {second[1]}"
    if first[2] != second[2]:
        return "other keys" if first[1] == "dict" else f"{first[2]} elements and {second[2]}"
    for a, b in zip(first[3], second[3], strict=True):  # type: ignore[call-overload]  # tuples of kinds
        why = conflict(a, b, shapes)
        if why is not None:
            return str(why)
    return None


def _fits(before: Shape, after: Shape) -> bool:
    """Whether a loop variable may keep its first shape: what it becomes is as special."""
    if before is None or after is None:
        return True
    return len(before) == len(after) and all(a == b or a < 0 or b < 0 for a, b in zip(before, after, strict=True))


def _shape(shape: Shape) -> str:
    return "(" + ", ".join("?" if d < 0 else str(d) for d in shape or ()) + ")"


def certain(first: Value, second: Value, shapes: bool = False) -> str | None:
    """The conflict of two values where every pair of alternatives has one."""
    why = None
    if not first or not second:
        return None
    for a in kinds(first):
        for b in kinds(second):
            why = conflict(a, b, shapes)
            if why is None:
                return None
    return why
