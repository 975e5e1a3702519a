"""Python side effects of each function: what its dynamic extent changes that outlives the call.

A mod-set analysis over the call graph, callees first (the paper, section IV-E): an effect on an object that the extent
itself allocated does not count; effects on arguments, globals, fields, captured variables and the outside world do.
"""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import (
    BOTTOM,
    Cell,
    Container,
    Heap,
    Inst,
    Lib,
    LibInst,
    Mod,
    Obj,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Value,
)
from hybridize.facts.dispatch import is_either
from hybridize.facts.extents import Extents
from hybridize.facts.guards import SET_UP, holds_plain_tensor, is_cached, repeatable, set_up_once, stored
from hybridize.facts.model import Evidence, Fact, Ternary
from hybridize.facts.origins import (
    ELSEWHERE,
    Root,
    call_at,
    callees_at,
    cell_roots,
    definitions,
    passed_slots,
    roots,
    slots_of,
)
from hybridize.facts.pruned import Pruned
from hybridize.facts.restored import RESTORED, is_restored
from hybridize.flow.frames import SHARED, Effect, Frame
from hybridize.flow.solve import Solution
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Op
from hybridize.records import dataclass, replace
from hybridize.regex import regex

#: Effects on the outside world, with the sentence that names them.
WORLD: Final = {
    "print": "writes output with `{}`",
    "io": "performs input or output with `{}`",
    "random": "draws or seeds host random numbers with `{}`",
    "clock": "reads or waits for the clock with `{}`",
    "state": "changes the state of a library with `{}`",
}
#: Effects that change an object or variable.
CHANGES: Final = frozenset({"attribute", "item", "mutate", "global", "closure", "iterator"})
#: Effects that rules report.
_TOLD: Final = CHANGES | WORLD.keys()
#: Calls that the analysis cannot see into.
OPAQUE: Final = frozenset({"unknown_call", "foreign_call", "unfollowed"})
#: Ways of being called whose effects are not the caller's: Keras builds once; host functions run at every step.
_ABSORBED: Final = frozenset({"build", "host"})
#: Methods that write the fields of the object that is being made: no side effect of theirs, but of who calls them
#: on an object from outside.
_CONSTRUCTORS: Final = frozenset({"__init__", "__post_init__", "__setstate__"})
#: A method that fills its own object once, whoever calls it.
_LAZY: Final = "build"
_MOST: Final = 12
#: Objects without identity: two arrays of one type are the same abstract object.
_VALUES: Final = (Tensor, Stream, Tup, Unknown)


@dataclass(frozen=True, slots=True)
class Reason:
    """An effect with the calls that lead to it: (caller's file, position, callee's name) steps, outermost first."""

    effect: Effect
    frame: Frame
    path: tuple[tuple[str, int, str], ...]
    roots: frozenset[Root] = frozenset()  # of a value without identity: where the frame of the summary had it from
    sure: bool = True  # no call on the way may run something else instead
    once: str = ""  # `SET_UP`, `CONSTANT` or `RESTORED`: comes out the same whether it happens per trace or per call


class SideEffects:
    """The effects of every live frame, callees included."""

    def __init__(self, solution: Solution, extents: Extents) -> None:
        self.summaries: dict[Frame, dict[tuple[str, Obj | str | None], Reason]] = {}
        self.extents = extents
        self._frames = solution.frames
        self._dead = frozenset(f.uid for f in solution.world.frames if f.gone)
        for component in extents.components:
            self._summarize(component)

    def _summarize(self, component: list[Frame]) -> None:
        members = set(component)
        gathered: dict[tuple[str, Obj | str | None], Reason] = {}
        for frame in sorted(component, key=lambda f: f.uid):
            for effect in frame.effects.values():
                self._add(gathered, frame, effect)
            for pos, callee, how in self.extents.calls(frame):
                if how in _ABSORBED or callee in members:
                    continue
                self._lift(gathered, frame, pos, callee)
        if len(component) > 1:
            # Functions that call each other share a summary: whose parameter it was is no longer told apart.
            gathered = {k: replace(r, roots=ELSEWHERE) if r.roots else r for k, r in gathered.items()}
        for frame in component:
            self.summaries[frame] = gathered

    def _add(self, gathered: dict[tuple[str, Obj | str | None], Reason], frame: Frame, effect: Effect) -> None:
        origin: frozenset[Root] = frozenset()
        if effect.kind in CHANGES and isinstance(effect.target, _VALUES):
            origin = self._origin(frame, effect)
            if not origin and not isinstance(effect.target, Unknown):
                return
        elif effect.kind in CHANGES and (self._is_own(frame, effect, direct=True) or self._is_new(frame, effect)):
            return
        if effect.kind not in WORLD and effect.kind not in CHANGES and effect.kind not in OPAQUE:
            return
        once = RESTORED if is_restored(frame, effect) else repeatable(frame, effect)
        sure = not (effect.kind in _TOLD and is_either(frame, effect.position))
        gathered.setdefault(_key(effect, once), Reason(effect, frame, (), origin, sure, once))

    def _lift(
        self, gathered: dict[tuple[str, Obj | str | None], Reason], frame: Frame, pos: int, callee: Frame
    ) -> None:
        """Takes over a callee's effects, as far as they are effects of the caller too."""
        count = 0
        once_here: bool | None = None
        passed = _Passed(frame, pos, callee)
        pruned = Pruned(frame, pos, callee)
        for key, reason in self.summaries.get(callee, {}).items():
            effect = reason.effect
            if (reason.path[0][:2] if reason.path else (reason.frame.code.path, effect.position)) in pruned:
                continue
            once = reason.once
            if not once and effect.kind in CHANGES:
                if once_here is None:
                    once_here = set_up_once(frame, pos)
                if once_here and not _stores_tensor(reason):
                    once, key = SET_UP, _key(effect, SET_UP)
            if key in gathered:
                continue
            origin = reason.roots
            if isinstance(effect.target, Unknown) and effect.target not in passed:
                continue
            if effect.kind in CHANGES and origin:
                origin = self._lifted(frame, pos, callee, origin)
                if not origin:
                    continue
            elif effect.kind in CHANGES:
                if effect.target not in passed or self._is_own(frame, effect, direct=False):
                    continue
                if effect.target is None and effect.cell is None and effect.kind == "closure":
                    continue
            step = (frame.code.path, pos, callee.code.name)
            sure = reason.sure and not (effect.kind in _TOLD and is_either(frame, pos))
            gathered[key] = Reason(effect, reason.frame, (step, *reason.path), origin, sure, once)
            count += 1
            if count > 4 * _MOST:
                break

    def _is_own(self, frame: Frame, effect: Effect, *, direct: bool) -> bool:
        """Whether what is changed came into being within the frame's extent."""
        target = effect.target
        if effect.kind == "closure":
            return effect.cell is not None and self._has_cell(frame, effect.cell, direct=direct)
        if isinstance(target, Mod | Lib):
            return False
        if isinstance(target, Heap):
            return self._made_here(frame, target, direct=direct)
        if isinstance(target, Unknown):
            return False
        return target is not None

    def _is_new(self, frame: Frame, effect: Effect) -> bool:
        """Whether the frame itself made the container that it changes, though one of an earlier call is passed in."""
        target = effect.target
        if not isinstance(target, Container) or not any(target in value for value in frame.args):
            return False
        if target.site[0] is not frame.code:
            return False
        slots = slots_of(frame, effect.kind, target, effect.position)
        return bool(slots) and not any(roots(frame, slot) for slot in slots)

    def _has_cell(self, frame: Frame, cell: Cell, *, direct: bool) -> bool:
        """Whether a captured variable is of a frame's extent, and nobody else keeps what captures it."""
        if any(frame.cells.get(name) is cell for name in frame.code.cells):
            return True
        if direct:
            return False
        extents = self.extents
        inside = extents.of(frame)
        owners = extents.frames(inside & extents.owners(cell))
        return any(all(inside & extents.set_of([c]) or _keeps_nothing(c) for c in o.callers) for o in owners)

    def _made_here(self, frame: Frame, target: Heap, *, direct: bool) -> bool:
        """Whether the extent of a frame allocated an object."""
        for param, value in zip(frame.code.params, frame.args, strict=True):
            if target not in value:
                continue
            if param.kind == "kwargs" and target.site[1] == frame.code.position:
                return True
            return direct and frame.code.name == _LAZY and target in frame.args[0]
        kept = target.fields.get("__dict__") if isinstance(target, Inst) else None
        if kept is not None and any(isinstance(o, Heap) and not self._is_within(frame, o) for o in kept.value):
            return False  # its fields are those of an object from outside
        return self._is_within(frame, target)

    def _is_within(self, frame: Frame, target: Heap) -> bool:
        """Whether the code that allocated an object ran within a frame's extent."""
        code = target.site[0]
        if target.frame == SHARED:
            return self._runs(frame, code)
        if target.frame in self._dead and self._runs(frame, code):
            return self._is_private(frame, code)
        if target.frame == frame.uid:
            return True
        makers = self.extents.of(frame) & self.extents.with_uid(target.frame)
        if code.name == _LAZY and code.params:  # what a layer builds is the layer's, whoever called it first
            return any(all(self._is_part(frame, o) for o in f.args[0]) for f in self.extents.frames(makers))
        return bool(makers)

    def may_be_own(self, frame: Frame, reason: Reason) -> bool:
        """Whether an object that counts as one from outside may have been made within the frame's extent.

        Contexts that were merged have left objects behind of which nobody knows any more which call made them.
        """
        target = reason.effect.target
        return isinstance(target, Heap) and target.frame in self._dead and self._runs(frame, target.site[0])

    def _is_part(self, frame: Frame, owner: Obj) -> bool:
        return isinstance(owner, Heap) and self._is_within(frame, owner)

    def _is_private(self, frame: Frame, code: Code) -> bool:
        """Whether a function is called from within a frame's extent only."""
        extents = self.extents
        inside = extents.without_bodies(extents.of(frame)) | extents.set_of([frame])
        found = self._frames.get(code, [])
        if not all(inside & extents.set_of([f]) for f in found):
            return False
        return all(c.gone or inside & extents.set_of([c]) for f in found for c in f.callers)

    def _origin(self, frame: Frame, effect: Effect) -> frozenset[Root]:
        """Arrays and iterators have no identity: what the function's own code says of their origin decides."""
        target = effect.target
        assert target is not None
        if isinstance(target, Unknown) and effect.slot < 0:
            return frozenset()
        slots = [effect.slot] if effect.slot >= 0 else slots_of(frame, effect.kind, target, effect.position)
        if not slots:
            return self._outside(frame, _handed_out(frame, effect), direct=True)
        return self._outside(frame, frozenset(root for slot in slots for root in roots(frame, slot)), direct=True)

    def _outside(self, frame: Frame, found: frozenset[Root], *, direct: bool) -> frozenset[Root]:
        """The roots that are not of the frame's own making."""
        kept = [r for r in found if not (isinstance(r, Heap) and self._made_here(frame, r, direct=direct))]
        return frozenset(kept)

    def _lifted(self, frame: Frame, pos: int, callee: Frame, found: frozenset[Root]) -> frozenset[Root]:
        """The roots of a callee's change, seen from the caller."""
        here: set[Root] = set()
        for root in found:
            if isinstance(root, Cell):
                here |= cell_roots(frame, root)
            elif isinstance(root, int):
                slots = passed_slots(frame, pos, callee, root)
                for slot in slots or ():
                    here |= roots(frame, slot)
                if slots is None:
                    here.add(None)
            else:
                here.add(root)
        return self._outside(frame, frozenset(here), direct=False)

    def _runs(self, frame: Frame, code: Code) -> bool:
        """Whether a call of a frame may run a function or class body."""
        return code.kind != "module" and bool(self.extents.of(frame) & self.extents.with_code(code))

    def fact(self, frames: list[Frame], speculate: bool, *, tracing: bool = False) -> tuple[Fact, list[Evidence]]:
        """Whether a function has Python side effects, and the assumptions that the answer rests on.

        With `tracing`: whether it has any but state that is set up once, which tracing does too, or put back.
        """
        certain: dict[tuple[str, int], Reason] = {}
        opaque: list[Reason] = []
        for frame in frames:
            for reason in self.summaries.get(frame, {}).values():
                if fills_own(frame, reason) or (tracing and reason.once in (SET_UP, RESTORED)):
                    continue
                if reason.effect.kind in OPAQUE or is_unclear(reason):
                    opaque.append(reason)
                else:
                    place = (reason.frame.code.path, reason.effect.position >> 16)
                    certain.setdefault(place, reason)
        if certain:
            chosen = sorted(certain.items(), key=lambda c: (len(c[1].path), c[0]))[:_MOST]
            return Fact(Ternary.YES, tuple(step for _, reason in chosen for step in evidence_of(reason))), []
        if not opaque:
            return Fact(Ternary.NO), []
        doubtful = [r for r in opaque if not speculate or not _sounds_harmless(r)]
        if doubtful:
            return Fact(Ternary.UNKNOWN, evidence_of(min(doubtful, key=_order))), []
        seen: dict[str, Evidence] = {}
        for reason in sorted(opaque, key=_order):
            *_, last = evidence_of(reason)
            seen.setdefault(
                last.message, Evidence(f"assumed without side effect: {last.message}", last.path, last.line)
            )
        return Fact(Ternary.NO), list(seen.values())


def _handed_out(frame: Frame, effect: Effect) -> frozenset[Root]:
    """Where the iterator came from that an object's `__iter__` gave: a generator, or one made there, is new."""
    made = [callee for callee, how in callees_at(frame, effect.position) if how == "operator"]
    made = [callee for callee in made if callee.code.name == "__iter__"]
    if effect.kind != "iterator" or not made:
        return ELSEWHERE
    found: set[Root] = set()
    for callee in made:
        for instr in () if callee.code.is_generator else index_of(callee.code).of(Op.RETURN):
            found |= roots(callee, instr[2]) if instr[2] >= 0 else frozenset()
    return ELSEWHERE if any(isinstance(root, int) for root in found) else frozenset(found)


def _stores_tensor(reason: Reason) -> bool:
    """Whether a change puts a tensor away."""
    frame = reason.frame
    return any(holds_plain_tensor(frame.vals[s] or frozenset()) for s in stored(frame, reason.effect.position))


def _key(effect: Effect, once: str = "") -> tuple[str, Obj | str | None]:
    kind = once + effect.kind
    if effect.target is not None:
        return (
            f"{kind}:{effect.detail}:{effect.position if isinstance(effect.target, _VALUES) else ''}",
            effect.target,
        )
    return (kind, effect.detail)


def _order(reason: Reason) -> tuple[int, str, int]:
    return (len(reason.path), reason.frame.code.path, reason.effect.position)


class _Passed:
    """The objects that a callee may change as far as this call is concerned: of its arguments, those passed here.

    (Contexts may have been merged, so that the callee's arguments are those of several calls.)
    """

    __slots__ = ("others",)

    def __init__(self, frame: Frame, pos: int, callee: Frame) -> None:
        passed = callee.incoming.get((frame, pos))
        self.others: frozenset[Obj] = BOTTOM
        if passed is not None and any(a is not b for a, b in zip(callee.args, passed, strict=True)):
            self.others = _objects(callee.args) - _objects(passed)

    def __contains__(self, target: Obj | None) -> bool:
        return target not in self.others


def _objects(values: list[Value]) -> frozenset[Obj]:
    """The objects in some arguments, those of `*args` included."""
    found = set(BOTTOM.union(*values))
    for obj in list(found):
        if isinstance(obj, Tup):
            found.update(*obj.items)
        elif isinstance(obj, Stream) and obj.kind == "tuple":
            found.update(obj.element)
    return frozenset(found)


def fills_own(frame: Frame, reason: Reason) -> bool:
    """Whether a constructor writes the object that it is called on."""
    if frame.code.name not in _CONSTRUCTORS:
        return False
    if reason.roots:
        return reason.roots <= {0}
    return isinstance(reason.effect.target, Inst | LibInst | Unknown) and reason.effect.target in frame.args[0]


def _keeps_nothing(frame: Frame) -> bool:
    """Whether what a frame makes is likely gone when it ends: not so for modules, classes and constructors."""
    return frame.code.kind == "function" and frame.code.name not in _CONSTRUCTORS


def is_unclear(reason: Reason) -> bool:
    """A change of an object that is not known: certain only where the object is an argument of the function."""
    effect = reason.effect
    if effect.kind in CHANGES and isinstance(effect.target, Unknown) and not reason.roots:
        return not any(effect.target in value for value in reason.frame.args)
    return False


#: Where `log` in a name is the logarithm.
_LOGARITHM: Final = regex(r"_?log_?(prob|dens|lik|det|sum|prior|post|soft|pdf|norm|marg|evid|space|scale|var)")
_HARMFUL_WORDS: Final = (
    "write save dump log print append extend insert update push add pop remove delete clear set_ register seed shuffle "
    "send emit notify close flush record store put open exec run train fit step reset next sleep plot show upload"
).split()
_PART: Final = ("an element of", "an item of", "an attribute of")
_HARMFUL: Final = regex(f"(?:^|_)(?:{'|'.join(_HARMFUL_WORDS)})")


def _sounds_harmless(reason: Reason) -> bool:
    """Whether nothing in the name of a call that cannot be seen speaks of a change (speculation)."""
    target = reason.effect.target
    if reason.effect.kind in CHANGES and isinstance(target, Unknown) and target.reason.startswith(_PART):
        return False  # what a call has made may be new; a part of it belongs to what it was made from
    if reason.effect.kind == "unfollowed":
        return False
    text = reason.effect.detail.lower()
    quoted = text.rpartition("`")[0].rpartition("`")[2] or text
    names = (quoted.rpartition(".")[2], _LOGARITHM.sub("", _called_name(reason).lower()))
    return not any(map(_HARMFUL.search, names))


def kind_of(effect: Effect) -> str:
    """The kind of an effect for people: drawing from a generator object is drawing random numbers."""
    drawn = effect.kind == "mutate" and isinstance(effect.target, LibInst) and ".random." in f".{effect.detail}"
    return "random" if drawn else effect.kind


def _called_name(reason: Reason) -> str:
    """The method or variable that the code calls where it calls something that cannot be seen."""
    code = reason.frame.code
    instr = call_at(code, reason.effect.position)
    func = definitions(code).get(instr[2]) if instr is not None else None
    if func is None or func[0] not in (Op.ATTR, Op.GLOBAL):
        return ""
    return str(func[3] if func[0] == Op.ATTR else func[2])


def evidence_of(reason: Reason) -> tuple[Evidence, ...]:
    """The chain from the function to the effect."""
    steps = [Evidence(f"calls `{name}`", path, pos >> 16) for path, pos, name in reason.path]
    place = reason.frame.code.path
    here = Evidence(describe(reason.effect), place, reason.effect.position >> 16)
    return (*steps, here, *kept_properties(reason))


def kept_properties(reason: Reason) -> tuple[Evidence, ...]:
    """Where the value comes from, if the change is that a property keeps what it has computed."""
    if reason.effect.kind != "attribute":
        return ()
    found = callees_at(reason.frame, reason.effect.position)
    codes = [callee.code for callee, how in found if how == "property" and is_cached(callee.code)]
    returns = [(code, instr) for code in codes for instr in index_of(code).of(Op.RETURN)]
    return tuple(Evidence("is kept from here", code.path, instr[-1] >> 16) for code, instr in returns[:1])


def describe(effect: Effect) -> str:
    """An effect as a sentence."""
    target = effect.target
    match effect.kind:
        case "attribute":
            owner = target.cls.name if isinstance(target, Inst) else "an object"
            return f"writes attribute `{effect.detail}` of {_article(owner)}"
        case "item":
            return f"writes an element of {_named(target, effect.detail)}"
        case "mutate" if kind_of(effect) == "random":
            return WORLD["random"].format(effect.detail)
        case "mutate":
            return f"changes {_named(target, effect.detail)} with `{effect.detail.rpartition('.')[2]}`"
        case "global":
            return f"writes global variable `{effect.detail}`"
        case "closure":
            return f"writes captured variable `{effect.detail}`"
        case "iterator":
            return f"advances an iterator with `{effect.detail}`"
        case "unknown_call":
            return f"calls something unknown: {effect.detail}"
        case "unfollowed":
            return f"`{effect.detail}` is more code than the analysis follows: what the rest of it does is unknown"
        case "foreign_call":
            return f"calls `{effect.detail}`, about which nothing is known"
    return WORLD.get(effect.kind, "has effect `{}`").format(effect.detail.removeprefix("builtins."))


def _article(name: str) -> str:
    return name if name.startswith("an ") else f"a `{name}`"


def _named(target: Obj | None, detail: str) -> str:
    if isinstance(target, Container):
        return f"a {target.kind} made at line {target.site[1] >> 16}" if target.site[1] else f"a {target.kind}"
    if isinstance(target, Inst):
        return f"a `{target.cls.name}`"
    if isinstance(target, Tensor):
        return "an array"
    return f"an object ({detail})"
