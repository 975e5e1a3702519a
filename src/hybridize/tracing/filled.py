"""Containers that a function fills before it makes another one inside, which reads them: `factory` of a training step.

Each call of the one around makes its own, and a function of its own with them: nothing changes for that any more.
"""

from __future__ import annotations

from hybridize.domain.objects import Container
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.tracing.parts import Part
from hybridize.tracing.writes import Place, Writes


def is_filled_before(place: Place, code: Code, known: Writes) -> bool:
    """Whether the function around a nested one makes a container, and all writes of it stand before the nested one."""
    whole = place.whole if isinstance(place, Part) else place
    outer = code.parent
    if not isinstance(whole, Container) or outer is None or outer.kind != "function" or whole.site[0] is not outer:
        return False
    index = index_of(outer)
    made = [instr.position for instr in index.of(ir.Func) if instr.code is code]
    if len(made) != 1 or made[0] in index.looped:
        return False
    return all(frame.code is outer and pos < made[0] for frame, pos in known.at(place))
