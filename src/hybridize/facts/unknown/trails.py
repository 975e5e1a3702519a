"""The way of one parameter through a solved function: what comes from it, and what is done with that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

from hybridize.domain.objects import Bound, Func, Inst, Lib, LibInst, Lit, Obj, Tensor, Tup, Unknown, Value, Wrapper
from hybridize.domain.tensors import NDARRAY
from hybridize.facts.unknown.derived import (
    classes_of,
    field_read,
    holds_assigned,
    is_assignment,
    trained,
    trained_fields,
)
from hybridize.facts.unknown.usage import COMPUTING, TRAINING, is_distributed
from hybridize.flow.frames import Frame
from hybridize.flow.hints import HintReader
from hybridize.flow.speculation import asked_by, readers
from hybridize.library import registry
from hybridize.library.annotations import TENSOR_TYPES
from hybridize.library.asking import (
    ASKS_KIND,
    asks_by_package,
    assigns,
    is_called_with_tensors,
    is_no_content,
    is_of_model,
    method_asks,
    only_of_tensors,
    parametrizes,
    passes_on,
    takes_numbers,
)
from hybridize.library.dialect import STATIC
from hybridize.program import ir
from hybridize.program.code import Code, Param
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.program.operands import operands

#: How a slot comes from the parameter: by an index of several axes, which only arrays and tensors have; itself; an
#: element of it, or a structure around it; what it has under a text; an attribute; what something unknown that is kept
#: or handed in makes of it; computed from it.
_AXES: Final = 6
_SELF: Final = 5
_SAME: Final = 4
_ENTRY: Final = 3
_PART: Final = 2
_GIVEN: Final = 1
_MADE: Final = 0
_NAMED: Final = (_ENTRY, _PART)
#: Whoever hands the mapping on: settings are nothing that models compute on.
_OF_MAPPING: Final = (_ENTRY, _GIVEN)
#: What puts tensors together, as readily as numbers.
_STACKS: Final = frozenset({"tf.stack", "tf.concat"})
#: What gives the elements of lists together, or with their numbers.
_DEALS: Final = frozenset({"builtins.zip", "builtins.enumerate"})
_DTYPE: Final = "the dtypes of TensorFlow's tensors"
#: From caller to callee so often.
DEPTH: Final = 4
#: Slots that are looked at for one parameter.
_LONGEST: Final = 400


class Asker(Protocol):
    """Who knows what other functions do with their parameters."""

    frames: Mapping[Code, Sequence[Frame]]
    hints: HintReader

    def of(self, code: Code, index: int, depth: int = 0) -> str | None:
        """Why a parameter likely takes tensors."""

    def receives_tensor(self, code: Code, index: int) -> bool:
        """Whether calls pass tensors."""


class Trail:
    """The slots that come from one parameter, and what is done with them."""

    def __init__(self, likely: Asker, code: Code, param: Param, depth: int) -> None:
        self.likely = likely
        self.depth = depth
        self.start = code, param
        self.forms: dict[tuple[Code, int], int] = {}
        self.todo: list[tuple[Code, int]] = []
        self.inner: set[tuple[Code, int]] = set()  # what functions inside are given: their code is the function's own

    def follow(self) -> str | None:
        """The first use that asks for a tensor; None where there is none, or one asks for another thing."""
        code, param = self.start
        self._add(code, param.slot, _SELF)
        for reader in (*readers(code, param.name)[1:], *([code] if param.name in code.cells else [])):
            for read in index_of(reader).of(ir.Cell):
                if read.name == param.name:
                    self._add(reader, read.target, _SELF)
        said: str | None = None
        while self.todo and len(self.forms) < _LONGEST:
            where, slot = self.todo.pop()
            form = self.forms[where, slot]
            for instr in index_of(where).uses.get(slot, ()):
                answer = self._use(where, slot, form, instr)
                if answer == "":
                    return None
                said = said or answer
        return None if said == _DTYPE and self._is_only_described() else said

    def _is_only_described(self) -> bool:
        """Whether nothing but shapes and dtypes is read of what comes from the parameter: specs have these, too."""
        slots = [place for place, form in self.forms.items() if form >= _SAME]
        uses = [use for code, slot in slots for use in index_of(code).uses.get(slot, ())]
        return all(use.name in STATIC if isinstance(use, ir.Attr) else isinstance(use, ir.Passing) for use in uses)

    def _add(self, code: Code, slot: int, form: int) -> None:
        if slot >= 0 and self.forms.get((code, slot), -1) < form:
            self.forms[code, slot] = form
            self.todo.append((code, slot))

    def _use(self, code: Code, slot: int, form: int, instr: Instr) -> str | None:
        if isinstance(instr, ir.Call):
            return self._call(code, slot, form, instr)
        if isinstance(instr, (ir.Passing, ir.BoolOp)):
            self._add(code, instr.target, form)
        elif isinstance(instr, (ir.Sequence, ir.Dict)):
            self._add(code, instr.target, form if form == _AXES else min(form, _SAME))
        elif isinstance(instr, ir.Iter):
            if instr.target in _comprehended(code):
                self._add(code, instr.target, min(form, _SAME))
            if form >= _SAME and holds_assigned(index_of(code), instr.target):
                return "a loop that assigns to variables"
        elif isinstance(instr, ir.Append):
            self._add(code, instr.owner, min(form, _SAME))
        elif isinstance(instr, ir.Unpack):
            for target in instr.targets:
                self._add(code, target, min(form, _SAME))
        elif isinstance(instr, ir.Item) and instr.source == slot and form >= _SAME and _has_axes(code, instr.index):
            self._add(code, instr.target, _AXES)
        elif isinstance(instr, ir.Item) and instr.source == slot:
            self._add(code, instr.target, min(form, _ENTRY if self._is_text(code, instr.index) else _SAME))
        elif isinstance(instr, ir.Attr):
            if instr.name == "dtype" and form >= _SAME and self._types_tensor(code, instr.target):
                return _DTYPE
            if form == _SELF and is_of_model(instr.name):
                return ""
            if self._asked_further(code, instr.target, only_of_tensors(instr.name)):
                return f"`.{instr.name}` as only tensors have it"
            if form >= _SELF and assigns(instr.name) and self._assigns(code, instr.target):
                return f"`.{instr.name}` of a variable"
            if not is_no_content(instr.name):
                self._add(code, instr.target, min(form, _PART))
        elif isinstance(instr, ir.Return) and form > _GIVEN and code is self.start[0] and self._gives_tensor(code):
            return "the tensor that it gives"
        elif isinstance(instr, (ir.Operator, ir.Unary)) and form not in _NAMED:
            if form == _AXES and any(self._holds_tensor(code, each) for each in operands(instr) if each != slot):
                return "an operator with a tensor"
            self._add(code, instr.target, form if form in (_AXES, _GIVEN) else _MADE)
        return None

    def _gives_tensor(self, code: Code) -> bool:
        """Whether a function is declared to give back a tensor."""
        func = self.likely.frames[code][0].func
        if code.returns is None or func is None:
            return False
        return any(isinstance(o, Tensor) and o.kind != NDARRAY for o in self.likely.hints.value(code.returns, func))

    def _asked_further(self, code: Code, slot: int, names: frozenset[str]) -> bool:
        """Whether an attribute of a slot (a shape, a dtype) is asked for what only TensorFlow's have."""
        return any(isinstance(use, ir.Attr) and use.name in names for use in index_of(code).uses.get(slot, ()))

    def _assigns(self, code: Code, slot: int) -> bool:
        """Whether a method is called as variables are assigned to."""
        uses = index_of(code).uses.get(slot, ())
        return any(isinstance(use, ir.Call) and is_assignment(index_of(code), use) for use in uses)

    def _types_tensor(self, code: Code, slot: int) -> bool:
        """Whether a dtype is given to a function of TensorFlow."""
        index = index_of(code)
        for use in index.uses.get(slot, ()):
            if isinstance(use, ir.Call) and use.function != slot:
                for callee in self._values(code, use.function):
                    if (
                        isinstance(callee, Lib)
                        and callee.name.startswith("tf.")
                        and not callee.name.endswith("as_dtype")
                    ):
                        return True
        return False

    def _call(self, code: Code, slot: int, form: int, instr: ir.Call) -> str | None:
        if instr.function == slot:
            return "" if form == _SELF else None
        places: list[int | str] = [i for i, (given, star) in enumerate(instr.arguments) if given == slot and not star]
        places += [name for name, given in instr.keywords if given == slot and name is not None]
        if form == _SELF and self.start[1].is_varargs:
            places += [i for i, (given, star) in enumerate(instr.arguments) if given == slot and star]
        said: str | None = None
        for callee in self._values(code, instr.function):
            if isinstance(callee, Lib) and callee.name in ASKS_KIND and form >= _SAME and self._is_asked(code, instr):
                return "a question whether it is a tensor"
            for place in places:
                answer = self._asks(callee, place, form)
                if answer is None and form == _AXES and isinstance(callee, Lib) and callee.name in _STACKS:
                    answer = f"`{callee.name}`"
                if answer == "" and form == _SELF:
                    return ""
                # Numbers are computed with as well; what is captured, or comes from other functions, may be a setting.
                here = code is self.start[0] or (code, slot) in self.inner
                own = here and not self.depth
                given = own or form >= _SAME or (here and form in _OF_MAPPING)
                strong = form >= _SELF and own if takes_numbers(answer or "") else given
                if own and form == _GIVEN and isinstance(callee, Lib) and parametrizes(callee.name, place):
                    answer, strong = f"`{callee.name}`, by a model", True
                if answer and strong:
                    said = said or answer
            if isinstance(callee, Lib):
                frames = self.likely.frames.get(code, ()) if form == _SELF and callee.name == "builtins.next" else ()
                if any(is_distributed(frame, instr.position) for frame in frames):
                    said = said or "the replicas of a strategy, one element after the other"
                if callee.name in _DEALS and form >= _SAME and trained(index_of(code), instr, slot):
                    said = said or "an optimizer as gradients, in pairs with trainable variables"
                if passes_on(callee.name, places):
                    self._add(code, instr.target, form)
                elif places and form not in _NAMED and callee.name.startswith("tf.") and takes_numbers(callee.name):
                    # Who sums up what is computed so does not compute on numbers.
                    self._add(code, instr.target, form if form == _GIVEN else _MADE)
            elif isinstance(callee, Unknown):
                said = said or self._shown(code, slot, form, instr, callee)
                if form != _PART and self._is_own(code, instr.function):
                    self._add(code, instr.target, _MADE if form == _MADE else _GIVEN)
            elif isinstance(callee, Func) and callee.code.parent is self.start[0] and form >= _SAME:
                self._enter(callee.code, places, form)
        return said

    def _shown(self, code: Code, slot: int, form: int, instr: ir.Call, callee: Unknown) -> str | None:
        """What shows that something unknown takes tensors: its annotation, that it is told of training, its name."""
        own = (code is self.start[0] or (code, slot) in self.inner) and not self.depth
        first = bool(instr.arguments) and instr.arguments[0][0] == slot
        if first and any(name == TRAINING for name, _ in instr.keywords) and (form >= _SAME or own):
            return "a model that is told whether it is trained"
        takes = bool(callee.hint) and is_called_with_tensors(registry.class_chain(callee.hint))
        if first and (form >= _SAME or own) and takes:
            return f"a `{callee.hint}`"
        if first and form >= _SAME and own and self._is_trained(code, instr.function):
            return "a model whose trainable variables are asked for"
        read = index_of(code).source(instr.function)
        name = read.name if isinstance(read, ir.Attr) and form >= _SELF and own else ""
        return next((f"`{name}` of {what}" for what, names in COMPUTING.items() if name in names), None)

    def _is_trained(self, code: Code, slot: int) -> bool:
        """Whether what is called is a field that some method of the class asks for its trainable variables."""
        made, frames = index_of(code).source(slot), self.likely.frames.get(code, ())
        func = frames[0].func if frames else None
        name = field_read(code, made)
        return bool(name) and func is not None and any(name in trained_fields(c) for c in classes_of(func))

    def _enter(self, code: Code, places: Sequence[int | str], form: int) -> None:
        """Goes on with the parameters of a nested function that a call gives a value to."""
        for i, param in enumerate(code.params):
            if (i in places or param.name in places) and param.kind in ("normal", "positional"):
                self.inner.add((code, param.slot))
                self._add(code, param.slot, form)

    def _holds_tensor(self, code: Code, slot: int) -> bool:
        """Whether what is in a slot is a tensor, and no array, in any context."""
        return slot >= 0 and any(isinstance(o, Tensor) and o.kind != NDARRAY for o in self._values(code, slot))

    def _is_asked(self, code: Code, instr: ir.Call) -> bool:
        """Whether a call asks if its first argument is a tensor: by itself, or among other types."""
        if len(instr.arguments) == 1:
            return True
        types = self._values(code, instr.arguments[1][0]) if len(instr.arguments) == 2 else []
        parts = [
            part for obj in types for part in ((o for v in obj.items for o in v) if isinstance(obj, Tup) else (obj,))
        ]
        return any(isinstance(o, Lib) and TENSOR_TYPES.get(o.name, NDARRAY) != NDARRAY for o in parts)

    def _is_own(self, code: Code, slot: int) -> bool:
        """Whether what is called is a parameter, captured or something of one: a model that is handed in or kept."""
        index = index_of(code)
        arrived = {param.slot for param in code.params}
        for _ in range(2 * DEPTH):  # a loop over two lists alone is three steps
            slot = index.original(slot)
            if slot in arrived:
                return True
            made = index.definitions.get(slot)
            if isinstance(made, ir.Call) and made.arguments and self._deals(code, made):
                slot = made.arguments[0][0]  # what a loop takes of several lists is of each of them
            elif isinstance(made, (ir.Attr, ir.Part)):
                slot = made.owner if isinstance(made, ir.Attr) else made.source
            else:
                return isinstance(made, ir.Cell)
        return False

    def _deals(self, code: Code, call: ir.Call) -> bool:
        """Whether a call gives the elements of what it gets, one after the other."""
        return any(isinstance(o, Lib) and o.name in _DEALS for o in self._values(code, call.function))

    def _values(self, code: Code, slot: int) -> list[Obj]:
        """What is in a slot, in any context."""
        found: set[Obj] = set()
        for frame in self.likely.frames.get(code, ()):
            found |= frame.vals[slot] or frozenset()
        return sorted(found, key=repr) if len(found) > 1 else list(found)

    def _asks(self, callee: Obj, place: int | str, form: int) -> str | None:
        """Whether what is called asks for a tensor at a position or keyword; empty where for another thing."""
        if isinstance(callee, Lib):
            answer = asks_by_package(callee.name, place)
            return (asked_by(callee.name, place) or None) if answer is None else answer
        if isinstance(callee, Wrapper):
            answers = (self._asks(inner, place, form) for inner in callee.inner if callee.kind != "partial")
            return next(filter(None, answers), None)
        if isinstance(callee, LibInst):
            called = is_called_with_tensors(registry.class_chain(callee.cls)) and place in (0, 1, "inputs")
            return "a layer or loss" if called else None
        if isinstance(callee, Bound):
            return self._method(callee, place, form)
        if isinstance(callee, Func):
            return self._function(callee.code, place, 0)
        if isinstance(callee, Inst):
            bases = registry.mro_names(callee)
            if is_called_with_tensors(bases) and place in (0, "inputs"):
                return f"`{callee.cls.name}`, a layer"
            for name in ("__call__", "call"):
                for obj in self._methods(callee, name):
                    return self._function(obj.code, place, 1)
        return None

    def _methods(self, inst: Inst, name: str) -> Iterator[Func]:
        for base in inst.cls.mro:
            fields = getattr(base, "fields", None)
            if fields and name in fields:
                yield from (obj for obj in fields[name].value if isinstance(obj, Func))
                return

    def _method(self, callee: Bound, place: int | str, form: int) -> str | None:
        if isinstance(callee.func, Func):
            return self._function(callee.func.code, place, 1)
        receiver, name = callee.receiver, callee.func
        if not isinstance(name, str):
            return None
        name = name.rpartition(".")[2]
        if isinstance(receiver, Tensor):
            return f"`.{name}` of a variable" if assigns(name) else None
        if isinstance(receiver, (LibInst, Inst)):
            cls = registry.class_chain(receiver.cls) if isinstance(receiver, LibInst) else registry.mro_names(receiver)
            if method_asks(cls, name, place):
                return f"`{name}` of `{cls[0]}`"
        return None

    def _function(self, code: Code, place: int | str, bound: int) -> str | None:
        names = [p.name for p in code.params]
        at = place + bound if isinstance(place, int) else names.index(place) if place in names else -1
        if not 0 <= at < len(names) or code.params[at].is_starred or self.depth >= DEPTH:
            return None
        if self.likely.receives_tensor(code, at):
            return f"`{code.qualname}`, which receives tensors"
        return self.likely.of(code, at, self.depth + 1)

    def _is_text(self, code: Code, slot: int) -> bool:
        value: Value = (code.template[slot] if 0 <= slot < len(code.template) else None) or frozenset()
        return bool(value) and all(getattr(obj, "kind", "") == "str" for obj in value)


def _has_axes(code: Code, slot: int) -> bool:
    """Whether an index is one of several axes, a slice or an ellipsis among them: `x[:, 0]`."""
    index = index_of(code)
    made = index.source(slot)
    if not isinstance(made, ir.Tuple):
        return False
    return any(isinstance(index.source(each), ir.Slice) or _is_ellipsis(code, each) for each, _ in made.elements)


def _is_ellipsis(code: Code, slot: int) -> bool:
    value = code.template[slot] if 0 <= slot < len(code.template) else None
    return any(isinstance(obj, Lit) and obj.kind == "ellipsis" for obj in value or ())


def _comprehended(code: Code) -> set[int]:
    """The slots of elements of comprehensions: loops over what is unknown go over data sets as well."""
    return {
        instr.target
        for loop in index_of(code).of(ir.Loop)
        if loop.fills >= 0
        for instr in loop.test
        if isinstance(instr, ir.Iter)
    }
