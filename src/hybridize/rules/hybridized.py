"""The `tf.function` of a hybrid function: its arguments as values and as source."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.domain.objects import BOTTOM, Container, LibInst, Lit, Tup, Value
from hybridize.domain.tensors import Shape
from hybridize.library.convert import dim_of, dtype_of
from hybridize.program.ir import Code
from hybridize.rules.views import FunctionView


def places(function: FunctionView) -> list[tuple[Code, int]]:
    """Where the function is made hybrid: (the code that does it, position)."""
    found = function.project.solution.world.hybrids.get(function.code, {})
    return sorted(found, key=lambda place: (place[0].path, place[1]))


def option(function: FunctionView, name: str) -> Value:
    """The value of an argument of `tf.function`, over all places; bottom where it is not given."""
    result = BOTTOM
    for options in function.project.solution.world.hybrids.get(function.code, {}).values():
        result |= options.get(name, BOTTOM)
    return result


def is_true(value: Value) -> bool:
    """Whether a value is the constant True and nothing else."""
    return bool(value) and all(isinstance(o, Lit) and o.const is True for o in value)


def is_false(value: Value) -> bool:
    """Whether a value is the constant False and nothing else."""
    return bool(value) and all(isinstance(o, Lit) and o.const is False for o in value)


def decorator_position(function: FunctionView) -> int:
    """Where the decorator (or the explicit call) stands; the position of the function where it cannot be told."""
    found = places(function)
    return found[0][1] if found else function.code.position


def decorator_keywords(function: FunctionView) -> Iterator[tuple[str, ast.keyword]]:
    """The keyword arguments of the decorator as they stand in the source."""
    made = function.facts.hybridization
    for node in function.code.decorators:
        if made is not None and node.lineno == made.line and isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg is not None:
                    yield keyword.arg, keyword


def signature_items(value: Value) -> list[Value] | None:
    """The entries of an `input_signature`, in order; None where their number is not known."""
    if len(value) != 1:
        return None
    (obj,) = value
    if isinstance(obj, Tup):
        return list(obj.items)
    if isinstance(obj, Container) and obj.kind == "list" and obj.exact:
        return [cell.value for cell in obj.fields.values()]
    return None


def is_spec(value: Value) -> bool:
    """Whether a value is a `tf.TensorSpec` and nothing else."""
    return bool(value) and all(isinstance(o, LibInst) and o.cls == "tf.TensorSpec" for o in value)


def spec_shape(spec: LibInst) -> Shape:
    """The shape that a `tf.TensorSpec` gives, None where it has none or it is not known."""
    cell = spec.fields.get("shape")
    if cell is None or len(cell.value) != 1:
        return None
    items = signature_items(cell.value)
    return None if items is None else tuple(map(dim_of, items))


def spec_dtype(spec: LibInst) -> str | None:
    """The dtype of a `tf.TensorSpec`."""
    cell = spec.fields.get("dtype")
    return dtype_of(cell.value) if cell is not None and cell.value else "float32"
