"""NumPy's result dtypes: of two arrays, of an array and a Python scalar, of reductions and of functions on reals."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from hybridize.library.operands import Args, DtypeRule, Operand

_PARTS: Final = re.compile(r"(bool|uint|int|float|complex)(\d*)$")
_KINDS: Final = ("bool", "uint", "int", "float", "complex")
#: The float that holds all values of an int of this many bits.
_FLOAT_FOR: Final = {8: 16, 16: 32, 32: 64, 64: 64}


def _parts(dtype: str) -> tuple[str, int] | None:
    found = _PARTS.match(dtype)
    return (found.group(1), int(found.group(2) or 8)) if found else None


def promoted(a: str | None, b: str | None) -> str | None:
    """The dtype of an operation on arrays of two dtypes."""
    if a is None or b is None or a == b:
        return a if a == b else None
    first, second = _parts(a), _parts(b)
    if first is None or second is None:
        return None
    (low, n), (high, m) = sorted((first, second), key=lambda p: _KINDS.index(p[0]))
    if low == "bool":
        return f"{high}{m}"
    if low == high:
        return f"{high}{max(n, m)}"
    if high == "int":  # an unsigned one
        return f"int{m}" if m > n else f"int{2 * n}" if n < 64 else "float64"
    if high == "float":
        return f"float{max(m, _FLOAT_FOR[n])}"
    real = _FLOAT_FOR[n] if low in ("int", "uint") else n
    return f"complex{max(m, 2 * real)}"


def with_scalar(dtype: str | None, scalar: str) -> str | None:
    """The dtype of an array and a Python scalar: its kind may lift the array's, never its size."""
    parts = _parts(dtype) if dtype else None
    if parts is None:
        return None
    kind, bits = parts
    if scalar == "bool" or (scalar == "int" and kind != "bool"):
        return dtype
    if scalar == "int":
        return "int64"
    if scalar == "float":
        return dtype if kind in ("float", "complex") else "float64"
    if scalar == "complex":
        return dtype if kind == "complex" else f"complex{max(64, 2 * bits)}" if kind == "float" else "complex128"
    return None


def combined(operands: list[Operand]) -> str | None:
    """The dtype of an operation on operands; scalars of Python are weak. Unknown where NumPy's versions differ."""
    arrays = [o for o in operands if not o.python]
    if not operands:
        return None
    if not arrays:
        result = operands[0].dtype
        for o in operands[1:]:
            result = promoted(result, o.dtype)
        return result
    dtype = arrays[0].dtype
    for o in arrays[1:]:
        # NumPy 1 looks at the values of arrays without dims.
        if o.dtype != dtype and (o.shape in ((), None) or arrays[0].shape in ((), None)):
            return None
        dtype = promoted(dtype, o.dtype)
    for o in operands:
        if o.python:
            small = dtype in ("int8", "uint8", "int16", "uint16") and o.python == "int"
            if small and not (o.content and o.content[0] < 128):
                return None
            if o.python in ("float", "int") and dtype == "float16" and not o.content:
                return None if o.python == "int" else dtype
            dtype = with_scalar(dtype, o.python)
    return dtype


def floating(dtype: str | None) -> str | None:
    """The dtype of a function of real numbers (`sqrt`): ints become floats."""
    parts = _parts(dtype) if dtype else None
    if parts is None:
        return None
    kind, bits = parts
    return dtype if kind in ("float", "complex") else f"float{_FLOAT_FOR[bits]}"


def divided(dtype: str | None) -> str | None:
    """The dtype of a true division or a mean: ints become float64."""
    parts = _parts(dtype) if dtype else None
    if parts is None:
        return None
    return dtype if parts[0] in ("float", "complex") else "float64"


def summed(dtype: str | None) -> str | None:
    """The dtype of a sum or product: small ints become 64 bits wide."""
    parts = _parts(dtype) if dtype else None
    if parts is None:
        return None
    kind, _ = parts
    return {"bool": "int64", "int": "int64", "uint": "uint64"}.get(kind, dtype)


def real(dtype: str | None) -> str | None:
    """The dtype of absolute values and parts of complex numbers."""
    return {"complex64": "float32", "complex128": "float64"}.get(dtype or "", dtype)


def of(change: Callable[[str | None], str | None], index: int = 0) -> DtypeRule:
    """A dtype rule: the dtype of an argument, changed."""
    return lambda a: change(a.nth(index).dtype)


def both(a: Args) -> str | None:
    """The dtype of two arguments."""
    return combined([a.nth(0), a.nth(1)])
