"""Values that nothing uses: they are read, if at all, only to compute others that nothing uses, either."""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import DIRECT
from hybridize.domain.objects import NONE
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.tracing.views import FrameView, ProjectView

#: Operations that do no more than to compute a value, where they run no code of the project.
_COMPUTES: Final = (
    *(ir.Passing, ir.Attr, ir.Item, ir.Slice, ir.Unpack),
    *(ir.Sequence, ir.Binary, ir.Unary, ir.Compare),
)
#: Library functions of which the same is so, where no effect of theirs is seen.
_COMPUTING: Final = ("np.", "tensor.ndarray.", "tf.constant", "tf.convert_to_tensor", "tf.cast")
_NUMBERS: Final = frozenset(f"builtins.{name}" for name in ("int", "float", "abs", "round", "min", "max", "str"))
#: Operations that draw, but for those to which the seed is all, and keywords of which no number comes.
_DRAWING: Final = ("tf.random.", "tf.image.random_", "tf.nn.dropout", "tf.compat.v1.random")
_SEEDED: Final = ("stateless", "experimental", "Generator", "split", "fold_in", "set_seed")
_MARKS: Final = frozenset({"name", "seed"})
#: Where functions of texts have what stands between words: one that is in none of them does as well as another.
_BETWEEN: Final = {
    "tf.strings.join": ("separator", 1),
    "tf.strings.reduce_join": ("separator", 3),
    "tf.strings.split": ("sep", 1),
}
_TAKES_OUT: Final = "tf.strings.split"
#: Through so many functions that give it back a value is followed.
_CALLS: Final = 3


def is_unused(project: ProjectView, frame: Frame, position: int, within: Frame, depth: int = _CALLS) -> bool:
    """Whether nothing uses what the calls at a position give; what `within` itself gives back, its callers may use."""
    view = FrameView(project, frame)
    index = index_of(frame.code)
    calls = index.calls.get(position, ())
    if not calls or not all(_gives(view, call) for call in calls):
        return False  # what gives nothing was called for what it changes
    todo, seen = [call.target for call in calls], set[int]()
    while todo:
        slot = todo.pop()
        if slot in seen:
            continue
        seen.add(slot)
        for use in index.uses.get(slot, ()):
            if isinstance(use, ir.Return) and frame is not within and depth:
                if not _is_dropped(project, frame, within, depth - 1):
                    return False
            elif _only_marks(view, use, slot):
                if isinstance(use, ir.Call) and _TAKES_OUT in view.names(use.function):
                    return True  # a mark that is put between words, and taken out again
            elif _only_computes(view, use):
                todo += use.targets if isinstance(use, ir.Unpack) else (use.target,)
            else:
                return False
    return True


def _is_dropped(project: ProjectView, frame: Frame, within: Frame, depth: int) -> bool:
    """Whether all who call a function are known, and none uses what it gives."""
    sites = [(caller, pos) for caller in frame.callers for pos, callee in caller.calls if callee is frame]
    return (
        bool(sites)
        and all(key in frame.incoming for key in sites)
        and all(
            caller is not None
            and caller.calls.get((pos, frame)) in DIRECT
            and is_unused(project, caller, pos, within, depth)
            for caller, pos in frame.incoming
        )
    )


def _only_computes(view: FrameView, use: Instr) -> bool:
    """Whether an instruction changes nothing, as far as it is seen."""
    pos = use.position
    if any(e.position == pos and e.kind != "random" for e in view.frame.effects.values()):
        return False
    if any(how not in DIRECT for _, how in view.callees(pos)):
        return False
    if not isinstance(use, ir.Call):
        return isinstance(use, _COMPUTES)
    names = view.names(use.function)
    known = bool(names) and all(name.startswith(_COMPUTING) or name in _NUMBERS for name in names)
    return known and _gives(view, use)


def _only_marks(view: FrameView, use: Instr, slot: int) -> bool:
    """Whether a value is but the name of an operation, stands between words, or seeds an operation that draws anew at
    each call all the same.
    """
    if not isinstance(use, ir.Call):
        return False
    names = view.names(use.function)
    given = {name for name, each in use.keywords if each == slot}
    places = {i for i, (each, _) in enumerate(use.arguments) if each == slot}
    if names and all(n in _BETWEEN and given <= {_BETWEEN[n][0]} and places <= {_BETWEEN[n][1]} for n in names):
        return True
    if places:
        return False
    marks = _MARKS if names and all(_draws_anew(name) for name in names) else _MARKS - {"seed"}
    return bool(names) and given <= marks and all(name.startswith("tf.") for name in names)


def _draws_anew(name: str) -> bool:
    """Whether an operation has a state of its own, which a seed only begins."""
    return name.startswith(_DRAWING) and not any(word in name for word in _SEEDED)


def _gives(view: FrameView, call: ir.Call) -> bool:
    """Whether a call gives a value, and puts it nowhere else (`out=`)."""
    value = view.value(call.target)
    return bool(value) and NONE not in value and all(name not in ("out", None) for name, _ in call.keywords)
