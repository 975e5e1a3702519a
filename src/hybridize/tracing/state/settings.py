"""What a call of a library's object reads: the settings of the object and of those inside it, which Python keeps.

`dense(x)` uses `dense.activation` while it is traced, `optimizer.apply_gradients` the optimizer's `clipnorm`, a
`Sequential` the list of its layers. What Keras keeps in variables (weights, the learning rate) each call reads, and
what only building a layer reads is of no account afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.closure import closure
from hybridize.domain.objects import (
    Bound,
    Cell,
    Class,
    Container,
    Heap,
    Inst,
    Lib,
    LibInst,
    Lit,
    Obj,
    Tup,
    Value,
    Wrapper,
)
from hybridize.facts.state.guards import parts
from hybridize.library import registry
from hybridize.library.arguments import positions
from hybridize.library.spec import SOURCE
from hybridize.program import ir
from hybridize.program.operands import arguments
from hybridize.records import dataclass
from hybridize.tracing.hits import Hit
from hybridize.tracing.state.writes import Writes, library_classes, name_of
from hybridize.tracing.views import FrameView

#: Functions that call what they are given.
_CALLING: Final = frozenset(
    "tf.map_fn tf.vectorized_map tf.scan tf.foldl tf.foldr tf.nest.map_structure tf.while_loop tf.cond "
    "tf.recompute_grad tf.numpy_function tf.py_function builtins.map".split()
)
_PARTS: Final = 200  # objects that are looked into
#: Settings that only building a layer, the regularization of its weights or a report reads.
_UNREAD: Final = ("_initializer", "_regularizer", "_constraint")
_UNREAD_NAMES: Final = frozenset({"name", "units", "filters", "input_dim", "output_dim", "trainable", "dynamic"})
#: Attributes that layers read besides their settings.
_READ: Final = frozenset("kernel bias gamma beta embeddings moving_mean moving_variance layer cell".split())
#: The layers whose call depends on `trainable`.
_SWITCHED: Final = ("keras.layers.BatchNormalization", "keras.layers.SyncBatchNormalization")
_SWITCH: Final = "trainable"
_OUTPUTS: Final = "$outputs"


@dataclass(frozen=True, slots=True)
class Setting:
    """A place that a call reads, the object whose it is, and the name of the field; empty for the object's parts."""

    place: Cell
    owner: Heap
    name: str

    @property
    def said(self) -> str:
        """What it is, for people."""
        cls = self.owner.cls if isinstance(self.owner, LibInst) else getattr(self.owner, "cls", None)
        name = cls.name if isinstance(cls, Class) else str(cls).rpartition(".")[2]
        return f"uses `{self.name}` of a `{name}`" if self.name else f"uses what a `{name}` consists of"


class Settings:
    """The settings that a program writes late, by the objects that calls reach."""

    def __init__(self, known: Writes) -> None:
        self._of: dict[Obj, list[Setting]] = {}
        self._states: dict[Obj, Cell] = {}  # of objects of other libraries
        self._keywords: dict[Obj, Container] = {
            o: c for o, c in known.behind.items() if isinstance(o, Wrapper) and known.is_late(c)
        }
        self._calls: dict[Value, tuple[Setting, ...]] = {}
        self._concerned: dict[Value, bool] = {}
        states = {cell: obj for obj, cell in known.states.items()}
        for place, owner in known.owners.items():
            if not isinstance(place, Cell) or not isinstance(owner, (Inst, LibInst)) or not known.is_late(place):
                continue
            if place in states and not _is_model(owner):
                self._states[owner] = place
                continue
            name = "" if place in states else name_of(place, owner) or ""
            if place in states or (name and _is_read(owner, name)):
                self._of.setdefault(owner, []).append(Setting(place, owner, name))
            elif name == _SWITCH:
                for switched in _switched_by(owner):
                    self._of.setdefault(switched, []).append(Setting(place, owner, name))

    def concern(self, value: Value) -> bool:
        """Whether a call or an item of something may tell of any of them: asked once of each value."""
        found = self._concerned.get(value)
        if found is None:
            some = bool(self._of or self._states or self._keywords)
            found = self._concerned[value] = some and any(self._concerns(obj) for obj in value)
        return found

    def _concerns(self, obj: Obj) -> bool:
        if isinstance(obj, Lib):
            return bool(self._of) and obj.name in _CALLING
        if isinstance(obj, Wrapper):
            return obj in self._keywords
        return bool(_roots(obj)) and (bool(self._reached(_roots(obj))) or self._state(_roots(obj)[0]) is not None)

    def hits(self, view: FrameView, instr: ir.Call) -> Iterator[Hit]:
        """What a call reads that changes between calls."""
        for each in self.read_by(view, instr):
            (only,) = each.place.value if len(each.place.value) == 1 else (None,)
            # One value for ever, unless the object has been made without it: with the default.
            if only is None or not isinstance(only, (Lit, Lib)) or each.owner.site not in each.place.writes:
                yield Hit(instr.position, f"{each.said}, which changes between calls", subject=each.place)

        yield from self.told(view, instr)
        for obj in view.value(instr.function) if self._keywords else ():
            if obj in self._keywords:
                yield Hit(instr.position, "uses keywords that change between calls", subject=self._keywords[obj])

    def told(self, view: FrameView, instr: ir.Call | ir.Item) -> Iterator[Hit]:
        """What a call of a method, or an item, tells of the state of an object."""
        for obj in view.value(instr.function if isinstance(instr, ir.Call) else instr.source) if self._states else ():
            asked = obj
            if isinstance(obj, Bound) and isinstance(obj.func, str):
                asked = obj.receiver
            elif isinstance(instr, ir.Call):
                continue
            place = self._state(asked)
            if place is not None and ("mutate", asked, instr.position) not in view.frame.effects:
                cls = asked.cls if isinstance(asked, LibInst) else "object"
                yield Hit(
                    instr.position, f"asks for the state of a `{cls}`, which changes between calls", subject=place
                )
                return

    def _state(self, obj: Obj) -> Cell | None:
        found = self._states.get(obj)
        if found is None and isinstance(obj, LibInst) and SOURCE in obj.fields:
            found = next((self._states[o] for o in obj.fields[SOURCE].value if o in self._states), None)
        return found

    def read_by(self, view: FrameView, instr: ir.Call) -> tuple[Setting, ...]:
        """The settings that a call reads."""
        value = view.value(instr.function)
        found = self._calls.get(value)
        if found is None:
            found = self._calls[value] = self._reached([root for obj in value for root in _roots(obj)])
        if any(isinstance(o, Lib) for o in value):
            given: list[Obj] = [o for slot in arguments(instr) for o in view.value(slot) if isinstance(o, LibInst)]
            found = (*found, *self._reached(given))
        return found

    def _reached(self, roots: list[Obj]) -> tuple[Setting, ...]:
        starts = [obj for obj in roots if obj in self._of or _runs_library(obj)]
        return tuple(each for obj in closure(starts, _inner, _PARTS) for each in self._of.get(obj, ()))


def _roots(obj: Obj) -> list[Obj]:
    """The objects that a call runs the code of."""
    if isinstance(obj, Bound):
        return [obj.receiver] if isinstance(obj.func, str) and isinstance(obj.receiver, (Inst, LibInst)) else []
    return [obj] if isinstance(obj, (Inst, LibInst)) else []


def _inner(obj: Obj) -> Iterator[Obj]:
    """What an object holds that may hold settings."""
    fields = [cell.value for cell in obj.fields.values()] if isinstance(obj, (Inst, LibInst)) else parts(obj)
    return (each for value in fields for each in value if isinstance(each, (Container, Tup)) or _runs_library(each))


def _runs_library(obj: Obj) -> bool:
    """Whether a call of an object runs code of the library, which reads its fields unseen."""
    if isinstance(obj, LibInst):
        return obj.cls.startswith(("keras.", "tf."))
    if not isinstance(obj, Inst):
        return False
    own = any(isinstance(base, Class) and "call" in base.fields for base in obj.cls.mro)
    return not own and any(isinstance(base, Lib) and base.name.startswith("keras.") for base in obj.cls.mro)


def _switched_by(owner: Inst | LibInst) -> list[Obj]:
    """What the switch `trainable` of a model reaches: the layers in it whose call depends on it."""
    if not _is_model(owner):
        return []
    inside: list[Obj] = [owner]
    seen: set[Obj] = {owner}
    for obj in inside:  # grows while it is read
        fields = [cell.value for cell in obj.fields.values()] if isinstance(obj, (Inst, LibInst)) else parts(obj)
        for inner in (o for value in fields for o in value):
            if inner not in seen and isinstance(inner, (Inst, LibInst, Container, Tup)) and len(seen) < _PARTS:
                seen.add(inner)
                inside.append(inner)
    layers = [o for o in inside if isinstance(o, (Inst, LibInst))]
    # Which layers a functional model consists of is not kept.
    return [o for o in layers if _has_outputs(o) or not set(_SWITCHED).isdisjoint(library_classes(o))]


def _has_outputs(obj: Inst | LibInst) -> bool:
    return _OUTPUTS in obj.fields and bool(obj.fields[_OUTPUTS].value)


def _is_model(owner: Heap) -> bool:
    return any(name.startswith("keras.") for name in library_classes(owner))


def _is_read(owner: Heap, name: str) -> bool:
    """Whether Python reads a field of a library object when it is called."""
    classes = [each for each in library_classes(owner) if each.startswith(("keras.", "tf."))]
    if not classes:
        return isinstance(owner, LibInst)
    if name == _SWITCH:
        return any(each in _SWITCHED for each in classes)
    if name in _UNREAD_NAMES or name.endswith(_UNREAD):
        return False
    if any(registry.is_assigned(each, name) for each in classes):
        return False
    return name in _READ or any(name in positions(each) for each in classes)
