"""When garbage is collected: the heap of an analysis lives until its end, and collections would only walk it."""

from __future__ import annotations

import gc
from types import TracebackType


class Uncollected:
    """`with Uncollected():` nothing is collected, but where somebody asks for it."""

    __slots__ = ("_enabled",)

    def __enter__(self) -> None:
        self._enabled = gc.isenabled()
        gc.disable()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._enabled:
            gc.enable()
