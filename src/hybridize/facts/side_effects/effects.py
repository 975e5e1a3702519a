"""Python side effects of each function: what its dynamic extent changes that outlives the call.

A mod-set analysis over the call graph, callees first (the paper, section IV-E): an effect on an object that the extent
itself allocated does not count; effects on arguments, globals, fields, captured variables and the outside world do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from hybridize.domain.calls import How
from hybridize.domain.objects import Cell, Container, Heap, Inst, Lib, Mod, Obj, Stream, Tensor, Tup, Unknown
from hybridize.domain.words import CONSTRUCTORS
from hybridize.facts.calls.dispatch import is_either
from hybridize.facts.calls.extents import Extents
from hybridize.facts.calls.latent import hands_generator, hands_out, is_hosted, is_latent
from hybridize.facts.calls.passed import Owners, Passed
from hybridize.facts.calls.pruned import Pruned
from hybridize.facts.calls.traced import is_traced
from hybridize.facts.model import Evidence, Fact
from hybridize.facts.origins import ELSEWHERE, Root, called_at, cell_roots, passed_slots, roots, slots_of
from hybridize.facts.side_effects.arguments import comes_out_same
from hybridize.facts.side_effects.judging import judged
from hybridize.facts.side_effects.last_words import is_last_word
from hybridize.facts.side_effects.repeats import cached_read, repeatable
from hybridize.facts.side_effects.scratch import Scratch
from hybridize.facts.state.copies import is_copied_list
from hybridize.facts.state.guards import SET_UP, guarded, is_cached, may_hold_tensor, regions, set_up_once, stored
from hybridize.facts.state.lifted import lifted
from hybridize.facts.state.reasons import (
    CHANGES,
    OPAQUE,
    TOLD,
    VOUCHED,
    Reason,
    fills_own,
    is_unclear,
    last_evidence_of,
    order,
)
from hybridize.facts.state.restored import RESTORED, is_restored
from hybridize.facts.state.stores import Stores, Way
from hybridize.facts.unknown.excused import Excused
from hybridize.facts.unknown.foreign import Foreign
from hybridize.facts.unknown.usage import Used
from hybridize.flow.frames import SHARED, Effect, Frame
from hybridize.flow.solve import Solution
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.records import replace

#: Calls whose effects are not the caller's.
_ABSORBED: Final = frozenset({How.BUILD, How.HOST})
#: A method that fills its own object once, whoever calls it.
_LAZY: Final = "build"
_MOST: Final = 12
#: A call carries on so many effects of its callee, and a function has so many: of the rest it is said to be unknown.
_MOST_LIFTED: Final = 200
_MOST_HELD: Final = 300
#: Objects without identity: two arrays of one type are the same abstract object.
_VALUES: Final = (Tensor, Stream, Tup, Unknown)


#: Whether a person answers for what changes at a line (from 1) of a file.
Vouched: TypeAlias = "Callable[[str, int], bool]"
#: The effects that a frame and its callees have, by what tells them apart.
Summary: TypeAlias = "dict[tuple[str, Obj | str | None], Reason]"
_NONE: Final[Summary] = {}


def nobody(_path: str, _line: int) -> bool:
    """No comment answers for anything."""
    return False


class SideEffects:
    """The effects of live frames, callees included; those of a frame are gathered when they are first asked for.

    `foreign` says which code that nobody can follow computes with TensorFlow: the one answer for rules, too.
    """

    def __init__(
        self, solution: Solution, extents: Extents, vouched: Vouched = nobody, *, assumes: bool = False
    ) -> None:
        self.extents = extents
        self._vouched = vouched
        self._summaries: dict[Frame, Summary] = {}
        self._own: dict[Heap, bool] = {}  # which objects come into being in the frame whose effects are being gathered
        self._done = 0  # the frames that have a summary, as a set
        self._frames = solution.frames
        self._owners = Owners(solution)
        self.excused = Excused(solution)
        self.foreign = Foreign(solution.frames)
        self.used = Used(solution.frames, self._is_quiet, self.foreign)
        self._kept: dict[tuple[Code, int], bool] = {}
        self._early: frozenset[tuple[Obj, str]] | None = None  # cached properties that constructors read
        self._dead = frozenset(f.uid for f in solution.world.frames if f.gone)
        self._stores = Stores(solution, extents)
        self._scratch = Scratch(solution, extents, self.excused, self._stores) if assumes else None

    def _is_quiet(self, frame: Frame) -> bool:
        """Whether nothing is known that a call of a frame changes: calls of something unknown are left out."""
        return all(r.effect.kind in OPAQUE or is_unclear(r) or bool(r.once) for r in self.of(frame).values())

    def of(self, frame: Frame) -> Summary:
        """The effects of a call of a frame, nearest first; none of one that is no longer part of the solution."""
        found = self._summaries.get(frame)
        if found is None:
            if not self.extents.is_live(frame):
                return _NONE
            missing = self.extents.of(frame) & ~self._done
            self._done |= missing
            for component in self.extents.parts(missing):
                self._summarize(component)
            found = self._summaries[frame]
        return found

    def _summarize(self, component: list[Frame]) -> None:
        gathered: Summary = {}
        for frame in sorted(component, key=lambda f: f.uid) if len(component) > 1 else component:
            self._own = {}
            for effect in frame.effects.values():
                self._add(gathered, frame, effect)
            for pos, callee, how in self.extents.calls(frame):
                if how in _ABSORBED or callee in component:
                    continue
                summary = self._summaries[callee]
                if not summary:
                    continue
                self._lift(gathered, frame, (pos, callee, how), summary)
                if len(gathered) > _MOST_HELD:
                    _cut(gathered, frame)
                    break
        if len(component) > 1:
            # Functions that call each other share a summary: whose parameter it was is no longer told apart.
            for key, reason in gathered.items():
                if reason.roots or reason.via:
                    gathered[key] = replace(reason, roots=ELSEWHERE if reason.roots else reason.roots, via=None)
        for frame in component:
            self._summaries[frame] = gathered or _NONE

    def _add(self, gathered: Summary, frame: Frame, effect: Effect) -> None:
        origin: frozenset[Root] = frozenset()
        if (effect.kind not in TOLD and effect.kind not in OPAQUE) or is_hosted(frame, effect.position):
            return
        if is_last_word(frame, effect):
            return
        if effect.kind in CHANGES and isinstance(effect.target, _VALUES):
            known_origin = self._origin(frame, effect)
            if known_origin is None or not (known_origin or isinstance(effect.target, Unknown)):
                return
            origin = known_origin
        elif effect.kind in CHANGES and (self._is_own(frame, effect, direct=True) or self._is_new(frame, effect)):
            return
        via: Way = None
        if effect.kind in CHANGES and isinstance(effect.target, Heap):
            via = self._stores.changed(frame, effect, slots_of(frame, effect.kind, effect.target, effect.position))
            if via is False:
                return
        once = RESTORED if is_restored(frame, effect) else repeatable(frame, effect)
        if not once and effect.kind == "attribute" and self._is_read_early(frame, effect):
            once = SET_UP
        if effect.kind in CHANGES and self._vouched(frame.code.path, effect.position >> 16) and not once:
            once = VOUCHED
        latent = is_latent(frame, effect.position)
        key = _key(effect, once, latent)
        known = gathered.get(key)
        if known is None or (known.frame is frame and _is_milder(frame, known.effect, effect)):
            sure = not (effect.kind in TOLD and is_either(frame, effect.position))
            gathered[key] = Reason(effect, frame, (), origin, sure, once, latent, via)
        else:
            _meet(known, via)

    def _is_read_early(self, frame: Frame, effect: Effect) -> bool:
        """Whether code only reads a cached property that a constructor has read before: it is kept since then."""
        if isinstance(effect.target, Inst) and cached_read(frame, effect) is not None:
            if self._early is None:
                self._early = frozenset(_read_by_constructors(self._frames))
            return (effect.target, effect.detail) in self._early
        return False

    def _lift(self, gathered: Summary, frame: Frame, call: tuple[int, Frame, How], summary: Summary) -> None:
        """Takes over a callee's effects, as far as they are effects of the caller too."""
        pos, callee, how = call
        most = len(gathered) + _MOST_LIFTED
        once_here: bool | None = None
        either: bool | None = None
        passed = Passed(frame, pos, callee, self._owners)
        pruned = Pruned(frame, pos, callee, again=self.extents.is_recursive(callee))
        prunes = pruned.some
        step = (frame.code.path, pos, callee.code.name)
        lazy = is_latent(frame, pos, called_back=how is How.CALLBACK)
        handed = hands_generator(frame, pos, callee.code)
        traced = is_traced(frame, pos, how)
        for key, reason in summary.items():
            effect = reason.effect
            if traced and effect.kind in OPAQUE:
                continue
            if prunes and (
                (reason.path[0][:2] if reason.path else (reason.frame.code.path, effect.position)) in pruned
            ):
                continue
            once, latent = reason.once, lazy or handed or (reason.latent and hands_out(frame, pos))
            if not once and effect.kind in CHANGES:
                if once_here is None:
                    once_here = set_up_once(frame, pos)
                if once_here and (not _may_store_tensor(reason) or lifted(frame, pos, stored(frame, pos))):
                    once, key = SET_UP, _key(effect, SET_UP, latent)
            if latent is not reason.latent:
                key = _key(effect, once, latent)
            via = self._stores.lifted(frame, pos, callee, reason.via, effect.target) if reason.via else None
            if via is False:
                continue
            if key in gathered:
                _meet(gathered[key], via)
                continue
            origin = self._seen_from(frame, pos, callee, reason, passed)
            if origin is None:
                continue
            if either is None:
                either = is_either(frame, pos)
            sure = reason.sure and not (either and effect.kind in TOLD)
            gathered[key] = Reason(effect, reason.frame, (step, *reason.path), origin, sure, once, latent, via)
            if len(gathered) > most:
                _cut(gathered, callee, step)
                break

    def _seen_from(
        self, frame: Frame, pos: int, callee: Frame, reason: Reason, passed: Passed
    ) -> frozenset[Root] | None:
        """The roots of what a callee changes, in terms of the caller; None where it is no effect of the caller."""
        effect, origin = reason.effect, reason.roots
        if isinstance(effect.target, Unknown) and effect.target not in passed:
            return None
        if effect.kind not in CHANGES:
            return origin
        if origin:
            return self._lifted(frame, pos, callee, origin) or None
        if effect.target not in passed or self._is_own(frame, effect, direct=False):
            return None
        return None if effect.target is None and effect.cell is None and effect.kind == "closure" else origin

    def _is_own(self, frame: Frame, effect: Effect, *, direct: bool) -> bool:
        """Whether what is changed came into being within the frame's extent."""
        target = effect.target
        if effect.kind == "closure":
            return effect.cell is not None and self._has_cell(frame, effect.cell, direct=direct)
        if isinstance(target, (Mod, Lib)):
            return False
        if isinstance(target, Heap):
            if direct:
                return self._made_here(frame, target, direct=True)
            found = self._own.get(target)
            if found is None:
                found = self._own[target] = self._made_here(frame, target, direct=False)
            return found
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
        return any(all(extents.has(inside, c) or _keeps_nothing(c) for c in o.callers) for o in owners)

    def _made_here(self, frame: Frame, target: Heap, *, direct: bool) -> bool:
        """Whether the extent of a frame allocated an object."""
        for param, value in zip(frame.code.params, frame.args, strict=True):
            if target not in value:
                continue
            if param.is_kwargs and target.site[1] == frame.code.position:
                return True
            return direct and frame.code.name == _LAZY and target in frame.args[0]
        kept = target.fields.get("__dict__") if isinstance(target, Inst) else None
        if kept is not None and any(isinstance(o, Heap) and not self.is_within(frame, o) for o in kept.value):
            return False  # its fields are those of an object from outside
        return self.is_within(frame, target)

    def is_within(self, frame: Frame, target: Heap) -> bool:
        """Whether the code that allocated an object ran within a frame's extent."""
        code = target.site[0]
        if self._is_kept(code, target.site[1]) and self._outlives(frame, target):
            return False
        if target.frame == SHARED:
            return self._runs(frame, code)
        if target.frame in self._dead and self._runs(frame, code):
            return self._is_private(frame, code)
        if target.frame == frame.uid:
            return True
        maker = self.extents.run_by(frame, target.frame)
        if maker is not None and code.name == _LAZY and code.params:
            # What a layer builds is the layer's, whoever called it first.
            return all(self._is_part(frame, owner) for owner in maker.args[0])
        return maker is not None

    def _is_kept(self, code: Code | None, position: int) -> bool:
        """Whether what is made at a place outlives the call: it is made only where there is none yet."""
        if code is None:  # of no place in the program
            return False
        found = self._kept.get((code, position))
        if found is None:
            frames = self._frames.get(code, ()) if regions(code).get(position) else ()
            found = is_cached(code) or any(guarded(frame, position) for frame in frames)
            self._kept[code, position] = found
        return found

    def _outlives(self, frame: Frame, target: Heap) -> bool:
        """Whether something that a frame's extent has not made itself holds what is made once."""
        if is_cached(target.site[0]):
            return True
        for owner in self._owners.around(target, lambda obj: self._is_kept(*obj.site), _MOST):
            if isinstance(owner, Mod):
                return True
            if isinstance(owner, Heap) and not self.is_within(frame, owner):
                return True
            if isinstance(owner, Frame) and not self.extents.has(self.extents.of(frame), owner):
                return owner is not frame
        return False

    def may_be_own(self, frame: Frame, reason: Reason) -> bool:
        """Whether an object that counts as one from outside may have been made within the frame's extent.

        Contexts that were merged have left objects behind of which nobody knows any more which call made them.
        """
        target = reason.effect.target
        return isinstance(target, Heap) and target.frame in self._dead and self._runs(frame, target.site[0])

    def _is_part(self, frame: Frame, owner: Obj) -> bool:
        return isinstance(owner, Heap) and self.is_within(frame, owner)

    def _is_private(self, frame: Frame, code: Code) -> bool:
        """Whether a function is called from within a frame's extent only."""
        extents = self.extents
        inside = extents.without_bodies(extents.of(frame)) | extents.set_of([frame])
        found = self._frames.get(code, [])
        if not all(extents.has(inside, f) for f in found):
            return False
        return all(c.gone or extents.has(inside, c) for f in found for c in f.callers)

    def _origin(self, frame: Frame, effect: Effect) -> frozenset[Root] | None:
        """Arrays and iterators have no identity: what the function's own code says of their origin decides.

        None where it says that the function has made what it changes.
        """
        target = effect.target
        assert target is not None
        if isinstance(target, Unknown) and effect.slot < 0:
            return frozenset()
        slots = [effect.slot] if effect.slot >= 0 else slots_of(frame, effect.kind, target, effect.position)
        if slots and effect.kind == "item" and all(is_copied_list(frame, slot) for slot in slots):
            return None
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
        return not code.is_module and bool(self.extents.of(frame) & self.extents.with_code(code))

    def fact(self, frames: list[Frame], speculate: bool) -> tuple[Fact, list[Evidence]]:
        """Whether a function has Python side effects, and the assumptions that the answer rests on."""
        reasons, left = self._outer(frames)
        found, assumed = judged(reasons, speculate, self.used)
        return found, [*assumed, *left]

    def facts(self, frames: list[Frame], speculate: bool) -> tuple[Fact, list[Evidence], list[Evidence], Fact]:
        """The same, what a comment vouches for, and whether there is more than what tracing does once or puts back."""
        reasons, left = self._outer(frames)
        found, assumed = judged(reasons, speculate, self.used)
        assumed += left
        lasting = [reason for reason in reasons if reason.once not in (SET_UP, RESTORED, VOUCHED)]
        if len(lasting) == len(reasons):
            return found, assumed, [], found
        said = [last_evidence_of(reason) for reason in sorted(reasons, key=order) if reason.once == VOUCHED]
        vouched = [Evidence(f"harmless, as a comment says: {each.message}", each.path, each.line) for each in said]
        return found, assumed, vouched, judged(lasting, speculate, self.used)[0]

    def _outer(self, frames: list[Frame]) -> tuple[list[Reason], list[Evidence]]:
        """The effects of a function's frames but those of a constructor on its own object, and what is assumed."""
        found: list[Reason] = []
        left: dict[str, Evidence] = {}
        for frame in frames:
            reasons = [each for each in self.of(frame).values() if not each.latent]
            makes = frame.code.name in CONSTRUCTORS
            for each in reasons:
                if (makes and fills_own(frame, each)) or each in self.excused:
                    continue
                scratch = self._scratch.says(frame, each) if self._scratch is not None and not each.once else None
                if scratch is not None:
                    left.setdefault(scratch.message, scratch)
                    continue
                lasts = bool(each.once) and each.once not in (RESTORED, VOUCHED) and not comes_out_same(frame, each)
                found.append(replace(each, once="") if lasts else each)
        return found, list(left.values())


def _meet(known: Reason, via: Way) -> None:
    """Notes that the same is changed in another place: by another way, it is no matter what a caller has put there."""
    if known.via != via:
        known.via = None


def _is_milder(frame: Frame, known: Effect, effect: Effect) -> bool:
    """Whether a change happens under a guard, and another of the same does not: the other is what matters."""
    return guarded(frame, known.position) and not guarded(frame, effect.position)


def _cut(gathered: Summary, frame: Frame, *path: tuple[str, int, str]) -> None:
    """Says that a frame has more effects than are carried on: what the rest does to a caller is unknown."""
    rest = Effect("unfollowed", None, frame.code.name, frame.code.position)
    gathered.setdefault(_key(rest), Reason(rest, frame, path))


def _handed_out(frame: Frame, effect: Effect) -> frozenset[Root]:
    """Where the iterator came from that an object's `__iter__` gave: a generator, or one made there, is new."""
    made = called_at(frame, effect.position, (How.OPERATOR,))
    made = [callee for callee in made if callee.code.name == "__iter__"]
    if effect.kind != "iterator" or not made:
        return ELSEWHERE
    found: set[Root] = set()
    for callee in made:
        for instr in () if callee.code.is_generator else index_of(callee.code).of(ir.Return):
            found |= roots(callee, instr.value) if instr.value >= 0 else frozenset()
    return ELSEWHERE if any(isinstance(root, int) for root in found) else frozenset(found)


def _read_by_constructors(frames: Mapping[Code, Sequence[Frame]]) -> Iterator[tuple[Obj, str]]:
    """The cached properties that constructors read whatever happens, of their own object or of one that they make."""
    for code, found in frames.items():
        for frame in found if code.name in CONSTRUCTORS else ():
            for effect in frame.effects.values():
                target = effect.target
                if effect.kind != "attribute" or not isinstance(target, Inst) or regions(code).get(effect.position):
                    continue
                own = bool(frame.args) and target in frame.args[0]
                if (own or target.site[0] is code) and cached_read(frame, effect) is not None:
                    yield target, effect.detail


def _may_store_tensor(reason: Reason) -> bool:
    """Whether a change may put a tensor away."""
    frame = reason.frame
    return any(may_hold_tensor(frame.vals[s] or frozenset()) for s in stored(frame, reason.effect.position))


def _key(effect: Effect, once: str = "", latent: bool = False) -> tuple[str, Obj | str | None]:
    kind = once + effect.kind if not latent else f"latent {once}{effect.kind}"
    if effect.target is not None:
        return (
            f"{kind}:{effect.detail}:{effect.position if isinstance(effect.target, _VALUES) else ''}",
            effect.target,
        )
    return (kind, effect.detail)


def _keeps_nothing(frame: Frame) -> bool:
    """Whether what a frame makes is likely gone when it ends: not so for modules, classes and constructors."""
    return frame.code.is_function and frame.code.name not in CONSTRUCTORS
