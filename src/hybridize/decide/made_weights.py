"""Weights that a graph makes: their names lose those of the layers around it, and a second model cannot have any.

Measured with TensorFlow 2.15 and Keras 2: a `call` under `tf.function` that is the first to call a sublayer names its
weights `fc/kernel:0`, where eager code and functional models name them `block/fc/kernel:0`. By these names checkpoints
are found, weights are transferred and layers are looked up, in tests and by callers that nobody sees. Under Keras 3
(measured with 2.21) the path of a weight stays what it is.

Measured with both: a graph makes weights at its first trace only. For the second unbuilt model that comes as an
argument, from a caller that nobody sees or from the next test, TensorFlow raises.
"""

from __future__ import annotations

from collections.abc import Iterable

from hybridize.facts.model import Evidence, FunctionKind
from hybridize.flow.frames import Frame
from hybridize.tracing.building import lazily_built
from hybridize.tracing.built import is_lazy
from hybridize.tracing.views import ProjectView


def made_weights(project: ProjectView, frames: Iterable[Frame], kind: FunctionKind, opened: bool) -> Evidence | None:
    """A layer whose weights the graph of a function would be the first to make; `opened`: for any callers."""
    own = int(kind is FunctionKind.METHOD)  # `self` has a graph of its own
    renamed = project.versions.may_have_keras(2)
    why = (
        "whose names would lose those of the layers around it"
        if renamed
        else "which it is given: it could not for the next one"
    )
    for frame in frames:
        asked = renamed or (opened and any(is_lazy(project, obj) for value in frame.args[own:] for obj in value))
        built = lazily_built(project, frame) if asked else None
        if built is not None:
            pos, layer = built
            return Evidence(f"makes the weights of {layer}, {why}", frame.code.path, pos >> 16 or frame.code.line)
    return None
