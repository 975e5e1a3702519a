"""Results <-> bytes. What is read back is data: nothing but the classes of a report is ever made of it."""

from __future__ import annotations

import enum
import hashlib
import importlib
import io
import pickle
import zlib
from typing import Any, Final

from hybridize.heap import Uncollected

#: Where the classes are that a result is made of: dataclasses and enumerations.
_MODULES: Final = frozenset(
    f"hybridize.{name}"
    for name in (
        "decide.model",
        "facts.model",
        "repairs.source.edits",
        "repairs.model",
        "source.spacing",
        "source.versions",
    )
)
_DIGEST: Final = 16  # bytes


class Damaged(ValueError):
    """The bytes are not what was packed."""


def pack(value: object) -> bytes:
    """A result as bytes that tell whether they are whole."""
    with Uncollected():
        data = zlib.compress(pickle.dumps(value, 5), 1)
    return _digest(data) + data


def unpack(packed: bytes) -> Any:
    """The result again.

    Raises:
        Damaged: the bytes are not whole, or hold something else than results.
    """
    data = packed[_DIGEST:]
    if _digest(data) != packed[:_DIGEST]:
        raise Damaged("not whole")
    try:
        with Uncollected():
            return _Reader(io.BytesIO(zlib.decompress(data))).load()
    except Damaged:
        raise
    except Exception as error:  # pickle raises whatever it stumbles over
        raise Damaged(str(error)) from None


def unpacked(packed: bytes | None) -> object:
    """The result again; None for what is not there, or not whole."""
    if packed is None:
        return None
    try:
        found: object = unpack(packed)
        return found
    except Damaged:
        return None


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """A class of a report; anything else is refused."""
        found = getattr(importlib.import_module(module), name, None) if module in _MODULES else None
        if not isinstance(found, type) or found.__module__ != module:
            raise Damaged(f"{module}.{name} is no part of a result")
        if not (issubclass(found, enum.Enum) or hasattr(found, "__dataclass_fields__")):
            raise Damaged(f"{module}.{name} is no part of a result")
        return found
