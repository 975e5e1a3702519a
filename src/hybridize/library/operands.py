"""How models of operations on tensors are written: the arguments of a call by name, and rules made of two parts.

A rule is a dtype rule and a shape rule; each sees the call through `Args` and is shared by a group of functions. One
that asks for what the program does not determine raises `Unsure`, and its part of the type is then unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any, Final, TypeAlias

from hybridize.domain.lattice import each, join_all
from hybridize.domain.objects import BOTTOM, Value, tensor, tup, unknown_result
from hybridize.domain.tensors import DENSE, RAGGED, SPARSE, UNRESOLVED, Shape
from hybridize.library.arguments import (
    CANNOT_TELL,
    INFER,
    NOTHING,
    Args,
    Impossible,
    Operand,
    Unsure,
    first_parameter,
    positions,
)
from hybridize.library.spec import Call, Rule, Spec

DtypeRule: TypeAlias = "Callable[[Args], str | None]"
ShapeRule: TypeAlias = "Callable[[Args], Shape]"
ValueRule: TypeAlias = "Callable[[Args], Value]"
_MAX_COMBINATIONS: Final = 16


def sure(rule: Callable[[Args], Any], args: Args) -> Any:
    """What a part of a rule gives, or None if it is unsure."""
    try:
        return rule(args)
    except CANNOT_TELL:
        return None


def expand(call: Call, one: Callable[[Call], Value]) -> Value:
    """Runs a rule for each choice among the objects of the arguments, and joins the results."""
    values = [*call.args, *call.kwargs.values()]
    sizes = list(map(len, values))
    if 0 in sizes:
        return BOTTOM  # an argument that no execution has given a value yet
    if max(sizes, default=1) == 1:
        return one(call)
    choices: list[list[Value]] = []
    combinations = 1
    for value in values:
        split = each(value) if len(value) <= 4 else [value]
        if combinations * len(split) > _MAX_COMBINATIONS:
            split = [value]
        combinations *= len(split)
        choices.append(split)
    results: list[Value] = []
    count = len(call.args)
    for chosen in product(*choices):
        keywords = dict(zip(call.kwargs, chosen[count:], strict=True))
        made = Call(
            call.engine, call.frame, call.pos, call.name, list(chosen[:count]), keywords, call.receiver, call.rest
        )
        made_value = one(made)
        if made_value:
            results.append(made_value)
    return join_all(results)


def value_rule(rule: ValueRule, fallback: str = "tensor") -> Rule:
    """A rule that gives any value; `fallback` says what an unsure one gives: a tensor, or something unknown."""

    def one(call: Call) -> Value:
        args = Args(call)
        try:
            return rule(args)
        except Impossible:
            call.refuse()
        except CANNOT_TELL:
            pass
        return tensor(args.kind()).value if fallback == "tensor" else unknown_result(call.name).value

    return lambda call: expand(call, one)


def tensor_rule(dtype: DtypeRule, shape: ShapeRule, ragged: bool = False, kind: str = "") -> Rule:
    """A rule for one tensor. `ragged`: the operation keeps ragged and sparse operands what they are."""

    def one(call: Call) -> Value:
        args = Args(call)
        try:
            found_dtype = sure(dtype, args)
            found_shape = sure(shape, args)
        except Impossible:
            call.refuse()
            return tensor(kind or args.kind()).value
        if found_shape is not None and INFER in found_shape:
            found_shape = tuple(UNRESOLVED if d == INFER else d for d in found_shape)
        result = kind or args.kind()
        if result in (RAGGED, SPARSE) and not kind:
            if ragged:
                return tensor(result, found_dtype, found_shape).value
            return frozenset((tensor(result, found_dtype), tensor(DENSE, found_dtype)))
        return tensor(result, found_dtype, found_shape).value

    return lambda call: expand(call, one)


def op(dtype: DtypeRule, shape: ShapeRule, ragged: bool = False, kind: str = "") -> Spec:
    """An operation that gives one tensor."""
    return Spec(tensor_rule(dtype, shape, ragged, kind), op=True)


def group(names: str, spec: Spec, prefix: str = "") -> dict[str, Spec]:
    """The same model for many functions."""
    return {prefix + name: spec for name in names.split()}


def record(kind: str, names: tuple[str, ...], *items: Value) -> Value:
    """A named tuple of tensors."""
    return tup(items, kind, names).value


# Dtype rules ---------------------------------------------------------------------------------------------------------


def same(*names: str) -> DtypeRule:
    """The dtype of an operand, of the first one by default."""
    if not names:
        return lambda a: a.tensor(a.first).dtype
    return lambda a: a.tensor(*names).dtype


def fixed(name: str | None) -> DtypeRule:
    """Always this dtype."""
    return lambda a: name


def chosen(default: str | None, name: str = "dtype") -> DtypeRule:
    """The dtype that an argument names, else a default."""
    return lambda a: a.dtype(name, default=default)


def agreed(*names: str) -> DtypeRule:
    """The dtype that all operands must have: Python values and arrays are converted to that of the tensors."""
    return lambda a: common([a.tensor(n) for n in names if a.given(n)])


def common(operands: Iterable[Operand]) -> str | None:
    """The dtype that operands of one operation share."""
    weak: list[Operand] = []
    for o in operands:
        if o.weak:
            weak.append(o)
        elif o.dtype is not None:
            return o.dtype
        else:
            weak.append(NOTHING)
    dtypes = {o.dtype for o in weak}
    return dtypes.pop() if len(dtypes) == 1 else None


def real_of(rule: DtypeRule) -> DtypeRule:
    """The dtype of real and imaginary parts."""
    table = {"complex64": "float32", "complex128": "float64"}

    def dtype(a: Args) -> str | None:
        found = rule(a)
        return table.get(found, found) if found else None

    return dtype


__all__ = [
    "INFER",
    "NOTHING",
    "Args",
    "DtypeRule",
    "Impossible",
    "Operand",
    "ShapeRule",
    "Unsure",
    "ValueRule",
    "agreed",
    "chosen",
    "common",
    "expand",
    "first_parameter",
    "fixed",
    "group",
    "op",
    "positions",
    "real_of",
    "record",
    "same",
    "sure",
    "tensor_rule",
    "value_rule",
]
