"""What a Keras model or `tf.Module` tracks: the variables of the layers, lists and objects that its attributes hold."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, Container, Inst, LibInst, Obj, Tensor, Tup, Value, tensor
from hybridize.domain.tensors import VARIABLE
from hybridize.library import registry
from hybridize.library.keras.settings import Settings, compute_dtype
from hybridize.library.spec import Call

TRAINABLE: Final = ("trainable_variables", "trainable_weights")
OTHER_WEIGHTS: Final = ("variables", "weights", "non_trainable_variables", "non_trainable_weights")
#: Attributes nest so deeply, and so many objects are looked into; beyond, the variables are unknown.
_DEPTH: Final = 6
_MOST: Final = 64
_LAYER: Final = "keras.layers.Layer"
#: Fields of library instances under which the models keep the layers that they call.
_INNER: Final = ("$layers", "layer", "forward_layer", "backward_layer", "cell", "merge_mode")


class _Search:
    """A walk over the attributes of a tracked object."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.seen: set[Obj] = set()
        self.found: Value = BOTTOM

    def visit(self, obj: Obj, depth: int) -> None:
        """Adds the variables that an object holds or is."""
        if isinstance(obj, Tensor):
            if obj.kind == VARIABLE:
                self.found = join(self.found, obj.value)
            return
        if obj in self.seen or not isinstance(obj, Inst | LibInst | Container | Tup):
            return
        self.seen.add(obj)
        if depth > _DEPTH or len(self.seen) > _MOST:
            self.found = join(self.found, tensor(VARIABLE).value)
        elif isinstance(obj, LibInst):
            self._library(obj, depth)
        else:
            for value in self._parts(obj):
                for part in value:
                    self.visit(part, depth + 1)

    def _parts(self, obj: Inst | Container | Tup) -> list[Value]:
        engine, frame = self.call.engine, self.call.frame
        if isinstance(obj, Tup):
            return list(obj.items)
        if isinstance(obj, Container):
            return [engine.values_of(frame, obj)]
        bases = engine.mro_names(obj)
        if "tf.Module" not in bases:
            return []
        if any(registry.call_spec(base) is not None and base not in _PLAIN for base in bases[:2]):
            # A project class that derives from a layer with weights of its own.
            self.found = join(self.found, tensor(VARIABLE).value)
        return [engine.read(frame, cell) for cell in list(obj.fields.values())]

    def _library(self, obj: LibInst, depth: int) -> None:
        engine, frame = self.call.engine, self.call.frame
        if _LAYER not in registry.class_chain(obj.cls):
            return
        inner = [obj.fields[name] for name in _INNER if name in obj.fields]
        if inner:
            for cell in inner:
                for part in engine.read(frame, cell):
                    self.visit(part, depth + 1)
            return
        if "$outputs" not in obj.fields:
            rule = registry.property_rule(obj.cls, "weights")
            if rule is None or rule is tracked_weights:
                return  # a layer without weights
            for weights in rule(Call(engine, frame, self.call.pos, "weights", [], {}, obj)):
                if isinstance(weights, Container):
                    for variable in engine.values_of(frame, weights):
                        self.found = join(self.found, self._typed(obj, variable))
            return
        self.found = join(self.found, self._typed(obj, tensor(VARIABLE)))

    def _typed(self, obj: LibInst, variable: Obj) -> Value:
        """A weight whose shape the layer's model does not know still has the layer's dtype."""
        if isinstance(variable, Tensor) and variable.dtype is None:
            settings = Settings(self.call, obj, obj.cls)
            return tensor(VARIABLE, compute_dtype(settings), variable.shape).value
        return variable.value


_PLAIN: Final = frozenset({_LAYER, "keras.Model", "tf.Module"})


def tracked_weights(call: Call) -> Value:
    """`model.trainable_variables` and its relatives, as a list of any of the variables that are tracked."""
    search = _Search(call)
    if call.receiver is not None:
        search.visit(call.receiver, 0)
    return call.list_of(search.found or tensor(VARIABLE).value, "list", "weights")
