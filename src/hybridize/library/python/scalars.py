"""Built-in functions on numbers, texts and truth values: `sum`, `int`, `abs`, `str`, `all` ..."""

from __future__ import annotations

from math import isfinite
from typing import Final

from hybridize.domain.lattice import join, varying
from hybridize.domain.objects import (
    BOOL_V,
    BOTTOM,
    INT_V,
    NONE,
    NONE_V,
    STR_V,
    Container,
    Inst,
    Lit,
    Prim,
    Tensor,
    Tup,
    Value,
    literal,
    prim,
    stream,
    tup,
)
from hybridize.library.protocols import FORMATTED, SHOWN, TRUTH, ask, show
from hybridize.library.python.sequences import MAX_ROWS, compare_elements, give, known_items, special
from hybridize.library.spec import Call, Rule, parametrized

#: The special method that is asked for where a class does not have another.
_OTHERWISE: Final = {
    "__bool__": "__len__",
    "__int__": "__index__",
    "__float__": "__index__",
    "__complex__": "__float__",
}


@parametrized
def _with_special(call: Call, name: str, rule: Rule) -> Value:
    """A rule that first lets objects of the project answer by a special method."""
    for obj in call.arg(0):
        if not special(call, obj, name) and name in _OTHERWISE:
            special(call, obj, _OTHERWISE[name])
    return rule(call)


def _reduce_numbers(call: Call) -> Value:
    """`sum`, `min`, `max`: of tensors a tensor, of numbers a number."""
    name = call.name.rpartition(".")[2]
    single = len(call.args) == 1 or name == "sum"
    values = call.elements(call.arg(0)) if single else call.every()
    key = call.arg(-1, "key")
    if key and key is not NONE_V and values:
        call.call(key, values)
    elif name != "sum":
        compare_elements(call, values)
    result = BOTTOM
    start = call.arg(1, "start") if name == "sum" else BOTTOM
    items = known_items(call, call.arg(0)) if name == "sum" else None
    if items and len(items) <= MAX_ROWS and (any(isinstance(o, (Inst, Tensor)) for o in values) or _are_fixed(items)):
        return _added_up(call, start or literal(0).value, items)
    if name == "sum" and any(isinstance(o, (Container, Tup)) for o in values):
        kind = "list" if any(isinstance(o, Container) for o in values) else "tuple"
        element = join(call.elements(values), call.elements(start))
        return call.list_of(element, "list", "sum") if kind == "list" else stream("tuple", element).value
    for obj in start:
        result = join(result, obj.value if isinstance(obj, (Tensor, Inst)) else BOTTOM)
    for obj in values:
        if name == "sum" and isinstance(obj, Inst):
            summed = join(special(call, obj, "__radd__", INT_V), special(call, obj, "__add__", values))
            result = join(result, summed)
            if summed:
                continue
        if isinstance(obj, Tensor):
            if obj.kind != "ndarray":
                call.frame.computes(call.pos, call.name)
            result = join(result, obj.value)
        elif isinstance(obj, Lit) and isinstance(obj.const, (int, float)) and obj is not NONE:
            kind = obj.kind if obj.kind != "bool" else "int"
            result = join(result, _folded(call, name, obj) or prim(kind, obj.varies).value)
        else:
            result = join(result, obj.value)
    if name in ("min", "max"):
        default = call.arg(-1, "default")
        result = join(result, default)
    return result or INT_V


def _are_fixed(items: list[Value]) -> bool:
    """Whether items are one number each, the same whenever the code runs."""
    each = [next(iter(item)) if len(item) == 1 else None for item in items]
    return all(isinstance(o, Lit) and isinstance(o.const, (int, float)) and not o.varies for o in each)


def _added_up(call: Call, total: Value, items: list[Value]) -> Value:
    """`sum` of items that are known one by one."""
    from hybridize.library.operators import binary

    for item in items:
        total = binary(call.engine, call.frame, "+", total, item, call.pos) if total and item else BOTTOM
    return total


def _folded(call: Call, name: str, obj: Lit) -> Value | None:
    if name == "sum":
        return None
    consts = call.constants()
    if len(consts) > 1 and all(isinstance(c, (int, float)) for c in consts):
        made = literal((min if name == "min" else max)(consts)).value
        return varying(made) if any(isinstance(o, Lit) and o.varies for v in call.args for o in v) else made
    return None


@parametrized
def _number(call: Call, kind: str) -> Value:
    const = call.constant(0, "")
    result = BOTTOM
    for obj in call.arg(0):
        read = isinstance(obj, Tensor) and obj.kind != "ndarray"
        if isinstance(obj, Tensor) and not read and obj.shape == () and obj.content and obj.content[0] >= 0:
            result = join(result, literal({"int": int, "float": float}[kind](obj.content[0])).value)
        if isinstance(obj, Lit) and obj.varies and kind == "int":
            return obj.value
        if read or (isinstance(obj, (Lit, Prim)) and obj.varies):
            result = join(result, prim(kind, True).value)
    if result:
        return result
    if const is not None and isinstance(const, (int, float, str)) and len(call.args) == 1:
        try:
            return literal({"int": int, "float": float}[kind](const)).value
        except (ValueError, OverflowError):
            return BOTTOM
    return result or (literal({"int": 0, "float": 0.0}[kind]).value if not call.args else prim(kind).value)


def _abs(call: Call) -> Value:
    result = BOTTOM
    for obj in call.arg(0):
        if isinstance(obj, Lit) and isinstance(obj.const, (int, float)):
            made = literal(abs(obj.const)).value
            result = join(result, varying(made) if obj.varies else made)
        elif isinstance(obj, Tensor):
            if obj.kind != "ndarray":
                call.frame.computes(call.pos, "tf.math.abs")
            result = join(result, obj.value)
        else:
            result = join(result, obj.value)
    return result


def _round(call: Call) -> Value:
    result = BOTTOM
    for obj in call.arg(0):
        if isinstance(obj, Tensor):
            result = join(result, obj.value)
        elif isinstance(obj, Lit) and isinstance(obj.const, (int, float)) and len(call.args) == 1 and not call.kwargs:
            made = literal(round(obj.const)).value if isfinite(obj.const) else BOTTOM
            result = join(result, varying(made) if obj.varies else made)
        else:
            result = join(result, INT_V if len(call.args) == 1 else prim("float").value)
    return result


def _divmod(call: Call) -> Value:
    from hybridize.library.operators import binary

    a, b = call.arg(0), call.arg(1)
    own = join(
        ask(call.engine, call.frame, a, ("__divmod__",), call.pos, b),
        ask(call.engine, call.frame, b, ("__rdivmod__",), call.pos, a),
    )
    if own:
        return own
    parts = [binary(call.engine, call.frame, op, a, b, call.pos) or INT_V for op in ("//", "%")]
    return tup(parts).value


def _pow(call: Call) -> Value:
    from hybridize.library.operators import binary

    return binary(call.engine, call.frame, "**", call.arg(0, "base"), call.arg(1, "exp"), call.pos) or INT_V


def _string(call: Call) -> Value:
    show(call.engine, call.frame, call.arg(0), SHOWN, call.pos)
    for obj in call.arg(0):
        if isinstance(obj, Lit):
            return literal(str(obj.const)).value if len(call.arg(0)) == 1 else STR_V
    return STR_V


def _represented(call: Call) -> Value:
    show(call.engine, call.frame, call.arg(0), SHOWN[1:], call.pos)
    return STR_V


def _format(call: Call) -> Value:
    show(call.engine, call.frame, call.arg(0), FORMATTED, call.pos)
    return STR_V


def _truths(call: Call) -> Value:
    """`any`, `all`: objects answer by `__bool__`."""
    ask(call.engine, call.frame, call.elements(call.arg(0)), TRUTH, call.pos)
    return BOOL_V


def _truth(call: Call) -> Value:
    return BOOL_V


_TEXT: Final = give(STR_V)


#: The functions by name.
RULES: Final[dict[str, Rule]] = {
    "sum": _reduce_numbers,
    "min": _reduce_numbers,
    "max": _reduce_numbers,
    "int": _with_special("__int__", _number("int")),
    "float": _with_special("__float__", _number("float")),
    "bool": _with_special("__bool__", _truth),
    "str": _string,
    "repr": _represented,
    "format": _format,
    "ascii": _represented,
    "chr": _TEXT,
    "bin": _with_special("__index__", _TEXT),
    "hex": _with_special("__index__", _TEXT),
    "oct": _with_special("__index__", _TEXT),
    "ord": give(INT_V),
    "hash": _with_special("__hash__", give(INT_V)),
    "id": give(INT_V),
    "bytes": _with_special("__bytes__", give(prim("bytes").value)),
    "complex": give(prim("complex").value),
    "abs": _with_special("__abs__", _abs),
    "round": _with_special("__round__", _round),
    "pow": _pow,
    "divmod": _divmod,
    "any": _truths,
    "all": _truths,
    "dir": _with_special("__dir__", give(stream("tuple", STR_V).value)),
}
