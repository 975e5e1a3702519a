"""What unknown objects are by what the function that calls them does with them: models and optimizers.

Whose trainable variables a function asks for is a model, and its call and its methods compute on tensors. What a
function that takes gradients gives pairs of something and such variables is what applies them. What a tape derives was
computed with TensorFlow, and so, most likely, what is given a tensor and gives what an operation computes on
(`facts.unknown.foreign`). All of these are made to run in graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Final

from hybridize.domain.objects import Bound, Inst, Lib, LibInst, Stream, Unknown
from hybridize.domain.unknowns import ATTRIBUTE, ELEMENT, Why
from hybridize.facts.state.reasons import OPAQUE, Reason, opaque
from hybridize.facts.unknown.derived import (
    TRAINED,
    classes_of,
    field_read,
    gets_gradients,
    is_assignment,
    is_derived,
    is_returned,
    trained_fields,
)
from hybridize.facts.unknown.foreign import Foreign, gets_tensor, is_given
from hybridize.flow.frames import Effect, Frame
from hybridize.flow.hints import NO_TENSOR
from hybridize.library.asking import OF_VALUES, method_asks
from hybridize.library.contracts.lookup import contract_of
from hybridize.library.contracts.model import Answer
from hybridize.library.registry import class_chain
from hybridize.program import ir
from hybridize.program.index import Index, index_of
from hybridize.program.ir import Code, Instr
from hybridize.program.operands import arguments, operands

_BY_USE: Final = "assumed by its use to be "

_MODEL: Final = "a model"
_FUNCTION: Final = "a function of TensorFlow"
_LAYER: Final = "a layer of another package"
_ACTIVATION: Final = "an activation"
_OPTIMIZER: Final = "an optimizer"
_VARIABLE: Final = "a method of a variable"
_METRIC: Final = "a metric"
_DISTRIBUTION: Final = "a distribution or bijector"
#: What gives tensors; what an annotation says stands in backticks.
_OF_TENSORS: Final = (_MODEL, _FUNCTION, _LAYER, _ACTIVATION, _METRIC, _DISTRIBUTION, "a `")
#: How an activation is called that nobody knows.
#: Methods that only metrics, distributions and bijectors have, and what their calls compute.
COMPUTING: Final = {
    _METRIC: frozenset({"update_state"}),
    _DISTRIBUTION: OF_VALUES,
}
#: What else a metric does.
_MEASURED: Final = frozenset({"result", "reset_state", "reset_states"})
#: Methods that only mappings have, only texts, and only TensorFlow's variables, shapes and dtypes.
_METHODS: Final = {
    "a dictionary": frozenset({"items", "keys", "values"}),
    "a text": frozenset("upper lower capitalize casefold startswith endswith strip lstrip rstrip zfill".split()),
    "a variable": frozenset({"assign_add", "assign_sub"}),
    "a shape or a dtype": frozenset("as_list is_compatible_with is_fully_defined with_rank num_elements".split()),
    _OPTIMIZER: frozenset({"apply_gradients"}),
}
_ASSIGN: Final = "assign"
#: Attributes that hold variables, as only TensorFlow's have `assign`.
_VARIABLES: Final = TRAINED | {f"{prefix}{n}" for prefix in ("", "non_trainable_") for n in ("variables", "weights")}
#: The keyword by which layers and models learn whether they are trained.
TRAINING: Final = "training"
_PAIRS: Final = frozenset({"builtins.zip", "builtins.enumerate"})


class Used:
    """What the uses of unknown objects say, by call; kept for each place."""

    def __init__(
        self, frames: Mapping[Code, Sequence[Frame]], quiet: Callable[[Frame], bool], foreign: Foreign
    ) -> None:
        """`quiet`: whether nothing is known that a frame changes."""
        self._frames = frames
        self._quiet = quiet
        self._foreign = foreign
        self._known: dict[tuple[Frame, int, object], str] = {}

    def says(self, reason: Reason) -> str:
        """What is assumed of a call of something unknown; empty where its function does not show what it is."""
        effect, frame = reason.effect, reason.frame
        key = frame, effect.position, effect.target or effect.detail
        if key not in self._known:
            self._known[key] = what = ""  # what is given to itself shows nothing
            if effect.kind == "iterator" and isinstance(effect.target, Unknown):
                what = _iterator(frame, effect.position)
            elif effect.kind == "unknown_call" and isinstance(effect.target, Unknown):
                what = self._called(frame, effect, effect.target)
            elif effect.kind == "unknown_call" and isinstance(effect.target, Inst):
                what = _layer(frame, effect, effect.target)
            elif effect.kind == "foreign_call":
                what = _OPTIMIZER if gets_gradients(frame, effect.position) else self._computing(frame, effect)
            self._known[key] = f"{_BY_USE}{what}: {effect.detail}" if what else ""
        return self._known[key]

    def gives_tensor(self, reason: Reason) -> bool:
        """Whether what is called gives tensors, by what its use says that it is."""
        return self.says(reason).startswith(tuple(_BY_USE + each for each in _OF_TENSORS))

    def computes(self, reason: Reason) -> bool:
        """Whether what is called computes with TensorFlow: it gives tensors, moves variables or assigns to one."""
        moves = tuple(f"{_BY_USE}{what}" for what in (f"a method of {_OPTIMIZER}", _VARIABLE))
        return self.gives_tensor(reason) or self.says(reason).startswith(moves)

    def gives_tensor_at(self, frame: Frame, position: int) -> bool:
        """Whether a call of unknown code gives tensors by its use."""
        return bool(found := opaque(frame, position)) and all(map(self.gives_tensor, found))

    def computes_at(self, frame: Frame, position: int) -> bool:
        """Whether a call of unknown code computes with TensorFlow by its use, whatever it gives."""
        return bool(found := opaque(frame, position)) and all(map(self.computes, found))

    def _called(self, frame: Frame, effect: Effect, target: Unknown) -> str:
        """What something unknown is that is called."""
        if target.hint == NO_TENSOR:
            return ""
        what = f"a `{target.hint}`" if target.hint else ""
        what = what or (_MODEL if _is_trained(frame, target) else "")
        what = what or (_OPTIMIZER if gets_gradients(frame, effect.position) else "")
        what = what or (_MODEL if _is_method_of_trained(frame, effect.position) else "")
        what = what or (_MODEL if self._is_trained_beside(frame, effect.position) else "")
        what = what or (_MODEL if self._is_trained_field(frame, effect.position) else "")
        what = what or (_FUNCTION if self._is_derived_field(frame, effect.position) else "")
        what = what or (_ACTIVATION if target.why is Why.ACTIVATION else "")
        what = what or (_MODEL if _is_told_of_training(frame, effect.position) else "")
        what = what or _of_method(frame, effect.position)
        what = what or (_VARIABLE if _is_of_trained(frame, effect.position) else "")
        what = what or (_FUNCTION if _is_passed(frame, effect.position, target) else "")
        what = what or ("the class of what is copied" if _copies(frame, effect.position) else "")
        return what or self._computing(frame, effect) or self._one_of(frame, effect, target)

    def _one_of(self, frame: Frame, effect: Effect, target: Unknown) -> str:
        """The project's methods of a name, where one of too many objects is called by it and none has effects.

        So of a method of an argument that nobody is seen to pass, where those that are seen are of such objects.
        """
        if target.why is Why.ARGUMENT and target.taken == ATTRIBUTE:
            name = self._passed(frame.code, effect.position)
            return f"one of the project's `{name}`" if name else ""
        if target.why is not Why.SUMMARIZED:
            return ""
        index = index_of(frame.code)
        made = [index.source(call.function) for call in index.calls.get(effect.position, ())]
        names = {each.name for each in made if isinstance(each, ir.Attr)}
        found = [each for name in names for each in self._methods.get(name, ())]
        if len(names) != 1 or not found or not all(map(self._quiet, found)):
            return ""
        return f"one of the project's `{next(iter(names))}`"

    def _passed(self, code: Code, position: int) -> str:
        """The method that a call reaches where the argument is known: of the project's objects, and without effects."""
        frames = [each for each in self._frames.get(code, ()) if not each.gone]
        unknown = [e.target for frame in frames for e in frame.effects.values() if e.position == position]
        found = [callee for frame in frames for at, callee in frame.calls if at == position]
        if not found or not all(isinstance(each, Unknown) and each.why is Why.ARGUMENT for each in unknown):
            return ""
        methods = all(each.code.is_function and each.code.in_class and self._quiet(each) for each in found)
        return found[0].code.name if methods else ""

    def _is_trained_beside(self, frame: Frame, position: int) -> bool:
        """Whether what is called is a captured variable whose trainable variables another nested function asks for."""
        index = index_of(frame.code)
        made = [index.source(call.function) for call in index.calls.get(position, ())]
        names = {each.name if isinstance(each, ir.Cell) else "" for each in made}
        beside = self._nested.get(frame.code.parent, ()) if names and "" not in names else ()
        return any(names <= _asks_for_variables(code, frame.code.parent) for code in beside)

    def _is_derived_field(self, frame: Frame, position: int) -> bool:
        """Whether what is called is a field, of whose results another method has a tape take gradients."""
        index = index_of(frame.code)
        calls = index.calls.get(position, ())
        fields = _of_classes(frame, self._derived)
        return bool(calls) and all(
            field_read(frame.code, index.source(call.function)) in fields and (call.arguments or call.keywords)
            for call in calls
        )

    @cached_property
    def _derived(self) -> Mapping[Code | None, set[str]]:
        """The fields that the methods of a class call, and whose results a tape there derives, by the class."""
        found: dict[Code | None, set[str]] = {}
        for code, frames in self._frames.items():
            index = index_of(code)
            for call in index.of(ir.Call) if code.in_class else ():
                name = field_read(code, index.source(call.function))
                if name and any(is_derived(frame, call.position) for frame in frames):
                    found.setdefault(code.parent, set()).add(name)
        return found

    def _is_trained_field(self, frame: Frame, position: int) -> bool:
        """Whether what is called is a field, or a method of one, whose trainable variables another method asks for."""
        index = index_of(frame.code)
        made = [index.source(call.function) for call in index.calls.get(position, ())]
        fields = {name for cls in _classes(frame) for name in trained_fields(cls)}
        if not fields or not made:
            return False
        for read in made:
            if not isinstance(read, ir.Attr):
                return False
            method = field_read(frame.code, index.source(read.owner)) in fields and _runs_in_graphs(read.name)
            if not method and field_read(frame.code, read) not in fields:
                return False
        return True

    @cached_property
    def _nested(self) -> Mapping[Code | None, list[Code]]:
        """The functions that stand in others, by these."""
        found: dict[Code | None, list[Code]] = {}
        for code in self._frames:
            if code.in_function:
                found.setdefault(code.parent, []).append(code)
        return found

    @cached_property
    def _methods(self) -> Mapping[str, list[Frame]]:
        found: dict[str, list[Frame]] = {}
        for code, frames in self._frames.items():
            if code.is_function and code.in_class:
                found.setdefault(code.name, []).extend(frames)
        return found

    def _computing(self, frame: Frame, effect: Effect) -> str:
        derived = is_derived(frame, effect.position) and not _is_closure(frame, effect)
        if derived or self._foreign.vouches(frame, effect) or self._goes_on(frame, effect.position):
            return _FUNCTION
        handed = effect.kind == "unknown_call" and isinstance(effect.target, Unknown) and _is_argument(effect.target)
        return (
            _FUNCTION if handed and gets_tensor(frame, effect.position) and is_returned(frame, effect.position) else ""
        )

    def _goes_on(self, frame: Frame, position: int) -> bool:
        """Whether a call gets what another one gives that computes with TensorFlow by its use, and is computed on."""
        index = index_of(frame.code)
        calls = index.calls.get(position, ())
        made = [index.source(slot) for call in calls for slot in arguments(call) if slot >= 0]
        before = {each.position for each in made if isinstance(each, ir.Call)} - {position}
        effects = [e for e in frame.effects.values() if e.position in before and e.kind in OPAQUE]
        return any(self.gives_tensor(Reason(e, frame, ())) for e in effects) and is_given(frame, calls)


def _of_classes(frame: Frame, known: Mapping[Code | None, set[str]]) -> set[str]:
    """What is known of the class of a method, or of one of its bases in the project."""
    return {name for code in _classes(frame) for name in known.get(code, ())}


def _classes(frame: Frame) -> set[Code | None]:
    """The class that a method stands in, and those of its object that the project has."""
    return {frame.code.parent, *(classes_of(frame.func) if frame.func is not None else ())}


def _layer(frame: Frame, effect: Effect, target: Inst) -> str:
    """What an instance is that is called although its class says nothing of that: a layer, if it has their method."""
    own = any("call" in base.fields for base in target.cls.line)
    return _LAYER if own and gets_tensor(frame, effect.position) else ""


def _is_passed(frame: Frame, position: int, target: Unknown) -> bool:
    """Whether an argument that nobody is seen to pass is itself called, and an operation computes on what it gives."""
    index = index_of(frame.code)
    calls = index.calls.get(position, ())
    itself = _is_handed(target) and gets_tensor(frame, position)
    return itself and is_given(frame, calls, computed=True)


def _copies(frame: Frame, position: int) -> bool:
    """Whether a call is `type(x)(...)`: who does not know the class of something makes a structure like it."""
    index = index_of(frame.code)
    calls = [call for call in index.calls.get(position, ()) if not _is_type(frame, call)]  # both begin there
    made = [index.source(call.function) for call in calls]
    return bool(made) and all(isinstance(m, ir.Call) and len(m.arguments) == 1 and _is_type(frame, m) for m in made)


def _is_type(frame: Frame, call: ir.Call) -> bool:
    return any(isinstance(o, Lib) and o.name == "builtins.type" for o in frame.vals[call.function] or ())


def _of_method(frame: Frame, position: int) -> str:
    """What an object is that has a method of such a name: a graph may call each of these."""
    index = index_of(frame.code)
    made = [index.source(call.function) for call in index.calls.get(position, ())]
    names = {each.name if isinstance(each, ir.Attr) else "" for each in made}
    if made and all(is_assignment(index, call) for call in index.calls.get(position, ())):
        return _VARIABLE
    if names and names <= _MEASURED:
        measured = {_named(index, read.owner) for each in COMPUTING[_METRIC] for read in index.attributes.get(each, ())}
        return _METRIC if all(isinstance(m, ir.Attr) and _named(index, m.owner) in measured for m in made) else ""
    computing = next((what for what, known in COMPUTING.items() if names and names <= known), "")
    return computing or next(
        (f"a method of {what}" for what, known in _METHODS.items() if names and names <= known), ""
    )


def _is_told_of_training(frame: Frame, position: int) -> bool:
    """Whether every call at a place passes something, and says by keyword whether it is for training."""
    calls = index_of(frame.code).calls.get(position, ())
    return bool(calls) and all(c.arguments and any(name == TRAINING for name, _ in c.keywords) for c in calls)


def _iterator(frame: Frame, position: int) -> str:
    """What an unknown iterator is: a distributed data set's, or a data set's as all that are known there."""
    if is_distributed(frame, position):
        return "the iterator of a distributed data set"
    calls = index_of(frame.code).calls.get(position, ())
    known = [o for call in calls for s, _ in call.arguments[:1] for o in frame.vals[s] or () if type(o) is not Unknown]
    shown = bool(known) and all(isinstance(o, Stream) and o.kind == "tf.data.Iterator" for o in known)
    return "the iterator of a data set" if shown else ""


def is_distributed(frame: Frame, position: int) -> bool:
    """Whether a strategy gives its replicas what an iterator gives: only a data set's knows of replicas."""
    index = index_of(frame.code)
    return any(_is_run(frame, use, made) for made in index.calls.get(position, ()) for use in index.of(ir.Call))


def _is_run(frame: Frame, call: ir.Call, made: ir.Call) -> bool:
    """Whether a call is that of a strategy's `run` with nothing but what another call gave."""
    bound = [o for o in frame.vals[call.function] or () if isinstance(o, Bound)]
    names = [(o.receiver.cls, str(o.func)) for o in bound if isinstance(o.receiver, LibInst)]
    if not any(method_asks(class_chain(cls), name, "args") for cls, name in names):
        return False
    index = index_of(frame.code)
    given = [slot for slot, _ in call.arguments[1:2]] + [slot for name, slot in call.keywords if name == "args"]
    parts = [index.source(slot) for slot in given]
    return any(
        isinstance(part, ir.Sequence) and [index.source(s) for s, _ in part.elements] == [made] for part in parts
    )


def _is_closure(frame: Frame, effect: Effect) -> bool:
    """Whether an argument that nobody is seen to pass is called with nothing, as closures are.

    It computes of what it holds. Callers make one for each call, and each has a trace of its own.
    """
    if not isinstance(effect.target, Unknown) or not _is_argument(effect.target):
        return False
    calls = index_of(frame.code).calls.get(effect.position, ())
    return not any(call.arguments or call.keywords for call in calls)


def _is_argument(target: Unknown) -> bool:
    return target.why is Why.ARGUMENT and not target.taken


def _is_handed(target: Unknown) -> bool:
    """Whether something is an argument that nobody is seen to pass, or an element of one."""
    return target.why is Why.ARGUMENT and target.taken in ("", ELEMENT)


def _is_trained(frame: Frame, target: Unknown) -> bool:
    """Whether the function asks an object for its trainable variables."""
    return any(
        instr.name in TRAINED and target in (frame.vals[instr.owner] or ())
        for instr in index_of(frame.code).of(ir.Attr)
    )


def _is_of_trained(frame: Frame, position: int) -> bool:
    """Whether a call assigns to what a loop takes out of a model's variables."""
    index = index_of(frame.code)

    def before(made: Instr) -> list[int]:
        if isinstance(made, ir.Call):
            named = frame.vals[made.function] or ()
            return [s for s, _ in made.arguments] if any(isinstance(o, Lib) and o.name in _PAIRS for o in named) else []
        return operands(made) if isinstance(made, ir.Part) else []

    calls = [index.source(call.function) for call in index.calls.get(position, ())]
    return bool(calls) and all(
        isinstance(read, ir.Attr)
        and read.name == _ASSIGN
        and any(isinstance(m, ir.Attr) and m.name in _VARIABLES for _, m in index.upstream([read.owner], before))
        for read in calls
    )


def _asks_for_variables(code: Code, outer: Code | None) -> set[str]:
    """The variables of the function around that a function asks for trainable variables."""
    index = index_of(code)
    made = (index.source(instr.owner) for instr in index.of(ir.Attr) if instr.name in TRAINED)
    return {each.name for each in made if isinstance(each, ir.Cell) and outer is not None and each.name in outer.cells}


def _is_method_of_trained(frame: Frame, position: int) -> bool:
    """Whether every call at a place is of a method of something whose trainable variables the function asks for."""
    index = index_of(frame.code)
    trained = {_named(index, instr.owner) for instr in index.of(ir.Attr) if instr.name in TRAINED}
    made = [index.source(call.function) for call in index.calls.get(position, ())]
    return bool(made) and all(
        isinstance(m, ir.Attr) and _named(index, m.owner) in trained and _runs_in_graphs(m.name) for m in made
    )


def _runs_in_graphs(name: str) -> bool:
    """Whether a model's method of a name is no one of Keras' that a graph must not run: to save, to fit, to print."""
    found = contract_of(class_chain("keras.Model"), name)
    return found is None or found.contract.answer is Answer.GRAPH or found.contract.gives == "tensors"


def _named(index: Index, slot: int) -> tuple[object, ...]:
    """What an expression reads: a variable by its slot, a field or module variable by its name."""
    made = index.source(slot)
    if isinstance(made, ir.Attr):
        return (*_named(index, made.owner), made.name)
    if isinstance(made, ir.Outer):
        return (type(made), made.name)
    return (index.original(slot),)
