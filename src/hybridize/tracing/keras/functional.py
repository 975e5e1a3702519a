"""Parts of functional models: what is given symbolic tensors of Keras, and what could be."""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import DIRECT
from hybridize.domain.nesting import held
from hybridize.domain.objects import Container, Inst, Lib, LibInst, Lit, Prim, Tensor, Tup, Value
from hybridize.domain.session import cached
from hybridize.domain.tensors import SYMBOLIC
from hybridize.facts.origins import called_at, calls_to
from hybridize.facts.state.guards import guarded, parts
from hybridize.facts.symbolic import CLOSURE, OPERATION, parameter_bit
from hybridize.flow.frames import Frame
from hybridize.library import registry
from hybridize.library.dialect import LAYERS
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.operands import arguments
from hybridize.records import dataclass
from hybridize.tracing.creation import is_built_late
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

#: What Keras gives a symbolic tensor to, and builds a part of a functional model.
_FUNCTIONAL: Final = (*LAYERS, "keras.backend.", "keras.ops.", "keras.activations.")
#: What makes values of Keras from numbers and shapes, and takes no tensor.
_MAKES: Final = tuple(
    f"keras.{where}.{what}"
    for where in ("backend", "ops")
    for what in ("random_", "zeros", "ones", "eye", "constant", "variable", "arange", "full", "convert_to_", "linspace")
)
#: What takes no symbolic tensor, and whose presence says that a function computes.
_COMPUTES: Final = ("tf.GradientTape", "tf.Variable.", "tf.data.", "keras.optimizers.", "keras.metrics.")
#: A structure in an argument is looked into so deeply.
_DEPTH: Final = 4


def holds_symbolic(value: Value) -> bool:
    """Whether a value is a symbolic tensor of Keras, or a structure that TensorFlow takes apart and finds one in."""
    for obj in value:
        if isinstance(obj, Tensor):
            if obj.kind == SYMBOLIC:
                return True
        elif isinstance(obj, (Tup, Container)):
            break
    else:
        return False
    return any(isinstance(o, Tensor) and o.kind == SYMBOLIC for o in held(value, _DEPTH, parts))


@dataclass(frozen=True, slots=True)
class Fed:
    """What a function does with its arguments: the mask of parameters that layers get, and where the first gets one.

    `refused`: something in the function takes no symbolic tensor of Keras: it computes, and builds no model. `making`:
    those that functions of Keras get, or layers that the call makes, as in code that builds models.
    """

    layers: int = 0
    position: int = 0
    refused: bool = False
    making: int = 0


def fed(view: FrameView) -> Fed:
    """The parameters of a frame whose values go to layers, in the functions that it calls, too."""
    known: dict[Frame, Fed] = view.project.shared("fed to layers", dict)
    if view.frame not in known:
        known[view.frame] = Fed()  # of a recursive call
        known[view.frame] = _fed(view)
    return known[view.frame]


def _fed(view: FrameView) -> Fed:
    layers, position, refused, making = 0, 0, False, 0
    index = index_of(view.code)
    for instr in index.of(ir.Call):
        given = 0
        for slot in arguments(instr):
            given |= view.mask(slot) & ~OPERATION
        names = view.names(instr.function)
        refused = refused or any(map(_refuses, names))
        through = given if is_layer(view.project, view.value(instr.function)) else 0
        if through and (
            isinstance(index.source(instr.function), ir.Call)
            or any(isinstance(o, Lib) for o in view.value(instr.function))
        ):
            making |= through
        for callee in called_at(view.frame, instr.position, DIRECT):
            inner = fed(FrameView(view.project, callee))
            refused = refused or inner.refused
            lift = view.project.symbolic.lift
            through |= lift(view.frame, instr.position, callee, inner.layers) & ~OPERATION
            making |= lift(view.frame, instr.position, callee, inner.making) & ~OPERATION
        if through & ~layers:
            position = position or instr.position
            layers |= through
    return Fed(layers, position, refused, making)


def _refuses(name: str) -> bool:
    return name.startswith(_COMPUTES)


def is_layer(project: ProjectView, value: Value) -> bool:
    """Whether what is called may be a layer or model of Keras, or a function that takes symbolic tensors as they do."""
    for obj in value:
        if isinstance(obj, (Inst, LibInst)):
            if any(n.startswith(_FUNCTIONAL) for n in registry.mro_names(obj)):
                return True
        elif isinstance(obj, Lib) and _takes_symbolic(obj.name):
            return True
    return False


def _takes_symbolic(name: str) -> bool:
    """Whether a function of Keras takes symbolic tensors: a class of layers only makes one."""
    makes = name.startswith(_MAKES) or not name.rpartition(".")[2].islower()
    return name.startswith(_FUNCTIONAL) and not makes


@dataclass(frozen=True, slots=True)
class Builds:
    """A call that may build a part of a model; `computes`: most likely it doesn't.

    Only layers that are there before get the argument, and the function calls operations that are not Keras' beside.
    """

    view: FrameView
    position: int
    computes: bool


def may_build(function: FunctionView) -> Builds | None:
    """A call in a function that callers whom nobody sees may have build a part of a model; None where that is unlikely.

    It is a way into a library, it is not seen what its argument is, that goes to layers, and nothing in it takes no
    symbolic tensor. Methods of layers and models are asked elsewhere: Keras gives those tensors of a graph.
    """
    project = function.project
    if function.is_hybrid or not project.public.has(function.code):
        return None
    for view in function.views():
        found = fed(view)
        mask = found.layers & ~CLOSURE
        if view.has_receiver:
            mask &= ~parameter_bit(0)
            if any(isinstance(o, Inst) and project.is_layer(o) for o in view.frame.args[0]):
                continue
        if mask and not found.refused and function.opens(view.frame, mask):
            return Builds(view, found.position, not found.making & mask and _calls_operations(view))
    return None


def _calls_operations(view: FrameView) -> bool:
    """Whether a function itself calls operations of TensorFlow, which take no symbolic tensors of Keras 3."""
    calls = index_of(view.code).calls
    return any(pos in calls and name.startswith("tf.") for pos, name in view.frame.ops.items())


def from_builder(function: FunctionView) -> tuple[Frame, int] | None:
    """A call whose argument comes of what its caller builds a part of a functional model from; None if there is none.

    Who makes a layer with weights and calls it at once would have new weights at each call: that is a builder, and what
    it goes on with is symbolic, whatever its hints say (`def block(x: tf.Tensor)`).
    """
    for frame in function.frames:
        found = _symbolic_given(function.project, frame)
        if found is not None:
            return found.where
    return None


@dataclass(frozen=True, slots=True)
class _Given:
    """The parameters of a frame that get symbolic tensors of a builder, and the call that passes the first of them."""

    mask: int
    where: tuple[Frame, int]


def _symbolic_given(project: ProjectView, frame: Frame) -> _Given | None:
    known: dict[Frame, _Given | None] = project.shared("given by builders", dict)
    if frame not in known:
        known[frame] = None  # of a recursive call
        known[frame] = _given(project, frame)
    return known[frame]


def _given(project: ProjectView, frame: Frame) -> _Given | None:
    for caller, pos in calls_to(frame, DIRECT):
        view = FrameView(project, caller)
        above = _symbolic_given(project, caller)
        built = _builds_on(view)
        built = 0 if built and fed(view).refused else built
        symbolic = built | (above.mask if above is not None else 0)
        mask = 0
        for i, value in enumerate(frame.args) if symbolic else ():
            lifted = project.symbolic.lift(caller, pos, frame, parameter_bit(i)) & ~OPERATION
            if lifted & symbolic and not all(isinstance(o, (Lit, Prim)) for o in value):
                mask |= parameter_bit(i)
        if mask:
            return _Given(mask, (caller, pos))
    return None


def _builds_on(view: FrameView) -> int:
    """The parameters of a frame whose values go to layers with weights that each call makes anew."""
    project = view.project
    extents, known = project.extents, project.shared("builds on", dict[Frame, int])
    builders = project.shared("builders", lambda: extents.having(lambda each: _builds(FrameView(project, each))))
    if view.frame not in known and not builders.within(extents.of(view.frame)):
        known[view.frame] = 0  # most programs, and most functions of others, make no layer that they call at once
    if view.frame not in known:
        known[view.frame] = 0  # of a recursive call
        mask = 0
        made_for = _made_for(view.code)
        for instr in index_of(view.code).of(ir.Call):
            if instr in made_for and _is_built(view, made_for[instr]):
                for slot in arguments(instr):
                    mask |= view.mask(slot)
            for callee in called_at(view.frame, instr.position, DIRECT):
                inner = _builds_on(FrameView(view.project, callee))
                mask |= view.project.symbolic.lift(view.frame, instr.position, callee, inner)
        # What comes of the object that a method is called on may be anything.
        known[view.frame] = mask & ~(OPERATION | CLOSURE | (parameter_bit(0) if view.has_receiver else 0))
    return known[view.frame]


def _builds(view: FrameView) -> bool:
    """Whether a frame itself calls a layer with weights that it makes for this call."""
    return any(_is_built(view, made) for made in _made_for(view.code).values())


def _is_built(view: FrameView, made: ir.Call) -> bool:
    return is_built_late(view, made.function) and not guarded(view.frame, made.position)


@cached
def _made_for(code: Code) -> dict[ir.Call, ir.Call]:
    """The calls of what another call of a function gives, with that one."""
    index = index_of(code)
    found = ((call, index.source(call.function)) for call in index.of(ir.Call))
    return {call: made for call, made in found if isinstance(made, ir.Call)}
