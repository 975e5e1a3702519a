"""Layers that make their weights for the last axis of what they are first called with."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import LibInst, Obj
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.tracing.keras.building import is_built, owns_weights
from hybridize.tracing.views import ProjectView


def is_made(project: ProjectView, obj: Obj) -> bool:
    """Whether a layer makes its weights for the last axis, where nothing else has built or called it."""
    if not isinstance(obj, LibInst) or obj.cls.rpartition(".")[2].startswith(_ANY_SIZE):
        return False
    return owns_weights(project, obj) and not is_built(project, obj) and not _is_shared(project, obj)


#: Layers whose weights are not for the size of the last axis.
_ANY_SIZE: Final = ("Embedding", "Bidirectional", "TimeDistributed", "Sequential", "PReLU", "Dropout")


def _is_shared(project: ProjectView, layer: LibInst) -> bool:
    """Whether the program calls a layer at several places, of which another may build it."""
    places = project.shared("called layers", lambda: _called_layers(project))
    return len(places.get(layer, ())) > 1


def _called_layers(project: ProjectView) -> dict[LibInst, set[tuple[Code, int]]]:
    found: dict[LibInst, set[tuple[Code, int]]] = {}
    for code, frames in project.solution.frames.items():
        for instr in index_of(code).of(ir.Call):
            for frame in frames:
                for obj in frame.vals[instr.function] or ():
                    if isinstance(obj, LibInst):
                        found.setdefault(obj, set()).add((code, instr.position))
    return found
