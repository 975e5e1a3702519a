"""NumPy's functions on numbers that the program determines, often dims: `np.prod(x.shape[1:])`, `np.ceil(n / 2)`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from hybridize.domain.objects import Tensor, Value, tensor
from hybridize.domain.tensors import Shape
from hybridize.library.arguments import Args, Impossible, Unsure
from hybridize.library.shapes import product_of, sum_of
from hybridize.library.spec import Call, Rule

_MOST: Final = 1 << 40
_OF_NUMBERS: Final[dict[str, Callable[..., Any]]] = {
    "ceil": math.ceil,
    "floor": math.floor,
    "sqrt": math.sqrt,
    "log2": math.log2,
    "exp2": lambda x: 2.0**x,
    "round": round,
    "rint": round,
    "abs": abs,
    "power": pow,
    "maximum": max,
    "minimum": min,
}
_OF_SEQUENCES: Final[dict[str, Callable[[Any], int]]] = {
    "prod": product_of,
    "product": product_of,
    "sum": sum_of,
    "max": lambda dims: max(dims) if min(dims) >= 0 else -1,
    "min": lambda dims: min(dims) if min(dims) >= 0 else -1,
}


def folded(name: str, rule: Rule) -> Rule:
    """The rule of a function, with the value of a scalar result where that is a whole number and known."""
    if name not in _OF_NUMBERS and name not in _OF_SEQUENCES:
        return rule

    def known(call: Call) -> Value:
        found = rule(call)
        if len(found) != 1 or call.kwargs or not call.args:
            return found
        (obj,) = found
        if not isinstance(obj, Tensor) or obj.shape != ():
            return found
        content = _of_sequence(name, call) if name in _OF_SEQUENCES else _of_numbers(name, call)
        return tensor(obj.kind, obj.dtype, (), content).value if content is not None else found

    return known


def _of_sequence(name: str, call: Call) -> Shape:
    if len(call.args) != 1:
        return None
    try:
        given = Args(call).nth(0)
    except (Unsure, Impossible):
        return None
    if not given.content or given.shape is None or len(given.shape) != 1:
        return None
    result = _OF_SEQUENCES[name](given.content)
    return (result,) if result >= 0 else None


def _of_numbers(name: str, call: Call) -> Shape:
    consts = call.constants()
    if not all(isinstance(c, (int, float)) and abs(c) < _MOST for c in consts):
        return None
    try:
        result = _OF_NUMBERS[name](*consts)
    except (ArithmeticError, TypeError, ValueError):
        return None
    whole = isinstance(result, (int, float)) and 0 <= result < _MOST and result == int(result)
    return (int(result),) if whole else None
