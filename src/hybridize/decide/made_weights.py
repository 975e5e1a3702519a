"""Weights that a graph makes: their names lose those of the layers around it, and a second model cannot have any.

Measured with TensorFlow 2.15 and Keras 2: a `call` under `tf.function` that is the first to call a sublayer names its
weights `fc/kernel:0`, where eager code and functional models name them `block/fc/kernel:0`. By these names checkpoints
are found, weights are transferred and layers are looked up, in tests and by callers that nobody sees. So it is below a
`tf.name_scope` of a caller or `tf.Module.with_name_scope`. Where none stands around, as around the call of a model's
`predict` or training step, the names are the same. Under Keras 3 (measured with 2.21) the path of a weight stays what
it is.

Measured with both: a graph makes weights at its first trace only. For the second unbuilt model that comes as an
argument, from a caller that nobody sees or from the next test, TensorFlow raises.
"""

from __future__ import annotations

from collections.abc import Iterable

from hybridize.closure import closure
from hybridize.facts.model import Evidence, FunctionKind
from hybridize.flow.frames import Frame
from hybridize.library.dialect import NAME_SCOPES
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.tracing.keras.building import lazily_built
from hybridize.tracing.keras.built import is_lazy
from hybridize.tracing.keras.modal import runs_layer
from hybridize.tracing.views import FrameView, ProjectView


def made_weights(
    project: ProjectView, frames: Iterable[Frame], kind: FunctionKind, opened: bool, seen: bool, named: bool = True
) -> Evidence | None:
    """A layer whose weights the graph of a function would be the first to make.

    `opened`: for any callers. `seen`: who calls it below a layer, or in a scope of names, is seen to. `named`: names
    count.
    """
    own = int(kind is FunctionKind.METHOD)  # `self` has a graph of its own
    frames, old = list(frames), project.versions.may_have_keras(2)
    lazy = {f for f in frames if opened and any(is_lazy(project, obj) for value in f.args[own:] for obj in value)}
    found = {f: built for f in frames if (old or f in lazy) and (built := lazily_built(project, f)) is not None}
    renamed = named and bool(found) and old and (not seen or _is_in_scope(project, frames))
    why = (
        "whose names would lose those of the layers around it"
        if renamed
        else "which it is given: it could not for the next one"
    )
    for frame, (pos, layer) in found.items():
        if renamed or frame in lazy:
            return Evidence(f"makes the weights of {layer}, {why}", frame.code.path, pos >> 16 or frame.code.line)
    return None


def _is_in_scope(project: ProjectView, frames: Iterable[Frame]) -> bool:
    """Whether a layer that is called, or a scope that code opens, stands around a run of a function."""
    above = closure(frames, lambda frame: [caller for caller, _, _ in frame.seen_calls()])
    return any(runs_layer(project, frame) or _opens(project, frame) for frame in above)


def _opens(project: ProjectView, frame: Frame) -> bool:
    index, view = index_of(frame.code), FrameView(project, frame)
    decorated = any(getattr(node, "attr", "") == "with_name_scope" for node in frame.code.decorators)
    own = decorated or "name_scope" in index.attributes  # of a `tf.Module`
    return own or any(not NAME_SCOPES.isdisjoint(view.names(call.function)) for call in index.of(ir.Call))
