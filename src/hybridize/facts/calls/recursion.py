"""Whether a function reaches itself."""

from __future__ import annotations

from collections.abc import Callable

from hybridize.domain.objects import Inst
from hybridize.facts.calls.callgraph import call_chain, describe_chain
from hybridize.facts.calls.extents import Extents
from hybridize.facts.model import Fact, Ternary
from hybridize.flow.frames import Frame


def recursion(frames: list[Frame], extents: Extents, is_layer: Callable[[Inst], bool]) -> Fact:
    """Whether a function reaches itself. A layer that holds layers of its own class is no recursion: each is traced."""
    for frame in frames:
        again = extents.frames(extents.of(frame) & extents.with_code(frame.code))
        for other in sorted(again, key=lambda f: f.uid):
            if other is frame and not extents.is_recursive(frame):
                continue
            if _may_recur(frame, other, is_layer):
                return Fact(Ternary.YES, tuple(describe_chain(call_chain(frame, other))))
    return Fact(Ternary.NO)


def _may_recur(a: Frame, b: Frame, is_layer: Callable[[Inst], bool]) -> bool:
    """Whether reaching the second frame from the first is a recursion: not where two layers differ."""
    if a is b or a.func is None or a.func.owner is None or not a.args or not b.args:
        return True
    mine = {o for o in a.args[0] if isinstance(o, Inst)}
    theirs = {o for o in b.args[0] if isinstance(o, Inst)}
    return not mine or not theirs or bool(mine & theirs) or not all(map(is_layer, mine))
