"""Which layers and models have their weights beforehand, and what makes them while a function is traced."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import Class, Container, Inst, LibInst, Obj, Tensor, Unknown
from hybridize.domain.session import solved
from hybridize.domain.tensors import SYMBOLIC
from hybridize.facts.origins import calls_of
from hybridize.flow.frames import Frame
from hybridize.library import registry
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.tracing.views import ProjectView

#: Layers that own no weights: nothing of theirs is built inside a trace.
_WEIGHTLESS: Final = (
    "Dropout SpatialDropout1D SpatialDropout2D SpatialDropout3D AlphaDropout GaussianDropout GaussianNoise "
    "Activation ReLU LeakyReLU ELU Softmax ThresholdedReLU Flatten Reshape Permute RepeatVector Lambda Masking "
    "Add Subtract Multiply Average Maximum Minimum Concatenate Dot InputLayer Identity ActivityRegularization "
    "MaxPooling1D MaxPooling2D MaxPooling3D AveragePooling1D AveragePooling2D AveragePooling3D MaxPool1D MaxPool2D "
    "MaxPool3D AvgPool1D AvgPool2D AvgPool3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D "
    "GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D GlobalMaxPool1D GlobalMaxPool2D "
    "GlobalAvgPool1D GlobalAvgPool2D UpSampling1D UpSampling2D UpSampling3D ZeroPadding1D ZeroPadding2D ZeroPadding3D "
    "Cropping1D Cropping2D Cropping3D UnitNormalization Rescaling Resizing CenterCrop RandomFlip RandomCrop "
    "RandomRotation RandomZoom RandomTranslation RandomContrast RandomBrightness Discretization CategoryEncoding "
    "Hashing HashedCrossing StringLookup IntegerLookup TextVectorization"
).split()
_NO_WEIGHTS: Final = frozenset(f"keras.layers.{name}" for name in _WEIGHTLESS)
_LAYER: Final = "keras.layers.Layer"
_STEPS: Final = 400


def builder_around(project: ProjectView, frame: Frame) -> Frame | None:
    """The nearest `call` (this frame, or one that leads to it) of a layer class that has no `build` of its own."""
    frames = project.solution.frames
    if not project.shared("calls of layers", lambda: any(code.name == "call" for code in frames)):
        return None
    seen = {frame}
    todo = [frame]
    while todo and len(seen) < _STEPS:
        current = todo.pop(0)
        if _is_unbuilt_call(project, current):
            return current
        for caller in current.callers:
            if caller not in seen and not caller.gone:
                seen.add(caller)
                todo.append(caller)
    return None


def _is_unbuilt_call(project: ProjectView, frame: Frame) -> bool:
    if frame.code.name != "call" or not frame.args:
        return False
    owners = [o for o in frame.args[0] if isinstance(o, Inst) and _is_layer(project, o)]
    return any(not _has_build(o.cls) and not is_built(project, o) for o in owners)


def _is_layer(project: ProjectView, inst: Inst) -> bool:
    return _LAYER in registry.mro_names(inst)


def _has_build(cls: Class) -> bool:
    return any("build" in base.fields and base.fields["build"].value for base in cls.mro if isinstance(base, Class))


#: The arguments by which the first layer of a model says what it is given.
_SHAPES: Final = frozenset({"input_shape", "input_dim", "batch_input_shape"})


def is_built(project: ProjectView, obj: Inst | LibInst) -> bool:
    """Whether a layer, model or optimizer has its weights beforehand: by `it.build(...)`, or an `Input` in front."""
    return obj in _explicitly_built(project) or _begins_with_input(obj)


def _begins_with_input(obj: Inst | LibInst) -> bool:
    """Whether a `Sequential` knows the shape of what it will be given, which builds all its layers."""
    kept = obj.fields.get("$layers")
    lists = [o for o in kept.value if isinstance(o, Container)] if kept is not None else []
    firsts = [cell.value for o in lists for cell in list(o.fields.values())[:1]]
    return bool(firsts) and all(value and all(map(_gives_shape, value)) for value in firsts)


def _gives_shape(obj: Obj) -> bool:
    if isinstance(obj, LibInst):
        return not _SHAPES.isdisjoint(obj.fields)
    return isinstance(obj, Tensor) and obj.kind == SYMBOLIC


@solved
def _explicitly_built(project: ProjectView) -> frozenset[object]:
    found: set[object] = set()
    for frames in project.solution.frames.values():
        for frame in frames:
            for instr in index_of(frame.code).attributes.get("build", ()):
                found |= {o for o in frame.vals[instr.owner] or () if isinstance(o, (Inst, LibInst))}
    return frozenset(found)


def lazily_built(project: ProjectView, frame: Frame) -> tuple[int, str] | None:
    """The first call in the extent of a frame that builds weights: where (in the frame), and of which layer."""
    return next(all_built(project, frame), None)


def all_built(project: ProjectView, frame: Frame) -> Iterator[tuple[int, str]]:
    """The calls in the extent of a frame that build weights: those in its own body first."""
    yield from _own_built(project, frame)
    extents = project.extents
    for pos, callee, how in extents.calls(frame):
        if how is How.BUILD:
            yield pos, f"`{callee.code.qualname.rpartition('.')[0]}`"
            continue
        inner = (
            project.shared(("builds", f), partial(_built_there, project, f)) for f in extents.frames(extents.of(callee))
        )
        name = next(filter(None, inner), "")
        if name:
            yield pos, name


def _built_there(project: ProjectView, frame: Frame) -> str:
    """A layer that a frame itself calls and that builds its weights then; empty where there is none."""
    for _, callee in calls_of(frame, (How.BUILD,)):
        return f"`{callee.code.qualname.rpartition('.')[0]}`"
    return next((name for _, name in _own_built(project, frame)), "")


def _own_built(project: ProjectView, frame: Frame) -> Iterator[tuple[int, str]]:
    """The calls in the body of a frame that build weights: where, and of which layer."""
    for instr in project.symbolic.instructions(frame.code):
        if not isinstance(instr, ir.Call):
            continue
        for obj in frame.vals[instr.function] or ():
            if isinstance(obj, (LibInst, Inst)) and owns_weights(project, obj) and not is_built(project, obj):
                yield instr.position, f"`{_class_name(obj)}`"
            if isinstance(obj, Unknown) and frame.code.name == "call":
                yield instr.position, "a layer that it calls"  # as far as anybody can tell


def _class_name(obj: LibInst | Inst) -> str:
    return obj.cls.name if isinstance(obj, Inst) else obj.cls.rpartition(".")[2]


def owns_weights(project: ProjectView, obj: LibInst | Inst) -> bool:
    """Whether a layer makes weights when it is first called."""
    names = obj.cls.library if isinstance(obj, Inst) else [obj.cls]
    return any(
        name == "keras.Sequential" or (name.startswith("keras.layers.") and name != _LAYER and name not in _NO_WEIGHTS)
        for name in names
    )


def own_weights_of(project: ProjectView, frame: Frame) -> str | None:
    """The class of the receiver, if it makes weights in its own `build`."""
    for obj in frame.args[0] if frame.args else ():
        if isinstance(obj, Inst) and _is_layer(project, obj) and _has_build(obj.cls) and frame.code.name == "call":
            return str(obj.cls.name)
    return None
