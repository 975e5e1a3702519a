"""What unknown objects are by what the function that calls them does with them: models and optimizers.

Whose trainable variables a function asks for is a model, and its call computes on tensors. What a function that takes
gradients gives pairs of something and such variables is what applies them. Both are made to run in graphs.
"""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Lib, Unknown
from hybridize.facts.reasons import Reason
from hybridize.flow.frames import Frame
from hybridize.library import costs
from hybridize.program.index import index_of
from hybridize.program.ir import Instr, Op

#: What an assumption begins with that rests on use.
BY_USE: Final = "assumed by its use to be "
#: What only models, layers and modules have.
TRAINED: Final = frozenset({"trainable_variables", "trainable_weights"})


class Used:
    """What the uses of unknown objects say, by call; kept for each place."""

    def __init__(self) -> None:
        self._known: dict[tuple[Frame, int, object], str] = {}

    def says(self, reason: Reason) -> str:
        """What is assumed of a call of something unknown; empty where its function does not show what it is."""
        effect, frame = reason.effect, reason.frame
        if effect.kind != "unknown_call" or not isinstance(effect.target, Unknown):
            return ""
        key = frame, effect.position, effect.target
        if key not in self._known:
            what = "a model" if _is_trained(frame, effect.target) else ""
            what = what or ("an optimizer" if _gets_gradients(frame, effect.position) else "")
            self._known[key] = f"{BY_USE}{what}: {effect.detail}" if what else ""
        return self._known[key]


def _is_trained(frame: Frame, target: Unknown) -> bool:
    """Whether the function asks an object for its trainable variables."""
    return any(
        instr[3] in TRAINED and target in (frame.vals[instr[2]] or ()) for instr in index_of(frame.code).of(Op.ATTR)
    )


def _gets_gradients(frame: Frame, position: int) -> bool:
    """Whether a call of a function that takes gradients is given pairs with the variables of a model."""
    if not any(costs.differentiates(name) for name in frame.ops.values()):
        return False
    index = index_of(frame.code)
    calls = index.calls.get(position, ())
    return any(_pairs(frame, index.source(slot)) for call in calls for slot, _ in call[3])


def _pairs(frame: Frame, made: Instr | None) -> bool:
    """Whether an instruction zips something with trainable variables."""
    if made is None or made[0] != Op.CALL:
        return False
    if not any(isinstance(o, Lib) and o.name == "builtins.zip" for o in frame.vals[made[2]] or ()):
        return False
    return any(_holds_trained(frame, slot) for slot, _ in made[3])


def _holds_trained(frame: Frame, slot: int) -> bool:
    """Whether a slot holds trainable variables, or a sum of lists of them."""
    made = index_of(frame.code).source(slot)
    if made is not None and made[0] == Op.BINARY:
        return _holds_trained(frame, made[3]) or _holds_trained(frame, made[4])
    return made is not None and made[0] == Op.ATTR and made[3] in TRAINED
