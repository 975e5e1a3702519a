"""The declarative form of library models.

A `Spec` says what a call of a library function or method gives (`rule`), whether it computes on tensors (`op`), and
what it changes (`effects`). A `ClassSpec` describes a library class: its bases, methods, properties, what making an
instance does and what calling one does. Rules are shared by groups of functions; they see a call through `Call`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Concatenate, Final, ParamSpec, TypeAlias, TypeVar

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, NONE_V, Cell, Container, Heap, LibInst, Lit, Obj, Value
from hybridize.library.engine import EngineApi
from hybridize.records import dataclass, field

Rule: TypeAlias = "Callable[[Call], Value]"

#: The field of a library object that is a view of another: that one.
SOURCE: Final = "$source"


def give(value: Value) -> Rule:
    """A rule that always gives the same value."""
    return lambda call: value


#: A rule of what returns None.
nothing: Final = give(NONE_V)
P = ParamSpec("P")
C = TypeVar("C")
R = TypeVar("R")


def parametrized(function: Callable[Concatenate[C, P], R]) -> Callable[P, Callable[[C], R]]:
    """Makes a rule with parameters a factory of rules: `f(a)` is the rule that gives `f(call, a)` of a call."""
    return lambda *args, **kwargs: lambda call: function(call, *args, **kwargs)


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
    whose setter assigns to a `tf.Variable` that the object has from the start: no tensor stays in them. `fixed` are
    those that tell what the object was made as: no method changes them.
    """

    bases: tuple[str, ...] = ()
    methods: Mapping[str, Spec] = field(default_factory=dict)
    properties: Mapping[str, Rule] = field(default_factory=dict)
    make: Rule | None = None
    call: Spec | None = None
    parameters: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    assigned: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()


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

    def constants(self) -> list[Any]:
        """The same of each argument without a name; None for what is none."""
        return [self.constant(i, "") for i in range(len(self.args))]

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
        return self.engine.heap.elements(self.frame, value, self.pos)

    def call(self, func: Value, /, *args: Value, how: How = How.CALLBACK, **kwargs: Value) -> Value:
        """Calls a function value, as the library would."""
        return self.engine.calls.call_value(self.frame, self.pos, func, list(args), kwargs, how)

    def method(self, obj: Obj, name: str, /, *args: Value, how: How = How.PROTOCOL, **kwargs: Value) -> Value:
        """Calls a method that the project defines on an object's class; bottom if it has none."""
        found = self.engine.attributes.find_method(self.frame, obj, name)
        if not found:
            return BOTTOM
        return self.engine.calls.call_value(self.frame, self.pos, found, list(args), kwargs, how)

    def effect(self, kind: str, detail: str = "", target: Obj | None = None) -> None:
        """Notes an effect."""
        self.frame.effect(kind, target, detail or self.name, self.pos)

    def refuse(self) -> None:
        """Notes that the library raises for these operands, whatever they hold; only `failing` wants to know."""

    def new(self, kind: str, tag: str = "") -> Container:
        """A fresh container of this call's site."""
        return self.engine.cells.container(self.frame, self.pos, kind, tag)

    def list_of(self, element: Value, kind: str = "list", tag: str = "") -> Value:
        """A fresh container that holds any number of these elements."""
        made = self.new(kind, tag)
        self.engine.cells.lose_exactness(made)
        self.engine.cells.write(self.frame, made.rest_cell(), element, self.pos)
        return made.value

    def listed(self, values: Iterable[Value], tag: str = "list") -> Value:
        """A fresh list of just these values."""
        made = self.new("list", tag)
        for i, value in enumerate(values):
            self.write(made.cell(i), value)
        return made.value

    def read(self, cell: Cell) -> Value:
        """The value of a cell."""
        return self.engine.cells.read(self.frame, cell)

    def read_all(self, obj: Heap) -> list[Value]:
        """What the fields of an object hold, or a container whose keys are known, in order."""
        return [self.read(cell) for cell in list(obj.fields.values())]

    def write(self, cell: Cell, value: Value) -> None:
        """Adds a value to a cell."""
        self.engine.cells.write(self.frame, cell, value, self.pos)

    def made(self, cls: str) -> LibInst:
        """The instance of a library class that this call's site makes."""
        return self.engine.cells.library_instance(self.frame, self.pos, cls)

    def is_exact(self, container: Container) -> bool:
        """Whether the constant keys of a container are all it has."""
        return self.engine.cells.is_exact(self.frame, container)

    def values(self, container: Container) -> Value:
        """The join of all elements (values, for a dict) of a container."""
        return self.engine.heap.values_of(self.frame, container)

    def field(self, obj: LibInst, name: str) -> Value:
        """What a model keeps in a library instance."""
        return self.engine.cells.read(self.frame, obj.cell(name))

    def keep(self, obj: LibInst, name: str, value: Value) -> None:
        """Keeps something in a library instance."""
        if value:
            self.engine.cells.write(self.frame, obj.cell(name), value, self.pos)
