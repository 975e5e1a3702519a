"""Python's operators on abstract values: numbers, strings, containers, tensors, arrays, objects of the project."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join, join_all, varying
from hybridize.domain.objects import (
    BOOL_V,
    BOTTOM,
    NONE,
    STR_V,
    Bound,
    Class,
    Container,
    Func,
    Inst,
    Lib,
    LibInst,
    Lit,
    Mod,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Value,
    bound,
    literal,
    prim,
    tensor,
    tup,
    unknown,
    unknown_result,
)
from hybridize.domain.tensors import DENSE, NDARRAY, VARIABLE
from hybridize.domain.words import NUMBERS
from hybridize.library import registry
from hybridize.library.annotations import union
from hybridize.library.arithmetic import binary_tensor, compare_tensor
from hybridize.library.engine import EngineApi
from hybridize.library.joining import (
    concatenated,
    concatenated_alike,
    is_shape,
    joined_shapes,
    merged,
    repeated,
    several_lists,
)
from hybridize.library.lengths import append_counted
from hybridize.library.protocols import SHOWN, ask, compare_parts, equal, look_up, show
from hybridize.library.spec import Call

_FOLD: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "|": operator.or_,
    "&": operator.and_,
    "^": operator.xor,
}
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
SPECIAL: Final = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "@": "matmul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "<<": "lshift",
    ">>": "rshift",
    "|": "or",
    "&": "and",
    "^": "xor",
    "==": "eq",
    "!=": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
}
_NUMBERS: Final = NUMBERS | {"complex"}
#: Operators are computed for so many pairs of alternatives.
MAX_PAIRS: Final = 64
_LIMIT: Final = 2**63
#: By container the operators that change it in place; those that are not named have any.
_IN_PLACE: Final = {"list": "+*", "dict": "|", "set": "|&-^"}


def binary(engine: EngineApi, frame: Any, op: str, a: Value, b: Value, pos: int) -> Value:
    """`a op b`."""
    result = BOTTOM
    if op == "%" and any(isinstance(o, (Lit, Prim)) and o.kind == "str" for o in a):
        show(engine, frame, b, SHOWN, pos)
    if len(a) * len(b) > MAX_PAIRS:
        a, b = _plain(a), _plain(b)
        result = unknown("an operator on too many alternatives").value
    if op == "+" and (len(a) > 1 or len(b) > 1) and several_lists(a, b):
        return join(result, concatenated_alike(engine, frame, a, b, pos))
    for x in a:
        for y in b:
            result = join(result, _binary(engine, frame, op, x, y, pos))
    return result


def _plain(value: Value) -> Value:
    """The numbers and tensors of a value: what operators on many alternatives are still computed for."""
    return frozenset(o for o in value if isinstance(o, (Lit, Prim, Tensor)))


def _binary(engine: EngineApi, frame: Any, op: str, x: Obj, y: Obj, pos: int) -> Value:
    if isinstance(x, Tensor) or isinstance(y, Tensor):
        if isinstance(x, Inst):
            found = _special(engine, frame, x, f"__{SPECIAL[op]}__", [y.value], pos)
            if found is not None:
                return found
        return binary_tensor(Call(engine, frame, pos, op, [x.value, y.value], {}), op, x, y)
    if isinstance(x, (Lit, Prim)) and isinstance(y, (Lit, Prim)):
        return _scalars(op, x, y)
    if isinstance(x, Inst):
        found = _special(engine, frame, x, f"__{SPECIAL[op]}__", [y.value], pos)
        if found is not None:
            return found
    if isinstance(y, Inst):
        found = _special(engine, frame, y, f"__r{SPECIAL[op]}__", [x.value], pos)
        if found is not None:
            return found
    types = union(x, y, frame.module) if op == "|" else BOTTOM
    return types or _containers(engine, frame, op, x, y, pos)


def _special(engine: EngineApi, frame: Any, obj: Inst, name: str, args: list[Value], pos: int) -> Value | None:
    method = engine.attributes.find_method(frame, obj, name)
    if not method:
        return None
    result = engine.calls.call_value(frame, pos, method, args, {}, How.OPERATOR)
    return result


def _scalars(op: str, x: Lit | Prim, y: Lit | Prim) -> Value:
    varies = x.varies or y.varies
    if isinstance(x, Lit) and isinstance(y, Lit) and op in _FOLD:
        result = _fold(op, x.const, y.const)
        return varying(result) if varies else result
    if x is NONE or y is NONE:
        return BOTTOM
    if x.kind == "str":
        return STR_V
    if x.kind == "bytes" or y.kind == "bytes":
        return prim("bytes").value
    if y.kind == "str":
        return STR_V
    if x.kind not in _NUMBERS or y.kind not in _NUMBERS:
        return unknown("the result of an operator").value
    kinds = {x.kind, y.kind}
    if "complex" in kinds:
        return prim("complex", varies).value
    if "float" in kinds or op == "/":
        return prim("float", varies).value
    if kinds == {"bool"} and op in "|&^":
        return BOOL_V
    return prim("int", varies).value


def _fold(op: str, x: Any, y: Any) -> Value:
    """Constant folding, within bounds: results never grow beyond what a program would write."""
    if isinstance(x, (str, bytes)) or isinstance(y, (str, bytes)):
        text = x if isinstance(x, (str, bytes)) else y
        size = len(text) * abs(y if text is x else x) if op == "*" and isinstance(x, int) != isinstance(y, int) else 0
        if op == "%" or not isinstance(text, str) or len(text) > 200 or size > 200:
            return STR_V if isinstance(text, str) else prim("bytes").value
    elif op in ("**", "<<") and not _small(x, y):
        return prim("float" if isinstance(x, float) or isinstance(y, float) else "int").value
    try:
        result = _FOLD[op](x, y)
    except (ArithmeticError, TypeError, ValueError):
        return BOTTOM
    if isinstance(result, int) and abs(result) > _LIMIT:
        return prim("int").value
    if isinstance(result, str) and len(result) > 200:
        return STR_V
    return literal(result).value


def _small(x: Any, y: Any) -> bool:
    numbers = isinstance(x, (int, float)) and isinstance(y, (int, float))
    return numbers and abs(x) <= 4096 and abs(y) <= 64


def _containers(engine: EngineApi, frame: Any, op: str, x: Obj, y: Obj, pos: int) -> Value:
    if op == "+" and (is_shape(x) or is_shape(y)):
        return joined_shapes(engine, frame, x, y, pos)
    if isinstance(x, Tup) and isinstance(y, Tup) and op == "+":
        kind = x.kind if x.kind == y.kind else "tuple"
        return tup(x.items + y.items, kind).value if len(x.items) + len(y.items) <= 64 else BOTTOM
    if op == "*" and isinstance(x, Tup) and isinstance(y, Lit) and isinstance(y.const, int):
        return tup(x.items * min(max(y.const, 0), 16)).value
    sides = [s for s in (x, y) if isinstance(s, (Container, Stream, Tup))]
    if sides and op in ("+", "*", "|", "&", "-", "^"):
        first = sides[0]
        kind = first.kind if isinstance(first, Container) else "tuple" if isinstance(first, Tup) else first.kind
        if kind == "list" and op == "+":
            return concatenated(engine, frame, sides, pos)
        if kind == "dict" and op == "|":
            return merged(engine, frame, [x.value, y.value], engine.cells.container(frame, pos, "dict", "merged"), pos)
        if kind == "list" and op == "*":
            return repeated(engine, frame, x, y, pos)
        element = BOTTOM
        for side in sides:
            element = join(element, engine.heap.elements(frame, side.value, pos))
        if op in "|&-^" and not isinstance(first, Container):
            kind = "set"  # views of dicts give sets
        elif kind == "tuple" or not isinstance(first, Container):
            from hybridize.domain.objects import stream

            return stream("tuple", element).value
        made = engine.cells.container(frame, pos, kind, "binary")
        engine.cells.lose_exactness(made)
        engine.cells.write(frame, made.rest_cell(), element, pos)
        result: Value = made.value
        return result
    found = _modelled(engine, frame, op, x, y, pos)
    if found is not None:
        return found
    if isinstance(x, (Class, Lib, Lit)) and isinstance(y, (Class, Lib, Lit)) and op == "|":
        return unknown("a union type").value
    if isinstance(x, Unknown) or isinstance(y, Unknown):
        return _unknown_operand(op, x, y)
    return unknown_result(op).value


def _modelled(engine: EngineApi, frame: Any, op: str, x: Obj, y: Obj, pos: int) -> Value | None:
    """An operator that the model of a library class has (`Path / "x"`)."""
    for obj, other, prefix in ((x, y, "__"), (y, x, "__r")):
        name = f"{prefix}{SPECIAL[op]}__"
        if isinstance(obj, LibInst) and registry.method_spec(obj.cls, name) is not None:
            result = engine.calls.call_value(frame, pos, bound(name, obj).value, [other.value], {}, How.OPERATOR)
            return result
    return None


def _unknown_operand(op: str, x: Obj, y: Obj) -> Value:
    """An operator with one unknown operand: the string case aside, nothing is known."""
    if op == "%" and isinstance(x, (Lit, Prim)) and x.kind == "str":
        return STR_V
    found = x if isinstance(x, Unknown) else y
    return (
        unknown(found.reason, found.why, found.taken) if isinstance(found, Unknown) else unknown("an operand")
    ).value


def inplace(engine: EngineApi, frame: Any, op: str, a: Value, b: Value, pos: int) -> Value:
    """`a op= b`: mutates lists, sets, dicts, arrays and objects that say so; else as `a op b`."""
    result = BOTTOM
    for x in a:
        if isinstance(x, Container) and len(a) > 1 and not _can_change(x, op, b):
            continue
        if isinstance(x, Container) and x.kind != "frozenset":
            frame.effect("mutate", x, x.kind, pos)
            if x.kind == "dict":
                result = join(result, merged(engine, frame, [b], x, pos))
                continue
            if pos not in frame.code.appends or not append_counted(engine, frame, x, _listed(engine, frame, b), pos):
                engine.cells.lose_exactness(x)
                engine.cells.write(frame, x.rest_cell(), engine.heap.elements(frame, b, pos), pos)
            result = join(result, x.value)
            continue
        if isinstance(x, Lib) and x.name == "os.environ":
            frame.effect("io", None, x.name, pos)
            result = join(result, x.value)
            continue
        if isinstance(x, Inst):
            found = _special(engine, frame, x, f"__i{SPECIAL[op]}__", [b], pos)
            if found is not None:
                result = join(result, found)
                continue
        for y in b:
            result = join(result, _binary(engine, frame, op, x, y, pos))
    return result


def _can_change(container: Container, op: str, b: Value) -> bool:
    """Whether `op=` is defined for a container: what may be a number as well is one where it is not.

    A dict that stands for parsed data stands for its lists, too.
    """
    operators = _IN_PLACE.get(container.kind)
    if operators is None or op in operators:
        return True
    return container.kind == "dict" and op == "+" and any(isinstance(o, (Container, Tup)) for o in b)


def _listed(engine: EngineApi, frame: Any, value: Value) -> list[Value]:
    """The elements of a list display."""
    cells = [cell for obj in value if isinstance(obj, Container) for cell in obj.fields.values()]
    return [engine.cells.read(frame, cell) for cell in cells]


def unary(engine: EngineApi, frame: Any, op: str, value: Value, pos: int) -> Value:
    """`-a`, `+a`, `~a`."""
    result = BOTTOM
    for obj in value:
        match obj:
            case Lit(const=int() | float() | complex() as const):
                folded = {"-": lambda c: -c, "+": lambda c: +c}.get(op)
                made = literal(folded(const)).value if folded else prim("int").value
                result = join(result, varying(made) if getattr(obj, "varies", False) else made)
            case Prim():
                result = join(result, prim("int" if obj.kind == "bool" else obj.kind, obj.varies).value)
            case Tensor():
                kind = DENSE if obj.kind == VARIABLE else obj.kind
                if kind != NDARRAY:
                    frame.computes(pos, "tf.math.negative")
                result = join(result, tensor(kind, obj.dtype, obj.shape).value)
            case Inst():
                name = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}[op]
                found = _special(engine, frame, obj, name, [], pos)
                result = join(result, found if found is not None else unknown("the result of an operator").value)
            case _:
                result = join(result, unknown("the result of an operator").value)
    return result


def compare(engine: EngineApi, frame: Any, op: str, a: Value, b: Value, pos: int) -> Value:
    """`a op b` for a comparison, identity or membership test."""
    if len(a) * len(b) > MAX_PAIRS:
        return _compare_many(engine, frame, op, a, b, pos)
    result = BOTTOM
    for x in a:
        for y in b:
            result = join(result, _compare(engine, frame, op, x, y, pos))
    return result


def _compare_many(engine: EngineApi, frame: Any, op: str, a: Value, b: Value, pos: int) -> Value:
    """A comparison of too many alternatives to take them pair by pair: each is asked about all others at once."""
    result = BOOL_V
    if op in ("is", "is not"):
        return result
    if op in ("in", "not in"):
        for y in b:
            result = join(result, _contains(engine, frame, a, y, pos) or BOTTOM)
        return result
    for mine, other, name in ((a, b, op), (b, a, _REFLECTED.get(op, op))):
        found = ask(engine, frame, mine, (f"__{SPECIAL[name]}__", *_INSTEAD.get(name, ())), pos, other)
        result = join(result, found if op != "!=" else BOTTOM)
    compare_parts(engine, frame, a, b, pos)
    for x in _plain(a):
        for y in _plain(b):
            if isinstance(x, Tensor) or isinstance(y, Tensor):
                result = join(result, compare_tensor(Call(engine, frame, pos, op, [x.value, y.value], {}), x, y))
    return result


def _compare(engine: EngineApi, frame: Any, op: str, x: Obj, y: Obj, pos: int) -> Value:
    if op in ("is", "is not"):
        answer = _identical(x, y)
        return BOOL_V if answer is None else literal(answer == (op == "is")).value
    if op in ("in", "not in"):
        return _membership(engine, frame, op, x, y, pos)
    if isinstance(x, Tensor) or isinstance(y, Tensor):
        if x is NONE or y is NONE:
            return literal(op == "!=").value
        return compare_tensor(Call(engine, frame, pos, op, [x.value, y.value], {}), x, y)
    if isinstance(x, Lit) and isinstance(y, Lit):
        try:
            return literal(_COMPARE[op](x.const, y.const)).value
        except TypeError:
            return BOTTOM
    for obj, other, name in ((x, y, op), (y, x, _REFLECTED.get(op, op))):
        if isinstance(obj, Inst):
            names = (f"__{SPECIAL[name]}__", *_INSTEAD.get(name, ()))
            found = ask(engine, frame, obj.value, names, pos, other.value)
            if found:
                return BOOL_V if op == "!=" else found
    compare_parts(engine, frame, x.value, y.value, pos)
    if op in ("==", "!="):
        answer = _equal(x, y)
        if answer is not None:
            return literal(answer == (op == "==")).value
    return BOOL_V


#: The comparison that the right operand is asked for.
_REFLECTED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_ORDERINGS: Final = ("__lt__", "__le__", "__gt__", "__ge__")
#: What answers where a class does not define a comparison itself (the orderings by `functools.total_ordering`).
_INSTEAD: Final = {"!=": ("__eq__",), **dict.fromkeys(("<", ">", "<=", ">="), _ORDERINGS)}


def _equal(x: Obj, y: Obj) -> bool | None:
    if isinstance(x, Lib) and isinstance(y, Lib):
        return x is y
    if (x is NONE or y is NONE) and not isinstance(x, Unknown) and not isinstance(y, Unknown):
        return x is y
    return None


_DISTINCT = (Lit, Prim, Tensor, Tup, Container, Inst, Func, Class, Mod, LibInst, Bound, Stream)


def _identical(x: Obj, y: Obj) -> bool | None:
    if x is NONE or y is NONE:
        if x is y:
            return True
        other = y if x is NONE else x
        return False if isinstance(other, _DISTINCT) else None
    if isinstance(x, Lit) and isinstance(y, Lit) and x.kind == y.kind == "bool":
        return x is y
    if isinstance(x, (Class, Lib)) and isinstance(y, (Class, Lib)):
        return x is y
    return None


def _contains(engine: EngineApi, frame: Any, wanted: Value, y: Obj, pos: int) -> Value | None:
    """Looks for a value in a container, which may call methods of instances; what such a method answers, if it does."""
    if isinstance(y, Inst):
        found = _special(engine, frame, y, "__contains__", [wanted], pos)
        if found is None and engine.attributes.find_method(frame, y, "__iter__"):
            engine.heap.elements(frame, y.value, pos)
        return BOOL_V if found is None else found
    if isinstance(y, (Container, Tup)):
        if isinstance(y, Container) and y.kind in ("dict", "set", "frozenset"):
            look_up(engine, frame, wanted, pos)
        else:
            members = engine.heap.values_of(frame, y) if isinstance(y, Container) else join_all(y.items)
            equal(engine, frame, wanted, members, pos)
    if getattr(y, "kind", "") in ("generator", "iterator", "zip", "map", "filter", "enumerate", "reversed"):
        engine.heap.elements(frame, y.value, pos)  # looking into an iterator uses it up
        return BOOL_V
    return None


def _membership(engine: EngineApi, frame: Any, op: str, x: Obj, y: Obj, pos: int) -> Value:
    found = _contains(engine, frame, x.value, y, pos)
    if found is not None:
        return found
    if isinstance(x, Lit):
        known: list[Value] | None = None
        if isinstance(y, Tup):
            known = list(y.items)
        elif isinstance(y, Container) and engine.cells.is_exact(frame, y):
            if y.kind == "dict":
                cell = y.fields.get(x.const)
                if cell is not None and y.site not in cell.writes:
                    return BOOL_V  # put in later: before that, the key is missing
                return literal((x.const in y.fields) == (op == "in")).value
            known = [engine.cells.read(frame, c) for c in list(y.fields.values())] if y.kind == "list" else None
        elif isinstance(y, Lit) and isinstance(y.const, str) and isinstance(x.const, str):
            return literal((x.const in y.const) == (op == "in")).value
        if known is not None and all(len(m) == 1 and isinstance(next(iter(m)), Lit) for m in known):
            consts = [next(iter(m)).const for m in known]  # type: ignore[attr-defined]
            return literal((x.const in consts) == (op == "in")).value
    return BOOL_V
