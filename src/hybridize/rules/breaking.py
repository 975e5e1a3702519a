"""What breaks in code that no call of the program runs (`tracing.running.dormant`), were it part of a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from hybridize.closure import closure
from hybridize.domain.objects import Bound, Container, Func, Inst, Lib, Lit, Prim, Tensor, Tup, Unknown, Value
from hybridize.domain.tensors import NDARRAY
from hybridize.domain.words import MUTABLE
from hybridize.facts.origins import called_at, roots
from hybridize.flow.docstrings import is_described
from hybridize.flow.frames import Frame
from hybridize.library import registry
from hybridize.library.dialect import CONSTANTS
from hybridize.program import ir
from hybridize.program.index import Index, index_of
from hybridize.program.ir import Code, Instr
from hybridize.program.operands import joined, operands
from hybridize.rules.scan import Scanner
from hybridize.tracing.callers.unseen import Given
from hybridize.tracing.returns.results import OBJECT, REBUILT, REMADE, Part, parts
from hybridize.tracing.running.dormant import Dormant, DormantView
from hybridize.tracing.values import argument
from hybridize.tracing.views import FunctionView

#: What a call does that a graph refuses, or does once for each trace.
_CHANGES: Final = {
    "eager_only": "works only eagerly",
    "print": "prints once for each trace",
    "io": "reads or writes once for each trace",
    "clock": "reads the clock once for each trace",
    "random": "draws one number for each trace",
}
#: Of what has an effect by what it is given.
_PRINTS: Final = "builtins.print"
_READS: Final = "numpy"
_NO_EDGES: Final[frozenset[int]] = frozenset()
#: What an argument is seen to be while nobody passes the other kind; and what takes a part of something.
_PLAIN: Final = (Lit, Prim, Unknown, Tup)
_PARTS: Final = (ir.Attr, ir.Part)
#: What no graph gives, by what makes it.
_MADE: Final[dict[type[Instr], str]] = {
    ir.Func: "a function",
    ir.Class: "a class",
    ir.Set: "a set",
    ir.Generator: "a generator",
}


class Breaking:
    """The dormant code of one function that might be decorated, and of what it calls."""

    def __init__(self, scanner: Scanner, function: FunctionView, given: Mapping[Frame, Given], *, strict: bool) -> None:
        """`given` are all frames of its trace, with the parameters that get from others what nobody sees.

        With `strict` also what rules find, results and containers count; else effects that library models note alone.
        """
        self.scanner = scanner
        self.function = function
        self.given = given
        self.strict = strict
        self.results = _giving(function.code, given) if strict else set()
        self._views: dict[Frame, DormantView] = {}

    def of(self, frame: Frame, part: Dormant) -> Iterator[tuple[str, int]]:
        """What of a part a graph refuses or does otherwise, with the place."""
        view = self._view(frame)
        for instr in part.instructions():
            said = self._said(view, instr)
            if said:
                yield said, instr.position
        if frame in self.results:
            yield from self._returned(view, part)

    def of_tables(self, frame: Frame, asked: Callable[[Frame, int], list[str]]) -> Iterator[tuple[list[str], str, int]]:
        """The same of the functions in a table that an argument chooses from: by which one, what, and the place."""
        view, index = self._view(frame), index_of(frame.code)
        for call in index.of(ir.Call):
            table, key = _looked_up(index, call.function)
            names = asked(frame, key) if key >= 0 else []
            for code in _codes(_entries(view.value(table))) if names else ():
                said = _inside(view, code) or self._inside(code)
                for instr in index.of(ir.Return) if frame in self.results and not said else ():
                    if call.target in _brought(index, instr.value, _NO_EDGES, whole=True):
                        gives = [f.ret for f in self.scanner.solution.frames.get(code, ())]
                        said = next((f"returns {_told(each)}" for v in gives for each in parts(view.project, v)), "")
                if said:
                    yield names, said, call.position

    def _view(self, frame: Frame) -> DormantView:
        found = self._views.get(frame)
        if found is None:
            found = self._views[frame] = DormantView(self.scanner.project, frame)
        return found

    def _inside(self, code: Code) -> str:
        """What rules find in a function that is called."""
        frames = self.scanner.solution.frames.get(code, ())
        hit = next(self.scanner.hits_inside(self.function, frames), None)
        return f"calls `{code.name}`, which {hit.message}" if hit is not None else ""

    def _said(self, view: DormantView, instr: Instr) -> str:
        noted = _noted(view, instr)
        if noted or not self.strict:
            return noted
        match instr:
            case ir.Call():
                return self._called(view, instr)
            case ir.SetCell() if instr.name in view.code.free:
                return f"writes the captured variable `{instr.name}`"
            case ir.SetItem() if self._is_outer(view, instr.owner):
                return "changes a container from outside"
        return ""

    def _called(self, view: DormantView, call: ir.Call) -> str:
        """What rules find at a call, or in what it runs; containers and unknown code that it changes things with."""
        made = index_of(view.code).source(call.function)
        if isinstance(made, ir.Attr) and _mutates(made.name) and self._is_outer(view, made.owner):
            return f"changes a container from outside with `{made.name}`"
        hit = next(self.scanner.hits_at(self.function, view, call), None)
        if hit is not None:
            return hit.message
        inside = next(filter(None, map(self._inside, _codes(view.value(call.function)))), "")
        if inside:
            return inside
        if not CONSTANTS.isdisjoint(view.names(call.function)) and any(
            _is_undeclared(view.code, i) for i in self._given(view, argument(call, 0, "value"))
        ):
            return "makes a constant of what it is given"
        unused = call.target not in index_of(view.code).uses
        given = unused and any(True for _ in self._given(view, call.function))
        return "calls what it is given, for its effect" if given else ""

    def _given(self, view: DormantView, slot: int) -> Iterator[int]:
        """The arguments that nobody sees, and of which the program shows no kind, that something is, or is part of."""
        index = index_of(view.code)
        slots = {view.code.params[i].slot: i for i in self.given[view.frame]}

        def plain(some: list[int]) -> list[int]:
            return [each for each in map(index.original, some) if all(isinstance(o, _PLAIN) for o in view.value(each))]

        def whole(made: Instr) -> list[int]:
            return plain(operands(made)[:1] if isinstance(made, _PARTS) else joined(made))

        upstream = index.upstream(plain([slot]), whole) if slot >= 0 else ()
        return (slots[each] for each, _ in upstream if each in slots)

    def _is_outer(self, view: DormantView, slot: int) -> bool:
        """Whether a slot holds a container that existed before the trace; `**options` is made by the call."""
        if not any(isinstance(o, Container) for o in view.value(slot)):
            return False
        params, given = view.code.params, self.given[view.frame]
        found = roots(view.frame, slot)
        return any(root in given and not params[root].is_starred if isinstance(root, int) else True for root in found)

    def _returned(self, view: DormantView, part: Dormant) -> Iterator[tuple[str, int]]:
        """What comes out of the function by way of a part, and of which a graph gives nothing, or something else."""
        index = index_of(view.code)
        inside = {id(instr) for instr in part.instructions()}
        for instr in index.of(ir.Return):
            for slot in _brought(index, instr.value, part.edges, whole=id(instr) in inside):
                made = index.definitions.get(slot)
                if made is not None and type(made) in _MADE:
                    yield f"returns {_MADE[type(made)]}, which a traced function cannot return", instr.position
                for each in parts(view.project, view.value(slot)):
                    yield f"returns {_told(each)}", instr.position


def _brought(index: Index, slot: int, edges: frozenset[int], *, whole: bool) -> Iterator[int]:
    """The slots whose value arrives in another one by some edges, or (`whole`) by any."""
    todo, seen = [(slot, whole)], set[tuple[int, bool]]()
    while todo:
        slot, comes = todo.pop()
        if (slot, comes) in seen or slot < 0:
            continue
        seen.add((slot, comes))
        made = index.definitions.get(slot)
        if isinstance(made, ir.Copy):
            todo.append((made.source, comes))
        elif isinstance(made, ir.Phi):
            todo += [(each, comes or edge in edges) for edge, each in made.incoming]
        elif comes:
            yield from [each for each, _ in made.elements] if isinstance(made, ir.Sequence) else [slot]


def _looked_up(index: Index, slot: int) -> tuple[int, int]:
    """The table and the key of `table[key]` and `table.get(key)`; else -1 for both."""
    made = index.source(slot)
    if isinstance(made, ir.Item):
        return made.source, made.index
    read = index.source(made.function) if isinstance(made, ir.Call) and made.arguments else None
    if isinstance(made, ir.Call) and isinstance(read, ir.Attr) and read.name == "get":
        return read.owner, made.arguments[0][0]
    return -1, -1


def _entries(value: Value) -> Value:
    """What containers hold under keys."""
    tables = [obj for obj in value if isinstance(obj, Container)]
    return frozenset().union(*(cell.value for table in tables for cell in table.fields.values()))


def _told(part: Part) -> str:
    if part.what == OBJECT:
        return f"what {part.said}" if part.kind == REBUILT else f"{part.said}, which a traced function cannot return"
    return part.said if part.what == REMADE else f"{part.said}, of which a tensor comes back"


def _is_undeclared(code: Code, index: int) -> bool:
    """Whether neither an annotation nor the docstring says what an argument is."""
    param = code.params[index]
    return param.annotation is None and not is_described(code, param.name)


def _giving(code: Code, frames: Iterable[Frame]) -> set[Frame]:
    """The frames whose results are those of a function: its own, and those of what it returns calls of."""

    def returned(frame: Frame) -> Iterator[Frame]:
        index = index_of(frame.code)
        for instr in index.of(ir.Return):
            for slot in _brought(index, instr.value, _NO_EDGES, whole=True):
                made = index.definitions.get(slot)
                if isinstance(made, ir.Call):
                    yield from called_at(frame, made.position)

    return set(closure([frame for frame in frames if frame.code is code], returned))


def _mutates(method: str) -> bool:
    """Whether a method of lists, dictionaries or sets changes them."""
    found = [registry.method_spec(f"builtins.{kind}", method) for kind in MUTABLE]
    return any(each is not None and "mutate" in each[1].effects for each in found)


def _noted(view: DormantView, instr: Instr) -> str:
    """What of an instruction is a side effect, or works only eagerly, as library models have it."""
    match instr:
        case ir.SetAttr() if any(isinstance(o, Inst) for o in view.frame.vals[instr.owner] or ()):
            return f"writes attribute `{instr.name}`"
        case ir.SetGlobal():
            return f"writes the global `{instr.name}`"
        case ir.Call():
            made = index_of(view.code).source(instr.function)
            if isinstance(made, ir.Attr) and made.name == _READS and not instr.arguments:
                owner = view.value(made.owner)
                if not owner or any(isinstance(o, Tensor) and o.kind != NDARRAY for o in owner):
                    return f"uses `.{_READS}()`, which works only eagerly"
            called = view.value(instr.function)
            inside = (_inside(view, code) for code in _codes(called))
            return next(filter(None, (*inside, *map(_named, _names(called)))), "")
    return ""


def _codes(called: Value) -> list[Code]:
    """The functions of the project that a call runs."""
    functions = [o.func if isinstance(o, Bound) else o for o in called]
    return [func.code for func in functions if isinstance(func, Func)]


def _names(called: Value) -> Iterator[str]:
    """The functions and methods of libraries that a call runs."""
    for obj in called:
        if isinstance(obj, Lib):
            yield obj.name
        elif isinstance(obj, Bound) and isinstance(obj.func, str):
            yield obj.func.replace(":", ".")


def _inside(view: DormantView, code: Code) -> str:
    """What a function of the project does, as far as it was analysed for whoever else calls it."""
    for frame in view.project.solution.frames.get(code, ()):
        for effect in frame.effects.values():
            if effect.kind in _CHANGES:
                return f"calls `{code.name}`, which {_CHANGES[effect.kind]}"
    return ""


def _named(name: str) -> str:
    """What a function or method of a library does."""
    owner, _, method = name.rpartition(".")
    if name == _PRINTS:
        return f"uses `{method}`, which {_CHANGES['print']}"
    found = registry.method_spec(owner, method) if registry.is_class(owner) else None
    spec = found[1] if found is not None else registry.function_spec(name)
    kinds = [kind for kind in spec.effects if kind in _CHANGES] if spec is not None else []
    return f"uses `{method}`, which {_CHANGES[kinds[0]]}" if kinds else ""
