"""What a Keras model or `tf.Module` tracks: the variables of the layers, lists and objects that its attributes hold."""

from __future__ import annotations

from typing import Any, Final

from hybridize.domain.lattice import join_all
from hybridize.domain.objects import BOTTOM, EVERY, Container, Inst, LibInst, Obj, Tensor, Tup, Value, show, tensor
from hybridize.domain.tensors import NDARRAY, VARIABLE
from hybridize.library import registry
from hybridize.library.keras.settings import Settings, weight_dtype
from hybridize.library.spec import Call, parametrized

TRAINABLE: Final = ("trainable_variables", "trainable_weights")
FIXED: Final = ("non_trainable_variables", "non_trainable_weights")
OTHER_WEIGHTS: Final = ("variables", "weights")
#: Attributes nest so deeply, and so many objects are looked into; beyond, the variables are unknown.
_DEPTH: Final = 6
_MOST: Final = 64
_LAYER: Final = "keras.layers.Layer"
#: Fields of library instances under which the models keep the layers that they call.
_INNER: Final = ("$layers", "layer", "forward_layer", "backward_layer", "cell", "merge_mode")
#: How the names of weights begin that no gradient changes.
_MOVING: Final = "moving_"


class _Search:
    """A walk over the attributes of a tracked object; `found` has the variables in order while `exact`."""

    def __init__(self, call: Call, which: tuple[str, ...] = OTHER_WEIGHTS) -> None:
        self.call = call
        self.which = which
        self.seen: set[Obj] = set()
        self.found: list[Value] = []
        self.exact = True
        self.waits = False

    def add(self, value: Value) -> None:
        """Adds a variable."""
        if len(value) != 1:
            self.exact = False
        if value:
            self.found.append(value)

    def guess(self, dtype: str | None = None) -> None:
        """Adds variables that are not known, unless what makes them is still to come."""
        self.exact = False
        if getattr(self.call.frame, "lenient", True):
            self.found.append(tensor(VARIABLE, dtype).value)
        else:
            self.waits = True

    def visit(self, obj: Obj, depth: int) -> None:
        """Adds the variables that an object holds or is."""
        if isinstance(obj, Tensor):
            if obj.kind == VARIABLE:
                self.add(obj.value)
                # Whether it is trainable is not known: it may be in one list only.
                self.exact = self.exact and self.which is not FIXED
            return
        if not isinstance(obj, (Inst, LibInst, Container, Tup)):
            return
        if obj in self.seen:
            self.exact = False
            return
        self.seen.add(obj)
        if depth > _DEPTH or len(self.seen) > _MOST:
            self.exact = False
            self.found.append(tensor(VARIABLE).value)
        elif isinstance(obj, LibInst):
            self._library(obj, depth)
        else:
            for value in self._parts(obj):
                self.visit_all(value, depth + 1)

    def visit_all(self, value: Value, depth: int) -> None:
        """Adds the variables of any of some objects."""
        if len(value) > 1 and any(isinstance(o, (Tensor, Inst, LibInst)) for o in value):
            self.exact = False
        for part in value:
            self.visit(part, depth)

    def _parts(self, obj: Inst | Container | Tup) -> list[Value]:
        engine, frame = self.call.engine, self.call.frame
        if isinstance(obj, Tup):
            return list(obj.items)
        if isinstance(obj, Container):
            if engine.cells.is_exact(frame, obj):
                return [engine.cells.read(frame, cell) for cell in list(obj.fields.values())]
            values = engine.heap.values_of(frame, obj)
            self.exact = self.exact and not any(isinstance(o, (Tensor, Inst, LibInst)) for o in values)
            return [values]
        bases = registry.mro_names(obj)
        if "tf.Module" not in bases:
            return []
        if any(registry.call_spec(base) is not None and base not in _PLAIN for base in bases[:2]):
            # A project class that derives from a layer with weights of its own.
            self.exact = False
            self.found.append(tensor(VARIABLE).value)
        engine.cells.read(frame, obj.absent(EVERY))
        names = [name for name in obj.fields if isinstance(name, str)]
        if _LAYER not in bases:
            names.sort()  # as `tf.Module` does
        own = [engine.cells.read(frame, obj.fields[name]) for name in names]
        # Variables of its own come first, then those of what it holds.
        return sorted(own, key=_is_no_variable)

    def _library(self, obj: LibInst, depth: int) -> None:
        engine, frame = self.call.engine, self.call.frame
        if _LAYER not in registry.class_chain(obj.cls):
            return
        inner = [obj.fields[name] for name in _INNER if name in obj.fields]
        if inner:
            for cell in inner:
                self.visit_all(engine.cells.read(frame, cell), depth + 1)
            return
        if "$outputs" in obj.fields:
            self.exact = False
            self.found.append(self._typed(obj, tensor(VARIABLE)))
            return
        if registry.property_rule(obj.cls, "$weights") is None:
            return  # a layer without weights
        self._named(obj)

    def _named(self, obj: LibInst) -> None:
        """The weights of a library layer, by the names that its model gives them."""
        rule = registry.property_rule(obj.cls, "$weights")
        assert rule is not None
        found = rule(Call(self.call.engine, self.call.frame, self.call.pos, "weights", [], {}, obj))
        named = [o for o in found if isinstance(o, Container)]
        if not named:
            self.guess(weight_dtype(Settings(self.call, obj, obj.cls)))
        for weights in named:
            for name, cell in list(weights.fields.items()):
                fixed = str(name).startswith(_MOVING)
                if self.which is OTHER_WEIGHTS or fixed == (self.which is FIXED):
                    value = self.call.read(cell)
                    self.add(join_all([self._typed(obj, variable) for variable in value]))

    def _typed(self, obj: LibInst, variable: Obj) -> Value:
        """A weight whose shape the layer's model does not know still has the layer's dtype."""
        if isinstance(variable, Tensor) and variable.dtype is None:
            settings = Settings(self.call, obj, obj.cls)
            return tensor(VARIABLE, weight_dtype(settings), variable.shape).value
        return variable.value


def _is_no_variable(value: Value) -> bool:
    for obj in value:
        if isinstance(obj, Tensor):
            return False
    return True


_PLAIN: Final = frozenset({_LAYER, "keras.Model", "tf.Module"})
#: Lists of more variables are not kept by position.
_MOST_LISTED: Final = 48


def _searched(call: Call, frame: Any, which: tuple[str, ...]) -> _Search:
    """The walk over the attributes of the receiver, read by a frame."""
    inner = Call(call.engine, frame, call.pos, call.name, [], {}, call.receiver)
    search = _Search(inner, which)
    if call.receiver is not None:
        search.visit(call.receiver, 0)
    return search


@parametrized
def _listed(call: Call, which: tuple[str, ...], kind: str) -> Value:
    search = call.engine.cells.shared(
        call.frame, ("weights", call.receiver, which, call.frame.lenient), lambda frame: _searched(call, frame, which)
    )
    found = search.found
    if search.waits:
        call.frame.stuck = True
        return BOTTOM
    if kind == NDARRAY:
        found = [join_all([tensor(NDARRAY, o.dtype, o.shape).value for o in v if isinstance(o, Tensor)]) for v in found]
    if not found or not search.exact or len(found) > _MOST_LISTED:
        return call.list_of(join_all(found) or tensor(kind).value, "list", "weights")
    # The content names the list: one that is not whole yet must not be mixed with that which it becomes.
    return call.listed(found, "weights " + " ".join(map(show, found)))


#: `model.weights`: the variables that are tracked, in order where it is known; those that are trained, and the others.
tracked_weights: Final = _listed(OTHER_WEIGHTS, VARIABLE)
trainable_weights: Final = _listed(TRAINABLE, VARIABLE)
fixed_weights: Final = _listed(FIXED, VARIABLE)
#: `model.get_weights()`.
weight_arrays: Final = _listed(OTHER_WEIGHTS, NDARRAY)

# The layers themselves ------------------------------------------------------------------------------------------------


def direct_layers(call: Call) -> Value:
    """`model.layers` of a class of the project: what its attributes, and the lists in them, hold, in order if known."""
    lenient = getattr(call.frame, "lenient", True)
    found, exact = call.engine.cells.shared(
        call.frame, ("layers", call.receiver, lenient), lambda frame: _direct(call, frame)
    )
    if not found:
        call.frame.stuck = call.frame.stuck or not lenient
        return call.list_of(call.made(_LAYER).value, "list", "layers") if lenient else BOTTOM
    if not exact or len(found) > _MOST_LISTED:
        return call.list_of(join_all([o.value for o in found]), "list", "layers")
    # Named by its content, as a list of weights is.
    return call.listed([o.value for o in found], "layers " + " ".join(f"{o.site[1]}.{o.frame}" for o in found))


def _direct(call: Call, frame: Any) -> tuple[list[Inst | LibInst], bool]:
    """The layers that a model holds itself, each once, and whether they are in order."""
    engine, receiver = call.engine, call.receiver
    if not isinstance(receiver, Inst):
        return [], False
    found: dict[Inst | LibInst, None] = {}
    exact = True
    engine.cells.read(frame, receiver.absent(EVERY))
    names = [name for name in receiver.fields if isinstance(name, str) and not name.startswith("$")]
    todo = [(engine.cells.read(frame, receiver.fields[name]), _DEPTH) for name in reversed(names)]
    while todo and len(found) <= _MOST:
        value, depth = todo.pop()
        exact = exact and (len(value) == 1 or not any(isinstance(o, (Inst, LibInst, Container, Tup)) for o in value))
        for obj in value:
            if isinstance(obj, (Inst, LibInst)) and _is_layer(obj):
                found.setdefault(obj)
            elif isinstance(obj, Tup) and depth:
                todo += [(item, depth - 1) for item in reversed(obj.items)]
            elif isinstance(obj, Container) and depth:
                placed = engine.cells.is_exact(frame, obj)
                if placed:
                    values = [engine.cells.read(frame, cell) for cell in list(obj.fields.values())]
                else:
                    values = [engine.heap.values_of(frame, obj)]
                exact = exact and (placed or not any(isinstance(o, (Inst, LibInst)) for o in values[0]))
                todo += [(item, depth - 1) for item in reversed(values)]
    return list(found), exact


def _is_layer(obj: Inst | LibInst) -> bool:
    names = registry.mro_names(obj) if isinstance(obj, Inst) else registry.class_chain(obj.cls)
    return _LAYER in names and not any(name.startswith("keras.metrics.") for name in names)
