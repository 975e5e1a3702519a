"""Keras' mode where nobody says it: which calls read it, and which modes those of a function may meet.

`layer(x)` without `training=` runs in the mode of the layer around it, told by `training=` where that is called, or by
`fit` and `evaluate`. Outside of any layer it is that of the global learning phase (Keras 2), or inference.
Source: `Layer.__call__` of Keras 2.15 and 3, both measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Final

from hybridize.domain.nesting import held
from hybridize.domain.objects import NONE, Bound, Container, Func, Inst, LibInst, Lit, Obj, Tensor, Tup, Unknown, Value
from hybridize.domain.tensors import SYMBOLIC
from hybridize.facts.model import Evidence
from hybridize.facts.origins import calls_to
from hybridize.facts.state.guards import parts
from hybridize.flow.frames import Frame
from hybridize.library import registry
from hybridize.library.keras.running import STEP_OF, TRAINS
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.operands import arguments
from hybridize.records import dataclass, field
from hybridize.tracing.keras.building import builder_around
from hybridize.tracing.views import FrameView, ProjectView

_LAYER: Final = "keras.layers.Layer"
_TRAINING: Final = "training"
_NO_VALUE: Final[Value] = frozenset()
_STEPS: Final = 400
_DEPTH: Final = 4
#: Layers that compute something else in training, whatever their settings.
_MODAL: Final = frozenset(
    f"keras.layers.{name}"
    for name in (
        "Dropout SpatialDropout1D SpatialDropout2D SpatialDropout3D AlphaDropout GaussianDropout GaussianNoise "
        "BatchNormalization SyncBatchNormalization SpectralNormalization RandomFlip RandomCrop RandomRotation "
        "RandomZoom RandomTranslation RandomContrast RandomBrightness RandomHeight RandomWidth Layer"
    ).split()
)
#: Those that do where they are given a rate.
_RATED: Final = frozenset(
    f"keras.layers.{name}"
    for name in (
        "LSTM GRU SimpleRNN ConvLSTM1D ConvLSTM2D ConvLSTM3D LSTMCell GRUCell SimpleRNNCell MultiHeadAttention "
        "Attention AdditiveAttention GroupQueryAttention"
    ).split()
)
_RATES: Final = ("dropout", "recurrent_dropout")
#: Those that are as what they hold.
_HOLDING: Final = ("keras.layers.Wrapper", "keras.layers.RNN", "keras.layers.StackedRNNCells", "keras.Sequential")
_FUNCTIONAL: Final = "makes it part of a functional model, which runs in both modes"


def is_modal(value: Iterable[Obj]) -> bool:
    """Whether a call of something may read the mode itself; of a project's layer its own code tells."""

    @cache  # what is held in many places is asked once
    def ask(obj: Obj, depth: int) -> bool:
        return _is_modal(obj, depth, ask)

    return any(ask(obj, _DEPTH) for obj in value)


def _is_modal(obj: Obj, depth: int, ask: Callable[[Obj, int], bool]) -> bool:
    """The same of one object; `ask` of what it holds."""
    if isinstance(obj, Unknown):
        return depth == _DEPTH
    if isinstance(obj, (Container, Tup)):
        inner = obj.items if isinstance(obj, Tup) else [cell.value for cell in obj.fields.values()]
        rest = obj.rest.value if isinstance(obj, Container) and obj.rest is not None else _NO_VALUE
        return depth > 0 and any(ask(o, depth - 1) for value in (*inner, rest) for o in value)
    if isinstance(obj, Inst) and _is_followed(obj):
        return False
    if not isinstance(obj, (Inst, LibInst)):
        return False
    chain = registry.mro_names(obj)
    if _LAYER not in chain:
        return False
    if "$outputs" in obj.fields and obj.fields["$outputs"].value:
        return True  # a functional model: of which layers is not kept
    first = next((name for name in chain if name.startswith("keras.")), _LAYER)
    if first in _RATED:
        return any(name in obj.fields and _is_some(obj.fields[name].value) for name in _RATES)
    if any(name in _HOLDING for name in chain):
        values = [cell.value for cell in obj.fields.values()]
        return depth > 0 and any(ask(o, depth - 1) for value in values for o in value)
    return first in _MODAL or first == "keras.Model" or not chain[0].startswith("keras.")


def _is_some(value: Value) -> bool:
    return any(not isinstance(o, Lit) or o.const for o in value)


def _is_followed(obj: Inst) -> bool:
    """Whether the project says what a call of a layer does, in `call` or in the very `__call__`."""
    return any("call" in cls.fields or "__call__" in cls.fields for cls in obj.cls.line)


def is_layer(project: ProjectView, obj: Obj) -> bool:
    """Whether an object is a layer or model of Keras, or of a class of the project that is one."""
    return isinstance(obj, (Inst, LibInst)) and _LAYER in registry.mro_names(obj)


def told(frame: Frame, instr: ir.Call, callee: Frame | None = None) -> Value | None:
    """What a call says of the mode, by keyword or position; None where it says nothing, or just passes None on."""
    named = [slot for name, slot in instr.keywords if name == _TRAINING or name is None]
    place = next((i for i, p in enumerate(callee.code.params) if p.name == _TRAINING), 0) if callee is not None else 2
    if callee is None and len(instr.arguments) > 1:  # `dropout(x, training)`
        named.append(instr.arguments[1][0])
    elif callee is not None and 0 < place <= len(instr.arguments):
        named.append(instr.arguments[place - 1][0])
    values = [frame.vals[slot] or _NO_VALUE for slot in named]
    return next((value for value in values if value and value != NONE.value), None)


def is_told(project: ProjectView, frame: Frame, position: int, callee: Frame) -> bool:
    """Whether a call of a layer says the mode of what it runs."""
    return runs_layer(project, callee) and any(
        told(frame, instr, callee) is not None or _mode_of_method(project, frame, instr)
        for instr in _calls(frame, position, callee)
    )


def runs_layer(project: ProjectView, frame: Frame) -> bool:
    """Whether a function is what Keras runs when a layer is called."""
    return frame.code.name == "call" and bool(frame.args) and any(is_layer(project, o) for o in frame.args[0])


def takes_mode(project: ProjectView, code: Code) -> bool:
    """Whether Keras passes the mode as an argument: with each mode there is a trace of its own."""
    named = any(p.name == _TRAINING for p in code.params)
    return named or (any(p.is_kwargs for p in code.params) and not project.versions.may_have_keras(3))


def _calls(frame: Frame, position: int, callee: Frame) -> Iterator[ir.Call]:
    """The calls at a position that run a layer: not those of its method `call` by name, which enter no context."""
    for instr in index_of(frame.code).calls.get(position, ()):
        if not _is_direct(frame.vals[instr.function] or _NO_VALUE, callee.code):
            yield instr


def _is_direct(value: Value, code: Code) -> bool:
    functions = (o.func if isinstance(o, Bound) else o for o in value)
    return any(isinstance(f, Func) and f.code is code for f in functions)


def _mode_of_method(project: ProjectView, frame: Frame, instr: ir.Call) -> set[bool]:
    """The modes in which `fit` and its relatives run a model."""
    found: set[bool] = set()
    for name in project.names(frame.vals[instr.function] or _NO_VALUE):
        owner, _, method = name.rpartition(".")
        if not owner.startswith("keras."):
            continue
        mode = TRAINS.get(STEP_OF.get(method, method))
        if mode is not None:
            found.add(mode)
        if mode and (any(key == "validation_data" for key, _ in instr.keywords) or len(instr.arguments) > 7):
            found.add(False)
    return found


@dataclass(slots=True)
class Modes:
    """The modes that a function meets, each with a place; `open`: others may come from where nobody sees."""

    found: dict[bool, Evidence] = field(default_factory=dict)
    open: Evidence | None = None

    def differ(self, *, seen: bool) -> list[Evidence]:
        """Why the mode is not always the same; empty where it is. `seen`: only by calls that the program shows."""
        if len(self.found) > 1:
            return list(self.found.values())
        return [self.open] if self.open is not None and not seen else []

    def add(self, mode: bool, said: str, path: str, position: int) -> None:
        """Adds a mode with the place that says so."""
        self.found.setdefault(mode, Evidence(said, path, position >> 16))


def modes_of(project: ProjectView, frames: Iterable[Frame]) -> Modes:
    """The modes in which calls in some frames run, where they do not say it themselves."""
    modes = Modes()
    todo = list(dict.fromkeys(frames))
    seen = set(todo)
    for frame in list(todo):
        _unbuilt(project, frame, modes)
    for frame in todo:
        for outer in _around(project, frame, modes):
            if outer not in seen and len(seen) < _STEPS:
                seen.add(outer)
                todo.append(outer)
    return modes


def _unbuilt(project: ProjectView, frame: Frame, modes: Modes) -> None:
    """Keras 3 runs a layer that has no `build` once to build what is in it: in no training mode."""
    builder = builder_around(project, frame) if project.versions.may_have_keras(3) else None
    if builder is not None:
        modes.add(
            False, "Keras 3 builds the layer by a call in inference mode", builder.code.path, builder.code.position
        )


def _around(project: ProjectView, frame: Frame, modes: Modes) -> Iterator[Frame]:
    """The frames whose mode a frame runs in, too; what else tells its mode goes into `modes`."""
    layer = runs_layer(project, frame)
    callers = [(caller, pos) for caller, pos in calls_to(frame) if not frame.started_by(caller, pos)]
    if layer and (not callers or project.public.has(frame.code)):
        said = "Keras calls it in the mode of whatever is around, which callers elsewhere decide"
        modes.open = modes.open or Evidence(said, frame.code.path, frame.code.line)
    for caller, pos in callers:
        calls = list(_calls(caller, pos, frame)) if layer else []
        given = [value for instr in calls if (value := told(caller, instr, frame)) is not None]
        by_method = {mode for instr in calls for mode in _mode_of_method(project, caller, instr)}
        for mode in by_method:
            modes.add(mode, f"runs it in {'training' if mode else 'inference'} mode", caller.code.path, pos)
        for value in given:
            _say(value, modes, caller.code.path, pos)
        if not given and not by_method:
            if any(_is_symbolic(caller, instr) for instr in calls):
                modes.open = modes.open or Evidence(_FUNCTIONAL, caller.code.path, pos >> 16)
            else:
                yield from _outer(project, caller, pos, modes)
    if not callers and not layer:
        modes.add(False, "runs outside of any layer", frame.code.path, frame.code.position)


def _outer(project: ProjectView, caller: Frame, pos: int, modes: Modes) -> Iterator[Frame]:
    """Who tells the mode of a call in a frame: its own argument, where that is a layer's `call`, or its callers."""
    if caller.code.is_module:
        modes.add(False, "runs it in inference mode", caller.code.path, pos)
        return
    slot = next((p.slot for p in caller.code.params if p.name == _TRAINING), -1)
    value = (caller.vals[slot] or _NO_VALUE) if slot >= 0 and runs_layer(project, caller) else NONE.value
    known = frozenset(o for o in value if o is not NONE)
    if known and _is_drawn(project, caller):
        modes.open = modes.open or Evidence(_FUNCTIONAL, caller.code.path, caller.code.line)
    elif known:
        _say(known, modes, caller.code.path, pos)
    if len(known) < len(value) or not value:
        yield caller


def _say(value: Value, modes: Modes, path: str, pos: int) -> None:
    for obj in value:
        if isinstance(obj, Lit):
            said = "training" if obj.const else "inference"
            modes.add(bool(obj.const), f"runs it in {said} mode", path, pos)
        elif obj is not NONE:
            modes.open = modes.open or Evidence("runs it in a mode that is not known", path, pos >> 16)


def _is_drawn(project: ProjectView, frame: Frame) -> bool:
    """Whether a layer is called with symbolic tensors: its modes are then those of any call of a functional model."""
    return any(_is_symbolic(caller, instr) for caller, pos in calls_to(frame) for instr in _calls(caller, pos, frame))


def _is_symbolic(frame: Frame, instr: ir.Call) -> bool:
    """Whether a call passes a symbolic tensor of Keras, alone or in a structure."""
    given = (o for slot in arguments(instr) for o in held(frame.vals[slot] or _NO_VALUE, _DEPTH, parts))
    return any(isinstance(o, Tensor) and o.kind == SYMBOLIC for o in given)


def reads_mode(view: FrameView, instr: ir.Call) -> bool:
    """Whether a call runs something that depends on the mode, and does not say in which."""
    value = view.value(instr.function)
    if told(view.frame, instr) is not None or not is_modal(value):
        return False
    return is_modal(o for o in value if not isinstance(o, Unknown)) or _is_field(view, instr)


def _is_field(view: FrameView, instr: ir.Call) -> bool:
    """Whether what is called is an attribute of a layer that runs: one that nobody knows may be a layer, too."""
    made = view.definition(instr.function)
    owner = view.value(made.owner) if isinstance(made, ir.Attr) else _NO_VALUE
    return runs_layer(view.project, view.frame) and any(o in owner for o in view.frame.args[0])


def class_of(value: Value) -> str:
    """What is called that reads the mode, for people; empty where that is not known."""
    for obj in value:
        if isinstance(obj, (Inst, LibInst)) and is_modal((obj,)):
            return obj.cls.name if isinstance(obj, Inst) else obj.cls.rpartition(".")[2]
    return ""
