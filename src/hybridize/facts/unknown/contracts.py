"""What else than the program has a say in a function: libraries that call it back, files that name it, subclasses.

A method that overrides a library's is under that library's contract (`library.contracts`). Where a graph breaks that
contract, `broken` says so, and a rule blocks. Where nobody says that a graph may stand there, `unproven` gives the
evidence: nothing is known to break, but the default does not go by that.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from hybridize.domain.calls import TRACED, How
from hybridize.domain.nesting import held
from hybridize.domain.objects import Bound, Class, Func, LibInst, Obj, Tensor, Tup, Wrapper
from hybridize.domain.tensors import DENSE
from hybridize.facts.model import Evidence
from hybridize.facts.origins import calls_of
from hybridize.facts.state.guards import parts
from hybridize.flow.classes import bases_after
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution
from hybridize.library.contracts.lookup import UNKNOWN, Found, contract_of
from hybridize.library.contracts.model import MODES, Answer
from hybridize.library.keras.running import COMPILED
from hybridize.library.keras.saving import LAYERS, SAVED
from hybridize.program.ir import Code
from hybridize.records import dataclass

#: The graver first: a method may override those of several classes.
_GRAVITY: Final = (Answer.RAISES, Answer.DIFFERS, Answer.UNPROVEN, Answer.GRAPH)
_ABSTRACT: Final = frozenset({"abstractmethod", "abstractproperty", "abstractclassmethod", "abstractstaticmethod"})
#: What is called so is under no contract of its caller.
_WITHIN: Final = TRACED - {How.CONSTRUCTION}
#: What users of a library's method are promised that no graph gives.
_PROMISED: Final = ("arrays", "python")
_STEPS: Final = 60
_DEPTH: Final = 2


@dataclass(frozen=True, slots=True)
class Override:
    """A method of a class of the project that overrides one of a library's class, and what that asks of it."""

    cls: Class
    name: str
    found: Found
    answer: Answer

    @property
    def message(self) -> str:
        """A sentence on it."""
        contract = self.found.contract
        if contract is UNKNOWN:
            base = f"`{self.found.owner}`" if self.found.owner else "a class that is not known"
            return f"may override a method of {base}: {contract.because}"
        who = (
            f"which {self.found.caller} calls {MODES[contract.mode]}"
            if MODES[contract.mode]
            else "which its users call"
        )
        said = f"overrides `{self.found.owner}.{self.name}`, {who}"
        if self.found.owner == "builtins.object":
            said = f"Python calls `{self.name}`"
        return f"{said}: {contract.because}" if contract.because else said


class Contracts:
    """The contracts that the functions of a solved program are under."""

    def __init__(self, solution: Solution, *keras: int) -> None:
        """`keras` are the major versions that the project may run on."""
        self.solution = solution
        self.keras = keras
        self._overrides: dict[Code, Override | None] = {}

    def override(self, code: Code) -> Override | None:
        """What a method overrides, the gravest of several; None where it is no method, or overrides nothing."""
        if code not in self._overrides:
            every = self._every(code) if code.in_class else ()
            self._overrides[code] = min(every, key=lambda o: _GRAVITY.index(o.answer), default=None)
        return self._overrides[code]

    def broken(self, code: Code) -> Override | None:
        """The contract that a graph in the place of a method would break."""
        found = self.override(code)
        return found if found is not None and found.answer in (Answer.RAISES, Answer.DIFFERS) else None

    def unproven(
        self, code: Code, frames: Sequence[Frame], stands: Callable[[Code], bool] | None = None
    ) -> Evidence | None:
        """Why nobody says that a graph may stand in the place of a function; None where nothing speaks against it.

        `stands`: whether an abstract method that it calls is known well enough by those that implement it here. Who
        asks so takes a private method that the program calls for its own, whatever unknown base class is above it.
        """
        found = self.override(code)
        own = stands is not None and _is_called(frames) and self._is_apart(code)
        kept = found is None or own or _is_no_promise(found, frames)
        if found is not None and found.answer is not Answer.GRAPH and not kept:
            return Evidence(found.message, code.path, code.line)
        if any(_last(node) in _ABSTRACT for node in code.decorators):
            return Evidence("an abstract method: classes elsewhere implement it", code.path, code.line)
        outer = self.broken(code.parent) if code.parent is not None and code.parent.is_function else None
        if outer is not None:
            return Evidence(f"a part of what {outer.message}", code.path, code.line)
        known = self.saved.get(code) or self._handed.get(code)
        return (
            known
            or _host(frames)
            or _gradient(code, frames)
            or _implemented_elsewhere(frames, stands or (lambda _: False))
        )

    def implementers(self, code: Code) -> frozenset[Code]:
        """The functions that subclasses in the program put in the place of a method, or of what it overrides itself."""
        assert code.parent is not None
        owners = [base for cls in self.solution.world.classes.get(code.parent, ()) for base in cls.mro]
        first = [base for base in owners if isinstance(base, Class) and code.name in base.fields]
        subclasses = dict.fromkeys(each for cls in first for each in cls.subclasses)
        cells = [cls.fields[code.name] for cls in subclasses if code.name in cls.fields]
        return frozenset(f.code for cell in cells for f in _functions(cell.value) if not f.code.abstract)

    def others(self, code: Code) -> str:
        """Who else than the program calls a function, with whatever it accepts; empty where nobody is known to."""
        found = self.override(code)
        if found is not None and found.found.owner != "builtins.object":
            return found.found.caller if found.found.owner else "a base class that is not known"
        return "code that is not known" if code in self._handed else ""

    @cached_property
    def saved(self) -> dict[Code, Evidence]:
        """The functions that Keras writes to files by their names, with the places that say so."""
        return {**self._named[LAYERS], **self._named[SAVED]}

    @cached_property
    def made_anew(self) -> frozenset[Code]:
        """The functions that Keras makes anew of files by their names, in lists too: of what `compile` was given, only
        those that are named where that is made anew.
        """
        layers: set[Code] = set()
        compiled: set[Code] = set()
        for obj in self.solution.world.allocated.values():
            if isinstance(obj, LibInst) and obj.cls.startswith("keras."):
                for name, cell in list(obj.fields.items()):
                    found = compiled if isinstance(name, str) and name.startswith(COMPILED) else layers
                    found.update(func.code for func in _functions(held(cell.value, _DEPTH, parts)))
        return frozenset(layers | (compiled & self._named[SAVED].keys()))

    def _is_apart(self, code: Code) -> bool:
        """Whether a method is private, and no class that is known has one of the name."""
        private = code.name.startswith("_") and not code.name.startswith("__")
        return private and all(each.found.contract is UNKNOWN for each in self._every(code))

    def _every(self, code: Code) -> Iterator[Override]:
        assert code.parent is not None
        for cls in self.solution.world.classes.get(code.parent, ()):
            names = list(_names(cls, code))
            for each in (cls, *cls.subclasses):
                chain, foreign = bases_after(each, cls)
                for name in names:
                    found = contract_of(chain, name)
                    if foreign and not (name.startswith("__") and (found is not None or not name.endswith("__"))):
                        found = found or Found("", UNKNOWN)
                    if found is not None:
                        answers = map(found.contract.under, self.keras)
                        yield Override(each, name, found, min(answers, key=_GRAVITY.index))

    @cached_property
    def _named(self) -> dict[str, dict[Code, Evidence]]:
        """The functions that are named for files, by the effect that says so."""
        found: dict[str, dict[Code, Evidence]] = {SAVED: {}, LAYERS: {}}
        for frames in self.solution.frames.values():
            for frame in frames:
                for effect in frame.effects.values():
                    if effect.kind in found and effect.target is not None:
                        said = f"`{effect.detail}` names it for files"
                        place = Evidence(said, frame.code.path, effect.position >> 16)
                        for func in _functions(held((effect.target,), _DEPTH, parts)):
                            found[effect.kind].setdefault(func.code, place)
        return found

    @cached_property
    def _handed(self) -> dict[Code, Evidence]:
        """The functions that objects of Keras keep, and those that unknown code was given."""
        found: dict[Code, Evidence] = {}
        for obj in self.solution.world.allocated.values():
            if isinstance(obj, LibInst) and obj.cls.startswith("keras."):
                for cell in list(obj.fields.values()):
                    for func in _functions(cell.value):
                        said = f"a `{obj.cls}` keeps it: Keras calls it in its own way, and writes its name to files"
                        place = min(((where.path, pos) for where, pos in cell.writes), default=(func.code.path, 0))
                        line = place[1] >> 16 or func.code.line
                        found.setdefault(func.code, Evidence(said, place[0], line))
        for func in _functions(self.solution.world.escaped):
            said = "it is given to code that is not known, which may call it in any way"
            found.setdefault(func.code, Evidence(said, func.code.path, func.code.line))
        return found


def _names(cls: Class, code: Code) -> Iterator[str]:
    """The names under which a function stands in a class."""
    yield code.name
    own = (code.name, f"_{cls.name.lstrip('_')}{code.name}")  # as Python mangles `__name`
    for name, cell in list(cls.fields.items()):
        if isinstance(name, str) and name not in own and any(f.code is code for f in _functions(cell.value)):
            yield name


def _functions(value: Iterable[Obj]) -> Iterator[Func]:
    """The functions of the project in a value, those inside wrappers and bound ones included."""
    for obj in value:
        if isinstance(obj, Bound):
            obj = obj.func if isinstance(obj.func, Func) else obj
        if isinstance(obj, Func):
            yield obj
        elif isinstance(obj, Wrapper):
            yield from (inner for inner in obj.inner if isinstance(inner, Func))


def _is_no_promise(found: Override, frames: Sequence[Frame]) -> bool:
    """Whether a method gives tensors as it stands, where users of the library are promised arrays or numbers."""
    promised = found.answer is Answer.UNPROVEN and found.found.contract.mode == "user"
    if not promised or found.found.contract.gives not in _PROMISED or not frames:
        return False
    return all(frame.ret and all(map(_is_tensor, frame.ret)) for frame in frames)


def _is_tensor(obj: Obj) -> bool:
    """Whether something is a tensor, or a tuple of tensors."""
    if isinstance(obj, Tup):
        return bool(obj.items) and all(value and all(map(_is_tensor, value)) for value in obj.items)
    return isinstance(obj, Tensor) and obj.kind == DENSE


def _is_called(frames: Iterable[Frame]) -> bool:
    """Whether the program itself calls a function."""
    return any(not caller.gone for frame in frames for caller, _, _ in frame.seen_calls())


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _host(frames: Sequence[Frame]) -> Evidence | None:
    """The call that has TensorFlow run a function as Python."""
    for frame in frames:
        for caller, pos in frame.incoming:
            if caller is not None and not caller.gone and caller.calls.get((pos, frame)) is How.HOST:
                return Evidence("TensorFlow runs it as Python, inside of graphs too", caller.code.path, pos >> 16)
    return None


def _gradient(code: Code, frames: Sequence[Frame]) -> Evidence | None:
    """The call of a function with a gradient of its own, which this one is: that call makes it, and has it called."""
    for frame in frames:
        for caller, pos in frame.incoming:
            if caller is None or caller.gone or caller.calls.get((pos, frame)) is not How.CALLBACK:
                continue
            if any(place == pos and made.code is code.parent for place, made in caller.calls):
                said = "TensorFlow calls it for gradients, a new one each time that the function around it is called"
                return Evidence(said, caller.code.path, pos >> 16)
    return None


def _implemented_elsewhere(frames: Sequence[Frame], stands: Callable[[Code], bool]) -> Evidence | None:
    """A call of a method that only raises: what subclasses elsewhere put in its place would be traced."""
    seen = set(frames)
    todo = list(frames)
    for frame in todo:
        for pos, callee in calls_of(frame, _WITHIN):
            if callee in seen:
                continue
            if callee.code.abstract and callee.code.in_class and not stands(callee.code):
                said = f"calls `{callee.code.name}`, which only classes elsewhere implement"
                return Evidence(said, frame.code.path, pos >> 16)
            if len(seen) < _STEPS:
                seen.add(callee)
                todo.append(callee)
    return None
