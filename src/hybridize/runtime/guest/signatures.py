"""What of a call's arguments decides whether it is traced anew."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

_DEPTH, _ITEMS = 6, 200
Part = Any  # hashable


class Signatures:
    """Describes calls of one function.

    Args:
        tensorflow: the imported module.
        function: the function as it was defined.
    """

    def __init__(self, tensorflow: Any, function: Callable[..., Any]) -> None:
        self._tf = tensorflow
        try:
            self._signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):
            self._signature = None

    def bind(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> list[tuple[str, Any]]:
        """Parameters with their arguments, `self` included."""
        if self._signature is not None:
            try:
                return list(self._signature.bind(*args, **keywords).arguments.items())
            except TypeError:
                pass
        return [(f"argument {i + 1}", a) for i, a in enumerate(args)] + list(keywords.items())

    def parts(self, bound: list[tuple[str, Any]]) -> dict[str, Part]:
        """By parameter, what the trace depends on."""
        return {name: self._part(value, 0) for name, value in bound}

    def specs(self, bound: list[tuple[str, Any]]) -> Part:
        """The dtypes and shapes of all tensors, without anything else."""
        found: list[Any] = []
        for _, value in bound:
            self._specs(value, found, 0)
        return tuple(found)

    def _specs(self, value: Any, found: list[Any], depth: int) -> None:
        if depth > _DEPTH or isinstance(value, (str, bytes)):
            return
        if isinstance(value, (list, tuple)):
            for each in value[:_ITEMS]:
                self._specs(each, found, depth + 1)
        elif isinstance(value, dict):
            for each in list(value.values())[:_ITEMS]:
                self._specs(each, found, depth + 1)
        elif hasattr(value, "dtype") and hasattr(value, "shape"):
            found.append((_name(value.dtype), _shape(value.shape)))
        elif hasattr(value, "element_spec"):
            found.append(str(value.element_spec))

    def _part(self, value: Any, depth: int) -> Part:
        kind = type(value)
        if value is None or kind in (bool, int, float, complex, str, bytes):
            return ("value", kind.__name__, repr(value))
        if hasattr(value, "dtype") and hasattr(value, "shape"):
            form = "variable" if isinstance(value, self._tf.Variable) else "tensor"
            return (form, _name(value.dtype), _shape(value.shape))
        if depth < _DEPTH:
            if isinstance(value, (list, tuple)):
                return (kind.__name__, *(self._part(v, depth + 1) for v in value[:_ITEMS]))
            if isinstance(value, dict):
                items = list(value.items())[:_ITEMS]
                return (
                    "dict",
                    *((repr(k) if isinstance(k, str) else id(k), self._part(v, depth + 1)) for k, v in items),
                )
        if hasattr(value, "element_spec"):
            return ("dataset", str(value.element_spec))
        return ("object", kind.__name__, id(value))


def difference(before: Part, now: Part) -> tuple[str, str]:
    """The kind of change between two arguments, and the new one as text."""
    if before[0] != now[0] or before[0] in ("list", "tuple", "dict"):
        if before[0] == now[0] and len(before) == len(now):
            for a, b in zip(before[1:], now[1:]):
                if a != b:
                    if before[0] == "dict":
                        a, b = a[1], b[1]
                    return difference(a, b) if isinstance(a, tuple) and isinstance(b, tuple) else ("keys", "")
        return "another structure", shown(now)
    if now[0] == "value":
        return f"Python {now[1]}", now[2][:60]
    if now[0] in ("tensor", "variable"):
        return ("dtype" if before[1] != now[1] else "shape"), f"{now[1]}{now[2]}"
    if now[0] == "object":
        return "another object", now[1]
    return "another structure", shown(now)


def shown(part: Part) -> str:
    """A part for a person."""
    if part[0] == "value":
        return str(part[2])[:60]
    if part[0] in ("tensor", "variable"):
        return f"{part[1]}{part[2]}"
    return str(part[1] if part[0] == "object" else part[0])


def _name(dtype: Any) -> str:
    return str(getattr(dtype, "name", dtype))


def _shape(shape: Any) -> str:
    try:
        return str([None if d is None else int(d) for d in shape])
    except (TypeError, ValueError):
        return str(shape)
