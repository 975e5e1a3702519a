"""The declarative form of library models.

A `Spec` says what a call of a library function or method gives (`rule`), whether it computes on tensors (`op`), and
what it changes (`effects`). A `ClassSpec` describes a library class: its bases, methods, properties, what making an
instance does and what calling one does. Rules are shared by groups of functions; they see a call through `Call`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
    NONE_V,
    Cell,
    Container,
    Heap,
    Inst,
    LibInst,
    Lit,
    Obj,
    Stream,
    Value,
    unknown,
)
from hybridize.records import dataclass, field

Rule: TypeAlias = "Callable[[Call], Value]"
_T = TypeVar("_T")

#: The field of a library object that is a view of another: that one.
SOURCE: Final = "$source"


class EngineApi(Protocol):
    """What rules may ask of the engine. `frame` is the frame that executes the call, `pos` its position."""

    def call_value(
        self,
        frame: Any,
        pos: int,
        func: Value,
        args: list[Value],
        kwargs: Mapping[str, Value] = ...,
        how: How = ...,
        rest: Value = ...,
    ) -> Value: ...
    def get_attr(self, frame: Any, obj: Obj, name: str, pos: int) -> Value: ...
    def get_attrs(self, frame: Any, value: Value, name: str, pos: int) -> Value: ...
    def plain_attrs(self, frame: Any, value: Value, name: str, pos: int) -> Value: ...
    def set_attr(self, frame: Any, obj: Obj, name: str, value: Value, pos: int) -> None: ...
    def get_item(self, frame: Any, owner: Value, index: Value, pos: int, *, quiet: bool = ...) -> Value: ...
    def class_of_namespace(self, container: Container) -> Value: ...
    def send(self, frame: Any, generator: Stream, value: Value, pos: int) -> None: ...
    def reads_insert(self, container: Container) -> None: ...
    def note_rebuilt(self, container: Container) -> None: ...
    def reads_from(self, container: Container, source: Container) -> None: ...
    def set_item(self, frame: Any, obj: Obj, index: Value, value: Value, pos: int) -> None: ...
    def elements(self, frame: Any, value: Value, pos: int) -> Value: ...
    def read(self, frame: Any, cell: Cell) -> Value: ...
    def shared(self, frame: Any, key: object, found_by: Callable[[Any], _T]) -> _T: ...
    def items(self, frame: Any, obj: Heap) -> list[tuple[Any, Value]]: ...
    def write(self, frame: Any, cell: Cell, value: Value, pos: int) -> None: ...
    def container(self, frame: Any, pos: int, kind: str, tag: str = ...) -> Container: ...
    def library_instance(self, frame: Any, pos: int, cls: str) -> LibInst: ...
    def made_instance(self, frame: Any, pos: int, cls: Any) -> Inst: ...
    def library_bases(self, cls: Any) -> list[str]: ...
    def note_cached(self, func: Value) -> None: ...
    def twin(self, frame: Any, pos: int, source: Inst, tag: str) -> Inst: ...
    def is_exact(self, frame: Any, container: Container) -> bool: ...
    def lose_exactness(self, container: Container) -> None: ...
    def mro_names(self, obj: Obj) -> tuple[str, ...]: ...
    def find_method(self, frame: Any, obj: Obj, name: str) -> Value: ...
    def del_attr(self, frame: Any, obj: Obj, name: str, pos: int) -> None: ...
    def symbolic_call(self, frame: Any) -> None: ...
    def set_item_quietly(self, frame: Any, obj: Container, index: Value, value: Value, pos: int) -> None: ...
    def set_field(self, frame: Any, obj: Obj, name: str, value: Value, pos: int) -> None: ...
    def wake(self, readers: Mapping[Any, int]) -> None: ...
    def note_hybrid(self, frame: Any, pos: int, func: Value, options: Mapping[str, Value]) -> None: ...
    def import_named(self, frame: Any, name: str) -> Value: ...
    def escape(self, frame: Any, args: list[Value], kwargs: Mapping[str, Value], pos: int) -> None: ...
    def note_fixture(self, func: Value, options: Mapping[str, Value]) -> None: ...
    def note_parameters(self, target: Value, pos: int, names: Value, values: Value) -> None: ...
    def mark_dataclass(self, cls: Any, taken_apart: bool) -> None: ...
    def backing(self, obj: Obj, method: str) -> Container: ...
    def container_behind(self, obj: Inst) -> Container | None: ...
    def values_of(self, frame: Any, obj: Container) -> Value: ...
    def keys_of(self, frame: Any, obj: Container) -> Value: ...
    def narrow(self, frame: Any, value: Value, kinds: Value, polarity: bool) -> Value: ...


@dataclass(frozen=True, slots=True)
class Spec:
    """A model of a library function or method.

    `rule` gives the result (None: the default of its library); `op` says that it computes on tensors; `effects` are
    kinds of effect (`print`, `io`, `random`, `clock`, `state`, `mutate` the receiver ...) with `pure` as the default.
    `detail` names the effect for people.
    """

    rule: Rule | None = None
    op: bool = False
    effects: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClassSpec:
    """A model of a library class.

    `make` gives the value of a construction (None: an instance with its arguments kept). `assigned` are the properties
    whose setter assigns to a `tf.Variable` that the object has from the start: no tensor stays in them.
    """

    bases: tuple[str, ...] = ()
    methods: Mapping[str, Spec] = field(default_factory=dict)
    properties: Mapping[str, Rule] = field(default_factory=dict)
    make: Rule | None = None
    call: Spec | None = None
    parameters: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    assigned: frozenset[str] = frozenset()


class Call:
    """A call as a rule sees it."""

    __slots__ = ("args", "engine", "frame", "kwargs", "name", "pos", "receiver", "rest", "spec")

    def __init__(
        self,
        engine: EngineApi,
        frame: Any,
        pos: int,
        name: str,
        args: list[Value],
        kwargs: Mapping[str, Value],
        receiver: Obj | None = None,
        rest: Value = BOTTOM,
    ) -> None:
        self.engine = engine
        self.frame = frame
        self.pos = pos
        self.name = name
        self.args = args
        self.kwargs = kwargs
        self.receiver = receiver
        self.rest = rest

    def arg(self, index: int, name: str = "", default: Value = BOTTOM) -> Value:
        """An argument by position or keyword; `default` where it is not given."""
        if 0 <= index < len(self.args):
            return self.args[index]
        if name and name in self.kwargs:
            return self.kwargs[name]
        return self.rest or default

    def given(self, index: int, name: str) -> bool:
        """Whether an argument is given, and not as a plain None."""
        value = self.arg(index, name)
        return bool(value) and value is not NONE_V

    def constant(self, index: int, name: str, default: Any = None) -> Any:
        """The constant that an argument is, if it is exactly one; else `default`."""
        value = self.arg(index, name)
        if len(value) == 1:
            (obj,) = value
            if isinstance(obj, Lit):
                return obj.const
        return default

    def every(self) -> Value:
        """The join of all arguments."""
        result = self.rest
        for value in self.args:
            result = join(result, value)
        for value in self.kwargs.values():
            result = join(result, value)
        return result

    def elements(self, value: Value) -> Value:
        """What iterating over a value gives."""
        return self.engine.elements(self.frame, value, self.pos)

    def call(self, func: Value, /, *args: Value, how: How = How.CALLBACK, **kwargs: Value) -> Value:
        """Calls a function value, as the library would."""
        return self.engine.call_value(self.frame, self.pos, func, list(args), kwargs, how)

    def method(self, obj: Obj, name: str, /, *args: Value, how: How = How.PROTOCOL, **kwargs: Value) -> Value:
        """Calls a method that the project defines on an object's class; bottom if it has none."""
        found = self.engine.find_method(self.frame, obj, name)
        if not found:
            return BOTTOM
        return self.engine.call_value(self.frame, self.pos, found, list(args), kwargs, how)

    def effect(self, kind: str, detail: str = "", target: Obj | None = None) -> None:
        """Notes an effect."""
        self.frame.effect(kind, target, detail or self.name, self.pos)

    def refuse(self) -> None:
        """Notes that the library raises for these operands, whatever they hold; only `failing` wants to know."""

    def new(self, kind: str, tag: str = "") -> Container:
        """A fresh container of this call's site."""
        return self.engine.container(self.frame, self.pos, kind, tag)

    def list_of(self, element: Value, kind: str = "list", tag: str = "") -> Value:
        """A fresh container that holds any number of these elements."""
        made = self.new(kind, tag)
        self.engine.lose_exactness(made)
        self.engine.write(self.frame, made.rest_cell(), element, self.pos)
        return made.value

    def field(self, obj: LibInst, name: str) -> Value:
        """What a model keeps in a library instance."""
        return self.engine.read(self.frame, obj.cell(name))

    def keep(self, obj: LibInst, name: str, value: Value) -> None:
        """Keeps something in a library instance."""
        if value:
            self.engine.write(self.frame, obj.cell(name), value, self.pos)


def no_value(reason: str) -> Value:
    """A value that is not known."""
    return unknown(reason).value
