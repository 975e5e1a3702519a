"""What the parts of the engine ask of the whole."""

from __future__ import annotations

from typing import Any, Protocol

from hybridize.domain.objects import Class, Obj, Value
from hybridize.flow.cells import Cells
from hybridize.flow.frames import Frame, Step
from hybridize.flow.world import World
from hybridize.library.engine import AttributesApi, EngineApi


class Members(AttributesApi, Protocol):
    """Attributes, with what classes hold."""

    def class_lookup(self, frame: Any, cls: Class, name: str) -> Value: ...
    def bind(self, frame: Any, item: Obj, receiver: Obj, pos: int) -> Value: ...


class Parts(EngineApi, Protocol):
    """The engine, as those parts see it that come before what they need: reading an attribute may call, calls run."""

    @property
    def world(self) -> World: ...
    @property
    def cells(self) -> Cells: ...
    @property
    def attributes(self) -> Members: ...

    def run(self, frame: Frame, waiting: Step | None = None) -> None:
        """Executes a frame with its present arguments; `waiting` is who goes on with what it gives now."""
