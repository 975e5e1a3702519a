"""Whether a function computes on tensors, and what by its nature is no candidate for a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.nesting import held
from hybridize.domain.objects import Bound, LibInst, Obj, Tensor, Unknown
from hybridize.domain.tensors import NDARRAY, SYMBOLIC, VARIABLE
from hybridize.domain.unknowns import Why
from hybridize.facts.calls.extents import Extents
from hybridize.facts.model import Evidence, Fact, Hazard, Ternary, Told
from hybridize.facts.origins import runs_at_once
from hybridize.facts.state.guards import parts
from hybridize.facts.state.reasons import OPAQUE
from hybridize.flow.frames import Effect, Frame
from hybridize.library import costs
from hybridize.library.dialect import NO_COMPUTATION
from hybridize.library.registry import class_chain
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Code
from hybridize.program.operands import operands
from hybridize.records import replace

#: Special methods whose results Python itself uses, or that make or destroy objects: a graph's tensors do not serve.
_PYTHON_PROTOCOLS = frozenset(
    f"__{name}__"
    for name in (
        "init new post_init del init_subclass class_getitem setattr getattr getattribute delattr set_name get set "
        "delete enter exit aenter aexit repr str format bytes len bool hash eq ne lt le gt ge contains iter next "
        "reversed index int float complex copy deepcopy reduce reduce_ex getstate setstate dir sizeof missing"
    ).split()
)
_ARITHMETIC = (ir.Operator, ir.Unary)
#: Tensors that no graph gives, or that a call only hands back.
_GIVEN_BACK: Final = (VARIABLE, SYMBOLIC, NDARRAY)
#: So many frames are looked through for a variable.
_FOLLOWED = 200
#: Conditions are looked into so far.
_FAR: Final = 24
_SKIPPED: Final = frozenset({How.BUILD, How.CLASS, How.CALLBACK})


class Computation:
    """Tensor operations of each frame, callees included."""

    def __init__(self, extents: Extents, computes: Callable[[Frame, int], bool]) -> None:
        """`computes`: whether a call of unknown code computes with TensorFlow by its use."""
        self.extents = extents
        self.computes = computes
        self.ops: dict[Frame, Evidence | None] = {}
        self.opaque: dict[Frame, Evidence | None] = {}
        self.updating: dict[Frame, Evidence | None] = {}
        for component in extents.components:
            self._summarize(component)

    def _summarize(self, component: list[Frame]) -> None:
        op: Evidence | None = None
        opaque: Evidence | None = None
        updating: Evidence | None = None
        for frame in sorted(component, key=lambda f: f.uid):
            op = op or _own_op(frame)
            opaque = opaque or opaque_call(frame)
            updating = updating or _update(frame)
            for pos, callee, how in self.extents.calls(frame):
                if how in _SKIPPED and not (how is How.CALLBACK and runs_at_once(frame, pos)):
                    continue
                if op is None and self.ops.get(callee) is not None:
                    op = self.ops[callee]
                opaque = opaque or self.opaque.get(callee)
                updating = updating or self.updating.get(callee)
        for frame in component:
            self.ops[frame], self.opaque[frame], self.updating[frame] = op, opaque, updating

    def fact(
        self, frames: list[Frame], *, speculate: bool = False, reached: bool = True
    ) -> tuple[Fact, list[Evidence]]:
        """Whether some TensorFlow operation happens, on tensors that are not just arrays, and what that rests on.

        Of what nothing calls (`reached`) only defaults are known: a caller may take branches that these do not.

        With `speculate` a call of one of the project's functions, of which the analysis cannot tell which, is taken
        for one that computes, as it is taken for one without side effects; so is one that its use shows to do so.
        """
        for frame in frames:
            found = self.ops.get(frame)
            if found is not None:
                return Fact(Ternary.YES, (found,)), []
        doubt = [said for frame in frames if (said := self.opaque.get(frame)) is not None]
        if doubt and speculate and all(said.told is Told.SUMMARIZED for said in doubt):
            assumed = replace(doubt[0], message=f"assumed to compute with TensorFlow: {doubt[0].message}")
            return Fact(Ternary.YES, (assumed,)), [assumed]
        used = next(filter(None, map(self._by_use, frames)), None) if doubt and speculate else None
        if used is not None:
            return Fact(Ternary.YES, (used,)), [used]
        if doubt or not frames:
            return Fact(Ternary.UNKNOWN, tuple(doubt[:1])), []
        unknown = next((said for frame in frames if (said := _unknown_operand(frame)) is not None), None)
        unknown = unknown or (None if reached else _untaken(frames))
        return (Fact(Ternary.NO) if unknown is None else Fact(Ternary.UNKNOWN, (unknown,))), []

    def _by_use(self, frame: Frame) -> Evidence | None:
        """A call of unknown code that computes with TensorFlow by its use."""
        for position, called in sorted((e.position, e.detail) for e in frame.effects.values() if e.kind in OPAQUE):
            if self.computes(frame, position):
                said = f"assumed to compute with TensorFlow: calls {called}"
                return Evidence(said, frame.code.path, position >> 16)
        return None

    def updates(self, frames: list[Frame]) -> Fact:
        """Whether a call assigns to variables, or applies gradients to them."""
        found = next((said for frame in frames if (said := self.updating.get(frame)) is not None), None)
        return Fact(Ternary.NO) if found is None else Fact(Ternary.YES, (found,))

    def makes(self, frames: list[Frame]) -> Fact:
        """Whether a call gives what operations draw or compute of constants, or unknown code makes of that."""
        found = next((self.ops[frame] for frame in frames if self.ops.get(frame) is not None), None)
        given = [obj for frame in frames for obj in held(frame.ret, 2, parts)]
        shown = any(isinstance(o, Unknown) or (isinstance(o, Tensor) and o.kind not in _GIVEN_BACK) for o in given)
        return Fact(Ternary.YES, (found,)) if found is not None and shown else Fact(Ternary.NO)

    def reads(self, frames: list[Frame]) -> Fact:
        """Whether a call gives tensors that operations compute with variables; asked of few functions."""
        given = [obj for frame in frames for obj in held(frame.ret, 2, parts)]
        if not any(isinstance(o, Tensor) and o.kind not in _GIVEN_BACK for o in given):
            return Fact(Ternary.NO)
        todo = [frame for frame in frames if self.ops.get(frame) is not None]
        seen = set(todo)
        for frame in todo:
            found = _state_read(frame)
            if found is not None:
                return Fact(Ternary.YES, (found,))
            callees = {callee: None for _, callee, how in self.extents.calls(frame) if how not in _SKIPPED}
            new = [callee for callee in callees if callee not in seen and self.ops.get(callee) is not None]
            seen.update(new)
            todo += new if len(seen) < _FOLLOWED else []
        return Fact(Ternary.NO)


def training_step(frames: list[Frame]) -> Evidence | None:
    """Where a function itself derives something outside of loops: it is one step of a training, which is given data."""
    for frame in frames:
        for pos, name in sorted(frame.ops.items()):
            if costs.differentiates(name) and pos not in index_of(frame.code).looped:
                return Evidence(f"takes a step with `{name}`", frame.code.path, pos >> 16)
    return None


def opaque_call(frame: Frame) -> Evidence | None:
    """The first call of a frame whose callee is not known; one to an unknown function before a foreign one."""
    found = [e for e in frame.effects.values() if e.kind in OPAQUE]
    if not found:
        return None
    first = min(found, key=lambda e: (OPAQUE.index(e.kind), e.position, e.detail))
    said = "calls something unknown" if first.kind == "unknown_call" else "calls outside code"
    told = Told.SUMMARIZED if _is_summarized(first) else Told.OTHER
    return Evidence(f"{said}: {first.detail}", frame.code.path, first.position >> 16, told)


def _is_summarized(effect: Effect) -> bool:
    """Whether the callee is one of the project's own, of which a wrapper serves too many to tell them apart."""
    target = effect.target if effect.kind == "unknown_call" else None
    return isinstance(target, Unknown) and target.why is Why.SUMMARIZED and not target.taken


def opaque_places(frame: Frame) -> frozenset[int]:
    """The positions of a frame's calls of which it is not known what they do."""
    return frozenset(e.position for e in frame.effects.values() if e.kind in OPAQUE)


def _own_op(frame: Frame) -> Evidence | None:
    found = min((op for op in frame.ops.items() if not op[1].startswith(NO_COMPUTATION)), default=None)
    return Evidence(f"computes with `{found[1]}`", frame.code.path, found[0] >> 16) if found is not None else None


def _unknown_operand(frame: Frame) -> Evidence | None:
    """The first arithmetic of a frame on something unknown: a tensor's, where that is one."""
    index = index_of(frame.code)
    for instr in sorted(index.of(*_ARITHMETIC), key=lambda i: i.position):
        values = [frame.vals[slot] or () for slot in operands(instr) if slot >= 0]
        if all(values) and any(isinstance(o, Unknown) for value in values for o in value):
            return Evidence("computes with something unknown", frame.code.path, instr.position >> 16)
    return None


def _untaken(frames: list[Frame]) -> Evidence | None:
    """The first call in a branch that no frame takes, since the default of an argument decides against it."""
    code = frames[0].code
    index = index_of(code)
    defaults = {param.slot for param in code.params if param.has_default}
    for instr in index.of(ir.If) if defaults else ():
        taken = [any(frame.edges[edge] for frame in frames) for edge in (instr.then_edge, instr.else_edge)]
        made_of = (slot for slot, _ in index.upstream([instr.condition], operands, _FAR))
        if not any(taken) or defaults.isdisjoint(made_of):
            continue
        dead = [block for block, runs in zip((instr.then, instr.orelse), taken, strict=True) if not runs]
        inside = [
            each for block in dead if not (block and isinstance(block[-1], ir.Raise)) for each in instructions(block)
        ]
        call = next((each for each in inside if isinstance(each, ir.Call)), None)
        if call is not None:
            said = "no call is seen to take this branch, which may compute"
            return Evidence(said, code.path, call.position >> 16)
    return None


def _state_read(frame: Frame) -> Evidence | None:
    """The first operation of a frame that computes with a variable or calls a module, which has some."""
    index = index_of(frame.code)
    for pos, name in sorted(frame.ops.items()):
        for instr in index.at(pos):
            given = [obj for slot in operands(instr) if slot >= 0 for obj in frame.vals[slot] or ()]
            if any(isinstance(obj, Tensor) and obj.kind == VARIABLE for obj in given):
                return Evidence(f"computes with a variable (`{name}`)", frame.code.path, pos >> 16)
            if any(_is_of_module(obj) for obj in given):
                return Evidence(f"computes with a module's variables (`{name}`)", frame.code.path, pos >> 16)
    return None


def _is_of_module(obj: Obj) -> bool:
    """Whether an object of a library is a module of TensorFlow, or a method of one."""
    made = obj.receiver if isinstance(obj, Bound) else obj
    return isinstance(made, LibInst) and "tf.Module" in class_chain(made.cls)


def _update(frame: Frame) -> Evidence | None:
    found = min((op for op in frame.ops.items() if costs.applies(op[1]) or costs.assigns(op[1])), default=None)
    said = f"updates variables with `{found[1]}`" if found is not None else ""
    return Evidence(said, frame.code.path, found[0] >> 16) if found is not None else None


def hazards(code: Code) -> tuple[Hazard, ...]:
    """What a function is that makes a graph pointless, whatever its values are."""
    here = (code.path, code.line)
    found: list[Hazard] = []
    if code.name in _PYTHON_PROTOCOLS:
        said = Evidence(f"`{code.name}` is a special method", *here)
        found.append(Hazard("special-method", "Python itself calls it and asks for Python values", (said,)))
    if code.abstract:
        found.append(Hazard("abstract-function", "only raises", (Evidence("only raises", *here),)))
    return tuple(found)
