"""Changes that the function itself takes back: a context variable that is reset, a field put back at the end."""

from __future__ import annotations

from typing import Final

from hybridize.facts.state.reasons import CHANGES
from hybridize.facts.state.undone import undone
from hybridize.flow.frames import Effect, Frame

#: Why such a change comes out the same when it happens once per trace and not once per call.
RESTORED: Final = "restored "
#: The calls that take back what the other has done.
_INVERSE: Final = {
    "contextvars.ContextVar.set": "contextvars.ContextVar.reset",
    "contextvars.ContextVar.reset": "contextvars.ContextVar.set",
}
#: Changes of which the code alone says whether they are taken back.
_PLAIN: Final = CHANGES - {"iterator", "item"}


def is_restored(frame: Frame, effect: Effect) -> bool:
    """Whether a change does not outlive the call, because the same function takes it back before it ends."""
    if effect.kind == "mutate" and effect.detail in _INVERSE:
        other = _INVERSE[effect.detail]
        return any(e.target is effect.target and e.detail == other for e in frame.effects.values())
    return effect.kind in _PLAIN and effect.position in undone(frame.code)
