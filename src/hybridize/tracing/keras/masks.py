"""Which tensors carry a mask of Keras (an attribute that layers put on what they give), and who reads it.

A graph computes on tensors of its own and gives back new ones, so that a mask gets neither in nor out. What carries one
is told by tokens: the parameter that it comes with, the layer that makes it, the calls that hand it on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from hybridize.domain.calls import BY_PROGRAM, How
from hybridize.domain.objects import Func, Inst, LibInst, Lit, Obj, Tensor
from hybridize.facts.functions.causes import argument_slot
from hybridize.facts.model import Evidence
from hybridize.facts.origins import called_at
from hybridize.flow.frames import Frame
from hybridize.library.keras.running import WITH_LOSS
from hybridize.library.masks import CARRIES, LOSSES, MAKES, READS
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.operands import arguments, joined
from hybridize.records import dataclass
from hybridize.tracing.views import ProjectView

_DEPTH: Final = 4


@dataclass(frozen=True, slots=True)
class _Site:
    """A call that makes a mask, or that hands one on."""

    code: Code
    position: int
    makes: bool


#: A parameter, by its place, or a call.
_Token: TypeAlias = "int | _Site"
_NOTHING: Final[frozenset[_Token]] = frozenset()


class Masks:
    """The masks of one program."""

    def __init__(self, project: ProjectView) -> None:
        self.project = project
        self._known: dict[tuple[Frame, int], frozenset[_Token]] = {}
        self._readers: dict[Frame, dict[_Token, Evidence]] = {}
        #: Whether anything in the program makes masks, or says that it gets some.
        self.any = any(_makes(o) or is_supporting(o) for o in project.solution.world.allocated.values())

    def carried(self, frame: Frame, slot: int) -> frozenset[_Token]:
        """Where the mask comes from that what is in a slot may carry."""
        key = (frame, slot)
        if key not in self._known:
            self._known[key] = _NOTHING  # where a function calls itself, nothing more comes of that
            self._known[key] = frozenset(self._tokens(frame, slot)) if slot >= 0 else _NOTHING
        return self._known[key]

    def _tokens(self, frame: Frame, slot: int) -> Iterator[_Token]:
        for origin, made in index_of(frame.code).upstream([slot], joined):
            place = frame.code.place_of(origin)
            if place >= 0:
                yield place
            elif isinstance(made, ir.Call):
                found = set(self._called(frame, made))
                yield from found
                if found:
                    yield _Site(frame.code, made.position, makes=False)
            elif isinstance(made, ir.Sequence):
                for part, _ in made.elements:
                    yield from self.carried(frame, part)
            elif isinstance(made, ir.Item) and not any(isinstance(o, Tensor) for o in frame.vals[made.source] or ()):
                yield from self.carried(frame, made.source)

    def _called(self, frame: Frame, call: ir.Call) -> Iterator[_Token]:
        """What the result of a call carries."""
        for obj in frame.vals[call.function] or ():
            if _makes(obj):
                yield _Site(frame.code, call.position, makes=True)
            elif isinstance(obj, LibInst) and obj.cls in CARRIES and _is_set(obj, CARRIES[obj.cls]):
                yield from self.carried(frame, _first(call))
        for callee in called_at(frame, call.position, BY_PROGRAM):
            for result in index_of(callee.code).of(ir.Return):
                for token in self.carried(callee, result.value):
                    yield from self._lifted(frame, call, callee, token)
        for callee in called_at(frame, call.position, (How.KERAS,)):
            if callee.args and any(map(is_supporting, callee.args[0])):
                yield from self.carried(frame, _first(call))

    def _lifted(self, frame: Frame, call: ir.Call, callee: Frame, token: _Token) -> Iterator[_Token]:
        """What a token of a callee is in its caller."""
        if isinstance(token, int):
            yield from self.carried(frame, _given(frame, call, callee, token))
        elif token.makes:
            yield token

    def read(self, frame: Frame) -> dict[_Token, Evidence]:
        """The masks that a call of a frame reads, with the place."""
        found = self._readers.get(frame)
        if found is not None:
            return found
        found = self._readers[frame] = {}
        for call in index_of(frame.code).of(ir.Call):
            slots = [slot for name, slot in call.keywords if name == "mask"]
            if not slots and any(map(_reads, frame.vals[call.function] or ())):
                here = Evidence("a layer reads the mask here", frame.code.path, call.position >> 16)
                for slot in arguments(call):
                    found.update(dict.fromkeys(self.carried(frame, slot) - found.keys(), here))
            for callee in called_at(frame, call.position, BY_PROGRAM):
                for token, there in self.read(callee).items():
                    if isinstance(token, int):
                        tokens = self.carried(frame, _given(frame, call, callee, token))
                        found.update(dict.fromkeys(tokens - found.keys(), there))
        return found

    def maker(self, frame: Frame, token: _Token, depth: int = _DEPTH) -> Evidence | None:
        """The layer that makes the mask which a token stands for; None where nobody is seen to."""
        if not isinstance(token, int):
            said = "a layer makes a mask here"
            return Evidence(said, token.code.path, token.position >> 16) if token.makes else None
        for caller, call in _calls(frame) if depth else ():
            for each in self.carried(caller, _given(caller, call, frame, token)):
                found = self.maker(caller, each, depth - 1)
                if found is not None:
                    return found
        return None

    def reader(self, frame: Frame, depth: int = _DEPTH) -> Evidence | None:
        """Who reads the mask of what a frame gives: a call of it, or of what hands it on."""
        for caller, call in _calls(frame) if depth else ():
            made = index_of(caller.code).definitions.get(call.function)
            if isinstance(made, ir.Attr) and made.name in WITH_LOSS:
                return Evidence("the loss that Keras computes here reads it", caller.code.path, call.position >> 16)
            token = _Site(caller.code, call.position, makes=False)
            found = self.read(caller).get(token)
            if found is None and any(
                token in self.carried(caller, r.value) for r in index_of(caller.code).of(ir.Return)
            ):
                found = self.reader(caller, depth - 1)
            if found is not None:
                return found
        return None


def masks(project: ProjectView) -> Masks:
    """Those of a program, made when first asked for."""
    return project.shared("masks", lambda: Masks(project))


def _calls(frame: Frame) -> Iterator[tuple[Frame, ir.Call]]:
    for caller, pos in frame.incoming:
        if caller is not None:
            yield from ((caller, call) for call in index_of(caller.code).calls.get(pos, ()))


def _first(call: ir.Call) -> int:
    """The slot of what a layer is called on."""
    if call.arguments:
        return call.arguments[0][0]
    return next((slot for name, slot in call.keywords if name in ("inputs", "query", "sequences")), -1)


def _given(frame: Frame, call: ir.Call, callee: Frame, place: int) -> int:
    bound = callee.code.in_class and not any(isinstance(o, Func) for o in frame.vals[call.function] or ())
    return argument_slot(frame, call.position, place, callee.code.params[place].name, bound=bound)


def _makes(obj: Obj) -> bool:
    return isinstance(obj, LibInst) and obj.cls in MAKES and _is_set(obj, MAKES[obj.cls])


def is_supporting(obj: Obj) -> bool:
    """Whether a layer says that it gets masks: Keras puts that on what it gives, after its `call`."""
    return isinstance(obj, Inst) and _is_set(obj, "supports_masking")


def _is_set(obj: LibInst | Inst, name: str) -> bool:
    """Whether a setting may be on."""
    cell = obj.fields.get(name)
    return not name or (cell is not None and any(not (isinstance(o, Lit) and not o.const) for o in cell.value))


def _reads(obj: Obj) -> bool:
    return isinstance(obj, LibInst) and (obj.cls in READS or obj.cls.startswith(LOSSES))
