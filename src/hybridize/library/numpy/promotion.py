"""NumPy's result dtypes: of two arrays, of an array and a Python scalar, of reductions and of functions on reals."""

from __future__ import annotations

from collections.abc import Callable

from hybridize.library.arithmetic import FLOAT_FOR, dtype_parts, promoted
from hybridize.library.operands import Args, DtypeRule, Operand


def with_scalar(dtype: str | None, scalar: str) -> str | None:
    """The dtype of an array and a Python scalar: its kind may lift the array's, never its size."""
    parts = dtype_parts(dtype) if dtype else None
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
    parts = dtype_parts(dtype) if dtype else None
    if parts is None:
        return None
    kind, bits = parts
    return dtype if kind in ("float", "complex") else f"float{FLOAT_FOR[bits]}"


def divided(dtype: str | None) -> str | None:
    """The dtype of a true division or a mean: ints become float64."""
    parts = dtype_parts(dtype) if dtype else None
    if parts is None:
        return None
    return dtype if parts[0] in ("float", "complex") else "float64"


def summed(dtype: str | None) -> str | None:
    """The dtype of a sum or product: small ints become 64 bits wide."""
    parts = dtype_parts(dtype) if dtype else None
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
