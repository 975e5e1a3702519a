"""What an effect of a function is, with the calls that lead to it, and how it is told."""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import Container, Inst, LibInst, Obj, Tensor, Unknown
from hybridize.domain.places import line_words
from hybridize.domain.unknowns import ATTRIBUTE, ELEMENT, Why
from hybridize.domain.words import CONSTRUCTORS
from hybridize.facts.evidence import call_step
from hybridize.facts.model import Evidence, Told
from hybridize.facts.origins import Root, called_at
from hybridize.facts.state.guards import is_cached
from hybridize.facts.state.stores import Way
from hybridize.flow.frames import Effect, Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.records import dataclass

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
TOLD: Final = CHANGES | WORLD.keys()
#: Calls that the analysis cannot see into, those that say most first.
OPAQUE: Final = ("unknown_call", "foreign_call", "unfollowed")

#: Of an effect (`Reason.once`): a person says that nobody minds that it happens once per trace.
VOUCHED: Final = "vouched "


@dataclass(slots=True, eq=False)  # not frozen: they are made by the million
class Reason:
    """An effect with the calls that lead to it: (caller's file, position, callee's name) steps, outermost first."""

    effect: Effect
    frame: Frame
    path: tuple[tuple[str, int, str], ...]
    roots: frozenset[Root] = frozenset()  # of a value without identity: where the frame of the summary had it from
    sure: bool = True  # no call on the way may run something else instead
    once: str = ""  # `SET_UP`, `CONSTANT`, `RESTORED` or `VOUCHED`: as good per trace as per call
    latent: bool = False  # only when somebody drives an iterator that the function hands out
    via: Way = None  # how its frame reaches what is changed


def fills_own(frame: Frame, reason: Reason) -> bool:
    """Whether a constructor writes the object that it is called on."""
    if frame.code.name not in CONSTRUCTORS:
        return False
    if reason.roots:
        return reason.roots <= {0}
    return isinstance(reason.effect.target, (Inst, LibInst, Unknown)) and reason.effect.target in frame.args[0]


def is_unclear(reason: Reason) -> bool:
    """A change of an object that is not known: certain only where the object is an argument of the function.

    An iterator that is not known may be that of a dataset, which a graph advances.
    """
    effect = reason.effect
    if effect.kind == "iterator" and isinstance(effect.target, Unknown):
        return True
    if effect.kind in CHANGES and isinstance(effect.target, Unknown) and not reason.roots:
        return not any(effect.target in value for value in reason.frame.args)
    return False


_PARTS: Final = (ATTRIBUTE, ELEMENT)


def _is_part(value: Unknown) -> bool:
    return value.taken in _PARTS or (value.why is Why.PART and not value.taken)


def may_be_harmless(reason: Reason) -> bool:
    """Whether a call that cannot be seen may be there for its result alone (speculation).

    Not one whose result nobody uses: what it is made for is its effect.
    """
    effect = reason.effect
    if effect.kind == "iterator":
        return False
    if effect.kind in CHANGES:
        # What a call has made may be new; a part of it belongs to what it was made from.
        return not (isinstance(effect.target, Unknown) and _is_part(effect.target))
    if effect.kind == "unfollowed":
        return False
    index = index_of(reason.frame.code)
    calls = index.calls.get(effect.position, ())
    return all(instr.target in index.read or _is_of_tensor(reason.frame, instr) for instr in calls)


def _is_of_tensor(frame: Frame, call: ir.Call) -> bool:
    """Whether a method of a tensor is called: what it changes are variables."""
    made = index_of(frame.code).source(call.function)
    owner = frame.vals[made.owner] if isinstance(made, ir.Attr) else None
    return bool(owner) and all(isinstance(o, Tensor) for o in owner or ())


def kind_of(effect: Effect) -> str:
    """The kind of an effect for people: drawing from a generator object is drawing random numbers."""
    drawn = effect.kind == "mutate" and isinstance(effect.target, LibInst) and ".random." in f".{effect.detail}"
    return "random" if drawn else effect.kind


def evidence_of(reason: Reason) -> tuple[Evidence, ...]:
    """The chain from the function to the effect."""
    steps = [call_step(name, path, pos) for path, pos, name in reason.path]
    return (*steps, _here(reason), *kept_properties(reason))


def last_evidence_of(reason: Reason) -> Evidence:
    """The end of the chain."""
    kept = kept_properties(reason)
    return kept[-1] if kept else _here(reason)


def _here(reason: Reason) -> Evidence:
    effect = reason.effect
    told = Told.CALL if effect.kind == "foreign_call" else Told.OTHER
    return Evidence(describe(effect), reason.frame.code.path, effect.position >> 16, told, effect.detail)


def kept_properties(reason: Reason) -> tuple[Evidence, ...]:
    """Where the value comes from, if the change is that a property keeps what it has computed."""
    if reason.effect.kind != "attribute":
        return ()
    found = called_at(reason.frame, reason.effect.position, (How.PROPERTY,))
    codes = [callee.code for callee in found if is_cached(callee.code)]
    returns = [(code, instr) for code in codes for instr in index_of(code).of(ir.Return)]
    return tuple(Evidence("is kept from here", code.path, instr.position >> 16) for code, instr in returns[:1])


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
        return f"a {target.kind} made at {line_words(target.site[1] >> 16)}" if target.site[1] else f"a {target.kind}"
    if isinstance(target, Inst):
        return f"a `{target.cls.name}`"
    if isinstance(target, Tensor):
        return "an array"
    return f"an object ({detail})"


def order(reason: Reason) -> tuple[int, str, int]:
    """What effects are sorted by: the nearest first."""
    return (len(reason.path), reason.frame.code.path, reason.effect.position)


def opaque(frame: Frame, position: int) -> list[Reason]:
    """The effects of a call of code that the analysis cannot see into."""
    found = (effect for effect in frame.effects.values() if effect.position == position and effect.kind in OPAQUE)
    return [Reason(each, frame, ()) for each in found]
