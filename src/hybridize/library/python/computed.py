"""What a computed name may stand for in a module of the project: the models that it offers, else its functions."""

from __future__ import annotations

from typing import Any, Final

from hybridize.domain.objects import BOTTOM, Class, Func, Mod, Obj, Value
from hybridize.library import registry
from hybridize.library.engine import EngineApi

#: What networks derive from.
_NETWORKS: Final = frozenset({"keras.layers.Layer", "tf.Module"})


def models_in(engine: EngineApi, frame: Any, module: Obj) -> Value:
    """The classes of networks among the names of a module; where it has none, its own public functions."""
    if not isinstance(module, Mod):
        return BOTTOM
    held = [(name, obj) for name, value in engine.cells.items(frame, module) for obj in value]
    classes = [obj for _, obj in held if isinstance(obj, Class) and not _NETWORKS.isdisjoint(registry.mro_names(obj))]
    if classes:
        return frozenset(classes)
    own = (obj for name, obj in held if not name.startswith("_") and isinstance(obj, Func) and obj.module is module)
    return frozenset(own)
