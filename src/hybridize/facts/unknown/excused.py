"""Calls of something unknown that speak against no graph: of models that are trained, and of names without value.

A model of another package whose trainable variables are asked for computes on tensors, and is made to run in graphs:
its own training does. So does one that a computed name chooses (`getattr(models, name)(...)`): those that the project
has are followed beside it. A name that nothing defines raises wherever it is read, eagerly and in a graph; so does a
method that the type of a tuple or a number has not, where the same call reaches others. What is written to a private
field that no code ever reads is seen by nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final, TypeGuard

from hybridize.domain.nesting import held
from hybridize.domain.objects import BOTTOM, NONE, Inst, Lib, LibInst, Lit, Obj, Unknown, Value
from hybridize.domain.session import cached
from hybridize.domain.unknowns import RESULT, Why
from hybridize.facts.state.guards import parts
from hybridize.facts.state.reasons import Reason
from hybridize.facts.unknown.derived import TRAINED
from hybridize.flow.frames import Effect, Frame
from hybridize.flow.solve import Solution
from hybridize.library.index.lookup import known_package
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.lowering import walk_codes

#: What reads whatever fields an object has: packages of it, by how their names begin.
_WHOLE: Final = ("builtins.vars", "copy.", "pickle.", "dill.", "cloudpickle.", "joblib.")
_WHOLE_NAMES: Final = frozenset({"__dict__", "vars", "deepcopy", "pickle", "dill", "cloudpickle", "joblib"})
_DEPTH: Final = 3
#: What reads the field whose name it is given.
_ASK: Final = frozenset({"builtins.getattr", "builtins.hasattr"})
_UNSEEN: Final = frozenset({"exec", "eval", "globals", "setattr", "get_ipython"})


class Excused:
    """Which effects of a solved program are those of such calls."""

    def __init__(self, solution: Solution) -> None:
        self.solution = solution

    def __contains__(self, reason: Reason) -> bool:
        """Whether a call of something unknown may be taken for one without side effects, for certain."""
        if reason.effect.kind == "attribute":
            return self._is_unread(reason.effect)
        if reason.effect.kind not in ("unknown_call", "foreign_call"):
            return False
        target = reason.effect.target
        if target in self.trained or _is_lacking_beside(reason.frame, reason.effect):
            return True
        return isinstance(target, Unknown) and self.is_undefined(reason.frame, target)

    def is_undefined(self, frame: Frame, value: Unknown) -> bool:
        """Whether a value is that of a name which nothing defines: reading it raises."""
        return value.why is Why.UNDEFINED and self._is_plain(frame)

    def _is_unread(self, effect: Effect) -> bool:
        """Whether a private field of an object of the program is only ever written."""
        name = effect.detail
        private = name.startswith("_") and not name.endswith("__")
        return private and isinstance(effect.target, Inst) and name not in self._read and not self._copied

    def is_asked(self, target: Inst, name: str) -> bool:
        """Whether a field of an object is seen to be read otherwise than by its name: by a text, or with all others."""
        names = self._asked_of.get(target, ())
        return any(not isinstance(o, Lit) or o.const == name for n in names for o in n) or target in self._whole

    @cached_property
    def _copied(self) -> bool:
        """Whether some code reads all the fields of an object of the program, or copies or stores it with them."""
        known = self.solution.frames
        unrun = [code for code in self._codes if code not in known and not code.is_body]
        if any({*index_of(code).names, *index_of(code).attributes} & _WHOLE_NAMES for code in unrun):
            return True
        return any(isinstance(obj, (Inst, Unknown)) for obj in self._whole)

    @cached_property
    def _whole(self) -> frozenset[Obj]:
        """The objects of which some code reads all the fields, and what they hold."""
        frames = (frame for frames in self.solution.frames.values() for frame in frames)
        values = {frame.vals[slot] or BOTTOM for frame in frames for slot in _wholly_read(frame)}
        return frozenset(held(BOTTOM.union(*values), _DEPTH, parts))

    @cached_property
    def _codes(self) -> list[Code]:
        return [code for module in self.solution.program.modules.values() for code in walk_codes(module.code)]

    @cached_property
    def _read(self) -> frozenset[str]:
        """The names that any code of the program reads as attributes, or that it has as texts."""
        found = {name for code in self._codes for name in index_of(code).attributes}
        values = (value for code in self._codes for value in code.template if value)
        asked = (name for _, name in self._asked)
        return frozenset(found | {o.const for v in (*values, *asked) for o in v if _is_text(o)})

    @cached_property
    def _asked(self) -> list[tuple[Value, Value]]:
        """The objects and names that `getattr` and its like are given, computed ones too."""
        return [
            (frame.vals[call.arguments[0][0]] or BOTTOM, frame.vals[call.arguments[1][0]] or BOTTOM)
            for frames in self.solution.frames.values()
            for frame in frames
            for call in index_of(frame.code).of(ir.Call)
            if len(call.arguments) > 1 and _asks(frame.vals[call.function] or BOTTOM)
        ]

    @cached_property
    def _asked_of(self) -> dict[Obj, set[Value]]:
        """The names by objects."""
        found: dict[Obj, set[Value]] = {}
        for owner, name in self._asked:
            for obj in owner:
                found.setdefault(obj, set()).add(name)
        return found

    @cached_property
    def trained(self) -> frozenset[Obj]:
        """The models of other packages whose trainable variables the program asks for."""
        found: set[Obj] = set()
        for frames in self.solution.frames.values():
            for frame in frames:
                read = index_of(frame.code).attributes
                for instr in (instr for name in TRAINED if name in read for instr in read[name]):
                    found.update(filter(_is_foreign, frame.vals[instr.owner] or ()))
        return frozenset(found)

    def _is_plain(self, frame: Frame) -> bool:
        """Whether a module says all names that it has: no other one, and no code that is not seen, may add some."""
        module = frame.module
        if self.solution.world.wildcards.get(module):
            return False
        codes = [code for code in self.solution.frames if code.path == module.code.path]
        return all(_UNSEEN.isdisjoint(index_of(code).names) for code in codes)


def _is_lacking_beside(frame: Frame, effect: Effect) -> bool:
    """Whether what is called would be an attribute that a value has not, beside others that may be called."""
    if not _is_lacking(effect.target):
        return False
    calls = index_of(frame.code).calls.get(effect.position, ())
    called = [obj for call in calls for obj in frame.vals[call.function] or () if obj is not NONE]
    return not all(map(_is_lacking, called))


def _is_lacking(obj: Obj | None) -> bool:
    return isinstance(obj, Unknown) and obj.why is Why.LACKING


def _is_text(obj: Obj) -> TypeGuard[Lit]:
    return isinstance(obj, Lit) and isinstance(obj.const, str)


def _wholly_read(frame: Frame) -> Iterator[int]:
    """The slots of which a frame reads all the fields."""
    index = index_of(frame.code)
    yield from (instr.owner for instr in index.attributes.get("__dict__", ()))
    for call in index.of(ir.Call):
        if _reads_whole(frame.vals[call.function] or BOTTOM):
            yield from (slot for slot, _ in call.arguments)
            yield from (slot for _, slot in call.keywords)


@cached
def _reads_whole(callee: Value) -> bool:
    return any(isinstance(o, Lib) and o.name.startswith(_WHOLE) for o in callee)


@cached
def _asks(callee: Value) -> bool:
    return any(isinstance(o, Lib) and o.name in _ASK for o in callee)


def _is_foreign(obj: Obj) -> bool:
    if isinstance(obj, LibInst):
        return not known_package(obj.cls) and "." in obj.cls
    if not isinstance(obj, Unknown):
        return False
    return "." in obj.result_of or (obj.why is Why.COMPUTED and obj.taken == RESULT)
