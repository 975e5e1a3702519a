"""What a rule sees: one frame, one function, or the whole project, over the solved program."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from typing import Any, Final, TypeVar

from hybridize.domain.calls import ANY, SEEN, How
from hybridize.domain.objects import (
    Bound,
    Class,
    Container,
    Func,
    Inst,
    Lib,
    LibInst,
    Stream,
    Tensor,
    Unknown,
    Value,
    Wrapper,
)
from hybridize.domain.session import cached
from hybridize.facts.calls.extents import Extents
from hybridize.facts.calls.public import Public
from hybridize.facts.model import DECLARED, FunctionFacts, Source
from hybridize.facts.origins import callees_at, edges_to
from hybridize.facts.side_effects.effects import SideEffects
from hybridize.facts.symbolic import Symbolic, holds_tensor, parameter_bit, parameters_of
from hybridize.facts.unknown.contracts import Contracts
from hybridize.flow.cells import registry_class
from hybridize.flow.frames import Frame
from hybridize.flow.hints import is_keras_call
from hybridize.flow.solve import Solution, method_kind
from hybridize.library import registry
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Instr
from hybridize.records import dataclass
from hybridize.source.model import CellMap, SourceText
from hybridize.source.roles import Roles
from hybridize.source.syntax import walk
from hybridize.source.versions import Versions

_NO_VALUE: Final[Value] = frozenset()
_T = TypeVar("_T")


class ProjectView:
    """The solved program, shared by all rules."""

    def __init__(
        self, solution: Solution, symbolic: Symbolic, versions: Versions | None = None, roles: Roles | None = None
    ) -> None:
        self.solution = solution
        self.symbolic = symbolic
        self.versions = versions or Versions()
        self.roles = roles or Roles(frozenset(), frozenset())
        self._trees: dict[str, Trees] = {}
        self._effects: SideEffects | None = None
        self.control_kinds: dict[Value, int] = {}  # rules.control: what may become symbolic in each value
        self._names: dict[Value, tuple[str, ...]] = {}
        self._shared: dict[object, Any] = {}

    @property
    def effects(self) -> SideEffects:
        """The Python side effects of every frame; whoever has them already sets them."""
        if self._effects is None:
            self._effects = SideEffects(self.solution, Extents(self.solution))
        return self._effects

    @effects.setter
    def effects(self, effects: SideEffects) -> None:
        self._effects = effects

    @property
    def extents(self) -> Extents:
        """What the calls of every frame may run."""
        return self.effects.extents

    @property
    def contracts(self) -> Contracts:
        """The contracts of libraries and files that functions are under."""
        return self.shared("contracts", lambda: Contracts(self.solution, *self.versions.majors))

    @property
    def public(self) -> Public:
        """What the packages of the program offer to others."""
        return self.shared("public", lambda: Public(self.roles))

    def shared(self, key: object, make: Callable[[], _T]) -> _T:
        """What several rules compute of the same thing (a frame, a file): made when first asked for."""
        if key not in self._shared:
            self._shared[key] = make()
        found: _T = self._shared[key]
        return found

    @property
    def known(self) -> dict[object, Any]:
        """What rules share, by key."""
        return self._shared

    def names(self, value: Value) -> tuple[str, ...]:
        """The canonical names of the library functions and methods in a value: `tf.add`, `tensor.dense.numpy`."""
        found = self._names.get(value)
        if found is None:
            found = self._names[value] = tuple(sorted(_callable_names(self, value)))
        return found

    def text(self, path: str) -> str:
        """The text of a file of the project."""
        return self._tree(path).text

    def source(self, path: str) -> SourceText | None:
        """A file of the project as it was read; None for what was not."""
        return self._tree(path).source

    def cells(self, path: str) -> CellMap | None:
        """The cells of a notebook of the project; None for another file."""
        source = self.source(path)
        return source.cells if source is not None else None

    def node(self, code: Code) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None:
        """The syntax of a function."""
        if code.node is None:
            return self._tree(code.path).functions.get(code.position)
        return code.node if isinstance(code.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) else None

    def module(self, path: str) -> ast.Module | None:
        """The syntax tree of a file."""
        return self._tree(path).module

    def _tree(self, path: str) -> Trees:
        found = self._trees.get(path)
        if found is None:
            home = next((m for m in self.solution.program.modules.values() if m.code.path == path), None)
            found = self._trees[path] = _trees(home.code, home.text) if home is not None else Trees(None, None)
        return found

    def is_layer(self, inst: Inst) -> bool:
        """Whether an object is a Keras layer or model, or another module that owns variables."""
        return "tf.Module" in registry.mro_names(inst)


class Trees:
    """A file's syntax tree, with its functions by position; it is parsed again where it was not kept."""

    def __init__(self, source: SourceText | None, tree: ast.AST | None) -> None:
        self.source = source
        self.text = source.text if source is not None else ""
        self._kept = tree

    @cached_property
    def module(self) -> ast.Module | None:
        if isinstance(self._kept, ast.Module):
            return self._kept
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError):
            return None

    @cached_property
    def functions(self) -> dict[int, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda]:
        found: dict[int, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda] = {}
        for node in walk(self.module) if self.module is not None else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                found[position_of(node)] = node
        return found


@cached
def _trees(module: Code, text: SourceText | None) -> Trees:
    """What is parsed again, and gone through, is the same for both phases."""
    return Trees(text, module.node)


def position_of(node: ast.AST) -> int:
    """The position of a syntax node as instructions have it."""
    return getattr(node, "lineno", 0) << 16 | min(getattr(node, "col_offset", 0), 0xFFFF)


@dataclass(slots=True, eq=False)
class FrameView:
    """One function in one context, as part of whatever traces it."""

    project: ProjectView
    frame: Frame

    @property
    def code(self) -> Code:
        """The function."""
        return self.frame.code

    @property
    def has_receiver(self) -> bool:
        """Whether the first parameter is an object or class that the function is called on."""
        func = self.frame.func
        return func is not None and method_kind(func) in ("method", "classmethod")

    def value(self, slot: int) -> Value:
        """What a slot holds; empty where control never gets there."""
        return (self.frame.vals[slot] or _NO_VALUE) if slot >= 0 else _NO_VALUE

    def symbolic(self, slot: int) -> int:
        """What must be symbolic for the tensors in this slot to be so: a mask, 0 where they stay concrete."""
        return self.project.symbolic.symbolic(self.frame, slot)

    def mask(self, slot: int) -> int:
        """Where the value of a slot came from, whatever it is."""
        return self.project.symbolic.mask(self.frame, slot)

    def is_tensor(self, slot: int, arrays: bool = True) -> bool:
        """Whether a slot holds a tensor itself (not a container of tensors)."""
        return any(isinstance(o, Tensor) and (arrays or o.kind != "ndarray") for o in self.value(slot))

    def definition(self, slot: int) -> Instr | None:
        """The instruction that makes a slot's value."""
        return index_of(self.frame.code).definitions.get(slot)

    def instructions(self) -> list[Instr]:
        """All instructions of the function in order, nested ones included."""
        return index_of(self.frame.code).flat

    def callees(self, pos: int) -> list[tuple[Frame, How]]:
        """The project functions that a call at a position runs, and how."""
        return callees_at(self.frame, pos)

    def names(self, slot: int) -> tuple[str, ...]:
        """The canonical names of the library functions and methods in a slot: `tf.add`, `tensor.dense.numpy`."""
        return self.project.names((self.frame.vals[slot] or _NO_VALUE) if slot >= 0 else _NO_VALUE)

    def receiver(self, slot: int) -> int:
        """The slot of the object whose attribute a slot holds, or -1."""
        made = self.definition(slot)
        return made.owner if isinstance(made, ir.Attr) else -1

    @property
    def node(self) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None:
        """The syntax of the function."""
        return self.project.node(self.code)


def _callable_names(project: ProjectView, value: Value) -> Iterator[str]:
    for obj in value:
        if isinstance(obj, Lib):
            yield obj.name
        elif isinstance(obj, Bound) and isinstance(obj.func, str):
            cls, _, name = obj.func.rpartition(":")
            for base in [cls] if cls else _library_classes(project, obj.receiver):
                found = registry.method_spec(base, name)
                yield f"{found[0] if found is not None else base}.{name}"
        elif isinstance(obj, LibInst):
            yield f"{obj.cls}.__call__"
        elif isinstance(obj, Wrapper) and obj.kind == "partial":
            yield from _callable_names(project, obj.inner)


def _library_classes(project: ProjectView, receiver: object) -> tuple[str, ...]:
    if isinstance(receiver, (Inst, Class)):
        return (receiver.cls if isinstance(receiver, Inst) else receiver).library
    return (registry_class(receiver),)  # type: ignore[arg-type]  # receivers are abstract objects


@dataclass(slots=True, eq=False)
class FunctionView:
    """A function as the thing that is decorated, or might be."""

    project: ProjectView
    code: Code
    frames: list[Frame]
    facts: FunctionFacts
    #: Its call sites, for as long as many rules ask for them one after the other, and nothing is solved in between.
    known_callers: list[tuple[Frame, int, Frame, How]] | None = None

    @property
    def is_hybrid(self) -> bool:
        """Whether it runs as a graph already."""
        return self.facts.hybridization is not None

    def views(self) -> Iterator[FrameView]:
        """Its live frames."""
        for frame in self.frames:
            yield FrameView(self.project, frame)

    @property
    def node(self) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None:
        """Its syntax."""
        return self.project.node(self.code)

    @property
    def func(self) -> Func | None:
        """Its function object."""
        return self.frames[0].func if self.frames else None

    @property
    def takes_data(self) -> bool:
        """Whether it receives a dataset or another stream of tensors."""
        return any(
            isinstance(o, Stream) and holds_tensor(frozenset({o})) for f in self.frames for v in f.args for o in v
        )

    def callers(self) -> Iterator[tuple[Frame, int, Frame, How]]:
        """Its call sites: (caller, position, the frame that is called, how).

        Of a function that is hybrid by `tf.function(f)` those that call the graph, where any is seen to.
        """
        if self.known_callers is not None:
            yield from self.known_callers
            return
        found = [(caller, pos, frame, how) for frame in self.frames for caller, pos, how in edges_to(frame)]
        made = self.facts.hybridization
        if made is not None and not made.is_decorator:
            yield from [each for each in found if each[3] is How.HYBRID] or found
        else:
            yield from found

    def called_by(self, kinds: Collection[How] = ANY) -> Iterator[tuple[Frame, int, Frame]]:
        """Its call sites of some kinds: (caller, position, the frame that is called)."""
        return ((caller, pos, frame) for caller, pos, frame, how in self.callers() if how in kinds)

    @property
    def is_called(self) -> bool:
        """Whether anybody is seen to call it."""
        return any(self.called_by(SEEN))

    def holds(self, frame: Frame, needs: int) -> bool:
        """Whether what a hit needs is symbolic when this function itself is what is traced, in one of its frames."""
        if needs & 1:
            return True
        return any(holds_tensor(frame.args[i]) for i in parameters_of(needs) if i < len(frame.args))

    def opens(self, frame: Frame, needs: int) -> bool:
        """Whether nobody knows what some parameter of a mask receives in a frame: nothing, or what is guessed of it."""
        return any(i < len(frame.args) and self._is_open(frame, i) for i in parameters_of(needs))

    def may_get_array(self, frame: Frame, needs: int, given: Collection[int]) -> bool:
        """Whether some parameter of a mask, among those that get what nobody sees, is not declared to be a tensor."""
        facts = self.facts.parameters
        undeclared = [
            i for i in parameters_of(needs) if i in given and i < len(facts) and facts[i].source not in DECLARED
        ]
        return any(not self._is_converted(frame, i) for i in undeclared)

    def _is_open(self, frame: Frame, index: int) -> bool:
        value = frame.args[index]
        if any(isinstance(o, Unknown) for o in value):
            return True
        facts = self.facts.parameters[index] if index < len(self.facts.parameters) else None
        guessed = facts is not None and facts.source is Source.SPECULATION
        return guessed and not self._is_converted(frame, index)

    def _is_converted(self, frame: Frame, index: int) -> bool:
        """Whether Keras makes a tensor of an argument before the function gets it."""
        return index == 1 and frame.func is not None and is_keras_call(frame.func, self.project.solution.engine)

    def parameter(self, index: int) -> int:
        """The bit of a parameter."""
        return parameter_bit(index)


def is_mutable_container(value: Value) -> bool:
    """Whether a value is a list, dict, set or the like."""
    return any(isinstance(o, Container) for o in value)
