"""Weights that a graph makes: their names lose those of the layers around it.

Measured with TensorFlow 2.15 and Keras 2: a `call` under `tf.function` that is the first to call a sublayer names its
weights `fc/kernel:0`, where eager code and functional models name them `block/fc/kernel:0`. By these names checkpoints
are found, weights are transferred and layers are looked up, in tests and by callers that nobody sees. Under Keras 3
(measured with 2.21) the path of a weight stays what it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.tracing.building import lazily_built
from hybridize.tracing.views import ProjectView


def renamed_weights(project: ProjectView, frames: Iterable[Frame]) -> Evidence | None:
    """A layer whose weights the graph of a function would be the first to make; None for none."""
    for frame in frames if project.versions.may_have_keras(2) else ():
        built = lazily_built(project, frame)
        if built is not None:
            pos, layer = built
            said = f"makes the weights of {layer}, whose names would lose those of the layers around it"
            return Evidence(said, frame.code.path, pos >> 16 or frame.code.line)
    return None
