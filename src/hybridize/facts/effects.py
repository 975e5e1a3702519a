"""Python side effects of each function: what its dynamic extent changes that outlives the call.

A mod-set analysis over the call graph, callees first (the paper, section IV-E): an effect on an object that the extent
itself allocated does not count; effects on arguments, globals, fields, captured variables and the outside world do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hybridize.domain.objects import Container, Heap, Inst, Mod, Obj, Stream, Tensor, Unknown
from hybridize.facts.callgraph import components, reachable
from hybridize.facts.model import Evidence, Fact, Ternary
from hybridize.facts.origins import call_at, is_outer
from hybridize.flow.frames import Effect, Frame
from hybridize.flow.solve import Solution
from hybridize.program.ir import Op

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
#: Calls that the analysis cannot see into.
OPAQUE: Final = frozenset({"unknown_call", "foreign_call"})
#: Ways of being called whose effects are not the caller's: Keras builds once; host functions run at every step.
_ABSORBED: Final = frozenset({"build", "host", "class"})
#: Methods that may write the fields of the object that is being made.
_CONSTRUCTORS: Final = frozenset({"__init__", "__post_init__", "__new__", "__setstate__", "build"})
_MOST: Final = 12


@dataclass(frozen=True, slots=True)
class Reason:
    """An effect with the calls that lead to it: (caller's position, callee's name) steps, outermost first."""

    effect: Effect
    frame: Frame
    path: tuple[tuple[str, int, str], ...]


class SideEffects:
    """The effects of every live frame, callees included."""

    def __init__(self, solution: Solution) -> None:
        self.summaries: dict[Frame, dict[tuple[str, Obj | str | None], Reason]] = {}
        self._extents: dict[Frame, frozenset[int]] = {}
        frames = [f for group in solution.frames.values() for f in group]
        for component in components(frames):
            self._summarize(component)

    def _summarize(self, component: list[Frame]) -> None:
        members = set(component)
        gathered: dict[tuple[str, Obj | str | None], Reason] = {}
        for frame in sorted(component, key=lambda f: f.uid):
            for effect in frame.effects.values():
                self._add(gathered, frame, effect)
            for (pos, callee), how in sorted(frame.calls.items(), key=lambda c: (c[0][0], c[0][1].uid)):
                if how in _ABSORBED or callee in members:
                    continue
                self._lift(gathered, frame, pos, callee)
        for frame in component:
            self.summaries[frame] = gathered

    def _add(self, gathered: dict[tuple[str, Obj | str | None], Reason], frame: Frame, effect: Effect) -> None:
        if effect.kind in CHANGES and self._is_own(frame, effect, direct=True):
            return
        if effect.kind not in WORLD and effect.kind not in CHANGES and effect.kind not in OPAQUE:
            return
        gathered.setdefault(_key(effect), Reason(effect, frame, ()))

    def _lift(
        self, gathered: dict[tuple[str, Obj | str | None], Reason], frame: Frame, pos: int, callee: Frame
    ) -> None:
        """Takes over a callee's effects, as far as they are effects of the caller too."""
        count = 0
        for key, reason in self.summaries.get(callee, {}).items():
            if key in gathered:
                continue
            effect = reason.effect
            if effect.kind in CHANGES:
                if not _passed_here(effect.target, frame, pos, callee) or self._is_own(frame, effect, direct=False):
                    continue
                if effect.target is None and effect.cell is None and effect.kind == "closure":
                    continue
            step = (frame.code.path, pos >> 16, callee.code.name)
            gathered[key] = Reason(effect, reason.frame, (step, *reason.path))
            count += 1
            if count > 4 * _MOST:
                break

    def _is_own(self, frame: Frame, effect: Effect, *, direct: bool) -> bool:
        """Whether what is changed came into being within the frame's extent."""
        target = effect.target
        if effect.kind == "closure":
            return effect.cell is not None and any(frame.cells.get(name) is effect.cell for name in frame.code.cells)
        if isinstance(target, Mod):
            return False
        if isinstance(target, Tensor | Stream):
            return self._own_value(frame, effect) if direct else False
        if isinstance(target, Container | Inst | Heap):
            if any(target in value for value in frame.args):
                return direct and frame.code.name in _CONSTRUCTORS and target in frame.args[0]
            if target.frame == frame.uid:
                return True
            return target.frame in self._extent(frame)
        if isinstance(target, Unknown):
            return False
        return target is not None

    def _own_value(self, frame: Frame, effect: Effect) -> bool:
        """Arrays and iterators have no identity: what the function's own code says of their origin decides."""
        slot = effect.slot
        if slot < 0:
            call = call_at(frame.code, effect.position)
            if call is None:
                return False
            if effect.kind == "mutate":
                definition = _attribute_owner(frame, call[2])
                slot = definition if definition >= 0 else (call[3][0][0] if call[3] else -1)
            else:
                slot = call[3][0][0] if call[3] else _attribute_owner(frame, call[2])
        return slot >= 0 and not is_outer(frame, slot)

    def _extent(self, frame: Frame) -> frozenset[int]:
        found = self._extents.get(frame)
        if found is None:
            found = self._extents[frame] = frozenset(f.uid for f in reachable(frame) if f.code.kind != "module")
        return found

    def fact(self, frames: list[Frame], speculate: bool) -> tuple[Fact, list[Evidence]]:
        """Whether a function has Python side effects, and the assumptions that the answer rests on."""
        certain: dict[tuple[str, int], tuple[Evidence, ...]] = {}
        opaque: list[Reason] = []
        for frame in frames:
            for reason in self.summaries.get(frame, {}).values():
                if reason.effect.kind in OPAQUE or _is_unclear(reason):
                    opaque.append(reason)
                else:
                    place = (reason.frame.code.path, reason.effect.position >> 16)
                    certain.setdefault(place, evidence_of(reason))
        if certain:
            chosen = sorted(certain.items(), key=lambda c: (len(c[1]), c[0]))[:_MOST]
            return Fact(Ternary.YES, tuple(step for _, chain in chosen for step in chain)), []
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


def _key(effect: Effect) -> tuple[str, Obj | str | None]:
    if effect.target is not None:
        return (
            f"{effect.kind}:{effect.detail}:{effect.slot if isinstance(effect.target, Tensor) else ''}",
            effect.target,
        )
    return (effect.kind, effect.detail)


def _order(reason: Reason) -> tuple[int, str, int]:
    return (len(reason.path), reason.frame.code.path, reason.effect.position)


def _attribute_owner(frame: Frame, slot: int) -> int:
    from hybridize.facts.origins import definitions

    instr = definitions(frame.code).get(slot)
    return instr[2] if instr is not None and instr[0] == Op.ATTR else -1


def _passed_here(target: Obj | None, frame: Frame, pos: int, callee: Frame) -> bool:
    """Whether a changed argument of the callee is one that this call passes (contexts may have been merged)."""
    if target is None or not any(target in value for value in callee.args):
        return True
    passed = callee.incoming.get((frame, pos))
    return passed is None or any(target in value for value in passed)


def _is_unclear(reason: Reason) -> bool:
    """A change of an object that is not known: certain only where the object is an argument of the function."""
    effect = reason.effect
    if effect.kind in CHANGES and isinstance(effect.target, Unknown):
        return not any(effect.target in value for value in reason.frame.args)
    return False


_HARMFUL: Final = (
    "write save dump log print append extend insert update push add pop remove delete clear set_ register seed shuffle "
    "send emit notify close flush record store put open exec run train fit step reset next sleep plot show upload"
).split()


def _sounds_harmless(reason: Reason) -> bool:
    """Whether nothing in the name of a call that cannot be seen speaks of a change (speculation)."""
    text = reason.effect.detail.lower()
    quoted = text.rpartition("`")[0].rpartition("`")[2] or text
    name = quoted.rpartition(".")[2]
    return not any(name.startswith(word) or f"_{word}" in name for word in _HARMFUL)


def evidence_of(reason: Reason) -> tuple[Evidence, ...]:
    """The chain from the function to the effect."""
    steps = [Evidence(f"calls `{name}`", path, line) for path, line, name in reason.path]
    place = reason.frame.code.path
    return (*steps, Evidence(describe(reason.effect), place, reason.effect.position >> 16))


def describe(effect: Effect) -> str:
    """An effect as a sentence."""
    target = effect.target
    match effect.kind:
        case "attribute":
            owner = target.cls.name if isinstance(target, Inst) else "an object"
            return f"writes attribute `{effect.detail}` of {_article(owner)}"
        case "item":
            return f"writes an element of {_named(target, effect.detail)}"
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
